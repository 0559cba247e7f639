"""What the special methods of proxies ask: a table of those that are like all others, and those of their own shape."""

import sys

from cruxcell.jobs.separated.proxies.asking import (
    are_made,
    equals,
    forward,
    has_no_equality,
    hashed,
    is_dropped,
    method_of,
    tells_equal,
    unsaid,
)
from cruxcell.jobs.separated.proxies.copies import copied_there
from cruxcell.jobs.separated.proxies.deriving import derive_by, is_statement
from cruxcell.jobs.separated.proxies.doubts import is_of_the_harness
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
    METHODS,
    OF_THE_TEST,
    mro_of,
    own_of,
    stands_for_any_function,
)
from cruxcell.jobs.separated.proxies.placing import is_reading
from cruxcell.jobs.separated.proxies.remote import (
    RemoteObject,
    RemoteType,
    class_of_alias,
    make,
)
from cruxcell.jobs.separated.proxies.runs import LINK, aexit, await_, exit_, next_, step_of, throw

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments


FUNCTION_TYPE = type(lambda: None)
METHOD_TYPE = type(RemoteType.mro.__get__(RemoteObject))  # type: Any
_FUNCTIONS = (FUNCTION_TYPE, METHOD_TYPE, type(len))


def special(name, is_test, is_run):
    # type: (str, bool, bool) -> Any
    """The method of that name; None for one that this half does not ask for. `is_run`: of a generator or coroutine."""
    if name in ASKED:
        return (_SHAPED.get(name) or (_SHAPED_FOR_THE_TEST.get(name) if is_test else None)) or forward(name)
    if name in METHODS:
        return method_of(name) if not is_run else throw if name == "throw" else step_of(name)
    if name == "__hash__":
        return hash_of_object
    if is_test:  # an operator is a function for each class: which of two operands comes first depends on that
        return _arithmetic(name) if name in ARITHMETIC else _OF_THIS_HALF.get(name)
    if name == "__eq__":
        return equals
    return forward(name) if name in OF_THE_TEST or name in ARITHMETIC else None


def _arithmetic(name):
    # type: (str) -> Any
    """Between objects, it gives another. So it does between one and a function of the script (`event += handler`),
    which is no value that may be expected. An object that the test has made, or that came of one by an operator, may
    have a value for the other operand; and what comes of objects that the test has made alone may be a value. So may
    what comes of them and values, unless it is the same for all that are equal: `V(7) - 7` would ask for that alone."""
    not_said, not_heard = unsaid(name), unsaid(name, was_asked=True)
    may_tell_equal = tells_equal(name)

    def method(self, *others):
        # type: (object, object) -> Any
        standing = standing_of(self)
        if standing == HANDED_OVER and not all(map(_is_no_value, others)):
            return not_said(self, *others)
        began = now()
        value = LINK[0].ask("special", self, name, *others)
        if value is NotImplemented or is_opaque(value):
            given = _operands(self, *others)
            return value if standing == HANDED_OVER else marked(value, DERIVED, type(self), began, given)
        operands = others if may_tell_equal else [each for each in others if is_opaque(each)]
        return value if are_made(self, *operands) else not_heard(self)

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
            return LINK[0].ask("special", self, name, *others)
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
    return bool(LINK[0].ask("special", self, "__contains__", item))


_GIVING_ITEMS = ("__iter__", "__getitem__")


def _is_same(self, other):
    # type: (object, object) -> Any
    """Whether an object equals itself its class says, which is told of nothing else by that. Two objects are different;
    two of a class that the script knows by its name may hold the same. A script that fails may have expected the answer
    of the object's class."""
    return _sameness(self, other, sys._getframe(1))


