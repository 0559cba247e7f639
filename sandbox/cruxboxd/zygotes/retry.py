"""The retry policy after failures of the sandbox: number of attempts and pauses. Every retry uses it.

| failure | retried by |
|---|---|
| a zygote died, or lost the job | `scheduler`: the job goes to the front of its queue |
| a zygote of a kind that has none does not start | `fleet`: after a pause; when spent, or it hung, what waits fails |
| the host had no process, or no descriptor | `zygote_process`: the job is queued again after a pause |
| a worker gave no answer that an honest one gives, before any code of the task ran | `calls`, `scripts`: a new worker |

No retries are: a check that has to run alone (`charging`, `bundles`), and a wall timeout on a crowded
host, which runs once more with more wall time (`starvation`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class RetryPolicy:
    """`attempts` in all, the first included; `pause_s` before what the host refused is asked for again."""

    attempts: int = 3
    pause_s: float = 0.2

    def tries(self) -> Iterable[int]:
        """The numbers of the attempts, from 1 on."""
        return range(1, self.attempts + 1)

    def is_spent(self, attempts: int) -> bool:
        """Were there as many as there may be?"""
        return attempts >= self.attempts


RETRY = RetryPolicy()
