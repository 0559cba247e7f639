"""Which templates are getting ready: a bounded number at once, and fewer of runtimes that hung the last time.

One that does not get ready holds its place for half a minute, and costs nothing else. It takes none of a zygote's: else
interpreters on a file system that has gone would keep those from starting that are well.
"""

from __future__ import annotations

from collections.abc import Iterator

from cruxboxd.zygotes.setup import ZygoteKey

_MOST, _MOST_SUSPECT = 16, 8


class Loading:
    """The kinds whose template is getting ready, and the runtimes of which none has got ready since one hung."""

    def __init__(self) -> None:
        self._kinds: set[ZygoteKey] = set()
        self._suspect: set[str] = set()

    def __len__(self) -> int:
        return len(self._kinds)

    def __iter__(self) -> Iterator[ZygoteKey]:
        return iter(self._kinds)

    def begin(self, kind: ZygoteKey) -> bool:
        """Take a place; False if there is none, or this kind has one."""
        if kind in self._kinds or len(self._kinds) >= _MOST:
            return False
        if kind.runtime in self._suspect and sum(one.runtime in self._suspect for one in self._kinds) >= _MOST_SUSPECT:
            return False
        self._kinds.add(kind)
        return True

    def end(self, kind: ZygoteKey) -> None:
        self._kinds.discard(kind)

    def is_well(self, runtime: str) -> None:
        """A template of it got ready."""
        self._suspect.discard(runtime)

    def hung(self, runtime: str) -> bool:
        """A start of it hung. Is that so again, with none that got ready in between?"""
        is_again = runtime in self._suspect
        self._suspect.add(runtime)
        return is_again
