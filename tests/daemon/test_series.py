"""Scripts that only assert what calls with constants give: by their calls they come to what they come to as scripts.

`LAST` at the end of a script makes it none of these, and changes nothing else of it: so it is run in two workers.
"""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
import told_workers
from behaviours import tested_runtimes
from cruxbox import Client, Isolation, Limits, Outcome, ScriptCheck, Task
from cruxboxd.judging import series as judging
from cruxboxd.judging.asserted import MOST_STEPS, Series, Step, read_rows, read_series
from cruxboxd.judging.audit import Audit, Audited
from cruxboxd.judging.outcomes import Assurance, CheckResult
from cruxboxd.judging.outcomes import Outcome as Kind
from cruxboxd.judging.tasks import ScriptCheck as AskedCheck
from cruxboxd.judging.tasks import Setting, StepCount
from cruxboxd.judging.tasks import Task as InnerTask
from cruxboxd.zygotes.company import Company
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Result
from cruxboxd.zygotes.setup import ZygoteKinds
from cruxcell.analysis import series as taken_apart
from cruxcell.protocol import frames, messages, payloads, records
from test_grouping import seen
from told_workers import CLEAN, DIED, Told

kernel = pytest.mark.kernel
LIMITS = Limits(cpu_ms=3000, steps=300_000, output_bytes=2000, memory_bytes=128 << 20)
LAST = "\nlast = len('')"
SCRIPT = """METADATA = {'author': 'me'}


def check(candidate):
    "Asserts."
    assert True, "always"
    assert candidate(0, []) == [], "nothing"
    assert candidate(3, [1, (2, 'a')], k={'b': None}) == [1, (2, 'a'), 3.0]
    assert candidate(2, ['x'],
                     k={}) == ['x', 2]
    print
    assert candidate(4, []) == [4], 'told: ' + str(candidate(-4, [{'x': {1}}]))
    assert candidate(1, [2.5]) == [2.5, True], "the last"


check(f)
"""
ASSERTIONS = "assert f(1)\nassert not f(0)\nassert f(2) is True, 'is'\nassert 1 == f(3)"
TWICE = "assert f((1, 2)) == 1\nassert f((1, 2)) == 2, 'the same'"
COUNTING = "seen = []\ndef f(x):\n    seen.append(x)\n    return len([each for each in seen if each is x])\n"
RIGHT = "def f(x, items, k=None):\n    return items + [x] if x else items\n"
TRUE = "def f(x):\n    return x > 0\n"


def of(body: str, heads: str = "") -> str:
    return f"{heads}\ndef f(x, items, k=None):\n    {body}\n    return items + [x] if x else items\n"


