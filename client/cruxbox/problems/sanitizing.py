"""Code out of what a chat model wrote: fences, greetings and explanations go, what the tests need stays."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from cruxbox.problems.heads import behind

# A fence ends where one of its kind stands no deeper, as in Markdown: not at one in a docstring. Each part of its line
# is all that can be of it, or a line without an end would be read once for each way to part it.
_FENCE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<item>(?:[-*+]|\d{1,3}[.)])[ \t]{1,4})?(?P<marks>```|~~~)[`~]*(?![`~])"
    r"[ \t]*(?![ \t])(?P<language>[\w+-]*)(?![\w+-])[^\n]*\n"
    r"(?P<code>.*?)(?:^(?:(?P=indent))?(?(item)[ \t]{0,4}| {0,3})(?P=marks)|\Z)",
    re.DOTALL | re.MULTILINE,
)
# A fence around the whole answer, with fences in it.
_AROUND = re.compile(r"^[ \t]*(?:```[`]*|~~~[~]*)[ \t]*(?:markdown|md)[ \t\r]*$\n?", re.MULTILINE | re.IGNORECASE)
# What models of chat write around their answer: what they thought, and where it ends.
_THOUGHT, _END, _TOKEN = "</think>", "</s>", re.compile(r"<\|\w+\|>")
# Lines around the answer in the prompts of MBPP's paper and of Code Llama.
_MARK = re.compile(
    r"^\[(?:(?P<begin>BEGIN|PYTHON|CODE|ANSWER)|DONE|/(?:PYTHON|CODE|ANSWER))\][ \t\r]*$\n?", re.MULTILINE
)
_BEGINS = re.compile(r"(?:(?:from|import|def|async def|class|if|for|while|try|with)\b|@|[A-Za-z_]\w*\s*(?::[^=]+)?=)")
# Where a completion that goes on behind a prompt has ended, as HumanEval's users cut it.
_STOPS_BEHIND_HELPERS = ("\nif __name__", "\nprint(", "\nassert ", "\n```", "\n<|")
_STOPS = ("\nclass ", "\ndef ", "\n#", *_STOPS_BEHIND_HELPERS)
# A fence behind the last line of code, where a model has not begun a line for it.
_GLUED = re.compile(r"(?<=[^\s`~])(?:```|~~~)[ \t]*$", re.MULTILINE)
_WORD = re.compile(r"\w+")
_DEFINITIONS = re.compile(r"^(?:def|class) (\w+)", re.MULTILINE)
# As Python counts them.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|[\r\n]|\Z)")
_MOST_FENCES, _MOST_STARTS, _MOST_CUTS = 20, 20, 50
_MOST_PARSED = 2_000_000  # characters, again and again: a model may write what stumbles on each of its last lines
_MOST_LINES, _MOST_CHARACTERS, _MOST_NESTING, _MOST_OPERATORS = 2_000, 200_000, 60, 5_000


def sanitized(text: str, entry_point: str, prompt: str = "") -> str:
    """The program in a model's text.

    Args:
        text: what the model wrote, chat and all.
        entry_point: the name that has to be in it, or what is called of it (`Solution().solve`); "" if none is
            known.
        prompt: the head that a bare completion goes on behind; "" for whole programs.

    Returns:
        The last fenced block that defines `entry_point` (without an entry point the last block marked as Python, else
        the last that is Python and does something; else all blocks together, else the text), without lines before and
        behind that are no Python. A text that does not define the entry point is a completion: it is put behind the
        prompt, up to where the next definition begins that it does not use.
    """
    entry_point = "".join(_WORD.findall(entry_point)[:1])
    answer = _unmarked(_without_tokens(text.rpartition(_THOUGHT)[2].lstrip("\ufeff")))
    is_program = _is_program(answer, entry_point, prompt)
    body = answer if is_program else _unglued(_unfenced(_closed(answer, entry_point), entry_point))
    if not prompt or _defines(body, entry_point):
        code = _without_labels(_parsing_lines(body))
        return behind(_head(prompt, entry_point), code) if prompt else code
    kept = _cut(body, _STOPS)
    helpers = _DEFINITIONS.findall(body[len(kept) :])
    is_short = not set(_WORD.findall(kept)).isdisjoint(helpers)  # of what it calls
    return _without_labels(prompt + _without_prose(prompt, _cut(body, _STOPS_BEHIND_HELPERS) if is_short else kept))


def _without_tokens(text: str) -> str:
    """The text without the tokens that end it, and the white space around them. It is looked at from its end: a pattern
    would run to it from each of its blanks."""
    begin, end = len(text), _without_blanks(text, len(text))
    while (at := _last_token(text, end)) >= 0:
        begin = end = _without_blanks(text, at)
    return text if begin == len(text) else text[:begin] + "\n"


def _last_token(text: str, end: int) -> int:
    """Where the token begins that ends at `end`; -1 if none does."""
    if text.endswith(_END, 0, end):
        return end - len(_END)
    at = text.rfind("<|", 0, end) if text.endswith("|>", 0, end) else -1
    return at if at >= 0 and _TOKEN.fullmatch(text, at, end) else -1


def _without_blanks(text: str, end: int) -> int:
    while end and text[end - 1].isspace():
        end -= 1
    return end


def _unmarked(text: str) -> str:
    """What stands between such lines, or before the first of them if that ends the answer; else the text."""
    marks = list(_MARK.finditer(text))
    if not marks:
        return text
    if not marks[0]["begin"]:
        return text[: marks[0].start()]
    return text[marks[0].end() : marks[1].start() if len(marks) > 1 else None]


def _cut(text: str, stops: Sequence[str]) -> str:
    """The text up to the first of these."""
    return text[: min((at for at in map(text.find, stops) if at >= 0), default=len(text))]


def _is_program(text: str, entry_point: str, prompt: str) -> bool:
    """Is the text as it stands the program, or its rest behind the prompt? Then a fence in it is one in a docstring."""
    whole = text if not entry_point or _defines(text, entry_point) else prompt + text if _is_indented(text) else ""
    return bool(whole) and _is_python(whole)


def _closed(text: str, entry_point: str) -> str:
    """The code before a fence that closes what the prompt has opened; else the text."""
    before, fence, _ = text.replace("\r\n", "\n").partition("\n```\n")
    if "```" in before or "~~~" in before or not fence:
        return text
    return before + "\n" if _defines(before, entry_point) or _is_body(before) else text


def _unglued(text: str) -> str:
    """The code before a fence that closes it on its own last line; else the text."""
    for fence in islice(_GLUED.finditer(text), _MOST_FENCES):
        before = text[: fence.start()]
        if _is_python(before) or _is_body(before):
            return before + "\n"
    return text


def _is_body(text: str) -> bool:
    """Is the text the rest of a function, behind its head?"""
    return _is_indented(text) and _is_python("if 1:\n" + text.strip("\n"))


def _is_indented(text: str) -> bool:
    return text.lstrip("\r\n")[:1] in (" ", "\t")


def _unfenced(text: str, entry_point: str) -> str:
    found = _FENCE.finditer(_AROUND.sub("", text.replace("\r\n", "\n")))
    blocks = [(each["language"].lower(), _dedented(each)) for each in found]
    blocks = [(language, code) for language, code in blocks if language in ("", "python", "py", "python3")]
    # A model corrects itself downwards, so the last answer is its answer.
    answers = [code for _, code in blocks if entry_point and _defines(code, entry_point)]
    if not answers and not entry_point:  # programs: an input shown in a fence of its own is none
        answers = [code for language, code in blocks if language] or [
            code for _, code in blocks if _does_something(code)
        ]
    if answers:
        return answers[-1]
    return "\n".join(code for _, code in blocks) if blocks else text


def _dedented(fence: re.Match[str]) -> str:
    """The code of a fence that stands in a list, say, without that one's indentation."""
    code, indent = fence["code"], fence["indent"]
    if fence["item"]:
        return textwrap.dedent(code)
    return re.sub(f"^{indent}", "", code, flags=re.MULTILINE) if indent else code


