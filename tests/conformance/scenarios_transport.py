"""Scenarios of section J below gRPC: connections that flood, vanish, never read, or do not speak HTTP/2 at all."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import signal
import socket
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import grpc
from cruxbox.model import CallCheck, Task
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxbox_proto.v1 import sandbox_pb2_grpc as rpc
from support.waiting import comes_true

from conformance import http2
from conformance.case import LIMITS, Observation
from conformance.daemon import Daemon, health_of
from conformance.lab import BENIGN, MESSAGE_OPTIONS, Lab
from conformance.relay import Relay
from conformance.scenarios import SLEEPER, fact
from conformance.wire import RPC_LETTER, reply_of, reply_to_error, request

FREED_S = 12.0  # well below the 25 s that the sleeper would take if nobody ended it


def address_of(lab: Lab) -> tuple[str, int]:
    """Host and port of the server."""
    host, _, port = lab.target.rpartition(":")
    return host or "127.0.0.1", int(port)


def busy(lab: Lab) -> bool:
    """Does a worker run?"""
    return lab.daemon is not None and bool(lab.daemon.workers())


def seen_busy_then_free(lab: Lab, what: str) -> list[Observation]:
    """The slot was taken, and is free again: to be called after the client went away."""
    if lab.daemon is None:
        return [fact(f"{what}: not observable from here", True)]
    return [fact(f"{what}: worker killed, slot freed", comes_true(lambda: not busy(lab), FREED_S))]


def wait_busy(lab: Lab) -> bool:
    """Wait until the sleeper runs; always true where we cannot see."""
    return lab.daemon is None or comes_true(lambda: busy(lab), 20)


def never_reads(lab: Lab) -> list[Observation]:
    """Case protocol/reader-that-never-reads.

    Asks for far more output than it ever reads; the server stops taking its requests.
    """
    loud = "def f(n): print('x' * 60000); return n\n#" + "-" * 30_000 + "\n"
    taken = [0]

    def requests() -> Iterator[pb.CheckRequest]:
        for number in range(20_000):
            taken[0] = number
            checks = tuple(CallCheck(f"f({n})", str(n), id=str(n)) for n in range(10))
            yield request([Task(loud, checks, id=str(number), limits=LIMITS)])

    channel = lab.new_channel()
    stream = rpc.SandboxStub(channel).CheckStream(requests(), timeout=15)
    last = [-1]

    def stalled() -> bool:
        before, last[0] = last[0], taken[0]
        return before == taken[0] > 0 and not comes_true(lambda: taken[0] != before, 2.0)

    held_back = comes_true(stalled, 40)
    memory = lab.daemon.footprint().memory_bytes if lab.daemon is not None else 0
    base = lab.baseline.memory_bytes if lab.baseline is not None else 0
    beside = lab.benign()
    with contextlib.suppress(grpc.RpcError):
        stream.cancel()
    channel.close()
    return [
        fact("the sender is held back, or its deadline passed", held_back and taken[0] < 19_999, taken[0]),
        fact("memory bounded", memory < base + (256 << 20), f"{memory >> 20} MiB, before {base >> 20}"),
        (f"beside it: {beside.words}", "P", beside.letter),
    ]


def dropped_connection(lab: Lab) -> list[Observation]:
    """Case protocol/connection-dropped.

    The connection is reset in mid-run; then one goes half open: nothing more comes, nothing is closed.
    """
    seen = []
    with Relay(address_of(lab)) as relay:
        channel = grpc.insecure_channel(relay.target, options=MESSAGE_OPTIONS)
        future = rpc.SandboxStub(channel).Check.future(request([SLEEPER]), timeout=60)
        seen.append(fact("it ran", wait_busy(lab)))
        relay.cut()
        seen += seen_busy_then_free(lab, "reset")
        future.cancel()
        channel.close()
    short = Task("import time\ndef f(): time.sleep(20)\n", SLEEPER.checks, limits=replace(LIMITS, wall_ms=1500))
    with Relay(address_of(lab)) as relay:
        channel = grpc.insecure_channel(relay.target, options=MESSAGE_OPTIONS)
        future = rpc.SandboxStub(channel).Check.future(request([short]), timeout=60)
        seen.append(fact("it ran", wait_busy(lab)))
        relay.freeze()
        seen += seen_busy_then_free(lab, "half open")
        future.cancel()
        channel.close()
    return seen


def cancelled(lab: Lab) -> list[Observation]:
    """Case protocol/cancel-and-deadline: cancelled by the caller, then ended by its deadline; a stream too."""
    future = lab.stub.Check.future(request([SLEEPER]), timeout=60)
    seen = [fact("it ran", wait_busy(lab))]
    future.cancel()
    seen += seen_busy_then_free(lab, "cancel")
    stream = lab.stub.CheckStream(iter([request([SLEEPER])]), timeout=60)
    seen.append(fact("it ran", wait_busy(lab)))
    stream.cancel()
    seen += seen_busy_then_free(lab, "cancelled stream")
    future = lab.stub.Check.future(request([SLEEPER]), timeout=1.5)
    seen.append(fact("it ran", wait_busy(lab)))
    letter = Lab.answers([SLEEPER], future)[0].letter
    seen.append(("deadline", "HX", letter))
    return seen + seen_busy_then_free(lab, "deadline")


def http2_floods(lab: Lab) -> list[Observation]:
    """Case protocol/http2-floods: each flood on a connection of its own; benign checks pass beside and after."""
    floods = {
        "rapid reset": http2.rapid_reset(5_000),
        "pings": http2.pings(20_000),
        "settings": http2.settings(20_000),
        "continuations": http2.continuations(20_000),
    }
    seen = []
    for name, data in floods.items():
        with contextlib.suppress(OSError), http2.connect(address_of(lab)) as connection:
            connection.settimeout(5)
            with contextlib.suppress(OSError):
                connection.sendall(data)
            beside = lab.benign()
            seen.append((f"beside {name}: {beside.words}", "P", beside.letter))
    return seen


TLS_HELLO = bytes.fromhex("1603010200010001fc0303") + bytes(range(200)) * 3
NOT_HTTP2 = {
    "TLS hello": TLS_HELLO,
    "HTTP/1.1": b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n",
    "random bytes": bytes((n * 7919) & 255 for n in range(4096)),
    "preface, then garbage": http2.PREFACE + b"\xff" * 4096,
    "a frame of 16 MB": http2.PREFACE + b"\xff\xff\xff" + bytes(6),
}


def not_http2(lab: Lab) -> list[Observation]:
    """Case protocol/other-protocols: the server closes the connection and stays well."""
    seen = []
    for name, data in NOT_HTTP2.items():
        with socket.create_connection(address_of(lab), timeout=30) as connection:
            closed = False
            with contextlib.suppress(TimeoutError):
                try:
                    connection.sendall(data)
                    while connection.recv(65536):
                        pass
                    closed = True
                except ConnectionError:
                    closed = True
        seen.append(fact(f"{name}: closed", closed))
    return seen


def idle_connections(lab: Lab) -> list[Observation]:
    """Case protocol/idle-connections.

    As many idle connections as this process may open, up to 10**4; who is connected is still served.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    wanted = max(100, min(10**4, hard - 1000))
    opened: list[socket.socket] = []
    try:
        with Daemon() as daemon:
            before = health_of(daemon.channel)
            base = daemon.footprint()
            for _ in range(wanted):
                try:
                    opened.append(socket.create_connection(("127.0.0.1", daemon.port), timeout=0.5))
                except OSError:
                    break
            held = daemon.footprint()
            stub = rpc.SandboxStub(daemon.channel)
            reply = reply_of(stub.Check(request([BENIGN]), timeout=60).verdicts[0])
            for connection in opened:
                connection.close()
            after = comes_true(lambda: _fresh(daemon.target) == "SERVING", 30)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    grown = held.memory_bytes - base.memory_bytes
    return [
        fact("serving before", before == "SERVING", before),
        (f"{len(opened)} idle connections beside: {reply.words}", "P", reply.letter),
        fact("memory bounded", grown < 512 << 20, f"{grown >> 20} MiB for {len(opened)} connections"),
        fact("a new client is served afterwards", after),
    ]


