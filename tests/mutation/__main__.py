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
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import groupby, islice
from pathlib import Path

from mutation.asking import TOO_LONG, Copy, FailsAsItIs, Gone, Traced
from mutation.changes import KINDS, Mutant, mutants
from mutation.modules import ROOT, TESTS, harmless

_AT_ONCE = 4  # mutants of a module that a copy takes: its tests are collected there alone


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
    waiting: queue.SimpleQueue[list[Mutant]] = queue.SimpleQueue()
    for _, found in groupby(chosen, key=lambda mutant: mutant.module):
        same = list(found)
        for at in range(0, len(same), _AT_ONCE):
            waiting.put(same[at : at + _AT_ONCE])
    lock = threading.Lock()
    failing: dict[str, str] = {}

    def handed_out() -> Iterator[Mutant]:
        with contextlib.suppress(queue.Empty):
            while True:
                yield from waiting.get_nowait()

    def work(copy: Copy) -> None:
        for mutant in handed_out():
            if time.monotonic() >= until:
                return
            if mutant.module in failing:
                continue
            tests = TESTS[mutant.module][:first]
            copy.keep_warm(tests)
            try:
                by = copy.noticed(mutant, tests, traced)
            except (FailsAsItIs, Gone) as error:
                failing[mutant.module] = f"{mutant.module}: {error}"
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
