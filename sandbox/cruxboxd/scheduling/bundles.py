"""Bundles: queued jobs of hermetic programs share one worker, one after the other.

A fork costs as much as dozens of small checks, so under load all jobs that may share a worker do. These rules keep a
verdict independent of the other jobs in the worker:

* only jobs of one RPC of one client, with the same limits, runtime and hash seed, and only programs that the worker
  finds to be hermetic before it runs them (`cruxcell.analysis.hermetic`); any other runs again, alone;
* an end that earlier jobs may have caused (a crash, out of memory, a report too large) is attributed to none of them:
  the running job runs again alone. Clocks and step limits start anew for each check, so their results stand;
* after a forged report all jobs run again, each alone;
* jobs that the worker did not reach return to the front of the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cruxcell.protocol import frames, messages

from cruxboxd.zygotes.company import Company
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.report import Asked, Report
from cruxboxd.zygotes.report_parser import read_report, split_sections

# Size of a bundle at most: what is lost if its worker dies. Tenants alternate between bundles.
MOST_CHECKS = 128
_MOST_BYTES = 1 << 18
# Checks; fewer are not worth a worker of their own, even if one could start at once: it takes the CPU time of 45.
# Beside other tenants, who wait for its slot, a worker has less to do.
_WORTH_A_WORKER, _WORTH_BESIDE_OTHERS = 32, 16

_OWN_ENDS = frozenset([messages.EXIT_STEPS << 8, messages.EXIT_OUTPUT << 8])
_CLOCKS = frozenset([messages.KILLED_CPU, messages.KILLED_WALL, messages.KILLED_UNSURE])


@dataclass(eq=False)
class Bundle(Job):
    """The job that carries others; `again` queues one of them that has to run once more."""

    members: Sequence[Job] = ()
    asked_at_first: Sequence[Asked] = ()
    again: Callable[[Job], None] = lambda _job: None
    draw: Callable[[int], tuple[int, ...]] = lambda _checks: ()  # of so many checks, those to be audited

    def finish(self, result: Result) -> None:
        """Deal the result out to the jobs it belongs to."""
        self.put_down()
        result = self.opened(result)
        sections = split_sections(result.report, len(self.asked_at_first))
        reports = [read_report(section, asked) for section, asked in zip(sections, self.asked_at_first)]
        begun = len(reports) if _is_honest(reports) else 0
        unsettled = []
        company = Company(self.draw)
        for at, job in enumerate(self.members):
            is_last = at == begun - 1
            share_ns = result.facts.cpu_ns * job.checks // self.checks
            if result.error:
                job.finish(replace(result, attempts=job.attempts + 1, charged_ns=share_ns))
            elif at < begun and _is_settled(reports[at], result, is_last):
                job.finish(self._part(job, sections[at], reports[at], result, is_last, company))
            else:
                job.may_share = at >= begun > 0
                job.charge(share_ns)
                unsettled.append(job)
        for job in reversed(unsettled):
            self.again(job)

    def stuck(self, report: bytes) -> None:
        """Requeue the jobs that the stalled worker has not reached. The job it runs may have more checks that stall."""
        begun = split_sections(self.unsealed(report), len(self.members))
        if begun:
            behind, self.members = self.members[len(begun) :], self.members[: len(begun)]
            for job in reversed(behind):
                job.carrier = None
                self.again(job)
            self.members[-1].stuck(begun[-1])

    def put_down(self) -> Sequence[Job]:
        """The jobs, which are no longer part of this bundle."""
        for job in self.members:
            job.carrier, job.started_at = None, self.started_at
        return self.members

    @property
    def carried(self) -> Sequence[Job]:
        return self.members

    @property
    def is_wanted(self) -> bool:
        return not all(job.is_cancelled for job in self.members)

    def _part(  # noqa: PLR0917 - all that is known of it
        self, job: Job, section: bytes, said: Report, result: Result, is_last: bool, company: Company
    ) -> Result:
        """What one job would have got from a worker of its own."""
        facts = result.facts if is_last else replace(result.facts, status=0, killed=messages.NOT_KILLED)
        return replace(
            result,
            report=section,
            said=said,
            facts=facts,
            unsealed=result.unsealed if is_last else (),
            queue_ns=self.started_at - job.queued_at,
            attempts=job.attempts + 1,
            charged_ns=facts.cpu_ns * job.checks // self.checks,
            company=company,
            audited=() if job.is_cancelled else company.draw(job.checks),
        )


def bundle(jobs: Sequence[Job], again: Callable[[Job], None], draw: Callable[[int], tuple[int, ...]]) -> Job:
    """One job for all of `jobs`: the only one itself, or a bundle."""
    head = jobs[0]
    if len(jobs) == 1:
        return head
    carrier = Bundle(
        key=head.key,
        kind=messages.JOB_BUNDLE,
        fields=[frames.pack(job.fields) for job in jobs],
        limits=head.limits,
        tenant=head.tenant,
        interactive=head.interactive,
        checks=sum(job.checks for job in jobs),
        seals=sum(job.checks + 1 for job in jobs),
        flags=head.flags | messages.SHARED_PROFILE,
        queued_at=head.queued_at,
        members=jobs,
        asked_at_first=[job.asked for job in jobs],
        again=again,
        draw=draw,
    )
    for job in jobs:
        job.carrier, job.tokens = carrier, b""  # those of a worker it had before
    return carrier


def checks_of_a_worker(for_all_slots: int, is_alone: bool) -> int:
    """How many checks one worker may have at once. With `for_all_slots` of them there is work for each slot;
    `is_alone`: no other tenant has any."""
    return max(for_all_slots, _WORTH_A_WORKER if is_alone else _WORTH_BESIDE_OTHERS)


def companions(head: Job, checks: int) -> Callable[[Job], bool]:
    """A filter that lets jobs pass that go with `head` in one worker, until there are `checks` checks in all."""
    ours = head.rpc_id, head.key, head.limits
    room, space = min(checks, MOST_CHECKS) - head.checks, _MOST_BYTES - head.size

    def goes_along(job: Job) -> bool:
        nonlocal room, space
        if not job.may_share or (job.rpc_id, job.key, job.limits) != ours:
            return False
        if job.checks > room or job.size > space:
            return False
        room, space = room - job.checks, space - job.size
        return True

    return goes_along


def _is_settled(report: Report, result: Result, is_last: bool) -> bool:
    """Would this job have ended so in a worker of its own?"""
    facts = result.facts
    has_own_end = facts.killed in _CLOCKS or (facts.killed == messages.NOT_KILLED and facts.status in _OWN_ENDS)
    if is_last and (result.over_cap or not (facts.is_clean or has_own_end)):
        return False
    return report.plan is not None and report.plan.hermetic and not report.ran_out_of_memory


def _is_honest(reports: Sequence[Report]) -> bool:
    """May all of it be what an honest worker says? Only the last job can have ended the worker, or be cut off."""
    return not any(
        report.forged or (at < len(reports) and (report.is_over or report.is_cut or report.syscall is not None))
        for at, report in enumerate(reports, 1)
    )
