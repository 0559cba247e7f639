"""The candidate's half of a separated script, in one process: what is counted, and what the test sees of its names."""

from __future__ import annotations

import builtins
import datetime
import io
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated import candidate
from cruxcell.jobs.separated.candidate import _Server
from cruxcell.jobs.separated.exchange.link import Link
from cruxcell.protocol import records


class Stream:
    def __init__(self) -> None:
        self.text = ""

    def take(self) -> str:
        return self.text


class Context:
    """Runs what it is given, three steps each."""

    def __init__(self) -> None:
        self.stdout, self.stderr = Stream(), Stream()
        self.ran: list[Any] = []
        self.scratch_bytes = self.memory_bytes = 0
        self.refused: list[str] = []

    def refuse(self, why: str) -> None:
        self.refused.append(why)

    def run(self, code: Any, namespace: dict[str, Any]) -> object:
        self.ran.append(namespace.get("f"))
        return eval(code, namespace)

    def start(self, kind: bytes, between: int) -> None:
        pass

    def send(self, record: bytes) -> None:
        pass

    def numbers(self, flags: int, steps: int) -> bytes:
        return records.NUMBERS.pack(0, steps, 0, 0, flags)

    def output(self) -> tuple[bytes, bytes]:
        return b"", b""

    def steps(self) -> int:
        return 3


class Name(str):
    __slots__ = ()


@pytest.fixture
def namespace() -> dict[Any, Any]:
    return {"__name__": "__main__"}


@pytest.fixture
def context() -> Context:
    return Context()


@pytest.fixture
def server(context: Context, namespace: dict[Any, Any]) -> _Server:
    return _Server(context, compile("", "<program>", "exec"), namespace)  # type: ignore[arg-type]


@pytest.mark.parametrize(("more", "depths"), [(0, [candidate._HARNESS_FRAMES]), (50, [])])
def test_a_program_keeps_a_recursion_limit_of_its_own(
    more: int, depths: list[int], context: Context, monkeypatch: pytest.MonkeyPatch
):
    limit, given = sys.getrecursionlimit(), list[int]()
    monkeypatch.setattr(candidate, "set_recursion_depth", given.append)
    monkeypatch.setattr(Link, "serve", lambda _self: None)
    monkeypatch.setattr(candidate, "module_namespace", dict)
    try:
        candidate.run_serve(context, [f"import sys\nsys.setrecursionlimit({limit + more})".encode(), b""])  # type: ignore[arg-type]
    finally:
        sys.setrecursionlimit(limit)
    assert given == depths


@pytest.mark.parametrize(
    ("is_shared", "own_depth", "more"), [(True, 0, candidate._FRAMES_OF_PARTNERS), (False, 0, 0), (True, 1, 0)]
)
def test_partners_take_frames_that_are_not_the_program_s(
    server: _Server, is_shared: bool, own_depth: int, more: int, monkeypatch: pytest.MonkeyPatch
):
    limit = sys.getrecursionlimit()
    server.own_depth = limit - own_depth  # the program has set another since
    monkeypatch.setattr(server.link, "share", lambda: is_shared)
    try:
        assert (server.share(None), sys.getrecursionlimit() - limit) == (is_shared, more)
    finally:
        sys.setrecursionlimit(limit)


def test_a_recursion_limit_of_the_script_s_counts_no_frames_of_the_harness(server: _Server):
    limit = sys.getrecursionlimit()
    try:
        server._borrower.take("depth", "", "", True, limit)
        assert sys.getrecursionlimit() - limit == candidate._HARNESS_FRAMES + candidate._FRAMES_OF_PARTNERS
    finally:
        sys.setrecursionlimit(limit)


def test_what_is_no_program_is_refused(context: Context):
    candidate.run_serve(context, [b"def f(:", b""])  # type: ignore[arg-type]
    assert [why.partition(":")[0] for why in context.refused] == ["the program"]


def test_a_call_within_a_call_is_part_of_its_steps(server: _Server, context: Context):
    def outer() -> Any:
        return server.run(max, [1, 2], {})

    assert (server.run(outer, [], {}), context.ran, server.steps) == (2, [outer], 3)
    assert (server.run(max, [1, 2], {"key": abs}), context.ran, server.steps) == (2, [outer, max], 6)


def test_so_is_one_for_another_thread(server: _Server, context: Context):
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(server.run(max, [1, 2], {})))
    thread.start()
    thread.join()
    assert (found, context.ran, server.steps) == ([2], [], 0)


def test_a_call_that_fails_has_its_steps_and_ends(server: _Server, context: Context):
    for steps in (3, 6):
        with pytest.raises(ValueError, match="empty"):
            server.run(max, [[]], {})
        assert (len(context.ran), server.steps) == (steps // 3, steps)


def test_memory_is_short_where_the_interpreter_says_so(server: _Server):
    def made_up() -> None:
        raise MemoryError

    for function, arguments, flags in [(made_up, [], 0), (bytes, [sys.maxsize - 100], records.OUT_OF_MEMORY)]:
        with pytest.raises(MemoryError):
            server.run(function, arguments, {})
        assert server.flags == flags


def test_the_names_are_those_that_the_program_binds(server: _Server, namespace: dict[Any, Any]):
    namespace.update({"f": len, 8: 9, Name("g"): 10, "__doc__": "text"})
    assert server.names(None) == (["f", "__doc__"], [])


def test_what_names_stand_for_follows_the_program(server: _Server, namespace: dict[Any, Any]):
    namespace.update(f=len, dt=datetime, g=8, other=9)
    view = {"f": len, "g": 8}
    assert server.look(None, "f", "dt", "g") == (view, {"dt": "datetime"})
    namespace.update(f=abs, g=datetime)  # a module is not data: the test keeps what it had
    server.refresh()
    assert server.look(None) == ({"f": abs, "g": 8}, {})
    del namespace["f"]
    server.refresh()
    assert server.view == {"f": None, "g": 8}


def test_streams_are_lent_and_given_back(server: _Server, monkeypatch: pytest.MonkeyPatch):
    own, ask = io.StringIO(), lambda: "own"
    monkeypatch.setattr(sys, "stdin", own)
    monkeypatch.setattr(builtins, "input", ask)
    server._own = own, ask  # type: ignore[assignment]
    lent, asks = io.StringIO(), lambda: "lent"
    for stdin, function, expected in [(lent, None, (lent, ask)), (None, asks, (own, asks)), (None, None, (own, ask))]:
        server.lend(None, stdin, function)
        assert (sys.stdin, builtins.input) == expected


def test_there_are_news_where_one_of_three_has_some_or_cannot_say(server: _Server):
    def fails() -> bool:
        raise OSError

    quiet, news, broken = [SimpleNamespace(has_news=each) for each in (lambda: False, lambda: True, fails)]
    for each, expected in [(quiet, False), (news, True), (broken, True)]:
        server._news = (quiet, each, quiet)  # type: ignore[assignment]
        assert server.link.has_news is not None
        assert server.link.has_news() is expected
