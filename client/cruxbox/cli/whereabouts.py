"""Where the samples of a command run: on which runtimes, with which packages, imported beforehand or not."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from cruxbox.cli.running import Running
from cruxbox.client import Client
from cruxbox.errors import InvalidRequest
from cruxbox.problems.packages import Lacking, lacking, missing_of, not_there, problem_of, refused
from cruxbox.problems.shapes import Problems, Sample

# What an interpreter says that a server can use.
_YES = b"yes"
_WHICH = "import sys; print(end='yes' if sys.implementation.name == 'cpython' and sys.version_info >= (3, 8) else '')"
_PATIENCE_S = 60.0
_ASKED_AT_ONCE = 8
_SHOWN = 200  # characters of the name of a runtime, which may be a path


class Whereabouts:
    """The runtimes of `samples`: those of the server; of a server of the command's own, interpreters by their path."""

    def __init__(self, running: Running, problems: Problems, samples: Sequence[Sample], column: str) -> None:
        self._problems, self._samples, self._column = problems, samples, column
        # Runtimes that are interpreters have names of their own, by which their samples ask for them.
        paths = sorted({each.runtime for each in samples if "/" in each.runtime}) if running.server is None else []
        self._names = {path: f"column-{number}" for number, path in enumerate(_interpreters(paths), 1)}
        self._fallback = running.runtime
        # The runtime of a row goes before the command's, which is for rows without one.
        self.running = replace(running, runtime="") if column else running
        self.server_args = [] if running.server is not None else self._server_args(running)

    def _server_args(self, running: Running) -> list[str]:
        used = sorted({each.task_id for each in self._samples if each.task_id in self._problems})
        modules = sorted({name for task_id in used for name in self._problems[task_id].preloads})
        arguments = []
        if self._names and running.python is None:
            arguments.append(f"--runtime=default={_own_python()}")
        arguments += [f"--runtime={name}={path}" for path, name in self._names.items()]
        needs = {name for task_id in used for name in self._problems[task_id].needs}
        # What is no part of the standard library is only known to be there where an interpreter was named.
        modules = [name for name in modules if running.python is not None or name not in needs]
        return [*arguments, f"--preload=default={','.join(modules)}"] if modules else arguments

    def checked(self, client: Client) -> list[Sample]:
        """The samples with the runtimes they run on. Those that ask for one that is not there, or lacks a package that
        their tests import, have a fault.

        Raises InvalidRequest where the one runtime of all samples lacks a package that a benchmark is known to need.
        """
        known = {one.name for one in client.info().runtimes}
        samples = [self._on_runtime(each, known) for each in self._samples]
        found = lacking(client, self._problems, samples, self.running.runtime)
        if found and not self._column:
            [(runtime, names)] = found.items()
            needed = frozenset().union(*(problem_of(each, self._problems).needs for each in samples))
            if missing := [name for name in names if name in needed]:
                raise InvalidRequest(
                    f"{not_there(missing, runtime)}; name an interpreter that has it with --python PATH, or a runtime "
                    "of the server with --runtime (cruxbox runtimes)."
                )
        return [self._with_packages(each, found) for each in samples]

    def _on_runtime(self, sample: Sample, known: set[str]) -> Sample:
        if not self._column or sample.fault:
            return sample
        if not sample.runtime:
            fault = f"field {self._column!r}, which names the runtime, is missing"
            return replace(sample, runtime=self._fallback, fault="" if self._fallback else fault, counts=False)
        name = self._names.get(sample.runtime, sample.runtime)
        if name in known:
            return replace(sample, runtime=name)
        there = ", ".join(sorted(known - set(self._names.values()))[:10])
        fault = f"the server has no runtime {sample.runtime[:_SHOWN]!r}; it has {there}"
        if "/" in sample.runtime and self.running.server is None:
            what = "is not a working CPython from 3.8 on" if os.path.isfile(sample.runtime) else "is no file"
            fault = f"{sample.runtime[:_SHOWN]!r} {what}"
        return replace(sample, fault=fault, counts=False)

    def _with_packages(self, sample: Sample, found: Lacking) -> Sample:
        runtime = sample.runtime or self.running.runtime
        path = next((path for path, name in self._names.items() if name == runtime), runtime)
        return refused(sample, missing_of(sample, self._problems, found, self.running.runtime), path)


def _interpreters(paths: Sequence[str]) -> list[str]:
    """Those of `paths` that a server can use: with any other it does not start, for a single row's sake."""
    with ThreadPoolExecutor(_ASKED_AT_ONCE) as asking:
        return [path for path, works in zip(paths, asking.map(_is_interpreter, paths)) if works]


def _is_interpreter(path: str) -> bool:
    command = [path, "-I", "-S", "-c", _WHICH]
    try:
        asked = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except (OSError, ValueError):  # ValueError: a NUL in the name
        return False
    patience = threading.Timer(_PATIENCE_S, asked.kill)
    patience.start()
    with asked:
        assert asked.stdout is not None
        said = asked.stdout.read(len(_YES) + 1)  # any program may be named, and some print without end
        patience.cancel()
        asked.kill()
    return said == _YES


def _own_python() -> str:
    import sys

    return sys.executable
