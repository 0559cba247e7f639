"""How long the garbage collector may hold the event loop, and that nothing waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from typing import Any

import grpc
import grpc.aio
import pytest
from cruxboxd.judging.judge import Judge
from cruxboxd.judging.tasks import RunCheck
from cruxboxd.rpc import interceptor
from cruxboxd.rpc.health import Health
from cruxboxd.rpc.interceptor import Interceptor
from cruxboxd.rpc.methods import add_methods, server_of_known_methods
from cruxboxd.rpc.service import _until
from cruxboxd.rpc.tracing import Tracer
from cruxboxd.server.process import spare_the_collector
from cruxboxd.settings.config import Config
from cruxboxd.shared.observer import Observer
from cruxboxd.tenancy.admission import Admission
from cruxboxd.tenancy.identity import Identity, Unidentified
from cruxboxd.tenancy.refusal import Refused
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.streams import Streams
from judging_by_hand import ONE, TASK, call, emit_nothing
from told_workers import Told


@pytest.fixture(autouse=True)
def no_collections() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def test_what_a_collection_looks_through_is_little_unless_it_is_a_full_one(monkeypatch: pytest.MonkeyPatch):
    """An object takes up to two microseconds, and every tenant waits meanwhile."""
    done: list[Any] = []
    monkeypatch.setattr(gc, "collect", lambda: done.append("collect"))
    monkeypatch.setattr(gc, "freeze", lambda: done.append("freeze"))
    monkeypatch.setattr(gc, "set_threshold", lambda *thresholds: done.append(thresholds))
    spare_the_collector()
    assert done[:2] == ["collect", "freeze"]
    young, middle, full = done[2]
    assert young * (middle + 1) <= 20_000
    assert 2_000_000 <= young * middle * full <= 5_000_000  # rarely, and cycles are found before they are a gigabyte


class _Busy(Told):
    """Whose jobs of programs do not end."""

    async def run(self, job: Job) -> Result:
        try:
            if job.stdin:
                await asyncio.get_running_loop().create_future()
            return await super().run(job)
        finally:
            job.finish(Result())


async def _end(task: asyncio.Future[Any]) -> None:
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.parametrize("is_given_up", [False, True])
async def test_a_task_that_is_judged_or_given_up_is_held_by_nothing(is_given_up: bool):
    """A client that leaves again and again would else fill the memory before the next full collection."""
    checks = [call("f(1)"), *[RunCheck("r", "text")] * is_given_up]
    tasks = [replace(TASK, checks=checks)]
    left = weakref.ref(tasks[0])
    judging = asyncio.ensure_future(Judge(_Busy({"f(1)": ONE}), "0").judge(tasks, emit_nothing))  # type: ignore[arg-type]
    for _ in range(30):
        await asyncio.sleep(0)
    assert judging.done() != is_given_up
    await _end(judging)
    del tasks, judging
    await asyncio.sleep(0)
    assert left() is None


@pytest.mark.parametrize("is_left", [False, True])
async def test_the_requests_of_a_stream_that_is_over_are_held_by_nothing(is_left: bool):
    class Requests:
        async def come(self) -> AsyncIterator[bytes]:
            yield b"one"
            if is_left:
                await asyncio.get_running_loop().create_future()
            del self  # the generator's, else

    requests = Requests()
    left = weakref.ref(requests)

    async def read(coming: AsyncIterator[bytes]) -> None:
        async for _ in _until(asyncio.Event(), coming):
            pass

    reading = asyncio.ensure_future(read(requests.come()))
    for _ in range(10):
        await asyncio.sleep(0)
    assert reading.done() != is_left
    await _end(reading)
    del requests, reading
    for _ in range(3):
        await asyncio.sleep(0)
    assert left() is None


@pytest.mark.parametrize("stdin", [b"", bytes(1 << 21)])
async def test_the_streams_of_a_program_that_has_ended_are_held_by_nothing(stdin: bytes):
    streams = Streams(stdin)
    left = weakref.ref(streams)
    streams.close()
    del streams
    assert left() is None


PATHS = ["/a.Service/Method", "/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch", "/no.such/Method"]


class _Request:
    """What a method makes of the bytes of a request."""


@contextlib.asynccontextmanager
async def _served(behave: Callable[[], None]) -> AsyncIterator[grpc.aio.Channel]:
    """A channel to a server whose two methods do that. At the end all that was asked is over."""

    async def answer(_data: bytes, _context: Any) -> bytes:
        behave()
        return b""

    async def answers(_requests: AsyncIterator[bytes], _context: Any) -> AsyncIterator[bytes]:
        behave()
        yield b""

    rules = Admission(Config(workers=1), False, lambda: 0.0, lambda _: 0.0)
    door = Interceptor(Identity(Config(workers=1)), rules, Observer(), Tracer())
    server = server_of_known_methods(door.refuse_unknown, [door], [])
    one, many = grpc.unary_unary_rpc_method_handler(answer), grpc.stream_stream_rpc_method_handler(answers)
    add_methods(server, "a.Service", {"Method": one, "Stream": many})
    Health(lambda _peer: None).add_to(server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        yield channel
    await server.stop(0)
    for _ in range(5):
        await asyncio.sleep(0)


def _refuse() -> None:
    raise Refused(grpc.StatusCode.INVALID_ARGUMENT, "invalid", "no")


@pytest.mark.parametrize("path", PATHS)
async def test_nothing_is_left_of_an_rpc_that_was_refused(path: str):
    """Strangers may be refused thousands of times a second."""
    async with _served(_refuse) as channel:
        before = _contexts()
        for _ in range(5):
            with pytest.raises(grpc.aio.AioRpcError) as error:
                await channel.unary_unary(path, None, None)(b"\xff")
            assert error.value.code() in {grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNIMPLEMENTED}
            del error
    assert _contexts() - before == 0


def _unidentified() -> None:
    raise Unidentified


def _fail() -> None:
    raise ValueError


@pytest.mark.parametrize("end", [_refuse, _unidentified, _fail])
@pytest.mark.parametrize("is_stream", [False, True])
async def test_a_request_that_was_refused_is_held_by_nothing(
    end: Callable[[], None], is_stream: bool, monkeypatch: pytest.MonkeyPatch
):
    """The collector counts objects and not bytes: large requests would wait long for it."""
    monkeypatch.setattr(interceptor.log, "disabled", True)  # pytest keeps what was logged, exceptions too
    left = []

    def behave() -> None:
        request = _Request()
        left.append(weakref.ref(request))
        end()

    async with _served(behave) as channel:
        for _ in range(5):
            with contextlib.suppress(grpc.aio.AioRpcError):
                if is_stream:
                    await channel.stream_stream("/a.Service/Stream", None, None)([b"x"]).read()
                else:
                    await channel.unary_unary("/a.Service/Method", None, None)(b"x")
    assert len(left) == 5
    assert [request() for request in left if request()] == []


def _contexts() -> int:
    return sum(type(each).__name__ == "_ServicerContext" for each in gc.get_objects())
