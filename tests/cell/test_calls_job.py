"""Which calls of a job follow each other in a worker, and when nothing may follow: the rules, with a made-up helper."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest
from cruxcell.analysis import operands
from cruxcell.analysis.compiled import told
from cruxcell.analysis.parsing import CHECK, PROGRAM, Invalid, OutOfRoom
from cruxcell.jobs import bundles, calls, replay, series
from cruxcell.jobs.context import RULE
from cruxcell.protocol import frames, messages
from cruxcell.protocol.payloads import (
    AS_IT_IS,
    BUNDLED,
    CALLS_FLAGS,
    CAME_VALUE,
    CHECKER,
    INSPECT,
    RUN_EXPRESSIONS,
    SERIES,
    SHARE,
    SINGLE,
    TOGETHER,
    TRUTH,
    WHOLE,
)
from cruxcell.values import transfer
from cruxcell.values.canonical import NotPlain

HERMETIC, ODD = "def f(x):\n    return x\n", "import time\ndef f(x):\n    return x\n"
FORMATS = "def f(t):\n    return t.format(1)\n"


class Helper:
    """Counts seals instead of setting them."""

    def __init__(self) -> None:
        self.seals: list[tuple[int, bytes]] = []
        self.listeners: list[Any] = []

    def hear(self, _events: object, listener: Any) -> None:
        self.listeners.append(listener)

    def arm(self) -> bool:
        return True

    def seal(self, _report: int, index: int, record: bytes = b"") -> None:
        self.seals.append((index, record))

    def plain_names(self, *_program: object) -> None:
        return None

    def plain_call(self, *_call: object) -> bool:
        return False

    def steps(self) -> int:
        return 1


class Context:
    """Notes what a job does, in order."""

    report = 3

    def __init__(self, *opened: str) -> None:
        self.helper: Any = Helper()
        self.seals = True
        self.opened = opened
        self.done: list[str] = []
        self.plans: list[list[bytes]] = []
        self.used_cpu_ns: Any = 1
        self.is_clean, self.ran = True, 0

    def send(self, record: bytes) -> None:
        found: list[list[bytes]] = []
        frames.split(record, found, 100, 100)
        for one in found:
            self.note(one)

    def note(self, record: list[bytes]) -> None:
        if record[0] == messages.PLAN:
            self.plans.append(record)
        else:
            self.done.append(record[0].decode())

    def begin(self, index: int) -> None:
        self.index = index

    def steps(self) -> int:
        return 1

    def run(self, code: types.CodeType, namespace: dict[str, object]) -> object:
        self.ran += 1
        return eval(code, namespace)

    def send_value(self, value: object, _steps: object = None) -> None:
        self.done.append(f"{self.index}={value!r}")

    def send_raised(self, error: BaseException) -> None:
        self.done.append(f"{self.index}:{type(error).__name__}")

    def refuse(self, sentence: str) -> None:
        self.done.append(sentence)

    def start(self, kind: str, _between: int) -> None:
        self.done.append(kind)

    def next_check(self) -> None:
        self.done.append(".")

    def last_check(self) -> None:
        self.done.append("!")

    def end(self) -> None: ...

    def forget(self) -> None: ...

    def is_clear(self) -> bool:
        return self.is_clean


@pytest.fixture(autouse=True)
def _this_process_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "set_recursion_depth", lambda _depth: None)
    monkeypatch.setattr(calls, "gc", types.SimpleNamespace(freeze=lambda: None, collect=lambda: 0))
    monkeypatch.setattr(calls, "loaded_count", lambda: 1)
    monkeypatch.setattr(calls, "_last", [None, None, calls._NOT_ASKED])
    monkeypatch.setattr(calls.frames, "write_all", lambda _report, record: _written.append(record))
    _written.clear()


_written: list[bytes] = []


def fields(flags: int, program: str, *texts: str) -> list[bytes]:
    return [CALLS_FLAGS.pack(flags), program.encode(), *[part for text in texts for part in (b"", text.encode())]]


def job(flags: int, program: str, *texts: str, context: Context | None = None) -> tuple[str, str, int]:
    """(hermetic or not and the classes, what was done, what run_calls says)."""
    context = context or Context()
    context.helper.seal = _noting(context)
    more, flags = flags & BUNDLED, flags & ~BUNDLED
    used = calls.run_calls(context, fields(flags, program, *texts), more)  # type: ignore[arg-type]
    for record in _written:
        context.send(record)
    plan = context.plans[0]
    return (plan[1] + plan[2]).decode(), " ".join(context.done), used


def _noting(context: Context) -> Any:
    def seal(_report: int, index: int, record: bytes = b"") -> None:
        context.done.append("s" if index < 0 else f"s{index}")
        if record:
            context.send(record)

    return seal


JOBS = {
    "they share": (SHARE, HERMETIC, ("f(1)", "f(2)"), "1dd", "s 0=1 . s0 1=2 . s1"),
    "constants first": (SHARE, HERMETIC, ("f(1)", "2"), "1dc", "s 1=2 . s1 0=1 . s0"),
    "nobody asked them to": (0, HERMETIC, ("f(1)", "f(2)"), "0dd", "! 0=1 ."),
    "constants alone": (0, HERMETIC, ("2", "f(1)"), "0cd", "0=2 . ! 1=1 ."),
    "not hermetic": (SHARE, ODD, ("f(1)", "f(2)", "3"), "0ddc", "2=3 . ! 0=1 ."),
    "for better or worse": (SHARE | TOGETHER, ODD, ("f(1)", "f(2)"), "0dd", "! 0=1 . 1=2 ."),
    "together, hermetic": (SHARE | TOGETHER, HERMETIC, ("f(1)", "f(2)"), "1dd", "s 0=1 . s0 1=2 . s1"),
    "one that may not share": (SHARE, HERMETIC, ("f(1)", "exec('')"), "1du", "s 0=1 . s0"),
    "none that may": (SHARE, HERMETIC, ("exec('')", "exec('1')"), "0dd", "! 0=None ."),
    "together, one that may not": (SHARE | TOGETHER, HERMETIC, ("f(1)", "exec('')"), "0dd", "! 0=1 . 1=None ."),
    "bundled": (SHARE | BUNDLED, HERMETIC, ("f(1)",), "1d", "s 0=1 . s0"),
    "bundled, not hermetic": (SHARE | BUNDLED, ODD, ("f(1)", "3"), "0dc", "s 1=3 . s1"),
    "bundled, may not": (SHARE | BUNDLED, HERMETIC, ("exec('')",), "1u", "s"),
    "expressions elsewhere": (SHARE, HERMETIC, ("f(1)", "f(1) + 1", "f(f(1))"), "1dxa", "s 0=1 . s0"),
    "expressions here": (RUN_EXPRESSIONS, HERMETIC, ("f(1) + 1", "f(2)"), "0xd", "! 0=2 ."),
    "formats that calls give": (
        SHARE,
        FORMATS,
        ("f('{}')", "'{0.real}'", "f('a')"),
        "1dcd",
        "s 1='{0.real}' . s1 0='1' . s0 2='a' . s2",
    ),
    "a format that reaches for something": (SHARE, FORMATS, ("f('{}')", "f('{0.real}')"), "0dd", "! 0='1' ."),
    "bundled, a format that reaches for something": (SHARE | BUNDLED, FORMATS, ("f('{0.real}')",), "0d", "s"),
    "formats beside an expression": (SHARE, FORMATS, ("f('{}')", "f('{' + f('}'))"), "0da", "! 0='1' ."),
    "formats beside what is no call": (SHARE, FORMATS, ("f('{}')", "f("), "1di", "s 0='1' . s0"),
    "formats, and nobody asked": (0, FORMATS, ("f('{}')", "f('{}')"), "0dd", "! 0='1' ."),
    "no program": (SHARE, "", ("len('ab')", "3"), "1dc", "s 1=3 . s1 0=2 . s0"),
    "an invalid call": (SHARE, HERMETIC, ("f(", "f(2)"), "1id", "s 1=2 . s1"),
    "an invalid program": (SHARE, "def f(", ("f(1)", "3"), "1ii", "s"),
    "a call that raises": (SHARE, HERMETIC, ("f()", "f(2)"), "1dd", "s 0:TypeError . s0 1=2 . s1"),
}


@pytest.mark.parametrize("name", JOBS)
def test_which_calls_follow_each_other(name: str):
    flags, program, texts, plan, done = JOBS[name]
    found = job(flags, program, *texts)
    assert found[:2] == (plan, done)
    goes_on = plan[0] == "1" or flags & BUNDLED or "d" not in plan or flags & TOGETHER
    assert (found[2] >= 0) is bool(goes_on)


DEEP = "(" * 100


@pytest.mark.parametrize(
    ("source", "calls_", "is_beside", "classes"),
    [
        (DEEP, ["f(1)"], False, messages.INVALID),
        (DEEP, ["f(1)"], True, messages.ALONE),
        (DEEP, ["f(1)", "f(2)"], False, messages.ALONE * 2),
        ("f =", ["f(1)", "f(2)"], True, messages.INVALID * 2),
        ("", [DEEP], False, messages.INVALID),
        ("", [DEEP], True, messages.ALONE),
        ("", [DEEP, "1"], False, messages.ALONE + messages.CONSTANT),
        ("", ["f(", "1"], True, messages.INVALID + messages.CONSTANT),
    ],
)
def test_a_text_that_had_no_room_beside_others_has_another_worker(
    source: str, calls_: list[str], is_beside: bool, classes: str, monkeypatch: pytest.MonkeyPatch
):
    def parsed(text: str, *_: object) -> types.CodeType:
        if text == DEEP:
            raise OutOfRoom("too deep")
        if text.endswith(("=", "(")):
            raise Invalid("no")
        return compile(text, "", "exec")

    monkeypatch.setattr(calls, "compile_text", parsed)
    monkeypatch.setattr(calls, "classify_call", lambda text, _: (messages.CONSTANT, "", parsed(text)))
    _, plan = calls._parse(source, tuple(("f", each) for each in calls_), is_beside, "")
    assert "".join(each[0] for each in plan) == classes


def test_where_there_is_no_program_only_the_call_runs():
    context = Context()
    assert job(SHARE, "", "len('a')", context=context) == ("1d", "s 0=1 . s0", 1)
    assert context.ran == 1


def test_where_nothing_is_sealed_nothing_is_shared():
    context = Context()
    context.seals = False
    assert job(SHARE, HERMETIC, "f(1)", "f(2)", context=context)[:2] == ("0dd", "! 0=1 .")
    context = Context()
    context.helper.arm = lambda: False
    assert job(SHARE, HERMETIC, "f(1)", context=context)[1] == "0=1 ."


def test_a_test_can_open_the_rule():
    assert job(SHARE, ODD, "f(1)", "exec('')", context=Context(RULE))[:2] == ("1dd", "s 0=1 . s0 1=None . s1")
    assert job(0, HERMETIC, "f(1)", "f(2)", context=Context(RULE))[0] == "0dd"


@pytest.mark.parametrize("texts", [("f(1)", "f(2)"), ("3", "4")])
@pytest.mark.parametrize("what", ["slow", "forged", "loaded", "garbage", "unclear", "none"])
def test_nothing_follows_what_left_something(what: str, texts: tuple[str, str], monkeypatch: pytest.MonkeyPatch):
    context = Context()
    context.used_cpu_ns = {"slow": calls.SPENT_NS + 1, "forged": "1"}.get(what, 1)
    context.is_clean = what != "unclear"
    loaded = iter(range(100))
    if what == "loaded":
        monkeypatch.setattr(calls, "loaded_count", lambda: next(loaded))
    monkeypatch.setattr(calls.gc, "collect", lambda: int(what == "garbage"))
    _, done, used = job(SHARE, HERMETIC, *texts, context=context)
    assert ("s1" in done, used >= 0) == ((True, True) if what == "none" else (False, False))


def test_garbage_that_is_gone_the_second_time_is_none(monkeypatch: pytest.MonkeyPatch):
    left = iter([1, 0, 0, 0])
    monkeypatch.setattr(calls.gc, "collect", lambda: next(left))
    assert job(SHARE, HERMETIC, "f(1)", "f(2)")[2] == 2


def test_what_imports_something_shares_no_worker(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.undo()
    before = calls.loaded_count()
    monkeypatch.setitem(calls.sys.modules, "made_up_for_this", types.ModuleType("made_up_for_this"))
    assert calls.loaded_count() == before + 1


def test_jobs_of_a_bundle_follow_each_other_until_they_took_long(monkeypatch: pytest.MonkeyPatch):
    limits: list[int] = []
    monkeypatch.setattr(bundles, "getrecursionlimit", lambda: 1000)
    monkeypatch.setattr(bundles, "setrecursionlimit", limits.append)
    packed = [frames.pack(fields(SHARE, HERMETIC, f"f({at})")) for at in range(4)]
    context = Context()
    bundles.run_bundle(context, packed)  # type: ignore[arg-type]
    assert (context.done.count("B"), limits) == (4, [1001] * 4)
    context = Context()
    context.used_cpu_ns = calls.SPENT_NS // 2
    bundles.run_bundle(context, packed)  # type: ignore[arg-type]
    assert context.done.count("B") == 3
    context = Context()
    context.is_clean = False
    bundles.run_bundle(context, packed)  # type: ignore[arg-type]
    assert context.done.count("B") == 1


# ---- what filters ask ----------------------------------------------------------------


class Inspecting(Context):
    """Keeps what was found."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[list[set[str]]] = []

    def note(self, record: list[bytes]) -> None:
        if record[0] == messages.FINDINGS:
            self.found.append([{messages.FINDING_NAMES[place] for place in places} for places in record[2:]])
        super().note(record)


