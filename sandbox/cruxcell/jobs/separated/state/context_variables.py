"""Context variables of a library, by which it finds what is under way: the request and the application of flask.

Each half's process has its own. What the script enters (`with app.test_request_context():`) is under way for the
program, too, and what the program's application has entered is so for the script (`request.path`, `url_for`), as an
object of the program's.
"""

import sys

from cruxcell.jobs.separated.state.patched_places import imported, is_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable  # noqa: F401 - in type comments

# By the root of the names by which a script uses it, the module that has them.
_MODULES = {"flask": "flask.globals", "quart": "quart.globals"}


class ContextVariables:
    """Of the test's half: those of one module."""

    def __init__(self, module):
        # type: (str) -> None
        self._variables = _variables_of(module)
        self._theirs = _Set()  # what the program has
        self._lent = {}  # type: dict[str, Any]
        self.asks = ("contexts", module)  # type: tuple[str, ...]
        self._module = module

    def changes(self):
        # type: () -> list[tuple[str, str, str, bool, Any]]
        """As those of a place that the script may change (`lending`)."""
        found = []
        for name, variable in self._variables.items():
            own = self._own(name, variable)
            if own is not self._lent.get(name):
                self._lent[name] = own
                found.append(("contexts", self._module, name, own is None, own))
        return found

    def take(self, told):
        # type: (Any) -> None
        told = told if type(told) is dict else {}
        for name, variable in self._variables.items():
            if self._own(name, variable) is None:
                self._theirs.put(name, variable, told.get(name))

    def _own(self, name, variable):
        # type: (str, Any) -> Any
        """What the script has there of its own; None for what is the program's."""
        now = variable.get(None)
        return None if now is self._theirs.values.get(name) else now


class ProgramContexts:
    """Of the candidate's half."""

    def __init__(self):
        # type: () -> None
        self._lent = _Set()

    def put(self, module, name, value):
        # type: (str, str, Any) -> None
        found = _variables_of(module)
        if name in found:
            self._lent.put(name, found[name], value)

    def told(self, _target, module):
        # type: (object, str) -> dict[str, Any]
        """What is under way in the program, other than for the script's sake."""
        found = _variables_of(module) if module in sys.modules else {}
        values = {name: variable.get(None) for name, variable in found.items()}
        lent = self._lent.values
        return {name: value for name, value in values.items() if value is not lent.get(name)}


class _Set:
    """Variables that have been given values of the other half's."""

    def __init__(self):
        # type: () -> None
        self.values = {}  # type: dict[str, Any]
        self._tokens = {}  # type: dict[str, Any]

    def put(self, name, variable, value):
        # type: (str, Any, Any) -> None
        if value is self.values.get(name):
            return
        token = self._tokens.pop(name, None)
        if token is not None:
            try:
                variable.reset(token)
            except (RuntimeError, ValueError):  # set in another thread, which has this for itself
                pass
        self.values[name] = value
        if value is not None:
            self._tokens[name] = variable.set(value)


def contexts_in(words):
    # type: (Iterable[str]) -> list[ContextVariables]
    """Of the libraries that a script with these names uses."""
    roots = {each.partition(".")[0] for each in words}
    return [ContextVariables(module) for root, module in _MODULES.items() if root in roots and _variables_of(module)]


def _variables_of(module):
    # type: (str) -> dict[str, Any]
    found = imported(module)
    if not is_module(found):
        return {}
    kind = __import__("contextvars").ContextVar
    return {name: value for name, value in vars(found).items() if type(value) is kind}
