"""A scheduler without workers: what an honest worker would say of each text stands in a table.

`Told` runs no process. A test gives it the class and the answer of each text (a call, an expected value, a script), or
a whole `Result` for the next job, and looks at what comes of that and at the jobs that were asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from cruxboxd.scheduling.holding import Holding
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.report import Plan
from cruxboxd.zygotes.setup import ZygoteKinds
from cruxcell.protocol import frames, messages, payloads, records

S = 1_000_000_000
LIMITS = replace(DEFAULT_LIMITS, output_bytes=1000)
CLEAN, DIED, NO_WORD = Exit(0, S), Exit(11, S), Exit(messages.EXIT_HARNESS << 8, S)
TOKEN = b"token of its job"  # stands in the report of a test's half for the one, as long, that its job has


@dataclass(frozen=True)
class Said:
    """What a worker says of a text: its class, and an int that is its value, an exception's name, or None for a value
    that is not plain data; `steps` tell it from another time."""

    letter: str
    answer: int | str | None = 1
    steps: int = 5
    findings: tuple[str, ...] = ()
    run_findings: tuple[str, ...] = ()

    def record(self, index: int) -> bytes:
        numbers = records.NUMBERS.pack(index, self.steps, 1, 2, 0)
        if isinstance(self.answer, str):
            name = self.answer.encode()
            return frames.frame([messages.RAISED, numbers, name, b"text", b"\1\0\0\0", b"", b""])
        if self.answer is None:
            return records.value(numbers, messages.OPAQUE, b"", b"<object>")
        return records.value(numbers, messages.PLAIN, canonical(self.answer), b"%d" % self.answer)


def canonical(number: int) -> bytes:
    return b"i%d;" % number


def read(kind: bytes, first: bytes = b"", other: str = "") -> list[bytes]:
    """What a worker says of a text that it is to read."""
    return [kind, first, other.encode()]


CONSTANT, EXPRESSION = read(messages.READ_CONSTANT, canonical(1)), read(messages.READ_EXPRESSION)


def done(token: bytes = b"") -> Result:
    """Of a job that came to its end."""
    end = records.ended(bytes(records.NUMBERS.size), token=token)
    return Result(report=records.plan(False, "x", []) + end, facts=CLEAN)


@dataclass
class Told:
    """A scheduler as `Judge` and `CallEvaluator` know it."""

    texts: Mapping[str, Any]
    kinds: ZygoteKinds = field(default_factory=ZygoteKinds)
    scratch_bytes: int = 0
    is_hermetic: bool = True
    # Asked before each job; a Result instead of None is what comes of it.
    before: Callable[[Job], Result | None] = lambda _job: None
    pair: tuple[Result, Result] | None = None
    first_pair: tuple[Result, Result] | None = None  # where another comes of the first
    jobs: list[Job] = field(default_factory=list)

    def of(self, kind: bytes) -> list[Job]:
        return [job for job in self.jobs if job.kind == kind]

    def holding(self, _tenant: str, verdicts: int = 1) -> AbstractContextManager[Holding]:
        return nullcontext(Holding(lambda _holding, _size: None, verdicts))

    async def run(self, job: Job) -> Result:
        self.jobs.append(job)
        await asyncio.sleep(0)
        return self.before(job) or self._honest(job)

    async def run_pair(self, job: Job) -> tuple[Result, Result]:
        self.jobs.append(job)
        first = self.first_pair if len(self.jobs) == 1 else None
        candidate, test = first or self.pair or (done(), done(TOKEN))
        assert job.partner is not None
        return candidate, replace(test, report=test.report.replace(TOKEN, job.partner.fields[-1]))

    def _honest(self, job: Job) -> Result:
        if job.kind == messages.JOB_READ:
            report = b"".join(frames.frame(self.texts[text.decode()]) for text in job.fields[1::2])
        elif job.kind == messages.JOB_CALLS:
            report = self._calls(job)
        elif job.kind == messages.JOB_ARGUMENTS:
            report = self._arguments(self.texts["arguments of " + job.fields[1].decode()])
        elif job.kind == messages.JOB_APPLY:
            said = self.texts[f"{job.fields[1].decode()} applied to {job.fields[2].decode()}"]
            report = records.plan(False, messages.DIRECT, []) + said.record(0)
        else:
            report = records.plan(False, messages.EXPRESSION, []) + self.texts[job.fields[0].decode()].record(0)
        return Result(report=report, facts=CLEAN)

    def _calls(self, job: Job) -> bytes:
        said = [self.texts[text.decode()] for text in job.fields[3::2]]
        classes = "".join(one.letter for one in said)
        asks = job.fields[0][0] & payloads.INSPECT
        turns = Plan(self.is_hermetic, classes, ()).turns(job.asked)
        report = records.plan(self.is_hermetic, classes, ["the call is wrong"] * classes.count(messages.INVALID))
        if asks:
            report += records.findings(0, [set(one.findings) for one in said])
        for at in turns:
            if asks and said[at].run_findings:
                report += records.findings(at, [set(said[at].run_findings)])
            report += said[at].record(at)
        return report

    @staticmethod
    def _arguments(said: Said | str | tuple[str, bytes]) -> bytes:
        """A sentence is what is wrong with the call, a pair the callee and the encoded arguments."""
        if isinstance(said, str):
            return records.plan(False, messages.INVALID, [said])
        if isinstance(said, Said):
            return records.plan(False, messages.DIRECT, ["f"]) + said.record(0)
        numbers = records.NUMBERS.pack(0, 5, 1, 2, 0)
        callee, encoded = said
        details = [callee] if callee else []
        return records.plan(False, messages.DIRECT, details) + records.value(numbers, messages.PLAIN, encoded, b"")
