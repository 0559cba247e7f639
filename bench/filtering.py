"""Filter many generated candidates through the daemon: rate, memory, and a run that is killed twice.

python -m bench.filtering --candidates 100000 --kills 2
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from cruxbox import Client, Limits
from cruxbox.cli.filter import spare_the_collector
from cruxbox.filtering import Plan, Summary, filter_file, load_rules

from bench import folders
from bench.daemon import family, running
from bench.workload import candidates

MB = 1 << 20


def main() -> None:
    """Measure, and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rules", default="paper")
    parser.add_argument("--cpu-limit", type=float, default=0.3, help="seconds a pair; the rules say 2")
    parser.add_argument("--without-stalls", action="store_true", help="no candidates that stall in C")
    parser.add_argument("--kills", type=int, default=0, help="run it again, killed so often, and compare the files")
    parser.add_argument("--child", nargs=3, metavar=("FOLDER", "TARGET", "ROW"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    spare_the_collector()  # as `cruxbox filter` does
    if asked.child:
        _run(Path(asked.child[0]), asked.child[1], asked, _kill_at(int(asked.child[2])))
        return
    with folders.folder() as folder, running() as daemon:
        _generate(folder, asked)
        before = _cpu(daemon.process.pid)
        figures = _measured(folder, daemon.target, asked)
        after = _cpu(daemon.process.pid)
        figures["cpu_us_a_pair"] |= {key: round((after[key] - before[key]) / figures["pairs"] * 1e6) for key in after}
        if asked.kills:
            figures["same_after_kills"] = _killed_and_compared(folder, daemon.target, asked)
    print(json.dumps(figures))


def _generate(folder: Path, asked: argparse.Namespace) -> None:
    with (folder / "in.jsonl").open("w") as out:
        for candidate in candidates(asked.seed, asked.candidates, stalls=not asked.without_stalls):
            out.write(json.dumps(candidate) + "\n")


def _measured(folder: Path, target: str, asked: argparse.Namespace) -> dict[str, Any]:
    process = psutil.Process()
    rss: dict[int, float] = {}
    quarter = max(1, asked.candidates // 4)

    def look(summary: Summary) -> None:
        if summary.rows % quarter == 0:
            rss[summary.rows] = round(process.memory_info().rss / MB, 1)

    started, cpu = time.monotonic(), time.process_time()
    summary = _run(folder, target, asked, look)
    elapsed = time.monotonic() - started
    return {
        **summary.as_dict(),
        "elapsed_s": round(elapsed, 1),
        "pairs_a_second": round(summary.pairs / elapsed),
        "client_rss_mb_by_row": rss,
        "cpu_us_a_pair": {"client": round((time.process_time() - cpu) / summary.pairs * 1e6)},
        "load": os.getloadavg()[0],
    }


def _run(folder: Path, target: str, asked: argparse.Namespace, look: Callable[[Summary], None]) -> Summary:
    rules = load_rules(asked.rules).with_limits(Limits(cpu_ms=round(asked.cpu_limit * 1000)))
    plan = Plan(folder / "in.jsonl", folder / "kept.jsonl", folder / "refused.jsonl", rules, resume=True)
    with Client(target) as client:
        return filter_file(plan, client, on_progress=look)


def _kill_at(row: int) -> Callable[[Summary], None]:
    def look(summary: Summary) -> None:
        if summary.rows == row:
            os.kill(os.getpid(), signal.SIGKILL)

    return look


def _killed_and_compared(folder: Path, target: str, asked: argparse.Namespace) -> bool:
    """Run it again, killed on the way; is every byte the same?"""
    whole = {name: (folder / name).rename(folder / f"whole-{name}") for name in ("kept.jsonl", "refused.jsonl")}
    step = asked.candidates // (asked.kills + 1)
    for row in [step * (number + 1) for number in range(asked.kills)] + [0]:
        command = [sys.executable, "-m", "bench.filtering", "--cpu-limit", str(asked.cpu_limit), "--rules", asked.rules]
        done = subprocess.run([*command, "--child", str(folder), target, str(row)], check=False)
        assert done.returncode == (-signal.SIGKILL if row else 0), "it did not end as it was to"
    return all((folder / name).read_bytes() == path.read_bytes() for name, path in whole.items())


def _cpu(pid: int) -> dict[str, float]:
    """CPU seconds of the daemon itself, of zygotes with their workers, and of zygotes that are gone."""
    daemon, *cells = family(pid)
    own = daemon.cpu_times()
    spent = {"daemon": own.user + own.system, "ended_zygotes": own.children_user + own.children_system, "cells": 0.0}
    for cell in cells:
        try:
            spent["cells"] += sum(cell.cpu_times()[:4])
        except psutil.NoSuchProcess:
            continue
    return spent


if __name__ == "__main__":
    main()
