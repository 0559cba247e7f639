"""Messages for checks that cannot be sent and for responses that violate the protocol."""

from __future__ import annotations

from typing import Any

from cruxbox.errors import ServerError
from cruxbox.model import Assurance, Check, EvaluateCheck, Outcome, RunCheck, Task, Verdict

_DECIDED = frozenset([Outcome.PASSED, Outcome.FAILED])
_UNDECIDED = {EvaluateCheck: Outcome.EVALUATED, RunCheck: Outcome.EXECUTED}
# What answers a check that promises nothing cannot be.
_OTHER = {own: _DECIDED | set(_UNDECIDED.values()) - {own} for own in _UNDECIDED.values()}
# What a model wrote may be this large, which leaves a MiB of a request for the test.
_MOST_GENERATED = 15 << 20
_APART = frozenset([Assurance.SEPARATED, Assurance.LITERAL])


def believe(check: Check, separated: bool, outcome: Outcome, assurance: Assurance | None) -> None:
    """ServerError for an answer that cannot be one to `check`: a broken server gives no verdicts.

    Args:
        check: what was asked.
        separated: whether SEPARATED was required of it.
        outcome, assurance: what the server answered.
    """
    promises_nothing = _UNDECIDED.get(type(check))
    if outcome in _UNDECIDED.values() if promises_nothing is None else outcome in _OTHER[promises_nothing]:
        raise ServerError(f"The server is broken: {outcome.name} is no answer to {type(check).__name__}.")
    if outcome is Outcome.PASSED and separated and assurance not in _APART:
        word = "no assurance" if assurance is None else assurance.name
        raise ServerError(f"The server is broken: it passed a check with {word} where SEPARATED was required.")


def without_place(detail: str, verdict: Any) -> str:
    """`detail` of a pb.Verdict without the ids it begins with, which are the wire's and mean nothing to a caller."""
    place = f"task {verdict.task_id!r}, check {verdict.check_id!r}: "
    return detail[len(place) :] if detail.startswith(place) else ""


def own_words(verdict: Verdict) -> str:
    """The detail without the ids that stand before it, for who has given tasks and checks ids of no meaning."""
    return verdict.detail.removeprefix(f"{place(verdict.task_id, verdict.check_id)}: ")


def place(task_id: str, check_id: str) -> str:
    """How a sentence begins that is about one check."""
    return _name(task_id) + (f", check {check_id!r:.80}" if check_id else "")


def name(task: Task, index: int) -> str:
    """What sentences call `task`, the one at `index` of all that were given."""
    return _name(task.id) if task.id else f"The task at index {index}"


def _name(task_id: str) -> str:
    return f"Task {task_id!r:.80}" if task_id else "A task without id"


def surrogate(where: str, error: UnicodeEncodeError) -> str:
    """For a text that UTF-8 cannot hold."""
    return (
        f"the {where} holds a lone surrogate (U+{ord(error.object[error.start]):04X}), which no Python source can hold"
    )


def too_large(generated: str) -> str:
    """Why a model's text is not sent to a server, "" if it is. Larger tests are a bound of ours; such a text is its
    own fault, and to leave it out of n would reward it."""
    if len(generated) * 4 <= _MOST_GENERATED:
        return ""
    size = len(generated.encode("utf-8", "surrogatepass"))
    return f"the generation is {size:,} bytes, at most {_MOST_GENERATED:,} are run" if size > _MOST_GENERATED else ""
