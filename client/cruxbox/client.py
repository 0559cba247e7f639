"""The blocking client. Threads of gRPC read and write; the caller's thread does everything else.

It uses gRPC's blocking API, not the asyncio one in a thread. A batch costs the same, and only the blocking API works
after a fork.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import Any, Optional

import grpc
from cruxbox_proto.v1 import sandbox_pb2 as pb

from cruxbox import channel, forks
from cruxbox.batch import iterator_of
from cruxbox.endpoint import BaseClient
from cruxbox.info import ServerInfo, decode_info
from cruxbox.model import Task, Verdict
from cruxbox.session import Session

# How long a slow source of tasks may keep finished verdicts, and questions that do not fill a request, waiting.
_LINGER_S = 0.02
_INFO_TIMEOUT_S = 10.0


class Client(BaseClient):
    """Sends tasks to a sandbox and returns verdicts. `BaseClient` lists the constructor's arguments.

    Several threads may use one client. After a fork the child reconnects. A child that is forked while its parent waits
    for verdicts cannot: every call in it raises InvalidRequest, because gRPC may crash there. A client can be pickled;
    only its arguments are. It connects, or starts the embedded server, when first used.
    """

    def _prepare(self) -> None:
        self._lock = threading.Lock()
        self._channel: grpc.Channel | None = None
        self._generation = 0
        self._pid = os.getpid()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- what it is for -------------------------------------------------------

    def check(self, tasks: Iterable[Task], *, deadline: float | None = None) -> list[Verdict]:
        """Run all checks of all `tasks`. Identical checks are sent once.

        The tasks have priority INTERACTIVE unless `Task.priority` is set.

        Args:
            tasks: the tasks; all are kept in memory.
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
        return list(self._run(tasks, deadline, whole=True, ordered=True))

    def stream(
        self, tasks: Iterable[Task], *, ordered: bool = True, deadline: float | None = None
    ) -> Iterator[Verdict]:
        """Run any number of tasks in bounded memory; `tasks` is read only as far as the window allows.

        The tasks have priority BULK unless `Task.priority` is set.

        Args:
            tasks: the tasks; read in the caller's thread.
            ordered: True returns verdicts in the order of the tasks, False as they arrive (ids tell them apart).
            deadline: seconds for the whole stream; None is the client's deadline.

        Returns:
            An iterator of one verdict for each check. Closing it cancels the checks in progress.

        Raises:
            The errors of `check`, during iteration, and those that reading `tasks` raises.
        """
        return self._run(tasks, deadline, whole=False, ordered=ordered)

    def info(self) -> ServerInfo:
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
            stub, metadata = self._connect()
            if until is None:  # from here on: an embedded server has a time of its own to start
                until = time.monotonic() + _INFO_TIMEOUT_S
            try:
                said = stub.GetServerInfo(pb.GetServerInfoRequest(), metadata=metadata, timeout=channel.left(until))
            except grpc.RpcError as error:
                time.sleep(endpoint.wait_s(tries, channel.failure_of(error), until))
                continue
            endpoint.server.was_reached = True
            return decode_info(said)

    def close(self) -> None:
        """Close the connection and stop the embedded server. A later call opens them again."""
        with self._lock:
            if self._channel is not None and self._pid == os.getpid():
                self._channel.close()
            self._channel = None
        self._endpoint.close()

    # ---- how ------------------------------------------------------------------

    def _connect(self) -> tuple[Any, list[tuple[str, str]]]:
        """A stub and the metadata of a call; connects where this process has not yet."""
        forks.check()
        if self._pid != os.getpid():
            # After a fork the channel belongs to the parent, and so may the lock.
            self._lock = threading.Lock()
            self._channel = None
            self._pid = os.getpid()
        address = self._endpoint.resolve()
        with self._lock:
            if self._channel is None or self._generation != self._endpoint.generation:
                self._generation = self._endpoint.generation
                self._channel = channel.open_channel(address, grpc.insecure_channel, grpc.secure_channel)
            return channel.make_stub(self._channel), address.metadata

    def _run(self, tasks: Iterable[Task], deadline: float | None, *, whole: bool, ordered: bool) -> Iterator[Verdict]:
        feed = iterator_of(tasks)
        until = self._until(deadline)
        session = self._endpoint.session(self._endpoint.resolve(), whole=whole, ordered=ordered)
        more = _take_in(session, feed)
        if whole and not more and session.is_small:
            self._ask_once(session, until)

        def open_call(requests: Iterator[Any]) -> Any:
            stub, metadata = self._connect()
            return stub.CheckStream(requests, metadata=metadata, timeout=channel.left(until))

        with contextlib.closing(_Streams(open_call)) as streams:
            while True:
                more = more and _take_in(session, feed)
                for number, request in session.requests(time.monotonic()):
                    streams.send(number, request)
                yield from session.answers()
                if not more and session.finished:
                    streams.finish()
                    return
                idle = not (more and session.wants_input) or session.has_full_request
                streams.receive(session, until, wait=idle)

    def _ask_once(self, session: Session, until: float | None) -> None:
        """Send the work by a single RPC. If that fails and may be retried, a stream is the next try."""
        for number, request in session.requests(time.monotonic()):
            stub, metadata = self._connect()
            forks.begin(session)
            try:
                response, failure = stub.Check(request, metadata=metadata, timeout=channel.left(until)), None
            except grpc.RpcError as error:
                response, failure = None, channel.once_failure(error)
            finally:
                forks.end(session)
            session.answered_once(number, response, failure, time.monotonic())


