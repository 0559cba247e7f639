"""The classes of proxies: one for each class of the other half.

Three families: opaque objects; values with a class of their own (an IntEnum, a namedtuple, a list with methods), which
are that value here and compare as it; exceptions.
"""

from cruxcell.jobs.separated.proxies import counting, flags, libraries, library_values
from cruxcell.jobs.separated.proxies.asking import hashed, own_of_error, own_of_value
from cruxcell.jobs.separated.proxies.deriving import Asked, keep_ahead, own_names
from cruxcell.jobs.separated.proxies.metaclasses import metaclass_for, refuse_descriptor
from cruxcell.jobs.separated.proxies.operations import (
    ASKED,
    DESCRIPTORS,
    MAY_BE_NONE,
    METHODS,
    NONE,
    mro_of,
    own_of,
)
from cruxcell.jobs.separated.proxies.remote import RemoteBase, RemoteObject, is_class_of_proxies
from cruxcell.jobs.separated.proxies.runs import LINK, QUESTIONS
from cruxcell.jobs.separated.proxies.signatures import PARTS, FunctionOf
from cruxcell.jobs.separated.proxies.special_methods import (
    FUNCTION_TYPE,
    METHOD_TYPE,
    hash_of_object,
    opposite,
    special,
)
from cruxcell.namespace import CANDIDATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_get = object.__getattribute__


def make_class(  # noqa: PLR0917 - what a class is written as
    name, number, bases, offers, overrides, stands_for, module=CANDIDATE
):
    # type: (str, int, tuple[type, ...], list[str], list[str], object, str) -> type
    """The class that stands for class `number` of the other half.

    Args:
        name: its name; behind a NUL its qualified name, where that is another.
        number: what the other half knows it by.
        bases: classes made here, builtin exceptions and plain types; those of other families are left out. A class
            has objects that are values if a plain type stands among them, whatever it is derived from.
        offers: names of special methods that its objects have.
        overrides: names of methods of a plain base, or attributes of a builtin error, that it has its own of.
        stands_for: a builtin class its objects say they are of (`__class__`), or None.
        module: what it says its module is.
    """
    plain, is_test = _values_among(bases), LINK[0].is_test
    is_opaque = is_test and not plain
    name, _, qualified = name.partition("\0")
    namespace = {"__module__": module, "_remote_class": number, "__slots__": ()}  # type: dict[str, Any]
    namespace["__doc__"] = property(_documentation)
    family = tuple([each for each in bases if issubclass(each, RemoteObject)]) or (RemoteObject,)  # type: tuple[type, ...]
    asked = offers
    if plain:
        family = tuple(plain) if issubclass(plain[0], RemoteBase) else (RemoteBase, *plain)
        del namespace["__slots__"]
        more, asked = _of_plain_base(plain[0], offers, overrides)
        namespace.update(more)
    namespace.update(_special_methods(asked, offers))
    if "__eq__" in namespace:
        namespace["__hash__"] = hash_of_object if "__hash__" in offers else object.__hash__
        if is_opaque:
            namespace.setdefault("__ne__", opposite)
    namespace.update({each[1:]: None for each in offers if each[:1] == NONE and each[1:] in MAY_BE_NONE})
    if is_test and not DESCRIPTORS.isdisjoint(offers) and stands_for not in (FUNCTION_TYPE, METHOD_TYPE):
        namespace["__set_name__"] = _is_no_descriptor_here
    if not is_test:
        namespace.update({each[1:]: Asked(each[1:]) for each in offers if each[:1] == "."})
    namespace.update(libraries.told(offers, is_opaque))
    namespace.update(library_values.reckoned(offers, namespace))
    namespace.update(_called_by_name(is_opaque))
    if stands_for is not None:
        namespace.update(_of_known_class(stands_for, module))
    elif any("__class__" in own_of(each) for base in family for each in mro_of(base)[:-1]):  # which says so of its own
        namespace["__class__"] = property(lambda _self: made)
    owned = own_names(family)
    namespace = {each: value for each, value in namespace.items() if each not in owned}
    namespace["__qualname__"] = (qualified or name).replace("\0", "")[:400]
    made = type.__new__(metaclass_for(family, offers), name[:200], family, namespace)  # type: type
    keep_ahead(made)
    if "__slots__" in namespace:  # which have done their work; what the object's class has is asked for
        type.__delattr__(made, "__slots__")
    return made


def _of_plain_base(first, offers, overrides):
    # type: (Any, list[str], list[str]) -> tuple[dict[str, Any], list[str]]
    """What a class has whose objects are values or exceptions, and the special methods of it that are asked for.
    `first`: its first base that makes it such a class."""
    base = next(each for each in mro_of(first) if not is_class_of_proxies(each))
    if issubclass(base, BaseException):
        found = {"__str__": _told, "__repr__": _shown}  # type: dict[str, Any]
        own = overrides if LINK[0].is_test else ()
        found.update({each: own_of_error(each) for each in own if hasattr(base, each)})
        return found, [each for each in offers if each not in ("__str__", "__repr__")]
    found = flags.operators(offers)
    found.update(counting.operators(first))
    found.update(_own_of_value(base, overrides))
    return found, [each for each in offers if each in _OF_VALUES]


