"""Programs that write records of their own: real workers, and no check passes but by the value it came to."""

from __future__ import annotations

import pytest
from cruxbox import Assurance, CallCheck, Client, EvaluateCheck, Isolation, Limits, Outcome, ScriptCheck, Task
from cruxcell.protocol import frames, payloads
from cruxcell.values import transfer
from cruxcell.values.canonical import canon
from speaking import SPEAK

pytestmark = pytest.mark.kernel

LIMITS = Limits(cpu_ms=1_000, wall_ms=5_000)
SEVEN = repr(canon(7, 100)[0])


def outcomes(client: Client, program: str, *checks: object, **options: object) -> list[str]:
    verdicts = client.check([Task(SPEAK + program, list(checks), limits=LIMITS, **options)])  # type: ignore[arg-type]
    assert len(verdicts) == len(checks)
    return [verdict.outcome.name for verdict in verdicts]


# What the program says while check 0 runs, in an expression of its own; then it returns 1.
LATER = {
    "a value of the next check": f"os.write(3, value(1, {SEVEN}))",
    "one's own and the next one's": f"os.write(3, value(0, b'i1;') + value(1, {SEVEN}))",
    "the next one's, then leave": f"(os.write(3, value(1, {SEVEN})), os._exit(0))",
    "one's own, the next one's, then leave": f"(os.write(3, value(0, b'i1;') + value(1, {SEVEN})), os._exit(0))",
    "every one's, backwards": f"[os.write(3, value(at, {SEVEN})) for at in (3, 2, 1, 0)]",
}


@pytest.mark.parametrize("name", LATER)
@pytest.mark.parametrize("isolation", [Isolation.AUTO, Isolation.PROCESS])
def test_a_worker_answers_no_check_but_its_own(native: Client, name: str, isolation: Isolation):
    """An expression is INVALID where SEPARATED is required, whatever another check's worker says of it."""
    program = f"said = []\ndef f(x):\n    said or said.append({LATER[name]})\n    return 1\n"
    checks = [CallCheck("f(1)", "1"), CallCheck("len('1234567') + 0 * f(2)", "7"), CallCheck("f(3) - 1 + 7", "8")]
    found = outcomes(native, program, *checks, isolation=isolation, require_assurance=Assurance.SEPARATED)
    assert found == ["VIOLATION", "INVALID", "INVALID"]


@pytest.mark.parametrize("name", LATER)
def test_a_direct_call_is_answered_by_its_own_worker(native: Client, name: str):
    program = f"def f(x):\n    if x == 1:\n        {LATER[name]}\n    return 1\n"
    found = outcomes(native, program, CallCheck("f(1)", "1"), CallCheck("f(2)", "7"), CallCheck("f(2)", "1"))
    assert found == ["VIOLATION", "FAILED", "PASSED"]


@pytest.mark.parametrize("ending", ["while True: pass", "os._exit(9)", "os.write(3, b'x')", "os._exit(0)"])
def test_a_call_does_not_end_the_constants_before_it(native: Client, ending: str):
    """By the record of a harness that has run out of memory behind the last of them."""
    program = f"def f(x):\n    os.write(3, frame(b'M', numbers(1)))\n    {ending}\n    return 1\n"
    found = outcomes(native, program, CallCheck("f(1)", "1"), CallCheck("1 + 1", "2"))
    assert found[0] in ("TIMED_OUT", "CRASHED", "VIOLATION", "MEMORY_LIMIT")
    assert found[1] == "PASSED"


def test_values_that_take_turns_are_forged_by_nobody_else(native: Client):
    """With the isolation of a task a program may meddle with its own later values, but not say them itself."""
    program = f"def f(x):\n    if x == 1:\n        os.write(3, value(1, {SEVEN}))\n    return x\n"
    checks = [EvaluateCheck(f"f({at})") for at in (0, 1, 2)]
    verdicts = native.check([Task(SPEAK + program, checks, limits=LIMITS, isolation=Isolation.TASK)])
    assert [(verdict.outcome.name, verdict.value) for verdict in verdicts] == [
        ("EVALUATED", "0"),
        ("VIOLATION", ""),
        ("EVALUATED", "2"),
    ]


SCRIPT = "assert f(1) == 7\nassert f(2) == 7\n"
ENDED = "frame(b'D', numbers(0), b'', b'', {token})"
# What a program says of the script that it runs beside, and how it leaves.
FORGED_ENDS = {
    "no token": (ENDED.format(token="b''"), "os._exit(0)"),
    "some token": (ENDED.format(token="os.urandom(16)"), "os._exit(0)"),
    "every field a token": ("frame(b'D', numbers(0), b'x' * 16, b'x' * 16, b'x' * 16)", "os._exit(0)"),
    "a value": ("value(0, b'')", "os._exit(0)"),
    "a value that could be the token's": ("frame(b'V', numbers(0), b'p', b'', b'ended', b'', b'')", "os._exit(0)"),
    "that it may not cross": ("frame(b'X', numbers(0), b'a value')", "os._exit(0)"),
    "that it ended, and raise": (ENDED.format(token="b''"), "raise KeyError(1)"),
    "that it ended, and go on": (ENDED.format(token="b''"), "pass"),
}


@pytest.mark.parametrize("name", FORGED_ENDS)
def test_a_script_in_the_candidates_process_has_not_ended_because_it_says_so(native: Client, name: str):
    said, leave = FORGED_ENDS[name]
    program = f"def f(x):\n    os.write(3, {said})\n    {leave}\n    return 6\n"
    assert set(outcomes(native, program, ScriptCheck(SCRIPT))) <= {"VIOLATION", "FAILED", "RAISED", "CRASHED"}
    imported = f"os.write(3, {said})\n{leave}\ndef f(x): return 6\n"
    assert set(outcomes(native, imported, ScriptCheck(SCRIPT))) <= {"VIOLATION", "FAILED", "RAISED", "CRASHED"}


