"""Proxies for objects of the other process, and the class of their classes.

For every class of the other half there is one class here, with the same name and bases, so that `isinstance`,
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
from cruxcell.jobs.separated.proxies.facts import (
    MADE,
    Opaque,
    class_behind,
    is_new_since,
    is_opaque,
    keep_owner,
    marked,
    now,
    standing_of,
    was_handed_over,
)
from cruxcell.jobs.separated.proxies.members import is_of_members, is_read
from cruxcell.jobs.separated.proxies.operations import ASKED, mro_of, own_of
from cruxcell.jobs.separated.proxies.runs import LINK
from cruxcell.jobs.separated.proxies.signatures import shown_init, signature_of_init
from cruxcell.jobs.separated.proxies.told import (
    OF_OBJECTS,
    OF_SOME,
    dataclass_fields,
    is_asked_for,
    is_refused,
    is_shown,
    is_told,
    looked,
    signature_of,
    signature_of_call,
)

MappingProxyType = type(type.__dict__)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_BASES = type.__dict__["__bases__"].__get__
_FLAGS = type.__dict__["__flags__"].__get__
_IS_ABSTRACT = 1 << 20  # Py_TPFLAGS_IS_ABSTRACT
_finished = []  # type: list[bool]


def _without_ours(names):
    # type: (Any) -> list[str]
    """Without what the harness keeps in a class."""
    return [each for each in names if not each.startswith("_remote_")]


def _signature(cls):
    # type: (Any) -> Any
    """How a class of the other half's is called; None where nothing says that."""
    if is_told(cls):
        return signature_of(cls)
    return signature_of_init(cls) if is_shown(cls) else None


class RemoteType(type):
    """The class of the classes that stand for those of the other half; calling one makes an object over there."""

    def __new__(cls, name, bases, namespace, /, **keywords):
        # type: (type, str, tuple[type, ...], dict[str, Any], Any) -> Any
        if _finished:
            return derive(RemoteType, name, bases, namespace, keywords)
        return type.__new__(cls, name, bases, namespace)

    def __init__(cls, name, bases, namespace, /, **keywords):  # noqa: ARG002 - of the class statement
        # type: (str, tuple[type, ...], dict[str, Any], Any) -> None
        type.__init__(cls, name, bases, namespace)

    def __call__(cls, /, *arguments, **keywords):
        # type: (object, object) -> Any
        if is_statement(arguments):
            return derive_by(cls, RemoteType, arguments, keywords)
        own = own_of(cls).get("__class__")
        if type(own) is property and not LINK[0].is_test:  # `type(stream)()`, which the test would not make
            return own.fget(None)(*arguments, **keywords)  # type: ignore[misc]
        return make(cls, cls, arguments, keywords)

    def __getattribute__(cls, name):
        # type: (str) -> Any
        """What is here for all classes, and to be had of those alone that have it over there."""
        if name in OF_SOME and is_asked_for(cls, name):
            if name == "__dict__":
                return MappingProxyType({**looked("members", cls, dict), **own_members(cls)})
            return LINK[0].ask("get", cls, name)
        if name in OF_OBJECTS and is_told(cls) and name != "__init__":
            return getattr(object, name)
        if name == "__init__" and is_shown(cls):
            return shown_init(cls, type.__getattribute__(cls, name))
        if name == "__new__" and name in LINK[0].named and is_told(cls):
            return LINK[0].ask("get", cls, name)
        return (of_base(cls, name) if name in ASKED else None) or type.__getattribute__(cls, name)

    def __getattr__(cls, name):
        # type: (str) -> Any
        if name == "__dataclass_fields__" and "_remote_class" in own_of(cls):
            return dataclass_fields(cls)
        signature = _signature(cls) if name == "__signature__" else None
        if signature is not None:
            return signature
        if is_refused(name):
            raise AttributeError("type object %r has no attribute %r" % (cls.__name__, name))
        return LINK[0].ask("get", cls, name)

    def __setattr__(cls, name, value):
        # type: (str, object) -> None
        if name.startswith("_abc_") or name == "__abstractmethods__":
            type.__setattr__(cls, name, value)
        elif name == "__dataclass_fields__" and is_derived(cls):
            LINK[0].refuse("a dataclass of the script derives from a class of the program: require IN_PROCESS")
        else:
            LINK[0].ask("set", cls, name, value)
            set_on_class(RemoteType, cls, name, value)

    def __delattr__(cls, name):
        # type: (str) -> None
        LINK[0].ask("del", cls, name)
        gone_from_class(cls, name)

    @property
    def __mro__(cls):
        # type: () -> tuple[type, ...]
        """As over there: without what all proxies have."""
        return tuple([each for each in mro_of(cls) if not any(each is one for one in _OF_ALL)])

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
            is_abstract = is_told(cls) and LINK[0].ask("get", cls, "__abstractmethods__")
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
        return LINK[0].ask("get", cls, "__doc__") if "_remote_class" in own_of(cls) else None

    def __repr__(cls):
        # type: () -> str
        """As over there, where it has the module of a library, or a metaclass that says more."""
        said = LINK[0].ask("special", cls, "__repr__") if is_told(cls) else ""
        return said if type(said) is str and said else type.__repr__(cls)

    def __eq__(cls, other):
        # type: (object) -> bool
        """Also to the class of a library that its objects say they are of: `type(f()) == Figure`. In the test's half
        also to one of Python's own, which has no value then (`type(f()) == GeneratorType`): a candidate is told of any,
        and the harness tells what a value is by these."""
        own = own_of(cls).get("__class__")
        stands_for = cls  # type: Any
        if type(own) is property and is_told(cls):
            stands_for = own.fget(None)  # type: ignore[misc]
        is_one = stands_for is other and (LINK[0].is_test or stands_for.__module__ != "builtins")
        return cls is other or is_one

    __hash__ = type.__hash__

    def __dir__(cls):
        # type: () -> Any
        return _without_ours(type.__dir__(cls)) if not is_told(cls) else with_own_names(cls, looked("dir", cls, list))

    def __subclasses__(cls):
        # type: () -> Any
        return type.__subclasses__(cls) if not is_told(cls) else with_derived(cls, looked("subclasses", cls, list))

    def __iter__(cls):
        # type: () -> Any
        return _items(cls, "__iter__")

    def __reversed__(cls):
        # type: () -> Any
        return _items(cls, "__reversed__")

    def __contains__(cls, item):
        # type: (object) -> bool
        """As with objects: where what it gives holds the item, the metaclass has to say so, too."""
        if not any(one is item or one == item for one in cls):
            return False
        return not LINK[0].is_test or bool(LINK[0].ask("special", cls, "__contains__", item))

    def __len__(cls):
        # type: () -> Any
        return LINK[0].ask("special", cls, "__len__")

    def __bool__(cls):
        # type: () -> bool
        return True

    def __getitem__(cls, key):
        # type: (object) -> Any
        began = now()
        found = LINK[0].ask("special", cls, "__getitem__", key)
        if LINK[0].means_a_class(cls):
            _stands_for(cls, found, began)  # `Stack[int]()` makes an object of that
        return found


