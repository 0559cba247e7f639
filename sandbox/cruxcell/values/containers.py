"""The containers that both halves of a pair share, and the detection of changes in them."""

from _operator import is_ as _is
from gc import get_referents
from sys import getrecursionlimit, getrefcount, setrecursionlimit, version_info

from cruxcell.values import arrays, images, sparse, stdlib, tables, views
from cruxcell.values.canonical import TooLarge
from cruxcell.values.dicts import dict_base, is_in_order, keys_and_values, pairs_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

MAX_DEPTH = 300  # of what is written; Python frames for two levels more are at hand whatever the caller's depth
_ROOM = 2 * MAX_DEPTH + 100
MOST_FRAMES = (1 << 31) - 1  # the highest recursion limit; programs set it, too
CONTAINERS = (list, tuple, dict, set, frozenset)  # the builtin ones that hold other values
MAX_CONTAINERS = 1 << 20  # that one link remembers


class Garbled(ValueError):
    """The bytes are not an encoded value."""


def with_room(function, *arguments):
    # type: (Callable[..., Any], object) -> Any
    """`function(*arguments)` with Python frames enough for the deepest value, however deep the caller is, if that has
    made sure of some (`need_frames`): the limit cannot be set back without."""
    limit = getrecursionlimit()
    setrecursionlimit(min(limit + _ROOM, MOST_FRAMES))
    try:
        return function(*arguments)
    finally:
        try:
            setrecursionlimit(limit)
        except RecursionError:  # the caller is at its limit
            pass


def need_frames(count):
    # type: (int) -> None
    """Raises RecursionError unless so many more frames of Python are at hand, and those that must be to set a limit: 50
    up to 3.10, 1 since."""
    _need_frames(count + _TO_SET_A_LIMIT)


def _need_frames(count):
    # type: (int) -> None
    if count:
        _need_frames(count - 1)


_TO_SET_A_LIMIT = 50 if version_info < (3, 11) else 1
_MOST_STAND_INS = 64


