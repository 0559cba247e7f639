"""The vocabulary of cruxbox: tasks, checks, limits and verdicts. Plain data that imports nothing of cruxbox."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Union


class Outcome(enum.Enum):
    """How a check ended. Only PASSED counts as solved. SANDBOX_ERROR is the sandbox's failure, not the candidate's."""

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
    EXECUTED = "EXECUTED"


class Assurance(enum.Enum):
    """How well the verdict is protected from the candidate, weakest first.

    IN_PROCESS: the check's code shared the candidate's process. SEPARATED: both sides were computed in different
    processes. LITERAL: both sides were constants and nothing ran.
    """

    IN_PROCESS = "IN_PROCESS"
    SEPARATED = "SEPARATED"
    LITERAL = "LITERAL"


class Isolation(enum.Enum):
    """Which checks may share a worker.

    AUTO: literal calls on a hermetic program share one, and so do standard inputs of one such program. PROCESS: every
    check gets its own worker. TASK: all checks of a task share one, whatever the program is. TASK accepts only
    `EvaluateCheck`s whose values nobody relies on, because a call finds what an earlier call left behind, such as a
    changed module.
    """

    AUTO = "AUTO"
    PROCESS = "PROCESS"
    TASK = "TASK"


class StepCount(enum.Enum):
    """What counts as a step: INSTRUCTIONS, each bytecode instruction; EVENTS, each trace event of the script (the
    numsteps of the CRUXEval paper, arXiv 2401.03065)."""

    INSTRUCTIONS = "INSTRUCTIONS"
    EVENTS = "EVENTS"


class Clock(enum.Enum):
    """The clock whose limit a TIMED_OUT check exceeded."""

    CPU = "CPU"
    WALL = "WALL"


class Priority(enum.Enum):
    """The scheduler runs a tenant's INTERACTIVE work before its BULK work."""

    INTERACTIVE = "INTERACTIVE"
    BULK = "BULK"


@dataclass(frozen=True)
class Limits:
    """What one check may use. 0 is the server's default. A value above the server's maximum is refused, never clamped.

    Args:
        cpu_ms: CPU time in milliseconds.
        wall_ms: wall time in milliseconds, without the time that the worker waits for a CPU.
        memory_bytes: address space in bytes, beyond that of the preloaded interpreter.
        steps: steps as `Task.step_count` defines them.
        output_bytes: bytes of standard output, and of a value. Standard error of a whole program is cut there. By
            default a StdioCheck may print at least twice what it expects.
    """

    cpu_ms: int = 0
    wall_ms: int = 0
    memory_bytes: int = 0
    steps: int = 0
    output_bytes: int = 0


@dataclass(frozen=True)
class CallCheck:
    """Passes when value(call) == value(expected).

    Args:
        call: a Python expression, evaluated on the program.
        expected: a Python expression, evaluated without the program.
        entry_point: if given, `call` must be one call of that name whose arguments use no name of the program; any
            other call is INVALID.
        id: tells the verdicts of a task apart; chosen by the caller.
    """

    call: str
    expected: str
    entry_point: str = ""
    id: str = ""


@dataclass(frozen=True)
class Tolerance:
    """Numbers are equal if they differ by at most `absolute`, or by at most `relative` times the expected number."""

    absolute: float = 0.0
    relative: float = 0.0


@dataclass(frozen=True)
class StdioCheck:
    """Passes when the program, given `stdin`, prints `expected_stdout` and runs to its end.

    Args:
        stdin: text of standard input.
        expected_stdout: text of the expected output; blank only with `allow_empty`.
        allow_empty: allows empty expected output; the program must then end without `os._exit` and without exception.
        compare: "lines" (ignores trailing white space of lines and trailing blank lines), "exact" (every byte counts),
            "tokens" (ignores the amount of white space), or "casefold" (as "lines", and ignores case).
        tolerance: for numbers in the output; a single number is both the absolute and the relative tolerance. With
            "tokens" each token may be a number. With "lines" and "casefold" a line passes if it is equal as text, or if
            both lines are nothing but numbers; white space around lines, and blank lines at either end, do not count.
        arguments: sys.argv[1:] of the program.
        files: content by name, placed in the working folder in addition to `Task.files` (needs a scratch folder on the
            server).
        env: environment variables in addition to `Task.env`.
        checker: source of a function `check(stdin, stdout, expected) -> bool`. It runs in a separate worker and decides
            instead of the comparison. If it raises, hangs or returns anything else for the program's output, the check
            is FAILED. If it does so for the expected output too, the checker is at fault and the check is INVALID.
        id: tells the verdicts of a task apart.
    """

    stdin: str
    expected_stdout: str = ""
    id: str = ""
    allow_empty: bool = False
    compare: str = "lines"
    tolerance: float | Tolerance = 0.0
    arguments: Sequence[str] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    checker: str = ""


