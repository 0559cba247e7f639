"""Rows of a data set: JSONL or Parquet in, JSONL or Parquet out, and bad rows named by file and line.

A row is `{code, input, output, id}` plus whatever else the file carries (`steps`, provenance), which is kept.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, Any, Union

from cruxbox.building.calls import function_and_call
from cruxbox.errors import DataError
from cruxbox.files import check_output, output_file
from cruxbox.reading import NotJson, bounded_lines, kind_of, opened, parse_row

#: A program larger than this is a broken row, not a task. Bytes of UTF-8.
MAX_FIELD_BYTES = 1 << 20
#: Rows that are held in memory at once, and their characters. Filters read a row at a time and have no such bound.
MAX_ROWS = 1_000_000
MAX_HELD_CHARS = 1 << 30
#: More steps than any limit allows; what is above is no count.
MAX_STEPS = 10**15

_PARQUET_ROWS = 32  # in a batch: a row of a contest holds its tests, which may be megabytes
_ROWS_A_PART = 10_000  # of what is written in parts
_PARQUET_BATCH_BYTES = 512 << 20
_PARQUET_GROUP_BYTES = 2 << 30

Item = Union["BadRow", "Row"]


@dataclass(frozen=True)
class BadRow:
    """A row that cannot be used.

    Args:
        path: the file.
        line: its line in the file, counted from 1; in a Parquet file, its row.
        reason: what is wrong, as a phrase.
    """

    path: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path}, line {self.line}: {self.reason}"


@dataclass(frozen=True)
class Row:
    """A usable row.

    Args:
        code: the program.
        input: the text between the parentheses of the call, or the whole call.
        output: the value of the call, as a Python expression.
        id: the name of the row.
        steps: steps of the call; None if the row does not state them.
        line: its line in the file, counted from 1; 0 if it comes from no file.
        extra: all other fields of the row, in their order.
    """

    code: str
    input: str = ""
    output: str = ""
    id: str = ""
    steps: int | None = None
    line: int = 0
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def function(self) -> str:
        """The name of the function that is called: `f`, unless the row has a `function_name` or a whole call."""
        return function_and_call(self.code, self.input, self.extra.get("function_name", ""))[0]

    @property
    def call(self) -> str:
        """The call the row is about, such as `f(<input>)`."""
        return self.call_with("")

    def call_with(self, end: str) -> str:
        """The call, with `end` before a parenthesis that is added: a line break ends a comment of the input."""
        return function_and_call(self.code, self.input, self.extra.get("function_name", ""), end=end)[1]

    def as_dict(self) -> dict[str, Any]:
        """The row as it is written to a file: known fields first, then the others in their order."""
        known: dict[str, Any] = {"code": self.code, "input": self.input, "output": self.output, "id": self.id}
        if self.steps is not None:
            known["steps"] = self.steps
        return {**known, **self.extra}


def read_rows(
    path: str | os.PathLike[str],
    *,
    needs: Iterable[str] = ("code", "input", "output"),
    strict: bool = False,
    unique: bool = False,
) -> tuple[list[Row], list[BadRow]]:
    """Read all rows of a file into memory.

    Args:
        path: a JSONL file (`.gz` too), or a Parquet file if its name ends in `.parquet`.
        needs: fields without which a row cannot be used.
        strict: raise an error at the first row that cannot be used.
        unique: a row whose id an earlier one has cannot be used.

    Returns:
        The usable rows, and those that cannot be used.

    Raises:
        DataError: the file cannot be read, has no usable row, or has more than 1,000,000 rows or 1 GiB of text. With
            `strict`: a row cannot be used.
    """
    good: list[Row] = []
    bad: list[BadRow] = []
    held = 0
    items = row_source(path, needs=needs)
    for item in _each_id_once(items, str(path)) if unique else items:
        if len(good) + len(bad) >= MAX_ROWS or held > MAX_HELD_CHARS:
            raise DataError(f"{path}: more than {MAX_ROWS:,} rows or {MAX_HELD_CHARS >> 20:,} MiB are not read at once")
        if isinstance(item, Row):
            held += len(item.code) + len(item.input) + len(item.output)
            good.append(item)
        elif strict:
            raise DataError(str(item))
        else:
            bad.append(item)
    if not good:
        raise no_usable_row(path, bad[0] if bad else "")
    return good, bad


def _each_id_once(items: Iterable[Item], path: str) -> Iterator[Item]:
    first: dict[str, int] = {}
    for item in items:
        if isinstance(item, BadRow) or first.setdefault(item.id, item.line) == item.line:
            yield item
        else:
            yield BadRow(path, item.line, f"id {item.id!r:.100} is taken by line {first[item.id]}")


def no_usable_row(path: str | os.PathLike[str], first: object) -> DataError:
    """What is said of a file without a usable row, with the `first` problem of it; "" where it has no row at all."""
    return DataError(f"{path}: no usable row" + (f"; the first problem is: {first}" if first else ", it is empty"))


def row_source(path: str | os.PathLike[str], *, needs: Iterable[str] = ("code", "input", "output")) -> Iterator[Item]:
    """Read the rows of a file one at a time, in constant memory.

    Args:
        path: a JSONL file (`.gz` too), or a Parquet file if its name ends in `.parquet`.
        needs: fields without which a row cannot be used.

    Yields:
        A `Row` or a `BadRow`, in the order of the file. A row without an id is called `sample_<index>`, counted from 0.

    Raises:
        DataError: the file cannot be read.
    """
    required = tuple(needs)
    for index, (line, value) in enumerate(records(path)):
        if isinstance(value, str):
            yield BadRow(str(path), line, value)
        else:
            yield _row(value, line, index, required, str(path))


def records(path: str | os.PathLike[str], *, skip: int = 0) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """(line, object) for each row, from row `skip` on; a str stands for the reason why there is no object."""
    source = Path(path)
    try:
        yield from _parquet_records(source, skip) if source.suffix == ".parquet" else _jsonl_records(source, skip)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def _jsonl_records(path: Path, skip: int) -> Iterator[tuple[int, dict[str, Any] | str]]:
    with opened(path) as file:
        rows = ((number, raw) for number, raw in enumerate(bounded_lines(file, path), 1) if raw is None or raw.strip())
        for number, raw in islice(rows, skip, None):
            yield number, _parse(raw)


def _parquet_records(path: Path, skip: int) -> Iterator[tuple[int, dict[str, Any]]]:
    parquet = _parquet("reading", path)
    try:
        with parquet.ParquetFile(path) as file:
            _check_parquet(file.metadata, path)
            batches = file.iter_batches(batch_size=_PARQUET_ROWS)
            rows = enumerate((one for batch in batches for one in _checked(batch, path).to_pylist()), 1)
            for number, record in islice(rows, skip, None):
                # Parquet has a column for every row: an absent value is a null there.
                yield number, {key: _as_json(value) for key, value in record.items() if value is not None}
    except (ValueError, NotImplementedError, KeyError, TypeError, OverflowError) as error:  # pyarrow's own are such
        raise DataError(f"{path}: is not a Parquet file that can be read: {str(error)[:200]}") from None


def _as_json(value: Any) -> Any:
    """The value as JSON holds it, as rows are written as JSON. What JSON has no word for, such as a date, is text."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [_as_json(item) for item in value]
    if isinstance(value, dict):
        return {name: _as_json(item) for name, item in value.items()}
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def _check_parquet(metadata: Any, path: Path) -> None:
    """A few bytes of Parquet may stand for gigabytes: what a group of rows unpacks to is bounded before it is read."""
    for at in range(metadata.num_row_groups):
        group = metadata.row_group(at)
        size = sum(group.column(column).total_uncompressed_size for column in range(group.num_columns))
        if size > _PARQUET_GROUP_BYTES:
            raise DataError(
                f"{path}: a row group of {size >> 20:,} MiB; at most {_PARQUET_GROUP_BYTES >> 20:,} are read"
            )


