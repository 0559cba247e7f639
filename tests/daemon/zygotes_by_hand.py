"""One zygote without a scheduler, and jobs for it."""

from __future__ import annotations

import asyncio

from cruxboxd.judging.outcomes import of_answer
from cruxboxd.settings.config import DEFAULT_LIMITS, Config, Limits
from cruxboxd.zygotes.commands import Commands
from cruxboxd.zygotes.jobs import Job
from cruxboxd.zygotes.report import Asked
from cruxboxd.zygotes.runtimes import ZygoteSetups, find_runtimes
from cruxboxd.zygotes.setup import ZygoteKey
from cruxboxd.zygotes.zygote_process import ZygoteProcess
from cruxcell.protocol import messages, payloads

KEY = ZygoteKey("default", False, "0")
SETUPS = ZygoteSetups(Config(), find_runtimes(Config(), Commands()))


def job(program: str, *texts: str, limits: Limits = DEFAULT_LIMITS) -> Job:
    fields = [payloads.CALLS_FLAGS.pack(payloads.SHARE), program.encode()]
    for text in texts:
        fields += [b"", text.encode()]
    return Job(key=KEY, kind=messages.JOB_CALLS, fields=fields, limits=limits, checks=len(texts))


class Kept:
    """A zygote under test, and the jobs it gave back."""

    def __init__(self, key: ZygoteKey = KEY) -> None:
        self.requeued: list[Job] = []
        self.changes = 0
        self.zygote = ZygoteProcess(key, self._changed, self.requeued.append)

    def _changed(self, zygote: ZygoteProcess) -> None:
        self.changes += 1

    async def values(self, *jobs: Job) -> list[list[str]]:
        """Run the jobs one after the other; the values of each."""
        found = []
        for one in jobs:
            self.zygote.run(one)
            result = await asyncio.wait_for(one.future, 20)
            report = result.read(Asked(count=one.checks, output=1 << 20))
            assert report.forged == ""
            found.append([of_answer(answer, result.facts).shown for answer in report.answers])
        return found
