"""What is told of a class that only one half has, and what the other makes of it."""

import sys

from cruxcell.jobs.separated.proxies.counting import is_ours
from cruxcell.jobs.separated.proxies.equality import CONTENT
from cruxcell.jobs.separated.proxies.metaclasses import CHECKS, is_said, said_by_metaclass
from cruxcell.jobs.separated.proxies.operations import (
    BESIDES,
    OPERATORS,
    SPECIAL,
    kinds_of,
    mro_of,
    offered,
    own_of,
    package_of,
)
from cruxcell.jobs.separated.proxies.remote import RemoteType, is_class_of_proxies
from cruxcell.jobs.separated.proxies.runs import LINK
from cruxcell.jobs.separated.proxies.shared_names import MODULES, PLAIN, is_stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

MUTABLE = (list, dict, set, bytearray)
# Classes are told by their addresses: a metaclass of a program's may say what its class equals, or that it has no hash.
PLAIN_ONES = frozenset(map(id, PLAIN))


def plain_base(cls):
    # type: (Any) -> Any
    """The plain type that a class is a value of: it keeps that type's equality. None for others."""
    for each in mro_of(cls):
        if may_be_base(each):
            return each
        if "__eq__" in own_of(each) and not is_ours(own_of(each)["__eq__"]):
            return None
    return None


def _is_a_dict_of_the_library(cls):
    # type: (Any) -> bool
    """Is it one with an equality or order of its own, which the other half has, too?"""
    collections = sys.modules.get("collections")  # type: Any
    return collections is not None and (cls is collections.OrderedDict or cls is collections.Counter)


def may_be_base(cls):
    # type: (Any) -> bool
    """A plain type that a class may be a value of?"""
    return id(cls) in PLAIN_ONES or _is_a_dict_of_the_library(cls)


def told_bases(cls, known):
    # type: (Any, Callable[[object], int | None]) -> list[Any]
    """The bases that are told of with a class, beside those of errors. Of the library's none but those that the test
    knows, which have a number (`known`): it has `Queue` by the program's import, say, and derives a class of that."""
    # Of builtins those alone that a class may be made with there; some have no name, as those of views.
    own = [each for each in cls.__bases__ if each.__module__ != "builtins"]
    return [each for each in own if not is_stdlib(each) or known(each) is not None]


def names_of(cls):
    # type: (Any) -> str
    """Its name and, where it is another (of a class within a class or function), the qualified one."""
    names = [type.__dict__[each].__get__(cls) for each in ("__name__", "__qualname__")]
    name, qualified = [each if type(each) is str else "?" for each in names]
    return name if qualified == name else name + "\0" + qualified


def told_of(cls):
    # type: (type) -> list[str]
    """What is told of the special methods of a class: not the operators that it has from another class of objects which
    is told of. Where one operand's class derives from the other's, its method comes first only if it has its own."""
    classes = mro_of(cls)

    def is_inherited(name):
        # type: (str) -> bool
        owner = next(each for each in classes if name in own_of(each))
        told = [each for each in classes[1:] if not is_stdlib(each) and plain_base(each) is None]
        return any(owner is one for each in told for one in mro_of(each))

    return [name for name in offered(cls) if name not in OPERATORS or not is_inherited(name)]


# Abstract classes that a class is only one of if it is derived from them, or from one of these types.
_ABSTRACT = frozenset(["Mapping", "MutableMapping", "Sequence", "MutableSequence", "Set", "MutableSet"])
_REGISTERED = {dict: "MutableMapping", frozenset: "Set", set: "MutableSet"}  # type: dict[Any, str]
_REGISTERED.update(
    {**dict.fromkeys([bytes, str, tuple], "Sequence"), **dict.fromkeys([bytearray, list], "MutableSequence")}
)

# Classes that say what a class is for, by the modules that have them.
_MARKS = {
    **dict.fromkeys(["ABC"], "abc"),
    **dict.fromkeys(["Enum", "IntEnum", "Flag", "IntFlag", "StrEnum"], "enum"),
    **dict.fromkeys(["UserDict", "UserList", "UserString"], "collections"),
}
_HAVE_ABSTRACT = frozenset(["collections.abc", *_MARKS.values()])


def abstract_bases(cls):
    # type: (type) -> list[str]
    """Which of these a class is derived from; and whether its class has a say in what is one of it."""
    bases = [each for each in mro_of(cls) if each.__module__ in _HAVE_ABSTRACT]
    found = [each.__name__ for each in bases if each.__name__ in {*_ABSTRACT, *_MARKS} and is_stdlib(each)]
    if plain_base(cls) is None:  # else it is derived from that type in the other half, too
        found += [name for kind, name in _REGISTERED.items() if any(each is kind for each in mro_of(cls))]
    decides = any(name in own_of(each) for each in mro_of(type(cls)) if each is not type for name in CHECKS)
    return [*found, *([_DECIDES] if decides else ()), *said_by_metaclass(cls)]


