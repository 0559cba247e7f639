"""The siege: four tenants and strangers on two daemons, one tenant an attacker, and processes killed at random.

    python -m bench.siege [--minutes 10] [--workers N] [--out FILE.json]

`quick` is honest, compares every verdict with the truth, and sends all it gets answers to: alone it fills the machine,
and beside others its times tell its share. `light` is as honest and needs less than its share: 20 checks a second.
`bulk` is honest bulk work, `hog` attacks: with what it sends as checks and with how it sends them. Callers without a
token try the same throughout. Quiet phases before and after show what `quick` and `light` feel of it, each alone. Two
more tell what is not the attack's doing. In `shared`, the other tenants are there and honest, and send as much as they
get answers to: the machine is shared by three, and `light`. Who measures, who attacks and who sends bulk work are
processes of their own; who measures comes before others, where it may. The other two take CPU time from the daemons, as
they would not in a lab; so in the last phase, `crowded`, `quick` is alone again beside processes that take as much.
Exit code 1 if anything was lost or wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench import folders
from bench.light import light
from bench.load import HONEST, MIX, Place, Tally, one_client
from bench.sessions import processes
from bench.siege_attacks import WAYS, attack

QUIET_S, SETTLE_S, SAMPLE_S, DISTURB_S, DAEMON_KILL_S = 10.0, 10.0, 2.0, 4.0, 30.0
CLIENTS = {"quick": 4, "bulk": 4, "hog": 4}


def disturb(place: Place, rng: random.Random, done: Counter[str]) -> None:
    """SIGKILL or SIGSTOP one of a daemon's zygotes or workers."""
    with contextlib.suppress(psutil.Error, IndexError):
        victim = rng.choice(place.watched.children(recursive=True))
        number = rng.choice([signal.SIGKILL, signal.SIGSTOP])
        victim.send_signal(number)
        done[number.name] += 1


async def watch(places: list[Place], samples: list[dict[str, float]], done: Counter[str], signals: bool) -> None:
    """Sample the daemon that is never killed; disturb both, and kill the other one now and then."""
    rng, began = random.Random(2), time.monotonic()
    disturbed = killed = began
    while True:
        await asyncio.sleep(SAMPLE_S)
        samples.append(sample(places[0], time.monotonic() - began))
        if not signals:
            continue
        if time.monotonic() - disturbed > DISTURB_S:
            disturbed = time.monotonic()
            disturb(rng.choice(places), rng, done)
        if time.monotonic() - killed > DAEMON_KILL_S:
            killed = time.monotonic()
            places[1].process.kill()
            places[1].process.wait()
            places[1].start()
            done["daemon"] += 1


def sample(place: Place, seconds: float) -> dict[str, float]:
    """Memory, descriptors, zombies and zygotes of a daemon."""
    below = [child for child in place.watched.children(recursive=True) if child.is_running()]
    dead = 0
    for child in below:
        with contextlib.suppress(psutil.Error):
            dead += child.status() == psutil.STATUS_ZOMBIE
    descriptors = -1  # an ordinary user may not look at a daemon that protects itself
    with contextlib.suppress(psutil.AccessDenied):
        descriptors = place.watched.num_fds()
    figures = {"mib": place.memory_mib(), "descriptors": descriptors, "zombies": dead}
    return {"s": round(seconds, 1), **figures, "zygotes": len(place.watched.children())}


@dataclass(frozen=True)
class Both:
    """Two daemons, as `bench.load.one_client` wants one."""

    target: str
    tokens: dict[str, str]


def honest(both: Both, name: str, seconds: float) -> tuple[Tally, float]:
    """The clients of an honest tenant for some time, in a process of their own: what came, and their CPU seconds."""
    MIX[name] = HONEST
    tally, began = Tally(), time.process_time()

    async def clients() -> None:
        until = time.monotonic() + seconds
        await asyncio.gather(*[one_client(both, name, tally, until, n) for n in range(CLIENTS[name])])

    asyncio.run(clients())
    return tally, time.process_time() - began


