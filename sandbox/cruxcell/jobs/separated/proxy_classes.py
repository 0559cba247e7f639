"""The classes of proxies: one for each class of the other side, and what each of its special methods asks.

Three families: opaque objects; values with a class of their own (an IntEnum, a namedtuple, a list with methods), which
are that value here and compare as it; exceptions.
"""

import builtins
import sys

from cruxcell.jobs.separated.equality import hold_the_same
from cruxcell.jobs.separated.operations import ARITHMETIC, ASKED, DESCRIPTORS, METHODS, OF_THE_TEST
from cruxcell.jobs.separated.remote import (
    DERIVED,
    HANDED_OVER,
    MADE,
    RemoteBase,
    RemoteObject,
    RemoteType,
    marked,
    now,
    standing_of,
)
from cruxcell.jobs.separated.runs import aexit, await_, connection, exit_, next_, step_of, throw
from cruxcell.namespace import CANDIDATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_BUILTIN_TYPES = frozenset([each for each in vars(builtins).values() if type(each) is type])
_get = object.__getattribute__


def make_class(name, number, bases, offers, overrides, stands_for):  # noqa: PLR0917 - what a class is written as
    # type: (str, int, tuple[type, ...], list[str], list[str], object) -> type
    """The class that stands for class `number` of the other side.

    Args:
        name: its name.
        number: what the other side knows it by.
        bases: classes made here, builtin exceptions and plain types; of other families than the first are left out.
        offers: names of special methods that its objects have.
        overrides: names of methods of a plain base that it has its own of.
        stands_for: a builtin class its objects say they are of (`__class__`), or None.
    """
    plain = [base for base in bases if not issubclass(base, RemoteObject)]
    namespace = {"__module__": CANDIDATE, "_remote_class": number, "__slots__": ()}  # type: dict[str, Any]
    namespace["__doc__"] = property(_documentation)
    family = bases or (RemoteObject,)  # type: tuple[type, ...]
    if plain:
        family = tuple(plain) if issubclass(plain[0], RemoteBase) else (RemoteBase, *plain)
        del namespace["__slots__"]
        if not issubclass(plain[0], BaseException):
            for each in overrides:
                namespace[each] = _forward(each) if each in ASKED else _method(each)
        asked = [each for each in offers if each in _OF_VALUES]
        if issubclass(plain[0], BaseException):
            asked, namespace["__str__"], namespace["__repr__"] = [], _told, _shown
    else:
        asked = offers
    is_test = connection[0].is_test
    is_run = "__next__" in offers or "__await__" in offers
    for each in asked:
        method = _special(each, is_test, is_run)
        if method is not None:
            namespace[each] = method
    if namespace.get("__eq__") is _is_same:
        namespace["__hash__"] = _hashed if "__hash__" in offers else object.__hash__
    if stands_for is not None:
        namespace.update(_of_known_class(stands_for, offers))
    made = type.__new__(RemoteType, name, family, namespace)
    if "__slots__" in namespace:  # which have done their work; what the object's class has is asked for
        type.__delattr__(made, "__slots__")
    return made


def _of_known_class(stands_for, offers):
    # type: (object, list[str]) -> dict[str, Any]
    """What an object has that says it is of a class of the standard library."""
    found = {"__class__": property(lambda _self: stands_for)}  # type: dict[str, Any]
    if stands_for is _FUNCTION_TYPE:  # a decorator's, say, among the methods of a class of this side
        found["__get__"] = _bound
        if connection[0].is_test:  # doctest looks whether they are those of the script
            found["__globals__"] = property(lambda _self: {})
    elif "__next__" in offers:  # `itertools.tee` would have it copied
        found["__copy__"] = _Without()
    return found


def _bound(self, instance, _owner=None):
    # type: (Any, object, object) -> Any
    return self if instance is None else _METHOD_TYPE(self, instance)


class _Without:
    """In the place of a method that a base has."""

    def __get__(self, _instance, _owner=None):
        # type: (object, object) -> Any
        raise AttributeError("__copy__")


_FUNCTION_TYPE = type(_bound)
_METHOD_TYPE = type(_Without().__get__)  # type: Any


def _documentation(self):
    # type: (object) -> Any
    return connection[0].ask("get", self, "__doc__")


def _special(name, is_test, is_run):
    # type: (str, bool, bool) -> Any
    """The method of that name; None for one that this side does not ask for. `is_run`: of a generator or coroutine."""
    if name in ASKED:
        return (_SHAPED.get(name) or (_SHAPED_FOR_THE_TEST.get(name) if is_test else None)) or _forward(name)
    if name in METHODS:
        if is_run:
            return throw if name == "throw" else step_of(name)
        return _method(name)
    if is_test:  # an operator is a function for each class: which of two operands comes first depends on that
        return _arithmetic(name) if name in ARITHMETIC else _OF_THIS_SIDE.get(name)
    return _forward(name) if name in OF_THE_TEST or name in ARITHMETIC else None


_OF_VALUES = frozenset(["__str__", "__repr__", "__format__", "__missing__", "__call__", "__enter__", "__exit__"])


def _forward(name):
    # type: (str) -> Any
    def method(self, *arguments):
        # type: (object, object) -> Any
        return connection[0].ask("special", self, name, *arguments)

    method.__name__ = name
    return method


