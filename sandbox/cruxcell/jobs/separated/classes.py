"""Transfer of classes and exceptions: by name if both sides have them, else by description."""

import builtins
import sys

from cruxcell.jobs.separated import remote
from cruxcell.jobs.separated.operations import OPERATORS, offered
from cruxcell.protocol import records
from cruxcell.values import stdlib
from cruxcell.values.containers import Garbled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

PLAIN = (int, float, complex, str, bytes, tuple, list, dict, set, frozenset, bytearray)
MUTABLE = (list, dict, set, bytearray)
# Classes are told by their addresses: a metaclass of a program's may say what its class equals, or that it has no hash.
PLAIN_ONES = frozenset(map(id, PLAIN))
# Functions and classes that both sides have: only these are found by the name that the candidate gives.
_SHARED = frozenset(
    [
        "abs",
        "all",
        "any",
        "ascii",
        "bin",
        "bool",
        "bytearray",
        "bytes",
        "callable",
        "chr",
        "complex",
        "dict",
        "divmod",
        "enumerate",
        "filter",
        "float",
        "frozenset",
        "hash",
        "hex",
        "id",
        "int",
        "isinstance",
        "issubclass",
        "iter",
        "len",
        "list",
        "map",
        "max",
        "memoryview",
        "min",
        "next",
        "object",
        "oct",
        "ord",
        "pow",
        "print",
        "range",
        "repr",
        "reversed",
        "round",
        "set",
        "slice",
        "sorted",
        "str",
        "sum",
        "tuple",
        "type",
        "zip",
    ]
    + [name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)]
)
# Types of plain values that builtins does not name.
_UNNAMED = {cls.__name__: cls for cls in (type(None), type(Ellipsis), type(NotImplemented), *stdlib.VIEWS)}  # type: dict[str, type]
_SHARED_MODULES = frozenset(["math", "_operator", "collections", "fractions", "decimal", "datetime"])
_FUNCTION_TYPE = type(offered)
BUILTIN_TYPE = type(len)
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
        _FUNCTION_TYPE,
        BUILTIN_TYPE,
        type(_yields()),
        type(_awaits()),
        _type_of_coroutine(),
        type(remote.number_of.__get__(1)),
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
    )
}  # type: dict[str, type]


def made_of(error):
    # type: (BaseException) -> tuple[Any, ...] | None
    """What an error of the library is made of, where that is more than its `args`: a file's name, a place in a text."""
    cls = type(error)
    found = error.__reduce__() if is_stdlib(cls) else None
    if type(found) is not tuple or found[0] is not cls or found[1] is error.args:
        return None
    return found[1] if all(id(type(each)) in SIMPLEST for each in found[1]) else None


SIMPLEST = frozenset(map(id, (str, bytes, int, type(None))))


def more_of(error, has_fields=True):
    # type: (BaseException, bool) -> tuple[str | None, list[str], tuple[Any, ...]] | None
    """(how it is shown, where its class says that; its notes; its attributes, if `has_fields`, where the other side has
    its class and does not ask for them) of an error that has any of these."""
    has_own = all(type(error).__repr__ is not each for each in _REPRS)
    found = records.dict_of(error)
    notes = found.get("__notes__")
    notes = [each for each in notes if type(each) is str] if type(notes) is list else []
    own = [item for item in found.items() if _is_field(item)] if has_fields and found and is_stdlib(type(error)) else ()
    if not (has_own or notes or own):
        return None
    return records.message_of(error, repr) if has_own else None, notes, tuple(own[:_MOST_FIELDS])


_MOST_FIELDS = 64
_SIMPLE = frozenset(map(id, (str, bytes, int, float, bool, complex, type(None))))
_HOLDING = frozenset(map(id, (list, tuple, set, frozenset)))


def _is_field(item):
    # type: (tuple[object, object]) -> bool
    """A public attribute with a value that holds no object: that may hold the error itself."""
    return type(item[0]) is str and item[0][:1] != "_" and _is_simple(item[1], 5)


def _is_simple(value, depth):
    # type: (Any, int) -> bool
    if type(value) is dict:
        value = [*value.keys(), *value.values()]
    elif id(type(value)) not in _HOLDING:
        return id(type(value)) in _SIMPLE
    return depth > 0 and all(_is_simple(each, depth - 1) for each in value)


