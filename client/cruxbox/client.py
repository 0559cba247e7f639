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
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Optional

import grpc
from cruxbox_proto.v1 import sandbox_pb2 as pb

from cruxbox import channel
from cruxbox.channel import Tls
from cruxbox.endpoint import Endpoint, Settings
from cruxbox.info import ServerInfo, decode_info
from cruxbox.model import Task, Verdict
from cruxbox.session import Event, Session

# How long a slow source of tasks may keep finished verdicts, and questions that do not fill a request, waiting.
_LINGER_S = 0.02
_INFO_TIMEOUT_S = 10.0


class Client:
    """Sends tasks to a sandbox and brings back verdicts.

    May be used from several threads at once, survives a fork (the child connects anew) and can be pickled (only what
    it was told travels). Nothing is connected or started before it is needed.

    Args:
        target: `host:port`, `dns:///service:port` (every address behind it is used), `unix:/path`; None starts a daemon
            of its own and stops it in the end.
        token: bearer token that says which tenant is calling.
        tls: certificates to use; `Tls()` trusts the system's roots.
        credentials: ready-made gRPC channel credentials, instead of `tls`.
        allow_plaintext_token: send the token without TLS to another machine, where the network itself is encrypted.
        workers: workers of the embedded daemon; None is one a CPU.
        server_args: more arguments for the embedded daemon's `cruxboxd serve`.
        deadline: seconds a `check` or `stream` may take; None is no bound of ours (the server bounds every check).
        retries: how often in a row the server may be unreachable, without a single verdict in between.
        window: distinct checks that may be in flight.
        streams: streams side by side; None is one, or four where several servers stand behind the target.
        on_event: called with each `Event`: for metrics.
    """

    def __init__(
        self,
        target: str | None = None,
        *,
        token: str | None = None,
        tls: Tls | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        allow_plaintext_token: bool = False,
        workers: int | None = None,
        server_args: Sequence[str] = (),
        deadline: float | None = None,
        retries: int = 6,
        window: int = 2048,
        streams: int | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self._settings = Settings(
            target=target,
            token=token,
            tls=tls,
            credentials=credentials,
            allow_plaintext_token=allow_plaintext_token,
            workers=workers,
            server_args=tuple(server_args),
            deadline=deadline,
            retries=retries,
            window=window,
            streams=streams,
            on_event=on_event,
        )
        self._prepare()

    def _prepare(self) -> None:
        self._endpoint = Endpoint(self._settings)
        self._lock = threading.Lock()
        self._channel: grpc.Channel | None = None
        self._generation = 0
        self._pid = os.getpid()
        weakref.finalize(self, self._endpoint.close)

    def __getstate__(self) -> Settings:
        return self._settings

    def __setstate__(self, settings: Settings) -> None:
        self._settings = settings
        self._prepare()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---- what it is for -------------------------------------------------------

    def check(self, tasks: Iterable[Task], *, deadline: float | None = None) -> list[Verdict]:
        """The verdicts of all checks of all `tasks`, in order. Checks that say the same are sent once.

        Somebody waits for them, so the server takes them before bulk work (unless a task says otherwise).

        Args:
            tasks: what to check.
            deadline: seconds this may take, instead of the client's own.

        Raises a CruxboxError: Unavailable, Unauthenticated, InvalidRequest, DeadlineExceeded...
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
            deadline: seconds all of it may take, instead of the client's own.
        """
        return self._run(tasks, deadline, whole=False, ordered=ordered)

    def info(self) -> ServerInfo:
        """What the server is: version, runtimes, limits, layers of confinement."""
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
            failure = None
            try:
                response = stub.Check(request, metadata=metadata, timeout=channel.left(until))
                session.response(lane, response, time.monotonic())
            except grpc.RpcError as error:
                failure = channel.once_failure(error)
            session.ended(lane, failure, time.monotonic())


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