def burn(share: float, seconds: float) -> None:
    """Take a share of a CPU for some time."""
    began, used = time.monotonic(), time.process_time()
    while (gone := time.monotonic() - began) < seconds:
        if time.process_time() - used < share * gone:
            sum(range(10_000))
        else:
            time.sleep(0.001)


async def run(places: list[Place], options: argparse.Namespace) -> dict[str, object]:
    """Quiet, shared, siege, quiet again, crowded."""
    for place in places:
        await place.ready()
    both = Both("ipv4:" + ",".join(place.target for place in places), places[0].tokens)
    samples, done, seconds = [sample(places[0], 0.0)], Counter[str](), options.minutes * 60
    with processes(6) as pool, processes(2, first=True) as measuring:
        loop = asyncio.get_running_loop()

        async def measured(length: float) -> Tally:
            return (await loop.run_in_executor(measuring, honest, both, "quick", length))[0]

        def paced(length: float) -> asyncio.Future[Tally]:
            return loop.run_in_executor(measuring, light, both.target, both.tokens, length)

        phases = {"quiet": await measured(QUIET_S), "light_quiet": await paced(2 * QUIET_S)}
        others = [loop.run_in_executor(pool, honest, both, name, QUIET_S + 1) for name in ("bulk", "hog")]
        steady = paced(QUIET_S)
        phases["shared"], phases["light_shared"] = await measured(QUIET_S), await steady
        await asyncio.gather(*others)
        watching = asyncio.create_task(watch(places, samples, done, not options.no_signals))
        targets = [place.target for place in places]
        attacking = loop.run_in_executor(pool, attack, targets, places[0].tokens["hog"], seconds, options.only)
        bulk = loop.run_in_executor(pool, honest, both, "bulk", seconds)
        steady = paced(seconds)
        phases["besieged"], phases["light_besieged"] = await measured(seconds), await steady
        (seen, attack_s), (phases["bulk"], bulk_s) = await asyncio.gather(attacking, bulk)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await asyncio.sleep(SETTLE_S)
        phases["after"], phases["light_after"] = await measured(QUIET_S), await paced(QUIET_S)
        samples.append(sample(places[0], seconds + SETTLE_S + QUIET_S))
        share = (attack_s + bulk_s) / seconds
        burners = [
            loop.run_in_executor(pool, burn, part, QUIET_S + 1)
            for part in [1.0] * int(share) + [share % 1.0]
        ]  # fmt: skip
        phases["crowded"] = await measured(QUIET_S)
        await asyncio.gather(*burners)
    red, warned = said(places)
    return {
        "phases": {name: tally.figures() for name, tally in phases.items()},
        "load_cpus": round(share, 2),
        "samples": samples,
        "disturbed": dict(done),
        "calls": seen,
        "canaries": red,
        "warned": warned,
        "wrong": [text for tally in phases.values() for text in tally.wrong][:20],
    }


def said(places: list[Place]) -> tuple[list[dict[str, object]], dict[str, int]]:
    """What the daemons' logs say of canaries, and how often they warned of what."""
    red, warned = [], Counter[str]()
    for place in places:
        for line in place.log.read_text().splitlines():
            with contextlib.suppress(ValueError):
                entry = json.loads(line)
                if "canary" in entry["message"]:
                    red.append(entry)
                elif entry["level"] in ("warning", "error"):
                    warned[f"{entry['message']}: {entry.get('reason', '')}".rstrip(": ")] += 1
    return red, dict(warned)


