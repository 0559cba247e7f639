"""The names of the program that a script has: which, what stands behind them, and how they follow the program.

The candidate says which names the program binds and what they stand for. A script gets those that it uses. Where such a
name is that of a module, the script gets its own.
"""

import builtins

from cruxcell.analysis.bytecode import dissect, loaded_names
from cruxcell.jobs.separated.proxies import libraries
from cruxcell.jobs.separated.proxies.deriving import is_derived, super_
from cruxcell.jobs.separated.proxies.looking import looks_at_all, shown_names
from cruxcell.jobs.separated.proxies.remote import is_remote
from cruxcell.jobs.separated.proxies.shared_names import MODULES, STDLIB_MODULES, own_import, own_module
from cruxcell.jobs.separated.rules.script import bound_names, expects_names, names_in_texts, used_as_modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType  # noqa: F401 - in type comments
    from typing import Any, Collection  # noqa: F401 - in type comments

_MOST_OF_NAMES = 8  # containers that an honest answer about names is made of
_MANY_NAMES = 10_000
_NO_NAMES = "the candidate's names are no names"
# Of objects of other classes the class has a name, which is a text of the program's.
_NAMELESS = frozenset(["function", "builtin_function_or_method", "_lru_cache_wrapper"])


class ProgramNames:
    """`link`: the test's, which asks the candidate. `script`: the script's namespace; `namespace`: the one in which
    the program's names are, which is another where the script imports the program."""

    def __init__(self, link, script, namespace):
        # type: (Any, dict[str, Any], dict[str, Any]) -> None
        self._link, self._script, self.namespace = link, script, namespace
        self._is_apart = namespace is not script  # and takes of the program's names what it says (`import *`: all)
        self._of_classes = ()  # type: tuple[str, ...]
        self.view = {}  # type: dict[str, Any]  # what the program has there now, as far as the candidate has said
        self.given = {}  # type: dict[str, Any]  # what the script got of that
        self._own = set()  # type: set[str] | None  # the names that the script binds; None: it may bind any
        self.shows_texts = False
        self.has_pythons_own = False  # builtins, where the program has functions or classes by their names

    def told(self):
        # type: () -> tuple[list[str], list[str]]
        """(those that the program binds, those that it reads and does not have)."""
        told = self._link.ask("names", None)
        if type(told) is not tuple or [type(each) for each in told] != [list, list]:
            self._link.gone(_NO_NAMES)
        if any(type(name) is not str for each in told for name in each):
            self._link.gone(_NO_NAMES)
        return told  # type: ignore[no-any-return]

    def provide(self, script, source, root, bound, lent, is_redefined):  # noqa: PLR0917 - a script's parts
        # type: (CodeType, str, str, list[str], set[str], bool) -> None
        """Put what the script uses of the program into its namespace. `root` is the name of what it tests, or nothing;
        `lent` are names that it may set for the program. `is_redefined`: not Python's own builtins."""
        # Not those that a module has by itself: `__name__` would decide whether what it guards runs.
        self._is_apart = self._is_apart and ("*",) not in script.co_consts
        named = dissect(script).all_names
        used = named | names_in_texts(script).difference(STDLIB_MODULES)
        used = used.union(lent).difference(self.namespace, ["__annotations__", "__file__"])
        self._of_classes = tuple(
            [name for name in bound if (name in used or name == root) and name.lstrip("_")[:1].isupper()]
        )
        shown = shown_names(bound).difference(used) if looks_at_all(source, named) else set()
        self.shows_texts = bool(shown)  # which the script has not: `eval(name)` of one would run what it says
        used = used | shown
        names = [name for name in bound if name in used or name == root]
        if root and not self._is_apart:
            names = [name for name in names if name == root or not (hasattr(builtins, name) or name == "candidate")]
        self._look(names, root, source, len(bound), named)
        if not (root or self._is_apart or is_redefined):
            self._give_builtins_back(script)
        self._follow(set() if self._is_apart else bound_names(script))
        if "super" in named:
            self._script.setdefault("super", super_)
        libraries.provide(self._script, named)

    def means_a_class(self, cls):
        # type: (object) -> bool
        """Has the script a name with a capital letter for it, or has it made it itself?"""
        return is_derived(cls) or any(self.namespace.get(name) is cls for name in self._of_classes)

    def rebind(self):
        # type: () -> list[str]
        """Where the program has bound a name anew, the script sees it, unless it has done so itself: what it has may
        have been the program's in between, too. The names of which the script has something else now."""
        found = []
        for name, before in list(self.given.items()):
            now = self.view.get(name, before)
            if now is not before and self.namespace.get(name) is before:
                self.namespace[name] = self.given[name] = now
                found.append(name)
                self._follow_no_more(name)
        return found

    def _look(self, names, root, source, count, named):
        # type: (list[str], str, str, int, Collection[str]) -> None
        link = self._link
        found = link.ask("look", None, *names)
        if type(found) is not tuple or len(found) != 2 or type(found[0]) is not dict or type(found[1]) is not dict:
            link.gone(_NO_NAMES)
        self.view, modules = found
        # Functions and classes alone make nothing large that the script hands over; data of the program may.
        is_bare = all(map(is_remote, self.view.values()))
        if not is_bare or len(link.containers.entries) > _MOST_OF_NAMES or count > _MANY_NAMES:
            link.has_answered = True
        self.shows_texts = self.shows_texts or not all(type(each).__name__ in _NAMELESS for each in self.view.values())
        _import_within(modules, named)
        known = [] if self._is_apart else [name for name in names if name in MODULES and name != root]
        meant = used_as_modules(source, known)
        for name in names:
            # What everybody means by a name, whatever module the program has there: `numpy.ma` masks what it compares.
            # `datetime.strptime` is the class's that the program has from the module of that name.
            usual = own_module(name, MODULES.get(name)) if name in meant else None
            if usual is not None and all(hasattr(usual, attribute) for attribute in meant[name]):
                self.namespace[name] = usual
                continue
            if name in modules:
                module = own_import(name, modules[name]) or own_module(name, modules[name])
                if module is not None:
                    self.namespace[name] = module
                continue
            if name in self.view:
                self.namespace[name] = self.given[name] = self.view[name]
        hashed = [each for each in link.objects.held.present() if "__hash__" in vars(type(each))]
        if hashed and not is_bare:  # which classes are meant is known now
            link.objects.placing.again(hashed, [each[0] for each in link.containers.entries.values()])

    def _give_builtins_back(self, script):
        # type: (object) -> None
        """A script that names no entry point tests a program's `sum` if that is all it expects of the program; beside
        other names, bound by the program or not, `sum` is Python's own: or a program that redefines `abs` could have
        any number come close, and one that redefines `zip` could have no test run. It may be `sum` that is tested all
        the same, so a script that holds has to hold with the program's, too."""
        redefined = [name for name in self.given if hasattr(builtins, name)]
        if redefined:
            loaded = loaded_names(script)
            if expects_names(script) or any(name in loaded and name not in redefined for name in self.given):
                self.has_pythons_own = any(
                    name in loaded and _is_made_by_program(self.given[name]) for name in redefined
                )
                for name in redefined:
                    del self.namespace[name], self.given[name]

    def _follow(self, own):
        # type: (set[str] | None) -> None
        """Which names may come to stand for something else: none that the script binds (`own`; None: it may bind any to
        what both halves have). Or a program would take the script's own `Counter` for its, and change that."""
        self._own = own
        for name in list(self.given):
            self._follow_no_more(name)

    def _follow_no_more(self, name):
        # type: (str) -> None
        """Unless it cannot be the script's own that stands there by now."""
        if not is_remote(self.given[name]) if self._own is None else name in self._own:
            del self.given[name]


def _import_within(modules, named):
    # type: (dict[Any, object], Collection[str]) -> None
    """`xml.etree.ElementTree`, which the program has imported: a script takes it of the `xml` that it has itself."""
    for told in modules:
        parts = told.split(".") if type(told) is str else []
        if len(parts) > 1 and parts[0] in modules.values() and set(parts[1:]).issubset(named):
            own_module("", told)


def _is_made_by_program(value):
    # type: (object) -> bool
    """Is it a function or class of the program's? Not `pow`, where the program has imported all names of `math`."""
    return is_remote(value) and type(value).__name__ != "builtin_function_or_method"
