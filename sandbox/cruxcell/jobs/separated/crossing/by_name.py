"""What both halves have crosses by its name: functions, classes and members of enums of libraries, and modules."""

from cruxcell.jobs.separated.proxies.shared_names import (
    ERRORS_ALONE,
    MODULE_TYPE,
    found_at,
    imported,
    is_shared,
    may_be_named,
    path_of,
)
from cruxcell.jobs.separated.rules.by_libraries import GivenBack
from cruxcell.namespace import CANDIDATE
from cruxcell.values.containers import Garbled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments


class ByName:
    """`is_test`: this is the test's half, which lets the other name little, and says what it has passed."""

    def __init__(self, is_test):
        # type: (bool) -> None
        self._is_test = is_test
        # What the test has passed, by its name; of the candidate's, by its address.
        self._passed = {}  # type: dict[tuple[str, str], Any]
        self._places = {}  # type: dict[int, tuple[Any, str, str]]
        self.program = None  # type: Any  # of the test's: the namespace of the module that the candidate's program is

    def write(self, writer, value, is_of_an_error=False):
        # type: (Any, Any, bool) -> bool
        """If the other half has the same under that name. `is_of_an_error`: the class of one that follows."""
        module, name = path_of(value)
        is_refused = name in ERRORS_ALONE and not (self._is_test or is_of_an_error)
        if is_refused or found_at(imported(module), name) is not value:
            return False
        if self._is_test or (may_be_named(module, name) and is_shared(module, name, value)):
            if self._is_test:
                self._passed[module, name] = value
            writer.parts.append(b"G")
            writer.items((module, name), 0)
            return True
        return False

    def write_module(self, writer, module, depth):
        # type: (Any, Any, int) -> bool
        """Of the test's, but none that the script has made, which is an object."""
        name = CANDIDATE if module.__dict__ is self.program else str(module.__name__)
        if not self._is_test or (name != CANDIDATE and imported(name) is not module):
            return False
        writer.parts.append(b"M")
        writer.value(name, depth)
        return True

    def read(self, reader, is_of_an_error):
        # type: (Any, bool) -> Any
        module, name = text_of(reader), text_of(reader)
        if self._is_test and not (may_be_named(module, name) and (is_of_an_error or name not in ERRORS_ALONE)):
            raise Garbled("a name that may not be asked for")
        found = found_at(__import__(module, None, None, ["*"]), name)
        if type(found) is MODULE_TYPE:
            raise Garbled("a module")
        if self._is_test and not is_shared(module, name, found):
            raise Garbled("a name that may not be asked for")
        if not self._is_test:
            self._places[id(found)] = (found, module, name)
        return found

    def read_module(self, reader):
        # type: (Any) -> Any
        if self._is_test:
            raise Garbled("a module")
        return __import__(text_of(reader), None, None, ["*"])

    def answered(self, value):
        # type: (Any) -> Any
        """Of the candidate's: a value that it answers with, or what says that it is what the test has passed."""
        return GivenBack(self._places[id(value)]) if id(value) in self._places else value

    def read_given_back(self, reader):
        # type: (Any) -> GivenBack
        return GivenBack(self._passed[text_of(reader), text_of(reader)])


def text_of(reader):
    # type: (Any) -> str
    text = reader.value(0)
    if type(text) is not str:
        raise Garbled("not a text")
    return text
