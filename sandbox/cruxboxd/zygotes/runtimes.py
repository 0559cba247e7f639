"""Runtimes: which interpreters candidates run on, and how a zygote of each is set up."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from cruxboxd.seccomp.compiler import Profile
from cruxboxd.seccomp.compiler import compile as compile_policy
from cruxboxd.settings.config import Config, ConfigError, RuntimeSpec, environment_for_zygotes
from cruxboxd.zygotes.setup import ZygoteKey, ZygoteSetup

_ASK_TIMEOUT_S = 30

# What the interpreter says of itself. Its own `site` has run, so a virtual environment's packages are on the path;
# the shared libraries are those of an interpreter that has loaded the usual extension modules.
_ASK = """
import json, os, sys, sysconfig
for name in ("_ctypes", "_ssl", "_hashlib", "_lzma", "_bz2", "zlib", "_decimal", "unicodedata", "_sqlite3"):
    try:
        __import__(name)
    except ImportError:
        pass
libraries = set()
for line in open("/proc/self/maps"):
    path = line.split(None, 5)[-1].strip()
    if path.startswith("/") and ".so" in path:
        libraries.add(os.path.dirname(os.path.realpath(path)))
print(json.dumps({
    "version": sys.version.split()[0],
    "implementation": sys.implementation.name,
    "path": [p for p in sys.path if p],
    "stdlib": sysconfig.get_path("stdlib"),
    "libraries": sorted(libraries),
}))
"""

# Imported before candidates that import anything: what model-written programs commonly use.
_PRELOADED = (
    "collections", "collections.abc", "re", "math", "itertools", "functools", "string", "random", "json", "typing",
    "heapq", "bisect", "copy", "operator", "datetime", "time", "decimal", "fractions", "statistics", "struct", "enum",
    "dataclasses", "abc", "io", "hashlib", "textwrap", "unicodedata", "ctypes", "array", "contextlib", "warnings",
)  # fmt: skip
# Imported before every candidate: what the compiler and str methods import by themselves, and could not while reading
# constants, where no file may be opened.
_ALWAYS = ("unicodedata",)


@dataclass(frozen=True)
class Runtime:
    """One interpreter, asked about itself."""

    name: str
    path: str
    version: str
    sys_path: tuple[str, ...]
    readable: tuple[str, ...]
    native_folder: str
    is_default: bool


def find_runtimes(config: Config) -> dict[str, Runtime]:
    """Every runtime of the configuration, by name; the first is the default. Raises ConfigError, naming it."""
    specs = config.runtimes or (RuntimeSpec("default", sys.executable),)
    return {spec.name: _ask(spec, is_default=at == 0, is_own=not config.runtimes) for at, spec in enumerate(specs)}


def _ask(spec: RuntimeSpec, is_default: bool, is_own: bool) -> Runtime:
    arguments = ["-I", "-S"] if is_own else ["-s"]
    environment = {"PATH": os.defpath}
    try:
        done = subprocess.run(
            [spec.path, *arguments, "-c", _ASK], capture_output=True, timeout=_ASK_TIMEOUT_S, env=environment, cwd="/",
            check=True,
        )  # fmt: skip
        said = json.loads(done.stdout)
    except OSError as error:
        raise ConfigError(f"runtime {spec.name!r}: cannot run {spec.path}: {error.strerror}") from None
    except (subprocess.SubprocessError, ValueError):
        raise ConfigError(f"runtime {spec.name!r}: {spec.path} is not a working Python") from None
    if said["implementation"] != "cpython" or tuple(map(int, said["version"].split(".")[:2])) < (3, 8):
        raise ConfigError(f"runtime {spec.name!r}: {spec.path} is not a CPython from 3.8 on")
    path = tuple(said["path"])
    readable = [*path, said["stdlib"], *said["libraries"]]
    return Runtime(
        name=spec.name,
        path=spec.path,
        version=said["version"],
        sys_path=path,
        readable=tuple(_outermost(readable)),
        native_folder=_native_folder(spec),
        is_default=is_default,
    )


def _native_folder(spec: RuntimeSpec) -> str:
    """Where this interpreter's native helper is; "" is the package's own folder."""
    if spec.path == sys.executable:
        return ""
    from cruxboxd.zygotes import native_build

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cruxbox"
    built = native_build.ensure(Path(spec.path), cache)
    return str(built.parent) if built else str(cache)


def _outermost(paths: list[str]) -> list[str]:
    """The folders that are not inside another one of the list."""
    real = sorted({str(Path(path).resolve()) for path in paths if Path(path).is_dir()})
    return [path for path in real if not any(path.startswith(other + "/") for other in real)]


class ZygoteSetups:
    """Knows how to start a zygote for any key."""

    def __init__(self, config: Config, runtimes: dict[str, Runtime]) -> None:
        self._config, self._runtimes = config, runtimes
        self.compute = compile_policy(Profile.COMPUTE)
        self.stdlib = compile_policy(Profile.STDLIB)

    @property
    def profile_digest(self) -> str:
        """Names both filters; every verdict carries it."""
        return self.stdlib.digest

    def __call__(self, key: ZygoteKey) -> ZygoteSetup:
        """What the zygote of `key` reads first, in the order of `cruxcell.boot._Setup`."""
        config, runtime = self._config, self._runtimes[key.runtime]
        fields = [
            self.compute.bpf,
            self.stdlib.bpf,
            _join(runtime.sys_path),
            _join(runtime.readable),
            _join(_PRELOADED if key.preloaded else _ALWAYS),
            b"%d" % config.uid,
            b"%d" % config.gid,
            b"1" if config.namespaces else b"0",
            b"1" if config.pure else b"0",
            os.fsencode(runtime.native_folder),
            _join(sorted(config.require)),
            _join(sorted(config.allow_degraded)),
            _join(sorted(config.opened)),
        ]
        return ZygoteSetup(runtime.path, environment_for_zygotes(key.hash_seed), fields)


def _join(items: tuple[str, ...] | list[str]) -> bytes:
    return b"\0".join(map(os.fsencode, items))
