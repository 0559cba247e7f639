"""Places for templates that get ready, and what becomes of those that do not."""

from __future__ import annotations

import asyncio

import pytest
from cruxboxd.scheduling import fleet as fleets
from cruxboxd.scheduling.loading import Loading
from cruxboxd.zygotes.launch import Hung
from cruxboxd.zygotes.retry import RetryPolicy
from cruxboxd.zygotes.setup import ZygoteKey
from made_up_zygotes import DONE, Daemon, Template, job, made_up, settle  # noqa: F401 - a fixture


def kind(runtime: str, seed: int = 0) -> ZygoteKey:
    return ZygoteKey(runtime, False, str(seed))


def test_so_many_get_ready_at_once_each_kind_once():
    loading = Loading()
    assert [loading.begin(kind(f"r{number}"), "t") for number in range(17)] == [True] * 16 + [False]
    loading.end(kind("r3"))
    assert not loading.begin(kind("r4"), "t")
    assert loading.begin(kind("r16"), "t")
    assert (len(loading), kind("r16") in set(loading)) == (16, True)


def test_of_runtimes_that_hung_half_as_many():
    loading = Loading()
    assert not loading.hung("a")
    assert loading.hung("a")
    assert [loading.begin(kind("a", seed), "t") for seed in range(9)] == [True] * 8 + [False]
    assert loading.begin(kind("b"), "t")
    assert not loading.hung("b")
    assert not loading.begin(kind("b", 1), "t")  # as both are
    loading.is_well("a")
    assert loading.begin(kind("b", 1), "t")
    assert not loading.hung("a")


async def test_what_is_late_holds_up_no_other_kind_of_its_tenant(monkeypatch: pytest.MonkeyPatch):
    """Four get ready at once then, and the last of these is of a runtime that is known to be well."""
    loading, now = Loading(), 100.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    kinds = [kind(f"r{number}") for number in range(8)]
    head = job(key=kinds[0])
    head.tenant = "t"

    def next_beside(*well: str) -> ZygoteKey | None:
        found = loading.next_beside(
            head, {kinds[1]}, well, lambda _, is_one: next((job(key=one) for one in kinds if is_one(one)), None)
        )
        return None if found is None else found.key

    loading.begin(kinds[7], "another")
    loading.begin(kinds[0], "t")
    assert not loading.is_late(kinds[0])
    assert next_beside("r4") is None
    now += 4
    assert loading.is_late(kinds[0])
    assert next_beside("r4") == kinds[4]
    assert next_beside("r1", "r7") == kinds[2]  # of those that are well there is one, or will be
    for number in (2, 3):
        loading.begin(kinds[number], "t")
        assert next_beside("r4") is None
        now += 4
    assert next_beside() is None
    assert next_beside("r6") == kinds[6]
    loading.begin(kinds[6], "t")
    now += 4
    assert next_beside("r4") is None


async def test_a_runtime_that_hangs_again_ends_what_waits_for_any_of_its_kinds(monkeypatch: pytest.MonkeyPatch):
    """But what waits for a zygote that there is, and for other runtimes."""
    gates = list[asyncio.Future[None]]()

    async def get_ready(_self: Template) -> None:
        gates.append(asyncio.get_running_loop().create_future())
        await gates[-1]

    monkeypatch.setattr(fleets, "RETRY", RetryPolicy(pause_s=0))
    daemon = await Daemon(zygotes=8).open()
    there = kind("dead", 9)
    await daemon.fleet.start(there)
    monkeypatch.setattr(Template, "is_ready", False)
    monkeypatch.setattr(Template, "get_ready", get_ready)
    zygotes = len(daemon.zygotes)
    works = await daemon.put(*[job(key=kind("dead", seed)) for seed in range(4)])
    (other,) = await daemon.put(job("other", key=kind("alive")))
    assert (len(gates), daemon.fleet.starting, len(daemon.zygotes)) == (2, 2, zygotes)
    gates[0].set_exception(Hung("python"))
    await settle()
    assert [work.done() for work in works] == [True, False, False, False]
    busy = daemon.zygotes[-1]
    held = await daemon.put(job("third", key=there))
    (waiting,) = await daemon.put(job("fourth", key=there))
    gates[2].set_exception(Hung("python"))
    await settle()
    assert [work.result().error for work in works] == ["no zygote: python was not ready within 30 s"] * 4
    assert not any(work.done() for work in (other, held[0], waiting))
    for _ in range(2):
        busy.end()
        await settle()
    assert (held[0].result(), waiting.result()) == (DONE, DONE)
    other.cancel()
    await daemon.fleet.close()
