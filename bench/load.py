"""The load test: many clients of three tenants, honest, hostile and stalling work, for minutes; nothing lost or wrong.

    python -m bench.load [--minutes 10] [--clients 64] [--workers N] [--no-kills] [--out FILE.json]

The tenants: `quick` asks one short check after another, `bulk` streams mixed work, `hog` sends checks that hang. A
quiet phase with `quick` alone comes first, so that what the others do to it can be seen.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import random
import re
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from cruxbox import AsyncClient, CallCheck, Limits, Outcome, Task
from cruxbox.errors import CruxboxError

from bench import folders

QUIET_S = 10.0
SAMPLE_S = 5.0
KILL_S = 15.0
LIMITS = Limits(cpu_ms=500, wall_ms=8_000)
STALLING = Limits(cpu_ms=500, wall_ms=8_000, steps=10**12)
TENANTS = {"quick": 0.25, "bulk": 0.5, "hog": 0.25}  # and their shares of the clients
LIGHT = "light"  # has no clients here: see bench.light

SIZES = {"quick": 1, "bulk": 16, "hog": 4}  # checks a call

P, F = Outcome.PASSED, Outcome.FAILED
# Program, call, expected, what must become of it, limits.
HONEST = [
    ("def f(x):\n    return sorted(x)[::-1]\n", "f([3, 1, 2])", "[3, 2, 1]", {P}, LIMITS),
    ("def f(x):\n    return x.replace('a', 'b')\n", "f('banana')", "'bbnbnb'", {P}, LIMITS),
    ("def f(x):\n    return {k: v for v, k in enumerate(x)}\n", "f('ab')", "{'a': 0, 'b': 2}", {F}, LIMITS),
    ("def f(x):\n    return x[5]\n", "f([1])", "1", {Outcome.RAISED}, LIMITS),
    ("import math\ndef f(x):\n    return math.comb(x, 2)\n", "f(9)", "36", {P}, LIMITS),
]
HOSTILE = [
    ("import os\ndef f(x):\n    os._exit(0)\n", "f(1)", "1", {Outcome.CRASHED}, LIMITS),
    ("class E(int):\n    def __eq__(s, o): return True\n    __hash__ = int.__hash__\ndef f(x):\n    return E(x)\n",
     "f(1)", "2", set(Outcome) - {P, Outcome.SANDBOX_ERROR}, LIMITS),
    ("def f(x):\n    return [0] * 10**11\n", "f(1)", "1", {Outcome.MEMORY_LIMIT, Outcome.RAISED}, LIMITS),
    ("def f(x):\n    while True:\n        print('x' * 100000)\n", "f(1)", "1",
     {Outcome.OUTPUT_LIMIT, Outcome.STEP_LIMIT, Outcome.TIMED_OUT, Outcome.MEMORY_LIMIT}, LIMITS),
    ("import os\ndef f(x):\n    while True:\n        try:\n            os.fork()\n        except OSError:\n"
     "            raise ValueError\n", "f(1)", "1", {Outcome.RAISED, Outcome.VIOLATION}, LIMITS),
]  # fmt: skip
STALLS = [
    ("def f(x):\n    while True:\n        pass\n", "f(1)", "1", {Outcome.TIMED_OUT}, STALLING),
    ("def f(x):\n    return sum(range(10**12))\n", "f(1)", "1", {Outcome.TIMED_OUT}, STALLING),
]
MIX = {"quick": HONEST, LIGHT: HONEST, "bulk": HONEST * 4 + HOSTILE + STALLS[:1], "hog": STALLS * 3 + HOSTILE}


@dataclass
class Tally:
    """What came of one tenant's work."""

    latencies_s: list[float] = field(default_factory=list)
    asked: int = 0
    answered: int = 0
    masked: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def percentiles(self) -> list[float]:
        """p50, p95 and p99 in ms."""
        found = sorted(self.latencies_s) or [0.0]
        return [round(found[min(len(found) - 1, int(len(found) * share))] * 1000, 1) for share in (0.5, 0.95, 0.99)]

    def add(self, other: Tally) -> None:
        """Count what came of more of it."""
        self.latencies_s += other.latencies_s
        self.asked, self.answered = self.asked + other.asked, self.answered + other.answered
        self.masked += other.masked
        self.errors += other.errors
        self.wrong += other.wrong

    def figures(self) -> dict[str, object]:
        """Counts, and p50 and p99 in ms."""
        p50, _, p99 = self.percentiles()
        return {
            "asked": self.asked, "lost": self.asked - self.answered, "wrong": len(self.wrong), "masked": self.masked,
            "p50": p50, "p99": p99, "errors": dict(self.errors),
        }  # fmt: skip


