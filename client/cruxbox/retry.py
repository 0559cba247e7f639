"""The retry policy: whether and when a failed RPC is retried. Pure: no clock, no socket."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from cruxbox.errors import (
    CruxboxError,
    DeadlineExceeded,
    InvalidRequest,
    Overloaded,
    ServerError,
    Unauthenticated,
    Unavailable,
)
from cruxbox.printable import printable

RETRYABLE = frozenset({"UNAVAILABLE", "RESOURCE_EXHAUSTED"})
RETRY_INFO_KEY = "google.rpc.retryinfo-bin"

# gRPC's own answer to a message over the size cap: the right code with the wrong meaning, for the same message
# would be refused for ever.
_TOO_LARGE = "larger than max"

_ERRORS: dict[str, tuple[type[CruxboxError], str]] = {
    "UNAVAILABLE": (Unavailable, "Cannot reach {server}: {details}"),
    "RESOURCE_EXHAUSTED": (Overloaded, "{server} has no room for this work: {details}"),
    "INVALID_ARGUMENT": (InvalidRequest, "{server} refused the request: {details}"),
    "OUT_OF_RANGE": (InvalidRequest, "{server} refused the request: {details}"),
    "UNAUTHENTICATED": (Unauthenticated, "{server} does not know who is calling: {details}"),
    "PERMISSION_DENIED": (Unauthenticated, "{server} does not allow this call: {details}"),
    "DEADLINE_EXCEEDED": (DeadlineExceeded, "{server} did not answer in time: {details}"),
    "UNIMPLEMENTED": (ServerError, "{server} is not a cruxbox server of this version: {details}"),
}
_OTHER = (ServerError, "{server} failed with {code}: {details}")

# Where in the request the fault is. Requests are made here, so that place means nothing to the caller.
_INDEX = re.compile(r"^tasks\[\d+\]\.options\.")

# What gRPC says of a call that found no server: its connection was not made. A call that was broken off afterwards, or
# that the server itself turned away, is told in other words.
_NOT_THERE = re.compile(r"connect|resol|address|handshake", re.IGNORECASE)

# A wait longer than this is not one that a sound server asks for: seconds.
_MAX_WAIT_S = 3600.0
# Characters of a server's message that are kept.
_MAX_DETAILS = 1000


@dataclass(frozen=True)
class Failure:
    """How a call ended: the gRPC status `code` by name, its `details`, the wait the server asked for, if any, and
    whether the call is known to have reached a server.
    """

    code: str
    details: str = ""
    retry_after_s: float | None = None
    has_arrived: bool = False

    @property
    def absurd_wait(self) -> bool:
        """Whether the server asks for a wait that nobody would ask for."""
        return self.retry_after_s is not None and not 0 <= self.retry_after_s <= _MAX_WAIT_S

    @property
    def retryable(self) -> bool:
        """Whether the same work may succeed when it is sent again."""
        return self.code in RETRYABLE and _TOO_LARGE not in self.details and not self.absurd_wait

    def error(self, server: str) -> CruxboxError:
        """The exception for the caller after the last try; `server` is its name in the sentence."""
        if self.code == "RESOURCE_EXHAUSTED" and _TOO_LARGE in self.details:
            return InvalidRequest(f"A message to {server} is too large: {printable(self.details[:_MAX_DETAILS])}")
        if self.absurd_wait and self.code in RETRYABLE:
            return ServerError(
                f"{server[:1].upper()}{server[1:]} is broken: it asks to wait {self.retry_after_s:.3g} s before "
                f"the next try; at most {_MAX_WAIT_S:.0f} s are believed."
            )
        kind, text = _ERRORS.get(self.code, _OTHER)
        details = _INDEX.sub("", printable(self.details[:_MAX_DETAILS])) or "no reason given"
        meant = _meaning(self)
        told = f"{meant} ({details})" if meant else details
        sentence = text.format(server=server, code=self.code, details=told)
        return kind(sentence[:1].upper() + sentence[1:])


def has_arrived(code: str, said: str) -> bool:
    """Whether a call that ended with the status `code` and these words of gRPC's is known to have reached a server."""
    return code in RETRYABLE and not _NOT_THERE.search(said)


def _meaning(failure: Failure) -> str:
    """What gRPC's words most often mean where the two sides speak different protocols; "" where they are plain."""
    if failure.code != "UNAVAILABLE":
        return ""
    if failure.details.endswith("Socket closed"):
        return _CLOSED
    return next((meant for told, meant in _MEANINGS.items() if told in failure.details), "")


