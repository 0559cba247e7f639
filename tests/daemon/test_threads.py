"""Threads and event loops of candidates: a bounded number, waited for as Python does, none left behind."""

from __future__ import annotations

import textwrap

import pytest
from behaviours import tested_runtimes
from cruxbox import CallCheck, Check, Client, Clock, Limits, Outcome, RunCheck, ScriptCheck, StdioCheck, Task, Verdict
from cruxcell.protocol.messages import MOST_THREADS as THREADS

pytestmark = pytest.mark.kernel

every_runtime = pytest.mark.parametrize("runtime", tested_runtimes())

THREADS_JOINED = """
import threading, queue
def f(n):
    todo, done, lock = queue.Queue(), [], threading.Lock()
    def work():
        while True:
            item = todo.get()
            if item is None:
                return
            with lock:
                done.append(item * item)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads: thread.start()
    for i in range(n): todo.put(i)
    for _ in threads: todo.put(None)
    for thread in threads: thread.join()
    return sorted(done)
"""
POOL = """
from concurrent.futures import ThreadPoolExecutor
def f(n):
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda x: x * x, range(n)))
"""
THAT_END = """
import threading, time
def f(n, seconds=0):
    done, lock = [], threading.Lock()
    def work(i):
        time.sleep(seconds)
        with lock: done.append(i)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(n)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    return sorted(done) == list(range(n))
"""
LARGE_POOL = """
from concurrent.futures import ThreadPoolExecutor
import time
def f(n):
    with ThreadPoolExecutor(max_workers=n) as pool:
        return sum(pool.map(lambda x: time.sleep(0.01) or 1, range(n)))
"""
LISTENER = """
from queue import Queue
import logging
from logging.handlers import QueueHandler, QueueListener
def f(n):
    heard, queue = [], Queue()
    own = logging.Handler()
    own.emit = lambda record: heard.append(record.getMessage())
    listener, log = QueueListener(queue, own), logging.getLogger("a")
    log.addHandler(QueueHandler(queue))
    listener.start()
    for i in range(n): log.warning("%d", i)
    listener.stop()
    return [int(each) ** 2 for each in heard]
"""
AT_ONCE = """
import threading
def f(n):
    together = threading.Barrier(n)
    threads = [threading.Thread(target=together.wait, daemon=True) for _ in range(n)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""
LOOP = """
import asyncio
async def one(i):
    await asyncio.sleep(0.01)
    return i * i
async def all(n):
    queue = asyncio.Queue()
    await queue.put('queued')
    found = await asyncio.gather(*[one(i) for i in range(n)])
    helped = await asyncio.get_running_loop().run_in_executor(None, sum, [1, 2])
    try:
        await asyncio.wait_for(asyncio.sleep(30), 0.01)
    except asyncio.TimeoutError:
        return found, helped, await queue.get()
def f(n):
    return asyncio.run(all(n))
"""
STACK = """
import sys, threading
def depth(n):
    return 0 if n == 0 else 1 + depth(n - 1)
def main():
    print(depth(int(input())))
threading.stack_size(1 << 26)
sys.setrecursionlimit(10**6)
threading.Thread(target=main).start()
"""
HUGE_STACK = """
import threading
threading.stack_size(1 << 34)
assert threading.stack_size(1 << 26) == 1 << 34
threading.stack_size(1 << 34)
def f(x):
    found = []
    thread = threading.Thread(target=found.append, args=(x + 1,))
    thread.start()
    thread.join()
    return found[0]
if __name__ == "__main__":
    print(f(int(input())))
"""
AT_THE_END = """
import atexit, threading, time
atexit.register(print, 'at exit')
ended = threading.Event()
def late():
    ended.wait()
    time.sleep(0.05)
    print('thread')
thread = threading.Thread(target=late)
thread.start()
threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
def after():
    thread.join()
    print('timer')
threading.Timer(0.01, after).start()
print('end')
ended.set()
"""
MANY = """
import threading, time
def f(n):
    started = 0
    try:
        for _ in range(n):
            threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
            started += 1
    except RuntimeError:
        pass
    return started
"""
BUSY = """
import hashlib, threading
def spin():
    while True:
        hashlib.sha256(bytes(1 << 22))
def f():
    for _ in range(3): threading.Thread(target=spin).start()
    spin()