# What a program may do that a script could notice, or its neighbours.
PROGRAMS = {
    "right": RIGHT,
    "annotated": "from typing import Dict, List, Optional\n"
    "def f(x: int, items: List[int], k: Optional[str]=None) -> List[float]:\n    return items + [x] * bool(x)\n",
    "wrong where the message is computed": of("if x == 4: return 7"),
    "wrong at first": of("return None"),
    "wrong at last": of("if x == 1: return 7"),
    "wrong on several lines": of("if x == 2: return 7"),
    "a tuple for a list": of("return tuple(items) + (x,)"),
    "what it returned changes later": of("kept.clear(); kept.extend(items + [x] * bool(x)); return kept", "kept = []"),
    "a default that grows": "def f(x, items, k=None, seen=[]):\n    seen.append(x)\n    return items + seen[1:]\n",
    "a global that counts": of("global n; n += 1\n    if n > 2: return n", "n = 0"),
    "it changes its arguments": of("items.append(x); return items[: len(items) - (not x)]"),
    "it prints": of("print('hi', x)"),
    "it prints, and is wrong": of("print('hi', x)\n    if x == 3: return 0"),
    "it prints when it is loaded": "print('loaded')\n" + RIGHT,
    "it raises": of("raise ValueError('no', x)"),
    "it raises in the middle": of("if x == 3: raise KeyError('x')"),
    "it raises an assertion": of("assert x != 3, 'mine'"),
    "it raises on several lines": of("if x == 2: return [][1]"),
    "it names what is not there": of("return nothing"),
    "it takes less": "def f(x):\n    return x\n",
    "it stops an iteration": of("next(iter([]))"),
    "it writes an error's text": of("raise KeyError(E())", "class E:\n    def __repr__(self): return 'mine'"),
    "it leaves": of("raise SystemExit(0)"),
    "a recursion without end": of("return f(x, items)"),
    "as deep as may be": of(
        "return [d(0)] if x == 3 else items", "def d(n):\n    try: return d(n + 1)\n    except RecursionError: return n"
    ),
    "as deep as may be, when loaded": of(
        "return [D] if x == 3 else items",
        "def d(n):\n    try: return d(n + 1)\n    except RecursionError: return n\nD = d(0)",
    ),
    "a generator": of("yield x"),
    "a function": of("return lambda: x"),
    "not a number": of("return [float('nan')]"),
    "a large value": of("return ['x' * 100_000]"),
    "steps without end": of("while x == 3: pass"),
    "steps without end behind a wrong value": of("while x == 2: pass\n    if x == 3: return 0"),
    "memory without end": of("if x == 3: items = [0] * 10**9"),
    "output without end": of("if x == 3: print('x' * 5000)"),
    "no such name": "def g(x):\n    return x\n",
    "a name for a builtin": "f = sorted\n",
    "a class": "class f:\n    def __init__(self, *a, **k): pass\n    def __eq__(self, other): return True\n",
    "a class of equals": of("return E()", "class E:\n    def __eq__(self, other): return True"),
    "a list of its own": of("return L(items + [x] * bool(x))", "class L(list): pass"),
    "bound anew": of("global f\n    f = None"),
    "an import": of("return list(map(math.floor, items)) if x == 9 else items + [x] * bool(x)", "import math, typing"),
    "a syntax error": "def f(x:\n",
    "it fails when loaded": "1 / 0\n" + RIGHT,
    "nothing at all": "# none\n",
    "hidden evil": RIGHT + "\nprint('{0.__class__}'.format(f))",
}  # fmt: skip
BOOLEANS = {
    "true": TRUE, "numbers": "def f(x):\n    return x\n", "always": "def f(x):\n    return [x]\n",
    "an object": "class T:\n    pass\ndef f(x):\n    return T() if x else None\n",
    "a truth of its own": "class T(int):\n    def __bool__(self): return True\ndef f(x):\n    return T(x)\n",
}  # fmt: skip


def plainly(verdict: object) -> tuple:
    """All that is said of a check, but for addresses."""
    return tuple(re.sub("0x[0-9a-f]+", "0x", str(part)) for part in seen(verdict))  # type: ignore[arg-type]


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


def run_as_scripts(made: list[Task]) -> list[Task]:
    return [
        replace(task, checks=[replace(check, script=check.script + LAST) for check in task.checks]) for task in made
    ]


def alone(made: list[Task]) -> list[Task]:
    return [replace(task, isolation=Isolation.PROCESS) for task in made]


def differing(client: Client, made: list[Task]) -> list[tuple]:
    """The triples (in company, alone, run as they stand) that are not the same."""
    every = [client.check(each) for each in (made, alone(made), run_as_scripts(made))]
    said = zip(*[map(plainly, verdicts) for verdicts in every])
    return [(task.id, *three) for task, three in zip(made, said) if len(set(three)) > 1]


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


# ---- what a worker says, read ----------------------------------------------------------------------------------------

ONE = Series("f", (Step(b"i1;", 4, "text"), Step(b"i2;", 0, "")), b"")
BASE = CheckResult(None, steps=100)


def came(*parts: tuple[bytes, bytes, int]) -> bytes:
    return frames.pack(
        [field for kind, data, steps in parts for field in (payloads.SERIES_CAME.pack(kind, steps), data)]
    )


