"""Messages that have come in part: what they hold is bounded, and whose they are is ended."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import pytest
from cruxbox import Outcome
from cruxboxd.rpc.arriving import Arriving
from cruxboxd.rpc.connections import Moved, address_of
from cruxboxd.settings.config import MIB, Config
from cruxboxd.tenancy.admission import Admission
from cruxboxd.tenancy.refusal import Refused, full
from cruxboxd.tenancy.tenants import Tenant
from raw_rpcs import STREAM, tenants
from support.daemons import Served
from support.tasks import sums
from support.waiting import until

MESSAGE = 12 * MIB


@contextlib.contextmanager
def passing(port: int, most: int) -> Iterator[str]:
    """The target of a way to the daemon that passes so many bytes on, and everything that comes back."""
    with socket.create_server(("127.0.0.1", 0)) as listener, contextlib.ExitStack() as stack:

        def pump(source: socket.socket, sink: socket.socket, most: float = float("inf")) -> None:
            with contextlib.suppress(OSError):
                while most > 0 and (data := source.recv(int(min(most, 1 << 16)))):
                    sink.sendall(data)
                    most -= len(data)

        def accept() -> None:
            near = stack.enter_context(listener.accept()[0])
            far = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            threading.Thread(target=pump, args=(far, near), daemon=True).start()
            pump(near, far, most)

        threading.Thread(target=accept, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def test_messages_that_do_not_come_to_an_end_are_bounded(tmp_path: Path) -> None:
    """Each of forty streams lacks the end of a request, and waits for it."""
    options = [("grpc.max_send_message_length", -1)]
    served = Served(tmp_path, "--queue-mib=64", "--tokens", tenants(tmp_path, alice="", bob=""))
    with served, served.client(token="bob") as client, contextlib.ExitStack() as stack:
        client.check(sums(20))
        before, stop = served.memory_bytes(), threading.Event()
        calls: list[Any] = []
        for _ in range(40):
            target = stack.enter_context(passing(served.port, MESSAGE - MIB))
            channel = stack.enter_context(grpc.insecure_channel(target, options=options))
            request = itertools.chain([bytes(MESSAGE)], iter(stop.wait, True))  # nor does the stream end
            method = channel.stream_stream(STREAM)  # type: ignore[call-arg]
            calls.append(method(request, metadata=[("authorization", "Bearer alice")], timeout=60))
        until(lambda: sum(call.done() for call in calls) >= 38, seconds=50)
        ended = [call for call in calls if call.done()]
        assert {call.code() for call in ended} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert all("have come in part" in call.details() for call in ended)
        assert served.memory_bytes() - before < 256 * MIB  # 40 times 11, and more may come between two looks
        assert [verdict.outcome for verdict in client.check(sums(20))] == [Outcome.PASSED] * 20
        stop.set()
        for call in calls:
            call.cancel()


# ---- what a look finds -------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Rpc:
    peer: str
    tenant: Tenant
    ended: list[Refused] = field(default_factory=list)

    def end(self, why: Refused) -> bool:
        self.ended.append(why)
        return True


class _Looked:
    """Connections of whom the kernel says what is put into `found`; a tenant may hold ten MiB."""

    def __init__(self) -> None:
        self.arriving = Arriving(self._too_much)
        self.found: dict[str, Moved] = {}
        self.parts: Mapping[str, int] = {}
        self._now = 0.0

    def _too_much(self, parts: Mapping[str, int]) -> tuple[str, Refused] | None:
        self.parts = dict(parts)
        return next(((name, full("bytes", name, 1)) for name, size in parts.items() if size > 10 * MIB), None)

    def look(self, took: tuple[_Rpc, int] | None = None) -> Mapping[str, int]:
        """The bytes of tenants; `took` says what is taken over while the kernel is asked."""
        tell, self._now = self.arriving.look(), self._now + 0.2
        if took:
            self.arriving.came(*took)
        found = {address: moved for peer, moved in self.found.items() if (address := address_of(peer))}
        tell(found, self._now)
        return self.parts


def _peer(port: int) -> str:
    return f"ipv4:127.0.0.1:{port}"


def test_what_has_come_in_part_is_what_was_not_taken_over() -> None:
    looked, rpc = _Looked(), _Rpc(_peer(1), Tenant("a"))
    looked.arriving.began(rpc.peer, 500)
    with looked.arriving.awaited(rpc):
        looked.found[rpc.peer] = Moved(1_000 + 3 * MIB)
        assert looked.look()["a"] == pytest.approx(3 * MIB, abs=100)
        looked.found[rpc.peer] = Moved(1_000 + 4 * MIB)
        looked.look((rpc, 4 * MIB))
        assert looked.look() == {"a": 0}
        looked.found[rpc.peer] = Moved(1_000 + 6 * MIB)
        assert looked.look()["a"] == pytest.approx(2 * MIB, abs=100)
        looked.found[rpc.peer] = Moved(1_000 + 8 * MIB, 32 * MIB)
        assert looked.look()["a"] == pytest.approx(2 * MIB, abs=200), "answers to what it was sent"
    assert looked.look() == {}, "nobody waits for it"
    with looked.arriving.awaited(rpc):
        assert looked.look() == {"a": 0}


def test_who_holds_too_much_is_ended_where_it_holds_the_most() -> None:
    looked = _Looked()
    rpcs = [_Rpc(_peer(port), Tenant(name)) for port, name in [(1, "a"), (2, "a"), (2, "a"), (2, "b"), (3, "b")]]
    with contextlib.ExitStack() as waiting:
        for rpc in rpcs:
            waiting.enter_context(looked.arriving.awaited(rpc))
        looked.found = {_peer(1): Moved(5 * MIB), _peer(2): Moved(9 * MIB), _peer(3): Moved(1 * MIB)}
        assert looked.look() == pytest.approx({"a": 5 * MIB, "b": 4 * MIB}, abs=200), "after the end of some"
        assert [len(rpc.ended) for rpc in rpcs] == [0, 1, 1, 0, 0]
        assert sum(looked.look().values()) < 10 * MIB
        assert [len(rpc.ended) for rpc in rpcs] == [0, 1, 1, 0, 0]


def test_what_is_gone_is_forgotten() -> None:
    looked, rpc, local = _Looked(), _Rpc(_peer(1), Tenant("a")), _Rpc("unix:", Tenant("a"))
    for one in (rpc, local):
        looked.arriving.began(one.peer, 500)
        with looked.arriving.awaited(one):
            looked.arriving.came(one, 5)
    looked.found[rpc.peer] = Moved(1_000)
    looked.look()
    looked.found.clear()
    looked.look()
    assert (looked.arriving._accounted, looked.arriving._held, looked.arriving._waiting) == ({}, {}, {})


@pytest.mark.parametrize(
    ("shared", "parts", "name"),
    [
        (True, {"a": 16, "b": 100}, ""),  # one message
        (True, {"a": 128}, ""),
        (True, {"a": 17, "b": 120}, "b"),
        (True, {"a": 129}, "a"),
        (False, {"default": 256}, ""),
        (False, {"default": 257}, "default"),
    ],
)
def test_a_tenant_holds_as_much_as_it_leaves_free(shared: bool, parts: dict[str, int], name: str) -> None:
    config = Config(workers=1, queue_bytes=512 * MIB, max_message_bytes=16 * MIB)
    rules = Admission(config, shared, lambda: 1.0, lambda _: 0.0)
    over = rules.holds_too_much({tenant: size * MIB for tenant, size in parts.items()})
    assert (over[0] if over else "") == name
    with rules.arrived(Tenant("a"), 200 * MIB):
        assert (rules.holds_too_much({"a": 17 * MIB}) is None) == (not shared)
        assert rules.holds_too_much({"a": 16 * MIB}) is None
