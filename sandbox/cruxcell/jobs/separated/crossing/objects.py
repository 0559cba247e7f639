"""Encodes and decodes what is not plain data: objects, classes, exceptions, functions that both halves have.

Each half numbers what it shows to the other and keeps it; the other holds proxies, one for each number as long as
anything refers to it, so that identity is kept. A proxy that goes back is written as its number.
"""

import struct
import sys

from cruxcell.jobs.separated.crossing.by_name import ByName, text_of
from cruxcell.jobs.separated.crossing.classes import (
    AS_PLAIN,
    MUTABLE,
    PLAIN_ONES,
    abstract_bases,
    leave_out,
    may_be_base,
    names_of,
    overridden,
    plain_base,
    public_names,
    register,
    told_bases,
    told_of,
)
from cruxcell.jobs.separated.crossing.exceptions import (
    add_more,
    arguments_of,
    askable_of,
    causes_of,
    constructor_arguments,
    harmless,
    have_causes,
    is_builtin,
    make_exception,
    marked,
    may_make,
    members_of_its_own,
    more_of,
    renewed,
)
from cruxcell.jobs.separated.crossing.numbered import Held, Shown
from cruxcell.jobs.separated.proxies import facts, proxy_classes, remote
from cruxcell.jobs.separated.proxies.deriving import is_derived
from cruxcell.jobs.separated.proxies.libraries import of_libraries
from cruxcell.jobs.separated.proxies.operations import mro_of, own_of
from cruxcell.jobs.separated.proxies.placing import Placing
from cruxcell.jobs.separated.proxies.shared_names import (
    BUILTIN_TYPE,
    ERRORS_ALONE,
    METHOD_TYPE,
    MODULE_TYPE,
    PLAIN,
    STAND_INS,
    is_member,
    is_of_a_package,
    is_stdlib,
    stand_in,
    stands_for,
)
from cruxcell.jobs.separated.rules.by_libraries import GivenBack, Served, comes_along, function_of, is_to_be_served
from cruxcell.namespace import CANDIDATE
from cruxcell.protocol import records
from cruxcell.values.containers import Garbled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Collection  # noqa: F401 - in type comments

MAX_CLASSES = 1 << 12
_numbered = struct.Struct("<cI").pack
_MOST_CAUSES = 20  # of an exception that is raised from others; they may go round in a circle


