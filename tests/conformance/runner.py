"""Runs one case and says what it found: outcome letters, effects, standing conditions."""

from __future__ import annotations

from dataclasses import dataclass, field

import grpc
from cruxbox_proto.v1 import sandbox_pb2 as pb

from conformance.case import Case, Shot
from conformance.daemon import DaemonError
from conformance.lab import Lab
from conformance.standing import STANDING
from conformance.wire import Reply

# Forging attacks disturb nobody, so they are tried several at a time; every other shot stands alone.
AT_ONCE, SECTIONS_AT_ONCE = 8, ("forging",)


@dataclass
class Result:
    """What a case gave. `problems` is empty when it is as expected; `skipped` says why it was not run."""

    case: Case
    expected: str = ""
    got: str = ""
    problems: list[str] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    skipped: str = ""
    in_process: list[str] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """As expected, or listed with a reason."""
        return not self.problems


def run_case(lab: Lab, case: Case) -> Result:
    """Fire the shots or play the scenario, then look at everything that must still hold."""
    result = Result(case, expected=case.expected)
    if case.absent:
        result.skipped = case.absent
        return result
    if case.local and not lab.local:
        result.skipped = f"needs a server of this machine: {case.local}"
        return result
    replies = _fire(lab, case, result)
    if case.scenario is not None:
        _play(lab, case, result)
    for effect in case.effects:
        _note(result, effect.__name__.replace("_", " "), effect(lab, replies))
    for name, (check, local) in STANDING.items():
        if lab.local or not local:
            _note(result, name, check(lab, case, replies))
    if result.problems and lab.local:
        lab.calm()  # what this case left behind is said once, not again in every case after it
    return result


def _fire(lab: Lab, case: Case, result: Result) -> list[Reply]:
    replies: list[Reply] = []
    at_once = AT_ONCE if case.section in SECTIONS_AT_ONCE else 1
    for start in range(0, len(case.shots), at_once):
        shots = case.shots[start : start + at_once]
        answered, beside = lab.fire(shots)
        if beside.letter != "P":
            result.problems.append(f"a benign check beside shot {start}: {beside.words}")
        for place, (shot, got) in enumerate(zip(shots, answered, strict=True)):
            replies += got
            _judge(result, shot, got, shot.label or f"shot {start + place}")
    result.got = "".join(dict.fromkeys(reply.letter for reply in replies))
    return replies


def _judge(result: Result, shot: Shot, replies: list[Reply], name: str) -> None:
    # An RPC that is refused as a whole gives one reply for a task without checks.
    for number, (letters, reply) in enumerate(zip(shot.allowed or ("I",), replies, strict=True)):
        where = f"{name}, check {number}" if len(shot.allowed) > 1 else name
        if reply.letter not in letters:
            result.problems.append(f"{where}: allowed {letters}, got {reply.letter}: {reply.words}")
        if reply.verdict is not None and reply.verdict.assurance == pb.ASSURANCE_IN_PROCESS:
            result.in_process.append(f"{result.case.name} {where}: {reply.letter}")


def _play(lab: Lab, case: Case, result: Result) -> None:
    assert case.scenario is not None
    try:
        seen = case.scenario(lab)
    except (DaemonError, grpc.RpcError, OSError) as error:
        seen = [(f"{type(error).__name__}: {error}", "ok", "no")]
    for what, letters, letter in seen:
        if letter not in letters or not letter:
            result.problems.append(f"{what}: allowed {letters}, got {letter}")
    result.expected = " ".join(dict.fromkeys(letters for _, letters, _ in seen))
    result.got = "".join(dict.fromkeys(letter for _, _, letter in seen))


def _note(result: Result, name: str, problem: str | None) -> None:
    result.checked.append(name)
    if problem:
        result.problems.append(f"{name}: {problem}")
