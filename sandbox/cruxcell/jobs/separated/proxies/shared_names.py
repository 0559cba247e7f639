"""What both halves have, so that it crosses by its name: functions and classes of the standard library."""

import builtins
import sys

from cruxcell.jobs.separated.proxies.operations import FRAMEWORKS, package_of
from cruxcell.values import owned

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Collection  # noqa: F401 - in type comments

# Functions and classes that both halves have: only these are found by the name that the candidate gives. What the
# candidate names a function of the script may call (an executor, a decorator), on what the candidate gives. So none of
# them makes classes, whose objects could equal everything (`type`, an Enum), or reaches attributes by their names.
_SHARED = frozenset(
    [
        "abs", "all", "any", "ascii", "bin", "bool", "bytearray", "bytes", "callable", "chr", "complex", "dict",
        "divmod", "enumerate", "filter", "float", "frozenset", "hash", "hex", "id", "int", "isinstance",
        "issubclass", "iter", "len", "list", "map", "max", "memoryview", "min", "next", "object", "oct", "ord",
        "pow", "print", "range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum", "tuple",
        "zip",
    ]
    + [name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)]
)  # fmt: skip
# Exceptions that end a script, an iteration or a generator, and leave who runs it content. The candidate names them as
# the class of what it raises, or as a base of its own, and not by themselves: a future that the script passes to it,
# say, would raise them in the script.
ENDING = frozenset(["GeneratorExit", "StopAsyncIteration", "StopIteration", "SystemExit"])
# What is named so alone: a function of the script's that makes the last one on the candidate's word would show it the
# memory of the test (`rules/memory.py`).
ERRORS_ALONE = ENDING | {"UnicodeDecodeError"}
# Types of plain values that builtins does not name.
_UNNAMED = {
    cls.__name__: cls for cls in (type(None), type(Ellipsis), type(NotImplemented), owned.READ_ONLY, *owned.VIEWS)
}  # type: dict[str, type]
PLAIN = (int, float, complex, str, bytes, tuple, list, dict, set, frozenset, bytearray)
# Of these modules all functions, or all classes.
_SHARED_MODULES = {"math": False, "_operator": False}
_SHARED_MODULES.update(dict.fromkeys(["collections", "fractions", "decimal", "datetime"], True))
# Of other modules the classes whose values are of the test's own, which a script may have from the program's imports.
_SHARED_CLASSES = {
    "array": frozenset(["array"]),
    "pathlib": frozenset(["Path", "PosixPath", "PurePath", "PurePosixPath"]),
    "re": frozenset(["Match", "Pattern"]),
    "uuid": frozenset(["UUID"]),
}
_SHARED_CLASSES["pathlib._local"] = _SHARED_CLASSES["pathlib"]
# What a script may have from the program's imports, too, under a name alone: what classes and functions are made with.
# None of it ends anything, calls what the program has, or makes what equals more than the script says.
_OWN = {
    "abc": frozenset(["ABC", "ABCMeta", "abstractmethod"]),
    "dataclasses": frozenset(["dataclass", "field"]),
    "enum": frozenset(["Enum", "Flag", "IntEnum", "IntFlag", "StrEnum", "auto", "unique"]),
    "functools": frozenset(["cached_property", "cmp_to_key", "total_ordering", "wraps"]),
    "typing": frozenset(["Generic", "NamedTuple", "Protocol", "TypeVar", "TypedDict", "runtime_checkable"]),
    "unittest.case": frozenset(["TestCase"]),
    "unittest.mock": frozenset(["AsyncMock", "MagicMock", "Mock", "call", "mock_open", "patch"]),
}
# Modules of whose enums each member is known by its name: importing them does nothing else.
_ENUMS_OF = frozenset(["calendar", "http", "inspect", "re", "signal", "socket"])
# Up to 3.9 the interpreter does not say which modules are its own; these are what tests take attributes of.
_OF_OLD = frozenset(
    [
        "argparse", "array", "ast", "asyncio", "bisect", "builtins", "cmath", "collections", "copy", "datetime",
        "decimal", "email", "enum", "fractions", "functools", "heapq", "http", "io", "itertools", "json", "logging",
        "math", "operator", "os", "queue", "random", "re", "signal", "socket", "sqlite3", "ssl", "statistics", "string",
        "sys", "threading", "time", "types", "typing", "unittest", "uuid", "xml",
    ]
)  # fmt: skip
STDLIB_MODULES = getattr(sys, "stdlib_module_names", _OF_OLD)
# Names that mean a module to whoever takes attributes of them, and which.
MODULES = {
    each: each
    for each in [*STDLIB_MODULES, "networkx", "numpy", "pandas", "pytest", "scipy", "sklearn", "sympy", "torch"]
}
MODULES.update(np="numpy", nx="networkx", pd="pandas", plt="matplotlib.pyplot", sns="seaborn")
STAND_INS = []  # type: list[Any]  # functions of the test's process in the places of those of C, by the same names
BUILTIN_TYPE = type(len)  # type: Any
METHOD_TYPE = type(str.upper)  # type: Any
MODULE_TYPE = type(sys)


