"""Converts the vocabulary of `model` to protobuf and back. No policy."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cruxbox_proto.v1 import sandbox_pb2 as pb

from cruxbox import arguments
from cruxbox.arguments import FLAG, TEXT, TEXTS, Rule, member, of_type, shown, texts_by_name, whole
from cruxbox.errors import InvalidRequest
from cruxbox.model import (
    Assurance,
    CallCheck,
    Check,
    Clock,
    EvaluateCheck,
    ExceptionInfo,
    Isolation,
    Limits,
    Outcome,
    Priority,
    RunCheck,
    ScriptCheck,
    StdioCheck,
    StepCount,
    Task,
    TestOutcome,
    TestResult,
    Tolerance,
    Verdict,
)

# What a Verdict is made of after its two ids, in the order of its fields.
VerdictBody = tuple[Any, ...]

_OUTCOMES = {pb.Outcome.Value(f"OUTCOME_{member.name}"): member for member in Outcome}
_ASSURANCES = {pb.Assurance.Value(f"ASSURANCE_{member.name}"): member for member in Assurance}
_CLOCKS = {pb.Clock.Value(f"CLOCK_{member.name}"): member for member in Clock}
_ISOLATIONS = {member: pb.Isolation.Value(f"ISOLATION_{member.name}") for member in Isolation}
_ASSURANCE_NUMBERS = {member: number for number, member in _ASSURANCES.items()}
_STEP_COUNTS = {member: pb.StepCount.Value(f"STEP_COUNT_{member.name}") for member in StepCount}
_PRIORITIES = {member: pb.Priority.Value(f"PRIORITY_{member.name}") for member in Priority}

# The texts of each kind of check: what makes two checks the same, and what is measured against the size cap.
_TEXTS: dict[type, tuple[str, ...]] = {
    CallCheck: ("call", "expected", "entry_point"),
    StdioCheck: ("stdin", "expected_stdout", "compare", "checker"),
    ScriptCheck: ("script", "entry_point", "framework", "module"),
    EvaluateCheck: ("call",),
    RunCheck: ("stdin",),
}
# Those that say what a program finds around it.
_SET = (StdioCheck, RunCheck)
_COMPARES = {name: pb.Compare.Value(f"COMPARE_{name.upper()}") for name in ("lines", "exact", "tokens", "casefold")}
_MAX_LIMIT = (1 << 63) - 1  # int64 on the wire


def _is_sendable(name: Any) -> bool:
    try:
        return text_size(name) >= 0
    except (AttributeError, UnicodeEncodeError):
        return False


# What each field of a check or task may hold. An id may be anything, for it does not travel.
_SETTING = {"arguments": TEXTS, "files": texts_by_name(bytes), "env": texts_by_name(str)}
_RULES = {kind: dict.fromkeys(names, TEXT) for kind, names in _TEXTS.items()}
_RULES[EvaluateCheck].update(inspect=FLAG)
_RULES[StdioCheck].update(
    _SETTING,
    compare=Rule(f"one of {', '.join(_COMPARES)}", lambda value: isinstance(value, str) and value in _COMPARES),
    allow_empty=FLAG,
    tolerance=Rule("a number or a Tolerance", lambda value: _both(value) is not None),
)
_RULES[RunCheck].update(_SETTING, read_files=TEXTS)
# Of a task; those of `_OPTIONS` are looked at where they are encoded.
_ASKED = {"program": TEXT, "checks": of_type(Iterable, "a list or the like")}
_NAMED = {name: _SETTING[name] for name in ("files", "env")}
_OPTIONS = {
    "runtime": Rule("the name of one of the server's", _is_sendable),
    "limits": of_type(Limits, "Limits"),
    "isolation": member(Isolation),
    "require_assurance": member(Assurance).or_none(),
    "repeat": whole(0, 2),
    "step_count": member(StepCount).or_none(),
    "priority": member(Priority).or_none(),
}
_LIMITS = dict.fromkeys(Limits.__dataclass_fields__, whole(0, _MAX_LIMIT))
_TEST_OUTCOMES = {pb.TestOutcome.Value(f"TEST_OUTCOME_{member.name}"): member for member in TestOutcome}


def refuse_task(task: Task) -> None:
    """InvalidRequest for a task with a program, checks, files or env that are none."""
    arguments.check(task, _ASKED)
    if task.files != {} or task.env != {}:  # which most leave empty
        arguments.check(task, _NAMED)


def refuse_fields(check: Check) -> None:
    """InvalidRequest for what is no check, and for one with a field that no check has."""
    rules = _RULES.get(type(check))
    if rules is None:
        raise InvalidRequest(
            f"A check must be one of {', '.join(kind.__name__ for kind in _RULES)}, not {shown(check)}."
        )
    arguments.check(check, rules, f"{type(check).__name__}.")


def check_key(check: Check) -> tuple[Any, ...]:
    """What identifies `check` on its program, whatever its id."""
    if type(check) is CallCheck:
        return (check.call, check.expected, check.entry_point)
    refuse_fields(check)
    more: tuple[Any, ...] = (getattr(check, "inspect", False),)
    if isinstance(check, _SET):
        more = (_setting_key(check), getattr(check, "allow_empty", False), _tolerance_of(check))
        more += (tuple(getattr(check, "read_files", ())),)
    return (type(check), *more, *(getattr(check, name) for name in _TEXTS[type(check)]))


def _setting_key(holder: Any) -> tuple[Any, ...]:
    """The arguments, env and files of a task or check, as a part of a key."""
    given, env, files = getattr(holder, "arguments", ()), holder.env, holder.files
    if not given and env == files == {}:
        return ()
    return tuple(given), tuple(sorted(env.items())), tuple(sorted(files.items()))


def setting_size(holder: Any) -> int:
    """Bytes that the arguments, env and names and content of files of a task or check take on the wire, near enough."""
    lists = [*getattr(holder, "arguments", ()), *getattr(holder, "read_files", ())]
    if not lists and not holder.env and not holder.files:
        return 0
    texts = [*lists, *holder.env, *holder.env.values(), *holder.files]
    return sum(16 + text_size(text) for text in texts) + sum(map(len, holder.files.values()))


def encode_setting(message: Any, holder: Any) -> None:
    """Write arguments, env and files of a task or check into its message."""
    if getattr(holder, "arguments", ()):
        message.arguments.extend(holder.arguments)
    for name, value in holder.env.items():
        message.env[name] = value
    for name, content in holder.files.items():
        message.files[name] = content


def check_size(check: Check) -> int:
    """Bytes that `check` takes on the wire, near enough; UnicodeEncodeError if a text holds a lone surrogate."""
    if type(check) is CallCheck:  # by far the most frequent
        return 16 + text_size(check.call) + text_size(check.expected) + text_size(check.entry_point)
    size = 16 + sum(text_size(getattr(check, name)) for name in _TEXTS[type(check)])
    return size + setting_size(check) if isinstance(check, _SET) else size


def text_size(text: str) -> int:
    """Bytes of `text` in UTF-8; UnicodeEncodeError for a lone surrogate, AttributeError for what is not text."""
    if not isinstance(text, str):
        raise AttributeError("not text")  # bytes have an isascii of their own
    return len(text) if text.isascii() else len(text.encode())


def options_key(task: Task) -> tuple[Any, ...]:
    """What must be equal for two tasks on one program to be one."""
    return (
        task.limits,
        task.runtime,
        task.isolation,
        task.require_assurance,
        task.repeat,
        task.step_count,
        task.priority,
        _setting_key(task),
    )


def encode_options(task: Task) -> Any | None:
    """The pb.Options of `task`, or None when every one is the default."""
    if options_key(task)[:-1] == _DEFAULT_OPTIONS[:-1]:  # the setting is the task's own
        return None
    arguments.check(task, _OPTIONS)
    arguments.check(task.limits, _LIMITS, "limits.")
    options: Any = pb.Options(runtime=task.runtime, repeat=task.repeat)
    options.isolation = _ISOLATIONS[task.isolation]
    if task.step_count is not None:
        options.step_count = _STEP_COUNTS[task.step_count]
    for name in _LIMITS:
        value = getattr(task.limits, name)
        if value != 0:
            setattr(options.limits, name, value)
    if task.require_assurance is not None:
        options.require_assurance = _ASSURANCE_NUMBERS[task.require_assurance]
    if task.priority is not None:
        options.priority = _PRIORITIES[task.priority]
    return options


_DEFAULT_OPTIONS = options_key(Task("", ()))


def encode_check(message: Any, check: Check) -> None:
    """Write `check` into the pb.Check `message`, whose id is set by the caller."""
    if type(check) is CallCheck:
        call = message.call
        call.call = check.call
        call.expected = check.expected
        if check.entry_point:
            call.entry_point = check.entry_point
    elif type(check) is EvaluateCheck:
        message.evaluate.call = check.call
        message.evaluate.inspect = check.inspect
    elif type(check) is ScriptCheck:
        message.script.script = check.script
        message.script.entry_point = check.entry_point
        message.script.framework = check.framework
        message.script.module = check.module
    elif type(check) is StdioCheck:
        message.stdio.stdin = check.stdin
        message.stdio.expected_stdout = check.expected_stdout
        message.stdio.allow_empty = check.allow_empty
        message.stdio.checker = check.checker
        _encode_comparison(message.stdio, check)
        encode_setting(message.stdio, check)
    elif type(check) is RunCheck:
        message.run.SetInParent()
        message.run.stdin = check.stdin
        message.run.read_files.extend(check.read_files)
        encode_setting(message.run, check)


def _encode_comparison(stdio: Any, check: StdioCheck) -> None:
    if check.compare != "lines":
        stdio.compare = _COMPARES[check.compare]
    stdio.absolute_tolerance, stdio.relative_tolerance = _tolerance_of(check)


def _tolerance_of(check: Check) -> tuple[float, float]:
    """The absolute and the relative one, of a check whose fields are what they may be."""
    given = getattr(check, "tolerance", 0)
    return _NO_TOLERANCE if not given else _both(given) or _NO_TOLERANCE  # none, of nearly all


_NO_TOLERANCE = (0.0, 0.0)


def _both(given: Any) -> tuple[float, float] | None:
    """The absolute and the relative tolerance; None for what is neither a number nor a Tolerance of two."""
    both = (given.absolute, given.relative) if isinstance(given, Tolerance) else (given, given)
    try:
        return float(+both[0]), float(+both[1])  # a text is no number, even one that says it
    except (TypeError, ValueError, OverflowError):
        return None


def decode_body(verdict: Any, attempts: int) -> VerdictBody:
    """The fields of a Verdict after its ids, from a pb.Verdict; `attempts` is what earlier answers add to its own."""
    outcome = _OUTCOMES.get(verdict.outcome)
    detail = verdict.detail
    if outcome is None:
        # Never a pass, never a fail: what is not understood says nothing about the candidate.
        outcome, detail = Outcome.SANDBOX_ERROR, f"the server answered with the unknown outcome {verdict.outcome}"
    raised = verdict.exception if verdict.HasField("exception") else None
    return (
        outcome,
        _ASSURANCES.get(verdict.assurance),
        _CLOCKS.get(verdict.clock),
        detail,
        verdict.steps,
        verdict.cpu_ns,
        verdict.wall_ns,
        verdict.queue_ns,
        verdict.peak_memory_bytes,
        verdict.value,
        verdict.value_truncated,
        None if raised is None else ExceptionInfo(raised.type, raised.message, raised.line),
        verdict.stdout,
        verdict.stderr,
        verdict.output_truncated,
        verdict.attempts + attempts,
        sys.intern(verdict.runtime_version),
        sys.intern(verdict.profile_digest),
        tuple(verdict.degraded),
        verdict.nondeterministic,
        verdict.other_value,
        tuple(verdict.findings),
        _tests(verdict.tests) if verdict.tests else (),
        verdict.exit_code if verdict.HasField("exit_code") else None,
        dict(verdict.files) if verdict.files else _NO_FILES,
    )


_NO_FILES: Mapping[str, bytes] = {}


def _tests(messages: Sequence[Any]) -> tuple[TestResult, ...]:
    """The tests of a suite; an outcome that is not known is no pass."""
    return tuple(
        [TestResult(one.name, _TEST_OUTCOMES.get(one.outcome, TestOutcome.ERROR), one.message) for one in messages]
    )


def verdict(task_id: str, check_id: str, body: VerdictBody) -> Verdict:
    """The Verdict of its parts, at a third of what `Verdict(...)` costs: a frozen class sets its fields one by one."""
    made = object.__new__(Verdict)
    made.__dict__.update(zip(_FIELDS, (task_id, check_id, *body)))
    return made


_FIELDS = tuple(Verdict.__dataclass_fields__)


def local_body(outcome: Outcome, detail: str) -> VerdictBody:
    """The fields of a verdict that is given here, because the check cannot even be sent."""
    local = Verdict("", "", outcome, detail=detail, attempts=0)
    return tuple(getattr(local, name) for name in _FIELDS)[2:]
