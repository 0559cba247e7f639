"""The core, through gRPC, on every interpreter and with both twins; and what must not depend on how it is run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from behaviours import BEHAVIOURS, alone, differences, runtimes, tested_runtimes
from cruxbox import (
    Assurance,
    CallCheck,
    Client,
    EvaluateCheck,
    Isolation,
    Limits,
    Outcome,
    ScriptCheck,
    StdioCheck,
    StepCount,
    Task,
    Verdict,
)

pytestmark = pytest.mark.kernel

every_runtime = pytest.mark.parametrize("runtime", tested_runtimes())
TASKS = [behaviour.task for behaviour in BEHAVIOURS.values()]


@every_runtime
def test_every_behaviour_with_the_native_helper(native: Client, runtime: str):
    assert differences(native.check([replace(task, runtime=runtime) for task in TASKS])) == []


@every_runtime
def test_every_behaviour_with_the_pure_twin(pure: Client, runtime: str):
    assert differences(pure.check([replace(task, runtime=runtime) for task in TASKS])) == []


@every_runtime
def test_both_twins_count_the_same_steps(native: Client, pure: Client, runtime: str):
    """Of every check that came to an end by itself, in programs that import nothing.

    Where the recursion limit is, the pure twin's own frames count too; so do those that stand for an object of the
    other half's.
    """
    but = ("recursion", "a script that hands over no data")
    names = [name for name in BEHAVIOURS if name not in but and "import" not in BEHAVIOURS[name].task.program]
    tasks = [replace(alone(BEHAVIOURS[name].task), runtime=runtime) for name in names]
    ended = (Outcome.PASSED, Outcome.FAILED, Outcome.RAISED, Outcome.EVALUATED)
    counted = [
        [(verdict.outcome, verdict.steps if verdict.outcome in ended else 0) for verdict in client.check(tasks)]
        for client in (native, pure)
    ]
    assert counted[0] == counted[1]
    assert sum(steps > 0 for _, steps in counted[0]) > len(tasks) // 2


# ---- what must not depend on how a check is run -----------------------------------

# How deep the program may recurse: reported as a value, an assertion's message and output.
DEPTH = """
depth = 0
def down():
    global depth
    depth += 1
    down()
def f(x):
    global depth
    depth = 0
    try:
        down()
    except RecursionError:
        return depth
