"""Jobs that share a worker: who goes along, whose end it was, and that nobody can tell from a verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest
from behaviours import tested_runtimes
from cruxbox import Client, EvaluateCheck, Isolation, Limits, Outcome, Task
from cruxboxd.scheduling.bundles import MOST_CHECKS, Bundle, bundle, companions
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.setup import ZygoteKey
from cruxcell.protocol import frames, messages, records
from in_company import LEAKS, differing

KEY = ZygoteKey("default", False, "0")
HARMLESS = "def f(x):\n    return [x] * 3"
LIMITS = Limits(cpu_ms=400, steps=2_000_000, output_bytes=2000, memory_bytes=128 << 20)

# ---- for real --------------------------------------------------------------------

# Hermetic programs that end their worker, or leave it less than new, in every way such programs have.
BAD_ENDS = {
    "endless": "def f(x):\n    while x == 2: pass\n    return x",
    "a stall in C": "def f(x):\n    return sum(range(10 ** 13)) if x == 2 else x",
    "memory": "def f(x):\n    return len([0] * (10 ** 9 if x == 2 else 1))",
    "memory caught": "def f(x):\n    try:\n        return len([0] * (10 ** 9 if x == 2 else 1))\n"
    "    except MemoryError:\n        return 'caught'",
    "memory in cycles": "def f(x):\n    kept = [bytearray(1 << 24) for _ in range(x)]\n    kept.append(kept)\n"
    "    return x",
    "output": "def f(x):\n    print('z' * (9999 if x == 2 else 1))\n    return x",
    "depth": "def f(x):\n    return f(x + 1)",
    "a codec": "def f(x):\n    return 'é'.encode('cp1252' if x == 2 else 'utf-8')",
    "a large value": "def f(x):\n    return 'z' * 10 ** 7 if x == 2 else x",
    "nested too deep": "def f(x):\n    return " + "(" * 300 + "x" + ")" * 300,
    "not a program": "def f(x:\n",
    "one that is not hermetic": "class C:\n    n = 0\ndef f(x):\n    C.n += x\n    return C.n",
}


@pytest.mark.kernel
@pytest.mark.parametrize("name", BAD_ENDS)
def test_an_end_is_charged_to_nobody_else(native: Client, name: str):
    programs = [BAD_ENDS[name], *[f"{HARMLESS}  # {at}" for at in range(6)], BAD_ENDS[name] + "\n# again", HARMLESS]
    calls = [EvaluateCheck(call, id=call) for call in ("f(1)", "f(2)", "f(3)")]
    assert differing(native, [Task(program, calls, limits=LIMITS) for program in programs]) == []


@pytest.mark.kernel
def test_what_programs_leave_behind_stays_with_them(native: Client):
    calls = [EvaluateCheck(call, id=call) for call in ("f(1)", "f(2)", "f(x=3)")]
    assert differing(native, [Task(program, calls, limits=LIMITS) for program in LEAKS.values()]) == []


@pytest.mark.kernel
def test_the_workers_peak_is_no_checks_own(native: Client):
    """Many tasks with one check each end as they would alone, in the order they were given."""
    tasks = [Task(f"def f(x):\n    return x + {at}", [EvaluateCheck("f(1)")], limits=LIMITS) for at in range(300)]
    verdicts = native.check(tasks)
    assert [verdict.value for verdict in verdicts] == [str(1 + at) for at in range(300)]
    alone = native.check([replace(task, isolation=Isolation.PROCESS) for task in tasks[:5]])
    assert [verdict.steps for verdict in alone] == [verdict.steps for verdict in verdicts[:5]]
    assert {verdict.outcome for verdict in verdicts} == {Outcome.EVALUATED}


@pytest.mark.kernel
def test_nobody_waits_for_a_stall_of_others(native: Client):
    """The stall comes first in its worker, and its verdict last of all."""
    stall = Task(BAD_ENDS["a stall in C"], [EvaluateCheck("f(2)")], id="stall", limits=LIMITS)
    others = [Task(f"{HARMLESS}  # {at}", [EvaluateCheck("f(1)")], limits=LIMITS) for at in range(40)]
    verdicts = list(native.stream([stall, *others], ordered=False))
    assert [verdict.task_id for verdict in verdicts].index("stall") == 40
    assert verdicts[40].outcome is Outcome.TIMED_OUT
    assert {verdict.value for verdict in verdicts[:40]} == {"[1, 1, 1]"}


@pytest.mark.kernel
def test_stalls_of_one_task_do_not_wait_for_each_other(native: Client):
    """All of them end as they would alone, also where each is met by a worker that took over from another."""
    calls = [EvaluateCheck(f"f({at})", id=str(at)) for at in (1, 2, 3, 6, 4, 5)]
    program = "def f(x):\n    return sum(range(10 ** 13)) if x % 2 == 0 else x"
    assert differing(native, [Task(program, calls, limits=LIMITS)]) == []
    outcomes = [verdict.outcome for verdict in native.check([Task(program, calls, limits=LIMITS)])]
    assert [outcome is Outcome.TIMED_OUT for outcome in outcomes] == [False, True, False, True, True, False]


TAKEOVER = """
def g():
    match '{0.gi_frame.f_builtins.nope}':
        case str(format=fm):
            yield fm(k[0])
