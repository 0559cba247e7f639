"""Callers whom nobody knows are refused so many a second, and their waiting harms nobody."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from cruxboxd.rpc.connections import _GRACE_S, Connections, address_of
from cruxboxd.rpc.strangers import A_SECOND, MOST_WAITING
from cruxboxd.shared.observer import Observer
from cruxboxd.tenancy.starts import Starts
from raw_rpcs import CHECK, INFO, STREAM, never, tenants
from support.daemons import Served
from support.waiting import until

KINDS = [CHECK, "/cruxbox.v1.Sandbox/None"]
_STREAMS = 256


@pytest.fixture
def daemon(tmp_path) -> Iterator[Served]:
    with Served(tmp_path, "--tokens", tenants(tmp_path, alice="", bob="")) as served:
        yield served


@contextlib.contextmanager
def connections(daemon: Served, count: int) -> Iterator[list[grpc.Channel]]:
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(grpc.insecure_channel(daemon.target, options=[("a_pool_of_its_own", n)]))
            for n in range(count)
        ]


def strangers_calls(channel: grpc.Channel, count: int, method: str = CHECK) -> list[Any]:
    asked = channel.unary_unary(method)  # type: ignore[call-arg]
    return [asked.future(b"", timeout=60) for _ in range(count)]


def refused(daemon: Served) -> float:
    return daemon.metric("cruxbox_refused_total", reason="unidentified")


@pytest.mark.parametrize("method", KINDS)
def test_strangers_are_refused_so_many_a_second(daemon, method):
    with connections(daemon, 8) as channels:
        began = time.monotonic()
        calls = [one for channel in channels for one in strangers_calls(channel, 60, method)]
        answered = Counter(one.code().name for one in calls)
        took_s = time.monotonic() - began
        assert answered == {"UNAUTHENTICATED": 480}
        assert took_s > 480 / A_SECOND - 1  # of the first second's all may come at once


def test_those_who_wait_are_bounded(daemon):
    """Whoever comes when so many wait is refused at once, as if nobody waited."""
    with connections(daemon, 4) as channels:
        calls = [one for channel in channels for one in strangers_calls(channel, _STREAMS)]
        until(lambda: refused(daemon) >= len(calls) - MOST_WAITING, seconds=4)  # not when five are over
        for one in calls:
            one.cancel()


@pytest.mark.parametrize("method", KINDS)
def test_who_left_keeps_nobody_waiting(daemon, method):
    with connections(daemon, 4) as [*channels, other]:
        calls = [one for channel in channels for one in strangers_calls(channel, 200, method)]
        until(lambda: refused(daemon) >= A_SECOND)
        for one in calls:
            one.cancel()
        [mine] = strangers_calls(other, 1)
        began = time.monotonic()
        assert mine.code() == grpc.StatusCode.UNAUTHENTICATED
        assert time.monotonic() - began < 4  # five, if all those were before it


def test_nobody_waits_on_a_connection_of_several_tenants(daemon):
    """It is a proxy's: those who wait would take the streams of others. On one of a tenant alone they wait."""
    with connections(daemon, 1) as [proxy]:
        with held(proxy, "alice"):
            assert seconds_to_refuse(proxy, 5 * A_SECOND) > 3.5  # of the first second's all may come at once
        with held(proxy, "alice"), held(proxy, "bob"):
            assert seconds_to_refuse(proxy, 5 * A_SECOND) < 3.5


@contextlib.contextmanager
def held(channel: grpc.Channel, name: str) -> Iterator[None]:
    """A call of a tenant is open."""
    metadata = [("authorization", f"Bearer {name}")]
    stream: Any = channel.stream_stream(STREAM)(never(), metadata=metadata)  # type: ignore[call-arg]
    channel.unary_unary(INFO)(b"", metadata=metadata)  # type: ignore[call-arg]
    yield
    assert not stream.done()
    stream.cancel()


def seconds_to_refuse(channel: grpc.Channel, count: int) -> float:
    began = time.monotonic()
    for _ in range(count // 100):
        assert {one.code().name for one in strangers_calls(channel, 100)} == {"UNAUTHENTICATED"}
    return time.monotonic() - began


def test_a_daemon_that_stops_keeps_nobody_waiting(daemon):
    with connections(daemon, 5) as channels:
        calls = [one for channel in channels for one in strangers_calls(channel, 120)]
        until(lambda: refused(daemon) >= A_SECOND)
        daemon.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        answered = Counter(one.code().name for one in calls)
        assert daemon.process.wait(20) == 0
        assert time.monotonic() - began < 4  # five, if they waited
        # Those that the daemon had not taken over by then gRPC ends itself, as cancelled.
        assert set(answered) <= {"UNAUTHENTICATED", "UNAVAILABLE", "CANCELLED"}, answered
        assert '"level": "error"' not in daemon.log


@pytest.mark.parametrize("method", [*KINDS, INFO, "/grpc.health.v1.Health/Check"])
def test_a_daemon_that_stops_as_calls_come_leaves_none_of_them_to_its_end(daemon, method):
    """Where they come faster than they are ended."""
    with connections(daemon, 5) as channels:
        for channel in channels:
            grpc.channel_ready_future(channel).result(20)
        daemon.process.send_signal(signal.SIGSTOP)
        calls = [one for channel in channels for one in strangers_calls(channel, 120, method)]
        time.sleep(0.3)
        daemon.process.send_signal(signal.SIGTERM)
        daemon.process.send_signal(signal.SIGCONT)
        assert daemon.process.wait(20) == 0
        assert all(one.code() is not None for one in calls)
        assert "Traceback" not in daemon.log


def test_of_a_connection_only_the_tenants_of_late_are_known():
    watched, peer = Connections(Observer()), "ipv4:127.0.0.1:5"
    address = address_of(peer)
    for number in range(1000):
        watched.opened(peer, str(number))
        assert watched.is_shared(peer) == (number > 0)
        watched.closed(peer, str(number))
    watched.opened(peer, "last")
    watched._forget({address}, {peer}, time.monotonic())
    assert len(watched._tenants[address]) == 1001
    watched._forget({address}, {peer}, time.monotonic() + _GRACE_S)
    assert (list(watched._tenants[address]), watched.is_shared(peer)) == (["last"], False)


async def test_without_a_bound_all_who_wait_begin():
    starts = Starts(1)
    first = await starts.begin("a")
    waiting = [asyncio.ensure_future(starts.begin(name)) for name in ("a", "a", "b", "a")]
    await asyncio.sleep(0)
    waiting[0].cancel()
    starts.lift()
    begun = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(one).__name__ for one in begun] == ["CancelledError", "Start", "Start", "Start"]
    for one in (first, *begun[1:], await starts.begin("a")):
        one.answered()  # type: ignore[union-attr]
    assert starts._begun == {}