def add_more(error, more):
    # type: (Any, object) -> None
    """Give an error what `more_of` told of another."""
    if type(more) is not tuple or len(more) != 3:
        return
    shown, notes, _ = more
    if type(notes) is list and notes and all(type(each) is str for each in notes):
        BaseException.__setattr__(error, "__notes__", notes)
    if type(shown) is str and type(type(error)) is remote.RemoteType:
        BaseException.__setattr__(error, "_remote_repr", shown)


def _add_fields(error, more):
    # type: (Any, object) -> Any
    fields = more[2] if type(more) is tuple and len(more) == 3 else ()
    if type(fields) is tuple and type(type(error)) is not remote.RemoteType:
        named = [each for each in fields if type(each) is tuple and len(each) == 2 and _is_field(each)]
        records.dict_of(error).update(named)
    return error


_REPRS = (BaseException.__repr__, getattr(builtins, "BaseExceptionGroup", Exception).__repr__)
_set_args = vars(BaseException)["args"].__set__


def make_exception(cls, arguments, text, made_of=None, more=None):
    # type: (Any, list[Any], str, tuple[Any, ...] | None, object) -> Any
    """An exception of this class with these `args`, whose text is `text`; made of `made_of` where that is more, and
    with the attributes that `more_of` told."""
    error = _add_fields(_construct(cls, arguments if made_of is None else list(made_of)), more)
    _set_args(error, tuple(arguments))
    if records.message_of(error) != text:
        told = {"__str__": lambda _self: text, "__module__": cls.__module__}
        if type(cls) is remote.RemoteType:
            BaseException.__setattr__(error, "_remote_text", text)
        else:
            error = _add_fields(_construct(type(cls.__name__, (cls,), told), arguments), more)
            _set_args(error, tuple(arguments))
    return error


def _construct(cls, arguments):
    # type: (Any, list[Any]) -> Any
    # Of a class made here the other side is asked for what a library's own __init__ would set.
    is_made = type(cls) is remote.RemoteType
    builtin = next(each for each in cls.__mro__ if each.__module__ == "builtins")
    try:
        error = cls.__new__(cls, *arguments)
        (builtin if is_made else cls).__init__(error, *arguments)
    except Exception:  # it wants other arguments than its `args`
        error = cls.__new__(cls) if not issubclass(cls, _GROUP) else cls.__new__(cls, "", [Exception()])
    return error


_GROUP = getattr(builtins, "BaseExceptionGroup", ())


def plain_base(cls):
    # type: (Any) -> Any
    """The plain type that a class is a value of: it keeps that type's equality. None for others."""
    for each in type.__dict__["__mro__"].__get__(cls):
        if id(each) in PLAIN_ONES:
            return each
        if "__eq__" in each.__dict__:
            return None
    return None


def may_be_named(module, name):
    # type: (str, str) -> bool
    if module == "builtins":
        return name in _SHARED or name in _UNNAMED
    return module in _SHARED_MODULES and name.isidentifier() and name[:1] != "_"


def read_text(reader):
    # type: (Any) -> str
    text = reader.value(0)
    if type(text) is not str:
        raise Garbled("not a text")
    return text


def imported(name):
    # type: (str) -> Any
    """The module of that name, if it was imported: not the program's or the script's own, nor one that it made."""
    loaded = sys.modules.get(name)
    return loaded if getattr(loaded, "__spec__", None) is not None else None


def is_stdlib(cls):
    # type: (type) -> bool
    """Not a class that the code of this end defines: a module that was imported has it."""
    return getattr(imported(cls.__module__), cls.__name__, None) is cls


def told_of(cls):
    # type: (type) -> list[str]
    """What is told of the special methods of a class: not the operators that it has from another class which is told
    of. Where one operand's class derives from the other's, its method comes first only if it has one of its own."""
    classes = _MRO(cls)

    def is_inherited(name):
        # type: (str) -> bool
        owner = next(each for each in classes if name in each.__dict__)
        return any(owner is one for each in classes[1:] if not is_stdlib(each) for one in _MRO(each))

    return [name for name in offered(cls) if name not in OPERATORS or not is_inherited(name)]


_MRO = type.__dict__["__mro__"].__get__


