"""Ends the connections of callers whom nobody knows and who do not stop calling, or sending.

gRPC offers no way to end a connection, so this module looks for its socket among the descriptors of the process and
resets it; gRPC finds it closed by its peer. A proxy may send the RPCs of many callers on one connection: as long
as an RPC of a tenant is open on it, it stays. The connections of a unix socket cannot be told apart, and stay.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import ipaddress
import logging
import math
import os
import socket
import stat
import struct
import time
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Union
from urllib.parse import unquote

from cruxboxd.shared.observer import Observer

log = logging.getLogger(__name__)

MOST_REFUSALS, _WINDOW_S = 64, 1.0
_ENOUGH = 1 << 30
# gRPC reads a header block to its end, however long. Of an RPC that nobody has taken over yet, a stream's window (64
# KiB) may be on the way. So this much may come on a connection beside its RPCs; what comes slowly is forgiven.
MOST_BYTES, _FORGIVEN_A_S, _LOOK_S = 2 << 20, 64 << 10, 0.2
# gRPC reads a hundred megabytes a second, on threads that have the daemon's priority. So the next look does not wait
# where these have used so much CPU time since the last tick: a megabyte came, or a hundred RPCs.
_TICK_S, _BUSY_S = 0.02, 0.008
# A look takes 20 µs of CPU time for each connection, at the priority of the daemon. Between two looks is ten times as
# much, so that strangers who hold a thousand connections and keep gRPC's threads busy gain nothing by that.
_PAUSE_S = 0.0002
BYTES_OF_AN_RPC = 128 << 10  # its headers (16 KiB) and its window, twice the sum
_GRACE_S = 1.0  # after an RPC of a tenant has ended, what it had sent may still come
_BYTES_SENT = 120  # where `struct tcp_info` has them, and behind them those received
_LIBC = ctypes.CDLL(None)
_NOBODY = bytes(16)  # AF_UNSPEC: to connect a socket to it resets the connection that it has

Address = tuple[Union[ipaddress.IPv4Address, ipaddress.IPv6Address], int]


class Moved(NamedTuple):
    """The bytes that have come by a connection, and those that its peer has of us."""

    received: int
    sent: int = 0


@dataclass
class _Flow:
    """What came on a connection beside its RPCs, as it was when somebody looked."""

    received: int = 0
    rpcs: int = 0
    level: float = 0.0
    looked: float = 0.0
    is_ended: bool = False


class Connections:
    """Counts, for each peer, the RPCs of tenants that are open, and the RPCs without identity and health's in a second;
    and the bytes of connections beside the RPCs on them."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._open: dict[str, Counter[str]] = {}
        self._refused: Counter[str] = Counter()
        self._since = 0.0
        self._ending: asyncio.Future[int] | None = None
        self._known: dict[str, Address] = {}
        self._rpcs: Counter[Address] = Counter()
        # When the last RPC of each tenant has ended there; infinity while one is open.
        self._tenants: dict[Address, dict[str, float]] = {}
        self._flows: dict[Address, _Flow] = {}

    def opened(self, peer: str, tenant: str) -> None:
        """An RPC of a tenant is open."""
        self._open.setdefault(peer, Counter())[tenant] += 1
        address = self.came(peer)
        if address is not None:
            self._tenants.setdefault(address, {})[tenant] = math.inf

    def came(self, peer: str) -> Address | None:
        """An RPC has come from there, and may have brought its headers and a window."""
        address = self._known.get(peer) or address_of(peer)
        if address is not None:
            self._known[peer] = address
            self._rpcs[address] += 1
        return address

    def closed(self, peer: str, tenant: str) -> None:
        """An RPC of a tenant has ended."""
        here = self._open[peer]
        here[tenant] -= 1
        if here[tenant]:
            return
        del here[tenant]
        if not here:
            del self._open[peer]
        if peer in self._known:
            self._tenants.setdefault(self._known[peer], {})[tenant] = time.monotonic()

    def nobodys(self, peer: str) -> None:
        """An RPC has ended whose caller nobody knows, or asks for. Ends the connection if it had too many in a second,
        one at a time."""
        now = time.monotonic()
        if now - self._since > _WINDOW_S:
            self._since = now
            self._refused.clear()
        self._refused[peer] += 1
        if self._refused[peer] < MOST_REFUSALS or peer in self._open or (self._ending and not self._ending.done()):
            return
        address = address_of(peer)
        if address is None:
            return
        self._refused[peer] = -_ENOUGH  # what is on its way from it comes yet
        self._ending = self._end([address], "too many calls without identity")

    def unread(self, peer: str) -> bool:
        """Nobody reads the end of an RPC there, and what stands before it. End the connection, unless another RPC of a
        tenant is open on it; was that possible?"""
        address = address_of(peer)
        if address is None or peer in self._open:
            return False
        self._end([address], "nobody reads what stands there of a call that was ended")
        return True

    def is_shared(self, peer: str) -> bool:
        """Have several tenants RPCs on the connection of that peer, or had them a moment ago?"""
        address = self._known.get(peer)
        if address is None:
            return len(self._open.get(peer, ())) > 1
        return len(self._tenants_of(address, time.monotonic())) > 1

    def _end(self, addresses: Collection[Address], why: str) -> asyncio.Future[int]:
        for host, port in addresses:
            log.warning("a connection is ended", extra={"peer": f"{host} port {port}", "reason": why})
            self._observer.refused("", "flood")
        return asyncio.get_running_loop().run_in_executor(None, end, addresses)

    async def watch(self, look: Callable[[], Callable[[Mapping[Address, Moved], float], None]]) -> None:
        """End connections that send much without an RPC; until cancelled. `look` is called before the kernel is asked,
        and what it gives is told what the kernel says."""
        while True:
            await _until_next_look(len(self._flows))
            now, looked_for = time.monotonic(), set(self._known)  # a connection may come, and call, meanwhile
            tell = look()
            found = await asyncio.get_running_loop().run_in_executor(None, moved)
            tell(found, now)
            ending = self._look(found, now)
            if ending:
                await self._end(ending, "too many bytes without a call")
            self._forget(found, looked_for, now)

    def _look(self, found: Mapping[Address, Moved], now: float) -> list[Address]:
        """Take the bytes received into account; those that have to end."""
        ending = []
        self._flows = {address: self._flows.get(address) or _Flow(looked=now) for address in found}
        for address, flow in self._flows.items():
            received, rpcs = found[address].received, self._rpcs[address]
            allowed = _FORGIVEN_A_S * (now - flow.looked) + BYTES_OF_AN_RPC * (rpcs - flow.rpcs)
            beside = max(0.0, flow.level - allowed + received - flow.received)
            flow.level = 0.0 if self._tenants_of(address, now) else beside
            flow.received, flow.rpcs, flow.looked = received, rpcs, now
            if flow.level > MOST_BYTES and not flow.is_ended:
                flow.is_ended = True
                ending.append(address)
        return ending

    def _tenants_of(self, address: Address, now: float) -> dict[str, float]:
        """Of `_tenants` those who have an RPC open there, or had one a moment ago."""
        return {tenant: ended for tenant, ended in self._tenants.get(address, {}).items() if now < ended + _GRACE_S}

    def _forget(self, found: Container[Address], looked_for: Iterable[str], now: float) -> None:
        """Drop what is known of connections that are gone, and of tenants who have left one: a proxy's may bring
        thousands, one after the other."""
        for peer in looked_for:
            address = self._known.get(peer)
            if address is None:
                continue
            if address in found or peer in self._open:
                self._tenants[address] = self._tenants_of(address, now)
            else:
                del self._known[peer]
                self._rpcs.pop(address, None)
                self._tenants.pop(address, None)