@dataclass(frozen=True)
class RunCheck:
    """Runs the program without an expectation. The outcome is EXECUTED for any `Verdict.exit_code`, never PASSED.

    Args:
        stdin, arguments, files, env, id: as in `StdioCheck`.
        read_files: names of files in the working folder to be returned in `Verdict.files` (needs a scratch folder on
            the server).
    """

    stdin: str = ""
    arguments: Sequence[str] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    read_files: Sequence[str] = ()
    id: str = ""


@dataclass(frozen=True)
class ScriptCheck:
    """Passes when `script` ends without an exception.

    Args:
        script: Python source of the test. One that only defines functions tests nothing and is INVALID: a test of
            HumanEval needs a last line `check(candidate)`.
        entry_point: what the script tests, available to it under this name and as `candidate`: a name of the program
            with attributes and empty calls, such as `f`, `Solution.solve` or `Solution().solve`.
        id: tells the verdicts of a task apart.
        framework: "unittest", "pytest" or "doctest" make the script a suite. A suite passes when at least one test ran
            and all tests that ran passed; `Verdict.tests` has each result. Without a framework, a script that defines
            unittest test cases is a suite of them.
        module: the name by which the script imports the program, such as `solution` for `from solution import f`,
            `import solution` or `patch("solution.open")`. Neither has a name of the other's by itself then.
    """

    script: str
    entry_point: str = ""
    id: str = ""
    framework: str = ""
    module: str = ""


@dataclass(frozen=True)
class EvaluateCheck:
    """Computes the value and steps of `call`. The outcome is EVALUATED, never PASSED.

    Args:
        call: a Python expression, evaluated on the program.
        inspect: also report what a data-set filter needs, in `Verdict.findings`.
        id: tells the verdicts of a task apart.
    """

    call: str
    inspect: bool = False
    id: str = ""


Check = Union[CallCheck, StdioCheck, ScriptCheck, EvaluateCheck, RunCheck]


@dataclass(frozen=True)
class Task:
    """One program (the candidate) and the checks on it.

    Args:
        program: Python source; may be empty if the checks need none.
        checks: the checks, at least one.
        id: chosen by the caller; unique in one `check` or `stream`.
        limits: what each check may use.
        runtime: name of an interpreter of the server; "" is the server's default.
        isolation: which checks may share a worker.
        require_assurance: SEPARATED makes a check INVALID, with the reason, if it could only be judged IN_PROCESS.
            IN_PROCESS runs scripts in the candidate's process.
        repeat: 2 runs call checks under two hash seeds and reports differing values.
        step_count: what counts as a step. None counts instructions: of calls always, of scripts and programs only if
            `limits.steps` is set, because counting makes a tight loop four to six times slower.
        priority: None is INTERACTIVE for `check` and BULK for `stream`.
        files: content by name, placed in the working folder of every check (needs a scratch folder on the server).
        env: environment variables of every check.
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
    files: Mapping[str, bytes] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ExceptionInfo:
    """An exception as the candidate's process described it. `type` and `message` are untrusted text of
    bounded length. `line` is a line of the program, or 0."""

    type: str
    message: str
    line: int


class TestOutcome(enum.Enum):
    """How one test of a suite ended. ERROR is an exception other than AssertionError. A SKIPPED test did not run."""

    PASSED = "PASSED"
    FAILED = "FAILED"
    ERROR = "ERROR"
    SKIPPED = "SKIPPED"


@dataclass(frozen=True)
class TestResult:
    """One test of a suite.

    Args:
        name: the test's name in its suite.
        outcome: how the test ended.
        message: the start of its exception's message; "" if it raised none.
    """

    name: str
    outcome: TestOutcome
    message: str = ""


@dataclass(frozen=True)
class Verdict:
    """The full result of one check.

    Args:
        task_id, check_id: the ids of task and check.
        outcome: how the check ended.
        assurance: how well the verdict is protected from the candidate; None if nothing was compared.
        clock: the clock of a TIMED_OUT.
        detail: one sentence about the outcome, for people.
        steps: steps of the call; 0 if not counted.
        cpu_ns, wall_ns: CPU and wall time of the check, in nanoseconds.
        queue_ns: time in the server's queue, in nanoseconds.
        peak_memory_bytes: the worker's peak memory; of a shared worker, that of all its checks.
        value: repr of the value, for people; it decided nothing. `value_truncated` if it was cut.
        exception: of a RAISED check.
        stdout, stderr: what was printed. `output_truncated` if it was cut.
        attempts: how often the check ran.
        runtime_version: version of the interpreter.
        profile_digest: identifies the confinement profile.
        degraded: required layers of confinement that are missing on this server (`--allow-degraded`).
        nondeterministic: with `repeat=2`, whether the second value differs; `other_value` is its repr.
        findings: notes for the data-set filter (`EvaluateCheck.inspect`).
        tests: results of a suite's tests.
        exit_code, files: of a RunCheck.
    """

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
    tests: tuple[TestResult, ...] = ()
    exit_code: int | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def passed(self) -> bool | None:
        """True for PASSED, None for SANDBOX_ERROR (nothing is known about the candidate), else False."""
        if self.outcome is Outcome.SANDBOX_ERROR:
            return None
        return self.outcome is Outcome.PASSED
