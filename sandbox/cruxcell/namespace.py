"""Where code of a task runs: a namespace of its own, and a script's recursion depth."""

import builtins
import sys

_PYTHON_DEPTH = 1000  # frames a candidate may use: what a fresh interpreter gives a script


def fresh_namespace(name="__candidate__"):
    # type: (str) -> dict[str, object]
    return {"__builtins__": builtins, "__name__": name}


def set_recursion_depth(between):
    # type: (int) -> None
    """Give the code that is run next a script's recursion depth, whatever the depth of the harness around it.

    `between` is the number of the harness's frames between the caller's and the code's.
    """
    depth, frame = 0, sys._getframe(1)
    while frame is not None:
        depth, frame = depth + 1, frame.f_back  # type: ignore[assignment]
    sys.setrecursionlimit(_PYTHON_DEPTH + depth + between)
