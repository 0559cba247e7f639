"""A run that may be killed: what it has done, in a file beside its results, and the options that go on with it.

The file is called RESULTS.partial while the run is under way, and RESULTS.done when its results are written.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from cruxbox.cli.show import resumable
from cruxbox.errors import DataError, InvalidRequest
from cruxbox.files import complaining
from cruxbox.journal import Journal, Key, Seal, check_same
from cruxbox.problems.records import programs_in
from cruxbox.reading import STANDARD, blocks_of, lines, opened, parse_json

Resume = Annotated[bool, typer.Option("--resume", help="Continue an interrupted run.")]
Restart = Annotated[bool, typer.Option("--restart", help="Discard an interrupted run and begin again.")]

Fields = Mapping[str, Any]  # what became of a part of a run


@dataclass(frozen=True)
class Going:
    """How a run stands to one that was there before.

    Args:
        results: the files that it writes, `-` left out; what it has done stands beside the first.
        resume: go on with an unfinished run.
        restart: begin anew, whatever is there.
    """

    results: Sequence[Path]
    resume: bool = False
    restart: bool = False

    def __post_init__(self) -> None:
        if self.resume and self.restart:
            raise InvalidRequest("--resume and --restart exclude each other.")
        object.__setattr__(self, "results", [path for path in self.results if os.fspath(path) != STANDARD])
        if (self.resume or self.restart) and not self.results:
            asked = "--resume" if self.resume else "--restart"
            raise InvalidRequest(f"{asked} needs --out FILE: what a run has done is kept beside it.")


class Done:
    """What became of each part of a run, in a file that a killed run leaves.

    Args:
        path: where the file is while the run goes on; None if nothing can be left.
        identity: what must be the same for a run to be gone on with.
        read: reads the fields of a part; KeyError, TypeError or ValueError if they are none.
    """

    def __init__(self, path: Path | None, identity: Mapping[str, Any], read: Callable[[Fields], Any]) -> None:
        self.fields: dict[Key, Fields] = {}
        self._seal = Seal(identity)
        self._whole = path and path.with_suffix(".done")
        self._identity, self._read = identity, read
        self._found: Mapping[str, Any] | None = None
        self._path = path
        self._journal = Journal(path, self._keep, "the journal of a run", every_s=1.0) if path else None

    def _keep(self, record: Any) -> None:
        if self._found is None:
            self._found = dict(record["identity"])
            self._seal = Seal(self._found)
        else:
            at, fields = self._part(record, self._seal)
            self.fields[at] = fields

    def _part(self, record: Any, seal: Seal) -> tuple[Key, Fields]:
        at, fields = record["at"], dict(record["fields"])
        if type(at) not in (int, str):
            raise TypeError("at")
        if record["seal"] != seal.of(at, fields):
            raise ValueError("seal")
        self._read(fields)
        return at, fields

    def begin(self, going: Going) -> None:
        """Go on with what is there, or begin anew. DataError if the options do not say which, or it was another run."""
        if self._found is not None and not going.restart:
            if not going.resume:
                path = self._path
                raise DataError(f"{path}: an unfinished run is here; --resume continues it, --restart starts over")
            check_same(f"{self._path}: the unfinished run", self._found, self._identity)
            return
        self.fields.clear()
        if self._journal is None or self._whole is None:
            return
        if going.resume and self._whole.is_file() and all(path.is_file() for path in going.results):
            self._take_whole(self._whole, going.results)
        self._journal.clear()
        self._journal.add({"identity": self._identity})
        self._seal = Seal(self._identity)
        for at, own in self.fields.items():
            self.add(at, own)
        with complaining(self._whole):
            self._whole.unlink(missing_ok=True)

    def _take_whole(self, path: Path, results: Sequence[Path]) -> None:
        """What became of the parts of a finished run; nothing if its results were changed since."""
        try:
            with opened(path) as file:
                first, *found, end = [parse_json(line) for line in lines(file, path)]
            if end["results"] != digest(*results):
                return
            identity = dict(first["identity"])
            seal = Seal(identity)
            fields = dict(self._part(each, seal) for each in found)
        except (KeyError, TypeError, ValueError, AttributeError):
            return
        check_same(f"{results[0]}: the finished run", identity, self._identity)
        self.fields.update(fields)

    def note_whole(self, results: Sequence[Path]) -> None:
        """The results are written: a run that is to go on with this one has nothing to do."""
        if self._journal is not None and self._whole is not None:
            self._journal.add({"results": digest(*results)})
            self._journal.rename(self._whole)

    def add(self, at: Key, own: Fields) -> None:
        """Remember what became of the part `at`."""
        self.fields[at] = own
        if self._journal is not None:
            self._journal.add({"at": at, "fields": own, "seal": self._seal.of(at, own)})

    def close(self, *, keep: bool) -> None:
        """Let go of the file; it stays with `keep` if it has anything."""
        if self._journal is not None and keep and (self._found is not None or self.fields):
            self._journal.close()
        elif self._journal is not None:
            self._journal.remove()


@contextmanager
def going_on(going: Going, identity: Mapping[str, Any], read: Callable[[Fields], Any]) -> Iterator[Done]:
    """What a run has done, while the body goes on with it. The file is removed if nothing was done."""
    out = going.results[0] if going.results else None
    is_kept = out is not None and (out.is_file() or not out.exists())  # beside a device or a pipe nothing can be left
    path = out.with_name(out.name + ".partial") if out is not None and is_kept else None
    done = Done(path, json.loads(json.dumps(identity)), read)
    keep = True
    try:
        done.begin(going)
        try:
            with resumable(lambda: path if done.fields else None):
                yield done
        except BaseException:
            keep = bool(done.fields)
            raise
        keep = False
    finally:
        done.close(keep=keep)


def check_types(fields: Fields, types: Mapping[str, tuple[type, ...]]) -> None:
    """Raises KeyError or TypeError unless each of `types` is in `fields`, as one of its types."""
    for name, kinds in types.items():
        if type(fields[name]) not in kinds:
            raise TypeError(name)


def digest(*paths: Path, read: Callable[[], Any] = list) -> str:
    """Of files and folders; of what `read` gives, where one came by a pipe, which can be read but once."""
    digest = hashlib.blake2b(digest_size=16)
    for path in paths:
        if not path.is_file() and not path.is_dir():
            digest.update(json.dumps(read()).encode())
            continue
        for each in programs_in(path) if path.is_dir() else [path]:
            digest.update(f"{each.relative_to(path)}\0".encode(errors="surrogateescape") if each != path else b"")
            for block in blocks_of(each):
                digest.update(block)
    return digest.hexdigest()
