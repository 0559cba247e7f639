"""What a class of the other half has, as that half tells it: names, members, fields, the signature of its `__init__`.

What the candidate does not say is never taken for nothing: the script is refused.
"""

import sys

from cruxcell.jobs.separated.proxies.facts import DERIVES, LIBRARIES, Opaque
from cruxcell.jobs.separated.proxies.operations import OF_ESTIMATORS, SPECIAL, mro_of, own_of
from cruxcell.jobs.separated.proxies.runs import LINK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

OF_OBJECTS = frozenset(["__delattr__", "__dir__", "__getattribute__", "__init__", "__reduce_ex__", "__setattr__"])
OF_SOME = OF_OBJECTS | frozenset(
    ["__annotations__", "__bool__", "__contains__", "__dict__", "__getitem__", "__iter__", "__len__"]
)
_ABSTRACT = frozenset(["collections.abc", "_collections_abc"])
_PUBLIC = frozenset(
    [
        "__name__", "__qualname__", "__doc__", "__module__", "__dict__", "__wrapped__", "__annotations__", "__code__",
        "__defaults__", "__kwdefaults__", "__func__", "__self__", "__members__", "__match_args__", "__slots__",
        "__abstractmethods__", "__attrs_attrs__",
        "_fields", "_asdict", "_replace", "_make", "_field_defaults",
    ]
)  # fmt: skip
# Classes of the library that have no say in how an object is made.
_MAKE_NOTHING = frozenset([DERIVES + each for each in ("abc:ABC", "typing:Generic", "typing:Protocol")])
_KINDS_OF_FIELDS = frozenset(["_FIELD", "_FIELD_CLASSVAR", "_FIELD_INITVAR"])


def is_refused(name):
    # type: (str) -> bool
    """Is nobody to ask this? So it is with what a library may look for, unless the script itself names it."""
    if not name.startswith("__") or name in _PUBLIC or name.startswith(OF_ESTIMATORS):
        return False
    return name not in LINK[0].named or name in SPECIAL or name.startswith("__array")


def is_told(cls):
    # type: (Any) -> bool
    """Is it a class of the candidate's, which tells the test what it has?"""
    return "_remote_class" in own_of(cls) and bool(LINK[0].is_test)


def is_shown(cls):
    # type: (Any) -> bool
    """Is it a class of the script's, in the candidate's process?"""
    return "_remote_class" in own_of(cls) and not LINK[0].is_test


def looked(operation, target, kind):
    # type: (str, object, Any) -> Any
    """What the candidate has there; never nothing where it does not say."""
    found = LINK[0].ask(operation, target)  # type: Any
    of = type if operation == "subclasses" else str
    if type(found) is not kind or not all(isinstance(each, of) for each in found):
        LINK[0].refuse("the candidate does not say what %r has" % type(target).__name__)
    return found


def signature_of(cls):
    # type: (Any) -> Any
    """That of its `__init__` or `__new__`, without the object; None of a class that has neither of the program, but may
    have one of a library."""
    inspect = __import__("inspect")
    for name in ("__init__", "__new__"):
        if LINK[0].ask("members", cls, name):
            found = inspect.signature(LINK[0].ask("get", cls, name))
            return found.replace(parameters=list(found.parameters.values())[1:])
    is_plain = issubclass(cls, Opaque) and own_of(cls).get(LIBRARIES, frozenset()) <= _MAKE_NOTHING
    return inspect.Signature() if is_plain else None


def signature_of_call(value):
    # type: (Any) -> Any
    """Of an object that can be called, that of what it does then; None of others, of what stands for a function, and of
    what wraps one, which is looked at instead."""
    own = own_of(type(value))
    if not LINK[0].is_test or "__call__" not in own or "__class__" in own:
        return None
    is_wrapped = hasattr(value, "__wrapped__")
    return None if is_wrapped else __import__("inspect").signature(LINK[0].ask("get", value, "__call__"))


def _sees_proxies(module):
    # type: (Any) -> bool
    """Not what a class has over there: abstract classes look for methods, which a proxy has from the library too."""
    return type(module) is str and (module in _ABSTRACT or module.startswith("cruxcell."))


def is_asked_for(cls, name):
    # type: (Any, str) -> bool
    """Is it a class of the other half's that has no such attribute here?"""
    if name == "__dict__":
        return is_told(cls) and not _sees_proxies(sys._getframe(2).f_globals.get("__name__"))
    found = [own_of(each) for each in mro_of(cls)]
    if name in OF_OBJECTS:
        return is_told(cls) and bool(LINK[0].ask("members", cls, name))
    return "_remote_class" in found[0] and not any(name in each for each in found)


def dataclass_fields(cls):
    # type: (Any) -> dict[str, Any]
    """The fields of a dataclass of the other half, as `dataclasses` here wants to see them."""
    dataclasses = sys.modules.get("dataclasses")  # type: Any
    told = LINK[0].ask("fields", cls) if dataclasses is not None else None
    if type(told) is not list:
        raise AttributeError("type object %r has no attribute '__dataclass_fields__'" % cls.__name__)
    found = {}  # type: dict[str, Any]
    for name, kind, *choices in told:
        field = dataclasses.field(**dict(zip(("init", "repr", "compare"), choices)))  # type: Any
        field.name, field._field_type = name, getattr(dataclasses, kind if kind in _KINDS_OF_FIELDS else "_FIELD")
        found[name] = field
    return found
