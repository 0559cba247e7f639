"""`os.stat` in workers opens the file, because the filter refuses stat by path.

A stat by path would tell which files exist outside of what a worker may open. Opening asks Landlock first. What is not
below a readable folder is answered with one error whatever is there, so that this tells nothing either.

The functions end in candidates' hands (as `os.stat`), so this module holds nothing but them.
"""

import posix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_open, _fstat, _close = posix.open, posix.fstat, posix.close
_FLAGS = posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK
_EPERM, _REFUSED = 1, "Operation not permitted"
_readable = ()  # type: tuple[bytes, ...]


def allow(folders):
    # type: (list[str]) -> None
    """Files below these folders may be looked at by their paths; absolute paths without links in them."""
    global _readable
    _readable = tuple([folder.encode("utf-8", "surrogateescape") for folder in folders])


def stat(path, *, dir_fd=None, follow_symlinks=True):  # noqa: ARG001 - as os.stat has it
    # type: (Any, int | None, bool) -> posix.stat_result
    """As os.stat, by opening the file; links are followed in any case."""
    if type(path) is int:
        return _fstat(path)
    name = posix.fspath(path)
    encoded = name.encode("utf-8", "surrogateescape") if isinstance(name, str) else bytes(name)
    if dir_fd is not None or not _is_readable(encoded):
        raise OSError(_EPERM, _REFUSED, name)
    return any_file(name)


def any_file(path):
    # type: (str | bytes) -> posix.stat_result
    """What is known of a file that may be opened, wherever it is: for imports, which open what they find."""
    number = _open(path, _FLAGS)
    try:
        return _fstat(number)
    finally:
        _close(number)


def lstat(path, *, dir_fd=None):
    # type: (object, int | None) -> posix.stat_result
    """As os.lstat, but for links, which are followed."""
    return stat(path, dir_fd=dir_fd)


def _is_readable(path):
    # type: (bytes) -> bool
    """Is an absolute path below one of the folders? A step upwards is not looked through."""
    if b"/../" in path + b"/":
        return False
    return any(path == folder or path.startswith(folder + b"/") for folder in _readable)
