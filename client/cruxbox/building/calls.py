"""The call a row is about, and where a piece of Python text ends. Texts are scanned, never parsed.

A row of CRUXEval is a function `f` and what stands between the parentheses of its call. Rows of other benchmarks name
their function in `function_name`, or hold a whole call as `input`: `minimumCost(nums = [1, 2])`.
"""

from __future__ import annotations

import re

DEFAULT = "f"

_CLOSING = {"(": ")", "[": "]", "{": "}"}
_STARTS_AS_CALL = re.compile(r"\s*([A-Za-z_]\w*)\s*(?=\()")
_DEFINED = re.compile(r"^(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*\(", re.MULTILINE)


def function_and_call(code: str, input: str, function_name: str = "", *, end: str = "") -> tuple[str, str]:
    """The name of a row's function, and the call of it.

    Args:
        code: the program.
        input: the text between the parentheses, or a whole call: one of `function_name`, or, where no function is named
            and the program has no `f`, one of a function that the program defines.
        function_name: the row's own name of the function, "" if it gives none.
        end: what to put before the closing parenthesis, where there is none yet: a line break ends a comment.
    """
    called = _called(input)
    if called and (called == function_name if function_name else _is_defined(code, called)):
        return called, input.strip()
    name = function_name or DEFAULT
    return name, f"{name}({input}{end})"


def is_one_call(call: str, name: str, *, nested: bool = False) -> bool:
    """Is `call` one call of `name` and nothing else, with arguments that do not hold `name` (unless `nested`)?"""
    return _called(call) == name and (nested or len(re.findall(rf"\b{re.escape(name)}\b", call)) == 1)


def _called(text: str) -> str:
    """The name of the function if `text` is one call and nothing else, else ""."""
    match = _STARTS_AS_CALL.match(text)
    if match is None:
        return ""
    end = end_of_bracket(text, match.end())
    return match[1] if end is not None and not text[end:].strip() else ""


def _is_defined(code: str, name: str) -> bool:
    """Does the program define `name` at its top level, and no `f`?"""
    defined = set(_DEFINED.findall(code))
    return name in defined and DEFAULT not in defined


def end_of_bracket(text: str, at: int) -> int | None:
    """The index behind the bracket that closes the one at `at`; None if none does."""
    open_ones: list[str] = []
    while at < len(text):
        letter = text[at]
        if letter in _CLOSING:
            open_ones.append(_CLOSING[letter])
        elif letter in ")]}":
            if not open_ones or open_ones.pop() != letter:
                return None
            if not open_ones:
                return at + 1
        end = _behind(text, at)
        if end is None:
            return None
        at = end
    return None


def end_of_expression(text: str) -> int:
    """The index where the first logical line of `text` ends: at a line break or comment outside all brackets.

    All of `text` where a bracket or string is left open.
    """
    at = 0
    while at < len(text) and text[at] not in "\n#":
        end = end_of_bracket(text, at) if text[at] in _CLOSING else _behind(text, at)
        if end is None:
            return len(text)
        at = end
    return at


def _behind(text: str, at: int) -> int | None:
    """The index behind the letter, string or comment at `at`; None for a string that does not end."""
    letter = text[at]
    if letter == "#":
        end = text.find("\n", at)
        return len(text) if end < 0 else end
    if letter == "\\":
        return at + 2
    if letter not in "'\"":
        return at + 1
    quote = letter * 3 if text.startswith(letter * 3, at) else letter
    at += len(quote)
    while at < len(text):
        if text.startswith(quote, at):
            return at + len(quote)
        if text[at] == "\n" and len(quote) == 1:
            return None
        at += 2 if text[at] == "\\" else 1
    return None