def _take_in(session: Session, feed: Iterator[Task]) -> bool:
    """Move tasks into `session` until a request is full, there is no room, or it took long; False at the end."""
    until = time.monotonic() + _LINGER_S
    while session.wants_input and not session.has_full_request and time.monotonic() < until:
        try:
            task = next(feed)
        except StopIteration:
            return False
        session.add(task)
    return True


class _Stream:
    """One stream: requests go in by a queue that gRPC's thread reads, responses come out by a thread of ours."""

    def __init__(self, number: int, open_call: Callable[[Iterator[Any]], Any], inbox: _Inbox) -> None:
        self.number = number
        self.outbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._inbox = inbox
        forks.begin(self)
        try:
            self.call = open_call(iter(self.outbox.get, None))
            threading.Thread(target=self._read, name="cruxbox-stream", daemon=True).start()
        except BaseException:
            forks.end(self)
            raise

    def _read(self) -> None:
        try:
            for response in self.call:
                self._inbox.put((self, response, None))
            self._inbox.put((self, None, None))
        except grpc.RpcError as error:
            self._inbox.put((self, None, error))
        finally:
            forks.end(self)


_Inbox = queue.SimpleQueue[tuple[_Stream, Any, Optional[grpc.RpcError]]]


class _Streams:
    """The open streams of one call."""

    def __init__(self, open_call: Callable[[Iterator[Any]], Any]) -> None:
        self._open_call = open_call
        self._inbox: _Inbox = queue.SimpleQueue()
        self._streams: dict[int, _Stream] = {}

    def send(self, number: int, request: Any) -> None:
        """Send `request` over the stream `number`, opened if need be."""
        stream = self._streams.get(number)
        if stream is None:
            stream = self._streams[number] = _Stream(number, self._open_call, self._inbox)
        stream.outbox.put(request)

    def receive(self, session: Session, until: float | None, *, wait: bool) -> None:
        """Hand over all that has come; with `wait`, not before something has, or a timer of `session` is due."""
        now = time.monotonic()
        if until is not None and now >= until:
            raise session.late()
        timeout = session.wait_s(now) if wait else 0.0
        if until is not None:
            timeout = until - now if timeout is None else min(timeout, until - now)
        try:
            message = self._inbox.get(timeout=timeout) if timeout != 0.0 else self._inbox.get_nowait()
            while True:
                self._hand_over(session, *message)
                message = self._inbox.get_nowait()
        except queue.Empty:
            return

    def _hand_over(self, session: Session, stream: _Stream, response: Any, error: grpc.RpcError | None) -> None:
        if self._streams.get(stream.number) is not stream:
            return
        now = time.monotonic()
        if response is not None:
            session.response(stream.number, response, now)
            return
        stream.outbox.put(None)
        del self._streams[stream.number]
        session.ended(stream.number, None if error is None else channel.failure_of(error), now)

    def finish(self) -> None:
        """All is answered: say so, and let the server end the streams."""
        for stream in self._streams.values():
            forks.ending(stream)
            stream.outbox.put(None)
        self._streams.clear()

    def close(self) -> None:
        """Cancel what is still under way, so that no worker runs for nobody. In a fork it is the parent's."""
        for stream in self._streams.values():
            forks.ending(stream)
            stream.outbox.put(None)
            if not forks.is_cut_off():
                stream.call.cancel()
        self._streams.clear()
