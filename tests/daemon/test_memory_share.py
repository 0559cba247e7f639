"""Workers at their memory limits always fit into the machine: who asks for much waits for room, not overtaken."""

from __future__ import annotations

import contextlib
import hashlib
import threading
from pathlib import Path

import pytest
from cruxbox import CallCheck, Client, Limits, Outcome, ScriptCheck, Task
from cruxbox.errors import CruxboxError
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


SLEEPS = "import time\ndef f(): time.sleep(60)\n"


def test_pairs_that_sleep_at_the_largest_limit_stop_nobody_else(tmp_path: Path):
    names = ("asleep", "awake")
    tokens = tmp_path / "tokens.toml"
    digests = {name: hashlib.sha256(name.encode()).hexdigest() for name in names}
    tokens.write_text("".join(f'[tenants.{name}]\ntokens = ["sha256:{digests[name]}"]\n' for name in names))
    daemon = Served(tmp_path / "daemon", "--tokens", str(tokens), workers=2)
    try:
        with daemon.client(token="asleep") as sleeper, daemon.client(token="awake") as other:
            limits = Limits(memory_bytes=largest(other), wall_ms=60_000)
            tasks = [Task(SLEEPS + f"# {at}", [ScriptCheck("assert f()", "f")], limits=limits) for at in range(3)]

            def check(task: Task) -> None:
                with contextlib.suppress(CruxboxError):  # the daemon ends before it has an answer
                    sleeper.check([task])

            asleep = [threading.Thread(target=check, args=(task,), daemon=True) for task in tasks]
            for each in asleep:
                each.start()
            until(lambda: len(daemon.workers()) >= 2 and daemon.metric("cruxbox_queue_depth") > 0)
            task = Task(HOLDS, [CallCheck("f(10, 0)", "10")])
            assert [other.check([task])[0].outcome for _ in range(100)] == [Outcome.PASSED] * 100
            assert all(each.is_alive() for each in asleep)
    finally:
        daemon.stop()
