"""The siege: three tenants and strangers on two daemons, one tenant an attacker, and processes killed at random.

    python -m bench.siege [--minutes 10] [--workers N] [--out FILE.json]

`quick` is honest and compares every verdict with the truth, `bulk` is honest bulk work, `hog` attacks: with what it
sends as checks and with how it sends them. Callers without a token try the same throughout. Quiet phases before and
after show what the honest tenant feels of it. Exit code 1 if anything was lost or wrong.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import psutil
from cruxbox_proto.v1 import sandbox_pb2 as pb

from bench.load import HONEST, HOSTILE, MIX, STALLS, Place, Tally, one_client

QUIET_S, SETTLE_S, SAMPLE_S, DISTURB_S, DAEMON_KILL_S = 10.0, 10.0, 2.0, 4.0, 30.0
CHECK, STREAM, WATCH = "/cruxbox.v1.Sandbox/Check", "/cruxbox.v1.Sandbox/CheckStream", "/grpc.health.v1.Health/Watch"
LARGE = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
CLIENTS = {"quick": 4, "bulk": 4}
ATTACKERS, STRANGERS = 4, 3

CUTS = "import os, time\ndef f(x):\n    os.close(4)\n    time.sleep(60)\n"
CALL = pb.Check(call=pb.CallCheck(call="f(1)", expected="1"))


def _request(*tasks: pb.Task) -> bytes:
    return pb.CheckRequest(tasks=tasks).SerializeToString()


def _options(count: int) -> bytes:
    """So many tasks, each with options of its own."""
    task, parts = pb.Task(checks=[CALL]), []
    for number in range(count):
        task.id, task.options.limits.steps = str(number), number + 1
        parts.append(_request(task))
    return b"".join(parts)


BODIES: dict[str, bytes] = {
    "empty tasks": b"\x0a\x00" * (7 << 20),
    "empty checks": b"\x0a\x80\x80\xc0\x06" + b"\x1a\x00" * (13 << 19),
    "options": _options(50_000),
    "refused": _request(pb.Task(program="x" * (3 << 20), checks=[pb.Check()])),
    "noise": bytes(random.Random(1).randbytes(1 << 20)),
    "hang up": _request(*[pb.Task(id=str(n), program=f"{CUTS}# {n}", checks=[CALL]) for n in range(8)]),
    "hostile": _request(
        *[pb.Task(id=str(n), program=f"{kind[0]}# {n}", checks=[CALL]) for n, kind in enumerate((HOSTILE + STALLS) * 3)]
    ),
}
PRINTED = pb.Check(stdio=pb.StdioCheck(expected_stdout="1"))
PRINTS = _request(
    *[
        pb.Task(id=str(n), program=f"print('x' * 900_000)  # {n}", checks=[PRINTED])
        for n in range(200)
    ]
)  # fmt: skip


class Attacker(threading.Thread):
    """Sends what hurts, again and again, with a token or without."""

    def __init__(self, place: Place, token: str, seen: Counter[str], seed: int) -> None:
        super().__init__(daemon=True)
        self._place, self._seen, self._rng = place, seen, random.Random(seed)
        self._metadata = [("authorization", f"Bearer {token}")] if token else []
        self.done = threading.Event()

    def run(self) -> None:
        ways: list[Callable[[grpc.Channel], str]] = [
            self._send,
            self._send,
            self._leave,
            self._read_nothing,
            self._watch,
        ]
        while not self.done.is_set():
            with contextlib.suppress(OSError), grpc.insecure_channel(self._place.target, options=LARGE) as channel:
                way = self._rng.choice([*ways, self._watch, self._headers])
                try:
                    self._seen[f"{way.__name__[1:]} {way(channel)}"] += 1
                except grpc.RpcError as error:
                    self._seen[f"{way.__name__[1:]} {error.code().name}"] += 1  # type: ignore[attr-defined]
            self.done.wait(0.05)

    def _send(self, channel: grpc.Channel) -> str:
        body = BODIES[self._rng.choice(sorted(BODIES))]
        channel.unary_unary(CHECK)(body, timeout=5, metadata=self._metadata)  # type: ignore[call-arg]
        return "OK"

    def _leave(self, channel: grpc.Channel) -> str:
        """Many calls that are cancelled at once."""
        method = channel.unary_unary(CHECK)  # type: ignore[call-arg]
        calls = [method.future(BODIES["hostile"], timeout=5, metadata=self._metadata) for _ in range(20)]
        time.sleep(self._rng.random() / 4)
        return str(Counter(call.cancel() for call in calls)[True] > 0)

    def _read_nothing(self, channel: grpc.Channel) -> str:
        call = channel.stream_stream(STREAM)(iter([PRINTS]), timeout=10, metadata=self._metadata)  # type: ignore[call-arg]
        self.done.wait(6)
        return str(call.cancel())

    def _watch(self, channel: grpc.Channel) -> str:
        calls = [channel.unary_stream(WATCH)(b"") for _ in range(100)]  # type: ignore[call-arg]
        self.done.wait(1)
        return str(Counter(call.cancel() for call in calls)[True] > 0)

    def _headers(self, channel: grpc.Channel) -> str:
        """A header block without end."""
        host, port = self._place.target.split(":")
        with socket.create_connection((host, int(port)), timeout=3) as line:
            line.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0" + b"\0\0\1\1\0\0\0\0\1\x83")
            for _ in range(200):
                line.sendall(b"\0\x40\0\x09\0\0\0\0\1" + (b"\x00\x03abc\x3f" + b"y" * 63) * 237 + b"\x83" * 55)
        return "sent"


def disturb(place: Place, rng: random.Random, done: Counter[str]) -> None:
    """SIGKILL or SIGSTOP one of a daemon's zygotes or workers."""
    with contextlib.suppress(psutil.Error, IndexError):
        victim = rng.choice(place.watched.children(recursive=True))
        number = rng.choice([signal.SIGKILL, signal.SIGSTOP])
        victim.send_signal(number)
        done[number.name] += 1


