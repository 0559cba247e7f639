"""What shares a worker cannot be taken over: neither by a program, nor by the call on it, nor by a constant's text."""

from __future__ import annotations

from dataclasses import replace

import pytest
from behaviours import tested_runtimes
from cruxbox import CallCheck, Client, EvaluateCheck, Isolation, Limits, Outcome, ScriptCheck, Task
from in_company import EVIL, HERMETIC, RIGHT, differing

pytestmark = pytest.mark.kernel

LIMITS = Limits(cpu_ms=1000, steps=2_000_000, output_bytes=2000, memory_bytes=128 << 20)
RUNTIMES = tested_runtimes()


def outcomes(client: Client, task: Task) -> dict[str, Outcome]:
    return {verdict.check_id: verdict.outcome for verdict in client.check([task])}


@pytest.mark.parametrize("runtime", RUNTIMES)
@pytest.mark.parametrize("program", ["", HERMETIC], ids=["no program", "a hermetic program"])
def test_a_call_that_is_evil_reaches_no_other_of_its_task(native: Client, program: str, runtime: str):
    checks = [CallCheck(EVIL, "None", id="evil"), CallCheck(*RIGHT, id="right"), CallCheck(EVIL, "None", id="again")]
    found = outcomes(native, Task(program, checks, limits=LIMITS, runtime=runtime))
    assert found["right"] is Outcome.PASSED


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_an_assertion_that_is_evil_reaches_no_other(native: Client, runtime: str):
    checks = [
        ScriptCheck(f"assert None == {EVIL}", id="evil"),
        ScriptCheck("assert ['a', 'b'] == sorted('ba')", id="right"),
    ]
    assert outcomes(native, Task(HERMETIC, checks, limits=LIMITS, runtime=runtime))["right"] is Outcome.PASSED


@pytest.mark.parametrize("isolation", [Isolation.AUTO, Isolation.TASK], ids=["auto", "task"])
def test_an_evaluation_that_is_evil_reaches_no_other_task(native: Client, isolation: Isolation):
    evil = Task(HERMETIC, [EvaluateCheck(EVIL)] * 1, limits=LIMITS, id="evil", isolation=isolation)
    honest = [
        Task(f"{HERMETIC}  # {at}", [EvaluateCheck(RIGHT[0])], limits=LIMITS, isolation=isolation) for at in range(40)
    ]
    values = [verdict.value for verdict in native.check([evil, *honest])]
    assert values[1:] == [RIGHT[1]] * 40


def test_evaluations_of_a_hermetic_program_that_share_as_a_task_are_told_apart(native: Client):
    """A call that is not safe makes all of its task's values IN_PROCESS where they were asked to share."""
    checks = [EvaluateCheck(RIGHT[0], id="right"), EvaluateCheck(EVIL, id="evil"), EvaluateCheck(RIGHT[0], id="late")]
    found = {v.check_id: v for v in native.check([Task(HERMETIC, checks, limits=LIMITS, isolation=Isolation.TASK)])}
    assert found["late"].assurance.name == "IN_PROCESS"
    assert {v.assurance.name for v in found.values()} == {"IN_PROCESS"}


@pytest.mark.parametrize("program", ["", HERMETIC], ids=["no program", "a hermetic program"])
def test_two_hundred_tasks_of_one_check_each(native: Client, program: str):
    tasks = []
    for at in range(200):
        check = CallCheck(EVIL, "None") if at % 4 == 0 else CallCheck(*RIGHT)
        tasks.append(Task(program and f"{program}  # {at}", [check], limits=LIMITS, id=str(at)))
    verdicts = native.check(tasks)
    assert {verdict.outcome for at, verdict in enumerate(verdicts) if at % 4} == {Outcome.PASSED}


# Calls that pass for a call of a name on constants, and what they would leave behind.
CALLS = {
    "exec": EVIL,
    "eval": "eval('imp' 'ort')",
    "a module": "__import__('math')",
    "setattr": "setattr(1, 'a', 2)",
    "globals": "globals()",
    "the call of a class": "type('A', (), {})",
    "open": "open('/dev/null')",
    "input": "input()",
    "breakpoint": "breakpoint()",
    "__build_class__": "__build_class__(1, 2)",
    "compile": "compile('1', '', 'eval')",
    "an error that shows memory": "UnicodeDecodeError('x', b'', -9, -8, '')",
}


@pytest.mark.parametrize("name", CALLS)
def test_company_of_any_call_changes_nothing(native: Client, name: str):
    calls = [CALLS[name], RIGHT[0], "f(1)", CALLS[name] + " ", "7", "f(2)", "nothing(1)"]
    for program in ("", HERMETIC):
        tasks = [
            Task(
                f"{program}\n# {at}" if program else "", [EvaluateCheck(call, id=call) for call in calls], limits=LIMITS
            )
            for at in range(5)
        ]
        assert differing(native, tasks) == []


def test_a_hermetic_company_still_shares(native: Client):
    """The rule does not cost what it need not: the calls of a task that are safe are one worker's."""
    calls = [EvaluateCheck(f"f({at})", id=str(at)) for at in range(30)]
    tasks = [Task(HERMETIC, calls, limits=LIMITS)]
    assert differing(native, tasks) == []
    assert {verdict.value for verdict in native.check([replace(tasks[0], checks=calls[:3])])} == {"0", "1", "2"}


# ---- what texts cost, and what checks leave ---------------------------------------

SLOW_TO_PARSE = "f([" + "1, " * 1_000_000 + "])"  # far more than the 500 ms of a check


@pytest.mark.parametrize("program", ["", "def f(x):\n    return len(x)"], ids=["no program", "a program"])
def test_texts_that_are_slow_to_parse_cost_their_neighbours_nothing(native: Client, program: str):
    limits = replace(LIMITS, cpu_ms=500, memory_bytes=1 << 30)
    slow = [CallCheck(SLOW_TO_PARSE + " " * at, "0", id=f"slow{at}") for at in range(3)]
    quick = [CallCheck("sorted('ba')", "['a', 'b']", id=f"quick{at}") for at in range(4)]
    found = outcomes(native, Task(program, [*slow, *quick], limits=limits))
    assert [found[f"quick{at}"] for at in range(4)] == [Outcome.PASSED] * 4
    assert {found[f"slow{at}"] for at in range(3)} == {Outcome.TIMED_OUT}


GARBAGE = "def f(x):\n    kept = [[] for _ in range(x)]\n    kept.append(kept)\n    return x"


def test_garbage_is_freed_on_the_time_of_the_check_that_made_it(native: Client):
    """Cycles that take long to be taken apart: the check behind them has all of its own time."""
    limits = replace(LIMITS, cpu_ms=2000, steps=10**9, memory_bytes=1 << 30)
    checks = [EvaluateCheck(f"f({size})", id=str(at)) for at, size in enumerate([600_000, 1, 600_000, 2])]
    assert differing(native, [Task(GARBAGE, checks, limits=limits)]) == []
