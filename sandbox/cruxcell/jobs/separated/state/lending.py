"""What a script changes in its own process for the program to see, which has a process of its own.

These are the arguments, the environment, the search path, the recursion limit, the context of decimal numbers, the
random numbers after a `seed`, settings of libraries, and what a script patches: attributes of modules and of what is in
them (`Path.exists`, `os.environ.get`), and names of the program; and names that the script imports and the program
lacks. Before each question the test's half looks whether one of them has changed, and lends it to the candidate's. The
other way go variables of the environment and settings of libraries that the script names, the search path, and what is
under way there.
"""

import builtins
import sys
from opcode import opmap

from cruxcell.analysis.bytecode import SETS_ATTRIBUTES, dissect, names_in, names_of
from cruxcell.jobs.separated.proxies.operations import class_of, is_a_mock
from cruxcell.jobs.separated.rules.script import (
    imports_of,
    is_looked_up,
    keeps_for_itself,
    rebound_names,
    stored_names,
)
from cruxcell.jobs.separated.state import decimals
from cruxcell.jobs.separated.state.context_variables import contexts_in
from cruxcell.jobs.separated.state.library_settings import settings_in
from cruxcell.jobs.separated.state.patched_places import (
    LENT_ANYWAY,
    MAIN,
    MOST,
    bare_names,
    given_by,
    imported,
    is_dotted,
    is_module,
    members_in,
    modules_begun,
    modules_of,
    names_with_a_place,
    places_in,
    words_of,
)
from cruxcell.jobs.separated.state.search_path import search_paths_in
from cruxcell.jobs.separated.state.seeds import SEEDS, STATES, Seeded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

_PATCHES = frozenset(["patch", "monkeypatch", "mocker"])
# How a script sets an attribute or a name that stands in a text.
_SETS = _PATCHES | frozenset(
    ["setattr", "delattr", "__setattr__", "__delattr__", "__setitem__", "__dict__", "vars", "globals", MAIN, "modules"]
)
_ENVIRONMENT = frozenset(["environ", "putenv", "setenv", "delenv"])
_ASKS_ENVIRONMENT = frozenset(["environ", "getenv"])
_NOT_FOR_THE_PROGRAM = ("test", "Test", "setup", "setUp", "teardown", "tearDown", "load_tests", "pytest_")
_STORES_ATTRIBUTES = SETS_ATTRIBUTES | {opmap["DELETE_ATTR"]}
_FUNCTION_TYPE = type(dissect)
_METHOD_TYPE = type(dissect.__get__(1))  # type: Any
MISSING = object()
_NOT_LENT = "a module that the script makes is not the program's, which has its own (%s): require IN_PROCESS"
_STUB = (
    "the script binds the program's name %s anew, and the program does not see that: patch it (`patch`, `monkeypatch`),"
    " or require IN_PROCESS"
)