"""


def depths(client: Client, runtime: str) -> dict[str, int]:
    """Way of running -> depth."""
    calls = {"shared": "f(1)", "arguments computed": "f(int('1'))", "expression": "[f(1)][0]"}
    tasks = [Task(DEPTH, [EvaluateCheck(text)], runtime=runtime) for text in calls.values()]
    tasks.append(Task(DEPTH, [EvaluateCheck("f(1)")], runtime=runtime, isolation=Isolation.PROCESS))
    tasks.append(Task(DEPTH, [ScriptCheck("x = f(1)\nassert 0, x", "f")], runtime=runtime))
    tasks.append(Task(DEPTH + "print(f(1))", [StdioCheck("", "0")], runtime=runtime))
    verdicts = client.check(tasks)
    return dict(zip([*calls, "process", "script", "standard streams"], map(_said, verdicts)))


def _said(verdict: Verdict) -> int:
    return int(verdict.value or (verdict.exception and verdict.exception.message) or verdict.stdout)


@every_runtime
def test_recursion_is_as_deep_however_it_is_run(native: Client, runtime: str):
    found = depths(native, runtime)
    assert len(set(found.values())) == 1, found
    said = subprocess.run([runtimes()[runtime], "-c", DEPTH + "print(f(1))"], capture_output=True)
    assert found["shared"] == int(said.stdout)


def test_set_order_is_the_same_every_time(native: Client):
    program = "def f(x):\n    return list({'b', 'a', 'c', str(x), (1, 'd'), 3.5})"
    seen = set()
    for isolation in (Isolation.AUTO, Isolation.PROCESS):
        checks = [EvaluateCheck("f(1)", id=str(number)) for number in range(4)]
        tasks = [Task(f"{program}\n# {number}", checks, isolation=isolation) for number in range(20)]
        seen |= {verdict.value for verdict in native.check(tasks)}
    assert len(seen) == 1


NONDETERMINISTIC = {
    "set order": ("def f(x):\n    return ''.join({'a', 'b', 'c', 'd', 'e'})", True),
    "hash": ("def f(x):\n    return hash('abc')", True),
    "order of a set that is sorted": ("def f(x):\n    return ''.join(sorted({'a', 'b', 'c', 'd', 'e'}))", False),
    "a set itself": ("def f(x):\n    return sum({1, 2, 3})", False),
    "an exception": ("def f(x):\n    return 1 / 0", False),
}


@pytest.mark.parametrize("name", NONDETERMINISTIC)
def test_two_hash_seeds_tell_what_hangs_on_them(native: Client, name: str):
    program, differs = NONDETERMINISTIC[name]
    once, twice = native.check([Task(program, [EvaluateCheck("f(1)")], repeat=repeat) for repeat in (1, 2)])
    assert not once.nondeterministic
    assert twice.nondeterministic is differs
    assert bool(twice.other_value) is differs
    assert (twice.outcome, twice.value, twice.steps) == (once.outcome, once.value, once.steps)


def test_better_assurance_can_be_required(native: Client):
    ways = [CallCheck("[f(1)][0]", "2"), ScriptCheck("assert len([f(1)]) == 1", "f"), CallCheck("f(1)", "2")]
    tasks = [Task("def f(x): return x + 1", [way], require_assurance=Assurance.SEPARATED) for way in ways]
    verdicts = native.check(tasks)
    assert [verdict.outcome for verdict in verdicts] == [Outcome.INVALID, Outcome.PASSED, Outcome.PASSED]
    assert "IN_PROCESS" in verdicts[0].detail


# ---- a candidate cannot make its failure ours -------------------------------------

MEDDLERS = {
    "len": "import builtins\nbuiltins.len = lambda *a: 1",
    "every name of builtins": "import builtins\nfor name in dir(builtins):\n    setattr(builtins, name, None)",
    "os": "import os\nfor name in dir(os):\n    setattr(os, name, None)",
    "struct": "import struct, sys\nstruct.Struct = struct.pack = None\nsys.modules.clear()",
    "descriptors": "import os\nfor fd in range(10):\n    try: os.close(fd)\n    except OSError: pass",
    "garbage on every descriptor": "import os\nfor fd in range(3, 10):\n    try: os.write(fd, b'\\xff' * 99)\n"
    "    except OSError: pass",
    "recursion limit": "import sys\nsys.setrecursionlimit(60)",
    "a deep value": "v = []\nfor _ in range(100_000): v = [v]\nf = lambda x: v",
    "an exception that cannot be told": "class E(BaseException):\n    def __str__(self): raise self\n"
    "def f(x): raise E\nf.x = E",
    "a name that is no name": "E = type('E', (Exception,), {'__module__': 3})\nE.__name__ = '\\ud800' * 999\n"
    "def f(x): raise E('\\ud800')",
    "a signal": "import signal, os\nf = lambda x: signal.raise_signal(40)",
    "a kill": "import signal, os\nf = lambda x: os.kill(os.getpid(), 9)",
    "no threads": "import threading\nf = lambda x: threading.Thread(target=print).start()",
    "collector": "import gc\ngc.disable = gc.collect = None\nf = lambda x: [None] * 9 * x",
    "tracing": "import sys\nsys.settrace(lambda *a: 1 / 0)\nsys.setprofile(lambda *a: 1 / 0)\nf = lambda x: x",
    "streams": "import sys\nsys.stdout = sys.stderr = sys.stdin = None\nf = lambda x: None",
    "a stream that breaks": "import sys\nsys.stdout.write = sys.stdout.take = None\nf = lambda x: None",
}  # fmt: skip


@pytest.mark.parametrize("name", MEDDLERS)
def test_whatever_it_breaks_is_its_own_failure(native: Client, name: str):
    program = MEDDLERS[name]
    if "f = " not in program and "def f" not in program:
        program = f"def f(x):\n    {program}\n".replace("\n", "\n    ")
    checks = [
        CallCheck("f(1)", "'no'"),
        CallCheck("f(int('1'))", "'no'"),
        CallCheck("[f(1)]", "'no'"),
        ScriptCheck("assert candidate(1) == 'no'", "f"),
        ScriptCheck("assert f(1) == 'no', iter('')"),
        StdioCheck("", "no"),
    ]
    verdicts = [native.check([Task(program, [check])])[0] for check in checks]
    verdicts.append(native.check([Task(program + "\nf(1)", [checks[-1]])])[0])
    wrong = [verdict for verdict in verdicts if verdict.outcome in (Outcome.PASSED, Outcome.SANDBOX_ERROR)]
    assert not wrong, [(verdict.outcome, verdict.detail) for verdict in wrong]


LOUD = "class A:\n    def __del__(self):\n        print('x' * 100)\n"
LATE = {  # each with what its call gives
    "what it gives": (LOUD + "def f(x):\n    return A()", None),
    "a cycle": (LOUD + "def f(x):\n    a = A()\n    a.a = a\n    return x", "1"),
    "its frame": (LOUD + "def f(x):\n    a = A()\n    raise ValueError", None),
    "no destructor of its own": ("async def f(x):\n    return x", None),  # which warns that nobody has awaited it
}


@pytest.mark.parametrize("name", LATE)
@pytest.mark.parametrize("twin", ["native", "pure"])
def test_what_is_printed_behind_an_answer_is_over_no_limit(name: str, twin: str, request: pytest.FixtureRequest):
    """As a worker lets go of what a check has made. A second answer of one check is taken for forged."""
    program, value = LATE[name]
    limits, client = Limits(output_bytes=64), request.getfixturevalue(twin)
    for isolation in (Isolation.AUTO, Isolation.PROCESS):
        checks = [CallCheck("f(1)", "1"), CallCheck("f(1)", "2"), EvaluateCheck("f(1)")]
        found = [each.outcome for each in client.check([Task(program, checks, limits=limits, isolation=isolation)])]
        if name == "its frame":
            assert found == [Outcome.RAISED] * 3
        else:
            assert found == [Outcome.PASSED if value else Outcome.FAILED, Outcome.FAILED, Outcome.EVALUATED]


NESTED = ["{0}1{1}", "1{2}", "{3}1", "{4}0", "int{5}", "{6}0"]


@pytest.mark.parametrize("depth", [90, 1000, 3000, 100_000])
def test_no_nesting_is_a_failure_of_ours(native: Client, depth: int):
    """The parser, the compiler and the tree have depths of their own; whichever is passed, the text is INVALID."""
    pieces = [piece * depth for piece in ("(", ")", "+1", "-", "lambda:", ".a", "0 if 0 else ")]
    program = "def f(x): return x"
    tasks = []
    for shape in NESTED:
        text = shape.format(*pieces)
        checks = [
            CallCheck(text, "1"),
            CallCheck("f(1)", text),
            CallCheck(f"f(int({text}))", "1", "f"),
            CallCheck(f"f(1) == ({text})", "1"),
            ScriptCheck(f"assert ({text}) == f(2)", "f"),
            StdioCheck("", "1"),
        ]
        tasks += [Task(program, [check]) for check in checks]
        tasks += [Task(f"{program}\nx = {text}", [check]) for check in (CallCheck("f(1)", "1"), *checks[4:])]
    verdicts = native.check(tasks)
    assert not [verdict for verdict in verdicts if verdict.outcome is Outcome.SANDBOX_ERROR]
    if depth == 100_000:
        assert Outcome.INVALID in {verdict.outcome for verdict in verdicts}


# ---- the paper's steps ------------------------------------------------------------


@pytest.mark.data
def test_events_on_39_are_the_papers_numsteps(native: Client):
    if "CRUXBOX_DATA" not in os.environ:
        pytest.skip("CRUXBOX_DATA does not name a folder with the public data sets")
    runtime = "default" if sys.version_info[:2] == (3, 9) else "py39"
    if runtime not in runtimes():
        pytest.skip("there is no Python 3.9 here")
    lines = (Path(os.environ["CRUXBOX_DATA"]) / "cruxeval" / "cruxeval.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    verdicts = native.check([_events(row, runtime) for row in rows])
    assert {verdict.outcome for verdict in verdicts} == {Outcome.PASSED}
    steps = {row["id"]: verdict.steps for row, verdict in zip(rows, verdicts)}
    assert (steps["sample_780"], steps["sample_543"]) == (3175, 50)
    assert (len(steps), sum(steps.values())) == (800, 69_746)  # with the codec of sample_621 loaded, as in the paper


def _events(row: dict, runtime: str) -> Task:
    script = ScriptCheck(f"assert f({row['input']}) == {row['output']}")
    return Task(row["code"], [script], id=row["id"], runtime=runtime, step_count=StepCount.EVENTS)


def test_a_check_runs_where_it_says(native: Client):
    program = "import sys\ndef f(x):\n    return '%d.%d.%d' % sys.version_info[:3]"
    verdicts = native.check([Task(program, [EvaluateCheck("f(1)")], runtime=name) for name in runtimes()])
    assert [verdict.value.strip("'") for verdict in verdicts] == [verdict.runtime_version for verdict in verdicts]
    assert len({verdict.runtime_version for verdict in verdicts}) == len(runtimes())
