"""Confinement seen from both sides: what a worker can still do, and what the world looks like afterwards."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pytest

sys.path.insert(0, str(Path(__file__).parent))

import attempts
import cells
import interpreters
from cells import SITUATIONS, World
from cruxboxd.seccomp.compiler import Profile

pytestmark = pytest.mark.kernel

TRIED = list(attempts.ATTEMPTS)

# What must work in a worker that runs a candidate, and what comes of it.
ORDINARY = {
    "import_python_module": "colorsys",
    "import_extension_module": "2",
    "import_module_that_asks_the_system": "uuid",
    "read_standard_library": "True",
    "list_standard_library": "True",
    "sleep": "done",
    "clocks": "True",
    "lock": "True",
    "random_bytes": "8",
    "handler": "done",
    "memory": str(32 << 20),
    "environment": str({"OMP_NUM_THREADS": "1", "PATH": os.defpath, "LOGNAME": "nobody"}),
}
# The part of it that a worker which only reads constants needs.
COMPUTING = ("sleep", "clocks", "lock", "random_bytes", "handler", "memory", "environment")

KILLED = {
    "trace_victim",
    "write_victim",
    "victim_descriptor",
    "enter_namespace",
    "mount",
    "io_uring",
    "bpf",
    "keyring",
    "userfault",
    "perf",
    "own_filter",
}
# Refusals that do not come as an OSError.
OTHERWISE = {
    "thread": "RuntimeError can't start new thread",
    "lift_own_limits": "ValueError not allowed to raise maximum limit",
    "too_much_memory": "MemoryError ",
    "access_canary": "not readable",
}
ABSENT = {"new_clone": errno.ENOSYS, "new_open": errno.ENOSYS, "statx_canary": errno.ENOSYS}
FACTS = ("identity", "descriptors")
# A filter that lets a worker write comes with a scratch folder only, and is tried with one in daemon/test_scratch.py.
WITHOUT_FOLDER = (Profile.COMPUTE, Profile.STDLIB, Profile.THREADS)
FORBIDDEN = [name for name in TRIED if name not in ORDINARY and name not in FACTS]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with cells.new_world() as made:
        yield made


@pytest.fixture(scope="module")
def outcomes(world: World) -> Any:
    """Everything tried, once for each situation and profile; the world must look the same afterwards."""

    @cache
    def outcomes_of(situation: str, profile: Profile, pure: bool = True) -> dict[str, str]:
        before = world.seen()
        helper = {} if pure else {"native": str(interpreters.helper(Path(sys.executable)).parent)}
        answer = cells.run(situation, cells.config(world, profile, attempts=TRIED, **helper))
        assert world.seen() == before
        return answer["results"]

    return outcomes_of


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("profile", WITHOUT_FOLDER)
@pytest.mark.parametrize("name", FORBIDDEN)
def test_forbidden_things_are_refused(outcomes: Any, situation: str, profile: Profile, name: str) -> None:
    outcome = outcomes(situation, profile)[name]
    if name in KILLED:
        assert outcome == "signal SIGSYS"
    elif name in OTHERWISE:
        assert outcome == OTHERWISE[name]
    elif name in ABSENT:
        assert outcome == f"OSError {ABSENT[name]}"
    elif profile is Profile.COMPUTE and outcome.startswith(("ModuleNotFoundError", "LookupError unknown encoding")):
        pass  # this profile cannot even import what the attempt needs
    else:
        assert outcome in ("OSError 1", "OSError 2", "OSError 13")


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_things_work(outcomes: Any, situation: str, name: str) -> None:
    assert outcomes(situation, Profile.STDLIB)[name] == ORDINARY[name]


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("name", COMPUTING)
def test_computing_works_without_any_file(outcomes: Any, situation: str, name: str) -> None:
    assert outcomes(situation, Profile.COMPUTE)[name] == ORDINARY[name]


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_path_that_is_and_one_that_is_not_look_the_same_to_stat(outcomes: Any, situation: str) -> None:
    results = outcomes(situation, Profile.STDLIB)
    assert results["stat_canary"] == results["stat_nothing"] == "OSError 1"


@pytest.mark.parametrize("situation", cells.ISOLATED)
def test_where_namespaces_hold_other_paths_do_not_exist(outcomes: Any, situation: str) -> None:
    assert outcomes(situation, Profile.STDLIB)["read_canary"] == f"OSError {errno.ENOENT}"


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_worker_is_an_ordinary_user_with_no_descriptor_of_ours(outcomes: Any, situation: str) -> None:
    results = outcomes(situation, Profile.STDLIB)
    assert "0" not in results["identity"].split()
    assert results["descriptors"] == "0,1,2,3,4"  # the standard streams, and the driver's own pipe


@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_native_helper_confines_as_the_twin_does(outcomes: Any, situation: str) -> None:
    assert outcomes(situation, Profile.STDLIB, pure=False) == outcomes(situation, Profile.STDLIB)


# ---- layers and failures ---------------------------------------------------


@pytest.mark.parametrize("situation", SITUATIONS)
def test_layers_say_what_holds(world: World, situation: str) -> None:
    layers = {name: active for name, active, _ in cells.run(situation, cells.config(world))["layers"]}
    assert layers == {
        "no_new_privs": True,
        "pdeathsig": True,
        "namespaces": situation in cells.ISOLATED,
        "uid_drop": True,
        "capabilities": True,
        "landlock": True,
        "undumpable": True,
    }


def test_namespaces_are_left_alone_when_not_wanted(world: World) -> None:
    answer = cells.run("user-namespaces", cells.config(world, settings={"want_namespaces": False}))
    assert answer["layers"][2] == ["namespaces", False, "not wanted"]


def test_required_namespaces_that_cannot_be_had_are_fatal(world: World) -> None:
    answer = cells.run("user", cells.config(world, settings={"require": ["namespaces"]}))
    assert (answer["step"], answer["errno"]) == ("namespaces_as_user", errno.EPERM)


@pytest.mark.parametrize(
    ("broken", "step"),
    [
        ("prctl", "no_new_privs"),
        ("capset", "capabilities"),
        ("capget", "capability_bounds"),
        ("landlock_create_ruleset", "landlock"),
        ("landlock_add_rule", "landlock"),
        ("landlock_restrict_self", "landlock"),
    ],
)
def test_a_step_that_fails_is_fatal_and_named(world: World, broken: str, step: str) -> None:
    answer = cells.run("user", cells.config(world, broken={broken: errno.ENOSYS}, settings={"want_namespaces": False}))
    assert answer == {"step": step, "errno": errno.ENOSYS, "text": os.strerror(errno.ENOSYS)}


def test_a_host_without_landlock_is_refused_unless_the_settings_allow_it(world: World) -> None:
    settings = {"allow_degraded": ["landlock"]}
    broken = {"landlock_create_ruleset": errno.ENOSYS}
    answer = cells.run("user", cells.config(world, broken=broken, settings=settings, attempts=["write_canary", "tcp"]))
    layers = {name: (active, detail) for name, active, detail in answer["layers"]}
    assert layers["landlock"] == (False, "landlock: Function not implemented")
    assert [name for name, (active, _) in layers.items() if not active] == ["namespaces", "landlock"]
    assert answer["results"] == {"write_canary": "OSError 1", "tcp": "OSError 1"}


@pytest.mark.parametrize(
    ("settings", "step", "text"),
    [
        ({"readable": ["/not-there"]}, "readable_paths", "No such file or directory: /not-there"),
        ({"empty_dir": "/not-there"}, "empty_directory", "No such file or directory: /not-there"),
    ],
)
def test_a_path_that_is_missing_is_named(world: World, settings: dict[str, Any], step: str, text: str) -> None:
    answer = cells.run("user", cells.config(world, settings=settings))
    assert answer == {"step": step, "errno": errno.ENOENT, "text": text}


def test_a_path_that_the_user_cannot_read_is_named(world: World) -> None:
    cells.require("root")
    secret = world.root / "secret"
    secret.mkdir(mode=0o700, exist_ok=True)
    settings = {"readable": [*cells.readable(sys.executable), str(secret)]}
    answer = cells.run("root", cells.config(world, settings=settings))
    assert answer == {
        "step": "readable_as_user",
        "errno": errno.EACCES,
        "text": f"uid {cells.NOBODY} cannot read {secret}",
    }


@pytest.mark.parametrize("number", ["uid", "gid"])
def test_staying_root_is_refused(world: World, number: str) -> None:
    answer = cells.run("root", cells.config(world, settings={number: 0}))
    assert (answer["step"], answer["text"]) == ("uid_drop", "the user and group to become must not be root")


@pytest.mark.parametrize(
    ("limits", "filter", "step"),
    [("ff" * 8 + "00" * 16, "00" * 8, "setrlimit:4294967295"), ("", "ff" * 8, "seccomp")],
)
@pytest.mark.parametrize("pure", [True, False])
def test_a_worker_that_cannot_be_confined_names_the_step(limits: str, filter: str, step: str, pure: bool) -> None:
    """In a process of its own, since the steps before the failing one hold."""
    code = f"""
