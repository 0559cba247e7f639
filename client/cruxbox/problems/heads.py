"""Puts something in front of a program."""

from __future__ import annotations

import re

# What stands in brackets ends at the next one that opens: else each import without an end would be read to the end.
_FUTURE = re.compile(r"^from[ \t]+__future__[ \t]+import[ \t]*(?:\([^()]*\)|[^\n(]*)[^\n]*(?:\n|\Z)", re.MULTILINE)


def behind(head: str, program: str) -> str:
    """`program` behind `head`; imports from __future__ have to stand before both.

    A byte order mark that begins the program is left out, as in a file of its own: inside a text it is an error.
    """
    program = program.removeprefix("\ufeff")
    futures = _FUTURE.findall(program)
    if futures:
        program = _FUTURE.sub("", program)
    return "".join([*[each.rstrip("\n") + "\n" for each in futures], head, program])
