"""The asyncio client: the methods of `client`, as coroutines of the running loop."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Union

import grpc
import grpc.aio
from cruxbox_proto.v1 import sandbox_pb2 as pb

from cruxbox import channel
from cruxbox.batch import iterator_of
from cruxbox.channel import left, make_stub, once_failure
from cruxbox.endpoint import BaseClient
from cruxbox.info import ServerInfo, decode_info
from cruxbox.model import Task, Verdict
from cruxbox.session import Session

_INFO_TIMEOUT_S = 10.0
_READ_AHEAD = 256

Tasks = Union[Iterable[Task], AsyncIterable[Task]]


class AsyncClient(BaseClient):
    """Sends tasks to a sandbox and returns verdicts without blocking the event loop. `BaseClient` lists the arguments.

    Several tasks of one loop may use a client at once, and several loops one after the other. gRPC's asyncio API does
    not work in a fork of a process that used it: fork earlier, or use `Client`.
    """

    def _prepare(self) -> None:
        self._channel: grpc.aio.Channel | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._generation = 0

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # ---- what it is for -------------------------------------------------------

    async def check(self, tasks: Tasks, *, deadline: float | None = None) -> list[Verdict]:
        """Run all checks of all `tasks`. Identical checks are sent once.

        The tasks have priority INTERACTIVE unless `Task.priority` is set.

        Args:
            tasks: an iterable or asynchronous iterable of tasks; all are kept in memory.
            deadline: seconds for the whole call; None is the client's deadline.

        Returns:
            One verdict for each check of each task, in order. A check that cannot be sent is INVALID (its text cannot
            be Python source) or SANDBOX_ERROR (it is larger than a request); the other checks are not affected.

        Raises:
            InvalidRequest: a task is malformed: it has no checks, or limits above the server's.
            Unavailable, Overloaded, EmbeddedServerError: no server was reachable, or none had room, for as long as
                `retries` allows.
            Unauthenticated: the server does not accept the token or certificate.
            DeadlineExceeded: the deadline passed before every check had a verdict.
            ServerError: the server failed or violated the protocol.
        """
        return [verdict async for verdict in self._run(tasks, deadline, whole=True, ordered=True)]

    def stream(self, tasks: Tasks, *, ordered: bool = True, deadline: float | None = None) -> AsyncIterator[Verdict]:
        """Run any number of tasks in bounded memory; `tasks` is read only as far as the window allows.

        The tasks have priority BULK unless `Task.priority` is set.

        Args:
            tasks: an iterable or asynchronous iterable of tasks; at most 256 are read ahead of an asynchronous one.
            ordered: True returns verdicts in the order of the tasks, False as they arrive (ids tell them apart).
            deadline: seconds for the whole stream; None is the client's deadline.

        Returns:
            An asynchronous iterator of one verdict for each check. Closing it cancels the checks in progress.

        Raises:
            The errors of `check`, during iteration, and those that reading `tasks` raises.
        """
        return self._run(tasks, deadline, whole=False, ordered=ordered)

    async def info(self) -> ServerInfo:
        """The server's version, runtimes, limits and layers of confinement.

        Returns:
            What the server says of itself, asked for anew each time.

        Raises:
            Unavailable, Overloaded, EmbeddedServerError, Unauthenticated, DeadlineExceeded, ServerError: as for
                `check`, after the client's deadline, or 10 seconds without the start of an embedded server.
        """
        until = self._until(None)
        endpoint, tries = self._endpoint, self._endpoint.tries()
        while True:
            stub, metadata = await self._connect()
            if until is None:  # from here on: an embedded server has a time of its own to start
                until = time.monotonic() + _INFO_TIMEOUT_S
            try:
                said = await stub.GetServerInfo(
                    pb.GetServerInfoRequest(), metadata=metadata, timeout=channel.left(until)
                )
            except grpc.RpcError as error:
                await asyncio.sleep(endpoint.wait_s(tries, channel.failure_of(error), until))
                continue
            endpoint.server.was_reached = True
            return decode_info(said)

    async def close(self) -> None:
        """Close the connection and stop the embedded server. A later call opens them again."""
        if self._channel is not None and self._loop is asyncio.get_running_loop():
            await self._channel.close(None)
        self._channel = None
        await asyncio.get_running_loop().run_in_executor(None, self._endpoint.close)

    # ---- how ------------------------------------------------------------------

    async def _connect(self) -> tuple[Any, tuple[tuple[str, str], ...]]:
        loop = asyncio.get_running_loop()
        address = await loop.run_in_executor(None, self._endpoint.resolve)
        generation = self._endpoint.generation
        if self._channel is None or (self._loop, self._generation) != (loop, generation):
            # A channel belongs to the loop it was made in; asyncio.run makes a new one each time.
            self._channel = channel.open_channel(address, grpc.aio.insecure_channel, grpc.aio.secure_channel)
            self._loop, self._generation = loop, generation
        return make_stub(self._channel), tuple(address.metadata)

    async def _run(self, tasks: Tasks, deadline: float | None, *, whole: bool, ordered: bool) -> AsyncIterator[Verdict]:
        until = self._until(deadline)
        await self._connect()
        session = self._endpoint.session(self._endpoint.resolve(), whole=whole, ordered=ordered)

        async def open_call() -> Any:
            stub, metadata = await self._connect()
            return stub.CheckStream(metadata=metadata, timeout=left(until))

        wake = asyncio.Event()
        feed = _Feed(tasks, wake)
        streams = _Streams(open_call, wake)
        try:
            feed.take_in(session)
            if whole and feed.ended and session.is_small:
                await self._ask_once(session, until)
            while True:
                wake.clear()
                feed.take_in(session)
                for number, request in session.requests(time.monotonic()):
                    streams.send(number, request)
                streams.hand_over(session)
                for verdict in session.answers():
                    yield verdict
                if feed.ended and session.finished:
                    streams.finish()
                    return
                await _pause(session, feed, wake, until)
        finally:
            feed.close()
            streams.close()

    async def _ask_once(self, session: Session, until: float | None) -> None:
        """Send the work by a single RPC. If that fails and may be retried, a stream is the next try."""
        for number, request in session.requests(time.monotonic()):
            stub, metadata = await self._connect()
            try:
                response, failure = await stub.Check(request, metadata=metadata, timeout=left(until)), None
            except grpc.RpcError as error:
                response, failure = None, once_failure(error)
            session.answered_once(number, response, failure, time.monotonic())


async def _pause(session: Session, feed: _Feed, wake: asyncio.Event, until: float | None) -> None:
    """Wait until something has come, a timer of `session` is due or there is more to take in at once."""
    now = time.monotonic()
    if until is not None and now >= until:
        raise session.late()
    if feed.is_ready and session.wants_input and not session.has_full_request:
        await asyncio.sleep(0)
        return
    timeout = session.wait_s(now)
    if until is not None:
        timeout = until - now if timeout is None else min(timeout, until - now)
    await _woken(wake, timeout)


async def _woken(wake: asyncio.Event, timeout: float | None) -> None:
    """Return when `wake` is set, or after so many seconds. Unlike `asyncio.wait_for` before Python 3.12 it loses no
    cancellation that comes in the same moment."""
    waking = asyncio.ensure_future(wake.wait())
    try:
        await asyncio.wait({waking}, timeout=timeout)
    finally:
        waking.cancel()


class _Feed:
    """The caller's tasks. An async source is read ahead by a task of its own, so that a slow one holds up nothing."""

    def __init__(self, tasks: Tasks, wake: asyncio.Event) -> None:
        self.ended = False
        self._wake = wake
        self._read: list[Task] = []
        self._error: BaseException | None = None
        self._exhausted = False
        self._room = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None
        self._iterator: Iterator[Task] | None = None
        if isinstance(tasks, AsyncIterable):
            self._reader = asyncio.ensure_future(self._read_ahead(tasks))
        else:
            self._iterator = iterator_of(tasks)

    @property
    def is_ready(self) -> bool:
        """Whether `take_in` would find something (or the end) right now."""
        return not self.ended and (self._iterator is not None or bool(self._read) or self._exhausted)

    async def _read_ahead(self, tasks: AsyncIterable[Task]) -> None:
        try:
            async for task in tasks:
                self._read.append(task)
                self._wake.set()
                while len(self._read) >= _READ_AHEAD:
                    self._room.clear()
                    await self._room.wait()
        except Exception as error:
            self._error = error
        self._exhausted = True
        self._wake.set()

    def take_in(self, session: Session) -> None:
        """Move tasks into `session` until a request is full, there is no room, or none is there."""
        if self._iterator is not None:
            self._take_from(self._iterator, session)
            return
        taken = 0
        while taken < len(self._read) and session.wants_input and not session.has_full_request:
            session.add(self._read[taken])
            taken += 1
        del self._read[:taken]
        self._room.set()
        if self._exhausted and not self._read:
            if self._error is not None:
                raise self._error
            self.ended = True

    def _take_from(self, iterator: Iterator[Task], session: Session) -> None:
        while not self.ended and session.wants_input and not session.has_full_request:
            try:
                task = next(iterator)
            except StopIteration:
                self.ended = True
            else:
                session.add(task)

    def close(self) -> None:
        """Stop reading."""
        if self._reader is not None:
            self._reader.cancel()


