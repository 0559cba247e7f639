"""Identifies the tenant of an RPC by its bearer token or client certificate.

Tokens are long and random, so one SHA-256 is a sufficient hash at rest. In memory they are looked up under a random
key of this process, so the duration of a look-up reveals nothing about existing tokens.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import logging
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

import grpc.aio

from cruxboxd.settings.config import Config, ConfigError, UnreadableFile
from cruxboxd.tenancy.tenants import EVERYBODY, Tenant, Tenants, is_tenant_name, read_tenants

if TYPE_CHECKING:
    Context = grpc.aio.ServicerContext[Any, Any]

log = logging.getLogger(__name__)

_LOOK_S = 1.0
_TOKEN_BYTES = 32
_MAX_TOKEN = 512


class Unidentified(Exception):
    """The caller is unknown. The message is one sentence for the caller and contains no secret."""


def make_token() -> tuple[str, str]:
    """A new random token, and its hash as the tokens file holds it."""
    token = f"crux_{secrets.token_urlsafe(_TOKEN_BYTES)}"
    return token, f"sha256:{hashlib.sha256(token.encode()).hexdigest()}"


@dataclass(frozen=True)
class Shown:
    """What a caller showed of itself. Taken when the RPC begins: gRPC's own record of it ends with the RPC."""

    authorization: str | None = None
    names: tuple[str, ...] = ()
    is_ambiguous: bool = False  # it showed other authorization headers, too


def shown_by(context: Context, metadata: Sequence[tuple[str, str | bytes]]) -> Shown:
    """The authorization header, and the names in the certificate that the client proved to own: the common name
    first, then alternative names."""
    tokens = [str(value) for key, value in metadata if key == "authorization"]
    found = context.auth_context()
    names = [*found.get("x509_common_name", ()), *found.get("x509_subject_alternative_name", ())]
    proven = tuple(name.decode("utf-8", "replace") for name in names)
    return Shown(tokens[0] if tokens else None, proven, len(set(tokens)) > 1)


_Stamps = list[Optional[tuple[int, int, int, int]]]


class WatchedFiles:
    """Files that may be replaced while the daemon runs. Checked at most once a second, and only on use."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._seen = self._stamps()
        self._refused: tuple[_Stamps, str] = [], ""  # what was said of which files
        self._is_gone = False
        self._looked_at = time.monotonic()

    def is_time(self) -> bool:
        """Is it time to look at them?"""
        return time.monotonic() - self._looked_at >= _LOOK_S

    def changed(self) -> bool:
        """True once after each change; a file that is being replaced counts when it is there again, and one that is
        gone at two looks as it is."""
        if not self.is_time():
            return False
        self._looked_at = time.monotonic()
        stamps = self._stamps()
        was_gone, self._is_gone = self._is_gone, None in stamps
        if was_gone and not self._is_gone:
            self._refused = [], ""  # that it is gone once more is news
        if stamps == self._seen or (self._is_gone and not was_gone):
            return False
        self._seen = stamps
        return True

    def refuse(self, error: ConfigError) -> bool:
        """What has changed cannot be taken over; is that news? What could not be read counts as changed at the next
        look, too: the daemon may have lacked a descriptor."""
        refused = self._seen, str(error)
        is_news, self._refused = refused != self._refused, refused
        if isinstance(error, UnreadableFile):
            self._seen = []
        return is_news

    def _stamps(self) -> _Stamps:
        return [_stamp(path) for path in self._paths]


def _stamp(path: Path) -> tuple[int, int, int, int] | None:
    """Of a file and who may read it: a mode that is set right is a change."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_size


class Identity:
    """Maps an RPC to its tenant. Raises ConfigError when the tokens file is wrong at the start; a file that is wrong
    later is reported in the log, and the last good one stays in force."""

    def __init__(self, config: Config) -> None:
        self._path = Path(config.tokens) if config.tokens else None
        self._by_certificate = bool(config.tls_client_ca)
        self._key = secrets.token_bytes(32)
        self._is_reading = False
        self._files = WatchedFiles([self._path] if self._path else [])
        self._take(read_tenants(self._path) if self._path else Tenants())

    @property
    def is_required(self) -> bool:
        """Must a caller say who it is?"""
        return self._path is not None or self._by_certificate

    def tenant_named(self, name: str) -> Tenant:
        """The share and quotas of a tenant by name, as they are now."""
        return self._tenants.by_name.get(name) or Tenant(name)

    def tenant_of(self, shown: Shown) -> Tenant:
        """The tenant of a caller, as things are now; raises Unidentified. Of headers that differ none counts: one may
        be a proxy's and another one that of the caller behind it."""
        if shown.is_ambiguous and self._path is not None:
            raise Unidentified("the metadata holds several authorization headers that differ; send one")
        return self.find(shown.authorization, shown.names) if self.is_required else EVERYBODY

    def find(self, authorization: str | None, names: Sequence[str]) -> Tenant:
        """The tenant of an `authorization` header, else of the names in a verified certificate. Raises Unidentified.

        A header counts alone: a wrong token is refused even beside a good certificate.
        """
        self._refresh()
        if authorization is not None and self._path is not None:
            return self._of_token(authorization)
        if self._by_certificate and names:
            return self._of_certificate(names)
        raise Unidentified("send a bearer token in the metadata: authorization: Bearer TOKEN")

    def _of_token(self, authorization: str) -> Tenant:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() == "bearer" and 0 < len(token) <= _MAX_TOKEN:
            digest = hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()
            tenant = self._by_key.get(self._keyed(digest))
            if tenant is not None:
                return tenant
        raise Unidentified("the bearer token is not one of this server's")

    def _of_certificate(self, names: Sequence[str]) -> Tenant:
        for name in names:
            tenant = self._tenants.by_certificate.get(name)
            if tenant is not None:
                return tenant
        # Without a tokens file whoever the authority vouches for is a tenant, by the first name of the certificate.
        if self._path is None and is_tenant_name(names[0]):
            return Tenant(names[0])
        raise Unidentified("the client certificate names no tenant of this server")

    def _refresh(self) -> None:
        """Reload the file if it changed, in a thread, so that reading does not block the event loop."""
        if self._path is None or self._is_reading or not self._files.changed():
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._read_anew(self._path)
            return
        self._is_reading = True
        loop.run_in_executor(None, self._read_anew, self._path)

    def _read_anew(self, path: Path) -> None:
        try:
            self._take(read_tenants(path))
            log.info("tokens read anew", extra={"tenants": len(self._tenants.by_name)})
        except ConfigError as error:
            if self._files.refuse(error):
                log.error("the tokens file is wrong; the last good one stays in force", extra={"reason": str(error)})
        finally:
            self._is_reading = False

    def _take(self, tenants: Tenants) -> None:
        by_key = {self._keyed(digest): tenant for digest, tenant in tenants.by_hash.items()}
        self._tenants, self._by_key = tenants, by_key

    def _keyed(self, digest: bytes) -> bytes:
        return hmac.digest(self._key, digest, "sha256")
