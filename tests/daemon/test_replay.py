"""Scripts that go through a table: on what the calls gave they come to what they come to as scripts."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import pytest
import told_workers
from behaviours import tested_runtimes
from cruxbox import Client, Outcome, ScriptCheck, Task
from cruxboxd.judging import rows as judging
from cruxboxd.judging.asserted import MOST_KNOWN, MOST_KNOWN_BYTES, Rows, read_rows
from cruxboxd.judging.audit import Audit
from cruxboxd.judging.expected import Kind as Kinds
from cruxboxd.judging.expected import Reading
from cruxboxd.judging.outcomes import CheckResult
from cruxboxd.judging.outcomes import Outcome as Kind
from cruxboxd.judging.tasks import ScriptCheck as AskedCheck
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Job, Result
from cruxcell.protocol import frames, messages, payloads, records
from series_by_hand import LIMITS, PROGRAMS, RIGHT, TRUE, came, differing, of
from told_series import ALONE
from told_workers import CLEAN, DIED, Told

kernel = pytest.mark.kernel
CHECK = """def near(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) < 1e-6
    return isinstance(a, (int, str, tuple)) and a == b or a is None and str(b) == '?'

def check(candidate):
    inputs = [[0, []], [3, [1, (2, 'a')], {'b': None}], [2, ['x'], {}], [4, []], [1, [2.5]]]
    results = [[], [1, (2, 'a'), 3.0], ['x', 2], [4], [2.5, True]]
    for i, (inp, exp) in enumerate(zip(inputs, results)):
        same(candidate(*inp), exp, i)

def same(out, exp, i):
    assert out == exp or len(out) == len(exp) and all(near(a, b) for a, b in zip(out, exp)), f'{i}: {out} {exp}'

check(f)
"""
TABLE = """cases = [((0, []), []), ((3, [1]), [1, 3]), ((2, ['x']), ['x', 2]), ((1, [2.5]), [2.5, 1])]
for given, wanted in cases:
    assert sum([f(*given) == wanted], 0), 'another'
"""
LINES = "for x in [0, 3, 2, 1]:\n    assert [x] == [f(\n        x, [1, 2])[-1] or x]"
ASSERTED = """def check(candidate):
    assert tuple(candidate(0, [])) == ()
    assert list(candidate(3, [1, (2, 'a')], k={'b': None})) == [1, (2, 'a'), 3.0], 'no'
    assert [1, 3] == sorted(candidate(3,
                                      items=[1]), key=None)
    assert sum(candidate(1, [2.5, 1]), 0.5) == 5, "all"
    assert 'x' in candidate(2, ['x'])
check(f)
"""
# What a program may do that this way of judging could fail to see.
MORE = {
    "about right": of("if x == 3: return items + [3.0000001]"),
    "a sum of its own": "def sum(*a): return 1\n" + RIGHT,
    "an isinstance of its own": "def isinstance(*a): return True\ndef abs(x): return 0\n" + of("return [7.0] * 9"),
    "a sum that comes later": of("global sum; sum = lambda *a: True; return 3"),
    "a name of the script's": "def near(a, b): return True\nsame = inputs = exp = near\n" + of("return [7]"),
    "its argument": of("items += [x] * bool(x); return items"),
    "its argument, later": of("kept.append(items)\n    for each in kept: each.append(9)", "kept = []"),
    "the same each time": of("kept.clear(); kept.extend(items + [x] * bool(x)); return kept", "kept = []"),
    "itself": of("a = []; a.append(a); return a"),
    "one thing twice": of("a = [x]; return [a, a]"),
    "texts": of("return str(items)"),
    "keys in another order": of("return {2: 1, 1: 2} if x == 3 else {1: 2, 2: 1}"),
    "many": of("return list(range(100_000))"),
    "a sequence": of("return range(x)"),
    "bytes": of("return b'a\\xff'"),
    "other numbers": of("return [2**100, -1.5, 1j, True, None, ...]"),
    "a value that prints": of("print('gave'); return []"),
    "it says too much as it is loaded": "print('x' * 5000)\n" + RIGHT,
    "it imports": "import math, random\n" + RIGHT,
    "it looks around": "import sys\n" + of("return sorted(sys.modules)[:1]"),
}
DEEP = """def deep(n):
    return n and 1 + deep(n - 1)
def check(candidate):
    for x in [DEPTH]:
        assert deep(candidate(x)) == DEPTH
