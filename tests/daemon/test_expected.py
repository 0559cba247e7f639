"""What is read in the daemon, what in a worker, and what becomes of the texts of a worker that dies."""

from __future__ import annotations

import asyncio

import pytest
from cruxboxd.judging import expected
from cruxboxd.judging.asserted import Rows
from cruxboxd.judging.expected import Kind, Reader, Reading, readings
from cruxboxd.settings.config import MAXIMUM_LIMITS
from cruxboxd.shared.turns import Turns
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.setup import ZygoteKey
from cruxcell.analysis.parsing import parse_text
from cruxcell.analysis.series import split_series
from cruxcell.protocol import messages
from cruxcell.protocol.frames import frame
from cruxcell.protocol.payloads import EXPECTED, LARGE_SCRIPT, SCRIPT
from told_workers import CLEAN, CONSTANT, EXPRESSION, Told, canonical, read

KEY = ZygoteKey("default", False, "0")


async def read_texts(
    told: Told, *texts: tuple[bytes, str], interactive: bool = False, turns: Turns | None = None
) -> list[Reading]:
    return await Reader(told, KEY, "tenant", interactive, turns).read(texts)  # type: ignore[arg-type]


def texts_of(job: Job) -> list[str]:
    return [text.decode() for text in job.fields[1::2]]


def test_a_series_is_read_with_its_calls():
    parts = split_series(parse_text("assert f(1) == 2\nassert f(2) == 3", "exec"))
    assert parts is not None
    (found,) = readings(frame([messages.READ_SERIES, *parts]), 9)
    assert found.series is not None
    assert (found.kind, found.series.name, len(found.series.asserted)) == (Kind.SERIES, "f", 2)
    assert found.series.calls == parts[1], "a candidate's worker gets these, and nothing that is expected"


async def test_a_few_literals_are_read_here_and_a_script_never_is():
    told = Told({"f": EXPRESSION, "1": EXPRESSION})
    found = await read_texts(told, (EXPECTED, "1"), (EXPECTED, "f"), (SCRIPT, "1"), (EXPECTED, "1"))
    assert [(one.kind, one.canonical) for one in found] == [
        (Kind.CONSTANT, canonical(1)), (Kind.EXPRESSION, None), (Kind.EXPRESSION, None), (Kind.CONSTANT, canonical(1)),
    ]  # fmt: skip
    assert [texts_of(job) for job in told.jobs] == [["f", "1"]]
    limits = told.jobs[0].limits
    assert limits.output_bytes >= MAXIMUM_LIMITS.output_bytes  # as large as a value may be
    assert limits.memory_bytes > 8 * limits.output_bytes  # and the objects that it is made of


async def test_many_literals_are_read_by_a_worker_unless_somebody_waits():
    texts = [str(at) for at in range(expected._FEW + 1)]
    told = Told(dict.fromkeys(texts, CONSTANT))
    found = await read_texts(told, *[(EXPECTED, text) for text in texts])
    assert ({one.canonical for one in found}, len(told.jobs)) == ({canonical(1)}, 1)
    found = await read_texts(told, *[(EXPECTED, text) for text in texts], interactive=True)
    assert ([one.canonical for one in found], len(told.jobs)) == ([canonical(at) for at in range(9)], 1)


async def test_what_is_read_here_is_read_one_text_at_a_time_and_is_the_tenants(monkeypatch: pytest.MonkeyPatch):
    charged: list[str] = []
    log: list[str] = []
    turns = Turns(lambda tenant, _seconds: charged.append(tenant), slice_s=0)

    def read_literal(text: str) -> bytes:
        log.append(text)
        return canonical(1)

    monkeypatch.setattr(expected, "read_literal", read_literal)
    texts = [(EXPECTED, f"{at}") for at in range(20)]
    reading = asyncio.ensure_future(read_texts(Told({}), *texts, interactive=True, turns=turns))
    while not reading.done():
        log.append("-")
        await asyncio.sleep(0)
    assert [one.canonical for one in reading.result()] == [canonical(1)] * 20
    assert all("-" in pair for pair in zip(log, log[1:]))
    assert (len(charged) >= 20, set(charged)) == (True, {"tenant"})


async def test_a_worker_that_dies_has_died_of_the_text_it_was_at():
    told = Told({"a": EXPRESSION, "b": CONSTANT, "c": CONSTANT})

    def die_of_b(job: Job) -> Result | None:
        return Result(report=frame(EXPRESSION), facts=CLEAN) if "b" in texts_of(job) else None

    told.before = die_of_b
    found = await read_texts(told, (EXPECTED, "a"), (EXPECTED, "b"), (EXPECTED, "c"))
    assert [one.kind for one in found] == [Kind.EXPRESSION, Kind.EXPRESSION, Kind.CONSTANT]
    assert [texts_of(job) for job in told.jobs] == [["a", "b", "c"], ["c"]]


