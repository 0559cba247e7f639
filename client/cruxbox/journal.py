"""A file of JSON lines that only grows: what a run has done so far, on the disk as soon as it is there.

A line that a kill cut short is dropped when the file is opened again. One process at a time has the file.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Union

from cruxbox.errors import DataError
from cruxbox.files import complaining
from cruxbox.reading import NotJson, lines, parse_json

Key = Union[int, str]  # of a part of a run: its number, or a digest of what was asked

_DIGEST_CHARS = 32  # of a file's content, as runs note it


def check_same(what: str, there: Mapping[str, Any], now: Mapping[str, Any], outer: str = "") -> None:
    """Raises DataError, naming the first difference, if a run that is to go on is another one than that of now.

    Args:
        what: what sentences call the run that is there.
        there: its identity.
        now: the identity of the run that is to go on with it.
        outer: for an identity within another, the name of that one and a dot.
    """
    for name in {**now, **there}:
        old, new = there.get(name), now.get(name)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            check_same(what, old, new, f"{outer}{name}.")
        elif old != new:
            are_digests = _is_digest(old) and _is_digest(new)
            difference = "other content now" if are_digests else f"{old!r:.200} there, {new!r:.200} now"
            raise DataError(f"{what} differs in {outer}{name}: {difference}; --restart starts over")


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and len(value) == _DIGEST_CHARS and set(value) <= set("0123456789abcdef")


def open_alone(path: Path, *, buffering: int = -1, links: bool = False) -> IO[bytes]:
    """Open a file to read and write, made if it is not there, for this process alone; what it holds stays.

    Args:
        path: where it is. A run that is done may remove it or rename it until it is locked; then it is made anew.
        buffering: as for `open`.
        links: may it be a link? A name that nobody has given may not: what it leads to would be overwritten.

    Raises DataError if it cannot be written, is no regular file, or another run has it.
    """
    while True:
        if not links and path.is_symlink():
            raise DataError(f"{path}: is a link, where a file of this run's own has to be; remove it")
        with complaining(path):
            number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | (0 if links else os.O_NOFOLLOW), 0o666)
        if not stat.S_ISREG(os.fstat(number).st_mode):
            os.close(number)
            raise DataError(f"{path}: is no regular file; remove it")
        file = open(number, "r+b", buffering=buffering)  # noqa: SIM115
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise DataError(f"{path}: another run is writing it") from None
        except OSError:
            pass  # a file system without locks
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), os.stat(path)):
                return file
        file.close()


class Seal:
    """Tells what a run has noted from what was changed since, or is another run's."""

    def __init__(self, identity: Mapping[str, Any]) -> None:
        self._begun = hashlib.blake2b(json.dumps(identity).encode(), digest_size=8)

    def of(self, at: Key, fields: Mapping[str, Any]) -> str:
        """What stands beside what is noted of a part."""
        digest = self._begun.copy()
        digest.update(json.dumps([at, fields]).encode())
        return digest.hexdigest()


class Journal:
    """The records of a file, and room for more. DataError if the file cannot be used, or another run has it.

    Args:
        path: where it is, or will be.
        keep: called with each record that is there; KeyError, TypeError, ValueError or IndexError if it is none.
        what: what the file is, for sentences, such as "a cache".
        every_s: seconds between two moments at which the disk is waited for; a kill loses nothing in between.
        links: may it be a link?
    """

    def __init__(
        self, path: Path, keep: Callable[[Any], None], what: str, every_s: float = 0.0, *, links: bool = False
    ) -> None:
        self.path = path
        self._keep, self._what = keep, what
        self._every_s, self._synced_at = every_s, 0.0
        self._file = open_alone(path, links=links)
        try:
            self._load()
        except BaseException:
            self.close()
            raise

    def _load(self) -> None:
        good = 0
        for number, line in enumerate(lines(self._file, self.path), 1):
            if not line.endswith(b"\n"):
                if number == 1 and not line.startswith(b"{"):  # a kill has not cut that short
                    raise self._wrong(number)
                break
            try:
                self._keep(parse_json(line))
            except (NotJson, KeyError, TypeError, ValueError, IndexError, AttributeError):
                raise self._wrong(number) from None
            good += len(line)
        self._file.seek(good)
        self._file.truncate()

    def _wrong(self, number: int) -> DataError:
        return DataError(f"{self.path}, line {number}: is no line of {self._what}; remove the file")

    def add(self, record: Any) -> None:
        """Write a record: a kill of this process does not lose it, nor one of the machine once the disk has it."""
        with complaining(self.path):
            self._file.write(json.dumps(record).encode() + b"\n")
            self._file.flush()
            if time.monotonic() - self._synced_at >= self._every_s:
                os.fdatasync(self._file.fileno())
                self._synced_at = time.monotonic()

    def clear(self) -> None:
        """Forget everything."""
        with complaining(self.path):
            self._file.seek(0)
            self._file.truncate()

    def rename(self, path: Path) -> None:
        """Keep the file under another name: its work is done."""
        with complaining(path):
            self.path.replace(path)

    def remove(self) -> None:
        """Take the file away: its work is done."""
        with complaining(self.path):
            self.path.unlink(missing_ok=True)
        self.close()

    def close(self) -> None:
        """Let others have the file."""
        with suppress(OSError):
            self._file.close()
