"""Generated CRUXEval-like work: programs, calls, and what each call really gives.

Everything is a function of (seed, index), so a run can be repeated, cut and shared out, and 10**6 checks need the
memory of one. The true outputs come from running our own templates here; the kinds that must not run here (LOOPS,
STALLS, HOGS) are never run.
"""

from __future__ import annotations

import enum
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import cycle, islice

from bench import templates

SHORTEST, LONGEST = 75, 300  # of the code with its assertion, as CRUXEval cuts it
MAX_EXPECTED = 300


class Kind(enum.Enum):
    """What becomes of a check. WRONG is a good program with a wrong `expected`."""

    GOOD = "good"
    WRONG = "wrong"
    RAISES = "raises"
    LOOPS = "loops"
    STALLS = "stalls"
    HOGS = "hogs"


# Shares, not percentages. HONEST is what every method can take; REAL is near what published generations look like
# (26 of 8,000 stall).
HONEST: Mapping[Kind, float] = {Kind.GOOD: 55, Kind.WRONG: 35, Kind.RAISES: 10}
REAL: Mapping[Kind, float] = {**HONEST, Kind.LOOPS: 0.2, Kind.STALLS: 0.05, Kind.HOGS: 0.05}

_ENDINGS = {
    Kind.RAISES: templates.RAISES,
    Kind.LOOPS: templates.LOOPS,
    Kind.STALLS: templates.STALLS,
    Kind.HOGS: templates.HOGS,
}


@dataclass(frozen=True)
class Probe:
    """One check: `call` gives `expected` exactly when `kind` is GOOD."""

    call: str
    expected: str
    kind: Kind

    @property
    def holds(self) -> bool:
        return self.kind is Kind.GOOD


@dataclass(frozen=True)
class Work:
    """A program and the probes on it."""

    id: str
    program: str
    probes: tuple[Probe, ...]

    def repeating(self, distinct: int) -> Work:
        """This work with as many probes as before, but only the first `distinct` of them, over and over."""
        if distinct >= len(self.probes):
            return self
        return replace(self, probes=tuple(islice(cycle(self.probes[:distinct]), len(self.probes))))


@dataclass(frozen=True)
class _Program:
    code: str
    types: tuple[str, ...]  # of the arguments: a type of templates.NAMES, "char" or "small"


def tasks(
    seed: int, n: int, checks_per_task: int = 1, kinds: Mapping[Kind, float] = HONEST, start: int = 0
) -> Iterator[Work]:
    """Yield works `start` to `start + n` of the endless sequence that `seed` names.

    Args:
        seed: names the sequence.
        n: works to yield.
        checks_per_task: probes of each, all different.
        kinds: share of each kind; kinds left out do not occur.
        start: index of the first.
    """
    for index in range(start, start + n):
        rng = random.Random(f"cruxbox {seed} {index}")
        yield _work(rng, f"w{index}", checks_per_task, kinds)


def candidates(seed: int, n: int, stalls: bool = True) -> Iterator[dict[str, object]]:
    """Yield `n` candidates for a data-set filter, `{"code": str, "inputs": [str, ...]}`.

    Three in ten of them break one of CRUXEval's rules, half a percent loop, hog or stall, one in a hundred repeats
    an earlier one; the rest are clean as far as their operands happen to be. Without `stalls`, those that would stall
    in C, and use up all their CPU time, loop instead.
    """
    for index in range(n):
        twin = index - index % 100 if index % 100 == 99 else index
        rng = random.Random(f"cruxbox candidate {seed} {twin}")
        program = _candidate(rng, stalls)
        yield {"code": program.code, "inputs": [_arguments(rng, program.types) for _ in range(5)]}


def _candidate(rng: random.Random, stalls: bool) -> _Program:
    if rng.random() < 0.005:
        kind = rng.choice((Kind.LOOPS, Kind.LOOPS, Kind.LOOPS, Kind.HOGS, Kind.STALLS))
        return _program(rng, kind if stalls or kind is not Kind.STALLS else Kind.LOOPS)
    program = _program(rng, Kind.RAISES if rng.random() < 0.05 else Kind.GOOD)
    if rng.random() >= 0.3:
        return program
    name = program.code[len("def f(") :].split(",")[0].split(")")[0]
    line = templates.REFUSED[rng.choice(sorted(templates.REFUSED))].replace("$v", name)
    head, _, body = program.code.partition("\n")
    return _Program(f"{head}\n    {_fill(rng, line)}\n{body}", program.types)


def _work(rng: random.Random, name: str, checks: int, kinds: Mapping[Kind, float]) -> Work:
    kind = rng.choices(list(kinds), list(kinds.values()))[0]
    if kind in (Kind.GOOD, Kind.WRONG):
        while True:
            program = _program(rng, Kind.GOOD)
            probes = _good_probes(rng, program, checks, kinds)
            if probes is not None:
                return Work(name, program.code, probes)
    program = _program(rng, kind)
    inputs = _different_inputs(rng, program, checks)
    return Work(name, program.code, tuple(Probe(f"f({text})", _literal(rng, "str"), kind) for text in inputs))


