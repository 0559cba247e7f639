"""Bounds what has come of messages that are not whole yet.

gRPC gives a message that is awaited as much room as it needs, and says nothing of it until it is whole. A tenant that
opens a thousand streams, and sends of each message all but its last byte, would hold sixteen gigabytes. So this module
compares, for each connection, what the kernel has received with what was taken over. The difference is messages that
have come in part, while an RPC waits for one. What comes by a unix socket the kernel does not count.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from cruxboxd.rpc.connections import Address, Moved, address_of
from cruxboxd.tenancy.refusal import Refused
from cruxboxd.tenancy.tenants import Tenant

# HTTP/2 and TLS add this part to a message, and so many bytes to it and to an RPC's headers. They answer what they are
# sent by this part of it (windows, pings), and say so many bytes a second when there is nothing to say.
_MORE, _A_MESSAGE, _AN_RPC, _OF_WHAT_IS_SENT, _A_SECOND = 1 / 64, 64, 512, 1 / 16, 128


class Rpc(Protocol):
    """What is needed of an RPC."""

    peer: str
    tenant: Tenant

    def end(self, why: Refused) -> bool: ...


@dataclass
class _Held:
    """What a connection holds of messages, as it was when somebody looked."""

    moved: Moved
    accounted: float
    looked: float
    bytes: float = 0.0


class Arriving:
    """What has come in part, by connection.

    Args:
        too_much: says of the bytes that tenants hold so which tenant holds too much, and what it hears.
    """

    def __init__(self, too_much: Callable[[Mapping[str, int]], tuple[str, Refused] | None]) -> None:
        self._too_much = too_much
        self._waiting: dict[Address, set[Rpc]] = {}
        self._accounted: Counter[Address] = Counter()
        self._held: dict[Address, _Held] = {}

    @contextlib.contextmanager
    def awaited(self, rpc: Rpc) -> Iterator[None]:
        """A message of `rpc` is."""
        address = address_of(rpc.peer)
        if address is None:
            yield
            return
        self._waiting.setdefault(address, set()).add(rpc)
        try:
            yield
        finally:
            waiting = self._waiting[address]
            waiting.discard(rpc)
            if not waiting:
                del self._waiting[address]

    def came(self, rpc: Rpc, size: int) -> None:
        """A message of so many bytes is whole."""
        self._account(rpc.peer, size + size * _MORE + _A_MESSAGE)

    def began(self, peer: str, size: int) -> None:
        """An RPC with so many bytes of headers, from there."""
        self._account(peer, size + _AN_RPC)

    def _account(self, peer: str, size: float) -> None:
        address = address_of(peer)
        if address is not None:
            self._accounted[address] += int(size)

    def look(self) -> Callable[[Mapping[Address, Moved], float], None]:
        """A look begins. To be called before the kernel is asked, as more comes meanwhile; what it gives is told what
        the kernel says."""
        return partial(self._look, self._accounted.copy())

    def _look(self, accounted: Mapping[Address, int], found: Mapping[Address, Moved], now: float) -> None:
        """Take what came by connections into account. Where a tenant holds too much, end its RPCs that wait for a
        message on the connections that hold the most of it."""
        for address in self._accounted.keys() - found.keys():
            if address in accounted:  # else it is newer than what was found
                del self._accounted[address]
        self._held = {
            address: self._held_now(address, moved, accounted.get(address, 0), now) for address, moved in found.items()
        }
        shares = {(name, address): size for address in self._waiting for name, size in self._shares(address)}
        while (over := self._too_much(_by_tenant(shares))) is not None:
            name, refused = over
            address = max((place for owner, place in shares if owner == name), key=lambda place: shares[name, place])
            self._held[address].bytes -= shares.pop((name, address))
            for rpc in [rpc for rpc in self._waiting[address] if rpc.tenant.name == name]:
                rpc.end(refused)

    def _held_now(self, address: Address, moved: Moved, accounted: int, now: float) -> _Held:
        held = self._held.get(address) or _Held(Moved(0, 0), 0, now)
        if address in self._waiting:
            came, sent = moved.received - held.moved.received, moved.sent - held.moved.sent
            beside = accounted - held.accounted + sent * _OF_WHAT_IS_SENT + _A_SECOND * (now - held.looked)
            size = max(0.0, held.bytes + came - beside)
        else:  # what nobody waits for is not kept
            size = 0.0
        return _Held(moved, accounted, now, size)

    def _shares(self, address: Address) -> Iterator[tuple[str, int]]:
        """Which RPC it is of that a message comes is not known."""
        held, waiting = self._held.get(address), self._waiting[address]
        if held is not None:
            for name, count in Counter(rpc.tenant.name for rpc in waiting).items():
                yield name, int(held.bytes * count / len(waiting))


def _by_tenant(shares: Mapping[tuple[str, Address], int]) -> Mapping[str, int]:
    sizes: Counter[str] = Counter()
    for (name, _), size in shares.items():
        sizes[name] += size
    return sizes
