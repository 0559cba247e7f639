"""How a peer program gets its work and gives its answer."""

from __future__ import annotations

import json
import marshal
import resource
import sys
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


def write(seconds: float, passed: Sequence[bool]) -> None:
    """Answer."""
    print(json.dumps({"seconds": seconds, "verdicts": "".join("01"[bool(one)] for one in passed)}), flush=True)
