"""Plain data from one worker to another, types kept: `encode` in one confined process, `decode` in another.

The bytes come from a process that may be hostile, so decoding builds nothing but builtin types (and the dict-likes of
`collections`), by hand, bounded in depth, and fails with Garbled on anything else. The daemon only passes them on.
"""

import struct

from cruxcell.values.canonical import NotPlain, TooLarge, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

MAX_DEPTH = 100
_double = struct.Struct(">d")
_u32 = struct.Struct("<I")


class Garbled(ValueError):
    """The bytes are not an encoded value."""


def encode(value, budget):
    # type: (object, int) -> bytes
    """`value` as bytes. Raises NotPlain, naming the type, or TooLarge beyond `budget` bytes."""
    parts = []  # type: list[bytes]
    try:
        _encode(value, parts, 0)
    except RecursionError:
        raise NotPlain("a value nested too deep") from None
    data = b"".join(parts)
    if len(data) > budget:
        raise TooLarge("the value")
    return data


def _encode(value, parts, depth):
    # type: (Any, list[bytes], int) -> None
    kind = type(value)
    if depth > MAX_DEPTH:
        raise NotPlain("a value nested more than %d deep" % MAX_DEPTH)
    atom = _ATOMS.get(kind)
    if atom is not None:
        tag, data = atom(value)
        parts.append(tag + _u32.pack(len(data)) + data)
    elif kind in _SEQUENCES:
        parts.append(_SEQUENCES[kind] + _u32.pack(len(value)))
        for item in value:
            _encode(item, parts, depth + 1)
    elif kind is dict or (kind.__module__ == "collections" and kind in _dict_tags()):
        _encode_dict(value, parts, depth)
    else:
        raise NotPlain(type_name(value))


def _encode_dict(value, parts, depth):
    # type: (Any, list[bytes], int) -> None
    tag = b"d" if type(value) is dict else _dict_tags()[type(value)]
    parts.append(tag + _u32.pack(len(value)))
    if tag == b"D":
        factory = value.default_factory
        if factory is not None and factory not in _FACTORIES:
            raise NotPlain("a defaultdict with a factory of its own")
        parts.append(b"-" if factory is None else _FACTORIES[factory])
    for key, item in dict.items(value):
        _encode(key, parts, depth + 1)
        _encode(item, parts, depth + 1)


def _int_bytes(value):
    # type: (int) -> bytes
    return value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)


_ATOMS = {
    type(None): lambda value: (b"N", b""),
    type(Ellipsis): lambda value: (b"E", b""),
    bool: lambda value: (b"T" if value else b"F", b""),
    int: lambda value: (b"i", _int_bytes(value)),
    float: lambda value: (b"f", _double.pack(value)),
    complex: lambda value: (b"c", _double.pack(value.real) + _double.pack(value.imag)),
    str: lambda value: (b"s", value.encode("utf-8", "surrogatepass")),
    bytes: lambda value: (b"b", value),
    bytearray: lambda value: (b"B", bytes(value)),
    range: lambda value: (b"r", b",".join(b"%d" % n for n in (value.start, value.stop, value.step))),
}  # type: dict[type, Any]
_SEQUENCES = {list: b"l", tuple: b"t", set: b"S", frozenset: b"Z"}  # type: dict[Any, bytes]
_FACTORIES = {int: b"i", list: b"l", dict: b"d", set: b"s", str: b"S", float: b"f", bool: b"b", tuple: b"t"}


def _dict_tags():
    # type: () -> dict[Any, bytes]
    import collections

    return {collections.OrderedDict: b"O", collections.Counter: b"C", collections.defaultdict: b"D"}


def decode(data):
    # type: (bytes) -> object
    """The value of `data`. Raises Garbled if it is not exactly one encoded value."""
    try:
        value, at = _decode(data, 0, 0)
    except (struct.error, LookupError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise Garbled(str(error)) from None
    if at != len(data):
        raise Garbled("bytes after the value")
    return value


def _decode(data, at, depth):
    # type: (bytes, int, int) -> tuple[object, int]
    tag = data[at : at + 1]
    size = _u32.unpack_from(data, at + 1)[0]
    at += 5
    if depth > MAX_DEPTH + 1 or (size > len(data) - at and tag not in (b"N",)):
        raise Garbled("a length or depth that cannot be")
    if tag in _ATOM_DECODERS:
        return _ATOM_DECODERS[tag](data[at : at + size]), at + size  # type: ignore[no-untyped-call]
    if tag in _SEQUENCE_TYPES:
        items = []
        for _ in range(size):
            item, at = _decode(data, at, depth + 1)
            items.append(item)
        return _SEQUENCE_TYPES[tag](items), at
    return _decode_dict(tag, size, data, at, depth)


def _decode_dict(tag, size, data, at, depth):
    # type: (bytes, int, bytes, int, int) -> tuple[object, int]
    if tag == b"d":
        result = {}  # type: dict[object, object]
    else:
        result, at = _empty_dict_like(tag, data, at)
    for _ in range(size):
        key, at = _decode(data, at, depth + 1)
        item, at = _decode(data, at, depth + 1)
        dict.__setitem__(result, key, item)
    if tag == b"O":  # dict.__setitem__ does not keep an OrderedDict's own order, so it is built from a list
        import collections

        result = collections.OrderedDict(list(dict.items(result)))
    return result, at


def _empty_dict_like(tag, data, at):
    # type: (bytes, bytes, int) -> tuple[dict[Any, Any], int]
    import collections

    if tag == b"O":
        return {}, at
    if tag == b"C":
        return collections.Counter(), at
    if tag == b"D":
        code = data[at : at + 1]
        factories = {letter: factory for factory, letter in _FACTORIES.items()}
        return collections.defaultdict(None if code == b"-" else factories[code]), at + 1
    raise Garbled("an unknown tag")


_ATOM_DECODERS = {
    b"N": lambda data: None,
    b"E": lambda data: Ellipsis,
    b"T": lambda data: True,
    b"F": lambda data: False,
    b"i": lambda data: int.from_bytes(data, "big", signed=True),
    b"f": lambda data: _double.unpack(data)[0],
    b"c": lambda data: complex(_double.unpack(data[:8])[0], _double.unpack(data[8:])[0]),
    b"s": lambda data: data.decode("utf-8", "surrogatepass"),
    b"b": lambda data: data,
    b"B": bytearray,
    b"r": lambda data: range(*[int(part) for part in data.split(b",")]),
}
_SEQUENCE_TYPES = {b"l": list, b"t": tuple, b"S": set, b"Z": frozenset}