class Lender:
    """Of the test's half. `texts`: the constants of the script that are texts; `namespace`: the script's; `of_program`:
    that of the program's names, if it is another. `names` are those of the program that the script may patch: it is to
    have them."""

    def __init__(self, script, texts, namespace, of_program=None):
        # type: (Any, list[str], dict[str, Any], dict[str, Any] | None) -> None
        anatomy, names = dissect(script), names_in(script)
        self._script, self._namespace = script, namespace
        self._of_program = namespace if of_program is None else of_program
        self._given = {}  # type: dict[str, Any]
        self._patches = not _PATCHES.isdisjoint(names)
        self._watches = _settings(names, texts)  # type: list[Any]
        # What the program sets, too.
        self.shared = [*settings_in([*names, *texts]), *contexts_in(names)]  # type: list[Any]
        self.shared += search_paths_in(script, names, texts)
        self._watches += self.shared
        self.names, self._placed = set(), set()  # type: set[str], set[str]
        self._shadows = set()  # type: set[str]  # of builtins, which the script may put into the program's place
        self._places = []  # type: list[tuple[Any, str]]
        self._modules = []  # type: list[tuple[Any, list[str] | None]]
        self._members = {}  # type: dict[tuple[str, str], Any]
        self.variables = []  # type: list[str]  # of the environment, which the script asks for by these names
        if _ASKS_ENVIRONMENT & names:
            self.variables = [each for each in dict.fromkeys(texts) if each.isidentifier()][:MOST]
        words = words_of(texts) if _SETS & names else []
        if self._patches:
            self._places = places_in(words, names, "multiple" in names)
        stored = names_of(script, _STORES_ATTRIBUTES) if anatomy.all_operations & _STORES_ATTRIBUTES else set()
        if stored or _SETS & names:
            modules = [*dict.fromkeys(modules_of(script) + (modules_begun(texts) if self._patches else []))]
            given = [(each, sorted(stored.difference(each.__dict__))) for each in modules]
            self._modules = [each for each in given if each[1]]
            if _SETS & names:
                self._modules = [(each, None) for each in modules]
                self._members = members_in(words, names, modules)
                self._placed = names_with_a_place(texts)
                self.names = self._placed | bare_names(texts)
                self._shadows = {each for each in self._placed.union(texts) if hasattr(builtins, each)}
            self._places += places_in(sorted(stored), (), False, modules)
        if MAIN in names:  # `module.f = ...`
            self._placed |= stored
            self.names |= stored
        if "modules" in names or "sys.modules" in texts:
            found = [each for each in dict.fromkeys(texts) if is_dotted(each) and each != MAIN]
            self._watches += [_Watch(("loaded", each, ""), _made_module(each), True) for each in found[:MOST]]

    def begin(self, bound=(), root="", shows=None, lacking=(), known=None):
        # type: (Any, str, Callable[[object], bool] | None, Any, dict[str, Any] | None) -> None
        """The names of the program are there: `bound` are those that it binds, `lacking` those that it reads and does
        not have, `root` is what is tested. `shows`: has the program got this object of the script's? `known`: what the
        names of a module of its own stand for, as the program knows."""
        self._given = {} if known is None else known
        is_apart = self._of_program is not self._namespace  # then no statement binds a name of the program's
        stored = set() if is_apart else stored_names(self._script)
        # What a statement binds is the script's own, whatever is in texts: `expected` is not for the program.
        watched = {name for name in self.names - stored if name in bound or name in self._of_program}
        watched |= self._placed if is_apart else set()
        watched |= self._shadows - stored
        both = stored.intersection(bound).difference(vars(builtins))
        meant, unread = rebound_names(self._script, both)
        for name in sorted(watched | meant):
            may_be = _anything if is_apart else self._may_be(name, name in meant)
            self._watches.append(_Watch(("name", name, ""), _reader(self._of_program, name), True, may_be))
        for name in sorted(both - watched - meant):
            is_stub = name in unread and name != root and not name.startswith(_NOT_FOR_THE_PROGRAM)
            self._watches.append(_Stub(self._namespace, name, is_stub, shows=shows))
        shadows = stored.intersection(vars(builtins))
        if shadows:
            _, unread = rebound_names(self._script, shadows)
            self._watches += [_Stub(self._namespace, name, False, True) for name in sorted(unread)]
        imports, starred = imports_of(self._script) if lacking and not is_apart else ({}, [])
        lacked = sorted(stored.intersection(lacking))
        self._watches += [_Import(self._namespace, name, *imports[name]) for name in lacked if name in imports]
        for module in starred[:MOST]:
            self._watches += [_Import(self._namespace, name, module, True, [name]) for name in sorted(lacking)[:MOST]]
        for module, name in dict.fromkeys(self._places):
            self._watches.append(_Watch(("module", module.__name__, name), _reader(module.__dict__, name), True))
        for (path, name), owner in self._members.items():
            self._watches.append(_Watch(("member", path, name), _reader(vars(owner), name), True))
        for module, given in self._modules:
            self._watches.append(_Module(module, self._places, self._namespace, self._script, given))

    def _may_be(self, name, is_meant):
        # type: (str, bool) -> Callable[[Any], bool]
        """What of that which the script puts under a name is for the program. The rest is its own, as it may be what is
        expected: data that it may read, and functions that it reads and does not patch."""
        if name in self._placed or not (is_meant or is_looked_up(self._script, name)):
            return _anything
        return callable if is_meant or self._patches or not keeps_for_itself(self._script, name) else is_a_mock

    @property
    def borrows(self):
        # type: () -> bool
        """Does the script see something that the program sets?"""
        return bool(self.variables) or any(each.asks for each in self.shared)

    def take(self, ask):
        # type: (Callable[..., Any]) -> None
        """What the script sees of that, as the program has it by now. `ask`: the program."""
        if self.variables:
            self.take_variables(ask("variables", *self.variables))
        for each in self.shared:
            if each.asks:
                each.take(ask(*each.asks))

    def take_variables(self, values):
        # type: (Any) -> None
        """Of `variables`, what the program has by now."""
        environ = sys.modules["os"].environ  # type: Any
        for name in self.variables if type(values) is dict else ():
            value = values.get(name)
            if value is None:
                environ.pop(name, None)
            elif type(value) is str and environ.get(name) != value:
                try:
                    environ[name] = value
                except ValueError:  # which the program's was not, either
                    pass

    def see(self, names):
        # type: (list[str]) -> None
        """The program has bound these names anew, and what stands there is its own."""
        for each in self._watches:
            if type(each) is _Watch and each.is_of(names):
                each.begin()

    def changes(self):
        # type: () -> list[tuple[str, str, str, bool, Any]]
        """(what, of which module or name, attribute, whether it is as it was, value) of what has changed since the last
        time; ("refused", the reason, ...) of what the program cannot have."""
        found = [change for watch in self._watches for change in watch.changes()]
        told = [where for what, where, _, _, _ in found if what == "name" and where in self._given]
        self._given.update({name: self._of_program[name] for name in told if name in self._of_program})
        return found


