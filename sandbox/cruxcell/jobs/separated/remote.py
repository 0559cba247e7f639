"""Proxies for objects of the other process, and their classes.

For every class of the other side there is one class here, with the same name and bases, so that `isinstance`,
`issubclass` and `except` work as they would there. Three families: opaque objects; values with a class of their own
(an IntEnum, a namedtuple, a list with methods), which are that value here and compare as it; exceptions.
"""

import builtins
import sys

from cruxcell.jobs.separated.operations import ARITHMETIC, ASKED, METHODS, OF_THE_TEST
from cruxcell.jobs.separated.runs import aexit, await_, connection, exit_, next_, step_of, throw
from cruxcell.namespace import CANDIDATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_BUILTIN_TYPES = frozenset([each for each in vars(builtins).values() if type(each) is type])
_finished = []  # type: list[bool]
_OF_SOME = frozenset(["__annotations__", "__bool__", "__getitem__", "__iter__", "__len__"])
_get = object.__getattribute__
_PUBLIC = frozenset(
    [
        "__name__", "__qualname__", "__doc__", "__module__", "__dict__", "__wrapped__", "__annotations__", "__code__",
        "__defaults__", "__kwdefaults__", "__func__", "__self__", "__members__", "__match_args__", "__slots__",
        "__abstractmethods__",
        "_fields", "_asdict", "_replace", "_make", "_field_defaults",
    ]
)  # fmt: skip


def _refuse(name):
    # type: (str) -> bool
    return name.startswith("__") and name not in _PUBLIC


class RemoteType(type):
    """The class of the classes that stand for those of the other side; calling one makes an object over there."""

    def __new__(cls, name, bases, namespace, **keywords):  # noqa: ARG004 - of the class statement
        # type: (type, str, tuple[type, ...], dict[str, Any], Any) -> Any
        if _finished:
            connection[0].refuse(
                "a class of the program cannot be subclassed in a separated script (class %s): require IN_PROCESS"
                % name
            )
        return type.__new__(cls, name, bases, namespace)

    def __call__(cls, *arguments, **keywords):
        # type: (object, object) -> Any
        return connection[0].call(cls, arguments, keywords)

    def __getattribute__(cls, name):
        # type: (str) -> Any
        """What is here for all classes, and to be had of those alone that have it over there."""
        if name in _OF_SOME and _is_asked_for(cls, name):
            return connection[0].ask("get", cls, name)
        return type.__getattribute__(cls, name)

    def __getattr__(cls, name):
        # type: (str) -> Any
        if name == "__dataclass_fields__" and "_remote_class" in vars(cls):
            return _fields(cls)
        if _refuse(name):
            raise AttributeError("type object %r has no attribute %r" % (cls.__name__, name))
        return connection[0].ask("get", cls, name)

    def __setattr__(cls, name, value):
        # type: (str, object) -> None
        if name.startswith("_abc_") or name == "__abstractmethods__":
            type.__setattr__(cls, name, value)
        else:
            connection[0].ask("set", cls, name, value)

    def __delattr__(cls, name):
        # type: (str) -> None
        connection[0].ask("del", cls, name)

    @property
    def __doc__(cls):  # type: ignore[override]
        # type: () -> Any
        return connection[0].ask("get", cls, "__doc__") if "_remote_class" in vars(cls) else None

    def __iter__(cls):
        # type: () -> Any
        return connection[0].ask("special", cls, "__iter__")

    def __len__(cls):
        # type: () -> Any
        return connection[0].ask("special", cls, "__len__")

    def __bool__(cls):
        # type: () -> bool
        return True

    def __getitem__(cls, key):
        # type: (object) -> Any
        return connection[0].ask("special", cls, "__getitem__", key)


def _is_asked_for(cls, name):
    # type: (Any, str) -> bool
    """Is it a class of the other side's that has no such attribute here?"""
    found = [each.__dict__ for each in type.__dict__["__mro__"].__get__(cls)]
    return "_remote_class" in found[0] and not any(name in each for each in found)


