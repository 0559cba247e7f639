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
from cruxboxd.judging.tasks import CallCheck, Check, InvalidCheck, RunCheck, ScriptCheck, StdioCheck, StepCount, Task
from cruxboxd.judging.texts import texts_of
from cruxboxd.scheduling import holding
from cruxboxd.shared.turns import Turns
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.setup import ZygoteKinds
from cruxcell.protocol import messages, payloads, records
from told_workers import CLEAN, CONSTANT, EXPRESSION, LIMITS, S, Said, Told, canonical, done, read

TASK = Task("t", b"def f(x): ...", [], LIMITS, "default", True, None, 1, StepCount.INSTRUCTIONS)
ONE, TWO = Said("d"), Said("d", 2)
SEPARATED, IN_PROCESS, LITERAL = Assurance.SEPARATED, Assurance.IN_PROCESS, Assurance.LITERAL
Found = tuple[CheckResult, "CheckResult | None"]


async def judged(told: Told, *checks: Check, audit: Audit | None = None, **changes: object) -> dict[str, Found]:
    """The result of each check of one task, and that of its second run."""
    task = replace(TASK, checks=list(checks), **changes)  # type: ignore[arg-type]
    found: dict[str, Found] = {}

    async def emit(_task: Task, check: Check, result: CheckResult, second: CheckResult | None) -> None:
        assert check.id not in found
        found[check.id] = result, second

    await Judge(told, "0", audit).judge([task], emit)  # type: ignore[arg-type]
    return found


def outcomes(found: dict[str, Found]) -> dict[str, Outcome | None]:
    return {name: first.outcome for name, (first, _) in found.items()}


def call(text: str, expected: str | None = "1", **more: object) -> CallCheck:
    return CallCheck(text, text, expected, **more)  # type: ignore[arg-type]


def script(text: str, framework: str = "") -> ScriptCheck:
    return ScriptCheck(text, text, "", framework)


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


async def emit_nothing(*_result: object) -> None:
    pass


@pytest.mark.parametrize("is_patient", [True, False])
async def test_tasks_end_one_at_a_time(is_patient: bool):
    """Of two that leave, thousands of checks may be under way: the loop was held for 2.2 s by 57,000."""

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
        if count == 10 and not is_patient:
            for one in both:
                one.cancel()
    assert all(one.cancelled() for one in both)
    text = "".join(log)
    assert text.count("e") == 20
    assert ("ee" in text) is not is_patient


async def test_of_refused_checks_a_few_have_their_verdicts_in_one_pass():
    """However many requests have them: no worker is waited for that would come in between."""
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
    assert (sum(in_a_pass), max(in_a_pass)) == (600, 32)


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
    tasks = [replace(TASK, checks=[call("f(1)", "x" * size), call("f(2)", "x")]) for size in (1 << 17, 1 << 18)]
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


# ---- repeated ------------------------------------------------------------------------


async def test_a_repeated_check_runs_under_two_hash_seeds():
    told = Told({"f(1)": ONE, "f(2)": ONE})
    told.before = lambda job: Told({"f(1)": TWO, "f(2)": TWO})._honest(job) if job.key.hash_seed == "1" else None
    found = await judged(told, call("f(1)"), call("f(2)", None), repeat=2)
    assert {name: tuple(one and one.outcome for one in both) for name, both in found.items()} == {
        "f(1)": (Outcome.PASSED, Outcome.FAILED), "f(2)": (Outcome.EVALUATED, Outcome.EVALUATED),
    }  # fmt: skip
    assert [one and one.canonical for one in found["f(2)"]] == [canonical(1), canonical(2)]
    assert [job.key.hash_seed for job in told.jobs] == ["0", "1"]
    told.texts = {"f(1)": Said("d", "KeyError"), "f(2)": ONE}
    again = await judged(told, call("f(1)"), call("f(2)", None), repeat=2)
    assert [one and one.outcome for one in again["f(1)"]] == [Outcome.RAISED, Outcome.FAILED]
    once = await judged(told, call("f(1)"), call("f(2)", None))
    assert [second for _, second in once.values()] == [None, None]


