"""Classes of the script that derive from classes of the program.

Such a class is made where its base is, in the candidate's process, so that its objects are as good as the program's.
The program calls what the script defines in it as it calls any function that it is passed. The script's own calls of
that run in the test's process, and the candidate has no say in them.
"""

import builtins
import sys

from cruxcell.jobs.separated.proxies.facts import number_of
from cruxcell.jobs.separated.proxies.operations import (
    SPECIAL,
    is_a_mock,
    is_class,
    kinds_of,
    mro_of,
    own_of,
    package_of,
)
from cruxcell.jobs.separated.proxies.placing import hash_meanwhile, is_reading
from cruxcell.jobs.separated.proxies.runs import LINK, aexits, anexts, exits, nexts
from cruxcell.jobs.separated.proxies.shared_names import is_stdlib
from cruxcell.namespace import CANDIDATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_OWN = "_remote_own"  # an attribute of a class that the script has made: the names of what it defines, kept here
_NOT_TOLD = frozenset(["__classcell__", "__classdictcell__", "__module__"])
_IMPLICIT = {"__new__": staticmethod, "__init_subclass__": classmethod, "__class_getitem__": classmethod}
_FUNCTION = type(lambda: None)
_SUITES = frozenset(["unittest", "_pytest", "pytest"])
_WHY = "class %s derives from a class of the program%s: require IN_PROCESS"


def derive(meta, name, bases, namespace, keywords):
    # type: (type, str, tuple[Any, ...], dict[str, Any], dict[str, Any]) -> Any
    """What a class statement of the script makes. `meta`: the class of the classes that stand for the program's."""
    link = LINK[0]
    if not link.is_test:
        return link.refuse("a class of the test cannot be subclassed (class %s): require IN_PROCESS" % name)
    why = _what_hinders(meta, name, bases, namespace)
    if why:
        return link.decline(_WHY % (name, why))
    members = [(key, _told(key, value)) for key, value in namespace.items() if key not in _NOT_TOLD]
    before = set(link.objects.classes)
    made = link.ask("derive", None, name, bases, (*members, ("__module__", CANDIDATE)), keywords)
    theirs = [each for each in bases if _is_theirs(meta, each)]
    is_one = _is_theirs(meta, made) and all(_is_kind_of(made, each) for each in theirs)
    if not is_one or own_of(made)["_remote_class"] in before:  # one that was there would get the script's functions
        link.gone("the candidate makes no class of what the script derives from its class (class %s)" % name)
    _keep(meta, made, namespace)
    return made


def is_statement(arguments):
    # type: (tuple[Any, ...]) -> bool
    """Is it a class statement of the script that calls this as the metaclass of its class?"""
    if not LINK[0].is_test or list(map(type, arguments)) != [str, tuple, dict]:
        return False
    namespace = arguments[2]  # type: Any
    return "__module__" in namespace and "__qualname__" in namespace


def derive_by(metaclass, meta, arguments, keywords):
    # type: (object, type, tuple[Any, ...], dict[str, Any]) -> Any
    name, bases, namespace = arguments
    return derive(meta, name, bases, namespace, {**keywords, "metaclass": metaclass})


def bases_for(meta, stand_in, bases):
    # type: (type, Any, tuple[Any, ...]) -> Any
    """The classes that a class statement means by an object of the program's among its bases (`Stack[int]`). Without
    any, the class of that object would be called as a metaclass, and be handed what the script defines."""
    link = LINK[0]
    try:
        found = link.call(link.ask("get", stand_in, "__mro_entries__"), (bases,), {})
    except AttributeError:
        found = None
    if type(found) is not tuple or not any(_is_theirs(meta, each) for each in found):
        return link.refuse("an object of the program that is no class stands among the bases of a class of the script")
    return found


def _what_hinders(meta, name, bases, namespace):
    # type: (type, str, tuple[Any, ...], dict[str, Any]) -> str
    """Why it has to be the script's own, or has no place over there."""
    if any(key.startswith("test") for key in namespace) or ("_pytest" in sys.modules and name.startswith("Test")):
        return " and has tests"  # which the candidate would have a hand in
    for before, each in zip((None, *bases), bases):
        if not _is_theirs(meta, each) and (not is_stdlib(each) or package_of(each) in _SUITES):
            return " and from one that the program does not have"
        if before is not None and is_derived(each) and not is_derived(before):
            return " and behind it from one that the script has made of one"
    return ""


def _told(name, value):
    # type: (str, Any) -> Any
    """What a class statement makes of functions of some names, which the other half does not know for functions."""
    return _IMPLICIT[name](value) if name in _IMPLICIT and type(value) is _FUNCTION else value


