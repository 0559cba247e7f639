"""What this half knows of a proxy: its number over there, since when it is here, and how a test came by it.

A proxy of an opaque object has slots for these facts, one of a value or an exception has them in its `__dict__`, and a
class has its number alone.
"""

from cruxcell.jobs.separated.proxies.operations import is_class, mro_of, own_of
from cruxcell.jobs.separated.proxies.runs import LINK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

# How a test came by an object: a function of the program returned it, say; it came of an operator, and one of the
# operands the test had made; the test has made it by calling its class under a name that is one of a class.
HANDED_OVER, DERIVED, MADE = range(3)
# Of what came of an operator, before some of the objects that the test has made and it came of: all operands were such
# objects, or results of operators on such alone; or values were among them, one of which may be what is expected.
OF_MADE, OF_VALUES = "objects", "values"

# An attribute of a class that stands for one of the other half's: where the classes of libraries are that it is, or
# behind the mark derives from.
LIBRARIES, DERIVES = "_remote_libraries", "<"

_get = object.__getattribute__
_time = [0]


def derives_from(cls, place):
    # type: (Any, str) -> bool
    """Is it one of the other half's that derives from the class of a library at this place, as that half says?"""
    return DERIVES + place in own_of(cls).get(LIBRARIES, ())


def has_equality(kind):
    # type: (Any) -> bool
    """Has a class an `==` of its own? That is not asked of it: it may have a metaclass of the other half's."""
    return any("__eq__" in own_of(each) for each in mro_of(kind) if each is not object)


def address_of(value):
    # type: (Any) -> Any
    """Of a method, those of its object and its function: it is made anew each time it is taken of its object, and
    equals itself all the same."""
    return (id(value.__self__), id(value.__func__)) if type(value) is METHOD else id(value)


METHOD = type(has_equality.__get__(1))  # type: Any


class Opaque(object):
    """The base of opaque objects' proxies."""

    __slots__ = (
        "__weakref__",
        "_remote_handed",
        "_remote_hash",
        "_remote_made_of",
        "_remote_number",
        "_remote_standing",
        "_remote_time",
        "_remote_value",
    )


_SLOTS = ("number", "standing", "time", "made_of", "value", "handed", "hash")
_NUMBER, _STANDING, _TIME, _MADE_OF, _VALUE, _HANDED, _HASH = (vars(Opaque)["_remote_" + each] for each in _SLOTS)
del Opaque.__slots__

_MADE_HERE = "an object of class %s was made in the test's process, by object.__new__: require IN_PROCESS"


def is_opaque(value):
    # type: (object) -> bool
    """Is it a proxy of an opaque object? By its type: a test's mock may say that it is of a class of the program's."""
    return issubclass(type(value), Opaque)


def number_of(value):
    # type: (Any) -> int
    """The other half's number of what a proxy or class stands for."""
    if is_class(value):
        number = own_of(value)["_remote_class"]  # type: int
    elif is_opaque(value):
        try:
            number = _NUMBER.__get__(value)
        except AttributeError:  # `object.__new__(cls)`, where the program's is meant
            return LINK[0].refuse(_MADE_HERE % type(value).__name__)  # type: ignore[no-any-return]
    else:
        number = _get(value, "__dict__")["_remote_number"]
    return number


def give_number(value, number):
    # type: (Any, int) -> None
    if is_opaque(value):
        _NUMBER.__set__(value, number)
        _TIME.__set__(value, now())
        _STANDING.__set__(value, HANDED_OVER)
    else:
        _get(value, "__dict__").update(_remote_number=number, _remote_time=now())


def standing_of(value):
    # type: (Any) -> int
    if is_opaque(value):
        found = _STANDING.__get__(value)  # type: int
    elif "_remote_class" in own_of(type(value)):
        found = _get(value, "__dict__").get("_remote_standing", HANDED_OVER)
    else:
        found = HANDED_OVER
    return found


