"""Plain data from one worker to another, types and aliasing kept: a `Writer` in one confined process, a `Reader` in
the other.

The bytes come from a process that may be hostile, so reading builds nothing but builtin types and value types of the
standard library (and numpy's, where the runtime has it), by hand, bounded in depth, and fails with Garbled on anything
else. The daemon only passes the bytes on.

Every container is written once, with a number; where it occurs again, the number stands for it. `Containers` keeps the
numbers of a whole connection, so that what comes back is the very object that was sent. What is not plain data is left
to `objects` (see `cruxcell.jobs.separated`); without it, it is NotPlain.
"""

import struct
import sys

from cruxcell.values import stdlib
from cruxcell.values.canonical import NotPlain, TooLarge, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

MAX_DEPTH = 300  # of what is written; Python frames for two levels more are at hand whatever the caller's depth
_ROOM = 2 * MAX_DEPTH + 100
MAX_CONTAINERS = 1 << 20  # that one connection remembers
_double = struct.Struct(">d")
_complex = struct.Struct(">dd")
_u32 = struct.Struct("<I")
_small = struct.Struct("<ci").pack
_sized = struct.Struct("<cI").pack
_small_at = struct.Struct("<i").unpack_from
_u32_at = _u32.unpack_from


class Garbled(ValueError):
    """The bytes are not an encoded value."""


def with_room(function, *arguments):
    # type: (Callable[..., Any], object) -> Any
    """`function(*arguments)` with Python frames enough for the deepest value, however deep the caller is."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(limit + _ROOM)
    try:
        return function(*arguments)
    finally:
        try:
            sys.setrecursionlimit(limit)
        except RecursionError:  # up to 3.10 where the caller is within 50 frames of its limit
            pass


# ---- containers both sides know -------------------------------------------------------------------------------------


class Containers:
    """The containers both ends of a connection have, by number: this end's own are `first`, `first` + 2, and so on."""

    def __init__(self, first=0):
        # type: (int) -> None
        self.entries = {}  # type: dict[int, list[Any]]
        self.numbers = {}  # type: dict[int, int]
        self._parity, self._next = first & 1, first
        self._new = []  # type: list[int]
        self._touched = []  # type: list[int]

    def add(self, value):
        # type: (object) -> int
        """The number of a container of this end that is written for the first time."""
        number = self._next
        if len(self.entries) >= MAX_CONTAINERS:
            raise TooLarge("the number of containers")
        self._next += 2
        self._keep(number, value)
        return number

    def adopt(self, number, value):
        # type: (int, object) -> None
        """A container of the other end. Garbled if that end may not use the number."""
        if number & 1 == self._parity or number in self.entries or len(self.entries) >= MAX_CONTAINERS:
            raise Garbled("a container's number that cannot be")
        self._keep(number, value)

    def _keep(self, number, value):
        # type: (int, object) -> None
        self.entries[number] = [value, None]
        self.numbers[id(value)] = number
        self._new.append(number)

    def touch(self, number):
        # type: (int) -> Any
        """A container whose content is written or read anew in this message."""
        self._touched.append(number)
        return self.entries[number][0]

    def settle(self):
        # type: () -> None
        """The message is whole: what its containers hold now is what the other end has."""
        for number in self._new + self._touched:
            entry = self.entries.get(number)
            if entry is not None:
                entry[1] = _snapshot(entry[0])
        self._new, self._touched = [], []

    def undo(self):
        # type: () -> None
        """The message is not sent: its containers are unknown again."""
        self.forget(self._new)
        self._new, self._touched = [], []

    def forget(self, numbers):
        # type: (list[int]) -> None
        for number in numbers:
            entry = self.entries.pop(number, None)
            if entry is not None:
                self.numbers.pop(id(entry[0]), None)

    def changed(self):
        # type: () -> list[int]
        """The numbers of the containers whose content is not what the other end has."""
        return [number for number, entry in self.entries.items() if _differs(*entry)]

    def sweep(self):
        # type: () -> list[int]
        """Forget what nothing but this table refers to any more; the numbers. The other end can forget them, too."""
        if not self.entries:
            return []
        references = sys.getrefcount
        probe = [[[], None]]  # type: list[list[Any]]
        alone = 0
        for entry in probe:
            alone = references(entry[0])
        gone = []
        for number in list(self.entries):
            entry = self.entries[number]
            if references(entry[0]) <= alone:
                gone.append(number)
                del self.entries[number], self.numbers[id(entry[0])]
        return gone


