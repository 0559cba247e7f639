"""What a tokens file says, and who is found by it."""

from __future__ import annotations

import base64
import errno
import itertools
import os
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from cruxboxd.settings import tomlfile
from cruxboxd.settings.config import Config, ConfigError
from cruxboxd.tenancy.identity import Identity, Shown, Unidentified, WatchedFiles, make_token, shown_by
from cruxboxd.tenancy.tenants import EVERYBODY, Tenant, read_tenants
from support.tokens import hashed, tokens_file


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "[tenants.NAME]"),
        ("[tenants]", "[tenants.NAME]"),
        ("[other]\na = 1", "[tenants.NAME]"),
        ('[tenants."a b"]', "letters, digits"),
        ("[tenants.a]\ntoken = []", "tenants.a.token is not a setting"),
        ("[tenants.a]\nweight = 0", "tenants.a.weight is 0; it must be a number from 0.001 on"),
        ("[tenants.a]\nconcurrent_checks = 1.5", "tenants.a.concurrent_checks is 1.5"),
        ('[tenants.a]\ntokens = ["secret"]', "tenants.a.tokens holds an entry"),
        ('[tenants.a]\ntokens = "x"', "tenants.a.tokens must be a list"),
        (f'[tenants.a]\ntokens = ["{hashed("t")}"]\n[tenants.b]\ntokens = ["{hashed("t")}"]', "belongs to tenant a"),
        ("[tenants.a", "tokens"),
        (f"[tenants.a]\nweight = {'9' * 5000}", "tokens: it holds a number of too many digits"),
        (f"[tenants.a]\nweight = 0x{'f' * 5000}", "tokens: it holds a number of too many digits"),
        ("tenants = 5", "[tenants.NAME]"),
        ("[tenants.a]\n[other]", "[tenants.NAME]"),
        ("tenants.a = 5", "tenants.a is not a table"),
        ("[tenants.a]\nweight = true", "tenants.a.weight is True"),
        ("[tenants.a]\nweight = 1e13", "tenants.a.weight is"),
        ("[tenants.a]\nqueued_checks = -1", "tenants.a.queued_checks is -1; it must be a whole number from 0 on"),
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
    assert identity.is_required
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
    assert Tenant("default", 1, 0, 0, 0) == EVERYBODY
    assert identity.tenant_of(Shown("Bearer x", ("alice",))) == EVERYBODY


def test_a_caller_shows_a_header_and_the_names_of_its_certificate():
    context = SimpleNamespace(
        auth_context=lambda: {"x509_common_name": [b"a"], "x509_subject_alternative_name": [b"b"]}
    )
    bare = SimpleNamespace(auth_context=dict)
    assert shown_by(context, [("accept", "x"), ("other", "x"), ("authorization", "Bearer t")]) == Shown(
        "Bearer t", ("a", "b")
    )  # type: ignore[arg-type]
    assert shown_by(bare, [("accept", "x"), ("other", "x")]) == Shown(None, ())  # type: ignore[arg-type]
    twice = [("authorization", "Bearer t"), ("x", "y"), ("authorization", "Bearer t")]
    assert shown_by(bare, twice) == Shown("Bearer t", ())  # type: ignore[arg-type]


def test_of_two_headers_that_differ_none_counts(tmp_path):
    bare = SimpleNamespace(auth_context=dict)
    path = tokens_file(tmp_path / "tokens", alice="a", bob="b")
    identity = Identity(Config(tokens=str(path), tls_client_ca="x", workers=1))
    assert identity.tenant_of(shown_by(bare, [("authorization", "Bearer a")])).name == "alice"  # type: ignore[arg-type]
    for first, second in itertools.permutations(["Bearer a", "Bearer b", "Basic a", ""], 2):
        shown = shown_by(bare, [("authorization", first), ("authorization", second)])  # type: ignore[arg-type]
        with pytest.raises(Unidentified, match="several authorization headers that differ; send one"):
            identity.tenant_of(Shown(shown.authorization, ("alice",), shown.is_ambiguous))
        assert Identity(Config(workers=1)).tenant_of(shown) == EVERYBODY


def test_a_new_token_has_256_random_bits():
    random = make_token()[0].removeprefix("crux_")
    assert len(base64.urlsafe_b64decode(random + "=" * (-len(random) % 4))) == 32


def test_a_new_tokens_file_counts(tmp_path, monkeypatch):
    path = tmp_path / "tokens"
    path.write_text(f'[tenants.a]\ntokens = ["{hashed("t")}"]')
    identity = Identity(Config(workers=1, tokens=str(path)))
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now + 9)
    assert not identity._files.changed()
    path.write_text(f'[tenants.other]\ntokens = ["{hashed("t")}"]')
    now += 9
    assert identity._files.changed()
    path.write_text(f'[tenants.third]\ntokens = ["{hashed("t")}"]')
    now += 9
    assert identity.find("Bearer t", ()).name == "third"


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


def test_a_mode_that_is_set_right_is_a_change(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_text("one")
    files = WatchedFiles([path])
    now = time.monotonic() + 2
    monkeypatch.setattr(time, "monotonic", lambda: now)
    assert not files.changed()
    path.chmod(0o400)
    now += 2
    assert files.changed()


def test_what_could_not_be_read_is_read_at_the_next_look(tmp_path, monkeypatch, caplog):
    """Where the daemon had no descriptor for it, no second change comes: a token that was withdrawn would stay good."""
    path = tmp_path / "tenants.toml"
    path.write_text(f'[tenants.one]\ntokens = ["{hashed("t")}"]')
    identity = Identity(Config(tokens=str(path)))
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    path.write_text(f'[tenants.another]\ntokens = ["{hashed("t")}"]')
    with monkeypatch.context() as full:
        full.setattr(tomlfile, "read_file", has_no_descriptor)
        for _ in range(3):
            now += 2
            assert identity.find("Bearer t", ()).name == "one"
    assert [record.message for record in caplog.records] == [
        "the tokens file is wrong; the last good one stays in force"
    ]
    now += 2
    assert identity.find("Bearer t", ()).name == "another"


def test_that_the_file_is_gone_is_told_once_each_time(tmp_path, monkeypatch, caplog):
    """Not at the first look, as it may just be replaced. To take it away withdraws no token."""
    path = tmp_path / "tenants.toml"
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    text = f'[tenants.one]\ntokens = ["{hashed("t")}"]'
    path.write_text(text)
    identity = Identity(Config(tokens=str(path)))
    for times in (1, 2):
        path.unlink()
        for told in (times - 1, times, times, times):
            now += 2
            assert identity.find("Bearer t", ()).name == "one"
            gone = [record for record in caplog.records if record.levelname == "ERROR"]
            assert len(gone) == told
            assert all("No such file" in record.reason for record in gone)
        path.write_text(text)
        now += 2
        identity.find("Bearer t", ())


def has_no_descriptor(path: Path) -> bytes:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), path)


def test_what_is_wrong_is_not_read_again_until_it_changes(tmp_path, monkeypatch):
    path = tmp_path / "tenants.toml"
    path.write_text(f'[tenants.one]\ntokens = ["{hashed("t")}"]')
    identity = Identity(Config(tokens=str(path)))
    now = time.monotonic() + 2
    monkeypatch.setattr(time, "monotonic", lambda: now)
    path.write_text("no tables")
    assert identity.find("Bearer t", ()).name == "one"
    now += 2
    assert not identity._files.changed()


def test_made_tokens_are_random_and_fit_their_hashes():
    made = [make_token() for _ in range(20)]
    assert len({token for token, _ in made}) == 20
    assert all(hashed(token) == line and len(token) > 40 for token, line in made)