def _defines(code: str, name: str) -> bool:
    name = re.escape(name)
    return bool(re.search(rf"^(?:async )?(?:def|class) {name}\b|^{name} *(?::[^=\n]*)?=", code, re.MULTILINE))


def _head(prompt: str, entry_point: str) -> str:
    """What stands in the prompt beside the entry point: imports, helpers and classes. They are the model's to use,
    whether it repeats them or not."""
    whole = next((each for each in (prompt, f"{prompt}\n    pass\n") if _is_python(each)), None)
    if whole is None:
        return "".join([line + "\n" for line in prompt.splitlines() if line.startswith(("import ", "from "))])
    lines = _LINE.findall(whole)
    kept = [each for each in ast.parse(whole).body if getattr(each, "name", "") != entry_point and not _is_text(each)]
    return "".join(["".join(lines[_first_line(each) - 1 : each.end_lineno]).rstrip() + "\n" for each in kept])


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _without_prose(prompt: str, text: str) -> str:
    """The text up to the line at the margin where it ceases to be Python behind the prompt; all of it if that is none,
    or stands before any code."""
    lines = text.split("\n")
    margins = [at for at, line in enumerate(lines) if line[:1].strip()]
    above, last = prompt.count("\n"), len(lines)
    for _ in islice(_tries(prompt + text), _MOST_CUTS if _may_be_parsed(prompt + text) else 0):
        kept = "\n".join(lines[:last])
        bad = _bad_line(prompt + kept)
        if bad is None:
            return kept if last == len(lines) else kept + "\n"
        last = max((at for at in margins if at < min(last, bad - above)), default=0)
        if not last:
            break
    return text


