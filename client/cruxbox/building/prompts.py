"""The prompts that ask a model to predict an input or an output, direct or with a chain of thought.

Two styles, both out of the prompt sets that come with cruxbox. TAGGED shows a program with a gap in its assertion
between [PYTHON] tags and wants the whole assertion between [ANSWER] tags. ASSERT shows programs as plain files and lets
the model finish the assertion's line; an input is asked for as `assert <output> == f(`.
"""

from __future__ import annotations

import enum
import functools

from cruxbox.building.prompt_set import PromptSet, load_prompt_set
from cruxbox.building.rows import Row
from cruxbox.errors import DataError


class Style(str, enum.Enum):
    """How a prompt is laid out; `stops` tells where generation must stop."""

    TAGGED = "tagged"
    ASSERT = "assert"

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop words to give to the serving engine, and to `extract`."""
        return ("[/ANSWER]",) if self is Style.TAGGED else ("# done",)


@functools.cache
def prompt_set(mode: str, *, cot: bool = False, style: Style = Style.TAGGED) -> PromptSet:
    """The set of a mode ("input" or "output"), a style, and with or without a chain of thought.

    Raises DataError for a style that cannot think aloud.
    """
    if style is Style.ASSERT:
        if cot:
            raise DataError("style 'assert' has no room for a chain of thought; use style 'tagged'")
        return load_prompt_set(f"assert-{mode}")
    return load_prompt_set(f"{'cot' if cot else 'direct'}-{mode}")


def output_prompt(code: str, input: str, *, cot: bool = False, style: Style = Style.TAGGED) -> str:
    """The prompt that asks what a call returns.

    Args:
        code: the program, which defines `f`.
        input: the text between the parentheses of the call.
        cot: ask for a chain of thought before the answer.
        style: how the prompt is laid out.

    Returns:
        The text for the model. `style.stops` are the texts at which generation must stop.

    Raises:
        DataError: `style` is ASSERT, which has no room for a chain of thought, and `cot` is True.
    """
    return prompt_set("output", cot=cot, style=style).text(Row(code, input))


def input_prompt(code: str, output: str, *, cot: bool = False, style: Style = Style.TAGGED) -> str:
    """The prompt that asks for arguments with which `f` returns a given value.

    Args:
        code: the program, which defines `f`.
        output: the value, as a Python expression.
        cot, style: as in `output_prompt`.

    Returns:
        The text for the model.

    Raises:
        DataError: as for `output_prompt`.
    """
    return prompt_set("input", cot=cot, style=style).text(Row(code, output=output))
