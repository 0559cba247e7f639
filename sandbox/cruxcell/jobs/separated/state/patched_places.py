"""The places in its own process that a script may patch, as its names and texts tell: attributes of modules, and of the
classes and objects in them."""

import builtins
import sys
from opcode import opmap

from cruxcell.analysis.bytecode import names_of
from cruxcell.jobs.separated.proxies.operations import is_class

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

MOST = 256  # patched places
MAIN = "__main__"
LENT_ANYWAY = frozenset([("builtins", "input"), *[("sys", each) for each in ("path", "stderr", "stdin", "stdout")]])
_IMPORTS = frozenset([opmap["IMPORT_NAME"], opmap["IMPORT_FROM"]])
_MODULE_TYPE = type(sys)
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE


def names_with_a_place(texts):
    # type: (list[str]) -> set[str]
    """The names of the program that a script which patches says where they are: `"__main__.x"`, `f"{__name__}.x"`."""
    found = [each.split(".") for each in texts if each.startswith((MAIN + ".", "."))]
    return {path[1] for path in found if path[1].isidentifier()}


def bare_names(texts):
    # type: (list[str]) -> set[str]
    """Those that it may mean by their texts alone: `"x"`."""
    return {each for each in texts if each.isidentifier() and not hasattr(builtins, each) and each not in sys.modules}


def modules_of(script):
    # type: (Any) -> list[Any]
    """The modules that a script imports."""
    paths = names_of(script, _IMPORTS)
    found = [each for each in map(resolved, sorted(paths)) if is_module(each)]
    found += [part for each in found for part in [each.__dict__.get(name) for name in paths] if is_module(part)]
    return [*dict.fromkeys([*found, builtins])] if found else []


def modules_begun(texts):
    # type: (list[str]) -> list[Any]
    """The modules of places that a script puts together: `patch("time." + name)`, `patch(f"os.path.{name}")`."""
    begun = [each[:-1] for each in dict.fromkeys(texts) if each.endswith(".") and is_dotted(each[:-1])]
    return [each for each in map(resolved, begun[:MOST]) if is_module(each)]


def words_of(texts):
    # type: (list[str]) -> list[str]
    """The places that stand in texts, also behind the name of the script: `f"{__name__}.time.sleep"`."""
    found = [each[1:] if each.startswith(".") else each for each in texts]
    return [each for each in dict.fromkeys(found) if is_dotted(each)]


def is_dotted(text):
    # type: (str) -> bool
    return all(each.isidentifier() for each in text.split("."))


def places_in(words, names, is_multiple, modules=None):
    # type: (list[str], Any, bool, list[Any] | None) -> list[tuple[Any, str]]
    """The attributes of modules that a script may patch: `patch("time.sleep")`, `patch.object(time, "sleep")`, and by
    `patch.multiple("time", sleep=...)` those of modules that stand in texts."""
    found = []  # type: list[tuple[Any, str]]
    if modules is None:
        modules = [each for each in map(imported, sorted(names)) if each is not None]
        modules += [part for each in modules for part in [each.__dict__.get(name) for name in names] if is_module(part)]
    modules = modules + ([each for each in map(resolved, words) if is_module(each)] if is_multiple else [])
    for word in words:
        path, _, name = word.rpartition(".")
        owners = [resolved(path)] if path else modules
        found += [(each, name) for each in owners if is_module(each) and name in each.__dict__]
    # Of these the program has what the script has in any case.
    return [each for each in found if (each[0].__name__, each[1]) not in LENT_ANYWAY][:MOST]


def members_in(words, names, modules):
    # type: (list[str], Any, list[Any]) -> dict[tuple[str, str], Any]
    """(path of a class or object in a module, attribute) -> that object, of what a script may patch there:
    `patch("os.environ.get")`, and of the classes that it names `patch.object(Path, "exists")`."""
    known = {"%s.%s" % (each.__name__, name): vars(each).get(name) for each in modules for name in sorted(names)}
    classes = {path: each for path, each in known.items() if is_class(each)}
    found = {}  # type: dict[tuple[str, str], Any]
    for word in words:
        path, _, name = word.rpartition(".")
        owners = {path: resolved(path)} if path else classes
        found.update({(each, name): owner for each, owner in owners.items() if _may_be_set(owner, name, bool(path))})
    return dict(sorted(found.items())[:MOST])


def _may_be_set(owner, name, is_named):
    # type: (Any, str, bool) -> bool
    """`is_named`: of an object, too, and not of a class alone."""
    if is_class(owner):
        return bool(owner.__flags__ & _HEAP_TYPE) and hasattr(owner, name)
    return is_named and not is_module(owner) and hasattr(owner, "__dict__")


def resolved(path):
    # type: (str) -> Any
    """The module of that path, which may begin with that of the script; None if there is none."""
    path = path[len(MAIN) + 1 :] if path.startswith(MAIN + ".") else path
    first, *rest = path.split(".")
    found, path = imported(first), first
    for name in rest:
        path += "." + name
        found = (getattr(found, name, None) or imported(path)) if is_module(found) else None
    return found


def given_by(path, is_from, taken):
    # type: (str, bool, list[str]) -> Any
    """What an import statement gives; None if it raises an error."""
    try:
        __import__(path, None, None, taken[:1] if is_from else ())  # gives the harness a module of its own
        found = sys.modules[path if is_from else path.partition(".")[0]]  # type: Any
        for name in taken:
            found = getattr(found, name)
    except Exception:
        return None
    return found


def imported(path):
    # type: (str) -> Any
    if path.startswith("_"):  # the script itself, too
        return None
    try:
        return sys.modules.get(path) or __import__(path, None, None, ["*"])
    except Exception:  # whatever is no module
        return None


def is_module(value):
    # type: (object) -> bool
    return type(value) is _MODULE_TYPE