async def test_of_what_a_filter_asks_only_values_that_a_seed_could_change_are_repeated():
    texts = {"f(1)": ONE, "f(2)": Said("d", findings=(messages.SEEDLESS,)), "f(3)": Said("d", "KeyError")}
    checks = [call(text, None, inspect=True) for text in texts]
    told = Told(texts)
    told.before = lambda job: Told({"f(1)": TWO})._honest(job) if job.key.hash_seed == "1" else None
    found = await judged(told, *checks, repeat=2)
    assert [second is not None for _, second in found.values()] == [True, False, False]
    first, again = told.of(messages.JOB_CALLS)
    assert (first.fields[0][0] & payloads.INSPECT, again.fields[0][0] & payloads.INSPECT) == (payloads.INSPECT, 0)
    assert again.fields[3:] == [b"f(1)"]
    told = Told(dict.fromkeys(texts, texts["f(2)"]))
    found = await judged(told, *checks, repeat=2)
    assert ([second for _, second in found.values()], len(told.jobs)) == ([None] * 3, 1)


# ---- scripts -------------------------------------------------------------------------


def assertion(call: str, value: int = 1) -> list[bytes]:
    return read(messages.READ_ASSERTION, canonical(value), call)


async def test_assertions_about_one_call_are_judged_as_calls():
    told = Told({"a": assertion("f(1)"), "b": assertion("f(2)"), "f(1)": ONE, "f(2)": TWO})
    found = await judged(told, script("a"), script("b"))
    assert outcomes(found) == {"a": Outcome.PASSED, "b": Outcome.FAILED}
    assert {first.assurance for first, _ in found.values()} == {SEPARATED}
    assert [job.kind for job in told.jobs] == [messages.JOB_READ, messages.JOB_CALLS]


async def test_other_scripts_have_processes_of_their_own():
    texts = {"a": assertion("f(1)"), "b": EXPRESSION, "c": assertion("candidate(1)"), "f(1)": ONE, "d": CONSTANT}
    told = Told(texts)
    found = await judged(told, *map(script, "abcd"))
    assert set(outcomes(found).values()) == {Outcome.PASSED}
    assert sorted(job.partner.fields[0] for job in told.of(messages.JOB_SERVE) if job.partner) == [b"b", b"c", b"d"]
    assert told.of(messages.JOB_CALLS)[0].fields[3::2] == [b"f(1)"]


@pytest.mark.parametrize("require", [None, SEPARATED])
async def test_an_assertion_that_is_no_call_of_a_name_is_a_script_in_two_processes(require: Assurance | None):
    told = Told({"a": assertion("f(1)[0]"), "f(1)[0]": Said("x")})
    found = await judged(told, script("a"), require=require)
    assert (outcomes(found), told.jobs[-1].kind) == ({"a": Outcome.PASSED}, messages.JOB_SERVE)


async def test_an_assertion_about_an_object_is_a_script_in_two_processes():
    told = Told({"a": assertion("f(1)"), "f(1)": Said("d", None)})
    found = await judged(told, script("a"))
    assert (outcomes(found), told.jobs[-1].kind) == ({"a": Outcome.PASSED}, messages.JOB_SERVE)


@pytest.mark.parametrize("program", [b"import threading", b"import sqlite3"])
async def test_an_assertion_about_what_may_want_threads_or_files_is_a_script_in_two_processes(program: bytes):
    told = Told({"a": assertion("f(1)"), "f(1)": TWO}, ZygoteKinds(has_scratch=True))
    found = await judged(told, script("a"), program=program)
    assert outcomes(found) == {"a": Outcome.PASSED}
    assert [job.kind for job in told.jobs] == [messages.JOB_READ, messages.JOB_SERVE]


@pytest.mark.parametrize(
    ("name", "is_certain"),
    [("KeyError", True), ("AssertionError", False), ("MemoryError", False), ("RecursionError", False)],
)
async def test_an_error_that_the_call_of_an_assertion_raises_is_the_scripts(name: str, is_certain: bool):
    told = Told({"a": assertion("f(1)"), "f(1)": Said("d", name)})
    found = await judged(told, script("a"))
    assert outcomes(found) == {"a": Outcome.RAISED if is_certain else Outcome.PASSED}
    assert len(told.of(messages.JOB_SERVE)) == (not is_certain)


