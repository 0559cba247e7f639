"""Who gets in: tokens, certificates, plain text, and what happens when their files change under a running daemon."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from pathlib import Path

import grpc
import pytest
from cruxbox import Client, Outcome, Tls
from cruxbox.errors import Unauthenticated, Unavailable
from cruxboxd.settings.config import Config, ConfigError
from cruxboxd.tenancy.identity import Identity, Shown, Unidentified, WatchedFiles, make_token
from cruxboxd.tenancy.tenants import EVERYBODY, Tenant, read_tenants
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from support.certificates import Authority
from support.daemons import Served
from support.tasks import sums
from support.waiting import until


def hashed(token: str) -> str:
    return f"sha256:{hashlib.sha256(token.encode()).hexdigest()}"


def tokens_file(path: Path, **tokens: str) -> Path:
    """A tokens file with one token for each tenant; replaced at once, as Kubernetes does it."""
    text = "".join(f'[tenants.{name}]\ntokens = ["{hashed(token)}"]\n' for name, token in tokens.items())
    new = path.with_suffix(".new")
    new.write_text(text)
    os.replace(new, path)
    return path


# ---- the file ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "[tenants.NAME]"),
        ("[other]\na = 1", "[tenants.NAME]"),
        ('[tenants."a b"]', "letters, digits"),
        ("[tenants.a]\ntoken = []", "tenants.a.token is not a setting"),
        ("[tenants.a]\nweight = 0", "tenants.a.weight is 0"),
        ("[tenants.a]\nconcurrent_checks = 1.5", "tenants.a.concurrent_checks is 1.5"),
        ('[tenants.a]\ntokens = ["secret"]', "tenants.a.tokens holds an entry"),
        ('[tenants.a]\ntokens = "x"', "tenants.a.tokens must be a list"),
        (f'[tenants.a]\ntokens = ["{hashed("t")}"]\n[tenants.b]\ntokens = ["{hashed("t")}"]', "belongs to tenant a"),
        ("[tenants.a", "tokens"),
        ("tenants = 5", "[tenants.NAME]"),
        ("[tenants.a]\n[other]", "[tenants.NAME]"),
        ("tenants.a = 5", "tenants.a is not a table"),
        ("[tenants.a]\nweight = true", "tenants.a.weight is True"),
        ("[tenants.a]\nweight = 1e13", "tenants.a.weight is"),
        ("[tenants.a]\nqueued_checks = -1", "tenants.a.queued_checks is -1"),
        ("[tenants.a]\ncertificates = [5]", "tenants.a.certificates must be a list of texts"),
        ('[tenants.a]\n[tenants.b]\ncertificates = ["a"]', "belongs to tenant a"),
    ],
)
def test_a_wrong_tokens_file_is_one_sentence(tmp_path, text, named):
    path = tmp_path / "tokens"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        read_tenants(path)
    assert named in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_tokens_file_is_one_sentence(tmp_path):
    with pytest.raises(ConfigError, match="No such file"):
        read_tenants(tmp_path / "none")


def test_terms_and_tokens_are_read(tmp_path, caplog):
    caplog.set_level("INFO", "cruxboxd")
    path = tmp_path / "tokens"
    path.write_text(
        f'[tenants.lab]\ntokens = ["{hashed("t")}"]\nweight = 2.5\nqueued_checks = 7\ncertificates = ["l.example"]'
    )
    identity = Identity(Config(tokens=str(path), tls_client_ca="x", workers=1))
    tenant = identity.find("Bearer t", [])
    assert (tenant.name, tenant.weight, tenant.queued_checks) == ("lab", 2.5, 7)
    assert identity.find("bearer t", ["nobody"]) == tenant
    assert identity.find(None, ["l.example"]) == identity.find(None, ["x", "lab"]) == tenant
    wrong = ["Bearer T", "Bearer ", "Bearer", "Basic t", "t", "", "Bearer " + "t" * 600, "Bearer \udcff"]
    for header in wrong:
        with pytest.raises(Unidentified) as caught:
            identity.find(header, ["lab"])
        assert "T" not in str(caught.value)
    for names in ([], ["nobody"]):
        with pytest.raises(Unidentified):
            identity.find(None, names)
    assert identity.tenant_named("lab") == tenant
    assert identity.tenant_named("one who left") == Tenant("one who left")
    assert "read anew" not in caplog.text  # the file is as it was


def test_names_of_certificates_count_only_where_an_authority_vouches_for_them(tmp_path):
    path = tokens_file(tmp_path / "tokens", lab="t")
    identity = Identity(Config(tokens=str(path), workers=1))
    assert identity.find("Bearer t", ["x"]).name == "lab"
    for header, names in ((None, ["lab"]), ("Bearer x", ["lab"]), (None, [])):
        with pytest.raises(Unidentified):
            identity.find(header, names)


def test_without_a_tokens_file_the_first_name_of_a_certificate_is_the_tenant():
    identity = Identity(Config(tls_client_ca="x", workers=1))
    assert identity.is_required
    assert identity.tenant_of(Shown("Bearer of another server", ("alice", "bob"))).name == "alice"
    for names in ((), ("a b", "bob"), ("",)):
        with pytest.raises(Unidentified):
            identity.tenant_of(Shown(None, names))


def test_a_server_that_asks_nobody_takes_everybody_for_one():
    identity = Identity(Config(workers=1))
    assert not identity.is_required
    assert identity.tenant_of(Shown("Bearer x", ("alice",))) == EVERYBODY


def test_files_are_looked_at_once_a_second_and_never_half_replaced(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("one")
    files = WatchedFiles([path])
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    assert not files.changed()
    path.write_text("another")
    assert not files.changed()  # looked at a moment ago
    now += 2
    assert files.changed()
    now += 2
    assert not files.changed()
    path.unlink()
    now += 2
    assert not files.changed()
    path.write_text("the third")
    now += 2
    assert files.changed()


def test_made_tokens_are_random_and_fit_their_hashes():
    made = [make_token() for _ in range(20)]
    assert len({token for token, _ in made}) == 20
    assert all(hashed(token) == line and len(token) > 40 for token, line in made)


def test_the_token_command_prints_a_token_and_its_hash():
    out = subprocess.run([sys.executable, "-m", "cruxboxd", "token"], capture_output=True, text=True, check=True)
    token, line = out.stdout.split()
    assert hashed(token) == line


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
    for arguments, named in (
        (["--tls-cert", str(cert)], "belong together"),
        (["--tls-client-ca", str(cert)], "--tls-client-ca needs"),
        (["--tls-cert", str(cert), "--tls-key", str(other)], "KEY_VALUES_MISMATCH"),
        (["--tls-cert", str(cert), "--tls-key", str(tmp_path / "none")], "No such file"),
        (["--tokens", str(tmp_path / "none")], "No such file"),
    ):
        ended = cruxboxd("--listen", "127.0.0.1:0", *arguments)
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


def serial(port: int) -> str:
    """The fingerprint of the certificate the server shows."""
    shown = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-alpn", "h2"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    begin = shown.stdout.find("-----BEGIN")
    return shown.stdout[begin : shown.stdout.find("-----END")]


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