def _snapshot(value):
    # type: (Any) -> Any
    """What tells later whether `value` was changed: its items, none copied; None for what cannot change."""
    kind = base_of(type(value))
    if kind in (list, "deque"):
        return tuple(kind_iter(kind, value))
    if kind is set:
        return frozenset([id(item) for item in set.__iter__(value)]), tuple(set.__iter__(value))
    if kind is dict:
        return list(dict.keys(value)), list(dict.values(value))
    if kind is bytearray:
        return bytes(value)
    if kind == "ndarray":
        return stdlib.array_state(value)
    return None


def kind_iter(kind, value):
    # type: (object, Any) -> Any
    return list.__iter__(value) if kind is list else iter(value)


def _differs(value, before):
    # type: (Any, Any) -> bool
    if before is None:
        return False
    kind = base_of(type(value))
    if kind is list:
        return bool(list.__len__(value) != len(before)) or not _same(list.__iter__(value), before)
    if kind is dict:
        keys, values = before
        same = len(keys) == dict.__len__(value) and _same(dict.keys(value), keys) and _same(dict.values(value), values)
        return not same
    if kind is set:
        return set.__len__(value) != len(before[0]) or any(id(item) not in before[0] for item in set.__iter__(value))
    if kind == "deque":
        return len(value) != len(before) or not _same(value, before)
    return bool((bytes(value) if kind is bytearray else stdlib.array_state(value)) != before)


def _same(items, others):
    # type: (Any, Any) -> bool
    return all(one is other for one, other in zip(items, others))


def base_of(kind):
    # type: (type) -> Any
    """What a container is at bottom: list, dict, set, bytearray, "deque" or "ndarray"; None if it cannot change."""
    base = _BASES.get(kind)
    if base is None:
        for cls in kind.__mro__:
            if cls in _BASES:
                base = _BASES[cls]
                break
        else:
            base = stdlib.base_name(kind)
    return base or None


_BASES = {list: list, dict: dict, set: set, bytearray: bytearray, tuple: "", frozenset: ""}  # type: dict[type, Any]


# ---- writing ---------------------------------------------------------------------------------------------------------


def encode(value, budget):
    # type: (object, int) -> bytes
    """`value` as bytes. Raises NotPlain, naming the type, or TooLarge beyond `budget` bytes."""
    writer = Writer(Containers())
    with_room(writer.value, value, 0)
    return writer.bytes(budget)


class Writer:
    """Writes values one behind the other; `bytes` gives them."""

    def __init__(self, containers, objects=None):
        # type: (Containers, Any) -> None
        self._containers, self._objects = containers, objects
        self._numbers = containers.numbers
        self.parts = []  # type: list[bytes]

    def bytes(self, budget):
        # type: (int) -> bytes
        data = b"".join(self.parts)
        if len(data) > budget:
            raise TooLarge("the value")
        return data

    def value(self, value, depth):
        # type: (Any, int) -> None
        kind = type(value)
        atom = _ATOMS.get(kind)
        if atom is not None:
            self.parts.append(atom(value))
            return
        number = self._numbers.get(id(value))
        if number is not None:
            self.parts.append(_sized(b"@", number))
        elif depth > MAX_DEPTH:
            self._other(value, "a value nested more than %d deep" % MAX_DEPTH, depth)
        elif kind in _SEQUENCES:
            self.sequence(value, depth)
        elif kind is dict or (kind.__module__ == "collections" and kind in _dict_tags()):
            self.mapping(value, depth)
        elif not stdlib.write(self, value, depth):
            self._other(value, type_name(value), depth)

    def _other(self, value, why, depth):
        # type: (Any, str, int) -> None
        if self._objects is None:
            raise NotPlain(why)
        self._objects.write(self, value, depth)

    def number(self, value):
        # type: (object) -> int
        return self._containers.add(value)

    def sequence(self, value, depth):
        # type: (Any, int) -> None
        """A list, tuple, set, frozenset or bytearray, or an instance of a subclass of one."""
        kind = type(value)
        if kind not in _SEQUENCES:
            kind = next(cls for cls in kind.__mro__ if cls in _SEQUENCES)
        tag = _SEQUENCES[kind]
        if kind in (tuple, frozenset):  # what cannot change is whole before it has a number
            self.parts.append(_sized(tag, kind.__len__(value)))
            if kind.__len__(value):  # of the empty one there is but one
                self.items(kind.__iter__(value), depth)
                self.parts.append(_u32.pack(self.number(value)))
            return
        self.parts.append(_sized(tag, self.number(value)))
        self.content(value, depth)

    def mapping(self, value, depth):
        # type: (Any, int) -> None
        """A dict or what `collections` makes of one, or an instance of a subclass."""
        tag = b"d"
        for cls, letter in _dict_tags().items() if type(value) is not dict else ():
            tag = letter if isinstance(value, cls) else tag
        self.parts.append(_sized(tag, self.number(value)))
        if tag == b"D":
            factory = value.default_factory
            if factory is None or factory in _FACTORIES:
                self.parts.append(b"-" if factory is None else _FACTORIES[factory])
            elif self._objects is None:
                raise NotPlain("a defaultdict with a factory of its own")
            else:
                self.parts.append(b"=")
                self._objects.write(self, factory, depth)
        self.content(value, depth)

    def content(self, value, depth):
        # type: (Any, int) -> None
        """What a container that can change holds now."""
        kind = base_of(type(value))
        if kind is dict:
            self.parts.append(_u32.pack(dict.__len__(value)))
            for key, item in list(dict.items(value)):
                self.value(key, depth + 1)
                self.value(item, depth + 1)
        elif kind is bytearray:
            self.parts.append(_u32.pack(len(value)) + bytes(value))
        elif kind == "ndarray":
            stdlib.write_array(self, value, depth)
        else:
            items = list(kind_iter(kind, value) if kind is not set else set.__iter__(value))
            self.parts.append(_u32.pack(len(items)))
            self.items(items, depth)

    def items(self, items, depth):
        # type: (Any, int) -> None
        append, atoms, depth = self.parts.append, _ATOMS.get, depth + 1
        for item in items:
            atom = atoms(type(item))
            if atom is not None:
                append(atom(item))
            else:
                self.value(item, depth)


