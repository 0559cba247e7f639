"""From a raw completion to a generation: what is scored is cut out of what the model wrote. Text in, text out.

The rules are those of the CRUXEval paper's post-processing, so that generations made here and there agree:

* chain of thought: what follows the first `[ANSWER]`; without the tag, the last line;
* input prediction: what precedes the first `==`; after an `assert f`, `f` and what follows it;
* output prediction: the second of the fields that `==` separates.

The stop words of the prompts are cut off first; a serving engine that already did so leaves nothing to cut.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

ANSWER_OPEN = "[ANSWER]"
ANSWER_CLOSE = "[/ANSWER]"
STOPS = (ANSWER_CLOSE,)


def extract_input(completion: str, *, cot: bool = False, stops: Sequence[str] = STOPS) -> str:
    """The call `f(...)` of an input prediction."""
    answer = _answer(completion, cot, stops)
    call = answer.split("==")[0]
    if "assert f" in call:
        call = "f" + call.split("assert f", 1)[1]
    return call.strip()


def extract_output(completion: str, *, cot: bool = False, stops: Sequence[str] = STOPS) -> str:
    """The expression of an output prediction. An answer without `==` is taken as it is."""
    answer = _answer(completion, cot, stops)
    fields = answer.split("==")
    return (fields[1] if len(fields) > 1 else answer).strip()


def _answer(completion: str, cot: bool, stops: Sequence[str]) -> str:
    if not cot:
        return _before(completion, stops)
    if ANSWER_OPEN in completion:
        # Up to a second opening tag, if the model went on to answer twice.
        return _before(completion.split(ANSWER_OPEN)[1], stops)
    lines = _before(completion, stops).strip().splitlines()
    return lines[-1] if lines else ""


def _before(text: str, stops: Sequence[str]) -> str:
    for stop in stops:
        if stop:
            text = text.split(stop, maxsplit=1)[0]
    return text


_CANDIDATE = re.compile(
    r"\A(?:\s*\[PYTHON\])?(?P<code>.*?)\[/PYTHON\]\s*\[TEST\](?P<tests>.*?)(?:\[/TEST\]|\Z)", re.DOTALL
)
_TEST = re.compile(r"^\s*assert\s+f\((?P<input>.*)\)\s*==\s*\?\?\s*$")


def extract_candidate(completion: str) -> tuple[str, list[str]] | None:
    """(program, inputs) of a completion of a construction prompt, or None if it does not have the asked shape.

    An input is the text between the parentheses of `assert f(...) == ??`; a line of another shape is left out, and so
    is an input that comes twice.
    """
    match = _CANDIDATE.match(completion)
    if match is None:
        return None
    code = match["code"].strip("\n").rstrip()
    tests = (_TEST.match(line) for line in match["tests"].splitlines())
    inputs = list(dict.fromkeys(test["input"] for test in tests if test))
    return (code, inputs) if code.strip() and inputs else None