def _checked(batch: Any, path: Path) -> Any:
    if batch.nbytes > _PARQUET_BATCH_BYTES:
        size = batch.nbytes >> 20
        raise DataError(f"{path}: {batch.num_rows} rows of {size:,} MiB; rows that are tasks are far smaller")
    return batch


def _parse(raw: bytes | None) -> dict[str, Any] | str:
    try:
        return parse_row(raw)
    except NotJson as error:
        return str(error)


def _row(value: dict[str, Any], line: int, index: int, required: tuple[str, ...], path: str) -> Item:
    for name in ("code", "input", "output", "id"):
        if name not in value:
            if name in required:
                return BadRow(path, line, f"field {name!r} is missing")
            continue
        text = value[name]
        if not isinstance(text, str):
            return BadRow(path, line, f"field {name!r} must be a string, is {kind_of(text)}")
        if len(text) > MAX_FIELD_BYTES or len(text.encode("utf-8", "replace")) > MAX_FIELD_BYTES:
            return BadRow(path, line, f"field {name!r} is larger than {MAX_FIELD_BYTES} bytes")
    problem = problem_of_name(value)
    if problem:
        return BadRow(path, line, problem)
    steps = value.get("steps", value.get("numsteps"))
    if steps is not None and (isinstance(steps, bool) or not isinstance(steps, int) or not 0 <= steps <= MAX_STEPS):
        return BadRow(path, line, f"field 'steps' must be a whole number from 0 to {MAX_STEPS}, is {steps!r:.40}")
    known = ("code", "input", "output", "id", "steps")
    return Row(
        code=value.get("code", ""),
        input=value.get("input", ""),
        output=value.get("output", ""),
        id=value.get("id", f"sample_{index}"),
        steps=steps,
        line=line,
        extra={key: item for key, item in value.items() if key not in known},
    )


