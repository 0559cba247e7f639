"""Threads that a script counts (`threading.enumerate`, `active_count`): those of the program count, too.

Each process knows its own. A thread that stands for one of the other process (`exchange/partners.py`) may have an
object of `threading`, if something has asked there which thread it is; it counts in the other process alone.
"""

import sys

from cruxcell.jobs.separated.proxies.facts import is_opaque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

_MODULE = "threading"
_UNSAID = "the candidate does not say which threads it has"


def threads_of(link):
    # type: (Any) -> list[Any]
    """Of the candidate's half: those that the program has started. For the first one the script has its own."""
    if _MODULE not in sys.modules:
        return []
    module = sys.modules[_MODULE]  # type: Any
    first = module.main_thread()
    return [each for each in _own(link, module.enumerate()) if each is not first]


def follow_threads(link):
    # type: (Any) -> None
    """In the test's process."""
    __import__(_MODULE)
    module = sys.modules[_MODULE]  # type: Any
    look = module.enumerate  # type: Callable[[], list[Any]]

    def enumerate_threads():
        # type: () -> list[Any]
        told = link.ask("threads", None)
        if type(told) is not list or not all(map(is_opaque, told)):
            link.refuse(_UNSAID)
        return _own(link, look()) + told  # type: ignore[no-any-return]

    def active_count():
        # type: () -> int
        return len(enumerate_threads())

    enumerate_threads.__name__ = "enumerate"
    vars(module).update(enumerate=enumerate_threads, active_count=active_count)


def _own(link, threads):
    # type: (Any, list[Any]) -> list[Any]
    partners = link.threads.partners()
    return [each for each in threads if each.ident not in partners]
