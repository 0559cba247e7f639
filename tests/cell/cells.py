"""Starting confined cells in the situations a host may offer, in a world they must not touch."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import unprivileged
from cruxboxd.seccomp import compiler

SANDBOX = Path(__file__).resolve().parents[2] / "sandbox"
DRIVER = Path(__file__).parent / "cell_driver.py"
NOBODY = unprivileged.NOBODY
UNPRIVILEGED = str(Path(unprivileged.__file__))

# root: everything may be had. user: an ordinary user in a restricted pod. user-namespaces: one on an ordinary host.
SITUATIONS = ("root", "user", "user-namespaces")
ISOLATED = ("root", "user-namespaces")  # where namespaces hold


@cache
def user_namespaces_allowed() -> bool:
    """May an ordinary user leave namespaces on this host?"""
    probe = "import ctypes; raise SystemExit(ctypes.CDLL(None).unshare(0x10000000) != 0)"
    command = [sys.executable, UNPRIVILEGED, "--keep-namespaces", sys.executable, "-c", probe]
    return subprocess.run(command, check=False).returncode == 0


def require(situation: str) -> None:
    """Skips the test where the situation cannot be had."""
    if situation == "root" and os.geteuid() != 0:
        pytest.skip("only root can start a cell as root")
    if situation == "user-namespaces" and not user_namespaces_allowed():
        pytest.skip("this host gives an ordinary user no namespaces")


def command(situation: str, config: dict[str, Any], python: str = sys.executable) -> list[str]:
    """The command line of a cell."""
    driver = [python, "-I", "-S", str(DRIVER), json.dumps(config)]
    prefix = {
        "root": [],
        "user": [python, UNPRIVILEGED],
        "user-namespaces": [python, UNPRIVILEGED, "--keep-namespaces"],
    }
    return prefix[situation] + driver


def config(world: World, profile: compiler.Profile = compiler.Profile.STDLIB, **more: Any) -> dict[str, Any]:
    """What the driver is told; `settings` in `more` are added to the usual ones."""
    settings = {"readable": readable(sys.executable), "empty_dir": str(world.empty), **more.pop("settings", {})}
    return {"settings": settings, "bpf": compiler.compile(profile).bpf.hex(), "facts": world.facts, **more}


@cache
def readable(python: str) -> list[str]:
    """The paths an interpreter imports from."""
    ask = "import os, sys; print(sys.base_prefix + '/lib')"
    own = subprocess.run([python, "-I", "-c", ask], capture_output=True, text=True, check=True).stdout.strip()
    return [path for path in (own, "/usr/lib", "/lib", "/lib64", "/etc/ld.so.cache") if os.path.exists(path)]


def run(situation: str, config: dict[str, Any], python: str = sys.executable) -> dict[str, Any]:
    """Runs a cell to its end and gives what it printed."""
    require(situation)
    with open("/dev/null") as inherited:
        done = subprocess.run(
            command(situation, config, python),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "SECRET_OF_THE_DAEMON": "canary"},
            pass_fds=[inherited.fileno()],
        )
    assert done.stdout, f"the cell said nothing: exit {done.returncode}, {done.stderr}"
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def interpreters() -> list[Path]:
    """The runtimes of this machine, from 3.8 on, one of each version."""
    found: dict[int, Path] = {}
    folders = [Path(folder) for folder in os.get_exec_path()]
    folders += sorted(Path.home().glob(".pyenv/versions/*/bin")) if os.access(Path.home(), os.X_OK) else []
    for folder in folders:
        for version in range(8, 15):
            real = _interpreter(folder / f"python3.{version}")
            if real is not None:
                found.setdefault(version, real)
    return [found[version] for version in sorted(found)]


@cache
def _interpreter(path: Path) -> Path | None:
    """The interpreter behind a name, which may be a stand-in with nothing behind it."""
    if not path.is_file():
        return None
    probe = "import sys, ctypes, decimal; print(sys.version_info[1], sys._base_executable)"
    done = subprocess.run([path, "-I", "-c", probe], capture_output=True, text=True, check=False)
    version, _, real = done.stdout.strip().partition(" ")
    return Path(real) if path.name == f"python3.{version}" else None


def until(fact: Callable[[], bool], what: str) -> None:
    """Waits for a fact, and fails when it does not come."""
    deadline = time.monotonic() + 20
    while not fact():
        assert time.monotonic() < deadline, f"still not so: {what}"
        time.sleep(0.01)


@dataclass
class World:
    """Bystanders: a canary file, a writable folder, sentinels on sockets, and a process of the worker's own user."""

    root: Path
    empty: Path
    canary: Path
    folder: Path
    sentinels: list[socket.socket] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def seen(self) -> dict[str, Any]:
        """Everything a cell must leave as it is."""
        status = self.canary.stat()
        victim = self.facts["victim"]
        return {
            "canary": (self.canary.read_text(), status.st_mode, status.st_mtime_ns, os.listxattr(self.canary)),
            "folders": sorted(str(path) for path in self.root.rglob("*")),
            "victim": (os.getpriority(os.PRIO_PROCESS, victim), os.sched_getaffinity(victim), _limits(victim)),
            "callers": [_callers(sentinel) for sentinel in self.sentinels],
        }


@contextmanager
def new_world() -> Iterator[World]:
    """Prepares the bystanders, and takes them away afterwards."""
    root = Path(tempfile.mkdtemp(prefix="cell-world-"))
    world = World(root, root / "empty", root / "canary", root / "folder")
    for folder, mode in ((root, 0o755), (world.empty, 0o755), (world.folder, 0o777)):
        folder.mkdir(exist_ok=True)
        folder.chmod(mode)
    world.canary.write_text("the canary sings")
    user = NOBODY if os.geteuid() == 0 else None
    if user is not None:
        os.chown(world.canary, user, user)
    with subprocess.Popen(["sleep", "1000"], user=user) as victim:
        try:
            _place_sentinels(world)
            world.facts.update(canary=str(world.canary), folder=str(world.folder), victim=victim.pid)
            yield world
            assert victim.poll() is None, "the bystander process has ended"
        finally:
            victim.kill()
            for sentinel in world.sentinels:
                sentinel.close()
            shutil.rmtree(root)


def _place_sentinels(world: World) -> None:
    kinds = {
        "tcp": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        "udp": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        "socket_path": (socket.AF_UNIX, socket.SOCK_STREAM, str(world.folder / "socket")),
        "abstract": (socket.AF_UNIX, socket.SOCK_STREAM, f"\0cell-{os.getpid()}"),
    }
    for name, (family, kind, address) in kinds.items():
        sentinel = socket.socket(family, kind)
        sentinel.bind(address)
        sentinel.setblocking(False)
        if kind == socket.SOCK_STREAM:
            sentinel.listen()
        bound = sentinel.getsockname()
        world.sentinels.append(sentinel)
        world.facts[name] = bound[1] if family == socket.AF_INET else os.fsdecode(bound).lstrip("\0")
    os.chmod(world.facts["socket_path"], 0o777)


def _callers(sentinel: socket.socket) -> int:
    try:
        if sentinel.type == socket.SOCK_DGRAM:
            sentinel.recv(100)
        else:
            with closing(sentinel.accept()[0]):
                pass
    except BlockingIOError:
        return 0
    return 1


def _limits(victim: int) -> str:
    return Path(f"/proc/{victim}/limits").read_text()
