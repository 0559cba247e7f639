"""Lists the state that the seal compares between checks; built once, in the template, which runs no code of a task.

Checks that share a worker run one after the other. After each, the native helper (`native/src/seal.c`) compares what is
listed here with a snapshot from before the first one, and vouches for what was said only if nothing differs. Where
there is no native helper, no worker is shared. The list is broad on purpose. It holds what a check may depend on and a
program may change: the class of every module, every class, every dict, list and set there is, wherever it is, and
whatever the interpreter can be asked for. The helper adds what is not an object: frames, trace functions, descriptors,
blocked signals, locale, context variables, and the events that audit hooks see, among them every change of a function.
"""

import _warnings
import codecs
import encodings
import gc
import sys

from cruxcell.protocol.messages import SEAL_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

    from cruxcell.jobs.context import JobContext  # noqa: F401 - in type comments

_PLACE = {name: place for place, name in enumerate(SEAL_NAMES)}
_FunctionType = type(lambda: None)
_CONTAINERS = (dict, list, set, tuple)
# Modules whose functions a check runs without naming them: what they enclose is compared, too.
_OURS = ("cruxcell", "encodings", "codecs")
_SIGNALS = (2, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27)
# Functions of the interpreter's modules that answer with a setting: (place, module, names). What state.c can read by
# itself (the recursion limit; functions that trace, profile, or are told of generators) is not asked for.
_SETTINGS = (
    ("limits", "sys", ("get_int_max_str_digits",)),
    ("sys", "sys", ("getswitchinterval", "getdlopenflags")),
    ("gc", "gc", ("isenabled", "get_threshold", "get_debug")),
    ("hooks", "atexit", ("_ncallbacks",)),
    ("module", "_abc", ("get_cache_token",)),  # grows with each registration; the first makes a set that is not listed
)
_ERROR_HANDLERS = ("strict", "ignore", "replace", "xmlcharrefreplace", "backslashreplace", "namereplace",
                   "surrogatepass", "surrogateescape")  # fmt: skip
_PLACES_OF_MODULES = {"builtins": "builtins", "sys": "sys", "gc": "gc", "_warnings": "warnings", "warnings": "warnings",
                      "_codecs": "codecs", "codecs": "codecs", "encodings": "codecs", "os": "environment",
                      "posix": "environment", "random": "random"}  # fmt: skip
# What a class holds in place of a function. `x.__init__(other)` has it call another one, and the class's dict stays.
_MADE_ANEW = (staticmethod, classmethod, property)
_WHAT_THEY_CALL = ("__func__", "fget", "fset", "fdel")
_IS_HEAP_TYPE = 1 << 9
_ITEMS_AT_ONCE = 1000
# From 3.13 on an object keeps the values of its attributes itself, and an assignment does not show in its dict's tag.
# Such a dict must be compared by what it holds. If nobody else refers to it, the object is given one that holds them.
_KEEPS_VALUES, _OWN_REFERENCES = 1 << 2 if sys.version_info >= (3, 13) else 0, 3
_OF_CONTEXT = ("helper", "seals", "report", "progress", "step_limit", "output_limit", "stdout", "stderr", "arguments",
               "budget")  # fmt: skip
_FREE = frozenset(["__all__", "__builtins__", "__annotations__", "__cached__", "__warningregistry__"])


def entries():
    # type: () -> list[tuple[Any, ...]]
    """All that is to be watched in a zygote, as the helper's `watch` takes it. Ask while the harness is in the table of
    modules."""
    _freeze_path_caches()
    _forget_origins()
    gc.collect()
    found = _Found()
    found.add("module_table", sys.modules)
    for name, module in list(sys.modules.items()):
        found.add_module(name, module)
    for kind in _types():
        place = "harness" if str(getattr(kind, "__module__", "")).startswith("cruxcell") else "type"
        found.add(place, kind)
        space = _space_of(kind)
        found.add_contents(place, space)
        found.leave_out(_dict_behind(space))  # the dict behind it is compared with its class
        registrations = space.get("_abc_impl")  # their sets are made when they are first needed
        if type(registrations).__name__ == "_abc_data":
            found.entries.append((_PLACE["module"], registrations, type(registrations).__basicsize__))
    _add_codecs(found)
    _add_settings(found)
    _add_containers(found)
    return found.entries


