"""The canonical encoding: a value as bytes that the daemon compares.

Two encodings of plain data (None, bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset and what
the standard library makes dict-like):

* `canon(value)`: canonical and one-way. canon(a) == canon(b) exactly when a == b. Numbers are normalised (True, 1 and
  1.0 are one), sets and dicts are sorted by the encoding of their members. Only ever compared, never decoded.
* `encode(value)` / `decode(data)`: keeps types, for handing values from one worker to another. Never decoded in the
  daemon.

Neither calls a method of a candidate's class: a subclass counts as its plain base only if it overrides neither equality
nor hash, and is then read through the base's own methods. Fraction, Decimal, views of dicts, memoryview and numpy's
scalars count as the plain data that they equal; ranges, slices, dates, deques and the like equal only their like. Only
C code is asked for that. NaN equals nothing, so a value that holds one is marked.
"""

import struct
import sys

from cruxcell.values.equals import equal_of, module_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

MAX_DEPTH = 200
_double = struct.Struct(">d")

# Kept here so that a program that rebinds builtins does not change how its value is read.
_type, _len, _sorted, _str_encode = type, len, sorted, str.encode
_whole = slice(None)
_mro_of = type.__dict__["__mro__"].__get__
_dict_of = type.__dict__["__dict__"].__get__
_INF = float("inf")


class NotPlain(Exception):
    """The value is not plain data; the message names the type."""


class TooLarge(Exception):
    """The encoding is over the size limit."""


def type_name(value):
    # type: (object) -> str
    """The name of a value's type, without running anything the type defines."""
    name = type.__dict__["__name__"].__get__(_type(value))
    return name[:200] if _type(name) is str else "?"


class Canon:
    """One run of the canonical encoder: `canon.bytes(value)`; afterwards `has_nan` tells whether NaN was met, and
    `has_likes` whether a dict was that equals its like in another way than a dict (see `relation`)."""

    __slots__ = ("_likes", "budget", "has_likes", "has_nan", "marks")

    def __init__(self, budget, marks=None):
        # type: (int, list[bytes] | None) -> None
        self.budget, self.marks = budget, marks
        self.has_nan = self.has_likes = False
        self._likes = None  # type: dict[type, bytes] | None

    def like_of(self, kind):
        # type: (type) -> bytes
        """How a dict of this type is marked: by the first class, of those with a mark, that it is derived from."""
        if kind is dict:
            return b""
        likes = self._likes = _dict_likes() if self._likes is None else self._likes
        return next((likes[cls] for cls in _mro_of(kind) if _type(cls) is type and cls in likes), b"")

    def bytes(self, value, depth=0):
        # type: (object, int) -> bytes
        kind = _type(value)
        encoder = _CANON.get(kind) if _type(kind) is type else None  # type: Any
        if encoder is None:
            encoder, value = _as_base(kind, value)
            self.has_likes = self.has_likes or (encoder is _canon_dict and bool(self.like_of(kind)))
        if depth > MAX_DEPTH:
            raise NotPlain("a value nested more than %d deep" % MAX_DEPTH)
        data = encoder(self, value, depth)  # type: bytes
        self.budget -= _len(data)
        if self.budget < 0:
            raise TooLarge("the value")
        return data


def _as_base(kind, value):
    # type: (type, object) -> tuple[Any, object]
    """The encoder and plain form of a subclass instance that inherits equality and hash from a plain type."""
    for cls in _mro_of(kind):
        if _type(cls) is type and cls in _CANON:  # the class of another may say that it is equal to one of these
            return _CANON[cls], _BASE_COPY.get(cls, _same)(value)
        names = _dict_of(cls)
        if ("__eq__" in names or "__hash__" in names) and not _is_dict_like(cls):
            break
    return _as_equal(kind, value)


def _as_equal(kind, value):
    # type: (type, object) -> tuple[Any, object]
    """The encoder of what a value of a library's own type equals: a number or text, or its like of the same parts."""
    plain = equal_of(kind, type_name(value), value)
    if _type(plain) is tuple:
        return _canon_parts, plain
    if _type(plain) in _SCALARS:
        return _CANON[_type(plain)], plain
    raise NotPlain(type_name(value))