def batch(tenant: str, size: int, rng: random.Random) -> tuple[list[Task], list[set[Outcome]]]:
    """Distinct tasks of a tenant's mix, and what may become of each."""
    tasks, allowed = [], []
    for _ in range(size):
        program, call, expected, outcomes, limits = rng.choice(MIX[tenant])
        tasks.append(Task(f"{program}# {rng.getrandbits(64)}", [CallCheck(call, expected)], limits=limits))
        allowed.append(outcomes)
    return tasks, allowed


async def one_client(place: Place, tenant: str, tally: Tally, until: float, number: int) -> None:
    """One client's life: batches, one after another, each with its latency."""
    rng = random.Random(number)
    size = SIZES[tenant]
    client = AsyncClient(place.target, token=place.tokens[tenant], retries=30)
    async with client:
        while time.monotonic() < until:
            tasks, allowed = batch(tenant, size, rng)
            began = time.monotonic()
            tally.asked += size
            try:
                verdicts = await client.check(tasks)
            except CruxboxError as error:
                tally.errors[type(error).__name__] += 1
                continue
            tally.latencies_s.append(time.monotonic() - began)
            tally.answered += len(verdicts)
            for task, verdict, outcomes in zip(tasks, verdicts, allowed):
                if verdict.outcome is Outcome.SANDBOX_ERROR:
                    tally.masked += 1
                elif verdict.outcome not in outcomes:
                    tally.wrong.append(f"{verdict.outcome.name} {verdict.detail}: {task.program!r}")


class Place:
    """A daemon with three tenants. It may be ended, and started again at its address."""

    def __init__(
        self, folder: Path, workers: int, tokens: dict[str, str] | None = None, *, python: str = sys.executable
    ) -> None:
        self.tokens = tokens or {name: secrets.token_urlsafe(24) for name in (*TENANTS, LIGHT)}
        lines = [f'[tenants.{name}]\ntokens = ["sha256:{_sha256(token)}"]' for name, token in self.tokens.items()]
        (folder / "tokens").write_text("\n".join(lines))
        self.target, self._metrics = f"127.0.0.1:{_free_port()}", _free_port()
        self.log = folder / "log"
        command = [python, "-m", "cruxboxd", "serve", "--listen", self.target, "--workers", str(workers)]
        command += [
            "--tokens",
            str(folder / "tokens"),
            "--metrics-port",
            str(self._metrics),
            "--canary-s",
            "5",
            "--exit-with-parent",
        ]
        self._command = command
        self.start()

    def start(self) -> None:
        """Start it; returns before it answers."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True)
        self.watched = psutil.Process(self.process.pid)

    async def ready(self) -> None:
        """Wait until it answers."""
        async with AsyncClient(self.target, token=self.tokens["quick"], retries=60) as client:
            await client.check([Task("def f(): return 1", [CallCheck("f()", "1")])])

    def figures(self, pattern: str) -> list[float]:
        """All figures whose line begins with the pattern."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._metrics}/metrics", timeout=30) as answer:
            found = re.findall(rf"^{pattern}\S* (\S+)$", answer.read().decode(), re.M)
        return list(map(float, found))

    def metric(self, pattern: str) -> float:
        """Their sum."""
        return sum(self.figures(pattern))

    def memory_mib(self) -> int:
        """The daemon's resident memory."""
        return int(self.watched.memory_info().rss) >> 20

    def kill_a_zygote(self) -> None:
        """SIGKILL one of its children."""
        with contextlib.suppress(psutil.NoSuchProcess, IndexError):
            random.choice(self.watched.children()).kill()


async def watch(place: Place, kills: bool, samples: list[dict[str, float]], state: dict[str, int]) -> None:
    """Sample memory and canaries; kill a zygote now and then."""
    began = killed = time.monotonic()
    while True:
        await asyncio.sleep(SAMPLE_S)
        red = (await asyncio.to_thread(place.figures, "cruxbox_canary_ok")).count(0.0)
        depth = await asyncio.to_thread(place.metric, "cruxbox_accepted_checks")
        minute = (time.monotonic() - began) / 60
        samples.append({"minute": round(minute, 2), "mib": place.memory_mib(), "accepted": depth, "red": red})
        if kills and time.monotonic() - killed > KILL_S:
            place.kill_a_zygote()
            killed = time.monotonic()
            state["kills"] += 1