def of_context(context):
    # type: (JobContext) -> list[tuple[Any, ...]]
    """The same for the tools of the workers, which are made later."""
    harness = _PLACE["harness"]
    found = [(harness, context), (harness, context.stdout), (harness, context.stderr)]  # type: list[tuple[Any, ...]]
    found += [(harness, getattr, (context, name)) for name in _OF_CONTEXT]
    for stream in (context.stdout, context.stderr):
        found += [(harness, getattr, (stream, name)) for name in ("__dict__", "_overflow", "_limit")]
        found.append((harness, vars(stream)))  # what a program gives it
    return found


def in_order(entries):
    # type: (list[tuple[Any, ...]]) -> list[tuple[Any, ...]]
    """The harness's own first, and each by its address: to look at neighbours one after the other takes half the time
    where nothing is in the processor's caches, as in a worker that has just begun."""
    harness = _PLACE["harness"]
    return sorted(entries, key=lambda entry: (entry[0] != harness, id(_looked_at(entry))))


def _looked_at(entry):
    # type: (tuple[Any, ...]) -> object
    """The object whose memory is compared: where a question is about one, that; of a class, its dict."""
    if entry[1] is getattr:
        return entry[2][0]
    if isinstance(entry[1], type):
        return _dict_behind(_space_of(entry[1]))
    return entry[1]


def _space_of(kind):
    # type: (type) -> Any
    """A view of the dict of a class."""
    return type.__dict__["__dict__"].__get__(kind)


def _dict_behind(space):
    # type: (object) -> object
    return gc.get_referents(space)[0]


def _freeze_path_caches():
    # type: () -> None
    """What the import system knows of folders, as sets and tuples that cannot change: those need not be compared."""
    for finder in list(sys.path_importer_cache.values()):
        if type(getattr(finder, "_loaders", None)) is list:
            finder._loaders = tuple(finder._loaders)  # type: ignore[union-attr]
        for name in ("_path_cache", "_relaxed_path_cache"):
            cache = getattr(finder, name, None)
            if type(cache) is set:
                setattr(finder, name, frozenset(cache))


def _forget_origins():
    # type: () -> None
    """Where the harness's modules were imported from: nobody asks, and two dicts for each need not be compared."""
    for name, module in sys.modules.items():
        if name.partition(".")[0] == "cruxcell":
            for attribute in ("__spec__", "__loader__"):
                if getattr(module, attribute, None) is not None:
                    setattr(module, attribute, None)


class _Found:
    """Entries, none twice."""

    def __init__(self):
        # type: () -> None
        self.entries = []  # type: list[tuple[Any, ...]]
        self.seen = set()  # type: set[int]

    def add(self, place, thing):
        # type: (str, object) -> None
        if id(thing) not in self.seen:
            self.seen.add(id(thing))
            self.entries.append((_PLACE[place], thing))

    def ask(self, place, function, *arguments):
        # type: (str, object, *object) -> None
        self.entries.append((_PLACE[place], function, arguments))

    def leave_out(self, *things):
        # type: (object) -> None
        self.seen.update(map(id, things))

    def add_module(self, name, module):
        # type: (str, object) -> None
        root = name.partition(".")[0]
        place = "harness" if root == "cruxcell" else _PLACES_OF_MODULES.get(root, "module")
        self.add(place, module)
        space = getattr(module, "__dict__", None)
        if type(space) is dict:
            self.add(place, space)
            self.add_contents(place, space)
            if root in _OURS:
                self._add_cells(place, space)

    def add_contents(self, place, space):
        # type: (str, Any) -> None
        """The dicts, lists and sets that a namespace holds, and those that these hold."""
        for key, value in list(space.items()):
            if key not in _FREE:
                self.add_container(place, value)
            elif type(value) is list:
                self.leave_out(value)

    def add_namespace(self, thing):
        # type: (object) -> None
        """The dict that an object of a Python class keeps its attributes in, and that it is this one; or that it has
        none yet, as most that have no attributes."""
        if type(thing).__dictoffset__ > 0 and not any(type(held) is dict for held in gc.get_referents(thing)):
            self.ask("module", getattr, thing, "__dict__")
            return
        try:
            space = object.__getattribute__(thing, "__dict__")  # from 3.11 on not there before
        except AttributeError:
            return
        if type(space) is dict:
            if type(thing).__flags__ & _KEEPS_VALUES and sys.getrefcount(space) <= _OWN_REFERENCES:
                object.__setattr__(thing, "__dict__", dict(space))
                space = object.__getattribute__(thing, "__dict__")
            self.ask("module", getattr, thing, "__dict__")
        self.add_container("module", space)

    def add_container(self, place, value):
        # type: (str, Any) -> None
        """A dict, list, set or tuple, and all of these in it."""
        if not issubclass(type(value), _CONTAINERS):  # as most
            return
        waiting = [value]
        while waiting:
            item = waiting.pop()
            if id(item) in self.seen or not issubclass(type(item), _CONTAINERS):
                continue
            if type(item) is not tuple:
                self.add(place, item)
            if issubclass(type(item), dict):
                waiting += dict.values(item)
            elif not issubclass(type(item), (set, frozenset)):  # which hold nothing that can change
                waiting += item

    def _add_cells(self, place, space):
        # type: (str, dict[str, object]) -> None
        for value in list(space.values()):
            if type(value) is type:
                for item in list(vars(value).values()):
                    self._add_cells_of(place, item)
            self._add_cells_of(place, value)

    def _add_cells_of(self, place, value):
        # type: (str, Any) -> None
        if type(value) in (classmethod, staticmethod):  # by their types alone: some objects answer to any name
            value = value.__func__
        elif type(value) is property:
            value = value.fget
        if type(value) is _FunctionType:
            for cell in value.__closure__ or ():
                self.ask(place, getattr, cell, "cell_contents")
        elif type(value).__name__ == "Struct":  # it can be made to be another one
            self.ask(place, getattr, value, "format")