VALUE, ERROR = payloads.CAME_VALUE, payloads.CAME_ERROR
SAID = {
    "both": (came((VALUE, b"i1;", 5), (VALUE, b"i2;", 9)), Kind.PASSED),
    "one is missing": (came((VALUE, b"i1;", 5)), None),
    "one too many": (came((VALUE, b"i1;", 5), (VALUE, b"i2;", 9), (VALUE, b"i2;", 9)), None),
    "another value": (came((VALUE, b"i3;", 5)), Kind.FAILED),
    "another value, on several lines": (came((VALUE, b"i1;", 5), (VALUE, b"i3;", 9)), None),
    "an error": (came((ERROR, frames.pack([b"KeyError", b"'a'"]), 5)), Kind.RAISED),
    "an error of three parts": (came((ERROR, frames.pack([b"KeyError", b"'a'", b""]), 5)), None),
    "an error with a name that is long enough": (came((ERROR, frames.pack([b"K" * 200, b""]), 5)), Kind.RAISED),
    "an error with a long name": (came((ERROR, frames.pack([b"K" * 201, b""]), 5)), None),
    "an error with a long text": (came((ERROR, frames.pack([b"K", b"x" * 24_001]), 5)), None),
    "an error that looks as what is expected": (came((ERROR, b"i1;", 5)), None),
    "and so does its name": (came((VALUE, b"i1;", 5), (ERROR, b"i2;", 9)), None),
    "another kind": (came((b"?", b"i1;", 5), (VALUE, b"i2;", 9)), None),
    "nothing": (b"", None),
    "no frames": (b"\xff\xff\xff\xff", None),
    "a short head": (frames.pack([b"v", b"i1;"]), None),
    "many": (came(*[(VALUE, b"i1;", 1)] * (MOST_STEPS + 1)), None),
}


@pytest.mark.parametrize("name", SAID)
def test_only_what_is_certain_is_judged(name: str):
    told, outcome = SAID[name]
    judged = judging._compared(BASE, told, ONE)
    assert (judged and judged.outcome) is outcome


def test_steps_are_those_up_to_the_end():
    failed = judging._compared(BASE, came((VALUE, b"i3;", 5), (VALUE, b"i2;", 9)), ONE)
    assert failed is not None
    assert (failed.steps, failed.exception) == (5, ("AssertionError", "text", 4))
    said = judging._compared(BASE.but(stdout=b"x"), came((VALUE, b"i3;", 5), (VALUE, b"i2;", 9)), ONE)
    assert said is None  # the second call may have printed it
    said = judging._compared(BASE.but(stderr=b"x"), came((VALUE, b"i3;", 5), (VALUE, b"i2;", 9)), ONE)
    assert said is None
    said = judging._compared(BASE.but(stdout=b"x"), came((VALUE, b"i3;", 5)), ONE)
    assert said is not None  # there was no other call


@pytest.mark.parametrize(
    ("name", "asked", "called"),
    [
        ("f", "f", "f"), ("candidate", "f", "f"), ("g", "f", ""), ("f", "", "f"), ("candidate", "", ""),
        ("f", "f()", ""), ("candidate", "A.f", ""),
    ],
)  # fmt: skip
def test_which_name_is_called(name: str, asked: str, called: str):
    assert Series(name, (), b"").entry_point(asked) == called


def garbled() -> Iterator[bytes]:
    whole = frames.pack([b"f", payloads.SERIES_STEP.pack(1), b"", b"i1;"])
    yield from (b"", b"\xff", frames.pack([b"f"]), frames.pack([b"f", b"", b"", b"i1;"]), frames.pack([b"\xff"]))
    yield frames.pack([b"f"] + [payloads.SERIES_STEP.pack(1), b"", b"i1;"] * (MOST_STEPS + 1))
    yield whole[:-1]


def test_a_series_has_as_many_steps_as_a_worker_finds_and_each_its_own_message():
    longest = [
        (payloads.SERIES_STEP.pack(line), b"why %d" % line, b"i%d;" % line) for line in range(taken_apart._MOST_STEPS)
    ]
    series = read_series(frames.pack([b"f", *itertools.chain(*longest)]), b"calls")
    steps = [Step(b"i%d;" % line, line, f"why {line}") for line in range(taken_apart._MOST_STEPS)]
    assert series == Series("f", tuple(steps), b"calls")


