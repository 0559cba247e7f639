"""How a template and what it forks begin and end, and whose they are."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from cruxboxd.scheduling import fleet as fleets
from cruxboxd.settings.config import Config, check_config
from cruxboxd.shared.observer import Observer
from cruxboxd.zygotes import launch
from cruxboxd.zygotes.commands import Commands
from cruxboxd.zygotes.launch import StartError
from cruxboxd.zygotes.runtimes import ZygoteSetups, find_runtimes
from cruxboxd.zygotes.setup import ZygoteKey
from cruxboxd.zygotes.template import Template
from cruxcell.protocol import messages
from support.daemons import Served
from support.tasks import sums
from support.waiting import still_there, until, until_true
from templates_by_hand import Lent, a_template, children, hook, works  # noqa: F401 - fixtures among them
from zygotes_by_hand import KEY, SETUPS, Kept, job

pytestmark = pytest.mark.kernel


async def test_a_number_that_is_nobodys_is_not_signalled(template: Template, monkeypatch):
    """Somebody took the exit status of the template: then its number may be a stranger's."""
    kept, signalled = Kept(), []
    await kept.zygote.start(template)
    os.kill(template.pid, signal.SIGKILL)
    os.waitpid(template.pid, 0)
    monkeypatch.setattr(os, "killpg", lambda *which: signalled.append(which))
    template.close()
    assert signalled == []
    monkeypatch.undo()
    kept.zygote.kill("")


async def test_one_that_says_why_it_cannot_serve_is_not_asked_again(tmp_path: Path):
    (tmp_path / "strange.py").write_text("raise ValueError('no')")
    fields = list(SETUPS(KEY).fields)
    fields[4], fields[6] = fields[4] + b"\0" + os.fsencode(tmp_path), b"strange"
    template, kept = Template(replace(SETUPS(KEY), fields=fields)), [Kept(), Kept()]
    came = await asyncio.gather(*[one.zygote.start(template) for one in kept], return_exceptions=True)
    assert [(type(one), str(one)) for one in came] == [(StartError, "ValueError: no")] * 2
    for one in kept:
        one.zygote.kill("")
    template.close()


async def test_another_interpreter_than_the_one_that_was_found_does_not_serve(tmp_path: Path):
    """Verdicts would be said to be of that, and no seal stand between checks where its helper does not fit."""
    was, now = "3.0.0", sys.version.split()[0]
    setup, kept = SETUPS(KEY), Kept()
    assert setup.fields[-1] == now.encode()
    template = Template(replace(setup, fields=[*setup.fields[:-1], was.encode()]))
    with pytest.raises(StartError, match=f"it is Python {now} now, and was {was} when the daemon started"):
        await kept.zygote.start(template)
    kept.zygote.kill("")
    template.close()


async def test_what_one_said_last_is_heard_though_it_left_orders_unread(template: Template, monkeypatch):
    """Then the kernel says first that the connection was reset."""
    ends = []

    def execute() -> None:
        template._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        template._channel.setblocking(False)
        ends.append(theirs)

    monkeypatch.setattr(template, "_execute", execute)
    with ExitStack() as stack:
        asking = asyncio.ensure_future(template.fork(Lent(stack).numbers, scratch=False))
        await until_true(lambda: bool(template._asked))
        ends[0].send(bytes([messages.FAILED_TO_START]) + b"the reason")
        ends[0].close()
        template._on_answer()
        with pytest.raises(StartError, match="the reason"):
            await asking


async def test_one_with_a_thread_does_not_serve(tmp_path: Path):
    """A fork without libc takes nobody's locks, and none of another thread's would ever be given back."""
    (tmp_path / "strange.py").write_text("import _thread, time\n_thread.start_new_thread(time.sleep, (100,))")
    fields = list(SETUPS(KEY).fields)
    fields[4], fields[6] = fields[4] + b"\0" + os.fsencode(tmp_path), b"strange"
    template, kept = Template(replace(SETUPS(KEY), fields=fields)), Kept()
    with pytest.raises(StartError, match="strange starts threads"):
        await kept.zygote.start(template)
    kept.zygote.kill("")
    template.close()


