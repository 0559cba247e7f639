"""What an attack is: a program whose `f` does not compute the answer, yet tries to make its check pass."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

ANSWER = "8675309421"  # nobody computes it: whoever passes has forged or found it
NEVER_P = "FITMOVC"


@dataclass(frozen=True)
class Attack:
    """One way to forge.

    `case` is the slug of the case it belongs to; `program` defines `f(x)`. `answer` is what `f(1)` should be.
    `allowed` are the outcomes it may get. `not_for` maps a kind's name to the reason why the attack has no sense there.
    """

    case: str
    name: str
    program: str
    answer: str = ANSWER
    allowed: str = NEVER_P
    not_for: tuple[tuple[str, str], ...] = ()

    @property
    def expression(self) -> str:
        """The attack as one expression whose value is that of `f(1)`."""
        return f"(lambda g: (exec({self.program!r}, g), g['f'](1))[1])({{'__name__': 'attack'}})"


def attack(case: str, name: str, program: str, **details: str) -> Attack:
    """An attack of the table; `program` is dedented."""
    return Attack(case, name, textwrap.dedent(program).lstrip("\n"), **details)  # type: ignore[arg-type]
