"""Workers at their memory limits always fit into the machine: who asks for much waits for room, not overtaken."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from cruxbox import CallCheck, Client, Limits, Outcome, Task
from cruxboxd.settings.config import Config, check_config
from support.daemons import Served
from support.waiting import until

pytestmark = pytest.mark.kernel

MIB = 1 << 20
HOLDS = "import time\ndef f(n, s):\n    kept = bytearray(n)\n    time.sleep(s)\n    return len(kept)\n"


@pytest.fixture
def served(tmp_path: Path):
    half = check_config(Config(workers=2)).worker_memory_bytes // 2 // MIB  # of what all workers may take together
    daemon = Served(tmp_path, "--maximum-memory-mib", str(half), workers=2)
    yield daemon
    daemon.stop()


def largest(client: Client) -> int:
    return client.info().maximum_limits.memory_bytes


def test_two_at_half_of_all_memory_run_after_each_other_beside_small_ones(served: Served):
    with served.client() as client:
        most = largest(client)
        large = [
            Task(HOLDS + f"# {at}", [CallCheck("f(10, 0.5)", "10")], limits=Limits(memory_bytes=most, wall_ms=20_000))
            for at in range(4)
        ]
        small = [Task(HOLDS + f"# s{at}", [CallCheck(f"f({at}, 0)", str(at))]) for at in range(40)]
        verdicts = client.check([*large, *small])
    assert [verdict.outcome for verdict in verdicts] == [Outcome.PASSED] * len(verdicts)


def test_the_reserved_memory_never_exceeds_what_there_is(served: Served):
    """Seen in the figures while large checks run: as many workers as fit, and no more."""
    with served.client() as client:
        most = largest(client)
        tasks = [
            Task(HOLDS + f"# {at}", [CallCheck("f(10, 1)", "10")], limits=Limits(memory_bytes=most, wall_ms=30_000))
            for at in range(6)
        ]
        done = threading.Event()
        seen = []

        def watch() -> None:
            while not done.wait(0.05):
                seen.append(len(served.workers()))

        watching = threading.Thread(target=watch)
        watching.start()
        try:
            verdicts = client.check(tasks)
            while not any(seen):  # a busy host looks seldom
                verdicts += client.check(tasks)
        finally:
            done.set()
            watching.join()
    assert {verdict.outcome for verdict in verdicts} == {Outcome.PASSED}
    assert max(seen) <= 2  # half of the memory each
    until(lambda: not served.workers())
