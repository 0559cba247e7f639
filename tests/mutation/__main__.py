"""Change the trusted modules one place at a time, run the tests that pin them, and list the changes that none noticed.

Cosmic Ray makes the changes; three more kinds are made here, the ones that matter most: a condition that never or
always holds, and an operand of an `and` or `or` that is left out. That is how a check disappears. Each mutant lives in
a copy of the sources, never in the working tree. A survivor is listed with its place and change, unless `harmless.txt`
says why it changes nothing that counts. The same options give the same sample.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import queue
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from mutation.changes import KINDS, Mutant, mutants
from mutation.modules import ROOT, TESTS, harmless

TIMEOUT_S = 100  # for a file of tests
_TRACED_S = 30 * 60  # for one that is traced
_ENDS_S = 2  # in which a process ends that is not asked
_MOST_WARM = 12  # processes that have collected a file which nobody asks now
# For some of its tests, by how long they take without a change; what they start has to start first.
_AT_LEAST_S, _WITH_PROCESSES_S, _TIMES = 10, 40, 10
OPTIONS = ["-x", "-q", "--no-header", "--timeout=60", "--hypothesis-seed=0"]  # for pytest
EVERY = ["-m", "processes or not processes"]
NOT_TAKEN = 70  # a process could not take a change into what it has imported
TOO_LONG = " took too long"  # said of a test instead of what failed: it waits for ever, or the host is busy
ENDLESS = " has no end"  # it used CPU time as if in a loop without end, which no host makes it do


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
            self._warm[test] = Warm(self.folder, self._python, pytest_arguments(test) if test else [])
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
        target = self.folder / "sandbox" / mutant.module
        source = target.read_text()
        found = ""
        for test in tests:
            each = traced.by(test, self)
            self.warm(test)  # which has to import the source as it is
            target.write_text(mutant.source)
            try:
                found = self._failing(test, mutant, source, each) or found
            finally:
                target.write_text(source)
            if found and TOO_LONG not in found:
                break
        return found

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
        return _noticed(test, max(status, -1))  # how much CPU time all of a file takes, nobody has measured


def _noticed(test: str, status: int) -> str:
    return test + {-1: TOO_LONG, -2: ENDLESS}.get(status, "") if status else ""


class Warm:
    """A process that has imported what no mutant changes, and collected the tests if it was given any."""

    def __init__(self, folder: Path, python: str, arguments: list[str]) -> None:
        paths = [str(folder / part) for part in ("sandbox", "client", "proto")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}
        self._process = subprocess.Popen(
            [python, str(ROOT / "tests/mutation/warm.py"), *arguments],
            cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        # The tests it has, and whether each starts processes.
        self.tests: dict[str, bool] = self._answer().get("tests", {})

    def ask(self, **request: object) -> dict[str, Any]:
        """What `warm.py` answers."""
        assert self._process.stdin is not None
        print(json.dumps({"most_s": TIMEOUT_S, **request}), file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"status": NOT_TAKEN}
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
            raise FailsAsItIs(found.failing)
        return found


class FailsAsItIs(Exception):
    """A test that fails without a change."""


@contextlib.contextmanager
def copies(options: argparse.Namespace) -> Iterator[list[Copy]]:
    with tempfile.TemporaryDirectory(prefix="cruxbox-mutation-") as folder:
        Path(folder).chmod(0o755)
        made = [Copy(Path(folder) / str(at), options.python) for at in range(options.jobs)]
        try:
            yield made
        finally:
            for each in made:
                each.close()


class Kept:
    """What came of mutants, in a file: a line each, of which the last one counts."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        lines = path.read_text().splitlines() if path and path.exists() else []
        self._by = {(module, place, change): by for module, place, change, by in map(json.loads, lines)}

    def by(self, mutant: Mutant) -> str | None:
        """The test that noticed a mutant, "" if none did, None if nobody has tried."""
        return self._by.get((mutant.module, mutant.place, mutant.change))

    def note(self, mutant: Mutant, by: str) -> None:
        self._by[mutant.module, mutant.place, mutant.change] = by
        if self._path:
            with self._path.open("a") as file:
                file.write(json.dumps([mutant.module, mutant.place, mutant.change, by]) + "\n")


def try_all(chosen: list[Mutant], made: list[Copy], kept: Kept, first: int | None, until: float) -> str:
    """Try every mutant, by as many at a time as there are copies, until the time is up; keep what came of them.

    `first` is how many files of tests are asked of each. Returns what fails without a change: its module is not asked.
    """
    traced = Traced()
    waiting: queue.SimpleQueue[Mutant] = queue.SimpleQueue()
    for mutant in chosen:
        waiting.put(mutant)
    lock = threading.Lock()
    failing: dict[str, str] = {}

    def work(copy: Copy) -> None:
        while time.monotonic() < until:
            try:
                mutant = waiting.get_nowait()
            except queue.Empty:
                return
            if mutant.module in failing:
                continue
            tests = TESTS[mutant.module][:first]
            copy.keep_warm(tests)
            try:
                by = copy.noticed(mutant, tests, traced)
            except FailsAsItIs as error:
                failing[mutant.module] = f"{mutant.module}: {error} fails as it is"
                continue
            with lock:
                if by or tests == TESTS[mutant.module]:
                    kept.note(mutant, by)

    threads = [threading.Thread(target=work, args=[copy], daemon=True) for copy in made]  # a signal ends the run
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return "\n".join(failing.values())