def test_rows_have_a_line_each():
    told = [payloads.LINE.pack(3) + payloads.LINE.pack(0), b"f", frames.pack([]), b"calls"]
    found = read_rows(frames.pack(told))
    assert found is not None
    assert (found.lines, found.name, found.calls) == ((3, 0), "f", b"calls")
    for wrong in ([b"", *told[1:]], [told[0][:-1], *told[1:]], told[:3], [*told, b""], [told[0], b"\xff", *told[2:]]):
        assert read_rows(frames.pack(wrong)) is None


def test_what_is_no_series_is_none():
    assert [read_series(each, b"") for each in garbled()] == [None] * 7


# ---- what is made of a worker's end ----------------------------------------------------------------------------------

BOTH = came((VALUE, b"i1;", 5), (VALUE, b"i2;", 9))
CHECK = AskedCheck("s", SCRIPT, "f")
ALONE = InnerTask("t", RIGHT.encode(), [CHECK], told_workers.LIMITS, "default", True, None, 1, StepCount.INSTRUCTIONS)


def ended(body: bytes = BOTH, classes: str = "d", facts: Exit = CLEAN, kind: bytes = messages.PLAIN, **more) -> Result:
    value = records.value(records.NUMBERS.pack(0, 9, 1, 2, 0), kind, body, b"shown")
    return Result(report=records.plan(True, classes, []) + value, facts=facts, **more)


def refused(sentence: str) -> Result:
    return Result(report=records.plan(False, messages.INVALID, [sentence]), facts=CLEAN)


RAISED = records.plan(True, "d", []) + frames.frame(
    [messages.RAISED, bytes(records.NUMBERS.size), b"ValueError", b"", b"\1\0\0\0", b"", b""]
)
ENDS = {
    "both": (ended(), Kind.PASSED),
    "our failure": (Result(error="no zygote"), None),
    "a seal that broke": (ended(unsealed=("len",)), None),
    "a crash": (ended(facts=DIED), None),
    "a crash at once": (Result(report=records.plan(True, "d", []), facts=DIED), None),
    "no value": (Result(report=records.plan(True, "d", []), facts=CLEAN), None),
    "nothing": (Result(facts=CLEAN), None),
    "no plain value": (ended(kind=messages.OPAQUE), None),
    "its own error": (Result(report=RAISED, facts=CLEAN), None),
    "one that is to run alone": (Result(report=records.plan(True, messages.ALONE, []), facts=CLEAN), None),
    "no program": (refused("the program: line 1"), Kind.INVALID),
    "no call": (refused("the call: line 1"), None),
}


def judge(told: Told, audit: Audit | None = None, **changes: object) -> judging.SeriesJudge:
    task = replace(ALONE, **changes)  # type: ignore[arg-type]
    return judging.SeriesJudge(told, task, task.checks[0], "0", audit or Audit(0))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ENDS)
async def test_only_whole_reports_of_workers_that_ended_well_are_believed(name: str):
    result, outcome = ENDS[name]
    judged = await judge(Told({}, before=lambda _job: result)).judge(replace(ONE))
    assert (judged and judged.outcome) is outcome
    assert judged is None or (judged.assurance, judged.canonical, judged.shown) == (Assurance.SEPARATED, None, "")


@pytest.mark.parametrize(
    "changes",
    [
        {"setting": Setting(arguments=("x",))}, {"program": b"import threading\n" + RIGHT.encode()},
        {"program": RIGHT.encode() + b"open('a')"}, {"checks": [replace(CHECK, entry_point="other")]},
    ],
    ids=["a setting", "threads", "files", "another name"],
)  # fmt: skip
async def test_what_needs_more_than_a_plain_worker_runs_as_a_script(changes: dict[str, object]):
    told = Told({}, kinds=ZygoteKinds(has_scratch=True), before=lambda _job: ended())
    assert await judge(told, **changes).judge(replace(ONE)) is None
    assert told.jobs == []