async def test_beside_its_program_an_assertion_runs_where_that_is_asked_for():
    told = Told({"a": assertion("f(1)[0]"), "f(1)[0]": Said("x")})
    found = await judged(told, script("a"), require=IN_PROCESS)
    assert (outcomes(found), found["a"][0].assurance) == ({"a": Outcome.PASSED}, IN_PROCESS)
    assert {job.kind for job in told.jobs} == {messages.JOB_READ, messages.JOB_CALLS}


async def test_an_invalid_assertion_about_a_call_stays_invalid():
    told = Told({"a": assertion("f(1)"), "f(1)": Said("i")})
    found = await judged(told, script("a"))
    assert (outcomes(found), told.of(messages.JOB_SERVE)) == ({"a": Outcome.INVALID}, [])


async def test_an_assertion_whose_call_the_sandbox_failed_is_a_script_in_two_processes():
    """Which fail, too, if that was no matter of the call."""
    told = Told({"a": assertion("f(1)")})
    told.before = lambda job: Result(error="without a zygote") if job.kind == messages.JOB_CALLS else None
    assert outcomes(await judged(told, script("a"))) == {"a": Outcome.PASSED}
    told.pair = (Result(error="without a zygote"),) * 2
    assert outcomes(await judged(told, script("a"))) == {"a": Outcome.SANDBOX_ERROR}


@pytest.mark.parametrize(
    ("facts", "said", "attempts"),
    [
        (Exit(9, S, killed=messages.KILLED_CPU), b"", 2),
        (Exit(9, 2_000_000, killed=messages.KILLED_WALL), b"", 5),
        (Exit(11, 2_000_000), b"", 5),
        (CLEAN, Said("d", "RecursionError").record(0), 5),
    ],
)
async def test_a_limit_that_the_call_of_an_assertion_meets_decides_nothing(facts: Exit, said: bytes, attempts: int):
    """Where that takes long, it is not asked for again and again."""
    told, found = Told({"a": assertion("f(1)")}), []
    ended = Result(report=records.plan(False, messages.DIRECT, []) + said, facts=facts)
    told.before = lambda job: ended if job.kind == messages.JOB_CALLS else None

    async def emit(_task: Task, _check: Check, result: CheckResult, _second: object) -> None:
        found.append(result.outcome)

    judge = Judge(told, "0")  # type: ignore[arg-type]
    for _ in range(5):
        await judge.judge([replace(TASK, checks=[script("a")], counts_steps=False)], emit)
    calls = told.of(messages.JOB_CALLS)
    assert (found, len(calls)) == ([Outcome.PASSED] * 5, attempts)
    assert (calls[0].limits.steps, calls[0].limits.cpu_ms, calls[0].limits.wall_ms) == (0, 500, 5_000)


async def test_a_script_that_cannot_be_read_does_not_run():
    told = Told({"a": read(messages.READ_INVALID, b"line 1")})
    result, _ = (await judged(told, script("a")))["a"]
    assert (result.outcome, result.detail) == (Outcome.INVALID, "the script: line 1")
    told.before = lambda _job: Result(error="no zygote")
    result, _ = (await judged(told, script("a")))["a"]
    assert (result.outcome, result.detail) == (Outcome.SANDBOX_ERROR, "no zygote")
    assert told.of(messages.JOB_SERVE) == []


async def test_a_script_whose_events_are_counted_is_read_by_nobody():
    told = Told({"s": ONE})
    told.before = lambda job: done(job.fields[-1]) if job.kind == messages.JOB_SCRIPT else None
    found = await judged(told, script("s"), step_count=StepCount.EVENTS)
    assert (found["s"][0].assurance, [job.kind for job in told.jobs]) == (IN_PROCESS, [messages.JOB_SCRIPT])


async def test_nobody_misses_the_texts_of_a_batch_that_was_called_off():
    complaints: list[object] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _loop, context: complaints.append(context))
    told, begun = Told({}), asyncio.Event()

    async def never(_job: Job) -> Result:
        begun.set()
        return await loop.create_future()

    told.run = never  # type: ignore[method-assign]
    work = asyncio.ensure_future(judged(told, script("a")))
    await begun.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    await asyncio.sleep(0)
    assert complaints == []


async def test_texts_whose_reading_failed_are_our_failure():
    def fail(job: Job) -> Result | None:
        assert job.kind != messages.JOB_READ
        return None

    result, _ = (await judged(Told({}, before=fail), script("a")))["a"]
    assert (result.outcome, result.detail) == (Outcome.SANDBOX_ERROR, "the texts could not be read")


