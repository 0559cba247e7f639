"""Runs one case and says what it found: outcome letters, effects, standing conditions."""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.case import Case
from conformance.lab import Lab
from conformance.standing import STANDING
from conformance.wire import Reply


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
    for number, shot in enumerate(case.shots):
        answered, beside = lab.fire(shot)
        replies += answered
        if beside.letter != "P":
            result.problems.append(f"a benign check beside shot {number}: {beside.words}")
        # An RPC that is refused as a whole gives one reply for a task without checks.
        allowed = shot.allowed or ("I",)
        for check, (letters, reply) in enumerate(zip(allowed, answered, strict=True)):
            if reply.letter not in letters:
                where = shot.label or f"shot {number} check {check}"
                result.problems.append(f"{where}: allowed {letters}, got {reply.letter}: {reply.words}")
            if reply.verdict is not None and reply.verdict.assurance == 1:
                result.in_process.append(shot.label or f"shot {number} check {check}")
    result.got = "".join(dict.fromkeys(reply.letter for reply in replies))
    return replies


def _play(lab: Lab, case: Case, result: Result) -> None:
    assert case.scenario is not None
    seen = case.scenario(lab)
    for what, letters, letter in seen:
        if letter not in letters or not letter:
            result.problems.append(f"{what}: allowed {letters}, got {letter}")
    result.expected = " ".join(dict.fromkeys(letters for _, letters, _ in seen))
    result.got = "".join(dict.fromkeys(letter for _, _, letter in seen))


def _note(result: Result, name: str, problem: str | None) -> None:
    result.checked.append(name)
    if problem:
        result.problems.append(f"{name}: {problem}")
