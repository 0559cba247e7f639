"""Text for people: untrusted text (of a candidate, a server or a file) is escaped; counts have their nouns."""

from __future__ import annotations


def printable(text: str, *, lines: bool = False) -> str:
    """`text` with everything escaped that is no visible character: controls, escape sequences, what turns the direction
    of writing, lone surrogates, line breaks (kept with `lines`). Plain text stays as it is.
    """
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() or (lines and each == "\n") else each.encode("unicode_escape").decode()
        for each in text
    )


def counted(count: int, noun: str) -> str:
    """`1 row`, `2,000 rows`: a number with its noun, whose plural ends in s."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
