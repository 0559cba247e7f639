"""Whether all that a table holds crosses by value.

Pandas asks objects in cells for their length and items, and where they say that they have none it compares nothing. So
a table of a candidate's with an object of the candidate's in it is an object, too. A test's may hold what it likes.
"""

import sys

from cruxcell.values.canonical import NotPlain, TooLarge
from cruxcell.values.containers import Containers, base_of, items_of
from cruxcell.values.dicts import pairs_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_SIMPLE = frozenset(map(id, (type(None), bool, int, float, complex, str, bytes)))


def all_cross(writer, table):
    # type: (Any, Any) -> bool
    """Does all that a table, an index or an array of pandas' holds cross by value?"""
    pending, seen = _inside(table) or [], set()  # type: list[Any], set[int]
    for value in pending:
        kind = type(value)
        if id(kind) in _SIMPLE or id(value) in seen:
            continue
        seen.add(id(value))
        inside = _inside(value)
        if inside is not None:
            pending += inside
        elif not (writer.is_home(value) or _is_data(writer, value)):
            return False
    return True


def refuse_theirs(objects, table):
    # type: (Any, Any) -> Any
    """The table that a test has read. Raises ValueError where it holds what would answer for itself: the other half may
    not have looked, as it is a candidate's."""
    if objects is None or not objects.is_test or objects.class_of_proxies is None:
        return table
    pending, seen = [table], set()  # type: list[Any], set[int]
    for value in pending:
        if id(type(value)) in _SIMPLE or id(value) in seen:
            continue
        seen.add(id(value))
        if issubclass(type(type(value)), objects.class_of_proxies) and _answers(type(value), objects.class_of_proxies):
            raise ValueError("a table with objects of the program in it")
        pending += _inside(value) or ()
    return table


def _answers(cls, kind):
    # type: (Any, Any) -> bool
    """Has it methods of its own, but for how it is shown? Those of a namedtuple say no more."""
    own = [_OWN(each) for each in _MRO(cls) if issubclass(type(each), kind) and "_remote_class" in _OWN(each)]
    is_plain = any(issubclass(cls, plain) for plain in (int, float, complex, str, bytes, tuple))
    return not is_plain or any(name not in _SHOWN for names in own for name in names)


_MRO, _OWN = (type.__dict__[name].__get__ for name in ("__mro__", "__dict__"))
_SHOWN = frozenset(
    [
        "__module__", "__doc__", "_remote_class", "_remote_libraries",
        "__repr__", "__str__", "__format__", "__dict__", "__weakref__",
    ]
)  # fmt: skip


def _inside(value):
    # type: (Any) -> list[Any] | None
    """What is in a container or a table; None of what is none."""
    kind = type(value)
    if kind is tuple or kind is frozenset:
        return list(value)
    module = str(kind.__module__)
    if module == "numpy" and kind is sys.modules["numpy"].ndarray:
        return list(value.ravel()) if value.dtype.kind == "O" else []
    if module.partition(".")[0] == "pandas":
        return _in_table(value)
    base = base_of(kind)
    if base is dict:
        return [each for pair in pairs_of(value) for each in pair] + [getattr(value, "default_factory", None)] * (
            kind is not dict
        )
    return list(items_of(base, value)) if base is list or base is set or base == "deque" else None


def _in_table(value):
    # type: (Any) -> list[Any] | None
    """The objects in the columns of a table, its indexes and their names; in an index or an array its own."""
    pandas = sys.modules["pandas"]
    if type(value) is pandas.DataFrame:
        columns = [value.iloc[:, at] for at in range(value.shape[1])]
        return [value.index, value.columns, *[each for one in columns for each in _of_column(one)]]
    if type(value) is pandas.Series:
        return [value.index, value.name, *_of_column(value)]
    if isinstance(value, pandas.MultiIndex):
        return [*value.levels, *value.names]
    if isinstance(value, pandas.Index):
        return [value.name, *_of_column(value)]
    if isinstance(value, pandas.CategoricalDtype):
        return [value.categories]
    return _of_column(value) if isinstance(value, pandas.api.extensions.ExtensionArray) else None


def _of_column(value):
    # type: (Any) -> list[Any]
    """The objects in what has a type of pandas' or numpy's."""
    name = type(value.dtype).__name__
    if name == "CategoricalDtype":
        return [value.dtype.categories]
    return list(value) if getattr(value.dtype, "kind", "") == "O" and name != "StringDtype" else []


def _is_data(writer, value):
    # type: (Any, Any) -> bool
    """Is it plain data, as what no objects are written with?"""
    try:
        type(writer)(Containers()).value(value, 0)
    except (NotPlain, TooLarge):
        return False
    return True
