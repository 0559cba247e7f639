"""What a script changes in its own process for the program to see, which has a process of its own.

These are the arguments, the environment, the random numbers after a `seed`, and what a script patches: attributes of
modules, and names of the program. Before each question the test's half looks whether one of them has changed, and lends
it to the candidate's. Nothing goes the other way: what the program sets is not seen by the script.
"""

import sys

from cruxcell.analysis.bytecode import dissect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

MOST = 256  # patched places
_MAIN = "__main__"
_PATCHES = frozenset(["patch", "monkeypatch", "mocker"])
_SEEDS = frozenset(["seed", "setstate", "set_state"])
_ENVIRONMENT = frozenset(["environ", "putenv", "setenv", "delenv"])
_LENT_ANYWAY = frozenset([("builtins", "input"), ("sys", "stdin"), ("sys", "stdout"), ("sys", "stderr")])
_MODULE_TYPE = type(sys)
_MISSING = object()


class Lender:
    """Of the test's half. `texts`: the constants of the script that are texts; `namespace`: the script's."""

    def __init__(self, script, texts, namespace):
        # type: (Any, list[str], dict[str, Any]) -> None
        anatomy = dissect(script)
        names = anatomy.all_names.union(*[each.co_varnames for each in anatomy.codes])
        self._namespace = namespace
        self._watches = []  # type: list[_Watch]
        self.names = set()  # type: set[str]
        if "argv" in names:
            self._watches.append(_Watch(("argv", "", ""), lambda: list(sys.argv)))
        if _ENVIRONMENT & names or any("environ" in each for each in texts):
            self._watches.append(_Watch(("environ", "", ""), _environment))
        if _SEEDS & names:
            named = [each for each in _STATES if each.partition(".")[0] in names and _is_module(_imported(each))]
            self._watches += [_Watch(("random", each, ""), _Seeded(each).read) for each in named]
        if _PATCHES & names:
            words = [each for each in dict.fromkeys(texts) if _is_dotted(each)]
            self.names = {each.split(".")[1] for each in words if each.startswith(_MAIN + ".")}
            self._places = _places(words, names)
        else:
            self._places = []

    def begin(self):
        # type: () -> None
        """The names of the program are there."""
        for name in sorted(self.names):
            self._watches.append(_Watch(("name", name, ""), _reader(self._namespace, name), True))
        for module, name in self._places:
            self._watches.append(_Watch(("module", module.__name__, name), _reader(module.__dict__, name), True))

    def changes(self):
        # type: () -> list[tuple[str, str, str, bool, Any]]
        """(what, of which module or name, attribute, whether it is as it was, value) of what has changed since the last
        time."""
        return [change for change in [watch.change() for watch in self._watches] if change is not None]


class _Watch:
    """A place that the script may change. `is_object`: told by identity, and set back to what the program has there."""

    def __init__(self, place, read, is_object=False):
        # type: (tuple[str, str, str], Callable[[], Any], bool) -> None
        self._place, self._read, self._is_object = place, read, is_object
        self._first = self._last = read()

    def change(self):
        # type: () -> tuple[str, str, str, bool, Any] | None
        now = self._read()
        if now is self._last or (not self._is_object and now == self._last):
            return None
        self._last = now
        is_first = self._is_object and now is self._first
        return (*self._place, is_first, None if is_first or now is _MISSING else now)


def _reader(namespace, name):
    # type: (Any, str) -> Callable[[], Any]
    return lambda: namespace.get(name, _MISSING)


def _is_dotted(text):
    # type: (str) -> bool
    return all(each.isidentifier() for each in text.split("."))


def _places(words, names):
    # type: (list[str], Any) -> list[tuple[Any, str]]
    """The attributes of modules that a script may patch: `patch("time.sleep")`, `patch.object(time, "sleep")`."""
    found = []  # type: list[tuple[Any, str]]
    modules = [each for each in map(_imported, sorted(names)) if each is not None]
    modules += [part for each in modules for part in [each.__dict__.get(name) for name in names] if _is_module(part)]
    for word in words:
        path, _, name = word.rpartition(".")
        owners = [_resolved(path)] if path else modules
        found += [(each, name) for each in owners if _is_module(each) and name in each.__dict__]
    # Of these the program has what the script has in any case.
    return [each for each in found if (each[0].__name__, each[1]) not in _LENT_ANYWAY][:MOST]


def _resolved(path):
    # type: (str) -> Any
    """The module of that path, which may begin with that of the script; None if there is none."""
    path = path[len(_MAIN) + 1 :] if path.startswith(_MAIN + ".") else path
    first, *rest = path.split(".")
    found, path = _imported(first), first
    for name in rest:
        path += "." + name
        found = (getattr(found, name, None) or _imported(path)) if _is_module(found) else None
    return found


def _imported(path):
    # type: (str) -> Any
    if path == _MAIN or path.startswith("_"):
        return None
    try:
        return sys.modules.get(path) or __import__(path, None, None, ["*"])
    except Exception:  # whatever is no module
        return None


def _is_module(value):
    # type: (object) -> bool
    return type(value) is _MODULE_TYPE


def _environment():
    # type: () -> dict[str, str]
    return dict(sys.modules["os"].environ)


class _Seeded:
    """Where the random numbers of a module are, and how often they were set to begin anew: what the program has drawn
    since does not show in the test's."""

    def __init__(self, name):
        # type: (str) -> None
        self._module = module = _imported(name)
        self._name, self._count = name, 0
        for each in _SEEDS.intersection(dir(module)):
            setattr(module, each, self._counted(getattr(module, each)))

    def read(self):
        # type: () -> tuple[int, Any]
        return self._count, _STATES[self._name][0](self._module)

    def _counted(self, function):
        # type: (Any) -> Any
        def seed(*arguments, **keywords):
            # type: (Any, Any) -> Any
            self._count += 1
            return function(*arguments, **keywords)

        return seed


def _numpy_state(module):
    # type: (Any) -> Any
    kind, keys, *rest = module.get_state()
    return (kind, keys.tolist(), *rest)


# By modules: how it tells where its random numbers are, and how it is told.
_STATES = {
    "random": (lambda module: module.getstate(), lambda module, state: module.setstate(state)),
    "numpy.random": (_numpy_state, lambda module, state: module.set_state(state)),
}  # type: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any], Any]]]


class Borrower:
    """Of the candidate's half. `namespace`: the program's."""

    def __init__(self, namespace):
        # type: (dict[str, Any]) -> None
        self._namespace = namespace
        self._own = {}  # type: dict[tuple[str, str, str], Any]

    def take(self, what, where, name, is_first, value):
        # type: (str, str, str, bool, Any) -> None
        if what == "argv":
            sys.argv = value
        elif what == "environ":
            environ = __import__("os").environ
            if dict(environ) != value:
                environ.clear()
                environ.update(value)
        elif what == "random":
            module = _imported(where)
            if _is_module(module):
                _STATES[where][1](module, value[1])
        elif what == "module":
            module = _imported(where)
            if _is_module(module):
                self._set(module.__dict__, (what, where, name), name, is_first, value)
        else:
            self._set(self._namespace, (what, where, name), where, is_first, value)

    def _set(self, namespace, place, name, is_first, value):
        # type: (dict[str, Any], tuple[str, str, str], str, bool, Any) -> None
        own = self._own.setdefault(place, namespace.get(name, _MISSING))
        value = own if is_first else value
        if value is _MISSING:
            namespace.pop(name, None)
        else:
            namespace[name] = value