def _good_probes(
    rng: random.Random, program: _Program, checks: int, kinds: Mapping[Kind, float]
) -> tuple[Probe, ...] | None:
    """The probes of a program that runs, or None when it raises on one of its inputs after all."""
    right, wrong = kinds.get(Kind.GOOD, 0.0), kinds.get(Kind.WRONG, 0.0)
    space: dict[str, object] = {}
    exec(compile(program.code, "<generated>", "exec"), space)
    probes = []
    for text in _different_inputs(rng, program, checks):
        kind = rng.choices((Kind.GOOD, Kind.WRONG), (right, wrong))[0]
        try:
            value = eval(f"f({text})", space)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return None
        expected = repr(value if kind is Kind.GOOD else _other(value))
        if len(expected) > MAX_EXPECTED:
            return None
        probes.append(Probe(f"f({text})", expected, kind))
    return tuple(probes)


def _other(value: object) -> object:
    """A value of the same type that is not equal to `value`."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return value + "a" if value[-1:] != "a" else value[:-1]
    if isinstance(value, list):
        return [*value, 0]
    if isinstance(value, tuple):
        return (*value, 0)
    if isinstance(value, dict):
        return {**value, "other": 1}
    raise TypeError(f"templates give no {type(value).__name__}")


def _program(rng: random.Random, kind: Kind) -> _Program:
    """A chain of steps that ends as `kind` asks, within CRUXEval's length."""
    while True:
        program = _draw(rng, kind)
        if SHORTEST - 10 <= len(program.code) <= LONGEST - 60:  # 10 and 60: room for the assertion
            return program


def _draw(rng: random.Random, kind: Kind) -> _Program:
    names = {kind_: rng.choice(options) for kind_, options in templates.NAMES.items()}
    first = current = rng.choice(("str", "str", "words", "ints", "dict"))
    lines: list[str] = []
    for _ in range(rng.randint(1, 4)):
        reads, leaves = rng.choice([pair for pair in templates.STEPS if pair[0] == current])
        step = rng.choice(templates.STEPS[reads, leaves])
        lines += _named(step, names[reads], names[leaves]).split("\n")
        current = leaves
    endings = templates.RETURNS[current] if kind in (Kind.GOOD, Kind.WRONG) else _ENDINGS[kind]
    lines += _named(rng.choice(endings), names[current], "out").split("\n")
    body = "\n".join(f"    {line}" for line in lines)
    parameters, types = [names[first]], [first]
    for mark, name, type_ in (("$c", "sep", "char"), ("$n", "num", "small")):
        if mark in body and rng.random() < 0.35:
            body = body.replace(mark, name, 1)
            parameters.append(name)
            types.append(type_)
    return _Program(f"def f({', '.join(parameters)}):\n{_fill(rng, body)}", tuple(types))


def _named(step: str, reads: str, leaves: str) -> str:
    return step.replace("$v", reads).replace("$o", leaves)


def _fill(rng: random.Random, text: str) -> str:
    """Put a literal of its own in the place of each placeholder that is left."""
    for mark, type_ in (("$c", "char"), ("$s", "short"), ("$n", "small"), ("$w", "width")):
        while mark in text:
            text = text.replace(mark, _literal(rng, type_), 1)
    return text


def _different_inputs(rng: random.Random, program: _Program, count: int) -> list[str]:
    seen: dict[str, None] = {}
    while len(seen) < count:
        seen[_arguments(rng, program.types)] = None
    return list(seen)


def _arguments(rng: random.Random, types: tuple[str, ...]) -> str:
    return ", ".join(_literal(rng, type_) for type_ in types)


def _literal(rng: random.Random, type_: str) -> str:
    return repr(_LITERALS[type_](rng))


def _word(rng: random.Random, longest: int = 7) -> str:
    return "".join(rng.choices(templates.LETTERS, k=rng.randint(1, longest)))


def _sentence(rng: random.Random) -> str:
    words = [_word(rng) for _ in range(rng.randint(0, 5))]
    return rng.choice((" ", " ", "", "-", ",")).join(words) + rng.choice(templates.MARKS)


_LITERALS = {
    "str": _sentence,
    "words": lambda rng: [_word(rng) for _ in range(rng.randint(0, 6))],
    "ints": lambda rng: [rng.randint(-9, 30) for _ in range(rng.randint(0, 8))],
    "dict": lambda rng: {_word(rng, 3): rng.randint(0, 9) for _ in range(rng.randint(0, 5))},
    "char": lambda rng: rng.choice(templates.LETTERS + templates.MARKS),
    "short": lambda rng: _word(rng, 4),
    "small": lambda rng: rng.randint(0, 3),
    "width": lambda rng: rng.randint(4, 12),
}
