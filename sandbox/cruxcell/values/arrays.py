"""Transfer of numpy's arrays, records, scalars and dtypes: a dtype, a shape, and bytes.

Nothing is imported to write a value. What is read is believed in nothing: a type is made only of what was written so.
"""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_NUMPY_KINDS = frozenset("biufcSUmM")
# What numpy's own names for them consist of. A comma or a parenthesis would have it read a list of fields.
_DTYPE_LETTERS = frozenset("<>|0123456789[]DMOSUWYabcfhimnpsu")
# A record is an array of no dimension, part of which can change.
RECORDS = ("void", "record")


def write(writer, value, depth):
    # type: (Any, Any, int) -> bool
    """Write `value` if it is an array or a record; False if not."""
    numpy = sys.modules.get("numpy")
    if numpy is None or all(type(value) is not each for each in (numpy.ndarray, numpy.void, numpy.record)):
        return False
    if not is_written(value.dtype):
        return False
    writer.parts.append(b"A" + writer.number(value).to_bytes(4, "little"))
    writer.content(value, depth)
    return True


def parts_of(value):
    # type: (Any) -> tuple[bytes, tuple[Any, ...]] | None
    """The letter of a scalar or a dtype, and what it is made of again; None if it is none."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(type(value), numpy.dtype):
        return (b"n", (_name_of(value),)) if is_written(value) and not value.metadata else None
    if numpy is None or not issubclass(type(value), numpy.generic) or value.dtype.kind not in _NUMPY_KINDS:
        return None
    return b"a", (value.dtype.str, (), value.tobytes())


def written_type(dtype):
    # type: (Any) -> Any
    """What a dtype is written as: by numpy's name, or that of a structured one as a tuple of pairs (field, dtype). None
    for one that would not be read as the same: of objects, with fields that overlap or have gaps between them."""
    if dtype.names is None:
        return dtype.str if dtype.kind in _NUMPY_KINDS else None
    fields = tuple([(name, written_type(dtype.fields[name][0])) for name in dtype.names])
    if any(written is None for _, written in fields):
        return None
    return fields if read_type(fields) == dtype else None


def is_written(dtype):
    # type: (Any) -> bool
    """Does an array of this type cross by value?"""
    return _name_of(dtype) is not None


def _name_of(dtype):
    # type: (Any) -> Any
    return dtype.str if dtype.kind == "O" else written_type(dtype)


def made_type(parts):
    # type: (list[Any]) -> Any
    (written,) = parts
    return read_type(written)


def read_type(written):
    # type: (Any) -> Any
    """Of no structure with objects among its fields: a view of it would show objects as numbers, and bytes of two of
    them as one."""
    numpy = __import__("numpy")
    if type(written) is tuple:
        if any(type(field) is not tuple or len(field) != 2 or type(field[0]) is not str for field in written):
            raise ValueError("an array of what cannot be")
        dtype = numpy.dtype([(name, read_type(each)) for name, each in written])
        if dtype.hasobject:
            raise ValueError("an array of what cannot be")
        return dtype
    # A letter behind the order of bytes: a number there is a count, which numpy has the compiler read.
    if type(written) is not str or not _DTYPE_LETTERS.issuperset(written) or not written[1:2].isalpha():
        raise ValueError("an array of what cannot be")
    dtype = numpy.dtype(written)
    if dtype.str != written:
        raise ValueError("an array of what cannot be")
    return dtype


def write_content(writer, value, depth):
    # type: (Any, Any, int) -> None
    """The content of an array: dtype, shape (of a record its class), bytes, or its items where they are objects,
    whether it can be written to, and whether it lies in memory column by column, as Fortran has it."""
    is_of_objects = value.dtype.kind == "O"
    data = list(value.ravel()) if is_of_objects else value.tobytes()
    kind = type(value).__name__
    shape = kind if kind in RECORDS else tuple(value.shape)
    parts = _name_of(value.dtype), shape, data, bool(value.flags.writeable), bool(value.flags.fnc)
    writer.items(parts, depth)


def is_array_of_objects(value):
    # type: (Any) -> bool
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray and value.dtype.kind == "O"


def state_of(value):
    # type: (Any) -> Any
    """What an array of `array` or of numpy holds, to be compared."""
    if type(value).__module__ == "array":
        return value.tobytes()
    is_writeable = bool(value.flags.writeable)
    if value.dtype.kind == "O":
        return value.shape, "O", list(value.ravel()), is_writeable
    return value.shape, written_type(value.dtype), value.tobytes(), is_writeable


def made(parts, order="C"):
    # type: (list[Any], str) -> Any
    """A new array of (dtype, shape, data). It owns its memory: it is what views of it are views of."""
    numpy = __import__("numpy")
    name, shape, data = parts
    dtype = read_type(name)
    if type(shape) is str and shape in RECORDS:
        return _record(dtype, shape, data)
    if type(shape) is not tuple or len(shape) > 32 or any(type(size) is not int or size < 0 for size in shape):
        raise ValueError("a shape that cannot be")
    if dtype.kind == "O":
        if type(data) is not list:
            raise ValueError("an array of what cannot be")
        found = numpy.empty(len(data), dtype=object)
        for place, item in enumerate(data):
            found[place] = item
        return found.reshape(shape).copy(order)
    if type(data) is not bytes or dtype.hasobject:
        raise ValueError("an array of what cannot be")
    if not dtype.itemsize:  # of empty texts
        return numpy.zeros(shape, dtype, order)
    return numpy.frombuffer(data, dtype=dtype).reshape(shape).copy(order)


def made_scalar(parts):
    # type: (list[Any]) -> Any
    """Of a text or bytes, not by an array: that would leave out the zeros at the end."""
    name, shape, data = parts
    dtype = read_type(name)
    if dtype.kind not in "US" or type(shape) is not tuple or shape or type(data) is not bytes:
        return made(parts)[()]
    numpy, data = __import__("numpy"), data[: dtype.itemsize]
    if len(data) != dtype.itemsize:
        raise ValueError("a text that cannot be")
    if dtype.kind == "S":
        return numpy.bytes_(data)
    return numpy.str_(data.decode("utf-32-be" if name[0] == ">" else "utf-32-le", "surrogatepass"))


def _record(dtype, kind, data):
    # type: (Any, str, Any) -> Any
    numpy = __import__("numpy")
    if dtype.names is None or type(data) is not bytes or len(data) != dtype.itemsize or not data:
        raise ValueError("a record that cannot be")
    return numpy.frombuffer(bytearray(data), dtype=numpy.dtype((getattr(numpy, kind), dtype)))[0]


def read(reader, depth):
    # type: (Any, int) -> Any
    number = reader.u32()
    found, is_writeable = _read_content(reader, depth + 1)
    _close(found, is_writeable)
    reader.containers.adopt(number, found)
    return found


def _read_content(reader, depth):
    # type: (Any, int) -> tuple[Any, bool]
    *parts, is_writeable, is_by_columns = [reader.value(depth) for _ in range(5)]
    if type(is_writeable) is not bool or type(is_by_columns) is not bool:
        raise ValueError("an array of what cannot be")
    return made(parts, "F" if is_by_columns else "C"), is_writeable


def _close(value, is_writeable):
    # type: (Any, bool) -> None
    """Refuse writers, or admit them. A record admits them always."""
    if type(value).__name__ not in RECORDS and value.flags.writeable != is_writeable:
        value.flags.writeable = is_writeable


def refill(reader, value):
    # type: (Any, Any) -> Any
    """What an array holds now. It may have been given another shape, never another size or type: that would move its
    data from under the views this half has of it, and turning objects into numbers would ask the other half."""
    found, is_writeable = _read_content(reader, 1)
    if found.size != value.size or found.dtype != value.dtype:
        raise ValueError("an array of another size or type than before")
    if type(value).__name__ in RECORDS:
        for name in found.dtype.names:
            value[name] = found[name]
        return value
    if found.shape != value.shape:
        value.shape = found.shape
    _close(value, True)
    value[...] = found
    _close(value, is_writeable)
    return value
