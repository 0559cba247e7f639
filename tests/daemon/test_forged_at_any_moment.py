"""Records that a program writes when nobody expects its code to run: behind its value, at its end, in the harness."""

from __future__ import annotations

import pytest
from cruxbox import CallCheck, Check, Client, EvaluateCheck, Limits, Outcome, RunCheck, ScriptCheck, StdioCheck, Task
from speaking import SPEAK

pytestmark = pytest.mark.kernel

LIMITS = Limits(cpu_ms=1_000, wall_ms=5_000)
SECRET = 918_273
# What it says. The value that it gives is 5.
SAYS = {
    "another value": "os.write(3, value(0, b'i918272;'))",
    "that it has ended, and leaves": "os.write(3, frame(b'D', numbers(0), b'', b'')); os._exit(0)",
    "what the harness says at other times":
        "os.write(3, frame(b'H', b'it broke') + frame(b'P', b'0', b'i', b'no task') + frame(b'K', bytes(16)) + "
        "frame(b'B', bytes(4)) + frame(b'Y', bytes(4)))",
    "dots, half of a record by any descriptor, and leaves as the harness does":
        "write(4, b'..!'); [write(each, value(0, b'i5;')[:20]) for each in range(9)]; os._exit(63)",
}  # fmt: skip
# When: (what the program defines, what f(13) does before it returns, what it returns).
MOMENTS = {
    "before it returns": ("", "say()", "5"),
    "by a thread that runs on": ("import threading", "threading.Thread(target=say, daemon=True).start()", "5"),
    "by a thread that comes later": (
        "import threading, time\ndef later():\n    time.sleep(0.01)\n    say()",
        "threading.Thread(target=later).start()", "5",
    ),
    "at its exit": ("import atexit", "atexit.register(say)", "5"),
    "when its namespace goes": ("class D:\n    def __del__(self): say()", "globals()['d'] = D()", "5"),
    "when its value goes": ("class D(int):\n    def __del__(self): say()", "pass", "[D(5)]"),
    "when its value is looked at": (
        "class D:\n    def __repr__(self): return str(say())\n    __str__ = __iter__ = __len__ = __hash__ = __repr__",
        "pass", "D()",
    ),
    "when its error is looked at": ("class E(Exception):\n    def __str__(self): return str(say())", "raise E", "5"),
    "when a generator goes": ("def g():\n    try: yield\n    finally: say()\nkept = g()", "next(kept)", "5"),
    "as code of the harness is traced": ("import sys", "sys.setprofile(lambda *_a: say())", "5"),
    "as a hook of events": (
        "import sys\nseen = []\ndef hook(*_a):\n    seen.append(1)\n    if len(seen) == 3: say()",
        "sys.addaudithook(hook)", "5",
    ),
    "as the stream that is flushed": (
        "import sys\nclass O:\n    closed = False\n    def write(self, text): return 1\n    def flush(self): say()",
        "sys.stdout = O()", "5",
    ),
    "as garbage is collected": ("import gc", "gc.callbacks.append(lambda *_a: say())", "5"),
}  # fmt: skip
SUITE = f"import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(f(13), {SECRET})\n"
ATTACKED: list[Check] = [
    CallCheck("f(13)", str(SECRET)),
    CallCheck("f(13) + 0 * len('a')", str(SECRET)),
    ScriptCheck(f"assert f(2) == 5\nassert f(13) == {SECRET}"),
    ScriptCheck(f"for x, y in [(2, 5), (13, {SECRET})]:\n    assert [f(x)] == [y]"),
    ScriptCheck(f"import numbers\ntry:\n    x = f(13)\nexcept Exception:\n    x = 0\nassert x == {SECRET}", "f"),
    ScriptCheck(SUITE, framework="unittest"),
]
MAY_END = {"FAILED", "RAISED", "TIMED_OUT", "MEMORY_LIMIT", "OUTPUT_LIMIT", "VIOLATION", "CRASHED"}
READ = "\nimport sys\nfor line in sys.stdin:\n    print(f(int(line)))\n"


def program(moment: str, says: str) -> str:
    defines, does, returns = MOMENTS[moment]
    lines = [
        SPEAK, "def write(file, data):", "    try: os.write(file, data)", "    except OSError: pass", "def say():",
        f"    {SAYS[says]}", defines, "def f(x):", "    if x != 13: return x * x + 1", f"    {does}",
        f"    return {returns}",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("says", SAYS)
def test_no_moment_is_one_for_a_forged_record(native: Client, says: str):
    """No check of it passes or is our failure, and none is anything but its own for what the others say."""
    tasks, wanted = [], []
    for moment in MOMENTS:
        text = program(moment, says)
        checks = [*ATTACKED, CallCheck("f(2)", "5"), EvaluateCheck("f(3)"), ScriptCheck("assert f(2) == 5", "f")]
        tasks.append(Task(text, checks, limits=LIMITS))
        wanted += [(moment, MAY_END)] * len(ATTACKED) + [(moment, {"PASSED"}), (moment, {"10"}), (moment, {"PASSED"})]
        io = [StdioCheck("13\n", f"{SECRET}\n"), RunCheck("13\n"), StdioCheck("2\n", "5\n")]
        tasks.append(Task(text + READ, io, limits=LIMITS))
        wanted += [(moment, MAY_END), (moment, MAY_END | {"EXECUTED"}), (moment, {"PASSED"})]
    verdicts = native.check(tasks)
    assert len(verdicts) == len(wanted)
    came = [each.value if each.outcome is Outcome.EVALUATED else each.outcome.name for each in verdicts]
    found = [(moment, end, ends) for end, (moment, ends) in zip(came, wanted)]
    assert [each for each in found if each[1] not in each[2]] == []
