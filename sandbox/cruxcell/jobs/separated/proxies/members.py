"""Members of the program's enums that a script has read from their class: `Size.S`, `Size["S"]`, `list(Size)`.

What their class says of their order, and of what it makes of a value (`_missing_`), is what a script tests then. A
member that has come otherwise, before or since, from a function of the program, say, may be what the script wants to
find out: it is none. Which answers are those of a class, their questions say, whatever other threads ask meanwhile.
"""

from cruxcell.jobs.separated.proxies.facts import (
    class_behind,
    derives_from,
    has_equality,
    is_of_the_test,
    is_opaque,
    was_handed_over,
)
from cruxcell.jobs.separated.proxies.operations import is_class, own_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

_OF_A_CLASS = frozenset(["get", "call", "__getitem__"])
_OF_WHAT_STANDS_FOR_IT = frozenset(["call", "__next__"])  # `Stack[int]`, and the iterator of a class


def class_asked(operation, fields, means_a_class):
    # type: (str, list[Any], Callable[[Any], bool]) -> Any
    """The class of the other half's from which a question wants what that class has or makes; None of other questions.
    To call what the script means no class by is to call a function."""
    how = fields[1] if operation == "special" else operation
    if how not in _OF_A_CLASS and how not in _OF_WHAT_STANDS_FOR_IT:
        return None
    cls = fields[0] if is_class(fields[0]) else class_behind(fields[0])
    asks = _OF_A_CLASS if cls is fields[0] else _OF_WHAT_STANDS_FOR_IT
    if cls is None or how not in asks or "_remote_class" not in own_of(cls):
        return None
    return cls if how != "call" or means_a_class(cls) else None


def is_of_members(cls):
    # type: (Any) -> bool
    """A class of the other half's that derives from Enum and leaves to it what is equal."""
    return derives_from(cls, "enum:Enum") and not has_equality(cls)


def are_read(*values):
    # type: (Any) -> bool
    """Has the script made all of them, or read them from their classes?"""
    return all(is_read(each) or is_of_the_test(each) for each in values)


def is_read(value):
    # type: (Any) -> bool
    return is_opaque(value) and is_of_members(type(value)) and not was_handed_over(value)