"""


def judge(client: Client, program: str, check: Check, **more: object) -> Verdict:
    [verdict] = client.check([Task(textwrap.dedent(program), [check], **more)])  # type: ignore[arg-type]
    return verdict


@pytest.fixture(autouse=True)
def _where_threads_can_be_counted(native: Client) -> None:
    if judge(native, MANY, CallCheck("f(1)", "1")).outcome is not Outcome.PASSED:
        pytest.skip("threads are refused here: workers cannot have user namespaces")


@every_runtime
@pytest.mark.parametrize("twin", ["native", "pure"])
def test_threads_pools_and_event_loops_work(request: pytest.FixtureRequest, twin: str, runtime: str):
    client = request.getfixturevalue(twin)
    cases = [
        (THREADS_JOINED, CallCheck("f(5)", "[0, 1, 4, 9, 16]"), Outcome.PASSED),
        (THREADS_JOINED, CallCheck("f(5)", "[0, 1, 4, 9]"), Outcome.FAILED),
        (POOL, CallCheck("f(5)", "[0, 1, 4, 9, 16]"), Outcome.PASSED),
        (LISTENER, CallCheck("f(5)", "[0, 1, 4, 9, 16]"), Outcome.PASSED),
        (LOOP, CallCheck("f(3)", "([0, 1, 4], 3, 'queued')"), Outcome.PASSED),
        (LOOP, CallCheck("f(3)", "([0, 1, 4], 3, 'other')"), Outcome.FAILED),
        (LOOP, ScriptCheck("assert candidate(2)[0] == [0, 1]", "f"), Outcome.PASSED),
        (POOL, ScriptCheck("assert candidate(2) == [0, 2]", "f"), Outcome.FAILED),
        (STACK, StdioCheck("5000\n", "5000\n"), Outcome.PASSED),
        (STACK, StdioCheck("5000\n", "4999\n"), Outcome.FAILED),
        (HUGE_STACK, StdioCheck("5\n", "6\n"), Outcome.PASSED),
        (HUGE_STACK, CallCheck("f(5)", "6"), Outcome.PASSED),
        (HUGE_STACK, ScriptCheck("assert f(5) == 6\nassert [f(n) for n in (1, 2)] == [2, 3]", "f"), Outcome.PASSED),
        (AT_THE_END, StdioCheck("", "end\nthread\ntimer\nat exit\n"), Outcome.PASSED),
        ("print(open('/dev/stdin').read().split())", StdioCheck("1 2\n", "['1', '2']\n"), Outcome.PASSED),
        ("with open('/dev/stdin') as f: print(sum(map(int, f)))", StdioCheck("1\n2\n", "4\n"), Outcome.FAILED),
        ("print(1, file=open('/dev/stdout', 'w'))", StdioCheck("", "1\n"), Outcome.PASSED),
        ("print(1)\nexit()\nprint(2)", StdioCheck("", "1\n"), Outcome.PASSED),
        ("print(1)\nquit(3)", StdioCheck("", "1\n"), Outcome.RAISED),
    ]
    found = [judge(client, program, check, runtime=runtime).outcome for program, check, _ in cases]
    assert found == [outcome for *_, outcome in cases]


def test_a_worker_has_so_many_threads_and_no_more(native: Client):
    assert judge(native, MANY, CallCheck("f(1000)", str(THREADS))).outcome is Outcome.PASSED
    tasks = [Task(MANY, [CallCheck("f(30)", "30")], id=str(n)) for n in range(8)]  # each is counted by itself
    assert {verdict.outcome for verdict in native.check(tasks)} == {Outcome.PASSED}


@every_runtime
def test_more_threads_than_there_may_be_wait_for_those_that_end(native: Client, runtime: str):
    cases = [
        (THAT_END, CallCheck("f(200)", "True"), Outcome.PASSED),
        (THAT_END, CallCheck("f(50, 0.3)", "True"), Outcome.PASSED),
        (THAT_END, ScriptCheck("assert candidate(100)", "f"), Outcome.PASSED),
        (LARGE_POOL, CallCheck("f(100)", "100"), Outcome.PASSED),
        (AT_ONCE, CallCheck("f(100)", "None"), Outcome.RAISED),
    ]
    found = [judge(native, program, check, runtime=runtime).outcome for program, check, _ in cases]
    assert found == [outcome for *_, outcome in cases]


def test_a_program_that_names_no_threads_has_none(native: Client):
    hidden = (
        "import sys\ndef f():\n    return getattr(__import__('_thr' + 'ead'), 'start_new_thr' + 'ead')(print, ())\n"
    )
    verdict = judge(native, hidden, CallCheck("f()", "0"))
    assert verdict.outcome is Outcome.RAISED
    assert verdict.exception is not None
    assert verdict.exception.type == "RuntimeError"
    assert "policy" in verdict.detail


def test_cpu_time_is_that_of_all_threads(native: Client):
    verdict = judge(native, BUSY, CallCheck("f()", "0"), limits=Limits(cpu_ms=400, wall_ms=60_000))
    assert (verdict.outcome, verdict.clock) == (Outcome.TIMED_OUT, Clock.CPU)


def test_steps_are_those_of_the_first_thread(native: Client, pure: Client):
    program = "import threading\ndef work(n):\n    for i in range(n): pass\ndef f(n):\n"
    program += (
        "    thread = threading.Thread(target=work, args=(n,))\n    thread.start()\n    thread.join()\n    return n\n"
    )
    for client in (native, pure):
        few, many = [judge(client, program, CallCheck(f"f({n})", str(n))) for n in (1, 100_000)]
        assert few.outcome is many.outcome is Outcome.PASSED
        assert many.steps < few.steps + 1000


@every_runtime
def test_a_call_of_a_script_may_go_as_deep_where_threads_may_ask(native: Client, runtime: str):
    program = "def f(n=0):\n    try: return f(n + 1)\n    except RecursionError: return n\n"
    found = []
    for names in ("", "import threading\n"):
        verdict = judge(native, names + program, ScriptCheck("raise ValueError(f())", "f"), runtime=runtime)
        assert verdict.exception is not None
        found.append(verdict.exception.message)
    assert found[0] == found[1]


def test_a_call_that_leaves_threads_is_followed_by_a_clean_worker(native: Client):
    """No check shares a worker with one that may start threads, even where that is asked for."""
    program = "import threading, time\nleft = threading.active_count()\ndef f():\n"
    program += "    threading.Thread(target=time.sleep, args=(60,)).start()\n    return left\n"
    checks = [CallCheck("f()", "1", id=str(n)) for n in range(4)]
    assert {verdict.outcome for verdict in native.check([Task(program, checks)])} == {Outcome.PASSED}


COUNTED = """
import threading
end = threading.Event()
def start(name="mine"):
    thread = threading.Thread(target=end.wait, name=name, daemon=True)
    thread.start()
    return thread
