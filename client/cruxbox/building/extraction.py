"""From a raw completion to a generation: what is scored is cut out of what the model wrote. Text in, text out.

The release has two such steps, one for each way of generating, and they differ where a chain of thought ends without
`[ANSWER]`. Both read the same answer otherwise:

* input prediction: what precedes the first `==`; then `f` and what stands between the first and the second `assert f`;
* output prediction: the second of the fields that `==` separates.

| chain of thought without `[ANSWER]` | is taken |
|---|---|
| HF | the whole text, as an answer |
| OPENAI | the last line, as it is: not split at `==`, empty after a trailing newline |
| LENIENT | the last line that is not blank, as an answer |

LENIENT also reads an assertion on a function of another name than f. With any rules the stop words of the prompts are
cut off first; a serving engine that already did so leaves nothing to cut.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Sequence

from cruxbox.building.calls import end_of_bracket, end_of_expression

ANSWER_OPEN = "[ANSWER]"
ANSWER_CLOSE = "[/ANSWER]"
STOPS = (ANSWER_CLOSE,)


class Rules(str, enum.Enum):
    """Whose rules: of the release's OpenAI path, of its Hugging Face path, or ours."""

    OPENAI = "openai"
    HF = "hf"
    LENIENT = "lenient"


def extract_input(
    completion: str,
    *,
    cot: bool = False,
    stops: Sequence[str] = STOPS,
    rules: Rules = Rules.LENIENT,
    open_tag: str = ANSWER_OPEN,
) -> str:
    """Read the answer of an input prediction.

    Args:
        completion: what the model wrote.
        cot: whether the prompt asked for a chain of thought, so that the completion itself holds the opening tag.
        stops: texts at which the completion is cut off.
        rules: how a chain of thought without an opening tag is read; see the head of this module.
        open_tag: the tag before the answer of a chain of thought.

    Returns:
        The call, such as `f([1, 2])`. The function does not check that it is one.
    """
    answer, is_split = _answer(completion, cot, stops, rules, open_tag)
    if not is_split:
        return answer
    call = answer.split("==")[0]
    if "assert f" in call:
        # `assert f ([1])` asserts a call of f as well: f and its parenthesis are joined.
        return ("f" + call.split("assert f")[1].strip()).strip()
    named = _ASSERTED.search(call) if rules is Rules.LENIENT else None
    return (named["name"] + call[named.end() :] if named else call).strip()


def extract_output(
    completion: str,
    *,
    cot: bool = False,
    stops: Sequence[str] = STOPS,
    rules: Rules = Rules.LENIENT,
    open_tag: str = ANSWER_OPEN,
) -> str:
    """Read the answer of an output prediction.

    Args:
        completion: what the model wrote.
        cot, stops, rules, open_tag: as in `extract_input`.

    Returns:
        The expression between the first and the second `==`; the whole answer if it has none.
    """
    answer, is_split = _answer(completion, cot, stops, rules, open_tag)
    fields = answer.split("==") if is_split else [answer]
    return (fields[1] if len(fields) > 1 else answer).strip()


def extract_arguments(completion: str, *, stops: Sequence[str] = (), function: str = "f") -> str:
    """The call of an input prediction that goes on behind `assert <output> == f(`: up to the bracket that closes it."""
    text = "(" + completion
    end = end_of_bracket(text, 0)
    return function + ("(" + _before(completion, stops).strip() if end is None else text[:end])


def extract_expression(completion: str, *, stops: Sequence[str] = ()) -> str:
    """The expression of an output prediction that goes on behind `assert f(<input>) ==`: its first logical line."""
    text = _before(completion, stops).strip()
    return text[: end_of_expression(text)].strip()


_ASSERTED = re.compile(r"\bassert\s+(?P<name>[A-Za-z_]\w*)\s*(?=\()")


def _answer(completion: str, cot: bool, stops: Sequence[str], rules: Rules, open_tag: str) -> tuple[str, bool]:
    """The text that holds the answer, and whether it is an assertion to be split."""
    if not cot:
        return _before(completion, stops), True
    if rules is not Rules.LENIENT:
        # There a server stopped at the first stop word, wherever it stood.
        completion = _before(completion, stops)
    if open_tag in completion:
        # Up to a second opening tag, if the model went on to answer twice.
        return _before(completion.split(open_tag)[1], stops), True
    if rules is Rules.HF:
        return completion, True
    if rules is Rules.OPENAI:
        return completion.split("\n")[-1].strip(), False
    lines = _before(completion, stops).strip().splitlines()
    return (lines[-1] if lines else ""), True


def _before(text: str, stops: Sequence[str]) -> str:
    for stop in stops:
        if stop:
            text = text.split(stop, maxsplit=1)[0]
    return text


_CANDIDATE = re.compile(
    r"\A(?:\s*\[PYTHON\])?(?P<code>.*?)\[/PYTHON\]\s*\[TEST\](?P<tests>.*?)(?:\[/TEST\]|\Z)", re.DOTALL
)
_TEST = re.compile(r"^\s*assert\s+f\((?P<input>.*)\)\s*==?\s*\?\?\s*$")


def extract_candidate(completion: str) -> tuple[str, list[str]] | None:
    """Read the completion of a construction prompt.

    Args:
        completion: what the model wrote: a program, [/PYTHON], and calls between [TEST] and [/TEST].

    Returns:
        (program, inputs), or None if the completion does not have this form. An input is the text between the
        parentheses of `assert f(...) == ??` (or `= ??`, as models also write). Other lines are left out, and so is a
        repeated input.
    """
    match = _CANDIDATE.match(completion)
    if match is None:
        return None
    code = match["code"].strip("\n").rstrip()
    tests = (_TEST.match(line) for line in match["tests"].splitlines())
    inputs = list(dict.fromkeys(test["input"] for test in tests if test))
    return (code, inputs) if code.strip() and inputs else None
