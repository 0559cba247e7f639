"""What can be said of the image without building it; `make image-test` builds and runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

tomllib = pytest.importorskip("tomllib", reason="the standard library reads TOML from Python 3.11 on")

ROOT = Path(__file__).resolve().parents[2]
IMAGE = ROOT / "deploy" / "image"


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions, continuation lines joined, comments left out."""
    text = "\n".join(line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.startswith("#"))
    joined = text.replace("\\\n", " ")
    return [
        (word.upper(), " ".join(rest.split()))
        for word, _, rest in (x.partition(" ") for x in joined.split("\n"))
        if word
    ]


def final_stage() -> list[tuple[str, str]]:
    every = instructions()
    last = max(i for i, (word, _) in enumerate(every) if word == "FROM")
    return every[last:]


def test_the_base_is_an_argument_without_a_default() -> None:
    assert instructions()[0] == ("ARG", "BASE")
    assert [rest for word, rest in instructions() if word == "FROM"] == ["${BASE} AS build", "${BASE}"]


def test_the_final_stage_installs_nothing_and_is_not_root() -> None:
    stage = final_stage()
    assert not [rest for word, rest in stage if word == "RUN" and re.search(r"\b(apt-get|pip|curl|wget)\b", rest)]
    assert [rest for word, rest in stage if word == "USER"] == ["65532:65532"]
    assert not [word for word, _ in stage if word in {"HEALTHCHECK", "ADD", "VOLUME"}]


def test_every_copied_path_passes_the_dockerignore() -> None:
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for word, rest in instructions():
        if word == "COPY" and "--from" not in rest:
            *sources, _ = [part for part in rest.split() if not part.startswith("--")]
            for source in sources:
                plain = re.sub(r"\[(.)\]", r"\1", source)
                assert any(Path(plain).match(pattern) for pattern in allowed), source


@pytest.mark.parametrize("name", ["requirements-build.txt", "requirements-server.txt"])
def test_requirements_are_pinned_and_hashed(name: str) -> None:
    entries = re.split(r"\n(?=\S)", (IMAGE / name).read_text())
    packages = [entry for entry in entries if not entry.startswith("#") and entry.strip()]
    assert packages
    for entry in packages:
        assert re.match(r"[a-z0-9-]+==\S+ \\\n +--hash=sha256:[0-9a-f]{64}", entry), entry


def test_the_lock_covers_the_server_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["server"]
    locked = {
        line.split("==")[0] for line in (IMAGE / "requirements-server.txt").read_text().splitlines() if "==" in line
    }
    assert {re.match(r"[\w-]+", item)[0].lower() for item in wanted} <= locked  # type: ignore[index]


def test_the_seccomp_profile_refuses_namespaces_and_nothing_the_sandbox_needs() -> None:
    profile = json.loads((IMAGE / "seccomp.json").read_text())
    refused = {name for rule in profile["syscalls"] for name in rule["names"] if not rule.get("args")}
    assert {"unshare", "setns", "clone3", "mount"} <= refused
    assert refused.isdisjoint(
        {"seccomp", "prctl", "landlock_create_ruleset", "setrlimit", "prlimit64", "clone", "fork"}
    )
    masks = {rule["args"][0]["value"] for rule in profile["syscalls"] if rule["names"] == ["clone"]}
    assert masks == {0x00020000, *(1 << bit for bit in range(25, 31))}
