"""How a peer program gets its work and gives its answer."""

from __future__ import annotations

import json
import marshal
import os
import resource
import sys
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

# No peer limits memory by itself. This keeps a hog from taking the machine with it, and costs nothing.
ADDRESS_SPACE_BYTES = 4 << 30


class Job(NamedTuple):
    """The checks as (program, call, expected), the processes to use, and the wall limit of a check."""

    checks: list[tuple[str, str, str]]
    cores: int
    timeout_s: float


def read() -> Job:
    """The job on stdin; the address space is limited on the way."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_BYTES, ADDRESS_SPACE_BYTES))
    message: dict[str, Any] = marshal.load(sys.stdin.buffer)
    return Job(message["checks"], message["cores"], message["timeout_s"])


class Stopwatch:
    """Wall and CPU seconds since it was made; CPU of this process and of all its children that have been waited for."""

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), sum(os.times()[:4])

    def read(self) -> tuple[float, float]:
        return time.perf_counter() - self._wall, sum(os.times()[:4]) - self._cpu


def write(seconds: float, cpu_seconds: float, passed: Sequence[bool | None]) -> None:
    """Answer."""
    verdicts = "".join("?" if one is None else "01"[one] for one in passed)
    print(json.dumps({"seconds": seconds, "cpu_seconds": cpu_seconds, "verdicts": verdicts}), flush=True)
