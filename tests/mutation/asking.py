"""Asks tests about a change: processes that have collected them, in a copy of the sources, and what each test runs."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mutation.modules import ROOT, TESTS

if TYPE_CHECKING:  # needs Cosmic Ray, which the tests of this module do not
    from mutation.changes import Mutant

TIMEOUT_S = 100  # for a file of tests
_TRACED_S = 30 * 60  # for one that is traced
_ENDS_S = 2  # in which a process ends that is not asked
_MOST_WARM = 12  # processes that have collected a file which nobody asks now
# For some of its tests, by how long they take without a change; what they start has to start first.
_AT_LEAST_S, _WITH_PROCESSES_S, _TIMES = 10, 40, 10
OPTIONS = ["-x", "-q", "--no-header", "--timeout=60", "--hypothesis-seed=0"]  # for pytest
EVERY = ["-m", "processes or not processes"]
NOT_TAKEN = 70  # a process could not take a change into what it has imported
# Said of a test instead of what failed: it waits for ever, or the host is busy, or nobody knows what it said.
TOO_LONG = " took too long"
ENDLESS = " has no end"  # it used CPU time as if in a loop without end, which no host makes it do


class Gone(Exception):
    """The process of a file of tests has ended without an answer, which says nothing of a change."""

    def __init__(self, test: str) -> None:
        super().__init__(f"{test or 'what collects anew'}: its process ended")
        self.test = test


class Copy:
    """A copy of the sources, and the processes that run tests in it."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder = folder
        named = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
        )
        for name in named.stdout.splitlines():
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / name, folder / name)
        for each in [folder, *[path for path in folder.rglob("*") if path.is_dir()]]:
            each.chmod(0o755)  # workers are other users
        self._python = python
        self._warm: dict[str, Warm] = {}
        self._is_closed = False

    def warm(self, test: str) -> Warm:
        """The process that has collected `test`; that of "" collects anew for every run."""
        if self._is_closed:
            sys.exit()  # the thread that asks
        if test not in self._warm:
            self._warm[test] = Warm(self.folder, self._python, test)
        self._warm[test] = self._warm.pop(test)  # behind those that were asked before
        return self._warm[test]

    def keep_warm(self, tests: list[str]) -> None:
        """Close the processes of other tests, those asked last apart: many modules share their slowest files."""
        others = [test for test in self._warm if test and test not in tests]
        for test in others[:-_MOST_WARM]:
            self._warm.pop(test).end()

    def close(self) -> None:
        """Also while one is asked."""
        self._is_closed = True
        for warm in list(self._warm.values()):
            warm.end(_ENDS_S)

    def noticed(self, mutant: Mutant, tests: list[str], traced: Traced) -> str:
        """A test that fails with this change, "" if none does; one that took too long, if that is all."""
        found = ""
        for test in tests:
            found = self._asked(test, mutant, traced.by(test, self)) or found
            if found and TOO_LONG not in found:
                break
        return found

    def _asked(self, test: str, mutant: Mutant, known: Coverage) -> str:
        """What the tests of a file say of a change. A process that ends instead is started once more."""
        target = self.folder / "sandbox" / mutant.module
        source = target.read_text()
        for _ in range(2):
            self.warm(test)  # which has to import the source as it is
            target.write_text(mutant.source)
            try:
                return self._failing(test, mutant, source, known)
            except Gone as gone:
                self._warm.pop(gone.test).end()
            finally:
                target.write_text(source)
        return test + TOO_LONG

    def _failing(self, test: str, mutant: Mutant, source: str, known: Coverage) -> str:
        if mutant.is_inside:
            tests = known.asked_about(mutant)
            answer = {"status": 0}
            if tests:
                most_s = known.most_s(tests)
                answer = self.warm(test).ask(module=mutant.module, source=source, tests=tests, most_s=most_s)
            for each in answer.get("failed", []):  # it may notice what is changed beside this, too: it is asked first
                known.lines = {each: known.lines[each], **known.lines} if each in known.lines else known.lines
            if answer["status"] != NOT_TAKEN:
                return " ".join(answer.get("failed", [])) or _noticed(test, answer["status"])
        status = self.warm("").ask(arguments=pytest_arguments(test))["status"]
        if status in (NOT_TAKEN, -2):  # no test has said it; how much CPU time all of a file takes, nobody has measured
            return test + TOO_LONG
        return _noticed(test, status)


