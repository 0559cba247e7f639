"""From protobuf to plain values, and back. What is wrong is said in one sentence, before any fork."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from cruxbox_proto.v1 import sandbox_pb2 as pb

from cruxboxd.judging.outcomes import Assurance, Finding, Outcome
from cruxboxd.judging.tasks import Ask, CallAsk, ScriptAsk, StdioAsk, StepCount, TaskAsk
from cruxboxd.settings.config import UNITS, LimitError, Limits, resolve_limits

MAX_ID_BYTES = 256
MAX_TEXT_BYTES = 4 << 20
MAX_CHECKS = 100_000


class RequestError(ValueError):
    """The request is not valid; one sentence that names the field, the value and what is allowed."""


@dataclass(frozen=True)
class Terms:
    """What this server offers: runtimes by name, the default one, and limits."""

    runtimes: frozenset[str]
    default_runtime: str
    default_limits: Limits
    maximum_limits: Limits


@dataclass(frozen=True)
class Caller:
    """Whose request it is, and whether it goes first unless it says otherwise."""

    tenant: str = ""
    interactive: bool = True
    call: int = 0


def read_request(request: pb.CheckRequest, terms: Terms, caller: Caller) -> list[TaskAsk]:
    """The tasks of a request. Raises RequestError at the first thing that is wrong."""
    if not request.tasks:
        raise RequestError("tasks is empty; a request holds at least one task")
    if sum(len(task.checks) for task in request.tasks) > MAX_CHECKS:
        raise RequestError(f"a request holds at most {MAX_CHECKS} checks; send more of them, or use CheckStream")
    seen: set[str] = set()
    tasks = []
    known: dict[bytes, dict[str, Any]] = {}  # options that were read before: most tasks have those of their neighbours
    for position, task in enumerate(request.tasks):
        where = f"tasks[{position}]"
        check_id(task.id, f"{where}.id", seen)
        key = task.options.SerializeToString() if task.HasField("options") else b""
        if key not in known:
            known[key] = _read_options(task, request, where, terms, caller)
        tasks.append(_read_task(task, known[key], where, caller))
    return tasks


def check_id(value: str, where: str, seen: set[str]) -> None:
    if len(value) > MAX_ID_BYTES or (not value.isascii() and len(value.encode()) > MAX_ID_BYTES):
        raise RequestError(f"{where} is longer than {MAX_ID_BYTES} bytes")
    if not value.isprintable():
        raise RequestError(f"{where} holds a control character")
    if value in seen:
        raise RequestError(f"{where} is {value!r} a second time; ids are unique")
    seen.add(value)


def _read_options(task: pb.Task, request: pb.CheckRequest, where: str, terms: Terms, caller: Caller) -> dict[str, Any]:
    """Fields of a TaskAsk: the task's options over the request's."""
    options = pb.Options()
    options.CopyFrom(request.options)
    if task.HasField("options"):
        options.MergeFrom(task.options)
    isolation = _enum(options.isolation, pb.Isolation, f"{where}.options.isolation")
    if isolation == pb.ISOLATION_TASK and options.require_assurance == pb.ASSURANCE_SEPARATED:
        raise RequestError(f"{where}.options.isolation is TASK, which does not go with require_assurance SEPARATED")
    return {
        "limits": _read_limits(options, where, terms),
        "runtime": _one_of(options.runtime or terms.default_runtime, terms.runtimes, f"{where}.options.runtime"),
        "share": isolation != pb.ISOLATION_PROCESS,
        "together": isolation == pb.ISOLATION_TASK,
        "require": _read_require(options, where),
        "repeat": _read_repeat(options.repeat, where),
        "step_count": _read_step_count(options, where),
        "interactive": _read_priority(options, where, caller),
    }


def _read_task(task: pb.Task, options: dict[str, Any], where: str, caller: Caller) -> TaskAsk:
    if not task.checks:
        raise RequestError(f"{where}.checks is empty; nothing to check is never a pass")
    _check_text(task.program, f"{where}.program", may_be_empty=True)
    seen: set[str] = set()
    asks = []
    for number, check in enumerate(task.checks):
        inside = f"{where}.checks[{number}]"
        check_id(check.id, f"{inside}.id", seen)
        asks.append(_read_check(check, task.program, inside))
        if options["together"] and check.WhichOneof("kind") != "evaluate":
            raise RequestError(
                f"{where}.options.isolation is TASK, but {inside} is no evaluate; nothing else may share"
            )
    return TaskAsk(id=task.id, program=task.program, asks=asks, tenant=caller.tenant, call=caller.call, **options)


def _read_limits(options: pb.Options, where: str, terms: Terms) -> Limits:
    asked = {name: getattr(options.limits, name) for name in UNITS}
    try:
        return resolve_limits(asked, terms.default_limits, terms.maximum_limits)
    except LimitError as error:
        raise RequestError(f"{where}.options.{error}") from None


def _one_of(value: str, known: Iterable[str], where: str) -> str:
    if value not in known:
        raise RequestError(f"{where} is {value[:80]!r}; this server has {', '.join(sorted(known))}")
    return value


def _enum(value: int, kind: object, where: str) -> int:
    if value not in kind.values():  # type: ignore[attr-defined]
        raise RequestError(f"{where} is {value}, which is not a known {kind.DESCRIPTOR.name}")  # type: ignore[attr-defined]
    return value


def _read_require(options: pb.Options, where: str) -> Assurance | None:
    value = _enum(options.require_assurance, pb.Assurance, f"{where}.options.require_assurance")
    if value == pb.ASSURANCE_LITERAL:
        raise RequestError(f"{where}.options.require_assurance is LITERAL; allowed are SEPARATED and IN_PROCESS")
    return Assurance(value) if value else None


def _read_repeat(value: int, where: str) -> int:
    if not 0 <= value <= 2:
        raise RequestError(f"{where}.options.repeat is {value}; allowed are 0, 1 and 2")
    return max(value, 1)


def _read_step_count(options: pb.Options, where: str) -> StepCount:
    value = _enum(options.step_count, pb.StepCount, f"{where}.options.step_count")
    return StepCount(value or StepCount.INSTRUCTIONS.value)


def _read_priority(options: pb.Options, where: str, caller: Caller) -> bool:
    value = _enum(options.priority, pb.Priority, f"{where}.options.priority")
    return value == pb.PRIORITY_INTERACTIVE if value else caller.interactive


def _read_check(check: pb.Check, program: str, where: str) -> Ask:
    kind = check.WhichOneof("kind")
    if kind is None:
        raise RequestError(f"{where} has no kind; it is one of call, stdio, script and evaluate")
    return _KINDS[kind](check, program, where)


def _read_call(check: pb.Check, program: str, where: str) -> Ask:
    call = check.call
    _check_text(call.call, f"{where}.call.call")
    _check_text(call.expected, f"{where}.call.expected")
    _check_name(call.entry_point, f"{where}.call.entry_point")
    return CallAsk(check.id, call.call, call.expected, call.entry_point)


def _read_stdio(check: pb.Check, program: str, where: str) -> Ask:
    _check_text(program, f"{where.split('.', maxsplit=1)[0]}.program")
    _check_size(check.stdio.stdin, f"{where}.stdio.stdin")
    _check_size(check.stdio.expected_stdout, f"{where}.stdio.expected_stdout")
    if not check.stdio.expected_stdout.strip():
        raise RequestError(f"{where}.stdio.expected_stdout is blank; silence never passes")
    return StdioAsk(check.id, check.stdio.stdin, check.stdio.expected_stdout)


def _read_script(check: pb.Check, program: str, where: str) -> Ask:
    _check_text(check.script.script, f"{where}.script.script")
    _check_name(check.script.entry_point, f"{where}.script.entry_point")
    return ScriptAsk(check.id, check.script.script, check.script.entry_point)


def _read_evaluate(check: pb.Check, program: str, where: str) -> Ask:
    _check_text(check.evaluate.call, f"{where}.evaluate.call")
    return CallAsk(check.id, check.evaluate.call, None, inspect=check.evaluate.inspect)


_KINDS = {"call": _read_call, "stdio": _read_stdio, "script": _read_script, "evaluate": _read_evaluate}


def _check_text(value: str, where: str, may_be_empty: bool = False) -> None:
    """Source text: not blank unless it may be, no NUL, not too long."""
    _check_size(value, where)
    if "\0" in value:
        raise RequestError(f"{where} holds a NUL character")
    if not may_be_empty and not value.strip():
        raise RequestError(f"{where} is empty")


def _check_size(value: str, where: str) -> None:
    if len(value) > MAX_TEXT_BYTES or (len(value) > MAX_TEXT_BYTES // 4 and len(value.encode()) > MAX_TEXT_BYTES):
        raise RequestError(f"{where} is over {MAX_TEXT_BYTES} bytes")


def _check_name(value: str, where: str) -> None:
    if value and not value.isidentifier():
        raise RequestError(f"{where} is {value[:80]!r}, which is not a Python name")


# ---- answers -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stamp:
    """What every verdict of this server says about where it was made."""

    versions: dict[str, str]
    profile_digest: str
    degraded: tuple[str, ...]


def write_verdict(task: TaskAsk, ask: Ask, finding: Finding, second: Finding | None, stamp: Stamp) -> pb.Verdict:
    """One verdict for the wire."""
    verdict = pb.Verdict(
        task_id=task.id,
        check_id=ask.id,
        outcome=(finding.outcome or Outcome.SANDBOX_ERROR).value,  # type: ignore[arg-type]
        steps=finding.steps,
        cpu_ns=finding.cpu_ns,
        wall_ns=finding.wall_ns,
        queue_ns=finding.queue_ns,
        peak_memory_bytes=finding.peak_bytes,
        value=finding.shown,
        attempts=finding.attempts,
        runtime_version=stamp.versions[task.runtime],
        profile_digest=stamp.profile_digest,
    )
    if finding.assurance is not None:
        verdict.assurance = finding.assurance.value  # type: ignore[assignment]
    if finding.clock is not None:
        verdict.clock = finding.clock.value  # type: ignore[assignment]
    if finding.detail:
        verdict.detail = finding.detail
    if finding.exception is not None:
        kind, message, line = finding.exception
        verdict.exception.type, verdict.exception.message, verdict.exception.line = kind, message, line
    if finding.stdout or finding.stderr:
        verdict.stdout, verdict.stderr = finding.stdout, finding.stderr
    verdict.value_truncated, verdict.output_truncated = finding.shown_cut, finding.output_cut
    if stamp.degraded:
        verdict.degraded.extend(stamp.degraded)
    if finding.findings:
        verdict.findings.extend(finding.findings)
    if second is not None and not same_answer(finding, second):
        verdict.nondeterministic = True
        verdict.other_value = second.shown or (second.outcome.name if second.outcome else "")
    return verdict


def same_answer(first: Finding, second: Finding) -> bool:
    """Did two runs under different hash seeds end alike? Values are compared as people see them: order included."""
    return (first.outcome, first.canonical, first.shown) == (second.outcome, second.canonical, second.shown)
