"""What a test took for different, though a class of the program's may say that it is equal.

The test does not ask such a class: the question would hold what may be expected. A script that looks whether things are
different would pass with any class. So when a script is through, the class is asked: then nothing is left that it could
use what it hears for.
"""

import builtins

from cruxcell.jobs.separated.proxies.facts import is_opaque
from cruxcell.jobs.separated.proxies.operations import is_class, mro_of, own_of
from cruxcell.jobs.separated.proxies.shared_names import is_stdlib
from cruxcell.values.canonical import NotPlain, TooLarge, canon
from cruxcell.values.containers import CONTAINERS
from cruxcell.values.equals import module_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable  # noqa: F401 - in type comments

_MOST, _MOST_IN_ALL = 64, 1_024  # comparisons that are asked about, of a test and of a script
_MOST_BYTES, _MOST_PARTS = 1 << 12, 64  # of what is compared with
# Whose classes know their own values alone: what else equals one, the other class says.
_OF_VALUES = frozenset(["collections", "datetime", "decimal", "fractions", "re", "uuid"])
_OWN = "cruxcell."
_BUILTINS = frozenset(map(id, vars(builtins).values()))


class Doubts:
    """Of one script, which alone is heard: the harness compares for reasons of its own. `test()`: the name of the test
    of a suite that is under way."""

    def __init__(self, test=None):
        # type: (Callable[[], str] | None) -> None
        self._test = test or str
        self._whys = {}  # type: dict[str, str]  # by tests
        self._pairs = []  # type: list[tuple[str, Any, Any, str]]

    def says_equal(self, one, frame):
        # type: (object, Any) -> None
        """Its class says that it equals another of it, which the test does not find. `frame`: who compares."""
        if not is_of_the_harness(frame):
            self._whys.setdefault(self._test(), _BY_WORD % type(one).__name__)

    def are_different(self, one, other, frame, how="__eq__"):
        # type: (object, object, Any, str) -> None
        """They were taken for that, without asking the class of `one`."""
        # A script may look for one of two that are equal, and finds it.
        is_foreign = type(other) is not type(one) or is_class(one)
        if is_foreign and self._has_room() and not is_of_the_harness(frame) and _may_cross(other):
            self._pairs.append((self._test(), one, other, how))

    def _has_room(self):
        # type: () -> bool
        count = len(self._pairs)
        return count < _MOST or (count < _MOST_IN_ALL and self._pairs[-_MOST][0] != self._test())

    def left(self):
        # type: () -> dict[str, str]
        """The script ends in its midst, and nobody is asked any more."""
        whys = dict(self._whys)
        for test, one, other, _ in self._pairs:
            whys.setdefault(test, _UNASKED % (type(one).__name__, type(other).__name__))
        return whys

    def clear_up(self, link):
        # type: (Any) -> dict[str, str]
        """The script is through. Why it does not pass, by tests that the doubts are of."""
        whys, pairs = self._whys, self._pairs
        self._whys, self._pairs = {}, []
        for test, one, other, how in pairs:
            why = "" if test in whys else _why_not(link, one, other, how)
            if why:
                whys[test] = why
        return whys


def _why_not(link, one, other, how):
    # type: (Any, object, object, str) -> str
    try:
        is_equal = bool(link.ask("special", one, how, other)) is (how == "__eq__")  # that of an array raises
    except Exception as error:
        return _RAISES % (type(one).__name__, type(other).__name__, type(error).__name__)
    return _EQUAL % (type(one).__name__, type(other).__name__) if is_equal else ""


def is_bare(other):
    # type: (object) -> bool
    """Is it an `object()`, or of a class of the script's that leaves to `object` what is equal?"""
    classes = mro_of(type(other))
    own = [each for each in classes if each is not object]
    is_the_script_s = all(type(each) is type and own_of(each).get("__module__") == "__main__" for each in own)
    return is_the_script_s and not any(name in own_of(each) for each in own for name in ("__eq__", "__ne__"))


def has_nothing_to_say(other):
    # type: (object) -> bool
    """Is it `is_bare`, or a value of the library's, which leaves it to other classes what equals it?"""
    kind = type(other)
    is_a_value = type(kind) is type and module_of(kind) in _OF_VALUES and is_stdlib(kind) and _is_data(other)
    return is_a_value or is_bare(other)


def is_of_the_harness(frame):
    # type: (Any) -> bool
    return str(frame.f_globals.get("__name__")).startswith(_OWN)


def _may_cross(other):
    # type: (object) -> bool
    """Is it an object that compares nothing, a class that is known there, or plain data, and of no size? Or a container
    of such, in containers or not?"""
    pending = [other]  # type: list[Any]
    for each in pending:
        if type(each) not in CONTAINERS:
            if not _may_cross_alone(each):
                return False
        elif len(pending) + len(each) > _MOST_PARTS:
            return _is_data(other)
        else:
            pending += [*each.keys(), *each.values()] if type(each) is dict else each
    return True


def _may_cross_alone(other):
    # type: (object) -> bool
    if is_class(other):
        return "_remote_class" in own_of(other) or id(other) in _BUILTINS
    return is_opaque(other) or "_remote_class" in own_of(type(other)) or is_bare(other) or _is_data(other)


def _is_data(other):
    # type: (object) -> bool
    try:
        canon(other, _MOST_BYTES)
    except (NotPlain, TooLarge):
        return False
    return True


_BY_WORD = (
    "the script took two objects of class %s for different, of which the class says that they are equal, and what they"
    " were made of does not show it: compare their attributes, or require IN_PROCESS"
)
_EQUAL = "the script took a %s and a %s for different, of which the program says that they are equal"
_UNASKED = "the script took a %s and a %s for different, and ended before the program was asked"
_RAISES = "the script took a %s and a %s for different, of which to compare them raises %s in the program"
