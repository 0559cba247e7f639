"""`os.stat` of a file that has crossed tells when the other half has changed it.

A file that crosses is written anew, and its `st_ctime` is the time of that, which no call can set. So where a program
or script names that field, `os.stat` and its like give the time that the other half has told.

A candidate can reach the globals of this module by what stands for `os.stat`. So it holds nothing else.
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
    """The file at `place` has come from the other half, which changed it at that time (ns)."""
    found = _lstat(place)
    if 0 <= changed < _LARGEST:
        _told[found.st_ino] = found.st_ctime_ns, changed


class _Look:
    """No function: pathlib has it as an attribute of a class, where a function would become a method."""

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
    """In the place of `os.stat` and its like, where `source` names that field."""
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
