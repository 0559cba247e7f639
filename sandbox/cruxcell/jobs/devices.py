"""`open` for programs that name `/dev/stdin`: a worker's file tree has no devices, but its descriptors are there.

The function ends in candidates' hands, so this module holds nothing but it.
"""

import builtins
import io
import posix

_open = io.open
_STREAMS = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}


def open(file, *arguments, **keywords):
    # type: (object, object, object) -> object
    """As the builtin; a standard stream is a duplicate of its descriptor."""
    number = _STREAMS.get(file) if type(file) is str else None
    if number is None:
        return _open(file, *arguments, **keywords)  # type: ignore[call-overload]
    file = posix.dup(number)
    try:
        return _open(file, *arguments, **keywords)  # type: ignore[call-overload]
    except BaseException:
        posix.close(file)
        raise


def install():
    # type: () -> None
    builtins.open = io.open = open  # type: ignore[assignment]
