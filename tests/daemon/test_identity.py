"""Who gets in: tokens, certificates, plain text, and what happens when their files change under a running daemon."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import ssl
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import pytest
from cruxbox import Client, Outcome, Tls
from cruxbox.errors import Unauthenticated, Unavailable
from cruxboxd.rpc.strangers import LOGGED
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from support.certificates import Authority, serial
from support.daemons import Served
from support.tasks import sums
from support.tokens import hashed, tokens_file
from support.waiting import until


def test_the_token_command_prints_a_token_and_its_hash():
    out = subprocess.run([sys.executable, "-m", "cruxboxd", "token"], capture_output=True, text=True, check=True)
    token, line = out.stdout.split()
    assert hashed(token) == line


def test_a_reader_who_has_seen_enough_ends_a_command_without_a_word():
    """As `cruxboxd preflight | head -1` does."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "cruxboxd", "token"]
    ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, "")


@pytest.mark.parametrize("word", ["token", "--version"])
def test_standard_output_that_is_closed_or_full_is_no_traceback(word, monkeypatch):
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    command = f"exec {sys.executable} -m cruxboxd {word}"
    ended = subprocess.run(f"{command} >&-", shell=True, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, "Traceback" in ended.stderr) == (0, False)
    ended = subprocess.run(f"{command} >/dev/full", shell=True, stderr=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
    assert "cruxboxd: standard output cannot be written: No space left on device" in ended.stderr


# ---- the daemon --------------------------------------------------------------------------------------------------


def cruxboxd(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cruxboxd", "serve", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "some-host:50051"])
def test_plain_text_to_other_hosts_needs_a_word(address):
    ended = cruxboxd("--listen", address)
    assert ended.returncode == 2
    assert "--insecure-listen" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_tls_that_is_not_whole_is_refused(tmp_path):
    authority = Authority(tmp_path)
    cert, _ = authority.issue("server")
    _, other = authority.issue("other")
    cases = (
        (["--tls-cert", str(cert)], "belong together"),
        (["--tls-client-ca", str(cert)], "--tls-client-ca needs"),
        (["--tls-cert", str(cert), "--tls-key", str(other)], "KEY_VALUES_MISMATCH"),
        (["--tls-cert", __file__, "--tls-key", __file__], "they are no PEM files"),
        (["--tls-cert", str(cert), "--tls-key", str(tmp_path / "none")], "No such file"),
        (["--tokens", str(tmp_path / "none")], "No such file"),
    )
    with ThreadPoolExecutor(len(cases)) as pool:
        all_ended = list(pool.map(lambda case: cruxboxd("--listen", "127.0.0.1:0", *case[0]), cases))
    for ended, (_, named) in zip(all_ended, cases):
        assert (ended.returncode, "Traceback" in ended.stderr) == (2, False), ended.stderr
        assert named in ended.stderr


def test_without_a_token_only_health_answers(tmp_path):
    with Served(tmp_path, "--tokens", str(tokens_file(tmp_path / "tokens", alice="a-secret"))) as daemon:
        assert daemon.healthy()
        for token in (None, "wrong", "A-SECRET"):
            with daemon.client(token=token, retries=0) as client:
                with pytest.raises(Unauthenticated):
                    client.check(sums(1))
                with pytest.raises(Unauthenticated):
                    client.info()
        with grpc.insecure_channel(daemon.target) as channel:
            stub = reflection_pb2_grpc.ServerReflectionStub(channel)
            with pytest.raises(grpc.RpcError) as caught:
                list(stub.ServerReflectionInfo(iter([reflection_pb2.ServerReflectionRequest(list_services="")])))
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        with daemon.client(token="a-secret") as client:
            assert [verdict.outcome for verdict in client.check(sums(2))] == [Outcome.PASSED] * 2
        assert daemon.metric("cruxbox_verdicts_total", tenant="alice", outcome="PASSED") == 2
        assert daemon.metric("cruxbox_refused_total", reason="unidentified") > 0
        assert "secret" not in daemon.log.lower()
        assert "wrong" not in daemon.log


def test_of_strangers_few_calls_are_logged(tmp_path):
    """They call as often as they like, and the log is on somebody's disk. None is left out of what it says."""
    with Served(tmp_path, "--tokens", str(tokens_file(tmp_path / "tokens", alice="a"))) as daemon:

        def lines() -> list[dict[str, Any]]:
            return [line for line in map(json.loads, daemon.log.splitlines()) if line.get("code") == "UNAUTHENTICATED"]

        channels = [grpc.insecure_channel(daemon.target, options=[("a_pool_of_its_own", n)]) for n in range(10)]
        called = 0
        for channel in channels:  # of one, so many in a second would be too many
            with channel:
                method = channel.unary_unary("/cruxbox.v1.Sandbox/Check")  # type: ignore[call-arg]
                calls = [method.future(b"", metadata=[("x-request-id", "mine")], timeout=20) for _ in range(30)]
                assert {call.code() for call in calls} == {grpc.StatusCode.UNAUTHENTICATED}
                assert dict(calls[0].trailing_metadata())["x-request-id"] == "mine"
                called += len(calls)
        assert LOGGED <= len(lines()) < called / 3
        time.sleep(1)
        with grpc.insecure_channel(daemon.target) as channel, contextlib.suppress(grpc.RpcError):
            channel.unary_unary("/cruxbox.v1.Sandbox/Check")(b"", timeout=20)  # type: ignore[call-arg]
        until(lambda: len(lines()) + sum(line.get("beside", 0) for line in lines()) == called + 1)


def test_of_two_tokens_that_differ_none_counts(tmp_path):
    """The one that a proxy has put there must not count for the caller behind it, nor the other way round."""
    with (
        Served(tmp_path, "--tokens", str(tokens_file(tmp_path / "tokens", alice="a", bob="b"))) as daemon,
        grpc.insecure_channel(daemon.target) as channel,
    ):
        info = channel.unary_unary("/cruxbox.v1.Sandbox/GetServerInfo")
        info(b"", metadata=[("authorization", "Bearer a")] * 2, timeout=20)  # type: ignore[call-arg]
        for tokens in ("ab", "ba", "ax", "xa"):
            metadata = [("authorization", f"Bearer {token}") for token in tokens]
            with pytest.raises(grpc.RpcError) as caught:
                info(b"", metadata=metadata, timeout=20)  # type: ignore[call-arg]
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
            assert caught.value.details() == "the metadata holds several authorization headers that differ; send one"


def test_tokens_change_while_it_runs(tmp_path):
    path = tokens_file(tmp_path / "tokens", alice="one")
    with Served(tmp_path, "--tokens", str(path)) as daemon:

        def works(token: str) -> bool:
            try:
                with daemon.client(token=token, retries=0) as client:
                    client.info()
            except Unauthenticated:
                return False
            return True

        assert works("one")
        path.write_text("[tenants.alice]\ntokens = 5")
        until(lambda: not works("two") and "the last good one stays in force" in daemon.log)
        assert works("one")
        tokens_file(path, alice="two")
        until(lambda: works("two") and not works("one"))
        # A stream that is open when its token is withdrawn takes no more work.
        with daemon.client(token="two", retries=0) as client:
            answers = client.stream(endless(), ordered=False)
            assert next(answers).outcome is Outcome.PASSED
            tokens_file(path, alice="three")
            with pytest.raises(Unauthenticated):
                for _ in answers:
                    pass


def endless():
    number = 0
    while True:
        yield from sums(100, salt=1000 * number)
        number += 1


def test_a_certificate_names_the_tenant_and_may_be_replaced(tmp_path):
    authority = Authority(tmp_path / "ca")
    cert, key = authority.issue("server")
    alice, alice_key = authority.issue("alice", "DNS:alice.lab.example")
    mutual = ["--tls-cert", str(cert), "--tls-key", str(key), "--tls-client-ca", str(authority.ca)]
    mine = Tls(authority.ca, alice, alice_key)
    with Served(tmp_path, *mutual, tls=mine) as daemon:
        with daemon.client() as client:
            assert client.check(sums(1))[0].outcome is Outcome.PASSED
        assert daemon.metric("cruxbox_verdicts_total", tenant="alice") == 1
        for tls in (Tls(authority.ca), None):
            with Client(daemon.target, tls=tls, retries=0) as client, pytest.raises(Unavailable):
                client.check(sums(1))
        before = serial(daemon.port)
        key.write_text("not a key")
        until(lambda: serial(daemon.port) == before and "the last good ones stay in force" in daemon.log)
        authority.issue("server")
        until(lambda: serial(daemon.port) != before)
        with daemon.client() as client:
            assert client.check(sums(1))[0].outcome is Outcome.PASSED


def test_a_session_that_is_resumed_is_no_way_around_a_certificate(tmp_path):
    """TLS looks at no certificate where a client resumes a session: one that has expired would stay good."""
    authority = Authority(tmp_path / "ca")
    cert, key = authority.issue("server")
    mine = authority.issue("alice", "DNS:alice")
    mutual = ["--tls-cert", str(cert), "--tls-key", str(key), "--tls-client-ca", str(authority.ca)]
    ours = ssl.create_default_context(cafile=str(authority.ca))
    ours.load_cert_chain(*mine)
    ours.set_alpn_protocols(["h2"])
    ours.maximum_version = ssl.TLSVersion.TLSv1_2  # of 1.3 the session comes later
    with Served(tmp_path, *mutual, tls=Tls(authority.ca, *mine)) as daemon:

        def connect(session: ssl.SSLSession | None) -> ssl.SSLSocket:
            plain = socket.create_connection(("127.0.0.1", daemon.port))
            return ours.wrap_socket(plain, server_hostname="localhost", session=session)

        with connect(None) as first:
            session = first.session
        time.sleep(1.5)
        with connect(session) as later:
            assert not later.session_reused
            assert later.version() == "TLSv1.2"
        with daemon.client() as client:
            assert client.check(sums(1))[0].outcome is Outcome.PASSED


def test_files_of_tls_are_refused_by_their_own_names(tmp_path):
    authority = Authority(tmp_path / "ca")
    cert, key = authority.issue("server")
    (tmp_path / "none").write_text("no certificate")
    ended = cruxboxd(
        "--listen=127.0.0.1:0", f"--tls-cert={cert}", f"--tls-key={key}", f"--tls-client-ca={tmp_path}/none"
    )
    assert f"cruxboxd: --tls-client-ca {tmp_path}/none: NO_CERTIFICATE_OR_CRL_FOUND" in ended.stderr
    assert "--tls-cert" not in ended.stderr


def test_a_certificate_that_grpc_does_not_take_is_not_said_to_be_an_address_in_use(tmp_path):
    authority = Authority(tmp_path / "ca", curve="secp256k1")
    cert, key = authority.issue("server")
    ended = cruxboxd("--listen=127.0.0.1:0", f"--tls-cert={cert}", f"--tls-key={key}")
    assert "or gRPC takes no certificate or key of this kind" in ended.stderr


def test_a_certificate_that_grpc_does_not_take_is_not_said_to_have_been_read(tmp_path):
    """An authority that was withdrawn with it would stay good, and the log say that it is not."""
    authority, withdrawn = Authority(tmp_path / "ca"), Authority(tmp_path / "other")
    cert, key = authority.issue("server")
    trusted = tmp_path / "trusted.crt"
    trusted.write_bytes(authority.ca.read_bytes() + withdrawn.ca.read_bytes())
    good = cert.read_bytes(), key.read_bytes()
    odd = [path.read_bytes() for path in Authority(tmp_path / "odd", curve="secp256k1").issue("server")]
    mutual = ["--tls-cert", str(cert), "--tls-key", str(key), "--tls-client-ca", str(trusted)]
    mine, theirs = (Tls(authority.ca, *one.issue("a", "DNS:a")) for one in (authority, withdrawn))

    def enters(tls: Tls) -> bool:
        with Client(daemon.target, tls=tls, retries=0) as client, contextlib.suppress(Unavailable):
            client.info()
            return True
        return False

    with Served(tmp_path, *mutual, tls=mine) as daemon:
        assert enters(mine)
        assert enters(theirs)
        cert.write_bytes(odd[0])
        key.write_bytes(odd[1])
        trusted.write_bytes(authority.ca.read_bytes())
        until(lambda: enters(mine) and f"--tls-key {key}: gRPC takes none of this kind" in daemon.log)
        assert "certificates read anew" not in daemon.log
        cert.write_bytes(good[0])
        key.write_bytes(good[1])
        until(lambda: not enters(theirs))
        until(lambda: "certificates read anew" in daemon.log)
        assert enters(mine)


def test_a_tenant_of_the_file_may_come_by_certificate(tmp_path):
    authority = Authority(tmp_path / "ca")
    cert, key = authority.issue("server")
    tokens = tokens_file(tmp_path / "tokens", bob="b")
    tls = ["--tls-cert", str(cert), "--tls-key", str(key), "--tls-client-ca", str(authority.ca)]
    with Served(tmp_path, *tls, "--tokens", str(tokens)) as daemon:
        for name, token, allowed in (
            ("bob", None, True),
            ("eve", None, False),
            ("eve", "b", True),
            ("bob", "x", False),
        ):
            mine = Tls(authority.ca, *authority.issue(name, f"DNS:{name}"))
            with Client(daemon.target, tls=mine, token=token, retries=0) as client:
                try:
                    client.info()
                    seen = True
                except Unauthenticated:
                    seen = False
            assert seen is allowed, (name, token)
