"""What a comparison or a checker makes of what a program printed; the checker's worker says what stands here."""

from __future__ import annotations

import asyncio
import signal
import struct
from dataclasses import replace
from typing import Any

import pytest
from cruxboxd.judging import streams
from cruxboxd.judging.audit import Audit
from cruxboxd.judging.calls import CallEvaluator
from cruxboxd.judging.comparing import Compare, Comparison
from cruxboxd.judging.literals import read_literal
from cruxboxd.judging.outcomes import CheckResult, Outcome
from cruxboxd.judging.tasks import CallCheck, RunCheck, StdioCheck, as_text
from cruxboxd.scheduling.holding import Holding, current_holding
from cruxboxd.shared.turns import Turns
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Result
from cruxboxd.zygotes.read_back import FilesRead
from cruxcell.protocol import messages, records
from cruxcell.protocol.frames import frame
from ends_by_hand import PLAN, TASK
from told_workers import CLEAN, Said, Told

CHECK = StdioCheck("s", "in", "out")
RAN = CheckResult(None)
TURNS = Turns(lambda _tenant, _seconds: None)
YES, NO, OTHER = (CheckResult(None, canonical=read_literal(each), shown=each) for each in ("True", "False", "8"))
RAISES = CheckResult(Outcome.RAISED, "a text", exception=("KeyError", "a", 1))
OURS, TOO_SLOW, WRONG = (
    CheckResult(outcome, detail)
    for outcome, detail in [
        (Outcome.SANDBOX_ERROR, "ours"), (Outcome.TIMED_OUT, ""), (Outcome.INVALID, "the program: no check"),
    ]
)  # fmt: skip


class Checkers:
    def __init__(self, *says: CheckResult) -> None:
        self.says, self.calls, self.given = list(says), list[str](), list[tuple[bytes, ...]]()

    async def evaluate(self, checks: list[CallCheck]) -> list[CheckResult]:
        self.calls += [as_text(check.call) for check in checks]
        return [self.says.pop(0)]

    async def evaluate_check(self, *given: bytes) -> CheckResult:
        self.given.append(given)
        return self.says.pop(0)


async def settle(printed: bytes, *says: CheckResult, check: StdioCheck = CHECK) -> tuple[Any, str, list[str]]:
    checkers = Checkers(*says)
    judged = await streams.settle(TASK, check, (RAN, printed), checkers if says else None, TURNS)  # type: ignore[arg-type]
    return judged.outcome, judged.detail, checkers.calls


@pytest.mark.parametrize(
    ("expected", "most", "limit"), [(100, 9999, 1000), (500, 9999, 1024), (900, 9999, 2048), (900, 1500, 1500)]
)
def test_who_is_expected_to_print_much_may_print_more(expected: int, most: int, limit: int):
    task = replace(TASK, limits=replace(TASK.limits, output_bytes=1000), most_output=most)
    task = streams._with_room(task, replace(CHECK, expected_stdout="x" * expected))
    assert task.limits.output_bytes == limit


async def test_what_is_printed_is_compared():
    assert await settle(b"out") == (Outcome.PASSED, "", [])
    assert await settle(b"in") == (Outcome.FAILED, "the output differs", [])
    failed = CheckResult(Outcome.TIMED_OUT)
    assert await streams.settle(TASK, CHECK, (failed, b"out"), None, TURNS) is failed


async def test_what_it_takes_to_compare_much_is_the_tenants_and_one_slice_at_a_time():
    """What else the loop has to do comes between any two steps of a comparison."""
    charged = dict.fromkeys("ab", 0)

    def charge(name: str, _seconds: float) -> None:
        charged[name] += 1

    turns, passes = Turns(charge, slice_s=0), 0
    check = replace(CHECK, expected_stdout="1.0 " * 10_000, comparison=Comparison(Compare.TOKENS, absolute=0.2))
    printed = RAN, b"1.1 " * 10_000
    tasks = [replace(TASK, tenant=name) for name in "aaab"]
    running = [asyncio.ensure_future(streams.settle(task, check, printed, None, turns)) for task in tasks]
    while not all(one.done() for one in running):
        passes += 1
        await asyncio.sleep(0)
    assert {one.result().outcome for one in running} == {Outcome.PASSED}
    assert charged["a"] == 3 * charged["b"] > 60
    assert passes >= charged["b"]