def _settings(names, texts):
    # type: (Any, list[str]) -> list[Any]
    """Those of the process that a script with these names and texts may set."""
    found = []
    if "argv" in names:
        found.append(_Watch(("argv", "", ""), lambda: list(sys.argv)))
    if "setrecursionlimit" in names:
        found.append(_Watch(("depth", "", ""), sys.getrecursionlimit))
    if decimals.SETS & names:
        found += [_Watch(("decimal", each, ""), decimals.reader(each)) for each in decimals.FIELDS]
    if _ENVIRONMENT & names or "environ" in "\0".join(texts):
        found.append(_Watch(("environ", "", ""), _environment))
    if SEEDS & names:
        named = [each for each in STATES if each.partition(".")[0] in names and is_module(imported(each))]
        found += [_Watch(("random", each, ""), Seeded(each, imported(each)).read) for each in named]
    return found


class _Watch:
    """A place that the script may change. `is_object`: told by identity, and set back to what the program has there.
    `may_be`: what of that which the script puts there is for the program."""

    def __init__(self, place, read, is_object=False, may_be=None):
        # type: (tuple[str, str, str], Callable[[], Any], bool, Callable[[Any], bool] | None) -> None
        self._place, self._read, self._is_object = place, read, is_object
        self._may_be = may_be or _anything
        self.begin()

    def begin(self):
        # type: () -> None
        self._first = self._last = self._read()

    def is_of(self, names):
        # type: (list[str]) -> bool
        """Of one of these names of the program's?"""
        return self._place[0] == "name" and self._place[1] in names

    def changes(self):
        # type: () -> list[tuple[str, str, str, bool, Any]]
        now = self._read()
        if now is self._last or (not self._is_object and now == self._last):
            return []
        if not (now is self._first or self._may_be(now)):
            return []
        self._last = now
        return [_change(self._place, self._is_object and now is self._first, now)]


def _change(place, is_first, now):
    # type: (tuple[str, str, str], bool, Any) -> tuple[str, str, str, bool, Any]
    if is_module(now) and not is_first and getattr(now, "__spec__", None) is None:
        return ("refused", _NOT_LENT % now.__name__, "", False, None)
    return (*place, is_first, None if is_first or now is MISSING else now)


class _Stub:
    """A name that both the program and the script bind. What the script has there is its own, and the program must not
    see it: it may be what is expected. But a mock is there to be called. A function that the script never calls itself
    (`is_stub`) is there for the program, which does not see it, unless a decorator has handed it over
    (`@show.register` of a function `_`). `is_lent`: one by the name of a builtin it may see."""

    def __init__(self, namespace, name, is_stub, is_lent=False, shows=None):
        # type: (dict[str, Any], str, bool, bool, Callable[[object], bool] | None) -> None
        self._namespace, self._name, self._is_stub, self._is_lent = namespace, name, is_stub, is_lent
        self._shows = shows or _nothing
        self._last = self._first = namespace.get(name, MISSING)

    def changes(self):
        # type: () -> list[tuple[str, str, str, bool, Any]]
        now = self._namespace.get(self._name, MISSING)
        if now is self._last:
            return []
        is_function = type(now) is _FUNCTION_TYPE and now.__globals__ is self._namespace
        if is_function and self._is_stub and not self._shows(now):
            return [("refused", _STUB % self._name, "", False, None)]
        if not (now is self._first or is_a_mock(now) or (self._is_lent and is_function)):
            return []
        self._last = now
        return [_change(("name", self._name, ""), now is self._first, now)]


