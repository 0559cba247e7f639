"""Writes result files of every kind.

A regular file is there whole or not at all. The text grows in `.NAME.XXXXXXXX.part` beside it, which takes its name at
the end. Whoever writes a part holds a lock on it; a part that nobody holds is of a run that was killed, and the next
run with the same output removes it. What is no regular file (a device, a pipe) is never replaced but written in place.
A file whose name ends in `.gz` is packed, as it is unpacked when it is read.
"""

from __future__ import annotations

import codecs
import errno
import fcntl
import gzip
import json
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from cruxbox.errors import DataError
from cruxbox.reading import PACKED, STANDARD

_LEVEL = 6  # of gzip: its own default takes far longer for hardly less


class Unwritable(DataError):
    """A file cannot be written. That is no mistake in what was read: once there is room, a run can go on."""


class OutputFile:
    """One file to write, known to be writable before the work starts. DataError if it is not.

    Args:
        path: where it goes; a link is followed, not replaced; `-` is standard output.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._part: Path | None = None
        self._file: IO[bytes]
        _check_name(self.path)
        with complaining(self.path):
            if os.fspath(self.path) == STANDARD:
                self._file = open(1, "wb", closefd=False)  # noqa: SIM115
                return
            self._target = Path(os.path.realpath(self.path))
            kind = _kind(self.path)  # by the name that was given: /dev/stdout leads to what may have no path
            if kind is not None and stat.S_ISDIR(kind):
                raise DataError(f"{self.path}: is a folder, not a file that can be written")
            if kind is not None and stat.S_ISSOCK(kind):
                raise DataError(f"{self.path}: is a socket, not a file that can be written")
            if kind is None or stat.S_ISREG(kind):
                self._file = self._open_part(kind)
            else:
                self._file = open(os.open(self.path, os.O_WRONLY), "wb")  # noqa: SIM115

    def _open_part(self, kind: int | None) -> IO[bytes]:
        folder, name = self._target.parent, self._target.name
        if kind is not None and not os.access(self._target, os.W_OK):
            raise DataError(f"{self.path}: cannot be written: {_why_not(self._target)}")
        _sweep(folder, name)
        while True:
            handle, part = tempfile.mkstemp(prefix=f".{name[:100]}.", suffix=".part", dir=folder)
            if is_held(handle):
                break
            os.close(handle)  # another run took it, between its birth and the lock, for one that is left
        self._part = Path(part)
        os.fchmod(handle, stat.S_IMODE(kind) if kind is not None else 0o666 & ~_umask())
        return open(handle, "wb")

    def write(self, fill: Callable[[IO[bytes]], Any]) -> Any:
        """Have `fill` write into it, and put it in its place; what `fill` returns. DataError if that cannot be done."""
        with complaining(self.path):
            if self.path.name.endswith(PACKED):  # without name and time: the same content is the same file
                with gzip.GzipFile("", "wb", _LEVEL, self._file, 0) as packed:
                    result = fill(packed)  # type: ignore[arg-type]
            else:
                result = fill(self._file)
            self._file.flush()
            if self._part is not None:
                os.fsync(self._file.fileno())
                self._part.replace(self._target)
                self._part = None
            self._file.close()
        return result

    def write_text(self, text: str) -> None:
        """Put `text` there, in UTF-8; what UTF-8 cannot hold (lone surrogates) as an escape."""
        self.write(lambda file: file.write(text.encode("utf-8", "backslashreplace")))

    def write_json(self, value: Any) -> None:
        """Put `value` there as JSON."""
        self.write(lambda file: json.dump(value, codecs.getwriter("ascii")(file)))

    def discard(self) -> None:
        """Remove what was not put in place; nothing if it was."""
        with suppress(OSError):
            self._file.close()
        if self._part is not None:
            with suppress(OSError):
                self._part.unlink()
            self._part = None


@contextmanager
def output_file(path: str | os.PathLike[str]) -> Iterator[OutputFile]:
    """An OutputFile that leaves nothing behind if the work fails."""
    file = OutputFile(path)
    try:
        yield file
    finally:
        file.discard()


def check_output(out: Path | None, *sources: Path | None) -> None:
    """DataError, before anything runs, for an output that would overwrite a source of it or cannot be written."""
    if out is None or os.fspath(out) == STANDARD:
        return
    _check_name(out)
    is_kept = out.is_file() or not out.exists()  # a device, or a pipe, may be read and written
    if is_kept and any(source is not None and os.path.realpath(out) == os.path.realpath(source) for source in sources):
        raise DataError(f"{out}: would overwrite a file it is made from")
    if out.is_dir():
        raise DataError(f"{out}: is a folder, not a file that can be written")
    target = Path(os.path.realpath(out))
    for folder in (out.parent, target.parent):
        if not folder.is_dir():
            raise DataError(f"{out}: cannot be written: {folder} is not a folder")
    for place in [out] * out.exists() + [target.parent] * is_kept:
        if not os.access(place, os.W_OK):
            raise DataError(f"{out}: cannot be written: {_why_not(place)}")


def _why_not(place: str | os.PathLike[str]) -> str:
    """Why nothing can be written there, which `os.access` does not say."""
    is_read_only = os.statvfs(place).f_flag & os.ST_RDONLY
    return os.strerror(errno.EROFS if is_read_only else errno.EACCES)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` to `path`, whole or not at all. DataError if it cannot be."""
    with output_file(path) as file:
        file.write_text(text)


def is_held(handle: int) -> bool:
    """Wait for the lock of a file that was opened; False if somebody removed the file before this process had it."""
    with suppress(OSError):  # a file system without locks: then nothing is ever swept there
        fcntl.flock(handle, fcntl.LOCK_EX)
    return os.fstat(handle).st_nlink > 0


@contextmanager
def complaining(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turns an OSError into one sentence about `path`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Unwritable(f"{path}: cannot be written: {error.strerror or error}") from None


def _check_name(path: Path) -> None:
    try:
        is_name = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        is_name = False
    if not is_name:
        raise DataError(f"{path}: is no name that a file can have")


def _kind(path: Path) -> int | None:
    """What stands at `path`; None for nothing."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _sweep(folder: Path, name: str) -> None:
    """Remove parts of `name` that nobody writes any more."""
    with suppress(OSError):
        for each in os.scandir(folder):
            if each.name.startswith(f".{name[:100]}.") and each.name.endswith(".part"):
                with suppress(OSError):
                    _remove_if_left(Path(each.path))


def _remove_if_left(part: Path) -> None:
    handle = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        part.unlink()
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
