"""The metrics port for Prometheus: one page, a bounded number of connections, a time limit for each."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import time

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

from cruxboxd.settings.config import ConfigError
from cruxboxd.shared.waiting import within

log = logging.getLogger(__name__)

CONNECTIONS = 16
ASK_S, ANSWER_S = 5.0, 10.0
PAUSE_S = 0.1  # between two pages: each takes a thread some milliseconds, which it takes from the event loop
_MOST_HEAD = 8_192
_CALLERS_FAULT = (asyncio.TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError)


class Exporter:
    """Serves a registry as /metrics over HTTP/1.1, one answer a connection."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._coming: asyncio.Future[bytes] | None = None
        self._made_at = -math.inf
        self.connections = 0
        self._server: asyncio.Server | None = None

    async def start(self, host: str, port: int) -> None:
        """Listen. Raises ConfigError when the address cannot be had."""
        try:
            self._server = await asyncio.start_server(self._serve, host, port, limit=_MOST_HEAD, backlog=CONNECTIONS)
        except OSError as error:
            raise ConfigError(f"cannot serve metrics on {host}:{port}: {error.strerror}") from None

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.connections >= CONNECTIONS:
            writer.transport.abort()
            return
        self.connections += 1
        try:
            with contextlib.suppress(*_CALLERS_FAULT):
                head = await within(ASK_S, reader.readuntil(b"\r\n\r\n"))
                writer.write(await self._answer(head))
                await within(ANSWER_S, writer.drain())
                writer.close()
                await within(ANSWER_S, writer.wait_closed())
        finally:
            self.connections -= 1
            writer.transport.abort()

    async def _answer(self, head: bytes) -> bytes:
        words = head.split(b"\r\n", 1)[0].split(b" ")
        if len(words) != 3 or words[0] not in (b"GET", b"HEAD"):
            return _page("405 Method Not Allowed", b"", more="Allow: GET, HEAD\r\n")
        if words[1].split(b"?")[0] not in (b"/metrics", b"/"):
            return _page("404 Not Found", b"the figures are at /metrics\n")
        try:
            page = await self._latest()
        except RuntimeError:  # no thread to be had
            return _page("503 Service Unavailable", b"")
        return _page("200 OK", page, with_body=words[0] == b"GET")

    async def _latest(self) -> bytes:
        """The figures as they are now or a moment later: one page for all who ask until it is begun."""
        if self._coming is None:
            self._coming = asyncio.ensure_future(self._make())
        return await asyncio.shield(self._coming)

    async def _make(self) -> bytes:
        await asyncio.sleep(max(0.0, self._made_at + PAUSE_S - time.monotonic()))
        self._coming, self._made_at = None, time.monotonic()
        return await asyncio.to_thread(generate_latest, self._registry)


def _page(status: str, body: bytes, *, more: str = "", with_body: bool = True) -> bytes:
    """A response (RFC 9110). Without its body it says all the same how long that is, as the answer to HEAD does."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {CONTENT_TYPE_LATEST}\r\nContent-Length: {len(body)}\r\n{more}"
    return head.encode() + b"Connection: close\r\n\r\n" + (body if with_body else b"")
