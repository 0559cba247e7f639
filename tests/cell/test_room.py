"""Who has made sure of frames can set a recursion limit, and set it back, on every interpreter."""

from __future__ import annotations

import pytest
from interpreters import Twin, twins

PROGRAM = """
import sys
from cruxcell.values.containers import need_frames

limit = sys.getrecursionlimit()

def deeper(depth):
    try:
        need_frames(5)
    except RecursionError:
        return depth
    sys.setrecursionlimit(limit + 1)
    sys.setrecursionlimit(limit)  # raises where the interpreter holds that too low
    return deeper(depth + 1)

print(deeper(0))
"""


@pytest.mark.parametrize("twin", [twin for twin in twins() if twin.name == "pure"], ids=str)
def test_a_limit_can_be_set_back_wherever_frames_are_at_hand(twin: Twin):
    assert 900 < twin.ask(PROGRAM) < 1000