class _Stream:
    """One stream: a task that writes what is queued, and one that reads what comes."""

    def __init__(self, number: int, streams: _Streams) -> None:
        self.number = number
        self.outbox: asyncio.Queue[Any] = asyncio.Queue()
        self._streams = streams
        self._task = asyncio.ensure_future(self._live())

    async def _live(self) -> None:
        error: BaseException | None = None
        writer: asyncio.Task[None] | None = None
        try:
            call = await self._streams.open_call()
            writer = asyncio.ensure_future(self._write(call))
            async for response in call:
                self._streams.put(self, response, None)
        except Exception as broken:
            error = broken
        finally:
            if writer is not None:
                writer.cancel()
        self._streams.put(self, None, error)

    async def _write(self, call: Any) -> None:
        # When the stream breaks, reading says why; writing need not say it again.
        with contextlib.suppress(grpc.RpcError, asyncio.InvalidStateError):
            while (request := await self.outbox.get()) is not None:
                await call.write(request)
            await call.done_writing()

    def cancel(self) -> None:
        """Stop at once."""
        self._task.cancel()


class _Streams:
    """The open streams of one call."""

    def __init__(self, open_call: Callable[[], Any], wake: asyncio.Event) -> None:
        self.open_call = open_call
        self._wake = wake
        self._inbox: list[tuple[_Stream, Any, BaseException | None]] = []
        self._streams: dict[int, _Stream] = {}

    def send(self, number: int, request: Any) -> None:
        """Send `request` over the stream `number`, opened if need be."""
        stream = self._streams.get(number)
        if stream is None:
            stream = self._streams[number] = _Stream(number, self)
        stream.outbox.put_nowait(request)

    def put(self, stream: _Stream, response: Any, error: BaseException | None) -> None:
        """A response, an error or (neither) the end of `stream` has come."""
        self._inbox.append((stream, response, error))
        self._wake.set()

    def hand_over(self, session: Session) -> None:
        """Give `session` all that has come."""
        inbox, self._inbox = self._inbox, []
        now = time.monotonic()
        for stream, response, error in inbox:
            if self._streams.get(stream.number) is not stream:
                continue
            if response is not None:
                session.response(stream.number, response, now)
                continue
            del self._streams[stream.number]
            if error is not None and not isinstance(error, grpc.RpcError):
                raise error
            session.ended(stream.number, None if error is None else channel.failure_of(error), now)

    def finish(self) -> None:
        """All is answered: say so, and let the server end the streams."""
        for stream in self._streams.values():
            stream.outbox.put_nowait(None)
        self._streams.clear()

    def close(self) -> None:
        """Cancel what is still under way, so that no worker runs for nobody."""
        for stream in self._streams.values():
            stream.cancel()
        self._streams.clear()