def _fresh(target: str) -> str:
    with grpc.insecure_channel(target, options=MESSAGE_OPTIONS) as channel:
        return health_of(channel)


def sigterm_under_load(lab: Lab) -> list[Observation]:
    """Case protocol/sigterm-under-load.

    Every check that was accepted gets a verdict or UNAVAILABLE, and the server ends by itself.
    """
    slow = Task(
        "import time\ndef f(x):\n    time.sleep(0.05)\n    return x\n", (CallCheck("f(1)", "1"),), limits=LIMITS
    )
    with Daemon() as daemon, grpc.insecure_channel(daemon.target, options=MESSAGE_OPTIONS) as channel:
        stub = rpc.SandboxStub(channel)
        futures = [stub.Check.future(request([slow]), timeout=90) for _ in range(60)]
        comes_true(lambda: bool(daemon.workers()), 20)
        below = daemon.descendants()
        daemon.process.send_signal(signal.SIGTERM)
        letters: dict[str, int] = {}
        for future in futures:
            try:
                letter = reply_of(future.result().verdicts[0]).letter
            except grpc.RpcError as error:
                letter = RPC_LETTER.get(error.code(), reply_to_error(error).words)
            letters[letter] = letters.get(letter, 0) + 1
        ended = comes_true(lambda: not daemon.alive, 60)
        code = daemon.process.poll()
        gone = comes_true(lambda: not any(process.is_running() for process in below), 10)
    return [
        fact("a verdict or UNAVAILABLE for each", set(letters) <= {"P", "X"}, letters),
        fact("some were finished", letters.get("P", 0) > 0, letters),
        fact("it ended by itself, code 0", ended and code == 0, code),
        fact("nothing survived", gone),
    ]


