"""The options of every command that runs programs: the server, the runtime and the limits.

`@runs_programs(...)` gives a command these options and calls it with `running`, which holds what they say.
"""

from __future__ import annotations

import enum
import inspect
import os
import re
import typing
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Optional

import typer

from cruxbox.cli.connect import Server, connect, option_of
from cruxbox.client import Client
from cruxbox.errors import InvalidRequest
from cruxbox.model import Assurance, Limits, Task, Verdict

_SIZE = re.compile(r"(-?\d{1,300}(?:\.\d{1,6})?)\s*([kmgt]?)(i?b)?", re.IGNORECASE)
_UNITS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}
_MOST_STEPS = (1 << 63) - 1
_LONGEST_S = 1e6


class Require(str, enum.Enum):
    """What a verdict must be worth."""

    separated = "separated"


@dataclass(frozen=True)
class Running:
    """What the shared options say: where programs run, and what they may use (0 is the server's default)."""

    server: str | None = None
    python: str | None = None
    runtime: str = ""
    limits: Limits = field(default_factory=Limits)
    require: Assurance | None = None

    def connect(self, *, dressed: bool = True, **more: Any) -> Client:
        """A client of the server that was named, or of one of its own, on `--python` if that was given.

        With `dressed`, tasks that it is given are put under the shared options (`task`).
        """
        if self.python is not None:
            more["server_args"] = (
                *more.get("server_args", ()),
                "--runtime",
                f"default={self.python}",
                "--own-packages",
            )
        if not dressed:
            return connect(self.server, **more)
        return connect(self.server, lambda *target, **options: _Client(self, *target, **options), **more)

    def task(self, task: Task) -> Task:
        """`task` with the runtime, the limits and the assurance asked for; what was not asked for stays."""
        asked = {name: value for name, value in vars(self.limits).items() if value}
        return replace(
            task,
            runtime=self.runtime or task.runtime,
            limits=replace(task.limits, **asked),
            require_assurance=self.require or task.require_assurance,
        )


class _Client(Client):
    """A client whose tasks are those of a command, with the shared options over them."""

    def __init__(self, running: Running, *target: Any, **options: Any) -> None:
        super().__init__(*target, **options)
        self._running = running

    def check(self, tasks: Iterable[Task], *, deadline: float | None = None) -> list[Verdict]:
        """As `Client.check`."""
        return super().check(map(self._running.task, tasks), deadline=deadline)

    def stream(
        self, tasks: Iterable[Task], *, ordered: bool = True, deadline: float | None = None
    ) -> Iterator[Verdict]:
        """As `Client.stream`."""
        return super().stream(map(self._running.task, tasks), ordered=ordered, deadline=deadline)


_CPU = typer.Option("--cpu-limit", metavar="SECONDS", help="CPU time limit of one check.")
_WALL = typer.Option("--wall-limit", metavar="SECONDS", help="Wall time limit of one check.")
_MEMORY = typer.Option("--memory-limit", metavar="SIZE", help="Memory limit of one check, such as 512M or 2G.")
_OUTPUT = typer.Option(
    "--output-limit", metavar="SIZE", help="Limit of standard output of one check, such as 4M; of standard error, too."
)
_STEPS = typer.Option("--max-steps", metavar="N", help="Step limit of one check. A step is a bytecode instruction.")
_RUNTIME = typer.Option(
    "--runtime", metavar="NAME", help="Runtime of the server to run on; `cruxbox runtimes` lists them."
)
PYTHON = typer.Option("--python", metavar="PATH", help="Interpreter to run on; without --server only.")
_REQUIRE = typer.Option("--require", help="Make a check INVALID if it could only run in the candidate's process.")


