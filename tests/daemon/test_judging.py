"""What the judge makes of what workers say: which text is read, run or computed where, and what becomes of a value."""

from __future__ import annotations

import asyncio
import itertools
import logging
from dataclasses import replace
from typing import Any

import pytest
from cruxboxd.judging import judge as judging
from cruxboxd.judging import texts
from cruxboxd.judging.audit import Audit
from cruxboxd.judging.judge import Judge
from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome
from cruxboxd.judging.tasks import Check, InvalidCheck, RunCheck, ScriptCheck, StdioCheck, StepCount, Task
from cruxboxd.judging.texts import texts_of
from cruxboxd.scheduling import holding
from cruxboxd.shared.turns import Turns
from cruxboxd.zygotes.jobs import Job, Result
from cruxcell.protocol import messages, payloads
from judging_by_hand import (
    IN_PROCESS,
    ONE,
    SEPARATED,
    TASK,
    TWO,
    call,
    emit_nothing,
    judged,
    outcomes,
    script,
)
from told_workers import CONSTANT, EXPRESSION, Said, Told, done, read

# ---- batches -------------------------------------------------------------------------


async def test_every_check_of_every_task_has_one_result():
    told = Told({"f(1)": ONE})
    tasks = [replace(TASK, id=str(at), checks=[call("f(1)"), InvalidCheck("i", "why")]) for at in range(20)]
    seen: list[tuple[str, str]] = []

    async def emit(task: Task, check: Check, _result: CheckResult, _second: CheckResult | None) -> None:
        seen.append((task.id, check.id))

    judge = Judge(told, "0")  # type: ignore[arg-type]
    await judge.judge([], emit)
    assert seen == []
    await judge.judge(tasks, emit)
    assert sorted(seen) == sorted((task.id, check.id) for task in tasks for check in task.checks)


def test_it_asks_the_audit_that_it_is_given():
    audit = Audit(0)
    audit._suspects.add(7)
    assert [Judge(Told({}), "0", each).is_suspect(7) for each in (audit, None)] == [True, False]  # type: ignore[arg-type]


async def test_tasks_begin_a_few_at_a_time():
    judge, running = Judge(Told({}), "0"), []  # type: ignore[arg-type,var-annotated]
    tasks = [TASK] * 20
    readings, _ = judge._texts.read_all(tasks, [{}] * 20)
    assert [len(running) for _ in judge._begin(tasks, readings, None, running)] == [8, 16]  # type: ignore[arg-type]
    assert len(running) == 20
    await asyncio.gather(*running)
    large, running = [replace(TASK, checks=[InvalidCheck(str(at), "why") for at in range(40)])] * 3, []
    assert [len(running) for _ in judge._begin(large, readings, emit_nothing, running)] == [1, 2]
    await asyncio.gather(*running)


async def test_what_is_given_up_while_its_texts_are_read_has_no_result():
    """Nobody would take it, and it would count as our failure."""

    class Endless(Told):
        async def run(self, job: Job) -> Result:
            if job.kind == messages.JOB_READ:
                await asyncio.get_running_loop().create_future()
            return await super().run(job)

    seen: list[object] = []

    async def emit(*result: object) -> None:
        seen.append(result)

    tasks = [replace(TASK, id=str(at), checks=[script("assert f(1) == 1"), call("f(1)")]) for at in range(20)]
    judging = asyncio.ensure_future(Judge(Endless({"f(1)": ONE}), "0").judge(tasks, emit))  # type: ignore[arg-type]
    for _ in range(30):
        await asyncio.sleep(0)
    judging.cancel()
    await asyncio.wait([judging])
    assert (judging.cancelled(), seen) == (True, [])


