"""Which pairs are kept: the rules of the paper, those of the released code, and those of a file of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from cruxbox.building.toml_file import file_of, read_toml
from cruxbox.errors import DataError
from cruxbox.filtering import reasons
from cruxbox.model import Limits, StepCount

# What a server can be asked for.
_MOST = {"max_steps": (1 << 63) - 1, "max_megabytes": (1 << 43) - 1}

FORBIDDEN = (
    "import ", "__builtins__", "__builtin__", "globals()", "open(", "exec(", "eval(", "input(", "hash(", "set(",
    "locals()",
)  # fmt: skip


@dataclass(frozen=True)
class Rules:
    """What is refused, and the numbers that go with it.

    Args:
        name: what the rules are called.
        refuse: names of `reasons`; those that leave no output to keep are always refused.
        forbidden: texts that neither function nor input may hold (FORBIDDEN_TEXT).
        min_chars, max_chars: length of function and input together, as `code + "\\nassert f(" + input + ") =="`.
        max_steps: steps a pair may take; 0 is the server's default.
        max_seconds: CPU time it may take.
        max_megabytes: memory it may take, in MiB. 0 is the server's default. The paper says nothing of memory.
        count: what a step is.
        nested_calls: f may stand inside its own arguments, `f(f(1))`; else that is CALL_SHAPE.
    """

    name: str
    refuse: frozenset[str]
    forbidden: tuple[str, ...] = FORBIDDEN
    min_chars: int = 75
    max_chars: int = 300
    max_steps: int = 100_000
    max_seconds: float = 2.0
    max_megabytes: int = 64
    count: StepCount = StepCount.INSTRUCTIONS
    nested_calls: bool = False

    @property
    def repeat(self) -> int:
        """How often a pair is run: under two hash seeds if it must be deterministic."""
        return 2 if "NONDETERMINISTIC" in self.refuse else 1

    @property
    def limits(self) -> Limits:
        """The limits of one run."""
        return Limits(
            cpu_ms=max(1, round(self.max_seconds * 1000)),
            memory_bytes=self.max_megabytes << 20,
            steps=self.max_steps,
        )

    def with_limits(self, limits: Limits) -> Rules:
        """The same rules with the limits of CPU time, memory and steps that `limits` has (0: the rules' own)."""
        return replace(
            self,
            max_seconds=limits.cpu_ms / 1000 if limits.cpu_ms else self.max_seconds,
            max_megabytes=-(-limits.memory_bytes // (1 << 20)) if limits.memory_bytes else self.max_megabytes,
            max_steps=limits.steps or self.max_steps,
        )

    def as_dict(self) -> dict[str, Any]:
        """As JSON: equal rules give equal objects."""
        return {
            **asdict(self),
            "refuse": sorted(self.refuse),
            "forbidden": list(self.forbidden),
            "count": self.count.name,
        }


_SHARED = frozenset(["UNPRINTABLE", "FORBIDDEN_TEXT", "IMPORT_NAME", "CALL_SHAPE", "OUTPUT_SHAPE", "UNINSPECTED"])
_SHARED |= frozenset(reasons.OPERANDS) | reasons.ALWAYS

PAPER = Rules("paper", _SHARED | {"LENGTH", "UNUSED_ARGUMENT", "NONDETERMINISTIC", "DUPLICATE"})
RELEASED = Rules("released", _SHARED | {"LIBRARY_CODE", "EXCEPTION_EVENT"}, count=StepCount.EVENTS, nested_calls=True)
BUILT_IN: Mapping[str, Rules] = {rules.name: rules for rules in (PAPER, RELEASED)}


def load_rules(name: str) -> Rules:
    """The rules called "paper" or "released", or those of a TOML file.

    Args:
        name: "paper", "released", or the name of a file that ends in .toml.

    Returns:
        The rules. A file says what differs from its `base`: `add` and `remove` (lists of reasons), and any of
        `forbidden`, `min_chars`, `max_chars`, `max_steps`, `max_seconds`, `max_megabytes`, `nested_calls` and `count`
        ("instructions" or "events").

    Raises:
        DataError: the name is not known, or the file is wrong; one sentence that names file and key.
    """
    if name in BUILT_IN:
        return BUILT_IN[name]
    path = file_of(name)
    if path is None:
        raise DataError(f"rules {name!r} are not known; they are {', '.join(BUILT_IN)} or the name of a .toml file")
    values = read_toml(path)
    base = values.pop("base", "paper")
    if base not in BUILT_IN:
        raise DataError(f"{name}: base is {base!r}; allowed are {', '.join(BUILT_IN)}")
    rules = replace(BUILT_IN[base], name=path.stem)
    added, removed = (_reasons(name, key, values.pop(key, [])) for key in ("add", "remove"))
    rules = replace(rules, refuse=(rules.refuse | added) - removed | reasons.ALWAYS)
    known = [item.name for item in fields(Rules) if item.name not in ("name", "refuse")]
    for key, value in values.items():
        if key not in known:
            raise DataError(f"{name}: {key!r} is not a rule; known are base, add, remove, {', '.join(known)}")
        changed: Any = {key: _READERS[key](name, key, value)}
        rules = replace(rules, **changed)
    if rules.count is not StepCount.EVENTS and rules.refuse & set(reasons.EVENTS):
        raise DataError(f'{name}: {", ".join(sorted(reasons.EVENTS))} are only known with count = "events"')
    if rules.min_chars > rules.max_chars:
        raise DataError(f"{name}: min_chars is {rules.min_chars}, above max_chars, which is {rules.max_chars}")
    return rules


def _reasons(name: str, key: str, value: object) -> frozenset[str]:
    texts = frozenset(_texts(name, key, value))
    for text in sorted(texts - set(reasons.SENTENCES)):
        raise DataError(f"{name}: {key} has {text!r}, which is no reason; known are {', '.join(reasons.SENTENCES)}")
    return texts


def _texts(name: str, key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str) or not all(isinstance(item, str) for item in value):
        raise DataError(f"{name}: {key} must be a list of strings, is {value!r:.60}")
    return tuple(value)


def _whole(name: str, key: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise DataError(f"{name}: {key} must be a whole number from 0 up, is {value!r:.60}")
    most = _MOST.get(key)
    if most is not None and value > most:
        raise DataError(f"{name}: {key} must be at most {most}, is {value if value < 1 << 80 else 'larger'}")
    return value


def _number(name: str, key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e6:
        raise DataError(f"{name}: {key} must be a number of seconds above 0, is {value!r:.60}")
    return float(value)


def _count(name: str, key: str, value: object) -> StepCount:
    if not isinstance(value, str) or value.upper() not in StepCount.__members__:
        raise DataError(f"{name}: {key} is {value!r:.60}; allowed are instructions and events")
    return StepCount[value.upper()]


def _yes_or_no(name: str, key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise DataError(f"{name}: {key} must be true or false, is {value!r:.60}")
    return value


_READERS = {
    "forbidden": _texts,
    "min_chars": _whole,
    "max_chars": _whole,
    "max_steps": _whole,
    "max_seconds": _number,
    "max_megabytes": _whole,
    "count": _count,
    "nested_calls": _yes_or_no,
}
