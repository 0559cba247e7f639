"""A script is read once for each tenant and runtime, within bounds, whoever asks for it at the same time and leaves."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable

import pytest
from cruxbox import Client
from cruxbox.model import Outcome, ScriptCheck, Task
from cruxboxd.judging import known_scripts
from cruxboxd.judging.expected import Kind, Reading
from cruxboxd.judging.known_scripts import KnownScripts
from cruxboxd.scheduling.holding import Holding, current_holding
from cruxboxd.settings.config import MIB
from cruxboxd.zygotes.jobs import Job, Outlet, Result, current_outlet
from cruxcell.protocol import messages
from cruxcell.protocol.payloads import LARGE_SCRIPT, SCRIPT
from told_workers import Told, read

BOUND = 20_000  # bytes


class Everything(dict[str, list[bytes]]):
    """Of every script a worker says that it must be run, and its code: its text, and more."""

    def __missing__(self, text: str) -> list[bytes]:
        return read(messages.READ_EXPRESSION, text.encode() + b"?" * 1000)


def known(told: Told, most: int = BOUND, most_a_tenant: int = BOUND // 2) -> KnownScripts:
    told.texts = Everything()
    return KnownScripts(told, "0", most, most_a_tenant)  # type: ignore[arg-type]


async def read_one(
    scripts: KnownScripts, text: str, tenant: str = "a", kind: bytes = SCRIPT, runtime: str = "default"
) -> Reading:
    return (await scripts.read([(kind, text)], runtime, tenant, False))[0]


def texts_of(jobs: Iterable[Job]) -> list[list[str]]:
    return [[text.decode() for text in job.fields[1::2]] for job in jobs]


async def test_a_script_is_read_once_for_each_tenant_and_runtime():
    told = Told({})
    scripts = known(told)
    first = await read_one(scripts, "x")
    assert (first.kind, first.code[:1]) == (Kind.EXPRESSION, b"x")
    assert await read_one(scripts, "x") is first
    assert texts_of(told.jobs) == [["x"]]
    for at, changed in enumerate([("x ", "a"), ("x", "b"), ("x", "a", LARGE_SCRIPT), ("x", "a", SCRIPT, "other")], 2):
        assert await read_one(scripts, *changed) is not first
        assert len(told.jobs) == at
    assert [(job.tenant, job.key.runtime) for job in told.jobs[2:]] == [
        ("b", "default"),
        ("a", "default"),
        ("a", "other"),
    ]
    found = await scripts.read([(SCRIPT, text) for text in ("y", "x", "y", "z")], "default", "a", False)
    assert [each.code[:1] for each in found] == [b"y", b"x", b"y", b"z"]
    assert texts_of(told.jobs[5:]) == [["y", "z"]]
    scripts = KnownScripts(told, "0")  # type: ignore[arg-type]  # with the daemon's bounds
    assert await read_one(scripts, "x") is await read_one(scripts, "x")


async def test_what_may_be_our_failure_is_not_kept():
    told = Told({})
    scripts = known(told)
    bad = [Result(error="no zygote"), None]
    told.before = lambda _job: bad.pop(0)
    assert (await read_one(scripts, "x")).kind is Kind.UNREAD
    assert (await read_one(scripts, "x")).kind is Kind.EXPRESSION
    told.before = lambda _job: None
    told.texts["no"] = read(messages.READ_INVALID, b"why")  # type: ignore[index]
    assert [(await read_one(scripts, "no")).kind for _ in range(2)] == [Kind.INVALID] * 2
    assert texts_of(told.jobs) == [["x"], ["x"], ["no"], ["no"]]
    assert [reading.kind for reading in scripts._kept._shelves["a"].values()] == [Kind.EXPRESSION]


async def test_what_is_kept_is_bounded_and_what_was_asked_for_last_stays():
    told = Told({})
    scripts = known(told)
    size = (await read_one(scripts, "0")).size
    assert size > 1000
    room = BOUND // 2 // size
    for at in range(1, room):
        await read_one(scripts, str(at))
    assert len(told.jobs) == room
    await read_one(scripts, "0")
    await read_one(scripts, "more")  # in the place of "1"
    assert len(told.jobs) == room + 1
    for text in ("0", "2", "more"):
        await read_one(scripts, text)
    assert len(told.jobs) == room + 1
    await read_one(scripts, "1")
    assert len(told.jobs) == room + 2
    told.texts["large"] = read(messages.READ_EXPRESSION, b"?" * BOUND)  # type: ignore[index]
    assert len((await read_one(scripts, "large")).code) == BOUND  # and nothing is kept but what came later
    assert (await read_one(scripts, "after")) is (await read_one(scripts, "after"))


def test_by_itself_it_has_the_bounds_that_operators_are_told():
    kept = KnownScripts(Told({}), "0")._kept  # type: ignore[arg-type]
    assert (kept._most_a_tenant, kept._most) == (32 * MIB, 64 * MIB)


async def test_nothing_stays_of_a_tenant_of_whom_nothing_is_kept():
    told = Told({})
    scripts = known(told)
    told.texts["large"] = read(messages.READ_EXPRESSION, b"?" * BOUND)  # type: ignore[index]
    await read_one(scripts, "large", "visitor")
    assert (scripts._kept._shelves, scripts._kept._bytes) == ({}, {})


def test_a_reading_is_as_large_as_it_is():
    """Texts beyond Latin take more bytes than they have characters, and what is small has its key."""
    small, wide = Reading(Kind.ASSERTION, b"i1;", "f(1)"), Reading(Kind.ASSERTION, b"i1;", "f('\U0001f600')" * 1000)
    assert small.size > 600
    assert wide.size > small.size + 4 * 6000


async def test_a_full_store_takes_from_the_tenant_who_has_most():
    told = Told({})
    size = (await read_one(known(told), "mine")).size
    scripts = known(told, 4 * size, 4 * size)
    mine = await read_one(scripts, "mine", "modest")
    for at in range(50):
        await read_one(scripts, f"{at:4}", "greedy")
    assert await read_one(scripts, "mine", "modest") is mine
    assert sum(scripts._kept._bytes.values()) == 4 * size
    assert scripts._kept._bytes == {
        tenant: sum(each.size for each in shelf.values()) for tenant, shelf in scripts._kept._shelves.items()
    }


async def test_who_asks_at_the_same_time_waits_for_one_worker_and_may_leave():
    told = Told({})
    scripts = known(told)
    first, second, third = [asyncio.create_task(read_one(scripts, "x")) for _ in range(3)]
    both = asyncio.create_task(scripts.read([(SCRIPT, "y"), (SCRIPT, "x")], "default", "a", False))
    urgent = asyncio.create_task(scripts.read([(SCRIPT, "x")], "default", "a", True))
    await asyncio.sleep(0)
    first.cancel()
    third.cancel()
    found = await second
    assert (await both)[1] is found
    assert (await urgent)[0] is not found  # what somebody waits for does not wait for bulk work
    assert (first.cancelled(), third.cancelled()) == (True, True)
    assert sorted(texts_of(told.jobs)) == [["x"], ["x"], ["y"]]
    assert not scripts._under_way


async def test_what_nobody_waits_for_any_more_ends():
    told, begun, ended = Told({}), asyncio.Event(), asyncio.Event()

    async def hang(_job: Job) -> Result:
        begun.set()
        try:
            await asyncio.sleep(100)
        finally:
            ended.set()
        raise AssertionError

    scripts = known(told)
    run, told.run = told.run, hang  # type: ignore[method-assign]
    waiting = [asyncio.create_task(read_one(scripts, "x")) for _ in range(2)]
    await begun.wait()
    waiting[0].cancel()
    await asyncio.wait(waiting, timeout=0.01)
    assert not ended.is_set()
    waiting[1].cancel()
    told.run = run  # type: ignore[method-assign]
    await asyncio.wait(waiting)
    found = await read_one(scripts, "x")  # begun anew, not waited for in vain
    assert (found.kind, len(told.jobs), ended.is_set()) == (Kind.EXPRESSION, 1, True)


async def test_what_nobody_waits_for_any_more_is_not_held_for_those_who_wait_for_a_part():
    """Who leaves is charged for nothing any more: so its texts go, where they are more than what others wait for."""
    told, hung = Told({}), list[Job]()

    async def hang(job: Job) -> Result:
        hung.append(job)
        try:
            await asyncio.sleep(100)
        finally:
            hung.remove(job)
        raise AssertionError

    scripts = known(told)
    run, told.run = told.run, hang  # type: ignore[method-assign]
    large = "#" * 100_000
    begins = asyncio.create_task(scripts.read([(SCRIPT, each) for each in ("x", large, "y")], "default", "a", False))
    await asyncio.sleep(0.01)
    others = [asyncio.create_task(read_one(scripts, text)) for text in ("x", "y")]
    await asyncio.sleep(0.01)
    assert texts_of(hung) == [["x", large, "y"]]
    begins.cancel()
    await asyncio.wait([begins, *others], timeout=0.01)
    assert texts_of(hung) == [["x", "y"]]
    assert len(scripts._under_way) == 2
    others[1].cancel()  # what is little is not begun anew for
    await asyncio.wait(others, timeout=0.01)
    assert texts_of(hung) == [["x", "y"]]
    again = asyncio.create_task(read_one(scripts, large))
    told.run = run  # type: ignore[method-assign]
    assert (await again).code[:1] == b"#"
    others[0].cancel()
    await asyncio.wait(others)
    assert not hung
    assert not scripts._under_way


async def test_what_is_read_in_vain_is_begun_for_nobody():
    """A reading that nobody waits for ends without a word, and what has been read is not read again."""
    told, wrong = Told({}), list[object]()
    scripts = known(told)
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: wrong.append(context))
    large = "#" * 100_000
    run, goes_on = told.run, asyncio.Event()

    async def hold(job: Job) -> Result:
        if job.fields[1] == b"later":
            await goes_on.wait()
        return await run(job)

    told.run = hold  # type: ignore[method-assign]
    both = asyncio.create_task(scripts.read([(SCRIPT, large), (SCRIPT, "x")], "default", "a", False))
    other = asyncio.create_task(scripts.read([(SCRIPT, "x"), (SCRIPT, "later")], "default", "a", False))
    await both
    await asyncio.sleep(0)
    goes_on.set()
    await other
    assert texts_of(told.jobs) == [[large, "x"], ["later"]]
    leaves = asyncio.create_task(read_one(scripts, "y"))
    await asyncio.sleep(0)
    (work,) = scripts._under_way.values()
    leaves.cancel()
    await asyncio.wait([leaves])
    await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()}, timeout=5)
    assert (work.found.cancelled(), wrong) == (True, [])


async def test_all_who_wait_hear_of_what_went_wrong():
    def fail(_job: Job) -> None:
        raise OSError("no room")

    told = Told({})
    told.before = fail
    scripts = known(told)
    waiting = [asyncio.create_task(read_one(scripts, "x")) for _ in range(2)]
    await asyncio.wait(waiting, timeout=5)
    assert [str(each.done() and each.exception()) for each in waiting] == ["no room"] * 2
    assert not scripts._under_way


async def test_who_waits_with_another_does_not_hang_on_what_that_one_takes():
    class Full(Outlet):
        is_full = True

    told, outlets = Told({}), list[object]()

    def note(_job: Job) -> None:
        outlets.append((current_outlet.get(), current_holding.get()))

    told.before = note
    scripts = known(told)
    full, holding = Full(), Holding(lambda _holding, _size: None, 1)
    current_outlet.set(full)
    current_holding.set(holding)
    await read_one(scripts, "x")
    assert (current_outlet.get(), current_holding.get()) == (full, holding)
    assert outlets == [(None, None)]


async def test_hashing_many_texts_lets_others_have_a_turn(monkeypatch: pytest.MonkeyPatch):
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    texts = [(SCRIPT, f"text {at}") for at in range(20)]
    await known_scripts._keys(texts, "default", "a")
    assert turns == 0
    long = [(SCRIPT, "long" * 5)]
    for at_once, these, least in ((7, texts, 9), (1, texts, 19), (2, long, 9)):  # two texts at once, and parts of one
        turns = 0
        monkeypatch.setattr(known_scripts, "_AT_ONCE", at_once)
        await known_scripts._keys(these, "default", "a")
        assert turns >= least
    counting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await counting


@pytest.mark.parametrize("at_once", [1, 4, 5, 100])
async def test_each_part_of_a_long_script_tells_it_from_others(monkeypatch: pytest.MonkeyPatch, at_once: int):
    monkeypatch.setattr(known_scripts, "_AT_ONCE", at_once)
    text = "0123456789ab"
    others = [text[:at] + "?" + text[at + 1 :] for at in range(len(text))]
    keys = await known_scripts._keys([(SCRIPT, each) for each in [text, text[:8], *others]], "default", "a")
    assert len(set(keys.values())) == len(text) + 2


# ---- with workers ----------------------------------------------------------------------------------------------------

LARGE = "DATA = [" + "(1, 'two'), " * 600 + "]\n"
CHECKS = """
KEPT = ("a", 1.5)
def check(candidate):
    for each in DATA[:2]:
        assert candidate(each) == list(each), candidate(KEPT)

