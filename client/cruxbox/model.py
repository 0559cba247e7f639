"""The vocabulary of cruxbox: tasks and checks go in, verdicts come out. Plain data that depends on nothing."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Union


class Outcome(enum.Enum):
    """How a check ended. Only PASSED counts as solved; SANDBOX_ERROR is ours and never counts against a candidate."""

    PASSED = "PASSED"
    FAILED = "FAILED"
    RAISED = "RAISED"
    INVALID = "INVALID"
    TIMED_OUT = "TIMED_OUT"
    STEP_LIMIT = "STEP_LIMIT"
    MEMORY_LIMIT = "MEMORY_LIMIT"
    OUTPUT_LIMIT = "OUTPUT_LIMIT"
    VIOLATION = "VIOLATION"
    CRASHED = "CRASHED"
    SANDBOX_ERROR = "SANDBOX_ERROR"
    EVALUATED = "EVALUATED"


class Assurance(enum.Enum):
    """How well the verdict is protected from the candidate, weakest first."""

    IN_PROCESS = "IN_PROCESS"
    SEPARATED = "SEPARATED"
    LITERAL = "LITERAL"


class Isolation(enum.Enum):
    """AUTO lets literal calls on a hermetic program share a worker; PROCESS gives every check a worker of its own; TASK
    lets all checks of a task share one, whatever the program is: only for `EvaluateCheck`s whose values nobody relies
    on, because what a call leaves behind (a module, say, that it changed) the next one finds."""

    AUTO = "AUTO"
    PROCESS = "PROCESS"
    TASK = "TASK"


class StepCount(enum.Enum):
    """What a step is: a bytecode instruction, or (the paper's numsteps) any trace event of the script."""

    INSTRUCTIONS = "INSTRUCTIONS"
    EVENTS = "EVENTS"


class Clock(enum.Enum):
    """Which clock a TIMED_OUT ran out on."""

    CPU = "CPU"
    WALL = "WALL"


class Priority(enum.Enum):
    """INTERACTIVE work of a tenant goes before its BULK work."""

    INTERACTIVE = "INTERACTIVE"
    BULK = "BULK"


@dataclass(frozen=True)
class Limits:
    """What a check may use. 0 means the server's default; above the server's maximum is refused, never clamped."""

    cpu_ms: int = 0
    wall_ms: int = 0
    memory_bytes: int = 0
    steps: int = 0
    output_bytes: int = 0


@dataclass(frozen=True)
class CallCheck:
    """Holds when value(call) == value(expected); both are Python expressions.

    With `entry_point`, `call` must be one call of that name whose arguments use no name of the program, else INVALID.
    """

    call: str
    expected: str
    entry_point: str = ""
    id: str = ""


@dataclass(frozen=True)
class StdioCheck:
    """Holds when the program, given `stdin`, prints `expected_stdout`."""

    stdin: str
    expected_stdout: str
    id: str = ""


@dataclass(frozen=True)
class ScriptCheck:
    """Holds when `script` ends without exception; `entry_point` is what it tests, also called `candidate`.

    That is a name of the program with attributes and empty calls: `f`, `Solution.solve`, `Solution().solve`.
    """

    script: str
    entry_point: str = ""
    id: str = ""


@dataclass(frozen=True)
class EvaluateCheck:
    """Computes the value and steps of `call`; its outcome is EVALUATED, never PASSED."""

    call: str
    inspect: bool = False
    id: str = ""


Check = Union[CallCheck, StdioCheck, ScriptCheck, EvaluateCheck]


@dataclass(frozen=True)
class Task:
    """One program (the candidate) and the checks on it.

    `runtime` names an interpreter of the server ("" is its default); `repeat=2` runs call checks under two hash seeds;
    `require_assurance=SEPARATED` turns a fallback to IN_PROCESS into an INVALID that says why, `IN_PROCESS` asks for
    scripts in the candidate's own process. `step_count=None` counts
    the instructions of calls always, and those of scripts and programs where `limits.steps` is set: counting makes
    a tight loop three times slower.
    """

    program: str
    checks: Sequence[Check]
    id: str = ""
    limits: Limits = field(default_factory=Limits)
    runtime: str = ""
    isolation: Isolation = Isolation.AUTO
    require_assurance: Assurance | None = None
    repeat: int = 1
    step_count: StepCount | None = None
    priority: Priority | None = None


@dataclass(frozen=True)
class ExceptionInfo:
    """An exception as the candidate's process described it: type and message are its words, bounded."""

    type: str
    message: str
    line: int


@dataclass(frozen=True)
class Verdict:
    """The full result of one check. `value` is a repr for people; it never decided anything."""

    task_id: str
    check_id: str
    outcome: Outcome
    assurance: Assurance | None = None
    clock: Clock | None = None
    detail: str = ""
    steps: int = 0
    cpu_ns: int = 0
    wall_ns: int = 0
    queue_ns: int = 0
    peak_memory_bytes: int = 0
    value: str = ""
    value_truncated: bool = False
    exception: ExceptionInfo | None = None
    stdout: str = ""
    stderr: str = ""
    output_truncated: bool = False
    attempts: int = 1
    runtime_version: str = ""
    profile_digest: str = ""
    degraded: tuple[str, ...] = ()
    nondeterministic: bool = False
    other_value: str = ""
    findings: tuple[str, ...] = ()

    @property
    def passed(self) -> bool | None:
        """True only for PASSED; None for SANDBOX_ERROR, which says nothing about the candidate; else False."""
        if self.outcome is Outcome.SANDBOX_ERROR:
            return None
        return self.outcome is Outcome.PASSED
