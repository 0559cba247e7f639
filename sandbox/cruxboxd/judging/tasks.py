"""What a request asks, as plain values: protobuf has been left behind; a check that is wrong is an InvalidAsk."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Union

from cruxboxd.judging.outcomes import Assurance
from cruxboxd.settings.config import Limits


class StepCount(Enum):
    INSTRUCTIONS = 1
    EVENTS = 2


@dataclass(frozen=True)
class CallAsk:
    """value(call) == value(expected); expected None only asks for the value."""

    id: str
    call: str
    expected: str | None
    entry_point: str = ""
    inspect: bool = False


@dataclass(frozen=True)
class StdioAsk:
    id: str
    stdin: str
    expected_stdout: str


@dataclass(frozen=True)
class ScriptAsk:
    id: str
    script: str
    entry_point: str


@dataclass(frozen=True)
class InvalidAsk:
    """A check that cannot be made; `why` is a sentence. It has its verdict without a worker, and harms no other."""

    id: str
    why: str


Ask = Union[CallAsk, StdioAsk, ScriptAsk, InvalidAsk]


@dataclass(frozen=True)
class TaskAsk:
    """A program, its checks, and how to run them."""

    id: str
    program: str
    asks: list[Ask]
    limits: Limits
    runtime: str
    share: bool  # hermetic programs: among their checks, and with others
    require: Assurance | None
    repeat: int
    step_count: StepCount
    counts_steps: bool = True  # of scripts and programs; those of calls are always counted
    tenant: str = ""
    interactive: bool = False
    call: int = 0  # which of the open calls asked for it
    together: bool = False  # its checks share a worker whatever the program is, and may see traces of each other
