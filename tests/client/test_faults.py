"""Daemons that die, stop or drain under a client: the same verdicts, or a clear error; never a False."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import grpc.aio
import pytest
from cruxbox import CallCheck, Client, Outcome, Task, Unavailable
from support.daemons import Daemon, Served
from support.waiting import until

COUNT = 250


def sums() -> list[Task]:
    return [
        Task(f"def f(x):\n    return x + {number}", [CallCheck("f(1)", str(number + 1))]) for number in range(COUNT)
    ]


def run(client: Client, disturb, at: int = 20, outcomes: list[Outcome] | None = None) -> list[Outcome]:
    """The outcomes, which `outcomes` holds also if the stream breaks; `disturb` comes after so many."""
    outcomes = [] if outcomes is None else outcomes
    for number, verdict in enumerate(client.stream(sums(), deadline=100)):
        outcomes.append(verdict.outcome)
        if number == at:
            disturb()
    return outcomes


def test_a_daemon_that_is_killed_is_a_clear_error(daemons):
    daemon = daemons()
    with Client(daemon.target, retries=1, window=32) as client:
        outcomes = []
        with pytest.raises(Unavailable, match=daemon.target):
            run(client, daemon.kill, outcomes=outcomes)
    assert len(outcomes) > 20
    assert set(outcomes) == {Outcome.PASSED}


@pytest.mark.parametrize("ask", [Client.info, lambda client: client.check(sums()[:1])], ids=["info", "check"])
def test_a_daemon_that_has_answered_is_waited_for_in_the_next_call_too(daemons, ask):
    daemon = daemons()
    events = []
    with Client(daemon.target, retries=1, on_event=events.append) as client:
        ask(client)
        daemon.kill()
        with pytest.raises(Unavailable, match=daemon.target):
            client.check(sums()[:1])
    assert [event.kind for event in events].count("retry") == 4


@pytest.mark.parametrize("end", ["kill", "terminate"])
def test_a_daemon_that_ends_during_the_first_check_is_waited_for(tmp_path, end):
    daemon = Served(tmp_path, "--drain-s", "0.5")
    slow = Task("import time\ndef f(x):\n    time.sleep(9)\n    return x", [CallCheck("f(1)", "1")])
    events = []
    with Client(daemon.target, retries=1, on_event=events.append) as client, ThreadPoolExecutor() as threads:
        asked = threads.submit(client.check, [slow])
        until(lambda: daemon.metric("cruxbox_busy_workers") == 1)
        getattr(daemon.process, end)()
        with pytest.raises(Unavailable, match=daemon.target):
            asked.result()
    assert [event.kind for event in events].count("retry") == 4


@pytest.mark.parametrize("ask", [lambda client: run(client, lambda: None), Client.info])
def test_a_daemon_that_starts_after_its_client_is_waited_for(tmp_path, ask):
    with Client(f"unix:{tmp_path}/s", retries=8, deadline=60) as client, ThreadPoolExecutor() as threads:
        asked = threads.submit(ask, client)
        time.sleep(1)
        daemon = Daemon(f"unix:{tmp_path}/s")
        try:
            assert asked.result()
        finally:
            daemon.kill()


async def _let_go(target: str) -> None:
    """A server that shuts down before its event loop has taken over what came meanwhile."""
    server = grpc.aio.server()
    server.add_insecure_port(target)
    await server.start()
    time.sleep(1)
    await server.stop(None)


def test_a_server_that_lets_go_of_a_call_loses_nothing(tmp_path):
    """gRPC ends the call with CANCELLED, which nobody has asked for."""
    target, events = f"unix:{tmp_path}/s", []
    with Client(target, retries=50, deadline=100, on_event=events.append) as client, ThreadPoolExecutor() as threads:
        asked = threads.submit(run, client, lambda: None)
        lost = "UNAVAILABLE: the call ended while it was sent"
        for _ in range(10):
            asyncio.run(_let_go(target))
            if asked.done() or any(event.detail == lost for event in events):
                break
        daemon = Daemon(target)
        try:
            assert asked.result() == [Outcome.PASSED] * COUNT
        finally:
            daemon.kill()
    assert lost in [event.detail for event in events]


def test_one_of_two_daemons_drains_and_nothing_is_lost(daemons):
    both = [daemons(), daemons()]
    target = "ipv4:" + ",".join(daemon.target for daemon in both)
    with Client(target, window=32) as client:
        outcomes = run(client, both[0].process.terminate)
    assert outcomes == [Outcome.PASSED] * COUNT


def test_work_reaches_every_daemon_behind_a_name(daemons):
    both = [daemons(), daemons()]
    with Client("ipv4:" + ",".join(daemon.target for daemon in both)) as client:
        instances: set[str] = set()
        until(lambda: instances.add(client.info().instance_id) or len(instances) == 2)  # type: ignore[func-returns-value]


def test_a_small_queue_is_waited_for(daemons):
    """RESOURCE_EXHAUSTED, with the wait the server asks for, until everything has gone through."""
    daemon = daemons("--queue-checks", "50")
    events = []
    with Client(daemon.target, on_event=events.append, window=2000) as client:
        assert run(client, lambda: None) == [Outcome.PASSED] * COUNT
    assert any("RESOURCE_EXHAUSTED" in event.detail for event in events)
