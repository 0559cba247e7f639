"""What a special method of a proxy asks the other half, and what it does not ask.

An instance of a class derived from a plain type is that value here, and what the class has its own of is asked. Where
the question holds what may be expected, the answer counts if the plain type gives the same.
"""

import builtins
from opcode import opmap

from cruxcell.jobs.separated.proxies.counting import plain_of
from cruxcell.jobs.separated.proxies.deriving import Asked
from cruxcell.jobs.separated.proxies.doubts import has_nothing_to_say
from cruxcell.jobs.separated.proxies.facts import (
    DERIVED,
    HANDED_OVER,
    MADE,
    OF_VALUES,
    is_of_the_test,
    is_opaque,
    marked,
    now,
    operands_of,
    standing_of,
    with_hash,
)
from cruxcell.jobs.separated.proxies.operations import ARITHMETIC, DESCRIPTORS, SPECIAL, STEADY, mro_of, own_of
from cruxcell.jobs.separated.proxies.placing import hash_meanwhile, is_reading
from cruxcell.jobs.separated.proxies.remote import RemoteBase, is_class_of_proxies
from cruxcell.jobs.separated.proxies.runs import LINK
from cruxcell.jobs.separated.proxies.shared_names import is_stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_OF_ITSELF = frozenset([*STEADY, "__iter__", "__reversed__", "__getitem__", "__missing__"])
answered_here = set()  # type: set[Any]  # methods of these names by which this half says it alone
_BUILTIN_TYPES = frozenset([type(None), *[each for each in vars(builtins).values() if type(each) is type]])


def forward(name):
    # type: (str) -> Any
    def method(self, *arguments):
        # type: (object, object) -> Any
        return LINK[0].ask("special", self, name, *arguments)

    method.__name__ = name
    return method


def method_of(name):
    # type: (str) -> Any
    def method(self, /, *arguments, **keywords):
        # type: (object, object, object) -> Any
        return LINK[0].call(LINK[0].ask("get", self, name), arguments, keywords)

    method.__name__ = name
    return method


def _derived(self, errors, /):
    # type: (Any, list[BaseException]) -> Any
    """`derive` of a group, by which it is split: `except*` takes what that leaves out for dealt with."""
    given = [*errors]  # the program may change the list
    found = method_of("derive")(self, errors)
    kind = getattr(builtins, "BaseExceptionGroup", ())
    if isinstance(found, kind) and [*map(id, vars(kind)["exceptions"].__get__(found))] != [*map(id, given)]:
        LINK[0].refuse("a group of the program is derived for other errors than it gives: require IN_PROCESS")
    return found


def own_of_error(name):
    # type: (str) -> Any
    """What a class of errors has under the name of an attribute of a builtin error, or under `derive`."""
    return _derived if name == "derive" else Asked(name)


def are_made(*values):
    # type: (object) -> bool
    return all(map(is_of_the_test, values))


def tells_equal(name):
    # type: (str) -> bool
    """Is what the operator gives the same for all operands that are equal? `V(7) - 7` would ask for that alone."""
    return name.strip("_").lstrip("ri") not in _TELL_NO_EQUAL


_TELL_NO_EQUAL = frozenset(["add", "mul", "pow", "matmul", "lshift", "or"])
_COMPARES, _DROPS, _CACHE = opmap["COMPARE_OP"], opmap["POP_TOP"], opmap.get("CACHE")


def is_dropped(frame):
    # type: (Any) -> bool
    """Is this code in the midst of a comparison of which it drops what comes of it? Then it can only look whether that
    raises: `with raises(TypeError): V(1) < 5`."""
    code, at = frame.f_code.co_code, frame.f_lasti
    if code[at] != _COMPARES:
        return False
    at += 2
    while code[at] == _CACHE:
        at += 2
    return bool(code[at] == _DROPS)


