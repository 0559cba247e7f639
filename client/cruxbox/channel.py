"""Connections to a server: targets, credentials, channel options, status codes."""

from __future__ import annotations

import ipaddress
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cruxbox import arguments
from cruxbox.arguments import TEXT
from cruxbox.errors import DataError, InvalidRequest
from cruxbox.reading import read_bytes
from cruxbox.retry import RETRY_INFO_KEY, Failure, has_arrived, parse_retry_info

if TYPE_CHECKING:
    import grpc

# Targets behind which there may be several servers; these get several streams.
_MANY = re.compile(r"^(dns:|xds:)|,")
_STREAMS_FOR_MANY = 4

_MAX_PEM_BYTES = 16 << 20
_CERTIFICATE, _KEY = "CERTIFICATE", "PRIVATE KEY"  # of PEM files

_HEALTH_METHOD = "/grpc.health.v1.Health/Check"
_SERVING = b"\x08\x01"  # HealthCheckResponse{status: SERVING}; read by hand, so that no package is needed for it

_OPTIONS: list[tuple[str, Any]] = [
    # NATs and load balancers drop silent streams.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # gRPC pings for its own measures, too. While it waits for an answer to that, by default a minute, it sends no other
    # ping, and the work of a server that has stopped without a word goes to no other one.
    ("grpc.http2.ping_timeout_ms", 20_000),
    ("grpc.http2.max_pings_without_data", 0),
    # A daemon that starts or restarts is there in a second or two; the default would look for it much later. Two
    # attempts a second are also the most that a server which is gone costs.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 500),
    # How long a connection may take to be made, whatever the name says: a busy server, or a far one, needs a while.
    ("grpc.min_reconnect_backoff_ms", 3_000),
    # Verdicts carry output; requests are bounded by `batch.Sizes`.
    ("grpc.max_receive_message_length", 64 << 20),
    ("grpc.max_send_message_length", 64 << 20),
    # Retrying is done here, where it is known which checks have no verdict yet.
    ("grpc.enable_retries", 0),
    ("grpc.service_config", json.dumps({"loadBalancingConfig": [{"round_robin": {}}]})),
    # A fork must not inherit, nor a second client share, a connection in an unknown state.
    ("grpc.use_local_subchannel_pool", 1),
]


@dataclass(frozen=True)
class Tls:
    """TLS towards the server: files in PEM. Without `ca` the system's roots are used; `cert` and `key` make it mutual.

    `server_name` is what the server's certificate must name, when it is not the target's host.
    """

    ca: str | Path | None = None
    cert: str | Path | None = None
    key: str | Path | None = None
    server_name: str | None = None

    def __post_init__(self) -> None:
        for name in ("ca", "cert", "key"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, (str, Path)):  # as grpc's own functions take what is in it
                raise InvalidRequest(f"Tls: {name} must be the path of a PEM file, not {type(value).__name__}.")
        arguments.check_one("Tls: server_name", self.server_name, TEXT.or_none())


@dataclass(frozen=True)
class Address:
    """A server: `target` in gRPC's syntax, `tls` or ready-made `credentials`; `token` names the tenant."""

    target: str
    token: str | None = None
    tls: Tls | None = None
    credentials: Any | None = None
    allow_plaintext_token: bool = False

    @property
    def is_secure(self) -> bool:
        """Whether what is said cannot be read on the way, as far as this address tells."""
        return self.tls is not None or self.credentials is not None or is_local(self.target)

    @property
    def streams(self) -> int:
        """How many streams are worth opening to this target."""
        return _STREAMS_FOR_MANY if _MANY.search(self.target) else 1

    @property
    def metadata(self) -> list[tuple[str, str]]:
        """What every call carries; InvalidRequest when a token would travel in clear text to another machine."""
        if not self.token:
            return []
        if not (self.is_secure or self.allow_plaintext_token):
            raise InvalidRequest(
                f"The token would travel unencrypted to {self.target}; use TLS, or allow_plaintext_token=True (for "
                "commands: CRUXBOX_PLAINTEXT_TOKEN=1) where the network itself is encrypted."
            )
        return [("authorization", f"Bearer {self.token}")]


