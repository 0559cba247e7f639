"""Which pairs came before, for any number of them in flat memory: digests in a file, looked up by SQLite.

A digest is stored with the place where it was first seen, and only what was seen at an *earlier* place came before. So
doing a stretch of the input a second time, after a run was killed, gives the same answers as the first time.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cruxbox.errors import DataError
from cruxbox.files import Unwritable

_CACHE_KIB = 8 << 10
_DIGEST_BYTES = 16
_MOST_NAMES = 1 << 30


class Seen:
    """The pairs seen so far.

    Args:
        path: the file that remembers them; None keeps them in memory.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        with self._complaining():
            self._db = sqlite3.connect(":memory:" if path is None else str(path), isolation_level=None, timeout=0.2)
            for setting in (
                "locking_mode=EXCLUSIVE",
                "journal_mode=WAL",
                "synchronous=NORMAL",
                f"cache_size=-{_CACHE_KIB}",
            ):
                self._db.execute(f"PRAGMA {setting}")
            self._db.execute("CREATE TABLE IF NOT EXISTS seen (digest BLOB PRIMARY KEY, place INTEGER) WITHOUT ROWID")
            self._db.execute("BEGIN IMMEDIATE")
            self._name, self._times = self._number_of("application_id"), self._number_of("user_version")
            if not self._name:
                self._name = secrets.randbelow(_MOST_NAMES) + 1
                self._db.execute(f"PRAGMA application_id={self._name}")

    def _number_of(self, setting: str) -> int:
        (number,) = self._db.execute(f"PRAGMA {setting}").fetchone()
        return int(number)

    @property
    def saved(self) -> tuple[int, int]:
        """What nobody else has, and how often it was saved: by that a run knows what it has left."""
        return self._name, self._times

    def has_saved(self, saved: Sequence[int]) -> bool:
        """Is this what had `saved` once, and all that it knew then?"""
        name, times = saved
        return name == self._name and times <= self._times

    def came_before(self, code: str, argument: str, place: int) -> bool:
        """Was this pair seen before `place`? Places are numbers that grow along the input."""
        text = f"{len(code)}:{code}{argument}".encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(text, digest_size=_DIGEST_BYTES).digest()
        with self._complaining():
            return self._came_before(digest, place)

    def _came_before(self, digest: bytes, place: int) -> bool:
        if self._db.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (digest, place)).rowcount:
            return False
        first = self._db.execute("SELECT place FROM seen WHERE digest = ?", (digest,)).fetchone()[0]
        if first > place:  # of a run that got further and was killed
            self._db.execute("UPDATE seen SET place = ? WHERE digest = ?", (place, digest))
        return bool(first < place)

    def save(self) -> None:
        """Everything seen so far will be known after a crash."""
        self._times += 1
        with self._complaining():
            self._db.execute(f"PRAGMA user_version={self._times}")
            self._db.execute("COMMIT")
            self._db.execute("BEGIN IMMEDIATE")

    @contextmanager
    def _complaining(self) -> Iterator[None]:
        """Turns an error of the database into one sentence."""
        try:
            yield
        except sqlite3.OperationalError as error:  # of the system: no room, no right, or held by another
            held = "; is another run at work on the same output?" * ("locked" in str(error))
            raise Unwritable(f"{self._path}: cannot be written: {error}{held}") from None
        except sqlite3.DatabaseError as error:
            raise DataError(
                f"{self._path}: is not what a run has left ({error}); use --restart to start over"
            ) from None

    def close(self) -> None:
        self._db.close()
