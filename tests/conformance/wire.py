"""Tasks to protobuf and outcomes to letters: no retries and no batching, so that a case sees what the server said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import grpc
from cruxbox.model import CallCheck, Check, EvaluateCheck, ScriptCheck, StdioCheck, Task
from cruxbox_proto.v1 import sandbox_pb2 as pb

LETTER = {
    "PASSED": "P",
    "FAILED": "F",
    "RAISED": "F",
    "TIMED_OUT": "T",
    "STEP_LIMIT": "T",
    "MEMORY_LIMIT": "M",
    "OUTPUT_LIMIT": "O",
    "VIOLATION": "V",
    "CRASHED": "C",
    "INVALID": "I",
    "SANDBOX_ERROR": "X",
    "EVALUATED": "E",
}
RPC_LETTER = {
    grpc.StatusCode.INVALID_ARGUMENT: "I",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "R",
    grpc.StatusCode.UNIMPLEMENTED: "N",
    grpc.StatusCode.UNAVAILABLE: "X",
    grpc.StatusCode.DEADLINE_EXCEEDED: "H",
}


@dataclass(frozen=True)
class Reply:
    """What came back for one check: its letter, a few words, and every byte of the answer (searched for canaries)."""

    letter: str
    words: str
    raw: bytes = b""
    verdict: pb.Verdict | None = None


def request(tasks: Iterable[Task]) -> pb.CheckRequest:
    """The protobuf of some tasks; tasks without an id get their position."""
    return pb.CheckRequest(tasks=[_task(task, str(number)) for number, task in enumerate(tasks)])


def _task(task: Task, default_id: str) -> pb.Task:
    limits = task.limits
    options = pb.Options(
        limits=pb.Limits(
            cpu_ms=limits.cpu_ms,
            wall_ms=limits.wall_ms,
            memory_bytes=limits.memory_bytes,
            steps=limits.steps,
            output_bytes=limits.output_bytes,
        ),
        runtime=task.runtime,
        isolation=f"ISOLATION_{task.isolation.value}",
        repeat=task.repeat,
    )
    if task.require_assurance is not None:
        options.require_assurance = pb.Assurance.Value(f"ASSURANCE_{task.require_assurance.value}")  # type: ignore[assignment]
    made = [_check(check, str(number)) for number, check in enumerate(task.checks)]
    return pb.Task(id=task.id or default_id, program=task.program, checks=made, options=options)


def _check(check: Check, default_id: str) -> pb.Check:
    made = pb.Check(id=check.id or default_id)
    if isinstance(check, CallCheck):
        made.call.CopyFrom(pb.CallCheck(call=check.call, expected=check.expected, entry_point=check.entry_point))
    elif isinstance(check, StdioCheck):
        made.stdio.CopyFrom(
            pb.StdioCheck(stdin=check.stdin, expected_stdout=check.expected_stdout, checker=check.checker)
        )
    elif isinstance(check, ScriptCheck):
        made.script.CopyFrom(
            pb.ScriptCheck(
                script=check.script, entry_point=check.entry_point, framework=check.framework, module=check.module
            )
        )
    elif isinstance(check, EvaluateCheck):
        made.evaluate.CopyFrom(pb.EvaluateCheck(call=check.call, inspect=check.inspect))
    return made


def outcome_name(verdict: pb.Verdict) -> str:
    """PASSED for OUTCOME_PASSED, and so on."""
    return str(pb.Outcome.Name(verdict.outcome)).removeprefix("OUTCOME_")


def reply_of(verdict: pb.Verdict) -> Reply:
    """A verdict as a reply."""
    name = outcome_name(verdict)
    words = name
    if verdict.HasField("exception"):
        words += f" {verdict.exception.type}: {verdict.exception.message[:60]}"
    elif verdict.detail:
        words += f" ({verdict.detail[:80]})"
    elif name == "FAILED":
        words += f" {verdict.value[:60]}"
    return Reply(LETTER.get(name, "?"), words, verdict.SerializeToString(), verdict)


def reply_to_error(error: grpc.RpcError) -> Reply:
    """A refused RPC as a reply: one letter stands for all of its checks."""
    code, details = error.code(), error.details() or ""
    return Reply(RPC_LETTER.get(code, "?"), f"{code.name}: {details[:100]}", details.encode())


def in_order(tasks: Sequence[Task], verdicts: Iterable[pb.Verdict]) -> list[Reply]:
    """Replies in the order of tasks and checks; a check without a verdict hangs (H)."""
    found = {(verdict.task_id, verdict.check_id): reply_of(verdict) for verdict in verdicts}
    missing = Reply("H", "no verdict for this check")
    keys = [
        (task.id or str(t), check.id or str(c)) for t, task in enumerate(tasks) for c, check in enumerate(task.checks)
    ]
    return [found.get(key, missing) for key in keys]