class Objects:
    """The tables of one half. `is_test`: what is read comes from the candidate, and is believed in nothing."""

    def __init__(self, is_test):
        # type: (bool) -> None
        self.is_test = is_test
        self.shown, self.held = Shown(is_test), Held()
        self.classes = {}  # type: dict[int, type]
        self.is_question = False  # is what is read given to what the script has passed?
        self.is_given = False  # is it given, and not raised?
        self.passing = None  # type: Any  # an error that goes to the other half, and that nothing here refers to
        self.asked = None  # type: Any  # the class of the other half's that gives what is read
        self.in_script = frozenset()  # type: Collection[str]  # of the test's: all that the script names
        self.imports = set()  # type: set[str]  # packages that it imports and that may not be loaded by now
        self.named = []  # type: list[Any]  # of the test's: the classes that came along and that a message named
        self.by_name = ByName(is_test)
        self.serve = None  # type: Any  # of the test's: what calls a function for the other half
        self.hear = None  # type: Any  # of the test's: what is told of bytes that are read
        self.module = CANDIDATE  # what classes of the other half say their module is
        self._is_of_an_error = False  # the class that is read or written next: of an exception, or the base of a class
        self.placing = Placing()

    class_of_proxies = remote.RemoteType
    plain_base = staticmethod(plain_base)

    # ---- writing ---------------------------------------------------------------------------------------------------

    def write(self, writer, value, depth):
        # type: (Any, Any, int) -> None
        value = function_of(value)
        kind = type(value)
        if kind is GivenBack:
            writer.parts.append(b"P")
            writer.items(value.what[1:], 0)
        elif remote.is_class_of_proxies(value) or remote.is_class_of_proxies(kind):
            writer.parts.append(_numbered(b".", facts.number_of(value)))
        elif issubclass(kind, type):
            self._write_class(writer, value)
        elif self._write_by_name(writer, value, kind, depth):
            return
        elif issubclass(kind, BaseException):
            known = self.held.number_of_error(value)
            if known is not None and self.held.is_as_told(value, known):
                self._write_number(writer, b".", known)
                return
            self._write_exception(writer, value, depth, known)
        else:
            self._write_object(writer, value, kind, depth)

    def _write_number(self, writer, tag, number):
        # type: (Any, bytes, int) -> None
        writer.parts.append(_numbered(tag, number))

    def _write_by_name(self, writer, value, kind, depth):
        # type: (Any, Any, type, int) -> bool
        """A function, or a member of an enum, of a library, or a module."""
        if kind is MODULE_TYPE:
            return self.by_name.write_module(writer, value, depth)
        is_named = kind is BUILTIN_TYPE or kind is METHOD_TYPE or is_member(value)
        is_named = is_named or any(value is each for each in STAND_INS)
        return is_named and self.by_name.write(writer, value)

    def _write_class(self, writer, cls, of=""):
        # type: (Any, Any, str) -> None
        """A class, as the number it was described under, by its name, or described. `of`: the class of an "object" or
        of a "value" that follows; that is never named, as the other half makes a class of its own for it. Or that of an
        "error", or a base of a class."""
        if of == "error" and cls.__name__ in ERRORS_ALONE and self.by_name.write(writer, cls, True):
            return
        known = self.shown.known(cls)
        if known in self.shown.along and not of:  # the script passes it
            if self.by_name.write(writer, cls):
                return
            self.shown.along.discard(known)
        if known is not None:
            self._write_number(writer, b"k", known)
            return
        if of in ("", "error") and self.by_name.write(writer, cls):
            return
        base = None if of == "object" else plain_base(cls)
        own = told_bases(cls, (lambda _: None) if self.is_test else self.shown.known)
        bases = [each for each in cls.__bases__ if issubclass(each, BaseException) or each in own]
        if base is not None:
            bases.append(base)
        number = self.shown.show(cls)
        self._write_number(writer, b"K", number)
        if self.is_test and of and comes_along(cls):
            self.shown.along.add(number)
        writer.items((names_of(cls), len(bases)), 0)
        for each in bases:
            self._write_class(writer, each, "error")
        stands = stands_for(cls, self.is_test and (of == "value" or is_of_a_package(cls)))
        offers = [*told_of(cls), *abstract_bases(cls), *(public_names(cls) if self.is_test else of_libraries(cls))]
        writer.items(("\0".join(offers), "\0".join(overridden(cls, base) or members_of_its_own(cls)), stands), 0)

    def _write_object(self, writer, value, kind, depth):
        # type: (Any, Any, type, int) -> None
        base = plain_base(kind) if id(kind) not in PLAIN_ONES else None
        if base is None:
            number = self.shown.show(value)
            if self.shown.kinds is not None:
                self.shown.kinds[number] = kind
            self._write_number(writer, b"o", number)
            self._write_class(writer, kind, "object")
            return
        self._write_number(writer, b"h", self.shown.show(value))
        self._write_class(writer, kind, "value")
        if issubclass(base, MUTABLE):
            number = writer.number(value)
            self._write_number(writer, b"+", number)
            writer.content(value, depth)
        else:
            writer.value(AS_PLAIN[base](value), depth + 1)

    def _write_exception(self, writer, error, depth, known):
        # type: (Any, BaseException, int, int | None) -> None
        """`known`: its number, if it is the other half's, and was changed here."""
        cls = type(error)
        is_kept = self.is_test or not is_builtin(cls) or self.passing is not error
        if known is None:
            self._write_number(writer, b"X", self.shown.show(error) if is_kept else 0)
        else:
            self._write_number(writer, b"Y", known)
        self._write_class(writer, cls, "error")
        arguments = arguments_of(error)
        writer.items((records.message_of(error), len(arguments)), depth)
        writer.items(arguments, depth)
        writer.value(constructor_arguments(error), depth)
        writer.value(more_of(error, self.is_test), depth)
        for each in causes_of(error, self.is_test or depth > _MOST_CAUSES):
            writer.value(each, depth + 1)

    # ---- reading ---------------------------------------------------------------------------------------------------

    def read(self, reader, tag, depth):
        # type: (Any, int, int) -> Any
        return _READ[tag](self, reader, depth)

    def filled(self, value):
        # type: (object) -> None
        """A set or dict was filled, perhaps with what is in the wrong place in it."""
        if self.placing.waiting:
            self.placing.holders.append(value)

    def _read_own(self, reader, _depth):
        # type: (Any, int) -> Any
        number = reader.u32()
        value = self.shown.values[number]
        if number in self.shown.along:
            self.named.append(value)
        return Served(value, self.serve) if self.serve is not None and is_to_be_served(value) else marked(value)

    def _read_known_class(self, reader, _depth):
        # type: (Any, int) -> type
        return self.classes[reader.u32()]

    def _read_by_name(self, reader, _depth):
        # type: (Any, int) -> Any
        is_of_an_error, self._is_of_an_error = self._is_of_an_error, False
        return self.by_name.read(reader, is_of_an_error)

    def _read_class(self, reader, depth):
        # type: (Any, int) -> type
        number = reader.u32()
        if number in self.classes or len(self.classes) >= MAX_CLASSES:
            raise Garbled("a class that cannot be")
        name, count = text_of(reader), reader.value(depth)
        if not 0 <= count <= 64:
            raise Garbled("a class that cannot be")
        bases = tuple([self._base(self._class_of_errors(reader, depth + 1)) for _ in range(count)])
        offers = text_of(reader).split("\0")
        overrides = askable_of(bases, text_of(reader).split("\0"))
        place = text_of(reader)
        self._import_what_the_script_imports(place.partition(":")[0].partition(".")[0])
        stand = stand_in(place, self.is_test, self.in_script)
        if isinstance(stand, type) and issubclass(stand, BaseException):
            self.classes[number] = stand
            return stand
        try:
            made = proxy_classes.make_class(name, number, bases, offers, overrides, stand, self.module)
        except TypeError:  # bases that do not go together here
            made = proxy_classes.make_class(name, number, bases[:1], offers, overrides, stand, self.module)
        self.classes[number] = made
        register(made, offers)
        leave_out(made, bases)
        return made

    def _import_what_the_script_imports(self, package):
        # type: (str) -> None
        """Or the class would be another than the one that the script has of there by and by. One of a package that is
        not loaded it may have from any that it imports (pydantic has what is pydantic_core's)."""
        is_strange = package not in self.imports and package != "" and package not in sys.modules
        for each in sorted(self.imports if is_strange else self.imports & {package}):
            self.imports.discard(each)
            try:
                __import__(each)
            except Exception:
                pass  # the script will be told

    def _class_of_errors(self, reader, depth):
        # type: (Any, int) -> Any
        self._is_of_an_error = True
        try:
            return reader.value(depth)
        finally:
            self._is_of_an_error = False

    def _base(self, cls):
        # type: (Any) -> Any
        if not may_be_base(cls) and not issubclass(cls, (BaseException, remote.RemoteBase)):
            raise Garbled("a base that cannot be")
        return cls

    def _class(self, reader, depth, family):
        # type: (Any, int, Any) -> Any
        cls = reader.value(depth + 1)
        if not remote.is_class_of_proxies(cls) or not issubclass(cls, family):
            raise Garbled("a class that cannot be")
        return cls

    def _read_object(self, reader, depth):
        # type: (Any, int) -> Any
        number, cls = reader.u32(), self._class(reader, depth, remote.RemoteObject)
        found = self.held.find(number)
        if found is not None:
            if type(found) is not cls:
                if not _may_become(found, cls):
                    raise Garbled("an object of another class than before")
                facts.becomes(found, cls)
        else:
            found = self.held.take(number, object.__new__(cls), True)
        facts.has_come(found, self.asked)
        return found

    def _read_value(self, reader, depth):
        # type: (Any, int) -> Any
        """A value with a class of its own."""
        number, cls = reader.u32(), self._class(reader, depth, PLAIN)
        found = self.held.find(number)
        base = plain_base(cls)
        if issubclass(base, MUTABLE):
            if found is not None or reader.take(1) != b"+":
                raise Garbled("a value that cannot be")
            made = self.held.take(number, base.__new__(cls), False)
            return reader.new(made, depth)
        value = reader.value(depth + 1)
        if type(value) is not base:
            raise Garbled("a value that is not what its class says")
        if type(found) is cls:
            return found
        return self.held.take(number, base.__new__(cls, value), False)

    def _read_exception(self, reader, depth):
        # type: (Any, int) -> Any
        number = reader.u32()
        error, cls, causes = self._read_made(reader, depth)
        found = self.held.find(number) if number else None
        if isinstance(found, BaseException) and renewed(found, cls, error, self.held.attributes_told(number)):
            have_causes(found, *causes)
            if not remote.is_class_of_proxies(type(found)):
                self.held.keep_error(number, found)
            return found
        return self.held.take(number, error, True) if number else error

    def _read_changed(self, reader, depth):
        # type: (Any, int) -> Any
        """An error of this half, which the other has changed."""
        found = self.shown.values[reader.u32()]
        error, cls, causes = self._read_made(reader, depth)
        is_one = isinstance(found, BaseException) and is_stdlib(type(found))  # others the owner is told to set
        if not is_one or not renewed(found, cls, error, ()):
            return error
        have_causes(found, *causes)
        return marked(found)

    def _read_made(self, reader, depth):
        # type: (Any, int) -> tuple[Any, Any, tuple[object, object]]
        """An error that is made of what is told of one, its class there, and what it was raised from."""
        cls = self._class_of_errors(reader, depth + 1)
        if not issubclass(cls, BaseException):
            raise Garbled("an exception that cannot be")
        is_given, self.is_given = self.is_given, True  # what is in it, it has not raised
        if self.is_test and is_given:
            cls = harmless(cls, self.is_question)
        text, count = text_of(reader), reader.value(depth)
        if not 0 <= count <= 1 << 16:
            raise Garbled("an exception that cannot be")
        arguments = [reader.value(depth + 1) for _ in range(count)]
        made_of, more = reader.value(depth), reader.value(depth)
        cause, context = reader.value(depth + 1), reader.value(depth + 1)
        self.is_given = is_given
        if made_of is not None and not may_make(made_of, cls):
            if not remote.is_class_of_proxies(cls):  # of a package that is not loaded here
                raise Garbled("an exception that cannot be")
            made_of = None
        error = make_exception(cls, arguments, text, made_of, more, not self.is_test)
        add_more(error, more)
        error = marked(error)
        have_causes(error, cause, context)
        return error, cls, (cause, context)


def _may_become(value, cls):
    # type: (Any, Any) -> bool
    """May an object come to be of this class? It is not equal by that to what it was not noted to hold before, and what
    the script defines in a class is what its objects have."""
    compares = any(name in own_of(each) for each in mro_of(cls)[:-1] for name in _COMPARING)
    return not (compares or any(map(is_derived, (*mro_of(type(value)), *mro_of(cls)))))


_COMPARING = ("__eq__", "__ne__", "__hash__", "__lt__", "__le__", "__gt__", "__ge__")

_READ = {
    ord("."): Objects._read_own,
    ord("k"): Objects._read_known_class,
    ord("K"): Objects._read_class,
    ord("G"): Objects._read_by_name,
    ord("P"): lambda objects, reader, _depth: objects.by_name.read_given_back(reader),
    ord("M"): lambda objects, reader, _depth: objects.by_name.read_module(reader),
    ord("o"): Objects._read_object,
    ord("h"): Objects._read_value,
    ord("X"): Objects._read_exception,
    ord("Y"): Objects._read_changed,
}  # type: dict[int, Any]
