"""`resource.setrlimit`, `getrlimit` and `threading.stack_size` for programs that ask for a larger stack, as those of
contests do.

A worker's limits are fixed, and a stack that cannot be had does not matter until the one that is there is used up.

The functions end in candidates' hands, so this module holds nothing but them.
"""

import _thread
import resource
import sys

from cruxcell.builtin_like import take_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_setrlimit, _getrlimit = resource.setrlimit, resource.getrlimit
_UNBOUND = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
_STACK = resource.RLIMIT_STACK
_stack_size = _thread.stack_size
_asked, _most = [0], [0]  # bytes of a thread's stack, that the program has asked for and that it may have


def setrlimit(which, limits):
    # type: (Any, Any) -> None
    """As the library's; a stack stays as large as it is."""
    if which != _STACK:
        _setrlimit(which, limits)


def getrlimit(which):
    # type: (Any) -> tuple[int, int]
    """As the library's; a stack may have any size."""
    return _UNBOUND if which == _STACK else _getrlimit(which)


def stack_size(size=0, /):
    # type: (int) -> int
    """As the library's; a thread's stack takes at most half of the memory."""
    _stack_size(size if type(size) is not int else min(size, _most[0]))
    before, _asked[0] = _asked[0], size
    return before


def install_for(source, memory_bytes):
    # type: (str, int) -> None
    """Where the program names that limit, or the size."""
    if "stack_size" in source and memory_bytes:
        _most[0], _asked[0] = memory_bytes // 2, _stack_size()
        _stack_size(_asked[0])  # asking has made it none
        for name in ("_thread", "threading"):
            __import__(name)
            take_place(sys.modules[name], "stack_size", stack_size)
    if "RLIMIT_STACK" in source:
        for function in (setrlimit, getrlimit):
            take_place(resource, function.__name__, function)
