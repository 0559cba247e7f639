"""The certificates that the daemon shows and asks for: checked, tried with gRPC, and read anew when they change."""

from __future__ import annotations

import json
import logging
import secrets
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc

from cruxboxd.settings.config import Config, ConfigError, UnreadableFile
from cruxboxd.settings.files import read_file
from cruxboxd.tenancy.identity import WatchedFiles

log = logging.getLogger(__name__)


class Certificates:
    """The certificate files: checked at start-up, checked again at each handshake, and reloaded when they change.

    An incomplete change (a key that does not match yet) is logged, and the last valid files stay in force.

    A client may resume a session of TLS, for which its certificate is not looked at again: one that has expired would
    be good for days. So where clients have certificates what they could resume ends with each look at the files.
    """

    def __init__(self, config: Config) -> None:
        self._cert, self._key = Path(config.tls_cert), Path(config.tls_key)
        self._client_ca = Path(config.tls_client_ca) if config.tls_client_ca else None
        self._files = WatchedFiles([path for path in (self._cert, self._key, self._client_ca) if path])
        self._current = self._read()

    def credentials(self) -> grpc.ServerCredentials:
        """Credentials that follow the files."""
        fetch: Any = self._fetch  # may return None, which the stubs do not know
        return grpc.dynamic_ssl_server_credentials(
            self._current, fetch, require_client_authentication=self._client_ca is not None
        )

    def _fetch(self) -> grpc.ServerCertificateConfiguration | None:
        """Called by gRPC with each handshake; None keeps what it has."""
        if not self._files.is_time():
            return None
        kept = None if self._client_ca is None else self._current  # anew it remembers no session
        if not self._files.changed():
            return kept
        try:
            self._current = self._read(is_tried=True)
        except ConfigError as error:
            if self._files.refuse(error):
                log.error("the certificates are wrong; the last good ones stay in force", extra={"reason": str(error)})
            return kept
        log.info("certificates read anew")
        return self._current

    def _read(self, *, is_tried: bool = False) -> grpc.ServerCertificateConfiguration:
        paths = [path for path in (self._cert, self._key, self._client_ca) if path is not None]
        try:
            cert, key, *rest = [read_file(path) for path in paths]
            self._check()
            refused = _refused_by_grpc(cert, key, *rest) if is_tried else None
        except OSError as error:
            names = ", ".join(map(str, paths))
            raise UnreadableFile(f"cannot read the certificates ({names}): {error.strerror}") from None
        if refused is not None:
            found = f"--tls-client-ca {self._client_ca}" if refused else self._pair
            raise ConfigError(f"{found}: gRPC takes none of this kind")
        return grpc.ssl_server_certificate_configuration([(key, cert)], root_certificates=rest[0] if rest else None)

    @property
    def _pair(self) -> str:
        return f"--tls-cert {self._cert} and --tls-key {self._key}"

    def _check(self) -> None:
        """Raises ConfigError for files of the wrong content."""
        found = self._pair
        otherwise = "they are no PEM files of a certificate and its key, without a password"
        check = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            check.load_cert_chain(self._cert, self._key, password="")  # asks nobody: a key under a password is an error
            if self._client_ca is not None:
                found, otherwise = f"--tls-client-ca {self._client_ca}", "it is no PEM file of certificates"
                check.load_verify_locations(self._client_ca)
        except ssl.SSLError as error:
            raise ConfigError(f"{found}: {error.reason or otherwise}") from None


# A server of gRPC's without a service. It would end the daemon where it gets no descriptor, so it is a process of its
# own. It says how many of the two steps, with the pair alone and with the authorities, it came through; nothing if it
# cannot listen.
_TRY = """
import json, os, sys
sys.path[:] = sys.argv[2:]
from concurrent.futures import ThreadPoolExecutor
import grpc
cert, key, *rest = [part.encode("latin-1") for part in json.load(sys.stdin)]
server = grpc.server(ThreadPoolExecutor(1))
name, steps = "unix-abstract:" + sys.argv[1], [grpc.ssl_server_credentials([(key, cert)])]
steps += [grpc.ssl_server_credentials([(key, cert)], ca, True) for ca in rest]
came = 0
if server.add_insecure_port(name):
    try:
        while came < len(steps) and server.add_secure_port(name + str(came), steps[came]):
            came += 1
    except RuntimeError:
        pass
    os.write(1, b"%d" % came)
os._exit(0)
"""
_TRY_S = 20


def _refused_by_grpc(*files: bytes) -> int | None:
    """What gRPC does not take of a certificate, its key and the authorities: 0 the first two, 1 the last; None if it
    takes all. It would tell nobody, and go on with those that it has. Raises OSError where that cannot be found out."""
    command = [sys.executable, "-I", "-c", _TRY, secrets.token_hex(16), *sys.path]
    told = json.dumps([file.decode("latin-1") for file in files]).encode()
    try:
        ended = subprocess.run(
            command, input=told, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=_TRY_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise OSError(0, f"gRPC does not try them within {_TRY_S} s") from None
    if not ended.stdout.isdigit():
        raise OSError(0, "gRPC cannot try them")
    came = int(ended.stdout)
    return None if came == len(files) - 1 else came