def _yields():
    # type: () -> Any
    yield


async def _awaits():
    # type: () -> Any
    yield


async def _is_awaited():
    # type: () -> None
    pass


def _type_of_coroutine():
    # type: () -> Any
    made = _is_awaited()
    made.close()
    return type(made)


# Types without a value of their own that an object may say it is of, for isinstance and for inspect.
_STANDS_FOR = {
    cls.__name__: cls
    for cls in (
        type(_yields),
        BUILTIN_TYPE,
        type(_yields()),
        type(_awaits()),
        _type_of_coroutine(),
        type(_yields.__get__(1)),
        type(iter([])),
        type(iter(())),
        type(iter({})),
        type(iter("")),
        type(iter(range(0))),
        map,
        filter,
        zip,
        enumerate,
        reversed,
        property,
        staticmethod,
        classmethod,
    )
}  # type: dict[str, type]


def may_be_named(module, name):
    # type: (str, str) -> bool
    """A path of two may lead to a member of an enum, and what a module has may be a class or a function; which it is is
    seen there (`is_shared`)."""
    if "." in name:
        parts = name.split(".")
        return module in _ENUMS_OF and len(parts) == 2 and all(each.isidentifier() for each in parts)
    if module == "builtins":
        return name in _SHARED or name in _UNNAMED
    if module in _SHARED_CLASSES:
        return name in _SHARED_CLASSES[module]
    return module in _SHARED_MODULES and name.isidentifier() and name[:1] != "_"


def is_shared(module, name, found):
    # type: (str, str, Any) -> bool
    """Is what stands there what may be named so?"""
    if "." in name:
        return is_member(found)
    if module in _SHARED_MODULES:
        return isinstance(found, type) if _SHARED_MODULES[module] else type(found) is BUILTIN_TYPE
    return True


def imported(name):
    # type: (object) -> Any
    """The module of that name, if it was imported: not the program's or the script's own, nor one that it made."""
    loaded = sys.modules.get(name) if type(name) is str else None
    return loaded if getattr(loaded, "__spec__", None) is not None else None


def own_module(name, told):
    # type: (str, object) -> Any
    """The test's own module of that name; `told` where the program gave it a name of its own."""
    try:
        wanted = name if name in STDLIB_MODULES else told  # type: Any
        parts = wanted.split(".") if type(wanted) is str else [""]
        is_path = all(each.isidentifier() and each[:1] != "_" for each in parts)
        if not is_path or (len(parts) > 1 and not _may_be_called(name, *parts)):
            return None
        __import__(wanted)  # which gives the harness a copy of what it has imported, too
        return sys.modules.get(wanted)
    except ImportError:
        return None