# ---- hints ---------------------------------------------------------------------------


async def test_who_misses_a_module_is_told_of_runtimes_unless_there_is_more_to_say():
    missing = Said("d", "ModuleNotFoundError")
    told = Told({"f(1)": missing, "f(2)": Said("d", "KeyError"), "f(3)": ONE, "x": EXPRESSION})
    found = await judged(told, call("f(1)"), call("f(2)"), call("f(3)"))
    assert ["runtime" in first.detail for first, _ in found.values()] == [True, False, False]
    expected = Told({"x": missing})._honest
    told.before = lambda job: expected(job) if job.kind == messages.JOB_EXPRESSION else None
    assert (await judged(told, call("f(3)", "x")))["f(3)"][0].detail == "the expected value: RAISED"


# ---- programs ------------------------------------------------------------------------


async def test_no_output_that_shared_a_worker_is_judged_of_a_call_that_is_suspected(monkeypatch: pytest.MonkeyPatch):
    """That it is, shows when one output of two has been judged."""
    audit, ran = Audit(0), list[str]()

    class Printing:
        def __init__(self, *_: object) -> None: ...

        async def run(self, checks: list[StdioCheck], take: Any) -> None:
            ran.extend(check.id for check in checks)
            shares, text = (True, b"wrong") if len(ran) == 2 else (False, b"right")
            for check in checks:
                await take(check, (CheckResult(None, shared=shares), text))
                audit._suspects.add(7)

    monkeypatch.setattr(judging, "Runs", Printing)
    checks = StdioCheck("early", "", "right"), StdioCheck("late", "", "right")
    found = await judged(Told({}), *checks, audit=audit, rpc_id=7)
    assert outcomes(found) == {"early": Outcome.FAILED, "late": Outcome.PASSED}
    assert ran == ["early", "late", "late"]


@pytest.mark.parametrize("repeat", [1, 2])
async def test_no_value_that_shared_a_worker_is_compared_of_a_call_that_is_suspected(repeat: int):
    """That it is, shows when an expected value is computed, behind the verdict on another check."""
    audit, told = Audit(0), Told({"1": CONSTANT, "e()": EXPRESSION, "f(1)": ONE, "f(2)": ONE})

    def before(job: Job) -> Result | None:
        if job.kind == messages.JOB_EXPRESSION:
            audit._suspects.add(7)
            return Told({"e()": ONE})._honest(job)
        lies = job.kind == messages.JOB_CALLS and len(job.fields) > 4
        return Told({"f(1)": Said("d", 66), "f(2)": Said("d", 66)})._honest(job) if lies else None

    told.before = before
    checks = call("f(1)"), call("f(2)", "e()")
    found = await judged(told, *checks, audit=audit, rpc_id=7, repeat=repeat)
    assert outcomes(found) == {"f(1)": Outcome.FAILED, "f(2)": Outcome.PASSED}
    assert not found["f(2)"][0].shared


async def test_of_two_runs_of_which_one_shared_a_worker_both_did():
    one, other = (CheckResult(Outcome.PASSED, shared=shared) for shared in (False, True))
    assert [judging.outcomes.compare_runs(*pair)[0].shared for pair in ((one, other), (other, one), (one, one))] == [
        True, True, False,
    ]  # fmt: skip


async def test_what_runs_again_goes_before_what_has_not_begun():
    """Results wait for it, and where they are too many nothing else begins."""
    audit, awaited = Audit(0), list[bool]()
    audit._suspects.add(7)

    class Watched(Told):
        async def run(self, job: Job) -> Result:
            awaited.append(holding.is_awaited.get())
            return await super().run(job)

    judge = Judge(Watched({"f(1)": ONE, "1": CONSTANT}), "0", audit)  # type: ignore[arg-type]
    told = iter([CheckResult(None, shared=True), CheckResult(None, canonical=canonical(1))])

    async def evaluate(*_: object) -> tuple[list[CheckResult], list[None]]:
        awaited.append(holding.is_awaited.get())
        return [next(told)], [None]

    judge._evaluate = evaluate  # type: ignore[assignment]
    await judge.judge([replace(TASK, checks=[call("f(1)")], rpc_id=7)], emit_nothing)
    assert awaited[-2:] == [False, True]
    assert not holding.is_awaited.get()
