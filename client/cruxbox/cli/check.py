"""`cruxbox check`: one call of one program against one value."""

from __future__ import annotations

import dataclasses
import enum
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from cruxbox.cli.connect import AsJson
from cruxbox.cli.running import Running, runs_programs
from cruxbox.cli.show import print_json, say
from cruxbox.client import Client
from cruxbox.errors import DataError, InvalidRequest
from cruxbox.model import Assurance, CallCheck, EvaluateCheck, Outcome, Task, Verdict
from cruxbox.reading import read_text
from cruxbox.sentences import own_words

_MAX_PROGRAM_BYTES = 16 << 20
_WHY_TOGETHER = (
    "the call or the expected value is more than a name applied to values, so it ran in the program's process, where a "
    "program can forge the result (--require separated refuses such checks)"
)


@runs_programs()
def command(
    program: Annotated[str, typer.Option(metavar="FILE|-", help="The program's source; - is stdin.")],
    call: Annotated[str, typer.Option(metavar="EXPR", help="Expression to evaluate, such as f(3).")],
    expected: Annotated[str, typer.Option(metavar="EXPR", help="Expression whose value it must have.")],
    as_json: AsJson = False,
    *,
    running: Running,
) -> None:
    """Run one check: does this call of this program give that value?

    The exit code is 0 for PASSED, 1 for any other outcome, and 2 for a usage or server error.
    """
    for option, text in (("--call", call), ("--expected", expected)):
        if not text.strip():
            raise DataError(f"{option} is empty")
    task = Task(_read(program), [CallCheck(call, expected)], id="check")
    with running.connect() as client:
        verdict = client.check([task])[0]
    if as_json:
        print_json(verdict_json(verdict))
    else:
        say(_sentence(verdict))
    raise typer.Exit(0 if verdict.outcome is Outcome.PASSED else 1)


def _read(program: str) -> str:
    if program != "-":
        return read_text(program, _MAX_PROGRAM_BYTES)
    if sys.stdin is None:
        raise DataError("standard input: is closed")
    source = sys.stdin.buffer.read(_MAX_PROGRAM_BYTES + 1)
    if len(source) > _MAX_PROGRAM_BYTES:
        raise DataError(f"standard input: is larger than {_MAX_PROGRAM_BYTES >> 20} MiB")
    try:
        return source.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"standard input: is not UTF-8 (byte {error.start})") from None


def verdict_json(verdict: Verdict) -> dict[str, Any]:
    """Every field of `verdict` but the ids, enums by name."""
    fields = dataclasses.asdict(verdict)
    del fields["task_id"], fields["check_id"]
    return {name: value.name if isinstance(value, enum.Enum) else value for name, value in fields.items()}


def error_of(verdict: Verdict) -> str | None:
    """What went wrong, in one line; None when nothing did."""
    if verdict.exception is not None:
        line = f" (line {verdict.exception.line})" if verdict.exception.line else ""
        return f"{verdict.exception.type}: {verdict.exception.message}{line}"
    if verdict.detail:
        return own_words(verdict)
    return f"{verdict.clock.name.lower()} time" if verdict.clock is not None else None


def _sentence(verdict: Verdict) -> str:
    facts = [verdict.outcome.name]
    if verdict.assurance is not None:
        facts.append(verdict.assurance.name)
    if verdict.value:
        facts.append(f"value {verdict.value}" + ("…" if verdict.value_truncated else ""))
    error = error_of(verdict)
    if error:
        facts.append(error)
    if verdict.exception is not None and verdict.detail:
        facts.append(own_words(verdict))
    if verdict.assurance is Assurance.IN_PROCESS:
        facts.append(_WHY_TOGETHER)
    facts.append(f"{verdict.steps} steps, {verdict.cpu_ns / 1e6:.2f} ms")
    return " · ".join(facts)


def refuse_unless_they_run(
    sources: Mapping[Path, str],
    client: Client,
    runtimes: Iterable[str] = ("",),
    dressed: Callable[[Task], Task] = lambda task: task,
) -> None:
    """Raise InvalidRequest for a file of the caller's that runs with every program and does not run by itself: what
    comes of that is no program's fault."""
    tasks = [
        Task(text, [EvaluateCheck("len('')")], str(path), runtime=runtime)
        for path, text in sources.items()
        for runtime in sorted(runtimes)
    ]
    for verdict in client.check(map(dressed, tasks)):
        if verdict.outcome in (Outcome.INVALID, Outcome.RAISED):
            why = str(error_of(verdict)).removeprefix("the program: ")
            raise InvalidRequest(f"{verdict.task_id}: does not run by itself: {why}.")
