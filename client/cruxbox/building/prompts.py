"""The prompts that ask a model to predict an input or an output, direct or with a chain of thought.

Two styles. TAGGED shows a program with a gap in its assertion between [PYTHON] tags and wants the whole assertion
between [ANSWER] tags. ASSERT shows programs as plain files and lets the model finish the assertion's line; it exists
for output prediction only, since an input stands in the middle of that line.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from cruxbox.errors import DataError


class Style(str, enum.Enum):
    """How a prompt is laid out; `stops` tells where generation must stop."""

    TAGGED = "tagged"
    ASSERT = "assert"

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop words to give to the serving engine, and to `extract`."""
        return ("[/ANSWER]",) if self is Style.TAGGED else ("# done",)


@dataclass(frozen=True)
class Shot:
    """One worked example of a prediction prompt."""

    code: str
    question: str
    answer: str
    thought: str = ""


_OUTPUT_TASK = (
    "Below is a Python function f and an assertion about one call of it. Replace the ?? by the value that the call "
    "returns when the code is executed exactly as written, even if the code looks wrong or unfinished. Write the value "
    "as a literal: no function calls and no expressions that are left to compute."
)
_INPUT_TASK = (
    "Below is a Python function f and an assertion with the value that a call of it must return. Replace the ?? by "
    "arguments for which the assertion holds when the code is executed exactly as written. Where several inputs would "
    "do, give any one of them, and only one."
)
_DIRECT = " Put the completed assertion, and nothing else, between [ANSWER] and [/ANSWER], as in the examples."
_THINK = (
    " Think first, step by step, between [THOUGHT] and [/THOUGHT]; then put the completed assertion between [ANSWER] "
    "and [/ANSWER], as in the example."
)
_ASSERT_TASK = (
    "Complete the last assertion with the value that the call returns when the code is executed exactly as written, "
    'even if the code looks wrong or unfinished. Write nothing but the value, then "# done".'
)

_OUTPUT_SHOTS = (
    Shot("def f(a, b):\n    return b - a", "assert f(4, 9) == ??", "assert f(4, 9) == 5"),
    Shot(
        "def f(word):\n    return word[1:] + '-'",
        "assert f('lamp') == ??",
        "assert f('lamp') == 'amp-'",
    ),
)
_OUTPUT_COT = (
    Shot(
        "def f(words):\n    words.reverse()\n    return '/'.join(words[:2])",
        "assert f(['a', 'bc', 'd']) == ??",
        "assert f(['a', 'bc', 'd']) == 'd/bc'",
        "The call passes the list ['a', 'bc', 'd'] as words.\n"
        "1. words.reverse() turns the list round in place: words is ['d', 'bc', 'a'].\n"
        "2. words[:2] are its first two items: ['d', 'bc'].\n"
        "3. '/'.join puts a slash between them: 'd/bc'.\n"
        "That string is returned.",
    ),
)
_INPUT_SHOTS = (
    Shot(
        "def f(numbers):\n    return [n for n in numbers if n % 3 == 0]",
        "assert f(??) == [9, 3]",
        "assert f([9, 4, 3]) == [9, 3]",
    ),
    Shot(
        "def f(left, right):\n    return left + '+' + right",
        "assert f(??) == 'tea+milk'",
        "assert f('tea', 'milk') == 'tea+milk'",
    ),
)
_INPUT_COT = (
    Shot(
        "def f(text, n):\n    return text.upper() * n",
        "assert f(??) == 'NONO'",
        "assert f('no', 2) == 'NONO'",
        "f returns text in capitals, repeated n times, and that must be 'NONO'.\n"
        "'NONO' is 'NO' twice, so n can be 2 and text.upper() must be 'NO'.\n"
        "text.upper() is 'NO' for text = 'no'. So f('no', 2) returns 'NO' * 2, which is 'NONO'.",
    ),
)


def output_prompt(code: str, input: str, *, cot: bool = False, style: Style = Style.TAGGED) -> str:
    """The prompt that asks what `f(<input>)` returns. Raises DataError for a style that cannot think aloud."""
    if style is Style.ASSERT:
        if cot:
            raise DataError("style 'assert' has no room for a chain of thought; use style 'tagged'")
        shots = "\n\n".join(f"{shot.code}\n{shot.answer} # done" for shot in _OUTPUT_SHOTS)
        return f"{_ASSERT_TASK}\n\n{shots}\n\n{code}\nassert f({input}) =="
    return _tagged(_OUTPUT_TASK, _OUTPUT_COT if cot else _OUTPUT_SHOTS, code, f"assert f({input}) == ??", cot)


def input_prompt(code: str, output: str, *, cot: bool = False, style: Style = Style.TAGGED) -> str:
    """The prompt that asks for arguments that make f return `output`. Raises DataError for a style without a gap."""
    if style is not Style.TAGGED:
        raise DataError(f"style {style.value!r} does not fit input prediction; use style 'tagged'")
    return _tagged(_INPUT_TASK, _INPUT_COT if cot else _INPUT_SHOTS, code, f"assert f(??) == {output}", cot)


def _tagged(task: str, shots: tuple[Shot, ...], code: str, question: str, cot: bool) -> str:
    parts = [task + (_THINK if cot else _DIRECT)]
    for shot in shots:
        thought = f"[THOUGHT]\n{shot.thought}\n[/THOUGHT]\n" if cot else ""
        parts.append(f"{_program(shot.code, shot.question)}{thought}[ANSWER]\n{shot.answer}\n[/ANSWER]")
    parts.append(_program(code, question) + ("[THOUGHT]\n" if cot else "[ANSWER]\n"))
    return "\n\n".join(parts)


def _program(code: str, question: str) -> str:
    return f"[PYTHON]\n{code}\n{question}\n[/PYTHON]\n"
