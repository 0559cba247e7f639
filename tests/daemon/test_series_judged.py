"""What a worker says of a script's calls, and what is made of that and of its end."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from dataclasses import replace

import pytest
import told_workers
from cruxboxd.judging import series as judging
from cruxboxd.judging.asserted import MOST_CALLS, Asserted, Series, read_rows, read_series
from cruxboxd.judging.audit import Audit, Audited
from cruxboxd.judging.outcomes import Assurance, CheckResult
from cruxboxd.judging.outcomes import Outcome as Kind
from cruxboxd.judging.tasks import Setting
from cruxboxd.zygotes.company import Company
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Result
from cruxboxd.zygotes.setup import ZygoteKinds
from cruxcell.analysis import series as taken_apart
from cruxcell.protocol import frames, messages, payloads, records
from series_by_hand import RIGHT, came
from told_series import ALONE, CHECK
from told_workers import CLEAN, DIED, Told

# ---- what a worker says, read ----------------------------------------------------------------------------------------

ONE = Series("f", (Asserted(b"i1;", 4, "text"), Asserted(b"i2;", 0, "")), b"")
BASE = CheckResult(None, steps=100)


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
    "many": (came(*[(VALUE, b"i1;", 1)] * (MOST_CALLS + 1)), None),
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
    whole = frames.pack([b"f", payloads.SERIES_LINE.pack(1), b"", b"i1;"])
    yield from (b"", b"\xff", frames.pack([b"f"]), frames.pack([b"f", b"", b"", b"i1;"]), frames.pack([b"\xff"]))
    yield frames.pack([b"f"] + [payloads.SERIES_LINE.pack(1), b"", b"i1;"] * (MOST_CALLS + 1))
    yield whole[:-1]


def test_a_series_has_as_many_calls_as_a_worker_finds_and_each_its_own_message():
    longest = [
        (payloads.SERIES_LINE.pack(line), b"why %d" % line, b"i%d;" % line) for line in range(taken_apart._MOST_CALLS)
    ]
    series = read_series(frames.pack([b"f", *itertools.chain(*longest)]), b"calls")
    asserted = [Asserted(b"i%d;" % line, line, f"why {line}") for line in range(taken_apart._MOST_CALLS)]
    assert series == Series("f", tuple(asserted), b"calls")


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
