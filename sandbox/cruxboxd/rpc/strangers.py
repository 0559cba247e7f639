"""Refuses callers whom nobody knows, so many a second. The others wait for that.

Each costs the event loop 0.3 ms, at the priority of the daemon, and nobody is charged for it. Most callers, hostile
ones too, wait for an answer before they call again, so the later it comes, the less they cost. Nobody else waits in
their line: who has called is known at once. The line is bounded, since whoever waits holds memory. Who finds it full is
refused at once. Whoever waits holds one of the streams of its connection, too. So nobody waits on one that several
tenants use: it is a proxy's, and they would wait for a stream there. Where one tenant uses it, that is its own affair:
else who has a token would open one call with it, and call without it as often as he likes.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio

from cruxboxd.rpc.connections import Connections
from cruxboxd.rpc.endings import Metadata, abort, log_end, request_id
from cruxboxd.shared.fair_loop import STRANGERS
from cruxboxd.shared.observer import Observer
from cruxboxd.tenancy.identity import Unidentified
from cruxboxd.tenancy.starts import Starts

if TYPE_CHECKING:
    Context = grpc.aio.ServicerContext[Any, Any]

_CODE = grpc.StatusCode.UNAUTHENTICATED
A_SECOND = 100
MOST_WAITING = 512  # each with 16 KiB of headers, made anew by gRPC, and a stream's window
# Of so many there is a line in the log. The first line of a later second says how many there were beside.
LOGGED, _WINDOW_S = 10, 1.0


class Strangers:
    """Ends their RPCs, and counts them."""

    def __init__(self, connections: Connections, observer: Observer) -> None:
        self._connections, self._observer = connections, observer
        self._turns = Starts(A_SECOND, 1.0)
        self._refusing: set[asyncio.Task[Any]] = set()
        self._since, self._came = -_WINDOW_S, 0

    async def refuse(self, context: Context, method: str, metadata: Metadata, peer: str, why: Unidentified) -> None:
        """End an RPC, of which nobody has read a byte but its headers."""
        self._connections.came(peer)
        try:
            await self._turn(peer)
        finally:  # also of one that was left
            self._connections.nobodys(peer)
            self._observer.refused("", "unidentified")
        request = request_id(metadata)
        self._log(method, request, peer)
        await abort(context, _CODE, str(why), request)

    async def _turn(self, peer: str) -> None:
        """Wait to be refused, if there is room to wait."""
        task = asyncio.current_task()
        if task is None or len(self._refusing) >= MOST_WAITING or self._connections.is_shared(peer):
            return
        self._refusing.add(task)
        task.add_done_callback(self._refusing.discard)
        (await self._turns.begin(STRANGERS)).answered()

    def let_go(self) -> None:
        """Nobody waits any more."""
        self._turns.lift()

    def _log(self, method: str, request: str, peer: str) -> None:
        now, beside = time.monotonic(), 0
        if now - self._since >= _WINDOW_S:
            beside = max(0, self._came - LOGGED)
            self._since, self._came = now, 0
        self._came += 1
        if self._came <= LOGGED:
            log_end(method, request, "", peer, _CODE.name, **({"beside": beside} if beside else {}))
