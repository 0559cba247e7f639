"""The namespace in which code of a task runs, and a script's recursion depth."""

import builtins
import sys
from sys import _getframe, setrecursionlimit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

CANDIDATE = "__candidate__"  # the module that a program is, where it is not the main one
PROGRAM_FILE = "program.py"  # as it sees itself
_PYTHON_DEPTH = 1000  # frames a candidate may use: what a fresh interpreter gives a script
# Calls of C functions between the harness and the code, which count, too.
_IN_C = 2 if sys.version_info < (3, 9) else 1 if sys.version_info < (3, 12) else 0


def fresh_namespace(name=CANDIDATE):
    # type: (str) -> dict[str, object]
    return {"__builtins__": builtins, "__name__": name}


def module_namespace(name=CANDIDATE, file=PROGRAM_FILE):
    # type: (str, str) -> dict[str, Any]
    """As `fresh_namespace`, but of a module that is loaded: what looks for a class of the program where it says it is
    from (pickle, typing, inspect) finds it. For a worker with one program."""
    module = type(sys)(name)
    sys.modules[name] = module
    namespace = vars(module)
    namespace.clear()
    namespace.update(fresh_namespace(name), __file__=file)
    return namespace


def named_namespace(name):
    # type: (str) -> dict[str, Any]
    """Of a program that is imported by a name, as a file of that is."""
    return module_namespace(name, name + ".py")


def set_recursion_depth(between):
    # type: (int) -> None
    """Give the code that is run next a script's recursion depth, whatever the depth of the harness around it.

    `between` is the number of the harness's frames between the caller's and the code's.
    """
    depth, frame = 0, _getframe(1)  # type: int, FrameType | None
    while frame is not None:
        depth, frame = depth + 1, frame.f_back
    setrecursionlimit(_PYTHON_DEPTH + depth + between + _IN_C)


def root_of(entry_point):
    # type: (str) -> str
    """The name an entry point begins with: `Solution` of `Solution().two_sum`."""
    return entry_point.partition("(")[0].partition(".")[0]


def resolve(namespace, entry_point):
    # type: (dict[str, Any], str) -> Any
    """What an entry point stands for: a name, then attributes and empty calls. Raises what looking for it raises."""
    value, path = namespace[root_of(entry_point)], entry_point[len(root_of(entry_point)) :]
    while path:
        if path.startswith("()"):
            value, path = value(), path[2:]
        else:
            end = min([at for at in (path.find("(", 1), path.find(".", 1)) if at > 0] or [len(path)])
            value, path = getattr(value, path[1:end]), path[end:]
    return value
