"""The files of TLS, as the daemon reads them at its start and looks at them with a handshake."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path
from typing import Any
from unittest import mock

import grpc
import pytest
from cruxboxd.rpc import certificates
from cruxboxd.rpc.certificates import Certificates
from cruxboxd.settings.config import Config, ConfigError, UnreadableFile
from cruxboxd.tenancy import identity
from support.certificates import Authority


def config(cert: Path, key: Path, ca: Path | None = None) -> Config:
    return Config(tls_cert=str(cert), tls_key=str(key), tls_client_ca=str(ca) if ca else "")


@pytest.mark.parametrize("is_mutual", [False, True])
def test_what_a_handshake_is_given(
    is_mutual: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    """Where clients have certificates it is given anew with each look, or they would resume what has expired."""
    authority = Authority(tmp_path / "ca")
    cert, key = authority.issue("server")
    made: Any = Certificates(config(cert, key, authority.ca if is_mutual else None))
    first = made._current
    kept = first if is_mutual else None
    assert made._fetch() is None, "it is not time"
    monkeypatch.setattr(identity, "_LOOK_S", 0)
    assert made._fetch() is kept
    good = key.read_bytes()
    for break_it in (lambda: key.write_text("not a key"), key.unlink):
        break_it()
        caplog.clear()
        assert [made._fetch() is kept for _ in range(3)] == [True] * 3
        assert [record.levelname for record in caplog.records] == ["ERROR"], "it is said once"
    key.write_bytes(good)
    with monkeypatch.context() as patch:  # which says nothing of the files
        patch.setattr(certificates, "read_file", mock.Mock(side_effect=OSError(errno.EMFILE, "Too many open files")))
        assert made._fetch() is kept
    second = made._fetch()
    assert second is made._current
    assert second not in (None, first)
    assert made._fetch() is (second if is_mutual else None)


@pytest.mark.parametrize("is_mutual", [False, True])
def test_clients_show_certificates_of_the_authorities_that_are_named(
    is_mutual: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    given: list[Any] = []
    monkeypatch.setattr(
        grpc, "ssl_server_certificate_configuration", lambda *pairs, **roots: given.append((*pairs, roots))
    )
    authority = Authority(tmp_path / "ca")
    cert, key = authority.issue("server")
    Certificates(config(cert, key, authority.ca if is_mutual else None))
    roots = authority.ca.read_bytes() if is_mutual else None
    assert given == [([(key.read_bytes(), cert.read_bytes())], {"root_certificates": roots})]


def test_files_that_are_wrong_are_named(tmp_path: Path):
    authority = Authority(tmp_path / "ca")
    (cert, key), (_, other) = authority.issue("server"), authority.issue("other")
    none = tmp_path / "none"
    with pytest.raises(UnreadableFile, match=rf"\({cert}, {none}\): No such file"):
        Certificates(config(cert, none))
    none.write_text("no certificate")
    with pytest.raises(ConfigError, match=rf"^--tls-cert {none} and --tls-key {key}: they are no PEM files"):
        Certificates(config(none, key))
    with pytest.raises(ConfigError, match=rf"^--tls-cert {cert} and --tls-key {other}: KEY_VALUES_MISMATCH"):
        Certificates(config(cert, other))
    locked = tmp_path / "locked.key"
    subprocess.run(["openssl", "ec", "-in", key, "-aes256", "-passout", "pass:x", "-out", locked], check=True)
    with pytest.raises(ConfigError, match=rf"--tls-key {locked}: .* without a password$"):
        Certificates(config(cert, locked))
    with pytest.raises(ConfigError, match=rf"^--tls-client-ca {none}: NO_CERTIFICATE"):
        Certificates(config(cert, key, none))


def test_what_grpc_does_not_take_is_told_by_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    authority, odd = Authority(tmp_path / "ca"), Authority(tmp_path / "odd", curve="secp256k1")
    cert, key = authority.issue("server")
    pair = cert.read_bytes(), key.read_bytes()
    refused = certificates._refused_by_grpc
    assert refused(*pair) is None
    assert refused(*pair, authority.ca.read_bytes()) is None
    assert refused(*[path.read_bytes() for path in odd.issue("server")], authority.ca.read_bytes()) == 0
    monkeypatch.setattr(certificates, "_TRY", "raise SystemExit")
    with pytest.raises(OSError, match="gRPC cannot try them"):
        refused(*pair)
    monkeypatch.setattr(certificates, "_TRY", "import time; time.sleep(60)")
    monkeypatch.setattr(certificates, "_TRY_S", 0.01)
    with pytest.raises(OSError, match="does not try them within"):
        refused(*pair)
    monkeypatch.setattr(certificates, "_TRY", "print(1, end='')")
    monkeypatch.setattr(certificates, "_TRY_S", 60)
    made: Any = Certificates(config(cert, key, authority.ca))
    with pytest.raises(ConfigError, match=f"^--tls-client-ca {authority.ca}: gRPC takes none"):
        made._read(is_tried=True)
    monkeypatch.setattr(certificates, "_TRY", "print(0, end='')")
    with pytest.raises(ConfigError, match=f"^--tls-cert {cert} and --tls-key {key}: gRPC takes none"):
        made._read(is_tried=True)