class _Import:
    """A name that the program lacks and an import statement of the script binds: the program has what such a statement
    gives in its own process, and nothing of the script's."""

    def __init__(self, namespace, name, path, is_from, taken):
        # type: (dict[str, Any], str, str, bool, list[str]) -> None
        self._namespace, self._name, self._given = namespace, name, (path, is_from, taken)
        self._is_told = False

    def changes(self):
        # type: () -> list[tuple[str, str, str, bool, Any]]
        if self._name not in self._namespace or self._is_told:
            return []
        self._is_told = True
        if given_by(*self._given) is not self._namespace[self._name]:  # another statement has bound it, too
            return []
        path, *how = self._given
        return [("import", self._name, path, False, how)]


class _Module:
    """A module that the script imports, and may change in places that its text does not show: by `setattr`, say. What
    its own library changes there is none of its mocks and functions. What the module never had, and the script has from
    there alone and reads, is the script's own. `given`: the names that the module does not have and may be given, where
    the text shows them."""

    def __init__(self, module, places, namespace, script, given=None):
        # type: (Any, list[tuple[Any, str]], dict[str, Any], Any, list[str] | None) -> None
        name = module.__name__
        seen = {each for owner, each in places if owner is module}
        self._skipped = seen.union([each for owner, each in LENT_ANYWAY if owner == name])
        self._module, self._namespace, self._script, self._given = module, namespace, script, given
        self._first = dict(module.__dict__)
        self._lent = {}  # type: dict[str, Any]

    def changes(self):
        # type: () -> list[tuple[str, str, str, bool, Any]]
        now, found = self._module.__dict__, []
        names = list(now) if self._given is None else [each for each in self._given if each in now]
        for name, value in [(each, now[each]) for each in names]:
            before = self._lent.get(name, self._first.get(name, MISSING))
            if value is before or name in self._skipped:
                continue
            is_first = value is self._first.get(name, MISSING)
            if name in self._lent or (self._is_of_the_script(value) and not self._is_kept(name, value)):
                self._lent[name] = value
                found.append(_change(("module", self._module.__name__, name), is_first, value))
        for name in [name for name in self._lent if name not in now and self._lent[name] is not MISSING]:
            self._lent[name] = MISSING
            is_first = name not in self._first
            found.append(_change(("module", self._module.__name__, name), is_first, MISSING))
        return found

    def _is_kept(self, name, value):
        # type: (str, Any) -> bool
        is_its_own = name not in self._first and name not in self._namespace and not is_a_mock(value)
        if is_its_own and keeps_for_itself(self._script, name):
            self._skipped.add(name)
        return name in self._skipped

    def _is_of_the_script(self, value):
        # type: (Any) -> bool
        value = value.__func__ if type(value) is _METHOD_TYPE else value
        if type(value) is _FUNCTION_TYPE:
            return bool(value.__globals__ is self._namespace)
        return is_a_mock(value) or class_of(value).__module__ == MAIN


def _anything(_value):
    # type: (object) -> bool
    return True


def _nothing(_value):
    # type: (object) -> bool
    return False


def _reader(namespace, name):
    # type: (Any, str) -> Callable[[], Any]
    return lambda: namespace.get(name, MISSING)


def _made_module(name):
    # type: (str) -> Callable[[], Any]
    """What stands for a module that it is not: a mock, say, or None so that it cannot be imported."""

    def read():
        # type: () -> Any
        found = sys.modules.get(name, MISSING)
        return MISSING if is_module(found) and getattr(found, "__spec__", None) is not None else found

    return read


def _environment():
    # type: () -> dict[str, str]
    return dict(sys.modules["os"].environ)
