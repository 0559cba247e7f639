"""RPCs of methods that there are not, and paths and headers that are no text."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from typing import Any

import grpc
import grpc.aio
import pytest
from conformance import http2
from cruxboxd.rpc.connections import MOST_REFUSALS
from cruxboxd.rpc.methods import add_methods, server_of_known_methods
from cruxboxd.tenancy.starts import QUESTION_S, QUESTIONS
from raw_rpcs import INFO, call, tenants
from support.daemons import Served
from support.waiting import until

WHOLE = http2.END_HEADERS | http2.END_STREAM
NO_TEXT = "\xff"  # in Latin-1, which is no UTF-8


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("methods")
    with Served(folder, "--tokens", tenants(folder, alice=""), workers=1) as served:
        yield served


def test_a_path_that_is_no_text_ends_nothing_but_its_call(daemon: Served) -> None:
    """gRPC's server would read it outside of any call, and end."""
    with http2.connect(("127.0.0.1", daemon.port)) as line:
        for number, path in enumerate([f"/{NO_TEXT}/x", NO_TEXT, "", "/", f"{INFO}{NO_TEXT}"]):
            block = _headers(path) + http2.literal("authorization", "Bearer alice")
            line.sendall(http2.frame(http2.HEADERS, WHOLE, 2 * number + 1, block))
        assert _heard(line, b"there is no such method")
    assert call(daemon, b"", "alice", INFO)[0] == "OK"
    assert daemon.healthy(10)
    assert "Traceback" not in daemon.log


def test_a_header_that_is_no_text_is_not_logged(daemon: Served) -> None:
    """It may be a token."""
    with http2.connect(("127.0.0.1", daemon.port)) as line:
        more = http2.literal("authorization", "Bearer alice") + _latin("x-more", f"a secret{NO_TEXT}")
        line.sendall(http2.frame(http2.HEADERS, WHOLE, 1, _headers(INFO) + more))
        assert _heard(line, b"the call ended without a request")
    assert "secret" not in daemon.log
    assert "Traceback" not in daemon.log


@pytest.mark.parametrize("token", ["alice", ""])
def test_of_strangers_methods_that_there_are_not_count_too(daemon: Served, token: str) -> None:
    """A tenant may have a newer client."""
    before = daemon.metric("cruxbox_refused_total", reason="flood")
    metadata = [("authorization", f"Bearer {token}")] if token else []
    seen = set()
    with grpc.insecure_channel(daemon.target, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        method = channel.unary_unary("/cruxbox.v1.Sandbox/Newer")  # type: ignore[call-arg]

        def ask() -> bool:
            calls = [method.future(b"", metadata=metadata, timeout=20) for _ in range(2 * MOST_REFUSALS)]
            seen.update(call.code().name for call in calls)
            return daemon.metric("cruxbox_refused_total", reason="flood") > before

        if token:
            assert not any(ask() for _ in range(4))
            assert seen == {"UNIMPLEMENTED"}
        else:
            until(ask)


async def test_nothing_of_an_rpc_is_left_when_the_server_has_stopped() -> None:
    """gRPC itself waits for no task of an RPC; one that the end of the event loop cancels it calls an error."""
    begun = asyncio.Event()

    async def answer(_request: Any, _context: Any) -> None:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.2)

    async def refuse(_context: Any) -> None:
        raise AssertionError("nothing is refused here")

    before = asyncio.all_tasks()
    server = server_of_known_methods(refuse, [], [])
    add_methods(server, "cruxbox.v1.Sandbox", {"Check": grpc.stream_stream_rpc_method_handler(answer)})
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        asked = channel.unary_unary("/cruxbox.v1.Sandbox/Check")(b"")  # type: ignore[call-arg]
        await begun.wait()
        await server.stop(0.05)
        left = {task.get_coro().__qualname__ for task in asyncio.all_tasks() - before}  # type: ignore[union-attr]
        assert not left & {"_schedule_rpc_coro", "_handle_exceptions"}
        assert await asked.code() is not grpc.StatusCode.OK


def test_of_a_tenant_methods_that_there_are_not_are_ended_so_many_a_second(daemon: Served) -> None:
    """Thousands of them cost the event loop as much as work does, and nobody was charged for that."""
    count, metadata = 10 * QUESTIONS, [("authorization", "Bearer alice")]
    with grpc.insecure_channel(daemon.target) as channel:
        method = channel.unary_unary("/cruxbox.v1.Sandbox/Newer")  # type: ignore[call-arg]
        began = time.monotonic()
        calls = [method.future(b"", metadata=metadata, timeout=20) for _ in range(count)]
        assert {call.code() for call in calls} == {grpc.StatusCode.UNIMPLEMENTED}
        assert time.monotonic() - began > (count / QUESTIONS - 1) * QUESTION_S


@pytest.mark.parametrize("method", ["/grpc.health.v1.Health/Check", INFO])
def test_a_compressed_message_is_refused_unread(daemon: Served, method: str) -> None:
    """16 KB of it may be 16 MiB, also from a stranger who asks how the server is."""
    metadata = [] if "health" in method else [("authorization", "Bearer alice")]
    with grpc.insecure_channel(daemon.target) as channel:
        asking = channel.unary_unary(method)  # type: ignore[call-arg]
        call = asking.future(bytes(1 << 16), metadata=metadata, compression=grpc.Compression.Gzip, timeout=20)
        assert call.code() is grpc.StatusCode.UNIMPLEMENTED
        assert asking(b"", metadata=metadata, timeout=20)


def _headers(path: str) -> bytes:
    """The header block of a request for a path of any bytes."""
    ours = http2.literal(":path", INFO)
    return http2.request_headers(INFO).replace(ours, _latin(":path", path))


def _latin(name: str, value: str) -> bytes:
    return http2.literal(name, "").removesuffix(b"\0") + bytes([len(value)]) + value.encode("latin-1")


def _heard(line: socket.socket, words: bytes) -> bool:
    """Were these said at some time before the other side ended?"""
    heard = b""
    while words not in heard and (more := line.recv(1 << 16)):
        heard += more
    return words in heard