@pytest.mark.parametrize("is_patient", [True, False])
async def test_tasks_end_one_at_a_time(is_patient: bool):
    """Of each that leaves, thousands of checks may be under way: the loop was held for 2.2 s by 57,000."""

    class Endless(Told):
        async def run(self, job: Job) -> Result:
            try:
                return await asyncio.get_running_loop().create_future()  # type: ignore[no-any-return]
            finally:
                log.append("e")

    log: list[str] = []
    judge = Judge(Endless({}), "0")  # type: ignore[arg-type]
    tasks = [replace(TASK, tenant=name, checks=[RunCheck("r", "")]) for name in "ab" for _ in range(10)]
    both = [asyncio.ensure_future(judge.judge(part, emit_nothing)) for part in (tasks[:10], tasks[10:])]
    for _ in range(30):
        await asyncio.sleep(0)
    for one in both:
        one.cancel()
    for count in range(200):
        log.append("-")
        await asyncio.sleep(0)
        if count == 5 and not is_patient:
            for one in both:
                one.cancel()
    assert all(one.cancelled() for one in both)
    text = "".join(log)
    assert text.count("e") == 20
    assert ("eee" in text) is not is_patient  # one of each


async def test_of_refused_checks_a_few_have_their_verdicts_in_one_pass():
    """Of each request: no worker is waited for that would come in between."""
    judge = Judge(Told({}), "0")  # type: ignore[arg-type]
    task = replace(TASK, checks=[InvalidCheck(str(at), "why") for at in range(200)])
    log: list[str] = []

    async def emit(_task: Task, check: Check, _result: CheckResult, _second: CheckResult | None) -> None:
        log.append(check.id)

    running = [asyncio.ensure_future(judge.judge([replace(task, tenant=name)], emit)) for name in "abc"]
    while not all(one.done() for one in running):
        log.append("-")
        await asyncio.sleep(0)
    in_a_pass = [len(list(names)) for is_pass, names in itertools.groupby(log, "-".__eq__) if not is_pass]
    assert (sum(in_a_pass), max(in_a_pass)) == (600, 3 * 32)


async def test_a_result_that_is_not_taken_ends_the_batch_and_is_no_failure_of_judging(
    caplog: pytest.LogCaptureFixture,
):
    class TooLarge(Exception):
        pass

    async def emit(*_result: object) -> None:
        raise TooLarge

    with pytest.raises(TooLarge), caplog.at_level(logging.ERROR):
        await Judge(Told({"f(1)": ONE}), "0").judge([replace(TASK, checks=[call("f(1)")])], emit)  # type: ignore[arg-type]
    assert not caplog.records


async def test_after_a_fault_of_ours_who_has_no_result_has_a_sandbox_error():
    def fail(job: Job) -> Result | None:
        assert job.kind != messages.JOB_EXPRESSION
        return None

    told = Told({"f(1)": ONE, "x": EXPRESSION}, before=fail)
    found = await judged(told, call("f(1)"), replace(call("f(1)", "x"), id="x"))
    assert outcomes(found) == {"f(1)": Outcome.PASSED, "x": Outcome.SANDBOX_ERROR}


async def test_each_kind_of_check_goes_its_way():
    told = Told({"f(1)": ONE, "script": EXPRESSION})
    checks: list[Check] = [call("f(1)"), call("f(1)x", None), script("script"), script("suite", "unittest")]
    checks += [InvalidCheck("i", "why"), StdioCheck("stdio", "", "out"), RunCheck("run", "")]
    told.texts = {**told.texts, "f(1)x": TWO}
    told.before = lambda job: replace(done(), streams=(b"out", b"")) if job.kind == messages.JOB_STDIO else None
    assert outcomes(await judged(told, *checks)) == {
        "f(1)": Outcome.PASSED, "f(1)x": Outcome.EVALUATED, "script": Outcome.PASSED, "suite": Outcome.SANDBOX_ERROR,
        "i": Outcome.INVALID, "stdio": Outcome.PASSED, "run": Outcome.EXECUTED,
    }  # fmt: skip
    kinds = [job.kind for job in told.jobs]
    # The suite's worker said nothing of its tests, so both halves were asked again.
    assert {kind: kinds.count(kind) for kind in set(kinds)} == {
        messages.JOB_READ: 1, messages.JOB_CALLS: 1, messages.JOB_SERVE: 4, messages.JOB_STDIO: 2,
    }  # fmt: skip


async def test_without_calls_no_worker_is_asked_for_calls():
    told = Told({"script": EXPRESSION})
    await judged(told, script("script"), InvalidCheck("i", "why"))
    assert [job.kind for job in told.jobs] == [messages.JOB_READ, messages.JOB_SERVE]
    await judged(only := Told({"f(1)": ONE}), call("f(1)"))
    assert [job.kind for job in only.jobs] == [messages.JOB_CALLS]


