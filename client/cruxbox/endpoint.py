"""What `Client` and `AsyncClient` share: the constructor, its checks, and the choice of a named or embedded server."""

from __future__ import annotations

import re
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cruxbox import arguments
from cruxbox.arguments import FLAG, FUNCTION, TEXTS, Rule, of_type, seconds, shown, whole
from cruxbox.channel import Address, Tls
from cruxbox.embedded import EmbeddedServer
from cruxbox.errors import InvalidRequest
from cruxbox.retry import Backoff, Failure, Tries
from cruxbox.session import Event, Policy, Server, Session

_FORMS = "host:port, dns:///name:port, ipv4:1.2.3.4:port, ipv6:[::1]:port, unix:/path (without % ? # ,) or xds:///name"
_RESOLVED = re.compile(r"dns:(//[^/]*/)?|ipv[46]:")
# A host, or an IPv6 address in brackets, and a port: without one gRPC means 443.
_ADDRESS = re.compile(r"(\[[^][,/\s]+\]|%5B[^][,/\s]+%5D|[^][:,/\s]+):\d+", re.IGNORECASE)
# gRPC reads a target as a URI, or a list of them: it would look for a socket at another path.
_READ_OTHERWISE = frozenset("%?#,")
_MAX_TARGET = 4096  # characters; many addresses may stand in one target


@dataclass(frozen=True)
class Settings:
    """The arguments of `BaseClient`. Plain data, so that clients can be pickled."""

    target: str | None
    token: str | None
    tls: Tls | None
    credentials: Any | None
    allow_plaintext_token: bool
    workers: int | None
    server_args: Sequence[str]
    deadline: float | None
    retries: int
    window: int
    streams: int | None
    on_event: Callable[[Event], None] | None

    def __post_init__(self) -> None:
        arguments.check(self, _RULES)
        if self.target is not None and not _is_target(self.target):
            raise InvalidRequest(f"target must be {_FORMS}, not {shown(self.target)}.")
        port = None if self.target is None else _wrong_port(self.target)
        if port is not None:  # gRPC would take what is left of it, divided by 65536
            raise InvalidRequest(f"target names the port {port:.20}; a port is at most 65535.")
        if self.token is not None and not (
            isinstance(self.token, str) and self.token.isascii() and self.token.isprintable()
        ):
            # Its text stays out of the sentence.
            raise InvalidRequest("token must be visible ASCII characters, for it travels in a header.")
        if self.tls is not None:
            arguments.check_one("server_name", self.tls.server_name, _SERVER_NAME)
        if self.target is not None and (self.workers is not None or self.server_args):
            raise InvalidRequest("workers and server_args are for the embedded server; a named target has its own.")


def _is_credentials(value: Any) -> bool:
    import grpc

    return isinstance(value, grpc.ChannelCredentials)


_SERVER_NAME = Rule("the name of a host", lambda value: isinstance(value, str) and value.isprintable()).or_none()
# Those of target and token have sentences of their own.
_RULES = {
    "tls": of_type(Tls, "Tls").or_none(),
    "credentials": Rule("grpc.ChannelCredentials", _is_credentials).or_none(),
    "allow_plaintext_token": FLAG,
    "workers": whole(1, 1_000_000).or_none(),
    "server_args": TEXTS,
    "deadline": seconds(0).or_none(),
    "retries": whole(0),
    "window": whole(1),
    "streams": whole(1).or_none(),
    "on_event": FUNCTION.or_none(),
}
_DEADLINE = seconds().or_none()


def _is_target(target: str) -> bool:
    if not isinstance(target, str) or not target.isprintable() or len(target) > _MAX_TARGET:
        return False
    if target.startswith("unix:") and not _READ_OTHERWISE.isdisjoint(target):
        return False
    if target.startswith(("unix:", "unix-abstract:", "xds:")):
        return bool(target.partition(":")[2].strip("/"))
    return all(map(_ADDRESS.fullmatch, _RESOLVED.sub("", target, count=1).split(",")))


def _wrong_port(target: str) -> str | None:
    """The first port of the target's addresses that is none; None where all are, or none is named."""
    if target.startswith(("unix:", "unix-abstract:")):
        return None
    ports = re.findall(r"(?<=[^:]:)(\d+)(?=,|$)", target)
    return next((port for port in ports if int(port[:9]) > 65535), None)


