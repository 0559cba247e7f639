"""Files that are read back from a worker's scratch folder when the worker has ended.

The folder is a candidate's, so nothing in it is taken at its word: names are those that were asked for, no link is
followed, only plain files are read, and no more bytes than were allowed. Nothing changes meanwhile, as the only process
that had the folder is dead.

One call of the system resolves a name, however deep it is, and a file is read only if all of it is allowed.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SHORTAGES = frozenset([errno.EMFILE, errno.ENFILE, errno.ENOMEM])
_OPENAT2 = 437  # on every machine
_NO_MOUNTS, _NO_MAGIC_LINKS, _NO_LINKS, _BENEATH = 1, 2, 4, 8
_libc = ctypes.CDLL(None, use_errno=True)


class _How(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


_HOW = _How(_FILE, 0, _NO_MOUNTS | _NO_MAGIC_LINKS | _NO_LINKS | _BENEATH)


@dataclass(frozen=True)
class FilesRead:
    """What was there of what was asked for; `is_over` if it was more than allowed, and then nothing is here."""

    files: tuple[tuple[str, bytes], ...] = ()
    is_over: bool = False


NO_FILES = FilesRead()


def read_files(folder: int, names: Sequence[str], most_bytes: int) -> FilesRead:
    """The plain files of these names below the open `folder`, at most so many bytes in all; others are left out.

    Raises OSError where the host has no descriptor or memory left for one: it may be there.
    """
    found: list[tuple[str, bytes]] = []
    left = most_bytes
    for name in names:
        try:
            file = _open(folder, name)
        except OSError as error:
            if error.errno in _SHORTAGES:
                raise
            continue
        try:
            about = os.fstat(file)
            if not stat.S_ISREG(about.st_mode):
                continue
            left -= about.st_size
            if left < 0:
                return FilesRead((), True)
            found.append((name, _read(file, about.st_size)))
        finally:
            os.close(file)
    return FilesRead(tuple(found))


def _open(folder: int, name: str) -> int:
    """A descriptor of what is there, no link followed on the way. Raises OSError."""
    return _open_at_once(folder, name) if _resolves_at_once() else _open_step_by_step(folder, name)


def _open_at_once(folder: int, name: str) -> int:
    file: int = _libc.syscall(_OPENAT2, folder, name.encode(), ctypes.byref(_HOW), ctypes.sizeof(_HOW))
    if file < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return file


@cache
def _resolves_at_once() -> bool:
    """Does the kernel know openat2, and a container's filter allow it?"""
    above = os.open("/", _FOLDER)
    try:
        os.close(_open_at_once(above, "."))
    except OSError as error:
        return error.errno not in (errno.ENOSYS, errno.EPERM)
    finally:
        os.close(above)
    return True


def _open_step_by_step(folder: int, name: str) -> int:
    *folders, last = name.encode().split(b"/")
    here = os.dup(folder)
    try:
        for part in folders:
            below = os.open(part, _FOLDER, dir_fd=here)
            os.close(here)
            here = below
        return os.open(last, _FILE, dir_fd=here)
    finally:
        os.close(here)


def _read(file: int, size: int) -> bytes:
    """So many bytes: mostly by one read, so that they are copied once."""
    parts = [os.read(file, size)]
    while parts[-1] and (size := size - len(parts[-1])) > 0:
        parts.append(os.read(file, size))
    return parts[0] if len(parts) == 1 else b"".join(parts)