@pytest.mark.parametrize("turns", [0, 1, 2, 5, 200])
async def test_a_start_that_is_given_up_leaves_nothing(template: Template, turns: int):
    """Whenever that is: the fixture looks for processes, and this for descriptors."""
    others, kept = children(), Kept()
    await kept.zygote.start(template)
    before = set(os.listdir("/proc/self/fd"))
    given_up = Kept()
    starting = asyncio.ensure_future(given_up.zygote.start(template))
    for _ in range(turns):
        await asyncio.sleep(0)
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    given_up.zygote.kill("")
    await until_true(lambda: not template._asked)
    assert set(os.listdir("/proc/self/fd")) <= before
    kept.zygote.kill("")
    assert children() - others == {template.pid}


# As gVisor does it: the flag that makes a zygote the daemon's child is taken and ignored.
IGNORING = """
import os
from cruxcell import native
load = native.load
def ignoring(*arguments):
    helper = load(*arguments)
    helper.fork_beside = os.fork
    return helper
native.load = ignoring
main()"""


async def test_where_the_flag_is_ignored_a_zygote_is_its_template_s_and_ends_with_it(monkeypatch):
    monkeypatch.setattr(launch, "_BOOT", launch._BOOT.replace("\nmain()", IGNORING))
    template, kept = Template(SETUPS(KEY)), [Kept(), Kept(), Kept()]
    await asyncio.gather(*[one.zygote.start(template) for one in kept[:2]])
    [first, second] = [psutil.Process(one.zygote.pid) for one in kept[:2]]
    assert {first.ppid(), second.ppid()} == {template.pid}
    for one in kept[:2]:
        assert await works(one)
    kept[0].zygote.kill("")
    await until_true(lambda: not first.is_running() or first.status() == psutil.STATUS_ZOMBIE)
    await kept[2].zygote.start(template)
    assert not first.is_running()
    third = psutil.Process(kept[2].zygote.pid)
    template.close()
    await until_true(
        lambda: all(not one.is_running() or one.status() == psutil.STATUS_ZOMBIE for one in (second, third))
    )
    for one in kept[1:]:
        one.zygote.kill("")


async def test_one_that_nobody_knows_of_ends_with_it(template: Template):
    """A zygote waits until its number is known, in the template's group; it is not confined before."""
    with ExitStack() as stack:
        pid = await template.fork(Lent(stack).numbers, scratch=False)
        assert os.getpgid(pid) == template.pid
        template.close()
        assert pid not in children()


