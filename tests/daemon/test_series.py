"""Scripts that only assert what calls with constants give: by their calls they come to what they come to as scripts.

`LAST` at the end of a script makes it none of these, and changes nothing else of it: so it is run in two workers.
"""

from __future__ import annotations

import pytest
from behaviours import tested_runtimes
from cruxbox import Client, Limits, Outcome, ScriptCheck, Task
from series_by_hand import LAST, LIMITS, PROGRAMS, SCRIPT, TRUE, differing, of

kernel = pytest.mark.kernel
ASSERTIONS = "assert f(1)\nassert not f(0)\nassert f(2) is True, 'is'\nassert 1 == f(3)"
TWICE = "assert f((1, 2)) == 1\nassert f((1, 2)) == 2, 'the same'"
COUNTING = "seen = []\ndef f(x):\n    seen.append(x)\n    return len([each for each in seen if each is x])\n"


# What a program may do that a script could notice, or its neighbours.
BOOLEANS = {
    "true": TRUE, "numbers": "def f(x):\n    return x\n", "always": "def f(x):\n    return [x]\n",
    "an object": "class T:\n    pass\ndef f(x):\n    return T() if x else None\n",
    "a truth of its own": "class T(int):\n    def __bool__(self): return True\ndef f(x):\n    return T(x)\n",
}  # fmt: skip


def tasks(runtime: str = "default", entry_point: str = "f") -> list[Task]:
    made = [
        Task(program, [ScriptCheck(SCRIPT, entry_point)], limits=LIMITS, id=name, runtime=runtime)
        for name, program in PROGRAMS.items()
    ]
    for script in (TWICE, TWICE.replace("(1, 2)", "'a b'")):
        made.append(Task(COUNTING, [ScriptCheck(script, entry_point)], limits=LIMITS, id=script, runtime=runtime))
    return made + [
        Task(program, [ScriptCheck(ASSERTIONS, entry_point)], limits=LIMITS, id=name, runtime=runtime)
        for name, program in BOOLEANS.items()
    ]


@kernel
@pytest.mark.parametrize("runtime", tested_runtimes())
def test_a_script_comes_to_the_same_by_its_calls(native: Client, runtime: str):
    assert differing(native, tasks(runtime)) == []


@kernel
def test_and_without_an_entry_point_or_the_native_helper(native: Client, pure: Client):
    assert differing(native, tasks(entry_point="")) == []
    assert differing(pure, tasks()[::4]) == []


@kernel
def test_these_are_of_every_sort(native: Client):
    found = {verdict.outcome for verdict in native.check(tasks())}
    assert found >= {Outcome.PASSED, Outcome.FAILED, Outcome.RAISED, Outcome.INVALID, Outcome.STEP_LIMIT}
    assert found >= {Outcome.MEMORY_LIMIT, Outcome.OUTPUT_LIMIT}


@kernel
def test_one_assertion_comes_to_what_several_come_to(native: Client):
    """It is judged as a call, but not with what only calls have: steps that are counted, and a limit on them. Nor
    without what only calls lack: a folder for what a library of its program writes."""
    slow = "def f(n):\n    for i in range(n * 10**6): i & 3\n    return n\n"  # counted, it takes several times as long
    deep = "def f(n):\n    return n and 1 + sum(f(n - 1) for _ in '1')\n"  # goes less deep where steps are counted
    broken = (
        "def f(n):\n    while n: pass\n",
        "import os\ndef f(n): os._exit(0)\n",
        "def f(n):\n    raise KeyError(n)\n",
        "def f(n):\n    assert n > 1, 'mine'\n",
    )
    asked = [(slow, 15, "default"), *[(each, 1, "default") for each in broken]]
    asked += [(deep, depth, runtime) for runtime in tested_runtimes() for depth in (300, 400, 2000)]
    writing = "from gzip import GzipFile\ndef f(n):\n    GzipFile('x.gz', 'w').close()\n    return n\n"
    asked.append((writing, 1, "default"))
    made = [
        Task(
            program,
            [ScriptCheck(f"assert f({number}) == {number}{more}")],
            runtime=runtime,
            limits=Limits(cpu_ms=3_000 if program is slow else 700, memory_bytes=128 << 20),
        )
        for program, number, runtime in asked
        for more in ("", LAST)
    ]
    found = [(each.outcome, each.steps, each.exception and each.exception.type) for each in native.check(made)]
    assert found[0::2] == found[1::2]
    passed = [outcome is Outcome.PASSED for outcome, _, _ in found[0::2]]
    assert passed[:5] == [True, False, False, False, False]
    assert passed[5:-1:3] == [True] * len(tested_runtimes())


@kernel
def test_time_is_what_the_limit_says(native: Client):
    """What takes longer than a script's calls are given together has all of its own time, and no more."""
    limits = Limits(cpu_ms=700, memory_bytes=128 << 20)
    slow = of("end = time.process_time() + (x == 3) * 0.4\n    while time.process_time() < end: pass", "import time")
    endless = of("while x == 3: pass")
    first, second = native.check([Task(each, [ScriptCheck(SCRIPT, "f")], limits=limits) for each in (slow, endless)])
    assert first.outcome is Outcome.PASSED
    assert (second.outcome, second.detail) == (Outcome.TIMED_OUT, "out of CPU time")
    assert 0.65e9 <= second.cpu_ns <= 0.9e9
