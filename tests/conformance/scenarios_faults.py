"""Scenarios of section L: servers on machines with a fault, and processes that die from outside."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import grpc
import psutil
from cruxbox.model import CallCheck, Task
from cruxbox_proto.v1 import sandbox_pb2_grpc as rpc
from support.waiting import comes_true

from conformance.case import LIMITS, Observation
from conformance.daemon import Daemon, health_of
from conformance.lab import BENIGN, GRACE_S, Lab
from conformance.scenarios import fact
from conformance.wire import Reply, reply_of, reply_to_error, request

FAULT = str(Path(__file__).with_name("fault.py"))
NAP = Task(
    "import time\ndef f():\n    time.sleep(1.5)\n    return 1\n",
    (CallCheck("f()", "1"),),
    limits=replace(LIMITS, wall_ms=4_000),
)


def under(fault: str, *options: str) -> Daemon:
    """A daemon on a machine with this fault; not waited for."""
    return Daemon(options=options, prefix=[sys.executable, FAULT, fault, "--"], wait=False)


def check(daemon: Daemon, task: Task = BENIGN, timeout_s: float = GRACE_S) -> Reply:
    """One task's only reply."""
    try:
        return reply_of(rpc.SandboxStub(daemon.channel).Check(request([task]), timeout=timeout_s).verdicts[0])
    except grpc.RpcError as error:
        return reply_to_error(error)


def refuses(fault: str, *options: str) -> Observation:
    """Under this fault the daemon ends with an error, or stays NOT_SERVING and answers X: no candidate byte runs."""
    with under(fault, *options) as daemon:
        said = [""]

        def settled() -> bool:
            said[0] = health_of(daemon.channel, 1.0) if daemon.alive else "ended"
            return said[0] in ("ended", "SERVING", "NOT_SERVING")

        comes_true(settled, 60)
        if said[0] == "ended":
            code = daemon.process.poll()
            lines = daemon.log.decode(errors="replace").strip().splitlines()
            words = lines[-1][:160] if lines else "no word"
            plain = code not in (0, None) and code > 0 and "Traceback" not in daemon.log.decode(errors="replace")
            return (f"{fault}: ended with code {code}: {words}", "X", "X" if plain else "?")
        reply = check(daemon)
        return (f"{fault}: {said[0]}, a check gets {reply.words}", "X", reply.letter)


def degrades(fault: str, layer: str) -> list[Observation]:
    """With the layer named as dispensable, checks run and every verdict names the layer."""
    with under(fault, "--allow-degraded", layer) as daemon:
        daemon.wait_until_serving()
        reply = check(daemon)
    named = list(reply.verdict.degraded) if reply.verdict is not None else []
    return [(f"{fault}, allowed: {reply.words}", "P", reply.letter), fact("the verdict says so", layer in named, named)]


def landlock_missing(lab: Lab) -> list[Observation]:
    """Case fail_closed/no-landlock."""
    return [refuses("landlock-missing"), refuses("landlock-disabled"), *degrades("landlock-missing", "landlock")]


def seccomp_fails(lab: Lab) -> list[Observation]:
    """Case fail_closed/no-seccomp."""
    return [refuses("seccomp-missing"), refuses("seccomp-fails")]


def limits_fail(lab: Lab) -> list[Observation]:
    """Case fail_closed/no-setrlimit."""
    names = ("setrlimit-fails", "no-new-privs-fails", "undumpable-fails", "pdeathsig-fails")
    return [refuses(name) for name in names]


def pretending_layers(lab: Lab) -> list[Observation]:
    """Case fail_closed/pretending-layers.

    Kernels that claim success. The self-test tries the forbidden things and must see through it.
    """
    names = ["seccomp-pretends", "landlock-pretends", "undumpable-pretends", "setrlimit-pretends"]
    if os.geteuid() == 0:
        names.append("setresuid-pretends")
    return [refuses(name) for name in names]


@contextlib.contextmanager
def limited(processes: list[psutil.Process], kind: int, soft: int) -> Iterator[None]:
    """Soft limits of other processes, for a while."""
    before = []
    for process in processes:
        with contextlib.suppress(OSError, psutil.Error):
            old = resource.prlimit(process.pid, kind)
            resource.prlimit(process.pid, kind, (min(soft, old[1]) if old[1] >= 0 else soft, old[1]))
            before.append((process.pid, old))
    try:
        yield
    finally:
        for pid, old in before:
            with contextlib.suppress(OSError):
                resource.prlimit(pid, kind, old)


def fork_fails(lab: Lab) -> list[Observation]:
    """Case fail_closed/no-fork-or-pipes.

    Zygotes that cannot fork (EAGAIN) or open a pipe (EMFILE), and recover when the shortage is over.
    """
    seen = []
    for name, kind in (("EAGAIN", resource.RLIMIT_NPROC), ("EMFILE", resource.RLIMIT_NOFILE)):
        with Daemon() as daemon:
            seen.append((f"before {name}: {check(daemon).words}", "P", check(daemon).letter))
            with limited(daemon.descendants(), kind, 0 if kind == resource.RLIMIT_NPROC else 3):
                replies = [check(daemon, timeout_s=60) for _ in range(4)]
                for reply in replies:
                    # P where a replaced zygote, which has no such shortage, took the check over.
                    seen.append((f"under {name}: {reply.words}", "XP", reply.letter))
            recovered = comes_true(lambda: check(daemon).letter == "P", 30)
            seen.append(fact(f"recovered from {name}", recovered))
            seen.append(fact("same server", daemon.alive))
    return seen


def started_nap(daemon: Daemon) -> tuple[grpc.Future, list[psutil.Process], list[psutil.Process]]:
    """(the RPC, the zygotes, the workers): returns once a worker runs."""
    future = rpc.SandboxStub(daemon.channel).Check.future(request([NAP]), timeout=60)
    comes_true(lambda: bool(daemon.workers()), 20)
    workers = daemon.workers()
    pids = {process.pid for process in workers}
    return future, [process for process in daemon.descendants() if process.pid not in pids], workers


def zygote_killed(lab: Lab) -> list[Observation]:
    """Case fail_closed/zygote-killed.

    Every zygote is killed in mid-run. They are replaced and the check is run again.
    """
    with Daemon() as daemon:
        check(daemon)
        future, zygotes, _ = started_nap(daemon)
        for process in zygotes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGKILL)
        reply = Lab.answers([NAP], future)[0]
        after = check(daemon)
        alive = daemon.alive
    again = reply.verdict.attempts if reply.verdict is not None else 0
    return [
        (f"the check: {reply.words}, attempts {again}", "PX", reply.letter),
        (f"afterwards: {after.words}", "P", after.letter),
        fact("same server", alive),
    ]


def worker_killed(lab: Lab) -> list[Observation]:
    """Case fail_closed/worker-killed.

    SIGKILL and SIGTERM to a worker: ours, run again or X, and never the candidate's fault.
    """
    seen = []
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP):
        with Daemon() as daemon:
            check(daemon)
            future, _, workers = started_nap(daemon)
            for process in workers:
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.send_signal(number)
            reply = Lab.answers([NAP], future)[0]
            allowed = "TXP" if number == signal.SIGSTOP else "XP"
            seen.append((f"{number.name}: {reply.words}", allowed, reply.letter))
            seen.append((f"after {number.name}", "P", check(daemon).letter))
    return seen
