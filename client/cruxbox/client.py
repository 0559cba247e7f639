"""The blocking client. Threads of gRPC read and write; the caller's thread does everything else.

Written over gRPC's blocking stack rather than over the asyncio one in a thread: the cost of a batch is the same, and
only this one works again after a fork.
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

from cruxbox import channel
from cruxbox.endpoint import BaseClient
from cruxbox.info import ServerInfo, decode_info
from cruxbox.model import Task, Verdict
from cruxbox.session import Session

# How long a slow source of tasks may keep finished verdicts, and questions that do not fill a request, waiting.
_LINGER_S = 0.02
_INFO_TIMEOUT_S = 10.0


class Client(BaseClient):
    """Sends tasks to a sandbox and brings back verdicts; see `BaseClient` for the arguments.

    May be used from several threads at once, survives a fork (the child connects anew) and can be pickled (only what
    it was told travels). Nothing is connected or started before it is needed.
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
        """The verdicts of all checks of all `tasks`. Checks that say the same are sent once.

        Somebody waits for them, so the server takes them before bulk work (unless a task says otherwise).

        Args:
            tasks: what to check; kept whole in memory.
            deadline: seconds this may take, instead of the client's own; None is that one.

        Returns:
            One verdict for each check of each task, in their order. A check that cannot even be sent is INVALID (what
            no Python source can hold) or SANDBOX_ERROR (larger than a request), and the others go on.

        Raises:
            InvalidRequest: what is asked cannot be asked: a task without checks, limits above the server's.
            Unavailable, Overloaded, EmbeddedServerError: no server, or none with room, for longer than `retries` allow.
            Unauthenticated: the server does not know the caller.
            DeadlineExceeded: the deadline passed before every check had a verdict.
            ServerError: the server failed, or breaks the contract.
        """
        return list(self._run(tasks, deadline, whole=True, ordered=True))

    def stream(
        self, tasks: Iterable[Task], *, ordered: bool = True, deadline: float | None = None
    ) -> Iterator[Verdict]:
        """Verdicts as they come, for any number of tasks in bounded memory; `tasks` is read as there is room.

        This is bulk work (unless a task says otherwise).

        Args:
            tasks: what to check; an iterator is read in the caller's thread.
            ordered: in the order of the tasks; False gives each verdict as soon as it is there (ids tell them apart).
            deadline: seconds all of it may take, instead of the client's own; None is that one.

        Returns:
            An iterator of one verdict for each check. Closing it cancels what is under way.

        Raises:
            What `check` raises, while it is read.
        """
        return self._run(tasks, deadline, whole=False, ordered=ordered)

    def info(self) -> ServerInfo:
        """What the server is: version, runtimes, limits, layers of confinement.

        Raises:
            What `check` raises, after the client's deadline or 10 s.
        """
        stub, metadata = self._connect()
        timeout = self._settings.deadline or _INFO_TIMEOUT_S
        try:
            return decode_info(stub.GetServerInfo(pb.GetServerInfoRequest(), metadata=metadata, timeout=timeout))
        except grpc.RpcError as error:
            raise channel.failure_of(error).error(self._endpoint.name) from None

    def close(self) -> None:
        """Close the connection and stop the embedded daemon. The client may be used again; it then starts anew."""
        with self._lock:
            if self._channel is not None and self._pid == os.getpid():
                self._channel.close()
            self._channel = None
        self._endpoint.close()

    # ---- how ------------------------------------------------------------------

    def _connect(self) -> tuple[Any, list[tuple[str, str]]]:
        """A stub and the metadata of a call; connects where this process has not yet."""
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
        deadline = deadline if deadline is not None else self._settings.deadline
        until = None if deadline is None else time.monotonic() + deadline
        session = self._endpoint.session(self._endpoint.resolve(), whole=whole, ordered=ordered)
        feed = iter(tasks)
        more = _take_in(session, feed)
        if whole and not more and session.is_small:
            self._ask_once(session, until)

        def open_call(requests: Iterator[Any]) -> Any:
            stub, metadata = self._connect()
            return stub.CheckStream(requests, metadata=metadata, timeout=channel.left(until))

        with contextlib.closing(_Streams(open_call)) as streams:
            while True:
                more = more and _take_in(session, feed)
                for lane, request in session.requests(time.monotonic()):
                    streams.send(lane, request)
                yield from session.answers()
                if not more and session.finished:
                    streams.finish()
                    return
                idle = not (more and session.wants_input) or session.has_full_request
                streams.receive(session, until, wait=idle)

    def _ask_once(self, session: Session, until: float | None) -> None:
        """Send what there is by a single call; what fails goes on by a stream, if it may."""
        for lane, request in session.requests(time.monotonic()):
            stub, metadata = self._connect()
            try:
                response, failure = stub.Check(request, metadata=metadata, timeout=channel.left(until)), None
            except grpc.RpcError as error:
                response, failure = None, channel.once_failure(error)
            session.answered_once(lane, response, failure, time.monotonic())


def _take_in(session: Session, feed: Iterator[Task]) -> bool:
    """Move tasks into `session` until a request is full, there is no room, or it took long; False at the end."""
    until = time.monotonic() + _LINGER_S
    while session.wants_input and not session.has_full_request and time.monotonic() < until:
        task = next(feed, None)
        if task is None:
            return False
        session.add(task)
    return True


class _Stream:
    """One stream: requests go in by a queue that gRPC's thread reads, responses come out by a thread of ours."""

    def __init__(self, lane: int, open_call: Callable[[Iterator[Any]], Any], inbox: _Inbox) -> None:
        self.lane = lane
        self.outbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._inbox = inbox
        self.call = open_call(iter(self.outbox.get, None))
        threading.Thread(target=self._read, name="cruxbox-stream", daemon=True).start()

    def _read(self) -> None:
        try:
            for response in self.call:
                self._inbox.put((self, response, None))
            self._inbox.put((self, None, None))
        except grpc.RpcError as error:
            self._inbox.put((self, None, error))


_Inbox = queue.SimpleQueue[tuple[_Stream, Any, Optional[grpc.RpcError]]]


class _Streams:
    """The open streams of one call."""

    def __init__(self, open_call: Callable[[Iterator[Any]], Any]) -> None:
        self._open_call = open_call
        self._inbox: _Inbox = queue.SimpleQueue()
        self._streams: dict[int, _Stream] = {}

    def send(self, lane: int, request: Any) -> None:
        """Send `request` over `lane`, opened if need be."""
        stream = self._streams.get(lane)
        if stream is None:
            stream = self._streams[lane] = _Stream(lane, self._open_call, self._inbox)
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
        if self._streams.get(stream.lane) is not stream:
            return
        now = time.monotonic()
        if response is not None:
            session.response(stream.lane, response, now)
            return
        stream.outbox.put(None)
        del self._streams[stream.lane]
        session.ended(stream.lane, None if error is None else channel.failure_of(error), now)

    def finish(self) -> None:
        """All is answered: say so, and let the server end the streams."""
        for stream in self._streams.values():
            stream.outbox.put(None)
        self._streams.clear()

    def close(self) -> None:
        """Cancel what is still under way, so that no worker runs for nobody."""
        for stream in self._streams.values():
            stream.outbox.put(None)
            stream.call.cancel()
        self._streams.clear()
