"""Isolation.TASK: all checks of a task in one worker, whatever the program is; and what is still kept apart."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from cruxbox import (
    Assurance,
    CallCheck,
    Client,
    EvaluateCheck,
    InvalidRequest,
    Isolation,
    Limits,
    Outcome,
    Task,
    Verdict,
)

pytestmark = pytest.mark.kernel

LIMITS = Limits(cpu_ms=1000, steps=50_000, output_bytes=2000, memory_bytes=128 << 20)
# Not hermetic: it keeps something in a module, which outlives the namespace.
COUNTS = """
import string
def f(x):
    string.seen = getattr(string, "seen", 0) + 1
    {}
    return string.seen
"""


def evaluated(client: Client, body: str, calls: list[str], **changes: object) -> list[Verdict]:
    task = Task(COUNTS.format(body), [EvaluateCheck(call, id=str(at)) for at, call in enumerate(calls)], limits=LIMITS)
    return client.check([replace(task, isolation=Isolation.TASK, **changes)])


CALLS = ["f(0)", "f(1)", "f(2)", "f(3)"]


def test_they_share_a_worker_and_say_so(native: Client):
    verdicts = evaluated(native, "", CALLS)
    assert [verdict.value for verdict in verdicts] == ["1", "2", "3", "4"]
    assert {verdict.assurance for verdict in verdicts} == {Assurance.IN_PROCESS}


def test_a_hermetic_program_is_as_safe_as_ever(native: Client):
    task = Task("n = 0\ndef f(x):\n    global n\n    n += 1\n    return n", [EvaluateCheck(call) for call in CALLS])
    verdicts = native.check([replace(task, isolation=Isolation.TASK)])
    assert [(verdict.value, verdict.assurance) for verdict in verdicts] == [("1", Assurance.SEPARATED)] * 4


# Statement, and what becomes of f(2) by it.
ENDS = {
    "steps": ("while x == 2: pass", Outcome.STEP_LIMIT),
    "time": ("if x == 2: sum(range(10 ** 12))", Outcome.TIMED_OUT),
    "memory": ("x == 2 and bytes(10 ** 10)", Outcome.MEMORY_LIMIT),
    "its own death": ("if x == 2: __import__('os')._exit(3)", Outcome.CRASHED),
    "output": ("print('z' * 3000 if x == 2 else '')", Outcome.OUTPUT_LIMIT),
    "a raised exception": ("1 / (x - 2)", Outcome.RAISED),
}


@pytest.mark.parametrize("name", ENDS)
def test_an_end_is_charged_to_the_check_it_came_upon(native: Client, name: str):
    statement, outcome = ENDS[name]
    verdicts = evaluated(native, statement, CALLS)
    expected = [Outcome.EVALUATED, Outcome.EVALUATED, outcome, Outcome.EVALUATED]
    assert [verdict.outcome for verdict in verdicts] == expected


def test_time_that_others_used_is_charged_to_nobody(native: Client):
    """Each takes four tenths of the limit, which is for all together while they share."""
    program = (
        "from time import process_time as clock\n"
        "def f(x):\n    end = clock() + 0.4\n    while clock() < end:\n        sum(range(100000))\n"
    )
    checks = [EvaluateCheck(call, id=call) for call in CALLS]
    verdicts = native.check([Task(program, checks, limits=replace(LIMITS, steps=10**9), isolation=Isolation.TASK)])
    assert {verdict.outcome for verdict in verdicts} == {Outcome.EVALUATED}


def test_memory_that_others_hold_is_charged_to_nobody(native: Client):
    verdicts = evaluated(native, "setattr(string, 'held%d' % x, bytes(50 << 20))", CALLS)
    assert {verdict.outcome for verdict in verdicts} == {Outcome.EVALUATED}


def test_a_worker_cannot_prolong_its_time(native: Client):
    """Dots on the progress pipe begin no new clock: the whole worker has the time of one check."""
    statement = "while x == 1:\n        [__import__('os').write(4, b'.'), sum(range(10 ** 6))]"
    verdicts = evaluated(native, statement, CALLS, limits=replace(LIMITS, steps=10**9))
    assert [verdict.outcome for verdict in verdicts][1] is Outcome.TIMED_OUT
    assert sum(verdict.cpu_ns for verdict in verdicts) < 5e9


def test_tasks_that_are_alike_see_nothing_of_each_other(native: Client):
    task = Task(COUNTS.format(""), [EvaluateCheck("f(0)")], isolation=Isolation.TASK)
    assert [verdict.value for verdict in native.check([task, replace(task, id="b")])] == ["1", "1"]


def test_sleepers_do_not_wait_for_each_other(native: Client):
    """After two workers that a check has ended, the rest go side by side."""
    limits = replace(LIMITS, wall_ms=1500)
    program = "import time\ndef f(x):\n    time.sleep(60)\n"
    task = Task(program, [EvaluateCheck(f"f({n})") for n in range(5)], limits=limits, isolation=Isolation.TASK)
    began = time.monotonic()
    assert {verdict.outcome for verdict in native.check([task])} == {Outcome.TIMED_OUT}
    assert time.monotonic() - began < 30


# What a candidate that is not hermetic writes to its report pipe, and how its checks end.
FRAME = """
import os, struct
def pack(*fields):
    body = b"".join(struct.pack("<I", len(field)) + field for field in fields)
    return struct.pack("<I", len(body)) + body
