"""Transfer of arrays that show the memory of another: the number of that one, and where in it they are.

Where is written as if the other array were contiguous, in C's order: each half may have its own in an order of its own.
What is read is believed in nothing: each item has to be one of the other array's own, however that lies in memory.

An array whose other one does not cross stands for that one's memory (`Containers.stand_ins`): what shows the same
memory later is a view of it.
"""

import sys
from sys import getrefcount

from cruxcell.values import arrays
from cruxcell.values.canonical import TooLarge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_SPARE = 1 << 20  # bytes of an array that cross for the sake of a view, besides four times the view's
_MOST_DIMENSIONS = 32
_MOST_COPIED = 1 << 24
_MOST_BYTES = 1 << 48  # that a view may seem to have: its items may be the same ones many times


def write(writer, value, depth):
    # type: (Any, Any, int) -> bool
    """Write an array that does not own its memory as a view; False if it is to be written as if it did."""
    numpy = sys.modules.get("numpy")
    if numpy is None or type(value) is not numpy.ndarray or value.base is None:
        return False
    if not value.size or not value.itemsize or not arrays.is_written(value.dtype):
        return False
    is_alone = writer.shows_all and _is_alone(value)
    base, containers = _base_of(value), writer.containers
    for known in _known(containers, base):
        if _place_in(value, known) is not None:
            number = containers.add(value, known)
            head = number.to_bytes(4, "little") + containers.numbers[id(known)].to_bytes(4, "little")
            writer.parts.append(b"J" + head)
            writer.content(value, depth)
            return True
    if writer.shows_all and not is_alone and _is_worth_it(value, base):
        writer.parts.append(b"I")
        writer.value(base, depth)
        writer.value(value, depth)
        return True
    containers.stands_for(base)
    return False


def write_content(writer, value, base, depth):
    # type: (Any, Any, Any, int) -> None
    """Where it is."""
    place = _place_in(value, base)
    if place is None:
        raise TooLarge("a view that was moved")
    name = value.dtype.str if value.dtype.kind == "O" else arrays.written_type(value.dtype)
    writer.items((name, tuple(value.shape), *place, bool(value.flags.writeable)), depth)


def _known(containers, base):
    # type: (Any, Any) -> list[Any]
    """The arrays that both halves have and that show this memory."""
    if id(base) in containers.numbers:
        return [base] if type(base) is sys.modules["numpy"].ndarray else []
    numbers = containers.stand_ins.get(id(base), ())
    found = [containers.entries[number][0] for number in numbers if number in containers.entries]
    return [each for each in found if _base_of(each) is base]  # another may have had that address


def _is_alone(value):
    # type: (Any) -> bool
    """Does nothing but this array refer to the one that owns its memory, and has both the same items in one order?"""
    numpy, base = sys.modules["numpy"], value.base
    if type(base) is not numpy.ndarray or value.nbytes != base.nbytes or not value.flags.c_contiguous:
        return False
    del base
    return _references(value) <= _references(numpy.empty(1)[:])


def _references(value):
    # type: (Any) -> int
    base = value.base
    return getrefcount(base)


def _is_worth_it(value, base):
    # type: (Any, Any) -> bool
    """May the array that this one is a view of cross before it? Not one that is much larger, nor what is no plain
    array."""
    is_array = type(base) is sys.modules["numpy"].ndarray and arrays.is_written(base.dtype)
    return is_array and base.nbytes <= 4 * value.nbytes + _SPARE and _place_in(value, base) is not None


def _base_of(value):
    # type: (Any) -> Any
    """The array whose memory this one shows, or what else that belongs to."""
    base = value.base
    if type(base).__name__ == "DummyArray":  # what `as_strided` puts in between
        base = base.base if getattr(base.base, "base", None) is None else base.base.base
    return base