def _keep(meta, made, namespace):
    # type: (type, Any, dict[str, Any]) -> None
    """Have the script's own functions on the class that stands for the one it has made."""
    kept = {name: value for name, value in namespace.items() if _is_kept(meta, name, value)}
    for name, value in kept.items():
        type.__setattr__(made, name, _quiet(name, value))
        _is_below(made, name)
    type.__setattr__(made, _OWN, set(kept))
    for cell, content in (("__classcell__", made), ("__classdictcell__", dict(namespace))):  # super(), annotations
        if cell in namespace:
            namespace[cell].cell_contents = content
    for name, value in kept.items():
        named = getattr(type(value), "__set_name__", None)
        if named is not None:
            named(value, made, name)


def _is_kept(meta, name, value):
    # type: (type, str, Any) -> bool
    """Is it a function, a property, a mock or the like? Not how an object is made, and how its attributes are found."""
    kind = type(value)
    is_its_own = is_a_mock(value) or any("__get__" in own_of(each) for each in mro_of(kind))
    return not _is_theirs(meta, kind) and is_its_own and (name in SPECIAL or name[:2] != "__")


_below = set()  # type: set[tuple[int, str]]


def _is_below(made, name):
    # type: (Any, str) -> None
    _below.update((id(each), name) for each in mro_of(made)[1:] if "_remote_class" in own_of(each))


def of_base(cls, name):
    # type: (Any, str) -> Any
    """A special method of a class, `Base.__len__`, if a class of the script's that derives from it has its own: who
    names it means that of the base, and not what an object of the derived class is asked by it. None of others."""
    if (id(cls), name) not in _below or name in own_names([cls]):
        return None
    found = LINK[0].ask("get", cls, name)
    if name in _SHAPED:
        return lambda self, *told: _SHAPED[name](lambda *more: found(self, *more))(*told)
    return found


def is_derived(cls):
    # type: (Any) -> bool
    """Is it a class that the script has made of one of the program's?"""
    return is_class(cls) and _OWN in own_of(cls)


def own_names(classes):
    # type: (Any) -> set[str]
    """What the script defines in these classes, and in those that they derive from: so it is in all that derive from
    them, whoever makes these."""
    return {name for cls in classes for each in mro_of(cls) for name in own_of(each).get(_OWN, ())}


def keep_ahead(made):
    # type: (Any) -> None
    """What the script defines is found first in what the candidate derives from its class, whatever stands before that
    among the bases."""
    classes = mro_of(made)
    for name in own_names([made]):
        owners = [each for each in classes if name in own_of(each)]
        first = next(each for each in owners if name in own_of(each).get(_OWN, ()))
        if first is not owners[0]:
            type.__setattr__(made, name, own_of(first)[name])


def own_members(cls):
    # type: (Any) -> dict[str, Any]
    """The script's own functions of a class, by their names."""
    return {name: _behind(own_of(cls)[name]) for name in own_of(cls).get(_OWN, ())}


def set_on_class(meta, cls, name, value):
    # type: (type, Any, str, Any) -> None
    """The script has set it over there. A function of its own it has here as well, as if it stood in the class."""
    if not is_derived(cls):
        return
    if _is_kept(meta, name, value):
        type.__setattr__(cls, name, _quiet(name, value))
        _is_below(cls, name)
        own_of(cls)[_OWN].add(name)
    elif name in own_names([cls]):
        own_of(cls)[_OWN].discard(name)
        type.__setattr__(cls, name, Asked(name))


def gone_from_class(cls, name):
    # type: (Any, str) -> None
    if is_derived(cls) and name in own_of(cls):
        own_of(cls)[_OWN].discard(name)
        type.__delattr__(cls, name)


class Asked:
    """A name that the other half is asked for: whatever it is over there, to an object or to the class."""

    def __init__(self, name):
        # type: (str) -> None
        self._name = name

    def __get__(self, instance, owner=None):
        # type: (object, object) -> Any
        return LINK[0].ask("get", owner if instance is None else instance, self._name)

    def __set__(self, instance, value):
        # type: (object, object) -> None
        LINK[0].ask("set", instance, self._name, value)


class _Defined(Asked):
    """What the script defines in a class, where it is not always that."""

    def __init__(self, name, value):
        # type: (str, Any) -> None
        Asked.__init__(self, name)
        self.value = value

    def __get__(self, instance, owner=None):
        # type: (object, object) -> Any
        bind = getattr(type(self.value), "__get__", None)
        return self.value if bind is None else bind(self.value, instance, owner)


class _Shadowed(_Defined):
    """It has given some objects another of."""

    def __init__(self, name, value):
        # type: (str, Any) -> None
        _Defined.__init__(self, name, value)
        self.of = set()  # type: set[int]

    def __get__(self, instance, owner=None):
        # type: (object, object) -> Any
        is_another = instance is not None and number_of(instance) in self.of
        return (Asked if is_another else _Defined).__get__(self, instance, owner)