async def _until_next_look(connections: int) -> None:
    """Sleep for the time between two looks, or until gRPC's threads are busy. Where nobody is connected, whoever comes
    disturbs nobody, and an idle daemon sleeps."""
    until = time.monotonic() + _LOOK_S
    await asyncio.sleep(min(connections * _PAUSE_S, _LOOK_S))
    while (left := until - time.monotonic()) > 0:
        used = _others_cpu_s()
        await asyncio.sleep(min(_TICK_S, left) if connections else left)
        if connections and _others_cpu_s() - used > _BUSY_S:
            return


def _others_cpu_s() -> float:
    """CPU time of the threads of this process that are not the event loop's."""
    return time.process_time() - time.thread_time()


def address_of(peer: str) -> Address | None:
    """The address and port of a peer as gRPC names it; None of a unix socket."""
    kind, _, rest = unquote(peer).partition(":")
    host, _, port = rest.rpartition(":")
    if kind not in ("ipv4", "ipv6"):
        return None
    return _address(host.strip("[]"), int(port))


@functools.lru_cache(1 << 12)
def _address(host: str, port: int) -> Address:
    address = ipaddress.ip_address(host.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address, port


def end(addresses: Collection[Address]) -> int:
    """Reset this process's connections with these peers; how many there were.

    A connection that is only shut down lives on as long as gRPC does not read from it.
    """
    ended = 0
    for found, peer in _connections():
        if peer in addresses:
            ended += _LIBC.connect(found.fileno(), _NOBODY, len(_NOBODY)) == 0
    return ended


def moved() -> dict[Address, Moved]:
    """The peers of this process's connections, and the bytes that came from and went to each."""
    sizes: dict[Address, Moved] = {}
    for found, peer in _connections():
        with contextlib.suppress(OSError, struct.error):
            info = found.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _BYTES_SENT + 16)
            sent, received = struct.unpack_from("=QQ", info, _BYTES_SENT)
            sizes[peer] = Moved(received, sent)
    return sizes


def _connections() -> Iterator[tuple[socket.socket, Address]]:
    """The internet sockets of this process that have a peer.

    A descriptor may be closed, and its number given to something else, at any time. So what may be a socket is
    duplicated first, and the duplicate is looked at: it stays what it is.
    """
    try:
        names = os.listdir("/proc/self/fd")
    except OSError:  # no descriptor is left to look with
        return
    for name in names:
        with contextlib.suppress(OSError):
            if not stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                continue
            copy = os.dup(int(name))
            try:
                found = socket.socket(fileno=copy)
            except OSError:  # something else has the number by now
                os.close(copy)
                continue
            with found:
                if found.family in (socket.AF_INET, socket.AF_INET6):
                    yield found, _address(*found.getpeername()[:2])