def public_names(cls):
    # type: (Any) -> list[str]
    """The public attributes of a class of the script's, each behind a dot. A protocol of the program looks for them in
    the class (from 3.12 on), where nobody is asked."""
    found = own_of(cls) if cls.__module__ == "__main__" else ()
    return ["." + name for name in found if type(name) is str and name[:1] != "_"]


_DECIDES = "isinstance"  # among the names of what a class offers, and an attribute of the class that is made of these


def register(cls, names):
    # type: (type, list[str]) -> None
    """Have a class that was made here be one of the abstract classes, among `names`, that its own is derived from."""
    for name in names:
        if name in _ABSTRACT:
            getattr(__import__("collections.abc").abc, name).register(cls)
        elif name in _MARKS:
            _mark(cls, getattr(__import__(_MARKS[name]), name, None))
        elif name == _DECIDES and LINK[0].is_test:
            _let_decide(cls, names)


def _let_decide(cls, names):
    # type: (Any, list[str]) -> None
    """What is one of this class, a protocol or an abstract class say, the candidate is asked. It says no more by that
    than by what it derives its classes from, and is shown no value: of data it hears the type.
    Nor is it asked of exceptions: a failed assertion would be what a test waits for."""
    _let_check()
    if not issubclass(cls, BaseException):
        type.__setattr__(cls, _DECIDED, frozenset([each for each in CHECKS if is_said(names, each)]))


def _let_check():
    # type: () -> None
    if CHECKS[0] not in own_of(RemoteType):
        for name, check in zip(CHECKS, (_is_instance, _is_subclass)):
            type.__setattr__(RemoteType, name, check)


def leave_out(cls, bases):
    # type: (Any, tuple[Any, ...]) -> None
    """Have a class be one of those bases, too, that it could not be made with here: its objects are values and theirs
    are not, or the other way round."""
    found = [each for each in bases if not any(each is one for one in (*mro_of(cls), BaseException))]
    if found:
        _let_check()
        type.__setattr__(cls, BESIDES, tuple(found))


_DECIDED = "_remote_decides"  # an attribute of a class that decides: of which checks it has its own


def _is_instance(cls, value):
    # type: (Any, Any) -> bool
    if type.__instancecheck__(cls, value) or _is_left_out(cls, type(value)):
        return not _is_denied("isinstance", value, cls)
    if _DECIDED not in own_of(cls) or issubclass(type(value), BaseException):
        return False
    kind = type(value)
    is_shown = is_class_of_proxies(value) or is_class_of_proxies(kind) or kind.__module__ == "__main__"
    if not is_shown and CHECKS[0] in own_of(cls)[_DECIDED]:  # by the type alone it would be another answer
        LINK[0].refuse(_NOT_SHOWN % names_of(cls).partition("\0")[0])
    return _is_one("isinstance", value, cls) if is_shown else _is_subclass(cls, kind)


_NOT_SHOWN = "a metaclass says what is one of class %s, and is shown no value of the script's: require IN_PROCESS"


def _is_subclass(cls, one):
    # type: (Any, Any) -> bool
    if type.__subclasscheck__(cls, one) or _is_left_out(cls, one):
        return not _is_denied("issubclass", one, cls)
    return _DECIDED in own_of(cls) and not issubclass(one, BaseException) and _is_one("issubclass", one, cls)


def _is_denied(check, value, cls):
    # type: (str, Any, Any) -> bool
    """Does a metaclass of the program's say that it is none, though it is derived from it?"""
    own = own_of(cls).get(_DECIDED, ())
    return "__%scheck__" % check[2:] in own and not _is_one(check, value, cls)


def _is_left_out(cls, one):
    # type: (Any, Any) -> bool
    """Not of what all proxies have (`RemoteObject`)."""
    return "_remote_class" in own_of(cls) and any(each is cls for each in kinds_of(one))


def _is_one(check, value, cls):
    # type: (str, Any, Any) -> bool
    try:
        return LINK[0].ask(check, value, cls) is True
    except TypeError:  # a protocol of attributes, which a class alone does not show
        return False


def _mark(cls, base):
    # type: (type, Any) -> None
    """Have a class be one of this base without anything of it."""
    if hasattr(base, "register"):
        base.register(cls)
    elif base is not None:
        of_enums = type(base)  # type: Any  # which knows no others
        if not _marked:
            of_enums.__subclasscheck__ = lambda self, one: type.__subclasscheck__(self, one) or _is_marked(self, one)
            of_enums.__instancecheck__ = lambda self, one: (
                type.__instancecheck__(self, one) or _is_marked(self, type(one))
            )
        _marked.append((base, cls))


