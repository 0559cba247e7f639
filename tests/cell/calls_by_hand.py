"""A worker's jobs of calls without a worker: a helper and a context that note what a job does."""

from __future__ import annotations

import types
from typing import Any

import pytest
from cruxcell.jobs import calls
from cruxcell.protocol import frames, messages
from cruxcell.protocol.payloads import BUNDLED, CALLS_FLAGS

HERMETIC, ODD = "def f(x):\n    return x\n", "import time\ndef f(x):\n    return x\n"
FORMATS = "def f(t):\n    return t.format(1)\n"


class Helper:
    """Counts seals instead of setting them."""

    def __init__(self) -> None:
        self.seals: list[tuple[int, bytes]] = []
        self.listeners: list[Any] = []

    def hear(self, _events: object, listener: Any) -> None:
        self.listeners.append(listener)

    def arm(self) -> bool:
        return True

    def seal(self, _report: int, index: int, record: bytes = b"") -> None:
        self.seals.append((index, record))

    def plain_names(self, *_program: object) -> None:
        return None

    def plain_call(self, *_call: object) -> bool:
        return False

    def steps(self) -> int:
        return 1


class Context:
    """Notes what a job does, in order."""

    report, scratch_bytes, memory_bytes = 3, 0, 0

    def __init__(self, *opened: str) -> None:
        self.helper: Any = Helper()
        self.seals = True
        self.opened = opened
        self.done: list[str] = []
        self.plans: list[list[bytes]] = []
        self.used_cpu_ns: Any = 1
        self.is_clean, self.ran = True, 0

    def send(self, record: bytes) -> None:
        found: list[list[bytes]] = []
        frames.split(record, found, 100, 100)
        for one in found:
            self.note(one)

    def note(self, record: list[bytes]) -> None:
        if record[0] == messages.PLAN:
            self.plans.append(record)
        else:
            self.done.append(record[0].decode())

    def settle(self) -> None:
        pass

    def begin(self, index: int) -> None:
        self.index = index

    def steps(self) -> int:
        return 1

    def run(self, code: types.CodeType, namespace: dict[str, object]) -> object:
        self.ran += 1
        return eval(code, namespace)

    def send_value(self, value: object, _steps: object = None) -> None:
        self.done.append(f"{self.index}={value!r}")

    def send_raised(self, error: BaseException) -> None:
        self.done.append(f"{self.index}:{type(error).__name__}")

    def refuse(self, sentence: str) -> None:
        self.done.append(sentence)

    def start(self, kind: str, _between: int) -> None:
        self.done.append(kind)

    def next_check(self) -> None:
        self.done.append(".")

    def last_check(self) -> None:
        self.done.append("!")

    def end(self) -> None: ...

    def forget(self) -> None: ...

    def is_clear(self) -> bool:
        return self.is_clean


@pytest.fixture(autouse=True)
def this_process_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "set_recursion_depth", lambda _depth: None)
    monkeypatch.setattr(calls, "gc", types.SimpleNamespace(freeze=lambda: None, collect=lambda: 0))
    monkeypatch.setattr(calls, "loaded_count", lambda: 1)
    monkeypatch.setattr(calls, "_last", [None, None, calls._NOT_ASKED])
    monkeypatch.setattr(calls.frames, "write_all", lambda _report, record: written.append(record))
    written.clear()


written: list[bytes] = []


def fields(flags: int, program: str, *texts: str) -> list[bytes]:
    return [CALLS_FLAGS.pack(flags), program.encode(), *[part for text in texts for part in (b"", text.encode())]]


def job(flags: int, program: str, *texts: str, context: Context | None = None) -> tuple[str, str, int]:
    """(hermetic or not and the classes, what was done, what run_calls says)."""
    context = context or Context()
    context.helper.seal = noting(context)
    more, flags = flags & BUNDLED, flags & ~BUNDLED
    used = calls.run_calls(context, fields(flags, program, *texts), more)  # type: ignore[arg-type]
    for record in written:
        context.send(record)
    plan = context.plans[0]
    return (plan[1] + plan[2]).decode(), " ".join(context.done), used


def noting(context: Context) -> Any:
    def seal(_report: int, index: int, record: bytes = b"") -> None:
        context.done.append("s" if index == -1 else f"s{index}")
        if record:
            context.send(record)

    return seal
