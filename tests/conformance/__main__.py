"""``python -m conformance [--target T] [SECTION | SECTION/CASE]...``: run the suite and print the table."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from collections import Counter

from conformance.case import Case
from conformance.cases import ALL, SECTIONS
from conformance.daemon import DaemonError
from conformance.gate import NotConfined, refuse_unless_confined
from conformance.lab import Lab
from conformance.runner import Result, run_case


class UnknownCase(Exception):
    """Nothing has this name; says what is like it."""


def chosen(words: list[str]) -> list[Case]:
    """The cases of the named sections (`files`) and names (`files/read-passwd`), in their order; all when none is."""
    wanted: set[str] = set()
    for word in words:
        found = {case.name for case in ALL if word in (case.section, case.name)}
        if not found:
            near = difflib.get_close_matches(word, [*SECTIONS, *(case.name for case in ALL)], 3)
            raise UnknownCase(f"{word!r} is no case and no section" + (f"; near it: {', '.join(near)}" if near else ""))
        wanted |= found
    return [case for case in ALL if not words or case.name in wanted]


def show(result: Result) -> None:
    """One line a case, and one for each problem."""
    case = result.case
    state = "skipped" if result.skipped else "ok" if result.ok else "FAILED"
    effects = result.skipped or f"{len(result.checked)} effects held" if result.ok else "; ".join(result.checked)
    got = "" if result.skipped else result.got
    print(f"{case.name:36} {case.title[:46]:46} {result.expected[:12]:12} {got[:8]:8} {state:7} ", end="")
    print(effects if result.ok else "")
    for problem in result.problems:
        print(f"      ! {problem[:400]}")
    sys.stdout.flush()


def totals(results: list[Result]) -> int:
    """Print the sums; the number of failed cases."""
    count = Counter("skipped" if r.skipped else "as expected" if r.ok else "FAILED" for r in results)
    who = "root" if os.geteuid() == 0 else f"uid {os.geteuid()}"
    print(
        f"\n{len(results)} {'case' if len(results) == 1 else 'cases'} as {who}: "
        + ", ".join(f"{number} {name}" for name, number in sorted(count.items()))
    )
    in_process = [name for result in results for name in result.in_process]
    print(f"{len(in_process)} checks were judged IN_PROCESS" + (":" if in_process else ""))
    for name in in_process:
        print(f"  {name}")
    return count["FAILED"]


def main() -> int:
    """Exit code 0 when every case is as expected, 1 when not, 2 when the suite could not run."""
    parser = argparse.ArgumentParser(prog="conformance", description=__doc__)
    parser.add_argument("cases", nargs="*", help="files or files/read-passwd; all when none is given")
    parser.add_argument("--target", default=os.environ.get("CRUXBOX_TARGET"), help="a running server's gRPC address")
    parser.add_argument("--count", action="store_true", help="print how many cases there are, and nothing else")
    arguments = parser.parse_args()
    try:
        cases = chosen(arguments.cases)
    except UnknownCase as error:
        print(error, file=sys.stderr)
        return 2
    if arguments.count:
        print(len(cases))
        return 0
    try:
        lab = Lab(arguments.target)
    except DaemonError as error:
        print(error, file=sys.stderr)
        return 2
    try:
        refuse_unless_confined(lab)
        lab.calm()
        results = []
        for case in cases:
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
