"""Who opens calls and leaves them: so many are begun at the same time, and tenants take turns at beginning."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import ipaddress
import itertools
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Iterator

import grpc
import grpc.aio
import pytest
from conformance import http2
from cruxbox import Outcome
from cruxbox.channel import is_serving
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxboxd.rpc import connections
from cruxboxd.rpc.connections import MOST_REFUSALS
from cruxboxd.server.network import _channel_options
from cruxboxd.settings.config import Config
from cruxboxd.shared.observer import Observer
from cruxboxd.tenancy.starts import LEAST_PLACES, LEFT_S, QUESTION_S, QUESTIONS
from raw_rpcs import CHECK, INFO, STREAM, call, never, tenants
from support.daemons import Served
from support.tasks import sums
from support.waiting import until

PEER = "ipv4:127.0.0.1:5"
ADDRESS = connections.address_of(PEER)
_WINDOW = 1 << 16  # of a stream
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


def test_a_question_does_not_wait_behind_checks(daemon):
    check = pb.Check(call=pb.CallCheck(call="f(1)", expected="1"))
    request = pb.CheckRequest(tasks=[pb.Task(id="1", program=SLEEPS, checks=[check])])
    request.options.limits.wall_ms = 60_000
    alice = [("authorization", "Bearer alice")]
    with grpc.insecure_channel(daemon.target) as channel:
        method = channel.unary_unary(CHECK)  # type: ignore[call-arg]
        calls = [method.future(request.SerializeToString(), metadata=alice) for _ in range(12 * LEAST_PLACES)]
        until(lambda: daemon.metric("cruxbox_accepted_checks") >= LEAST_PLACES)
        # All of them have to wait longer for a place than this may take.
        assert codes(channel, 8, alice, (len(calls) / LEAST_PLACES - 4) * LEFT_S) == {"OK"}
        for call in calls:
            call.cancel()
    until(lambda: daemon.metric("cruxbox_accepted_checks") == 0)


@pytest.mark.parametrize("method", [INFO, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"])
def test_questions_are_answered_so_many_a_second(daemon, method):
    """They cost the event loop as much as checks do, and nobody is charged for that. Other tenants ask meanwhile."""
    count, list_services = 10 * QUESTIONS, b"\x3a\x00"
    with grpc.insecure_channel(daemon.target) as channel:
        asked = channel.stream_stream(method)  # type: ignore[call-arg]
        began = time.monotonic()
        alice, bob = ([("authorization", f"Bearer {name}")] for name in ("alice", "bob"))
        if method == INFO:
            calls = [asked(iter([b""]), metadata=alice, timeout=60) for _ in range(count)]
        else:
            calls = [asked(iter([list_services] * count), metadata=alice, timeout=60)]
        answers = itertools.chain(*calls)
        next(answers)
        assert len(list(asked(iter([list_services if method != INFO else b""]), metadata=bob, timeout=60))) == 1
        assert len(list(answers)) == count - 1
        assert time.monotonic() - began > (count / QUESTIONS - 1) * QUESTION_S


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


@pytest.mark.parametrize("method", ["Check", "Watch"])
def test_a_connection_that_does_not_stop_asking_for_health_is_ended(daemon, method):
    """Each costs the event loop as much as a call that is refused. On other connections health answers."""
    before = daemon.metric("cruxbox_refused_total", reason="flood")
    with grpc.insecure_channel(daemon.target, options=[("grpc.use_local_subchannel_pool", 1)]) as channel:
        ask = channel.unary_stream(f"/grpc.health.v1.Health/{method}")  # type: ignore[call-arg]

        def asked() -> bool:
            for call in [ask(b"", timeout=20) for _ in range(2 * MOST_REFUSALS)]:
                call.cancel() if method == "Watch" else call.code()
            return daemon.metric("cruxbox_refused_total", reason="flood") > before

        until(asked)
    assert daemon.healthy(10)
    with grpc.insecure_channel(daemon.target) as channel:
        assert is_serving(channel, 10)


@pytest.mark.parametrize("calls", [0, 1])
def test_a_connection_that_sends_much_without_a_call_is_ended(daemon, calls):
    """A header block without end, say, whether it is the first on its connection or not; and who calls may send as much
    as a message may have."""
    before = daemon.log.count("too many bytes without a call")
    more = b"\x10\x03abc\x3f" + b"y" * 63
    frame = http2.frame(http2.CONTINUATION, 0, 1 + 2 * calls, more * 200)
    with http2.connect(("127.0.0.1", daemon.port)) as line:
        for number in range(calls):
            whole = http2.END_HEADERS | http2.END_STREAM
            line.sendall(http2.frame(http2.HEADERS, whole, 1 + 2 * number, http2.request_headers(CHECK)))
        line.sendall(http2.frame(http2.HEADERS, 0, 1 + 2 * calls, http2.request_headers(CHECK)))
        with contextlib.suppress(ConnectionError):
            while True:  # how much is sent until somebody looks is up to the machine
                line.sendall(frame)
    for _ in range(3):
        assert call(daemon, b"\x0a\x00" * (7 << 20), "alice")[0] == "INVALID_ARGUMENT"
    until(lambda: daemon.log.count("too many bytes without a call") > before)
    assert daemon.log.count("too many bytes without a call") == before + 1


def test_pings_are_answered_or_end_their_connection(daemon):
    """Also those that come at once, as on a busy host. Where gRPC has a bound on pings, each one beyond it makes the
    error longer that is to end the connection, and copies it: that takes a thread for a minute."""
    pings, sent, answered = http2.pings(1000), 0, 0
    with http2.connect(("127.0.0.1", daemon.port)) as line:
        line.recv(1)  # it is taken over
        line.setblocking(False)
        daemon.process.send_signal(signal.SIGSTOP)
        with contextlib.suppress(BlockingIOError):
            while True:
                sent += line.send(pings)
        daemon.process.send_signal(signal.SIGCONT)
        line.settimeout(10)
        with contextlib.suppress(ConnectionResetError):
            while answered + len(pings) < sent:
                came = len(line.recv(1 << 16))
                assert came
                answered += came
    assert daemon.healthy(10)


async def test_of_a_call_that_nobody_takes_over_a_window_may_come():
    """Also where the connection is fast."""
    server = grpc.aio.server(options=_channel_options(Config(workers=1)))
    waits = asyncio.Event()

    async def wait(requests: object, context: object) -> None:
        await waits.wait()

    handlers = {"M": grpc.stream_stream_rpc_method_handler(wait)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("a.B", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    others = connections.moved().keys()  # what other tests have open in this process
    try:
        async with grpc.aio.insecure_channel(
            f"127.0.0.1:{port}", options=[("grpc.max_send_message_length", -1)]
        ) as channel:
            calls = [channel.stream_stream("/a.B/M")(iter([bytes(8 << 20)])) for _ in range(4)]
            sizes = [-1, 0]
            while sizes[-1] != sizes[-2] or sizes[-1] < 4 * _WINDOW:
                await asyncio.sleep(0.1)
                came = connections.moved()
                sizes.append(max((came[peer].received for peer in came.keys() - others), default=0))
            assert sizes[-1] < 5 * _WINDOW
            waits.set()
            del calls
    finally:
        await server.stop(0)


def codes(channel: grpc.Channel, count: int, metadata: object = None, timeout: float = 60) -> set[str]:
    """What so many calls at once come to."""
    method = channel.unary_unary("/cruxbox.v1.Sandbox/GetServerInfo")  # type: ignore[call-arg]
    return {one.code().name for one in [method.future(b"", metadata=metadata, timeout=timeout) for _ in range(count)]}


def test_only_the_connection_of_that_peer_is_ended(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as server, contextlib.ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(server.getsockname())) for _ in range(2)]
        for _ in clients:
            stack.enter_context(server.accept()[0])
        host, port = clients[0].getsockname()
        before = set(os.listdir("/proc/self/fd"))
        with (tmp_path / "file").open("w"):
            assert connections.end([connections.address_of(f"ipv4:{host}:{port}")]) == 1
        assert set(os.listdir("/proc/self/fd")) <= before  # what other tests had open may be closed meanwhile
        with pytest.raises(ConnectionResetError):
            clients[0].recv(1)
        clients[1].settimeout(0.05)
        with pytest.raises(TimeoutError):
            clients[1].recv(1)


def test_what_comes_without_a_call_is_counted():
    """And not what a call of a tenant brings, or one that has ended a moment ago."""
    most, watched = connections.MOST_BYTES, connections.Connections(Observer())

    def is_ended(received: int, now: float) -> bool:
        return watched._look({ADDRESS: connections.Moved(received)}, now) == [ADDRESS]

    now = time.monotonic()
    assert not is_ended(most, now)
    assert not is_ended(most + connections._FORGIVEN_A_S, now + 1)
    watched.came(PEER)
    came = most + connections._FORGIVEN_A_S + connections.BYTES_OF_AN_RPC
    assert not is_ended(came, now + 1), "a call may bring its window"
    watched.opened(PEER, "alice")
    assert not is_ended(5 * most, now + 1)
    watched.closed(PEER, "alice")
    assert not is_ended(8 * most, time.monotonic())
    assert is_ended(10 * most, time.monotonic() + connections._GRACE_S)
    assert not is_ended(20 * most, now + 9), "once"
    watched._forget(set(), {PEER}, now)
    assert not watched._known
    assert is_ended(most + 1, now + 10) is False, "another one that has the port"


@pytest.mark.parametrize(("count", "is_soon"), [(0, False), (50, True), (1000, False)])
async def test_while_grpcs_threads_are_busy_nobody_waits_for_the_next_look(count, is_soon):
    """They have the priority of the daemon, and take what comes as fast as it comes. But a look costs more the more
    connections there are, and strangers may hold thousands."""

    async def look_s() -> float:
        began = time.monotonic()
        await connections._until_next_look(count)
        return time.monotonic() - began

    assert await look_s() >= connections._LOOK_S
    over = threading.Event()
    busy = threading.Thread(target=lambda: [hashlib.sha256(bytes(1 << 20)) for _ in iter(over.is_set, True)])
    busy.start()
    try:
        # They are busy only while they get a CPU: on a crowded host that may take a while.
        until = time.monotonic() + (60 if is_soon else 1)
        while not (was_soon := await look_s() < connections._LOOK_S) and time.monotonic() < until:
            pass
        assert was_soon is is_soon
    finally:
        over.set()
        busy.join()


def test_where_no_descriptor_is_left_nothing_is_looked_at():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        assert connections.moved() == {}
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_peers_are_read_as_grpc_names_them():
    assert connections.address_of("ipv6:%5B::1%5D:5") == (ipaddress.ip_address("::1"), 5)
    assert connections.address_of("ipv6:%5B::ffff:10.0.0.1%5D:5") == connections.address_of("ipv4:10.0.0.1:5")
    assert connections.address_of("unix:") is None
