"""One worker of a zygote of its own, and the seals of what it runs."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from cruxboxd.settings.config import DEFAULT_LIMITS, Config, Limits, RuntimeSpec
from cruxboxd.zygotes.commands import Commands
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.runtimes import ZygoteSetups, find_runtimes
from cruxboxd.zygotes.setup import ZygoteKey
from cruxboxd.zygotes.template import Template
from cruxboxd.zygotes.zygote_process import ZygoteProcess
from cruxcell.protocol import frames, messages, payloads
from left_behind import Leaves

OPENED = frozenset(["rule"])  # the rule about what may share is open; the audit is not part of this


class Worker:
    """A zygote, and what a worker of it says."""

    def __init__(
        self,
        python: Path,
        preloaded: bool = False,
        pure: bool = False,
        opened: frozenset[str] = OPENED,
        threads: bool = False,
    ) -> None:
        self.config = Config(pure=pure, runtimes=(RuntimeSpec("r", str(python)),), opened=opened)
        self.key = ZygoteKey("r", preloaded or threads, "0", threads=threads)
        self.zygote = ZygoteProcess(self.key, lambda zygote: None, lambda job: None)

    async def start(self) -> None:
        self.template = Template(ZygoteSetups(self.config, find_runtimes(self.config, Commands()))(self.key))
        await self.zygote.start(self.template)

    async def run(self, texts: list[str], is_sealed: bool = True, limits: Limits = DEFAULT_LIMITS) -> Result:
        fields = [payloads.CALLS_FLAGS.pack(payloads.SHARE), b""]
        for text in texts:
            fields += [b"", text.encode()]
        job = Job(self.key, messages.JOB_CALLS, fields, limits, checks=len(texts))
        job.seals = len(texts) + 1 if is_sealed else 0
        self.zygote.run(job)
        return await asyncio.wait_for(job.future, 30)

    async def has(self, needs: str) -> bool:
        result = await self.run([f"eval({needs.replace('sys.', '__import__(`sys`).').replace('`', chr(39))!r})"], False)
        return b"True" in result.report

    async def broken_by(self, leaves: Leaves) -> tuple[str, ...] | None:
        """What the seal says, where the honest check in front counts and nothing behind it; None if this cannot be."""
        if not await self.has(leaves.needs):
            return None
        result = await self.run(["sorted('ba')", f"exec({leaves.program!r})", "sorted('ba')"])
        assert [record[0] for record in frames.split(result.report)[0]] == [messages.PLAN, messages.VALUE]
        assert result.facts.is_clean, result.facts
        return result.unsealed


@contextlib.asynccontextmanager
async def started(
    python: Path = Path(sys.executable),
    preloaded: bool = False,
    pure: bool = False,
    opened: frozenset[str] = OPENED,
    threads: bool = False,
) -> AsyncIterator[Worker]:
    """A zygote of its own for the body, and what a worker of it says."""
    worker = Worker(python, preloaded, pure, opened, threads)
    await worker.start()
    try:
        yield worker
    finally:
        worker.zygote.kill("")
        worker.template.close()
