"""What a script does with a library that the candidate has a part in, by the word with which the script says so."""

from cruxcell.jobs.separated.proxies.looking import (
    follow_annotations,
    follow_hints,
    follow_kinds_of_function,
    follow_sizes,
    follow_sources,
    follow_tracers,
    follow_types,
)
from cruxcell.jobs.separated.rules.docstrings import follow_doctests
from cruxcell.jobs.separated.rules.pickles import follow_joblib, follow_pickles
from cruxcell.jobs.separated.state.measured import follow_clocks, follow_times, follow_usage
from cruxcell.jobs.separated.state.running_threads import follow_threads
from cruxcell.jobs.separated.state.seeds import follow_states
from cruxcell.jobs.separated.state.traced import follow_tracing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

FOLLOWED = {
    "source": follow_sources,
    "annotations": follow_annotations,
    "get_type_hints": follow_hints,
    "get_args": follow_types,
    "get_origin": follow_types,
    "iscoroutinefunction": follow_kinds_of_function,
    "isasyncgenfunction": follow_kinds_of_function,
    "isgeneratorfunction": follow_kinds_of_function,
    "getsizeof": follow_sizes,
    "settrace": follow_tracers,
    "setprofile": follow_tracers,
    "doctest": follow_doctests,
    "pickle": follow_pickles,
    "joblib": follow_joblib,
    "process_time": follow_clocks,
    "thread_time": follow_clocks,
    "CPUTIME_ID": follow_clocks,
    "os.times": follow_times,
    "getrusage": follow_usage,
    "tracemalloc": follow_tracing,
    "threading": follow_threads,
    "getstate": follow_states,
    "get_state": follow_states,
}  # type: dict[str, Callable[[Any], None]]


def follow_what_is_named(link, source):
    # type: (Any, str) -> None
    for follow in dict.fromkeys([each for word, each in FOLLOWED.items() if word in source]):
        follow(link)