check(candidate)
"""
RIGHT, WRONG = "def f(x):\n    return list(x)", "def f(x):\n    return x"
# What a program may try, so that the next sample is judged by other code: none of it is anywhere near that.
POISONS = (
    "import marshal, sys, builtins\n"
    "marshal.loads = builtins.compile = builtins.exec = lambda *_: (lambda: 0).__code__\n"
    "sys.modules['marshal'] = sys\nfor each in list(sys.modules.values()):\n"
    "    for name in ('loaded', 'told', 'compile_text'):\n        if hasattr(each, name):\n"
    "            setattr(each, name, lambda *_: compile('', '<check>', 'exec'))\n"
    "def f(x):\n    x = list(x)\n    x[0] = 7\n    return x"
)


@pytest.mark.kernel
@pytest.mark.parametrize("script", [CHECKS, LARGE + CHECKS], ids=["small", "large"])
def test_every_sample_is_judged_by_the_same_script(native: Client, script: str):
    """Whatever a program does, and whether its script was known."""
    script = script if "DATA =" in script else "DATA = [(1, 'two'), (2, 'one')]" + script
    samples = [RIGHT, POISONS, WRONG, "1 / 0", RIGHT, "def f(:", POISONS, RIGHT]
    wanted = ["passed", "failed", "failed", "raised", "passed", "invalid", "failed", "passed"]
    for _ in range(2):
        for batch in (samples, samples[::-1]):
            verdicts = native.check([Task(program, [ScriptCheck(script, "f")]) for program in batch])
            told = [verdict.outcome for verdict in verdicts]
            assert told == [Outcome[each.upper()] for each in (wanted if batch is samples else wanted[::-1])]
    (known, other) = native.check(
        [Task(WRONG, [ScriptCheck(text, "f")]) for text in (script, script.replace("list(", "tuple("))]
    )
    assert (known.exception.line, known.exception.message) == (
        script.count("\n", 0, script.index("assert")) + 1,
        "('a', 1.5)",
    )
    assert other.outcome is Outcome.PASSED
