"""What the class of a class says of it: operators, what it is as a number, text or context manager.

A class of the other half's is of a class here that has those special methods of its metaclass, and no others:
`Base + 1` is a TypeError where it is one over there. What a test would tell a metaclass by them is refused, as with an
object that a function returned.
"""

import sys

from cruxcell.jobs.separated.proxies.asking import has_no_equality
from cruxcell.jobs.separated.proxies.doubts import is_of_the_harness
from cruxcell.jobs.separated.proxies.operations import DESCRIPTORS, NONE, SPECIAL, mro_of, own_of
from cruxcell.jobs.separated.proxies.placing import hash_meanwhile, is_reading
from cruxcell.jobs.separated.proxies.remote import RemoteType, is_class_of_proxies
from cruxcell.jobs.separated.proxies.runs import LINK
from cruxcell.jobs.separated.proxies.shared_names import is_stdlib
from cruxcell.jobs.separated.proxies.special_methods import special

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_MARK = "type."  # before what the class of a class has, among what the class is told to offer
CHECKS = ("__instancecheck__", "__subclasscheck__")
# Which all classes have here, and which ask the other half; and what nobody looks for in a class.
_OF_ALL = frozenset(["__call__", "__getitem__", "__iter__", "__repr__", "__reversed__"])
_NOT_OF_CLASSES = frozenset(["__copy__", "__deepcopy__", "__missing__"])
_TOLD = frozenset([*CHECKS, *SPECIAL]) - _OF_ALL - _NOT_OF_CLASSES
_HAS = "_remote_told"  # an attribute of such a class: those that it has, which its base has not
_made = {}  # type: dict[Any, type]


def said_by_metaclass(cls):
    # type: (type) -> list[str]
    """Which of these the class of a class has, behind a mark."""
    if type(cls) is type:  # as of nearly every class that crosses
        return []
    found = {}  # type: dict[str, Any]
    for each in reversed(mro_of(type(cls))[:-2]):  # but `type` and `object`
        own = own_of(each)
        # What is one of an abstract class, the library says.
        found.update({name: own[name] for name in _TOLD.intersection(own) if name not in CHECKS or not is_stdlib(each)})
    return [_MARK + (NONE if found[name] is None else "") + name for name in found]


def is_said(offers, name):
    # type: (list[str], str) -> bool
    return _MARK + name in offers


def metaclass_for(bases, offers):
    # type: (tuple[type, ...], list[str]) -> Any
    """The class of a class that is made here with these bases, which is told to offer that."""
    kinds = [type(each) for each in bases if is_class_of_proxies(each)]
    kinds = [each for at, each in enumerate(kinds) if not any(issubclass(one, each) for one in kinds[at + 1 :])]
    kinds = [each for at, each in enumerate(kinds) if not any(issubclass(one, each) for one in kinds[:at])]
    told = [each[len(_MARK) :] for each in offers if each.startswith(_MARK)]
    known = {name for each in kinds for one in mro_of(each) for name in own_of(one).get(_HAS, ())}
    new = frozenset([each for each in told if each.lstrip(NONE) in _TOLD and each.lstrip(NONE) not in known])
    if not new and len(kinds) < 2:
        return kinds[0] if kinds else RemoteType
    key = (LINK[0].is_test, new, *kinds)
    if key not in _made:
        _made[key] = made = type("class", tuple(kinds) or (RemoteType,), _methods(new))
        reductions = getattr(sys.modules.get("copyreg"), "dispatch_table", {})
        if RemoteType in reductions:  # for pickles
            reductions[made] = reductions[RemoteType]
    return _made[key]


def _methods(names):
    # type: (frozenset[str]) -> dict[str, Any]
    is_test = LINK[0].is_test
    found = {"__module__": RemoteType.__module__, "__hash__": RemoteType.__hash__}  # type: dict[str, Any]
    found[_HAS] = [each.lstrip(NONE) for each in names]
    if "__len__" in names:
        found["__bool__"] = special("__bool__", is_test, False)
    for name in names - {"__len__", *CHECKS}:
        method = (_SHAPED.get(name) if is_test else None) or special(name.lstrip(NONE), is_test, False)
        if method is not None:
            found[name.lstrip(NONE)] = method
    if is_test and not DESCRIPTORS.isdisjoint(names):
        found["__set_name__"] = _is_no_descriptor_here
    return found


def _is_same(cls, other):
    # type: (Any, object) -> Any
    """Whether a class equals itself its metaclass says. Two are different, but for what stands for the class of a
    library; a script that passes has asked whether the metaclass says so."""
    if is_reading():
        return cls is other or NotImplemented
    if cls is other:
        return LINK[0].ask("special", cls, "__eq__", other)
    if RemoteType.__eq__(cls, other):
        return True
    if has_no_equality(other):
        LINK[0].doubts.are_different(cls, other, sys._getframe(1))
    return NotImplemented


def _is_another(cls, other):
    # type: (Any, object) -> Any
    if cls is other:
        return LINK[0].ask("special", cls, "__ne__", other)
    if RemoteType.__eq__(cls, other):
        return False
    if has_no_equality(other):
        LINK[0].doubts.are_different(cls, other, sys._getframe(1), "__ne__")
    return True


def _hash(cls):
    # type: (Any) -> int
    """The harness has classes in sets for reasons of its own."""
    if is_reading():
        return hash_meanwhile(cls, type.__hash__(cls))
    frame = sys._getframe(1)
    if is_of_the_harness(frame) and frame.f_globals is not _PLACING:
        return type.__hash__(cls)
    return int(LINK[0].ask("special", cls, "__hash__"))


_PLACING = is_reading.__globals__


def _contains(cls, item):
    # type: (Any, object) -> bool
    try:
        iter(cls)
    except TypeError:  # which a script may expect
        LINK[0].decline("class %s gives no items, and says what is in it: require IN_PROCESS" % cls.__name__)
    return RemoteType.__contains__(cls, item)


def _text(cls):
    # type: (Any) -> str
    said = LINK[0].ask("special", cls, "__str__")
    return said if type(said) is str else repr(cls)


def _is_no_descriptor_here(cls, owner, name):
    # type: (Any, type, str) -> None
    refuse_descriptor("class " + cls.__name__, owner, name)


def refuse_descriptor(which, owner, name):
    # type: (str, type, str) -> None
    """It would be handed what has it, and with that whatever a class of the script's holds: what is expected, too."""
    LINK[0].refuse(
        "%s of the program gives attribute %s of class %s, which is the script's: require IN_PROCESS"
        % (which, name, owner.__name__)
    )


_SHAPED = {
    "__eq__": _is_same,
    "__ne__": _is_another,
    "__hash__": _hash,
    NONE + "__eq__": _is_same,
    NONE + "__ne__": _is_another,
    NONE + "__hash__": _hash,
    "__contains__": _contains,
    "__str__": _text,
}  # type: dict[str, Any]
