"""A scheduler whose zygotes run nothing: a test says when a job ends and how."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from cruxboxd.scheduling import fleet as fleets
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.settings.config import DEFAULT_LIMITS, Config, check_config
from cruxboxd.shared.observer import Observer
from cruxboxd.tenancy.tenants import Tenant
from cruxboxd.zygotes import strays
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.setup import ZygoteKey, ZygoteSetup

MIB = 1 << 20
LIMITS = replace(DEFAULT_LIMITS, memory_bytes=10 * MIB, output_bytes=64)
KEY, OTHER = ZygoteKey("default", False, "0"), ZygoteKey("default", True, "0")
DONE = Result(report=b"done")


class Zygote:
    """A zygote that runs nothing: its jobs end when a test says so."""

    starts: Callable[[ZygoteKey], None] = lambda _key: None

    def __init__(self, key: ZygoteKey, on_change: Callable[[Any], None], requeue: Callable[[Job], None]) -> None:
        self.key, self.on_change, self.requeue = key, on_change, requeue
        self.slow, self.silence_s = False, 0.0
        self.alive = True
        self.jobs: list[Job] = []
        self.cancelled: list[Job] = []
        self.killed: str | None = None
        self.pings, self.given_back, self.pid = 0, 0, 0

    async def start(self, *_setup: object) -> None:
        await asyncio.sleep(0)
        type(self).starts(self.key)

    load = property(lambda self: len(self.jobs))
    memory_bytes = property(lambda self: sum(job.memory_bytes for job in self.jobs))
    tenant = property(lambda self: self.jobs[0].tenant if self.jobs else "")

    def run(self, job: Job) -> None:
        self.jobs.append(job)

    def end(self, result: Result = DONE) -> None:
        self.slow = False
        self.jobs.pop(0).finish(result)
        self.on_change(self)

    def lose(self) -> None:
        job = self.jobs.pop(0)
        job.attempts += 1
        self.requeue(job)

    def cancel(self, job: Job) -> None:
        self.cancelled.append(job)

    def kill(self, reason: str) -> None:
        self.killed, self.alive = reason, False

    def silence_ns(self, _now_ns: int) -> int:
        return int(self.silence_s * 10**9)

    def give_slot_back(self) -> None:
        self.slow = True
        self.given_back += 1

    def ping(self) -> None:
        self.pings += 1


class Template:
    """A template that forks nothing, and is ready unless a test says otherwise."""

    is_ready, pid = True, 0

    def __init__(self, _setup: object) -> None:
        self.looks, self.is_open, self.cost_ns = 0, True, 0

    async def get_ready(self) -> None:
        pass

    def take_cost_ns(self) -> int:
        return self.cost_ns

    def watch(self, _now_ns: int) -> None:
        self.looks += 1

    def close(self) -> None:
        self.is_open = False


class Told(Observer):
    def __init__(self) -> None:
        self.said: list[object] = []

    def seal_broken(self, what: tuple[str, ...]) -> None:
        self.said.append(what)

    def sandbox_error(self, reason: str) -> None:
        self.said.append(reason)

    def zygote_ended(self) -> None:
        self.said.append("ended")


class Daemon:
    """A scheduler of two slots with zygotes that run nothing."""

    def __init__(self, *, opened: Any = (), zygotes: int = 4, terms: dict[str, Any] | None = None) -> None:
        bounds = {"zygotes": zygotes, "worker_memory_bytes": 100 * MIB, "opened": opened}
        config = replace(check_config(Config(workers=2)), **bounds)
        self.observer = Told()
        self.scheduler = Scheduler(
            config, lambda _key: ZygoteSetup("", {}, []), self.observer, lambda name: Tenant(name, **terms or {}),
            draw=lambda checks: (0,) if checks else (),
        )  # fmt: skip
        self.fleet = self.scheduler._fleet

    @property
    def zygotes(self) -> list[Any]:
        return self.scheduler.zygotes  # type: ignore[return-value]

    async def open(self) -> Daemon:
        await self.fleet.open(KEY)
        return self

    async def put(self, *jobs: Job) -> list[asyncio.Task[Result]]:
        made = [asyncio.ensure_future(self.scheduler.run(job)) for job in jobs]
        await settle()
        return made

    def running(self) -> list[list[Job]]:
        return [list(zygote.jobs) for zygote in self.zygotes]


async def settle() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


def job(tenant: str = "t", key: ZygoteKey = KEY, **changes: Any) -> Job:
    return Job(key=key, kind=b"", fields=[b""], limits=LIMITS, tenant=tenant, **changes)


@pytest.fixture(autouse=True)
def made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleets, "ZygoteProcess", Zygote)
    monkeypatch.setattr(fleets, "Template", Template)
    monkeypatch.setattr(strays, "reap", lambda _pids: None)
    monkeypatch.setattr(Zygote, "starts", staticmethod(lambda _key: None))
