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


# Is it bulk, and what does it wait for: see `place_of`. In this order jobs are handed out.
Place = tuple[bool, int]
_FOLLOWS, _BEGUN, _NEW = range(3)
# Those of which results wait already, or will wait for nothing that has not begun.
DUE = tuple(product((False, True), (_FOLLOWS, _BEGUN)))


def place_of(job: Job) -> Place:
    """The line of a job."""
    return not job.interactive, _FOLLOWS if job.follows else _BEGUN if job.is_begun else _NEW


def has_outlet(job: Job) -> bool:
    """Is there somewhere for its verdict to go, as soon as it is known?"""
    return job.outlet is None or job.outlet.takes(place_of(job) in DUE)


@dataclass
class Lines:
    """The jobs of one tenant that wait."""

    lines: dict[Place, OrderedDict[Job, None]] = field(
        default_factory=lambda: {place: OrderedDict() for place in product((False, True), (_FOLLOWS, _BEGUN, _NEW))}
    )
    # Those whose verdicts have nowhere to go; and of each outlet, how many are in a line. Each line by itself: where
    # much waits for verdicts, one line goes on and another does not.
    held: dict[tuple[Outlet, Place], OrderedDict[Job, None]] = field(default_factory=dict)
    lined: Counter[tuple[Outlet, Place]] = field(default_factory=Counter)

    def enter(self, job: Job, *, first: bool = False) -> None:
        """Put a job into its line."""
        place = place_of(job)
        self.lines[place][job] = None
        if first:
            self.lines[place].move_to_end(job, last=False)
        if job.outlet is not None:
            self.lined[job.outlet, place] += 1

    def leave(self, job: Job) -> None:
        """Take a job out of its line."""
        place = place_of(job)
        del self.lines[place][job]
        if job.outlet is not None:
            self.lined[job.outlet, place] -= 1
            if not self.lined[job.outlet, place]:
                del self.lined[job.outlet, place]

    def put_aside(self, job: Job, outlet: Outlet) -> None:
        self.leave(job)
        self.held.setdefault((outlet, place_of(job)), OrderedDict())[job] = None

    def take_from_aside(self, job: Job) -> bool:
        """False if it is not there."""
        if job.outlet is None:
            return False
        key = job.outlet, place_of(job)
        aside = self.held.get(key)
        if aside is None or job not in aside:
            return False
        del aside[job]
        if not aside:
            del self.held[key]
        return True

    def may_come_back(self, outlet: Outlet, place: Place) -> bool:
        """Were some put aside that may go now, and is none like them in the line?"""
        return (outlet, place) in self.held and (outlet, place) not in self.lined and outlet.takes(place in DUE)

    def put_back(self, outlet: Outlet, place: Place) -> None:
        """Some of the jobs of an outlet that is not full, to the front; the next follow when these are gone. It may be
        full again with the first message."""
        aside = self.held[outlet, place]
        for job in reversed(list(islice(aside, LOOK_AHEAD))):
            del aside[job]
            self.enter(job, first=True)
        if not aside:
            del self.held[outlet, place]

    @property
    def waiting(self) -> Iterator[Job]:
        """All that wait, in their order."""
        return chain.from_iterable(self.lines.values())

    @property
    def due(self) -> Iterator[Job]:
        """Of these, those that a verdict waits for."""
        return chain.from_iterable(self.lines[place] for place in DUE)

    @property
    def head(self) -> Job | None:
        return next(self.waiting, None)
