"""What the test was told that objects of the candidate hold: which of them have changed since."""

from marshal import dumps

from cruxcell.jobs.separated.crossing.classes import holders_of
from cruxcell.jobs.separated.crossing.numbered import Shown  # noqa: F401 - in type comments
from cruxcell.jobs.separated.proxies.equality import ATOMS
from cruxcell.values.containers import CONTAINERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_LARGEST = 1 << 10  # bytes that are kept of an object
_IN_FULL = 2  # a version of the format that says nothing of how often something is referred to


class ToldStates:
    """Of each object the bytes that its plain data comes to, so that nothing of the program's is kept alive."""

    def __init__(self, shown):
        # type: (Shown) -> None
        self._shown = shown
        self._told = {}  # type: dict[int, tuple[bytes | None, int]]  # by number; with when it was seen to change
        self._time = 0

    def tell(self, value):
        # type: (object) -> bool
        """The test is about to be told what this holds. Is that plain data alone?"""
        number, now = self._shown.known(value), _bytes_of(value, {})
        if number is not None:
            told = self._told.get(number)
            if told is not None and told[0] != now:
                self._time += 1
            self._told[number] = now, self._time
        return now is not None

    def changed(self, since):
        # type: (int) -> list[int]
        """The time by now, and the numbers of what has changed after that time, or may have."""
        self._time += 1
        values, holders, told = self._shown.values, {}, self._told  # type: Any, dict[int, Any], Any
        found = [self._time]
        for number in list(told):
            if number not in values:  # the test has let go of it
                told.pop(number, None)
                continue
            before, when = told[number]
            now = _bytes_of(values[number], holders) if before is not None else None
            if now is None or now != before:
                told[number] = now, self._time
                found.append(number)
            elif when > since:
                found.append(number)
        return found


def _bytes_of(value, holders):
    # type: (Any, dict[int, Any]) -> bytes | None
    """None where it is not plain data alone. No code of the program's runs."""
    kind = type(value)
    if id(kind) not in holders:
        holders[id(kind)] = holders_of(kind)
    contents, slots, attributes = holders[id(kind)]
    if contents:
        return None
    try:
        held = attributes(value) if attributes is not None else None
        state = [held, *[slot(value) for _, slot in slots]] if slots else held
        if not _is_small(state):
            return None
        found = dumps(state, _IN_FULL)
    except (AttributeError, ValueError):  # a slot that holds nothing; of a type of its own, or too deep
        return None
    if len(found) > _LARGEST or (_BYTES in found and not _holds_atoms_alone(state)):
        return None
    return found


def _is_small(state):
    # type: (Any) -> bool
    """Has it few parts, those counted anew that stand at several places? The format writes them at each."""
    pending = [state]
    for each in pending:
        kind = type(each)
        if kind is dict:
            parts = [*each, *each.values()]
        elif any(kind is container for container in CONTAINERS):
            parts = list(each)
        else:
            continue
        if len(pending) + len(parts) > _LARGEST:  # a part takes a byte at least
            return False
        if not _ARE_ATOMS(map(id, map(type, parts))):  # metaclasses may give types no hash
            pending += parts
    return True


_ARE_ATOMS = frozenset(map(id, ATOMS)).issuperset
_BYTES = b"s"  # in that format what bytes begin with, and an array of the same bytes, whatever its type and shape are


def _holds_atoms_alone(state):
    # type: (Any) -> bool
    pending = [state]
    for each in pending:
        kind = type(each)
        if kind is dict:
            pending += [*each.keys(), *each.values()]
        elif kind in CONTAINERS:
            pending += each
        elif kind not in ATOMS:
            return False
    return True


def unshared(value):
    # type: (Any) -> Any
    """Plain data in containers that the test does not come to have as well, which would be looked at ever after."""
    kind = type(value)
    if kind is dict:
        return {key: unshared(each) for key, each in value.items()}
    return kind(map(unshared, value)) if kind in (list, tuple, set, frozenset) else value