def _write_int(value):
    # type: (int) -> bytes
    if -0x80000000 <= value <= 0x7FFFFFFF:
        return _small(b"j", value)
    return _written(b"i", value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def _written(tag, data):
    # type: (bytes, bytes) -> bytes
    return _sized(tag, len(data)) + data


_ATOMS = {
    type(None): lambda value: b"N",
    type(Ellipsis): lambda value: b"E",
    type(NotImplemented): lambda value: b"n",
    bool: lambda value: b"T" if value else b"F",
    int: _write_int,
    float: lambda value: b"f" + _double.pack(value),
    complex: lambda value: b"c" + _complex.pack(value.real, value.imag),
    str: lambda value: _written(b"s", value.encode("utf-8", "surrogatepass")),
    bytes: lambda value: _written(b"b", value),
    range: lambda value: _written(b"r", b",".join(b"%d" % n for n in (value.start, value.stop, value.step))),
}  # type: dict[type, Any]
_SEQUENCES = {list: b"l", tuple: b"t", set: b"S", frozenset: b"Z", bytearray: b"B"}  # type: dict[Any, bytes]
_FACTORIES = {int: b"i", list: b"l", dict: b"d", set: b"s", str: b"S", float: b"f", bool: b"b", tuple: b"t"}


def _dict_tags():
    # type: () -> dict[Any, bytes]
    collections = sys.modules.get("collections") or __import__("collections")
    return {collections.OrderedDict: b"O", collections.Counter: b"C", collections.defaultdict: b"D"}


def _dict_base(kind):
    # type: (type) -> Any
    """The class whose methods fill a dict: an OrderedDict keeps an order of its own."""
    tags = _dict_tags()
    for cls in kind.__mro__:
        if cls is dict or cls in tags:
            return cls
    return dict


# ---- reading ---------------------------------------------------------------------------------------------------------


def decode(data):
    # type: (bytes) -> object
    """The value of `data`. Raises Garbled if it is not exactly one encoded value."""
    reader = Reader(data, Containers(1))
    value = reader.checked(reader.value, 0)
    reader.end()
    return value


class Reader:
    """Reads what a Writer wrote. What is wrong is Garbled, where reading was begun by `checked`."""

    def __init__(self, data, containers, objects=None):
        # type: (bytes, Containers, Any) -> None
        self.data, self.at = data, 0
        self.containers, self._objects = containers, objects

    def checked(self, read, *arguments):
        # type: (Callable[..., Any], object) -> Any
        """`read(*arguments)`; whatever goes wrong in it is Garbled."""
        try:
            return with_room(read, *arguments)
        except Garbled:
            raise
        except (struct.error, ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
            raise Garbled(str(error)) from None

    def end(self):
        # type: () -> None
        if self.at != len(self.data):
            raise Garbled("bytes after the value")

    def take(self, size):
        # type: (int) -> bytes
        stop = self.at + size
        if stop > len(self.data):
            raise Garbled("a length that cannot be")
        data = self.data[self.at : stop]
        self.at = stop
        return data

    def u32(self):
        # type: () -> int
        number = _u32_at(self.data, self.at)[0]
        self.at += 4
        return number  # type: ignore[no-any-return]

    def count(self):
        # type: () -> int
        """How many items follow: never more than bytes."""
        number = self.u32()
        if number > len(self.data) - self.at:
            raise Garbled("a length that cannot be")
        return number

    def value(self, depth):
        # type: (int) -> Any
        tag = self.data[self.at]
        self.at += 1
        read = _READERS.get(tag)
        if read is not None:
            return read(self)
        if depth > MAX_DEPTH + 20:  # an object too deep to be data has a class and a number
            raise Garbled("a depth that cannot be")
        nested = _NESTED.get(tag)
        if nested is not None:
            return nested(self, depth)
        if self._objects is None:
            raise Garbled("an unknown tag")
        return self._objects.read(self, tag, depth)

    def known(self):
        # type: () -> Any
        return self.containers.entries[self.u32()][0]

    def fill(self, value, depth):
        # type: (Any, int) -> Any
        """Give a container the content that follows, in place."""
        kind = base_of(type(value))
        if kind == "ndarray":
            return stdlib.refill_array(self, value)
        count = self.count()
        if kind is dict:
            pairs = [(self.value(depth + 1), self.value(depth + 1)) for _ in range(count)]
            base = _dict_base(type(value))
            base.clear(value)
            for key, item in pairs:
                base.__setitem__(value, key, item)
        elif kind is bytearray:
            value[:] = self.take(count)
        else:
            read, depth = self.value, depth + 1
            items = [read(depth) for _ in range(count)]
            if kind is list:
                list.__setitem__(value, slice(None), items)
            elif kind is set:
                set.clear(value)
                set.update(value, items)
            else:
                value.clear()
                value.extend(items)
        return value

    def new(self, value, depth):
        # type: (Any, int) -> Any
        """The number and content of a new container, for which `value` stands empty."""
        self.containers.adopt(self.u32(), value)
        return self.fill(value, depth)

    def frozen(self, make, depth):
        # type: (Callable[[list[Any]], Any], int) -> Any
        """A tuple or frozenset: what cannot change has its number behind it."""
        read, inner, count = self.value, depth + 1, self.count()
        value = make([read(inner) for _ in range(count)])
        if count:
            self.containers.adopt(self.u32(), value)
        return value


def _read_range(reader):
    # type: (Reader) -> range
    return range(*[int(part) for part in reader.take(reader.u32()).split(b",")])


def _read_small(reader):
    # type: (Reader) -> int
    number = _small_at(reader.data, reader.at)[0]
    reader.at += 4
    return number  # type: ignore[no-any-return]


_READERS = {
    ord("N"): lambda reader: None,
    ord("E"): lambda reader: Ellipsis,
    ord("n"): lambda reader: NotImplemented,
    ord("T"): lambda reader: True,
    ord("F"): lambda reader: False,
    ord("j"): _read_small,
    ord("i"): lambda reader: int.from_bytes(reader.take(reader.u32()), "big", signed=True),
    ord("f"): lambda reader: _double.unpack(reader.take(8))[0],
    ord("c"): lambda reader: complex(*_complex.unpack(reader.take(16))),
    ord("s"): lambda reader: reader.take(reader.u32()).decode("utf-8", "surrogatepass"),
    ord("b"): lambda reader: reader.take(reader.u32()),
    ord("r"): _read_range,
    ord("@"): Reader.known,
}  # type: dict[int, Callable[[Reader], Any]]


def _read_ordered(reader, depth):
    # type: (Reader, int) -> Any
    return reader.new(__import__("collections").OrderedDict(), depth)


def _read_counter(reader, depth):
    # type: (Reader, int) -> Any
    return reader.new(__import__("collections").Counter(), depth)


def _read_defaultdict(reader, depth):
    # type: (Reader, int) -> Any
    number, code = reader.u32(), reader.take(1)
    made = __import__("collections").defaultdict()
    reader.containers.adopt(number, made)
    if code == b"=":
        made.default_factory = reader.value(depth + 1)
    elif code != b"-":
        made.default_factory = {letter: factory for factory, letter in _FACTORIES.items()}[code]
    return reader.fill(made, depth)


_NESTED = {
    ord("l"): lambda reader, depth: reader.new([], depth),
    ord("t"): lambda reader, depth: reader.frozen(tuple, depth),
    ord("S"): lambda reader, depth: reader.new(set(), depth),
    ord("Z"): lambda reader, depth: reader.frozen(frozenset, depth),
    ord("B"): lambda reader, depth: reader.new(bytearray(), depth),
    ord("d"): lambda reader, depth: reader.new({}, depth),
    ord("O"): _read_ordered,
    ord("C"): _read_counter,
    ord("D"): _read_defaultdict,
    ord("V"): stdlib.read,
    ord("A"): stdlib.read_array,
}  # type: dict[int, Callable[[Reader, int], Any]]
