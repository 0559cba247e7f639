"""The prompts that ask a model to write the functions of a benchmark: one method, one string and one list example.

Two schedules. `released` is the published one: str methods with list examples 1 to 4, once; list and dict methods
with all pairs, twice; 2,040 prompts, 1,490 of them distinct. `even` gives every method every pair once: 1,725.
"""

from __future__ import annotations

import enum
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from cruxbox.building.methods import METHODS
from cruxbox.building.shots import LIST_SHOTS, STRING_SHOTS, Shot


class Schedule(str, enum.Enum):
    """Which pairs of examples a method gets, and how often."""

    RELEASED = "released"
    EVEN = "even"


@dataclass(frozen=True)
class CandidatePrompt:
    """One construction prompt and the method it asks for, such as `str.split`."""

    method: str
    text: str


STOPS = ("[/TEST]",)

_TASK = (
    "A method name is given between [TASK] and [/TASK]. Write a short Python function named f that makes use of this "
    "method, between [PYTHON] and [/PYTHON]; then five calls of it with different arguments, between [TEST] and "
    "[/TEST]. Leave what they return open, as ??. Follow the examples: no imports, no printing, no randomness, and "
    "arguments that are written out as literals."
)

# type of the method -> (number of list examples, repetitions), for each schedule.
_PLAN: dict[Schedule, dict[str, tuple[int, int]]] = {
    Schedule.RELEASED: {"str": (4, 1), "list": (5, 2), "dict": (5, 2)},
    Schedule.EVEN: {"str": (5, 1), "list": (5, 1), "dict": (5, 1)},
}


def candidate_prompts(schedule: Schedule = Schedule.RELEASED) -> Iterator[CandidatePrompt]:
    """The prompts that ask a model to write programs.

    Args:
        schedule: which examples the prompts for a method contain, and how often each prompt is repeated.

    Returns:
        An iterator over the prompts, method by method.
    """
    for kind, names in METHODS.items():
        lists, repetitions = _PLAN[schedule][kind]
        for name, string_shot, list_shot in itertools.product(names, STRING_SHOTS, LIST_SHOTS[:lists]):
            method = f"{kind}.{name}"
            yield from [CandidatePrompt(method, _text(method, string_shot, list_shot))] * repetitions


def _text(method: str, *shots: Shot) -> str:
    examples = "\n\n".join(_example(shot) for shot in shots)
    return f"{_TASK}\n\n{examples}\n\n[TASK]\n{method}\n[/TASK]\n[PYTHON]\n"


def _example(shot: Shot) -> str:
    tests = "\n".join(f"assert f({text}) == ??" for text in shot.inputs)
    return f"[TASK]\n{shot.method}\n[/TASK]\n[PYTHON]\n{shot.code}\n[/PYTHON]\n[TEST]\n{tests}\n[/TEST]"