check(f)
"""
ORDER = "def same(a, b):\n    assert a == b, str(a)\nfor %s in [%s]:\n    same(f(%s), 1)"
KEEPS_ONE_LIST = "kept = []\ndef f(x):\n    kept[:] = [x]\n    return kept\n"
# Scripts, each with a program.
PAIRS = [
    *[(DEEP.replace("DEPTH", str(depth)), "def f(x):\n    return x\n") for depth in range(993, 1000)],
    *[
        (ORDER % (names, values, "x"), f"def f(x):\n    return {given}\n")
        for names, values in (("x", "[{8, 0}], [{0, 8}], [{16, 8, 0}]"), ("x, y", "([{38, 2, 46, 53, 21}, ()], 1)"))
        for given in ("[*x[0]]", "x[0]")
    ],
    *[
        (f"for x in [{depth}]:\n    assert str(f(x))", "def f(x):\n    return [f(x - 1)] if x else []\n")
        for depth in (299, 300, 301)
    ],
    (ORDER % ("x", "list({8, 0, 16}), [1]", "x"), "def f(x):\n    return x\n"),
    ("assert str(f(self=1, function=2)) == '1'", "def f(self, function):\n    return self\n"),
    ("assert f({8, 0, 16}) == [8, 0, 16]\nassert f({8, 0}) == [8, 0]", "def f(x):\n    return list(x)\n"),
    *[
        (ORDER % ("x, y", f"[{each}, {each}]", "x, y"), "def f(x, y):\n    return x is y, x is 'ab', x is b'a'\n")
        for each in ("'ab'", "'a b'", "300", "2.5", "b'a'", "b'ab'", "(1, 'a')", "['ab']")
    ],
    ("def g(x):\n    return 1\nfor x in [1]:\n    assert f(x) == 1", "def g(x):\n    return x\n" + TRUE),
    ("def sum(x):\n    return 1\nfor x in [[]]:\n    assert f(x) == 1", "def f(x):\n    return sum(x)\n"),
    ("for x in ['ab', (1, 'a'), 0]:\n    assert f(x) == [x] or 1 / x", "def f(x):\n    return [x or 1]\n"),
    ("for seed in [1]:\n    assert f(seed) == 2", TRUE),
    ("x = f(0)\nassert set(f(1)) == {1}\nassert set(f(2)) == {2}", "def f(x):\n    return [x]\n"),
    *[
        (f"kept = []\nkeep = {keep}\nassert not keep(f(1))\nassert (kept, f(2)) == ([[1]], [2])", KEEPS_ONE_LIST)
        for keep in ("kept.append", "lambda x: kept.append(x)")
    ],
]


def tasks(runtime: str = "default", entry_point: str = "f") -> list[Task]:
    every = [*PROGRAMS.items(), *MORE.items()]
    return [
        Task(program, [ScriptCheck(script, entry_point)], limits=LIMITS, id=f"{name}: {script}", runtime=runtime)
        for script in (CHECK, TABLE, LINES, ASSERTED) for name, program in every[:: 3 if script == LINES else 1]
    ]  # fmt: skip


@kernel
@pytest.mark.parametrize("runtime", tested_runtimes())
def test_a_script_comes_to_the_same_on_what_the_calls_gave(native: Client, runtime: str):
    assert differing(native, tasks(runtime)[:: 1 if runtime == "default" else 3]) == []


@kernel
def test_and_without_an_entry_point_or_the_native_helper(native: Client, pure: Client):
    assert differing(native, tasks(entry_point="")[::5]) == []
    assert differing(pure, tasks()[::7]) == []


@kernel
@pytest.mark.parametrize("runtime", tested_runtimes())
def test_what_a_script_sees_of_how_it_is_run(native: Client, runtime: str):
    made = [
        Task(program, [ScriptCheck(script, "f")], limits=LIMITS, id=script, runtime=runtime)
        for script, program in PAIRS
    ]
    assert differing(native, made) == []


@kernel
def test_these_are_of_every_sort(native: Client):
    found = {verdict.outcome for verdict in native.check(tasks()[::2])}
    assert found >= {Outcome.PASSED, Outcome.FAILED, Outcome.RAISED, Outcome.INVALID, Outcome.STEP_LIMIT}
    assert found >= {Outcome.MEMORY_LIMIT, Outcome.OUTPUT_LIMIT}


# ---- what workers say, read ------------------------------------------------------------------------------------------

VALUE, ERROR = payloads.CAME_VALUE, payloads.CAME_ERROR
RAISED = frames.pack([b"KeyError", b"'a'"])
SCRIPT = AskedCheck("s", TABLE, "f")
BASE = CheckResult(None, steps=100)
BOTH = came((VALUE, b"1", 5), (VALUE, b"2", 9))


def rows(**changes: object) -> Rows:
    return replace(Rows("f", (3, 3), frames.pack([]), b""), known={}, **changes)  # type: ignore[arg-type]


def ended(
    made: int = 2, kind: bytes = messages.ENDED, name: bytes = b"AssertionError", message: bytes = b"no", **more
) -> Result:
    numbers = records.NUMBERS.pack(0, made, 1, 2, 0)
    said = {
        messages.ENDED: records.ended(numbers, b"said", b"err"),
        messages.RAISED: frames.frame([messages.RAISED, numbers, name, message, b"\3\0\0\0", b"", b""]),
    }[kind]
    return Result(report=records.plan(False, "d", []) + said, **{"facts": CLEAN, **more})


async def settled(told: bytes, result: Result, script: Rows | None = None, base: CheckResult = BASE) -> Any:
    worker = Told({}, before=lambda _job: result)
    task = replace(ALONE, checks=[SCRIPT])
    judge = judging.RowsJudge(worker, task, SCRIPT, "0", Audit(0), b"code")  # type: ignore[arg-type]
    return await judge.settled(base, told, script or rows())


HEADS = payloads.SERIES_CAME.pack(VALUE, 5), payloads.SERIES_CAME.pack(ERROR, 7)
FAILS = {"kind": messages.RAISED}
SAID = {
    "all": (BOTH, ended(), (Kind.PASSED, 100)),
    "all, but it made fewer": (BOTH, ended(1), None),
    "all, but it wanted more": (BOTH, ended(3), None),
    "the first fails": (BOTH, ended(1, **FAILS), (Kind.FAILED, 5)),
    "the last fails": (BOTH, ended(2, **FAILS), (Kind.FAILED, 9)),
    "another error": (BOTH, ended(2, name=b"TypeError", **FAILS), (Kind.RAISED, 9)),
    "no call, and an error": (BOTH, ended(0, **FAILS), None),
    "more calls than there were, and an error": (BOTH, ended(3, **FAILS), None),
    "the script's worker crashed": (BOTH, ended(facts=DIED), None),
    "our failure": (BOTH, Result(error="no zygote"), None),
    "our failure, when it had ended": (BOTH, ended(error="the zygote is gone"), None),
    "it exits when it had ended": (BOTH, ended(facts=Exit(1 << 8)), None),
    "it is killed when it had ended": (BOTH, ended(facts=Exit(killed=messages.KILLED_PARTNER)), None),
    "it says nothing": (BOTH, Result(facts=CLEAN), None),
    "too few": (came((VALUE, b"1", 5)), ended(), None),
    "too many": (came((VALUE, b"1", 5), (VALUE, b"2", 9), (VALUE, b"3", 9)), ended(), None),
    "an error": (came((VALUE, b"1", 5), (ERROR, RAISED, 7)), ended(2), (Kind.RAISED, 7)),
    "an error that is not reached": (came((VALUE, b"1", 5), (ERROR, RAISED, 7)), ended(1, **FAILS), (Kind.FAILED, 5)),
    "an error, and it made no such call": (came((VALUE, b"1", 5), (ERROR, RAISED, 7)), ended(1), None),
    "an error in the middle": (came((ERROR, RAISED, 5), (VALUE, b"2", 9)), ended(), None),
    "an error of three parts": (came((ERROR, frames.pack([b"a", b"b", b"c"]), 5)), ended(1), None),
    "an error with a long name": (came((ERROR, frames.pack([b"K" * 201, b""]), 5)), ended(1), None),
    "another kind": (came((b"?", b"1", 5), (VALUE, b"2", 9)), ended(), None),
    "nothing": (b"", ended(0), None),
    "no frames": (b"\xff\xff\xff\xff", ended(), None),
    "an odd number": (BOTH + frames.pack([b"v"]), ended(), None),
    "an odd number, of heads": (frames.pack([HEADS[0], RAISED, HEADS[1]]), ended(), None),
    "a short head": (frames.pack([b"v", b"1"]), ended(), None),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
async def test_only_what_is_certain_is_judged(name: str):
    told, result, expected = SAID[name]
    judged = await settled(told, result)
    assert (judged and (judged.outcome, judged.steps)) == expected
    if expected == (Kind.RAISED, 7):
        assert judged.exception == ("KeyError", "'a'", 3)


async def test_what_the_program_printed_is_told_if_the_script_has_made_all_calls():
    base = BASE.but(stdout=b"out")
    passed = await settled(BOTH, ended(), base=base)
    assert (passed.outcome, passed.stdout, passed.stderr) == (Kind.PASSED, b"out", b"err")
    passed = await settled(BOTH, ended(), base=BASE.but(stderr=b"mine"))
    assert (passed.outcome, passed.stdout, passed.stderr) == (Kind.PASSED, b"said", b"mine")
    assert (await settled(BOTH, ended(2, **FAILS), base=base)).stdout == b"out"
    for printed in (base, BASE.but(stderr=b"err")):
        assert await settled(BOTH, ended(1, **FAILS), base=printed) is None


async def test_an_error_in_a_statement_of_several_lines_is_not_judged():
    assert await settled(came((ERROR, RAISED, 7)), ended(1), rows(lines=(0, 0))) is None
    assert (await settled(came((ERROR, RAISED, 7)), ended(1))).outcome is Kind.RAISED


async def test_the_script_runs_once_on_the_same_values():
    asked: list[Job] = []

    def tell(job: Job) -> Result:
        asked.append(job)
        return ended(2, **FAILS)

    script = rows()
    worker = Told({}, before=tell)
    made = []
    for told, limits in (
        (BOTH, {}), (came((VALUE, b"1", 6), (VALUE, b"2", 8)), {}), (came((VALUE, b"1", 6), (VALUE, b"3", 8)), {}),
        (came((VALUE, b"12", 6), (VALUE, b"", 8)), {}), (BOTH, {"memory_bytes": 1 << 28}),
    ):  # fmt: skip
        task = replace(ALONE, checks=[SCRIPT], limits=replace(told_workers.LIMITS, **limits))
        judge = judging.RowsJudge(worker, task, SCRIPT, "0", Audit(0), b"code")  # type: ignore[arg-type]
        judged = await judge.settled(BASE, told, script)
        assert judged is not None
        made.append((judged.steps, len(asked)))
    assert made == [(9, 1), (8, 1), (8, 2), (8, 3), (9, 4)]
    assert [job.kind for job in asked] == [messages.JOB_REPLAY] * 4
    assert all(job.follows and job.fields[1] == b"code" for job in asked)


async def test_what_is_remembered_is_bounded():
    script = rows()
    tracemalloc.start()
    for at in range(MOST_KNOWN + 9):
        fails = ended(2, message=(chr(0x10000 + at) * 190).encode(), **FAILS)
        assert await settled(came((VALUE, b"%d" % at, 5), (VALUE, b"2", 9)), fails, script) is not None
    del fails
    assert len(script.known) == MOST_KNOWN
    assert (script, hash(script)) == (rows(), hash(rows()))
    before = tracemalloc.get_traced_memory()[0]
    script.known.clear()
    assert before - tracemalloc.get_traced_memory()[0] < MOST_KNOWN_BYTES
    tracemalloc.stop()
    for at in range(MOST_KNOWN):
        await settled(came((VALUE, b"%d" % at, 5), (VALUE, b"2", 9)), ended(), script)
    assert await settled(came((VALUE, b"", 5), (VALUE, b"2", 9)), ended(2, message=b"no" * 5_000, **FAILS), script)
    assert len(script.known) == MOST_KNOWN
    assert not any(len(str(seen)) > 5_000 for seen in script.known.values())


def test_a_reading_of_many_rows_is_as_large_as_it_is():
    fields = [payloads.LINE.pack(1000) * 4096, b"f", frames.pack([]), b"?" * 100]
    told = frames.pack(fields)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    found = read_rows(told)
    size = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert found is not None
    assert size < Reading(Kinds.EXPRESSION, rows=found).size - MOST_KNOWN_BYTES < 2 * size


def test_what_are_no_rows_is_none():
    whole = frames.pack([payloads.LINE.pack(3) * 2, b"f", b"others", b"calls"])
    assert read_rows(whole) == Rows("f", (3, 3), b"others", b"calls")
    for told in (
        b"",
        b"\xff",
        whole[:-1],
        frames.pack([b"", b"f", b"", b""]),
        frames.pack([b"a" * 8, b"\xff", b"", b""]),
    ):
        assert read_rows(told) is None