k = []
def f(x):
    k.append(g())
    try:
        next(k[0])
    except AttributeError as e:
        e.obj['abs'] = lambda o: 'owned'
"""
LATE_OUTPUT = """
def p(d):
    if d:
        return p(d - 1)
    print('x' * 3000)
def f(x):
    try:
        p(x)
    except RecursionError:
        return 'r'
"""
LATE_WARNING = "async def g(): pass\ndef f(x):\n    l = [g()]\n    l.append(l)\n    return 1"


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("attack", "calls", "victim"),
    [
        (TAKEOVER, ["f(1)"], "def f(x):\n    return abs(x)"),
        (LATE_OUTPUT, [f"f({depth})" for depth in range(985, 998)], "def f(x):\n    print('hello', x)\n    return x"),
        (LATE_WARNING, ["f(1)"], "async def g(): pass\ndef f(x):\n    g()\n    return x"),
    ],
    ids=["takeover", "late output", "late warning"],
)
def test_what_once_reached_a_neighbour(native: Client, attack: str, calls: list[str], victim: str):
    """Found by attack: each changed what its neighbours in a worker came to."""
    tasks = []
    for at, call in enumerate(calls * (20 // len(calls))):
        tasks.append(Task(f"{attack}\n# {at}", [EvaluateCheck(call)], limits=LIMITS))
        tasks.append(Task(f"{victim}\n# {at}", [EvaluateCheck("f(1)")], limits=LIMITS))
    assert differing(native, tasks) == []


FREED = """
def f(x):
    a = bytes(30 << 20)
    a = 0
    b = [bytes(1 << 20) for _ in range(29)]
    return x
"""
TIGHT = """
def f(x):
    try:
        y = list(range(1000, 1000 + x))
    except MemoryError:
        return 'caught'
    return 'fine'
"""


@pytest.mark.kernel
def test_memory_that_was_freed_is_there_again(native: Client):
    limits = replace(LIMITS, memory_bytes=32 << 20)
    tasks = []
    for at in range(8):
        tasks.append(Task(f"{FREED}# {at}", [EvaluateCheck("f(1)")], limits=limits))
        tasks.append(Task(f"{TIGHT}# {at}", [EvaluateCheck(f"f({600_000 + at * 20_000})")], limits=limits))
    assert differing(native, tasks) == []


DEEP = """
def p(d):
    return p(d - 1) if d else 0 + len([d + 0])
def f(x):
    try:
        p(x)
    except RecursionError:
        return 9 ** x
    return 1