class Endpoint:
    """Resolves the server's address, and starts the embedded server if no target is named."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # Grows with each embedded server: a connection to the one before looks for it in vain, for a while.
        self.generation = 0
        self.embedded: EmbeddedServer | None = None
        if settings.target is None:
            self.embedded = EmbeddedServer(workers=settings.workers, arguments=settings.server_args)
        self.server = Server("the embedded server" if settings.target is None else f"the server at {settings.target}")

    def resolve(self) -> Address:
        """The address to connect to. Starts the embedded server if needed, which takes about a second."""
        asked = self._settings
        address = Address(
            asked.target or "",
            token=asked.token,
            tls=asked.tls,
            credentials=asked.credentials,
            allow_plaintext_token=asked.allow_plaintext_token,
        )
        if self.embedded is None:
            return address
        target, restarted = self.embedded.ensure()
        if restarted:
            self.generation += 1
            if asked.on_event is not None:
                asked.on_event(Event("restarted"))
        return replace(address, target=target, tls=None, credentials=None)

    def session(self, address: Address, *, whole: bool, ordered: bool) -> Session:
        """The state of a new `check` or `stream` call."""
        asked = self._settings
        policy = Policy(
            window=asked.window,
            streams=min(asked.streams or address.streams, asked.window),
            backoff=Backoff(retries=asked.retries),
        )
        return Session(self.server, policy, whole=whole, ordered=ordered, on_event=asked.on_event)

    def tries(self) -> Tries:
        """Of a call that carries no checks."""
        return Tries(Backoff(retries=self._settings.retries))

    def wait_s(self, tries: Tries, failure: Failure, until: float) -> float:
        """Seconds until such a call that met `failure` is tried again; raises when it is time to stop."""
        now = time.monotonic()
        self.server.was_reached |= failure.has_arrived
        again = tries.wait_s(failure, now, was_reached=self.server.was_reached) if failure.retryable else None
        if again is None or now + again >= until:
            raise failure.error(self.server.name)
        return again

    def close(self) -> None:
        """Stop the embedded server, if there is one."""
        if self.embedded is not None:
            self.embedded.stop()


class BaseClient:
    """The constructor of `Client` and `AsyncClient`.

    Args:
        target: `host:port`, `dns:///service:port` (all its addresses are used) or `unix:/path`. None starts an embedded
            server and stops it on `close`.
        token: bearer token; it names the tenant.
        tls: certificates; `Tls()` trusts the system's roots.
        credentials: gRPC channel credentials, instead of `tls`.
        allow_plaintext_token: sends the token without TLS to another machine, for networks with other encryption.
        workers: workers of the embedded server; None is one for each CPU.
        server_args: more arguments of the embedded server's `cruxboxd serve`.
        deadline: seconds that a `check` or `stream` may take; None sets no limit (the server limits each check).
        retries: how many attempts in a row may fail without a verdict in between; four times as many while the server
            is full, and where it has answered this client before (it may be restarting). One that has not answered yet
            (it may be starting) is tried several times a second, for as long as so many waits may take.
        window: distinct checks in flight.
        streams: concurrent gRPC streams; None is one, or four if the target has several addresses.
        on_event: called with each `Event` in the caller's thread or loop, for metrics.

    Raises:
        InvalidRequest: an argument is out of range, or two arguments exclude each other. Nothing is connected yet.
    """

    def __init__(
        self,
        target: str | None = None,
        *,
        token: str | None = None,
        tls: Tls | None = None,
        credentials: Any | None = None,
        allow_plaintext_token: bool = False,
        workers: int | None = None,
        server_args: Sequence[str] = (),
        deadline: float | None = None,
        retries: int = 6,
        window: int = 2048,
        streams: int | None = None,
        on_event: Callable[[Event], None] | None = None,
    ) -> None:
        self.__setstate__(
            Settings(
                target=target,
                token=token,
                tls=tls,
                credentials=credentials,
                allow_plaintext_token=allow_plaintext_token,
                workers=workers,
                server_args=server_args,
                deadline=deadline,
                retries=retries,
                window=window,
                streams=streams,
                on_event=on_event,
            )
        )

    def __getstate__(self) -> Settings:
        return self._settings

    def __setstate__(self, settings: Settings) -> None:
        self._settings = settings
        self._endpoint = Endpoint(settings)
        weakref.finalize(self, self._endpoint.close)
        self._prepare()

    def _until(self, deadline: float | None) -> float | None:
        """When a call ends that has `deadline` seconds, or those of this client, in monotonic seconds."""
        arguments.check_one("deadline", deadline, _DEADLINE)
        deadline = self._settings.deadline if deadline is None else deadline
        return None if deadline is None else time.monotonic() + deadline

    def _prepare(self) -> None:
        """Set up what this kind of client needs; nothing is connected yet."""
        raise NotImplementedError
