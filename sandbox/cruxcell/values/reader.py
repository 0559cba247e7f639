"""Decodes the output of a `Writer`, which may be hostile. It builds plain data only; anything else raises Garbled."""

import struct
from sys import intern as _intern

from cruxcell.values import arrays, cells, images, made_tables, sets, sparse, stdlib, views
from cruxcell.values.containers import (
    MAX_DEPTH,
    Containers,  # noqa: F401 - in type comments
    Garbled,
    base_of,
    with_room,
)
from cruxcell.values.dicts import dict_base
from cruxcell.values.writer import FACTORIES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

_double = struct.Struct(">d")
_complex = struct.Struct(">dd")
_smalls_in = struct.Struct("<xi").iter_unpack
_doubles_in = struct.Struct(">xd").iter_unpack
_small_at = struct.Struct("<i").unpack_from
_u32_at = struct.Struct("<I").unpack_from
_two_at = struct.Struct("<II").unpack_from
_LARGE = 1 << 14


class Reader:
    """Reads what a Writer wrote, from `at` on to the end. What is wrong is Garbled, where reading was begun by
    `checked`."""

    def __init__(self, data, containers, objects=None, at=0):
        # type: (bytes, Containers, Any, int) -> None
        self.data, self.at = data, at
        self.containers, self.objects = containers, objects

    def checked(self, read, *arguments):
        # type: (Callable[..., Any], object) -> Any
        """`read(*arguments)`; whatever goes wrong in it is Garbled, but for want of memory. A library raises what it
        likes when its values are made, and may be missing."""
        try:
            return with_room(read, *arguments)
        except MemoryError:
            raise
        except Exception as error:
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
        number = _u32_at(self.data, self.at)[0]  # type: int
        self.at += 4
        return number

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
        if self.objects is None:
            raise Garbled("an unknown tag")
        return self.objects.read(self, tag, depth)

    def items(self, count, depth):
        # type: (int, int) -> list[Any]
        """So many values, one behind the other."""
        data, at = self.data, self.at
        if count > _FEW:  # ints or floats alone, whose tags then stand at equal distances
            tag = data[at : at + 1]
            size, read_all = _OF_ONE_SIZE.get(tag, _OF_NO_SIZE)
            stop = at + size * count
            if size and stop <= len(data) and data[at:stop:size] == tag * count:
                self.at = stop
                return [item for (item,) in read_all(data[at:stop])]
        items, readers, nested = [], _READERS.get, _NESTED.get  # type: list[Any], Any, Any
        for _ in range(count):
            kind = data[self.at]
            read = readers(kind)
            if read is not None:  # as of most: without another call
                self.at += 1
                items.append(read(self))
                continue
            read = nested(kind) if depth <= MAX_DEPTH else None
            if read is not None:
                self.at += 1
                items.append(read(self, depth))
            else:
                items.append(self.value(depth))
        return items

    def known(self):
        # type: () -> Any
        return self.containers.entries[self.u32()][0]

    def fill(self, value, depth):
        # type: (Any, int) -> Any
        """Give a container the content that follows, in place."""
        kind = base_of(type(value))
        if kind == "ndarray":
            base = self.containers.shown_by(value)
            return arrays.refill(self, value) if base is None else views.refill(self, value, base)
        if kind in _REFILLED:
            return _REFILLED[kind](self, value, depth)
        if kind == "table":
            return cells.refuse_theirs(self.objects, made_tables.refill(self, value, depth))
        count = self.count()
        if kind is dict:
            pairs = [(self.value(depth + 1), self.value(depth + 1)) for _ in range(count)]
            base = dict_base(type(value))
            base.clear(value)
            for key, item in pairs:
                base.__setitem__(value, key, item)
            self._is_filled(value)
        elif kind is bytearray:
            bytearray.__setitem__(value, slice(None), self.take(count))
        elif kind is set:
            bits = self.take(1)[0]
            sets.fill(value, self.items(count, depth + 1), bits)
            self._is_filled(value)
        else:
            items = self.items(count, depth + 1)
            if kind is list:
                list.__setitem__(value, slice(None), items)
            elif kind == "array":
                value[:] = type(value)(value.typecode, items)
            else:
                value.clear()
                value.extend(items)
        return value

    def _is_filled(self, value):
        # type: (object) -> None
        if self.objects is not None:
            self.objects.filled(value)

    def new(self, value, depth):
        # type: (Any, int) -> Any
        """The number and content of a new container, for which `value` stands empty."""
        self.containers.adopt(self.u32(), value)
        return self.fill(value, depth)

    def whole_tuple(self, depth):
        # type: (int) -> tuple[Any, ...]
        """What cannot change has its number behind it."""
        count = self.count()
        value = tuple(self.items(count, depth + 1))
        if count:
            self.containers.adopt(self.u32(), value)
        return value

    def whole_set(self, depth):
        # type: (int) -> frozenset[Any]
        count = self.count()
        if not count:
            return frozenset()
        bits = self.take(1)[0]
        value = sets.frozen(self.items(count, depth + 1), bits)
        self.containers.adopt(self.u32(), value)
        return value


