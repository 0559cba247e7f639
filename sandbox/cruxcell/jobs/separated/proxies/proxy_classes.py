"""The classes of proxies: one for each class of the other side, and what each of its special methods asks.

Three families: opaque objects; values with a class of their own (an IntEnum, a namedtuple, a list with methods), which
are that value here and compare as it; exceptions.
"""

import sys

from cruxcell.jobs.separated.proxies import counting, flags, libraries, library_values
from cruxcell.jobs.separated.proxies.asking import (
    are_made,
    equals,
    forward,
    has_no_say,
    hashed,
    is_dropped,
    method_of,
    own_of_error,
    own_of_value,
    tells_equal,
    unsaid,
)
from cruxcell.jobs.separated.proxies.copies import copied_there
from cruxcell.jobs.separated.proxies.deriving import Asked, derive_by, is_statement, keep_ahead, own_names
from cruxcell.jobs.separated.proxies.equality import hold_the_same, holds
from cruxcell.jobs.separated.proxies.facts import (
    DERIVED,
    HANDED_OVER,
    MADE,
    OF_MADE,
    OF_VALUES,
    is_opaque,
    marked,
    now,
    operands_of,
    standing_of,
)
from cruxcell.jobs.separated.proxies.members import are_read
from cruxcell.jobs.separated.proxies.operations import (
    ARITHMETIC,
    ASKED,
    DESCRIPTORS,
    MAY_BE_NONE,
    METHODS,
    NONE,
    OF_THE_TEST,
    mro_of,
    own_of,
    stands_for_any_function,
)
from cruxcell.jobs.separated.proxies.placing import is_reading
from cruxcell.jobs.separated.proxies.remote import (
    RemoteBase,
    RemoteObject,
    RemoteType,
    class_of_alias,
    make,
)
from cruxcell.jobs.separated.proxies.runs import aexit, await_, connection, exit_, next_, step_of, throw
from cruxcell.jobs.separated.proxies.signatures import PARTS, FunctionOf
from cruxcell.namespace import CANDIDATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_get = object.__getattribute__


def make_class(  # noqa: PLR0917 - what a class is written as
    name, number, bases, offers, overrides, stands_for, module=CANDIDATE
):
    # type: (str, int, tuple[type, ...], list[str], list[str], object, str) -> type
    """The class that stands for class `number` of the other side.

    Args:
        name: its name; behind a NUL its qualified name, where that is another.
        number: what the other side knows it by.
        bases: classes made here, builtin exceptions and plain types; those of other families are left out. A class
            has objects that are values if a plain type stands among them, whatever it is derived from.
        offers: names of special methods that its objects have.
        overrides: names of methods of a plain base, or attributes of a builtin error, that it has its own of.
        stands_for: a builtin class its objects say they are of (`__class__`), or None.
        module: what it says its module is.
    """
    plain = _values_among(bases)
    name, _, qualified = name.partition("\0")
    namespace = {"__module__": module, "_remote_class": number, "__slots__": ()}  # type: dict[str, Any]
    namespace["__doc__"] = property(_documentation)
    family = tuple([each for each in bases if issubclass(each, RemoteObject)]) or (RemoteObject,)  # type: tuple[type, ...]
    if plain:
        family = tuple(plain) if issubclass(plain[0], RemoteBase) else (RemoteBase, *plain)
        del namespace["__slots__"]
        base = next(each for each in mro_of(plain[0]) if type(each) is not RemoteType)
        if issubclass(base, BaseException):
            namespace["__str__"], namespace["__repr__"] = _told, _shown
            own = overrides if connection[0].is_test else ()
            namespace.update({each: own_of_error(each) for each in own if hasattr(base, each)})
            asked = [each for each in offers if each not in ("__str__", "__repr__")]
        else:
            namespace.update(flags.operators(offers))
            namespace.update(counting.operators(plain[0]))
            namespace.update(_own_of_value(base, overrides))
            asked = [each for each in offers if each in _OF_VALUES]
    else:
        asked = offers
    is_test = connection[0].is_test
    is_run = "__next__" in offers or "__await__" in offers
    for each in asked if is_run or not is_test else _without_methods(asked):
        method = _special(each, is_test, is_run)
        if method is not None:
            namespace[each] = method
    if "__eq__" in namespace:
        namespace["__hash__"] = _hashed if "__hash__" in offers else object.__hash__
    namespace.update({each[1:]: None for each in offers if each[:1] == NONE and each[1:] in MAY_BE_NONE})
    if is_test and not DESCRIPTORS.isdisjoint(offers) and stands_for not in (_FUNCTION_TYPE, _METHOD_TYPE):
        namespace["__set_name__"] = _is_no_descriptor_here
    if not is_test:
        namespace.update({each[1:]: Asked(each[1:]) for each in offers if each[:1] == "."})
    namespace.update(libraries.told(offers, is_test and not plain))
    namespace.update(library_values.reckoned(offers, namespace))
    namespace.update(_called_by_name(is_test and not plain))
    if stands_for is not None:
        namespace.update(_of_known_class(stands_for))
    owned = own_names(family)
    namespace = {each: value for each, value in namespace.items() if each not in owned}
    namespace["__qualname__"] = (qualified or name).replace("\0", "")[:400]
    made = type.__new__(RemoteType, name[:200], family, namespace)
    keep_ahead(made)
    if "__slots__" in namespace:  # which have done their work; what the object's class has is asked for
        type.__delattr__(made, "__slots__")
    return made


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
    is_test = connection[0].is_test
    found = {}  # type: dict[str, Any]
    for name in names:
        method = _special(name, is_test, False) if name in ASKED else own_of_value(name, base, is_test)
        if name == "__hash__" and not (is_test and base.__hash__):  # values that are equal are found as such
            method = hashed(base.__hash__ or object.__hash__, False)
        if method is not None:
            found[name] = method
    return found