def _is_dict_like(cls):
    # type: (type) -> bool
    """The dict subclasses of collections that define __eq__ and still equal a dict with the same items."""
    return _type(cls) is type and module_of(cls) == "collections" and cls in _dict_likes()


def _dict_likes():
    # type: () -> dict[type, bytes]
    """Each of them, and how it is marked where it equals its like in another way."""
    collections = sys.modules.get("collections")
    if collections is None:
        return {}
    counter = _COUNTER if sys.version_info >= (3, 10) else b""
    return {collections.OrderedDict: _ORDERED, collections.Counter: counter, collections.defaultdict: b""}


def _same(value):
    # type: (object) -> object
    return value


_BASE_COPY = {
    bool: _same,
    int: int.__int__,
    float: float.__float__,
    complex: complex.__pos__,
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, _whole),
    bytearray: lambda value: bytearray.__getitem__(value, _whole),
    list: lambda value: list.__getitem__(value, _whole),
    tuple: lambda value: tuple.__getitem__(value, _whole),
    set: lambda value: tuple(set.__iter__(value)),
    frozenset: lambda value: tuple(frozenset.__iter__(value)),
}  # type: dict[type, Any]


def _canon_none(_canon, _value, _depth):
    # type: (Canon, object, int) -> bytes
    return b"n"


def _canon_int(canon, value, _depth):
    # type: (Canon, int, int) -> bytes
    if -(1 << 63) <= value < 1 << 63:
        return b"i%d;" % value
    size = value.bit_length() // 8 + 1
    if size > canon.budget:
        raise TooLarge("the value")
    return b"I%d:" % size + value.to_bytes(size, "big", signed=True)


def _canon_float(canon, value, depth):
    # type: (Canon, float, int) -> bytes
    if value != value:  # noqa: PLR0124 - what NaN is known by
        canon.has_nan = True
        return b"N"
    if value in (_INF, -_INF) or not value.is_integer():
        return b"f" + _double.pack(value)
    return _canon_int(canon, int(value), depth)


def _canon_complex(canon, value, depth):
    # type: (Canon, complex, int) -> bytes
    real = _canon_float(canon, value.real, depth)
    return real if value.imag == 0 else b"c" + real + _canon_float(canon, value.imag, depth)


def _canon_str(_canon, value, _depth):
    # type: (Canon, str, int) -> bytes
    data = _str_encode(value, "utf-8", "surrogatepass")
    return b"s%d:" % _len(data) + data


def _canon_bytes(_canon, value, _depth):
    # type: (Canon, bytes, int) -> bytes
    return b"b%d:" % _len(value) + bytes(value)


def _canon_list(canon, value, depth):
    # type: (Canon, list[object], int) -> bytes
    one, depth = canon.bytes, depth + 1
    return b"[%d:" % _len(value) + b"".join([one(item, depth) for item in value])


def _canon_tuple(canon, value, depth):
    # type: (Canon, tuple[object, ...], int) -> bytes
    one, depth = canon.bytes, depth + 1
    return b"(%d:" % _len(value) + b"".join([one(item, depth) for item in value])


def _canon_set(canon, value, depth):
    # type: (Canon, Collection[object], int) -> bytes
    one, depth = canon.bytes, depth + 1
    if canon.marks is not None:
        value = _sorted(value, key=lambda item: Canon(canon.budget).bytes(item, depth))
    return b"<%d:" % _len(value) + b"".join(_sorted([one(item, depth) for item in value]))


def _canon_dict(canon, value, depth):
    # type: (Canon, dict[object, object], int) -> bytes
    one, depth = canon.bytes, depth + 1
    if canon.marks is not None:
        return _canon_marked(canon, canon.marks, value, depth)
    pairs = [one(key, depth) + one(item, depth) for key, item in dict.items(value)]
    return b"{%d:" % _len(pairs) + b"".join(_sorted(pairs))