async def watch(places: list[Place], samples: list[dict[str, float]], done: Counter[str]) -> None:
    """Sample the daemon that is never killed; disturb both, and kill the other one now and then."""
    rng, began = random.Random(2), time.monotonic()
    disturbed = killed = began
    while True:
        await asyncio.sleep(SAMPLE_S)
        samples.append(sample(places[0], time.monotonic() - began))
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
    figures = {"mib": place.memory_mib(), "descriptors": place.watched.num_fds(), "zombies": dead}
    return {"s": round(seconds, 1), **figures, "zygotes": len(place.watched.children())}


async def honest(places: list[Place], name: str, seconds: float, tally: Tally) -> None:
    """The clients of an honest tenant for some time; each asks both daemons."""
    until = time.monotonic() + seconds
    await asyncio.gather(*[one_client(both(places), name, tally, until, n) for n in range(CLIENTS[name])])


class Both:
    """Two daemons, as `bench.load.one_client` wants one."""

    def __init__(self, places: list[Place]) -> None:
        self.target = "ipv4:" + ",".join(place.target for place in places)
        self.tokens = places[0].tokens


def both(places: list[Place]) -> Place:
    return Both(places)  # type: ignore[return-value]


async def run(places: list[Place], options: argparse.Namespace) -> dict[str, object]:
    """Quiet, siege, quiet again."""
    for place in places:
        await place.ready()
    MIX["bulk"] = HONEST
    phases = {name: Tally() for name in ("quiet", "besieged", "after")}
    bulk, seen, done = Tally(), {"attacker": Counter[str](), "strangers": Counter[str]()}, Counter[str]()
    await honest(places, "quick", QUIET_S, phases["quiet"])
    samples = [sample(places[0], 0.0)]
    attackers = [Attacker(places[n % 2], places[0].tokens["hog"], seen["attacker"], n) for n in range(ATTACKERS)]
    attackers += [Attacker(places[n % 2], "", seen["strangers"], 100 + n) for n in range(STRANGERS)]
    watching = asyncio.create_task(watch(places, samples, done))
    for attacker in attackers:
        attacker.start()
    seconds = options.minutes * 60
    await asyncio.gather(honest(places, "quick", seconds, phases["besieged"]), honest(places, "bulk", seconds, bulk))
    for attacker in attackers:
        attacker.done.set()
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    await asyncio.sleep(SETTLE_S)
    await honest(places, "quick", QUIET_S, phases["after"])
    samples.append(sample(places[0], seconds + SETTLE_S + QUIET_S))
    return {
        "phases": {name: _figures(tally) for name, tally in {**phases, "bulk": bulk}.items()},
        "samples": samples,
        "disturbed": dict(done),
        "calls": {name: dict(counts) for name, counts in seen.items()},
        "wrong": [text for tally in (*phases.values(), bulk) for text in tally.wrong][:20],
    }


def _figures(tally: Tally) -> dict[str, object]:
    p50, _, p99 = tally.percentiles()
    lost = tally.asked - tally.answered
    return {
        "asked": tally.asked, "lost": lost, "wrong": len(tally.wrong), "masked": tally.masked, "p50": p50, "p99": p99,
        "errors": dict(tally.errors),
    }  # fmt: skip


def report(found: dict[str, object]) -> Iterator[str]:
    """The result, for people."""
    yield f"{'phase':<10}{'asked':>8}{'lost':>6}{'wrong':>7}{'masked':>8}{'p50 ms':>9}{'p99 ms':>9}"
    for name, row in found["phases"].items():  # type: ignore[attr-defined]
        counts = f"{row['asked']:>8}{row['lost']:>6}{row['wrong']:>7}{row['masked']:>8}{row['p50']:>9}{row['p99']:>9}"
        yield f"{name:<10}{counts}" + (f"  {row['errors']}" if row["errors"] else "")
    samples: list[dict[str, float]] = found["samples"]  # type: ignore[assignment]
    for figure in ("mib", "descriptors", "zombies", "zygotes"):
        every = max(1, len(samples) // 12)
        shown = [f"{one[figure]:g}" for one in [*samples[:-1:every], samples[-1]]]
        yield f"{figure:<12} most {max(one[figure] for one in samples):g}; over time {' '.join(shown)}"
    yield f"disturbed: {found['disturbed']}"
    for name, calls in found["calls"].items():  # type: ignore[attr-defined]
        yield f"{name}: {sum(calls.values())} attacks {calls}"
    yield from found["wrong"]  # type: ignore[misc]


def main() -> None:
    """Run it; exit code 1 if anything was lost or wrong."""
    parser = argparse.ArgumentParser(description="two daemons under siege")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--out", type=Path, help="write everything as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="cruxbox-siege-") as folder:
        places: list[Place] = []
        try:
            for name in "ab":
                home = Path(folder) / name
                home.mkdir()
                places.append(Place(home, options.workers, places[0].tokens if places else None))
            found = asyncio.run(run(places, options))
        finally:
            for place in places:
                place.process.kill()
                place.process.wait(30)
    print("\n".join(report(found)))
    if options.out:
        options.out.write_text(json.dumps(found, indent=2))
    phases = found["phases"].values()  # type: ignore[attr-defined]
    sys.exit(any(row["lost"] or row["wrong"] for row in phases))


if __name__ == "__main__":
    main()
