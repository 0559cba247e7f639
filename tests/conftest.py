"""Rules for every test: where its files go, and which tests start processes.

What a test run puts into the temporary folder is below one folder, which goes with the run. It is held by a lock: the
folder of a run that was killed is swept by the next one.

`make quick` runs the tests without the marker `processes`. Nobody sets that marker by hand: a test has it if its module
imports something that starts processes, or if it uses a fixture that does. A test without the marker that starts a
process all the same fails.
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import functools
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from cruxbox.scratch import ScratchFolder

_scratch = ScratchFolder("cxt-")  # short: unix sockets below it have short paths
_scratch.path.chmod(0o755)  # workers are other users, and some tests look on as one
os.environ["TMPDIR"] = tempfile.tempdir = str(_scratch.path)
# Of all processes of the run: what takes long to make is made by one of them.
os.environ.setdefault("CRUXBOX_TEST_RUN", str(_scratch.path))
atexit.register(_scratch.remove)

# The same examples in every run, however slow the machine: a suite that fails once must fail again. CRUXBOX_EXAMPLES
# asks for more of them. Some suites run in an environment without Hypothesis.
with contextlib.suppress(ImportError):
    from hypothesis import HealthCheck, settings

    settings.register_profile(
        "cruxbox",
        max_examples=int(os.environ.get("CRUXBOX_EXAMPLES", "100")),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("cruxbox")


# A test file that imports one of these, itself or through a helper beside it, or one of these names; and fixtures.
_STARTERS = {
    "subprocess", "multiprocessing", "cruxbox.cli", "cruxbox.embedded",
    "cruxboxd.server.daemon", "cruxboxd.server.engine", "cruxboxd.server.network", "cruxboxd.scheduling.scheduler",
    "cruxboxd.zygotes.zygote_process",
}  # fmt: skip
_STARTING_NAMES = {"Client", "AsyncClient", "EmbeddedServer", "Lab"}
_STARTING_FIXTURES = {"native", "pure", "server", "daemons", "lab"}
_TESTS = Path(__file__).parent
_STARTING_EVENTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"}
_unmarked: list[str] = []  # the test that runs, if it may start no process
_started: list[str] = []  # what it started


@functools.cache
def _imports_a_starter(path: Path) -> bool:
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
            if _STARTING_NAMES & {alias.name for alias in node.names}:
                return True
        else:
            continue
        if _STARTERS & set(modules) or any(map(_imports_a_starter, _helpers(path, modules))):
            return True
    return False


def _helpers(path: Path, modules: list[str]) -> Iterator[Path]:
    """The files of the tests that `modules` are."""
    for module in modules:
        for folder in (path.parent, _TESTS, _TESTS.parent):
            helper = folder.joinpath(*module.split(".")).with_suffix(".py")
            if helper.is_file() and helper != path:
                yield helper


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`make quick` does not even import the files whose tests it leaves out."""
    is_test = collection_path.suffix == ".py" and collection_path.name.startswith("test_")
    return (
        True if is_test and config.option.markexpr == "not processes" and _imports_a_starter(collection_path) else None
    )


# Files that take longest for what they hold: begun first, as one process has all tests of a file.
_LONG = [
    "cases", "stats_many_models", "stats_across", "fairness", "score", "canon_native", "bench_ours", "audit",
    "differential_slice", "preflight", "samples", "fuzz_values", "service_faults", "bench_layers", "finetune",
    "filter_seedless",
]  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Order the files; mark what starts processes, where somebody chooses by marks. It costs seconds of CPU time."""
    moving = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if moving:
        raise pytest.UsageError(f"a test has another name in each process: {moving[0]}")
    place = {f"test_{name}": at for at, name in enumerate(_LONG)}
    items.sort(key=lambda item: place.get(item.path.stem, len(place)))
    for item in items if config.option.markexpr else ():
        if _may_start(item):
            item.add_marker(pytest.mark.processes)


def _may_start(item: pytest.Item) -> bool:
    fixtures = set(getattr(item, "fixturenames", ()))
    return bool(fixtures & _STARTING_FIXTURES) or _imports_a_starter(item.path)


def _note_start(event: str, arguments: tuple[object, ...]) -> None:
    # ctypes asks ldconfig where libseccomp is.
    if _unmarked and event in _STARTING_EVENTS and "/ldconfig" not in str(arguments[:1]):
        _started.append(f"{event} {str(arguments)[:80]}")


sys.addaudithook(_note_start)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test that starts a process and has no marker for it."""
    if not (item.get_closest_marker("processes") or _may_start(item)):
        _unmarked.append(item.nodeid)
    try:
        result = yield
    finally:
        _unmarked.clear()
        started, _started[:] = list(_started), []
    assert not started, f"it starts a process ({started[0]}): name what starts it in tests/conftest.py"
    return result