def numbers(index):
    return struct.pack("<IQQQB", index, 1, 1, 1, 0)
"""


def test_a_record_of_any_size_costs_only_its_own_check(native: Client):
    program = FRAME + (
        "def f(x):\n    os.write(3, pack(b'V', numbers(0), b'p', b'i1;', b'\\xff' * (12 << 20), b'', b''))\n"
        "    os._exit(0)"
    )
    checks = [EvaluateCheck(f"f({n})") for n in range(30)]
    honest = Task("def f(x):\n    return x", [CallCheck("f(1)", "1")])
    for isolation in (Isolation.AUTO, Isolation.TASK):
        *evil, good = native.check([Task(program, checks, isolation=isolation), honest])
        assert good.outcome is Outcome.PASSED
        assert {verdict.outcome for verdict in evil} <= {Outcome.VIOLATION, Outcome.OUTPUT_LIMIT}
        assert max(len(verdict.value) for verdict in evil) < 100_000


def test_an_end_is_never_charged_to_a_constant(native: Client):
    program = FRAME + (
        "def f(x):\n    os.write(3, pack(b'V', numbers(0), b'p', b'i1;', b'1', b'', b''))\n    os._exit(3)"
    )
    _, constant = native.check([Task(program, [EvaluateCheck("f(0)"), EvaluateCheck("6 * 7")])])
    assert (constant.outcome, constant.value) == (Outcome.EVALUATED, "42")


def test_a_candidate_cannot_say_that_it_is_blind_to_the_hash_seed(native: Client):
    program = FRAME + (
        "def f(x):\n    os.write(3, pack(b'I', struct.pack('<I', 0), b'\\x0c'))\n"
        "    return list({'a', 'b', 'c', 'd', 'e', 'f'})"
    )
    (verdict,) = native.check([Task(program, [EvaluateCheck("f(0)", inspect=True)], repeat=2)])
    assert verdict.outcome is Outcome.VIOLATION


@pytest.mark.parametrize("check", [CallCheck("f(1)", "1"), EvaluateCheck("f(1)")], ids=["call", "separated"])
def test_nothing_that_is_relied_on_may_share_like_that(native: Client, check: CallCheck | EvaluateCheck):
    require = Assurance.SEPARATED if isinstance(check, EvaluateCheck) else None
    with pytest.raises(InvalidRequest, match="isolation is TASK"):
        native.check([Task("def f(x): return x", [check], isolation=Isolation.TASK, require_assurance=require)])


def test_arguments_may_be_larger_than_any_output(native: Client):
    """They are computed in a worker of their own, and what may be printed is no limit for them."""
    task = Task("def f(x):\n    return len(x)", [CallCheck("f('a' * 300_000)", "300_000")], limits=LIMITS)
    (verdict,) = native.check([task])
    assert verdict.outcome is Outcome.PASSED
