"""Calls that other workers take over, and calls that run again because an audit found a difference."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cruxboxd.judging.audit import Audit
from cruxboxd.judging.outcomes import Assurance, Outcome
from cruxboxd.zygotes.company import Company
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Job, Result
from cruxcell.protocol import messages, records
from told_calls import ONE, call, caller, evaluated, texts
from told_workers import CLEAN, DIED, S, Said, Told

# ---- stuck -----------------------------------------------------------------------------


async def test_what_is_behind_a_call_that_is_stuck_is_evaluated_by_others_once():
    told = Told({"f(1)": ONE, "f(2)": Said("d", 2), "f(3)[0]": Said("x")})
    stuck = records.plan(True, "ddx", [])

    def answer(job: Job) -> Result | None:
        if len(texts(job)) < 3:
            return None
        for _ in range(2):
            job.stuck(stuck)
        return Result(report=stuck, facts=Exit(9, S, killed=messages.KILLED_CPU))

    told.before = answer
    found = await evaluated(told, "f(1)", "f(2)", "f(3)[0]")
    assert [one.outcome for one in found] == [Outcome.TIMED_OUT, None, None]
    # What is behind comes first: it began while the call was stuck.
    assert list(map(texts, told.jobs)) == [["f(1)", "f(2)", "f(3)[0]"], ["f(2)"], ["f(3)[0]"]]


async def test_a_call_that_was_taken_over_is_not_evaluated_elsewhere_too():
    """Its worker dies for memory after it was taken over: it would run again alone, but has its result."""
    told = Told({"f(1)": ONE, "f(2)": Said("d", 2)})

    def answer(job: Job) -> Result | None:
        if len(texts(job)) < 2:
            return None
        job.stuck(records.plan(True, "dd", []))
        return Result(report=records.plan(True, "dd", []) + ONE.record(0), facts=CLEAN, unsealed=("sys",))

    told.before = answer
    found = await evaluated(told, "f(1)", "f(2)")
    assert [one.canonical for one in found] == [b"i1;", b"i2;"]
    assert list(map(texts, told.jobs)) == [["f(1)", "f(2)"], ["f(2)"]]


async def test_what_follows_upon_a_result_goes_before_what_has_not_begun():
    """What a call printed is held until its verdict."""
    told = Told({"f(1)": ONE, "f(2)[0]": Said("x"), "g()": ONE})
    await evaluated(told, "f(1)", "f(2)[0]")
    assert [(texts(job), job.follows) for job in told.jobs] == [
        (["f(1)", "f(2)[0]"], False), (["f(2)[0]"], True),
    ]  # fmt: skip
    await caller(told).evaluate_expected("g()")
    assert told.jobs[-1].follows


async def test_so_does_what_a_worker_that_stopped_early_has_left():
    told = Told({"f(1)": ONE, "f(2)": Said("d", 2)})
    early = Result(report=records.plan(True, "dd", []) + ONE.record(0), facts=CLEAN)
    told.before = lambda job: early if len(texts(job)) == 2 else None
    assert [one.canonical for one in await evaluated(told, "f(1)", "f(2)")] == [b"i1;", b"i2;"]
    assert [(texts(job), job.follows) for job in told.jobs] == [(["f(1)", "f(2)"], False), (["f(2)"], True)]


# ---- audited ---------------------------------------------------------------------------


class Audits(Audit):
    """An audit of all; it notes what is compared."""

    def __init__(self, share: float = 1) -> None:
        super().__init__(share)
        self.compared: list[str] = []

    def compare(self, audited, shared, alone) -> None:
        self.compared.append(audited.check_id)
        super().compare(audited, shared, alone)


def lying(told: Told, text: str):
    """A shared worker says of `text` that it is 66."""

    def answer(job: Job) -> Result | None:
        if len(texts(job)) < 2:
            return None
        return Told({**told.texts, text: Said("d", 66)})._honest(job)

    return answer


async def test_what_was_audited_comes_to_what_it_came_to_alone():
    told = Told({"f(1)": ONE, "f(2)": Said("d", 2), "f(3)[0]": Said("x", 3)})
    told.before = lying(told, "f(2)")
    audit = Audits()
    asking, checks = caller(told, audit), [call("f(1)"), call("f(2)"), call("f(3)[0]")]
    results = await asking.evaluate(checks)
    assert (sorted(audit.compared), audit.is_suspect(7)) == (["f(1)", "f(2)"], True)
    assert [(one.canonical, one.shared) for one in results] == [(b"i1;", False), (b"i2;", False), (b"i3;", False)]


async def test_without_a_difference_nothing_runs_again():
    told = Told({"f(1)": ONE, "f(2)": ONE})
    audit = Audits()
    asking, checks = caller(told, audit), [call("f(1)"), call("f(2)")]
    await asking.evaluate(checks)
    assert (sorted(audit.compared), audit.is_suspect(7)) == (["f(1)", "f(2)"], False)
    assert len(told.jobs) == 3  # the shared one, and each alone once


async def test_only_what_shared_a_worker_is_audited():
    told = Told({"f(1)": ONE, "f(2)": ONE, "f(3)[0]": Said("x")}, is_hermetic=False)
    audit = Audits()
    await evaluated(told, "f(1)", "f(2)", "f(3)[0]", audit=audit)
    assert audit.compared == []
    told = Told({"f(1)": ONE})
    await evaluated(told, "f(1)", audit=audit)
    assert audit.compared == []


async def test_a_check_that_is_another_each_time_says_nothing():
    told = Told({"f(1)": ONE, "f(2)": ONE})
    values = iter(range(100))

    def answer(job: Job) -> Result | None:
        return Told({"f(1)": Said("d", next(values)), "f(2)": ONE})._honest(job)

    told.before = answer
    audit = Audits()
    await evaluated(told, "f(1)", "f(2)", audit=audit)
    assert (audit.compared, audit.is_suspect(7)) == (["f(2)"], False)


async def test_of_jobs_that_shared_a_worker_what_was_drawn_for_them_is_audited():
    """A job of one check shares a worker with other jobs."""
    told = Told({"f(1)": ONE})
    audit = Audits()
    for places in ((), (0,)):
        company = Company(lambda _checks, places=places: places)  # type: ignore[misc]
        drawn = company.draw(1)

        def answer(job: Job, company: Company = company, drawn: tuple[int, ...] = drawn) -> Result | None:
            honest = Told({"f(1)": ONE})._honest(job)
            return replace(honest, company=company, audited=drawn) if job.may_share else None

        told.before = answer
        (found,) = await evaluated(told, "f(1)", audit=audit)
        assert found.shared is (not places)
    assert audit.compared == ["f(1)"]


@pytest.mark.parametrize("drawn", [(), (0,)])
@pytest.mark.parametrize(("letter", "is_beside"), [(messages.EXPRESSION, True), (messages.ALONE, False)])
async def test_what_a_shared_worker_says_a_call_is_is_audited_too(letter: str, is_beside: bool, drawn: tuple[int, ...]):
    """Others may have made it say that the call has to run beside its program; alone it has what it has alone."""
    told, audit = Told({"f(1)": ONE}), Audits()
    company, says = Company(lambda _checks: drawn), records.plan(True, letter, [])

    def answer(job: Job) -> Result | None:
        return Result(report=says, facts=CLEAN, company=company, audited=drawn) if job.may_share else None

    told.before = answer
    (found,) = await evaluated(told, "f(1)", audit=audit)
    assert (audit.compared, audit.is_suspect(7)) == (["f(1)"] * (is_beside and bool(drawn)), is_beside and bool(drawn))
    assert (found.shared, found.assurance is Assurance.IN_PROCESS) == (is_beside and not drawn,) * 2


async def test_a_crash_in_a_shared_worker_is_its_own():
    told = Told({"f(1)": ONE})
    told.before = lambda _job: Result(report=records.plan(True, "d", []), facts=DIED)
    (found,) = await evaluated(told, "f(1)")
    assert found.outcome is Outcome.CRASHED