def is_local(target: str) -> bool:
    """Whether `target` is a unix socket or a loopback address."""
    if target.startswith(("unix:", "unix-abstract:")):
        return True
    hosts = re.sub(r"^(dns:(//[^/]*/)?|ipv4:|ipv6:)", "", target).split(",")
    return all(_is_loopback(re.sub(r":\d+$", "", host).strip("[]")) for host in hosts)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def options(tls: Tls | None) -> list[tuple[str, Any]]:
    """Channel arguments for gRPC."""
    if tls is None or tls.server_name is None:
        return _OPTIONS
    return [*_OPTIONS, ("grpc.ssl_target_name_override", tls.server_name)]


def open_channel(address: Address, insecure: Callable[..., Any], secure: Callable[..., Any]) -> Any:
    """A channel to `address`, made by gRPC's two constructors (those of `grpc` or of `grpc.aio`)."""
    credentials = address.credentials or (None if address.tls is None else _credentials(address.tls))
    if credentials is None:
        return insecure(address.target, options=options(None))
    return secure(address.target, credentials, options=options(address.tls))


def _credentials(tls: Tls) -> Any:
    import grpc

    if (tls.cert is None) != (tls.key is None):
        raise InvalidRequest(
            "Mutual TLS needs both `cert` and `key` (for commands: CRUXBOX_TLS_CERT and CRUXBOX_TLS_KEY)."
        )
    return grpc.ssl_channel_credentials(_pem(tls.ca, _CERTIFICATE), _pem(tls.key, _KEY), _pem(tls.cert, _CERTIFICATE))


def _pem(path: str | Path | None, kind: str) -> bytes | None:
    if path is None:
        return None
    data = read_bytes(path, _MAX_PEM_BYTES)
    # Text before "CERTIFICATE" or "PRIVATE KEY" says what kind it is (RSA, X509).
    if not re.search(rb"-----BEGIN [A-Z0-9 ]*%s-----" % kind.encode(), data):
        raise DataError(f"{path}: is not a PEM file with a {kind.lower()} (it has no -----BEGIN {kind}-----)")
    return data


def make_stub(channel: Any) -> Any:
    """The generated stub (which has no types) on a channel of `grpc` or `grpc.aio`."""
    from cruxbox_proto.v1 import sandbox_pb2_grpc

    return sandbox_pb2_grpc.SandboxStub(channel)  # type: ignore[no-untyped-call]


# gRPC's own words where nobody has said how the call ended: it could not write, as the call had ended, and mostly the
# connection broke; or a server that shuts down has let go of a call that it had not taken over. A server that refused
# the call will say so again.
_LOST = frozenset([("INTERNAL", "Internal error from Core"), ("CANCELLED", "CANCELLED")])


def failure_of(error: grpc.RpcError) -> Failure:
    """What a broken call says, in plain values."""
    call: Any = error
    wait_s = None
    for key, value in call.trailing_metadata() or ():
        if key == RETRY_INFO_KEY:
            wait_s = parse_retry_info(value)
    code, said = call.code().name, call.details() or ""
    # gRPC wraps the reason in the history of how it was found.
    details = said.rpartition("last error: UNKNOWN: ")[2].strip().rstrip(".")
    if (code, details) in _LOST:
        return Failure("UNAVAILABLE", "the call ended while it was sent", has_arrived=True)
    return Failure(code, details, wait_s, has_arrived(code, said))


def once_failure(error: grpc.RpcError) -> Failure | None:
    """Why a single RPC failed; None if only its answer was too large, for which a stream is the next try."""
    failure = failure_of(error)
    return None if failure.code == "OUT_OF_RANGE" else failure


def left(until: float | None) -> float | None:
    """Seconds for a call that may last until `until`, in monotonic seconds."""
    return None if until is None else max(0.001, until - time.monotonic())


def is_serving(channel: Any, timeout_s: float) -> bool:
    """Whether the server behind a sync `channel` calls itself healthy within `timeout_s` seconds."""
    import grpc

    check = channel.unary_unary(_HEALTH_METHOD)
    try:
        return bool(check(b"", timeout=timeout_s, wait_for_ready=True) == _SERVING)
    except grpc.RpcError:
        return False
