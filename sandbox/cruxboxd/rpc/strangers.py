"""Refuses callers whom nobody knows, for as little as that can cost: they may call as often as they like."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio

from cruxboxd.rpc.connections import Connections
from cruxboxd.rpc.endings import Metadata, abort, log_end, request_id
from cruxboxd.shared.observer import Observer
from cruxboxd.tenancy.identity import Unidentified

if TYPE_CHECKING:
    Context = grpc.aio.ServicerContext[Any, Any]

_CODE = grpc.StatusCode.UNAUTHENTICATED
# Of so many there is a line in the log. The first line of a later second says how many there were beside.
LOGGED, _WINDOW_S = 10, 1.0


class Strangers:
    """Ends their RPCs, and counts them."""

    def __init__(self, connections: Connections, observer: Observer) -> None:
        self._connections, self._observer = connections, observer
        self._since, self._came = -_WINDOW_S, 0

    async def refuse(self, context: Context, method: str, metadata: Metadata, peer: str, why: Unidentified) -> None:
        """End an RPC, of which nobody has read a byte but its headers."""
        self._connections.refused(peer)
        self._observer.refused("", "unidentified")
        request = request_id(metadata)
        self._log(method, request, peer)
        await abort(context, _CODE, str(why), request)

    def _log(self, method: str, request: str, peer: str) -> None:
        now, beside = time.monotonic(), 0
        if now - self._since >= _WINDOW_S:
            beside = max(0, self._came - LOGGED)
            self._since, self._came = now, 0
        self._came += 1
        if self._came <= LOGGED:
            log_end(method, request, "", peer, _CODE.name, **({"beside": beside} if beside else {}))
