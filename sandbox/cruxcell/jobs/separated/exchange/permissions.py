"""What the candidate may ask of the test, and how that is done for it."""

from cruxcell.jobs.separated.crossing.classes import without_class
from cruxcell.jobs.separated.crossing.exceptions import answered
from cruxcell.jobs.separated.exchange.one_thread import QUESTION
from cruxcell.jobs.separated.proxies.operations import data_of, is_a_mock, is_class, may_get, may_set, shown
from cruxcell.jobs.separated.proxies.signatures import init_of, is_function
from cruxcell.jobs.separated.rules.by_libraries import (
    CLASS_GIVEN,
    FORMAT_GIVEN,
    NAME_GIVEN,
    GivenBack,
    Setting,
    formats_nothing,
    function_of,
    is_plain_there,
    names_a_special,
    reaches,
)
from cruxcell.jobs.separated.rules.memory import may_be_told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_BOUND = type(answered.__get__(1))  # of a method that has its object
_TELLS = (repr, str, format)
_SETTING = Setting()


def run(function, arguments, keywords):
    # type: (Any, list[Any], dict[str, Any]) -> Any
    """What the candidate asks of the test."""
    if function is getattr and arguments[1] == "__dict__":
        return data_of(arguments[0])
    told = shown(arguments[0]) if any(function is each for each in _TELLS) else ""  # it may have an __eq__
    if told:
        return told
    with _SETTING:
        return function(*arguments, **keywords)


def may(objects, operation, target, rest):
    # type: (Any, str, Any, list[Any]) -> bool
    """May it do this with something of the test's? It may call, and use, what it was handed; never what leads from
    there to the script."""
    if objects.shown.has_come_along(target):
        return operation == "fields" or (operation == "get" and is_plain_there(target, rest[0]))
    if operation == "set" and is_a_mock(target):  # an IntEnum, say, would answer in the place of a mock
        rest[1:] = map(without_class, rest[1:])
    if operation == "get" and rest[0] == "__self__" and type(target) is _BOUND:
        return target.__self__ in objects.shown  # whose method it is, the program knows
    if operation in ("get", "set", "del"):
        allowed = may_get if operation == "get" else may_set
        return type(rest[0]) is str and allowed(target, *rest) and may_be_told(operation, target, rest)
    if operation == "fields":
        return is_class(target)
    if operation == "outline":
        return is_function(target) or (is_class(target) and init_of(target) is not None)
    return operation in ("call", "special", "copy")


def reason_against(objects, data, message):
    # type: (Any, bytes, tuple[bytes, int, list[Any]]) -> str
    """Why a message (as decoded from `data`) must not be heard; empty if it may. Its values become those that the
    script is given.

    Of a class that came along with an object the candidate may ask for its data, and give it to nobody."""
    kind, _, values = message
    if kind != QUESTION:
        values[:] = [each.what if type(each) is GivenBack else each for each in values]
    for at in (1, 2) if kind == QUESTION else (0,):  # what it asks of, or gives the script, it does not have served
        values[at : at + 1] = map(function_of, values[at : at + 1])
    targets = values[1:3] if kind == QUESTION else []  # a thread's number may be before them
    given = [each for each in objects.named if not any(each is one for one in targets)]
    if given or len(objects.named) > 1:
        return CLASS_GIVEN % str(objects.named[0].__name__)
    calls = [at for at, each in enumerate(values[:2]) if type(each) is str and each == "call"] if b"__" in data else []
    if kind == QUESTION and any(names_a_special(values[at + 1 : at + 2], values[at + 2 :]) for at in calls):
        return NAME_GIVEN
    formatted = [each for each in targets if each in objects.shown] if kind == QUESTION and reaches(data) else []
    return "" if all(map(formats_nothing, formatted)) else FORMAT_GIVEN