def _special_methods(asked, offers):
    # type: (list[str], list[str]) -> dict[str, Any]
    """The methods among `asked`, each of which asks the other half."""
    is_test = LINK[0].is_test
    is_run = "__next__" in offers or "__await__" in offers
    found = {}  # type: dict[str, Any]
    for each in asked if is_run or not is_test else _without_methods(asked):
        method = special(each, is_test, is_run)
        if method is not None:
            found[each] = method
    return found


def _without_methods(names):
    # type: (list[str]) -> list[str]
    """`send` of a mailer, which is no generator, is asked for as what other names mean."""
    return [each for each in names if each not in METHODS]


def _values_among(bases):
    # type: (tuple[Any, ...]) -> list[Any]
    """The bases of a class whose objects are values or exceptions; none of another, whatever it is derived from."""
    found = [each for each in bases if not issubclass(each, RemoteObject)]
    is_one = any(issubclass(each, BaseException) or not issubclass(each, RemoteBase) for each in found)
    return found if is_one else []


def _own_of_value(base, names):
    # type: (Any, list[str]) -> dict[str, Any]
    """What a class derived from a plain type has in the place of what that type has."""
    is_test = LINK[0].is_test
    found = {}  # type: dict[str, Any]
    for name in names:
        is_like_an_object = name in ASKED or (name == "__contains__" and not hasattr(base, name))
        method = special(name, is_test, False) if is_like_an_object else own_of_value(name, base, is_test)
        if name == "__hash__":  # values that are equal are found as such
            method = hashed(base.__hash__ or object.__hash__, is_test and base.__hash__ is not None)
        if method is not None:
            found[name] = method
    return found


def _of_known_class(stands_for, module):
    # type: (object, str) -> dict[str, Any]
    """What an object has that says it is of a class of the standard library."""
    found = {"__class__": property(lambda _self: stands_for)}  # type: dict[str, Any]
    if stands_for is FUNCTION_TYPE:  # a decorator's, say, among the methods of a class of this half
        found.update(__get__=_bound, __module__=_ModuleOf(module))
        if LINK[0].is_test:  # doctest looks whether they are those of the script
            found["__globals__"] = property(lambda _self: {})
        else:
            found.update(PARTS)
    elif stands_for is METHOD_TYPE and not LINK[0].is_test:
        found["__func__"] = property(FunctionOf)
    return found


class _ModuleOf(str):
    """Of a class for functions its module; of a function what that says: one has another's by `functools.wraps`."""

    __slots__ = ()

    def __get__(self, function, _owner=None):
        # type: (object, object) -> Any
        return LINK[0].ask("get", function, "__module__")


def _called_by_name(is_opaque):
    # type: (bool) -> dict[str, Any]
    """What an object has for a script that names methods which every object has: those of a proxy know nothing of what
    it stands for."""
    return {"__getattribute__": _attribute} if is_opaque and _OF_EVERY_OBJECT & LINK[0].named else {}


_OF_EVERY_OBJECT = frozenset(["__getattribute__", "__init__"])


def _attribute(self, name):
    # type: (Any, str) -> Any
    """What is here, but `counter.__init__(0)` and `mail.__getattribute__("app")` are for the program's object."""
    if name == "__getattribute__" or (name == "__init__" and not _is_defined(type(self), name)):
        return RemoteBase.__getattr__(self, name)
    return _get(self, name)


def _is_defined(cls, name):
    # type: (Any, str) -> bool
    """By a class that the script derives?"""
    return any(name in own_of(each) for each in mro_of(cls)[:-1])


def _is_no_descriptor_here(self, cls, name):
    # type: (object, type, str) -> None
    refuse_descriptor("a " + type(self).__name__, cls, name)


def _bound(self, instance, _owner=None):
    # type: (Any, object, object) -> Any
    return self if instance is None else METHOD_TYPE(self, instance)


def _documentation(self):
    # type: (object) -> Any
    return LINK[0].ask("get", self, "__doc__")


_OF_VALUES = frozenset(["__str__", "__repr__", "__format__", "__missing__", "__call__", "__enter__", "__exit__"])


def _told(self):
    # type: (Any) -> Any
    """The text of an exception."""
    return _told_anew(self, "__str__") if _may_have_changed(self) else _get(self, "__dict__").get("_remote_text", "")


def _shown(self):
    # type: (Any) -> Any
    """How it is shown, where its class says that."""
    if _may_have_changed(self):
        return _told_anew(self, "__repr__")
    return _get(self, "__dict__").get("_remote_repr") or BaseException.__repr__(self)


def _may_have_changed(self):
    # type: (Any) -> bool
    """Has the test asked for anything since the candidate has told an exception, by which that may be another?"""
    link, asked = LINK[0], _get(self, "__dict__").get("_remote_asked", QUESTIONS[0])
    return bool(link.is_test and asked != QUESTIONS[0] and link.may_show())


def _told_anew(self, name):
    # type: (Any, str) -> Any
    return LINK[0].ask("special", self, name)
