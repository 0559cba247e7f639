"""`open` for programs that name a standard stream (`/dev/stdin`) or `os.devnull`: a worker's file tree has no devices.

A stream is a duplicate of its descriptor, and the null device an object that holds nothing.

What is here ends in candidates' hands, so this module holds nothing but it.
"""

import builtins
import io
import posix

from cruxcell.builtin_like import take_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_open = io.open  # type: Any
_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
_NULL = "/dev/null"
_MODES = {"r": "rb", "w": "wb", "a": "ab", "r+": "rb+", "w+": "rb+", "a+": "ab+"}


def open(file, *arguments, **keywords):
    # type: (Any, Any, Any) -> Any
    """As the builtin."""
    place = posix.fspath(file) if hasattr(type(file), "__fspath__") else file
    if type(place) is str and place == _NULL:
        return _open_null(*arguments, **keywords)
    number = _STREAMS.get(place) if type(place) is str else None
    if number is None:
        return _open(place, *arguments, **keywords)
    file = posix.dup(number)
    try:
        return _open(file, *arguments, **keywords)
    except BaseException:
        posix.close(file)
        raise


class _Null(io.RawIOBase):
    """What is written is gone, and there is nothing to read."""

    name = _NULL

    def __init__(self, mode):
        # type: (str) -> None
        self.mode = mode

    def readable(self):
        # type: () -> bool
        return self.mode[0] == "r" or "+" in self.mode

    def writable(self):
        # type: () -> bool
        return self.mode != "rb"

    def seekable(self):
        # type: () -> bool
        return True

    def seek(self, offset, whence=0):  # noqa: ARG002 - as of any device without places
        # type: (int, int) -> int
        return 0

    def readinto(self, buffer):  # noqa: ARG002 - nothing is put into it
        # type: (Any) -> int
        self._check(self.readable(), "reading")
        return 0

    def write(self, data):
        # type: (Any) -> int
        self._check(self.writable(), "writing")
        return memoryview(data).nbytes

    def _check(self, may, what):
        # type: (bool, str) -> None
        if self.closed:
            raise ValueError("I/O operation on closed file")
        if not may:
            raise io.UnsupportedOperation("File not open for " + what)


def _open_null(  # noqa: PLR0917 - those of the builtin
    mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None
):
    # type: (str, int, str | None, str | None, str | None, bool, Any) -> Any
    plain = mode.replace("b", "", 1).replace("t", "", 1) if type(mode) is str else mode
    if plain not in _MODES or ("b" in mode and "t" in mode) or not closefd or opener is not None:
        return _open(_NULL, mode, buffering, encoding, errors, newline, closefd, opener)  # which says what is wrong
    raw = _Null(_MODES[plain])
    if buffering == 0 and "b" in mode:
        return raw
    if "+" in plain:
        file = io.BufferedRandom(raw)  # type: Any
    else:
        file = io.BufferedReader(raw) if plain == "r" else io.BufferedWriter(raw)
    if "b" in mode:
        return file
    text = io.TextIOWrapper(file, encoding, errors, newline, buffering == 1)  # type: Any
    text.mode = mode
    return text


def install_for(source):
    # type: (str) -> None
    """Where the text names such a device."""
    if "/dev/" in source or "devnull" in source:
        take_place(io, "open", open)
        builtins.open = io.open
