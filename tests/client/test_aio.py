"""The asyncio client against a real daemon."""

from __future__ import annotations

import asyncio
import inspect

import pytest
from cruxbox import AsyncClient, CallCheck, Client, DeadlineExceeded, InvalidRequest, Limits, Outcome, Task, Unavailable


def sums(count: int, start: int = 0) -> list[Task]:
    return [
        Task(f"def f(x):\n    return x + {number}", [CallCheck("f(1)", str(number + 1), id="c")], id=f"t{number}")
        for number in range(start, start + count)
    ]


SLEEPER = Task("import time\ndef f(): time.sleep(30)", [CallCheck("f()", "1")], limits=Limits(wall_ms=20_000))


async def test_check_and_stream_keep_the_order(server):
    async with AsyncClient(server) as client:
        verdicts = await client.check(sums(300))
        assert [(v.task_id, v.check_id, v.outcome) for v in verdicts] == [
            (f"t{number}", "c", Outcome.PASSED) for number in range(300)
        ]
        assert [v.task_id for v in verdicts] == [v.task_id async for v in client.stream(sums(300))]
        loose = [v.task_id async for v in client.stream(iter(sums(300)), ordered=False)]
        assert sorted(loose) == sorted(v.task_id for v in verdicts)
        assert (await client.info()).workers == 2


async def test_an_async_source_that_needs_the_verdicts_gets_them(server):
    """Each task is made only when the verdict of the one before is there."""
    here = asyncio.Event()

    async def source():
        for task in sums(10):
            yield task
            await here.wait()
            here.clear()

    async with AsyncClient(server) as client:
        seen = 0
        async for verdict in client.stream(source()):
            assert verdict.passed
            seen += 1
            here.set()
    assert seen == 10


async def test_an_error_of_an_async_source_is_the_callers(server):
    async def source():
        yield sums(1)[0]
        raise KeyError("mine")

    async with AsyncClient(server) as client:
        with pytest.raises(KeyError, match="mine"):
            await client.check(source())


async def test_many_at_once_do_not_disturb_each_other(server):
    async with AsyncClient(server) as client:
        results = await asyncio.gather(*(client.check(sums(20, start=20 * number)) for number in range(20)))
    for number, verdicts in enumerate(results):
        assert [v.task_id for v in verdicts] == [f"t{each}" for each in range(20 * number, 20 * number + 20)]
        assert all(v.passed for v in verdicts)


async def test_one_bad_check_does_not_hang_the_others(server):
    async with AsyncClient(server) as client:
        slow = asyncio.ensure_future(client.check([SLEEPER], deadline=1.0))
        assert all(v.passed for v in await client.check(sums(50)))
        with pytest.raises(DeadlineExceeded):
            await slow


async def test_a_cancelled_check_is_over(server):
    async with AsyncClient(server) as client:
        task = asyncio.ensure_future(client.check([SLEEPER]))
        await client.check(sums(1))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert (await client.check(sums(1)))[0].passed


async def test_errors_are_sentences(server):
    async with AsyncClient("127.0.0.1:9", retries=1) as client:
        with pytest.raises(Unavailable, match=r"127\.0\.0\.1:9"):
            await client.check(sums(1))
        with pytest.raises(Unavailable, match=r"127\.0\.0\.1:9"):
            await client.info()
    async with AsyncClient(server) as client:
        with pytest.raises(InvalidRequest, match="index 0 is None"):
            await client.check([None])
        with pytest.raises(InvalidRequest, match="no checks"):
            await client.check([Task("", [])])


def test_each_loop_connects_for_itself(server):
    client = AsyncClient(server)
    for _ in range(3):
        assert asyncio.run(client.check(sums(2)))[1].passed


async def test_it_may_have_a_daemon_of_its_own():
    async with AsyncClient(workers=1) as client:
        assert (await client.check(sums(3)))[2].passed
        pid = client._endpoint.embedded.pid
    assert client._endpoint.embedded.pid is None
    assert pid


def test_both_clients_take_the_same_arguments_with_the_same_defaults():
    assert inspect.signature(Client) == inspect.signature(AsyncClient)
    for name in ("check", "stream", "info", "close"):
        sync, other = (list(inspect.signature(getattr(kind, name)).parameters) for kind in (Client, AsyncClient))
        assert sync == other
        assert inspect.getdoc(getattr(AsyncClient, name))
    for wrong in ({"deadline": float("nan")}, {"retries": -1}, {"target": " "}, {"target": "a:1", "workers": 2}):
        for kind in (Client, AsyncClient):
            with pytest.raises(InvalidRequest):
                kind(**wrong)
