"""What a test that looks at the program is told: what `dir`, `vars`, `__subclasses__` and `inspect.getsource` would
say where it is. The candidate says it, as with attributes; never is there nothing where it has not been asked."""

import builtins
import sys

from cruxcell.analysis.parsing import PROGRAM
from cruxcell.jobs.separated.proxies.facts import METHOD, is_opaque
from cruxcell.jobs.separated.proxies.operations import mro_of, own_of
from cruxcell.jobs.separated.proxies.remote import is_remote
from cruxcell.jobs.separated.proxies.shared_names import STDLIB_MODULES, is_stdlib
from cruxcell.jobs.suite_base import MAIN
from cruxcell.namespace import CANDIDATE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_OF_ANY = ("__dict__", "__weakref__")  # how each object holds its attributes


def dir_of(target):
    # type: (Any) -> list[str]
    return [name for name in dir(target) if type(name) is str]


def members_of(cls, name=""):
    # type: (Any, str) -> Any
    """What the class itself has; or whether it has an attribute of that name from any class of the program."""
    if name:
        return any(name in own_of(each) for each in mro_of(cls) if not is_stdlib(each))
    return {name: value for name, value in own_of(cls).items() if type(name) is str and name not in _OF_ANY}


def subclasses_of(cls):
    # type: (Any) -> list[type]
    return type.__subclasses__(cls)


def source_of(target):
    # type: (Any) -> Any
    """Where the source of a function or class of the program is: (lines, number of the first). None: of all of it."""
    import linecache

    if target is None:
        return _text[0].splitlines(True), 0
    inspect = __import__("inspect")  # type: Any
    linecache.cache[PROGRAM] = (len(_text[0]), None, _text[0].splitlines(True), PROGRAM)
    module = sys.modules.get(CANDIDATE)  # type: Any
    own = vars(module).get("__file__")
    module.__file__ = PROGRAM  # by which the source of a class is found
    try:
        return inspect.findsource(target)
    finally:
        module.__file__ = own


def hints_of(target, has_extras):
    # type: (Any, bool) -> dict[str, Any]
    """What the annotations of a function or class come to."""
    return _everybodys_typing().get_type_hints(target, **_extras(has_extras))  # type: ignore[no-any-return]


def args_of(target):
    # type: (Any) -> Any
    return _everybodys_typing().get_args(target)


def origin_of(target):
    # type: (Any) -> Any
    return _everybodys_typing().get_origin(target)


def _extras(are_asked_for):
    # type: (bool) -> dict[str, bool]
    """Python 3.8 has no such argument."""
    return {"include_extras": True} if are_asked_for else {}


def _everybodys_typing():
    # type: () -> Any
    """Not the one that the harness may keep for itself."""
    __import__("typing")
    return sys.modules["typing"]


def size_of(target):
    # type: (Any) -> int
    return sys.getsizeof(target)


def keep(text):
    # type: (str) -> None
    """Of the program."""
    _text[:] = [text]


_text = [""]


def follow_sources(link):
    # type: (Any) -> None
    """In the test's process: what `inspect` looks for of the program, the candidate has."""
    inspect = __import__("inspect")  # type: Any
    find = inspect.findsource

    def findsource(target):
        # type: (Any) -> Any
        is_program = inspect.ismodule(target) and link.is_of_program(target)
        if is_remote(target) or is_program:
            found = link.ask("source", None if is_program else target)
            if type(found) is tuple and len(found) == 2 and type(found[0]) is list and type(found[1]) is int:
                return found
            link.refuse("the candidate does not say what the source is")
        if getattr(target, "__name__", "") == MAIN and inspect.ismodule(target):
            link.refuse("the source of the module is that of the program and of the script: ask for that of a function")
        return find(target)

    inspect.findsource = findsource


def follow_annotations(link):  # noqa: ARG001 - the proxies ask
    # type: (Any) -> None
    """In the test's process: from 3.14 on the library reads annotations of classes by a descriptor of `type`, past the
    metaclass; of the program's classes the candidate says them."""
    if sys.version_info < (3, 14):
        return
    annotationlib = __import__("annotationlib")  # type: Any
    read = annotationlib._BASE_GET_ANNOTATIONS
    annotationlib._BASE_GET_ANNOTATIONS = lambda cls: cls.__annotations__ if is_remote(cls) else read(cls)


def follow_hints(link):
    # type: (Any) -> None
    """In the test's process: what an annotation of the program says as a text, the candidate evaluates; not with names
    that the script gives."""
    follow_annotations(link)
    typing = _everybodys_typing()
    evaluate = typing.get_type_hints

    def get_type_hints(obj, globalns=None, localns=None, include_extras=False):
        # type: (Any, Any, Any, bool) -> Any
        if not is_remote(obj) or globalns is not None or localns is not None:
            return evaluate(obj, globalns, localns, **_extras(include_extras))
        found = link.ask("hints", obj, bool(include_extras))
        if type(found) is not dict or not all(type(name) is str for name in found):
            link.refuse("the candidate does not say what the annotations are")
        return found

    typing.get_type_hints = get_type_hints


