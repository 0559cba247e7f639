"""`resource.setrlimit` for programs that ask for a larger stack, as solutions of contests do.

A worker's limits are fixed, and a stack that cannot be had does not matter until the one that is there is used up.

The function ends in candidates' hands, so this module holds nothing but it.
"""

import resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_setrlimit = resource.setrlimit
_STACK = resource.RLIMIT_STACK


def setrlimit(which, limits):
    # type: (Any, Any) -> None
    """As the library's; a stack stays as large as it is."""
    if which != _STACK:
        _setrlimit(which, limits)


def install():
    # type: () -> None
    setattr(resource, "setrlimit", setrlimit)  # noqa: B010
