"""Is a pair kept? Text rules by plain string functions, the rest read off what the sandbox says. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple

from cruxbox.building.calls import DEFAULT, function_and_call, is_one_call
from cruxbox.filtering.candidates import Candidate
from cruxbox.filtering.rules import Rules
from cruxbox.model import Outcome, Verdict
from cruxbox.sentences import own_words

# How a run ended -> the reason why the pair has no output.
_OUTCOMES = {
    Outcome.RAISED: "RAISED",
    Outcome.INVALID: "SYNTAX",
    Outcome.TIMED_OUT: "TIME",
    Outcome.STEP_LIMIT: "STEPS",
    Outcome.MEMORY_LIMIT: "MEMORY",
    Outcome.OUTPUT_LIMIT: "OUTPUT_TOO_LONG",
    Outcome.VIOLATION: "VIOLATION",
    Outcome.CRASHED: "CRASHED",
    Outcome.SANDBOX_ERROR: "UNDECIDED",
    Outcome.FAILED: "NONDETERMINISTIC",  # of the assertion on the output that was just computed
}


class Pair(NamedTuple):
    """One function with one of its inputs, and what the text alone says of it."""

    candidate: Candidate
    at: int
    reasons: tuple[str, ...]

    @property
    def input(self) -> str:
        return self.candidate.inputs[self.at]

    @property
    def function(self) -> str:
        """The name of the function that is called."""
        return self._function_and_call()[0]

    @property
    def call(self) -> str:
        """The call, such as `f(<input>)`."""
        return self._function_and_call()[1]

    def _function_and_call(self) -> tuple[str, str]:
        return function_and_call(self.candidate.code, self.input, self.candidate.extra.get("function_name", ""))


class Judged(NamedTuple):
    """What became of a pair: kept, if there is no reason against it."""

    pair: Pair
    reasons: tuple[str, ...]
    output: str | None = None
    steps: int | None = None
    detail: str = ""
    runtime: str = ""

    @property
    def is_kept(self) -> bool:
        return not self.reasons

    @property
    def given_differs(self) -> bool:
        """Did an output come with the pair that is not the one it has?"""
        given = self.pair.candidate.outputs[self.pair.at]
        return given is not None and self.output is not None and given != self.output


def text_reasons(code: str, argument: str, rules: Rules, function_name: str = "") -> tuple[str, ...]:
    """What the text of function and input says, of all that `rules` refuse."""
    text = f"{code}\nassert {function_and_call(code, argument, function_name)[1]} =="
    found = [] if rules.min_chars <= len(text) <= rules.max_chars or "LENGTH" not in rules.refuse else ["LENGTH"]
    return (*found, *_character_reasons(text, rules))


def _character_reasons(text: str, rules: Rules) -> tuple[str, ...]:
    found = []
    if "UNPRINTABLE" in rules.refuse and not text.replace("\t", "").replace("\n", "").isprintable():
        found.append("UNPRINTABLE")
    if "FORBIDDEN_TEXT" in rules.refuse:
        for part in rules.forbidden:
            if part in text:
                found.append("FORBIDDEN_TEXT")
                break
    return tuple(found)


def judge(pair: Pair, verdict: Verdict, rules: Rules) -> Judged:
    """The pair, with what running it has shown."""
    found = list(pair.reasons)
    output = verdict.value if verdict.outcome is Outcome.EVALUATED and not verdict.value_truncated else None
    if verdict.outcome is not Outcome.EVALUATED:
        found.append(_OUTCOMES[verdict.outcome])
    elif verdict.value_truncated:
        found.append("OUTPUT_TOO_LONG")
    else:
        found += [name for name in _character_reasons(verdict.value, rules) if name not in found]
    if verdict.nondeterministic and "NONDETERMINISTIC" in rules.refuse:
        found.append("NONDETERMINISTIC")
    found += [name for name in _findings(pair, verdict, rules) if name in rules.refuse]
    steps = verdict.steps if verdict.outcome is Outcome.EVALUATED else None
    judged = Judged(pair, tuple(found), output, steps, _detail(verdict), verdict.runtime_version)
    if "OUTPUT_DIFFERS" in rules.refuse and judged.given_differs:
        judged = judged._replace(reasons=(*judged.reasons, "OUTPUT_DIFFERS"))
    return judged


def _findings(pair: Pair, verdict: Verdict, rules: Rules) -> tuple[str, ...]:
    """What the sandbox notes. It takes the function for `f`, and lets it stand nowhere else; of other functions, and
    for other rules, the shape of the call is read off its text."""
    if pair.function == DEFAULT and not (rules.nested_calls and "CALL_SHAPE" in verdict.findings):
        return verdict.findings
    others = tuple(name for name in verdict.findings if name != "CALL_SHAPE")
    is_fine = is_one_call(pair.call, pair.function, nested=rules.nested_calls)
    return others if is_fine else (*others, "CALL_SHAPE")


def judge_events(judged: Judged, verdict: Verdict, rules: Rules) -> Judged:
    """A pair that was kept so far, with what counting every event of its assertion has shown."""
    found = [name for name in verdict.findings if name in rules.refuse]
    if verdict.outcome is not Outcome.PASSED:
        return judged._replace(reasons=(*found, _OUTCOMES[verdict.outcome]), steps=None, detail=_detail(verdict))
    if verdict.steps > rules.max_steps:
        found.append("STEPS")
    return judged._replace(reasons=tuple(found), steps=verdict.steps)


def _detail(verdict: Verdict) -> str:
    """What happened, for people: the exception, or why there is no value."""
    if verdict.exception is not None:
        return f"{verdict.exception.type}: {verdict.exception.message}"[:200]
    if verdict.nondeterministic:
        return f"also {verdict.other_value}"[:200]
    return own_words(verdict) if verdict.outcome is not Outcome.EVALUATED else ""


def kept_row(judged: Judged, file: str, rules: Rules) -> dict[str, Any]:
    """The row of a pair that is kept: it, its output and steps, and where it comes from."""
    row = _row(judged, file)
    row["output"], row["steps"] = judged.output, judged.steps
    row["source"].update(python=judged.runtime, rules=rules.name)
    return row


def rejected_row(judged: Judged, file: str) -> dict[str, Any]:
    """The row of a pair that is refused, with every reason."""
    row = _row(judged, file)
    row["reasons"] = list(judged.reasons)
    for name, value in (("output", judged.output), ("steps", judged.steps), ("detail", judged.detail)):
        if value is not None and value != "":
            row[name] = value
    return row


def _row(judged: Judged, file: str) -> dict[str, Any]:
    candidate, at = judged.pair.candidate, judged.pair.at
    row: dict[str, Any] = {"code": candidate.code, "input": candidate.inputs[at], "output": None}
    row["id"] = f"{candidate.id}_{at}" if candidate.has_many else candidate.id
    source: dict[str, Any] = {"file": file, "line": candidate.line}
    if candidate.has_many:
        source["input"] = at
    if judged.given_differs:
        row["given_output"] = candidate.outputs[at]
    return {**row, **candidate.extra, "source": source}
