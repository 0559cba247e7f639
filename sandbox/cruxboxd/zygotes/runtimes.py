"""Runtimes: the interpreters that candidates run on, and the set-up of their zygotes."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import Any

from cruxboxd.seccomp.compiler import Profile
from cruxboxd.seccomp.compiler import compile as compile_policy
from cruxboxd.settings.config import Config, ConfigError, RuntimeSpec, environment_for_zygotes
from cruxboxd.zygotes import native_build
from cruxboxd.zygotes.commands import Commands, TooSlow
from cruxboxd.zygotes.setup import ZygoteKey, ZygoteSetup

log = logging.getLogger(__name__)

_ASK_TIMEOUT_S = 60
_ASKED_AT_ONCE = 8

# What the interpreter says of itself. Its own `site` has run, so a virtual environment's packages are on the path;
# the shared libraries are those of an interpreter that has loaded the usual extension modules. What a module prints
# while it is imported is no part of the answer.
_ASK = """
import _signal, json, os, re, resource, sys, sysconfig
dumps, answer = json.dumps, os.dup(1)
os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
starts_threads = ""
for name in sys.argv[1:]:
    try:
        __import__(name)
    except BaseException as error:
        message = " ".join(str(error).split())[:300]
        os.write(answer, dumps({"refused": [name, type(error).__name__, message]}).encode())
        os._exit(0)
    if not starts_threads and len(os.listdir("/proc/self/task")) > 1:
        starts_threads = name
for timer in (_signal.ITIMER_REAL, _signal.ITIMER_VIRTUAL, _signal.ITIMER_PROF):  # as where zygotes import them
    _signal.setitimer(timer, 0)
if len(os.listdir("/proc/self/task")) == 1:  # they have ended
    starts_threads = ""
preload_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - started
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
packages = {}
for folder in sys.path:
    for item in os.listdir(folder) if os.path.isdir(folder) else ():
        found = re.match("([A-Za-z0-9._]+)-([^-]+)[.](dist-info|egg-info)$", item)
        if found and found[1] not in packages:
            packages[found[1]] = found[2]
os.write(answer, dumps({
    "version": sys.version.split()[0],
    "implementation": sys.implementation.name,
    "path": [p for p in sys.path if p],
    "stdlib": sysconfig.get_path("stdlib"),
    "libraries": sorted(libraries),
    "zones": str(sysconfig.get_config_var("TZPATH") or "/usr/share/zoneinfo").split(os.pathsep),
    "prefix": sys.prefix,
    "packages": sorted(packages.items()),
    "preload_bytes": preload_kib * 1024 if sys.argv[1:] else 0,
    "starts_threads": starts_threads,
}).encode())
os._exit(0)
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
# Imported where a runtime has them: what the template makes fit for workers (`boot._find_no_libraries`).
_FITTED = ("threadpoolctl",)
# Imported before candidates that may start threads.
_FOR_THREADS = ("threading", "queue", "concurrent.futures.thread", "asyncio")
# What scripts in two processes are judged by rests on bytecode and on modules of the library, which change.
_NEWEST_TRIED = (3, 14)


@dataclass(frozen=True)
class Runtime:
    """One interpreter and the facts it reports about itself."""

    name: str
    path: str
    version: str
    sys_path: tuple[str, ...]
    readable: tuple[str, ...]
    native_folder: str
    is_default: bool
    packages: tuple[tuple[str, str], ...] = ()  # names and versions of what is installed for it
    preload: tuple[str, ...] = ()  # what its zygotes can import before they serve
    preload_bytes: int = 0  # memory that takes, of each such zygote

    @property
    def helper(self) -> str:
        """ "native", or "pure" where there is no native helper that fits interpreter and sources."""
        return "pure" if self.native_folder == _NO_HELPER else "native"