def marked(value, standing, cls, began, made_of=()):
    # type: (Any, int, object, int, Any) -> Any
    """`value`, with that standing if it is an object of that class which was not here when time was `began`, and has
    come for this thread. One that was keeps its own: or what a function has returned, to another thread meanwhile,
    would come back as what the test has made."""
    if type(value) is not cls:
        return value
    began = LINK[0].alone_since(began)
    if is_opaque(value):
        if _TIME.__get__(value) > began:
            _STANDING.__set__(value, standing)
            _MADE_OF.__set__(value, made_of)
    elif not isinstance(value, BaseException) and is_new_value(value, began):
        _get(value, "__dict__").update(_remote_standing=standing, _remote_made_of=made_of)
    return value


def hand_over(value):
    # type: (Any) -> None
    """What looks as if the test had made it comes of what a function has returned."""
    if standing_of(value) != HANDED_OVER:
        _get(value, "__dict__")["_remote_standing"] = HANDED_OVER


def made_of(value):
    # type: (Any) -> Any
    """What the test gave the class when it made this object (`equality.shown_by`); of what came of an operator, what it
    came of."""
    return _MADE_OF.__get__(value) if is_opaque(value) else _get(value, "__dict__")["_remote_made_of"]


def fixed_value(value, make):
    # type: (Any, Any) -> Any
    """What `make` makes of an opaque object that never changes: it is asked once."""
    try:
        return _VALUE.__get__(value)
    except AttributeError:
        made = make(value)
        _VALUE.__set__(value, made)
        return made


def with_hash(value, found):
    # type: (Any, int) -> int
    """`found`, which is the hash of `value` by now."""
    if is_opaque(value):
        _HASH.__set__(value, found)
    return found


def last_hash(value, instead):
    # type: (Any, int) -> int
    """The hash of an opaque object when it was last asked for; `instead` where it never was."""
    try:
        return int(_HASH.__get__(value)) if is_opaque(value) else instead
    except AttributeError:
        return instead


def has_come(value, asked):
    # type: (Any, object) -> None
    """An opaque object is in a message. `asked`: the class that has given it, if that was asked for what it has or
    makes (`members.class_asked`)."""
    if type(value) is not asked:
        _HANDED.__set__(value, True)


def becomes(value, cls):
    # type: (Any, Any) -> None
    """An opaque object is of this class by now: it is nothing that the test has made."""
    object.__setattr__(value, "__class__", cls)
    _STANDING.__set__(value, HANDED_OVER)
    _HANDED.__set__(value, True)


def was_handed_over(value):
    # type: (Any) -> bool
    """Has it ever come otherwise than from its own class: from a function of the program, or in what that gives?"""
    try:
        return bool(is_opaque(value) and _HANDED.__get__(value))
    except AttributeError:
        return False


def class_behind(value):
    # type: (Any) -> Any
    """The class that an object stands for (`Stack[int]`), or whose iterator it is; None of what is no such object."""
    if not is_opaque(value):
        return None
    try:
        found = made_of(value)
    except AttributeError:
        return None
    return found if is_class(found) else None


def is_new_since(value, began):
    # type: (Any, int) -> bool
    """Was this opaque object not here when time was `began`?"""
    return bool(_TIME.__get__(value) > began)


def is_new_value(value, began):
    # type: (Any, int) -> bool
    """The same of what is a value here, with a class of its own."""
    is_of_the_other_half = "_remote_class" in own_of(type(value))
    return is_of_the_other_half and bool(_get(value, "__dict__").get("_remote_time", began) > began)


def is_of_the_test(value):
    # type: (Any) -> bool
    """Has the test made it, or did it come by operators of what the test has made alone?"""
    return standing_of(value) == MADE or operands_of(value)[:1] == (OF_MADE,)


def operands_of(value):
    # type: (Any) -> tuple[Any, ...]
    """(OF_MADE or OF_VALUES, objects that the test has made) of what came of these by operators; () of all else."""
    return made_of(value) if standing_of(value) == DERIVED else ()


def is_made_since(value, began):
    # type: (Any, int) -> bool
    """Has the test made this opaque object, or was it not here when time was `began`?"""
    return is_new_since(value, began) or standing_of(value) == MADE


def now():
    # type: () -> int
    _time[0] += 1
    return _time[0]


def keep_owner(method, value):
    # type: (Any, object) -> None
    """A method refers to its object: or the object would be gone from here, and what is known of it, before the method
    returns it, `Query().where(1)`."""
    if standing_of(method) == HANDED_OVER:
        _MADE_OF.__set__(method, value)