def report(chosen: list[Mutant], kept: Kept, verbose: bool) -> bool:
    """Print the survivors, and for each module what came of its mutants. Is none left?"""
    known = harmless()
    counts: dict[str, Counter[str]] = {}
    for mutant in chosen:
        by = kept.by(mutant)
        is_known = f"{mutant.module}: {mutant.change}" in known
        kind = "harmless" if is_known else "untried" if by is None else "killed" if by else "survived"
        kind = "unsure" if kind == "killed" and TOO_LONG in str(by) else kind
        counts.setdefault(mutant.module, Counter())[kind] += 1
        if kind in ("survived", "unsure") or verbose:
            why = f"  ({by or kind})" if verbose or kind == "unsure" else ""
            print(f"sandbox/{mutant.module}:{mutant.line}: {mutant.change}{why}")
    for module, found in counts.items():
        print(f"  {module}: " + ", ".join(f"{number} {kind}" for kind, number in sorted(found.items())))
    every = sum(counts.values(), Counter())
    tried = every["killed"] + every["survived"]
    untried = "".join(f", {every[kind]} {kind}" for kind in ("unsure", "untried") if every[kind])
    print(f"{every['killed']} of {tried} killed, {every['survived']} survived, {every['harmless']} harmless{untried}")
    return not every["survived"]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__.splitlines()[0])
    parser.add_argument("--modules", nargs="*", default=[], metavar="TEXT", help="only those whose path holds one")
    parser.add_argument("--lines", type=bounds, default=(1, 10**6), metavar="A-B", help="only changes in these lines")
    parser.add_argument("--sample", type=int, default=5, metavar="N", help="mutants of each module; 0 is all (5)")
    kinds = "guards: conditions taken away; conditions: changed ones, constants and loops, too; all: everything (all)"
    parser.add_argument("--kinds", choices=KINDS, default="all", help=kinds)
    parser.add_argument("--verbose", action="store_true", help="also say which test noticed a change")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="what came of each; those killed are not tried again")
    parser.add_argument(
        "--first", type=int, metavar="N", help="ask only the cheapest files of tests; keep only what dies"
    )
    parser.add_argument("--minutes", type=float, default=600, help="how long to go on; 0 prints what is kept (600)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (0)")
    parser.add_argument("--jobs", type=int, default=2, help="mutants tried at a time (2)")
    parser.add_argument(
        "--python", type=os.path.abspath, default=ROOT / ".venv/bin/python", help="the interpreter that runs the tests"
    )
    options = parser.parse_args()
    options.modules = [
        module for module in TESTS if not options.modules or any(map(module.__contains__, options.modules))
    ]
    named = [f"sandbox/{module}" for module in options.modules]
    named += [f"tests/{shlex.split(test)[0]}" for module in options.modules for test in TESTS[module]]
    absent = [name for name in named if not (ROOT / name).is_file()]
    if absent:
        parser.error(f"tests/mutation/modules.py names {absent[0]}, which does not exist")
    if not options.modules:
        parser.error(f"--modules: no such module; there are {', '.join(TESTS)}")
    return options


def bounds(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    return int(first), int(last or 10**6)


def sample_of(options: argparse.Namespace) -> list[Mutant]:
    """The mutants to be tried: a sample that depends on the options and the sources alone."""
    chosen = []
    for module in options.modules:
        found = mutants(ROOT, module, options.kinds, random.Random(f"{options.seed} {module}"), options.lines)
        chosen += list(islice(found, options.sample or None))
    return sorted(chosen, key=lambda mutant: (options.modules.index(mutant.module), mutant.line, mutant.operator))


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(2))  # with what it has made tidied up
    chosen = sample_of(options)
    kept, known = Kept(options.keep), harmless()
    until = time.monotonic() + 60 * options.minutes
    open_yet = [each for each in chosen if not (by := kept.by(each)) or TOO_LONG in by]
    waiting = [each for each in open_yet if f"{each.module}: {each.change}" not in known]
    # A run that its time cuts short has asked a part that nobody chose.
    order = random.Random(options.seed).sample(options.modules, len(options.modules))
    waiting.sort(key=lambda mutant: order.index(mutant.module))
    with copies(options) as made:
        failing = try_all(waiting, made, kept, options.first, until)
    is_clean = report(chosen, kept, options.verbose)
    if failing:
        print(failing, file=sys.stderr)
        return 2
    return 0 if is_clean else 1


if __name__ == "__main__":
    sys.exit(main())