_marked = []  # type: list[tuple[Any, type]]


def _is_marked(base, cls):
    # type: (type, Any) -> bool
    return any(base is one and any(each is of for each in mro_of(cls)) for one, of in _marked)


def overridden(cls, base):
    # type: (Any, Any) -> list[str]
    """What a class derived from a plain one has its own of: special methods, and public names of the base. Not what it
    has of the library (IntEnum), except for fields of a named tuple, nor operators that it has from another class of
    values which is told of."""
    if base is None:
        return []
    classes = mro_of(cls)
    of_library = [own_of(each) for each in classes if _is_of_a_known_library(each)]
    found, seen = [], set()  # type: list[str], set[str]
    for each in classes:
        is_told_of = each is not cls and plain_base(each) is base and any(each in mro_of(one) for one in cls.__bases__)
        is_known = _is_of_a_known_library(each)
        for name, value in own_of(each).items():
            is_of_library = any(name in one and one[name] is value for one in of_library)
            is_own = name not in seen and (type(value).__name__ == _FIELD if is_known else not is_of_library)
            if is_own and may_be_own(name, base) and not (is_told_of and name in OPERATORS):
                found.append(name)
        seen.update(own_of(each))
    return found


_FIELD = "_tuplegetter"  # of a named tuple: what its class has under the field's name


def _is_of_a_known_library(cls):
    # type: (type) -> bool
    """Whose classes derived from plain types are these with more to them (IntEnum). Other packages have dicts that are
    sorted, or give one value of several."""
    return is_stdlib(cls) and package_of(cls).lstrip("_") in MODULES


def may_be_own(name, base):
    # type: (str, Any) -> bool
    return name in SPECIAL if name[:1] == "_" else hasattr(base, name)


_COPY = {
    int: int.__int__,
    float: float.__float__,
    complex: lambda value: complex(value.real, value.imag),
    str: str.__str__,
    bytes: lambda value: bytes(memoryview(value)),
}  # type: dict[Any, Any]
# What an object is at bottom whose class derives from one of these, whatever that class has of its own.
AS_PLAIN = {
    **_COPY,
    dict: lambda value: dict(dict.items(value)),
    list: lambda value: list(list.__iter__(value)),
    tuple: lambda value: tuple(tuple.__iter__(value)),
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
}  # type: dict[Any, Any]


def without_class(value):
    # type: (Any) -> Any
    """A number or text with a class of its own, as the plain one that it equals."""
    base = plain_base(type(value)) if type(type(value)) is not type else None
    return _COPY[base](value) if base in _COPY else value


def fields_of(cls):
    # type: (Any) -> list[tuple[str, str, bool, bool, bool]] | None
    """The fields of a dataclass; None of others."""
    found = getattr(cls, "__dataclass_fields__", None)
    if type(found) is not dict:
        return None
    return [(one.name, one._field_type.name, one.init, one.repr, one.compare) for one in found.values()]


_Member = type(type("_", (), {"__slots__": ("a",)}).__dict__["a"])
_Dict = type(type("_", (), {}).__dict__["__dict__"])


def holders_of(cls):
    # type: (Any) -> tuple[list[Any], list[tuple[str, Any]], Any]
    """Where an object of this class itself holds something: what makes of it the plain value that it is at bottom; its
    slots, of which the last of a name counts; what gives its `__dict__`, which is no property of the program's."""
    classes = mro_of(cls)
    contents = [AS_PLAIN[each] for each in classes if id(each) in PLAIN_ONES and each in AS_PLAIN]
    members = [item for each in classes for item in own_of(each).items()]
    slots = [(name, member.__get__) for name, member in members if type(member) is _Member]
    attributes = [own_of(each)["__dict__"].__get__ for each in classes if type(own_of(each).get("__dict__")) is _Dict]
    return contents, slots, attributes[0] if attributes else None


def state_of(target):
    # type: (Any) -> dict[str, Any]
    """The attributes that an object itself holds: what is in its `__dict__` and in its slots; and what it is as a
    container, number or text."""
    contents, slots, attributes = holders_of(type(target))
    found = {}  # type: dict[str, Any]
    for content in contents:  # the last counts
        found[CONTENT] = content(target)
    for name, slot in slots:
        try:
            found[name] = slot(target)
        except AttributeError:  # it holds none by now
            continue
    if attributes is not None:
        found.update(attributes(target))
    found.pop("__orig_class__", None)  # what made it, `Stack[int]`, is not what it holds
    return found
