"""Jobs for the fair queue, and streams and results that they wait for."""

from __future__ import annotations

from dataclasses import replace

from cruxboxd.scheduling.fair_queue import FairQueue
from cruxboxd.scheduling.holding import Holding
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.zygotes.jobs import Job, Outlet
from cruxboxd.zygotes.setup import ZygoteKey

KEY = ZygoteKey("python", False, "0")
MIB = 1 << 20


def job(tenant: str = "a", interactive: bool = False, checks: int = 1) -> Job:
    return Job(
        key=KEY, kind=b"", fields=[b"x"], limits=DEFAULT_LIMITS, tenant=tenant, interactive=interactive, checks=checks,
        future=None,
    )  # fmt: skip


def following(interactive: bool = False) -> Job:
    return replace(job(interactive=interactive), follows=True)


def take(queue: FairQueue, **options) -> Job | None:
    head = next(queue.heads(**options), None)
    return head and queue.take(head)


def drain(queue: FairQueue) -> list[Job]:
    taken = []
    while (one := take(queue)) is not None:
        taken.append(one)
    return taken


def may(tenant: str) -> bool:
    return True


class Full(Outlet):
    """Where verdicts leave, for as long as somebody reads them."""

    is_full = True
    is_unread = False

    def __init__(self, is_unread: bool = False) -> None:
        self.is_unread = is_unread


class Told(Holding):
    """Says of each change whether it lets jobs go."""

    def __init__(self, queue: FairQueue, tenant: str) -> None:
        self.lets_go: list[bool] = []
        super().__init__(lambda _holding, size: self.lets_go.append(queue.hold(tenant, self, size)), 1)


def put_aside_and_back(count: int) -> tuple[FairQueue, list[Job]]:
    """So many jobs of an outlet that was full and is not any more; the first of them are in their line again."""
    queue, outlet = FairQueue(), Full()
    jobs = [replace(job(), outlet=outlet) for _ in range(count)]
    for one in jobs:
        queue.put(one)
    assert take(queue) is None
    outlet.is_full = False
    queue.resume()
    return queue, jobs
