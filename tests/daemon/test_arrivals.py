"""RPCs that gRPC hands over: several at a time, in their order, and none is lost."""

from __future__ import annotations

import asyncio

import pytest
from cruxboxd.rpc import methods
from cruxboxd.rpc.methods import _Arrivals


class Core:
    """gRPC, which answers what it was asked for in turn."""

    def __init__(self) -> None:
        self.asked: list[asyncio.Future[object]] = []
        self.refused: list[object] = []

    def ask(self) -> asyncio.Future[object]:
        self.asked.append(asyncio.get_running_loop().create_future())
        return self.asked[-1]

    def hand_over(self, rpc: object) -> None:
        answered = self.asked.pop(0)
        if isinstance(rpc, Exception):
            answered.set_exception(rpc)
        else:
            answered.set_result(rpc)


async def test_rpcs_come_in_their_order_and_not_too_many_are_handed_over():
    core = Core()
    arrivals, taken = _Arrivals(core.ask, core.refused.append), list[object]()
    awaited = arrivals.next()
    given = 0
    while len(taken) < 100:
        for _ in range(min(7, len(core.asked), 100 - given)):
            core.hand_over(given)
            given += 1
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert given - len(taken) <= methods._HANDED_OVER + 1
        while awaited.done():
            taken.append(awaited.result())
            awaited = arrivals.next()
    assert taken == list(range(100))
    assert len(core.asked) == methods._HANDED_OVER


async def test_a_failure_is_heard_and_another_is_asked_for():
    core = Core()
    arrivals = _Arrivals(core.ask, core.refused.append)
    awaited = arrivals.next()
    for came in (ValueError("a"), ValueError("b"), "rpc"):
        core.hand_over(came)
    with pytest.raises(ValueError, match="a"):
        await awaited
    with pytest.raises(ValueError, match="b"):
        await arrivals.next()
    assert await arrivals.next() == "rpc"
    assert len(core.asked) == methods._HANDED_OVER - 1  # the next one is asked for with the next question


async def test_one_that_comes_when_nobody_waits_any_more_is_kept():
    core = Core()
    arrivals = _Arrivals(core.ask, core.refused.append)
    arrivals.next().cancel()
    core.hand_over("rpc")
    await asyncio.sleep(0)
    assert await arrivals.next() == "rpc"


async def test_at_the_end_all_that_came_and_that_comes_is_refused():
    """gRPC would say that it was cancelled."""
    core = Core()
    arrivals = _Arrivals(core.ask, core.refused.append)
    awaited = arrivals.next()
    for rpc in ("taken", "came", ValueError("no")):
        core.hand_over(rpc)
    assert await awaited == "taken"
    awaited = arrivals.next()  # which is the one that came
    core.hand_over("came, too")
    await asyncio.sleep(0)
    arrivals.end()
    assert (awaited.result(), core.refused, len(core.asked)) == ("came", ["came, too"], methods._AT_THE_END)
    core.hand_over("comes yet")
    core.hand_over(ValueError("it is shut down"))
    await asyncio.sleep(0)
    assert core.refused == ["came, too", "comes yet"]
