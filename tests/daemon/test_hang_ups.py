"""What a candidate closes, writes or withholds is its own doing, in every kind of check, and never our failure."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from cruxbox import (
    Assurance,
    CallCheck,
    Client,
    Clock,
    EvaluateCheck,
    Limits,
    Outcome,
    ScriptCheck,
    StdioCheck,
    Task,
)
from cruxboxd.settings.host import usable_cpus
from support.daemons import Served
from support.tasks import HARMLESS, NAP

pytestmark = pytest.mark.kernel

# What it does -> (statements, the outcomes that may come of it). The wall limit is a minute where it need not run out.
# What ties it to the sandbox (4, its line, and 3, its report) cannot be closed or replaced: the same program would come
# to another outcome each time, as it or the sandbox is faster.
LONG, SHORT = 60_000, 1_500
CAP_SYS_NICE = 23
CRASHED, LATE, RAISED = {Outcome.CRASHED}, {Outcome.TIMED_OUT}, {Outcome.RAISED}
DEEDS = {
    "cuts its line": ("os.close(4); return 2", RAISED, LONG),
    "closes everything and sleeps": ("os.closerange(3, 5); os.closerange(6, 64); time.sleep(50)", LATE, SHORT),
    "replaces its line": ("os.dup2(1, 4); return 2", RAISED, LONG),
    "replaces its line by its report": ("os.dup2(3, 4); return 2", RAISED, LONG),
    "closes its report": ("os.close(3); return 2", RAISED, LONG),
    "replaces its report": ("os.dup2(1, 3, False); return 2", RAISED, LONG),
    "sleeps": ("time.sleep(50)", LATE, SHORT),
    "ends": ("os._exit(0)", CRASHED, LONG),
    "ends as a harness that failed": ("os._exit(63)", CRASHED, LONG),
    "ends as one that used up its steps": ("os._exit(61)", {Outcome.CRASHED, Outcome.VIOLATION}, LONG),
    "floods its report": ("while True: os.write(3, b'x' * 65536)", {Outcome.OUTPUT_LIMIT}, LONG),
    "floods its line": ("while True: os.write(4, b'.' * 4096)", LATE, SHORT),  # nobody reads it: it waits for room
    "garbles its report": ("os.write(3, b'x' * 999); os._exit(0)", {Outcome.VIOLATION, Outcome.CRASHED}, LONG),
}
_BODY = "import os, time\ndef f(x):\n    {}\n"
KINDS = {
    "call": lambda body: (body, CallCheck("f(1)", "2")),
    "evaluate": lambda body: (body, EvaluateCheck("f(1)")),
    "expression": lambda body: (body, CallCheck("[f(1)][0]", "2")),
    "arguments": lambda body: (body, CallCheck("f(int('1'))", "2", "f")),
    "stdio": lambda body: (body + "f(1)\n", StdioCheck("", "2")),
    "script": lambda body: (body, ScriptCheck("assert f(1) == 2\nassert f(2) == 3")),
    "pair": lambda body: (body, ScriptCheck("assert candidate(1) == 2\nassert candidate(2) == 3", "f")),
    "pair while loading": lambda body: (body + "f(1)\n", ScriptCheck("assert candidate(1) == 2\nx = 1", "f")),
}


def tasks(deed: str) -> list[Task]:
    statements, _, wall_ms = DEEDS[deed]
    limits = Limits(cpu_ms=500, wall_ms=wall_ms, steps=10**11)
    made = []
    for name, kind in KINDS.items():
        program, check = kind(_BODY.format(statements))
        made.append(Task(program, [check], id=name, limits=limits))
    return made


@pytest.mark.parametrize("deed", DEEDS)
@pytest.mark.parametrize("twin", ["native", "pure"])
def test_no_deed_of_a_candidate_is_our_failure(request, twin: str, deed: str):
    client: Client = request.getfixturevalue(twin)
    found = {verdict.task_id: verdict for verdict in client.check(tasks(deed))}
    assert set(found) == set(KINDS)
    allowed = DEEDS[deed][1] | ({Outcome.CRASHED, Outcome.VIOLATION} if deed == "floods its report" else set())
    for name, verdict in found.items():
        # A program that ends without a word is judged by what it printed: nothing.
        printed = {Outcome.FAILED} if name == "stdio" else set()
        assert verdict.outcome in allowed | printed, (name, verdict)
        assert verdict.attempts == 1, (name, verdict)


# Of a pair also: what it does to the socket between the halves.
SOCKET_DEEDS = {
    "closes it and sleeps": "os.close(5); time.sleep(50)",
    "writes garbage and sleeps": "os.write(5, b'\\xff' * 99); time.sleep(50)",
    "writes half an answer and ends": "os.write(5, b'\\x50\\0\\0\\0r'); os._exit(0)",
}


@pytest.mark.parametrize("deed", SOCKET_DEEDS)
def test_no_deed_to_the_test_of_a_pair_is_our_failure(native: Client, deed: str):
    limits = Limits(wall_ms=LONG)
    script = ScriptCheck("assert candidate(1) == 2\nimport time\ntime.sleep(0.3)\nassert candidate(2) == 3", "f")
    (verdict,) = native.check([Task(_BODY.format(SOCKET_DEEDS[deed]), [script], limits=limits)])
    assert (verdict.outcome, verdict.assurance, verdict.attempts) == (Outcome.CRASHED, Assurance.SEPARATED, 1)


def test_a_candidate_that_outlives_its_test_changes_no_verdict(native: Client):
    """The test came to its end first, so its word stands, whatever the candidate does then."""
    program = "import time, atexit\nclass C:\n    def __del__(self): time.sleep(50)\nc = C()\ndef f(x): return x + 1\n"
    stubborn = program + "import os\nold = os.read\n"
    for each in (program, stubborn):
        task = Task(each, [ScriptCheck("assert candidate(1) == 2", "f")], limits=Limits(wall_ms=LONG))
        assert native.check([task])[0].outcome is Outcome.PASSED


def test_what_a_candidate_printed_is_heard_after_its_test(native: Client):
    """Also if it is more than a pipe holds, and the test was fast."""
    program = "def f(x):\n    print('a' * 1_500_000)\n    return x + 1\n"
    task = Task(program, [ScriptCheck("assert candidate(1) == 2", "f")], limits=Limits(output_bytes=4 << 20))
    for verdict in native.check([task] * 4):
        assert (verdict.outcome, len(verdict.stdout)) == (Outcome.PASSED, 1_500_001)


def test_low_priority_changes_nothing(tmp_path):
    """A slow worker cannot be given a better priority than its daemon has, and need not be."""
    with Served(tmp_path, prefix=("nice", "-n", "15")) as daemon, daemon.client() as client:
        naps = [Task(NAP + f"# {n}", [CallCheck("f(0.05)", "0.05")]) for n in range(4)]
        naps += [Task(HARMLESS + "import time\ntime.sleep(0.05)", [ScriptCheck("assert candidate(1) == 2", "f")])]
        verdicts = client.check(naps)
        assert {(verdict.outcome, verdict.attempts) for verdict in verdicts} == {(Outcome.PASSED, 1)}
        assert daemon.metric("cruxbox_zygote_restarts_total") == 0


def test_the_daemon_comes_before_its_zygotes(tmp_path):
    """Where it may, on more than one CPU; its session, too, if it leads one. They come before
    their workers, which have the priority it began with."""
    [capabilities] = re.findall(r"CapEff:\s*(\w+)", Path("/proc/self/status").read_text())
    step = -10 if int(capabilities, 16) >> CAP_SYS_NICE & 1 and usable_cpus() > 1 else 0
    with Served(tmp_path, prefix=("setsid", "nice", "-n", "3")) as daemon:
        began_with = os.getpriority(os.PRIO_PROCESS, 0) + 3
        assert psutil.Process(daemon.process.pid).nice() == began_with + step
        assert {process.nice() for process in daemon.children()} == {began_with + step // 2}
        session = Path(f"/proc/{daemon.process.pid}/autogroup")
        assert not session.exists() or session.read_text().endswith(f" nice {step}\n")


def test_a_sleeper_is_late_by_its_own_clock(native: Client):
    """Beside others that want the CPU: what it slept is its own time."""
    limits = Limits(cpu_ms=3_000, wall_ms=1_000, steps=10**12)
    kinds = [CallCheck("f(50)", "50"), ScriptCheck("assert candidate(50) == 50", "f")]
    verdicts = native.check([Task(NAP, [kind], limits=limits) for kind in kinds])
    assert [(verdict.outcome, verdict.clock) for verdict in verdicts] == [(Outcome.TIMED_OUT, Clock.WALL)] * 2


ONE_CPU = "import os, sys\nos.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"


@contextmanager
def crowd() -> Iterator[None]:
    """Many processes that want the first CPU, with the priority of a slow worker."""
    spin = [sys.executable, "-c", ONE_CPU + "os.nice(10)\nwhile True: pass"]
    spinners = [subprocess.Popen(spin) for _ in range(12)]
    try:
        yield
    finally:
        for one in spinners:
            one.kill()
            one.wait()


ROUNDS = 500_000


def test_what_the_scheduler_withheld_is_not_a_workers_time(tmp_path):
    """Half a second of CPU time takes more than the wall limit where twelve others want the only CPU; no limit of its
    own is reached. How many rounds that is depends on the host, and on what else its CPUs do in that moment: where it
    was too few, twice as many."""
    program = "def f(x):\n    n = 0\n    for i in range({}):\n        n += i\n    return x + 1\n"
    limits = Limits(cpu_ms=20_000, wall_ms=1_000, steps=10**12)
    checks = [CallCheck("f(1)", "2"), ScriptCheck("assert candidate(1) == 2", "f"), ScriptCheck("assert f(1) == 2")]
    there = (sys.executable, "-c", ONE_CPU + "os.execvp(sys.argv[1], sys.argv[1:])")
    with Served(tmp_path, prefix=there) as daemon, daemon.client() as client:
        [alone] = client.check([Task(program.format(ROUNDS), checks[:1], limits=limits)])
        rounds, was_late = ROUNDS * 500_000_000 // alone.cpu_ns, False
        with crowd():
            while not was_late and rounds < 100 * ROUNDS:
                verdicts = client.check([Task(program.format(rounds), [check], limits=limits) for check in checks])
                assert {verdict.outcome for verdict in verdicts} <= {Outcome.PASSED, Outcome.SANDBOX_ERROR}
                was_late = any(one.wall_ns > 10**9 or one.outcome is Outcome.SANDBOX_ERROR for one in verdicts)
                rounds *= 2
    assert was_late
