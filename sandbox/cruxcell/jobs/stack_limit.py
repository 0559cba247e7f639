"""`resource.setrlimit` and `getrlimit` for programs that ask for a larger stack, as solutions of contests do.

A worker's limits are fixed, and a stack that cannot be had does not matter until the one that is there is used up.

The functions end in candidates' hands, so this module holds nothing but them.
"""

import resource

from cruxcell.builtin_like import take_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_setrlimit, _getrlimit = resource.setrlimit, resource.getrlimit
_UNBOUND = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
_STACK = resource.RLIMIT_STACK


def setrlimit(which, limits):
    # type: (Any, Any) -> None
    """As the library's; a stack stays as large as it is."""
    if which != _STACK:
        _setrlimit(which, limits)


def getrlimit(which):
    # type: (Any) -> tuple[int, int]
    """As the library's; a stack may have any size."""
    return _UNBOUND if which == _STACK else _getrlimit(which)


def install_for(source):
    # type: (str) -> None
    """Where the program names that limit."""
    if "RLIMIT_STACK" in source:
        for function in (setrlimit, getrlimit):
            take_place(resource, function.__name__, function)