def _canon_marked(canon, marks, value, depth):
    # type: (Canon, list[bytes], dict[object, object], int) -> bytes
    """A dict without the items that are 0, and its mark. Items are met in the order in which they are written, so that
    the marks of two values stand in the same order, whatever order their items are in."""
    like, at = canon.like_of(_type(value)), _len(marks)
    marks.append(like)
    pairs = [(canon.bytes(key, depth), item) for key, item in dict.items(value)]
    places = _sorted(range(_len(pairs)), key=lambda place: pairs[place][0])
    written = [(pairs[place][0], canon.bytes(pairs[place][1], depth)) for place in places]
    order = b",".join([b"%d" % place for place in places]) if like == _ORDERED else b""
    zeros = b"".join([key for key, item in written if item == _ZERO])
    if like or zeros:
        marks[at] += order + b":" + zeros.hex().encode()
        canon.budget -= _len(marks[at])
    kept = [key + item for key, item in written if item != _ZERO]
    return b"{%d:" % _len(kept) + b"".join(kept)


def _canon_ellipsis(_canon, _value, _depth):
    # type: (Canon, object, int) -> bytes
    return b"e"


def _canon_not_implemented(_canon, _value, _depth):
    # type: (Canon, object, int) -> bytes
    return b"o"


def _canon_parts(canon, value, depth):
    # type: (Canon, tuple[object, ...], int) -> bytes
    """A value that only its like equals: what it is, and what it consists of."""
    return b"v" + _canon_tuple(canon, value, depth)


def _canon_memory(canon, value, depth):
    # type: (Canon, memoryview, int) -> bytes
    try:
        if value.format != "B" or value.ndim != 1:
            raise NotPlain("memoryview")
        return _canon_bytes(canon, bytes(value), depth)
    except ValueError:  # it was released
        raise NotPlain("memoryview") from None


_ORDERED, _COUNTER = b"o", b"c"
_ZERO = b"i0;"
_SCALARS = frozenset([bool, int, float, complex, str, bytes])
_NOTHING = {}  # type: dict[object, object]
_CANON = {
    type(None): _canon_none,
    type(...): _canon_ellipsis,
    type(NotImplemented): _canon_not_implemented,
    bool: _canon_int,
    int: _canon_int,
    float: _canon_float,
    complex: _canon_complex,
    str: _canon_str,
    bytes: _canon_bytes,
    bytearray: _canon_bytes,
    list: _canon_list,
    tuple: _canon_tuple,
    set: _canon_set,
    frozenset: _canon_set,
    dict: _canon_dict,
    type(_NOTHING.keys()): _canon_set,
    type(_NOTHING.items()): _canon_set,
    memoryview: _canon_memory,
}  # type: dict[type, Any]


def canon(value, budget):
    # type: (object, int) -> tuple[bytes, bool]
    """(canonical bytes, holds NaN) of a plain value. Raises NotPlain, or TooLarge beyond `budget` bytes."""
    run = Canon(budget)
    try:
        return run.bytes(value), run.has_nan
    except RecursionError:
        raise NotPlain("a value nested too deep") from None


def relation(value, budget):
    # type: (object, int) -> tuple[bytes, bytes]
    """What of a value counts beside its like only, where `Canon.has_likes` says that there is such a thing.

    Two OrderedDicts are equal if their items are in the same order, too. Two Counters are (from Python 3.10 on) if they
    differ only in what they count 0 of. Beside anything else both are dicts. So this gives the canonical bytes without
    the items of dicts that are 0, and a mark for each dict in it, in the order in which they are written:

        LETTER PLACES ":" ZEROS

    "o" and the places of its items for an OrderedDict, "c" for a Counter, no letter for others; and the keys of what is
    0. A dict that is neither and holds no 0 has an empty mark.
    """
    marks = []  # type: list[bytes]
    return Canon(budget, marks).bytes(value), b";".join(marks)


def short_repr(value, limit):
    # type: (Any, int) -> tuple[str, bool]
    """(repr for people, was it cut). Only for values `canon` accepted: their types run no code of the candidate."""
    try:
        text = repr(value)
    except ValueError:  # an int beyond the digit limit
        text = "<int of %d bits>" % value.bit_length() if _type(value) is int else "<a value with very long ints>"
    except Exception:
        text = "<no repr>"
    if _type(text) is not str:
        text = "<no repr>"
    return (text[:limit], True) if _len(text) > limit else (text, False)
