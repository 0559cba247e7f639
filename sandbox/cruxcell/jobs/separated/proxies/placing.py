"""Where objects of the other half have their place in sets and dicts, by hashes that it has to be asked for.

Nothing is asked while a message is read: the answer would come in the midst of it. So what is put into a container
meanwhile goes where an object of this half would. When the message has been read, its hash is asked for, and the
container is filled anew. (Not so a frozenset, which cannot be.) No two in it are equal: or a set of one thing, twice,
would equal that of this and another.
"""

from _thread import get_ident as _get_ident

from cruxcell.jobs.separated.proxies.facts import last_hash
from cruxcell.jobs.separated.proxies.runs import LINK
from cruxcell.values.containers import base_of, put_anew
from cruxcell.values.dicts import unasked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

ALL = -1  # in the place of the number of the object whose hash was asked for last
_under_way = []  # type: list[tuple[Placing, int]]


class Placing:
    """Of one half."""

    def __init__(self):
        # type: () -> None
        self.waiting = []  # type: list[Any]
        self.holders = []  # type: list[Any]
        self._hashes = None  # type: dict[int, int] | None

    def during(self, function, *arguments):
        # type: (Callable[..., Any], object) -> Any
        """`function(*arguments)`, where this thread may ask nothing."""
        _under_way.append((self, _get_ident()))
        try:
            return function(*arguments)
        finally:
            _under_way.pop()

    def hash_of(self, value, instead):
        # type: (object, int) -> int
        if self._hashes is None:
            self.waiting.append(value)
            return instead
        return self._hashes.get(id(value), instead)

    def again(self, values, containers):
        # type: (list[Any], list[Any]) -> None
        """More of these is known by now than when they were put into containers."""
        self.waiting += values
        self.holders += [each for each in containers if base_of(type(each)) in (set, dict)]
        self.finish()

    def finish(self, fatal=()):
        # type: (Any) -> None
        """Ask for the hashes that were missing, and put what has them into its place. `fatal`: what ends it all."""
        while self.waiting:
            waiting, self.waiting = self.waiting, []
            holders, self.holders = self.holders, []
            hashes = {}  # type: dict[int, int]
            for each in waiting:
                try:
                    hashes[id(each)] = hash(each)
                except fatal:
                    raise
                except Exception:  # it stays where it is
                    hashes.pop(id(each), None)
            self._hashes = hashes
            try:
                for holder in holders:
                    self.during(put_anew, holder)
                looked_at = holders if LINK[0].is_test else []
                alike = [some for holder in looked_at for some in self.during(_of_one_hash, holder)]
            finally:
                self._hashes = None
            for some in alike:
                _look_for_equals(some)


def _of_one_hash(holder):
    # type: (Any) -> list[list[Any]]
    """Of what is in a set or dict those that have a hash in common, by what was told: another may be told by and by."""
    alike = {}  # type: dict[int, list[Any]]
    for each in base_of(type(holder)).__iter__(holder):
        alike.setdefault(hash(each), []).append(each)
    return [some for some in alike.values() if len(some) > 1]


def _look_for_equals(some):
    # type: (list[Any]) -> None
    """Are two of these, which have one hash in a set or dict, equal? In tuples, too. Then it is none."""
    LINK[0].hashed = ALL
    if any(one == other for at, one in enumerate(some) for other in some[:at]):
        LINK[0].gone("the candidate gives a set or dict that holds two equal objects")
    LINK[0].hashed = 0


def _without_asking(function):
    # type: (Callable[[], Any]) -> Any
    """`function()`, where this thread has those hashes that were asked for last."""
    _looking.append(_get_ident())
    try:
        return function()
    finally:
        _looking.remove(_get_ident())


_looking = []  # type: list[int]
unasked[0] = _without_asking


def is_reading():
    # type: () -> bool
    """Is this thread in the midst of a message, or of a look at what it has to say in one?"""
    return (bool(_under_way) and _under_way[-1][1] == _get_ident()) or _is_looking()


def _is_looking():
    # type: () -> bool
    return bool(_looking) and _get_ident() in _looking


def hash_meanwhile(value, instead):
    # type: (object, int) -> int
    """The hash of what is put into a container meanwhile; `instead` of one that is not known."""
    return last_hash(value, instead) if _is_looking() else _under_way[-1][0].hash_of(value, instead)
