"""Proxies for objects of the other process, and the class of their classes.

For every class of the other side there is one class here, with the same name and bases, so that `isinstance`,
`issubclass` and `except` work as they would there. `proxy_classes` makes them.
"""

import sys

from cruxcell.jobs.separated.proxies.copies import copied_there
from cruxcell.jobs.separated.proxies.deriving import (
    bases_for,
    checked,
    deleted_here,
    derive,
    derive_by,
    gone_from_class,
    is_derived,
    is_statement,
    of_base,
    own_members,
    set_here,
    set_on_class,
    with_derived,
    with_own_names,
)
from cruxcell.jobs.separated.proxies.operations import ASKED, mro_of, own_of
from cruxcell.jobs.separated.proxies.runs import connection
from cruxcell.jobs.separated.proxies.told import (
    OF_OBJECTS,
    OF_SOME,
    dataclass_fields,
    is_asked_for,
    is_refused,
    is_told,
    looked,
    signature_of,
)

MappingProxyType = type(type.__dict__)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_BASES = type.__dict__["__bases__"].__get__
_FLAGS = type.__dict__["__flags__"].__get__
_IS_ABSTRACT = 1 << 20  # Py_TPFLAGS_IS_ABSTRACT
_finished = []  # type: list[bool]
_get = object.__getattribute__


class RemoteType(type):
    """The class of the classes that stand for those of the other side; calling one makes an object over there."""

    def __new__(cls, name, bases, namespace, /, **keywords):
        # type: (type, str, tuple[type, ...], dict[str, Any], Any) -> Any
        if _finished:
            return derive(cls, name, bases, namespace, keywords)
        return type.__new__(cls, name, bases, namespace)

    def __init__(cls, name, bases, namespace, /, **keywords):  # noqa: ARG002 - of the class statement
        # type: (str, tuple[type, ...], dict[str, Any], Any) -> None
        type.__init__(cls, name, bases, namespace)

    def __call__(cls, /, *arguments, **keywords):
        # type: (object, object) -> Any
        if is_statement(arguments):
            return derive_by(cls, RemoteType, arguments, keywords)
        own = own_of(cls).get("__class__")
        if type(own) is property and not connection[0].is_test:  # `type(stream)()`, which the test would not make
            return own.fget(None)(*arguments, **keywords)  # type: ignore[misc]
        return make(cls, cls, arguments, keywords)

    def __getattribute__(cls, name):
        # type: (str) -> Any
        """What is here for all classes, and to be had of those alone that have it over there."""
        if name in OF_SOME and is_asked_for(cls, name):
            if name == "__dict__":
                return MappingProxyType({**looked("members", cls, dict), **own_members(cls)})
            return connection[0].ask("get", cls, name)
        if name in OF_OBJECTS and is_told(cls) and name != "__init__":
            return getattr(object, name)
        if name == "__new__" and name in connection[0].named and is_told(cls):
            return connection[0].ask("get", cls, name)
        return (of_base(cls, name) if name in ASKED else None) or type.__getattribute__(cls, name)

    def __getattr__(cls, name):
        # type: (str) -> Any
        if name == "__dataclass_fields__" and "_remote_class" in own_of(cls):
            return dataclass_fields(cls)
        if name == "__signature__" and is_told(cls) and connection[0].ask("members", cls, "__init__"):
            return signature_of(cls)
        if is_refused(name):
            raise AttributeError("type object %r has no attribute %r" % (cls.__name__, name))
        return connection[0].ask("get", cls, name)

    def __setattr__(cls, name, value):
        # type: (str, object) -> None
        if name.startswith("_abc_") or name == "__abstractmethods__":
            type.__setattr__(cls, name, value)
        elif name == "__dataclass_fields__" and is_derived(cls):
            connection[0].refuse("a dataclass of the script derives from a class of the program: require IN_PROCESS")
        else:
            connection[0].ask("set", cls, name, value)
            set_on_class(RemoteType, cls, name, value)

    def __delattr__(cls, name):
        # type: (str) -> None
        connection[0].ask("del", cls, name)
        gone_from_class(cls, name)

    @property
    def __mro__(cls):
        # type: () -> tuple[type, ...]
        """As over there: without what all proxies have."""
        return tuple([each for each in mro_of(cls) if each is not RemoteObject and each is not RemoteBase])

    @property
    def __bases__(cls):  # type: ignore[override]
        # type: () -> tuple[type, ...]
        return tuple([object if each is RemoteObject else each for each in _BASES(cls) if each is not RemoteBase])

    @property
    def __flags__(cls):
        # type: () -> int
        """With the one that `inspect.isabstract` looks for."""
        flags = _FLAGS(cls)  # type: int
        try:
            is_abstract = is_told(cls) and connection[0].ask("get", cls, "__abstractmethods__")
        except AttributeError:
            is_abstract = False
        return flags | _IS_ABSTRACT if is_abstract else flags

    def mro(cls):
        # type: () -> list[type]
        """Also asked while the class is made, which has none by then."""
        return type.mro(cls) if mro_of(cls) is None else list(cls.__mro__)

    @property
    def __doc__(cls):  # type: ignore[override]
        # type: () -> Any
        return connection[0].ask("get", cls, "__doc__") if "_remote_class" in own_of(cls) else None

    def __repr__(cls):
        # type: () -> str
        """As over there, where it has the module of a library, or a metaclass that says more."""
        said = connection[0].ask("special", cls, "__repr__") if is_told(cls) else ""
        return said if type(said) is str and said else type.__repr__(cls)

    def __eq__(cls, other):
        # type: (object) -> bool
        """Also to the class of a library that its objects say they are of: `type(f()) == Figure`. None of Python's own
        types, by which the harness, too, tells what a value is."""
        own = own_of(cls).get("__class__")
        stands_for = cls  # type: Any
        if type(own) is property and is_told(cls):
            stands_for = own.fget(None)  # type: ignore[misc]
        return cls is other or (stands_for is other and stands_for.__module__ != "builtins")

    __hash__ = type.__hash__

    def __dir__(cls):
        # type: () -> Any
        return type.__dir__(cls) if not is_told(cls) else with_own_names(cls, looked("dir", cls, list))

    def __subclasses__(cls):
        # type: () -> Any
        return type.__subclasses__(cls) if not is_told(cls) else with_derived(cls, looked("subclasses", cls, list))

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
        found = connection[0].ask("special", cls, "__getitem__", key)
        if issubclass(type(found), RemoteObject) and connection[0].means_a_class(cls):
            _keep_owner(found, cls)  # `Stack[int]()` makes an object of that
        return found


