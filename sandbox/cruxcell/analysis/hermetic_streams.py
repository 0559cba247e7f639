"""Decides whether the runs of one whole program on several inputs may share a worker.

The rule is that of `hermetic`, over the same operations, with what a program needs that reads its standard input and
prints: `input`, the streams of `sys`, `__name__`, and some modules more. The streams are others for each run. What a
run shares its worker with is the same program on other inputs of one check list, never another program. The seal
between two runs and the audit hold as for calls.
"""

from cruxcell.analysis.hermetic import IMPORTABLE, SAFE_ATTRIBUTES, SAFE_BUILTINS, Allowed, bound_names

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
    return bound_names(source, code, FOR_STREAMS) is not None
