"""A job: the work of one worker, and its result. The scheduler carries it, a zygote does it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

from cruxcell.protocol import frames, messages
from cruxcell.protocol.payloads import LIMITS as LIMIT_FIELDS

from cruxboxd.settings.config import Limits, most_reported
from cruxboxd.zygotes import seals
from cruxboxd.zygotes.company import Company
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.read_back import NO_FILES, FilesRead
from cruxboxd.zygotes.report import ONE_VALUE, Asked, Report
from cruxboxd.zygotes.report_parser import read_report
from cruxboxd.zygotes.setup import ZygoteKey

_MS = 1_000_000
# The exit statuses of a shared worker whose own code has found things changed.
_ENDED_UNSEALED = frozenset([messages.EXIT_UNSEALED << 8, messages.EXIT_HARNESS << 8])


@dataclass(frozen=True)
class Result:
    """The result of a job: the worker's report and the kernel's facts, or `error` for a failure of the sandbox."""

    report: bytes = b""
    facts: Exit = field(default_factory=Exit)
    error: str = ""
    queue_ns: int = 0
    attempts: int = 1
    streams: tuple[bytes, bytes] = (b"", b"")
    files: FilesRead = NO_FILES  # those that were to be read back
    over_cap: bool = False
    # May its worker have waited for the event loop? For how long that was late meanwhile, where that matters.
    is_held_up: bool = False
    late_ns: int = 0
    # CPU time to be charged to the tenant, where it is not all that the worker used.
    charged_ns: int | None = None
    # What broke the seal behind the last check that counts (see `seals`); the next has to run again, alone.
    unsealed: tuple[str, ...] = ()
    # The report, where it has been read already.
    said: Report | None = None
    # Those that shared the worker, if it was not this job's alone; the places of its checks that are to be audited.
    company: Company | None = None
    audited: tuple[int, ...] = ()

    @property
    def cpu_ns(self) -> int:
        """CPU time that the job took: its part, where it shared the worker."""
        return self.facts.cpu_ns if self.charged_ns is None else self.charged_ns

    def read(self, asked: Asked) -> Report:
        """The worker's report, up to the first record that no honest worker writes."""
        return self.said if self.said is not None else read_report(self.report, asked)

    def leave(self) -> None:
        """The audit of this job has ended, or will not take place. To be called once."""
        if self.company is not None and self.audited:
            self.company.settle()

    async def settled(self) -> None:
        """Wait until all audits of those that shared the worker have ended."""
        if self.company is not None:
            await self.company.settled()


# Bytes that came of an RPC's checks and wait for their verdicts; over that none of its checks begins.
HELD_AN_RPC = 32 << 20


class Outlet:
    """Where the verdicts of an RPC wait to leave."""

    held: int = 0  # bytes that came of its checks and wait for their verdicts

    @property
    def is_full(self) -> bool:
        return False

    @property
    def is_unread(self) -> bool:
        """Has nobody taken anything of what is ready for long?"""
        return False

    def takes(self, is_due: bool) -> bool:
        """May work begin whose verdict leaves here? `is_due` of what such bytes wait for, or will wait for nothing that
        has not begun."""
        return not self.is_full and (is_due or self.held <= HELD_AN_RPC)


# The outlet of the RPC that is being judged.
current_outlet: ContextVar[Outlet | None] = ContextVar("current_outlet", default=None)


class JobSetting(Protocol):
    """What a program finds around it."""

    @property
    def size(self) -> int: ...

    def parts(self) -> Sequence[bytes]:
        """The parts of a field of a payload; none where there is nothing."""