async def test_what_is_no_text_is_made_one_in_the_same_turns():
    charged: list[str] = []
    printed = b"\xff" * (1 << 18)
    turns = Turns(lambda name, _seconds: charged.append(name), slice_s=0)
    told = Told({}, before=lambda _job: Result(report=b"", facts=CLEAN, streams=(printed, b"")))
    task = replace(TASK, tenant="a", limits=replace(TASK.limits, output_bytes=1 << 20))
    judged = await streams.run_program(told, task, RunCheck("r", ""), "0", turns)  # type: ignore[arg-type]
    assert judged.stdout.decode() == "?" * (1 << 18)
    assert charged == ["a"] * 5


CANDIDATE, BY_ITSELF = "check('in', 'x', 'out')", "check('in', 'out', 'out')"


@pytest.mark.parametrize(
    ("says", "outcome", "detail"),
    [
        ([YES], Outcome.PASSED, ""),
        ([NO], Outcome.FAILED, "the checker says no"),
        ([OTHER, YES], Outcome.FAILED, "the checker must return True or False, not 8 (of what was printed)"),
        ([RAISES, NO], Outcome.FAILED, "the checker gave no answer: KeyError: a (of what was printed)"),
        ([TOO_SLOW, YES], Outcome.FAILED, "the checker gave no answer: TIMED_OUT (of what was printed)"),
        ([RAISES, OTHER], Outcome.INVALID, "the checker must return True or False, not 8"),
        ([RAISES, WRONG], Outcome.INVALID, "the checker gave no answer: no check"),
        ([OURS], Outcome.SANDBOX_ERROR, "the checker: ours"),
        ([RAISES, OURS], Outcome.SANDBOX_ERROR, "the checker: ours"),
    ],
)
async def test_a_checker_that_gives_no_answer_is_tried_on_what_is_expected(says, outcome, detail):
    assert await settle(b"x", *says) == (outcome, detail, [CANDIDATE, BY_ITSELF][: len(says)])


@pytest.mark.parametrize("shares", [(True, False), (False, True), (False, False)])
async def test_a_verdict_has_shared_a_worker_if_its_checker_has(shares: tuple[bool, bool]):
    checkers = Checkers(*[one.but(shared=share) for one, share in zip((RAISES, YES), shares)])
    judged = await streams.settle(TASK, CHECK, (RAN, b"x"), checkers, TURNS)  # type: ignore[arg-type]
    assert (judged.outcome, judged.shared) == (Outcome.FAILED, any(shares))


async def test_a_checker_that_nothing_is_expected_of_is_asked_whether_it_is_one():
    for expected in ("", " \n"):
        check = replace(CHECK, expected_stdout=expected)
        _, _, calls = await settle(b"x", RAISES, YES, check=check)
        assert calls[1] == "_has_check()"


async def test_what_is_long_is_given_to_a_checker_as_it_is():
    """A call's text has six characters for a byte that is no text, and was made at once: 24 outputs of 4 MiB took 1.6
    GiB, and the event loop two seconds."""
    changed: list[int] = []
    holding = Holding(lambda _holding, size: changed.append(size), 1)
    current_holding.set(holding)
    printed, checkers = b"\xff" * (1 << 20), Checkers(RAISES, YES)
    check = replace(CHECK, expected_stdout="o" * 5000)
    judged = await streams.settle(TASK, check, (RAN, printed), checkers, TURNS)  # type: ignore[arg-type]
    assert (judged.outcome, checkers.calls) == (Outcome.FAILED, [])
    assert checkers.given == [(b"in", printed, b"o" * 5000), (b"in", b"o" * 5000, b"o" * 5000)]
    assert checkers.given[0][1] is printed
    assert changed == [5002, 5002]


async def test_what_was_printed_chooses_no_zygote_for_its_checker():
    told = Told({"checker": Said("d")})
    task = replace(TASK, program=b"checker")
    printed = b"import os, threading; open('f')"
    await CallEvaluator(told, task, "0", Audit(0)).evaluate_check(b"1", printed, b"2")  # type: ignore[arg-type]
    (one,) = told.jobs
    assert one.fields == [b"checker", b"1", printed, b"2"]
    assert (one.key.threads, one.key.scratch, one.key.preloaded, one.may_share) == (False, False, False, False)


