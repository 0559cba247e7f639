"""What becomes of a wall timeout where it is not known for how long a worker waited: for a CPU, as the host does not
show it, or for the daemon's event loop, which was late."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from dataclasses import replace

from cruxcell.protocol import messages

from cruxboxd.zygotes.jobs import Job, Result

_SLACK_NS = 50_000_000


class Lateness:
    """For how long the event loop has been late, in ns; `sleep` is called again and again to find out."""

    def __init__(self) -> None:
        self._late_ns, self._due_ns = 0, 0

    async def sleep(self, seconds: float) -> None:
        self._due_ns = time.monotonic_ns() + int(seconds * 1e9)
        await asyncio.sleep(seconds)
        self._late_ns, self._due_ns = self.ns, 0

    @property
    def ns(self) -> int:
        late = time.monotonic_ns() - self._due_ns if self._due_ns else 0
        return self._late_ns + (late if late > _SLACK_NS else 0)

    def noted(self, job: Job, result: Result) -> Result:
        """The result with how late the loop was for its worker, where that may be why it ended."""
        is_over = result.facts.killed in (messages.KILLED_WALL, messages.KILLED_UNSURE)
        if not (is_over and result.is_held_up):
            return result
        return replace(result, late_ns=self.ns - job.late_before_ns)


def is_unsure(result: Result) -> bool:
    """Did it end by a wall timeout that may be the host's, or ours?"""
    killed = result.facts.killed
    is_ours = killed == messages.KILLED_WALL and result.late_ns > 0
    return (killed == messages.KILLED_UNSURE or is_ours) and not result.error


def is_to_run_again(results: Sequence[Result], cpus: int) -> bool:
    return is_crowded(cpus) or any(result.late_ns for result in results)


def is_crowded(cpus: int) -> bool:
    """Do more processes want to run than there are CPUs for? Then a wall timeout says little about a candidate."""
    return os.getloadavg()[0] > cpus


def wider(job: Job) -> Job:
    """The same once more, with more wall time and a worker to itself."""
    return job.anew(limits=replace(job.limits, wall_ms=job.limits.wall_ms * messages.WIDEST), may_share=False)


def decided(results: Sequence[Result], cpus: int) -> list[Result]:
    """Results that are still unsure: TIMED_OUT on a host that had room, a SANDBOX_ERROR on a crowded one, or if the
    event loop was late for most of the time."""
    return [_decided(result, cpus) if is_unsure(result) else result for result in results]


def _decided(result: Result, cpus: int) -> Result:
    facts = result.facts
    is_hosts = facts.killed == messages.KILLED_UNSURE and is_crowded(cpus)
    is_ours = 2 * result.late_ns > facts.wall_ns
    killed = messages.KILLED_STARVED if is_hosts or is_ours else messages.KILLED_WALL
    return replace(result, facts=replace(facts, killed=killed))
