"""The objects that one half numbers for the other, and the proxies that it holds for those of the other."""

import _weakref

from cruxcell.jobs.separated.crossing.exceptions import arguments_of
from cruxcell.jobs.separated.proxies import facts, remote
from cruxcell.jobs.separated.proxies.runs import LINK
from cruxcell.jobs.separated.rules.memory import NOT_GIVEN, reaches_memory
from cruxcell.protocol import records
from cruxcell.values.canonical import TooLarge
from cruxcell.values.containers import Garbled, alone

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Collection, Container  # noqa: F401 - in type comments

MAX_OBJECTS = 1 << 17


class Shown:
    """What this half has shown to the other, which is kept until that lets go of it."""

    def __init__(self, is_test):
        # type: (bool) -> None
        self._is_test = is_test
        self.values = {}  # type: dict[int, Any]  # by their numbers
        self._numbers = {}  # type: dict[Any, int]  # by their addresses
        self._last = 0
        # Of a candidate's that sets `__class__`: which class was told of an object, by the object's number.
        self.kinds = None  # type: dict[int, Any] | None
        # Of the test's: classes that the other half knows as those of objects alone.
        self.along = set()  # type: set[int]

    def __contains__(self, value):
        # type: (object) -> bool
        return facts.address_of(value) in self._numbers

    def known(self, value):
        # type: (object) -> int | None
        """Its number, if it was shown."""
        return self._numbers.get(facts.address_of(value))

    def show(self, value):
        # type: (object) -> int
        """The number of an object of this half, which is kept from now on."""
        address = facts.address_of(value)
        number = self._numbers.get(address)
        if number is None:
            if len(self.values) >= MAX_OBJECTS:
                raise TooLarge("the number of objects shown to the other half")
            if self._is_test and reaches_memory(value):
                LINK[0].refuse(NOT_GIVEN % type(value).__name__)
            self._last = number = self._last + 1
            self.values[number] = value
            self._numbers[address] = number
        return number

    def of_other_classes(self):
        # type: () -> tuple[Any, ...]
        """The objects that are of another class by now than was told."""
        kinds = self.kinds or {}
        return tuple([self.values[number] for number in kinds if type(self.values[number]) is not kinds[number]])

    def has_come_along(self, value):
        # type: (object) -> bool
        """Is it a class of a library, which the script has not passed but with objects?"""
        return self.known(value) in self.along

    def release(self, numbers):
        # type: (list[int]) -> list[Any]
        """The other half has let go of these, whose finalizers may ask for something."""
        values = [self.values.pop(number, None) for number in numbers]
        for number, value in zip(numbers, values):
            self.along.discard(number)
            if self.kinds is not None:
                self.kinds.pop(number, None)
            if self.known(value) == number:
                del self._numbers[facts.address_of(value)]
        return values


class Held:
    """The proxies of this half, one for each number of the other's."""

    def __init__(self):
        # type: () -> None
        self._living = {}  # type: dict[int, Any]  # opaque ones, as long as anything refers to them
        self._kept = {}  # type: dict[int, Any]
        # Errors of classes that know no weak references, each with its `args` and attributes as they came.
        self._errors = {}  # type: dict[int, list[Any]]
        self._numbers_of_errors = {}  # type: dict[int, int]  # by their addresses: a copy of one is another
        self.dead = {}  # type: dict[int, None]  # what the other half is to be told

    def find(self, number):
        # type: (int) -> Any
        """The proxy there is for an object, if there is one."""
        if number in self._kept:
            return self._kept[number]
        if number in self._errors:
            return self._errors[number][0]
        reference = self._living.get(number)
        return reference() if reference is not None else None

    def number_of_error(self, error):
        # type: (BaseException) -> int | None
        """The other half's number of an error that came from there."""
        return self._numbers_of_errors.get(id(error))

    def is_as_told(self, error, number):
        # type: (BaseException, int) -> bool
        """Is an error of the other half's as it came from there?"""
        return _is_as_told(error, *self._errors[number][1:])

    def attributes_told(self, number):
        # type: (int) -> Collection[str]
        """The names of those that an error of the other half's came with."""
        return self._errors[number][2] if number in self._errors else _OF_PROXIES

    def numbers(self):
        # type: () -> Collection[int]
        """Those of the opaque objects that this half holds."""
        return self._living.keys()

    def present(self, with_values=False, but=()):
        # type: (bool, Container[int]) -> list[Any]
        """The proxies of opaque objects that this half holds, without those of some numbers; values with a class of
        their own, too."""
        numbers = list(self._living)  # in one step: between two, garbage may be collected that refers to some
        found = [self.find(number) for number in numbers if number not in but]
        values = [*self._kept.values(), *[entry[0] for entry in self._errors.values()]] if with_values else []
        return [each for each in found if each is not None] + values

    def take(self, number, value, weak):
        # type: (int, Any, bool) -> Any
        if len(self._living) + len(self._kept) + len(self._errors) >= MAX_OBJECTS:
            raise Garbled("more objects than may be")
        self.dead.pop(number, None)
        if weak and not remote.is_class_of_proxies(type(value)):
            self.keep_error(number, value)
            return value
        facts.give_number(value, number)
        if weak:
            self._living[number] = _weakref.ref(value, lambda _: self._died(number))
        else:
            self._kept[number] = value
        return value

    def keep_error(self, number, error):
        # type: (int, BaseException) -> None
        """As it is now, it is what the other half has by this number."""
        if number in self._errors:  # it may have become another
            self._numbers_of_errors.pop(id(self._errors[number][0]), None)
        attributes = dict(records.dict_of(error))
        if type(attributes.get(_NOTES)) is list:  # which gets more
            attributes[_NOTES] = list(attributes[_NOTES])
        self._errors[number] = [error, arguments_of(error), attributes]
        self._numbers_of_errors[id(error)] = number

    def sweep(self):
        # type: () -> list[Any]
        """Let go of the errors that nothing but this table refers to any more: one keeps the frames that it went
        through, and all that these hold."""
        gone = alone(self._errors)
        self.dead.update(dict.fromkeys(gone))
        errors = [self._errors.pop(number)[0] for number in gone]
        for each in errors:
            del self._numbers_of_errors[id(each)]
        return errors

    def _died(self, number):
        # type: (int) -> None
        reference = self._living.get(number)
        if reference is not None and reference() is None:
            del self._living[number]
            self.dead[number] = None


_NOTES = "__notes__"
_OF_PROXIES = ("_remote_repr",)  # the others are set here


def _is_as_told(error, arguments, attributes):
    # type: (BaseException, object, dict[str, Any]) -> bool
    """Has an error these `args` and attributes? None of them is asked what it equals."""
    own = records.dict_of(error)
    if arguments_of(error) is not arguments or own.keys() != attributes.keys():
        return False
    return all(
        own[name] == told if name == _NOTES and type(own[name]) is list else own[name] is told
        for name, told in attributes.items()
    )
