"""The process that zygotes are forked from: killed, stopped or closed, and what becomes of those that it forks."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import sys
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from cruxboxd.zygotes import launch
from cruxboxd.zygotes.launch import StartError
from cruxboxd.zygotes.template import Template
from cruxcell import boot
from support.waiting import until_true
from templates_by_hand import Lent, a_template, children, hook, works  # noqa: F401 - fixtures among them
from zygotes_by_hand import KEY, SETUPS, Kept, job

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("may_write", [True, False])
async def test_bytecode_of_the_harness_is_kept_and_no_other(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, may_write: bool
):
    """Else every start compiles all of it, where the interpreter is another than the daemon's."""
    harness, packages = tmp_path / "cruxcell", tmp_path / "packages"
    shutil.copytree(Path(boot.__file__).parent, harness, ignore=shutil.ignore_patterns("__pycache__"))
    packages.mkdir()
    (packages / "preloaded.py").write_text("seen = 1")
    monkeypatch.setattr(launch, "_ROOT", str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", not may_write)
    setup = SETUPS(KEY)
    fields = list(setup.fields)
    fields[4], fields[6] = fields[4] + b"\0" + os.fsencode(packages), b"preloaded"
    kept = Kept()
    with closing(Template(replace(setup, fields=fields))) as template:
        await kept.zygote.start(template)
        look = "import sys, preloaded\ndef f():\n    return sys.dont_write_bytecode, preloaded.seen"
        assert await kept.values(job(look, "f()")) == [["(True, 1)"]]
        kept.zygote.kill("")
    made = {path.name.partition(".")[0] for path in tmp_path.rglob("*.pyc")}
    assert made >= {"boot", "rehearsal", "hermetic", "remote"} if may_write else not made
    assert "preloaded" not in made


async def test_what_it_forks_is_a_child_of_the_daemon(template: Template):
    kept = [Kept() for _ in range(3)]
    await asyncio.gather(*[one.zygote.start(template) for one in kept])
    assert {one.zygote.pid for one in kept} | {template.pid} <= children()
    assert len({os.getsid(one.zygote.pid) for one in kept} | {os.getsid(template.pid)}) == 4
    assert psutil.Process(template.pid).children() == []
    for one in kept:
        assert await works(one)
        one.zygote.kill("")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_one_that_is_killed_or_stopped_is_replaced_and_its_zygotes_live_on(template: Template, number, caplog):
    old, new = Kept(), Kept()
    await old.zygote.start(template)
    first = template.pid
    os.kill(first, number)
    while template.pid in (0, first):
        template.watch(time.monotonic_ns())
        await asyncio.sleep(0.01)
    assert [record.message for record in caplog.records if record.levelname == "WARNING"] == ["template ended"]
    assert await works(old)
    await new.zygote.start(template)
    assert await works(new)
    assert template.take_cost_ns() == 0, "nobody's order had it executed"
    for kept in (old, new):
        kept.zygote.kill("")


async def test_who_asks_one_that_hangs_is_answered_by_the_next(template: Template):
    kept = [Kept(), Kept()]
    await kept[0].zygote.start(template)
    first = template.pid
    assert template.take_cost_ns() > 0 == template.take_cost_ns(), "one pays"
    os.kill(first, signal.SIGSTOP)
    asking = asyncio.ensure_future(kept[1].zygote.start(template))
    await until_true(lambda: bool(template._asked))
    template.watch(time.monotonic_ns())
    await asking
    assert template.pid != first
    assert await works(kept[1])
    for one in kept:
        one.zygote.kill("")


@pytest.mark.parametrize(("number", "why"), [
    (signal.SIGKILL, "ended before it was ready"), (signal.SIGSTOP, "was not ready within 0 s"),
])  # fmt: skip
async def test_who_asks_one_that_does_not_get_ready_hears_so(template: Template, number: int, why: str, monkeypatch):
    """It is killed, or never gets ready in time."""
    monkeypatch.setattr(launch, "TIMEOUT_S", launch.TIMEOUT_S if number == signal.SIGKILL else 0.3)
    kept = Kept()
    starting = asyncio.ensure_future(kept.zygote.start(template))
    await until_true(lambda: template.pid > 0)
    os.kill(template.pid, number)
    with pytest.raises(StartError, match=why):
        await starting
    assert template.pid == 0
    kept.zygote.kill("")


async def test_one_that_is_killed_before_it_is_ready_is_one_failure(template: Template):
    """Of several who ask it, so that it does not use up what the jobs that wait may fail."""
    kept = [Kept() for _ in range(3)]
    starting = [asyncio.ensure_future(one.zygote.start(template)) for one in kept]
    await until_true(lambda: template.pid > 0)
    os.kill(template.pid, signal.SIGKILL)
    came = await asyncio.gather(*starting, return_exceptions=True)
    assert [isinstance(one, StartError) for one in came] == [True, False, False]
    for one in kept[1:]:
        assert await works(one)
    for one in kept:
        one.zygote.kill("")


@pytest.mark.parametrize("is_warm", [True, False])
async def test_one_that_is_killed_while_what_it_forked_waits_is_noticed_at_once(
    template: Template, monkeypatch, is_warm
):
    """What waits for its number to be known holds nothing by which the template would seem to live."""
    hook(
        monkeypatch,
        "import os\nfrom cruxcell import template\nfork, left = template._fork, "
        f"[{is_warm:d}]\n"
        "def and_die(helper):\n    came = fork(helper)\n    left[0] -= 1\n"
        "    if came[0] and left[0] < 0:\n        os.kill(os.getpid(), 9)\n    return came\n"
        "template._fork = and_die\n",
    )
    kept = Kept(), Kept()
    if is_warm:
        await kept[0].zygote.start(template)
    starting = asyncio.ensure_future(kept[1].zygote.start(template))
    await until_true(lambda: bool(template._asked))
    asked = template._asked[0]
    await asyncio.wait_for(asyncio.wait({asked}), 4)
    assert asked.done()
    monkeypatch.undo()
    await asyncio.gather(starting, return_exceptions=True)
    for one in kept:
        one.zygote.kill("")


async def test_many_may_ask_at_once(template: Template, monkeypatch):
    """A host may have hundreds of slots, and one socket does not take as many orders."""
    monkeypatch.setattr(template, "_execute", lambda: None)
    template._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    template._channel.setblocking(False)
    with ExitStack() as stack:
        numbers = Lent(stack).numbers
        asking = [asyncio.ensure_future(template.fork(numbers, scratch=False)) for _ in range(400)]
        await asyncio.sleep(0.1)
        assert not any(one.done() for one in asking)
        for one in asking:
            one.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
        template._channel.close()
        template._channel = None
        theirs.close()
