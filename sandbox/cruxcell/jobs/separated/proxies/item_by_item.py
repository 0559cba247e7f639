"""Arrays of numpy, tables of pandas and matrices of scipy that objects of the program hold: `==` says of each item
whether it is the same, which is neither true nor false."""

import sys

from cruxcell.jobs.separated.proxies.operations import package_of
from cruxcell.jobs.separated.proxies.shared_names import is_stdlib
from cruxcell.values.arrays import is_array_of_objects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_MOST_ITEMS = 1 << 16  # that are looked at one by one
_HAVE = {"numpy": "nbytes", "pandas": "equals", "scipy": "nnz"}  # what such a type of the package has


def is_of_items(value):
    # type: (Any) -> bool
    return bool(_package_of(value))


def _package_of(value):
    # type: (Any) -> str
    kind = type(value)
    package = package_of(kind)
    if package not in _HAVE or package not in sys.modules or not hasattr(kind, _HAVE[package]) or not is_stdlib(kind):
        return ""
    return package if package != "numpy" or kind.__name__ == "ndarray" else ""


def pairs_of(one, other):
    # type: (Any, Any) -> list[tuple[Any, Any]] | None
    """Have they the same shape, and the same items in it? The pairs that are still to be compared, or None if not. A
    NaN of an array equals none, one of a table stands for what is missing."""
    package = _package_of(one)
    if type(one) is not type(other) or (package != "pandas" and one.shape != other.shape):
        return None
    if is_array_of_objects(one) or is_array_of_objects(other):
        return [(one.tolist(), other.tolist())]
    try:
        if package == "pandas":
            are_the_same = one.equals(other)
        else:
            are_the_same = (one != other).nnz == 0 if package == "scipy" else (one == other).all()
    except RecursionError:
        raise
    except Exception:  # of types that numpy or pandas does not compare
        return None
    return [] if are_the_same else None


def items_of(value):
    # type: (Any) -> list[Any]
    """What is in it, and a scalar of numpy's as what it equals; the value itself if it is none of these, or has many
    items."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(type(value), numpy.generic) and is_stdlib(type(value)):
        return [value.item()]
    if issubclass(type(value), getattr(sys.modules.get("array"), "array", ())):
        return list(value)
    package = _package_of(value)
    if not package or value.size > _MOST_ITEMS:
        return [value]
    if package == "scipy":  # several numbers for one place are their sum, and one that is none in it holds nothing
        found = value.tocsr(copy=True)
        found.sum_duplicates()
        return found.data.tolist()  # type: ignore[no-any-return]
    array = value if package == "numpy" else value.to_numpy()
    return [*getattr(value, "columns", ()), *array.ravel().tolist()]