# What a class derived from a plain one may do in its own way: change, and find items by their keys.
OVERRIDES = frozenset(
    [
        "__setitem__", "__delitem__", "__getitem__", "get",
        "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse", "add", "discard", "update",
        "setdefault", "popitem",
    ]
)  # fmt: skip


# Abstract classes that a class is only one of if it is derived from them.
_ABSTRACT = frozenset(["Mapping", "MutableMapping", "Sequence", "MutableSequence", "Set", "MutableSet"])


def abstract_bases(cls):
    # type: (type) -> list[str]
    """Which of these a class is derived from."""
    bases = [each for each in type.__dict__["__mro__"].__get__(cls) if each.__module__ == "collections.abc"]
    return [each.__name__ for each in bases if each.__name__ in _ABSTRACT and is_stdlib(each)]


def register(cls, names):
    # type: (type, list[str]) -> None
    """Have a class that was made here be one of the abstract classes, among `names`, that its own is derived from."""
    for name in names:
        if name in _ABSTRACT:
            getattr(sys.modules["collections.abc"], name).register(cls)


def found_at(module, path):
    # type: (Any, str) -> Any
    """What a dotted path leads to in a module; None if it leads nowhere."""
    value = module
    for part in path.split("."):
        value = getattr(value, part, None)
    return _UNNAMED.get(path) if value is None and module is builtins else value


def overridden(cls, base):
    # type: (Any, Any) -> list[str]
    """The methods of a plain base, of these, that a class has its own of: what else there is to tell the value here
    tells."""
    found = []  # type: list[str]
    for each in cls.__mro__ if base is not None else ():
        if each is base:
            break
        found += [name for name in vars(each) if name in OVERRIDES and hasattr(base, name)]
    return found


def stands_for(cls, is_given=False):
    # type: (type, bool) -> str
    """The name of a class of the standard library that its objects may say they are of. `is_given`: it is that of a
    value that the test passes, which may say so of any."""
    if _STANDS_FOR.get(cls.__name__) is cls:
        return cls.__name__
    is_known = is_given or issubclass(cls, BaseException) or _is_known(cls.__module__, cls.__name__)
    if is_known and is_stdlib(cls):
        return "%s:%s" % (cls.__module__, cls.__name__)
    return ""


def stand_in(text, is_test=True):
    # type: (str, bool) -> Any
    """The class of that name here: of those that have no value of their own, or an exception of a loaded module. To a
    candidate the test may name any class."""
    module, _, name = text.rpartition(":")
    if not module:
        return _STANDS_FOR.get(name)
    found = getattr(imported(module), name, None)
    if not is_test and isinstance(found, type) and not issubclass(found, BaseException):
        return found
    return found if (isinstance(found, type) and _is_known(module, name)) or _is_an_error(found) else None


# Packages whose classes an object may say it is of. Not those of numbers and tables: what compares values there would
# take the word of an object for it.
_PACKAGES = frozenset(["matplotlib", "networkx", "seaborn", "PIL", "bs4", "sklearn"])


def _is_known(module, name):
    # type: (str, str) -> bool
    return module.partition(".")[0] in _PACKAGES or (module == "re" and name in ("Match", "Pattern"))


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
    ranks = (BaseException, Exception, StopIteration, StopAsyncIteration, object)
    if not isinstance(cls, type) or not issubclass(cls, Exception) or cls.__name__.startswith("_"):
        return False
    own = [each for each in cls.__mro__ if all(each is not rank for rank in ranks)]
    if any(each.__module__ == "builtins" for each in own):
        return True
    return all(each.__module__.partition(".")[0].lstrip("_") in _ERRORS_OF for each in own) and bool(own)


COPY = {
    int: int.__int__,
    float: float.__float__,
    complex: lambda value: complex(value.real, value.imag),
    str: str.__str__,
    bytes: lambda value: bytes(memoryview(value)),
}  # type: dict[Any, Any]


def fields_of(cls):
    # type: (Any) -> list[tuple[str, str, bool, bool, bool]] | None
    """The fields of a dataclass; None of others."""
    found = getattr(cls, "__dataclass_fields__", None)
    if type(found) is not dict:
        return None
    return [(one.name, one._field_type.name, one.init, one.repr, one.compare) for one in found.values()]
