"""How many workers a check of each kind takes: a fork is what a check costs."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import replace

import pytest
from counting_pool import PROGRAM, CountingPool, outcomes, task
from cruxboxd.judging.outcomes import Outcome
from cruxboxd.judging.tasks import CallCheck, Check, ScriptCheck, StdioCheck

pytestmark = pytest.mark.kernel


# a check, its program -> the workers it takes
KINDS: dict[str, tuple[Check, str, list[str]]] = {
    "a value": (CallCheck("c", "f(1)", None), PROGRAM, ["calls"]),
    "a literal": (CallCheck("c", "f(1)", "[1, 2]"), PROGRAM, ["calls"]),
    "a literal, of an unsafe program": (CallCheck("c", "f(1)", "[1, 2]"), PROGRAM + "import os\n", ["calls"]),
    "a constant that is no plain literal": (CallCheck("c", "f(1)", "[1, 1 + 1]"), PROGRAM, ["calls", "read"]),
    "an expression": (CallCheck("c", "f(1)", "list(range(1, 3))"), PROGRAM, ["calls", "expression", "read"]),
    "arguments to be computed": (
        CallCheck("c", "f(sum([1]))", "[1, 2]", "f"), PROGRAM, ["apply", "arguments", "calls"]
    ),
    "output": (StdioCheck("c", "", "[1, 2]"), PROGRAM + "print(f(1))", ["stdio"]),
    "an assertion": (ScriptCheck("c", "assert [1, 2] == f(1)", ""), PROGRAM, ["calls", "read"]),
    "a script": (ScriptCheck("c", "x = f(1)\nassert x == [1, 2]", ""), PROGRAM, ["read", "serve", "test"]),
    "a separated script": (ScriptCheck("c", "x = f(1)\nassert x == [1, 2]", "f"), PROGRAM, ["read", "serve", "test"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
async def test_the_workers_of_one_check(pool: CountingPool, kind: str):
    ask, program, workers = KINDS[kind]
    (outcome,) = await outcomes(pool, task(ask, program=program))
    assert outcome in (Outcome.PASSED, Outcome.EVALUATED)
    assert sorted(pool.asked_for) == workers


@pytest.mark.parametrize(("count", "interactive", "readers"), [(8, False, 0), (9, False, 1), (50, True, 0)])
async def test_what_many_expect_is_read_by_one_worker(pool: CountingPool, count: int, interactive: bool, readers: int):
    """Of bulk work the daemon reads nothing itself: its one thread is what all of it goes through."""
    asks = [CallCheck(str(at), f"f({at})", f"[{at}, {at + 1}]") for at in range(count)]
    found = await outcomes(pool, *[task(ask, interactive=interactive) for ask in asks])
    assert found == [Outcome.PASSED] * count
    assert pool.asked_for.count("read") == readers


async def test_the_same_answer_whoever_reads(pool: CountingPool):
    """Eight texts are read here, nine by a worker."""
    texts = ["[1, 2]", " [1,2,] ", "(1, 2)", "[1, 2.0]", "[True, 2]", "'[1, 2]'", "{1: 2}", "None", "[1, 3]"]
    asks = [CallCheck(str(at), "f(1)", text) for at, text in enumerate(texts)]
    here = await outcomes(pool, task(*asks[:8])) + await outcomes(pool, task(asks[8]))
    assert pool.asked_for.count("read") == 0
    there = await outcomes(pool, task(*asks))
    assert pool.asked_for.count("read") == 1
    assert here == there


@pytest.mark.parametrize(("pool", "together", "workers"), [
    ("native", False, 1), ("pure", False, 4), ("native", True, 1), ("pure", True, 1)
], indirect=["pool"])  # fmt: skip
async def test_checks_share_a_worker_where_its_helper_vouches_for_them(
    pool: CountingPool, together: bool, workers: int
):
    """Or where nobody relies on what they say."""
    asks = [CallCheck(str(at), f"f({at})", None) for at in range(4)]
    assert await outcomes(pool, replace(task(*asks), together=together)) == [Outcome.EVALUATED] * 4
    assert pool.asked_for == ["calls"] * workers


async def test_jobs_that_are_over_go_without_the_collector(pool: CountingPool):
    """Reports may be large, and the collector counts objects and not bytes."""
    asks = [ask for ask, _, _ in KINDS.values()]
    many = [replace(task(CallCheck("c", "f(1)", None), CallCheck("d", "f(2)", None)), rpc_id=1) for _ in range(20)]
    gc.collect()
    gc.disable()
    try:
        await outcomes(pool, *many, *[task(ask) for ask in asks])
        await asyncio.sleep(0)
        assert len(pool.asked_for) > 30
        assert [one() for one in pool.seen if one() is not None] == []
    finally:
        gc.enable()