def follow_types(link):
    # type: (Any) -> None
    """In the test's process: what a type with arguments of the program's (`Stack[int]`) is of, the candidate says."""
    typing = _everybodys_typing()
    own_args, own_origin = typing.get_args, typing.get_origin

    def get_args(tp):
        # type: (Any) -> Any
        found = link.ask("args", tp) if is_opaque(tp) else own_args(tp)
        if type(found) is not tuple:
            link.refuse("the candidate does not say what arguments a type has")
        return found

    def get_origin(tp):
        # type: (Any) -> Any
        return link.ask("origin", tp) if is_opaque(tp) else own_origin(tp)

    typing.get_args, typing.get_origin = get_args, get_origin


def follow_sizes(link):
    # type: (Any) -> None
    """In the test's process: how much memory an object of the program's takes, the candidate says."""
    own = sys.getsizeof

    def getsizeof(value, *default):
        # type: (object, int) -> int
        if not is_remote(value):
            return own(value, *default)
        found = link.ask("size", value)
        if type(found) is not int:
            link.refuse("the candidate does not say what size an object has")
        return int(found)

    sys.getsizeof = getsizeof  # type: ignore[assignment]


def _name_of_ours(method):
    # type: (Any) -> str
    """The name by which the class of a method has it, if it is one of the harness's; "" of others."""
    function = method.__func__
    if not str(getattr(function, "__module__", "")).startswith("cruxcell."):
        return ""
    found = [name for each in mro_of(type(method.__self__)) for name, one in own_of(each).items() if one is function]
    return found[0] if found else ""


def follow_kinds_of_function(link):
    # type: (Any) -> None
    """In the test's process: whether a special method of an object of the program's (`a.__call__`) is a coroutine
    function or a generator's, the candidate says. What stands for it here is a function of the harness."""
    inspect = __import__("inspect")  # type: Any
    has_flag = inspect._has_code_flag

    def has_code_flag(f, flag):
        # type: (Any, int) -> bool
        name = _name_of_ours(f) if type(f) is METHOD and is_opaque(f.__self__) else ""
        return bool(has_flag(link.ask("get", f.__self__, name) if name else f, flag))

    inspect._has_code_flag = has_code_flag


_UNTRACED = "the script traces calls (sys.%s), and those of the program are in another process: require IN_PROCESS"


def follow_tracers(link):
    # type: (Any) -> None
    """In the test's process: where all calls are told to a function of the script's, those of the program are not, and
    may be what the script looks for."""
    ask = link.alongside.exchange

    def exchange(operation, fields):
        # type: (str, list[Any]) -> Any
        if sys.gettrace() is not None or sys.getprofile() is not None:
            link.invalid(_UNTRACED % ("settrace" if sys.gettrace() is not None else "setprofile"))
        return ask(operation, fields)

    link.alongside.exchange = exchange


def _is_instance(value, cls):
    # type: (object, Any) -> bool
    return isinstance(value, cls)


def _is_subclass(one, cls):
    # type: (Any, Any) -> bool
    return issubclass(one, cls)


LOOKING = {
    "args": args_of,
    "dir": dir_of,
    "hints": hints_of,
    "members": members_of,
    "origin": origin_of,
    "size": size_of,
    "source": source_of,
    "subclasses": subclasses_of,
}  # type: dict[str, Any]
# Functions of a module: up to 3.11 a protocol looks which one asks.
LOOKING.update(isinstance=_is_instance, issubclass=_is_subclass)

# What shows a script all names of the program: not only those that stand in it.
_ALL_NAMES = frozenset(["globals", "locals", "__main__", "modules", "testmod", "DocTestSuite", "DocTestFinder"])
_WITHOUT_AN_OBJECT = frozenset(["dir", "vars"])


def looks_at_all(source, names):
    # type: (str, Any) -> bool
    if _ALL_NAMES.isdisjoint(names) and _WITHOUT_AN_OBJECT.isdisjoint(names):
        return False
    return not _ALL_NAMES.isdisjoint(names) or "dir()" in source or "vars()" in source


def shown_names(bound):
    # type: (list[str]) -> set[str]
    """Of the names of the program, those that a statement can bind, and that nobody takes for Python's own."""
    known = [name for name in bound if hasattr(builtins, name) or name in STDLIB_MODULES]
    is_keyword = __import__("keyword").iskeyword
    return {name for name in bound if name.isidentifier() and not is_keyword(name)}.difference(known, _OF_A_MODULE)


_OF_A_MODULE = frozenset(["__annotations__", "__file__", "__name__", "__builtins__"])
