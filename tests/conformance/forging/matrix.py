"""The whole matrix: every attack times every kind, each cell a shot or the reason why there is none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from cruxbox.model import CallCheck, Task

from conformance.case import LIMITS, Shot
from conformance.forging import exits_and_objects, interpreter, texts
from conformance.forging.attack import ANSWER, NEVER_P, Attack
from conformance.forging.kinds import HONEST, KINDS

ATTACKS: tuple[Attack, ...] = (*exits_and_objects.ATTACKS, *interpreter.ATTACKS, *texts.ATTACKS)


@dataclass(frozen=True)
class Cell:
    """One attack in one kind; `shot` is None where `reason` says why it does not apply."""

    case: str
    attack: str
    kind: str
    shot: Shot | None
    reason: str = ""


@cache
def cells() -> tuple[Cell, ...]:
    """All cells in the order of the tables; the generations of CRUXEval's input mode last, under aliased-expected."""
    made = [_cell(attack, kind) for attack in ATTACKS for kind in KINDS]
    return (*made, *(_generation(text) for text in texts.GENERATIONS))


def _cell(attack: Attack, kind: str) -> Cell:
    reason = dict(attack.not_for).get(kind, "")
    if reason:
        return Cell(attack.case, attack.name, kind, None, reason)
    shot = Shot(KINDS[kind](attack), (attack.allowed,), label=f"{attack.name} / {kind}")
    return Cell(attack.case, attack.name, kind, shot)


def _generation(text: str) -> Cell:
    # The attacker is told the answer. Honestly it takes f(6); no text of the table knows the program.
    answer = str(int(ANSWER) + 5)
    generation = text.format(answer=answer)
    task = Task(HONEST, (CallCheck(generation, answer, entry_point="f"),), limits=LIMITS)
    return Cell(
        "aliased-expected", generation, "generation", Shot(task, (NEVER_P,), label=f"{generation!r} / generation")
    )
