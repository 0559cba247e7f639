"""Members of the program's enums that a script has read from their class: `Size.S`, `Size["S"]`, `list(Size)`.

What their class says of their order, and of what it makes of a value (`_missing_`), is what a script tests then. A
member that a function of the program has given, before or since, may be what the script wants to find out: it is none.
"""

from _thread import get_ident as _get_ident

from cruxcell.jobs.separated.proxies.facts import (
    derives_from,
    is_new_since,
    is_of_the_test,
    is_opaque,
    keep_as_member,
    kept_as_member,
    now,
)
from cruxcell.jobs.separated.proxies.operations import mro_of, own_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

_reading = {}  # type: dict[int, int]  # threads that read from such a class


def is_of_members(cls):
    # type: (Any) -> bool
    """A class of the other side's that derives from Enum and leaves to it what is equal."""
    return derives_from(cls, "enum:Enum") and not any("__eq__" in own_of(each) for each in mro_of(cls)[:-1])


def read_from(cls, ask):
    # type: (Any, Callable[[], Any]) -> Any
    """What the other side gives for a class of its own. An object of that class that was not here is a member."""
    if not is_of_members(cls):
        return ask()
    thread, began = _get_ident(), now()
    _reading[thread] = _reading.get(thread, 0) + 1
    try:
        value = ask()
    finally:
        _reading[thread] -= 1
    if type(value) is cls and is_opaque(value) and is_new_since(value, began):
        keep_as_member(value, True)
    return value


def has_come_back(value, is_question):
    # type: (Any, bool) -> None
    """An opaque object that is here has come again: not from its class, but for what the script reads there."""
    if is_question or not _reading.get(_get_ident()):
        keep_as_member(value, False)


def are_read(*values):
    # type: (Any) -> bool
    """Has the script made all of them, or read them from their classes?"""
    return all(is_read(each) or is_of_the_test(each) for each in values)


def is_read(value):
    # type: (Any) -> bool
    return is_opaque(value) and kept_as_member(value)
