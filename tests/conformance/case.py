"""The words a case is written in: what is sent, which outcomes are allowed, which effect must not be seen.

A case reads as "code, outcome": ``case("sum", "one long C call", call("T", "def f(): return sum(range(10**12))"))``.

Allowed outcomes are letters, so that a table stays a table:

    P PASSED                  F FAILED or RAISED        T TIMED_OUT or STEP_LIMIT   M MEMORY_LIMIT
    O OUTPUT_LIMIT            V VIOLATION               C CRASHED                   X SANDBOX_ERROR or UNAVAILABLE
    I INVALID or the gRPC code INVALID_ARGUMENT         R the gRPC code RESOURCE_EXHAUSTED
    N the gRPC code UNIMPLEMENTED
    E EVALUATED               H no answer before the deadline (hung: never allowed)

A program may catch a refusal and answer honestly. It then returns 'held', or 'breached' when the attack worked: the
word 'breached' in any reply is a failure whatever the outcome was.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cruxbox.model import CallCheck, Check, Isolation, Limits, ScriptCheck, StdioCheck, Task

if TYPE_CHECKING:
    from conformance.lab import Lab

HELD = "'held'"
BREACHED = "breached"
ANY_BUT_X = "PFTMOVCI"

# Small, so that all hostile cases take minutes and not hours.
LIMITS = Limits(cpu_ms=500, wall_ms=2_000, memory_bytes=192 << 20, steps=1_000_000, output_bytes=64 << 10)


@dataclass(frozen=True)
class Shot:
    """One task and the letters allowed for each of its checks, in their order."""

    task: Task
    allowed: tuple[str, ...]
    label: str = ""


# What a scenario hands back: what was seen, one entry per observation, and the letters allowed for it.
Observation = tuple[str, str, str]  # (what, allowed letters, letter seen)
Scenario = Callable[["Lab"], list[Observation]]
Effect = Callable[["Lab", Sequence[object]], "str | None"]  # a problem in words, or None


@dataclass(frozen=True)
class Case:
    """A hostile case. Its name is its section and its slug: ``files/read-passwd``.

    The section is the module of `cases` that holds it. `shots` are sent one after the other; `scenario` replaces them
    where one program is not enough. `effects` are checked beside the standing conditions. `local` says why the case
    needs a server on this machine ("" when it does not); `absent` gives the reason why the case cannot apply at all: it
    is then listed, not run.
    """

    slug: str
    title: str
    shots: tuple[Shot, ...] = ()
    scenario: Scenario | None = None
    effects: tuple[Effect, ...] = ()
    local: str = ""
    absent: str = ""
    memory_slack_bytes: int = field(default=64 << 20)
    section: str = ""

    @property
    def name(self) -> str:
        """What it is called everywhere: in the table, in CASES= and in pytest."""
        return f"{self.section}/{self.slug}"

    @property
    def expected(self) -> str:
        """The allowed letters of every check, short: one group when all are the same."""
        groups = list(dict.fromkeys(letters for shot in self.shots for letters in shot.allowed))
        return " ".join("any" if letters == ANY_BUT_X else letters for letters in groups)


def case(
    slug: str,
    title: str,
    *shots: Shot,
    scenario: Scenario | None = None,
    effects: Sequence[Effect] = (),
    local: str = "",
    absent: str = "",
    memory_slack_bytes: int = 64 << 20,
) -> Case:
    """A case of the table; see Case."""
    return Case(slug, title, shots, scenario, tuple(effects), local, absent, memory_slack_bytes)


def call(allowed: str, program: str, call: str = "f()", expected: str = HELD, **limits: int) -> Shot:
    """A call check on `program`, dedented; `limits` override LIMITS field by field."""
    return shot(program, [CallCheck(call, expected)], [allowed], **limits)


def calls(program: str, *checks: tuple[str, str, str], alone: bool = False, **limits: int) -> Shot:
    """Several call checks on one program: (call, expected, allowed) each; `alone` gives each a worker of its own."""
    made = [CallCheck(text, expected, id=str(n)) for n, (text, expected, _) in enumerate(checks)]
    made_shot = shot(program, made, [allowed for _, _, allowed in checks], **limits)
    return replace(made_shot, task=replace(made_shot.task, isolation=Isolation.PROCESS)) if alone else made_shot


def stdio(allowed: str, program: str, expected_stdout: str, stdin: str = "", **limits: int) -> Shot:
    """A stdio check on `program`."""
    return shot(program, [StdioCheck(stdin, expected_stdout)], [allowed], **limits)


def script(allowed: str, program: str, text: str, entry_point: str = "f", **limits: int) -> Shot:
    """A script check on `program`."""
    return shot(program, [ScriptCheck(textwrap.dedent(text), entry_point)], [allowed], **limits)


def shot(program: str, checks: Sequence[Check], allowed: Sequence[str], **limits: int) -> Shot:
    """Any checks on `program`, one group of allowed letters each."""
    if program[:1].isspace():  # some have a million lines, which begin where they should
        program = textwrap.dedent(program)
    task = Task(program, tuple(checks), limits=replace(LIMITS, **limits))
    return Shot(task, tuple(allowed))


def attempts(allowed: str, setup: str, *statements: str, **limits: int) -> Shot:
    """Each statement is tried in a worker of its own; it must raise (or be stopped by the kernel), else it breached.

    Args:
        allowed: letters for every attempt.
        setup: text that stands before the attempts (imports, helpers).
        statements: one attempt each; may have several lines.
    """
    parts = [textwrap.dedent(setup)]
    for number, statement in enumerate(statements):
        parts.append(f"def attempt_{number}():\n" + textwrap.indent(textwrap.dedent(statement), "    "))
    parts.append(ATTEMPT_RUNNER)
    checks = [(f"f({number})", HELD, allowed) for number in range(len(statements))]
    return calls("\n".join(parts) + "\n", *checks, alone=True, **limits)


ATTEMPT_RUNNER = """
def f(number):
    try:
        globals()['attempt_%d' % number]()
    except Exception as refused:
        print('refused by', type(refused).__name__, refused)
        return 'held'
    return 'breach' + 'ed by attempt %d' % number
"""
