"""From facts to outcomes: kernel facts first, then what the worker says, and a forged report is never a pass."""

from __future__ import annotations

import re
import signal
import struct
import sys
from collections import Counter, OrderedDict, defaultdict

import pytest
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxboxd.judging import outcomes
from cruxboxd.judging.comparing import PLAINLY, Compare, Comparison, is_same
from cruxboxd.judging.outcomes import ENDED, CheckResult, Clock, Outcome, compare_runs, of_answer, of_exit
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.report import Answer
from cruxcell.jobs.context import value_record
from cruxcell.protocol import frames, messages, records

S = 1_000_000_000
MIB = 1 << 20
LIMITS = (3 * S, 512 * MIB)


def died(number: int, **facts: int) -> Exit:
    return Exit(status=number, **facts)


def test_names_and_numbers_are_those_of_the_wire():
    for ours in (Outcome, outcomes.TestOutcome, outcomes.Assurance, Clock):
        theirs = pb.DESCRIPTOR.enum_types_by_name[ours.__name__].values_by_number
        names = {each.value: f"{re.sub('(?<!^)(?=[A-Z])', '_', ours.__name__).upper()}_{each.name}" for each in ours}
        assert names == {number: value.name for number, value in theirs.items() if number}


# facts -> outcome, clock
ENDS = {
    "out of CPU time": (Exit(9, killed=messages.KILLED_CPU), Outcome.TIMED_OUT, Clock.CPU),
    "out of wall time": (Exit(9, killed=messages.KILLED_WALL), Outcome.TIMED_OUT, Clock.WALL),
    "cancelled": (Exit(9, killed=messages.KILLED_CANCEL), Outcome.SANDBOX_ERROR, None),
    "silent": (Exit(9, killed=messages.KILLED_SILENT), Outcome.CRASHED, None),
    "CPU time beats memory": (Exit(9, 9 * S, 0, 512 * MIB, messages.KILLED_CPU), Outcome.TIMED_OUT, Clock.CPU),
    "exit 0 and no answer": (Exit(0), Outcome.CRASHED, None),
    "exit 1": (Exit(1 << 8), Outcome.CRASHED, None),
    "the harness's exit code is no answer": (Exit(messages.EXIT_STEPS << 8), Outcome.CRASHED, None),
    "SIGSEGV": (died(signal.SIGSEGV), Outcome.CRASHED, None),
    "SIGSEGV with a core": (died(signal.SIGSEGV | 0x80), Outcome.CRASHED, None),
    "SIGSYS": (died(signal.SIGSYS), Outcome.VIOLATION, None),
    "SIGXCPU": (died(signal.SIGXCPU), Outcome.TIMED_OUT, Clock.CPU),
    "SIGXFSZ": (died(signal.SIGXFSZ), Outcome.OUTPUT_LIMIT, None),
    "SIGKILL from outside": (died(signal.SIGKILL), Outcome.SANDBOX_ERROR, None),
    "SIGTERM from outside": (died(signal.SIGTERM), Outcome.SANDBOX_ERROR, None),
    "SIGKILL after all its CPU time": (died(signal.SIGKILL, cpu_ns=3 * S), Outcome.TIMED_OUT, Clock.CPU),
    "SIGKILL with all its memory": (died(signal.SIGKILL, peak_bytes=500 * MIB), Outcome.MEMORY_LIMIT, None),
    "SIGKILL after more than its CPU time": (died(signal.SIGKILL, cpu_ns=4 * S), Outcome.TIMED_OUT, Clock.CPU),
    "SIGABRT after all its CPU time": (died(signal.SIGABRT, cpu_ns=3 * S), Outcome.CRASHED, None),
    "SIGABRT with all its memory": (died(signal.SIGABRT, peak_bytes=500 * MIB), Outcome.CRASHED, None),
    "SIGSEGV after all its CPU time": (died(signal.SIGSEGV, cpu_ns=3 * S), Outcome.CRASHED, None),
    "SIGSEGV with all its memory": (died(signal.SIGSEGV, peak_bytes=500 * MIB), Outcome.CRASHED, None),
    "SIGKILL with little memory": (died(signal.SIGKILL, peak_bytes=400 * MIB), Outcome.SANDBOX_ERROR, None),
    "a signal without a name": (died(40), Outcome.CRASHED, None),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_an_end_without_an_answer(name: str):
    facts, outcome, clock = ENDS[name]
    judged = of_exit(facts, *LIMITS)
    assert (judged.outcome, judged.clock) == (outcome, clock)
    assert judged.detail


def test_how_it_ended_is_said():
    assert of_exit(Exit(3 << 8), *LIMITS).detail == "exited with code 3 and no answer"
    assert of_exit(died(signal.SIGSEGV), *LIMITS).detail == "ended by SIGSEGV"
    assert of_exit(died(40), *LIMITS).detail == "ended by signal 40"


# ---- answers ----------------------------------------------------------------------

CLEAN = Exit(0, 5 * S, 7 * S, 3 * MIB)
LINE = struct.pack("<i", 3)


def answer(kind: bytes, *fields: bytes, cpu_ns: int = 1, wall_ns: int = 2, is_out_of_memory: bool = False) -> Answer:
    return Answer(kind, 0, 10, cpu_ns, wall_ns, is_out_of_memory, fields)


# kind of answer -> its fields, outcome, detail
ANSWERS = {
    "value": (messages.VALUE, (b"p", b"i1;", b"1", b"", b""), None, ""),
    "NaN": (messages.VALUE, (b"n", b"fnan", b"nan", b"", b""), None, "the value holds NaN, which equals nothing"),
    "opaque": (messages.VALUE, (b"o", b"f", b"<f>", b"", b""), None, "the value is not plain data"),
    "raised": (messages.RAISED, (b"KeyError", b"'x'", LINE, b"", b""), Outcome.RAISED, ""),
    "steps": (messages.STEP_LIMIT, (), Outcome.STEP_LIMIT, "out of steps"),
    "output": (messages.OUTPUT_LIMIT, (), Outcome.OUTPUT_LIMIT, "over its output limit"),
    "memory": (messages.MEMORY_LIMIT, (), Outcome.MEMORY_LIMIT, "out of memory"),
    "ended": (messages.ENDED, (b"", b"", b"token"), None, ENDED),
    "gone": (messages.CANDIDATE_GONE, (b"why",), Outcome.CRASHED, "why"),
    "not plain": (messages.NOT_PLAIN, (b"why",), Outcome.FAILED, "why"),
    "cannot cross": (messages.CANNOT_CROSS, (b"why",), Outcome.INVALID, "why"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_every_kind_of_answer(name: str):
    kind, fields, outcome, detail = ANSWERS[name]
    judged = of_answer(answer(kind, *fields), CLEAN)
    assert (judged.outcome, judged.detail, judged.steps) == (outcome, detail, 10)
    assert judged.canonical == (b"i1;" if name == "value" else None)  # what equals nothing has no bytes to compare
    assert (judged.stdout, judged.stderr, judged.shown_cut) == (b"", b"", False)


def test_a_value_is_shown_and_its_cut_is_said():
    judged = of_answer(answer(messages.VALUE, b"p", b"i1;", b"1234\0", b"out", b"err\xff"), CLEAN)
    assert (judged.shown, judged.shown_cut, judged.stdout, judged.stderr) == (
        "1234",
        True,
        b"out",
        "err\ufffd".encode(),
    )


def test_an_exception_is_told():
    judged = of_answer(answer(messages.RAISED, b"KeyError", b"'x'", LINE, b"out", b"err"), CLEAN)
    assert (judged.exception, judged.stdout, judged.stderr) == (("KeyError", "'x'", 3), b"out", b"err")
    below = of_answer(answer(messages.RAISED, b"E", b"", struct.pack("<i", -3), b"", b""), CLEAN)
    assert below.exception == ("E", "", -3)


@pytest.mark.parametrize(
    ("kind", "message", "hinted"),
    [
        (b"PermissionError", b"whatever", True),
        (b"RuntimeError", b"can't start new thread", True),
        (b"RuntimeError", b"another", False),
        (b"KeyError", b"can't start new thread", False),
    ],
)
def test_what_the_policy_refuses_is_hinted_at(kind: bytes, message: bytes, hinted: bool):
    judged = of_answer(answer(messages.RAISED, kind, message, LINE, b"", b""), CLEAN)
    assert judged.detail.startswith("the sandbox's policy") is hinted
    assert bool(judged.detail) is hinted


@pytest.mark.parametrize(("out", "err"), [(b"out", b""), (b"", b"err")])
def test_what_one_stream_holds_is_told(out: bytes, err: bytes):
    judged = of_answer(answer(messages.ENDED, out, err, b""), CLEAN)
    assert (judged.stdout, judged.stderr) == (out, err)


def test_an_exception_for_want_of_memory_is_a_limit():
    raised = answer(messages.RAISED, b"MemoryError", b"", LINE, b"", b"", is_out_of_memory=True)
    judged = of_answer(raised, CLEAN)
    assert (judged.outcome, judged.exception) == (Outcome.MEMORY_LIMIT, ("MemoryError", "", 3))


def test_what_is_claimed_is_cut_to_what_the_kernel_measured():
    judged = of_answer(answer(messages.STEP_LIMIT, cpu_ns=2**60, wall_ns=2**60), CLEAN)
    assert (judged.cpu_ns, judged.wall_ns, judged.peak_bytes) == (5 * S, 7 * S, 3 * MIB)
    assert of_answer(answer(messages.STEP_LIMIT, cpu_ns=9), Exit()).cpu_ns == 0


def test_what_ran_in_no_worker_has_used_nothing():
    judged = outcomes.invalid("why")
    assert (judged.steps, judged.cpu_ns, judged.wall_ns, judged.peak_bytes, judged.queue_ns) == (0, 0, 0, 0, 0)


def test_what_all_results_have_in_common_stays():
    base = CheckResult(None, queue_ns=9, attempts=2)
    judged = of_answer(answer(messages.STEP_LIMIT), CLEAN, base)
    assert (judged.queue_ns, judged.attempts, base.outcome) == (9, 2, None)


def test_a_violation_has_the_name_of_its_call():
    judged = outcomes.of_violation("ptrace", Exit(0, 3, 4))
    assert (judged.outcome, judged.syscall, judged.cpu_ns, judged.wall_ns) == (Outcome.VIOLATION, "ptrace", 3, 4)
    assert "ptrace" in judged.detail


@pytest.mark.parametrize("killed", range(1, 5))
def test_who_was_killed_has_not_ended_well(killed: int):
    """Also with status 0: it may have exited in the moment it was to be killed."""
    assert Exit().is_clean
    assert not Exit(0, killed=killed).is_clean
    assert not Exit(1).is_clean


# ---- deciding ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("canonical", "expected", "outcome"),
    [
        (b"i1;", b"i1;", Outcome.PASSED),
        (b"i1;", b"i2;", Outcome.FAILED),
        (None, b"i1;", Outcome.FAILED),
        (b"i1;", None, Outcome.FAILED),
        (None, None, Outcome.FAILED),
        (b"", b"i1;", Outcome.FAILED),
    ],
)
def test_only_equal_bytes_pass(canonical: bytes | None, expected: bytes | None, outcome: Outcome):
    assert outcomes.compare(CheckResult(None, canonical=canonical), expected).outcome is outcome


def test_why_nothing_is_equal_is_said():
    """What is no plain value equals nothing, also where nothing was expected."""
    judged = outcomes.compare(CheckResult(None, "the value is not plain data"), b"i1;")
    assert (judged.outcome, judged.detail) == (Outcome.FAILED, "the value is not plain data")
    judged = outcomes.compare(CheckResult(None, canonical=b"i1;"), None)
    assert (judged.outcome, judged.detail) == (Outcome.FAILED, "")
    assert outcomes.compare(CheckResult(None, canonical=b"i1;"), b"i2;").detail == "the value differs"
    assert outcomes.compare(CheckResult(None, canonical=b"i1;"), b"i1;").detail == ""


COUNTERS = [Counter(), Counter(a=0), Counter(a=1), Counter(a=1, b=0), Counter(b=1)]
ORDERS = [OrderedDict([("a", 1), ("b", 0)]), OrderedDict([("b", 0), ("a", 1)])]
SAME_PLACES = OrderedDict([("a", 1), ("c", 0)])
DICTS: list[object] = [*COUNTERS, *ORDERS, {}, {"a": 1}, {"a": 1, "b": 0}, defaultdict(int, a=1), SAME_PLACES]
NESTED = [[one, {1: other}] for one in DICTS for other in DICTS[2:9]]


def reported(value: object) -> CheckResult:
    """What comes of a value that a worker reports."""
    found: list[list[bytes]] = []
    frames.split(value_record(records.NUMBERS.pack(0, 0, 0, 0, 0), value, MIB, b"", b""), found, 1, 8)
    return read(*found[0][2:])


def read(*fields: bytes) -> CheckResult:
    return of_answer(Answer(messages.VALUE, 0, 0, 0, 0, False, fields), Exit(0))


@pytest.mark.skipif(sys.version_info < (3, 10), reason="there two Counters are equal as dicts are")
@pytest.mark.parametrize("values", [DICTS, NESTED], ids=["alone", "nested"])
def test_dicts_equal_their_like_as_in_python(values: list[object]):
    results = [reported(value) for value in values]
    for value, one in zip(values, results):
        for expected, other in zip(values, results):
            judged = outcomes.compare(one, other.canonical, other.relation)
            assert (judged.outcome is Outcome.PASSED) == (value == expected), (value, expected)


@pytest.mark.parametrize("packed", [b"", b"12345", frames.pack([b"i1;"] * 2), frames.pack([b"i1;"] * 4)], ids=repr)
def test_what_no_honest_worker_packs_equals_nothing(packed: bytes):
    result = read(messages.HAS_LIKES, packed, b"", b"", b"")
    assert result.canonical is None
    assert outcomes.compare(result, b"i1;").outcome is Outcome.FAILED


@pytest.mark.parametrize("outcome", Outcome)
def test_what_is_decided_stays(outcome: Outcome):
    assert outcomes.compare(CheckResult(outcome, canonical=b"i1;"), b"i1;").outcome is outcome


@pytest.mark.parametrize(
    ("printed", "expected", "same"),
    [
        (b"1\n2\n", b"1\n2", True),
        (b"1  \n2\t\n\n\n", b"1\n2", True),
        (b"1\r\n2", b"1\n2", True),
        (b" 1", b"1", False),
        (b"1\n\n2", b"1\n2", False),
        (b"", b"1", False),
        (b"12", b"1\n2", False),
    ],
)
def test_output(printed: bytes, expected: bytes, same: bool):
    assert all(is_same(printed, expected, PLAINLY)) is same


NUMBERS = Comparison(absolute=1e-300)  # as LiveCodeBench compares


@pytest.mark.parametrize(
    ("printed", "expected", "comparison", "same"),
    [
        (b"1\n", b"1\n", Comparison(Compare.EXACT), True),
        (b"1\n", b"1", Comparison(Compare.EXACT), False),
        (b"1  2\n3", b"1 2 3\n", Comparison(Compare.TOKENS), True),
        (b"12 3", b"1 2 3", Comparison(Compare.TOKENS), False),
        (b"YES\n", b"Yes", Comparison(Compare.CASEFOLD), True),
        (b"YES", b"Yes", PLAINLY, False),
        (b"1 2", b"1", Comparison(Compare.TOKENS, absolute=0.1), False),
        (b"1", b"1 2", Comparison(Compare.TOKENS, absolute=0.1), False),
        (b"1", b"x", Comparison(absolute=1e9), False),
        (b"YE S", b"YES", Comparison(Compare.CASEFOLD), False),
        (b"\xff", b"\xfe", Comparison(Compare.CASEFOLD), False),
        (b"0.5000001 x", b"0.5 x", Comparison(Compare.TOKENS, absolute=1e-6), True),
        (b"0.50001 x", b"0.5 x", Comparison(Compare.TOKENS, absolute=1e-6), False),
        (b"0.5000001 x", b"0.5 x", Comparison(absolute=1e-6), False),
        (b"a  b", b"a b", NUMBERS, False),
        (b"* *", b"*  *", NUMBERS, False),
        (b"Yes 1.0", b"Yes 1", NUMBERS, False),
        (b"yes 1.0", b"YES 1", Comparison(Compare.CASEFOLD, absolute=1e-300), False),
        (b" yes  1", b"YES  1 ", Comparison(Compare.CASEFOLD, absolute=1e-300), True),
        (b"\n \n  a b \n1.0\t2e0\n", b"a b\n 1 2", NUMBERS, True),
        (b"1\n\n2", b"1\n2", NUMBERS, False),
        (b"1 1", b"1", NUMBERS, False),
        (b"50000000000000000", b"50000000000000001", NUMBERS, False),
        (b"nan 1.0", b"nan 1", NUMBERS, False),
        (b"a\nb", b"a", NUMBERS, False),
        (b"7" * 401 + b" 1.0", b"7" * 401 + b" 1", NUMBERS, True),
        (b"7" * 401 + b"x 1.0", b"7" * 401 + b"x 1", NUMBERS, False),
        (b"1000001", b"1000000.0", Comparison(relative=1e-6), True),
        (b"1000003", b"1000000", Comparison(relative=1e-6), False),
        (b"1e400", b"1e500", Comparison(relative=0.1), False),
        (b"nan", b"1", Comparison(absolute=1e9), False),
        (b"inf", b"1", Comparison(absolute=1e9), False),
        (b"1_0", b"10", Comparison(absolute=1e-9), False),
        (b"", b"1", Comparison(absolute=1e9), False),
        (b"1\n2", b"1 2", Comparison(absolute=0.1), False),
        (b"1\n2", b"1 2", Comparison(Compare.TOKENS, absolute=0.1), True),
        (b"1" * 401, b"1" * 400 + b"2", Comparison(relative=1.0), False),
        (b"1 " * 5000 + b"2", b"1 " * 5000 + b"3", Comparison(absolute=0.5), False),
        (b"2 " + b"1 " * 5000, b"3 " + b"1 " * 5000, Comparison(absolute=0.5), False),
    ],
)
def test_ways_to_compare(printed: bytes, expected: bytes, comparison: Comparison, same: bool):
    found = list(is_same(printed, expected, comparison))
    assert found[-1] is same
    assert all(found[:-1])


ONCE = CheckResult(Outcome.PASSED, canonical=b"c", shown="[1, 2]")
STEPS = CheckResult(Outcome.STEP_LIMIT, "out of steps")


@pytest.mark.parametrize(
    ("first", "second", "differs"),
    [
        (ONCE, None, False),
        (ONCE, ONCE.but(steps=7), False),
        (ONCE, ONCE.but(shown="[2, 1]"), True),
        (ONCE, ONCE.but(outcome=Outcome.FAILED, canonical=b"d"), True),
        (ONCE, CheckResult(Outcome.RAISED), True),
        (ONCE, CheckResult(None, canonical=b"d"), True),
        (ONCE, STEPS, True),
        (STEPS, ONCE, True),
        (STEPS, CheckResult(Outcome.RAISED), True),
        *((STEPS, CheckResult(limit, "its sentence"), False)
          for limit in (Outcome.TIMED_OUT, Outcome.STEP_LIMIT, Outcome.MEMORY_LIMIT, Outcome.OUTPUT_LIMIT)),
    ],
)  # fmt: skip
def test_two_runs_differ_by_what_the_program_gives(first: CheckResult, second: CheckResult | None, differs: bool):
    assert compare_runs(first, second) == (first, second if differs else None)


@pytest.mark.parametrize("first", [ONCE, STEPS])
def test_a_run_that_was_our_failure_is_no_difference(first: CheckResult):
    ours = CheckResult(Outcome.SANDBOX_ERROR, "the worker was killed from outside")
    assert compare_runs(first, ours) == compare_runs(ours, first) == (ours, None)


@pytest.mark.parametrize(("one", "other"), [(True, False), (False, True), (True, True), (False, False)])
def test_a_check_shared_a_worker_if_one_of_its_runs_did(one: bool, other: bool):
    assert compare_runs(ONCE.but(shared=one), ONCE.but(shared=other))[0].shared is (one or other)


def test_a_value_that_is_asked_for_is_told_without_what_the_daemon_alone_is_told():
    value = CheckResult(None, findings=messages.FINDING_NAMES)
    told = tuple(name for name in messages.FINDING_NAMES if name != "SEEDLESS")
    assert outcomes.evaluated(value) == CheckResult(Outcome.EVALUATED, findings=told)
    raised = CheckResult(Outcome.RAISED)
    assert outcomes.evaluated(raised) == raised


def test_how_many_bytes_a_result_holds():
    held = CheckResult(None, stdout=b"1", stderr=b"22", shown="333", files=(("a", b"4444"),))
    assert (held.size, held.but(canonical=b"55555").size) == (10, 15)


def test_marks_agree_only_if_they_are_as_many():
    for ours, theirs, agree in ((b"a", b"a", True), (b"a", b"a;b", False), (b"a;b", b"a", False)):
        value = CheckResult(None, canonical=b"i1;", relation=(b"i1;", ours))
        assert (outcomes.compare(value, b"i1;", (b"i1;", theirs)).outcome is Outcome.PASSED) is agree
