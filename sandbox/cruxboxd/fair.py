"""Whose job is next."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from cruxboxd.jobs import Job


class FairQueue:
    """A bounded-by-its-users queue of jobs. `checks` and `bytes` say what waits."""

    def __init__(self) -> None:
        self._jobs: deque[Job] = deque()
        self.checks = 0
        self.bytes = 0

    def put(self, job: Job) -> None:
        self._jobs.append(job)
        self._count(job, 1)

    def put_first(self, job: Job) -> None:
        self._jobs.appendleft(job)
        self._count(job, 1)

    def peek(self) -> Job:
        return self._jobs[0]

    def get(self) -> Job:
        job = self._jobs.popleft()
        self._count(job, -1)
        return job

    def remove(self, job: Job) -> bool:
        """Take a job out wherever it stands; False if it is not here."""
        try:
            self._jobs.remove(job)
        except ValueError:
            return False
        self._count(job, -1)
        return True

    def take_all(self, matches: Callable[[Job], bool]) -> list[Job]:
        taken = [job for job in self._jobs if matches(job)]
        for job in taken:
            self.remove(job)
        return taken

    @property
    def age_s(self) -> float:
        return (time.monotonic_ns() - self._jobs[0].queued_at) / 1e9 if self._jobs else 0.0

    def _count(self, job: Job, sign: int) -> None:
        self.checks += sign * job.checks
        self.bytes += sign * job.size