async def test_one_whose_daemon_hangs_up_ends(template: Template):
    with ExitStack() as stack:
        pid = await template.fork(Lent(stack).numbers, scratch=False)
    await until_true(lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    launch.end(pid)


async def test_a_fork_that_fails_is_said(template: Template, monkeypatch):
    kept = Kept()
    await kept.zygote.start(template)
    template._asked.append(asyncio.get_running_loop().create_future())
    monkeypatch.setattr(template, "_channel", Said(messages.ANSWER.pack(messages.FORKED, 0, 11)))
    asked = template._asked[0]
    template._on_answer()
    monkeypatch.undo()
    with pytest.raises(StartError, match="Resource temporarily unavailable"):
        await asked
    kept.zygote.kill("")


class Said:
    """A channel on which one datagram has come."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def recv(self, _size: int) -> bytes:
        return self._data


async def test_it_holds_no_lane_and_cannot_be_looked_into(template: Template):
    kept = Kept()
    await kept.zygote.start(template)
    kept.zygote.kill("")
    open_files = Path(f"/proc/{template.pid}/fd")
    if os.geteuid() != 0:
        with pytest.raises(PermissionError):
            os.listdir(open_files)
        return
    links = [str(path.readlink()) for path in open_files.iterdir()]
    assert len([link for link in links if link.startswith("socket:")]) == 1
    assert [link for link in links if link != "/dev/null" and not link.startswith("socket:")] == []


@pytest.mark.parametrize("name", [(), ("threads",), ("scratch",)])
async def test_a_zygote_has_no_module_that_its_seal_does_not_know(name: tuple[str, ...], monkeypatch):
    """The list is made before the fork. Nothing that confines a zygote imports anything."""
    looking = (
        "from cruxcell import template\nfrom cruxcell.protocol import frames\nimport sys\n"
        "serve, confined = template.serve, template._confined\n"
        "def look(kind, channel):\n    kind.before = set(sys.modules)\n    serve(kind, channel)\n"
        "def both(kind, way, control):\n    server, ready = confined(kind, way, control)\n"
        "    new = ' '.join(sorted(set(sys.modules) - kind.before)).encode()\n"
        "    return server, ready + frames.pack([b'new', b'1', new])\n"
        "template.serve, template._confined = look, both\n"
    )
    hook(monkeypatch, looking)
    key = replace(KEY, preloaded=bool(name), **dict.fromkeys(name, True))
    template, kept = Template(SETUPS(key.template)), Kept(key)
    try:
        started = await kept.zygote.start(template)
        assert [detail for layer, _, detail in started.layers if layer == "new"] == [""]
    except StartError as error:
        if "step scratch" not in str(error):
            raise
        pytest.skip(f"no scratch folder here: {error}")
    finally:
        kept.zygote.kill("")
        template.close()


async def test_zygotes_with_scratch_folders_and_without_have_one_template(monkeypatch):
    """Only what confines them differs: what a program can do with files in each is asked in test_scratch.py."""
    config = check_config(Config(workers=1))
    fleet = fleets.Fleet(
        config, ZygoteSetups(config, find_runtimes(config, Commands())), Observer(),
        on_change=lambda: None, requeue=lambda _: None, give_up=lambda *_: None, charge=lambda *_: None,
    )  # fmt: skip
    asked = list[bytes]()
    send = socket.send_fds
    monkeypatch.setattr(socket, "send_fds", lambda *args: asked.append(args[1][0]) or send(*args))
    plain = replace(KEY, preloaded=True)
    try:
        await fleet.start(plain)
        with suppress(StartError):  # a host may have none
            await fleet.start(replace(plain, scratch=True))
        assert asked == [messages.PLAIN, messages.WITH_SCRATCH]
        assert fleet._templates.keys() == {plain}
    finally:
        await fleet.close()


async def test_a_template_is_paid_for_by_who_asks_for_its_kind_and_goes_with_its_last_zygote():
    config = check_config(Config(workers=1, zygotes=1))
    setups = ZygoteSetups(config, find_runtimes(config, Commands()))
    charged = list[tuple[str, float]]()
    fleet = fleets.Fleet(
        config, setups, Observer(), on_change=lambda: None, requeue=lambda _: None, give_up=lambda *_: None,
        charge=lambda *cost: charged.append(cost),
    )  # fmt: skip
    keys = [ZygoteKey("default", False, str(seed)) for seed in range(fleet._most_zygotes + 1)]
    try:
        for key in keys[:-1]:
            await fleet.start(key)
        assert len(fleet._templates) == fleet._most_zygotes
        assert charged == []  # what the daemon starts by itself is nobody's
        asked = replace(job(""), key=keys[-1], tenant="guest")
        fleet.start_soon(asked, lambda _: 1, fleet.taken, is_ahead=False)
        await until_true(lambda: not fleet.starting)
        ((who, first),) = charged
        assert who == "guest"
        assert first > 0.02, "the template, too"
        assert fleet._templates.keys() == {zygote.key for zygote in fleet}
        assert len(fleet) == fleet._most_zygotes
        for zygote in fleet:  # those that die by themselves leave theirs, to be started again soon
            zygote.kill("it died")
        assert len(fleet._templates) == fleet._most_zygotes
        await fleet.start(keys[0])
        assert fleet._templates.keys() == {keys[0]}
        next(iter(fleet)).kill("it died")
        fleet.start_soon(replace(asked, key=keys[0]), lambda _: 1, fleet.taken, is_ahead=False)
        await until_true(lambda: not fleet.starting)
        assert charged[1][1] < first / 3, "its template was there"
    finally:
        await fleet.close()


def test_checks_go_on_while_templates_are_killed_and_stopped(tmp_path: Path):
    with Served(tmp_path) as daemon, daemon.client(retries=20) as client:
        for turn, number in enumerate([signal.SIGKILL, signal.SIGSTOP, signal.SIGKILL]):
            old = daemon.templates()
            for process in (*old, *daemon.zygotes()[:1]):
                process.send_signal(number if process in old else signal.SIGKILL)
            assert {verdict.outcome.name for verdict in client.check(sums(8, salt=turn))} == {"PASSED"}
            until(lambda old=old: set(daemon.templates()).isdisjoint(old) and daemon.templates())  # type: ignore[misc]


def test_no_process_outlives_a_daemon_that_is_killed_while_it_starts(tmp_path: Path):
    """Whenever that is: a template that loads, a zygote that waits, one that confines itself."""
    for turn in range(6):
        daemon = Served(tmp_path / str(turn))
        with daemon.client() as client:
            client.check(sums(1))
        for zygote in daemon.zygotes():
            zygote.kill()
        time.sleep(turn * 0.01)
        below = daemon.children()
        daemon.process.kill()
        daemon.process.wait()
        assert still_there(below, 20) == []
