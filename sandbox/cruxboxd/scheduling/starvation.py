"""What becomes of a wall timeout where the host does not show how long a worker waited for a CPU."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from cruxcell.protocol import messages

from cruxboxd.zygotes.jobs import Job, Result


def is_unsure(result: Result) -> bool:
    """Did it end by a wall timeout that may be the host's?"""
    return result.facts.killed == messages.KILLED_UNSURE and not result.error


def is_crowded(cpus: int) -> bool:
    """Do more processes want to run than there are CPUs for? Then a wall timeout says little about a candidate."""
    return os.getloadavg()[0] > cpus


def wider(job: Job) -> Job:
    """The same once more, with more wall time and a worker to itself."""
    return job.anew(limits=replace(job.limits, wall_ms=job.limits.wall_ms * messages.WIDEST), may_share=False)


def decided(results: Sequence[Result], cpus: int) -> list[Result]:
    """Results that are still unsure: TIMED_OUT on a host that had room, a SANDBOX_ERROR on a crowded one."""
    killed = messages.KILLED_STARVED if is_crowded(cpus) else messages.KILLED_WALL
    return [
        replace(result, facts=replace(result.facts, killed=killed)) if is_unsure(result) else result
        for result in results
    ]
