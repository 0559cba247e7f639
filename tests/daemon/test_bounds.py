"""Bounds of what callers hold open and send: calls, headers, messages, answers; and the table of all bounds."""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import grpc.aio
import pytest
from conformance import http2
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxboxd.rpc import headers, health, interceptor, service
from cruxboxd.rpc.health import Health
from cruxboxd.rpc.response_stream import Answers, ResponseStream
from cruxboxd.rpc.tracing import Tracer
from cruxboxd.settings.config import Config
from cruxboxd.tenancy import admission
from cruxboxd.tenancy.identity import Identity
from cruxboxd.tenancy.refusal import Refused
from cruxboxd.tenancy.tenants import Tenant
from given_verdicts import give
from raw_rpcs import CHECK, INFO, MIB, STREAM, call, tenants
from support.daemons import Served
from support.tasks import sums
from support.waiting import until

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operations.md"
ALICE = [("authorization", "Bearer alice")]
WATCH = "/grpc.health.v1.Health/Watch"
CALLS_A_CONNECTION = 256
_INITIAL_WINDOW = 4  # a setting of HTTP/2


@pytest.fixture(scope="module")
def daemon(tmp_path_factory) -> Iterator[Served]:
    """A daemon that knows alice and bob, with small messages and half a dozen zygotes."""
    folder = tmp_path_factory.mktemp("bounds")
    with Served(folder, "--tokens", tenants(folder, alice="", bob=""), "--max-message-mib", "2") as served:
        with served.client(token="alice") as client:
            client.check(sums(20))
        yield served


# ---- calls -------------------------------------------------------------------------------------------------------