@pytest.mark.parametrize("files", [("a", "b"), ()])
async def test_only_a_run_reads_files_back(files: tuple[str, ...]):
    run, compared = RunCheck("r", "", read_files=files), CHECK
    jobs = [streams._job(Told({}), TASK, check, "0", 0) for check in (run, compared)]  # type: ignore[arg-type]
    assert [job.read_files for job in jobs] == [files, ()]


NUMBERS = records.NUMBERS.pack(0, 1, 1, 1, 0)
ENDED = PLAN + records.ended(NUMBERS)
VIOLATED = frame([messages.VIOLATED, struct.pack("<I", 59)])


@pytest.mark.parametrize(
    ("report", "facts", "run", "compared"),
    [
        (ENDED, Exit(), 0, None),
        (ENDED, Exit(3 << 8), 3, Outcome.CRASHED),
        (PLAN + records.raised(NUMBERS, KeyError("a")), Exit(1 << 8), 1, Outcome.CRASHED),
        (PLAN, Exit(), 0, None),  # os._exit(0)
        (PLAN, Exit(5 << 8), 5, Outcome.CRASHED),
        (PLAN, Exit(signal.SIGSEGV), Outcome.CRASHED, Outcome.CRASHED),
        (ENDED, Exit(signal.SIGSEGV), Outcome.CRASHED, Outcome.CRASHED),
        (PLAN, Exit(signal.SIGKILL, killed=messages.KILLED_CPU), Outcome.TIMED_OUT, Outcome.TIMED_OUT),
        (PLAN, Exit(killed=messages.KILLED_CPU), Outcome.TIMED_OUT, Outcome.TIMED_OUT),
        (PLAN + VIOLATED, Exit(signal.SIGSYS), Outcome.VIOLATION, Outcome.VIOLATION),
        (PLAN + VIOLATED, Exit(1 << 8), Outcome.CRASHED, Outcome.CRASHED),
        (PLAN + records.limit(messages.MEMORY_LIMIT, 0, 5), Exit(), Outcome.MEMORY_LIMIT, Outcome.MEMORY_LIMIT),
        (PLAN + records.limit(messages.MEMORY_LIMIT, 0, 5), Exit(1 << 8), Outcome.CRASHED, Outcome.CRASHED),
        (ENDED + ENDED, Exit(), Outcome.VIOLATION, Outcome.VIOLATION),
        (ENDED[:-1], Exit(), Outcome.VIOLATION, Outcome.VIOLATION),
        (b"", Exit(5 << 8), Outcome.SANDBOX_ERROR, Outcome.SANDBOX_ERROR),
    ],
)
def test_how_a_program_ended_the_kernel_says(report: bytes, facts: Exit, run: Any, compared: Outcome | None):
    """An exit code if it came to an end of its own; only the code 0 is an end whose output is compared."""
    result = Result(report=report, facts=facts)
    judged = streams._of_run(result, TASK)
    assert (judged.exit_code if judged.outcome is Outcome.EXECUTED else judged.outcome, judged.forged) == (
        run, run is Outcome.VIOLATION and not report.endswith(VIOLATED)
    )  # fmt: skip
    assert streams._of_stdio(result, TASK, True).outcome is compared
    without = streams._of_stdio(result, TASK, False)  # where no output is expected, it has to say that it ended
    assert without.outcome is (Outcome.CRASHED if report == PLAN and compared is None else compared)


@pytest.mark.parametrize(
    ("expected", "checker", "printed", "outcome"),
    [
        ("out", "", b"", None),
        (" \n", "", b"out", Outcome.CRASHED),
        ("", "check = print", b"out", None),
        ("", "check = print", b" \n", Outcome.CRASHED),
        ("out", "check = print", b"", None),
    ],
)
async def test_who_leaves_without_a_word_is_judged_by_output_if_there_is_any_to_judge(
    expected: str, checker: str, printed: bytes, outcome: Outcome | None
):
    came = Result(report=PLAN, facts=CLEAN, streams=(printed, b""))
    told, check = Told({}, before=lambda _job: came), replace(CHECK, expected_stdout=expected, checker=checker)
    judged, out = await streams.run_stdio(told, TASK, check, "0", TURNS)  # type: ignore[arg-type]
    assert (judged.outcome, out) == (outcome, printed)


