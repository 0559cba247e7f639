"""What the program is lent of what the script sets in its own process, and its own that it gets back."""

import sys

from cruxcell.jobs.separated.state import decimals, library_settings, search_path
from cruxcell.jobs.separated.state.context_variables import ProgramContexts
from cruxcell.jobs.separated.state.lending import MISSING
from cruxcell.jobs.separated.state.patched_places import given_by, imported, is_module, resolved
from cruxcell.jobs.separated.state.seeds import Drawn, put
from cruxcell.values.containers import MOST_FRAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments


class Borrower:
    """Of the candidate's half. `namespace`: the program's; `frames`: those of the harness below a function of it."""

    def __init__(self, namespace, frames):
        # type: (dict[str, Any], int) -> None
        self._namespace, self._frames = namespace, frames
        self._own = {}  # type: dict[tuple[str, str, str], Any]
        self.contexts, self._drawn = ProgramContexts(), Drawn()
        self._settings = {**_SETTINGS, "random": self._set_random_numbers}

    def variables(self, _target, *names):
        # type: (object, str) -> dict[str, str]
        """Those of the environment that are set, as the program has set them."""
        environ = sys.modules["os"].environ
        return {name: environ[name] for name in names if name in environ}

    def take(self, what, where, name, is_first, value):
        # type: (str, str, str, bool, Any) -> None
        if what in self._settings:
            self._settings[what](where, value)
        elif what == "contexts":
            self.contexts.put(where, name, value)
        elif what == "depth":
            sys.setrecursionlimit(min(value + self._frames, MOST_FRAMES))
        elif what == "loaded":
            self._set(sys.modules, (what, where, name), where, is_first, value)
        elif what == "import":
            found = given_by(name, *value)
            if found is not None:
                self._namespace.setdefault(where, found)
        elif what == "module":
            module = imported(where)
            if is_module(module):
                self._set(module.__dict__, (what, where, name), name, is_first, value)
        elif what == "member":
            self._set_member(resolved(where), (what, where, name), is_first, value)
        else:
            self._set(self._namespace, (what, where, name), where, is_first, value)

    def drawn(self, _target, where):
        # type: (object, str) -> bool
        """Has the program drawn random numbers of a module since the script has looked?"""
        module = imported(where)
        return is_module(module) and self._drawn.note(where, module)

    def _set_random_numbers(self, where, value):
        # type: (str, tuple[int, Any]) -> None
        module = imported(where)
        if is_module(module):
            put(where, module, value[1])
            self._drawn.note(where, module)

    def _set(self, namespace, place, name, is_first, value):
        # type: (Any, tuple[str, str, str], str, bool, Any) -> None
        own = self._own.setdefault(place, namespace.get(name, MISSING))
        if is_first:
            value = own
            del self._own[place]  # when the script sets that place again, the program may have another there
        if value is MISSING:
            namespace.pop(name, None)
        else:
            namespace[name] = value

    def _set_member(self, owner, place, is_first, value):
        # type: (Any, tuple[str, str, str], bool, Any) -> None
        if not hasattr(owner, "__dict__"):
            return
        name = place[2]
        own = self._own.setdefault(place, vars(owner).get(name, MISSING))
        if is_first:
            value = own
            del self._own[place]
        if value is not MISSING:
            setattr(owner, name, value)
        elif name in vars(owner):
            delattr(owner, name)


def _set_arguments(_, value):
    # type: (str, list[str]) -> None
    sys.argv = value


def _set_environment(_, value):
    # type: (str, dict[str, str]) -> None
    environ = __import__("os").environ
    if dict(environ) != value:
        environ.clear()
        environ.update(value)


# How settings of the process are put in force; of what, and to what.
_SETTINGS = {
    "argv": _set_arguments,
    "environ": _set_environment,
    "decimal": decimals.put,
    "search_path": search_path.put,
    "settings": library_settings.put,
}  # type: dict[str, Callable[[str, Any], None]]