def _parsing_lines(text: str) -> str:
    """The longest run of lines from the first that looks like code that is Python; the text itself if there is none."""
    if not _may_be_parsed(text) or _parses(text):
        return text
    lines = text.split("\n")[:_MOST_LINES]
    starts = [at for at, line in enumerate(lines) if _BEGINS.match(line)]
    tries = _tries(text)
    for first in starts[:_MOST_STARTS]:
        last = _last_parsing(lines, first, islice(tries, _MOST_CUTS))
        if last > first:
            return "\n".join(lines[first:last])
    return text


def _tries(text: str) -> Iterator[int]:
    """As many as a text of this size may be parsed."""
    return iter(range(_MOST_PARSED // (len(text) + 1)))


def _last_parsing(lines: list[str], first: int, tries: Iterable[int]) -> int:
    """The end of the longest run from `first` on that parses: lines are taken off where the parser stumbles."""
    last = len(lines)
    for _ in tries:
        line = _bad_line("\n".join(lines[first:last]))
        if line is None:
            return last
        last = min(first + line - 1, last - 1)
        if last <= first:
            break
    return first


def _without_labels(code: str) -> str:
    """The code without what stands before and behind it on lines of its own and is a word to people, and a name that
    nobody has to Python: `python`, `Explanation`, `Complexity: O(n)`. To a program that has it, it does nothing."""
    body = ast.parse(code).body if _is_python(code) else []
    own = [at for at, statement in enumerate(body) if not _is_label(statement)]
    if not own or len(own) == len(body):
        return code
    lines = _LINE.findall(code)
    first, last = _first_line(body[own[0]]), body[own[-1]].end_lineno or 0
    for statement in [*body[: own[0]], *body[own[-1] + 1 :]][::-1]:
        end = statement.end_lineno or 0
        if end < first or statement.lineno > last:
            del lines[statement.lineno - 1 : end]
    return "".join(lines)


def _is_label(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.AnnAssign):
        return statement.value is None and isinstance(statement.target, ast.Name)
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Name)


def _first_line(statement: ast.stmt) -> int:
    """With its decorators."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *[each.lineno for each in decorators]])


def _is_python(text: str) -> bool:
    return _may_be_parsed(text) and _parses(text)


def _does_something(text: str) -> bool:
    """Is it Python that does something? A number, a word or a list is Python, too, and a program's input."""
    return _is_python(text) and any(
        not isinstance(statement, ast.Expr) or any(isinstance(node, ast.Call) for node in ast.walk(statement))
        for statement in ast.parse(text).body
    )


def _may_be_parsed(text: str) -> bool:
    return len(text) <= _MOST_CHARACTERS and not _is_intricate(text)


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
