"""What a program printed, compared or shown to a checker, whose own faults are nobody's failure; files read back."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import Any

import pytest
from cruxboxd.judging import streams
from cruxboxd.judging.audit import Audit, Audited
from cruxboxd.judging.calls import CallEvaluator
from cruxboxd.judging.literals import read_literal
from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome
from cruxboxd.judging.shared_streams import Printed, Runs
from cruxboxd.judging.tasks import PLAIN_SETTING, RunCheck, Setting, StdioCheck, StepCount, Task
from cruxboxd.shared.turns import Turns
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.read_back import FilesRead
from cruxboxd.zygotes.setup import ZygoteKinds
from cruxcell.protocol import frames, messages, records
from told_workers import CLEAN, DIED, LIMITS, S, Told

TURNS = Turns(lambda _tenant, _seconds: None)
TASK = Task(
    "t", b"print(1)", [], LIMITS, "default", True, None, 2, StepCount.INSTRUCTIONS,
    together=True, setting=Setting(arguments=("x",)),
)  # fmt: skip
PLAIN = replace(TASK, setting=PLAIN_SETTING, together=False)
ENDED = records.plan(False, "x", []) + records.ended(bytes(records.NUMBERS.size))
YES, NO = read_literal("True"), read_literal("False")


def program(out: bytes = b"1\n", facts: Exit = CLEAN, report: bytes = ENDED, **more: object) -> Result:
    return Result(report=report, facts=facts, streams=(out, b""), **more)  # type: ignore[arg-type]


async def judged(check: StdioCheck, printed: Result, told: Told) -> CheckResult:
    told.before = lambda job: printed if job.kind == messages.JOB_STDIO else None
    task = next(iter(streams.checkers_of(TASK, [check]).values()), None)
    checkers = task and CallEvaluator(told, task, "0", Audit(0))  # type: ignore[arg-type]
    found, out = await streams.run_stdio(told, TASK, check, "0", TURNS)  # type: ignore[arg-type]
    return await streams.settle(TASK, check, (found, out), checkers, TURNS)


@pytest.mark.parametrize(("expected", "outcome"), [("1", Outcome.PASSED), ("2", Outcome.FAILED)])
async def test_without_a_checker_what_was_printed_is_compared(expected: str, outcome: Outcome):
    told = Told({})
    found = await judged(StdioCheck("s", "", expected), program(), told)
    assert (found.outcome, found.stdout, found.assurance) == (outcome, b"1\n", Assurance.SEPARATED)
    crashed = await judged(StdioCheck("s", "", "1"), program(facts=DIED), told)
    assert crashed.outcome is Outcome.CRASHED


def test_a_checker_knows_nothing_of_the_program():
    checks = [StdioCheck("a", "", "", checker="one"), StdioCheck("b", "", ""), StdioCheck("c", "", "", checker="one")]
    (source, task), = streams.checkers_of(TASK, checks).items()  # fmt: skip
    assert (source, task.program.startswith(b"one\n"), task.require) == ("one", True, Assurance.SEPARATED)
    assert (task.repeat, task.together, task.checks, task.setting) == (1, False, [], PLAIN_SETTING)


# ---- checkers ------------------------------------------------------------------------

PRINTED = "check('', '1\\n', 'out')"
EXPECTED = "check('', 'out', 'out')"
ASKED = "_has_check()"


class Checker(Told):
    """A checker that answers each call with canonical bytes, an exception's name, or the end of its worker."""

    def _honest(self, job: Job) -> Result:
        said = self.texts[job.fields[3].decode()]
        plan, numbers = records.plan(True, messages.DIRECT, []), bytes(records.NUMBERS.size)
        if isinstance(said, bytes):
            return Result(report=plan + records.value(numbers, messages.PLAIN, said, b"shown"), facts=CLEAN)
        if isinstance(said, str):
            raised = [messages.RAISED, numbers, said.encode(), b"text", b"\1\0\0\0", b"", b""]
            return Result(report=plan + frames.frame(raised), facts=CLEAN)
        return said


