"""Where the pure twin serves instead of the native helper, everybody is told; a stale helper is never loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES

import grpc
import pytest
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxbox_proto.v1 import sandbox_pb2_grpc as rpc
from cruxboxd.settings.config import RuntimeSpec
from cruxboxd.zygotes import native_build, runtimes
from cruxboxd.zygotes.commands import Commands
from support.daemons import Served


@pytest.mark.parametrize(("flags", "helper"), [([], "native"), (["--pure"], "pure")])
def test_log_info_and_figures_say_which_helper_serves(tmp_path, flags, helper):
    with Served(tmp_path, *flags) as daemon, grpc.insecure_channel(daemon.target) as channel:
        info = rpc.SandboxStub(channel).GetServerInfo(pb.GetServerInfoRequest(), timeout=20)
        assert [runtime.helper for runtime in info.runtimes] == [helper]
        assert daemon.metric("cruxbox_native_helper", runtime="default") == (helper == "native")
        assert daemon.stop() == 0
        assert ("the pure twin serves" in daemon.log) is (helper == "pure")
        assert ("every check has a worker of its own" in daemon.log) is (helper == "pure")


@pytest.mark.parametrize(("flags", "helper"), [([], "native"), (["--pure"], "pure")])
def test_preflight_says_which_helper_serves(flags, helper):
    command = [sys.executable, "-m", "cruxboxd", "preflight", *flags]
    found = subprocess.run([*command, "--json"], capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(found.stdout)["helpers"] == {"default": helper}
    words = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    (line,) = [line for line in words.splitlines() if line.startswith("helper")]
    assert line.split()[1] == helper
    assert ("every check has a worker of its own" in line) is (helper == "pure")


def test_a_stale_helper_is_built_anew_or_not_used(tmp_path, monkeypatch):
    stale = tmp_path / "package" / f"_native{EXTENSION_SUFFIXES[0]}"
    stale.parent.mkdir()
    stale.write_bytes(b"of other sources")
    cached = tmp_path / "cache" / "cruxbox" / native_build.digest()[-16:] / stale.name
    cached.parent.mkdir(parents=True)
    cached.write_bytes(b"of other sources")
    monkeypatch.setattr(native_build, "NATIVE", stale.parent)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(native_build, "_compiler", no_compiler)
    spec = RuntimeSpec("default", sys.executable)
    runtimes._helpers.clear()
    try:
        assert runtimes._native_folder(Commands(), spec) == runtimes._NO_HELPER
        monkeypatch.undo()
        monkeypatch.setattr(native_build, "NATIVE", stale.parent)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        runtimes._helpers.clear()
        assert runtimes._native_folder(Commands(), spec) == str(cached.parent)
        assert native_build.is_current(cached)
    finally:
        runtimes._helpers.clear()


def no_compiler(own: str) -> list[str]:
    raise native_build.BuildError("no C compiler is installed")