def _sameness(self, other, frame):
    # type: (object, object, Any) -> Any
    if is_reading():  # what are two here are two over there
        return self is other or NotImplemented
    if self is other:
        return LINK[0].ask("special", self, "__eq__", other)
    if type(other) is type(self) and LINK[0].means_a_class(type(self)):
        found = hold_the_same(LINK[0], self, other)
        if found is None:
            LINK[0].doubts.says_equal(self, frame)
        return bool(found)
    if holds(LINK[0], self, other):
        return bool(LINK[0].ask("special", self, "__eq__", other))
    if has_no_equality(other):
        LINK[0].compared_by_identity = True
        LINK[0].doubts.are_different(self, other, frame)
    return NotImplemented


def opposite(self, other):
    # type: (object, object) -> Any
    """`!=` of a class that has `__eq__` alone."""
    frame = sys._getframe(1)
    found = _sameness(self, other, frame)
    if found is NotImplemented:
        return _are_two(self, other, frame) or NotImplemented
    return not found


def _are_two(self, other, frame):
    # type: (object, object, Any) -> bool
    """Are both of one class? They are different then, but their class is asked: by `!=` nobody looks for one of several
    that are equal, and the question holds nothing that the program has not given."""
    if type(other) is not type(self) or is_reading() or is_of_the_harness(frame):
        return False
    if not LINK[0].ask("special", self, "__ne__", other):
        LINK[0].doubts.says_equal(self, frame)
    return True


hash_of_object = hashed(object.__hash__, False)


def _is_another(self, other):
    # type: (object, object) -> Any
    """Of two that `==` would ask their class about, what the class says of `!=`. That they do not differ is not for it
    to say alone."""
    if type(other) is not type(self) or not LINK[0].means_a_class(type(self)):
        frame = sys._getframe(1)
        if self is other:
            return LINK[0].ask("special", self, "__ne__", other)
        if holds(LINK[0], self, other):
            return bool(LINK[0].ask("special", self, "__ne__", other))
        if _are_two(self, other, frame):
            return True
        if has_no_equality(other):
            LINK[0].doubts.are_different(self, other, frame, "__ne__")
        return object.__ne__(self, other)
    are_equal = self is other or ("__eq__" in type(self).__dict__ and bool(hold_the_same(LINK[0], self, other)))
    if LINK[0].ask("special", self, "__ne__", other):
        return True
    return False if are_equal else unsaid("__ne__", was_asked=True)(self, other)


def _call(self, /, *arguments, **keywords):
    # type: (object, object, object) -> Any
    if is_statement(arguments):
        return derive_by(self, RemoteType, arguments, keywords)
    return make(class_of_alias(self), self, arguments, keywords)


def _iter(self):
    # type: (object) -> Any
    """An iterator of the other half; an iterator itself is its own."""
    found = LINK[0].ask("special", self, "__iter__")
    return found if hasattr(type(found), "__next__") else iter(found)


def _array(self, dtype=None, copy=None):
    # type: (Any, Any, object) -> Any
    """What stays where it is (a matrix, an array with a mask, an image) as the plain array that it is at bottom. One
    that has none is not taken apart: numpy would compare its items where it refuses to compare it."""
    found, numpy = LINK[0].ask("special", self, "__array__"), sys.modules.get("numpy")  # type: Any, Any
    if numpy is None or type(found) is not numpy.ndarray:
        raise TypeError("a %s that is no plain array lives in the other process" % type(self).__name__)
    if dtype is not None and dtype != found.dtype:
        return found.astype(dtype)
    return found.copy() if copy else found


_SHAPED_FOR_THE_TEST = {"__await__": await_, "__anext__": next_, "__aexit__": aexit}  # type: dict[str, Any]
_OF_THIS_HALF = {name: _of_made(name) for name in OF_THE_TEST if name not in DESCRIPTORS}  # type: dict[str, Any]
_OF_THIS_HALF.update({"__contains__": _contains, "__eq__": _is_same, "__ne__": _is_another})
_SHAPED = {"__call__": _call, "__iter__": _iter, "__exit__": exit_, "__array__": _array}  # type: dict[str, Any]
_SHAPED.update(
    {
        "__copy__": lambda self: copied_there(self, False),
        "__deepcopy__": lambda self, memo: copied_there(self, True, memo),
    }
)