CRASH = Result(report=records.plan(True, messages.DIRECT, []), facts=DIED)
OURS = Result(error="no zygote")
INVALID = Result(report=records.plan(True, messages.INVALID, ["the program: line 1"]), facts=CLEAN)
SILENT = Result(report=records.plan(True, messages.DIRECT, []), facts=Exit(9, S, killed=messages.KILLED_CPU))
# what the checker says of what was printed, and of what is expected -> outcome, and what the detail holds
SAID = {
    "yes": (YES, None, Outcome.PASSED, ""),
    "no": (NO, None, Outcome.FAILED, "the checker says no"),
    "neither, of what was printed": (b"i2;", YES, Outcome.FAILED, "not shown (of what was printed)"),
    "an error, of what was printed": ("KeyError", NO, Outcome.FAILED, "KeyError: text (of what was printed)"),
    "a crash, of what was printed": (CRASH, YES, Outcome.FAILED, "SIGSEGV (of what was printed)"),
    "neither of both": (b"i2;", b"i2;", Outcome.INVALID, "not shown"),
    "an error of both": ("KeyError", "ValueError", Outcome.INVALID, "ValueError: text"),
    "no checker": (INVALID, INVALID, Outcome.INVALID, "no answer: line 1"),
    "too slow, of what was printed": (SILENT, YES, Outcome.FAILED, "out of CPU time (of what was printed)"),
    "our failure": (OURS, None, Outcome.SANDBOX_ERROR, "the checker: no zygote"),
    "our failure afterwards": ("KeyError", OURS, Outcome.SANDBOX_ERROR, "the checker: no zygote"),
}


@pytest.mark.parametrize("name", SAID)
async def test_what_a_checker_says(name: str):
    printed, expected, outcome, detail = SAID[name]
    told = Checker({PRINTED: printed, EXPECTED: expected})
    found = await judged(StdioCheck("s", "", "out", checker="source"), program(), told)
    assert (found.outcome, len(told.of(messages.JOB_CALLS))) == (outcome, 1 if expected is None else 2)
    assert found.detail.endswith(detail)


@pytest.mark.parametrize(("said", "outcome"), [(YES, Outcome.FAILED), ("NameError", Outcome.INVALID)])
async def test_where_nothing_is_expected_a_checker_is_sound_if_it_defines_check(said, outcome: Outcome):
    told = Checker({"check('', '1\\n', ' ')": "KeyError", ASKED: said})
    found = await judged(StdioCheck("s", "", " ", checker="source"), program(), told)
    assert found.outcome is outcome


@pytest.mark.parametrize(
    ("stdin", "out", "expected", "outcome"),
    [(0, 3, 5, Outcome.PASSED), (0, 4, 5, Outcome.OUTPUT_LIMIT), (5, 0, 3, Outcome.PASSED), (5, 0, 4, Outcome.INVALID)],
)
async def test_a_checker_is_given_so_many_bytes(
    stdin: int, out: int, expected: int, outcome: Outcome, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(streams, "_MOST_CHECKED", 8)
    check = StdioCheck("s", "i" * stdin, "e" * expected, checker="source")
    told = Checker({f"check({'i' * stdin!r}, {'o' * out!r}, {'e' * expected!r})": YES})
    assert (await judged(check, program(b"o" * out), told)).outcome is outcome


# ---- files that are read back --------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "is_over", "outcome", "files"),
    [(CLEAN, False, Outcome.EXECUTED, 1), (CLEAN, True, Outcome.OUTPUT_LIMIT, 0), (DIED, True, Outcome.CRASHED, 1)],
)
async def test_files_that_are_too_large_are_over_the_output_limit(
    facts: Exit, is_over: bool, outcome: Outcome, files: int
):
    read = FilesRead((("name", b"data"),), is_over)
    told = Told({}, before=lambda _job: program(facts=facts, files=read))
    found = await streams.run_program(told, TASK, RunCheck("r", ""), "0", TURNS)  # type: ignore[arg-type]
    assert (found.outcome, len(found.files), found.exit_code) == (outcome, files, 0 if files and not is_over else None)


# ---- inputs that share a worker --------------------------------------------------------------------------------------

COUNT = 4
PLAN = records.plan(True, messages.DIRECT * COUNT, [])
REFUSED = records.plan(False, messages.ALONE * COUNT, [])


def ended(at: int, flags: int = 0) -> bytes:
    return records.ended(records.NUMBERS.pack(at, 0, 1, 1, flags), b"%d\n" % at)


def fell(at: int, flags: int = 0) -> bytes:
    return records.raised(records.NUMBERS.pack(at, 0, 1, 1, flags), ValueError(at), b"%d\n" % at)


# What a worker with four inputs said, how it ended, the inputs it is believed about, those that run alone.
TOLD = {
    "all": (PLAN + b"".join(map(ended, range(4))), CLEAN, "0123", ""),
    "refused": (REFUSED, CLEAN, "", "0123"),
    "an exception": (PLAN + ended(0) + fell(1) + ended(2) + ended(3), CLEAN, "0123", ""),
    "out of memory": (PLAN + ended(0) + fell(1, 4) + ended(2) + ended(3), CLEAN, "023", "1"),
    "out of memory at once": (PLAN + fell(0, 4) + ended(1) + ended(2) + ended(3), CLEAN, "123", "0"),
    "a clock behind the last answer": (PLAN + b"".join(map(ended, range(4))), SILENT.facts, "012", "3"),
    "a crash": (PLAN + ended(0) + ended(1), DIED, "01", "23"),
    "an early end": (PLAN + ended(0) + ended(1), CLEAN, "01", "23"),
    "a crash at once": (PLAN + ended(0), DIED, "0", "123"),
    "a limit": (PLAN + ended(0) + ended(1) + records.limit(messages.STEP_LIMIT, 2, 9), CLEAN, "01", "23"),
    "an answer for another": (PLAN + ended(0) + ended(1) + ended(3), CLEAN, "", "0123"),
    "an answer twice": (PLAN + b"".join(map(ended, [0, 1, 2, 3, 3])), CLEAN, "", "0123"),
    "no plan": (ended(0), CLEAN, "", "0123"),
    "nothing": (b"", DIED, "", "0123"),
}


