"""What the judge makes of repeated checks, of scripts, and of values that shared a worker."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from cruxboxd.judging import judge as judging
from cruxboxd.judging.audit import Audit
from cruxboxd.judging.judge import Judge
from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome
from cruxboxd.judging.tasks import Check, StdioCheck, StepCount, Task
from cruxboxd.scheduling import holding
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.setup import ZygoteKinds
from cruxcell.protocol import messages, payloads, records
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
from told_workers import CLEAN, CONSTANT, EXPRESSION, S, Said, Told, canonical, done, read

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