CLOCK_SHIM = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long shift(void) {
    const char *flag = getenv("CRUXBOX_CLOCK_JUMP");
    return flag && access(flag, F_OK) == 0 ? 86400L * 365 : 0;
}
int clock_gettime(clockid_t id, struct timespec *out) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(id, out);
    if (result == 0 && id == CLOCK_REALTIME) out->tv_sec += shift();
    return result;
}
time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
int gettimeofday(struct timeval *restrict out, void *restrict zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    out->tv_sec = now.tv_sec;
    out->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"""


def clock_jump(lab: Lab) -> list[Observation]:
    """Case protocol/clock-jumps.

    The daemon's time of day jumps by a year in mid-run; limits, deadlines and verdicts stay.
    """
    compiler = shutil.which((sysconfig.get_config_var("CC") or "cc").split()[0]) or shutil.which("cc")
    if compiler is None:
        return [fact("no C compiler here to build the clock with: not shown", True)]
    folder = Path(tempfile.mkdtemp(prefix="cruxbox-clock-"))
    source, library, flag = folder / "clock.c", folder / "clock.so", folder / "jump"
    source.write_text(CLOCK_SHIM)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    environment = {"LD_PRELOAD": str(library), "CRUXBOX_CLOCK_JUMP": str(flag)}
    try:
        with Daemon(environment) as daemon:
            stub = rpc.SandboxStub(daemon.channel)
            nap = Task(
                "import time\ndef f():\n    time.sleep(0.5)\n    return 1\n", (CallCheck("f()", "1"),), limits=LIMITS
            )
            running = stub.Check.future(request([nap]), timeout=60)
            comes_true(lambda: bool(daemon.workers()), 20)
            flag.touch()
            during = reply_of(running.result().verdicts[0])
            after = reply_of(stub.Check(request([nap]), timeout=60).verdicts[0])
            loop = replace(nap, program="import time\ndef f(): time.sleep(99)\n", limits=replace(LIMITS, wall_ms=400))
            stopped = reply_of(stub.Check(request([loop]), timeout=60).verdicts[0])
            os.unlink(flag)
            back = reply_of(stub.Check(request([nap]), timeout=60).verdicts[0])
            serving = health_of(daemon.channel)
    finally:
        shutil.rmtree(folder)
    replies = {"during": during, "after": after, "back again": back}
    seen = [(f"{name}: {reply.words}", "P", reply.letter) for name, reply in replies.items()]
    return [*seen, (f"a sleep: {stopped.words}", "T", stopped.letter), fact("serving", serving == "SERVING", serving)]