def unsaid(name, was_asked=False):
    # type: (str, bool) -> Any
    """Where the candidate is not asked: what the other operand does not say either is refused. Python would raise a
    TypeError, which a script may expect. `was_asked`: what it says does not count, but it knows the question."""

    def method(self, *others):
        # type: (object, object) -> Any
        if len(others) == 1 and not has_no_say(others[0]):
            answer = _said_by(others[0], name, self)
            if answer is not NotImplemented:
                return answer
        refuse = LINK[0].refuse if was_asked else LINK[0].decline
        return refuse(_NOT_SAID % (name, type(self).__name__))

    method.__name__ = name
    return method


_NOT_SAID = "%s of a %s is for the candidate to say; compare what its methods or attributes give"


def _said_by(other, name, value):
    # type: (Any, str, object) -> Any
    """What the class of the other operand says of an operator of `value`, which says nothing."""
    mirrored = _MIRRORED.get(name) or ("__r" + name[3:] if name in _IN_PLACE else "__r" + name[2:])
    method = getattr(type(other), mirrored, None)
    return NotImplemented if method is None else method(other, value)


_MIRRORED = {"__lt__": "__gt__", "__gt__": "__lt__", "__le__": "__ge__", "__ge__": "__le__", "__ne__": "__ne__"}


def has_no_say(other):
    # type: (object) -> bool
    """Is it of a class that has no answer of its own to what an object of the other half is in the midst of?"""
    kind = type(other)
    is_plain = type(kind) is type and kind in _BUILTIN_TYPES  # a metaclass may answer for its classes as it likes
    return is_plain or is_class_of_proxies(kind) or is_class_of_proxies(other)


def has_no_equality(other):
    # type: (object) -> bool
    """Would it leave to an object of the other half whether the two are equal?"""
    return has_no_say(other) or has_nothing_to_say(other)


def hashed(plain, is_value):
    # type: (Any, bool) -> Any
    """The hash that the class gives, or an error of it; `plain` that of an object, or of a value (`is_value`), which is
    found by that of the plain value it is. A hash says nothing of what is expected: which are equal is found out
    otherwise."""

    def method(self):
        # type: (Any) -> int
        if is_reading():
            return int(plain(self)) if is_value else hash_meanwhile(self, plain(self))
        found = with_hash(self, int(LINK[0].ask("special", self, "__hash__")))
        return int(plain(self)) if is_value else found

    method.__name__ = "__hash__"
    return method


def equals(self, other):
    # type: (object, object) -> Any
    """What a candidate asks an object of the test."""
    return NotImplemented if is_reading() else LINK[0].ask("special", self, "__eq__", other)


# ---- values ----------------------------------------------------------------------------------------------------------


class _Told:
    """A method that is told what to look for, say, or to remove. Of a value that the test did not make, the class is
    believed where the plain type gives the same, and removes what the plain type holds."""

    def __init__(self, name, base):
        # type: (str, Any) -> None
        self._name, self._base = name, base

    def __get__(self, instance, owner=None):
        # type: (object, object) -> Any
        found = LINK[0].ask("get", owner if instance is None else instance, self._name)
        if instance is None or not callable(found) or are_made(instance):
            return found

        def method(*arguments, **keywords):
            # type: (object, object) -> Any
            if not (arguments or keywords):
                return found()
            if self._name in _REMOVALS:
                is_held = any(self._base.__contains__(instance, each) for each in arguments)
                return (found if is_held else getattr(self._base, self._name).__get__(instance))(*arguments)
            expected = _of_base(self._base, self._name, instance, arguments, keywords)
            return agreed(self._name, instance, expected, found(*arguments, **keywords))

        return method


# Of what can change. A method of what cannot change gives the same for the same, whatever it is told.
_SEARCHES = frozenset(
    [
        "count", "difference", "endswith", "find", "index", "intersection", "isdisjoint", "issubset", "issuperset",
        "rfind", "rindex", "startswith", "symmetric_difference", "union",
    ]
)  # fmt: skip
_REMOVALS = frozenset(["discard", "remove"])