class _Quiet(_Defined):
    """It is not called while a message is read: what it asks would come in the midst of that."""

    def __get__(self, instance, owner=None):
        # type: (object, object) -> Any
        if instance is not None and is_reading():
            return _MEANWHILE[self._name].__get__(instance)
        return _Defined.__get__(self, instance, owner)


_MEANWHILE = {
    "__hash__": lambda self: hash_meanwhile(self, object.__hash__(self)),
    "__eq__": lambda _self, _other: NotImplemented,
}  # type: dict[str, Any]


def _quiet(name, value):
    # type: (str, Any) -> Any
    return _Quiet(name, value) if name in _MEANWHILE else value


def _behind(value):
    # type: (Any) -> Any
    return _behind(value.value) if isinstance(value, _Defined) else value


def set_here(value, name, given):
    # type: (Any, str, Any) -> bool
    """Is what an object is told to set for a property of the script's? Then that has done it."""
    owner = _owner_of(value, name)
    if owner is None:
        return False
    member = own_of(owner)[name]
    if type(member) is not _Shadowed:
        setter = getattr(type(member), "__set__", None)
        if setter is not None:
            setter(member, value, given)
            return True
        member = _Shadowed(name, member)
        type.__setattr__(owner, name, member)
    member.of.add(number_of(value))
    return False


def deleted_here(value, name):
    # type: (Any, str) -> None
    """An object has no such attribute of its own any more."""
    owner = _owner_of(value, name)
    if owner is not None and type(own_of(owner)[name]) is _Shadowed:
        own_of(owner)[name].of.discard(number_of(value))


def _owner_of(value, name):
    # type: (Any, str) -> Any
    """The class that has it, if it is the script that defines it there."""
    owner = next((each for each in mro_of(type(value)) if name in own_of(each)), None)
    return owner if owner is not None and name in own_of(owner).get(_OWN, ()) else None


def checked(cls, value, of="call"):
    # type: (Any, Any, str) -> Any
    """What came of a call of a class, or of a copy of its object: of one of the script's an object of it, or what that
    has of the script's would be the candidate's to say."""
    if is_derived(cls) and not _is_kind_of(type(value), cls):
        return LINK[0].refuse("a %s of class %s gives a %s" % (of, cls.__name__, type(value).__name__))
    return value


def with_own_names(cls, found):
    # type: (Any, list[str]) -> list[str]
    """What the candidate says that a class has (`dir`), and what the script defines in it."""
    return [*found, *sorted(own_names([cls]).difference(found))]


def with_derived(cls, found):
    # type: (Any, list[type]) -> list[type]
    """What the candidate says that derives from a class, and what the script has made that does."""
    there = set(map(id, found))
    return [*found, *[each for each in type.__subclasses__(cls) if is_derived(each) and id(each) not in there]]


def _is_theirs(meta, cls):
    # type: (type, object) -> bool
    """Does it stand for a class of the program's? `meta`: the class of those that do."""
    return issubclass(type(cls), meta)


def _is_kind_of(cls, of):
    # type: (Any, Any) -> bool
    """`issubclass`, of which the candidate says nothing."""
    return any(each is of for each in kinds_of(cls))


class _Super:
    """What `super()` gives for an object of the other half's: its attributes are asked for there."""

    __slots__ = ("_found",)

    def __init__(self, found):
        # type: (object) -> None
        self._found = found

    def __getattribute__(self, name):
        # type: (str) -> Any
        found = LINK[0].ask("get", object.__getattribute__(self, "_found"), name)
        return _SHAPED[name](found) if name in _SHAPED else found


_SHAPED = {"__exit__": exits, "__aexit__": aexits, "__next__": nexts, "__anext__": anexts}  # type: dict[str, Any]


def super_(*arguments):
    # type: (Any) -> Any
    """In the place of `super` in a script."""
    if not arguments:
        frame = sys._getframe(1)
        code, variables = frame.f_code, frame.f_locals
        if "__class__" not in variables or not code.co_argcount:
            raise RuntimeError("super(): no arguments")
        arguments = variables["__class__"], variables[code.co_varnames[0]]
    if "_remote_class" in own_of(arguments[0]):
        return _Super(LINK[0].call(builtins.super, arguments, {}))
    return builtins.super(*arguments)


def made_class(name, bases, members, keywords):
    # type: (str, tuple[Any, ...], tuple[tuple[str, Any], ...], dict[str, Any]) -> type
    """In the candidate's process: the class itself."""
    types = __import__("types")  # type: Any
    return types.new_class(name, bases, keywords, lambda namespace: _fill(namespace, members))  # type: ignore[no-any-return]


def _fill(namespace, members):
    # type: (Any, tuple[tuple[str, Any], ...]) -> None
    for name, value in members:
        namespace[name] = value
