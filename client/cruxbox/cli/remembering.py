"""A client of `cruxbox score` that remembers verdicts, so that a run which goes on with another asks nothing twice."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from cruxbox.cli.resuming import Fields, check_types
from cruxbox.journal import Key
from cruxbox.model import Assurance, Clock, ExceptionInfo, Outcome, Task, Verdict
from cruxbox.scoring import Streams
from cruxbox.sentences import own_words

# Of what is remembered of a verdict: all that a scored file and its summary need.
_TYPES = {"detail": (str,), "steps": (int,), "cpu_ns": (int,), "value": (str,)}
_TYPES_OF_ERROR = {"type": (str,), "message": (str,), "line": (int,)}


class Remembering:
    """The verdicts of `client`, but for those that are `known` already.

    Args:
        client: who is asked.
        known: what became of which question, by its digest.
        add: remembers another.
    """

    def __init__(self, client: Streams, known: Mapping[Key, Fields], add: Callable[[Key, Fields], None]) -> None:
        self._client, self._known, self._add = client, known, add

    def stream(self, tasks: Iterable[Task], *, ordered: bool = False) -> Iterator[Verdict]:
        """Verdicts of `tasks` as they come; those that are known first."""
        asked: dict[str, Key] = {}
        unknown = []
        for task in tasks:
            key = _key(task)
            if key in self._known:
                yield remembered(self._known[key], task.id)
            else:
                asked[task.id] = key
                unknown.append(task)
        for verdict in self._client.stream(unknown, ordered=ordered) if unknown else ():
            if verdict.outcome is not Outcome.SANDBOX_ERROR:  # of which nothing is known
                self._add(asked[verdict.task_id], _fields(verdict))
            yield verdict


def _key(task: Task) -> str:
    return hashlib.blake2b(repr(replace(task, id="")).encode(), digest_size=16).hexdigest()


def _fields(verdict: Verdict) -> Fields:
    error = verdict.exception
    said: dict[str, Any] = {name: getattr(verdict, name) for name in ("steps", "cpu_ns", "value")}
    return {
        **said,
        "outcome": verdict.outcome.name,
        "assurance": verdict.assurance and verdict.assurance.name,
        "clock": verdict.clock and verdict.clock.name,
        "detail": own_words(verdict),
        "exception": error and [error.type, error.message, error.line],
    }


def remembered(fields: Fields, task_id: str = "") -> Verdict:
    """The verdict that was remembered as `fields`. KeyError, TypeError or ValueError if they are none."""
    check_types(fields, _TYPES)
    error = fields["exception"] and ExceptionInfo(*fields["exception"])
    if error:
        check_types(vars(error), _TYPES_OF_ERROR)
    return Verdict(
        task_id,
        "",
        Outcome[fields["outcome"]],
        fields["assurance"] and Assurance[fields["assurance"]],
        fields["clock"] and Clock[fields["clock"]],
        fields["detail"],
        fields["steps"],
        fields["cpu_ns"],
        value=fields["value"],
        exception=error,
    )
