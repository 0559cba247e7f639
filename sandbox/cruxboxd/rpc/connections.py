"""Ends the connections of callers whom nobody knows and who do not stop calling.

gRPC offers no way to end a connection, so this module looks for its socket among the descriptors of the process and
shuts it down; gRPC finds it closed by its peer. A proxy may send the calls of many callers on one connection: as long
as a call of a tenant is open on it, it stays. The connections of a unix socket cannot be told apart, and stay.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import os
import socket
import time
from collections import Counter
from typing import Union
from urllib.parse import unquote

from cruxboxd.observer import Observer

log = logging.getLogger(__name__)

MOST_REFUSALS, _WINDOW_S = 64, 1.0

Address = tuple[Union[ipaddress.IPv4Address, ipaddress.IPv6Address], int]


class Connections:
    """Counts, for each peer, the calls of tenants that are open, and the calls without identity in a second."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer
        self._open: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._since = 0.0
        self._ending: asyncio.Future[int] | None = None

    def opened(self, peer: str) -> None:
        """A call of a tenant is open."""
        self._open[peer] += 1

    def closed(self, peer: str) -> None:
        """It is not any more."""
        self._open[peer] -= 1
        if not self._open[peer]:
            del self._open[peer]

    def refused(self, peer: str) -> None:
        """A call without identity was refused. Ends the connection if it had too many in a second, one at a time."""
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
        self._refused[peer] = 0
        log.warning("a connection is ended: too many calls without identity", extra={"peer": peer})
        self._observer.refused("", "flood")
        self._ending = asyncio.get_running_loop().run_in_executor(None, end, address)


def address_of(peer: str) -> Address | None:
    """The address and port of a peer as gRPC names it; None of a unix socket."""
    kind, _, rest = unquote(peer).partition(":")
    host, _, port = rest.rpartition(":")
    if kind not in ("ipv4", "ipv6"):
        return None
    return _address(host.strip("[]"), int(port))


def _address(host: str, port: int) -> Address:
    address = ipaddress.ip_address(host.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address, port


def end(address: Address) -> int:
    """Shut down this process's connections with a peer; how many there were.

    A descriptor may be closed, and its number given to something else, at any time. So each is duplicated first, and
    the duplicate is looked at: it stays what it is.
    """
    ended = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(int(name))) as found:
            if found.family in (socket.AF_INET, socket.AF_INET6) and _address(*found.getpeername()[:2]) == address:
                found.shutdown(socket.SHUT_RDWR)
                ended += 1
    return ended
