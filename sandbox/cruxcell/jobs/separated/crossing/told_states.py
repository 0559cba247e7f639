"""What the test was told that objects of the candidate hold: which have changed since, and what is within them."""

from marshal import dumps

from cruxcell.jobs.separated.crossing.classes import holders_of, state_of
from cruxcell.jobs.separated.crossing.numbered import Shown  # noqa: F401 - in type comments
from cruxcell.jobs.separated.proxies.equality import items_in
from cruxcell.jobs.separated.proxies.facts import has_equality
from cruxcell.jobs.separated.proxies.library_values import gives_a_value
from cruxcell.jobs.separated.proxies.matching import ATOMS
from cruxcell.jobs.separated.proxies.operations import is_class, mro_of, own_of, package_of
from cruxcell.jobs.separated.proxies.remote import is_class_of_proxies
from cruxcell.jobs.separated.proxies.shared_names import is_stdlib
from cruxcell.values.containers import CONTAINERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_LARGEST = 1 << 10  # bytes that are kept of an object
_MOST_PARTS, _MOST_LOOKED_AT = 1 << 13, 1 << 12  # that are told of in all; that are looked at for them, in an answer
_IN_FULL = 2  # a version of the format that says nothing of how often something is referred to


class ToldStates:
    """Of each object the bytes that its plain data comes to, so that nothing of the program's is kept alive."""

    def __init__(self, shown):
        # type: (Shown) -> None
        self._shown = shown
        self._told = {}  # type: dict[int, tuple[bytes | None, int]]  # by number; with when it was seen to change
        self._time = 0
        self._left = _MOST_PARTS

    def parts_of(self, values, states, modules):
        # type: (Any, list[dict[str, Any]], frozenset[str]) -> list[Any]
        """The program's objects within what these hold, each with what it holds itself: object, state, object, and so
        on. Of values that compare alone, and as far as it is little. `modules`: the program's, by their names."""
        compare = [has_equality(type(each)) for each in values]
        pending = [state for state, is_one in zip(states, compare) if is_one]  # type: list[Any]
        found, seen = [], set(map(id, values))  # type: list[Any], set[int]
        for each in pending:
            parts = items_in(each)
            if parts is None:
                if not self._left or id(each) in seen or not _is_of(type(each), modules):
                    continue
                self._left -= 1
                parts = [state_of(each)]
                if not (_is_small(parts[0]) and _is_short(parts[0], modules)):
                    continue
                found += [each, parts[0]]
            if id(each) not in seen and len(pending) + len(parts) <= _MOST_LOOKED_AT:
                pending += parts
            seen.add(id(each))
        return found

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


def _is_of(kind, modules):
    # type: (Any, frozenset[str]) -> bool
    """Is it a class of the program's, or one of values of the library, of objects that hold their attributes alone?"""
    module = own_of(kind).get("__module__")
    is_of_the_program = type(module) is str and module in modules and not is_class_of_proxies(kind)
    if id(kind) in _SHORT or not (is_of_the_program or gives_a_value(kind)):
        return False
    return not any(each is type or each is BaseException for each in mro_of(kind)) and not holders_of(kind)[0]


def _is_small(state):
    # type: (Any) -> bool
    """Has it few parts, those counted anew that stand at several places? The format writes them at each."""
    pending = [state]
    for each in pending:
        parts = items_in(each)
        if parts is None:
            continue
        if len(pending) + len(parts) > _LARGEST:  # a part takes a byte at least
            return False
        if not _ARE_ATOMS(map(id, map(type, parts))):  # metaclasses may give types no hash
            pending += parts
    return True


def _is_short(state, modules):
    # type: (Any, frozenset[str]) -> bool
    """Are texts and numbers in it short, and is nothing else in it but values that are, objects of the program's,
    classes and functions?"""
    pending, left = [state], _LARGEST
    for each in pending:
        kind, parts = type(each), items_in(each)
        if parts is not None:
            pending += parts
        elif kind is str or kind is bytes:
            left -= len(each)
        elif kind is int:
            left -= each.bit_length() >> 3
        elif id(kind) not in _SHORT and not (is_class(each) or _is_of(kind, modules) or _is_value(kind)):
            left -= _memory_of(each, kind)
        if left < 0:
            return False
    return True


def _memory_of(value, kind):
    # type: (Any, Any) -> int
    """The bytes of an array of plain data that shows no other's memory; of anything else more than are told of."""
    is_array = type(kind) is type and package_of(kind) in _OF_ARRAYS and is_stdlib(kind)
    try:
        view = memoryview(value) if is_array or kind is bytearray else None
    except (TypeError, ValueError, BufferError):  # of items that have no such form, as dates
        return _LARGEST + 1
    is_its_own = view is not None and "O" not in view.format and getattr(value, "base", None) is None
    return view.nbytes if view is not None and is_its_own else _LARGEST + 1


def _is_value(kind):
    # type: (Any) -> bool
    return type(kind) is type and package_of(kind) in _OF_VALUES


_OF_VALUES = ("datetime", "decimal", "fractions", "ipaddress", "pathlib", "re", "uuid")
_OF_ARRAYS = ("array", "numpy")
_SHORT = frozenset(map(id, (*ATOMS, range, slice, type(len), type(_is_value))))
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
