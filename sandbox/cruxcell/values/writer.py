"""Encodes values as bytes for a `Reader`."""

import struct

from cruxcell.values import arrays, cells, images, sets, sparse, stdlib, tables, views
from cruxcell.values.canonical import NotPlain, TooLarge, type_name
from cruxcell.values.containers import (
    MAX_DEPTH,
    Containers,  # noqa: F401 - in type comments
    base_of,
    items_of,
    items_of_list,
)
from cruxcell.values.dicts import dict_tags, pairs_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_complex = struct.Struct(">dd")
_u32 = struct.Struct("<I")
_small = struct.Struct("<ci").pack
_sized = struct.Struct("<cI").pack
write_bits = struct.Struct("<B").pack  # of a set: how large its table is
_tagged_double = struct.Struct(">cd").pack
_new_list = struct.Struct("<cII").pack
_LONG = 1 << 16


class Writer:
    """Writes values one behind the other; `bytes` gives them."""

    def __init__(self, containers, objects=None):
        # type: (Containers, Any) -> None
        self.containers = containers
        self._objects = objects
        # A test shows of what is behind its arrays and views no more than these: it may be what it expects.
        self.shows_all = objects is not None and not objects.is_test
        self._numbers = containers.numbers
        self._class_of_proxies = getattr(objects, "class_of_proxies", None) or ()
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
        atom = _ATOMS.get(id(kind))
        data = None if atom is None else atom(value)
        if data is not None:
            self.parts.append(data)
            return
        self._nested(value, kind, atom, depth)

    def _nested(self, value, kind, atom, depth):
        # type: (Any, type, Any, int) -> None
        """What is not written as an atom, although it may be of a kind that is (`atom`)."""
        number = self._numbers.get(id(value))
        if number is not None:
            self.parts.append(_sized(b"@", number))
        elif issubclass(type(kind), self._class_of_proxies):
            self._objects.write(self, value, depth)
        elif atom is not None:
            (self._long if kind in (str, bytes) else self._unequal)(value)
        elif depth > MAX_DEPTH:
            self._other(value, "a value nested more than %d deep" % MAX_DEPTH, depth)
        elif kind is list:  # as `sequence` and `content`, in one pass
            items = items_of_list(value)
            number = self.containers.begin(value, items if self._objects is not None else None)
            self.parts.append(_new_list(b"l", number, len(items)))
            self.items(items, depth)
        elif id(kind) in _SEQUENCES:
            self.sequence(value, depth)
        elif kind is dict or (kind.__module__ == "collections" and any(kind is each for each in dict_tags())):
            self.mapping(value, depth)
        elif not stdlib.write(self, value, depth):
            self._other(value, type_name(value), depth)

    def _long(self, value):
        # type: (Any) -> None
        """As an atom is written, but in two parts: what is long is copied as seldom as may be."""
        tag, data = (b"b", value) if type(value) is bytes else (b"s", value.encode("utf-8", "surrogatepass"))
        self.parts += [_sized(tag, len(data)), data]

    def _unequal(self, value):
        # type: (complex) -> None
        """A NaN: two are alike only if they are the same object, so it has a number, too."""
        self.parts.append(b"u" if type(value) is float else b"U")
        self.parts.append(_complex.pack(value.real, value.imag) + _u32.pack(self.number(value)))

    def _other(self, value, why, depth):
        # type: (Any, str, int) -> None
        if self._objects is None:
            raise NotPlain(why)
        self._objects.write(self, value, depth)

    def all_cross(self, table):
        # type: (Any) -> bool
        """Does all that a value of pandas' holds cross by value, as far as that matters?"""
        return not self.shows_all or cells.all_cross(self, table)

    def is_home(self, value):
        # type: (Any) -> bool
        """Is it an object of the other half, or a value with a class of its own?"""
        kind = type(value)
        if issubclass(type(kind), self._class_of_proxies):
            return True
        return self._objects is not None and self._objects.plain_base(kind) is not None

    def number(self, value):
        # type: (object) -> int
        return self.containers.add(value)

    def sequence(self, value, depth):
        # type: (Any, int) -> None
        """A list, tuple, set, frozenset or bytearray, or an instance of a subclass of one."""
        kind = type(value)
        if id(kind) not in _SEQUENCES:
            kind = next(cls for cls in kind.__mro__ if id(cls) in _SEQUENCES)
        tag = _SEQUENCES[id(kind)]
        if kind in (tuple, frozenset):  # what cannot change is whole before it has a number
            self.parts.append(_sized(tag, kind.__len__(value)))
            if kind.__len__(value):  # of the empty one there is but one
                if kind is frozenset:
                    bits, items = sets.order_of(value)
                    self.parts.append(write_bits(bits))
                else:
                    items = value if type(value) is tuple else tuple(kind.__iter__(value))
                self.items(items, depth)
                self.parts.append(_u32.pack(self.number(value)))
            return
        self.parts.append(_sized(tag, self.number(value)))
        self.content(value, depth)

    def mapping(self, value, depth):
        # type: (Any, int) -> None
        """A dict or what `collections` makes of one, or an instance of a subclass."""
        tag = b"d"
        for cls, letter in dict_tags().items() if type(value) is not dict else ():
            tag = letter if isinstance(value, cls) else tag
        self.parts.append(_sized(tag, self.number(value)))
        if tag == b"D":
            factory = value.default_factory
            known = b"-" if factory is None else _letter_of(factory)
            if known:
                self.parts.append(known)
            elif self._objects is None:
                raise NotPlain("a defaultdict with a factory of its own")
            else:
                self.parts.append(b"=")
                self._objects.write(self, factory, depth)
        self.content(value, depth)

    def content(self, value, depth):
        # type: (Any, int) -> None
        """What a container that can change holds now."""
        if self._objects is not None:
            self.containers.write(value)
        kind = base_of(type(value))
        if kind is dict:
            pairs = pairs_of(value)  # another thread may go on with it
            self.parts.append(_u32.pack(len(pairs)))
            for key, item in pairs:
                self.value(key, depth + 1)
                self.value(item, depth + 1)
        elif kind is bytearray:
            data = bytes(value)
            self.parts.append(_u32.pack(len(data)) + data)
        elif kind == "ndarray":
            base = self.containers.shown_by(value)
            if base is None:
                arrays.write_content(self, value, depth)
            else:
                views.write_content(self, value, base, depth)
        elif kind in _CONTENTS:
            _CONTENTS[kind](self, value, depth)
        elif kind is set:
            bits, items = sets.order_of(value)
            self.parts.append(_u32.pack(len(items)) + write_bits(bits))
            self.items(items, depth)
        else:
            items = items_of(kind, value)
            self.parts.append(_u32.pack(len(items)))
            self.items(items, depth)

    def items(self, items, depth):
        # type: (list[Any] | tuple[Any, ...], int) -> None
        parts = self.parts
        kinds = set(map(id, map(type, items)))
        if len(kinds) == 1:  # most lists are of one kind
            begun = len(parts)
            try:
                if _INT in kinds:
                    parts.extend(map(_small, [b"j"] * len(items), items))
                    return
                if _FLOAT in kinds and not _may_hold_nan(items):
                    parts.extend(map(_tagged_double, [b"f"] * len(items), items))
                    return
                if _TEXT in kinds:
                    texts = [*map(_write_text, items)]
                    if None not in texts:
                        parts += texts  # type: ignore[arg-type]
                        return
            except struct.error:  # ints that are not small
                del parts[begun:]
        self.mixed(items, depth)

    def mixed(self, items, depth):
        # type: (list[Any] | tuple[Any, ...], int) -> None
        append, atoms, depth = self.parts.append, _ATOMS.get, depth + 1
        for item in items:
            kind = type(item)
            atom = atoms(id(kind))
            data = None if atom is None else atom(item)
            if data is not None:
                append(data)
            else:
                self._nested(item, kind, atom, depth)


