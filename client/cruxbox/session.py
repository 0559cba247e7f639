"""The state machine of one `check` or `stream` call over one or several gRPC streams: sending, retrying, ordering.

Pure, as `batch` is: time comes in as an argument, messages go in and out as values. `client` and `aio` only carry them.

Streams have numbers. A stream is opened when it gets its first request and may break at any time. What it carried then
waits again, and its number is not used for a while. Its window is halved when the server says that it has no room, and
grows again with every answer, as in TCP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cruxbox.batch import Batch, Sizes
from cruxbox.errors import CruxboxError, DeadlineExceeded
from cruxbox.model import Task, Verdict
from cruxbox.printable import counted, printable
from cruxbox.retry import Backoff, Failure, Tries

# Positions that may be open for each distinct check that may be: duplicates are cheap, not free.
_DUPLICATES = 8
_OPEN_BYTES = 64 << 20
# Checks that go by a single call: a stream takes threads, and a round trip more.
_SMALL = 4


@dataclass(frozen=True)
class Event:
    """An event for the caller's metrics.

    `kind` is "sent" (count checks in one request), "answered" (count verdicts of the server), "retry" (a stream broke;
    count checks wait again, `delay_s` until the next try, `detail` says why), "resubmitted" (count checks that met a
    SANDBOX_ERROR are sent again) or "restarted" (the embedded daemon was started anew).
    """

    kind: str
    count: int = 0
    delay_s: float = 0.0
    detail: str = ""


@dataclass(frozen=True)
class Policy:
    """Limits on work in flight, and retries.

    Args:
        window: distinct checks in flight over all streams.
        streams: streams side by side; more than one only pays where several servers stand behind the target.
        backoff: waits between tries.
        sandbox_retries: how often a check that met a SANDBOX_ERROR is sent again.
        sizes: bounds of one request.
    """

    window: int = 2048
    streams: int = 1
    backoff: Backoff = field(default_factory=Backoff)
    sandbox_retries: int = 2
    sizes: Sizes = field(default_factory=Sizes)


@dataclass
class Server:
    """What a client knows of its server, from one call to the next.

    Args:
        name: what sentences call the server.
        was_reached: whether a call has ever reached it.
    """

    name: str
    was_reached: bool = False


class _StreamState:
    """What is known of the stream of one number, whether it is open or not."""

    __slots__ = ("rests_until", "tries", "window")

    def __init__(self, window: int, backoff: Backoff) -> None:
        self.window = window
        self.tries = Tries(backoff)
        self.rests_until = 0.0


class Session:
    """The state of one `check` or `stream` call.

    Args:
        server: the server; the session notes in it that the server was reached.
        whole: the work is small enough to be kept whole and somebody waits for it: later duplicates of an answered
            check are answered from memory, and the server takes it before bulk work.
        ordered: whether answers are held back until all earlier positions are answered.
        on_event: called with each Event, in the caller's thread.
    """

    def __init__(
        self,
        server: Server,
        policy: Policy,
        *,
        whole: bool,
        ordered: bool,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self._server = server
        self._policy = policy
        self._batch = Batch(policy.sizes, sandbox_retries=policy.sandbox_retries, remember=whole, interactive=whole)
        self._stream_window = max(1, policy.window // policy.streams)
        self._streams = [_StreamState(self._stream_window, policy.backoff) for _ in range(policy.streams)]
        self._ordered = ordered
        self._held: dict[int, Verdict] = {}
        self._next = 0
        self._warm_at: float | None = None
        self._looked_at = 0.0
        self._notify = on_event or _ignore

    # ---- in and out for the caller ----------------------------------------

    def add(self, task: Task) -> None:
        """Take in a task; its checks get the next positions."""
        self._batch.add(task)

    @property
    def wants_input(self) -> bool:
        """Whether there is room for more tasks, so that memory stays bounded."""
        batch = self._batch
        return (
            batch.unanswered < 2 * self._policy.window
            and batch.open_positions + len(self._held) < _DUPLICATES * self._policy.window
            and batch.open_bytes < _OPEN_BYTES
        )

    @property
    def has_full_request(self) -> bool:
        """Whether enough waits to fill a request, so that it is time to send."""
        return self._batch.waiting >= self._policy.sizes.checks

    @property
    def is_small(self) -> bool:
        """Whether what waits is so little that one answer holds it, and a stream would cost more than it."""
        return 0 < self._batch.waiting <= _SMALL

    @property
    def finished(self) -> bool:
        """Whether everything that was added is answered."""
        return not self._batch.unanswered

    def answers(self) -> list[Verdict]:
        """The verdicts that are due since the last call."""
        answers = self._batch.answers()
        if not self._ordered:
            return [verdict for _, verdict in answers]
        held, due = self._held, []
        held.update(answers)
        while self._next in held:
            due.append(held.pop(self._next))
            self._next += 1
        return due

    # ---- out to the server --------------------------------------------------

    def requests(self, now: float) -> Iterator[tuple[int, Any]]:
        """(number of a stream, pb.CheckRequest) to send at `now`, in monotonic seconds."""
        self._looked_at = now
        if self._warm_at is not None and now >= self._warm_at:
            self._warm_at = None
            self._notify(Event("resubmitted", self._batch.warm()))
        # What does not fill a request goes only when the source has paused: then nothing full waits at the start.
        paused = not self.has_full_request
        while self.has_full_request or (paused and self._batch.waiting):
            number = self._least_loaded(now)
            if number is None:
                return
            stream, in_flight = self._streams[number], self._batch.in_flight[number]
            room = stream.window - in_flight
            # Requests stay of a decent size: answers come in dribs, and questions must not follow suit.
            decent = min(self._policy.sizes.checks, max(1, stream.window // 4))
            if in_flight and room < min(decent, self._batch.waiting):
                return
            request = self._batch.request(number, room)
            if request is None:
                return
            self._notify(Event("sent", self._batch.in_flight[number] - in_flight))
            yield number, request

    def _least_loaded(self, now: float) -> int | None:
        loads = [
            (self._batch.in_flight[number] - stream.window, number)
            for number, stream in enumerate(self._streams)
            if stream.rests_until <= now and self._batch.in_flight[number] < stream.window
        ]
        return min(loads)[1] if loads else None

    def wait_s(self, now: float) -> float | None:
        """Seconds until `requests` has something new to say by itself; None if only an answer can change that."""
        times = [] if self._warm_at is None else [self._warm_at]
        if self._batch.waiting:
            # Those that rested when `requests` last looked: one whose rest ended meanwhile is due at once.
            times.extend(stream.rests_until for stream in self._streams if stream.rests_until > self._looked_at)
        return max(0.0, min(times) - now) if times else None

    # ---- back from the server -----------------------------------------------

    def response(self, number: int, response: Any, now: float) -> None:
        """Take in a pb.CheckResponse that came over the stream `number`."""
        settled = self._batch.accept(response)
        if settled:
            self._server.was_reached = True
            self._notify(Event("answered", settled))
            for each in self._streams:
                each.tries.forgive()
            self._streams[number].window = min(self._stream_window, self._streams[number].window + settled)
        if self._batch.cooling and self._warm_at is None:
            self._warm_at = now + self._policy.backoff.delay_s(0)

    def answered_once(self, number: int, response: Any | None, failure: Failure | None, now: float) -> None:
        """A single call in place of the stream `number` ended: with a pb.CheckResponse, or with `failure`."""
        if response is not None:
            self.response(number, response, now)
        self.ended(number, failure, now)

    def ended(self, number: int, failure: Failure | None, now: float) -> None:
        """The stream `number` ended, with `failure` or by the server; raises when it is time to stop."""
        carried = self._batch.requeue(number)
        if failure is None:
            if not carried:
                return
            ended = f"the stream ended while {counted(carried, 'check')} had no verdict"
            failure = Failure("UNAVAILABLE", ended, has_arrived=True)
        if not failure.retryable:
            raise self._error(failure)
        self._rest(self._streams[number], carried, failure, now)

    def _rest(self, stream: _StreamState, carried: int, failure: Failure, now: float) -> None:
        self._server.was_reached |= failure.has_arrived
        delay_s = stream.tries.wait_s(failure, now, was_reached=self._server.was_reached)
        if delay_s is None:
            raise self._error(failure)
        stream.rests_until = now + delay_s
        if failure.code == "RESOURCE_EXHAUSTED":
            stream.window = max(1, stream.window // 2)
        self._notify(Event("retry", carried, delay_s, f"{failure.code}: {printable(failure.details)}"))

    def _error(self, failure: Failure) -> CruxboxError:
        return self.late() if failure.code == "DEADLINE_EXCEEDED" else failure.error(self._server.name)

    def late(self) -> DeadlineExceeded:
        """The exception for a deadline that passed."""
        return DeadlineExceeded(
            f"The deadline passed while {self._batch.unanswered} of {self._batch.distinct} distinct checks had no "
            f"verdict from {self._server.name}."
        )


def _ignore(event: Event) -> None:
    pass