def _types():
    # type: () -> list[type]
    """Every class there is."""
    found = {object}  # type: set[type]
    waiting = [object]  # type: list[Any]
    while waiting:
        for kind in type.__subclasses__(waiting.pop()):
            if kind not in found:
                found.add(kind)
                waiting.append(kind)
    return list(found)


def _add_codecs(found):
    # type: (_Found) -> None
    """What the interpreter itself knows of codecs has no name: it is found by what it holds."""
    strict, search, utf8 = codecs.lookup_error("strict"), encodings.search_function, codecs.lookup("utf-8")
    are_listed = False  # the error handlers
    for item in gc.get_objects():
        if type(item) is dict:
            is_one = item.get("strict") is strict or type(item.get("utf-8")) is type(utf8)
        else:
            is_one = type(item) is list and any(one is search for one in item)
        if is_one:
            found.add("codecs", item)
            are_listed = are_listed or (type(item) is dict and "strict" in item)
    for name in () if are_listed else _ERROR_HANDLERS:
        found.ask("codecs", codecs.lookup_error, name)


def _add_containers(found):
    # type: (_Found) -> None
    """Every dict, list and set, whoever holds it: nobody has to think of where one may be."""
    items = gc.get_objects()
    found.leave_out(found.entries, found.seen, vars(found), items)
    for item in items:
        if type(item).__flags__ & _IS_HEAP_TYPE and type(item).__dictoffset__:
            found.add_namespace(item)
        elif issubclass(type(item), _MADE_ANEW):
            for name in _WHAT_THEY_CALL:
                if hasattr(type(item), name):
                    found.ask("type", getattr, item, name)
        elif type(item).__name__ == "cell":  # a closure's variable
            found.ask("module", getattr, item, "cell_contents")
        found.add_container("module", item)
    for at in range(0, len(items), _ITEMS_AT_ONCE):
        held = gc.get_referents(*items[at : at + _ITEMS_AT_ONCE])  # dicts of numbers and texts, which items leaves out
        kinds = {kind for kind in set(map(type, held)) if issubclass(kind, _CONTAINERS)}
        for child in held:
            if type(child) in kinds:
                found.add_container("module", child)


def _add_settings(found):
    # type: (_Found) -> None
    for place, module, names in _SETTINGS:
        for name in names:
            function = getattr(sys.modules.get(module), name, None)
            if function is not None:
                found.ask(place, function)
    found.add("warnings", _warnings.filters)
    import _signal

    for number in _SIGNALS:
        found.ask("signals", _signal.getsignal, number)
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None:
        for number in range(6):
            found.ask("hooks", monitoring.get_tool, number)
    generator = getattr(sys.modules.get("random"), "_inst", None)
    if generator is not None:
        found.entries.append((_PLACE["random"], generator, sys.modules["_random"].Random.__basicsize__))
    decimal = sys.modules.get("_decimal")
    if decimal is not None:
        contexts = [decimal.getcontext(), decimal.DefaultContext, decimal.BasicContext, decimal.ExtendedContext]
        found.entries += [(_PLACE["context"], one, decimal.Context.__basicsize__) for one in contexts]
