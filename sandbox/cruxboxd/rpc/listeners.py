"""Where the server listens: unix sockets that are claimed, and addresses."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import ipaddress
import logging
import os
import socket
from collections.abc import Callable
from functools import partial
from pathlib import Path

import grpc
import grpc.aio

from cruxboxd.rpc.certificates import Certificates
from cruxboxd.settings.config import Config, ConfigError

log = logging.getLogger(__name__)

_LARGEST_PORT = 65_535
_LONGEST_PATH = 107  # bytes of a unix socket's path: what the kernel has room for


class Claim:
    """A unix socket's path is this process's, by a lock beside it: gRPC would take away the socket that is there, and
    at its end whatever is there. Raises ConfigError where another process listens."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + ".lock")
        self._lock = _locked(self._path)
        if self._lock < 0 or _answers(path):
            self.release()
            raise _taken(path)

    def release(self) -> None:
        """Nothing listens there any more."""
        if self._lock >= 0:
            with contextlib.suppress(OSError):
                self._path.unlink()
            os.close(self._lock)
            self._lock = -1


def _locked(path: Path) -> int:
    """The lock, made if it is not there; -1 if another process has it. Who had it before may just take it away."""
    while True:
        try:
            lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ConfigError(f"cannot listen: {path} cannot be made: {error.strerror}") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(lock), os.lstat(path)):
                return lock
        except FileNotFoundError:
            pass
        except OSError:
            os.close(lock)
            return -1
        os.close(lock)


def _answers(path: Path) -> bool:
    """Is the socket somebody's, also one that knows of no lock? A full queue of connections is a listener's, and one of
    another type is not ours to take away."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(os.fspath(path))
        except OSError as error:
            return error.errno not in _NOBODYS
        return True


def _taken(path: Path) -> ConfigError:
    return ConfigError(f"cannot listen on unix:{path}: another process does")


_NOBODYS = (errno.ECONNREFUSED, errno.ENOENT)


def listen(server: grpc.aio.Server, config: Config) -> list[Claim]:
    """Bind every address of the config. Raises ConfigError for one that cannot or must not be listened on. What is
    claimed is released when the server has stopped."""
    check_addresses(config)
    claims: list[Claim] = []
    try:
        _bind_all(server, config, claims)
    except BaseException:
        for claim in claims:
            claim.release()
        raise
    return claims


def _bind_all(server: grpc.aio.Server, config: Config, claims: list[Claim]) -> None:
    for address in config.listen:
        if _may_be_claimed(address):
            claims.append(Claim(_path_of(address)))
        is_tls = bool(config.tls_cert) and not is_unix(address)
        if is_tls:
            # Each address watches the files by itself: what one was told of a change, another would not hear.
            credentials = Certificates(config).credentials()
            port = _bind(address, partial(server.add_secure_port, server_credentials=credentials), _OR_TLS)
        else:
            port = _bind(address, server.add_insecure_port)
        if is_unix(address):
            _path_of(address).chmod(0o600)
        log.info("listening", extra={"address": address, "port": port, "tls": is_tls})


def check_addresses(config: Config) -> None:
    """Refuse an address that must not be listened on; whether it can be shows when it is. Raises ConfigError."""
    for address in config.listen:
        _refuse_abstract(address)
        _refuse_wrong_port(address)
        _refuse_other_path(address)
        if not config.tls_cert:
            _refuse_open_plain_text(address, config)


def refuse_taken(config: Config) -> None:
    """Refuse a unix socket at which somebody listens, before all that a daemon does until it listens: that takes a
    second and more. Whose it is shows for certain when it is claimed. Raises ConfigError."""
    for address in config.listen:
        if _may_be_claimed(address) and _answers(_path_of(address)):
            raise _taken(_path_of(address))


def _refuse_abstract(address: str) -> None:
    if address.startswith("unix-abstract:"):
        raise ConfigError(
            f"--listen {address[:80]}: an abstract socket has no owner and no mode, so everybody on this host could "
            "connect; give unix:PATH"
        )


def _refuse_wrong_port(address: str) -> None:
    """gRPC would listen on another port: the number modulo 65,536."""
    if is_unix(address):
        return
    _, colon, port = address.rpartition(":")
    if not (colon and port):
        raise ConfigError(f"--listen {address[:80]}: must be HOST:PORT or unix:PATH")
    port = port[:80]
    if port.removeprefix("-").isdecimal() and not 0 <= int(port) <= _LARGEST_PORT:
        raise ConfigError(f"--listen {address[:80]}: a port is from 0 to {_LARGEST_PORT}")


def _refuse_other_path(address: str) -> None:
    """gRPC reads an address as a URI: it would listen at another path than was said, or clients would look for one."""
    if is_unix(address) and not _READ_OTHERWISE.isdisjoint(address):
        raise ConfigError(f"--listen {address[:80]}: the path of a unix socket must hold none of % ? # ,")


_READ_OTHERWISE = frozenset("%?#,")
_OR_TLS = ", or gRPC takes no certificate or key of this kind"


def _bind(address: str, bind: Callable[[str], int], otherwise: str = "") -> int:
    try:
        port = bind(address)
    except RuntimeError:
        port = 0
    if not port:
        raise ConfigError(f"cannot listen on {address}: {_cause(address) or _UNKNOWN + otherwise}")
    return port


_UNKNOWN = "in use or not permitted"


def _cause(address: str) -> str:
    """Why an address cannot be bound, found by binding a plain socket: gRPC does not return the reason. "" if that can
    be bound."""
    if is_unix(address):
        path = _path_of(address)
        if len(os.fsencode(path)) > _LONGEST_PATH:
            return f"the path of a unix socket has {_LONGEST_PATH} bytes at most, this one {len(os.fsencode(path))}"
        return "" if path.parent.is_dir() else f"{path.parent} is not a folder"
    bare = address.removeprefix("ipv4:").removeprefix("ipv6:")
    host, _, port = bare.rpartition(":")
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.bind(place)
    except (socket.gaierror, UnicodeError):
        return _NO_ADDRESS
    except OSError as error:
        return error.strerror or str(error)
    return "" if bare == address else _NO_ADDRESS  # which gRPC's servers no longer take


_NO_ADDRESS = "it must be HOST:PORT or unix:PATH"


def _refuse_open_plain_text(address: str, config: Config) -> None:
    if not (is_unix(address) or is_loopback(address) or config.insecure_listen):
        raise ConfigError(
            f"--listen {address} can be reached from other hosts and would speak plain text; give --tls-cert and "
            "--tls-key, or --insecure-listen where the network itself is trusted"
        )


def _may_be_claimed(address: str) -> bool:
    """Is it a unix socket that binding does not refuse with a sentence of its own, as it does where the path is too
    long, or its folder is missing or may not be looked into?"""
    if not is_unix(address):
        return False
    path = _path_of(address)
    return len(os.fsencode(path)) <= _LONGEST_PATH and os.path.isdir(path.parent)


def is_unix(address: str) -> bool:
    return address.startswith("unix:")


def _path_of(address: str) -> Path:
    return Path(address[len("unix:") :].removeprefix("//"))


def is_loopback(address: str) -> bool:
    """Is HOST:PORT an address of this host's own loopback?"""
    host = address.rpartition(":")[0].removeprefix("ipv4:").removeprefix("ipv6:").strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
