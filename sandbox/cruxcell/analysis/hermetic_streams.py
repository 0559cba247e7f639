"""Decides whether the runs of one whole program on several inputs may share a worker.

The rule is that of `hermetic`, over the same operations, with what a program needs that reads its standard input and
prints: `input`, the streams of `sys`, `__name__`, and some modules more. The streams are others for each run. What a
run shares its worker with is the same program on other inputs of one check list, never another program. The seal
between two runs and the audit hold as for calls.

In one thing the rule is stricter. What a program prints is kept in the worker's own memory, so it may run out of that
where it would not alone, and what was to be printed is lost. That does no harm if the error ends the run, which is then
done again alone. So a program may not catch it: each handler names what it catches, and there is no `finally`.
"""

import _ast
import builtins

from cruxcell.analysis.bytecode import dissect
from cruxcell.analysis.hermetic import HANDLERS, IMPORTABLE, SAFE_ATTRIBUTES, SAFE_BUILTINS, Allowed, bound_names
from cruxcell.analysis.syntax import tree_of, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

    from cruxcell.analysis.bytecode import Anatomy  # noqa: F401 - in type comments

# The harness resets the recursion limit. Of `sys`, nothing leads to frames, modules or settings.
_OF_SYS = frozenset(["stdin", "stdout", "stderr", "exit", "maxsize", "setrecursionlimit"])
_OF_STREAMS = frozenset(["buffer", "flush", "read", "readline", "readlines", "write", "writelines"])
_COLLECTIONS = frozenset(["Counter", "OrderedDict", "defaultdict", "deque"])
_OF_COLLECTIONS = frozenset(
    [
        "appendleft", "default_factory", "elements", "extendleft", "maxlen", "most_common", "move_to_end", "popleft",
        "rotate", "subtract", "total",
    ]
)  # fmt: skip
_HEAPS = frozenset(
    ["heapify", "heappop", "heappush", "heappushpop", "heapreplace", "merge", "nlargest", "nsmallest"]
)  # fmt: skip
# What they make is freed with the run: a cache belongs to the function that the program wraps.
_FUNCTIONS = frozenset(["cache", "cmp_to_key", "lru_cache", "partial", "reduce"])
_OPERATORS = frozenset(["add", "and_", "index", "itemgetter", "mul", "or_", "sub", "xor"])  # not attrgetter

FOR_STREAMS = Allowed(
    SAFE_BUILTINS | {"input", "exit", "quit"},
    SAFE_ATTRIBUTES | _OF_STREAMS | _OF_COLLECTIONS | {"cache_clear"},
    dict(IMPORTABLE, sys=_OF_SYS, collections=_COLLECTIONS, heapq=_HEAPS, functools=_FUNCTIONS, operator=_OPERATORS),
    frozenset(["__name__"]),
)


def may_share_worker(source, code):
    # type: (str, object) -> bool
    """May this program run several times in one worker, each time on another input?"""
    bound = bound_names(source, code, FOR_STREAMS)
    if bound is None:
        return False
    parts = dissect(code)
    return HANDLERS.isdisjoint(parts.all_operations) or _lets_memory_errors_go(source, parts, bound)


def _lets_memory_errors_go(source, parts, bound):
    # type: (str, Anatomy, frozenset[str]) -> bool
    """Does a MemoryError end this program, wherever it is raised? `bound`: the names that it binds."""
    own = bound.union(*[item.co_varnames + item.co_cellvars for item in parts.codes])
    try:
        nodes = list(walk(tree_of(source)))
    except (RecursionError, MemoryError, ValueError):
        return False
    if any(node.finalbody for node in nodes if isinstance(node, _ast.Try)):
        return False  # it may return, or raise another error
    return all(_is_other_error(node.type, own) for node in nodes if isinstance(node, _ast.ExceptHandler))


def _is_other_error(caught, own):
    # type: (Any, frozenset[str]) -> bool
    """Does what a handler catches stand there as builtin errors, of which no MemoryError is one?"""
    if isinstance(caught, _ast.Tuple):
        return all(_is_other_error(each, own) for each in caught.elts)
    if not isinstance(caught, _ast.Name) or caught.id in own:
        return False
    found = vars(builtins).get(caught.id)
    return isinstance(found, type) and issubclass(found, BaseException) and not issubclass(MemoryError, found)
