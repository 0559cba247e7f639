"""Views of dicts, read-only dicts and memoryviews: the container that they show, by its number.

A test shows no more than the view does, unless the other half has the container by then: the values of a dict may be
what it expects. There it is a copy.
"""

import sys
from gc import get_referents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_NOTHING = {}  # type: dict[object, object]
# The letter of one that is written as what it shows, and that of one that is written as a view.
VIEWS = {
    type(_NOTHING.keys()): (b"k", b"K"),
    type(_NOTHING.values()): (b"v", b"X"),
    type(_NOTHING.items()): (b"w", b"Y"),
}  # type: dict[type, tuple[bytes, bytes]]
READ_ONLY = type(type.__dict__)  # type: Any


def parts_of(writer, value):
    # type: (Any, Any) -> tuple[bytes, tuple[Any, ...]] | None
    """The letter of a view of a dict or a memoryview, and what it is made of again; None if it does not cross."""
    if type(value) is memoryview:
        try:
            return _of_memory(writer, value)
        except ValueError:  # it was released
            return None
    if type(value) is READ_ONLY:
        return _of_dict(writer, value)
    letters = next((letters for cls, letters in VIEWS.items() if issubclass(type(value), cls)), None)
    if letters is None:
        return None
    (owner,) = get_referents(value)
    if id(owner) in writer.containers.numbers or (writer.shows_all and _is_a_dict(type(owner))):
        return letters[1], (owner,)
    return None if writer.shows_all else (letters[0], tuple(value))


def _of_dict(writer, value):
    # type: (Any, Any) -> tuple[bytes, tuple[Any, ...]] | None
    """Every class has documentation, if None; what shows the dict of a class is asked."""
    (owner,) = get_referents(value)
    if not _is_a_dict(type(owner)) or "__doc__" in owner:
        return None
    is_shown = writer.shows_all or id(owner) in writer.containers.numbers
    return b"R", (owner if is_shown else owner.copy(),)


def _is_a_dict(kind):
    # type: (type) -> bool
    collections = sys.modules.get("collections")
    names = ("OrderedDict", "Counter", "defaultdict")
    return kind is dict or any(kind is getattr(collections, name, None) for name in names)


def _of_memory(writer, value):
    # type: (Any, memoryview) -> tuple[bytes, tuple[Any, ...]] | None
    """The owner may be changed where the view may. What shows a part of one does not say which."""
    owner = value.obj  # type: Any
    is_known = id(owner) in writer.containers.numbers
    may_cross = is_known or ((not value.readonly or writer.shows_all) and _is_of_bytes(type(owner)))
    if may_cross and _is_whole(value, memoryview(owner)):
        return b"M", (owner, value.readonly)
    is_plain = value.c_contiguous and value.format == "B" and value.ndim == 1
    return (b"m", (bytes(value),)) if is_plain and (type(owner) is bytes or not writer.shows_all) else None


def _is_of_bytes(kind):
    # type: (type) -> bool
    return kind is bytearray or kind is getattr(sys.modules.get("array"), "array", None)


def _is_whole(value, other):
    # type: (memoryview, memoryview) -> bool
    """Does a memoryview show all of what it is of, as another one does?"""
    same = (value.format, value.shape, value.strides) == (other.format, other.shape, other.strides)
    return same and value.c_contiguous


def ways_to_copy():
    # type: () -> dict[type, Any]
    """For `copyreg`: by their types, what makes each of these again, of a copy of what it shows."""
    ordered = getattr(sys.modules.get("collections"), "OrderedDict", dict)()  # type: Any
    kinds = (*VIEWS, *(type(getattr(ordered, name)()) for name in ("keys", "values", "items")), READ_ONLY, memoryview)
    return dict.fromkeys(kinds, _made_of)


def _made_of(value):
    # type: (Any) -> tuple[Any, tuple[Any, ...]]
    if type(value) is memoryview:
        if not _is_whole(value, memoryview(value.obj)):
            raise TypeError("a memoryview of a part")
        return (memoryview, (value.obj,)) if type(value.obj) is bytes else (memory, ([value.obj, value.readonly],))
    letter = next((letters[1] for cls, letters in VIEWS.items() if issubclass(type(value), cls)), b"R")
    return MAKERS[letter], (get_referents(value),)


def memory(values):
    # type: (list[Any]) -> memoryview
    owner, is_readonly = values
    numpy = sys.modules.get("numpy")
    is_array = numpy is not None and type(owner) is numpy.ndarray and not owner.dtype.hasobject
    if type(is_readonly) is not bool or not (is_array or _is_of_bytes(type(owner))):
        raise ValueError("a memoryview that cannot be")
    found = memoryview(owner)
    return found.toreadonly() if is_readonly else found


def read_only(values):
    # type: (list[Any]) -> Any
    (owner,) = values
    if not _is_a_dict(type(owner)):
        raise ValueError("a read-only dict of what is none")
    return READ_ONLY(owner)


def _view(name):
    # type: (str) -> Any
    """What makes a view of that name; an OrderedDict has an order of its own."""

    def view(values):
        # type: (list[Any]) -> Any
        (owner,) = values
        ordered = getattr(sys.modules.get("collections"), "OrderedDict", dict)
        return getattr(ordered if issubclass(type(owner), ordered) else dict, name)(owner)

    return view


MAKERS = {
    b"K": _view("keys"),
    b"X": _view("values"),
    b"Y": _view("items"),
    b"M": memory,
    b"R": read_only,
}  # type: dict[bytes, Any]
