"""Scenarios of sections E, G and K: more than one program, or a look from outside while it runs."""

from __future__ import annotations

import secrets
from dataclasses import replace

import psutil
from cruxbox.model import CallCheck, EvaluateCheck, Isolation, ScriptCheck, StdioCheck, Task
from cruxbox_proto.v1 import sandbox_pb2_grpc as rpc
from support.waiting import comes_true

from conformance.case import LIMITS, Observation
from conformance.daemon import Daemon
from conformance.lab import BENIGN, Lab
from conformance.wire import request

SLEEPER = Task(
    "import time\ndef f(): time.sleep(25)\n", (CallCheck("f()", "1"),), limits=replace(LIMITS, wall_ms=30_000)
)

# Searches everything it can reach for needles and canaries: objects, and the raw pages that hold them.
SCANNER = """
import gc, re, sys
PATTERN = re.compile(b'(?:' + b'-eldeen'[::-1] + b'|' + b'-yranac'[::-1] + b')[0-9a-f]{24}')
def texts():
    seen = set()
    todo = gc.get_objects() + list(sys.modules.values())
    for thing in todo:
        for inner in gc.get_referents(thing):
            if isinstance(inner, str):
                yield inner.encode('utf-8', 'replace')
            elif isinstance(inner, (bytes, bytearray)):
                yield bytes(inner)
def pages():
    try:
        import ctypes
    except Exception:
        return
    libc = ctypes.CDLL(None)
    libc.sbrk.restype = ctypes.c_long
    top = libc.sbrk(0)
    wanted = {id(thing) >> 12 for thing in gc.get_objects()} | set(range((top >> 12) - 4096, top >> 12))
    wanted |= {page + n for page in list(wanted) for n in (-1, 1)}
    for page in sorted(wanted):
        # The kernel reads eight bytes at the address or says EFAULT: a way to ask whether a page is there.
        if libc.syscall(ctypes.c_long(14), ctypes.c_long(0), ctypes.c_long(page << 12), ctypes.c_long(0),
                        ctypes.c_long(8)) == 0:
            yield ctypes.string_at(page << 12, 4096)
def f():
    found = set()
    for source in (texts, pages):
        for data in source():
            found.update(PATTERN.findall(data))
    return sorted(one.decode() for one in found)
"""
SCAN_LIMITS = replace(LIMITS, cpu_ms=10_000, wall_ms=30_000, steps=1_000_000_000)


def fact(what: str, holds: bool, detail: object = "") -> Observation:
    """An observation that is simply true or not."""
    return (what if holds else f"{what} ({detail})", "ok", "ok" if holds else "no")


def needle() -> str:
    """A fresh secret of the shape the scanner looks for."""
    return "needle-" + secrets.token_hex(12)


ORACLE = """
import os
def said(path, flags):
    try:
        os.close(os.open(path, flags))
    except OSError as refused:
        return refused.errno
    return 0
def f():
    there = [said('@{secret_file}', flags) for flags in (os.O_RDONLY, os.O_DIRECTORY)]
    return there == [said('@{secret_file}-not', flags) for flags in (os.O_RDONLY, os.O_DIRECTORY)]
"""


def open_oracle(lab: Lab) -> list[Observation]:
    """Case files/existence-oracle: opening must not tell either, where the worker has a file tree of its own.

    Without namespaces it does: programs must be able to open what they import, and a filter sees no paths.
    """
    own_tree = any(layer.name == "namespaces" and layer.active for layer in lab.info().layers)
    reply = lab.ask([lab.fill(Task(ORACLE, (CallCheck("f()", "True"),), limits=LIMITS))])[0]
    return [(f"open, namespaces {'on' if own_tree else 'off'}", "P" if own_tree else "PF", reply.letter)]


def server_killed(lab: Lab) -> list[Observation]:
    """Case processes/server-killed: SIGKILL to the daemon while workers run; every process below it ends."""
    with Daemon() as daemon:
        stub = rpc.SandboxStub(daemon.channel)
        future = stub.Check.future(request([SLEEPER]), timeout=60)
        running = comes_true(lambda: bool(daemon.workers()), 20)
        below = daemon.descendants()
        daemon.process.kill()
        daemon.process.wait()
        gone = comes_true(lambda: not any(alive(process) for process in below), 5)
        future.cancel()
        left = [process.pid for process in below if alive(process)]
    return [fact("a worker ran", running), fact("all gone", gone, left)]


def alive(process: psutil.Process) -> bool:
    """Does the process still run (a zombie does not)?"""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def earlier_request_absent(lab: Lab) -> list[Observation]:
    """Case leaks/earlier-request: secrets of earlier requests, then searches of everything a later worker can reach."""
    secret = needle()
    program = f"# {secret}\ndef f(x): return x == {secret!r}\n"
    told = [
        Task(program, (CallCheck(f"f({secret!r})", "True"),), limits=LIMITS),
        Task(program, (ScriptCheck(f"assert f({secret!r}) # {secret}", "f"),), limits=LIMITS),
        Task(f"print({secret!r})", (StdioCheck(secret, secret),), limits=LIMITS),
    ]
    observations = [
        (f"told: {reply.words}", "P", reply.letter) for _ in range(4) for task in told for reply in lab.ask([task])
    ]
    for _ in range(4):
        reply = lab.ask([Task(SCANNER, (CallCheck("f()", "[]"),), limits=SCAN_LIMITS)])[0]
        observations.append((f"searched: {reply.words}", "P", reply.letter))
    return observations


