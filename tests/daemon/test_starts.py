"""Who opens calls and leaves them: so many are begun at the same time, and tenants take turns at beginning."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import resource
import socket
import time
from collections.abc import Iterator

import grpc
import pytest
from conformance import http2
from cruxbox import Outcome
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxboxd.rpc import connections
from cruxboxd.rpc.connections import MOST_REFUSALS
from cruxboxd.tenancy.starts import LEAST_PLACES, LEFT_S
from support.daemons import Served
from support.tasks import sums
from support.waiting import until
from test_doors import CHECK, STREAM, call, tenants
from test_strangers import never

SLEEPS = "import time\ndef f(n):\n    time.sleep(50)\n"


@pytest.fixture(scope="module")
def daemon(tmp_path_factory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("starts")
    with Served(folder, "--tokens", tenants(folder, alice="", bob="")) as served:
        yield served


@pytest.mark.parametrize("method", [CHECK, STREAM])
def test_calls_that_are_opened_to_be_left_begin_slowly(daemon, method):
    """Requests of other tenants, and later ones of the same, are judged."""
    check = pb.Check(call=pb.CallCheck(call="f(1)", expected="1"))
    request = pb.CheckRequest(tasks=[pb.Task(id="1", program=SLEEPS, checks=[check])])
    request.options.limits.wall_ms = 60_000
    with grpc.insecure_channel(daemon.target) as channel:
        began = time.monotonic()
        alice = [("authorization", "Bearer alice")]
        method = channel.stream_stream(method)  # type: ignore[assignment, call-arg]
        calls = [method(iter([request.SerializeToString()]), metadata=alice) for _ in range(200)]  # type: ignore[operator]
        accepted = 0.0
        while accepted < LEAST_PLACES:
            accepted = daemon.metric("cruxbox_accepted_checks")
            # None is answered: a place is free again when LEFT_S have passed.
            assert accepted <= LEAST_PLACES * (1 + int((time.monotonic() - began) / LEFT_S))
        with daemon.client(token="bob") as client:
            assert client.check(sums(1))[0].outcome is Outcome.PASSED
        for call in calls:
            call.cancel()
    until(lambda: daemon.metric("cruxbox_accepted_checks") == 0)
    with daemon.client(token="alice") as client:
        assert client.check(sums(1))[0].outcome is Outcome.PASSED


# ---- connections of callers nobody knows -------------------------------------------------------------------------


def test_a_connection_that_does_not_stop_calling_without_a_token_is_ended(daemon):
    """But not one that carries a call of a tenant, too, as a proxy's may."""
    with contextlib.ExitStack() as stack:
        proxy, stranger = (
            stack.enter_context(
                grpc.insecure_channel(daemon.target, options=[("grpc.use_local_subchannel_pool", 1), ("n", n)])
            )
            for n in range(2)
        )
        held = proxy.stream_stream(STREAM)(never(), metadata=[("authorization", "Bearer alice")])  # type: ignore[call-arg]
        assert codes(proxy, 1, [("authorization", "Bearer alice")]) == {"OK"}
        for _ in range(3):
            assert codes(proxy, 2 * MOST_REFUSALS) == {"UNAUTHENTICATED"}
        assert (daemon.metric("cruxbox_refused_total", reason="flood"), held.done()) == (0, False)
        seen: set[str] = set()
        until(lambda: seen.update(codes(stranger, 240)) or daemon.metric("cruxbox_refused_total", reason="flood") > 0)
        until(lambda: seen.update(codes(stranger, 240)) or "UNAVAILABLE" in seen)
        assert seen == {"UNAUTHENTICATED", "UNAVAILABLE"}
        assert not held.done()
        held.cancel()


def test_a_connection_that_sends_much_before_a_call_is_ended(daemon):
    """A header block without end, say; and who has called may send as much as a message may have."""
    more = b"\x10\x03abc\x3f" + b"y" * 63
    frame = http2.frame(http2.CONTINUATION, 0, 1, more * 200)
    with http2.connect(("127.0.0.1", daemon.port)) as line:
        line.sendall(http2.frame(http2.HEADERS, 0, 1, http2.request_headers(CHECK)))
        sent = 0
        with contextlib.suppress(ConnectionError):
            while sent < 10_000:
                line.sendall(frame)
                sent += 1
    assert sent < 10_000
    for _ in range(3):
        assert call(daemon, b"\x0a\x00" * (7 << 20), "alice")[0] == "INVALID_ARGUMENT"
    assert daemon.log.count("too many bytes before a call") == 1


def codes(channel: grpc.Channel, count: int, metadata: object = None) -> set[str]:
    """What so many calls at once come to."""
    method = channel.unary_unary("/cruxbox.v1.Sandbox/GetServerInfo")  # type: ignore[call-arg]
    return {one.code().name for one in [method.future(b"", metadata=metadata, timeout=60) for _ in range(count)]}


def test_only_the_connection_of_that_peer_is_ended(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(server.getsockname())) for _ in range(2)]
        for _ in clients:
            stack.enter_context(server.accept()[0])
        host, port = clients[0].getsockname()
        before = os.listdir("/proc/self/fd")
        with (tmp_path / "file").open("w"):
            assert connections.end(connections.address_of(f"ipv4:{host}:{port}")) == 1
        assert os.listdir("/proc/self/fd") == before
        with pytest.raises(ConnectionResetError):
            clients[0].recv(1)
        clients[1].settimeout(0.05)
        with pytest.raises(TimeoutError):
            clients[1].recv(1)


async def test_a_connection_that_calls_while_the_others_are_looked_at_is_known(monkeypatch):
    """Or an honest caller's first request, if it is large, could end its connection."""
    looks, ended = [], []
    watched = connections.Connections(None)
    peer = "ipv4:127.0.0.1:5"

    def received():
        looks.append(1)
        if len(looks) == 1:
            watched.opened(peer)
            return {}
        return {connections.address_of(peer): (len(looks) - 1) * 2 * connections.MOST_BYTES}

    monkeypatch.setattr(connections, "received", received)
    monkeypatch.setattr(connections, "_LOOK_S", 0.001)
    monkeypatch.setattr(watched, "_end", lambda address, why: ended.append(address) or asyncio.sleep(0))
    watching = asyncio.create_task(watched.watch())
    while len(looks) < 4:
        await asyncio.sleep(0.001)
    watching.cancel()
    assert ended == []


def test_where_no_descriptor_is_left_nothing_is_looked_at():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        assert connections.received() == {}
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_peers_are_read_as_grpc_names_them():
    assert connections.address_of("ipv6:%5B::1%5D:5") == (ipaddress.ip_address("::1"), 5)
    assert connections.address_of("ipv6:%5B::ffff:10.0.0.1%5D:5") == connections.address_of("ipv4:10.0.0.1:5")
    assert connections.address_of("unix:") is None