async def run(place: Place, options: argparse.Namespace) -> dict[str, object]:
    """The quiet phase, then everybody."""
    await place.ready()
    clients = {name: max(1, int(options.clients * share)) for name, share in TENANTS.items()}
    quiet = Tally()
    # The callers of `quick` alone: what they feel when nobody else is there.
    until = time.monotonic() + QUIET_S
    await asyncio.gather(*[one_client(place, "quick", quiet, until, 10**6 + n) for n in range(clients["quick"])])
    tallies = {name: Tally() for name in TENANTS}
    samples: list[dict[str, float]] = []
    state = {"kills": 0}
    watching = asyncio.create_task(watch(place, not options.no_kills, samples, state))
    began = time.monotonic()
    until = began + options.minutes * 60
    numbers = iter(range(10**6))
    work = [
        one_client(place, name, tallies[name], until, next(numbers)) for name in TENANTS for _ in range(clients[name])
    ]
    await asyncio.gather(*work)
    seconds = time.monotonic() - began
    watching.cancel()
    return {
        "clients": clients,
        "seconds": round(seconds, 1),
        "checks_a_second": round(sum(tally.answered for tally in tallies.values()) / seconds, 1),
        "quick_alone_ms": quiet.percentiles(),
        "tenants": {name: _summary(tally) for name, tally in tallies.items()},
        "zygote_restarts": place.metric("cruxbox_zygote_restarts_total"),
        "kills": state["kills"],
        "left_behind": place.metric("cruxbox_accepted_checks"),
        "samples": samples,
        "wrong": [text for tally in tallies.values() for text in tally.wrong][:20],
    }


def _summary(tally: Tally) -> dict[str, object]:
    return {
        "asked": tally.asked,
        "answered": tally.answered,
        "lost": tally.asked - tally.answered,
        "masked": tally.masked,
        "wrong": len(tally.wrong),
        "ms": tally.percentiles(),
        "errors": dict(tally.errors),
    }


def report(found: dict[str, object]) -> Iterator[str]:
    """The result, for people."""
    yield f"{found['checks_a_second']} checks/s over {found['seconds']} s, clients {found['clients']}"
    yield f"{'tenant':<12}{'asked':>9}{'lost':>7}{'wrong':>7}{'masked':>8}{'p50 ms':>10}{'p95 ms':>10}{'p99 ms':>10}"
    p50, p95, p99 = found["quick_alone_ms"]  # type: ignore[misc]
    yield f"{'quick alone':<12}{'':>31}{p50:>10}{p95:>10}{p99:>10}"
    for name, tenant in found["tenants"].items():  # type: ignore[attr-defined]
        p50, p95, p99 = tenant["ms"]
        counts = f"{tenant['asked']:>9}{tenant['lost']:>7}{tenant['wrong']:>7}{tenant['masked']:>8}"
        yield f"{name:<12}{counts}{p50:>10}{p95:>10}{p99:>10}" + (f"  {tenant['errors']}" if tenant["errors"] else "")
    samples = found["samples"]
    if samples:
        every = max(1, len(samples) // 10)
        yield "daemon MiB: " + ", ".join(f"{sample['minute']}': {sample['mib']}" for sample in samples[::every])  # type: ignore[index]
        yield f"canaries red in {sum(1 for sample in samples if sample['red'])} of {len(samples)} samples"  # type: ignore[attr-defined,misc]
    yield f"zygotes: {found['kills']} killed by us, {found['zygote_restarts']:.0f} restarts"
    yield f"accepted checks left behind: {found['left_behind']:.0f}"
    yield from found["wrong"]  # type: ignore[misc]


def main() -> None:
    """Run it; exit code 1 if anything was lost or wrong."""
    parser = argparse.ArgumentParser(description="load test with three tenants")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--no-kills", action="store_true", help="kill no zygotes")
    parser.add_argument("--out", type=Path, help="write everything as JSON")
    options = parser.parse_args()
    with folders.folder("cruxbox-load-") as folder:
        place = Place(folder, options.workers)
        try:
            found = asyncio.run(run(place, options))
        finally:
            place.process.send_signal(signal.SIGTERM)
            found_code = place.process.wait(90)
    print("\n".join(report(found)))
    if options.out:
        options.out.write_text(json.dumps(found, indent=2))
    bad = any(tenant["lost"] or tenant["wrong"] for tenant in found["tenants"].values())  # type: ignore[attr-defined]
    sys.exit(1 if bad or found["left_behind"] or found_code else 0)


def _sha256(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