"""


@pytest.mark.kernel
def test_operands_are_seen_alike_in_company(native: Client):
    """However often the harness has looked before, a program has the same depth of recursion for it."""
    checks = [EvaluateCheck(f"f({depth})", True, id=str(depth)) for depth in range(990, 998)]
    tasks = [Task(f"{DEEP}# {at}", checks, limits=LIMITS) for at in range(6)]
    together = native.check(tasks)
    alone = native.check([replace(task, isolation=Isolation.PROCESS) for task in tasks[:1]]) * len(tasks)
    assert [(one.value, one.steps, one.findings) for one in together] == [
        (one.value, one.steps, one.findings) for one in alone
    ]


# What is called as deep as it gets. From 3.11 on code that has run often takes fewer places of the stack.
AT_THE_BOTTOM = ["len('ab')", "round(1.5)", "next(y for y in 'a')", "sorted('ba', key=lambda y: y)", "h(1)"]


@pytest.mark.kernel
@pytest.mark.parametrize("runtime", tested_runtimes())
def test_how_often_code_has_run_decides_no_depth(native: Client, runtime: str):
    checks = [EvaluateCheck("f(3)")] * 20 + [EvaluateCheck(f"f({depth})") for depth in range(994, 1001)]
    texts = [
        f"def h(x, y=1): return x\ndef g(): return {each}\ndef f(n): return f(n - 1) if n else g()"
        for each in AT_THE_BOTTOM
    ]
    assert differing(native, [Task(text, checks, limits=LIMITS, runtime=runtime) for text in texts]) == []


def nobody(checks: int) -> tuple[int, ...]:
    """No check is drawn for an audit."""
    return ()


# ---- who goes along ----------------------------------------------------------------


def job(checks: int = 1, **options: object) -> Job:
    return Job(**{"key": KEY, "kind": messages.JOB_CALLS, "fields": [b"x"], "limits": DEFAULT_LIMITS,
                  "checks": checks, "may_share": True, **options})  # type: ignore[arg-type]  # fmt: skip


async def test_company_has_the_same_call_zygote_and_limits():
    head = job()
    others = [
        job(may_share=False),
        job(rpc_id=2),
        job(key=replace(KEY, hash_seed="1")),
        job(limits=replace(DEFAULT_LIMITS, cpu_ms=7)),
        job(fields=[b"x" * (1 << 18)]),
        job(),
    ]
    goes_along = companions(head, 100)
    assert [other for other in others if goes_along(other)] == others[-1:]


@pytest.mark.parametrize(("asked", "given"), [(10, 10), (10_000, MOST_CHECKS)])
async def test_company_is_bounded_in_checks(asked: int, given: int):
    goes_along = companions(job(2), asked)
    assert 2 + 2 * sum(goes_along(job(2)) for _ in range(1000)) == given


async def test_what_goes_along_leaves_less_room_for_others():
    goes_along = companions(job(2), 5)
    assert [goes_along(job(checks)) for checks in (4, 2, 2, 1, 1)] == [False, True, False, True, False]


async def test_company_is_bounded_in_bytes():
    goes_along = companions(job(fields=[b"x" * 1000]), 100)
    left = (1 << 18) - 1000
    assert [goes_along(job(fields=[b"x" * size])) for size in (left + 1, left - 1, 2, 1)] == [False, True, False, True]


async def test_one_job_alone_is_no_bundle():
    only = job()
    assert bundle([only], lambda job: None, nobody) is only


async def test_each_check_of_a_bundle_has_a_seal_and_so_has_each_program():
    assert bundle([job(1), job(2), job(3)], lambda job: None, nobody).seals == 2 + 3 + 4


# ---- whose end it was --------------------------------------------------------------

PLAN = records.plan(True, "d", [])
NUMBERS = records.NUMBERS.pack(0, 1, 1, 1, 0)
VALUE = records.value(NUMBERS, messages.PLAIN, b"i1", b"1")
GOOD = PLAN + VALUE
NO_MEMORY = PLAN + records.raised(records.NUMBERS.pack(0, 1, 1, 1, records.OUT_OF_MEMORY), MemoryError())
VIOLATED = frames.frame([messages.VIOLATED, b"\x3b\0\0\0"])
KILLED_BY_CLOCK = Exit(status=9, cpu_ns=900, killed=messages.KILLED_CPU)
SEGFAULT = Exit(status=11, cpu_ns=900)
OUT_OF_STEPS = Exit(status=messages.EXIT_STEPS << 8, cpu_ns=900)
OVER_OUTPUT = Exit(status=messages.EXIT_OUTPUT << 8, cpu_ns=900)


def said(*sections: bytes) -> bytes:
    return b"".join(records.section(at) + section for at, section in enumerate(sections))


@pytest.mark.parametrize(
    ("report", "facts", "ended", "alone"),
    [
        (said(GOOD, GOOD, GOOD), Exit(), "yyy", "..."),
        (said(GOOD, GOOD), Exit(), "yyn", "..n"),
        (said(GOOD, PLAN), KILLED_BY_CLOCK, "yyn", "..n"),
        (said(GOOD, PLAN), OUT_OF_STEPS, "yyn", "..n"),
        (said(GOOD, PLAN), OVER_OUTPUT, "yyn", "..n"),
        (said(GOOD, PLAN), SEGFAULT, "ynn", ".yn"),
        (said(PLAN), SEGFAULT, "nnn", "ynn"),
        (said(GOOD, b""), KILLED_BY_CLOCK, "ynn", ".yn"),
        (said(GOOD, NO_MEMORY, GOOD), Exit(), "yny", ".y."),
        (said(GOOD, records.plan(False, "d", []), GOOD), Exit(), "yny", ".y."),
        (said(GOOD, GOOD, GOOD), Exit(status=9, killed=messages.KILLED_SILENT), "yyn", "..y"),
        (said(GOOD, GOOD, GOOD), replace(OUT_OF_STEPS, killed=messages.KILLED_SILENT), "yyn", "..y"),
        # Only the last one can have ended the worker.
        (said(GOOD, PLAN + records.limit(messages.STEP_LIMIT, 0, 1)), OUT_OF_STEPS, "yyn", "..n"),
        (said(PLAN + records.limit(messages.STEP_LIMIT, 0, 1), GOOD), Exit(), "nnn", "yyy"),
        (said(PLAN + VIOLATED, GOOD), Exit(), "nnn", "yyy"),
        (said(GOOD + VALUE, GOOD), Exit(), "nnn", "yyy"),
        (said(GOOD, GOOD + VALUE), Exit(), "nnn", "yyy"),
        # Out of turn, out of order, one too many, nothing, and what no honest worker sends: nobody is charged.
        (GOOD, Exit(), "nnn", "yyy"),
        (b"", Exit(status=messages.EXIT_HARNESS << 8), "nnn", "yyy"),
        (GOOD + said(GOOD), Exit(), "nnn", "yyy"),
        (said(GOOD) + said(GOOD), Exit(), "nnn", "yyy"),
        (said(GOOD, GOOD, GOOD, GOOD), Exit(), "nnn", "yyy"),
        (records.section(1) + GOOD, Exit(), "nnn", "yyy"),
        (frames.frame([messages.SECTION, b"\0\0\0\0", b""]) + GOOD, Exit(), "nnn", "yyy"),
    ],
)
async def test_who_is_settled_and_who_runs_again(report: bytes, facts: Exit, ended: str, alone: str):
    """`ended`: has the job its result? `alone`: if it runs again, does it have a worker to itself?"""
    again: list[Job] = []
    jobs = [job() for _ in range(3)]
    carrier = bundle(jobs, again.append, nobody)
    carrier.finish(Result(report=report, facts=facts))
    assert "".join("y" if one.future.done() else "n" for one in jobs) == ended
    assert again == [one for one in reversed(jobs) if not one.future.done()]
    assert "".join("." if one.future.done() else "ny"[not one.may_share] for one in jobs) == alone
    assert all(one.carrier is None for one in jobs)


@pytest.mark.parametrize("facts", [Exit(), KILLED_BY_CLOCK])
async def test_whom_a_report_over_the_limit_came_upon_runs_again(facts: Exit):
    """However its worker ended: those before it may have had a part in the size."""
    jobs = [job(), job()]
    bundle(jobs, lambda job: None, nobody).finish(Result(report=said(GOOD, GOOD), facts=facts, over_cap=True))
    assert [one.future.done() for one in jobs] == [True, False]


async def test_a_job_gets_its_part_and_the_last_one_the_end():
    jobs = [job(checks=3), job()]
    carrier = bundle(jobs, lambda job: None, nobody)
    jobs[0].queued_at, jobs[1].queued_at, carrier.started_at = 1, 3, 8
    carrier.finish(Result(report=said(GOOD, PLAN), facts=KILLED_BY_CLOCK))
    first, last = [one.future.result() for one in jobs]
    assert (first.queue_ns, last.queue_ns) == (7, 5)
    assert (first.report, first.facts.is_clean, first.charged_ns) == (GOOD, True, 675)
    assert (last.report, last.facts, last.charged_ns) == (PLAN, KILLED_BY_CLOCK, 225)


async def test_a_broken_seal_is_told_of_the_last_and_none_that_is_called_off_is_audited():
    jobs = [job(), job(), job()]
    carrier = bundle(jobs, lambda job: None, lambda checks: (0,))
    jobs[0].is_cancelled = True
    carrier.finish(Result(report=said(GOOD, GOOD), unsealed=("gc",)))
    first, second = [one.future.result() for one in jobs[:2]]
    assert [(first.unsealed, first.audited), (second.unsealed, second.audited)] == [((), ()), (("gc",), (0,))]


async def test_what_is_behind_a_stuck_job_goes_elsewhere():
    again: list[Job] = []
    seen: list[bytes] = []
    jobs = [job() for _ in range(4)]
    jobs[1].on_stuck = seen.append
    carrier = bundle(jobs, again.append, nobody)
    assert isinstance(carrier, Bundle)
    carrier.stuck(b"")
    assert again == []
    carrier.stuck(said(GOOD, PLAN))
    assert (again, seen) == ([jobs[3], jobs[2]], [PLAN])
    assert jobs[2].carrier is None
    # If the worker gets there after all, what it says of them counts for nothing.
    carrier.finish(Result(report=said(GOOD, GOOD, GOOD), facts=SEGFAULT))
    assert [one.future.done() for one in jobs] == [True, True, False, False]


@pytest.mark.parametrize("flags", [0, messages.COMPUTE_PROFILE, messages.SHARED_PROFILE])
async def test_a_bundle_has_the_filter_of_what_is_shared_besides_its_own(flags: int):
    jobs = [job(flags=flags), job(flags=flags)]
    assert bundle(jobs, lambda job: None, nobody).flags == flags | messages.SHARED_PROFILE


async def test_a_bundle_is_wanted_as_long_as_one_of_it_is():
    jobs = [job(), job()]
    carrier = bundle(jobs, lambda job: None, nobody)
    assert isinstance(carrier, Bundle)
    assert carrier.is_wanted
    jobs[0].is_cancelled = True
    assert carrier.is_wanted
    jobs[1].is_cancelled = True
    assert not carrier.is_wanted


async def test_our_failure_is_everybodys():
    jobs = [job(checks=3), job()]
    jobs[1].attempts = 2
    bundle(jobs, lambda job: None, nobody).finish(Result(error="cancelled", facts=SEGFAULT))
    assert [one.future.result().error for one in jobs] == ["cancelled"] * 2
    assert [one.future.result().attempts for one in jobs] == [1, 3]
    assert [one.future.result().charged_ns for one in jobs] == [675, 225]


async def test_who_runs_again_has_paid_its_part():
    jobs = [job(checks=3), job()]
    bundle(jobs, lambda job: None, nobody).finish(Result(facts=SEGFAULT))
    assert [one.spent_ns for one in jobs] == [675, 225]
