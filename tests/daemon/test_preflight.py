"""Which layers hold, what was tried, and that nothing is served where a required layer does not hold."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace

import pytest
from cruxbox import CallCheck, Client, EmbeddedServerError, Outcome, Task
from cruxboxd.selftest.preflight import LayerState, Preflight
from cruxboxd.settings.config import LAYERS, Config
from cruxcell.jobs.probe import ATTEMPTS, IN_NO_SCRATCH_FOLDER, RAW_ATTEMPTS

NAMES = [*ATTEMPTS, *RAW_ATTEMPTS, "threads"]


def tried(has_scratch: bool) -> set[str]:
    """What is tried: by each kind of worker that this host can have."""
    found = {name + kind for name in NAMES for kind in ("", "_beside_threads")}
    if has_scratch:
        found |= {name + "_in_a_scratch_folder" for name in NAMES if name not in IN_NO_SCRATCH_FOLDER}
    return found


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cruxboxd", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@pytest.mark.kernel
@pytest.mark.parametrize("twin", [(), ("--pure",)], ids=["native", "pure"])
def test_every_layer_and_attempt_is_told(twin: tuple[str, ...]):
    done = run("preflight", "--json", "--workers", "1", *twin)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["ok"] is True
    assert found["problems"] == []
    assert [layer["name"] for layer in found["layers"]] == list(LAYERS)
    assert all(layer["active"] for layer in found["layers"] if layer["required"])
    assert set(found["attempts"]) == tried(found["layers"][LAYERS.index("scratch")]["active"])
    assert all(result.startswith("refused") for result in found["attempts"].values()), found["attempts"]


@pytest.mark.kernel
def test_people_get_a_table():
    done = run("preflight", "--workers", "1")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    has_scratch = lines[LAYERS.index("scratch")].split()[1] == "active"
    attempts = tried(has_scratch)
    assert lines.pop() == f"required layers hold; {len(attempts)} of {len(attempts)} forbidden attempts were refused"
    assert len(lines) == len(LAYERS) + len(["helper"]) + len(attempts)
    assert len({line.index("refused") for line in lines[-len(attempts) :]}) == 1
    assert lines[LAYERS.index("seccomp")].split()[:3] == ["seccomp", "active", "required"]


@pytest.mark.kernel
def test_a_required_layer_that_does_not_hold_is_a_refusal():
    missing = ["--workers", "1", "--require", "namespaces", "--namespaces", "false"]
    done = run("preflight", "--json", *missing)
    assert done.returncode == 1
    assert any("namespaces" in problem for problem in json.loads(done.stdout)["problems"])
    done = run("serve", "--listen", "127.0.0.1:0", *missing)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("cruxboxd: refuses to serve: ")
    assert "namespaces" in done.stderr
    assert "Traceback" not in done.stderr
    with Client(server_args=missing) as client, pytest.raises(EmbeddedServerError, match="refuses to serve"):
        client.info()


@pytest.mark.kernel
def test_an_optional_layer_may_be_missing():
    without = ["--workers", "1", "--namespaces", "false"]
    problems = json.loads(run("preflight", "--json", *without).stdout)["problems"]
    if any("cannot read" in problem for problem in problems):
        pytest.skip("without namespaces, this interpreter is not readable by the user that workers become")
    with Client(server_args=without) as client:
        layers = {layer.name: layer for layer in client.info().layers}
        assert not layers["namespaces"].active
        assert not layers["namespaces"].required
        verdict = client.check([Task("def f(x): return x", [CallCheck("f(1)", "1")])])[0]
    assert verdict.outcome is Outcome.PASSED
    assert verdict.degraded == ()


# ---- the rules alone --------------------------------------------------------------

HOLDS = LayerState("seccomp", True, True, "")
GONE = replace(HOLDS, active=False, detail="no such kernel")


@pytest.mark.parametrize(
    ("found", "problems", "degraded"),
    [
        (Preflight((HOLDS,), (("fork", "refused (errno 1)"),)), [], ()),
        (Preflight((GONE,), ()), ["layer seccomp does not hold (no such kernel)"], ("seccomp",)),
        (Preflight((replace(GONE, required=False),), ()), [], ("seccomp",)),
        (Preflight((replace(GONE, name="namespaces", required=False),), ()), [], ()),
        (Preflight((HOLDS,), (("open_passwd", "ALLOWED"),)), ["a worker was able to open passwd"], ()),
        (Preflight((), (), "the probe worker did not run"), ["the probe worker did not run"], ()),
    ],
)
def test_what_is_a_problem(found: Preflight, problems: list[str], degraded: tuple[str, ...]):
    assert found.problems == problems
    assert found.degraded == degraded


def test_every_layer_but_namespaces_and_scratch_is_required_by_default():
    from cruxboxd.selftest.preflight import _is_required

    assert {name for name in LAYERS if not _is_required(name, Config())} == {"namespaces", "scratch"}
    told = Config(require=frozenset({"namespaces", "scratch"}), allow_degraded=frozenset({"landlock"}))
    assert {name for name in LAYERS if not _is_required(name, told)} == {"landlock"}
