"""The lines in which a tenant's jobs wait, by priority; those whose verdicts have nowhere to go wait beside them."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, islice, product

from cruxboxd.zygotes.jobs import Job, Outlet

# How many of a tenant's jobs are examined: for one that may share a worker, and for the zygotes they need. So many come
# back to the lines at a time.
LOOK_AHEAD = 64


@dataclass
class Lines:
    """The jobs of one tenant that wait."""

    # Those that wait, by (is bulk, follows no result): in this order they are handed out.
    lines: dict[tuple[bool, bool], OrderedDict[Job, None]] = field(
        default_factory=lambda: {place: OrderedDict() for place in product((False, True), (False, True))}
    )
    # Those whose verdicts have nowhere to go; and of each outlet, how many are in the lines.
    held: dict[Outlet, OrderedDict[Job, None]] = field(default_factory=dict)
    lined: Counter[Outlet] = field(default_factory=Counter)

    def of(self, job: Job) -> OrderedDict[Job, None]:
        return self.lines[not job.interactive, not job.follows]

    def enter(self, job: Job, *, first: bool = False) -> None:
        """Put a job into its line."""
        line = self.of(job)
        line[job] = None
        if first:
            line.move_to_end(job, last=False)
        if job.outlet is not None:
            self.lined[job.outlet] += 1

    def leave(self, job: Job) -> None:
        """Take a job out of its line."""
        del self.of(job)[job]
        if job.outlet is not None:
            self.lined[job.outlet] -= 1
            if not self.lined[job.outlet]:
                del self.lined[job.outlet]

    def put_aside(self, job: Job, outlet: Outlet) -> None:
        self.leave(job)
        self.held.setdefault(outlet, OrderedDict())[job] = None

    def put_back(self, outlet: Outlet) -> None:
        """Some of the jobs of an outlet that is not full, to the front; the next follow when these are gone. It may be
        full again with the first message."""
        aside = self.held[outlet]
        for job in reversed(list(islice(aside, LOOK_AHEAD))):
            del aside[job]
            self.enter(job, first=True)
        if not aside:
            del self.held[outlet]

    @property
    def waiting(self) -> Iterator[Job]:
        """All that wait, in their order."""
        return chain.from_iterable(self.lines.values())

    @property
    def head(self) -> Job | None:
        return next(self.waiting, None)