def test_our_failure_is_no_end_of_a_program():
    assert streams._of_run(Result(report=PLAN, error="ours"), TASK).outcome is Outcome.SANDBOX_ERROR


def test_a_program_that_was_run_is_told_why_the_sandbox_refused_it_something():
    report = PLAN + records.raised(NUMBERS, OSError(30, "Read-only file system"))
    judged = [streams._of_run(Result(report=each, facts=Exit(1 << 8)), TASK) for each in (report, ENDED)]
    assert [bool(one.detail) for one in judged] == [True, False]


@pytest.mark.parametrize(
    ("report", "status", "sizes", "is_too_much"),
    [
        (ENDED, 0, (9, 9), False),
        (ENDED, 0, (10, 0), True),
        (ENDED, 0, (0, 10), False),  # it is cut
        (ENDED, 3 << 8, (0, 10), True),
        (ENDED, 3 << 8, (0, 9), False),
        (PLAN + records.raised(NUMBERS, KeyError("a")), 1 << 8, (0, 10), True),
        (PLAN, signal.SIGSEGV, (0, 10), True),
    ],
)
def test_what_is_printed_on_standard_error_is_too_much_for_what_failed(
    report: bytes, status: int, sizes: tuple[int, int], is_too_much: bool
):
    task = replace(TASK, limits=replace(TASK.limits, output_bytes=10))
    result = Result(report=report, facts=Exit(status), streams=(b"x" * sizes[0], b"x" * sizes[1]))
    found = [streams._of_run(result, task).outcome, streams._of_stdio(result, task, True).outcome]
    assert [outcome is Outcome.OUTPUT_LIMIT for outcome in found] == [is_too_much] * 2


@pytest.mark.parametrize(
    ("report", "is_over", "outcome"),
    [
        (ENDED, True, Outcome.OUTPUT_LIMIT),
        (ENDED, False, Outcome.EXECUTED),
        (b"", True, Outcome.SANDBOX_ERROR),
        (b"", False, Outcome.SANDBOX_ERROR),
    ],
)
async def test_files_that_are_too_large_are_the_doing_of_a_program_that_ended(
    report: bytes, is_over: bool, outcome: Outcome
):
    read = FilesRead() if is_over else FilesRead((("a", b"1"),))
    came = Result(report=report, facts=CLEAN, files=replace(read, is_over=is_over))
    told = Told({}, before=lambda _job: came)
    judged = await streams.run_program(told, TASK, RunCheck("r", ""), "0", TURNS)  # type: ignore[arg-type]
    code = 0 if outcome is Outcome.EXECUTED else None
    assert (judged.outcome, judged.exit_code, judged.files) == (outcome, code, read.files)


def test_a_checker_is_run_for_those_that_have_one():
    checks = [CHECK, replace(CHECK, checker="def check(): 1"), replace(CHECK, checker="def check(): 1")]
    assert list(streams.checkers_of(TASK, checks)) == ["def check(): 1"]


@pytest.mark.parametrize(
    ("most", "outcome"), [(4, Outcome.INVALID), (5, Outcome.OUTPUT_LIMIT), (6, Outcome.OUTPUT_LIMIT)]
)
async def test_who_gives_a_checker_too_much_answers(monkeypatch: pytest.MonkeyPatch, most: int, outcome: Outcome):
    monkeypatch.setattr(streams, "_MOST_CHECKED", most)
    assert (await settle(b"xx", YES))[::2] == (outcome, [])
    monkeypatch.setattr(streams, "_MOST_CHECKED", 7)
    assert (await settle(b"xx", YES))[0] is Outcome.PASSED


async def test_a_verdict_has_shared_a_worker_if_its_program_has():
    judged = await streams.settle(TASK, CHECK, (RAN.but(shared=True), b"x"), Checkers(YES), TURNS)  # type: ignore[arg-type]
    assert judged.shared
