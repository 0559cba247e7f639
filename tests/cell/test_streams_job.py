"""Which runs of a program on its inputs follow each other in a worker, and which are not reported on: the rules."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest
from calls_by_hand import Context, noting, written
from cruxcell.jobs import calls, streams
from cruxcell.jobs.context import RULE
from cruxcell.protocol import frames, messages
from cruxcell.protocol.records import NUMBERS

UNFLUSHED = """\
import sys
class Out:
    def flush(self):
        raise KeyError
kept, sys.stdout = sys.stdout, Out()
"""
PLAIN, SUSPECT = "print(input())", "import os\nprint(input())"


class StreamsContext(Context):
    output_limit = 100

    def steps(self) -> int:
        return 1

    def numbers(self, _flags: int, steps: int) -> bytes:
        return NUMBERS.pack(self.index, steps, 1, 1, 0)

    def note(self, record: list[bytes]) -> None:
        if record[0] == messages.ENDED:
            self.done.append(f"{self.index}={record[2].decode()}|{record[3].decode()}")
        else:
            super().note(record)

    def send_raised(self, error: BaseException, _steps: int = 0, printed: Any = ()) -> None:  # type: ignore[override]
        self.done.append(f"{self.index}:{type(error).__name__}:{printed[0].decode()}{printed[1].decode()}")


@pytest.fixture(autouse=True)
def _this_process_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (streams, calls):
        monkeypatch.setattr(module, "set_recursion_depth", lambda _depth: None)
        monkeypatch.setattr(module, "gc", types.SimpleNamespace(freeze=lambda: None, collect=lambda: 0))
        monkeypatch.setattr(module, "loaded_count", lambda: 1)
    monkeypatch.setattr(frames, "write_all", lambda _report, record: written.append(record))
    written.clear()


def run(program: str, *inputs: str, context: StreamsContext | None = None) -> tuple[str, str]:
    """(hermetic or not and the classes, what was done)."""
    context = context or StreamsContext()
    context.helper.seal = noting(context)
    streams.run_streams(context, [program.encode(), *[text.encode() for text in inputs]])  # type: ignore[arg-type]
    for record in written:
        context.send(record)
    return (context.plans[0][1] + context.plans[0][2]).decode(), " ".join(context.done).replace("\n", "/")


@pytest.mark.parametrize(
    ("program", "plan", "done"),
    [
        (PLAIN, "1dd", "s 0=a/| . s0 1=b/| . s1"),
        (SUSPECT, "0uu", ""),
        ("print(", "0uu", ""),
        ("print(1 / len(input()[1:]))", "1dd", "s 0:ZeroDivisionError: . s0 1:ZeroDivisionError: . s1"),
        ("print(1)\nraise ValueError", "1dd", "s 0:ValueError:1/ . s0 1:ValueError:1/ . s1"),
    ],
)
def test_what_can_leave_nothing_behind_runs_on_each_input(program: str, plan: str, done: str):
    assert run(program, "a", "b") == (plan, done)


def test_a_run_that_took_no_time_lets_the_next_follow():
    context = StreamsContext()
    context.used_cpu_ns = 0
    assert run(PLAIN, "a", "b", context=context) == ("1dd", "s 0=a/| . s0 1=b/| . s1")


def test_where_nothing_is_sealed_nothing_is_shared():
    context = StreamsContext(RULE)
    context.seals = False
    assert run(PLAIN, "a", context=context) == ("0u", "")
    context = StreamsContext()
    context.helper.arm = lambda: False
    assert run(PLAIN, "a", context=context) == ("1d", "0=a/| .")


@pytest.mark.parametrize(
    ("program", "done"),
    [
        ("import os\nprint(input())", "s 0=a/| . s0 1=b/| . s1"),
        ("raise SystemExit", "s 0=| . s0 1=| . s1"),
        ("raise SystemExit(0)", "s 0=| . s0 1=| . s1"),
        ("raise SystemExit(3)", "s 0:SystemExit: . s0 1:SystemExit: . s1"),
        ("raise SystemExit('no')", "s 0:SystemExit:no/ . s0 1:SystemExit:no/ . s1"),
        ("raise KeyboardInterrupt", "s 0:KeyboardInterrupt: . s0 1:KeyboardInterrupt: . s1"),
        ("import sys\nprint(1, file=sys.stderr)", "s 0=|1/ . s0 1=|1/ . s1"),
        (UNFLUSHED, "s 0:KeyError: . s0 1:KeyError: . s1"),
        (f"{UNFLUSHED}raise OSError", "s 0:OSError: . s0 1:OSError: . s1"),
        (f"{UNFLUSHED}raise SystemExit", "s 0:KeyError: . s0 1:KeyError: . s1"),
        ("import sys\nsys.stdout.close()", "s"),
        ("import sys\nsys.stderr.close()", "s"),
        ("import sys\nsys.stdout.write('x' * 100)", "s"),
        ("import sys\nsys.stderr.write('x' * 100)", "s"),
    ],
)
def test_what_is_reported_where_a_test_opened_the_rule(program: str, done: str):
    """A closed stream, or an output as long as its limit, is for the worker that runs it alone."""
    assert run(program, "a", "b", context=StreamsContext(RULE)) == ("1dd", done)


def test_each_run_but_the_first_has_code_of_its_own(monkeypatch: pytest.MonkeyPatch):
    """What one has taught the interpreter is nothing to the next."""
    made: list[types.CodeType] = []

    def anew(code: types.CodeType) -> types.CodeType:
        made.append(code)
        return code.replace()

    monkeypatch.setattr(streams, "anew", anew)
    run(PLAIN, "a", "b", "c")
    assert len(made) == 2


def test_what_a_worker_prints_is_bounded_in_all(monkeypatch: pytest.MonkeyPatch):
    for most in (4, 5):
        monkeypatch.setattr(streams, "_MOST_PRINTED", most)
        assert run(PLAIN, "a", "b", "c", "d")[1] == "s 0=a/| . s0 1=b/| . s1"
    both = "import sys\nprint(1)\nprint(2, file=sys.stderr)"
    assert run(both, "a", "b", context=StreamsContext(RULE))[1] == "s 0=1/|2/ . s0"


def test_the_recursion_limit_is_given_back():
    before = sys.getrecursionlimit()
    limits = f"import sys\nprint(sys.getrecursionlimit() == {before})\nsys.setrecursionlimit({before + 7})"
    assert run(limits, "", "", context=StreamsContext(RULE))[1] == "s 0=True/| . s0 1=True/| . s1"
    assert sys.getrecursionlimit() == before


@pytest.mark.parametrize("what", ["slow", "unclear"])
def test_nothing_follows_what_left_something(what: str):
    context = StreamsContext()
    context.used_cpu_ns = calls.SPENT_NS + 1 if what == "slow" else 1
    context.is_clean = what != "unclear"
    assert run(PLAIN, "a", "b", context=context)[1] == "s 0=a/| . s0"


def test_streams_look_like_those_of_a_process():
    before = (sys.stdin, sys.stdout, sys.stderr)
    seen = "import sys\nprint(*[(s.name, s.mode, s.encoding, s.errors, s.line_buffering) for s in "
    seen += "(sys.stdin, sys.stdout, sys.stderr)], sys.stdin.seekable())"
    context = StreamsContext(RULE)
    context.output_limit = 1000
    said = run(seen, "", context=context)[1]
    names = "('<stdin>', 'r', 'utf-8', 'surrogateescape', False) ('<stdout>', 'w', 'utf-8', 'surrogateescape', False)"
    assert names + " ('<stderr>', 'w', 'utf-8', 'backslashreplace', True) False/|" in said
    assert (sys.stdin, sys.stdout, sys.stderr) == before
