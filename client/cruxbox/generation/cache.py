"""Completions that are paid for, on the disk as soon as they are there: a file that only grows.

A line is `{key, at, completions, finish, tokens, seal}`: the completions of a key from number `at` on. It counts only
as it was written: one that was changed would give a prompt what no model has said, or another's completions.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cruxbox.journal import Journal, Seal

_SEAL = Seal({})  # of no run: those with another n go on with it


class Cache:
    """The completions of each key, by number. DataError if the file cannot be used, or another run has it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._found: dict[str, dict[int, tuple[str, str]]] = {}
        self._journal = Journal(path, self._load, "a cache", links=True)

    def _load(self, record: Any) -> None:
        fields = dict(record)
        if fields.pop("seal") != _SEAL.of(record["key"], fields):
            raise ValueError("seal")
        self._keep(record)

    def _keep(self, record: Any) -> None:
        row = self._found.setdefault(record["key"], {})
        for number, pair in enumerate(zip(record["completions"], record["finish"]), record["at"]):
            row[number] = pair

    def add(self, key: str, at: int, texts: list[str], finish: list[str], tokens: tuple[int, int]) -> None:
        """Remember completions; on the disk when this returns."""
        record = {"key": key, "at": at, "completions": texts, "finish": finish, "tokens": list(tokens)}
        self._journal.add({**record, "seal": _SEAL.of(key, record)})
        self._keep(record)

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
        self._journal.clear()
        self._found.clear()

    def close(self) -> None:
        """Let others have the file; an empty one is removed."""
        if self._found:
            self._journal.close()
        else:
            self._journal.remove()
