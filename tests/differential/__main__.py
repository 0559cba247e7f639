"""`make differential`: thousands of programs, three ways, on every interpreter found. Exit code 1 if any differs, or
could not be compared."""

from __future__ import annotations

import argparse
import sys
import time
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cell"))

from cruxbox import Client, Isolation
from interpreters import found_interpreters

from differential.corpus import SETS, Case
from differential.derived import derived
from differential.judging import NOT_COMPARED, by_cruxbox, by_plain_python, differences


def main() -> int:
    options = _options()
    found = found_interpreters()
    if options.python:
        found = [(version, python) for version, python in found if f"{version[0]}.{version[1]}" in options.python]
    flags = ["--own-packages", *(f"--runtime=py{version[0]}{version[1]}={python}" for version, python in found)]
    faults = 0
    with Client(server_args=[*flags, "--canary-s=0", *(["--pure"] if options.pure else [])]) as client:
        for version, python in found:
            for name in options.set or SETS:
                cases = [case for case in SETS[name](options.count, options.seed) if case.since <= version]
                faults += _compare(client, name, cases, version, python, further=options.derived)
    return 1 if faults else 0


def _compare(
    client: Client, name: str, cases: list[Case], version: tuple[int, int], python: Path, *, further: int
) -> int:
    began = time.monotonic()
    runtime = f"py{version[0]}{version[1]}"
    found, count = [], len(cases)
    for part in _parts(cases, 1_000):
        plain = by_plain_python(part, python)
        isolated = by_cruxbox(client, part, runtime, Isolation.PROCESS)
        shared = by_cruxbox(client, part, runtime, Isolation.AUTO)
        found += differences(part, plain, isolated, shared)
        more = list(derived(part[:further], plain))
        if more:
            ways = [by_cruxbox(client, more, runtime, isolation) for isolation in (Isolation.PROCESS, Isolation.AUTO)]
            found += differences(more, by_plain_python(more, python), *ways)
            count += len(more)
    seconds = time.monotonic() - began
    skipped = sum(difference.between == NOT_COMPARED for difference in found)
    told = f"{len(found) - skipped} differ" + (f", {skipped} {NOT_COMPARED}" if skipped else "")
    print(f"{runtime} {name}: {count} cases, {told} ({seconds:.0f} s)", flush=True)
    for difference in found[:40]:
        print(f"  {difference}", flush=True)
    return len(found)


def _parts(cases: list[Case], most: int) -> list[list[Case]]:
    rest = iter(cases)
    return list(iter(lambda: list(islice(rest, most)), []))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make differential")
    parser.add_argument("--count", type=int, default=1_000, help="programs of each generated or public set")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", action="append", choices=list(SETS), help="only this one; may be repeated")
    parser.add_argument("--python", action="append", help="only this version, 3.11 say; may be repeated")
    told = "so many cases of each thousand go the ways of scripts and programs, too"
    parser.add_argument("--derived", type=int, nargs="?", default=0, const=1_000, help=told)
    parser.add_argument("--pure", action="store_true", help="with the pure twin of the native helper")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