@dataclass(eq=False)
class Job:
    """One worker's work. `checks` is how many checks it answers, each with the limits for itself."""

    key: ZygoteKey
    kind: bytes
    fields: list[bytes]
    limits: Limits
    tenant: str = ""
    interactive: bool = False
    checks: int = 1
    flags: int = 0
    asked: Asked = ONE_VALUE  # what an honest report on it looks like
    attempts: int = 0
    queued_at: int = field(default_factory=time.monotonic_ns)
    started_at: int = 0
    is_cancelled: bool = False
    is_ahead: bool = False  # its tenant has used less than its share: its worker comes before those of others
    was_called_back: bool = False  # from behind a slow worker; it waits behind no other
    follows: bool = False  # upon a result that is held until this one has come: it goes before what has not begun
    is_begun: bool = False  # results of others wait for the same verdict, and came when this one waited already
    may_share: bool = False  # may other jobs of the same RPC share its worker?
    rpc_id: int = 0
    carrier: Job | None = None  # the job in whose worker it runs now, if it shares one
    # Where its verdicts leave; while that is full, it is not handed out.
    outlet: Outlet | None = None
    # Seals its worker may need, if checks share it; the tokens of the worker that has it.
    seals: int = 0
    tokens: bytes = b""
    # Called with the report so far when its worker gets nothing done for long: what is behind can go elsewhere.
    on_stuck: Callable[[bytes], None] | None = None
    # The other half of a pair: the candidate's job carries the test's, which is never queued by itself.
    partner: Job | None = None
    is_partner: bool = False
    seat: int = 0  # of a pair: the place of its CPU among those that the daemon may use
    stdin: bytes = b""  # of a STDIO job
    read_files: tuple[str, ...] = ()  # to be read back from its scratch folder
    scratch_bytes: int = 0  # that its scratch folder may hold
    # What its program finds around it, put together when it is handed out: a thousand checks of a task may wait with
    # the same files.
    setting: JobSetting | None = None
    # Told once, when its worker is really gone, or when it has none and never will: it is paid for and counts no more.
    on_over: Callable[[Job, Result], None] | None = None
    late_before_ns: int = 0  # for how long the event loop had been late when it was handed out
    is_over: bool = False
    spent_ns: int = 0  # CPU time of workers that came to nothing, charged with the last
    future: asyncio.Future[Result] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def memory_bytes(self) -> int:
        """What its workers may take, and have the daemon take: a pair is two of them. A scratch folder is memory, and
        where there is one, what is printed on a standard stream may be as large, too, before it is looked at. What a
        worker reports is held until it ends."""
        files = self.scratch_bytes * (3 if self.flags & messages.STDIO else 1)
        return (self.limits.memory_bytes + files + self.report_cap) * (2 if self.partner is not None else 1)

    @property
    def is_wanted(self) -> bool:
        """Does anybody still wait for what comes of it?"""
        return not self.is_cancelled

    def payload(self) -> bytes:
        """The frame the worker reads, with tokens that no other worker ever had."""
        self.tokens = seals.new_tokens(self.seals)
        limits = LIMIT_FIELDS.pack(self.limits.steps, self.limits.output_bytes)
        setting = self.setting.parts() if self.setting is not None else ()
        if setting:
            head, rest = [messages.JOB_SET, limits, self.tokens], [self.kind, *self.fields]
            return frames.joined([*frames.parts(head), *frames.field(setting), *frames.parts(rest)])
        return frames.frame([self.kind, limits, self.tokens, *self.fields])

    def order(self, seq: int, lane: int, flags: int = 0) -> bytes:
        """The datagram the zygote reads; `flags` beside the job's own."""
        limits = self.limits
        return messages.ORDER.pack(
            messages.RUN,
            lane,
            self.flags | flags,
            seq,
            limits.cpu_ms * _MS,
            limits.wall_ms * _MS,
            limits.memory_bytes,
            limits.output_bytes if self.flags & messages.STDIO else 0,
            min((limits.cpu_ms // 1000 + 2) * self.checks, 1 << 31),
            self.seat,
        )

    @cached_property
    def size(self) -> int:
        """Bytes this job holds in the queue."""
        return (
            sum(map(len, self.fields))
            + len(self.stdin)
            + (self.setting.size if self.setting is not None else 0)
            + (self.partner.size if self.partner else 0)
        )

    @property
    def report_cap(self) -> int:
        """Bytes of report the daemon reads from this job's worker before it kills it."""
        return most_reported(self.limits.output_bytes, self.checks) + self.seals * seals.RECORD_BYTES

    def stuck(self, report: bytes) -> None:
        """The worker has stalled; `report` is its report so far."""
        if self.on_stuck is not None and not self.is_cancelled:
            self.on_stuck(self.unsealed(report))

    def unsealed(self, report: bytes) -> bytes:
        """What counts of a report that goes on."""
        return seals.unseal(report, self.tokens, is_whole=False).report if self.tokens else report

    def opened(self, result: Result) -> Result:
        """What counts of a result, where checks shared the worker."""
        if not self.tokens or result.error:
            return result
        found = seals.unseal(result.report, self.tokens, is_whole=not result.over_cap)
        broken = found.broken
        if not broken and result.facts.status in _ENDED_UNSEALED:
            broken = (seals.UNFINISHED,)
        # The worker's end is then attributed to no check. The check it was running runs again.
        facts = replace(result.facts, status=0, killed=messages.NOT_KILLED) if broken else result.facts
        return replace(result, report=found.report, facts=facts, unsealed=broken)

    def anew(self, **changes: Any) -> Job:
        """A new job with the same work except for `changes`; its partner is copied too."""
        partner = self.partner.anew(**changes) if self.partner else None
        fresh: dict[str, Any] = {"queued_at": time.monotonic_ns(), "started_at": 0, "carrier": None, "on_over": None}
        fresh |= {"future": asyncio.get_running_loop().create_future(), "is_over": False, "spent_ns": 0}
        return replace(self, partner=partner, **fresh, **changes)

    @property
    def carried(self) -> Sequence[Job]:
        """The jobs that share its worker, where it carries any."""
        return ()

    def charge(self, cpu_ns: int) -> None:
        """Keep the CPU time of a worker that another one has to follow."""
        self.spent_ns += cpu_ns

    def finish(self, result: Result) -> None:
        """The job has ended. Its cost is charged even if its result is no longer wanted."""
        self.on_stuck = None  # which knows the job: reports may be large, and wait for no collector
        if not self.is_over:
            self.is_over = True
            if self.on_over is not None:
                self.on_over(self, result)
        if not self.future.done():
            self.future.set_result(self.opened(result))
        elif self.future.cancelled():
            result.leave()  # nobody takes it
