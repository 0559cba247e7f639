"""Temporary folders held by a lock. The next process removes those whose owner is dead.

A lock and not a process id: a kill of any kind gives it back, ids are used again, and it holds in other namespaces too.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_LOCK = "lock"
# A folder without a lock is one that is just being made, unless it is this old: seconds.
_YOUNG_S = 600.0
# Of these characters are paths that gRPC takes as they are; longer ones than this have no room for a socket's name.
_PLAIN = re.compile(r"[A-Za-z0-9_./+,@=~-]*")
_LONGEST = 70


class ScratchFolder:
    """A private folder that this process holds until `remove`, or until it is gone.

    Args:
        prefix: how its name begins; folders of the same prefix that nobody holds are removed first.
    """

    def __init__(self, prefix: str) -> None:
        parent = _parent()
        _sweep(parent, prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        # The lock gets its name when it is held: nobody ever finds one that is free in a folder in use.
        new = self.path / f"{_LOCK}.new"
        self._lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with suppress(OSError):  # a file system without locks: it is swept when it is old, which cannot be helped
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        new.rename(self.path / _LOCK)

    def remove(self) -> None:
        """Remove it and what is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _parent() -> Path:
    """The folder for temporary files; /tmp where a socket below it could not be told to gRPC."""
    named = Path(tempfile.gettempdir())
    usual = Path("/tmp")  # noqa: S108  (a folder in it is made by mkdtemp)
    fits = _PLAIN.fullmatch(str(named)) is not None and len(str(named)) <= _LONGEST
    return named if fits or not os.access(usual, os.W_OK | os.X_OK) else usual


def _sweep(parent: Path, prefix: str) -> None:
    with suppress(OSError):
        for each in os.scandir(parent):
            if each.name.startswith(prefix):
                with suppress(OSError):
                    _remove_if_left(Path(each.path))


def _remove_if_left(folder: Path) -> None:
    state = folder.lstat()
    if state.st_uid != os.geteuid() or folder.is_symlink():
        return
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        if time.time() - state.st_mtime > _YOUNG_S:
            shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