class RemoteBase(metaclass=RemoteType):
    """What all proxies have."""

    __slots__ = ()

    def __getattr__(self, name):
        # type: (str) -> Any
        if name == "__dataclass_fields__":
            return type(self).__dataclass_fields__
        if name == "__mro_entries__" and connection[0].is_test:
            return lambda bases: bases_for(RemoteType, self, bases)
        if is_refused(name):
            raise AttributeError("%r object has no attribute %r" % (type(self).__name__, name))
        found = connection[0].ask("get", self, name)
        if issubclass(type(found), RemoteObject) and "__call__" in own_of(type(found)) and standing_of(self):
            _keep_owner(found, self)
        return found

    def __setattr__(self, name, value):
        # type: (str, object) -> None
        if name.startswith("__") and isinstance(self, BaseException):
            BaseException.__setattr__(self, name, value)
        elif set_here(self, name, value):
            return
        elif name != "__signature__" or connection[0].is_test:  # which matplotlib notes on a `show` that is a mock
            connection[0].ask("set", self, name, value)

    def __delattr__(self, name):
        # type: (str) -> None
        connection[0].ask("del", self, name)
        deleted_here(self, name)

    def __dir__(self):
        # type: () -> Any
        is_test = connection[0].is_test
        return with_own_names(type(self), looked("dir", self, list)) if is_test else object.__dir__(self)

    def __reduce_ex__(self, protocol):
        # type: (object) -> Any
        caller = sys._getframe(1)
        if caller.f_globals.get("__name__") == "copy":
            is_deep = caller.f_code.co_name == "deepcopy"
            memo = caller.f_locals.get("memo")
            return lambda: copied_there(self, is_deep, memo), ()
        return connection[0].pickles.reduced(self, protocol)


class RemoteObject(RemoteBase):
    """An opaque object. One is told by its type, as a test's mock may say that it is of a class of the program's."""

    __slots__ = (
        "__weakref__",
        "_remote_made_of",
        "_remote_number",
        "_remote_standing",
        "_remote_time",
        "_remote_value",
    )


def _keep_owner(method, value):
    # type: (Any, object) -> None
    """A method refers to its object: or the object would be gone from here, and what is known of it, before the method
    returns it, `Query().where(1)`."""
    if standing_of(method) == HANDED_OVER:
        _MADE_OF.__set__(method, value)


def make(cls, target, arguments, keywords):
    # type: (Any, Any, tuple[object, ...], dict[str, object]) -> Any
    """Call a class, or what stands for it (`Stack[int]`); any function where there is no class."""
    link = connection[0]
    if cls is None or not link.means_a_class(cls):
        return link.call(target, arguments, keywords)
    shown = link.note((*arguments, *keywords.values()))
    began = now()
    value = checked(cls, link.call(target, arguments, keywords))
    marked(value, MADE, cls, began, shown)
    if standing_of(value) != MADE:
        link.note_again(value, shown, began)
    return value