def own_import(name, told):
    # type: (str, object) -> Any
    """The test's own class or function, which the program has under this name; None for others. What tests are made
    with it has under no other."""
    module, _, own = told.rpartition(".") if type(told) is str else ("", "", "")
    if own not in _OWN.get(module, ()) or not _may_be_called(name, module, own):
        return None
    __import__(module)
    return getattr(sys.modules.get(module), own, None)


def told_import(name, value):
    # type: (str, object) -> str
    """What `own_import` is told of a class or function that the program has under a name; nothing of others."""
    found = [(module, own) for module, names in _OWN.items() for own in names if _has(module, own, value)]
    return "%s.%s" % found[0] if found and _may_be_called(name, *found[0]) else ""


def _may_be_called(name, *path):
    # type: (str, str) -> bool
    """What tests are made with a script has by its own name alone: unittest.mock has what equals everything."""
    return path[0].partition(".")[0] not in FRAMEWORKS or name == path[-1]


def _has(module, name, value):
    # type: (str, str, Any) -> bool
    """Does it stand there, and is it from there? The program may have put a function of its own into the module."""
    if value is None or getattr(imported(module), name, None) is not value:
        return False
    place = getattr(value, "__module__", None)
    return type(place) is str and place.lstrip("_") == module


def is_stdlib(cls):
    # type: (type) -> bool
    """Not a class that the code of this half defines: a module that was imported has it."""
    return getattr(imported(cls.__module__), cls.__name__, None) is cls


_flags = type.__dict__["__flags__"].__get__
_HEAP, _IMMUTABLE = 1 << 9, 1 << 8  # Py_TPFLAGS_HEAPTYPE, Py_TPFLAGS_IMMUTABLETYPE


def is_of_c(cls):
    # type: (type) -> bool
    """Is it a class that no code in Python can have made, and of which none can set attributes?"""
    return bool(_flags(cls) & (_HEAP | _IMMUTABLE) != _HEAP)


def is_of_a_package(cls):
    # type: (type) -> bool
    """Of none of the interpreter's, some of which take an object that says so for memory of its own (ctypes)."""
    return package_of(cls).lstrip("_") not in STDLIB_MODULES


def place_of(cls):
    # type: (type) -> str
    """Where a class is found that `is_stdlib`, as both halves write it."""
    return "%s:%s" % (cls.__module__, cls.__name__)


def is_member(value):
    # type: (object) -> bool
    """Is it one of an enum's?"""
    return type(type(value)) is getattr(sys.modules.get("enum"), "EnumMeta", None)


def path_of(value):
    # type: (Any) -> tuple[Any, Any]
    """The module of a function, a class or a member of an enum, and the dotted path to it; there it may not be."""
    kind = type(value)
    if is_member(value):
        return kind.__module__, "%s.%s" % (kind.__qualname__, getattr(value, "_name_", None))
    module = value.__objclass__.__module__ if kind is METHOD_TYPE else getattr(value, "__module__", None)
    return module, getattr(value, "__qualname__", None)


def found_at(module, path):
    # type: (Any, str) -> Any
    """What a dotted path leads to in a module; None if it leads nowhere."""
    value = module
    for part in path.split("."):
        value = getattr(value, part, None)
    return _UNNAMED.get(path) if value is None and module is builtins else value


def stands_for(cls, is_given=False):
    # type: (type, bool) -> str
    """The name of a class of a library that its objects may say they are of. `is_given`: it is that of a value or of a
    package's object that the test passes, which may say so of any."""
    if _STANDS_FOR.get(cls.__name__) is cls:
        return cls.__name__
    is_known = is_given or issubclass(cls, BaseException) or _is_known(str(cls.__module__), cls.__name__, cls)
    if is_known and is_stdlib(cls):
        return place_of(cls)
    return ""