_CLOSED = (
    "it closed the connection. Does it expect TLS? Then pass tls=Tls(), or set CRUXBOX_TLS=1 or CRUXBOX_TLS_CA. Or a "
    "certificate of the client's that it knows, not an expired one? Then pass tls=Tls(cert=FILE, key=FILE), or set "
    "CRUXBOX_TLS_CERT and CRUXBOX_TLS_KEY"
)
_MEANINGS = {
    "WRONG_VERSION_NUMBER": "it does not speak TLS; leave tls= out, or unset CRUXBOX_TLS and CRUXBOX_TLS_CA",
    "certificate has expired": "its certificate, or that of its authority, has expired by the clock here",
    "certificate is not yet valid": "its certificate, or that of its authority, is not yet valid by the clock here",
    "CERTIFICATE_VERIFY_FAILED": "its certificate is not of an authority known here: name that by tls=Tls(ca=FILE) or "
    "CRUXBOX_TLS_CA",
    **dict.fromkeys(
        ("Hostname Verification", "not in peer certificate"),
        "its certificate is of another name: name that by tls=Tls(server_name=NAME) or CRUXBOX_TLS_SERVER_NAME",
    ),
    "create security handshaker": "the files of tls=Tls(...), or of CRUXBOX_TLS_CA, _CERT and _KEY, hold no "
    "certificate or key that can be used",
    "Failed parsing HTTP/2": "what listens there is not a gRPC server",
}


@dataclass(frozen=True)
class Backoff:
    """Full jitter: the n-th wait is uniform in (0, min(cap_s, base_s * 2**n)), so that clients do not come back as one.

    `retries` is how often in a row a call may fail without a single verdict in between.
    """

    retries: int = 6
    base_s: float = 0.1
    cap_s: float = 5.0

    @property
    def patience_s(self) -> float:
        """Seconds that the longest waits before `retries` repeats come to."""
        growing = range(min(self.retries, 32))
        return sum(min(self.cap_s, self.base_s * 2.0**n) for n in growing) + self.cap_s * max(0, self.retries - 32)

    def delay_s(
        self, attempt: int, retry_after_s: float | None = None, rand: Callable[[], float] = random.random
    ) -> float:
        """Seconds to wait before try number `attempt` (0 is the first repeat); never less than the server asked for."""
        jitter = rand() * min(self.cap_s, self.base_s * 2.0 ** min(attempt, 32))
        return jitter if retry_after_s is None else retry_after_s + jitter


# How many times as often work is repeated while the server is full, or where it has been reached before.
_PATIENCE = 4
# The longest wait for a server that was never reached: it may be starting, as this client is.
_SOON_S = 0.25


class Tries:
    """How often something has failed in a row, and whether and when it is tried again."""

    __slots__ = ("_backoff", "_failures", "_since", "_was_reached")

    def __init__(self, backoff: Backoff) -> None:
        self._backoff = backoff
        self._failures = 0
        self._since = 0.0
        self._was_reached = False

    def forgive(self) -> None:
        """It has not failed."""
        self._failures = 0

    def wait_s(self, failure: Failure, now: float, *, was_reached: bool) -> float | None:
        """Seconds between `failure`, at `now`, and the next try; None when it is time to stop.

        A full server is alive and says so, and one that was reached before may be restarting: both are asked more
        often, at growing intervals. One that was never there is soon asked again, over the time that all retries would
        take; how often that was does not count once it is there.
        """
        if was_reached and not self._was_reached:
            self._failures, self._was_reached = 0, True
        backoff, failures = self._backoff, self._failures
        self._since = self._since if failures else now
        self._failures += 1
        if was_reached or failure.code == "RESOURCE_EXHAUSTED":
            is_over, soon = failures >= _PATIENCE * backoff.retries, backoff
        else:
            is_over = failures >= backoff.retries and now - self._since >= backoff.patience_s
            soon = replace(backoff, cap_s=min(backoff.cap_s, _SOON_S))
        return None if is_over else soon.delay_s(failures, failure.retry_after_s)


def parse_retry_info(data: bytes) -> float | None:
    """Seconds in a serialized google.rpc.RetryInfo, or None if there are none or the bytes are not one.

    Both messages on the way are tiny (RetryInfo{1: Duration{1: seconds, 2: nanos}}), so they are read by hand and
    googleapis-common-protos need not be installed.
    """
    try:
        delay = dict(_fields(data)).get(1)
        if not isinstance(delay, bytes):
            return None
        parts = dict(_fields(delay))
    except (IndexError, ValueError):
        return None
    seconds, nanos = parts.get(1, 0), parts.get(2, 0)
    if not isinstance(seconds, int) or not isinstance(nanos, int) or max(seconds, nanos) >= 1 << 63:
        return None
    return seconds + nanos / 1e9


def _fields(data: bytes) -> list[tuple[int, int | bytes]]:
    """(number, value) of each field of a protobuf message; ValueError or IndexError if it is none."""
    found: list[tuple[int, int | bytes]] = []
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        value: int | bytes
        if tag & 7 == 0:
            value, at = _varint(data, at)
        elif tag & 7 == 2:
            size, at = _varint(data, at)
            if at + size > len(data):
                raise ValueError("truncated field")
            value, at = data[at : at + size], at + size
        else:
            raise ValueError(f"unexpected wire type {tag & 7}")
        found.append((tag >> 3, value))
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("varint too long")
