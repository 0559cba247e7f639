"""Targets, tokens, settings."""

from __future__ import annotations

import asyncio
import pickle
import socket
import subprocess
import sys
from types import SimpleNamespace

import cruxbox
import grpc
import pytest
from cruxbox import AsyncClient, Client, CruxboxError, DataError, InvalidRequest, Tls
from cruxbox.channel import Address, is_local, open_channel


@pytest.mark.parametrize("target", ["unix:/a/b", "localhost:1", "127.0.0.1:5", "dns:///localhost:1", "[::1]:7",
                                    "ipv4:127.0.0.1:1,127.0.0.2:2", "ipv6:[::1]:5"])  # fmt: skip
def test_what_stays_on_this_machine(target):
    assert is_local(target)


@pytest.mark.parametrize("target", ["example.org:1", "dns:///sandbox.lab:50051", "10.0.0.1:5",
                                    "ipv4:127.0.0.1:1,10.0.0.2:2", "dns://8.8.8.8/host:1"])  # fmt: skip
def test_what_does_not(target):
    assert not is_local(target)


def test_a_server_that_is_slow_to_greet_is_waited_for():
    with socket.create_server(("127.0.0.1", 0)) as server:  # the kernel accepts, and nobody says a word
        address = Address(f"127.0.0.1:{server.getsockname()[1]}")
        channel = open_channel(address, grpc.insecure_channel, grpc.secure_channel)
        with channel, pytest.raises(grpc.RpcError) as error:
            channel.unary_unary("/a/b")(b"", timeout=0.8)
    assert error.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED


def test_a_token_does_not_travel_in_clear_text():
    with pytest.raises(InvalidRequest, match=r"unencrypted to example\.org:1"):
        assert Address("example.org:1", token="t").metadata
    for address in (
        Address("example.org:1", token="t", tls=Tls()),
        Address("unix:/s", token="t"),
        Address("example.org:1", token="t", allow_plaintext_token=True),
    ):
        assert address.metadata == [("authorization", "Bearer t")]
    assert Address("example.org:1").metadata == []


def test_several_streams_where_there_may_be_several_servers():
    targets = ("unix:/s", "host:1", "dns:///host:1", "ipv4:1.2.3.4:5,1.2.3.5:5")
    assert [Address(target).streams for target in targets] == [1, 1, 4, 4]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"deadline": 0}, "deadline must be a number of seconds above 0, at most 1e9, or None, not 0"),
        ({"retries": -1}, "retries must be a whole number of at least 0, not -1"),
        ({"window": 0}, "window must be a whole number of at least 1, not 0"),
        ({"workers": 0}, "workers must be a whole number from 1 to 1000000, or None, not 0"),
        ({"target": " "}, "target must be host:port, dns:///name:port, "),
        ({"target": "foo"}, r"xds:///name, not 'foo'"),
        ({"target": "127.0.0.1"}, "target must be host:port"),
        ({"target": "[::1"}, "target must be host:port"),
        ({"target": "dns:///host"}, "target must be host:port"),
        ({"target": "xds:///"}, "target must be host:port"),
        ({"target": 3}, "target must be host:port"),
        ({"target": "unix:"}, "target must be host:port"),
        *(({"target": f"unix:/a{each}b"}, r"unix:/path \(without % \? # ,\)") for each in ("%41", "?", "#", ",")),
        ({"target": "a:1,b:65536"}, "the port 65536; a port is at most 65535"),
        ({"token": 3}, "token must be visible"),
        ({"target": "a:1", "workers": 2}, "for the embedded server"),
    ],
)
def test_settings_that_cannot_be(arguments, sentence):
    with pytest.raises(InvalidRequest, match=sentence):
        Client(**arguments)


@pytest.mark.parametrize("tls", [Tls(ca="/nope.pem"), Tls(cert="/nope.pem")])
def test_certificates_that_are_not_there(tls):
    with Client("127.0.0.1:1", tls=tls) as client, pytest.raises(CruxboxError, match=r"/nope\.pem|both"):
        client.info()


@pytest.mark.parametrize(
    ("name", "holds", "lacks"),
    [
        ("ca", "PRIVATE KEY", "certificate"),
        ("cert", "RSA PRIVATE KEY", "certificate"),
        ("key", "CERTIFICATE", "private key"),
    ],
)
def test_a_certificate_or_key_is_none(tmp_path, name, holds, lacks):
    (tmp_path / "x.pem").write_text(f"-----BEGIN {holds}-----\nAAAA\n-----END {holds}-----\n")
    (tmp_path / "cert").write_text("-----BEGIN X509 CERTIFICATE-----\nAAAA\n-----END X509 CERTIFICATE-----\n")
    (tmp_path / "key").write_text("-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n")
    tls = Tls(**{"cert": tmp_path / "cert", "key": tmp_path / "key", name: tmp_path / "x.pem"})
    with Client("127.0.0.1:1", tls=tls) as client, pytest.raises(DataError, match=rf"x\.pem: .* with a {lacks} \("):
        client.info()


def test_a_client_travels_as_what_it_was_told():
    client = pickle.loads(pickle.dumps(Client("127.0.0.1:1", retries=3, token="t")))
    assert client._settings.retries == 3
    assert client._settings.target == "127.0.0.1:1"


def test_importing_it_brings_neither_grpc_nor_asyncio():
    """The library is imported by programs that may never use it."""
    script = (
        "import cruxbox, sys; print([m for m in ('grpc', 'asyncio', 'google.protobuf', 'typer') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", script], text=True).strip() == "[]"


def test_every_public_name_is_there():
    for name in cruxbox.__all__:
        assert getattr(cruxbox, name) is not None
    assert set(cruxbox.__all__) <= set(dir(cruxbox))
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        cruxbox.nope


def test_what_a_pem_file_holds_is_no_path():
    for name in ("ca", "cert", "key"):
        with pytest.raises(InvalidRequest, match=rf"Tls: {name} must be the path of a PEM file, not bytes\."):
            Tls(**{name: b"-----BEGIN CERTIFICATE-----"})


class Asked(Exception):
    """A server was asked, and had so many seconds for its answer."""


@pytest.mark.parametrize(("deadline", "left"), [(None, 10), (40.0, 10), (45.0, 15)])
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_server_that_is_started_has_its_time_to_answer(monkeypatch, kind, deadline, left):
    clock = SimpleNamespace(now=100.0, monotonic=lambda: clock.now)
    for module in ("client", "aio", "channel", "endpoint"):
        monkeypatch.setattr(f"cruxbox.{module}.time", clock)

    def ask(_request, *, metadata, timeout):
        raise Asked(timeout)

    def connect(_client):
        clock.now += 30  # to start an embedded server on a busy machine
        return SimpleNamespace(GetServerInfo=ask), []

    async def connect_soon(client):
        return connect(client)

    monkeypatch.setattr(kind, "_connect", connect if kind is Client else connect_soon)
    client = kind(deadline=deadline)
    with pytest.raises(Asked) as asked:
        client.info() if kind is Client else asyncio.run(client.info())
    assert asked.value.args == (left,)
