"""Converts protobuf to plain values and back. Errors are reported in one sentence, before any fork."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from cruxbox_proto.v1 import sandbox_pb2 as pb
from google.protobuf.message import DecodeError

from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome
from cruxboxd.judging.tasks import Around, Check, Folder, InvalidCheck, StepCount, Task, encoded
from cruxboxd.rpc.checks import KINDS, fault_of_both, fault_of_enum, fault_of_text, read_setting, source_of
from cruxboxd.rpc.outline import Malformed, Outline, TooMany, pieces, walk
from cruxboxd.rpc.wire import field, head
from cruxboxd.settings.config import UNITS, LimitError, Limits, resolve_limits

MAX_ID_BYTES = 256
MAX_CHECKS = 100_000
MAX_DISTINCT_OPTIONS = 1_000
_MOST_NAMED = 1_000  # characters of all names in a refusal: it travels as a header, of which a client takes 8 KiB
_FIELDS_A_PIECE, _BYTES_A_PIECE = 256, 1 << 15  # a task with more checks, or longer, is parsed in pieces
# What a task, and a check, take in memory beyond their text; and each of their arguments, files and variables.
_BYTES_A_CHECK, _BYTES_A_PART = 1_024, 256

# Fields of a verdict that may be long, and those of an entry of a map.
_STDOUT, _STDERR, _FILES = (pb.Verdict.DESCRIPTOR.fields_by_name[name].number for name in ("stdout", "stderr", "files"))
_KEY, _VALUE = 1, 2


class RequestError(ValueError):
    """The request is not valid; one sentence that names the field, the value and what is allowed."""


@dataclass(frozen=True)
class Offer:
    """What this server offers: runtimes by name, the default one, and limits."""

    runtimes: frozenset[str]
    default_runtime: str
    default_limits: Limits
    maximum_limits: Limits
    folder: Folder = Folder()  # noqa: RUF009 - it is frozen


@dataclass(frozen=True)
class Origin:
    """The tenant of a request, and its default priority."""

    tenant: str
    interactive: bool
    rpc_id: int


def outline_of(data: bytes, outline: Outline) -> Iterator[None]:
    """Count what a request holds, in steps, before anything is parsed. Raises RequestError."""
    try:
        yield from walk(data, outline, MAX_CHECKS)
    except Malformed:
        raise RequestError(_NO_MESSAGE) from None
    except TooMany as error:
        raise RequestError(str(error)) from None
    if not outline.tasks:
        raise RequestError("tasks is empty; a request holds at least one task")


def size_of(data: bytes, outline: Outline) -> int:
    """Bytes that a request counts for in the queue."""
    return len(data) + _BYTES_A_CHECK * (outline.checks + len(outline.tasks)) + _BYTES_A_PART * outline.parts


def read_tasks(data: bytes, outline: Outline, offer: Offer, origin: Origin, tasks: list[Task]) -> Iterator[None]:
    """Append the tasks of a request to `tasks`, in steps of about a millisecond.

    Raises RequestError at the first thing that is wrong with the request. What is wrong with one check is that check's
    alone: an InvalidCheck.
    """
    options = _parse(pb.Options, b"".join([data[begin:end] for begin, end in outline.options]))
    seen: set[str] = set()
    known: dict[bytes, dict[str, Any]] = {}  # options that were read before: most tasks have those of their neighbours
    for position, (begin, end, count) in enumerate(outline.tasks):
        where = f"tasks[{position}]"
        task = yield from _parse_task(data, begin, end, count)
        check_id(task.id, f"{where}.id", seen)
        key = task.options.SerializeToString(deterministic=True) if task.HasField("options") else b""
        if key not in known:
            if len(known) >= MAX_DISTINCT_OPTIONS:
                raise RequestError(f"a request holds tasks with at most {MAX_DISTINCT_OPTIONS} different options")
            known[key] = _read_options(task, options, where, offer, origin)
        checks: list[Check] = []
        setting, fault = read_setting(task, "", offer.folder)
        program = source_of(task.program)
        fault = fault_of_text(program, "program", may_be_empty=True) or fault
        yield
        own = known[key]
        around = Around(
            setting,
            offer.folder,
            own["most_output"],
            fault_of_setting=fault_of_both(setting, offer.folder),
            fault_of_program=fault_of_text(program, "program"),
        )
        yield from _read_checks(task, own["together"], where, around, fault, checks)
        tasks.append(
            Task(
                id=task.id,
                program=encoded(program),
                checks=checks,
                tenant=origin.tenant,
                rpc_id=origin.rpc_id,
                setting=setting,
                **own,
            )
        )
        yield


_Message = TypeVar("_Message", pb.Options, pb.Task)
_NO_MESSAGE = "the request is no valid protobuf message: text that is not UTF-8, fields cut off, or nested too deep"


def _parse(kind: type[_Message], data: bytes) -> _Message:
    try:
        return kind.FromString(data)
    except DecodeError:
        raise RequestError(_NO_MESSAGE) from None


def _parse_task(data: bytes, begin: int, end: int, count: int) -> Generator[None, None, pb.Task]:
    """The task that stands there, with so many checks: one that is large in steps."""
    if count <= _FIELDS_A_PIECE and end - begin <= _BYTES_A_PIECE:
        task = _parse(pb.Task, data[begin:end])
        yield
        return task
    task = pb.Task()
    for piece in pieces(data, begin, end, _FIELDS_A_PIECE, _BYTES_A_PIECE):
        _add_piece(task, piece)
        yield
    return task


def _add_piece(task: pb.Task, piece: bytes) -> None:
    """MergeFrom writes what it merges and parses that again, so that nothing stays that one field has and another one
    replaces. One long field alone replaces little, and is many bytes."""
    if len(piece) <= _BYTES_A_PIECE:
        task.MergeFrom(_parse(pb.Task, piece))
        return
    try:
        task.MergeFromString(piece)
    except DecodeError:
        raise RequestError(_NO_MESSAGE) from None


def check_id(value: str, where: str, seen: set[str]) -> None:
    if len(value) > MAX_ID_BYTES or (not value.isascii() and len(value.encode()) > MAX_ID_BYTES):
        raise RequestError(f"{where} begins with {value[:80]!r} and is over {MAX_ID_BYTES} bytes")
    if not value.isprintable():
        raise RequestError(f"{where} is {value[:80]!r}; an id holds printable characters only")
    if value in seen:
        raise RequestError(f"{where} is {value!r} a second time; ids are unique")
    seen.add(value)


def _read_options(task: pb.Task, common: pb.Options, where: str, offer: Offer, origin: Origin) -> dict[str, Any]:
    """Fields of a Task: the task's options over the request's."""
    options = pb.Options()
    options.CopyFrom(common)
    if task.HasField("options"):
        options.MergeFrom(task.options)
    isolation = _enum(options.isolation, pb.Isolation, f"{where}.options.isolation")
    if isolation == pb.ISOLATION_TASK and options.require_assurance == pb.ASSURANCE_SEPARATED:
        raise RequestError(f"{where}.options.isolation is TASK, which does not go with require_assurance SEPARATED")
    return {
        "limits": _read_limits(options, where, offer),
        "most_output": options.limits.output_bytes or offer.maximum_limits.output_bytes,
        "runtime": _one_of(options.runtime or offer.default_runtime, offer.runtimes, f"{where}.options.runtime"),
        "share": isolation != pb.ISOLATION_PROCESS,
        "together": isolation == pb.ISOLATION_TASK,
        "require": _read_require(options, where),
        "repeat": _read_repeat(options.repeat, where),
        "step_count": _read_step_count(options, where),
        "counts_steps": bool(options.step_count or options.limits.steps),
        "interactive": _read_priority(options, where, origin),
    }


def _read_checks(  # noqa: PLR0917 - what a task says of its checks
    task: pb.Task, together: bool, where: str, around: Around, of_all: str, checks: list[Check]
) -> Iterator[None]:
    """Append the checks of a task to `checks`, in steps; `of_all` is what is wrong with every one of them."""
    if not task.checks:
        raise RequestError(f"{where}.checks is empty; nothing to check is never a pass")
    seen: set[str] = set()
    for number, check in enumerate(task.checks):
        inside = f"{where}.checks[{number}]"
        check_id(check.id, f"{inside}.id", seen)
        kind = check.WhichOneof("kind")
        if kind is None:
            raise RequestError(f"{inside} has no kind; it is one of call, stdio, script, evaluate and run")
        if together and kind != "evaluate":
            raise RequestError(
                f"{where}.options.isolation is TASK, but {inside} is no evaluate; nothing else may share"
            )
        found, fault = KINDS[kind](check, around)
        if of_all or fault:
            found = InvalidCheck(check.id, f"task {task.id!r}, check {check.id!r}: {of_all or fault}")
        checks.append(found)
        yield  # its texts may be megabytes


def _read_limits(options: pb.Options, where: str, offer: Offer) -> Limits:
    asked = {name: getattr(options.limits, name) for name in UNITS}
    try:
        return resolve_limits(asked, offer.default_limits, offer.maximum_limits)
    except LimitError as error:
        raise RequestError(f"{where}.options.{error}") from None


def _one_of(value: str, known: Iterable[str], where: str) -> str:
    if value not in known:
        names = ", ".join(sorted(known))
        if len(names) > _MOST_NAMED:
            names = (names[:_MOST_NAMED].rpartition(", ")[0] or names[:_MOST_NAMED]) + " and others"
        raise RequestError(f"{where} is {value[:80]!r}; this server has {names}")
    return value


def _enum(value: int, kind: object, where: str) -> int:
    fault = fault_of_enum(value, kind)
    if fault:
        raise RequestError(f"{where} {fault}")
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


def _read_priority(options: pb.Options, where: str, origin: Origin) -> bool:
    value = _enum(options.priority, pb.Priority, f"{where}.options.priority")
    return value == pb.PRIORITY_INTERACTIVE if value else origin.interactive


# ---- answers -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stamp:
    """Fields about this server that every verdict carries."""

    versions: dict[str, str]
    profile_digest: str
    degraded: tuple[str, ...]


def write_verdict(
    task: Task, check: Check, judged: CheckResult, second: CheckResult | None, stamp: Stamp
) -> list[bytes]:
    """One verdict for the wire, in parts to be put together. `second` is a run under another hash seed that ended
    differently.

    What a program printed or wrote may be megabytes. Protobuf would copy that into a message and out of it, on the
    event loop; here each of it is a part.
    """
    parts = [_short(task, check, judged, second, stamp).SerializeToString()]
    for number, printed in ((_STDOUT, judged.stdout), (_STDERR, judged.stderr)):
        if printed:
            parts += _part(number, printed)
    for name, content in judged.files:
        entry = [field(_KEY, name.encode()), *_part(_VALUE, content)]
        parts += [head(_FILES, sum(map(len, entry))), *entry]
    return parts


def _part(number: int, content: bytes) -> list[bytes]:
    return [head(number, len(content)), content]


def _short(task: Task, check: Check, judged: CheckResult, second: CheckResult | None, stamp: Stamp) -> pb.Verdict:
    """All of a verdict that is short."""
    verdict = pb.Verdict(
        task_id=task.id,
        check_id=check.id,
        outcome=(judged.outcome or Outcome.SANDBOX_ERROR).value,  # type: ignore[arg-type]
        steps=judged.steps,
        cpu_ns=judged.cpu_ns,
        wall_ns=judged.wall_ns,
        queue_ns=judged.queue_ns,
        peak_memory_bytes=judged.peak_bytes,
        value=judged.shown,
        attempts=judged.attempts,
        runtime_version=stamp.versions[task.runtime],
        profile_digest=stamp.profile_digest,
    )
    if judged.assurance is not None:
        verdict.assurance = judged.assurance.value  # type: ignore[assignment]
    if judged.clock is not None:
        verdict.clock = judged.clock.value  # type: ignore[assignment]
    if judged.detail:
        verdict.detail = judged.detail
    if judged.exception is not None:
        kind, message, line = judged.exception
        verdict.exception.type, verdict.exception.message, verdict.exception.line = kind, message, line
    verdict.value_truncated, verdict.output_truncated = judged.shown_cut, judged.output_cut
    if stamp.degraded:
        verdict.degraded.extend(stamp.degraded)
    if judged.findings:
        verdict.findings.extend(judged.findings)
    for name, ended, message in judged.tests:
        verdict.tests.add(name=name, outcome=ended.value, message=message)
    if judged.exit_code is not None:
        verdict.exit_code = judged.exit_code
    if second is not None:
        verdict.nondeterministic = True
        verdict.other_value = second.shown or (second.outcome.name if second.outcome else "")
    return verdict
