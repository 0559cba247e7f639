"""What a caller may give under a name: rules, which stand in tables, and one sentence for what no rule allows."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cruxbox.errors import InvalidRequest

_MANY_BITS = 100  # of a whole number whose digits nobody reads; Python writes no number of thousands of them


@dataclass(frozen=True)
class Rule:
    """`what` is allowed, as words that follow "must be", and whether a value `holds` that."""

    what: str
    holds: Callable[[Any], bool]

    def or_none(self) -> Rule:
        """The same, or nothing."""
        return Rule(f"{self.what}, or None", lambda value: value is None or self.holds(value))


def of_type(kind: type, what: str) -> Rule:
    """An object of a class."""
    return Rule(what, lambda value: isinstance(value, kind))


def member(kind: type[enum.Enum]) -> Rule:
    """A member of an enumeration."""
    return of_type(kind, f"one of {', '.join(f'{kind.__name__}.{one.name}' for one in kind)}")


def whole(least: int, most: float = math.inf) -> Rule:
    """A whole number of a range."""
    what = f"from {least} to {most}" if most < math.inf else f"of at least {least}"
    return Rule(f"a whole number {what}", lambda value: _is_whole(value) and least <= value <= most)


def seconds(least: float = -math.inf) -> Rule:
    """A time that a clock can wait for."""
    what = "a number of seconds" if least < 0 else f"a number of seconds above {least:g}"
    return Rule(f"{what}, at most 1e9", lambda value: _is_number(value) and least < value <= 1e9)  # NaN is not


def texts_by_name(kind: type) -> Rule:
    """A mapping from names to texts or to bytes."""
    what = f"a mapping of names to {kind.__name__}"
    return Rule(what, lambda value: isinstance(value, Mapping) and _are(value, str) and _are(value.values(), kind))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return _is_whole(value) or isinstance(value, float)


def _are(items: Iterable[Any], kind: type) -> bool:
    return all(isinstance(item, kind) for item in items)


TEXT = of_type(str, "a string")
FLAG = of_type(bool, "True or False")
# An iterator is none: it would be empty when it is read again. Nor is a string, which has its characters for items.
TEXTS = Rule(
    "a list or tuple of strings",
    lambda value: isinstance(value, Sequence) and not isinstance(value, (str, bytes)) and _are(value, str),
)
FUNCTION = Rule("a function", callable)


def check(holder: object, rules: Mapping[str, Rule], prefix: str = "") -> None:
    """InvalidRequest for the first attribute of `holder` that its rule does not allow; `prefix` stands before it."""
    for name, rule in rules.items():
        check_one(f"{prefix}{name}", getattr(holder, name), rule)


def check_one(name: str, value: object, rule: Rule) -> None:
    """InvalidRequest if `rule` does not allow `value`, by what is called `name`."""
    if not rule.holds(value):
        raise InvalidRequest(f"{name} must be {rule.what}, not {shown(value)}.")


def shown(value: object) -> str:
    """The start of `value` in one line, for a sentence."""
    if _is_whole(value) and value.bit_length() > _MANY_BITS:  # type: ignore[attr-defined]
        return f"a number of {value.bit_length()} bits"  # type: ignore[attr-defined]
    try:
        text = " ".join(repr(value).split())
    except Exception:  # whatever its class, or one within, makes of it
        return f"an object of {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:80]}…"