class RemoteBase(metaclass=RemoteType):
    """What all proxies have."""

    __slots__ = ()

    def __getattr__(self, name):
        # type: (str) -> Any
        if name == "__dataclass_fields__":
            return type(self).__dataclass_fields__
        if _refuse(name):
            raise AttributeError("%r object has no attribute %r" % (type(self).__name__, name))
        return connection[0].ask("get", self, name)

    def __setattr__(self, name, value):
        # type: (str, object) -> None
        if name.startswith("__") and isinstance(self, BaseException):
            BaseException.__setattr__(self, name, value)
        else:
            connection[0].ask("set", self, name, value)

    def __delattr__(self, name):
        # type: (str) -> None
        connection[0].ask("del", self, name)

    def __reduce_ex__(self, protocol):
        # type: (object) -> Any
        connection[0].refuse(
            "a %s lives in the other process and cannot be pickled here: require IN_PROCESS" % type(self).__name__
        )

    def __copy__(self):
        # type: () -> Any
        return _copied(self, False)

    def __deepcopy__(self, _memo):
        # type: (object) -> Any
        return _copied(self, True)


class RemoteObject(RemoteBase):
    """An opaque object."""

    __slots__ = ("__weakref__", "_remote_number")


def _copied(value, is_deep):
    # type: (RemoteBase, bool) -> Any
    """A copy that the other side makes of its object."""
    return connection[0].ask("copy", value, is_deep)


def _fields(cls):
    # type: (RemoteType) -> dict[str, Any]
    """The fields of a dataclass of the other side, as `dataclasses` here wants to see them."""
    dataclasses = sys.modules.get("dataclasses")  # type: Any
    told = connection[0].ask("fields", cls) if dataclasses is not None else None
    if type(told) is not list:
        raise AttributeError("type object %r has no attribute '__dataclass_fields__'" % cls.__name__)
    found = {}  # type: dict[str, Any]
    for name, kind, *choices in told:
        field = dataclasses.field(**dict(zip(("init", "repr", "compare"), choices)))  # type: Any
        field.name, field._field_type = name, getattr(dataclasses, kind if kind in _KINDS_OF_FIELDS else "_FIELD")
        found[name] = field
    return found


_KINDS_OF_FIELDS = frozenset(["_FIELD", "_FIELD_CLASSVAR", "_FIELD_INITVAR"])


def number_of(value):
    # type: (Any) -> int
    """The other side's number of what a proxy or class stands for."""
    if type(value) is RemoteType:
        number = type.__dict__["__dict__"].__get__(value)["_remote_class"]  # type: int
    elif isinstance(value, RemoteObject):
        number = _NUMBER.__get__(value)
    else:
        number = _get(value, "__dict__")["_remote_number"]
    return number


_NUMBER = RemoteObject.__dict__["_remote_number"]


def give_number(value, number):
    # type: (Any, int) -> None
    if isinstance(value, RemoteObject):
        _NUMBER.__set__(value, number)
    else:
        _get(value, "__dict__")["_remote_number"] = number


# ---- making classes --------------------------------------------------------------------------------------------------


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
        namespace["__hash__"] = object.__hash__
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
    unsaid = _unsaid(name)

    def method(self, *others):
        # type: (object, object) -> Any
        if not all(isinstance(other, RemoteObject) for other in others):
            return unsaid(self, *others)
        value = connection[0].ask("special", self, name, *others)
        return value if value is NotImplemented or isinstance(value, RemoteObject) else unsaid(self)

    method.__name__ = name
    return method


def _unsaid(name):
    # type: (str) -> Any
    """In the place of a method that the candidate is not asked for: what is left to nobody else raises."""

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
    """The candidate gives its items and is not told which is looked for."""
    return any(one is item or one == item for one in self)


def _is_same(self, other):
    # type: (object, object) -> Any
    """Identity, as for any object. A script that fails may have expected the answer of the object's class."""
    if self is other:
        return True
    if _has_no_say(other):
        connection[0].compared_by_identity = True
    return NotImplemented


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
_OF_THIS_SIDE = {name: _unsaid(name) for name in OF_THE_TEST if name not in _FOLLOW}  # type: dict[str, Any]
_OF_THIS_SIDE.update({"__contains__": _contains, "__eq__": _is_same})
_SHAPED = {"__call__": _call, "__iter__": _iter, "__exit__": exit_, "__array__": _array}
for _each in (RemoteBase, RemoteObject):
    type.__delattr__(_each, "__slots__")
_finished.append(True)