class Containers:
    """The containers that both halves have, by number: this half's own are `first`, `first` + 2, and so on."""

    def __init__(self, first=0):
        # type: (int) -> None
        self.entries = {}  # type: dict[int, list[Any]]
        self.numbers = {}  # type: dict[int, int]
        self._changing = {}  # type: dict[int, list[Any]]  # the entries of those that can change
        self._parity, self._next = first & 1, first
        self._new = []  # type: list[int]
        self._touched = []  # type: list[int]
        self._written = {}  # type: dict[int, Any]
        self.gone = []  # type: list[Any]  # what is let go between messages: its finalizers may send some
        self.stand_ins = {}  # type: dict[int, list[int]]  # of memory that has no number, by the address of its owner

    def stands_for(self, base):
        # type: (object) -> None
        """What gets the next number shows the memory of `base`, which has none."""
        if len(self.stand_ins) > _MOST_STAND_INS + 2 * len(self.entries):
            kept = [
                (key, [each for each in numbers if each in self.entries]) for key, numbers in self.stand_ins.items()
            ]
            self.stand_ins = {key: numbers for key, numbers in kept if numbers}
        self.stand_ins.setdefault(id(base), []).append(self._next)

    def shown_by(self, value):
        # type: (object) -> Any
        """What a container with a number is a view of; None if it is none."""
        entry = self.entries.get(self.numbers.get(id(value), -1), ())
        return None if len(entry) == _OF_OTHERS else entry[-1] if entry else None

    def add(self, value, base=None):
        # type: (object, object) -> int
        """The number of a container of this half that is written for the first time. `base`: what it is a view of,
        which is remembered as long as the view is."""
        number = self._next
        if len(self.entries) >= MAX_CONTAINERS:
            raise TooLarge("the number of containers")
        self._next = number + 2
        self.entries[number] = [value, None] if base is None else [value, None, base]
        self.numbers[id(value)] = number
        self._new.append(number)
        return number

    def adopt(self, number, value, base=None):
        # type: (int, object, object) -> None
        """A container of the other half. Garbled if that half may not use the number."""
        entries = self.entries
        if number & 1 == self._parity or number in entries or len(entries) >= MAX_CONTAINERS:
            raise Garbled("a container's number that cannot be")
        entries[number] = [value, None] if base is None else [value, None, base]
        self.numbers[id(value)] = number
        self._new.append(number)

    def touch(self, number):
        # type: (int) -> Any
        """A container whose content is written or read anew in this message."""
        self._touched.append(number)
        return self.entries[number][0]

    def write(self, value):
        # type: (Any) -> None
        """The content of this container is written next. It is remembered as it is before that: what another thread
        does to it from now on is one more change."""
        number = self.numbers[id(value)]
        entry = self.entries[number]
        self._written[number] = entry[1]
        entry[1] = _state(entry)

    def begin(self, value, items):
        # type: (list[Any], tuple[Any, ...] | None) -> int
        """`add` and `write` of a list, whose items at this time are known; None where changes do not matter."""
        number = self.add(value)
        if items is not None:
            self.entries[number][1] = items
            self._written[number] = None
        return number

    def settle(self):
        # type: () -> None
        """The message is whole: what its containers hold is what the other half has."""
        if not self._new and not self._touched:  # nor `_written`, then
            return
        for number in self._new + self._touched:
            entry = self.entries.get(number)
            if entry is not None and number not in self._written:
                value = entry[0]
                entry[1] = items_of_list(value) if type(value) is list else _state(entry)
            if entry is not None and entry[1] is not None:
                self._changing[number] = entry
        self._new, self._touched, self._written = [], [], {}

    def undo(self):
        # type: () -> None
        """The message is not sent: its new containers are unknown again, the others are as they were known."""
        for number, before in self._written.items():
            self.entries[number][1] = before
        self.forget(self._new)
        self._new, self._touched, self._written = [], [], {}

    def forget(self, numbers):
        # type: (list[int]) -> None
        for number in numbers:
            entry = self.entries.pop(number, None)
            self._changing.pop(number, None)
            if entry is not None:
                self.numbers.pop(id(entry[0]), None)
                self.gone.append(entry)

    def changed(self):
        # type: () -> list[int]
        """The numbers of the containers whose content is not what the other half has."""
        entries = self._changing
        looked_at = _helper[0].not_as_before(entries) if _helper else list(entries)
        return [number for number in looked_at if _may_differ(entries[number])]

    def sweep(self):
        # type: () -> list[int]
        """Forget what nothing but this table refers to any more; the numbers. The other half can forget them, too."""
        gone = alone(self.entries)
        self.forget(gone)
        return gone

    def held(self, numbers, apart):
        # type: (list[int], list[int]) -> list[int]
        """Those of these containers that anything else refers to than this table: itself, or by what they are in.
        `apart`: the addresses of what is referred to once more each, which does not count."""
        parts = {number: self._inside(entry) for number, entry in self.entries.items()}
        known = [each for found in parts.values() for each in found]
        known += [self.numbers[address] for address in apart if address in self.numbers]
        counts = {}  # type: dict[int, int]
        for number in known:
            counts[number] = counts.get(number, 0) + 1
        pending = self._referred_to(counts)
        for number in pending:
            pending += parts.pop(number, ())
        return [number for number in numbers if number in pending]

    def _inside(self, entry):
        # type: (list[Any]) -> list[int]
        """The numbers of the containers that one refers to, and that what is remembered of it refers to."""
        numbers, items = self.numbers, get_referents(entry[0])
        for each in get_referents(entry[1]):  # its items, or lists of them
            items += [each] if id(each) in numbers or type(each) not in _PARTS else get_referents(each)
        return [numbers[id(each)] for each in items if id(each) in numbers]

    def _referred_to(self, counts):
        # type: (dict[int, int]) -> list[int]
        """The numbers of the containers with more references than those of this table and these."""
        references, alone = getrefcount, _references_alone([[], None])
        found = []
        for number, entry in self.entries.items():
            if references(entry[0]) > alone + counts.get(number, 0):
                found.append(number)
        return found


_helper = []  # type: list[Any]


def use(helper):
    # type: (Any) -> None
    """From now on the helper looks through the containers before each message, if it can: the pure twin cannot. It
    takes a fraction of the time, which each question costs anew."""
    if hasattr(helper, "not_as_before"):
        _helper[:] = [helper]


def alone(entries):
    # type: (dict[int, list[Any]]) -> list[int]
    """The numbers of the entries whose first item nothing else refers to."""
    if not entries:
        return []
    if _helper:
        return _helper[0].alone(entries)  # type: ignore[no-any-return]
    references, most = getrefcount, _references_alone([[], None])
    return [number for number, entry in list(entries.items()) if references(entry[0]) <= most]


def is_referred_to(entry):
    # type: (list[Any]) -> bool
    """Does anything else refer to the container of an entry that is in the table no more?"""
    references, alone = getrefcount, _references_alone([[], None])
    return references(entry[0]) > alone