def _items(cls, name):
    # type: (Any, str) -> Any
    """What a class of the other half's gives when it is gone through. Members are read at once."""
    began = now()
    found = LINK[0].ask("special", cls, name)
    if not (is_of_members(cls) and hasattr(type(found), "__next__")):
        return found
    _stands_for(cls, found, began)
    return iter(list(found))


def _stands_for(cls, value, began):
    # type: (Any, Any, int) -> None
    """What a class gives may be asked for what that makes or has, unless it was here before: a function of the
    program's, it may be, which would make for a test what it makes itself."""
    if is_opaque(value) and is_new_since(value, LINK[0].alone_since(began)):
        keep_owner(value, cls)


class RemoteBase(metaclass=RemoteType):
    """What all proxies have."""

    __slots__ = ()

    def __getattr__(self, name):
        # type: (str) -> Any
        if name == "__dataclass_fields__":
            return type(self).__dataclass_fields__
        if name == "__mro_entries__" and LINK[0].is_test:
            return lambda bases: bases_for(RemoteType, self, bases)
        signature = signature_of_call(self) if name == "__signature__" else None
        if signature is not None:
            return signature
        if is_refused(name):
            raise AttributeError("%r object has no attribute %r" % (type(self).__name__, name))
        found = LINK[0].ask("get", self, name)
        if is_opaque(found) and "__call__" in own_of(type(found)) and standing_of(self):
            keep_owner(found, self)
        return found

    def __setattr__(self, name, value):
        # type: (str, object) -> None
        if name.startswith("__") and isinstance(self, BaseException):
            BaseException.__setattr__(self, name, value)
        elif set_here(self, name, value):
            return
        elif name != "__signature__" or LINK[0].is_test:  # which matplotlib notes on a `show` that is a mock
            LINK[0].ask("set", self, name, value)

    def __delattr__(self, name):
        # type: (str) -> None
        LINK[0].ask("del", self, name)
        deleted_here(self, name)

    def __dir__(self):
        # type: () -> Any
        if LINK[0].is_test:
            return with_own_names(type(self), looked("dir", self, list))
        return _without_ours(object.__dir__(self))

    def __reduce_ex__(self, protocol):
        # type: (object) -> Any
        caller = sys._getframe(1)
        if caller.f_globals.get("__name__") == "copy":
            is_deep = caller.f_code.co_name == "deepcopy"
            memo = caller.f_locals.get("memo")
            return lambda: copied_there(self, is_deep, memo), ()
        return LINK[0].pickles.reduced(self, protocol)


class RemoteObject(RemoteBase, Opaque):
    """An opaque object."""

    __slots__ = ()


def make(cls, target, arguments, keywords):
    # type: (Any, Any, tuple[object, ...], dict[str, object]) -> Any
    """Call a class, or what stands for it (`Stack[int]`); any function where there is no class."""
    link = LINK[0]
    if cls is None or not link.means_a_class(cls):
        return link.call(target, arguments, keywords)
    shown = link.note((*arguments, *keywords.values()))
    began = now()
    value = checked(cls, link.call(target, arguments, keywords))
    marked(value, MADE, cls, began, shown)
    if (standing_of(value) != MADE or was_handed_over(value)) and not is_read(value):
        link.note_again(value, shown, began)
    return value


def class_of_alias(value):
    # type: (Any) -> Any
    """The class that `Stack[int]` stands for; None of what is no such object."""
    found = class_behind(value)
    return found if is_class_of_proxies(found) else None


def is_remote(value):
    # type: (object) -> bool
    """Is it a class or an object of the other half's, which holds nothing here?"""
    return is_class_of_proxies(value) or is_opaque(value)


def is_class_of_proxies(value):
    # type: (object) -> bool
    """Is it a class that was made here for one of the other half's?"""
    return issubclass(type(value), RemoteType)


_OF_ALL = (RemoteObject, RemoteBase, Opaque)
for _each in (RemoteBase, RemoteObject):
    type.__delattr__(_each, "__slots__")
_finished.append(True)
