"""Reads untrusted files: bytes, lines and JSON, each with a size limit and a one-sentence error."""

from __future__ import annotations

import codecs
import gzip
import json
import os
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

from cruxbox.errors import DataError

# What stands for standard input or output in the place of a file's name.
STANDARD = "-"
PACKED = ".gz"
_GZIPPED = b"\x1f\x8b"  # the first bytes of such a file
MAX_FILE_BYTES = 512 << 20
MAX_LINE_BYTES = 64 << 20
MAX_DIGITS = 4_300  # as Python itself; contests ask for numbers of thousands


class NotJson(ValueError):
    """What is wrong with a text as JSON, in a phrase such as "is not JSON: ..."; `line` is where, if that is known."""

    def __init__(self, phrase: str, line: int | None = None) -> None:
        super().__init__(phrase)
        self.line = line


class KeyTwice(NotJson):
    """An object holds a key twice: which of the two was meant cannot be known."""


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """A file to read, unpacked if its name ends in `.gz`; `-` is standard input. DataError if it cannot be opened, read
    or unpacked."""
    is_standard = os.fspath(path) == STANDARD
    try:
        if os.fspath(path).endswith(PACKED):
            file = cast("IO[bytes]", gzip.open(path, "rb"))  # noqa: SIM115  (below)
        else:
            file = open(0 if is_standard else path, "rb", closefd=not is_standard)  # noqa: SIM115  (below)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise _unreadable(path, error) from None
    try:
        with file:
            yield file
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(f"{path}: is not a gzip file, or not all of one: {error}") from None
    except OSError as error:
        raise _unreadable(path, error) from None


def blocks_of(path: Path) -> Iterator[bytes]:
    """What a file holds, packed or not, a block at a time."""
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            yield block


def _unreadable(path: str | os.PathLike[str], error: Exception) -> DataError:
    return DataError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}")


def stem_of(path: Path) -> str:
    """The name of a file without its ending, and without `.gz` behind that."""
    return Path(path.name.removesuffix(PACKED)).stem


def read_bytes(path: str | os.PathLike[str], most: int = MAX_FILE_BYTES) -> bytes:
    """All of a file of at most `most` bytes, unpacked (`opened`). DataError if it cannot be read or is larger."""
    with opened(path) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise DataError(f"{path}: is larger than {most >> 20} MiB, which is more than is read at once")
    return data


def read_text(path: str | os.PathLike[str], most: int = MAX_FILE_BYTES) -> str:
    """All of a text file in UTF-8, a byte order mark left out. DataError that names the first wrong byte."""
    try:
        return read_bytes(path, most).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: {_not_utf8(error)}") from None


def _not_utf8(error: UnicodeDecodeError) -> str:
    hint = f"; it is gzipped, so its name must end in {PACKED}" if error.object.startswith(_GZIPPED) else ""
    return f"is not UTF-8 (byte {error.start}){hint}"


def lines(file: IO[bytes], path: str | os.PathLike[str]) -> Iterator[bytes]:
    """The lines of `file`. DataError for one that is longer than any row is."""
    for number, line in enumerate(bounded_lines(file, path), 1):
        if line is None:
            raise DataError(f"{path}, line {number}: {_too_long()}")
        yield line


def bounded_lines(file: IO[bytes], path: str | os.PathLike[str]) -> Iterator[bytes | None]:
    """The lines of `file`; None stands for one that is longer than any row is, of which nothing is kept. DataError for
    one that does not seem to end."""
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        yield line if len(line) <= MAX_LINE_BYTES else None
        size = len(line)
        while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE_BYTES + 1)
            size += len(line)
            if size > MAX_FILE_BYTES:
                raise DataError(f"{path}, line {number}: is longer than {MAX_FILE_BYTES >> 20} MiB")


def _too_long() -> str:
    return f"is longer than {MAX_LINE_BYTES >> 20} MiB"


def parse_json(text: str | bytes, *, unique: bool = False) -> Any:
    """The value of a JSON text. NotJson says what is wrong, whatever it is.

    Args:
        text: UTF-8 if it is bytes.
        unique: refuse an object that holds a key twice (KeyTwice).
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")  # json would guess other encodings
        return json.loads(text, object_pairs_hook=_once if unique else None, parse_int=_whole)
    except NotJson:
        raise
    except json.JSONDecodeError as error:
        if not text.strip():
            raise NotJson("is empty") from None
        raise NotJson(f"is not JSON: {error.msg} (column {error.colno})", error.lineno) from None
    except UnicodeDecodeError as error:
        raise NotJson(_not_utf8(error)) from None
    except RecursionError:
        raise NotJson("is not JSON that can be read: nested too deeply") from None
    except ValueError as error:
        raise NotJson(f"is not JSON: {error}") from None


def kind_of(value: object) -> str:
    """What a value of a file is, in JSON's words and with an article; a Parquet file has others."""
    for kind, name in _KINDS.items():
        if isinstance(value, kind):
            return name
    return f"a {type(value).__name__}"


def problem_of_texts(value: object) -> str:
    """Why `value` is no list of strings, as a phrase; "" if it is one."""
    if not isinstance(value, list):
        return f"is {kind_of(value)}"
    return next((f"item {at} is {kind_of(one)}" for at, one in enumerate(value) if not isinstance(one, str)), "")


_KINDS: dict[type | tuple[type, ...], str] = {
    bool: "a boolean",
    (int, float): "a number",
    str: "a string",
    list: "a list",
    dict: "an object",
    type(None): "null",
}


def parse_row(line: bytes | None) -> dict[str, Any]:
    """The object of one line (`bounded_lines`) of a JSON Lines file. NotJson for any other text or value."""
    if line is None:
        raise NotJson(_too_long())
    # A file that is one array, or whose objects stand on several lines, shows in its first line.
    begins = line.removeprefix(codecs.BOM_UTF8).strip()
    hint = "; a JSON Lines file has one object on each line" if begins[:1] == b"[" or begins == b"{" else ""
    try:
        value = parse_json(line.rstrip(b"\r\n"), unique=True)  # of a text that is cut short: that it has no end
    except NotJson as error:
        raise NotJson(f"{error}{hint}") from None
    if not isinstance(value, dict):
        raise NotJson(f"must be an object, is {kind_of(value)}{hint}")
    return value


def read_json(path: str | os.PathLike[str]) -> Any:
    """The value of a JSON file, in which no object holds a key twice. DataError names file and, where it is known,
    line."""
    text = read_text(path)
    try:
        return parse_json(text, unique=True)
    except NotJson as error:
        raise DataError(f"{path}{'' if error.line is None else f', line {error.line}'}: {error}") from None


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise NotJson(f"holds a number of {len(digits):,} digits; at most {MAX_DIGITS:,} are read")
    return int(digits)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        name, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise KeyTwice(f"the key {name[:80]!r} is there twice")
    return found