@pytest.mark.parametrize("name", FORGED_ENDS)
def test_a_script_in_a_process_of_its_own_has_not_either(native: Client, name: str):
    said, leave = FORGED_ENDS[name]
    program = f"def f(x):\n    os.write(3, {said})\n    {leave}\n    return 6\n"
    verdicts = native.check([Task(SPEAK + program, [ScriptCheck(SCRIPT, entry_point="f")], limits=LIMITS)])
    assert verdicts[0].outcome in (Outcome.VIOLATION, Outcome.FAILED, Outcome.RAISED, Outcome.CRASHED)
    assert verdicts[0].assurance is Assurance.SEPARATED


ROWS = "for x, wanted in [(1, 7), (2, 7)]:\n    assert [f(x)] == [wanted]\n"
# What a program says that its calls came to: parts of (kind, steps) and what belongs to it.
CAME = {
    "an error that is none": [payloads.SERIES_CAME.pack(payloads.CAME_ERROR, 1)],
    "a value that is none": [payloads.SERIES_CAME.pack(payloads.CAME_VALUE, 1)],
    "one value, and an error that is none": [
        payloads.SERIES_CAME.pack(payloads.CAME_VALUE, 1), b"N", payloads.SERIES_CAME.pack(payloads.CAME_ERROR, 1),
    ],
    "an error of no name": [payloads.SERIES_CAME.pack(payloads.CAME_ERROR, 2**64 - 1), b""],
    "an error first": [
        payloads.SERIES_CAME.pack(payloads.CAME_ERROR, 1), frames.pack([b"KeyError", b"1"]),
        payloads.SERIES_CAME.pack(payloads.CAME_VALUE, 1), b"N",
    ],
    "no kind": [b"?", b"N"],
    "nothing": [],
    "too many": [payloads.SERIES_CAME.pack(payloads.CAME_VALUE, 2**64 - 1), b"N"] * 3,
    "what is no value": [payloads.SERIES_CAME.pack(payloads.CAME_VALUE, 2**64 - 1), b"?\xff"] * 2,
}  # fmt: skip


@pytest.mark.parametrize("script", [ROWS, SCRIPT], ids=["rows", "series"])
@pytest.mark.parametrize("name", CAME)
def test_what_calls_came_to_is_the_candidates_word_and_its_failure(native: Client, name: str, script: str):
    said = f"frame(b'V', numbers(0), b'p', {frames.pack(CAME[name])!r}, b'', b'', b'')"
    program = f"def f(x):\n    os.write(3, {said})\n    os._exit(0)\n"
    by_calls = SPEAK.replace("import os, struct", "import sys, struct\nos = sys.modules['os']")  # that needs no folder
    verdicts = native.check([Task(by_calls + program, [ScriptCheck(script)], limits=LIMITS)])
    assert verdicts[0].outcome in (Outcome.VIOLATION, Outcome.FAILED, Outcome.RAISED, Outcome.CRASHED)


@pytest.mark.parametrize("form", [b"Va" + bytes(4), transfer.encode(1.5, 100), b"?"], ids=["numpy", "none", "tag"])
def test_what_arguments_came_to_is_the_calls_word_and_its_failure(native: Client, form: bytes):
    """A call may say of its arguments what nobody can read, as of an array where numpy is not."""
    pair = transfer.encode(((None,), {}), 100).replace(transfer.encode(None, 100), form, 1)
    said = f"{SPEAK}os.write(3, value(0, {pair!r})); os._exit(0)"
    verdicts = native.check([Task("def f(x):\n    return x\n", [CallCheck(f"f(exec({said!r}))", "1")], limits=LIMITS)])
    assert verdicts[0].outcome in (Outcome.INVALID, Outcome.FAILED)


def test_three_slow_texts_do_not_time_out_their_neighbours(native: Client):
    """Parsing is part of a check's time, but of its own only."""
    slow = "f(" + "+".join(["(1,2,3)"] * 60_000) + ")"
    calls = ["f(1)", "f(2)", "f(3)", "f(4)", *[f"{slow[:-1]}+({at},))" for at in range(3)]]
    checks = [EvaluateCheck(call, id=str(at)) for at, call in enumerate(calls)]
    limits = Limits(cpu_ms=150, wall_ms=20_000)
    verdicts = native.check([Task("def f(x):\n    return x\n", checks, limits=limits)])
    assert [verdict.value for verdict in verdicts[:4]] == ["1", "2", "3", "4"]


# Ends of a script that it says itself, by the descriptor of the report: as whoever came by that in the test's process.
ENDS = {
    "the end of a script": "frame(b'D', numbers(0), b'', b'', b'')",
    "with a token made up": "frame(b'D', numbers(0), b'', b'', bytes(16))",
    "what makes it invalid": "frame(b'X', numbers(0), b'why', b'')",
}


@pytest.mark.parametrize("leaves", ["os._exit(0)", "assert f(1) == 2", "pass"])
@pytest.mark.parametrize("said", ENDS)
def test_a_script_ends_by_no_record_that_the_sandbox_did_not_write(native: Client, said: str, leaves: str):
    script = f"{SPEAK}assert f(0) == 1\nos.write(3, {ENDS[said]})\n{leaves}"
    (verdict,) = native.check([Task("def f(x):\n    return 1\n", [ScriptCheck(script, "f")], limits=LIMITS)])
    assert (verdict.outcome, verdict.assurance) == (Outcome.VIOLATION, Assurance.SEPARATED)