def state_of(value, base):
    # type: (Any, Any) -> Any
    """What there is to tell of a view: where it is, and whether it can be written to. What it holds is told of the
    other array."""
    place = _address(value) - _address(base)
    return tuple(value.shape), tuple(value.strides), place, bool(value.flags.writeable)


def _address(value):
    # type: (Any) -> int
    address = value.__array_interface__["data"][0]  # type: int
    return address


# ---- where it is -----------------------------------------------------------------------------------------------------


def _place_in(value, base):
    # type: (Any, Any) -> tuple[int, tuple[int, ...]] | None
    """(offset, strides) of a view in an array, as if that was contiguous; None if it is not in it so."""
    offset = _address(value) - _address(base)
    strides = tuple([stride if size > 1 else 0 for size, stride in zip(value.shape, value.strides)])
    if base.flags.c_contiguous:
        return (offset, strides) if _is_within(offset, strides, value.shape, value.itemsize, base.nbytes) else None
    return _moved(offset, strides, value, base, base.strides, _strides_in_order(base))


def _is_within(offset, strides, shape, itemsize, size):
    # type: (int, tuple[int, ...], tuple[int, ...], int, int) -> bool
    reach = [stride * (count - 1) for stride, count in zip(strides, shape)]
    low, high = offset + sum(min(0, each) for each in reach), offset + sum(max(0, each) for each in reach)
    return low >= 0 and high + itemsize <= size


def _strides_in_order(base):
    # type: (Any) -> tuple[int, ...]
    """The strides of a contiguous array of this one's shape."""
    found, step = [], base.itemsize  # type: list[int], int
    for size in reversed(base.shape):
        found.append(step)
        step *= size
    return tuple(reversed(found))


def _moved(offset, strides, view, base, of, to):  # noqa: PLR0917 - from one order to another
    # type: (int, tuple[int, ...], Any, Any, tuple[int, ...], tuple[int, ...]) -> tuple[int, tuple[int, ...]] | None
    """Offset and strides of a view in an array whose strides are `of`, where they are `to`. `view` has a shape and an
    itemsize. None if its steps are not along the array's axes, or lead out of the array."""
    first, inner = _index(offset, base, of)
    if not 0 <= inner <= base.itemsize - view.itemsize:
        return None
    low, high, moved = list(first), list(first), []
    for size, stride in zip(view.shape, strides):
        second, rest = _index(offset + stride, base, of) if size > 1 else (first, inner)
        if rest != inner:
            return None
        steps = [there - here for here, there in zip(first, second)]
        for axis, step in enumerate(steps):
            low[axis] += min(0, step * (size - 1))
            high[axis] += max(0, step * (size - 1))
        moved.append(sum(step * each for step, each in zip(steps, to)))
    if any(each < 0 for each in low) or any(each >= size for each, size in zip(high, base.shape)):
        return None
    return sum(each * step for each, step in zip(first, to)) + inner, tuple(moved)