def write_int(value):
    # type: (int) -> bytes
    if -0x80000000 <= value <= 0x7FFFFFFF:
        return _small(b"j", value)
    return written(b"i", value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True))


def write_float(value):
    # type: (float) -> bytes | None
    return _tagged_double(b"f", value) if value == value else None  # noqa: PLR0124 - what NaN is known by


def write_complex(value):
    # type: (complex) -> bytes | None
    return b"c" + _complex.pack(value.real, value.imag) if value == value else None  # noqa: PLR0124


def _may_hold_nan(numbers):
    # type: (list[float] | tuple[float, ...]) -> bool
    total = sum(numbers)
    return total != total  # noqa: PLR0124


def _write_text(value):
    # type: (str) -> bytes | None
    if len(value) >= _LONG:
        return None
    data = value.encode("utf-8", "surrogatepass")
    return _sized(b"s", len(data)) + data


def _letter_of(factory):
    # type: (object) -> bytes
    """The letter of a builtin type; none of anything else."""
    return next((letter for each, letter in FACTORIES.items() if factory is each), b"")


def _by_address(table):
    # type: (dict[Any, Any]) -> dict[int, Any]
    return {id(cls): value for cls, value in table.items()}


def written(tag, data):
    # type: (bytes, bytes) -> bytes
    return _sized(tag, len(data)) + data


# Classes are told by their addresses here: one of a program's may have a metaclass that says what it equals, or that it
# has no hash. What is written as an atom, by its class; None of a value that is not.
_ATOMS = _by_address({
    type(None): lambda _value: b"N",
    type(Ellipsis): lambda _value: b"E",
    type(NotImplemented): lambda _value: b"n",
    bool: lambda value: b"T" if value else b"F",
    int: write_int,
    float: write_float,
    complex: write_complex,
    str: _write_text,
    bytes: lambda value: written(b"b", value) if len(value) < _LONG else None,
    range: lambda value: written(b"r", b",".join(b"%d" % n for n in (value.start, value.stop, value.step))),
})  # fmt: skip
_SEQUENCES = _by_address({list: b"l", tuple: b"t", set: b"S", frozenset: b"Z", bytearray: b"B"})
_INT, _FLOAT, _TEXT = id(int), id(float), id(str)
_CONTENTS = {"table": tables.write_content, "sparse": sparse.write_content, "image": images.write_content}
FACTORIES = {int: b"i", list: b"l", dict: b"d", set: b"s", str: b"S", float: b"f", bool: b"b", tuple: b"t"}