@pytest.mark.parametrize("name", TOLD)
async def test_only_answers_are_taken_from_a_shared_worker(name: str):
    report, facts, shared, alone = TOLD[name]
    told, taken = Told({}), {}
    told.before = lambda job: Result(report=report, facts=facts) if len(job.fields) == COUNT + 1 else Result(error="no")

    async def run_alone(check: StdioCheck) -> Printed:
        return CheckResult(None, "alone"), b""

    async def take(check: StdioCheck, printed: Printed) -> None:
        assert check.id not in taken
        taken[check.id] = printed

    checks = [StdioCheck(str(at), f"{at}", "") for at in range(COUNT)]
    runs = Runs(told, PLAIN, "0", Audit(0), run_alone)  # type: ignore[arg-type]
    await runs.run(checks, take)
    assert [job.seals for job in told.jobs] == [job.checks + 1 for job in told.jobs]
    assert "".join(sorted(at for at, (found, _) in taken.items() if found.shared)) == shared
    assert "".join(sorted(at for at, (found, _) in taken.items() if found.detail == "alone")) == alone
    assert all(out == f"{at}\n".encode() for at, (found, out) in taken.items() if found.shared)


async def test_of_a_worker_that_was_stopped_what_it_had_sealed_counts():
    """It was stopped because an input takes long, which is nobody's failure; what it wrote behind its last seal may be
    anybody's word."""
    tokens = bytes(range(1, 25))
    told, taken, stopped = Told({}), dict[str, CheckResult](), list[Job]()
    told.stop = stopped.append  # type: ignore[attr-defined]

    def stop(job: Job) -> Result:
        job.tokens = tokens
        assert job.on_stuck is not None
        job.on_stuck(b"")
        report = b""
        for place, part in enumerate((PLAN, ended(0))):
            report += part
            seal = tokens[place * 8 : place * 8 + 8] + struct.pack("<Q", len(report))
            report += frames.frame([messages.SEAL, seal])
        return Result(report=report + ended(1), facts=DIED, error="stopped")

    async def run_alone(check: StdioCheck) -> Printed:
        return CheckResult(None, "alone"), b""

    async def take(check: StdioCheck, printed: Printed) -> None:
        taken[check.id] = printed[0]

    told.before = stop
    runs = Runs(told, PLAIN, "0", Audit(0), run_alone)  # type: ignore[arg-type]
    await runs.run([StdioCheck(str(at), "", "") for at in range(COUNT)], take)
    assert stopped == told.jobs
    assert {at: (found.shared, found.detail) for at, found in taken.items()} == {
        "0": (True, "ended"), **dict.fromkeys("123", (False, "alone"))
    }  # fmt: skip


async def test_those_behind_the_input_that_a_worker_came_upon_share_another():
    told, taken = Told({}), dict[str, bool]()

    def answers(job: Job) -> Result:
        if job.checks == 6:
            plan = records.plan(True, messages.DIRECT * 6, [])
            return Result(report=plan + ended(0) + ended(1), facts=DIED)
        plan = records.plan(True, messages.DIRECT * job.checks, [])
        return Result(report=plan + b"".join(map(ended, range(job.checks))), facts=CLEAN)

    async def run_alone(check: StdioCheck) -> Printed:
        return CheckResult(None, "alone"), b""

    async def take(check: StdioCheck, printed: Printed) -> None:
        taken[check.id] = printed[0].shared

    told.before = answers
    runs = Runs(told, PLAIN, "0", Audit(0), run_alone)  # type: ignore[arg-type]
    await runs.run([StdioCheck(str(at), "", "") for at in range(6)], take)
    assert ([job.checks for job in told.jobs], taken) == ([6, 3], {str(at): at != 2 for at in range(6)})