def problem_of_name(value: Mapping[str, Any]) -> str:
    """What is wrong with the `function_name` of a row; "" if nothing is, or there is none."""
    name = value.get("function_name", "f")
    if isinstance(name, str) and name.isidentifier():
        return ""
    return f"field 'function_name' must be the name of a function, is {name!r:.60}"


def check_records(out: Path | None, *sources: Path | None) -> None:
    """`check_output` for a file of rows: where it is to be Parquet, DataError if that cannot be written here."""
    check_output(out, *sources)
    if out is not None and out.suffix == ".parquet":
        _parquet("writing", out)


def check_columns(out: Path | None, records: Iterable[Mapping[str, Any]]) -> None:
    """Where `out` is to be Parquet, DataError if rows like these do not fit into its columns. To be called before the
    work that fills them."""
    if out is not None and out.suffix == ".parquet":
        rows = list(records)
        with _fitting(out):
            _table(rows, dict.fromkeys(key for row in rows for key in row))


def _parquet(doing: str, path: str | os.PathLike[str]) -> Any:
    """The module that reads and writes Parquet. DataError if it is not installed."""
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise DataError(f"{path}: {doing} Parquet needs pyarrow: pip install 'cruxbox[parquet]'") from error
    return parquet


def write_records(path: str | os.PathLike[str], records: Iterable[Mapping[str, Any]]) -> int:
    """Write rows to a file. The file appears complete or not at all.

    Args:
        path: JSONL, or Parquet if the name ends in `.parquet`.
        records: the rows as mappings. For Parquet all of them are kept in memory.

    Returns:
        The number of rows written.

    Raises:
        DataError: the file cannot be written, or the rows do not fit into the columns of a Parquet file.
    """
    write = _write_parquet if Path(path).suffix == ".parquet" else _write_jsonl
    with output_file(path) as file:
        return int(file.write(lambda out: write(out, records, path)))


def _write_jsonl(out: IO[bytes], records: Iterable[Mapping[str, Any]], _path: str | os.PathLike[str]) -> int:
    count = 0
    for record in records:
        out.write(json.dumps(record).encode() + b"\n")
        count += 1
    return count


def _write_parquet(out: IO[bytes], records: Iterable[Mapping[str, Any]], path: str | os.PathLike[str]) -> int:
    rows = [dict(record) for record in records]
    _write_parts(out, lambda: rows, path, max(len(rows), 1))
    return len(rows)


def write_records_in_parts(path: str | os.PathLike[str], source: Callable[[], Iterable[Mapping[str, Any]]]) -> None:
    """Writes Parquet of any length in flat memory. `source` is read twice: for the columns, then for the rows."""
    with output_file(path) as file:
        file.write(lambda out: _write_parts(out, source, path, _ROWS_A_PART))


def _write_parts(
    out: IO[bytes], source: Callable[[], Iterable[Mapping[str, Any]]], path: str | os.PathLike[str], part: int
) -> None:
    parquet = _parquet("writing", path)
    import pyarrow

    def tables(schema: Any = None) -> Iterator[Any]:
        rows = iter(source())
        while chunk := list(islice(rows, part)):
            names = dict.fromkeys(key for row in chunk for key in row) if schema is None else schema.names
            yield _table(chunk, names, schema)

    with _fitting(path):
        schemas = [table.schema for table in tables()]
        schema = pyarrow.unify_schemas(schemas, promote_options="permissive") if schemas else pyarrow.schema([])
        with parquet.ParquetWriter(out, schema) as writer:
            for table in tables(schema):
                writer.write_table(table)


def _table(rows: Sequence[Mapping[str, Any]], names: Iterable[str], schema: Any = None) -> Any:
    import pyarrow

    return pyarrow.table({name: [row.get(name) for row in rows] for name in names}, schema=schema)


@contextmanager
def _fitting(path: str | os.PathLike[str]) -> Iterator[None]:
    import pyarrow

    try:
        yield
    except (pyarrow.ArrowException, UnicodeEncodeError, OverflowError) as error:
        raise DataError(f"{path}: these rows do not fit into columns: {str(error)[:200]}") from None


def count_rows(path: str | os.PathLike[str]) -> int | None:
    """How many rows a file has, without reading what they say; None where that cannot be told."""
    source = Path(path)
    try:
        if source.suffix == ".parquet":
            return int(_parquet("reading", source).ParquetFile(source).metadata.num_rows)
        with opened(source) as file:
            return sum(1 for line in file if line.strip())
    except (OSError, ValueError, DataError):
        return None
