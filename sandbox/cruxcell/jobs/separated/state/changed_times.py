"""`os.stat` of a file that has crossed: it was changed when it was in the half that has changed it.

A file that crosses is written anew, and no call sets when that was (`st_ctime`), as one sets the time of its content.
So where a program or script names that time, what looks at files says what the other half has told.

What stands for `os.stat` ends in candidates' hands, so this module holds nothing but that.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_LARGEST = 1 << 63
_lstat = os.lstat
_told = {}  # type: dict[int, tuple[int, int]]  # a file's number -> when it was written here, and changed there


def note(place, changed):
    # type: (str, int) -> None
    """The file there has crossed, and was changed at that time."""
    found = _lstat(place)
    if 0 <= changed < _LARGEST:
        _told[found.st_ino] = found.st_ctime_ns, changed


class _Look:
    """No function: pathlib has it in a class, where that would be a method."""

    def __init__(self, look):
        # type: (Any) -> None
        self._look, self.__name__, self.__doc__ = look, look.__name__, look.__doc__

    def __call__(self, *arguments, **keywords):
        # type: (Any, Any) -> Any
        found = self._look(*arguments, **keywords)
        written, changed = _told.get(found.st_ino, (None, 0))
        if written != found.st_ctime_ns:
            return found
        made, (numbers, more) = found.__reduce__()
        seconds, rest = divmod(changed, 10**9)
        as_float = seconds + 1e-9 * rest  # to the last digit as Python has it
        return made((*numbers[:9], seconds), {**more, "st_ctime": as_float, "st_ctime_ns": changed})


_LOOKS = {name: _Look(getattr(os, name)) for name in ("stat", "lstat", "fstat")}


def install_for(source):
    # type: (str) -> None
    """Where the text names that time."""
    if "ctime" not in source:
        return
    shared = sys.modules["os"]  # type: Any
    choices = [each for name, each in vars(shared).items() if name.startswith("supports_") and type(each) is set]
    paths = getattr(sys.modules.get("pathlib"), "_NormalAccessor", None)  # up to Python 3.10
    for name, look in _LOOKS.items():
        for each in choices:
            if getattr(shared, name) in each:
                each.add(look)
        setattr(shared, name, look)
        if hasattr(paths, name):
            setattr(paths, name, look)
