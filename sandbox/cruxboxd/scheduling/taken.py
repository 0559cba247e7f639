"""What the busy zygotes take: slots, memory and zygotes, in all and of each tenant."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property

from cruxboxd.zygotes.zygote_process import ZygoteProcess


class Taken:
    """Each figure is counted when it is first asked for, and once: for a look at many jobs, between which none begins
    or ends. Idle zygotes may come and go meanwhile."""

    def __init__(self, zygotes: Iterable[ZygoteProcess]) -> None:
        self._zygotes = [zygote for zygote in zygotes if zygote.load]

    @property
    def busy(self) -> int:
        return len(self._zygotes)

    @cached_property
    def fast(self) -> list[ZygoteProcess]:
        """Those whose worker takes a CPU slot."""
        return [zygote for zygote in self._zygotes if not zygote.slow]

    @cached_property
    def fast_of(self) -> Counter[str]:
        """How many of these have a job of a tenant, running or ready behind."""
        return Counter(tenant for zygote in self.fast for tenant in {job.tenant for job in zygote.jobs})

    @cached_property
    def memory_of(self) -> Counter[str]:
        """Bytes that the workers of a tenant may take."""
        found = Counter[str]()
        for zygote in self._zygotes:
            found[zygote.tenant] += zygote.memory_bytes
        return found

    @cached_property
    def memory(self) -> int:
        return sum(self.memory_of.values())
