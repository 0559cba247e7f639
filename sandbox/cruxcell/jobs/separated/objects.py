"""What is not plain data, written and read: objects, classes, exceptions, functions both sides have.

Each side numbers what it shows to the other (`exports`) and keeps it; the other holds proxies (`imports`), one for each
number as long as anything refers to it, so that identity is kept. A proxy that goes back is written as its number.
"""

import _weakref
import builtins
import sys

from cruxcell.jobs.separated import remote
from cruxcell.jobs.separated.operations import METHODS, SPECIAL, offered
from cruxcell.protocol import records
from cruxcell.values.canonical import TooLarge
from cruxcell.values.transfer import Garbled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

MAX_OBJECTS = 1 << 17
MAX_CLASSES = 1 << 12

_PLAIN = (int, float, complex, str, bytes, tuple, list, dict, set, frozenset, bytearray)
_MUTABLE = (list, dict, set, bytearray)
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
_SHARED_MODULES = frozenset(["math", "_operator", "collections", "fractions", "decimal", "datetime"])
_FUNCTION_TYPE = type(offered)
_BUILTIN_TYPE = type(len)
_MODULE_TYPE = type(sys)


def _yields():
    # type: () -> Any
    yield


# Types without a value of their own that an object may say it is of, for isinstance and for inspect.
_STANDS_FOR = {
    cls.__name__: cls
    for cls in (
        _FUNCTION_TYPE,
        _BUILTIN_TYPE,
        type(_yields()),
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


class Objects:
    """The tables of one end. `is_test`: what is read comes from the candidate, and is believed in nothing."""

    def __init__(self, is_test):
        # type: (bool) -> None
        self.is_test = is_test
        self.exports = {}  # type: dict[int, Any]
        self._numbers = {}  # type: dict[int, int]
        self._last = 0
        self._imports = {}  # type: dict[int, Any]
        self._classes = {}  # type: dict[int, type]
        self._kept = {}  # type: dict[int, Any]
        self.dead = []  # type: list[int]
        self._offered = {}  # type: dict[type, int]

    # ---- writing ---------------------------------------------------------------------------------------------------

    def write(self, writer, value, depth):
        # type: (Any, Any, int) -> None
        kind = type(value)
        if kind is remote.RemoteType or type(kind) is remote.RemoteType:
            self._write_number(writer, b".", remote.number_of(value))
        elif isinstance(value, type):
            self._write_class(writer, value, depth)
        elif kind is _BUILTIN_TYPE and self._write_shared(writer, value):
            return
        elif kind is _MODULE_TYPE and self.is_test:
            writer.parts.append(b"M")
            writer.value(str(value.__name__), depth)
        elif isinstance(value, BaseException):
            known = value.__dict__.get("_remote_number")
            if known is not None:
                self._write_number(writer, b".", known)
                return
            self._write_exception(writer, value, depth)
        else:
            self._write_object(writer, value, kind, depth)

    def _write_number(self, writer, tag, number):
        # type: (Any, bytes, int) -> None
        writer.parts.append(tag + number.to_bytes(4, "little"))

    def export(self, value):
        # type: (object) -> int
        """The number of an object of this end, which is kept from now on."""
        number = self._numbers.get(id(value))
        if number is None:
            if len(self.exports) >= MAX_OBJECTS:
                raise TooLarge("the number of objects shown to the other side")
            self._last = number = self._last + 1
            self.exports[number] = value
            self._numbers[id(value)] = number
        return number

    def shows(self, value):
        # type: (object) -> bool
        """Was this object shown to the other side, which still holds it?"""
        return id(value) in self._numbers

    def release(self, numbers):
        # type: (list[int]) -> None
        """The other side has let go of these."""
        for number in numbers:
            value = self.exports.pop(number, None)
            if self._numbers.get(id(value)) == number:
                del self._numbers[id(value)]

    def _write_shared(self, writer, value):
        # type: (Any, Any) -> bool
        """A function or class of the standard library, by its name, if the other side has the same."""
        module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
        if (
            type(module) is not str
            or type(name) is not str
            or getattr(sys.modules.get(module), name, None) is not value
        ):
            return False
        if self.is_test or _may_be_named(module, name):
            writer.parts.append(b"G")
            writer.items((module, name), 0)
            return True
        return False

    def _write_class(self, writer, cls, depth, of_object=False):
        # type: (Any, Any, int, bool) -> None
        """A class, as the number it was described under, by its name, or described. `of_object`: an opaque one's."""
        known = self._numbers.get(id(cls))
        if known is not None:
            self._write_number(writer, b"k", known)
            return
        if not of_object and self._write_shared(writer, cls):
            return
        base = None if of_object and cls in _PLAIN else plain_base(cls)
        bases = [each for each in cls.__bases__ if issubclass(each, BaseException) or not _is_stdlib(each)]
        if base is not None and not any(issubclass(each, base) for each in bases):
            bases.append(base)
        self._write_number(writer, b"K", self.export(cls))
        name = type.__dict__["__name__"].__get__(cls)
        writer.items((name if type(name) is str else "?", len(bases)), depth)
        for each in bases:
            self._write_class(writer, each, depth + 1)
        writer.items(("\0".join(offered(cls)), "\0".join(_overridden(cls, base)), _stands_for(cls)), depth)

    def _write_object(self, writer, value, kind, depth):
        # type: (Any, Any, type, int) -> None
        base = plain_base(kind) if kind not in _PLAIN else None
        if base is None:
            self._write_number(writer, b"o", self.export(value))
            self._write_class(writer, kind, depth, True)
            return
        self._write_number(writer, b"h", self.export(value))
        self._write_class(writer, kind, depth)
        if base in _MUTABLE:
            number = writer.number(value)
            self._write_number(writer, b"+", number)
            writer.content(value, depth)
        elif base is tuple:
            writer.value(tuple(tuple.__iter__(value)), depth + 1)
        elif base is frozenset:
            writer.value(frozenset(frozenset.__iter__(value)), depth + 1)
        else:
            writer.value(_COPY[base](value), depth + 1)

    def _write_exception(self, writer, error, depth):
        # type: (Any, BaseException, int) -> None
        cls = type(error)
        is_shared = cls.__module__ == "builtins" and _may_be_named("builtins", cls.__name__)
        number = self.export(error) if self.is_test or not is_shared else 0
        self._write_number(writer, b"X", number)
        self._write_class(writer, cls, depth)
        writer.items((records.message_of(error), len(error.args)), depth)
        writer.items(error.args, depth)

    # ---- reading ---------------------------------------------------------------------------------------------------

    def read(self, reader, tag, depth):
        # type: (Any, int, int) -> Any
        found = _READ.get(tag)
        if found is None:
            raise Garbled("an unknown tag")
        return found(self, reader, depth)

    def _read_own(self, reader, depth):
        # type: (Any, int) -> Any
        return self.exports[reader.u32()]

    def _read_known_class(self, reader, depth):
        # type: (Any, int) -> type
        return self._classes[reader.u32()]

    def _read_shared(self, reader, depth):
        # type: (Any, int) -> Any
        module, name = _text(reader), _text(reader)
        if self.is_test and not _may_be_named(module, name):
            raise Garbled("a name that may not be asked for")
        found = __import__(module, None, None, ["*"])
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def _read_module(self, reader, depth):
        # type: (Any, int) -> Any
        if self.is_test:
            raise Garbled("a module")
        return __import__(_text(reader), None, None, ["*"])

    def _read_class(self, reader, depth):
        # type: (Any, int) -> type
        number = reader.u32()
        if number in self._classes or len(self._classes) >= MAX_CLASSES:
            raise Garbled("a class that cannot be")
        name, count = _text(reader), reader.value(depth)
        if type(count) is not int or not 0 <= count <= 64:
            raise Garbled("a class that cannot be")
        bases = tuple([self._base(reader.value(depth + 1)) for _ in range(count)])
        offers = [each for each in _text(reader).split("\0") if each in SPECIAL or each in METHODS]
        overrides = [each for each in _text(reader).split("\0") if each.isidentifier() and each[:1] != "_"]
        stand = _stand_in(_text(reader))
        if isinstance(stand, type) and issubclass(stand, BaseException):
            self._classes[number] = stand
            return stand
        name = name.replace("\0", "")[:200]
        try:
            made = remote.make_class(name, number, bases, offers, overrides[:100], stand)
        except TypeError:  # bases that do not go together here
            made = remote.make_class(name, number, bases[:1], offers, overrides[:100], stand)
        self._classes[number] = made
        return made

    def _base(self, cls):
        # type: (Any) -> type
        is_base = cls in _PLAIN or (isinstance(cls, type) and issubclass(cls, (BaseException, remote.RemoteBase)))
        if not is_base or cls is bool:
            raise Garbled("a base that cannot be")
        return cls  # type: ignore[no-any-return]

    def _class(self, reader, depth, family):
        # type: (Any, int, Any) -> Any
        cls = reader.value(depth + 1)
        if type(cls) is not remote.RemoteType or not issubclass(cls, family):
            raise Garbled("a class that cannot be")
        return cls

    def _present(self, number):
        # type: (int) -> Any
        """The proxy there is for an object, if there is one."""
        if number in self._kept:
            return self._kept[number]
        reference = self._imports.get(number)
        return reference() if reference is not None else None

    def _introduce(self, number, value, weak):
        # type: (int, Any, bool) -> Any
        if len(self._imports) + len(self._kept) >= MAX_OBJECTS:
            raise Garbled("more objects than may be")
        remote.give_number(value, number)
        if weak and type(value) is not remote.RemoteType and type(type(value)) is remote.RemoteType:
            self.dead = [each for each in self.dead if each != number] if number in self.dead else self.dead
            self._imports[number] = _weakref.ref(value, lambda _: self._died(number))
        else:
            self._kept[number] = value
        return value

    def _died(self, number):
        # type: (int) -> None
        reference = self._imports.get(number)
        if reference is not None and reference() is None:
            del self._imports[number]
            self.dead.append(number)

    def _read_object(self, reader, depth):
        # type: (Any, int) -> Any
        number, cls = reader.u32(), self._class(reader, depth, remote.RemoteObject)
        found = self._present(number)
        if found is not None:
            if type(found) is not cls:
                raise Garbled("an object of another class than before")
            return found
        return self._introduce(number, object.__new__(cls), True)

    def _read_value(self, reader, depth):
        # type: (Any, int) -> Any
        """A value with a class of its own."""
        number, cls = reader.u32(), self._class(reader, depth, _PLAIN)
        found = self._present(number)
        base = plain_base(cls)
        if base in _MUTABLE:
            if found is not None or reader.take(1) != b"+":
                raise Garbled("a value that cannot be")
            made = self._introduce(number, base.__new__(cls), False)
            return reader.new(made, depth)
        value = reader.value(depth + 1)
        if type(value) is not base:
            raise Garbled("a value that is not what its class says")
        if found is not None and type(found) is cls:
            return found
        return self._introduce(number, base.__new__(cls, value), False)

    def _read_exception(self, reader, depth):
        # type: (Any, int) -> BaseException
        number, cls = reader.u32(), reader.value(depth + 1)
        if not isinstance(cls, type) or not issubclass(cls, BaseException):
            raise Garbled("an exception that cannot be")
        text, count = _text(reader), reader.value(depth)
        if type(count) is not int or not 0 <= count <= 1 << 16:
            raise Garbled("an exception that cannot be")
        arguments = [reader.value(depth + 1) for _ in range(count)]
        found = self._present(number) if number else None
        if isinstance(found, BaseException):
            return found
        error = make_exception(cls, arguments, text)
        return self._introduce(number, error, True) if number else error


def make_exception(cls, arguments, text):
    # type: (Any, list[Any], str) -> BaseException
    """An exception of this class with these `args`, whose text is `text`."""
    error = _construct(cls, arguments)
    BaseException.args.__set__(error, tuple(arguments))  # type: ignore[attr-defined]
    if type(cls) is remote.RemoteType or records.message_of(error) != text:
        told = {"__str__": lambda self: text, "__module__": cls.__module__}
        if type(cls) is remote.RemoteType:
            BaseException.__setattr__(error, "_remote_text", text)
        else:
            error = _construct(type(cls.__name__, (cls,), told), arguments)
            BaseException.args.__set__(error, tuple(arguments))  # type: ignore[attr-defined]
    return error


def _construct(cls, arguments):
    # type: (Any, list[Any]) -> BaseException
    try:
        error = cls.__new__(cls, *arguments)
        error.__init__(*arguments)
    except Exception:  # it wants other arguments than its `args`
        error = cls.__new__(cls) if not issubclass(cls, _GROUP) else cls.__new__(cls, "", [Exception()])
    return error  # type: ignore[no-any-return]


_GROUP = getattr(builtins, "BaseExceptionGroup", ())


def plain_base(cls):
    # type: (Any) -> Any
    """The plain type that a class is a value of: it keeps that type's equality. None for others."""
    for each in type.__dict__["__mro__"].__get__(cls):
        if each in _PLAIN:
            return each
        if "__eq__" in each.__dict__:
            return None
    return None


def _may_be_named(module, name):
    # type: (str, str) -> bool
    if module == "builtins":
        return name in _SHARED
    return module in _SHARED_MODULES and name.isidentifier() and name[:1] != "_"


def _text(reader):
    # type: (Any) -> str
    text = reader.value(0)
    if type(text) is not str:
        raise Garbled("not a text")
    return text


def _is_stdlib(cls):
    # type: (type) -> bool
    """Not a class that the code of this end defines: its module is loaded and has it."""
    loaded = sys.modules.get(cls.__module__)
    return loaded is not None and getattr(loaded, cls.__name__, None) is cls


def _overridden(cls, base):
    # type: (Any, Any) -> list[str]
    """The public methods of a plain base that a class has its own of."""
    found = []  # type: list[str]
    for each in cls.__mro__ if base is not None else ():
        if each is base:
            break
        found += [
            name for name, value in vars(each).items() if name[:1] != "_" and hasattr(base, name) and callable(value)
        ]
    return found


def _stands_for(cls):
    # type: (type) -> str
    """The name of a class of the standard library that its objects may say they are of."""
    if _STANDS_FOR.get(cls.__name__) is cls:
        return cls.__name__
    is_exception = issubclass(cls, BaseException)
    if (is_exception or (cls.__module__ == "re" and cls.__name__ in ("Match", "Pattern"))) and _is_stdlib(cls):
        return "%s:%s" % (cls.__module__, cls.__name__)
    return ""


def _stand_in(text):
    # type: (str) -> Any
    """The class of that name here: of those that have no value of their own, or an exception of a loaded module."""
    module, _, name = text.rpartition(":")
    if not module:
        return _STANDS_FOR.get(name)
    found = getattr(sys.modules.get(module), name, None)
    is_regex = module == "re" and name in ("Match", "Pattern")
    return found if is_regex or (isinstance(found, type) and issubclass(found, BaseException)) else None


_COPY = {
    int: int.__int__,
    float: float.__float__,
    complex: lambda value: complex(value.real, value.imag),
    str: str.__str__,
    bytes: lambda value: bytes(memoryview(value)),
}  # type: dict[Any, Any]

_READ = {
    ord("."): Objects._read_own,
    ord("k"): Objects._read_known_class,
    ord("K"): Objects._read_class,
    ord("G"): Objects._read_shared,
    ord("M"): Objects._read_module,
    ord("o"): Objects._read_object,
    ord("h"): Objects._read_value,
    ord("X"): Objects._read_exception,
}  # type: dict[int, Any]
