"""The files of a run that may be killed at any moment and go on later without losing or doubling a row.

Rows are appended to `NAME.partial` files. Every so often a checkpoint is made: the files are on the disk, then the
journal says how long they are, what is in them, how many rows of the input they stand for, and what was counted. It is
replaced whole, and counts only as it was written. A run that goes on cuts the files back to that length, if they hold
what they held then, and begins with the row after. In the end they take their names.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

from cruxbox.building.rows import write_records_in_parts
from cruxbox.errors import DataError
from cruxbox.files import Unwritable, output_file
from cruxbox.filtering.reasons import SENTENCES
from cruxbox.filtering.seen import Seen
from cruxbox.filtering.summary import Summary
from cruxbox.journal import Seal, check_same, open_alone
from cruxbox.reading import PACKED, NotJson, parse_json, read_bytes

_BUFFER_BYTES = 1 << 18
_BLOCK_BYTES = 1 << 20
_MAX_JOURNAL_BYTES = 1 << 20
_ANEW = "use --restart to start over"
_MADE = (".parquet", PACKED)  # such files are made of the rows at the very end


class Outputs:
    """Files that grow, and the journal that says how far they are good.

    Args:
        paths: where the rows go in the end; `.parquet` and `.gz` are made from the rows at the very end.
        identity: what must be the same for a run to be gone on with (input, rules, ...).
        every_s: seconds between checkpoints, at least.
    """

    def __init__(self, paths: list[Path], identity: Mapping[str, Any], every_s: float = 1.0) -> None:
        self._paths, self._identity = paths, dict(identity)
        self._partials = [path.with_name(path.name + ".partial") for path in paths]
        self._files: list[IO[bytes]] = []
        self._digests = [_new_digest() for _ in paths]  # of what is in them
        self._seen: Seen | None = None
        self.journal = journal_of(paths[0])
        self.rows_done = 0
        self.summary = Summary()
        self._every_s, self._saved_at = every_s, 0.0
        self._is_done = False  # all rows are written; what is left is that the files take their names
        self._taken: list[Path] = []  # of the partial files, those that had done so when the run was killed

    def claim(self) -> None:
        """Take the files for this run; what they hold stays until `start` or `go_on`. DataError if another has them."""
        try:
            for path in self._partials:
                self._files.append(open_alone(path, buffering=_BUFFER_BYTES))
        except BaseException:
            for path, file in zip(self._partials, self._files):
                if not os.fstat(file.fileno()).st_size:
                    path.unlink()
            self.close()
            raise

    def start(self, seen: Seen) -> None:
        """Begin anew. `seen`: which pairs came before; it is saved at each checkpoint."""
        self._seen = seen
        with self._complaining():
            for file in self._files:
                file.truncate(0)
        self.checkpoint(force=True)

    def go_on(self, seen: Seen) -> None:
        """Go on where the journal says. DataError if that was another run, or not all is as it has left it."""
        state = read_journal(self.journal, len(self._paths))
        check_same(f"{self.journal}: the unfinished run", state["identity"], self._identity)
        if not seen.has_saved(state["seen"]):
            raise DataError(f"{self.journal}: the record of duplicates is not what the run has left; {_ANEW}")
        self._seen = seen
        self.rows_done, self.summary = state["rows"], Summary.of_dict(state["summary"])
        self._is_done = state.get("done") is True
        with self._complaining():
            for number, size in enumerate(state["sizes"]):
                self._take_up(number, size, state["digests"][number])

    def _take_up(self, number: int, size: int, digest: str) -> None:
        """Cut a file back to that size. DataError if it does not hold what it held then."""
        path, partial, file = self._paths[number], self._partials[number], self._files[number]
        if self._is_done and partial.stat().st_size < size and path.suffix not in _MADE and path.is_file():
            with path.open("rb") as whole:  # it was killed behind that, and `claim` made an empty one anew
                is_it = path.stat().st_size == size and _digest_of(whole, size).hexdigest() == digest
            if is_it:
                self._taken.append(partial)
                return
        found = self._digests[number] = _digest_of(file, size)
        if found.hexdigest() != digest:
            raise DataError(f"{partial}: does not hold what {self.journal.name} says; {_ANEW}")
        file.truncate(size)
        file.seek(size)

    def write(self, number: int, row: Mapping[str, Any]) -> None:
        """Append a row to file `number`."""
        line = json.dumps(row).encode() + b"\n"
        self._files[number].write(line)
        self._digests[number].update(line)

    def checkpoint(self, *, force: bool = False) -> None:
        """What was written until now will not be done again; only ever between two rows of the input."""
        now = time.monotonic()
        if not force and now - self._saved_at < self._every_s:
            return
        self._saved_at = now
        seen = self._seen
        if seen is None:
            return
        with self._complaining():
            seen.save()
            for file in self._files:
                file.flush()
                os.fdatasync(file.fileno())
            state = {
                "identity": self._identity,
                "rows": self.rows_done,
                "sizes": [file.tell() for file in self._files],
                "digests": [each.hexdigest() for each in self._digests],
                "seen": seen.saved,
                "summary": self.summary.as_dict(),
                "done": self._is_done,
            }
            _replace(self.journal, json.dumps({**state, "seal": _seal_of(state)}).encode())

    def finish(self) -> None:
        """All is done: the files take their names, and the journal goes. Until `close` they are this run's."""
        if not self._is_done:
            self._is_done = True
            self.checkpoint(force=True)
        made = [each for each in zip(self._partials, self._paths) if each[1].suffix in _MADE]
        with self._complaining():
            for partial, path in made:
                if path.suffix == PACKED:
                    _pack(partial, path)
                else:
                    write_records_in_parts(path, lambda partial=partial: _rows_of(partial))  # type: ignore[misc]
            for partial, path in zip(self._partials, self._paths):
                if (partial, path) not in made and partial not in self._taken:
                    os.replace(partial, os.path.realpath(path))  # a link is followed, not replaced
            self.journal.unlink()
            for partial in [*self._taken, *(partial for partial, _ in made)]:
                partial.unlink()

    def discard(self) -> None:
        """Remove the journal and all that was written. Until `close` the names are this run's."""
        with self._complaining():
            for path in (self.journal, *self._partials):
                with suppress(FileNotFoundError):
                    path.unlink()

    def close(self) -> None:
        files, self._files = self._files, []
        with self._complaining():
            for file in files:
                file.close()

    def _complaining(self) -> AbstractContextManager[None]:
        return _complaining(self._paths[0])