def _method(name):
    # type: (str) -> Any
    def method(self, *arguments, **keywords):
        # type: (object, object, object) -> Any
        return connection[0].call(connection[0].ask("get", self, name), arguments, keywords)

    method.__name__ = name
    return method


def _arithmetic(name):
    # type: (str) -> Any
    """Between objects, it gives another. An object that the test has made, or that came of one by an operator, may have
    a value for the other operand; and what comes of objects that the test has made alone may be a value."""
    unsaid = _unsaid(name)

    def method(self, *others):
        # type: (object, object) -> Any
        standing = standing_of(self)
        if standing == HANDED_OVER and not all(isinstance(other, RemoteObject) for other in others):
            return unsaid(self, *others)
        began = now()
        value = connection[0].ask("special", self, name, *others)
        if value is NotImplemented or isinstance(value, RemoteObject):
            return value if standing == HANDED_OVER else marked(value, DERIVED, type(self), began)
        return value if _are_made(self, *others) else unsaid(self)

    method.__name__ = name
    return method


def _are_made(*values):
    # type: (object) -> bool
    return all(standing_of(each) == MADE for each in values)


def _of_made(name):
    # type: (str) -> Any
    """Of objects that the test has made: it tests what their class says of them."""
    unsaid = _unsaid(name)

    def method(self, *others):
        # type: (object, object) -> Any
        if _are_made(self, *([] if name == "__round__" else others)):
            return connection[0].ask("special", self, name, *others)
        return unsaid(self, *others)

    method.__name__ = name
    return method


def _unsaid(name):
    # type: (str) -> Any
    """Where the candidate is not asked: what is left to nobody else raises."""

    def method(self, *others):
        # type: (object, object) -> Any
        if not all(_has_no_say(other) for other in others):
            return NotImplemented
        return connection[0].refuse(
            "%s of a %s is for the candidate to say; compare what its methods or attributes give"
            % (name, type(self).__name__)
        )

    method.__name__ = name
    return method


def _has_no_say(other):
    # type: (object) -> bool
    """Is it of a class that has no answer of its own to what an object of the other side is in the midst of?"""
    kind = type(other)
    is_plain = type(kind) is type and kind in _BUILTIN_TYPES  # a metaclass may answer for its classes as it likes
    return is_plain or type(kind) is RemoteType


def _contains(self, item):
    # type: (Any, object) -> bool
    """The candidate gives its items and is not told which is looked for, but in what the test has made."""
    if _are_made(self):
        return bool(connection[0].ask("special", self, "__contains__", item))
    return any(one is item or one == item for one in self)


def _is_same(self, other):
    # type: (object, object) -> Any
    """Identity, as for any object; two of a class that the script knows by its name may hold the same. A script that
    fails may have expected the answer of the object's class."""
    if self is other:
        return True
    if type(other) is type(self) and connection[0].means_a_class(type(self)):
        return hold_the_same(connection[0], self, other)
    if _has_no_say(other):
        connection[0].compared_by_identity = True
    return NotImplemented


def _hashed(self):
    # type: (object) -> int
    """What the test has made is found in its sets where an equal one is."""
    return int(connection[0].ask("special", self, "__hash__")) if _are_made(self) else object.__hash__(self)


def _told(self):
    # type: (Any) -> str
    """The text an exception had when it was raised."""
    text = _get(self, "__dict__").get("_remote_text", "")  # type: str
    return text


def _shown(self):
    # type: (Any) -> str
    """How it was shown then, where its class says that."""
    text = _get(self, "__dict__").get("_remote_repr") or BaseException.__repr__(self)  # type: str
    return text


def _call(self, *arguments, **keywords):
    # type: (object, object, object) -> Any
    return connection[0].call(self, arguments, keywords)


def _iter(self):
    # type: (object) -> Any
    """An iterator of the other side; an iterator itself is its own."""
    found = connection[0].ask("special", self, "__iter__")
    return found if hasattr(type(found), "__next__") else iter(found)


def _array(self, dtype=None, copy=None):  # noqa: ARG001 - as numpy asks
    # type: (Any, Any, object) -> Any
    """An array of numpy's that stays where it is (a matrix, one with a mask) as the plain one that it is at bottom. One
    that has none is not taken apart: numpy would compare its items where it refuses to compare it."""
    found, numpy = connection[0].ask("special", self, "__array__"), sys.modules.get("numpy")  # type: Any, Any
    if numpy is None or type(found) is not numpy.ndarray:
        raise TypeError("a %s that is no plain array lives in the other process" % type(self).__name__)
    return found if dtype is None else found.astype(dtype)


_SHAPED_FOR_THE_TEST = {"__await__": await_, "__anext__": next_, "__aexit__": aexit}  # type: dict[str, Any]
_FOLLOW = ("__ne__", "__hash__")  # from `__eq__`, as in any class
_OF_THIS_SIDE = {name: _of_made(name) for name in OF_THE_TEST if name not in (*_FOLLOW, *DESCRIPTORS)}  # type: dict[str, Any]
_OF_THIS_SIDE.update({"__contains__": _contains, "__eq__": _is_same})
_SHAPED = {"__call__": _call, "__iter__": _iter, "__exit__": exit_, "__array__": _array}
