"""A light tenant beside 64 workers of another tenant that hang or end at once: what its checks wait.

    python -m bench.beside [--rounds 5] [--seconds 4] [--workers N] [--against PYTHON] [--out FILE.json]

The light tenant sends 20 single checks a second (`--a-second`), whatever becomes of the last, and compares every
verdict with the truth. Quiet and besieged take turns. `--against` names the interpreter of another checkout: its daemon
takes turns with this one's.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from cruxbox import AsyncClient, CallCheck, Task

from bench import folders
from bench.light import A_SECOND, light
from bench.load import LIMITS, STALLING, Place, Tally
from bench.sessions import processes

WORKERS_OF_ANOTHER, WARM_S = 64, 1.0
WAYS = {
    "hang": ("def f(x):\n    while True:\n        pass\n", STALLING),
    "end": ("import os\ndef f(x):\n    os.close(4)\n", LIMITS),
    "cut": (
        "import os\ndef f(x):\n    try:\n        os.close(4)\n    except OSError:\n        pass\n"
        "    while True:\n        pass\n",
        STALLING,
    ),
}  # fmt: skip


def crowd(target: str, token: str, way: str, seconds: float) -> int:
    """Keep 64 workers of a tenant at it, in a process of its own; how many checks ended."""
    program, limits = WAYS[way]
    ended = 0

    async def batches(number: int) -> None:
        nonlocal ended
        async with AsyncClient(target, token=token, retries=30) as client:
            for count in range(10**9):
                tasks = [
                    Task(f"{program}# {number} {count} {n}", [CallCheck("f(1)", "1")], limits=limits)
                    for n in range(WORKERS_OF_ANOTHER)
                ]
                ended += len(await client.check(tasks))

    async def all_of_them() -> None:
        await asyncio.wait([asyncio.create_task(batches(n)) for n in range(2)], timeout=seconds)

    loop = asyncio.new_event_loop()
    loop.run_until_complete(all_of_them())
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0.1))
    return ended


async def measure(place: Place, way: str, tally: Tally, pool: ProcessPoolExecutor, options: argparse.Namespace) -> int:
    """Some seconds of the light tenant beside this; how many checks of the other ended."""
    seconds = options.seconds
    loop, ended = asyncio.get_running_loop(), 0
    crowding = None
    if way != "quiet":
        crowding = loop.run_in_executor(pool, crowd, place.target, place.tokens["hog"], way, WARM_S + seconds)
        await asyncio.sleep(WARM_S)
    found = await loop.run_in_executor(pool, light, place.target, place.tokens, seconds, options.a_second)
    tally.add(found)
    if crowding is not None:
        ended = await crowding
    await asyncio.sleep(WARM_S)
    return ended


async def run(places: dict[str, Place], options: argparse.Namespace) -> dict[str, dict[str, dict[str, object]]]:
    """All daemons in turns."""
    for place in places.values():
        await place.ready()
    ways = ["quiet", *options.ways.split(",")]
    tallies = {name: {way: Tally() for way in ways} for name in places}
    ended = {name: dict.fromkeys(ways, 0) for name in places}
    for number in range(options.rounds):
        for way in ways:
            for name in sorted(places, reverse=bool(number % 2)):
                with processes(2) as pool:
                    ended[name][way] += await measure(places[name], way, tallies[name][way], pool, options)
    return {
        name: {way: {**tally.figures(), "theirs": ended[name][way]} for way, tally in found.items()}
        for name, found in tallies.items()
    }


def report(found: dict[str, dict[str, dict[str, object]]]) -> Iterator[str]:
    """The result, for people."""
    names = f"{'asked':>7}{'lost':>6}{'wrong':>7}{'masked':>8}{'p50 ms':>9}{'p99 ms':>9}"
    yield f"{'daemon':<8}{'beside':<8}{names}  by quiet"
    for name, ways in found.items():
        for way, row in ways.items():
            counts = (
                f"{row['asked']:>7}{row['lost']:>6}{row['wrong']:>7}{row['masked']:>8}{row['p50']:>9}{row['p99']:>9}"
            )
            times = [float(row[p]) / max(float(ways["quiet"][p]), 0.1) for p in ("p50", "p99")]
            by_quiet = f"p50 {times[0]:.1f}, p99 {times[1]:.1f}"
            yield f"{name:<8}{way:<8}{counts}  {by_quiet}; the other's checks: {row['theirs']}"


def main() -> None:
    """Run it; exit code 1 if anything was lost or wrong."""
    parser = argparse.ArgumentParser(description="a light tenant beside 64 workers of another")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--a-second", type=int, default=A_SECOND)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--against", help="the interpreter of another checkout")
    parser.add_argument("--out", type=Path, help="write everything as JSON")
    options = parser.parse_args()
    pythons = {"here": sys.executable} | ({"other": options.against} if options.against else {})
    with folders.folder("cruxbox-beside-") as folder:
        places: dict[str, Place] = {}
        try:
            for name, python in pythons.items():
                (folder / name).mkdir()
                places[name] = Place(folder / name, options.workers, python=python)
            found = asyncio.run(run(places, options))
        finally:
            for place in places.values():
                place.process.kill()
                place.process.wait(30)
    print("\n".join(report(found)))
    if options.out:
        options.out.write_text(json.dumps(found, indent=2))
    sys.exit(any(row["lost"] or row["wrong"] for ways in found.values() for row in ways.values()))


if __name__ == "__main__":
    main()
