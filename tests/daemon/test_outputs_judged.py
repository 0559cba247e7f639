"""What a comparison or a checker makes of what a program printed; the checker's worker says what stands here."""

from __future__ import annotations

import asyncio
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
from cruxboxd.zygotes.jobs import Result
from test_scripts_judged import TASK
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
    """However many are compared at once, what else the loop has to do comes between any two steps."""
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
    assert passes >= sum(charged.values())


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
