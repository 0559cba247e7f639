"""Settings that a library has once in a process: those of django, and the rcParams of matplotlib.

What the script sets of them the program has from then on. Of the program's the script has that there are any (django
asks for some, whatever they are), and those that it names, if they are plain data that names no code.
"""

import sys

from cruxcell.jobs.separated.state.patched_places import MOST, imported, is_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable  # noqa: F401 - in type comments


class LibrarySettings:
    """Of the test's half: the settings of one library. `words`: the names and texts of the script."""

    def __init__(self, library, words):
        # type: (str, Iterable[str]) -> None
        self.library = library
        self._read, self._put, self._blank = LIBRARIES[library][1:]
        self._last = self._read()  # type: dict[str, Any] | None
        known = self._blank() if self._last is None else self._last
        self.names = sorted(known.keys() & set(words))[:MOST]
        self._told = dict.fromkeys(self.names)  # type: dict[str, Any]  # of these, what the program has

    @property
    def asks(self):
        # type: () -> tuple[str, ...]
        """What the program is asked, to have that; nothing if the script has no use for it."""
        return ("settings", self.library, *self.names) if self.names or self._last is None else ()

    def changes(self):
        # type: () -> list[tuple[str, str, str, bool, Any]]
        """As those of a place that the script may change (`lending`)."""
        now = self._read()
        if now is None:
            return []
        new, is_first = _difference(now, self._before()), self._last is None
        if not (new or is_first):
            return []
        self._last = now
        self._told.update({name: new[name] for name in self.names if name in new})
        return [("settings", self.library, "", False, new)]

    def take(self, told):
        # type: (Any) -> None
        """What the program has of those that the script names; not what it had before, as the script may have set that
        anew meanwhile."""
        if type(told) is not dict:  # the program has none
            return
        told = {name: told[name] for name in self.names if name in told and self._may_be(told[name])}
        new = _difference(told, self._told)
        if new or self._last is None:
            self._told.update(new)
            try:
                self._put(new)
            except Exception:  # of what the library would not take, which is no error of the script's
                pass
            self._last = {**self._before(), **new}

    def _may_be(self, value):
        # type: (Any) -> bool
        return is_plain(value) and not names_code(value, self.library.partition(".")[0])

    def _before(self):
        # type: () -> dict[str, Any]
        return self._blank() if self._last is None else self._last


def settings_in(words):
    # type: (Iterable[str]) -> list[LibrarySettings]
    """Of the libraries that a script with these names and texts uses."""
    words = list(words)
    roots = {each.partition(".")[0] for each in words}
    found = [name for name, (of, *_) in LIBRARIES.items() if of & roots and is_module(imported(name))]
    return [LibrarySettings(name, words) for name in found]


def settings_of(_target, library, *names):
    # type: (object, str, str) -> dict[str, Any] | None
    """Of the candidate's half: those of a library that the program uses; None if there are none."""
    found = LIBRARIES[library][1]() if library in sys.modules else None
    return None if found is None else {name: found[name] for name in names if name in found and is_plain(found[name])}


def put(library, values):
    # type: (str, dict[str, Any]) -> None
    if is_module(imported(library)):
        LIBRARIES[library][2](values)


def is_plain(value, depth=2):
    # type: (Any, int) -> bool
    if type(value) in (list, tuple):
        return depth > 0 and all(is_plain(each, depth - 1) for each in value)
    return type(value) in (type(None), bool, int, float, str)


def names_code(value, library):
    # type: (Any, str) -> bool
    """Is a text in it the path of something in a module that is not the library's own? Libraries import and call what
    some of their settings name (`PASSWORD_HASHERS`, `figure.hooks`)."""
    if type(value) in (list, tuple):
        return any(names_code(each, library) for each in value)
    root, *rest = value.replace(":", ".").split(".") if type(value) is str else [""]
    is_path = bool(rest) and all(each.isidentifier() for each in [root, *rest])
    return is_path and root != library and _is_there(root)


def _is_there(module):
    # type: (str) -> bool
    find = __import__("importlib.util", None, None, ["find_spec"]).find_spec
    return module in sys.modules or find(module) is not None


def _difference(now, before):
    # type: (dict[str, Any], dict[str, Any]) -> dict[str, Any]
    return {name: value for name, value in now.items() if name not in before or not _are_same(value, before[name])}


def _are_same(one, other):
    # type: (object, object) -> bool
    return one is other or (type(one) is type(other) and bool(one == other))


def _of_django():
    # type: () -> dict[str, Any] | None
    settings = vars(sys.modules["django.conf"])["settings"]
    return _upper(settings._wrapped) if settings.configured else None


def _upper(holder):
    # type: (object) -> dict[str, Any]
    return {name: getattr(holder, name) for name in dir(holder) if name.isupper() and hasattr(holder, name)}


def _configure_django(values):
    # type: (dict[str, Any]) -> None
    settings = vars(sys.modules["django.conf"])["settings"]
    if not settings.configured:
        settings.configure(**values)
        return
    for name, value in values.items():
        setattr(settings, name, value)


def _of_matplotlib():
    # type: () -> dict[str, Any]
    """As they are kept: to read the backend would choose one."""
    found = sys.modules["matplotlib"].rcParams
    items = dict.items(found) if issubclass(type(found), dict) else ()
    return {name: value for name, value in items if not name.startswith("backend") and is_plain(value)}


def _set_matplotlib(values):
    # type: (dict[str, Any]) -> None
    for name, value in values.items():
        try:
            sys.modules["matplotlib"].rcParams[name] = value
        except Exception:  # whatever matplotlib raises of what it does not take: the others it may
            pass


# By the module that has them: roots of the names by which a script uses it, how they are read (None: there are none
# yet) and set, and what they are if nobody sets them.
LIBRARIES = {
    "django.conf": (
        frozenset(["django"]),
        _of_django,
        _configure_django,
        lambda: _upper(sys.modules["django.conf"].global_settings),
    ),
    "matplotlib": (frozenset(["matplotlib", "pylab", "seaborn"]), _of_matplotlib, _set_matplotlib, _of_matplotlib),
}  # type: dict[str, tuple[frozenset[str], Any, Any, Any]]