def runs_programs(
    *, cpu_limit_s: float | None = None, max_steps: int | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command the shared options in the place of its parameter `running`.

    Args:
        cpu_limit_s: the command's default of `--cpu-limit`, in seconds; None is the server's own.
        max_steps: the command's default of `--max-steps`; None is the server's own.
    """
    shared = [
        parameter("server", Server, None),
        parameter("cpu_limit", Annotated[Optional[float], _CPU], cpu_limit_s),
        parameter("wall_limit", Annotated[Optional[float], _WALL], None),
        parameter("memory_limit", Annotated[Optional[str], _MEMORY], None),
        parameter("output_limit", Annotated[Optional[str], _OUTPUT], None),
        parameter("max_steps", Annotated[Optional[int], _STEPS], max_steps),
        parameter("runtime", Annotated[str, _RUNTIME], ""),
        parameter("python", Annotated[Optional[str], PYTHON], None),
        parameter("require", Annotated[Optional[Require], _REQUIRE], None),
    ]

    return lambda function: with_options(function, "running", shared, _running)


def with_options(
    function: Callable[..., None], name: str, shared: list[inspect.Parameter], make: Callable[..., Any]
) -> Callable[..., None]:
    """`function` with `shared` in the place of its parameter `name`, which is what `make` makes of them."""
    hints = typing.get_type_hints(function, include_extras=True)
    own = [
        each.replace(annotation=hints[each.name], kind=inspect.Parameter.KEYWORD_ONLY)
        for each in inspect.signature(function).parameters.values()
        if each.name != name
    ]

    def command(**values: Any) -> None:
        asked = {each.name: values.pop(each.name) for each in shared}
        function(**values, **{name: make(**asked)})

    made: Any = command
    made.__doc__ = function.__doc__
    made.__module__ = function.__module__
    made.__signature__ = inspect.Signature([*own, *shared])
    made.__annotations__ = {each.name: each.annotation for each in (*own, *shared)}
    return command


def parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _running(
    server: str | None,
    cpu_limit: float | None,
    wall_limit: float | None,
    memory_limit: str | None,
    output_limit: str | None,
    max_steps: int | None,
    runtime: str,
    python: str | None,
    require: Require | None,
) -> Running:
    if max_steps is not None and not 1 <= max_steps <= _MOST_STEPS:
        raise InvalidRequest(f"--max-steps must be at least 1 and at most {_MOST_STEPS}, not {_short(max_steps)}.")
    limits = Limits(
        cpu_ms=_milliseconds("--cpu-limit", cpu_limit),
        wall_ms=_milliseconds("--wall-limit", wall_limit),
        memory_bytes=_bytes("--memory-limit", memory_limit),
        output_bytes=_bytes("--output-limit", output_limit),
        steps=max_steps or 0,
    )
    needed = None if require is None else Assurance.SEPARATED
    return replace(where(server, python), runtime=runtime, limits=limits, require=needed)


def where(server: str | None, python: str | None) -> Running:
    """What `--server` and `--python` say. InvalidRequest if they do not go together."""
    if server is not None and python is not None:
        named = f"one that is named by {option_of(server)} has its own runtimes"
        raise InvalidRequest(f"--python is for a server of its own; {named}.")
    return Running(server, _interpreter(python))


def _short(number: int) -> str:
    return str(number) if abs(number) < 1 << 80 else f"a number of {number.bit_length()} bits"


def _milliseconds(option: str, seconds: float | None) -> int:
    if seconds is None:
        return 0
    if not 0 < seconds < _LONGEST_S:  # false for NaN
        raise InvalidRequest(
            f"{option} must be a number of seconds above 0 and below {_LONGEST_S:.0f}, not {seconds:g}."
        )
    return max(1, round(seconds * 1000))  # the server says what is too little


def _bytes(option: str, size: str | None) -> int:
    if size is None:
        return 0
    match = _SIZE.fullmatch(size.strip())
    if match is None:
        raise InvalidRequest(f"{option} must be a size such as 512M or 2G, not {size[:40]!r}.")
    count = float(match[1]) * (1 << _UNITS[match[2].lower()])
    if not 1 <= count < 1 << 63:
        raise InvalidRequest(f"{option} must be above 0 and below {1 << 23}T, not {size[:40]!r}.")
    return int(count)


def _interpreter(path: str | None) -> str | None:
    if path is None:
        return None
    full = os.path.abspath(path)
    if not (os.path.isfile(full) and os.access(full, os.X_OK)):
        raise InvalidRequest(f"--python must be the path of a Python interpreter, not {path[:200]!r}.")
    return full
