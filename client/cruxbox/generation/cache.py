"""Completions that are paid for, on the disk as soon as they are there: a file that only grows.

A line is `{key, at, completions, finish, tokens}`: the completions of a key from number `at` on. A line that a kill cut
short is dropped when the file is opened again. One process at a time has the file.
"""

from __future__ import annotations

import fcntl
import json
import os
from contextlib import suppress
from pathlib import Path

from cruxbox.errors import DataError
from cruxbox.files import complaining
from cruxbox.reading import NotJson, parse_json


class Cache:
    """The completions of each key, by number. DataError if the file cannot be used, or another run has it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found: dict[str, dict[int, tuple[str, str]]] = {}
        with complaining(path):
            self._file = open(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")  # noqa: SIM115
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DataError(f"{path}: another run is writing it") from None
        except OSError:
            pass  # a file system without locks
        self._load()

    def _load(self) -> None:
        good = 0
        for number, line in enumerate(self._file, 1):
            if not line.endswith(b"\n"):
                break
            try:
                record = parse_json(line)
                key, at, texts, finish = (record[name] for name in ("key", "at", "completions", "finish"))
                self._keep(key, at, texts, finish)
            except (NotJson, KeyError, TypeError):
                raise DataError(f"{self.path}, line {number}: is no line of a cache; remove the file") from None
            good += len(line)
        self._file.seek(good)
        self._file.truncate()

    def _keep(self, key: str, at: int, texts: list[str], finish: list[str]) -> None:
        row = self._found.setdefault(key, {})
        for number, pair in enumerate(zip(texts, finish), at):
            row[number] = pair

    def add(self, key: str, at: int, texts: list[str], finish: list[str], tokens: tuple[int, int]) -> None:
        """Remember completions; on the disk when this returns."""
        record = {"key": key, "at": at, "completions": texts, "finish": finish, "tokens": list(tokens)}
        with complaining(self.path):
            self._file.write(json.dumps(record).encode() + b"\n")
            self._file.flush()
            os.fdatasync(self._file.fileno())
        self._keep(key, at, texts, finish)

    def missing(self, key: str, count: int) -> list[int]:
        """The numbers below `count` that are not there."""
        row = self._found.get(key, {})
        return [number for number in range(count) if number not in row]

    def completions(self, key: str, numbers: range) -> tuple[list[str], list[str]]:
        """The completions of these numbers, and why each ended."""
        row = self._found[key]
        return [row[number][0] for number in numbers], [row[number][1] for number in numbers]

    def __len__(self) -> int:
        return sum(map(len, self._found.values()))

    def clear(self) -> None:
        """Forget everything."""
        with complaining(self.path):
            self._file.seek(0)
            self._file.truncate()
        self._found.clear()

    def close(self) -> None:
        """Let others have the file."""
        with suppress(OSError):
            self._file.close()