def inspected(program: str, *texts: str, flags: int = INSPECT, look: object = None) -> list[list[set[str]]]:
    context = Inspecting()
    context.helper.evaluate = lambda *_: None
    job(flags, program, *texts, context=context)
    return context.found


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that an inspector had a look at; it finds one thing in each."""
    seen: list[str] = []

    def look(_self: object, call: str, *_: object) -> set[str]:
        seen.append(call)
        return set() if "9" in call else {messages.OPS_LONG}

    monkeypatch.setattr(calls.Inspector, "look", look)
    return seen


def test_texts_and_runs_are_inspected_where_that_is_asked(looks: list[str]):
    assert inspected(HERMETIC, "f(1)", flags=SHARE) == []
    texts, *runs = inspected(HERMETIC, "f(1)", "f([f])", "f(", "2", "f(9)", flags=INSPECT | SHARE)
    assert messages.SEEDLESS in texts[0]
    assert texts[2] == set()
    assert looks == ["f(1)", "f(9)"]
    assert runs[0] == [{messages.OPS_LONG}]
    assert inspected("def f(", "f(1)") == []


def test_only_a_call_of_what_is_blind_to_the_seed_is_blind(looks: list[str]):
    for program, call, is_blind in (
        (HERMETIC, "f(1)", True), (HERMETIC, "f({1})", False), (HERMETIC, "f({1: 2})", True),
        (HERMETIC, "len('a')", False), ("def f(x):\n    return {x}\n", "f(1)", False), (ODD, "f(1)", False),
        (FORMATS, "f('{}')", False),
    ):  # fmt: skip
        (found, *_) = inspected(program, call)
        assert (messages.SEEDLESS in found[0]) is is_blind, call


def test_who_is_not_hermetic_is_blind_to_nothing(monkeypatch: pytest.MonkeyPatch, looks: list[str]):
    monkeypatch.setattr(calls, "is_seedless", lambda *_: True)
    seedless = [messages.SEEDLESS in inspected(program, "f(1)")[0][0] for program in (HERMETIC, ODD)]
    assert seedless == [True, False]


def test_what_a_run_shows_is_told_with_its_value(looks: list[str]):
    assert inspected(HERMETIC, "f(1)")[1:] == [[{messages.OPS_LONG}]]
    assert inspected("def f(x):\n    return f\n", "f(1)")[1:] == [[{messages.OPS_LONG, messages.OUTPUT_SHAPE}]]
    assert inspected(HERMETIC, "f(9)")[1:] == []
    assert inspected("def f(x):\n    raise KeyError\n", "f(1)")[1:] == [[{messages.OPS_LONG}]]


def test_what_ran_out_of_memory_in_company_is_looked_at_when_it_runs_alone(looks: list[str]):
    program = "def f(x):\n    return 'a' * (1 << 62)\n"
    assert len(inspected(program, "f(1)", flags=INSPECT)) == 2
    assert len(inspected(program, "f(1)", flags=INSPECT | SHARE | BUNDLED)) == 1
    assert len(inspected("def f(x):\n    return x[0]\n", "f(1)", flags=INSPECT | SHARE | BUNDLED)) == 2


# ---- arguments -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "done"),
    [
        (((1,), {}), "d 0=1"),
        (((), {"x": 2}), "d 0=2"),
        (((), {}), "d 0:TypeError"),
        ([(1,), {}], "garbled"),
        (((1,),), "garbled"),
        (((1,), {}, 1), "garbled"),
        (([1], {}), "garbled"),
        (((1,), []), "garbled"),
        (((1,), {1: 2}), "garbled"),
    ],
)
def test_a_function_is_applied_to_arguments_and_to_nothing_else(pair: object, done: str):
    context = Context()
    context.index = 0
    calls.run_apply(context, [HERMETIC.encode(), b"f", transfer.encode(pair, 1000)])  # type: ignore[arg-type]
    said = " ".join(context.done)
    assert said == done if done != "garbled" else said.startswith("the program: not a pair")


@pytest.mark.parametrize(
    ("program", "done"),
    [
        (b"def check(*given): return given == ('\xe2\x82\xac', '\xef\xbf\xbd1', 'e')", "d 0=True"),
        (b"check = 1", "d 0:TypeError"),
        (b"", "d 0:NameError"),
        (b"def check(", "the program: '(' was never closed"),
    ],
)
def test_a_checker_is_given_texts_of_bytes_that_may_be_none(program: bytes, done: str):
    context = Context()
    context.index = 0
    calls.run_checker(context, [program, b"\xe2\x82\xac", b"\xff1", b"e"])  # type: ignore[arg-type]
    assert " ".join(context.done).startswith(done)


@pytest.mark.parametrize(
    ("flags", "program", "guards"),
    [(CHECKER, ODD, 1), (CHECKER | SHARE, ODD, 1), (CHECKER | SHARE, HERMETIC, 0), (SHARE, ODD, 0), (0, ODD, 0)],
)
def test_a_checker_that_is_alone_runs_no_code_that_is_not_its_own(flags: int, program: str, guards: int):
    context = Context()
    job(0, program, "f(1)")  # the same text as a program
    job(flags, program, "f(1)", context=context)
    assert calls._last[1].co_filename == (CHECK if flags & CHECKER else PROGRAM)
    assert len(context.helper.listeners) == guards
    for listen in context.helper.listeners:
        listen("exec", (compile("1", "", "eval"),))
        with pytest.raises(ValueError, match="may be what was printed"):
            listen("exec", (compile("lambda: 1", "", "eval"),))


def test_who_is_inspected_and_may_not_share_is_alone(looks: list[str]):
    context = Inspecting()
    context.helper.evaluate = lambda *_: None
    assert job(INSPECT, HERMETIC, "f(1)", "f(", "f(2)", context=context)[0] == "0did"
    assert len(context.plans[0]) == 4  # with one sentence, of the call that is none
    assert "2=2" not in context.done


# ---- a script's calls ----------------------------------------------------------------

CALLS = frames.pack([transfer.encode([([1], {}), ([2], {})], 1000), AS_IT_IS, TRUTH])
SERIES_JOBS = {
    "shared": (SHARE, HERMETIC, True, "1d", "s b4 . s0", True),
    "shared, bundled": (SHARE | BUNDLED, HERMETIC, True, "1d", "s b4 . s0", True),
    "nobody asked": (0, HERMETIC, True, "0d", "! b4 .", False),
    "not hermetic": (SHARE, ODD, True, "0d", "! b4 .", False),
    "bundled, not hermetic": (SHARE | BUNDLED, ODD, True, "0d", "s", True),
    "nothing is sealed": (SHARE, HERMETIC, False, "0d", "! b4 .", False),
    "no program": (SHARE, "def f(", True, "1i", "s", True),
    "a name that is none": (SHARE, "f = 1", True, "1d", "s b0 . s0", True),
    "bound anew": (SHARE, "def f(x):\n    global f\n    f = 1\n", True, "1d", "s b0 . s0", True),
    "an error": (SHARE, "def f(x):\n    raise ValueError(x)\n", True, "1d", "s b2 . s0", True),
    "an error when loaded": (SHARE, "1 / 0\n" + HERMETIC, True, "1d", "s b0 . s0", True),
    "an error of a tuple": (SHARE, "def f(x):\n    raise KeyError((x,))\n", True, "1d", "s b2 . s0", True),
    "an error of tuples": (SHARE, "def f(x):\n    raise KeyError(((x,),))\n", True, "1d", "s b0 . s0", True),
    "an error of a list": (SHARE, "def f(x):\n    raise KeyError([x])\n", True, "1d", "s b0 . s0", True),
    "no plain value": (SHARE, "def f(x):\n    return f\n", True, "1d", "s b0 . s0", True),
    "its truth is its own": (SHARE, "def f(x):\n    return x if x == 1 else f\n", True, "1d", "s b2 . s0", True),
    "not a number": (SHARE, "def f(x):\n    return float('nan')\n", True, "1d", "s b0 . s0", True),
    "formats": (SHARE, FORMATS, True, "0d", "! b2 .", False),  # nobody looks at what they are given
    "memory": (SHARE, "def f(x):\n    return 'a' * (1 << 62)\n", True, "1d", "s 0:MemoryError . s0", True),
}


def series_job(
    monkeypatch: pytest.MonkeyPatch,
    flags: int,
    program: str,
    context: Any,
    name: str = "f",
    asked: bytes = CALLS,
    others: tuple[bytes, ...] = (),
) -> tuple[str, str, int]:
    """(hermetic or not and the classes, what was done, what run_series says)."""
    for each in ("set_recursion_depth", "gc", "loaded_count"):
        monkeypatch.setattr(series, each, getattr(calls, each))
    context.helper.seal, context.budget = _noting(context), 1000
    context.steps, context.text_of = lambda: 1, str
    context.send_body = lambda body, _steps: context.done.append(f"b{len(frames.unpack(body))}")
    context.send_raised = lambda error, _steps: context.done.append(f"0:{type(error).__name__}")
    given = [CALLS_FLAGS.pack(flags & ~BUNDLED), program.encode(), name.encode(), asked, frames.pack(list(others))]
    used = series.run_series(context, given, flags & BUNDLED)
    for record in _written:
        context.send(record)
    return (context.plans[0][1] + context.plans[0][2]).decode(), " ".join(context.done), used


@pytest.mark.parametrize("name", SERIES_JOBS)
def test_the_calls_of_a_script_are_as_one_call(name: str, monkeypatch: pytest.MonkeyPatch):
    flags, program, seals, *expected, goes_on = SERIES_JOBS[name]
    context = Context()
    context.seals = seals
    plan, done, used = series_job(monkeypatch, flags, program, context)
    assert ([plan, done], used >= 0) == (expected, goes_on)
    assert (len(context.plans[0]) == 4) is (plan == "1i")  # with what is wrong


def test_a_scripts_calls_are_sealed_only_by_what_was_armed(monkeypatch: pytest.MonkeyPatch):
    context = Context()
    context.helper.arm = lambda: False
    assert series_job(monkeypatch, SHARE, HERMETIC, context)[1] == "b4 ."


def test_a_scripts_calls_of_what_may_not_share_are_not_made(monkeypatch: pytest.MonkeyPatch):
    assert series_job(monkeypatch, SHARE | BUNDLED, HERMETIC, Context(), "exec") == ("1u", "s", 0)


@pytest.mark.parametrize(
    ("program", "body"), [("", "b4"), ("def sum(x):\n    return 3\n", "b0"), ("from math import *\n", "b4")]
)
def test_no_call_is_made_where_the_program_has_a_name_of_the_script_s(
    program: str, body: str, monkeypatch: pytest.MonkeyPatch
):
    calls_of_two = frames.pack([told([([1], {}), ([2], {})]), WHOLE, WHOLE])
    others = (b"len", b"sum")
    assert series_job(monkeypatch, 0, program + HERMETIC, Context(), "f", calls_of_two, others)[1] == f"! {body} ."


def test_a_scripts_calls_in_a_bundle_are_those_of_a_script(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(bundles, "setrecursionlimit", int)
    ran: list[str] = []

    def note(name: str) -> int:
        ran.append(name)
        return 0

    monkeypatch.setattr(bundles, "run_series", lambda *_: note("series"))
    monkeypatch.setattr(bundles, "run_calls", lambda *_: note("calls"))
    flags = (SHARE, SHARE | SERIES, SHARE)
    bundles.run_bundle(Context(), [frames.pack(fields(each, HERMETIC)) for each in flags])  # type: ignore[arg-type]
    assert ran == ["calls", "series", "calls"]


def test_only_what_shares_a_worker_has_a_namespace_that_is_no_module(monkeypatch: pytest.MonkeyPatch):
    made: list[str] = []

    def noting(name: str, make: Any) -> Any:
        def noted() -> Any:
            made.append(name)
            return make()

        return noted

    for module in (calls, series):
        for name in ("fresh_namespace", "module_namespace"):
            monkeypatch.setattr(module, name, noting(name, getattr(module, name)))
    for flags in (SHARE, 0):
        job(flags, HERMETIC, "f(1)")
        series_job(monkeypatch, flags, HERMETIC, Context())
    assert made == ["fresh_namespace"] * 2 + ["module_namespace"] * 2


def test_of_a_value_its_truth_is_looked_at_where_that_is_asserted():
    assert series._seen(2, TRUTH) is True
    assert series._seen(2, AS_IT_IS) == 2
    assert series._seen(False, SINGLE) == [False, True, False]


def test_of_a_value_all_is_told_where_a_script_is_run_on_it():
    context: Any = Context()
    context.budget = 100
    assert series._of_value(context, WHOLE, (1, [2])) == (CAME_VALUE, transfer.encode((1, [2]), 100))
    assert series._of_value(context, AS_IT_IS, [2]) == (CAME_VALUE, b"[1:i2;")
    assert series._of_value(context, WHOLE, f := float("nan")) is series._of_value(context, AS_IT_IS, f) is None


class Says(type):
    """Its classes say that they equal whatever they are compared with, and have no hash."""

    def __eq__(cls, other: object) -> bool:
        raise SystemExit("it was asked")

    __hash__ = None  # type: ignore[assignment]


def test_no_metaclass_is_asked_what_its_classes_equal(monkeypatch: pytest.MonkeyPatch):
    """Nor are addresses compared, where the seal would hear of it."""
    for module in (series, operands):
        monkeypatch.setattr(module, "id", None, raising=False)
    odd: Any = Says("Odd", (), {})
    with pytest.raises(NotPlain):
        series._seen(odd(), TRUTH)
    assert series._of_error(Context(), Says("Error", (ValueError,), {})()) is None  # type: ignore[arg-type, operator]
    assert series._of_error(Context(), ValueError(odd())) is None  # type: ignore[arg-type]
    assert series._of_error(Context(), KeyError((1, odd()))) is None  # type: ignore[arg-type]
    assert not operands.is_literal([odd()])
    seen: set[str] = set()
    with pytest.raises(TypeError):
        operands.operations(seen)["@Add"](odd(), 1)  # type: ignore[operator]
    assert not seen


# ---- a script on what its calls gave -------------------------------------------------

TABLE = "for x in [1, 2]:\n    assert f(x) == x\n"
REPLAYED = {
    "all": (TABLE, [1, 2], "D2"),
    "one more": (TABLE, [1], "D2"),
    "fewer": (TABLE, [1, 2, 3], "D2"),
    "another": ("f = given\n" + TABLE, [1, 3], "AssertionError2"),
    "an error": (TABLE + "given(1)(2)", [1, 2, 3], "TypeError3"),
    "no script": ("for", [], "invalid syntax (line 1)"),
}


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("name", REPLAYED)
def test_a_script_is_run_on_what_its_calls_gave(name: str, is_known: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    script, values, said = REPLAYED[name]
    code = told(compile(script, "<check>", "exec")) if is_known and "invalid" not in said else b""
    context: Any = Context()
    context.output = lambda: (b"", b"")
    context.numbers = lambda _index, made: b"%d" % made
    context.send_raised = lambda error, steps: context.done.append(f"{type(error).__name__}{steps}")
    context.note = lambda record: context.done.append(b"".join(record).decode())
    given = frames.pack([transfer.encode(each, 100) for each in values])
    replay.run_replay(context, [script.encode(), code, frames.pack([b"f", b"given"]), given])
    assert said in context.done[-1]