def test_what_is_expected_and_scripts_are_read():
    checks = [call("f(1)", "x"), call("f(2)", None), script("s"), script("suite", "pytest"), StdioCheck("o", "", "out")]
    task = replace(TASK, checks=checks)
    assert dict(texts_of(task)) == {checks[0]: (payloads.EXPECTED, "x"), checks[2]: (payloads.SCRIPT, "s")}
    assert dict(texts_of(replace(task, step_count=StepCount.EVENTS))) == {checks[0]: (payloads.EXPECTED, "x")}


@pytest.mark.parametrize("checks", [[], [script("s")], [call("f(1)", "x")], [script("s"), call("f(1)", "x")]])
async def test_what_is_expected_is_read_beside_no_script(checks: list[Check]):
    """It may be a candidate's."""
    told = Told({"f(1)": ONE, "s": EXPRESSION, "x": CONSTANT})
    assert set(outcomes(await judged(told, *checks)).values()) <= {Outcome.PASSED}
    kinds = {payloads.SCRIPT: b"s", payloads.EXPECTED: b"x"}
    wanted = [kinds[payloads.SCRIPT if isinstance(each, ScriptCheck) else payloads.EXPECTED] for each in checks]
    assert sorted(job.fields[1::2] for job in told.of(messages.JOB_READ)) == [[each] for each in sorted(wanted)]


async def test_others_have_a_turn_while_texts_are_looked_for():
    # As much as goes in one go, and a letter more.
    tasks = [replace(TASK, checks=[call("f(1)", "x" * ((1 << 18) - 1)), call("f(2)", last)]) for last in ("x", "xx")]
    turns: list[int] = []
    asyncio.get_running_loop().call_soon(turns.append, 1)
    found = [(len(each), len(turns)) async for each in texts.texts_of_all(tasks[:1])]
    found += [(len(each), len(turns)) async for each in texts.texts_of_all(tasks[1:])]
    assert found == [(2, 0), (2, 1)]


@pytest.mark.parametrize("repeat", [1, 2])
async def test_a_verdict_leaves_with_the_bytes_of_both_runs(repeat: int, monkeypatch: pytest.MonkeyPatch):
    told, left = Told({"f(1)": ONE}), list[int]()
    told.before = lambda job: Told({"f(1)": TWO})._honest(job) if job.key.hash_seed == "1" else None
    monkeypatch.setattr(holding, "leave", left.append)
    first, second = (await judged(told, call("f(1)", None), repeat=repeat))["f(1)"]
    assert (second is not None) is (repeat == 2)
    assert left == [first.size + (second.size if second is not None else 0)]


def test_it_takes_its_turns_with_others():
    turns = Turns(lambda _tenant, _seconds: None)
    assert Judge(Told({}), "0", None, turns)._turns is turns  # type: ignore[arg-type]
    assert Judge(Told({}), "0")._turns is not turns  # type: ignore[arg-type]


# ---- calls ---------------------------------------------------------------------------

# what is expected, what a worker reads of it or computes -> outcome, assurance, detail
EXPECTED: dict[str, tuple[str, dict[str, Any], Outcome, Assurance | None, str]] = {
    "a constant": ("x", {"x": CONSTANT}, Outcome.PASSED, SEPARATED, ""),
    "another constant": ("x", {"x": read(messages.READ_CONSTANT, b"i2;")}, Outcome.FAILED, SEPARATED, "differs"),
    "what is no value": (
        "x", {"x": read(messages.READ_INVALID, b"no")}, Outcome.INVALID, None, "the expected value: no"
    ),
    "nothing": ("", {"": read(messages.READ_INVALID, b"empty")}, Outcome.INVALID, None, "the expected value: empty"),
    "an expression": ("g(1)", {"g(1)": EXPRESSION, "its": ONE}, Outcome.PASSED, SEPARATED, ""),
    "an expression of another value": ("g(1)", {"g(1)": EXPRESSION, "its": TWO}, Outcome.FAILED, SEPARATED, "differs"),
    "an expression of no plain value": (
        "g(1)", {"g(1)": EXPRESSION, "its": Said("d", None)}, Outcome.INVALID, None,
        "the expected value: the value is not plain data; a script may compare it",
    ),
    "an expression that raises": (
        "g(1)", {"g(1)": EXPRESSION, "its": Said("d", "KeyError")}, Outcome.RAISED, SEPARATED,
        "the expected value: RAISED",
    ),
    "an expression that the policy stops": (
        "g(1)", {"g(1)": EXPRESSION, "its": Said("d", "PermissionError")}, Outcome.RAISED, SEPARATED,
        "the expected value: the sandbox's policy refuses",
    ),
}  # fmt: skip