def _noticed(test: str, status: int) -> str:
    return test + {-1: TOO_LONG, -2: ENDLESS}.get(status, "") if status else ""


class Warm:
    """A process that has imported what no mutant changes, and collected the tests of a file, if one is named."""

    def __init__(self, folder: Path, python: str, test: str) -> None:
        self._test = test
        paths = [str(folder / part) for part in ("sandbox", "client", "proto")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
        self._process = subprocess.Popen(
            [python, str(ROOT / "tests/mutation/warm.py"), *(pytest_arguments(test) if test else [])],
            cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        # The tests it has, and whether each starts processes.
        self.tests: dict[str, bool] = self._answer().get("tests", {})

    def ask(self, **request: object) -> dict[str, Any]:
        """What `warm.py` answers; raises Gone if it has ended, before the question or at it."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # then there is no answer
            print(json.dumps({"most_s": TIMEOUT_S, **request}), file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise Gone(self._test)
        answer: dict[str, Any] = json.loads(line)
        return answer

    def end(self, within_s: float = TIMEOUT_S) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(within_s)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            self._process.wait()


def pytest_arguments(test: str) -> list[str]:
    words = shlex.split(f"tests/{test}")
    every = [] if "-m" in words else EVERY  # only who chooses by marks has tests marked
    return [*OPTIONS, *every, *words]


@dataclass
class Coverage:
    """Which lines of modules each test of a file runs, in this process or a daemon; the quickest test first."""

    lines: dict[str, dict[str, set[int]]]  # of each test, by module
    elsewhere: list[str]  # tests that start zygotes, whose lines nobody sees
    seconds: dict[str, float]  # how long each takes
    failing: str

    def most_s(self, tests: list[str]) -> float:
        """How long these may take with a change: some wait for what never comes then."""
        at_least_s = _AT_LEAST_S if set(tests).isdisjoint(self.elsewhere) else _WITH_PROCESSES_S
        return min(TIMEOUT_S, at_least_s + _TIMES * sum(self.seconds[test] for test in tests))

    def asked_about(self, mutant: Mutant) -> list[str]:
        """The tests that can notice a change, the quickest first."""
        found = [test for test, by in self.lines.items() if by.get(mutant.module, set()).intersection(mutant.lines)]
        if mutant.module.startswith("cruxcell/"):
            found += [test for test in self.elsewhere if test not in found]
        return found


def coverage(copy: Copy, test: str) -> Coverage:
    """Of all modules that name the test: a file is traced once."""
    warm = copy.warm(test)
    modules = [module for module, tests in TESTS.items() if test in tests]
    with tempfile.TemporaryDirectory(prefix="cruxbox-lines-") as folder:
        Path(folder).chmod(0o777)
        notes = Path(folder) / "lines"
        answer = warm.ask(modules=modules, tests=None, trace=str(notes), most_s=_TRACED_S)
        written = notes.read_text().splitlines() if notes.exists() else []
    seconds = answer.get("seconds", {})
    if not seconds:
        return Coverage({}, [], {}, _noticed(test, answer["status"]))
    lines: dict[str, dict[str, set[int]]] = {name: {} for name in sorted(seconds, key=seconds.__getitem__)}
    order = list(seconds)
    for number, module, line in map(str.split, written):
        lines[order[int(number)]].setdefault(modules[int(module)], set()).add(int(line))
    failing = answer.get("failed", [])
    if failing:
        answer = warm.ask(tests=failing, most_s=_TRACED_S)  # they may not like to be traced
    elsewhere = [name for name in lines if warm.tests[name]]
    return Coverage(lines, elsewhere, seconds, " ".join(answer.get("failed", [])) or _noticed(test, answer["status"]))


class Traced:
    """What the files of tests run; a file is measured when the first mutant comes to it."""

    def __init__(self) -> None:
        self._found: dict[str, Coverage] = {}
        self._locks = {test: threading.Lock() for tests in TESTS.values() for test in tests}

    def by(self, test: str, copy: Copy) -> Coverage:
        """`copy` has no mutant at this moment."""
        with self._locks[test]:
            if test not in self._found:
                self._found[test] = coverage(copy, test)
            found = self._found[test]
        if found.failing:
            raise FailsAsItIs(f"{found.failing} fails as it is")
        return found


class FailsAsItIs(Exception):
    """A test that fails without a change."""
