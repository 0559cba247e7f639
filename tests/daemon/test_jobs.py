"""What a job hands on when it has ended: to whom, how often, and how much of a shared worker's report."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.zygotes import seals
from cruxboxd.zygotes.company import Company
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import HELD_AN_RPC, Job, Outlet, Result
from cruxboxd.zygotes.report import ONE_VALUE
from cruxboxd.zygotes.setup import ZygoteKey
from cruxcell.protocol import frames, messages, records

SEALED_END, PLAN = Exit(messages.EXIT_UNSEALED << 8), records.plan(True, "d", [])


class Parts(list[bytes]):
    """What a program finds around it."""

    size = property(lambda self: sum(map(len, self)))
    parts = list[bytes].copy


def job(**changes: Any) -> Job:
    return Job(ZygoteKey("r", False, "0"), b"calls", [], DEFAULT_LIMITS, **changes)


def shared(**changes: Any) -> Job:
    """A job whose worker has been given one seal."""
    made = job(seals=1, **changes)
    made.payload()
    return made


def sealed(work: Job) -> bytes:
    return PLAN + frames.frame([messages.SEAL, work.tokens + messages.SEAL_TAIL.pack(len(PLAN))])


def audited(**changes: Any) -> tuple[Company, Result]:
    company = Company(lambda checks: (0,))
    return company, Result(company=company, audited=company.draw(1), **changes)


async def is_settled(company: Company) -> bool:
    waiting = asyncio.ensure_future(company.settled())
    await asyncio.sleep(0)
    waiting.cancel()
    return waiting.done()


# ---- audits --------------------------------------------------------------------------


async def test_who_leaves_lets_go_those_that_wait_for_its_audit():
    _, result = audited()
    waiting = asyncio.ensure_future(result.settled())
    await asyncio.sleep(0)
    assert not waiting.done()
    result.leave()
    await waiting


async def test_who_had_no_audit_has_none_to_end():
    company, _ = audited()
    Result(company=company).leave()
    assert not await is_settled(company)
    Result(audited=(0,)).leave()
    await Result().settled()


async def test_an_audit_ends_with_a_result_that_nobody_takes():
    company, result = audited()
    work = job()
    work.future.cancel()
    work.finish(result)
    assert await is_settled(company)


async def test_an_audit_goes_on_where_a_result_was_taken_before():
    company, result = audited()
    work = job()
    work.finish(Result())
    work.finish(result)
    assert not await is_settled(company)
    assert await work.future == Result()


async def test_it_is_over_once():
    told: list[Result] = []
    work = job(on_over=lambda _work, result: told.append(result))
    work.finish(Result(attempts=1))
    work.finish(Result(attempts=2))
    assert [result.attempts for result in told] == [1]
    job().finish(Result())  # nobody asked to be told


# ---- what counts of its report -------------------------------------------------------


@pytest.mark.parametrize("status", [messages.EXIT_UNSEALED, messages.EXIT_HARNESS])
async def test_a_worker_that_ended_itself_behind_a_seal_is_charged_to_nobody(status: int):
    work = shared()
    opened = work.opened(Result(sealed(work), Exit(status << 8, killed=messages.KILLED_CPU)))
    assert (opened.report, opened.facts, opened.unsealed) == (PLAN, Exit(), (seals.UNFINISHED,))
    other = work.opened(Result(sealed(work), Exit(messages.EXIT_STEPS << 8)))
    assert (other.facts, other.unsealed) == (Exit(messages.EXIT_STEPS << 8), ())


async def test_what_stands_behind_a_seal_says_what_broke():
    work = shared()
    opened = work.opened(Result(sealed(work) + frames.frame([messages.UNSEALED, bytes(8)]), SEALED_END))
    assert (opened.report, opened.unsealed) == (PLAN, (seals.UNKNOWN,))


async def test_our_failure_is_no_broken_seal():
    failed = Result(facts=SEALED_END, error="the zygote is gone")
    assert shared().opened(failed) == failed


async def test_without_seals_a_report_counts_as_it_is():
    alone = Result(b"\0\0", SEALED_END)
    assert job().opened(alone) == alone


async def test_of_a_stuck_worker_what_is_sealed_counts_if_anybody_waits():
    said: list[bytes] = []
    work = shared(on_stuck=said.append)
    work.stuck(sealed(work) + PLAN)
    assert said == [PLAN]
    work.is_cancelled = True
    work.stuck(sealed(work))
    assert said == [PLAN]
    shared().stuck(b"")  # nobody asked to be told


async def test_of_what_goes_on_a_limit_behind_the_last_seal_ends_nothing():
    """The worker runs yet, so its check is not over."""
    work = shared()
    said = sealed(work) + records.limit(messages.MEMORY_LIMIT, 0, 0)
    assert (work.unsealed(said), seals.unseal(said, work.tokens).report == PLAN) == (PLAN, False)


# ---- what its worker reads -----------------------------------------------------------


async def test_a_setting_stands_in_front_of_what_is_to_be_done():
    asked = job(setting=Parts([b"s", b"et"])).payload()
    assert frames.unpack(asked[4:])[0] == messages.JOB_SET
    assert frames.unpack(asked[4:])[3:] == [b"set", b"calls"]
    assert frames.unpack(job().payload()[4:])[0] == b"calls"


async def test_of_what_goes_on_without_seals_all_counts():
    said: list[bytes] = []
    job(on_stuck=said.append).stuck(PLAN)
    assert said == [PLAN]


# ---- what it takes -------------------------------------------------------------------


async def test_a_pair_takes_the_memory_of_two_workers_and_streams_that_of_a_folder_each():
    room = DEFAULT_LIMITS.memory_bytes + job().report_cap
    assert [job().memory_bytes, job(partner=job()).memory_bytes] == [room, 2 * room]
    assert job(scratch_bytes=5).memory_bytes == room + 5
    assert job(scratch_bytes=5, flags=messages.STDIO).memory_bytes == room + 15


async def test_what_a_worker_may_report_is_memory_too():
    """The daemon holds it until the worker ends: of one that may take 16 MiB it may be four times as much, and more."""
    small, loud = replace(DEFAULT_LIMITS, memory_bytes=16 << 20), 16 << 20
    one = replace(job(), limits=replace(small, output_bytes=loud))
    assert one.memory_bytes == (16 << 20) + one.report_cap > 5 * loud
    several = replace(one, checks=128, seals=129)
    assert several.memory_bytes == (16 << 20) + several.report_cap > 7 * loud


async def test_only_printing_to_a_stream_is_bounded_by_the_zygote():
    outputs = [messages.ORDER.unpack(one.order(1, 1))[7] for one in (job(), job(flags=messages.STDIO))]
    assert outputs == [0, DEFAULT_LIMITS.output_bytes]


async def test_a_job_holds_its_texts_and_those_of_its_partner():
    assert job(stdin=b"ab", setting=Parts([b"c"])).size == 3
    assert job(stdin=b"ab", partner=job(setting=Parts([b"c"]))).size == 3


async def test_a_new_job_goes_before_no_other_unless_it_says_so():
    new = job()
    assert [new.interactive, new.is_ahead, new.was_called_back, new.follows, new.is_begun] == [False] * 5


async def test_a_pair_runs_again_as_a_pair():
    assert job().anew().partner is None
    pair = job(partner=job(is_partner=True))
    again = pair.anew(attempts=4)
    assert (again.partner.attempts, again.partner is pair.partner) == (4, False)  # type: ignore[union-attr]


def test_a_report_is_read_once():
    result = Result(PLAN)
    known = result.read(ONE_VALUE)
    assert (known.plan is not None, Result(b"", said=known).read(ONE_VALUE) is known) == (True, True)


# ---- what a worker is given ----------------------------------------------------------


async def test_an_order_and_its_report_have_room_for_each_check():
    a_check_s = DEFAULT_LIMITS.cpu_ms // 1000 + 2
    for checks, seconds in [(3, 3 * a_check_s), (300, 300 * a_check_s), (1 << 31, 1 << 31)]:
        assert messages.ORDER.unpack(job(checks=checks).order(seq=7, lane=1))[-2] == seconds
    one, three = job().report_cap, job(checks=3).report_cap
    a_check = (three - one) // 2
    assert one - a_check == 1 << 18
    assert a_check > 4 * DEFAULT_LIMITS.output_bytes
    a_seal = len(sealed(shared())) - len(PLAN)
    assert [job(seals=number, checks=3).report_cap - three for number in (1, 5000)] == [a_seal, 5000 * a_seal]


async def test_an_order_has_the_limits_of_its_job():
    limits = replace(DEFAULT_LIMITS, cpu_ms=3, wall_ms=7, memory_bytes=11)
    found = messages.ORDER.unpack(replace(job(), limits=limits).order(seq=7, lane=1))
    assert found[4:7] == (3_000_000, 7_000_000, 11)


async def test_an_order_has_the_flags_of_its_job_and_of_its_lane():
    for own, of_the_lane in ((messages.STDIO, messages.BEHIND), (messages.SHARED_PROFILE, 0), (0, messages.BEHIND)):
        order = job(flags=own).order(1, 0, of_the_lane)
        assert messages.ORDER.unpack(order)[2] == own | of_the_lane


def test_how_much_of_a_call_may_wait_to_leave():
    assert HELD_AN_RPC == 32 << 20, "as docs/operations.md says"


@pytest.mark.parametrize(
    ("held", "is_full", "takes", "takes_what_is_due"),
    [(HELD_AN_RPC, False, True, True), (HELD_AN_RPC + 1, False, False, True), (0, True, False, False)],
)
def test_where_much_waits_to_leave_only_what_that_waits_for_begins(
    held: int, is_full: bool, takes: bool, takes_what_is_due: bool
):
    outlet = type("Full", (Outlet,), {"is_full": is_full})()
    outlet.held = held
    assert [outlet.takes(is_due) for is_due in (False, True)] == [takes, takes_what_is_due]


def test_a_job_that_shared_its_worker_took_its_part_of_the_time():
    alone = Result(facts=Exit(cpu_ns=5))
    assert alone.cpu_ns == 5
    assert [replace(alone, charged_ns=part).cpu_ns for part in (0, 2)] == [0, 2]