def find_runtimes(config: Config, commands: Commands) -> dict[str, Runtime]:
    """Every runtime of the configuration, by name; the first is the default. Raises ConfigError, naming it, and Over
    where the `commands` by which interpreters are asked are ended."""
    specs = config.runtimes or (RuntimeSpec("default", sys.executable),)
    preloads = {item.runtime: item.modules for item in config.preloads}
    for name in preloads:
        if name not in {spec.name for spec in specs}:
            known = ", ".join(spec.name for spec in specs)
            raise ConfigError(f"--preload names the runtime {name!r}; this server has {known}")
    with ThreadPoolExecutor(_ASKED_AT_ONCE) as asking:  # each is a process that is waited for
        try:
            found = asking.map(lambda spec: _ask(commands, spec, config, preloads.get(spec.name, ())), specs)
            runtimes = {runtime.name: runtime for runtime in found}
        except BaseException:  # of the others, none is waited for
            commands.end()
            raise
    default = specs[0].name
    return {**runtimes, default: replace(runtimes[default], is_default=True)}


def _ask(commands: Commands, spec: RuntimeSpec, config: Config, preload: tuple[str, ...]) -> Runtime:
    is_own = not config.runtimes
    said = _answers(commands, spec, ["-I", "-S"] if is_own else ["-s"], preload)
    if not is_own and said["prefix"] == sys.prefix and not config.own_packages:
        # The daemon's own libraries are not a benchmark's: whoever wants them there has to say so.
        said = _answers(commands, spec, ["-I", "-S"], preload)
        log.warning(
            "the runtime is the daemon's own Python, so its packages are hidden; --own-packages shows them",
            extra={"runtime": spec.name},
        )
    version = tuple(map(int, said["version"].split(".")[:2]))
    if said["implementation"] != "cpython" or version < (3, 8):
        raise ConfigError(f"runtime {spec.name!r}: {spec.path} is not a CPython from 3.8 on")
    if version > _NEWEST_TRIED:
        log.warning(
            "this version of cruxbox was not tried on a Python as new as the runtime's",
            extra={"runtime": spec.name, "python": said["version"], "newest_tried": ".".join(map(str, _NEWEST_TRIED))},
        )
    if said["starts_threads"]:
        module = said["starts_threads"]
        raise ConfigError(f"runtime {spec.name!r}: importing {module} starts threads; it cannot be preloaded")
    path = tuple(said["path"])
    readable = [*path, said["stdlib"], *said["libraries"], *said["zones"]]
    return Runtime(
        name=spec.name,
        path=spec.path,
        version=said["version"],
        sys_path=path,
        readable=tuple(_readable(readable)),
        native_folder=_native_folder(commands, spec),
        is_default=False,
        packages=tuple((str(name), str(version)) for name, version in said["packages"]),
        preload=preload,
        preload_bytes=int(said["preload_bytes"]),
    )


def _answers(commands: Commands, spec: RuntimeSpec, flags: list[str], preload: tuple[str, ...]) -> dict[str, Any]:
    """What the interpreter says of itself once it has imported `preload`. Raises ConfigError."""
    environment = {**environment_for_zygotes("0"), "PATH": os.defpath}
    command = [spec.path, *flags, "-c", _ASK, *preload]
    try:
        said: dict[str, Any] = json.loads(commands.run(command, _ASK_TIMEOUT_S, environment))
    except OSError as error:
        raise ConfigError(f"runtime {spec.name!r}: cannot run {spec.path}: {error.strerror}") from None
    except TooSlow:
        raise ConfigError(
            f"runtime {spec.name!r}: {spec.path} does not answer within {_ASK_TIMEOUT_S} s{_importing(preload)}"
        ) from None
    except ValueError:
        raise ConfigError(f"runtime {spec.name!r}: {spec.path} is not a working Python{_importing(preload)}") from None
    if "refused" in said:
        module, kind, message = said["refused"]
        raise ConfigError(f"--preload: runtime {spec.name!r} cannot import {module} ({kind}: {message})")
    return said


def _importing(preload: tuple[str, ...]) -> str:
    """For the end of a sentence: what may have been the reason."""
    return f", importing {', '.join(preload)} (--preload)" if preload else ""


# A folder that is not there: a helper that does not fit its sources is not loaded from where it lies.
_NO_HELPER = "/nonexistent"


_helpers: dict[str, str] = {}  # by interpreter, where its helper is


