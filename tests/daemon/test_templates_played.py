"""The daemon's handle of a template, whose process a test plays: who is answered, and when it is replaced."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
from types import SimpleNamespace

import pytest
from cruxboxd.zygotes import launch, priority, strays
from cruxboxd.zygotes import template as templates
from cruxboxd.zygotes.launch import StartError
from cruxboxd.zygotes.setup import ZygoteSetup
from cruxboxd.zygotes.template import Template
from cruxcell.protocol import messages
from made_up_zygotes import settle

_SECOND = 10**9
READY = messages.ANSWER.pack(messages.READY, 0, 0)


class Played(Template):
    """Each process of the host's is a socket, at which the test says what it would."""

    def __init__(self, host: SimpleNamespace) -> None:
        super().__init__(ZygoteSetup("python", {}, []))
        self.processes = host.processes

    async def ask(self) -> asyncio.Future[int]:
        asking = asyncio.ensure_future(self.fork([], scratch=False))
        await settle()
        return asking

    async def say(self, data: bytes) -> None:
        self.processes[-1].socket.send(data)
        await settle()

    async def answer(self, pid: int, error: int = 0) -> None:
        await self.say(messages.ANSWER.pack(messages.FORKED, pid, error))

    async def say_ready(self) -> None:
        await self.say(READY)

    async def die(self) -> None:
        self.processes[-1].socket.close()
        await settle()

    async def warm(self) -> Played:
        asking = await self.ask()
        await self.answer(7)
        assert await asking == 7
        return self


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What is done to processes, and a clock."""
    made = SimpleNamespace(now=1_000 * _SECOND, ended=[], groups=[], forward=[], looked_at=[], stopped=set())
    made.processes, made.fails = [], False

    def execute(python: str, environment: dict[str, str], descriptor: int) -> SimpleNamespace:
        if made.fails:
            raise OSError(errno.ENOENT, "No such file or directory")
        theirs = socket.socket(fileno=os.dup(descriptor))
        assert theirs.recv(1 << 16)  # how it is set up
        made.processes.append(SimpleNamespace(pid=101 + len(made.processes), socket=theirs, wait=lambda: None))
        return made.processes[-1]

    monkeypatch.setattr(launch, "execute", execute)
    monkeypatch.setattr(launch, "cpu_ns", lambda pid: pid)
    monkeypatch.setattr(templates, "time", SimpleNamespace(monotonic_ns=lambda: made.now))
    monkeypatch.setattr(launch, "end", made.ended.append)
    monkeypatch.setattr(launch, "end_group", made.groups.append)
    monkeypatch.setattr(priority, "step_forward", made.forward.append)
    monkeypatch.setattr(strays, "is_stopped", lambda pid: made.looked_at.append(pid) or pid in made.stopped)
    return made


async def failed(asking: asyncio.Future[int]) -> str:
    with pytest.raises(StartError) as raised:
        await asking
    return str(raised.value)


# ---- answers -------------------------------------------------------------------------


async def test_answers_come_in_the_order_of_the_questions(host: SimpleNamespace):
    template = Played(host)
    asked = [await template.ask() for _ in range(3)]
    await template.answer(11)
    await template.answer(0, errno.EAGAIN)
    await template.answer(13)
    assert (await asked[0], await asked[2]) == (11, 13)
    assert "Resource temporarily unavailable" in await failed(asked[1])
    assert (host.forward, host.ended, len(template.processes)) == ([101], [], 1)  # its priority is raised once
    template.close()


async def test_who_asks_one_that_has_just_died_is_answered_by_the_next(host: SimpleNamespace):
    template = await Played(host).warm()
    template.processes[-1].socket.close()  # which nobody has noticed yet
    asking = await template.ask()
    await template.answer(12)
    assert (await asking, len(template.processes)) == (12, 2)
    template.close()


async def test_what_was_forked_for_who_has_given_up_is_ended(host: SimpleNamespace):
    template = Played(host)
    given_up, other = await template.ask(), await template.ask()
    given_up.cancel()
    await settle()
    await template.answer(11)
    await template.answer(12)
    assert (host.ended, await other) == ([11], 12)
    template.close()


async def test_who_gives_up_as_the_answer_comes_leaves_nothing(host: SimpleNamespace):
    template = await Played(host).warm()
    for error, ended in ((0, [11]), (errno.EAGAIN, [11])):
        asking = await template.ask()
        template.processes[0].socket.send(messages.ANSWER.pack(messages.FORKED, 0 if error else 11, error))
        template._on_answer()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert host.ended == ended
    template.close()


@pytest.mark.parametrize("is_asked", [True, False])
async def test_what_no_template_says_ends_it(host: SimpleNamespace, is_asked: bool):
    template = await Played(host).warm()
    asking = await template.ask() if is_asked else None
    await template.say(b"what" if is_asked else messages.ANSWER.pack(messages.FORKED, 11, 0))
    assert (host.groups, template.pid) == ([101], 102)
    if asking is not None:
        assert "ended before it was ready" in await failed(asking)
    template.close()


# ---- getting ready -------------------------------------------------------------------


async def test_who_has_one_get_ready_waits_until_it_is(host: SimpleNamespace):
    template = Played(host)
    assert not template.is_ready
    waiting = asyncio.ensure_future(template.get_ready())
    await settle()
    assert not template.is_ready
    for _ in range(2):  # once more than it should
        template.processes[0].socket.send(READY)
        template._on_answer()
    await waiting
    assert (template.is_ready, len(template.processes)) == (True, 1)
    template.close()


async def test_who_has_one_get_ready_hears_why_it_never_will(host: SimpleNamespace):
    template = Played(host)
    waiting = asyncio.ensure_future(template.get_ready())
    await settle()
    template.close()
    await settle()
    assert waiting.done()
    assert await failed(waiting) == "it is closed"
    assert not template.is_ready


async def test_one_that_has_forked_is_ready(host: SimpleNamespace):
    template = await Played(host).warm()
    assert template.is_ready
    template.close()


async def test_the_order_that_had_one_executed_pays_for_its_start(host: SimpleNamespace):
    template = Played(host)
    template._execute()
    assert template.take_cost_ns() == 0  # nobody's order
    template.close()
    await template.warm()
    assert [template.take_cost_ns() for _ in range(2)] == [102, 0]
    await template.die()
    assert (template.pid, template.take_cost_ns()) == (103, 0)  # in place of another
    template.close()


@pytest.mark.parametrize(("scratch", "order"), [(True, messages.WITH_SCRATCH), (False, messages.PLAIN)])
async def test_it_is_told_whether_workers_have_scratch_folders(host: SimpleNamespace, scratch: bool, order: bytes):
    template = Played(host)
    asking = asyncio.ensure_future(template.fork([], scratch=scratch))
    await settle()
    assert template.processes[0].socket.recv(8) == order
    asking.cancel()
    template.close()


# ---- when another takes its place ----------------------------------------------------


async def test_one_that_was_well_is_replaced_and_asked_again(host: SimpleNamespace):
    template = await Played(host).warm()
    asking = await template.ask()
    await template.die()
    assert (host.groups, template.pid) == ([101], 102)
    await template.answer(12)
    assert await asking == 12
    await template.die()  # while nobody asks
    assert template.pid == 103
    host.fails = True
    await template.die()
    assert template.pid == 0
    template.close()


async def test_one_that_never_was_well_is_one_failure(host: SimpleNamespace):
    template = Played(host)
    first, second = await template.ask(), await template.ask()
    await template.die()
    assert "ended before it was ready" in await failed(first)
    assert template.pid == 102  # for the second
    await template.answer(12)
    assert await second == 12
    template.close()


async def test_why_one_cannot_serve_all_hear_and_nobody_asks_again(host: SimpleNamespace):
    template = Played(host)
    asked = [await template.ask() for _ in range(2)]
    await template.say(bytes([messages.FAILED_TO_START]) + b"the reason")
    assert [await failed(one) for one in asked] == ["the reason"] * 2
    assert (len(template.processes), template.pid) == (1, 0)


async def test_one_that_dies_before_it_is_asked_for_is_nobodys_failure(host: SimpleNamespace):
    template = Played(host)
    template._execute()
    await template.die()
    assert (host.groups, template.pid) == ([101], 0)


async def test_one_that_was_ready_when_it_died_unasked_is_replaced(host: SimpleNamespace):
    template = Played(host)
    template._execute()
    for number in (102, 103):
        await template.say_ready()
        await template.die()
        assert template.pid == number
    await template.die()  # as it was to get ready: so might all do
    assert template.pid == 0
    asking = await template.ask()
    await template.say_ready()
    await template.die()  # of what it was asked, so might all
    assert "ended before it was ready" in await failed(asking)
    assert template.pid == 0


# ---- being watched -------------------------------------------------------------------


async def test_one_that_is_stopped_is_replaced(host: SimpleNamespace):
    template = Played(host)
    template.watch(host.now)
    assert host.looked_at == []
    await template.warm()
    template.watch(host.now)
    assert (host.looked_at, template.pid) == ([101], 101)
    host.stopped.add(101)
    template.watch(host.now)
    assert template.pid == 102
    template.close()


async def test_one_that_hangs_is_replaced_however_often_it_is_asked(host: SimpleNamespace):
    template = await Played(host).warm()
    host.now += 100 * _SECOND
    template.watch(host.now)  # nobody asks
    first = await template.ask()
    host.now += 3 * _SECOND
    second = await template.ask()
    template.watch(host.now)
    assert template.pid == 101
    host.now += 3 * _SECOND
    template.watch(host.now)
    assert template.pid == 102
    await settle()
    host.now += 100 * _SECOND
    template.watch(host.now)  # it takes its time to begin
    assert template.pid == 102
    await template.answer(11)
    await template.answer(12)
    assert [await first, await second] == [11, 12]
    template.close()


# ---- the end -------------------------------------------------------------------------


async def test_closed_it_hangs_up_and_answers_all_who_wait(host: SimpleNamespace):
    template = Played(host)
    template.close()
    given_up, waiting = await template.ask(), await template.ask()
    given_up.cancel()
    await settle()
    process = template.processes[0]
    for _ in range(2):
        template.close()
    assert await failed(waiting) == "it is closed"
    process.socket.setblocking(False)
    while process.socket.recv(8):
        pass
    assert (host.groups, template.pid) == ([101], 0)