import sys
sys.path.insert(0, {str(cells.SANDBOX)!r})
from cruxcell import native
from cruxcell.confinement import confine
try:
    confine.confine_worker(native.load({pure}), bytes.fromhex({limits!r}), bytes.fromhex({filter!r}), 0)
except confine.ConfineError as error:
    print(error.step, error.errno)
"""
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == f"{step} {errno.EINVAL}\n", done.stderr


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("python", cells.interpreters(), ids=lambda path: path.name)
def test_every_runtime_is_confined_alike(world: World, python: Path, situation: str) -> None:
    settings = {"readable": cells.readable(str(python))}
    config = cells.config(world, settings=settings, attempts=TRIED)
    results = cells.run(situation, config, str(python))["results"]
    assert {name: results[name] for name in ORDINARY} == ORDINARY
    assert {results[name] for name in KILLED} == {"signal SIGSYS"}
    leaks = [name for name in FORBIDDEN if name not in KILLED | set(OTHERWISE) and not results[name].startswith("OSE")]
    assert leaks == []


# ---- seen from outside -----------------------------------------------------


class Held:
    """A cell that waits: the process we started, and everything below it."""

    def __init__(self, world: World, situation: str) -> None:
        cells.require(situation)
        config = cells.config(world, hold=True)
        self.started = subprocess.Popen(
            cells.command(situation, config), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self.started.stdout is not None
        assert "layers" in self.started.stdout.readline()
        expected = 2 if situation in cells.ISOLATED else 1  # zygote below its waiter, and the worker
        cells.until(lambda: len(self.below()) == expected, "the cell has all its processes")
        self.processes = [psutil.Process(self.started.pid), *self.below()]
        cells.until(lambda: "Seccomp:\t2" in self.status(-1) or situation != "root", "the worker is confined")

    def below(self) -> list[psutil.Process]:
        return psutil.Process(self.started.pid).children(recursive=True)

    def status(self, index: int) -> str:
        return Path(f"/proc/{self.processes[index].pid}/status").read_text()

    def gone(self) -> bool:
        return not any(process.is_running() and process.status() != "zombie" for process in self.processes[1:])

    def end(self) -> None:
        self.started.kill()
        self.started.communicate()


@pytest.fixture
def held(world: World) -> Iterator[Any]:
    made: list[Held] = []

    def hold(situation: str) -> Held:
        made.append(Held(world, situation))
        return made[-1]

    yield hold
    for cell in made:
        cell.end()


@pytest.mark.parametrize("situation", SITUATIONS)
def test_nothing_survives_the_process_that_the_daemon_started(held: Any, situation: str) -> None:
    cell = held(situation)
    cell.started.kill()
    cells.until(cell.gone, "zygote and worker are gone")


@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_kernel_agrees_about_every_process(held: Any, situation: str) -> None:
    cell = held(situation)
    for index in range(len(cell.processes)):
        fields = dict(line.split(":\t", 1) for line in cell.status(index).splitlines() if ":\t" in line)
        assert {fields[name] for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {"0" * 16}
        assert "0" not in fields["Uid"].split() + fields["Gid"].split()
        assert fields["NoNewPrivs"] == "1"
        if situation == "root":
            assert fields["CapBnd"] == "0" * 16
            assert fields["Groups"].strip() == ""
        score = Path(f"/proc/{cell.processes[index].pid}/oom_score_adj").read_text()
        assert score.strip() == "1000"


@pytest.mark.parametrize("situation", cells.ISOLATED)
def test_the_waiter_holds_nothing_and_ends_as_the_zygote_ends(held: Any, situation: str) -> None:
    cell = held(situation)
    if os.geteuid() == 0:
        descriptors = os.listdir(f"/proc/{cell.started.pid}/fd")
        assert len(descriptors) == 1  # the pipe by which the zygote knows that its waiter lives
    cell.processes[1].send_signal(signal.SIGKILL)
    assert cell.started.wait(20) == -signal.SIGKILL
    cells.until(cell.gone, "the worker is gone")


def test_namespaces_are_other_ones(held: Any) -> None:
    zygote = held("root").processes[1].pid
    names = ("net", "pid", "ipc", "uts", "mnt", "cgroup")
    same = [name for name in names if os.readlink(f"/proc/{zygote}/ns/{name}") == os.readlink(f"/proc/self/ns/{name}")]
    assert same == []


def test_confined_processes_are_closed_to_their_own_user(held: Any) -> None:
    """Undumpable: another process of the same user can neither read its memory nor its environment."""
    pids = [process.pid for process in held("user").processes]
    attempt = "import sys; open(f'/proc/{sys.argv[1]}/environ', 'rb').read()"
    for pid in pids:
        look = [sys.executable, cells.UNPRIVILEGED, sys.executable, "-c", attempt, str(pid)]
        assert "PermissionError" in subprocess.run(look, capture_output=True, text=True, check=False).stderr


def _limits_of(pid: int) -> dict[str, list[str]]:
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return {line[:26].strip(): line[26:].split()[:2] for line in lines}


def test_limits_of_a_worker(held: Any) -> None:
    cell = held("user")
    none = ["0", "0"]
    refused = ("core file size", "file size", "processes", "locked memory", "msgqueue size", "pending signals")
    limits = _limits_of(cell.processes[-1].pid)
    deadline = time.monotonic() + 30  # the worker is on its way there, one limit after the other
    while any(limits[f"Max {name}"] != none for name in refused) and time.monotonic() < deadline:
        limits = _limits_of(cell.processes[-1].pid)
    for name in refused:
        assert limits[f"Max {name}"] == none, name
    assert limits["Max open files"] == ["32", "32"]
    assert limits["Max stack size"] == [str(8 << 20)] * 2
    soft, hard = limits["Max address space"]
    assert soft == hard
    assert (256 << 20) < int(soft) < (512 << 20)