def _references_alone(entry):
    # type: (list[Any]) -> int
    """What `getrefcount(entry[0])` says where nothing but the table refers to the container: counted as it counts."""
    return getrefcount(entry[0])


def _state(entry):
    # type: (list[Any]) -> Any
    return _snapshot(entry[0]) if len(entry) == _OF_OTHERS else views.state_of(entry[0], entry[2])


_OF_OTHERS = 2  # things are remembered of what is no view: it, and what it held


def put_anew(value):
    # type: (Any) -> None
    """Put the items of a set or dict where they belong by their hashes."""
    if base_of(type(value)) is set:
        items = items_of(set, value)
        set.clear(value)
        set.update(value, items)
    else:
        base, pairs = dict_base(type(value)), pairs_of(value)
        base.clear(value)
        for key, item in pairs:
            base.__setitem__(value, key, item)


def _snapshot(value):
    # type: (Any) -> Any
    """What tells later whether `value` was changed: its items, none copied; None for what cannot change."""
    kind = base_of(type(value))
    if kind in (list, "deque"):
        return items_of(kind, value)
    if kind is set:
        items = items_of(kind, value)
        return frozenset([id(item) for item in items]), items
    if kind is dict:
        return keys_and_values(value)
    if kind is bytearray:
        return bytes(value)
    return _STATES[kind](value) if kind in _STATES else None


def items_of_list(value):
    # type: (list[Any]) -> tuple[Any, ...]
    """The items of an exact list. Not by `tuple(value)`: up to 3.11 that may run a finalizer when it has looked where
    they are, and reads what is no longer there if the list is changed."""
    return (*value,)


def items_of(kind, value):
    # type: (object, Any) -> tuple[Any, ...]
    """The items of a list, deque, array or set at one time, whatever another thread does to it."""
    for _ in range(_TRIES):
        try:
            return tuple(list.__iter__(value) if kind is list else set.__iter__(value) if kind is set else iter(value))
        except RuntimeError:  # changed between the two calls
            pass
    raise TooLarge("a container that changes all the time")


_TRIES = 1000


def _may_differ(entry):
    # type: (list[Any]) -> bool
    try:
        if len(entry) == _OF_OTHERS:
            return _differs(entry[0], entry[1])
        return bool(entry[1] is not None and entry[1] != _state(entry))
    except RuntimeError:  # another thread changes it right now
        return True


def _differs(value, before):
    # type: (Any, Any) -> bool
    if before is None:
        return False
    kind = base_of(type(value))
    if kind is list:
        return bool(list.__len__(value) != len(before)) or not _same(list.__iter__(value), before)
    if kind is dict:
        keys, values = before
        now = (dict.keys(value), dict.values(value)) if is_in_order(value) else keys_and_values(value)
        return len(keys) != dict.__len__(value) or not (_same(now[0], keys) and _same(now[1], values))
    if kind is set:
        return set.__len__(value) != len(before[0]) or any(id(item) not in before[0] for item in set.__iter__(value))
    if kind == "deque":
        return len(value) != len(before) or not _same(value, before)
    is_same = bytearray.__eq__(value, before) if kind is bytearray else _are_alike(_STATES[kind](value), before)
    return not is_same


def _are_alike(one, other):
    # type: (Any, Any) -> bool
    """Are two states the same? They are of plain data and objects, which are told by identity."""
    kind = type(one)
    if one is other or kind is not type(other):
        return one is other
    if kind is tuple or kind is list:
        return len(one) == len(other) and (_same(one, other) or all(map(_are_alike, one, other)))
    return kind in _PLAIN and bool(one == other)


_PARTS = (tuple, list)  # of what is remembered
_PLAIN = frozenset([bool, int, float, str, bytes])
_STATES = {"array": arrays.state_of, "ndarray": arrays.state_of, "table": tables.state_of, "sparse": sparse.state_of}
_STATES["image"] = images.state_of


def _same(items, others):
    # type: (Any, Any) -> bool
    return all(map(_is, items, others))


def base_of(kind):
    # type: (type) -> Any
    """What a container is at bottom: one of _BASES or the name of another module's; None if it cannot change."""
    base = _BASES.get(id(kind))
    if base is None:
        for cls in kind.__mro__:
            if id(cls) in _BASES:
                base = _BASES[id(cls)]
                break
        else:
            base = stdlib.base_name(kind)
    return base or None


# By the addresses of classes: a metaclass may say that a class equals another, or has no hash.
_BASES = {id(list): list, id(dict): dict, id(set): set, id(bytearray): bytearray, id(tuple): "", id(frozenset): ""}  # type: dict[int, Any]
