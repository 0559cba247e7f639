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
    """The prompt that asks what `f(<input>)` returns. Raises DataError for a style that cannot think aloud."""
    return prompt_set("output", cot=cot, style=style).text(Row(code, input))


def input_prompt(code: str, output: str, *, cot: bool = False, style: Style = Style.TAGGED) -> str:
    """The prompt that asks for arguments that make f return `output`. Raises DataError as `output_prompt` does."""
    return prompt_set("input", cot=cot, style=style).text(Row(code, output=output))
