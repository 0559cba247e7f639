"""Which call a script makes next: while it looks at what one call of a loop over a list gave, the candidate makes the
following one.

One call is asked for ahead, when the answer to the one before it has come: so the candidate learns no argument before
it has said what the calls before gave. It is the message that the script's own call would send. If the script then does
something else, or has changed what both sides know, nothing is concluded: the script is run again, call by call.

That the candidate works meanwhile must not be seen. So a script asks ahead only if all that it imports is known not to
look at clocks, threads or the process.
"""

import opcode
from sys import _getframe

from cruxcell.analysis.bytecode import Anatomy, names_of
from cruxcell.analysis.parsing import CHECK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_STREAK = 3  # calls in the order of a list, before one is asked for ahead
_NEAR = 4  # items at the beginning of a list among which those of a loop's first calls are looked for
_IMPORTS = frozenset([opcode.opmap["IMPORT_NAME"]])
_LOOK_AT_NOTHING_ELSE = frozenset(
    [
        "bisect", "cmath", "collections", "copy", "decimal", "fractions", "functools", "heapq", "itertools", "json",
        "math", "numpy", "operator", "re", "statistics", "string", "typing",
    ]
)  # fmt: skip
# What imports in other ways, reads a clock (numpy has one), meets the candidate elsewhere, or hears what goes.
_LOOK_AT_MORE = frozenset(
    [
        "__del__", "__import__", "__builtins__", "__loader__", "__spec__", "builtins", "compile", "ctypes", "ctypeslib",
        "datetime64", "eval", "exec", "f2py", "globals", "import_module", "input", "locals", "modules", "open", "os",
        "sys", "testing", "threading", "time", "vars",
    ]
)  # fmt: skip


def may_ask_ahead(script):
    # type: (Any) -> bool
    """Does the code of a script import, and name, nothing that could tell it when the candidate does something?"""
    imported = [name.partition(".")[0] for name in names_of(script, _IMPORTS)]
    return _LOOK_AT_NOTHING_ELSE.issuperset(imported) and _LOOK_AT_MORE.isdisjoint(Anatomy(script).all_names)


class Ahead:
    """Follows the calls of a script. `sent` is the one that was asked for ahead and is not made yet: its function and
    arguments."""

    def __init__(self):
        # type: () -> None
        self.sent = None  # type: tuple[Any, tuple[Any, ...]] | None
        self._function = self._items = None  # type: Any
        self._at = self._streak = 0
        self._is_spread = False  # is it `f(*item)`, or `f(item)`?

    def forget(self):
        # type: () -> None
        """The next call is the first of a loop, as far as is known."""
        self._function = self._items = None
        self._streak = 0

    def follow(self, operation, fields):
        # type: (str, list[Any]) -> None
        """The script asks for this."""
        if operation != "call" or fields[1] or len(fields) < 3:
            self.forget()
            return
        function, arguments = fields[0], tuple(fields[2:])
        if function is not self._function:
            self.forget()
            self._function = function
        elif _are_same(arguments, self._arguments(self._at + 1)):
            self._at += 1
            self._streak += 1
        else:
            self._streak = 0
            self._find(arguments)

    def _find(self, arguments):
        # type: (tuple[Any, ...]) -> None
        """Look for the arguments among the first items of a list that the calling function of the script has."""
        self._items = None
        frame = _getframe(1)  # type: Any
        while frame is not None and frame.f_code.co_filename != CHECK:
            frame = frame.f_back
        for value in _values_of(frame):
            if type(value) is list:
                for self._is_spread in (True, False):
                    for self._at in range(_NEAR):
                        self._items = value
                        if _are_same(arguments, self._arguments(self._at)):
                            return
        self._items = None

    def _arguments(self, at):
        # type: (int) -> tuple[Any, ...] | None
        """Those of the call with the item at this place."""
        if self._items is None or at >= len(self._items):
            return None
        item = self._items[at]
        if not self._is_spread:
            return (item,)
        return tuple(item) if type(item) in (list, tuple) else None

    def next(self):
        # type: () -> tuple[Any, tuple[Any, ...]] | None
        """The function and arguments of the call that the script makes next, if that is known."""
        arguments = self._arguments(self._at + 1) if self._streak >= _STREAK else None
        return (self._function, arguments) if arguments else None

    def is_sent(self, operation, fields):
        # type: (str, list[Any]) -> bool
        """Is this what was asked for ahead? It is no longer, in any case."""
        sent, self.sent = self.sent, None
        if sent is None or operation != "call" or fields[1] or fields[0] is not sent[0]:
            return False
        self.follow(operation, fields)
        return _are_same(tuple(fields[2:]), sent[1])


def _values_of(frame):
    # type: (Any) -> list[Any]
    """What the variables of a frame stand for. Nothing remembers them: up to Python 3.12 a function's frame would keep
    what it was asked for, and so objects of the candidate that the script has let go of."""
    if frame is None:
        return []
    found = frame.f_locals
    values = list(found.values())
    if frame.f_code.co_flags & _OPTIMIZED and type(found) is dict:
        found.clear()
    return values


_OPTIMIZED = 1  # a function's code: its variables are no dict


def _are_same(arguments, others):
    # type: (tuple[Any, ...], tuple[Any, ...] | None) -> bool
    """Are they the same objects?"""
    if not arguments or others is None or len(arguments) != len(others):
        return False
    return all(map(_is, arguments, others))


_is = __import__("_operator").is_