async def test_who_may_share_and_for_how_long():
    suspicious = Audit(1)
    suspicious.compare(Audited(0, "t", "c"), BASE, BASE.but(steps=1))
    shares = []
    much = replace(told_workers.LIMITS, output_bytes=1 << 30)
    for changes, unsealed, audit in (
        ({}, (), None), ({"share": False}, (), None), ({"limits": much}, ("default",), None), ({}, (), suspicious),
    ):  # fmt: skip
        told = Told({}, kinds=ZygoteKinds(unsealed=unsealed), before=lambda _job: ended())
        judged = await judge(told, audit, **changes).judge(replace(ONE))
        assert judged is not None
        assert judged.outcome is Kind.PASSED
        (job,) = told.jobs
        assert (job.limits.cpu_ms, job.limits.wall_ms) == (500, 5_000)
        assert job.limits.output_bytes == job.asked.output == (2 << 20 if changes.get("limits") is much else 1000)
        shares.append((job.may_share, bool(payloads.CALLS_FLAGS.unpack(job.fields[0])[0] & payloads.SHARE)))
    assert shares == [(True, True), *[(False, False)] * 3]


@pytest.mark.parametrize(
    ("alone", "outcome", "mismatches"),
    [
        ([Kind.PASSED], Kind.PASSED, False), ([Kind.FAILED] * 3, Kind.FAILED, True),
        ([Kind.FAILED, Kind.PASSED, Kind.FAILED], Kind.FAILED, False),
        ([Kind.FAILED, Kind.FAILED, Kind.RAISED], Kind.FAILED, False),
    ],
    ids=["the same", "another", "now this, now that", "now that"],
)  # fmt: skip
async def test_what_shared_a_worker_is_audited(
    alone: list[Kind], outcome: Kind, mismatches: bool, monkeypatch: pytest.MonkeyPatch
):
    company = Company(lambda _count: (0,))
    result = ended(company=company, audited=company.draw(1))
    audit, others = Audit(1), iter(alone)

    async def run_alone(_self: object) -> CheckResult:
        return BASE.but(outcome=next(others), steps=9, assurance=Assurance.SEPARATED)

    monkeypatch.setattr(judging.SeriesJudge, "run_alone", run_alone)
    judged = await judge(Told({}, before=lambda _job: result), audit).judge(replace(ONE))
    assert judged is not None
    assert (judged.outcome, judged.shared) == (outcome, False)
    assert (audit.is_suspect(0), list(others)) == (mismatches, [])
    await asyncio.wait_for(company.settled(), 5)


async def test_what_is_not_judged_is_not_audited():
    """It runs as a script anyhow; nobody waits for it."""
    company = Company(lambda _count: (0,))
    result = ended(kind=messages.OPAQUE, company=company, audited=company.draw(1))
    told = Told({}, before=lambda _job: result)
    assert await judge(told, Audit(1)).judge(replace(ONE)) is None
    assert len(told.jobs) == 1
    await asyncio.wait_for(company.settled(), 5)


async def test_calls_that_took_long_and_decided_nothing_are_made_again_only_now_and_then():
    """Each script was run by a pair behind them. Where they decide something, or pairs took long enough, they may."""
    script, began = replace(ONE), []
    slow = Result(report=RAISED, facts=Exit(9, 500_000_000, killed=messages.KILLED_CPU))

    async def ask(result: Result) -> bool:
        told = Told({}, before=lambda _job: result)
        await judge(told).judge(script)
        return bool(told.jobs)

    began = [await ask(slow) for _ in range(150)]
    assert began == [True] * 2 + [False] * 1 + [True] + [False] * 50 + [True] + [False] * 50 + [True] + [False] * 44
    script = replace(ONE)
    for result in [slow, ended(), ended(), slow, ended()]:
        assert await ask(result)
    for _ in range(100):
        script.attempts.ended(has_decided=False, cpu_ns=500_000_000)  # they were under way
    assert [await ask(ended()) for _ in range(102)] == [False] * 101 + [True]
