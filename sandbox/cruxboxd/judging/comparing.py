"""Compares printed with expected output. Pure; works in steps, so that a long text does not block the event loop.

The printed text is hostile. It is split and compared as bytes, and parsed as a number only if it matches a pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from enum import Enum
from itertools import islice, zip_longest

_TOKENS_A_STEP = 500
_BYTES_A_STEP = 1 << 16  # what a step takes a few milliseconds for, whatever it holds
_BYTES_A_TOKEN = _BYTES_A_STEP // _TOKENS_A_STEP  # of a line, or in one, beside what it holds
WHITE_SPACE = b" \t\n\r\x0b\x0c"  # as bytes.split() has it
_LONGEST_NUMBER, _LONGEST_EXPONENT = 400, 8  # bytes; a longer number is compared as text
_EXPONENT = re.compile(rb"[eE][+-]?\d{1,6}\Z")
_NUMBER = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,6})?")


class Compare(Enum):
    """How two outputs are compared; names and numbers are those of the wire."""

    LINES = 1
    EXACT = 2
    TOKENS = 3
    CASEFOLD = 4


@dataclass(frozen=True)
class Comparison:
    """How two outputs are compared; numbers by their value where a tolerance is not 0.

    TOKENS: each token may be a number. LINES and CASEFOLD: a line is the same as text, or both are nothing but numbers;
    white space around lines, and blank lines at either end of the output, do not count then. LiveCodeBench has it so.
    """

    how: Compare = Compare.LINES
    absolute: float = 0.0
    relative: float = 0.0

    @property
    def has_tolerance(self) -> bool:
        return bool(self.absolute or self.relative)


PLAINLY = Comparison()


def is_same(printed: bytes, expected: bytes, comparison: Comparison) -> Iterator[bool]:
    """True after each step that found no difference, False and no more at the first one. At least one step."""
    how = comparison.how
    if how is Compare.EXACT or printed == expected:
        yield printed == expected
        return
    if how is Compare.CASEFOLD:
        printed, expected = (yield from _folded(printed)), (yield from _folded(expected))
    yield True
    printed, expected = printed.rstrip(), expected.rstrip()
    yield True
    if comparison.has_tolerance:
        close = _close_tokens if how is Compare.TOKENS else _close_lines
        yield from close(printed, expected, comparison)
    else:
        yield from _same_text(printed, expected, _tokens_in_a_line if how is Compare.TOKENS else _lines_cut)


def _same_text(printed: bytes, expected: bytes, as_compared: Callable[[bytes], Iterator[bytes]]) -> Iterator[bool]:
    """Are both the same as they are compared? Of that, too, no more than a part is made at a time."""
    if printed == expected:
        yield True
        return
    got, wanted = as_compared(printed), as_compared(expected)
    one: bytes | None = b""
    other: bytes | None = b""
    while True:
        one, other = one or next(got, None), other or next(wanted, None)
        if one is None or other is None:  # neither ends with white space: what is left of one is not nothing
            yield one is other
            return
        shared = min(len(one), len(other))
        same = one[:shared] == other[:shared]
        yield same
        if not same:
            return
        one, other = one[shared:], other[shared:]


def _tokens_in_a_line(data: bytes) -> Iterator[bytes]:
    """`data` with one space between its tokens, in parts."""
    has_token = has_space = False
    for part in _parts(data):
        tokens = part.split()
        if tokens:
            has_space |= part[0] in WHITE_SPACE
            yield (b" " if has_token and has_space else b"") + b" ".join(tokens)
            has_token, has_space = True, part[-1] in WHITE_SPACE
        else:
            yield b""
            has_space = True


def _lines_cut(data: bytes) -> Iterator[bytes]:
    """`data` without white space at the end of its lines, in parts."""
    spaces: list[bytes] = []  # where a part ends, which may be the end of a line
    for part in _parts(data):
        lines = part.split(b"\n")
        cut = [line.rstrip() for line in lines]
        if cut[0]:
            yield from spaces
        if cut[0] or len(cut) > 1:
            spaces = []
        yield b"\n".join(cut)
        spaces.append(lines[-1][len(cut[-1]) :])


def _parts(data: bytes) -> Iterator[bytes]:
    """`data` in parts, which end anywhere."""
    return (data[start : start + _BYTES_A_STEP] for start in range(0, len(data), _BYTES_A_STEP))


def _close_tokens(printed: bytes, expected: bytes, comparison: Comparison) -> Iterator[bool]:
    """Are all tokens the same, or numbers that are close enough?"""
    pairs = zip_longest(_tokens(printed), _tokens(expected))
    yield True  # of nothing but white space, too
    while several := list(islice(pairs, _TOKENS_A_STEP)):
        same = all(
            one is not None and other is not None and (one == other or _is_close(one, other, comparison))
            for one, other in several
        )
        yield same
        if not same:
            return


def _close_lines(printed: bytes, expected: bytes, comparison: Comparison) -> Iterator[bool]:
    """Is each line the same but for white space around it, or are both nothing but numbers that are close enough?"""
    yield True  # of nothing but white space, too
    room = _BYTES_A_STEP
    for same, size in _compared_lines(printed, expected, comparison):
        room -= size
        if not same or room < 0:
            yield same
            room = _BYTES_A_STEP
        if not same:
            return


def _compared_lines(printed: bytes, expected: bytes, comparison: Comparison) -> Iterator[tuple[bool, int]]:
    """Line by line, where they differ as text token by token: is it close enough, and what it counts for in bytes?"""
    for one, other in zip_longest(_lines(printed), _lines(expected)):
        if one is None or other is None:
            yield False, 0
            return
        yield True, _BYTES_A_TOKEN + len(one)
        for got, wanted in zip_longest(_tokens(one), _tokens(other)) if one != other else ():
            yield got is not None and wanted is not None and _is_close(got, wanted, comparison), _BYTES_A_TOKEN


def _lines(data: bytes) -> Iterator[bytes]:
    """The lines without the white space around them, but for blank ones at either end."""
    data = data.strip()
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + _BYTES_A_STEP)
        end = len(data) if end < 0 else end
        yield from map(bytes.strip, data[start:end].split(b"\n"))
        start = end + 1


def _tokens(data: bytes) -> Iterator[bytes]:
    """What numbers may stand for."""
    pieces: list[bytes] = []  # of a token that may go on in the next part
    for part in _parts(data):
        tokens = part.split()
        if pieces and part[0] in WHITE_SPACE:
            yield b"".join(pieces)
            pieces = []
        if not tokens:
            continue
        pieces.append(tokens[0])
        if len(tokens) > 1:
            yield b"".join(pieces)
            yield from tokens[1:-1]
            pieces = tokens[-1:]
        if part[-1] in WHITE_SPACE:
            yield b"".join(pieces)
            pieces = []
    if pieces:
        yield b"".join(pieces)


def _folded(data: bytes) -> Generator[bool, None, bytes]:
    """`data` without regard to case, after a step for each part of it."""
    folded = []
    for part in parts_of_text(data):
        folded.append(part.decode("utf-8", "surrogateescape").casefold().encode("utf-8", "surrogateescape"))
        yield True
    return b"".join(folded)


def parts_of_text(data: bytes) -> Iterator[bytes]:
    """Parts of `data`, none of which ends within a character of UTF-8."""
    start = 0
    while start < len(data):
        end = start + _BYTES_A_STEP
        while data[end : end + 1] and data[end] & 0xC0 == 0x80 and end < start + _BYTES_A_STEP + 4:
            end += 1
        yield data[start:end]
        start = end


def _is_close(got: bytes, wanted: bytes, comparison: Comparison) -> bool:
    """Are both numbers, and close enough? The same number is, however long it is."""
    if got == wanted:
        return _is_number(got)
    one, other = _number(got), _number(wanted)
    if one is None or other is None:
        return False
    relative = _EXACTLY.multiply(Decimal(repr(comparison.relative)), other.copy_abs())
    allowed = max(Decimal(repr(comparison.absolute)), relative)
    return _EXACTLY.subtract(one, other).copy_abs() <= allowed


def _is_number(token: bytes) -> bool:
    exponent = _EXPONENT.search(token, len(token) - _LONGEST_EXPONENT)
    digits = token[: exponent.start()] if exponent else token
    return digits[digits[:1] in (b"+", b"-") :].replace(b".", b"", 1).isdigit()  # `_NUMBER` would take too long


# Numbers as they are written: as floats, 10**18 and 10**18 + 1 would be the same.
_EXACTLY = Context(prec=2 * _LONGEST_NUMBER, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


def _number(token: bytes) -> Decimal | None:
    """The number that a token is."""
    if len(token) > _LONGEST_NUMBER or _NUMBER.fullmatch(token) is None:
        return None
    return Decimal(token.decode())