def class_of_alias(value):
    # type: (Any) -> Any
    """The class that `Stack[int]` stands for; None of what is no such object."""
    if not issubclass(type(value), RemoteObject):
        return None
    try:
        found = _MADE_OF.__get__(value)
    except AttributeError:
        return None
    return found if type(found) is RemoteType else None


def is_remote(value):
    # type: (object) -> bool
    """Is it a class or an object of the other side's, which holds nothing here?"""
    return type(value) is RemoteType or issubclass(type(value), RemoteObject)


_MADE_HERE = "an object of class %s was made in the test's process, by object.__new__: require IN_PROCESS"


def number_of(value):
    # type: (Any) -> int
    """The other side's number of what a proxy or class stands for."""
    if type(value) is RemoteType:
        number = own_of(value)["_remote_class"]  # type: int
    elif issubclass(type(value), RemoteObject):
        try:
            number = _NUMBER.__get__(value)
        except AttributeError:  # `object.__new__(cls)`, where the program's is meant
            return connection[0].refuse(_MADE_HERE % type(value).__name__)  # type: ignore[no-any-return]
    else:
        number = _get(value, "__dict__")["_remote_number"]
    return number


_SLOTS = ("number", "standing", "time", "made_of", "value")
_NUMBER, _STANDING, _TIME, _MADE_OF, _VALUE = (RemoteObject.__dict__["_remote_" + each] for each in _SLOTS)


def give_number(value, number):
    # type: (Any, int) -> None
    if issubclass(type(value), RemoteObject):
        _NUMBER.__set__(value, number)
        _TIME.__set__(value, now())
        _STANDING.__set__(value, HANDED_OVER)
    else:
        _get(value, "__dict__").update(_remote_number=number, _remote_time=now())


# How a test came by an object: a function of the program returned it, say; it came of an operator, and one of the
# operands the test had made; the test has made it by calling its class under a name that is one of a class.
HANDED_OVER, DERIVED, MADE = range(3)
# Of what came of an operator, before some of the objects that the test has made and it came of: all operands were such
# objects, or results of operators on such alone; or values were among them, one of which may be what is expected.
OF_MADE, OF_VALUES = "objects", "values"
_time = [0]


def standing_of(value):
    # type: (Any) -> int
    if issubclass(type(value), RemoteObject):
        found = _STANDING.__get__(value)  # type: int
    elif type(type(value)) is RemoteType:
        found = _get(value, "__dict__").get("_remote_standing", HANDED_OVER)
    else:
        found = HANDED_OVER
    return found


def marked(value, standing, cls, began, made_of=None):
    # type: (Any, int, object, int, Any) -> Any
    """`value`, with that standing if it is an object of that class which was not here when time was `began`, and has
    come for this thread. One that was keeps its own: or what a function has returned, to another thread meanwhile,
    would come back as what the test has made."""
    if type(value) is not cls:
        return value
    began = connection[0].alone_since(began)
    if issubclass(type(value), RemoteObject):
        if _TIME.__get__(value) > began:
            _STANDING.__set__(value, standing)
            _MADE_OF.__set__(value, made_of)
    elif not isinstance(value, BaseException):
        fields = _get(value, "__dict__")
        if fields.get("_remote_time", began) > began:
            fields["_remote_standing"] = standing
    return value


def made_of(value):
    # type: (Any) -> Any
    """What the test gave the class when it made this object (`equality.shown_by`)."""
    return _MADE_OF.__get__(value)


def fixed_value(value, make):
    # type: (Any, Any) -> Any
    """What `make` makes of an opaque object that never changes: it is asked once."""
    try:
        return _VALUE.__get__(value)
    except AttributeError:
        made = make(value)
        _VALUE.__set__(value, made)
        return made


def is_new_since(value, began):
    # type: (Any, int) -> bool
    """Was this opaque object not here when time was `began`?"""
    return bool(_TIME.__get__(value) > began)


def is_of_the_test(value):
    # type: (Any) -> bool
    """Has the test made it, or did it come by operators of what the test has made alone?"""
    return standing_of(value) == MADE or operands_of(value)[:1] == (OF_MADE,)


def operands_of(value):
    # type: (Any) -> tuple[Any, ...]
    """(OF_MADE or OF_VALUES, objects that the test has made) of what came of these by operators; () of all else."""
    is_derived = issubclass(type(value), RemoteObject) and standing_of(value) == DERIVED
    return made_of(value) if is_derived else ()


def is_made_since(value, began):
    # type: (Any, int) -> bool
    """Has the test made this opaque object, or was it not here when time was `began`?"""
    return is_new_since(value, began) or standing_of(value) == MADE


def now():
    # type: () -> int
    _time[0] += 1
    return _time[0]


for _each in (RemoteBase, RemoteObject):
    type.__delattr__(_each, "__slots__")
_finished.append(True)