async def test_open_calls_are_bounded(daemon):
    """So many a connection, where the next waits; so many a tenant, where the next is refused."""
    async with contextlib.AsyncExitStack() as stack:

        async def connect() -> grpc.aio.Channel:
            options = [("grpc.use_local_subchannel_pool", 1)]
            return await stack.enter_async_context(grpc.aio.insecure_channel(daemon.target, options=options))

        channels = [await connect() for _ in range(admission.RPCS_A_TENANT // CALLS_A_CONNECTION)]
        for channel in channels:
            await channel.channel_ready()

        def hold(channel: grpc.aio.Channel) -> Any:
            return channel.stream_stream(STREAM)(metadata=ALICE)  # type: ignore[call-arg]

        held = [hold(channel) for channel in channels for _ in range(CALLS_A_CONNECTION)]
        other = await connect()

        async def asked(channel: grpc.aio.Channel, token: str, timeout: float = 30.0) -> str:
            try:
                method = channel.unary_unary(INFO, bytes, bytes)
                await method(b"", metadata=[("authorization", f"Bearer {token}")], timeout=timeout)
            except grpc.aio.AioRpcError as error:
                return error.code().name
            return "OK"

        while await asked(other, "alice") != "RESOURCE_EXHAUSTED":
            # The question is one of so many itself, and the last of these may have come meanwhile.
            held = [hold(channels[n // CALLS_A_CONNECTION]) if one.done() else one for n, one in enumerate(held)]
            await asyncio.sleep(0.05)
        assert await asked(other, "bob") == "OK"
        assert await asked(channels[0], "bob", timeout=0.5) == "DEADLINE_EXCEEDED"
        for one in held:
            one.cancel()
        while await asked(channels[0], "alice") != "OK":
            await asyncio.sleep(0.05)


async def test_all_tenants_together_have_so_many_calls():
    rules = admission.Admission(Config(workers=1), True, lambda: 0.0, lambda _: 0.0)
    names = [Tenant(str(number)) for number in range(5)]
    for number in range(admission.RPCS):
        rules.enter(names[number % 5])
    with pytest.raises(Refused, match="calls of yours are open"):
        rules.enter(Tenant("new"))
    rules.leave(names[0])
    rules.enter(Tenant("new"))


# ---- headers and messages ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kib", "code"), [(14, "OK"), (17, "RESOURCE_EXHAUSTED")])
def test_headers_are_bounded(daemon, kib, code):
    """Each time, and not by chance, as gRPC does between its two bounds where they differ."""
    with grpc.insecure_channel(daemon.target) as channel:
        for _ in range(5):
            asking = channel.unary_unary(INFO).future(
                b"", metadata=[*ALICE, *[("x-more", "y" * 980)] * kib], timeout=20
            )
            assert asking.code().name == code


def test_a_header_block_without_end_does_not_hold_the_loop(daemon):
    """gRPC hands such a call over when its connection ends: nobody looks at what stands in it."""
    before = daemon.metric("cruxbox_refused_total", reason="too_large")
    _send_headers(daemon.port, 4_000)
    until(lambda: daemon.metric("cruxbox_refused_total", reason="too_large") == before + 1)
    assert "Traceback" not in daemon.log
    assert call(daemon, b"", "alice", INFO)[0] == "OK"


async def test_headers_are_made_until_there_are_too_many():
    """Of each call, and of what a client in this process gets, which is none."""
    told = []
    counted = headers.Counted(lambda key, value: (key, value), lambda: told.append(1))
    most, long = headers.MOST_HEADER_BYTES // headers.size_of("a", "b"), "b" * 4_000
    for _ in range(3):
        assert [counted("a", "b") for _ in range(most)] == [("a", "b")] * most
        counted.complete()
        assert [counted("a", long) for _ in range(4)]
        counted.complete()
    with pytest.raises(asyncio.CancelledError):
        [counted("a", "b") for _ in range(most + 1)]
    with pytest.raises(asyncio.CancelledError):
        [counted("a", long) for _ in range(5)]
    assert told == [1, 1]
    for _ in range(3):  # nobody says that they are complete
        assert [counted("a", "b") for _ in range(most)]
        await asyncio.sleep(0)
    await asyncio.to_thread(lambda: [counted("a", "b") for _ in range(2 * most)])


async def test_the_event_loop_makes_no_more_headers_than_a_call_may_have(monkeypatch):
    """Where gRPC makes them otherwise than it did, this says so."""
    config, told, made = Config(workers=1), [], []
    make = headers.cygrpc._Metadatum
    make = make.make if isinstance(make, headers.Counted) else make

    def count(key: str, value: str) -> object:
        made.append(headers.size_of(key, value))
        return make(key, value)

    monkeypatch.setattr(headers.cygrpc, "_Metadatum", count)
    monkeypatch.setattr(interceptor.Observer, "refused", lambda _, tenant, reason: told.append(reason))
    rules = admission.Admission(config, True, lambda: 0.0, lambda _: 0.0)
    door = interceptor.Interceptor(Identity(config), rules, interceptor.Observer(), Tracer())
    server = grpc.aio.server(interceptors=[door])
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        for send in (_send_headers, _send_indexes):
            made.clear()
            await asyncio.to_thread(send, port, 4_000)
            while not told:
                await asyncio.sleep(0.01)
            assert (told.pop(), sum(made) <= headers.MOST_HEADER_BYTES) == ("too_large", True)
    finally:
        await server.stop(0)


async def test_a_call_is_counted_out_for_whom_it_was_counted_in():
    """While a stream is open its token may become another tenant's, which every request of it finds out."""
    rules = admission.Admission(Config(workers=1), True, lambda: 0.0, lambda _: 0.0)
    door = interceptor.Interceptor(Identity(Config()), rules, interceptor.Observer(), Tracer())
    rpc = interceptor.Rpc("m", "1", None, Tenant("alice"))
    with door._entered(rpc):
        rpc.tenant = Tenant("renamed")
    rpc.give_back()
    assert rules._of == {}


def _send_headers(port: int, count: int) -> None:
    """A call whose header block does not end, and its connection does."""
    with http2.connect(("127.0.0.1", port)) as line, contextlib.suppress(OSError):
        line.sendall(http2.frame(http2.HEADERS, 0, 1, http2.request_headers(INFO)))
        for _ in range(count // 200):
            line.sendall(http2.frame(http2.CONTINUATION, 0, 1, http2.literal("abc", "y" * 63) * 200))


def _send_indexes(port: int, count: int) -> None:
    """A call whose header block names a long header by its index in HPACK's table, again and again."""
    long = b"\x40\x06x-long\x7f\xa1\x1e" + b"y" * 4_000
    block = http2.request_headers(INFO) + long + b"\xbe" * count
    with http2.connect(("127.0.0.1", port)) as line:
        line.sendall(http2.frame(http2.HEADERS, http2.END_HEADERS | http2.END_STREAM, 1, block) + http2.pings(1))
        said = b""
        while b"cruxbox!" not in said:  # by then it has been read
            said += line.recv(1 << 16)


@pytest.mark.parametrize("method", [CHECK, STREAM])
def test_a_message_is_bounded(daemon, method):
    """What is a byte too long is refused before it is there; what just fits is read."""
    text = "#" * (2 * MIB)
    code, words = call(daemon, text.encode() + b"#", "alice", method)
    assert (code, "larger than max" in words) == ("RESOURCE_EXHAUSTED", True)
    assert call(daemon, text.encode(), "alice", method)[0] == "INVALID_ARGUMENT"


async def test_a_message_that_does_not_come_is_not_waited_for(monkeypatch):
    """Of a call that has one. A stream may be silent: it is a client that has nothing to ask at the moment."""
    monkeypatch.setattr(interceptor, "_MESSAGE_S", 0.1)
    config = Config(workers=1)
    rules = admission.Admission(config, True, lambda: 0.0, lambda _: 0.0)
    door = interceptor.Interceptor(Identity(config), rules, interceptor.Observer(), Tracer())
    server = grpc.aio.server(interceptors=[door])

    async def answer(request: bytes, context: object) -> bytes:
        return request

    handlers = {"Single": grpc.unary_unary_rpc_method_handler(answer)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("a.B", handlers),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            silent = channel.stream_stream("/a.B/Single")()
            assert await silent.code() is grpc.StatusCode.DEADLINE_EXCEEDED
            monkeypatch.setattr(interceptor, "_MESSAGE_S", 60)
            assert await channel.unary_unary("/a.B/Single")(b"x") == b"x"
    finally:
        await server.stop(0)


async def test_nobody_watches_health_for_ever(monkeypatch):
    """Nor does who takes nothing of what is sent."""
    monkeypatch.setattr(health, "_WATCH_S", 0.1)
    server, watched = grpc.aio.server(), Health(lambda _peer: None)
    watched.add_to(server)
    watched.set("", health.Status.Value("SERVING"))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
            watching = channel.unary_stream(WATCH)(b"")
            assert await watching.read() == b"\x08\x01"
            assert await watching.code() is grpc.StatusCode.UNAVAILABLE

        def watch_and_take_nothing() -> socket.socket:
            line = http2.connect(("127.0.0.1", port))
            line.sendall(http2.frame(http2.SETTINGS, 0, 0, struct.pack(">HI", _INITIAL_WINDOW, 0)))
            line.sendall(http2.frame(http2.HEADERS, http2.END_HEADERS, 1, http2.request_headers(WATCH)))
            line.sendall(http2.frame(http2.DATA, http2.END_STREAM, 1, bytes(5)))
            return line

        with await asyncio.to_thread(watch_and_take_nothing):
            while not watched._watches:  # a test that waits too long fails
                await asyncio.sleep(0.01)
            while watched._watches:
                await asyncio.sleep(0.01)
    finally:
        await server.stop(0)


# ---- answers -----------------------------------------------------------------------------------------------------


def test_an_answer_to_check_is_bounded(daemon):
    """The fifth program prints what is too much; nobody is told an internal error, and no verdict leaves."""
    check = pb.Check(stdio=pb.StdioCheck(expected_stdout="1"))
    sizes = [16 * MIB] * 4 + [MIB]
    tasks = [
        pb.Task(id=str(size + at), program=f"print('x' * {size - 1})", checks=[check]) for at, size in enumerate(sizes)
    ]
    request = pb.CheckRequest(tasks=tasks)
    request.options.limits.output_bytes = 16 * MIB
    before = daemon.memory_bytes()
    for _ in range(3):
        code, words = call(daemon, request.SerializeToString(), "alice")
        assert (code, "use CheckStream" in words) == ("OUT_OF_RANGE", True)
    until(lambda: daemon.memory_bytes() - before < 24 * MIB)  # not only after a collection
    assert "Traceback" not in daemon.log


async def test_a_tenants_answers_are_bounded_together():
    """Calls with 48 MiB of verdicts each, that all wait for one more: the sixth is too many."""
    held = Answers(lambda: None)
    answers = [service._Answer(lambda *_: b"x" * (16 * MIB), held, "lab") for _ in range(6)]
    failed = list[Exception]()
    answers[5].work = SimpleNamespace(fail=failed.append)  # type: ignore[assignment]
    for answer in answers[:5]:
        for name in "abc":
            await give(answer, name)
    await give(answers[5], "a")
    assert failed == []
    await give(answers[5], "b")
    assert ["256 MiB of answers to you have not left" in str(error) for error in failed] == [True]
    assert held.held("lab") == 5 * 48 * MIB  # what is refused is held no longer
    await give(answers[5], "c")
    assert (held.held("lab"), len(failed)) == (5 * 48 * MIB, 1)
    other = service._Answer(lambda *_: b"x", held, "other")
    await give(other, "a")
    for answer in [*answers, other]:
        answer.gone()
    assert held.held("lab") == held.held("other") == 0


async def test_a_verdict_that_replaces_a_longer_one_may_make_room():
    """Of checks that are judged again, as an audit has found something. Streams of the tenant wait for room."""
    told, sizes = list[str](), iter([64 * MIB, MIB])
    held = Answers(lambda: told.append("room"))
    stream = ResponseStream(held, "lab")
    answer = service._Answer(lambda *_: b"x" * next(sizes), held, "lab")
    await give(answer, "a")
    assert (stream.is_full, told) == (True, [])
    await give(answer, "a")
    assert (stream.is_full, told) == (False, ["room"])


# ---- the table ---------------------------------------------------------------------------------------------------


def test_every_bound_names_a_test_that_is_there():
    part = PAGE.read_text().split("## Every limit", 1)[1].split("\n## ", 1)[0]
    lines = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("| ")]
    assert len(lines) > 20
    for resource, *_, names in lines[1:]:
        named = re.findall(r"`(test_\w+)\.py(?:::(test_\w+))?`", names)
        assert named, f"no test for {resource}"
        for module, test in named:
            text = (Path(__file__).parent / f"{module}.py").read_text()
            assert not test or f"def {test}(" in text, f"{module}.py has no {test}"
