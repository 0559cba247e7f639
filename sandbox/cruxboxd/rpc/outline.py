"""Where the tasks of a request begin and end, and how many checks they have: read off the bytes, before any of them is
parsed.

A message of protobuf costs up to a hundred times its bytes once it is parsed. So what comes in is first walked over
along its outer fields; nothing is made but a pair of offsets for each task, and the walk stops at the first task or
check too many.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

# Fields of sandbox.proto: CheckRequest.tasks, CheckRequest.options, Task.checks and so on; all are length-delimited.
_TASKS, _OPTIONS = 1 << 3 | 2, 2 << 3 | 2
_CHECKS, _OWN_OPTIONS = 3 << 3 | 2, 4 << 3 | 2
_FILES, _ENV = 5 << 3 | 2, 6 << 3 | 2
_VARINT, _FIXED64, _DELIMITED, _FIXED32 = 0, 1, 2, 5
_LONGEST = 5  # bytes of a tag or a length
# So many fields are walked over between two looks at the clock.
_FIELDS_A_STEP = 1_000
# Options are some numbers and a name. A task has many checks, files and variables, and few other fields. A check has an
# id and one kind; a long one is looked into, as it could hold millions of empty fields, which take long to parse. So
# could what names a file or variable, which has two fields. What a shorter check may hold takes two kilobytes.
_MOST_OPTIONS_BYTES = 4_096
_LONG_CHECK = 128
_MOST_FIELDS = 32
_MOST_FIELDS_OF_A_KIND = 288  # 64 arguments, files, variables and names of files to be read, and some more
_MOST_FIELDS_OF_AN_ENTRY = 4
_MOST_ENTRIES = 128  # files and environment variables of a task
# By the kind of a check, Check.call to Check.run: its fields that are files or variables.
_ENTRIES: dict[int, tuple[int, ...]] = {
    2 << 3 | 2: (),
    3 << 3 | 2: (8 << 3 | 2, 9 << 3 | 2),
    4 << 3 | 2: (),
    5 << 3 | 2: (),
    6 << 3 | 2: (3 << 3 | 2, 4 << 3 | 2),
}
# And those that are lists of texts.
_LISTS: dict[int, tuple[int, ...]] = {3 << 3 | 2: (7 << 3 | 2,), 6 << 3 | 2: (2 << 3 | 2, 5 << 3 | 2)}


class Malformed(ValueError):
    """These bytes are no message."""


class TooMany(ValueError):
    """A request exceeds a limit; the sentence names it."""


@dataclass
class Outline:
    """What the outer fields say. `tasks` holds (begin, end, checks) of each; `options` (begin, end), mostly once;
    `parts` counts arguments, files and variables, those of short checks excepted."""

    tasks: list[tuple[int, int, int]] = field(default_factory=list)
    options: list[tuple[int, int]] = field(default_factory=list)
    checks: int = 0
    parts: int = 0


def walk(data: bytes, outline: Outline, most: int) -> Iterator[None]:
    """Fill `outline` from a CheckRequest, in steps of about a millisecond. Raises Malformed, TooMany.

    Args:
        data: the message.
        outline: what is filled.
        most: tasks, checks, and arguments, files and variables of all, that are allowed.
    """
    at, end, fields = 0, len(data), 0
    while at < end:
        tag, begin, at = _field(data, at, end)
        fields += 1
        if tag == _TASKS:
            fields = yield from _walk_task(data, begin, at, outline, most, fields)
        elif tag == _OPTIONS:
            outline.options.append((begin, at))
            _bound_options("options", sum(stop - start for start, stop in outline.options[-_MOST_FIELDS:]))
            if len(outline.options) > _MOST_FIELDS:
                raise TooMany(f"options stand in the request more than {_MOST_FIELDS} times")
        if fields >= _FIELDS_A_STEP:
            fields = 0
            yield


def _walk_task(  # noqa: PLR0917 - where a task is, and what is walked over it with
    data: bytes, begin: int, end: int, outline: Outline, most: int, fields: int
) -> Generator[None, None, int]:
    """Add a task to `outline`; a step for each thousand fields, of which `fields` have been already. Returns how many
    have been since the last step."""
    before = outline.checks
    at, entries, others, options = begin, 0, 0, 0
    while at < end:
        tag, content, at = _field(data, at, end)
        fields += 1
        if tag == _CHECKS:
            outline.checks += 1
            if outline.checks > most:
                raise TooMany(f"a request holds at most {most} checks; send more requests, or use CheckStream")
            if at - content > _LONG_CHECK:
                fields = yield from _look_into(data, content, at, fields, outline, most)
        elif tag in (_FILES, _ENV):
            entries += 1
            _count_part(outline, most)
            if entries > _MOST_ENTRIES:
                raise TooMany(f"a task holds at most {_MOST_ENTRIES} files and environment variables")
            fields += _bound_entry(data, content, at)
        else:
            others += 1
            if others > _MOST_FIELDS:
                raise TooMany(f"a task has more than {_MOST_FIELDS} fields beside its checks, files and variables")
            options += at - content if tag == _OWN_OPTIONS else 0
            _bound_options(f"tasks[{len(outline.tasks)}].options", options)
        if fields >= _FIELDS_A_STEP:
            fields = 0
            yield
    outline.tasks.append((begin, end, outline.checks - before))
    if len(outline.tasks) > most:
        raise TooMany(f"a request holds at most {most} tasks; send more requests, or use CheckStream")
    return fields


def _bound_options(where: str, size: int) -> None:
    if size > _MOST_OPTIONS_BYTES:
        raise TooMany(f"{where}: {size} bytes are more than the {_MOST_OPTIONS_BYTES} that options may have")


def _look_into(  # noqa: PLR0917 - where a check is, and what is walked over it with
    data: bytes, at: int, end: int, fields: int, outline: Outline, most: int
) -> Generator[None, None, int]:
    """A check, and its kind, which may stand in several fields: neither has more than a few. Steps, and what is
    returned, as in `_walk_task`."""
    of_kind = 0
    for tag, begin, stop in _few_fields(data, at, end, _MOST_FIELDS, "a check"):
        fields += 1
        entries = _ENTRIES.get(tag)
        if entries is None:
            continue
        lists = _LISTS.get(tag, ())
        for inner, content, after in _few_fields(data, begin, stop, _MOST_FIELDS_OF_A_KIND, "a check's kind", of_kind):
            of_kind += 1
            if inner in entries or inner in lists:
                _count_part(outline, most)
            fields += 1 + (_bound_entry(data, content, after) if inner in entries else 0)
            if fields >= _FIELDS_A_STEP:
                fields = 0
                yield
    return fields


def _count_part(outline: Outline, most: int) -> None:
    outline.parts += 1
    if outline.parts > most:
        raise TooMany(f"a request holds at most {most} arguments, files and variables; send more requests")


def _bound_entry(data: bytes, at: int, end: int) -> int:
    """The number of fields of what names a file or variable."""
    return sum(1 for _ in _few_fields(data, at, end, _MOST_FIELDS_OF_AN_ENTRY, "a file or variable"))


def _few_fields(  # noqa: PLR0917 - where a message is, and what it may have
    data: bytes, at: int, end: int, most: int, what: str, fields: int = 0
) -> Iterator[tuple[int, int, int]]:
    """(tag, begin, end) of each field of a message. Raises TooMany when there are more than `most`, of which `fields`
    have been already."""
    while at < end:
        tag, begin, at = _field(data, at, end)
        fields += 1
        if fields > most:
            raise TooMany(f"{what} has more than {most} fields")
        yield tag, begin, at


def pieces(data: bytes, begin: int, end: int, most: int, room: int) -> Iterator[bytes]:
    """The fields of one message in pieces of at most `most` fields and `room` bytes, unless one field has more; parsed
    and put together, they are the message."""
    at, start, fields = begin, begin, 0
    while at < end:
        before = at
        _, _, at = _field(data, at, end)
        if fields and (fields == most or at - start > room):
            yield data[start:before]
            start, fields = before, 0
        fields += 1
    if start < end:
        yield data[start:end]


def _field(data: bytes, at: int, end: int) -> tuple[int, int, int]:  # noqa: C901 - a case for each type of the wire
    """(tag, where its content begins, where it ends) of the field at `at`."""
    tag = data[at]
    at += 1
    if tag >= 0x80:
        tag, at = _varint(data, at - 1, end)
    kind = tag & 7
    if kind == _DELIMITED:
        if at >= end:
            raise Malformed
        size = data[at]
        at += 1
        if size >= 0x80:
            size, at = _varint(data, at - 1, end)
        after = at + size
    elif kind == _VARINT:
        after = at
        while after < end and data[after] >= 0x80:
            after += 1
        after += 1
        if after - at > 10:
            raise Malformed
    elif kind == _FIXED64:
        after = at + 8
    elif kind == _FIXED32:
        after = at + 4
    else:  # groups, which no message of ours ever had
        raise Malformed
    if after > end or tag < 8:
        raise Malformed
    return tag, at, after


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """A number of at most 32 bits, and where it ends."""
    value = shift = 0
    for place in range(at, min(end, at + _LONGEST)):
        byte = data[place]
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            if value >= 1 << 32:
                break
            return value, place + 1
    raise Malformed