def _of_known_class(stands_for):
    # type: (object) -> dict[str, Any]
    """What an object has that says it is of a class of the standard library."""
    found = {"__class__": property(lambda _self: stands_for)}  # type: dict[str, Any]
    if stands_for is _FUNCTION_TYPE:  # a decorator's, say, among the methods of a class of this side
        found["__get__"] = _bound
        if connection[0].is_test:  # doctest looks whether they are those of the script
            found["__globals__"] = property(lambda _self: {})
        else:
            found.update(PARTS)
    elif stands_for is _METHOD_TYPE and not connection[0].is_test:
        found["__func__"] = property(FunctionOf)
    return found


def _called_by_name(is_opaque):
    # type: (bool) -> dict[str, Any]
    """What an object has for a script that names methods which every object has: those of a proxy know nothing of what
    it stands for."""
    return {"__getattribute__": _attribute} if is_opaque and _OF_EVERY_OBJECT & connection[0].named else {}


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
    """It would be handed what has it, and with that whatever a class of the script's holds: what is expected, too."""
    connection[0].refuse(
        "a %s of the program gives attribute %s of class %s, which is the script's: require IN_PROCESS"
        % (type(self).__name__, name, cls.__name__)
    )


def _bound(self, instance, _owner=None):
    # type: (Any, object, object) -> Any
    return self if instance is None else _METHOD_TYPE(self, instance)


_FUNCTION_TYPE = type(_bound)
_METHOD_TYPE = type(RemoteType.mro.__get__(RemoteObject))  # type: Any
_FUNCTIONS = (_FUNCTION_TYPE, _METHOD_TYPE, type(len))


def _documentation(self):
    # type: (object) -> Any
    return connection[0].ask("get", self, "__doc__")


def _special(name, is_test, is_run):
    # type: (str, bool, bool) -> Any
    """The method of that name; None for one that this side does not ask for. `is_run`: of a generator or coroutine."""
    if name in ASKED:
        return (_SHAPED.get(name) or (_SHAPED_FOR_THE_TEST.get(name) if is_test else None)) or forward(name)
    if name in METHODS:
        return method_of(name) if not is_run else throw if name == "throw" else step_of(name)
    if name == "__hash__":
        return _hashed
    if is_test:  # an operator is a function for each class: which of two operands comes first depends on that
        return _arithmetic(name) if name in ARITHMETIC else _OF_THIS_SIDE.get(name)
    if name == "__eq__":
        return equals
    return forward(name) if name in OF_THE_TEST or name in ARITHMETIC else None


_OF_VALUES = frozenset(["__str__", "__repr__", "__format__", "__missing__", "__call__", "__enter__", "__exit__"])


def _arithmetic(name):
    # type: (str) -> Any
    """Between objects, it gives another. So it does between one and a function of the script (`event += handler`),
    which is no value that may be expected. An object that the test has made, or that came of one by an operator, may
    have a value for the other operand; and what comes of objects that the test has made alone may be a value. So may
    what comes of them and values, unless it is the same for all that are equal: `V(7) - 7` would ask for that alone."""
    not_said = unsaid(name)
    may_tell_equal = tells_equal(name)

    def method(self, *others):
        # type: (object, object) -> Any
        standing = standing_of(self)
        if standing == HANDED_OVER and not all(map(_is_no_value, others)):
            return not_said(self, *others)
        began = now()
        value = connection[0].ask("special", self, name, *others)
        if value is NotImplemented or is_opaque(value):
            given = _operands(self, *others)
            return value if standing == HANDED_OVER else marked(value, DERIVED, type(self), began, given)
        operands = others if may_tell_equal else [each for each in others if is_opaque(each)]
        return value if are_made(self, *operands) else not_said(self)

    method.__name__ = name
    return method


def _is_no_value(operand):
    # type: (object) -> bool
    return is_opaque(operand) or type(operand) in _FUNCTIONS or stands_for_any_function(operand)


def _operands(*operands):
    # type: (object) -> tuple[Any, ...]
    """What the result is noted to have come of (`operands_of`); () where a function of the program returned one."""
    objects = [each for each in operands if is_opaque(each)]
    found = [(each,) if standing_of(each) == MADE else operands_of(each)[1:] for each in objects]
    if not all(found):
        return ()
    return (OF_MADE if are_made(*operands) else OF_VALUES, *[each for some in found for each in some][:_MOST_OPERANDS])


