"""What a value is in another form: the numbers and words in a text, another type of number, the fields of a date, the
text of a path."""

from cruxcell.jobs.separated.proxies.operations import package_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

_LONGEST = 200
_SEPARATORS = frozenset(" .,:/-_")
_OF_TIMES = ("hour", "minute", "second")
_OF_DATES = ("year", "month", "day")
# The numbers of which a value of the library's is made.
_FIELDS = {
    ("builtins", "complex"): ("real", "imag"),
    ("builtins", "range"): ("start", "stop", "step"),
    ("datetime", "date"): _OF_DATES,
    ("datetime", "datetime"): (*_OF_DATES, *_OF_TIMES),
    ("datetime", "time"): _OF_TIMES,
    ("datetime", "timedelta"): ("days", "seconds", "microseconds"),
    ("fractions", "Fraction"): ("numerator", "denominator"),
    ("pandas", "Timestamp"): (*_OF_DATES, *_OF_TIMES),
}  # type: dict[tuple[str, str], tuple[str, ...]]
# What is made of a text, and gives that again.
_TEXTS = {
    ("re", "Pattern"): lambda pattern: pattern.pattern,
    **dict.fromkeys([("pathlib", "PosixPath"), ("pathlib", "PurePosixPath"), ("uuid", "UUID")], str),
    **dict.fromkeys([("ipaddress", name % v) for name in ("IPv%dAddress", "IPv%dNetwork") for v in (4, 6)], str),
}  # type: dict[tuple[str, str], Any]
_NUMBERS = frozenset([("builtins", "int"), ("builtins", "float"), ("decimal", "Decimal")])


def all_shown(values, held):
    # type: (list[Any], list[Any]) -> bool
    """Is each of the values, in one of its forms, among what is held?"""
    words = set().union(*[reading for each in held for reading in readings_of(each)])  # type: set[Any]
    return all(any(reading <= words for reading in readings_of(each)) for each in values)


def text_of(value):
    # type: (Any) -> str | None
    """The text of what is made of one and gives that again; None of all else."""
    read = _TEXTS.get(_name_of(type(value)))
    return None if read is None else read(value)


def readings_of(value):
    # type: (Any) -> list[set[Any]]
    """The forms of a value, each as the numbers and words in it; none of what has no other form."""
    kind = type(value)
    if kind is str:
        return [{value}, *_readings_of_text(value.strip())] if len(value) <= _LONGEST else []
    name, text = _name_of(kind), text_of(value)
    if text is not None:
        return [{text}]
    if name not in _NUMBERS and name not in _FIELDS:
        return []
    parts = [getattr(value, each) for each in _FIELDS[name]] if name in _FIELDS else [value]
    numbers = {_number(str(each)) for each in parts}  # type: set[Any]
    found = [] if None in numbers else [numbers]
    return [{value}, *found] if name == ("fractions", "Fraction") else found


def _name_of(kind):
    # type: (type) -> tuple[str, str]
    return package_of(kind), kind.__name__


def _readings_of_text(text):
    # type: (str) -> list[set[Any]]
    found, number = [], _number(text)
    if number is not None:
        found.append({number})
    pieces = "".join([" " if each in _SEPARATORS else each for each in text]).split()
    # A sign, or a mark that is not between two words, would be lost.
    if pieces and all(map(str.isalnum, pieces)) and text[0].isalnum():
        found.append({each.casefold() if _number(each) is None else _number(each) for each in pieces})
    return found


def _number(text):
    # type: (str) -> Any
    """Equal ones are one and the same; None of what is no number."""
    decimal = __import__("decimal")  # type: Any
    try:
        number = decimal.Decimal(text)
    except (ArithmeticError, ValueError):
        return None
    return number if number.is_finite() else None
