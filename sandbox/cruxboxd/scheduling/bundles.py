"""Bundles: jobs of hermetic programs that wait at the same time share one worker, one after the other.

A fork costs as much as dozens of small checks, so under load whatever may share a worker does. The rules that keep a
verdict independent of who shared the worker:

* only jobs of one call of one client, with the same limits, runtime and hash seed, and only programs that the worker
  finds to be hermetic before it runs them (`cruxcell.analysis.hermetic`); any other runs again, alone;
* an end that what ran before may have had a part in (a crash, out of memory, a report too large) is charged to nobody:
  the job it came upon runs again, alone. Clocks and step limits begin anew for each check, so what they say stands;
* what the worker did not come to goes back to the front of the queue.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from cruxcell.protocol import frames, messages
from cruxcell.protocol.records import NUMBERS, OUT_OF_MEMORY

from cruxboxd.zygotes.jobs import Job, Result

# A worker that dies takes at most so much with it; tenants take turns at this grain.
MOST_CHECKS = 128
_MOST_BYTES = 1 << 18

_U32 = struct.Struct("<I")
_OWN_ENDS = frozenset([messages.EXIT_STEPS << 8, messages.EXIT_OUTPUT << 8])
_CLOCKS = frozenset([messages.KILLED_CPU, messages.KILLED_WALL])


@dataclass(eq=False)
class Bundle(Job):
    """The job that carries others; `again` queues one of them that has to run once more."""

    members: Sequence[Job] = ()
    size_at_first: int = 0
    again: Callable[[Job], None] = lambda job: None

    def finish(self, result: Result) -> None:
        """Deal the result out to the jobs it belongs to."""
        self.put_down()
        sections = _sections(result.report, self.size_at_first)
        unsettled = []
        for at, job in enumerate(self.members):
            if result.error:
                job.finish(replace(result, attempts=job.attempts + 1))
            elif at < len(sections) and _is_settled(sections[at], result, at == len(sections) - 1):
                job.finish(self._part(job, sections[at], result, at == len(sections) - 1))
            else:
                job.may_share = at >= len(sections) > 0
                unsettled.append(job)
        for job in reversed(unsettled):
            self.again(job)

    def stuck(self, report: bytes) -> None:
        """What the worker has not come to goes elsewhere; the job it is stuck on may have more of the kind."""
        begun = _sections(report, len(self.members))
        if begun:
            behind, self.members = self.members[len(begun) :], self.members[: len(begun)]
            for job in reversed(behind):
                job.carrier = None
                self.again(job)
            self.members[-1].stuck(begun[-1])

    def put_down(self) -> Sequence[Job]:
        """The jobs, carried no longer."""
        for job in self.members:
            job.carrier, job.started_at = None, self.started_at
        return self.members

    @property
    def is_wanted(self) -> bool:
        return not all(job.is_cancelled for job in self.members)

    def _part(self, job: Job, section: bytes, result: Result, is_last: bool) -> Result:
        """What one job would have got from a worker of its own."""
        facts = result.facts if is_last else replace(result.facts, status=0, killed=messages.NOT_KILLED)
        return replace(
            result,
            report=section,
            facts=facts,
            queue_ns=self.started_at - job.queued_at,
            attempts=job.attempts + 1,
            charged_ns=facts.cpu_ns * job.checks // self.checks,
        )


def bundle(jobs: Sequence[Job], again: Callable[[Job], None]) -> Job:
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
        flags=head.flags,
        queued_at=head.queued_at,
        members=jobs,
        size_at_first=len(jobs),
        again=again,
    )
    for job in jobs:
        job.carrier = carrier
    return carrier


def companions(head: Job, checks: int) -> Callable[[Job], bool]:
    """A filter that lets jobs pass that go with `head` in one worker, until there are `checks` checks in all."""
    ours = head.call, head.key, head.limits
    room, space = min(checks, MOST_CHECKS) - head.checks, _MOST_BYTES - head.size

    def goes_along(job: Job) -> bool:
        nonlocal room, space
        if not job.may_share or (job.call, job.key, job.limits) != ours:
            return False
        if job.checks > room or job.size > space:
            return False
        room, space = room - job.checks, space - job.size
        return True

    return goes_along


# ---- a bundle's report -------------------------------------------------------------------------------------------


def _head(kind: bytes) -> bytes:
    """How the body of a record begins."""
    return _U32.pack(len(kind)) + kind


_SECTION, _HERMETIC_PLAN = _head(messages.SECTION), _head(messages.PLAN) + _head(b"1")
_RAISED, _NO_MEMORY = _head(messages.RAISED), _head(messages.MEMORY_LIMIT)
_FLAGS_AT = len(_RAISED) + 4 + NUMBERS.size - 1


def _records(data: bytes) -> list[tuple[int, int]]:
    """Where the body of each whole record begins and ends."""
    found = []
    at = 0
    while len(data) - at >= 4:
        size = int.from_bytes(data[at : at + 4], "little")
        if size > len(data) - at - 4:
            break
        found.append((at + 4, at + 4 + size))
        at += 4 + size
    return found


def _sections(report: bytes, most: int) -> list[bytes]:
    """What was said for each job, in their order; nothing where a worker speaks out of turn."""
    marks = [(start, end) for start, end in _records(report) if report.startswith(_SECTION, start)]
    honest = [_SECTION + _head(_U32.pack(place)) for place in range(len(marks))]
    is_honest = [report[start:end] for start, end in marks] == honest and len(marks) <= most
    if not is_honest or (marks and marks[0][0] != 4):
        return []
    begins = [end for _, end in marks]
    ends = [start - 4 for start, _ in marks[1:]] + [len(report)]
    return [report[begin:end] for begin, end in zip(begins, ends)]


def _is_settled(section: bytes, result: Result, is_last: bool) -> bool:
    """Would this job have ended so in a worker of its own?"""
    facts = result.facts
    has_own_end = facts.killed in _CLOCKS or (facts.killed == messages.NOT_KILLED and facts.status in _OWN_ENDS)
    if is_last and (result.over_cap or not (facts.is_clean or has_own_end)):
        return False
    return section.startswith(_HERMETIC_PLAN, 4) and not _is_out_of_memory(section)


def _is_out_of_memory(section: bytes) -> bool:
    if _NO_MEMORY not in section and _RAISED not in section:
        return False
    for start, end in _records(section):
        if section.startswith(_NO_MEMORY, start):
            return True
        if (
            section.startswith(_RAISED, start)
            and end - start > _FLAGS_AT
            and section[start + _FLAGS_AT] & OUT_OF_MEMORY
        ):
            return True
    return False
