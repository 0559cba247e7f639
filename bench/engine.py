"""The engine without gRPC: the daemon's judge and scheduler driven directly, in a process of its own.

`python -m bench.engine` reads one marshalled `{"works": [(program, [(call, expected), ...]), ...], "cores": int,
"isolation": "AUTO" | "PROCESS"}` on stdin and answers like the programs of `bench.peers`. Work is handed over as the
client would cut it: batches of 256 checks, eight of them at a time. Starting the zygotes and some checks to warm them
come before the clock: the daemon it is compared with has been warm for long, too.
"""

from __future__ import annotations

import asyncio
import marshal
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from cruxboxd.judging.outcomes import CheckResult, Outcome
from cruxboxd.judging.tasks import CallCheck, Check, StepCount, Task
from cruxboxd.server.engine import Engine
from cruxboxd.settings.config import Config
from cruxboxd.zygotes.commands import Commands

from bench.daemon import family_cpu
from bench.peers import wire
from bench.workload import tasks

BATCH_CHECKS = 256
BATCHES_AT_A_TIME = 8
WARM_UP_TASKS = 20

Program = tuple[str, Sequence[tuple[str, str]]]


def task_asks(works: Sequence[Program], share: bool, config: Config, runtime: str) -> list[Task]:
    """What the service makes of a request, made without one."""
    return [
        Task(
            id=str(number),
            program=program.encode(),
            checks=[CallCheck(str(at), call, expected) for at, (call, expected) in enumerate(probes)],
            limits=config.default_limits,
            runtime=runtime,
            share=share,
            require=None,
            repeat=1,
            step_count=StepCount.INSTRUCTIONS,
        )
        for number, (program, probes) in enumerate(works)
    ]


def batches(asks: Sequence[Task]) -> Iterator[list[Task]]:
    """The tasks in slices of about BATCH_CHECKS checks."""
    batch: list[Task] = []
    size = 0
    for task in asks:
        batch.append(task)
        size += len(task.checks)
        if size >= BATCH_CHECKS:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


async def judge(engine: Engine, asks: Sequence[Task]) -> list[bool | None]:
    """Judge everything; whether each check passed (None: our failure), flat and in order."""
    passed: dict[tuple[str, str], bool | None] = {}
    room = asyncio.Semaphore(BATCHES_AT_A_TIME)

    async def emit(task: Task, ask: Check, judged: CheckResult, second: CheckResult | None) -> None:
        failed = judged.outcome in (None, Outcome.SANDBOX_ERROR)
        passed[task.id, ask.id] = None if failed else judged.outcome is Outcome.PASSED

    async def one(batch: list[Task]) -> None:
        try:
            await engine.judge.judge(batch, emit)
        finally:
            room.release()

    running = []
    for batch in batches(asks):
        await room.acquire()
        running.append(asyncio.create_task(one(batch)))
    await asyncio.gather(*running)
    return [passed[task.id, ask.id] for task in asks for ask in task.checks]


async def measure(message: dict[str, Any]) -> tuple[float, float, list[bool | None]]:
    """Wall seconds, CPU seconds and verdicts of the works in `message`."""
    engine = Engine(Config(workers=message["cores"]), Commands())
    share = message["isolation"] == "AUTO"
    await engine.open()
    try:
        warm = [(work.program, [(one.call, one.expected) for one in work.probes]) for work in tasks(0, WARM_UP_TASKS)]
        await judge(engine, task_asks(warm, share, engine.config, engine.default_runtime))
        asks = task_asks(message["works"], share, engine.config, engine.default_runtime)
        cpu_started, started = family_cpu(os.getpid()), time.perf_counter()
        passed = await judge(engine, asks)
        return time.perf_counter() - started, family_cpu(os.getpid()) - cpu_started, passed
    finally:
        await engine.close()


if __name__ == "__main__":
    wire.write(*asyncio.run(measure(marshal.load(sys.stdin.buffer))))
