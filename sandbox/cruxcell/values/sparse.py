"""Scipy's sparse matrices and arrays: the arrays that each consists of.

Scipy's compiled code goes where they say without a look, so each place in them is looked at here before a matrix is
made of them. Nothing is imported to write a value.
"""

import sys

from cruxcell.values import arrays
from cruxcell.values.canonical import NotPlain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_KINDS = frozenset("biufc")
# By their formats: the one whose arrays it is written as.
_WRITTEN_AS = {"csr": "csr", "csc": "csc", "bsr": "bsr", "coo": "coo", "dia": "dia", "lil": "csr"}
NAMES = frozenset(["%s_%s" % (form, kind) for form in _WRITTEN_AS for kind in ("matrix", "array")])
# What a matrix has by itself. One with more is an object, as is one whose class somebody made.
_OWN = frozenset(
    [
        "_shape", "maxprint", "dtype", "data", "indices", "indptr", "coords", "row", "col", "offsets", "rows",
        "has_canonical_format", "_has_canonical_format", "_has_sorted_indices",
    ]
)  # fmt: skip


def write(writer, value, depth):
    # type: (Any, Any, int) -> bool
    """Write `value` if it is a matrix of two dimensions and of numbers; False if not."""
    kind = type(value)
    if not is_own(kind) or len(value.shape) != 2 or value.dtype.kind not in _KINDS or not _OWN.issuperset(vars(value)):
        return False
    name = kind.__name__.encode()
    writer.parts.append(b"m" + bytes([len(name)]) + name + writer.number(value).to_bytes(4, "little"))
    writer.content(value, depth)
    return True


def is_own(kind):
    # type: (Any) -> bool
    """Is it a class of scipy's? A dict of keys is none of these: it is a dict."""
    return kind.__name__ in NAMES and getattr(sys.modules.get("scipy.sparse"), kind.__name__, None) is kind


def write_content(writer, value, depth):
    # type: (Any, Any, int) -> None
    parts = state_of(value)
    if not parts:
        raise NotPlain("sparse matrix that cannot be")
    writer.items(parts, depth + 1)


def state_of(value):
    # type: (Any) -> tuple[Any, ...]
    """What a matrix holds: its shape, and of each array type, shape and bytes. Nothing of one that somebody has given
    other arrays than it can have."""
    try:
        return _taken_apart(value)
    except Exception:  # whatever scipy may raise
        return ()


def _taken_apart(value):
    # type: (Any) -> tuple[Any, ...]
    form = _WRITTEN_AS[value.format]
    held = value if form == value.format else value.asformat(form)
    if form == "dia":
        taken = held.data, held.offsets  # type: tuple[Any, ...]
    elif form == "coo":
        taken = held.data, held.row, held.col
    else:
        count = int(held.indptr[-1])
        taken = held.data[:count], held.indices[:count], held.indptr
    if held.data.dtype.kind not in _KINDS:
        return ()
    return (tuple(map(int, value.shape)), *[(each.dtype.str, each.shape, each.tobytes()) for each in taken])


# ---- reading ---------------------------------------------------------------------------------------------------------


def read(reader, depth):
    # type: (Any, int) -> Any
    name = reader.take(reader.take(1)[0]).decode("ascii")
    if name not in NAMES:
        raise ValueError("a sparse matrix that cannot be")
    number = reader.u32()
    found = _read_content(reader, name, depth)
    reader.containers.adopt(number, found)
    return found


def refill(reader, value, depth):
    # type: (Any, Any, int) -> Any
    """What a matrix holds now. Its numbers stay where others may see them; places never change under another matrix
    that shares them."""
    own, found = vars(value), vars(_read_content(reader, type(value).__name__, depth))
    before, now = [each.get("data") for each in (own, found)]
    if _are_of_one_kind(before, now) and before.flags.writeable:
        before[...] = now
        found["data"] = before
    own.clear()
    own.update(found)
    return value


def _are_of_one_kind(one, other):
    # type: (Any, Any) -> bool
    """Are these arrays of as many numbers of the same type?"""
    kinds = [(each.dtype, each.shape) for each in (one, other) if type(each) is sys.modules["numpy"].ndarray]
    return len(kinds) == 2 and kinds[0] == kinds[1] and one.dtype.kind in _KINDS


def _read_content(reader, name, depth):
    # type: (Any, str, int) -> Any
    form, _, kind = name.partition("_")
    written_as = _WRITTEN_AS[form]
    shape, *parts = [reader.value(depth + 1) for _ in range(3 if written_as == "dia" else 4)]
    if type(shape) is not tuple or len(shape) != 2 or any(type(size) is not int or size < 0 for size in shape):
        raise ValueError("a shape that cannot be")
    if any(type(each) is not tuple or len(each) != 3 for each in parts):
        raise ValueError("a sparse matrix that cannot be")
    data, *places = [arrays.made(list(each)) for each in parts]
    if data.dtype.kind not in _KINDS or any(each.dtype.kind != "i" or each.ndim != 1 for each in places):
        raise ValueError("a sparse matrix of what cannot be")
    _LOOK[written_as](shape, data, *places)
    made_of = (data, tuple(places)) if written_as == "coo" else (data, *places)
    found = getattr(__import__("scipy.sparse", None, None, ["*"]), "%s_%s" % (written_as, kind))(made_of, shape=shape)
    return found if written_as == form else found.asformat(form)


def _look_at_rows(shape, data, indices, indptr):
    # type: (tuple[int, int], Any, Any, Any) -> None
    if data.ndim != 1:
        raise ValueError("a sparse matrix of what cannot be")
    _look_at_blocks(shape, data.reshape(-1, 1, 1), indices, indptr)


def _look_at_columns(shape, data, indices, indptr):
    # type: (tuple[int, int], Any, Any, Any) -> None
    _look_at_rows((shape[1], shape[0]), data, indices, indptr)


def _look_at_blocks(shape, data, indices, indptr):
    # type: (tuple[int, int], Any, Any, Any) -> None
    if data.ndim != 3 or 0 in data.shape[1:] or any(size % block for size, block in zip(shape, data.shape[1:])):
        raise ValueError("blocks that cannot be")
    rows, columns = [size // block for size, block in zip(shape, data.shape[1:])]
    ends = len(indptr) == rows + 1 and not indptr[0] and indptr[-1] == len(indices) == len(data)
    if not ends or (indptr[1:] < indptr[:-1]).any() or not _are_below(indices, columns):
        raise ValueError("places that cannot be")


def _look_at_points(shape, data, row, col):
    # type: (tuple[int, int], Any, Any, Any) -> None
    if data.ndim != 1 or not len(data) == len(row) == len(col):
        raise ValueError("a sparse matrix of what cannot be")
    if not (_are_below(row, shape[0]) and _are_below(col, shape[1])):
        raise ValueError("places that cannot be")


def _look_at_diagonals(shape, data, offsets):
    # type: (tuple[int, int], Any, Any) -> None
    if data.ndim != 2 or len(data) != len(offsets) or len(set(offsets.tolist())) != len(offsets):
        raise ValueError("a sparse matrix of what cannot be")
    if not all(-shape[0] <= each <= shape[1] for each in offsets.tolist()):
        raise ValueError("places that cannot be")


def _are_below(places, size):
    # type: (Any, int) -> bool
    return not len(places) or (int(places.min()) >= 0 and int(places.max()) < size)


_LOOK = {
    "csr": _look_at_rows,
    "csc": _look_at_columns,
    "bsr": _look_at_blocks,
    "coo": _look_at_points,
    "dia": _look_at_diagonals,
}  # type: dict[str, Any]
