"""Tokens and certificates, against a daemon that asks for them."""

from __future__ import annotations

import asyncio
import hashlib
import shutil
import subprocess

import grpc
import pytest
from cruxbox import AsyncClient, CallCheck, Client, Task, Tls, Unauthenticated, Unavailable
from cruxbox.cli import main

TASK = Task("", [CallCheck("1", "1")])
pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")


def openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """A CA, a certificate for 127.0.0.1, one for a client, and a certificate nobody has signed."""
    folder = tmp_path_factory.mktemp("keys")
    new = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    for name in ("ca", "stranger"):
        openssl(folder, *new, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")
    for name, alternative in (("server", "IP:127.0.0.1"), ("client", "DNS:lab")):
        openssl(folder, *new, "-subj", f"/CN={name}", "-addext", f"subjectAltName={alternative}",
                "-CA", "ca.pem", "-CAkey", "ca.key", "-keyout", f"{name}.key", "-out", f"{name}.pem")  # fmt: skip
    return folder


@pytest.fixture
def secured(daemons, keys):
    """A function that starts a daemon with TLS."""

    def start(*arguments):
        pem = [(keys / name).read_bytes() for name in ("ca.pem", "client.key", "client.pem")]
        files = ["--tls-cert", str(keys / "server.pem"), "--tls-key", str(keys / "server.key")]
        return daemons(*files, *arguments, credentials=grpc.ssl_channel_credentials(*pem)).target

    return start


@pytest.fixture
def tokens(tmp_path):
    path = tmp_path / "tokens.toml"
    digest = hashlib.sha256(b"crux_secret").hexdigest()
    path.write_text(f'[tenants.lab]\ntokens = ["sha256:{digest}"]\n')
    return str(path)


def test_a_token_over_tls_opens_the_door(secured, keys, tokens, monkeypatch, capsys):
    target = secured("--tokens", tokens)
    tls = Tls(ca=keys / "ca.pem")
    with Client(target, tls=tls, token="crux_secret") as client:
        assert client.check([TASK])[0].passed
    assert asyncio.run(AsyncClient(target, tls=tls, token="crux_secret").check([TASK]))[0].passed
    for token in (None, "crux_wrong"):
        with Client(target, tls=tls, token=token) as client:
            with pytest.raises(Unauthenticated, match=target):
                client.check([TASK])
            with pytest.raises(Unauthenticated, match=target) as caught:
                client.info()
            assert "crux_wrong" not in str(caught.value)
    monkeypatch.setenv("CRUXBOX_TLS_CA", str(keys / "ca.pem"))
    assert main(["info", "--server", target]) == 2
    told = capsys.readouterr().err
    assert "does not know who is calling" in told
    assert "the command line reads the token from CRUXBOX_TOKEN, which is not set" in told
    monkeypatch.setenv("CRUXBOX_TOKEN", "crux_secret")
    assert main(["info", "--server", target]) == 0


def test_a_server_that_cannot_prove_itself_is_not_spoken_to(secured, keys):
    target = secured()
    for tls in (Tls(), Tls(ca=keys / "stranger.pem"), Tls(ca=keys / "ca.pem", server_name="elsewhere")):
        with Client(target, tls=tls, retries=1) as client, pytest.raises(Unavailable, match=target):
            client.check([TASK])


def test_both_sides_prove_themselves(secured, keys):
    target = secured("--tls-client-ca", str(keys / "ca.pem"))
    mutual = Tls(ca=keys / "ca.pem", cert=keys / "client.pem", key=keys / "client.key")
    with Client(target, tls=mutual) as client:
        assert client.check([TASK])[0].passed
    with Client(target, tls=Tls(ca=keys / "ca.pem"), retries=1) as client, pytest.raises(Unavailable):
        client.check([TASK])