def report(found: dict[str, object]) -> Iterator[str]:
    """The result, for people."""
    yield f"{'phase':<16}{'asked':>8}{'lost':>6}{'wrong':>7}{'masked':>8}{'p50 ms':>9}{'p99 ms':>9}"
    for name, row in found["phases"].items():  # type: ignore[attr-defined]
        counts = f"{row['asked']:>8}{row['lost']:>6}{row['wrong']:>7}{row['masked']:>8}{row['p50']:>9}{row['p99']:>9}"
        yield f"{name:<16}{counts}" + (f"  {row['errors']}" if row["errors"] else "")
    samples: list[dict[str, float]] = found["samples"]  # type: ignore[assignment]
    for figure in ("mib", "descriptors", "zombies", "zygotes"):
        every = max(1, len(samples) // 12)
        shown = [f"{one[figure]:g}" for one in [*samples[:-1:every], samples[-1]]]
        yield f"{figure:<12} most {max(one[figure] for one in samples):g}; over time {' '.join(shown)}"
    yield f"disturbed: {found['disturbed']}"
    yield from compared(found)
    red: list[dict[str, object]] = found["canaries"]  # type: ignore[assignment]
    yield f"the daemons warned: {found['warned']}"
    yield f"canaries: {len(red)} lines in the logs" + "".join(f"\n  {json.dumps(line)}" for line in red[:20])
    for name, calls in found["calls"].items():  # type: ignore[attr-defined]
        yield f"{name}: {sum(calls.values())} attacks {calls}"
    yield from found["wrong"]  # type: ignore[misc]


def compared(found: dict[str, object]) -> Iterator[str]:
    """The honest tenants' p50 and p99 in each phase by those of its quiet one, and of the one that is shared."""
    phases: dict[str, dict[str, float]] = found["phases"]  # type: ignore[assignment]
    quiet = phases["quiet"]
    more = {
        "besieged": f"; {_by(phases['besieged'], phases['shared'])} shared",
        "shared": " (beside two honest tenants that send all they can)",
        "crowded": f" (beside {found['load_cpus']} CPUs of load, as the siege's own)",
    }
    for name in ("shared", "besieged", "after", "crowded"):
        yield f"{name}: {_by(phases[name], quiet)} quiet{more.get(name, '')}"
    for name in ("light_shared", "light_besieged", "light_after"):
        yield f"{name}: {_by(phases[name], phases['light_quiet'])} quiet"


def _by(phase: dict[str, float], other: dict[str, float]) -> str:
    return ", ".join(f"{p} {phase[p] / max(other[p], 0.1):.1f}" for p in ("p50", "p99")) + " times"


@contextlib.contextmanager
def _served(kind: type[Place], options: argparse.Namespace) -> Iterator[list[Place]]:
    """Two daemons with the same tokens. Their logs are kept where `--logs` says."""
    with folders.folder("cruxbox-siege-") as folder:
        places: list[Place] = []
        try:
            for name in "ab":
                home = folder / name
                home.mkdir()
                places.append(kind(home, options.workers, places[0].tokens if places else None))
            yield places
        finally:
            for name, place in zip("ab", places):
                if options.logs:
                    options.logs.mkdir(exist_ok=True)
                    shutil.copy(place.log, options.logs / f"{name}.log")
                place.process.kill()
                place.process.wait(30)


def main(kind: type[Place] = Place) -> None:
    """Run it, with daemons of this kind; exit code 1 if anything was lost or wrong."""
    parser = argparse.ArgumentParser(description="two daemons under siege")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=Path, help="write everything as JSON")
    parser.add_argument("--logs", type=Path, help="keep the daemons' logs in this folder")
    parser.add_argument("--no-signals", action="store_true", help="kill and stop nothing")
    parser.add_argument("--only", default="", help=f"attack in these ways only, of {','.join(WAYS)}")
    options = parser.parse_args()
    with _served(kind, options) as places:
        found = asyncio.run(run(places, options))
    print("\n".join(report(found)))
    if options.out:
        options.out.write_text(json.dumps(found, indent=2))
    phases = found["phases"].values()  # type: ignore[attr-defined]
    sys.exit(any(row["lost"] or row["wrong"] for row in phases))


if __name__ == "__main__":
    main()