def _index(distance, base, strides):
    # type: (int, Any, tuple[int, ...]) -> tuple[list[int], int]
    """(the index of the item so many bytes behind the first, the bytes that are left). What is left is no place in an
    item where there is no such item, or the array shows its items twice or backwards."""
    found = [0] * len(strides)
    for axis in _longest_first(strides):
        if base.shape[axis] > 1:
            if strides[axis] <= 0:
                return found, -1
            found[axis] = max(0, min(distance // strides[axis], base.shape[axis] - 1))
            distance -= found[axis] * strides[axis]
    return found, distance


def _longest_first(strides):
    # type: (tuple[int, ...]) -> list[int]
    """The axes, those of long strides first."""
    return sorted(range(len(strides)), key=lambda axis: -strides[axis])


# ---- reading ---------------------------------------------------------------------------------------------------------


class _Told:
    """A view as it was written."""

    def __init__(self, dtype, shape):
        # type: (Any, tuple[int, ...]) -> None
        self.dtype, self.shape, self.itemsize = dtype, shape, dtype.itemsize


def read_both(reader, depth):
    # type: (Any, int) -> Any
    """An array, and what is written by its number."""
    reader.value(depth + 1)
    return reader.value(depth + 1)


def read(reader, depth):
    # type: (Any, int) -> Any
    number, known = reader.u32(), reader.u32()
    base = reader.containers.entries[known][0]
    found = _made(base, [reader.value(depth + 1) for _ in range(5)])
    reader.containers.adopt(number, found, base)
    return found


def refill(reader, value, base):
    # type: (Any, Any, Any) -> Any
    """Where a view is now: it may have been given another shape, as other arrays."""
    found = _made(base, [reader.value(1) for _ in range(5)])
    if found.dtype != value.dtype or found.size != value.size or _address(found) != _address(value):
        raise ValueError("a view of something else than before")
    if found.shape != value.shape:
        value.shape = found.shape
    _close(value, base, bool(found.flags.writeable))
    return value


def _close(value, base, is_writeable):
    # type: (Any, Any, bool) -> None
    """Refuse writers of a view, or admit them: also of one that was made before its array refused them."""
    if value.flags.writeable == is_writeable:
        return
    was_writeable = bool(base.flags.writeable)
    if is_writeable and not was_writeable:
        base.flags.writeable = True
    value.flags.writeable = is_writeable
    if base.flags.writeable != was_writeable:
        base.flags.writeable = was_writeable


def _made(base, parts):
    # type: (Any, list[Any]) -> Any
    """A new view of (dtype, shape, offset, strides, whether it can be written to)."""
    numpy = __import__("numpy")
    name, shape, offset, strides, is_writeable = parts
    if type(base) is not numpy.ndarray or type(shape) is not tuple or type(strides) is not tuple:
        raise ValueError("a view that cannot be")
    dtype = arrays.read_type(name)
    if len(shape) != len(strides) or len(shape) > _MOST_DIMENSIONS or type(is_writeable) is not bool:
        raise ValueError("a view that cannot be")
    if any(type(each) is not int for each in (offset, *shape, *strides)) or any(size < 1 for size in shape):
        raise ValueError("a view that cannot be")
    if not dtype.itemsize or dtype.hasobject is not base.dtype.hasobject:
        raise ValueError("a view of another type than can be")
    if dtype.hasobject and any(each % dtype.itemsize for each in (offset, *strides)):
        raise ValueError("a view of parts of objects")
    size = dtype.itemsize
    for each in shape:
        size *= each
    strides = tuple([stride if count > 1 else 0 for count, stride in zip(shape, strides)])
    if size > _MOST_BYTES or not _is_within(offset, strides, shape, dtype.itemsize, base.nbytes):
        raise ValueError("a view of what is not in an array")
    found = _view(numpy, base, _Told(dtype, shape), offset, strides)
    _close(found, base, is_writeable)
    return found


def _view(numpy, base, told, offset, strides):
    # type: (Any, Any, Any, int, tuple[int, ...]) -> Any
    """A checked view. What is one where the array is contiguous, and cannot be one here, has its items alone: numpy
    would have copied them."""
    place = (
        None if base.flags.c_contiguous else _moved(offset, strides, told, base, _strides_in_order(base), base.strides)
    )
    root, each = None, base  # type: Any, Any
    while place is not None and root is None and type(each) is numpy.ndarray:
        turned = each.transpose(_longest_first(each.strides))
        root, each = (turned, each) if turned.flags.c_contiguous else (None, each.base)
    if base.flags.c_contiguous:
        return numpy.ndarray(told.shape, told.dtype, base, offset, strides)
    if root is None or place is None:
        if base.nbytes > _MOST_COPIED:
            raise ValueError("a view of more than crosses")
        return numpy.ndarray(told.shape, told.dtype, numpy.ascontiguousarray(base), offset, strides)
    offset, strides = place
    return numpy.ndarray(told.shape, told.dtype, root, offset + _address(base) - _address(root), strides)