async def test_the_readings_of_several_workers_keep_their_order(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(expected, "_TEXTS_A_JOB", 1)
    told = Told({"a": EXPRESSION, "b": CONSTANT})
    found = await read_texts(told, (EXPECTED, "a"), (EXPECTED, "b"))
    assert ([one.kind for one in found], len(told.jobs)) == ([Kind.EXPRESSION, Kind.CONSTANT], 2)


async def test_texts_that_no_worker_could_read_are_unread():
    told = Told({"a": EXPRESSION})
    answers = [Result(report=frame(EXPRESSION), facts=CLEAN), Result(error="no zygote")]
    told.before = lambda _job: answers.pop(0)
    found = await read_texts(told, (EXPECTED, "a"), (EXPECTED, "b"), (EXPECTED, "c"))
    assert [(one.kind, one.text) for one in found[::2]] == [(Kind.EXPRESSION, ""), (Kind.UNREAD, "no zygote")]
    assert answers == []


async def test_a_large_script_has_limits_of_its_own():
    told = Told({"a": EXPRESSION})
    for kind in (SCRIPT, LARGE_SCRIPT):
        await read_texts(told, (kind, "a"))
    small, large = [job.limits for job in told.jobs]
    assert small.cpu_ms < large.cpu_ms
    assert small.memory_bytes < large.memory_bytes


def test_all_that_a_reading_holds_counts_as_its_size():
    def of_series(end: str) -> int:
        parts = split_series(parse_text(f"assert f(1) == 2\nassert f(2) == {end}", "exec"))
        assert parts is not None
        (series,) = readings(frame([messages.READ_SERIES, *parts]), 9)
        assert series.size > empty + len(parts[1])
        return series.size

    empty = Reading(Kind.CONSTANT).size
    assert [Reading(Kind.CONSTANT, b"1" * 5).size, Reading(Kind.CONSTANT, text="1" * 5).size] == [empty + 5] * 2
    assert Reading(Kind.EXPRESSION, code=b"1" * 5).size == empty + 5
    sizes = [
        Reading(Kind.CONSTANT, rows=Rows("f", (1,), b"o" * others, b"c" * calls)).size
        for others, calls in ((0, 0), (40_000, 0), (0, 40_000), (40_000, 9999))
    ]
    assert [each - sizes[0] for each in sizes] == [0, 40_000, 40_000, 49_999]
    few, many = [Reading(Kind.CONSTANT, rows=Rows("f", (1,) * count, b"", b"")).size for count in (1, 1001)]
    assert few > empty
    assert many >= few + 8 * 1000
    sizes = [of_series(end) for end in ("'two'", "'three'", "'two', 'why'")]
    assert [size - sizes[0] for size in sizes[1:]] == [len("three") - len("two"), len("why")]


@pytest.mark.parametrize(
    ("record", "reading"),
    [
        (read(messages.READ_EXPRESSION, b"code"), Reading(Kind.EXPRESSION, code=b"code")),
        (read(messages.READ_CONSTANT, b"i1;"), Reading(Kind.CONSTANT, b"i1;")),
        (read(messages.READ_CONSTANT), Reading(Kind.CONSTANT, None)),
        (read(messages.READ_ASSERTION, b"i1;", "f(1)"), Reading(Kind.ASSERTION, b"i1;", "f(1)")),
        (read(messages.READ_INVALID, b"why"), Reading(Kind.INVALID, None, "why")),
        (read(messages.READ_SERIES, b"x"), None),
        (read(b""), None),
        (read(b"z"), None),
        ([messages.READ_CONSTANT, b"i1;"], None),
        ([messages.READ_CONSTANT, b"i1;", b"", b""], None),
        ([messages.READ_CONSTANT, b"i1;", b"\xff"], None),
        ([messages.READ_INVALID, b"\xff", b"\xff"], Reading(Kind.INVALID, None, "�")),
    ],
)
def test_what_a_worker_says_of_a_text(record: list[bytes], reading: Reading | None):
    assert readings(frame(EXPRESSION) + frame(record) + frame(CONSTANT), 3) == (
        [Reading(Kind.EXPRESSION)] if reading is None else [Reading(Kind.EXPRESSION), reading, _ONE]
    )


_ONE = Reading(Kind.CONSTANT, canonical(1))