_REFILLED = {"sparse": sparse.refill, "image": images.refill}  # type: dict[Any, Callable[[Reader, Any, int], Any]]


def _read_range(reader):
    # type: (Reader) -> range
    return range(*[int(part) for part in reader.take(reader.u32()).split(b",")])


def _read_small(reader):
    # type: (Reader) -> int
    number = _small_at(reader.data, reader.at)[0]  # type: int
    reader.at += 4
    return number


def _read_text(reader):
    # type: (Reader) -> str
    """As the compiler makes it of a constant: a text that could be part of a name is one object wherever it stands. A
    program that asks `mode is "add"` relies upon that, knowingly or not."""
    size = reader.u32()
    if size >= _LARGE:
        return _read_long_text(reader, size)
    text = reader.take(size).decode("utf-8", "surrogatepass")
    return _intern(text) if len(text) <= _MOST_OF_NAME and ("_" + text).isidentifier() else text


_MOST_OF_NAME = 200


def _read_bytes(reader):
    # type: (Reader) -> bytes
    data = reader.take(reader.u32())
    if reader.objects is not None and reader.objects.hear is not None:
        reader.objects.hear(data)
    return data


def _read_long_text(reader, size):
    # type: (Reader, int) -> str
    """Decoded where it lies."""
    start, reader.at = reader.at, reader.at + size
    if reader.at > len(reader.data):
        raise Garbled("a length that cannot be")
    return str(memoryview(reader.data)[start : reader.at], "utf-8", "surrogatepass")


_FEW = 3
_OF_ONE_SIZE = {b"j": (5, _smalls_in), b"f": (9, _doubles_in)}  # type: dict[bytes, tuple[int, Any]]
_OF_NO_SIZE = 0, None


def _read_unequal(reader):
    # type: (Reader) -> complex
    return _unequal(reader, _complex.unpack(reader.take(16))[0])


def _read_unequal_complex(reader):
    # type: (Reader) -> complex
    return _unequal(reader, complex(*_complex.unpack(reader.take(16))))


def _unequal(reader, value):
    # type: (Reader, complex) -> complex
    """A NaN, with its number behind it."""
    if value == value:  # noqa: PLR0124 - what NaN is known by
        raise Garbled("a NaN that is none")
    reader.containers.adopt(reader.u32(), value)
    return value


_READERS = {
    ord("N"): lambda _reader: None,
    ord("E"): lambda _reader: Ellipsis,
    ord("n"): lambda _reader: NotImplemented,
    ord("T"): lambda _reader: True,
    ord("F"): lambda _reader: False,
    ord("j"): _read_small,
    ord("i"): lambda reader: int.from_bytes(reader.take(reader.u32()), "big", signed=True),
    ord("f"): lambda reader: _double.unpack(reader.take(8))[0],
    ord("c"): lambda reader: complex(*_complex.unpack(reader.take(16))),
    ord("u"): _read_unequal,
    ord("U"): _read_unequal_complex,
    ord("s"): _read_text,
    ord("b"): _read_bytes,
    ord("r"): _read_range,
    ord("@"): Reader.known,
}  # type: dict[int, Callable[[Reader], Any]]


def _read_list(reader, depth):
    # type: (Reader, int) -> list[Any]
    """As `new`, for what is a list and nothing else."""
    value = []  # type: list[Any]
    number, count = _two_at(reader.data, reader.at)
    reader.at += 8
    if count > len(reader.data) - reader.at:
        raise Garbled("a length that cannot be")
    reader.containers.adopt(number, value)
    value += reader.items(count, depth + 1)
    return value


def _read_of_library(reader, depth):
    # type: (Any, int) -> Any
    is_of_pandas = reader.data[reader.at : reader.at + 1] == b"P"
    value = stdlib.read(reader, depth)
    return cells.refuse_theirs(reader.objects, value) if is_of_pandas else value


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
        made.default_factory = {letter: factory for factory, letter in FACTORIES.items()}[code]
    return reader.fill(made, depth)


_NESTED = {
    ord("l"): _read_list,
    ord("t"): Reader.whole_tuple,
    ord("S"): lambda reader, depth: reader.new(set(), depth),
    ord("Z"): Reader.whole_set,
    ord("B"): lambda reader, depth: reader.new(bytearray(), depth),
    ord("d"): lambda reader, depth: reader.new({}, depth),
    ord("O"): _read_ordered,
    ord("C"): _read_counter,
    ord("D"): _read_defaultdict,
    ord("V"): _read_of_library,
    ord("W"): stdlib.read_nan,
    ord("A"): arrays.read,
    ord("m"): sparse.read,
    ord("I"): views.read_both,
    ord("J"): views.read,
    ord("Q"): lambda reader, depth: cells.refuse_theirs(reader.objects, made_tables.read(reader, depth)),
}  # type: dict[int, Callable[[Reader, int], Any]]
