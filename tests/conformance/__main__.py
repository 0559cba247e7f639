"""``python -m conformance [--target T] [NUMBER | SECTION]...``: run the suite and print the table."""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter

from conformance.case import Case
from conformance.cases import ALL
from conformance.daemon import DaemonError
from conformance.gate import NotConfined, refuse_unless_confined
from conformance.lab import Lab
from conformance.runner import Result, run_case


def chosen(words: list[str]) -> list[Case]:
    """The cases that are named by number (7), range (7-12) or section (A); all when none is."""
    numbers: set[int] = set()
    for word in words:
        if word.isalpha():
            numbers |= {case.number for case in ALL if case.section == word.upper()}
        else:
            first, _, last = word.partition("-")
            numbers |= set(range(int(first), int(last or first) + 1))
    return [case for case in ALL if not words or case.number in numbers]


def show(result: Result) -> None:
    """One line a case, and one for each problem."""
    case = result.case
    state = "skipped" if result.skipped else "ok" if result.ok else "FAILED"
    effects = result.skipped or f"{len(result.checked)} effects held" if result.ok else "; ".join(result.checked)
    got = "" if result.skipped else result.got
    print(
        f"{case.section} {case.number:3} {case.title[:58]:58} {result.expected[:12]:12} {got[:8]:8} {state:7} ", end=""
    )
    print(effects if result.ok else "")
    for problem in result.problems:
        print(f"      ! {problem[:400]}")
    sys.stdout.flush()


def totals(results: list[Result]) -> int:
    """Print the sums; the number of failed cases."""
    count = Counter("skipped" if r.skipped else "as expected" if r.ok else "FAILED" for r in results)
    who = "root" if os.geteuid() == 0 else f"uid {os.geteuid()}"
    print(
        f"\n{len(results)} cases as {who}: " + ", ".join(f"{number} {name}" for name, number in sorted(count.items()))
    )
    in_process = [name for result in results for name in result.in_process]
    print(f"{len(in_process)} checks were judged IN_PROCESS" + (":" if in_process else ""))
    for name in in_process:
        print(f"  {name}")
    return count["FAILED"]


def main() -> int:
    """Exit code 0 when every case is as expected, 1 when not, 2 when the suite could not run."""
    parser = argparse.ArgumentParser(prog="conformance", description=__doc__)
    parser.add_argument("cases", nargs="*", help="numbers, ranges or section letters; all when none is given")
    parser.add_argument("--target", default=os.environ.get("CRUXBOX_TARGET"), help="a running server's gRPC address")
    arguments = parser.parse_args()
    try:
        lab = Lab(arguments.target)
    except DaemonError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        refuse_unless_confined(lab)
        lab.calm()
        results = []
        for case in chosen(arguments.cases):
            results.append(run_case(lab, case))
            show(results[-1])
        return 1 if totals(results) else 0
    except NotConfined as error:
        print(error, file=sys.stderr)
        return 2
    finally:
        lab.close()


if __name__ == "__main__":
    sys.exit(main())
