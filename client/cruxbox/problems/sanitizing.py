"""Code out of what a chat model wrote: fences, greetings and explanations go, what the tests need stays."""

from __future__ import annotations

import ast
import re

_FENCE = re.compile(
    r"^[ \t]*(?:```|~~~)[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^[ \t]*(?:```|~~~)|\Z)", re.DOTALL | re.MULTILINE
)
_BEGINS = re.compile(r"(?:(?:from|import|def|async def|class|if|for|while|try|with)\b|@|[A-Za-z_]\w*\s*(?::[^=]+)?=)")
# Where a completion that goes on behind a prompt has ended, as HumanEval's users cut it.
_STOPS = ("\nclass ", "\ndef ", "\n#", "\nif __name__", "\nprint(", "\nassert ", "\n```", "\n<|")
_MOST_LINES, _MOST_CHARACTERS, _MOST_NESTING, _MOST_OPERATORS = 2_000, 200_000, 60, 5_000


def sanitized(text: str, entry_point: str, prompt: str = "") -> str:
    """The program in a model's text.

    Args:
        text: what the model wrote, chat and all.
        entry_point: the name that has to be in it; "" if none is known.
        prompt: the head that a bare completion goes on behind; "" for whole programs.

    Returns:
        The fenced block that defines `entry_point` (else all Python blocks together, else the text), without lines
        before and behind that are no Python. A text that does not define the entry point is a completion: it is put
        behind the prompt, up to where the next definition begins.
    """
    body = _unfenced(text, entry_point)
    if not prompt or _defines(body, entry_point):
        code = _parsing_lines(body)
        # A prompt's imports are the model's to use, whether it repeats them or not.
        return "\n".join([*_imports(prompt), code]) if prompt else code
    ends = [at for at in (body.find(stop) for stop in _STOPS) if at >= 0]
    return prompt + (body[: min(ends)] if ends else body)


def _unfenced(text: str, entry_point: str) -> str:
    blocks = [(match[1].lower(), match[2]) for match in _FENCE.finditer(text.replace("\r\n", "\n"))]
    blocks = [(language, code) for language, code in blocks if language in ("", "python", "py", "python3")]
    for _, code in blocks:
        if entry_point and _defines(code, entry_point):
            return code
    return "\n".join(code for _, code in blocks) if blocks else text


def _defines(code: str, name: str) -> bool:
    return bool(re.search(rf"^(?:async )?(?:def|class) {re.escape(name)}\b|^{re.escape(name)} *=", code, re.MULTILINE))


def _imports(prompt: str) -> list[str]:
    return [line for line in prompt.splitlines() if line.startswith(("import ", "from "))]


def _parsing_lines(text: str) -> str:
    """The longest run of lines from the first that looks like code that is Python; the text itself if there is none."""
    if len(text) > _MOST_CHARACTERS or _is_intricate(text) or _parses(text):
        return text
    lines = text.split("\n")[:_MOST_LINES]
    starts = [at for at, line in enumerate(lines) if _BEGINS.match(line)]
    for first in starts[:20]:
        last = _last_parsing(lines, first)
        if last > first:
            return "\n".join(lines[first:last])
    return text


def _last_parsing(lines: list[str], first: int) -> int:
    """The end of the longest run from `first` on that parses: lines are taken off where the parser stumbles."""
    last = len(lines)
    for _ in range(50):
        line = _bad_line("\n".join(lines[first:last]))
        if line is None:
            return last
        last = min(first + line - 1, last - 1)
        if last <= first:
            break
    return first


def _parses(text: str) -> bool:
    return _bad_line(text) is None


def _bad_line(text: str) -> int | None:
    """The number of the line on which the text stops being Python; None if it is Python."""
    try:
        ast.parse(text)
    except SyntaxError as error:
        return max(error.lineno or 1, 1)
    except (ValueError, RecursionError, MemoryError):
        return 1
    return None


def _is_intricate(text: str) -> bool:
    """Is the text nested so deep, or a chain of so many operators, that it may end the process of its parser?"""
    operators = sum(character in "+-*/%@&|^~<>=.:" for character in text)
    return operators > _MOST_OPERATORS or _nesting(text) > _MOST_NESTING


def _nesting(text: str) -> int:
    deepest = depth = 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        deepest = max(deepest, depth)
    return deepest