def test_a_script_may_compare_an_object_but_not_what_is_too_large():
    value, large = CheckResult(None, canonical=b"i1;"), CheckResult(None, detail="it is too large")
    assert judging.settle_expression(value, large).detail == "the expected value: it is too large"


@pytest.mark.parametrize("name", EXPECTED)
async def test_a_value_against_what_is_expected(name: str):
    expected, texts, outcome, assurance, detail = EXPECTED[name]
    told = Told({"f(1)": ONE, **texts})
    if "its" in texts:
        said = texts["its"]
        report = Told({expected: said})._honest

        def compute(job: Job) -> Result | None:
            return report(job) if job.kind == messages.JOB_EXPRESSION else None

        told.before = compute
    result, second = (await judged(told, call("f(1)", expected)))["f(1)"]
    assert (result.outcome, result.assurance, second) == (outcome, assurance, None)
    assert detail in result.detail
    assert len(told.of(messages.JOB_EXPRESSION)) == ("its" in texts)


async def test_a_value_that_was_not_read_is_our_failure():
    told = Told({"f(1)": ONE})
    told.before = lambda job: Result(error="no zygote") if job.kind == messages.JOB_READ else None
    result, _ = (await judged(told, call("f(1)", "g(1)")))["f(1)"]
    assert (result.outcome, result.detail) == (Outcome.SANDBOX_ERROR, "no zygote")


async def test_a_call_that_came_to_no_value_is_compared_with_nothing():
    told = Told({"f(1)": Said("d", "KeyError"), "x": EXPRESSION})
    result, _ = (await judged(told, call("f(1)", "x")))["f(1)"]
    assert (result.outcome, told.of(messages.JOB_EXPRESSION)) == (Outcome.RAISED, [])


async def test_the_weaker_of_two_assurances_counts():
    """An expected value that needs the program's names is computed beside it."""
    told = Told({"f(1)": ONE, "g(1)": EXPRESSION})
    raised = Told({"g(1)": Said("d", "NameError")})._honest
    told.before = lambda job: raised(job) if job.kind == messages.JOB_EXPRESSION else None
    told.texts = {**told.texts, "g(1)": EXPRESSION}
    beside = Told({"g(1)": Said("x", 1)})._honest

    def answer(job: Job) -> Result | None:
        if job.kind == messages.JOB_EXPRESSION:
            return raised(job)
        return beside(job) if job.kind == messages.JOB_CALLS and job.fields[3] == b"g(1)" else None

    told.before = answer
    result, _ = (await judged(told, call("f(1)", "g(1)")))["f(1)"]
    assert (result.outcome, result.assurance) == (Outcome.PASSED, IN_PROCESS)
    result, _ = (await judged(told, call("f(1)", "g(1)"), require=SEPARATED))["f(1)"]
    assert result.outcome is Outcome.INVALID
    result, _ = (await judged(told, call("f(1)", "g(1)"), program=b""))["f(1)"]
    assert (result.outcome, result.exception and result.exception[0]) == (Outcome.RAISED, "NameError")


async def test_a_value_that_is_asked_for_is_told_without_what_is_noted_for_the_daemon():
    noted = Said("d", findings=(messages.SEEDLESS, messages.IMPORT_NAME))
    told = Told({"f(1)": noted, "f(2)": Said("d", "KeyError")})
    found = await judged(told, call("f(1)", None, inspect=True), call("f(2)", None))
    assert outcomes(found) == {"f(1)": Outcome.EVALUATED, "f(2)": Outcome.RAISED}
    assert found["f(1)"][0].findings == (messages.IMPORT_NAME,)
