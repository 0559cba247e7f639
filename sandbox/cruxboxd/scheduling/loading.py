"""Which templates are getting ready: a bounded number at once, and fewer of runtimes that hung the last time.

One that does not get ready holds its place for half a minute, and costs nothing else. It takes none of a zygote's: else
interpreters on a file system that has gone would keep those from starting that are well.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Iterator
from typing import Optional

from cruxboxd.zygotes.jobs import Job
from cruxboxd.zygotes.setup import ZygoteKey

# Tells the first job behind another one, of its tenant, that needs such a kind.
NextOf = Callable[[Job, Callable[[ZygoteKey], bool]], Optional[Job]]

_MOST, _MOST_SUSPECT = 16, 8
# One that takes longer may hang: its tenant's work that needs another kind does not wait for it. So many of one tenant
# get ready at once then, of which the last place is for a runtime that is known to be well.
_LATE_S = 3.0
_MOST_OF_ONE = 4


class Loading:
    """The kinds whose template is getting ready, and the runtimes of which none has got ready since one hung."""

    def __init__(self) -> None:
        self._kinds: dict[ZygoteKey, tuple[str, float]] = {}  # for whom, and since when
        self._suspect: set[str] = set()

    def __len__(self) -> int:
        return len(self._kinds)

    def __iter__(self) -> Iterator[ZygoteKey]:
        return iter(self._kinds)

    def begin(self, kind: ZygoteKey, tenant: str) -> bool:
        """Take a place for a tenant; False if there is none, or this kind has one."""
        if kind in self._kinds or len(self._kinds) >= _MOST:
            return False
        if kind.runtime in self._suspect and sum(one.runtime in self._suspect for one in self._kinds) >= _MOST_SUSPECT:
            return False
        self._kinds[kind] = tenant, time.monotonic()
        return True

    def is_late(self, kind: ZygoteKey) -> bool:
        """Has it been getting ready for so long that it may hang?"""
        return kind in self._kinds and time.monotonic() - self._kinds[kind][1] > _LATE_S

    def next_beside(self, head: Job, there: Container[ZygoteKey], well: Container[str], next_of: NextOf) -> Job | None:
        """The job behind this head for which a kind may be begun that is neither `there` nor getting ready: first one
        of a runtime that is known to be `well`."""

        def is_lacking(kind: ZygoteKey) -> bool:
            return kind not in there and kind.template not in self._kinds

        if self._has_place_beside(head.tenant, _MOST_OF_ONE):
            job = next_of(head, lambda kind: is_lacking(kind) and kind.runtime in well)
            if job is None and self._has_place_beside(head.tenant, _MOST_OF_ONE - 1):
                return next_of(head, is_lacking)
            return job
        return None

    def _has_place_beside(self, tenant: str, most: int) -> bool:
        """Do fewer get ready for the tenant, and are these late?"""
        own = [kind for kind, (name, _) in self._kinds.items() if name == tenant]
        return len(own) < most and all(map(self.is_late, own))

    def end(self, kind: ZygoteKey) -> None:
        self._kinds.pop(kind, None)

    def is_well(self, runtime: str) -> None:
        """A template of it got ready."""
        self._suspect.discard(runtime)

    def hung(self, runtime: str) -> bool:
        """A start of it hung. Is that so again, with none that got ready in between?"""
        is_again = runtime in self._suspect
        self._suspect.add(runtime)
        return is_again