def own_of_value(name, base, is_test):
    # type: (str, Any, bool) -> Any
    """What a class derived from `base` has under a name that it has its own of, if that is not simply asked; None of
    what the value here does."""
    if name not in SPECIAL:
        is_public = name[:1] != "_" and hasattr(base, name)
        is_told = is_test and (base.__hash__ is not None or name in _SEARCHES | _REMOVALS)
        return None if not is_public else _Told(name, base) if is_told else Asked(name)
    if name in DESCRIPTORS:
        return forward(name) if not is_test else None
    if name in ("__eq__", "__hash__"):  # or it were no value
        return None
    if not is_test:
        return forward(name)
    return _held_in(base) if name == "__contains__" else _reckoned(name, base)


_IN_PLACE = frozenset([name for name in ARITHMETIC if name[:3] == "__i" and name != "__invert__"])


def _of_base(base, name, value, others, keywords=None):
    # type: (Any, str, Any, Any, Any) -> Any
    """What the plain type gives; NotImplemented where it has nothing to give."""
    if name in _IN_PLACE:
        name = "__" + name[3:]
    try:
        return getattr(base, name)(plain_of(value), *map(plain_of, others), **(keywords or {}))
    except Exception:
        return NotImplemented


def agreed(name, value, expected, answer):
    # type: (str, Any, Any, Any) -> Any
    """The other half's answer, if the plain type has given the same before. One whose class says of itself what it
    comes to would do that with what it was told: it is what the plain type gives."""
    if expected is not NotImplemented and not is_opaque(answer) and bool(expected == answer):
        return expected if _says_what_it_is(type(answer)) else answer
    return LINK[0].refuse(
        "%s of a %s is for the candidate to say, and is not what the plain type gives" % (name, type(value).__name__)
    )


def _says_what_it_is(cls):
    # type: (Any) -> bool
    """Has the class of a value an answer of its own to what number it is, whether it is true, or what is in it?"""
    own = [own_of(each).get(name) for each in mro_of(cls) if is_class_of_proxies(each) for name in _OF_ITSELF]
    return any(method is not None and method not in answered_here for method in own)


def _held_in(base):
    # type: (Any) -> Any
    """The plain type holds it, and the class says so: which then learns no more than it has given. An error of the
    plain type's, which a script may expect, is none of the class."""

    def method(self, item):
        # type: (object, object) -> bool
        if not are_made(self):
            try:
                is_held = base.__contains__(self, item)
            except TypeError:
                return bool(LINK[0].decline(_NOT_SAID % ("__contains__", type(self).__name__)))
            if not is_held:
                return False
        return bool(LINK[0].ask("special", self, "__contains__", item))

    method.__name__ = "__contains__"
    return method


def _reckoned(name, base):
    # type: (str, Any) -> Any
    """Between values that the test has made, what their class says; by an operator that does not tell equal ones, also
    with plain data, and of what came of that. Of others the plain type has to give the same; and what a function
    returned is not asked with a value of the test's."""
    not_said, may_tell_equal = unsaid(name), tells_equal(name)

    def method(self, *others):
        # type: (object, object) -> Any
        operands = () if name == "__round__" else others
        is_made, standing = are_made(self, *operands), standing_of(self)
        if standing == HANDED_OVER and not all(issubclass(type(other), RemoteBase) for other in operands):
            return not_said(self, *[other for other in others if not is_stdlib(type(other))])
        is_believed = is_made or not (may_tell_equal or any(map(_is_handed_over, (self, *operands))))
        expected = NotImplemented if is_believed else _of_base(base, name, self, others)
        began = now()
        value = LINK[0].ask("special", self, name, *others)
        if value is NotImplemented:
            return value
        if not is_believed and not is_opaque(value):
            value = agreed(name, self, expected, value)
        if standing == HANDED_OVER:
            return value
        given = (OF_VALUES,) if is_believed else ()
        return marked(value, MADE if is_made else DERIVED, type(self), began, given)

    method.__name__ = name
    return method


def _is_handed_over(operand):
    # type: (object) -> bool
    """Is it of the program's, and neither made by the test nor come of what the test has made and of plain data?"""
    is_of_the_program = issubclass(type(operand), RemoteBase)
    return is_of_the_program and not (standing_of(operand) == MADE or operands_of(operand))