async def test_a_shared_worker_that_fails_finally_is_nobodys_failure():
    """The scheduler has tried it again; a server that shuts down starts no more workers."""
    told, taken = Told({}), []
    told.before = lambda _job: Result(error="the server is shutting down")

    async def run_alone(check: StdioCheck) -> Printed:
        raise AssertionError

    async def take(check: StdioCheck, printed: Printed) -> None:
        taken.append(printed[0].outcome)

    runs = Runs(told, PLAIN, "0", Audit(0), run_alone)  # type: ignore[arg-type]
    await runs.run([StdioCheck(str(at), "", "") for at in range(3)], take)
    assert taken == [Outcome.SANDBOX_ERROR] * 3


NOT_ASKED: dict[str, dict[str, Any]] = {
    "isolation": {"share": False},
    "a class": {"program": b"class A:\n    pass\n"},
    "a module": {"program": b"import os\n"},
    "a long program": {"program": b"x = 1\n" * 50_000},
    "threads": {"program": b"import sys\n# thread\n"},
    "a setting": {"checks": [StdioCheck(str(at), "", "", setting=TASK.setting) for at in range(3)]},
    "one": {"checks": [StdioCheck("a", "", "")]},
    "much": {"checks": [StdioCheck(str(at), "x" * 70_000, "") for at in range(3)]},
}


@pytest.mark.parametrize("name", NOT_ASKED)
async def test_what_shares_no_worker(name: str):
    changes: dict[str, Any] = {"checks": [StdioCheck(str(at), "", "") for at in range(3)], **NOT_ASKED[name]}
    told, taken = Told({}), []

    async def run_alone(check: StdioCheck) -> Printed:
        return CheckResult(None), b""

    async def take(check: StdioCheck, printed: Printed) -> None:
        taken.append(check.id)

    task = replace(PLAIN, **changes)
    await Runs(told, task, "0", Audit(0), run_alone).run(task.checks, take)  # type: ignore[arg-type]
    assert (told.jobs, sorted(taken)) == ([], [check.id for check in task.checks])


async def test_after_a_difference_nothing_shares():
    audit = Audit(1)
    audit.compare(Audited(7, "t", "c"), CheckResult(None, steps=1), CheckResult(None, steps=2))

    async def run_alone(check: StdioCheck) -> Printed:
        return CheckResult(None, "alone"), b""

    async def take(_check: StdioCheck, printed: Printed) -> None:
        taken.append(printed[0].detail)

    told, taken = Told({}), list[str]()
    checks = [StdioCheck(str(at), "", "") for at in range(COUNT)]
    await Runs(told, replace(PLAIN, rpc_id=7), "0", audit, run_alone).run(checks, take)  # type: ignore[arg-type]
    assert (told.jobs, taken) == ([], ["alone"] * COUNT)


@pytest.mark.parametrize(
    ("alone", "is_suspect"),
    [([b"", b"", b""], False), ([b"x"] * 3, True), ([b"x", b"x", b""], False), ([b"x", b"", b"x"], False)],
    ids=["the same", "another", "now this, now that", "that once"],
)
async def test_a_run_that_shared_a_worker_is_audited(alone: list[bytes], is_suspect: bool):
    """The place of the third is drawn; then that of one that the worker did not answer."""
    audit, told, others, found = Audit(1), Told({}), list(alone), []
    audit.draw = lambda checks: (2, 3)  # type: ignore[method-assign]
    told.before = lambda _job: Result(report=PLAN + b"".join(map(ended, range(3))), facts=DIED)

    async def run_alone(check: StdioCheck) -> Printed:
        if check.id != "2" or not (left := list(others)):
            return CheckResult(None, steps=7), b"alone"
        others[:] = left[1:]
        told = {"steps": len(left[0]), "stdout": b"2\n", "assurance": Assurance.SEPARATED}
        return CheckResult(None, "ended", **told), left[0] + b"2"  # type: ignore[arg-type]

    async def take(check: StdioCheck, printed: Printed) -> None:
        found.append((check.id, printed[0].shared, printed[1]))

    checks = [StdioCheck(str(at), "", "") for at in range(COUNT)]
    await Runs(told, PLAIN, "0", audit, run_alone).run(checks, take)  # type: ignore[arg-type]
    assert audit.is_suspect(PLAIN.rpc_id) is is_suspect
    assert sorted(found)[2] == ("2", False, b"alone" if is_suspect else alone[0] + b"2")
    assert [one[1] for one in sorted(found)] == [at < 2 and not is_suspect for at in range(COUNT)]


async def test_where_nothing_is_sealed_no_inputs_share():
    told = Told({}, kinds=ZygoteKinds(unsealed={"default"}))

    async def run_alone(check: StdioCheck) -> Printed:
        return CheckResult(None), b""

    async def take(check: StdioCheck, printed: Printed) -> None: ...

    checks = [StdioCheck(str(at), "", "") for at in range(3)]
    await Runs(told, PLAIN, "0", Audit(0), run_alone).run(checks, take)  # type: ignore[arg-type]
    assert told.jobs == []