@contextmanager
def _complaining(path: Path) -> Iterator[None]:
    """Turns an OSError into one sentence about its file, or `path`."""
    try:
        yield
    except OSError as error:
        raise Unwritable(f"{error.filename or path}: cannot be written: {error.strerror or error}") from None


def journal_of(path: Path) -> Path:
    """The journal of the run that makes `path`."""
    return path.with_name(path.name + ".journal")


def read_journal(path: Path, files: int) -> dict[str, Any]:
    """What the journal of a run with so many `files` says. Raises DataError if no run can have said it."""
    try:
        state = parse_json(read_bytes(path, _MAX_JOURNAL_BYTES))
        is_as_written = state.pop("seal") == _seal_of(state)
        summary = Summary.of_dict(state["summary"])
        sound = (
            is_as_written
            and isinstance(state["identity"], dict)
            and len(state["sizes"]) == len(state["digests"]) == files
            and all(map(_is_count, [state["rows"], *state["sizes"], *summary.as_dict()["reasons"].values()]))
            and all(_is_count(value) for name, value in vars(summary).items() if name != "reasons")
            and set(summary.reasons) <= {*SENTENCES}
            # One line for each row or pair that was counted.
            and summary.rows == state["rows"]
            and summary.kept + summary.rejected == summary.pairs
        )
    except (DataError, NotJson, KeyError, TypeError, AttributeError):
        sound = False
    if not sound:
        raise DataError(f"{path}: is not the journal of a run; {_ANEW}")
    return dict(state)


def _seal_of(state: Mapping[str, Any]) -> str:
    return Seal(state["identity"]).of("state", state)


def _new_digest() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=16)


def _digest_of(file: IO[bytes], size: int) -> hashlib.blake2b:
    """Of the first so many bytes, or what there is of them."""
    digest = _new_digest()
    file.seek(0)
    while size:
        block = file.read(min(size, _BLOCK_BYTES))
        if not block:
            break
        digest.update(block)
        size -= len(block)
    return digest


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62


def _rows_of(path: Path) -> Iterator[dict[str, Any]]:
    with path.open("rb") as lines:
        for line in lines:
            yield json.loads(line)


def _pack(partial: Path, path: Path) -> None:
    with partial.open("rb") as rows, output_file(path) as file:
        file.write(lambda out: shutil.copyfileobj(rows, out))


def _replace(path: Path, data: bytes) -> None:
    """Write a file so that there is the old one or the new one, whatever happens."""
    fresh = path.with_name(path.name + ".new")
    try:
        with fresh.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