def stand_in(text, is_test=True, named=frozenset()):
    # type: (str, bool, Collection[str]) -> Any
    """The class of that name here: of those that have no value of their own, or an exception of a loaded module. To a
    candidate the test may name any class. `named`: what the script names."""
    module, _, name = text.rpartition(":")
    if not module:
        return _STANDS_FOR.get(name)
    found = getattr(imported(module), name, None)
    if not is_test and isinstance(found, type) and not issubclass(found, BaseException):
        return found
    if is_test and isinstance(found, type) and issubclass(found, UnicodeDecodeError):  # see ERRORS_ALONE
        return None
    is_one = (isinstance(found, type) and _is_known(module, name, found)) or _is_an_error(found)
    return found if is_one or _is_an_error_of_a_package(found, named if is_test else None) else None


# Packages whose classes an object may say it is of. Not those of numbers and tables: what compares values there would
# take the word of an object for it.
_PACKAGES = frozenset(["matplotlib", "networkx", "seaborn", "PIL", "bs4", "sklearn"])


# Of the library's modules those whose classes are values, ask for what is in what they are compared with (Counter), or
# are what tests and classes are made of. ctypes takes an object that says it is one of its own for the memory of one.
_OF_VALUES = frozenset(
    [
        "_collections_abc", "abc", "array", "builtins", "collections", "ctypes", "dataclasses", "datetime", "decimal",
        "doctest", "enum", "fractions", "numbers", "pathlib", "typing", "unittest", "uuid", "zoneinfo",
    ]
)  # fmt: skip


def _is_known(module, name, cls):
    # type: (str, str, type) -> bool
    """May an object say that it is of this class (a logger, a thread, a stream)? It says no more than what it is for:
    what it equals is found out as with any object."""
    if module == "re":
        return name in ("Match", "Pattern")
    root = module.partition(".")[0]
    is_of_library = root.lstrip("_") in STDLIB_MODULES and not _OF_VALUES & {root, root.lstrip("_")}
    return root in _PACKAGES or (is_of_library and not issubclass(cls, PLAIN))


# Modules whose errors are nothing but errors, also those that derive from Exception alone. Others may be signals:
# unittest takes a SkipTest for a test that is well, and asyncio a CancelledError of concurrent.futures for its own.
_ERRORS_OF = _PACKAGES | frozenset(
    [
        "argparse", "asyncio", "audioop", "binascii", "configparser", "copy", "csv", "email", "getopt", "html", "http",
        "locale", "lzma", "mailbox", "optparse", "pickle", "queue", "re", "shutil", "sqlite3", "struct", "subprocess",
        "tarfile", "tokenize", "uu", "wave", "xml", "zipfile", "zlib",
        "cryptography", "lxml", "numpy", "pandas", "requests", "scipy", "sympy", "yaml",
    ]
)  # fmt: skip


def _is_an_error(cls):
    # type: (Any) -> bool
    """A kind of a builtin error, or of one of these modules'."""
    own = _kinds_of_error(cls)
    if any(each.__module__ == "builtins" for each in own):
        return True
    return all(package_of(each).lstrip("_") in _ERRORS_OF for each in own) and bool(own)


def _kinds_of_error(cls):
    # type: (Any) -> list[Any]
    """Which errors one of this class is, without those that all are; none where it is no error."""
    ranks = (BaseException, Exception, StopIteration, StopAsyncIteration, object)
    if not isinstance(cls, type) or not issubclass(cls, Exception) or cls.__name__.startswith("_"):
        return []
    return [each for each in cls.__mro__ if all(each is not rank for rank in ranks)]


# Packages that take some of their errors for signals: that a test is well, or has to begin again.
_RUN_TESTS = FRAMEWORKS | {"hypothesis", "nose"}


def _is_an_error_of_a_package(cls, named):
    # type: (Any, Collection[str] | None) -> bool
    """An error of a package's which the script names, or one of its kind: then it says itself what comes of that.
    `named`: what the script names; None where it raises the error for the candidate."""
    kinds = _kinds_of_error(cls)
    run_tests = any(package_of(each) in _RUN_TESTS for each in kinds)
    if not kinds or run_tests or not all(map(is_of_a_package, kinds)):
        return False
    further = [cls]
    for each in further:
        further += type.__subclasses__(each)
    return named is None or any(each.__name__ in named for each in (*kinds, *further))
