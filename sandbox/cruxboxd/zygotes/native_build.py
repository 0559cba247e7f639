"""Builds cruxcell's native helper for a runtime's interpreter, when that has a compiler and headers to build with.

Standard library only, and nothing of this package: the wheel's build hook runs this file before cruxbox is installed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

_log = logging.getLogger(__name__)

NATIVE = Path(__file__).resolve().parents[2] / "cruxcell" / "native"
SOURCE_FOLDER = NATIVE / "src"
SOURCES = tuple(
    f"{part}.c"
    for part in (
        "module",
        "steps",
        "bytes",
        "frames",
        "values",
        "reports",
        "hashes",
        "classes",
        "copies",
        "state",
        "watch",
        "seal",
        "hear",
        "arenas",
        "sets",
        "unchanged",
        "rule",
        "waiter",
    )
)
HEADERS = ("native.h", "protocol.h", "watch.h")

# Symbols are bound at load time: binding at the first call would write to memory that each forked worker has to copy.
_FLAGS = ("-O2", "-DNDEBUG", "-fwrapv", "-fPIC", "-shared", "-Wall", "-Wextra", "-Wl,-z,now")
_COMPILERS = ("cc", "gcc", "clang")
_TIMEOUT_S = 120
_KEPT_S = 90 * 86_400

# What is asked of the interpreter itself, so that a virtual environment answers for its own.
_QUESTION = """
import json, sys, sysconfig
paths = sysconfig.get_paths()
print(json.dumps({
    "suffix": sysconfig.get_config_var("EXT_SUFFIX"),
    "include": sorted({paths["include"], paths["platinclude"]}),
    "compiler": sysconfig.get_config_var("CC") or "",
    "version": list(sys.version_info[:2]),
}))
"""

# Loads the built file and counts a few steps with it, as a worker will.
_TRIAL = """
import _imp, sys
class Spec: name, origin = "cruxcell.native._native", sys.argv[1]
native = _imp.create_dynamic(Spec)
_imp.exec_dynamic(native)
native.run(compile("sum([1, 2])", "trial", "eval"), {}, 0, 1, b"")
sys.exit(not native.steps())
"""


class BuildError(Exception):
    """The helper cannot be built or used here; one sentence with the reason."""


def _run(command: list[str], timeout_s: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s, check=False
    )


# Runs a command for so many seconds at the most, and raises OSError or SubprocessError. What else it raises is for who
# asks for the helper.
Run = Callable[[list[str], float], "subprocess.CompletedProcess[str]"]


def ensure(python: Path, cache_dir: Path | None, run: Run = _run) -> Path | None:
    """The native helper for the interpreter `python`: the one that was installed, the one in the cache, or a new one.

    Args:
        python: the runtime's interpreter.
        cache_dir: where helpers are kept, in a folder for each version of the sources: daemons of several versions may
            run at once, and load theirs whenever they start a zygote. None if there is no such place.
        run: runs interpreter and compiler.

    Returns:
        The path of the shared object, or None, with the reason logged, when there is none to be had.
    """
    try:
        answers = _ask(python, run)
        folders = [NATIVE, cache_dir / digest()[-16:]] if cache_dir else [NATIVE]
        for folder in folders:
            built = folder / f"_native{answers['suffix']}"
            if is_current(built):
                _try_out(python, built, run)
                _note_use(folder)
                return built
        if cache_dir is None:
            raise BuildError("there is no folder to keep it in; set HOME or XDG_CACHE_HOME")
        _forget_old(cache_dir)
        return build(python, folders[-1], answers, run)
    except BuildError as error:
        _log.warning("no native helper for %s, its pure twin serves: %s", python, error)
        return None


def build(python: Path, folder: Path, answers: dict[str, object] | None = None, run: Run = _run) -> Path:
    """Compile the helper for `python` into `folder`, replacing an existing one, and test it.

    Args:
        python: the interpreter to build for.
        folder: where the file goes; made when it is missing.
        answers: facts about that interpreter, if already known.
        run: runs interpreter and compiler.

    Returns:
        The path of the shared object. Raises BuildError.
    """
    answers = answers or _ask(python, run)
    target = folder / f"_native{answers['suffix']}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            fresh = Path(scratch) / target.name
            _compile(answers, fresh, run)
            _try_out(python, fresh, run)
            os.replace(fresh, target)  # nobody ever sees half a file
    except OSError as error:
        raise BuildError(f"{folder} cannot be written ({error.strerror or error})") from error
    return target


def _note_use(folder: Path) -> None:
    with contextlib.suppress(OSError):  # the package's own may be somebody else's
        os.utime(folder)


def _forget_old(cache_dir: Path) -> None:
    """Remove what no daemon has started with for long, and what is left of builds that were killed."""
    with contextlib.suppress(OSError):
        for each in cache_dir.iterdir():
            if time.time() - each.stat().st_mtime > _KEPT_S:
                shutil.rmtree(each) if each.is_dir() else each.unlink()


def is_current(built: Path) -> bool:
    """Whether this file was compiled from the sources as they are now; they leave their digest in it."""
    try:
        return digest().encode() in built.read_bytes()
    except (OSError, BuildError):
        return False


def digest() -> str:
    """Names sources and flags. Raises BuildError when the sources are not installed."""
    text = hashlib.sha256(" ".join(_FLAGS).encode())
    for name in (*SOURCES, *HEADERS):
        try:
            text.update(b"\0" + (SOURCE_FOLDER / name).read_bytes())
        except OSError as error:
            raise BuildError(f"its source {SOURCE_FOLDER / name} cannot be read ({error.strerror})") from error
    return "cruxcell-" + text.hexdigest()[:32]


def _ask(python: Path, run: Run) -> dict[str, object]:
    try:
        done = run([str(python), "-I", "-c", _QUESTION], _TIMEOUT_S)
        answers: dict[str, object] = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise BuildError(f"{python} does not answer questions about itself ({error})") from error
    if not answers["suffix"] or answers["version"] < [3, 8]:  # type: ignore[operator]
        raise BuildError(f"{python} is not a CPython of 3.8 or later")
    return answers


def _compile(answers: dict[str, object], target: Path, run: Run) -> None:
    include: list[str] = answers["include"]  # type: ignore[assignment]
    if not any((Path(folder) / "Python.h").exists() for folder in include):
        raise BuildError(f"its C headers are not installed (no Python.h in {' or '.join(include)})")
    command = [
        *_compiler(str(answers["compiler"])),
        *_FLAGS,
        f'-DCRUXCELL_SOURCE="{digest()}"',
        *(f"-I{folder}" for folder in include),
        *_as_one(),
        *("-o", str(target)),
    ]
    try:
        done = run(command, _TIMEOUT_S)
    except subprocess.SubprocessError as error:
        raise BuildError(f"the compiler did not finish ({error})") from error
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        first = next((line for line in lines if "error" in line), lines[-1])
        raise BuildError(f"{command[0]} refuses it: {first}")


def _as_one() -> Iterator[str]:
    """The sources as one: most of the time that each takes by itself goes into the interpreter's headers."""
    for name in SOURCES[:-1]:
        yield from ("-include", str(SOURCE_FOLDER / name))
    yield str(SOURCE_FOLDER / SOURCES[-1])


def _compiler(own: str) -> list[str]:
    """The compiler that $CC names, else the one the interpreter was built with, else a usual one."""
    for words in (shlex.split(os.environ.get("CC", "")), shlex.split(own), *([name] for name in _COMPILERS)):
        if words and shutil.which(words[0]):
            return words
    raise BuildError("no C compiler is installed (looked for $CC, cc, gcc, clang)")


def _try_out(python: Path, built: Path, run: Run) -> None:
    """Raises BuildError when the interpreter cannot use this file."""
    try:
        done = run([str(python), "-I", "-S", "-c", _TRIAL, str(built)], _TIMEOUT_S)
    except (OSError, subprocess.SubprocessError) as error:
        raise BuildError(f"{built.name} could not be tried out ({error})") from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        raise BuildError(f"{built.name} does not load ({last})")