def secrets_absent(lab: Lab) -> list[Observation]:
    """Case leaks/secrets-in-memory.

    A worker searches for its own expected value, its neighbours' and the daemon's secrets.
    """
    own, neighbour = needle(), needle()
    checks = (CallCheck("f()", f"[{own!r}]", id="own"), CallCheck("f()", f"[{neighbour!r}]", id="neighbour"))
    observations = []
    for isolation in (Isolation.AUTO, Isolation.PROCESS):
        task = Task(SCANNER, checks, limits=SCAN_LIMITS, isolation=isolation)
        for reply in lab.ask([task]):
            observations.append((f"expected value: {reply.words}", "F", reply.letter))
            found = reply.verdict.value if reply.verdict is not None else "no verdict"
            observations.append(fact("nothing found", found == "[]", found))
    checks_script = f"def check(candidate):\n    assert candidate() == [{own!r}]\ncheck(f)"
    reply = lab.ask([Task(SCANNER, (ScriptCheck(checks_script, "f"),), limits=SCAN_LIMITS)])[0]
    observations.append((f"expected value of a script: {reply.words}", "F", reply.letter))
    environment = (
        "import os\ndef f(): return sorted(k for k, v in os.environ.items() if 'canary' in v or 'SECRET' in k)"
    )
    reply = lab.ask([Task(environment, (CallCheck("f()", "[]"),), limits=LIMITS)])[0]
    observations.append((f"environment: {reply.words}", "P", reply.letter))
    return observations


def hash_order_fixed(lab: Lab) -> list[Observation]:
    """Case determinism/set-order: 100 workers print a set of strings; all print the same."""
    program = "def f(): return [x for x in {str(n) * 3 for n in range(50)}]\n"
    checks = tuple(EvaluateCheck("f()", id=str(n)) for n in range(100))
    replies = lab.ask([Task(program, checks, limits=LIMITS, isolation=Isolation.PROCESS)])
    values = {reply.verdict.value for reply in replies if reply.verdict is not None}
    letters = "".join(sorted({reply.letter for reply in replies}))
    return [
        ("evaluated", "E", letters),
        fact("one order", len(values) == 1 and "" not in values, f"{len(values)} orders"),
    ]


MIXED = (
    ("def f(x): return x + 1\n", "f(1)", "2"),
    ("def f(x): return x\n", "f(1)", "2"),
    ("def f(x): return x[9]\n", "f([])", "2"),
    ("def f(x):\n    while True: pass\n", "f(1)", "2"),
    ("def f(x): return bytearray(1 << 40)\n", "f(1)", "2"),
    ("def f(x):\n    while True: print('x' * 999)\n", "f(1)", "2"),
    ("import os\ndef f(x): os._exit(3)\n", "f(1)", "2"),
    ("def f(x): return (\n", "f(1)", "2"),
)


def parallel_as_serial(lab: Lab) -> list[Observation]:
    """Case determinism/parallel-as-serial: the same mix one after the other, then 64 at once."""
    tasks = [Task(program, (CallCheck(text, expected),), limits=LIMITS) for program, text, expected in MIXED]
    alone = [lab.ask([task])[0].letter for task in tasks]
    started = [(n % len(tasks), lab.start([tasks[n % len(tasks)]])) for n in range(64)]
    together = [(which, lab.answers([tasks[which]], future)[0].letter) for which, future in started]
    different = [(alone[which], letter) for which, letter in together if letter != alone[which]]
    return [
        fact("same verdicts", not different, different[:5]),
        fact("as meant", alone == list("PFFTMOCI"), "".join(alone)),
    ]


DEPTH = """
def depth(n):
    try:
        return depth(n + 1)
    except RecursionError:
        return n
def f():
    return depth(1)
"""


def recursion_depth_fixed(lab: Lab) -> list[Observation]:
    """Case determinism/recursion-depth.

    The depth a program reaches, shared worker or its own, after other checks or first.
    """
    evaluated = tuple(EvaluateCheck("f()", id=str(n)) for n in range(3))
    depths = set()
    for isolation in (Isolation.AUTO, Isolation.PROCESS):
        for reply in lab.ask([Task(DEPTH, evaluated, limits=LIMITS, isolation=isolation)]):
            depths.add(reply.verdict.value if reply.verdict is not None else reply.words)
    plain = "def f(n): return n and 1 + f(n - 1)\n"
    kinds = [
        Task(plain, (CallCheck("f(950)", "950"),), limits=LIMITS),
        Task(plain, (ScriptCheck("def check(g):\n    assert g(950) == 950\ncheck(f)", "f"),), limits=LIMITS),
        Task(plain + "print(f(950))\n", (StdioCheck("", "950"),), limits=LIMITS),
    ]
    seen = [(f"950 deep: {reply.words}", "P", reply.letter) for task in kinds for reply in lab.ask([task])]
    return [fact("one depth", len(depths) == 1, depths), *seen, (f"{BENIGN.checks[0]}", "P", lab.benign().letter)]