def _native_folder(commands: Commands, spec: RuntimeSpec) -> str:
    """Where this interpreter's native helper is; "" is the package's own folder.

    Many runtimes may be virtual environments of one interpreter: it is asked and built for once.
    """
    own = native_build.NATIVE / f"_native{EXTENSION_SUFFIXES[0]}"
    if spec.path == sys.executable and native_build.is_current(own):
        return ""
    interpreter = str(Path(spec.path) if spec.path == sys.executable else Path(spec.path).resolve())
    if interpreter not in _helpers:
        built = native_build.ensure(Path(interpreter), _cache(), _running_by(commands))
        _helpers[interpreter] = str(built.parent) if built else _NO_HELPER
    return _helpers[interpreter]


def _running_by(commands: Commands) -> native_build.Run:
    """A compiler is not waited for by a daemon that is to end, either."""

    def run(command: list[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
        try:
            return commands.complete(command, timeout_s)
        except TooSlow:
            raise subprocess.TimeoutExpired(command, timeout_s) from None

    return run


def _cache() -> Path | None:
    """Where helpers are kept; None if there is no home, as for a user number without a name where HOME is not set."""
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "cruxbox"
    except RuntimeError:
        return None


def _readable(paths: list[str]) -> list[str]:
    """The folders that are not inside another one of the list, and those that lead there by symbolic links, by which
    the interpreter knows them. Where `..` follows on a link, a path without both leads elsewhere, and is left out."""
    folders = {path: str(Path(path).resolve()) for path in paths if Path(path).is_dir()}
    real = sorted(set(folders.values()))
    outermost = [path for path in real if not any(path.startswith(other + "/") for other in real)]
    links = {os.path.normpath(path): to for path, to in folders.items()}
    return outermost + [path for path, to in links.items() if path != to and str(Path(path).resolve()) == to]


class ZygoteSetups:
    """Knows how to start a zygote for any key."""

    def __init__(self, config: Config, runtimes: dict[str, Runtime]) -> None:
        self._config, self._runtimes = config, runtimes
        self.compute, self.shared = compile_policy(Profile.COMPUTE), compile_policy(Profile.SHARED)
        # By whether workers may start threads: without a scratch folder, and with one.
        self._filters = {
            False: (compile_policy(Profile.STDLIB), compile_policy(Profile.SCRATCH)),
            True: (compile_policy(Profile.THREADS), compile_policy(Profile.SCRATCH_THREADS)),
        }

    @property
    def profile_digest(self) -> str:
        """Names the filters; every verdict carries it."""
        whole = [filters for both in zip(*self._filters.values()) for filters in both]
        digests = [program.digest for program in (self.compute, self.shared, *whole)]
        return hashlib.sha256("".join(digests).encode()).hexdigest()[:16]

    def __call__(self, key: ZygoteKey) -> ZygoteSetup:
        """What the template of `key` reads first, in the order of `cruxcell.boot._Setup`."""
        config, runtime = self._config, self._runtimes[key.runtime]
        names = [*(_PRELOADED if key.preloaded else _ALWAYS), *key.packages, *(_FOR_THREADS if key.threads else ())]
        if key.preloaded:
            names += [name for name, _ in runtime.packages if name in _FITTED]
        fields = [
            self.compute.bpf,
            self.shared.bpf,
            *(filters.bpf for filters in self._filters[key.threads]),
            _join(runtime.sys_path),
            _join(runtime.readable),
            _join(names),
            b"%d" % config.uid,
            b"%d" % config.gid,
            b"1" if config.namespaces else b"0",
            b"1" if config.pure else b"0",
            os.fsencode(runtime.native_folder),
            _join(sorted(config.require)),
            _join(sorted(config.allow_degraded)),
            _join(sorted(config.opened)),
            b"1" if key.threads else b"0",
            b"%d" % config.scratch_bytes,
            os.fsencode(runtime.version),
        ]
        return ZygoteSetup(runtime.path, environment_for_zygotes(key.hash_seed), fields)


def _join(items: tuple[str, ...] | list[str]) -> bytes:
    return b"\0".join(map(os.fsencode, items))