def stop(thread):
    end.set()
    thread.join()
def call(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()
def ask():
    return threading.current_thread() and threading.active_count()
"""
COUNTS = [
    ("n = threading.active_count(); t = start(); assert threading.active_count() == n + 1", True),
    ("n = threading.active_count(); t = start(); assert threading.active_count() == n", False),
    ("t = start(); assert t in threading.enumerate() and threading.main_thread() in threading.enumerate()", True),
    ("start(); start('b'); assert [t.name for t in threading.enumerate()] == ['MainThread', 'mine', 'b']", True),
    ("start(); assert not any(t.name == 'mine' for t in threading.enumerate())", False),
    ("stop(start()); assert threading.active_count() == 1", True),
    ("found = []; call(lambda: found.append((threading.current_thread(), threading.active_count())))\n"
     "assert found[0][1] == 2 and threading.active_count() == 1", True),
    ("found = []; t = threading.Thread(target=lambda: found.append((ask(), threading.active_count())))\n"
     "t.start(); t.join(); assert found[0][1] == 2 and threading.active_count() == 1", True),
]  # fmt: skip


@every_runtime
def test_a_script_counts_the_threads_of_the_program(native: Client, runtime: str):
    """One that leaves some is no right program, and one that is to start some has them."""
    task = Task(COUNTED, [ScriptCheck(f"import threading\n{text}", "start") for text, _ in COUNTS], runtime=runtime)
    verdicts = native.check([task])
    assert [verdict.passed for verdict in verdicts] == [is_so for _, is_so in COUNTS], verdicts


@pytest.mark.parametrize("end", ["", "1 / 0", "raise SystemExit(3)"])
def test_a_program_waits_for_its_threads_however_it_ends(native: Client, end: str):
    program = f"""\
        import threading, time
        print(1)
        threading.Thread(target=lambda: (time.sleep(0.01), print(2))).start()
        {end}"""
    verdict = judge(native, program, RunCheck(""))
    assert (verdict.outcome, verdict.stdout) == (Outcome.EXECUTED, "1\n2\n"), verdict


LEAVES_LATER = """
import os, threading, time
def leave():
    time.sleep(0.1)
    os._exit(3)
threading.Thread(target=leave).start()
print(7)
"""


def test_what_was_printed_is_there_where_a_thread_leaves(native: Client):
    [verdict] = native.check([Task(LEAVES_LATER, [RunCheck()])])
    assert (verdict.stdout, verdict.exit_code) == ("7\n", 3)