_MOST_OPERANDS = 4  # are kept alive, and have to show what they were made of


def _of_made(name):
    # type: (str) -> Any
    """Of objects that the test has made: it tests what their class says of them, or only whether that raises."""
    not_said = unsaid(name)

    def method(self, *others):
        # type: (object, object) -> Any
        is_asked = are_read(self, *([] if name == "__round__" else others))
        if is_asked or (are_read(self) and is_dropped(sys._getframe(1))):
            return connection[0].ask("special", self, name, *others)
        return not_said(self, *others)

    method.__name__ = name
    return method


def _contains(self, item):
    # type: (Any, object) -> bool
    """The candidate gives its items and is not told which is looked for, but in what the test has made. Where they hold
    it, its class has to say so, too: which then learns no more than it has given. One that gives no items is not
    asked: that there are none is an error that a script may expect."""
    if not (are_made(self) or any(own_of(each).get(name) for each in mro_of(type(self)) for name in _GIVING_ITEMS)):
        return bool(unsaid("__contains__")(self))
    if not are_made(self) and not any(one is item or one == item for one in self):
        return False
    return bool(connection[0].ask("special", self, "__contains__", item))


_GIVING_ITEMS = ("__iter__", "__getitem__")


def _is_same(self, other):
    # type: (object, object) -> Any
    """Whether an object equals itself its class says, which is told of nothing else by that. Two objects are different;
    two of a class that the script knows by its name may hold the same. A script that fails may have expected the answer
    of the object's class."""
    if is_reading():  # what are two here are two over there
        return self is other or NotImplemented
    if self is other:
        return connection[0].ask("special", self, "__eq__", other)
    if type(other) is type(self) and connection[0].means_a_class(type(self)):
        found = hold_the_same(connection[0], self, other)
        if found is None:
            connection[0].doubts.says_equal(self, sys._getframe(1))
        return bool(found)
    if holds(connection[0], self, other):
        return bool(connection[0].ask("special", self, "__eq__", other))
    if has_no_say(other):
        connection[0].compared_by_identity = True
        connection[0].doubts.are_different(self, other, sys._getframe(1))
    return NotImplemented


_hashed = hashed(object.__hash__, True)


def _is_another(self, other):
    # type: (object, object) -> Any
    """Of two that `==` would ask their class about, what the class says of `!=`. That they do not differ is not for it
    to say alone."""
    if type(other) is not type(self) or not connection[0].means_a_class(type(self)):
        if holds(connection[0], self, other):
            return bool(connection[0].ask("special", self, "__ne__", other))
        if has_no_say(other):
            connection[0].doubts.are_different(self, other, sys._getframe(1))
        return object.__ne__(self, other)
    are_equal = self is other or ("__eq__" in type(self).__dict__ and bool(hold_the_same(connection[0], self, other)))
    if connection[0].ask("special", self, "__ne__", other):
        return True
    return False if are_equal else unsaid("__ne__")(self, other)


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


def _call(self, /, *arguments, **keywords):
    # type: (object, object, object) -> Any
    if is_statement(arguments):
        return derive_by(self, RemoteType, arguments, keywords)
    return make(class_of_alias(self), self, arguments, keywords)


def _iter(self):
    # type: (object) -> Any
    """An iterator of the other side; an iterator itself is its own."""
    found = connection[0].ask("special", self, "__iter__")
    return found if hasattr(type(found), "__next__") else iter(found)


def _array(self, dtype=None, copy=None):
    # type: (Any, Any, object) -> Any
    """What stays where it is (a matrix, an array with a mask, an image) as the plain array that it is at bottom. One
    that has none is not taken apart: numpy would compare its items where it refuses to compare it."""
    found, numpy = connection[0].ask("special", self, "__array__"), sys.modules.get("numpy")  # type: Any, Any
    if numpy is None or type(found) is not numpy.ndarray:
        raise TypeError("a %s that is no plain array lives in the other process" % type(self).__name__)
    if dtype is not None and dtype != found.dtype:
        return found.astype(dtype)
    return found.copy() if copy else found


_SHAPED_FOR_THE_TEST = {"__await__": await_, "__anext__": next_, "__aexit__": aexit}  # type: dict[str, Any]
_OF_THIS_SIDE = {name: _of_made(name) for name in OF_THE_TEST if name not in DESCRIPTORS}  # type: dict[str, Any]
_OF_THIS_SIDE.update({"__contains__": _contains, "__eq__": _is_same, "__ne__": _is_another})
_SHAPED = {"__call__": _call, "__iter__": _iter, "__exit__": exit_, "__array__": _array}  # type: dict[str, Any]
_SHAPED.update(
    {
        "__copy__": lambda self: copied_there(self, False),
        "__deepcopy__": lambda self, memo: copied_there(self, True, memo),
    }
)
