"""The daemon's temporary folder: the working directory of its zygotes, and a lock that marks it as in use.

The lock is released when the daemon ends, however it ends. A folder whose lock is free belongs to a dead daemon, and
the next daemon that starts removes it.
"""

from __future__ import annotations

import atexit
import fcntl
import logging
import os
import shutil
import stat
import tempfile
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

log = logging.getLogger(__name__)

_PREFIX, _NEW = "cruxboxd-", "new-cruxboxd-"
_OLD_S = 3600.0  # a folder this old that never got its name was left behind


@dataclass
class _Held:
    folder: Path
    lock: int
    owner: int


_held: list[_Held] = []


def empty_folder() -> str:
    """The absolute path of the empty directory; made, and old ones swept, when first asked for. Raises OSError."""
    if _held and _held[0].owner == os.getpid() and (_held[0].folder / "empty").is_dir():
        return str(_held[0].folder / "empty")
    remove()
    root = Path(tempfile.gettempdir()).absolute()
    sweep(root)
    _held.append(_make(root))
    atexit.register(remove)
    return str(_held[0].folder / "empty")


def remove() -> None:
    """Take the folder away; nothing if there is none, or if it is another process's."""
    while _held:
        held = _held.pop()
        if held.owner == os.getpid():
            shutil.rmtree(held.folder, ignore_errors=True)
        os.close(held.lock)
    atexit.unregister(remove)


def sweep(root: Path) -> None:
    """Take away what daemons of this user left behind that are dead."""
    for folder in [*root.glob(f"{_PREFIX}*"), *root.glob(f"{_NEW}*")]:
        with suppress(OSError):
            about = folder.lstat()
            if stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and _is_left(folder, about.st_mtime):
                shutil.rmtree(folder, ignore_errors=True)
                log.debug("a dead daemon's folder was removed", extra={"folder": str(folder)})


def _make(root: Path) -> _Held:
    """A folder gets its name when it is locked, so no locked one is ever mistaken for a dead daemon's."""
    with ExitStack() as undo:
        new = Path(tempfile.mkdtemp(prefix=_NEW, dir=root))
        undo.callback(shutil.rmtree, new, ignore_errors=True)
        new.chmod(0o755)
        (new / "empty").mkdir()
        (new / "empty").chmod(0o755)
        lock = os.open(new / "lock", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        undo.callback(os.close, lock)
        with suppress(OSError):  # a file system without locks: the folder is swept by nobody
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        folder = root / new.name.replace(_NEW, _PREFIX, 1)
        new.rename(folder)
        undo.pop_all()
    return _Held(folder, lock, os.getpid())


def _is_left(folder: Path, changed: float) -> bool:
    if folder.name.startswith(_NEW):
        return time.time() - changed > _OLD_S
    lock = os.open(folder / "lock", os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(lock)
    return True
