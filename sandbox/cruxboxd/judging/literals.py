"""Plain literals, read without Python's parser: what people expect of most checks is an int, a text, a list of such.

A text that is nothing but these is read here and needs no worker, so that a single check costs one fork and not two.
The grammar is a small part of Python's, and whatever is outside of it is None, for a worker to read: escapes, prefixes,
exponents, digit separators, sets, names, operators, anything but printable ASCII. One pass over a short text.

    value = int | decimal | text | "True" | "False" | "None" | list | tuple | dict
"""

from __future__ import annotations

import re
from typing import Any

from cruxcell.values.canonical import canon

MOST_CHARACTERS = 2_000
_MOST_DEPTH = 20
_MOST_BYTES = 1 << 20  # far more than so few characters can come to
# Values that stand side by side match, too ("1 2", "0123", '"a""b"'); the grammar refuses them.
_TOKEN = re.compile(
    r" *(?:(-?(?:0|[1-9][0-9]{0,14})\.[0-9]{1,15})"
    r"|(-?(?:0|[1-9][0-9]{0,17}))"
    r"|('[\x20-\x26\x28-\x5b\x5d-\x7e]*'|\"[\x20-\x21\x23-\x5b\x5d-\x7e]*\")"
    r"|(True|False|None)"
    r"|([\[\](){},:]))"
)
_READERS = (float, int, lambda text: text[1:-1], {"True": True, "False": False, "None": None}.__getitem__)
_MARK = len(_READERS)
_CLOSING = {"[": "]", "(": ")", "{": "}"}


class _Unread(Exception):
    """Not a plain literal."""


def read_literal(text: str) -> bytes | None:
    """The canonical bytes of a plain literal; None for any other text, about which that says nothing."""
    if len(text) > MOST_CHARACTERS:
        return None
    try:
        return canon(_Tokens(text.strip(" ")).whole(), _MOST_BYTES)[0]
    except (_Unread, TypeError):  # TypeError: a list as a key of a dict
        return None


class _Tokens:
    """The tokens of a text, and a value made of them."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[int, str]] = []
        self._next = 0
        at = 0
        while at < len(text):  # a search would go on behind what is no token, from each of its blanks
            match = _TOKEN.match(text, at)
            if match is None:
                raise _Unread
            at = match.end()
            group = match.lastindex or 0
            self._tokens.append((group - 1, match[group]))

    def whole(self) -> Any:
        value = self._value(0)
        if self._next != len(self._tokens):
            raise _Unread
        return value

    def _take(self) -> tuple[int, str]:
        if self._next == len(self._tokens):
            raise _Unread
        self._next += 1
        return self._tokens[self._next - 1]

    def _takes(self, mark: str) -> bool:
        """Take the next token if it is this mark."""
        is_next = self._next < len(self._tokens) and self._tokens[self._next] == (_MARK, mark)
        self._next += is_next
        return is_next

    def _value(self, depth: int) -> Any:
        kind, text = self._take()
        if kind != _MARK:
            return _READERS[kind](text)
        if text not in _CLOSING or depth == _MOST_DEPTH:
            raise _Unread
        return self._dict(depth) if text == "{" else self._sequence(text, depth)

    def _sequence(self, opening: str, depth: int) -> Any:
        items: list[Any] = []
        while not self._takes(_CLOSING[opening]):
            items.append(self._value(depth + 1))
            if not self._takes(","):
                if not self._takes(_CLOSING[opening]) or (opening == "(" and len(items) == 1):
                    raise _Unread  # not closed, or brackets around one value
                break
        return items if opening == "[" else tuple(items)

    def _dict(self, depth: int) -> dict[Any, Any]:
        items: dict[Any, Any] = {}
        while not self._takes("}"):
            key = self._value(depth + 1)
            if not self._takes(":"):
                raise _Unread
            items[key] = self._value(depth + 1)
            if not self._takes(","):
                if not self._takes("}"):
                    raise _Unread
                break
        return items
