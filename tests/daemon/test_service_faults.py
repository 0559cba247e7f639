"""Things that break under work. In each: every check ends in one verdict, and the verdicts are those of a quiet run."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import psutil
import pytest
from cruxbox import CallCheck, Client, Limits, Outcome, StdioCheck, Task, Unavailable, channel
from cruxbox.errors import CruxboxError
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxbox_proto.v1 import sandbox_pb2_grpc as rpc
from support.daemons import Served
from support.tasks import HARMLESS, NAP, sums
from support.waiting import free_port, until

LIMITS = Limits(wall_ms=1_500)
# Program, call, expected, and what becomes of it.
KINDS = [
    ("def f(x):\n    return x + 1\n", "f(1)", "2", Outcome.PASSED),
    ("def f(x):\n    return x + 2\n", "f(1)", "2", Outcome.FAILED),
    ("def f(x):\n    return x / 0\n", "f(1)", "2", Outcome.RAISED),
    ("def f(x):\n    while True: pass\n", "f(1)", "2", Outcome.STEP_LIMIT),
    (NAP, "f(0.3)", "0.3", Outcome.PASSED),
    ("import os\ndef f(x):\n    os._exit(0)\n", "f(1)", "2", Outcome.CRASHED),
]


def work(rounds: int = 20) -> tuple[list[Task], list[Outcome]]:
    """Tasks of all kinds, each different, and what becomes of them in a quiet run."""
    tasks, outcomes = [], []
    limits = Limits(wall_ms=1_500, steps=200_000)
    for number in range(rounds):
        for program, call, expected, outcome in KINDS:
            tasks.append(Task(f"{program}# {number}", [CallCheck(call, expected)], limits=limits))
            outcomes.append(outcome)
    return tasks, outcomes


@contextlib.contextmanager
def again_and_again(action: Callable[[], None], pause_s: float = 0.25) -> Iterator[list[int]]:
    """Do something beside the work until it is done; counts how often."""
    done, count = threading.Event(), [0]

    def repeat() -> None:
        while not done.wait(pause_s) and count[0] < 8:
            action()
            count[0] += 1

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield count
    finally:
        done.set()
        thread.join()


def kill(processes: list[psutil.Process], number: int = signal.SIGKILL) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(number)


@pytest.fixture
def daemon(tmp_path) -> Iterator[Served]:
    with Served(tmp_path) as served:
        yield served


def test_a_quiet_run(daemon):
    tasks, outcomes = work()
    with daemon.client() as client:
        assert [verdict.outcome for verdict in client.check(tasks)] == outcomes
    assert daemon.metric("cruxbox_zygote_restarts_total") == 0


def test_zygotes_are_killed(daemon):
    tasks, outcomes = work()
    with daemon.client(retries=20) as client:
        client.check(sums(1))
        with again_and_again(lambda: kill(daemon.zygotes()[:1]), 0.4) as count:
            assert [verdict.outcome for verdict in client.check(tasks)] == outcomes
    assert count[0]
    assert daemon.metric("cruxbox_zygote_restarts_total") > 0


def test_workers_are_killed(daemon):
    tasks, outcomes = work()
    with daemon.client(retries=20) as client, again_and_again(lambda: kill(daemon.workers()[:1])) as count:
        assert [verdict.outcome for verdict in client.check(tasks)] == outcomes
    assert count[0]


def test_a_zygote_is_stopped(daemon):
    """It still exists and answers nothing: noticed when it is silent for longer than a worker may keep it."""
    with daemon.client() as client:
        client.check(sums(1))
        kill([process for process in daemon.children() if process not in daemon.workers()], signal.SIGSTOP)
        verdicts = client.check(sums(8, salt=5, limits=LIMITS), deadline=100)
    assert [verdict.outcome for verdict in verdicts] == [Outcome.PASSED] * 8
    assert daemon.metric("cruxbox_sandbox_errors_total", reason="zygote_hung") > 0


def test_the_daemon_is_killed_and_comes_back(tmp_path):
    tasks, outcomes = work()
    port = free_port()
    servers = [Served(tmp_path / "1", port=port)]
    retried = []
    # A few at a time: on a crowded host all may have their verdicts before this thread has read ten of them.
    with Client(servers[0].target, retries=20, window=8, on_event=lambda event: retried.append(event.kind)) as client:
        seen = []
        for number, verdict in enumerate(client.stream(tasks)):
            seen.append(verdict.outcome)
            if number % 10 == 9 and "retry" not in retried:
                servers[-1].kill()
                servers.append(Served(tmp_path / str(len(servers) + 1), port=port))
    servers[-1].kill()
    assert seen == outcomes
    assert "retry" in retried


def test_one_of_three_daemons_is_killed(tmp_path):
    tasks, outcomes = work(40)
    with contextlib.ExitStack() as stack:
        three = [stack.enter_context(Served(tmp_path / str(number), workers=1)) for number in range(3)]
        with Client("ipv4:" + ",".join(each.target for each in three), retries=20, window=60) as client:
            seen = []
            for number, verdict in enumerate(client.stream(tasks, ordered=True)):
                seen.append(verdict.outcome)
                if number == 20:
                    three[0].kill()
        assert seen == outcomes
        # Streams go round those that were connected when they began: who is left did the rest, not each a share of it.
        assert any(each.metric("cruxbox_verdicts_total", outcome="PASSED") for each in three[1:])


def test_one_of_two_daemons_says_nothing_any_more(tmp_path, monkeypatch):
    """Its host is gone, or it is stopped: no connection breaks. The client waits a tenth of its time for words."""
    sooner = [(name, value // 10 if name.endswith("timeout_ms") else value) for name, value in channel._OPTIONS]
    monkeypatch.setattr(channel, "_OPTIONS", sooner)
    tasks, outcomes = work(20)
    with Served(tmp_path / "1", workers=1) as first, Served(tmp_path / "2", workers=1) as second:
        seen, stopped_at = [], 0.0
        with Client(f"ipv4:{first.target},{second.target}", retries=20, window=60) as client:
            for number, verdict in enumerate(client.stream(tasks)):
                seen.append(verdict.outcome)
                if number == 20:
                    stopped_at = time.monotonic()
                    first.process.send_signal(signal.SIGSTOP)
        took_s = time.monotonic() - stopped_at
        first.process.send_signal(signal.SIGCONT)
    assert seen == outcomes
    assert took_s < 50  # gRPC's own pings are answered within a minute, or the connection ends


def test_sigterm_under_load(tmp_path):
    """What was accepted gets its verdict within the drain time, or the caller hears UNAVAILABLE; nothing is wrong."""
    tasks, outcomes = work()
    with Served(tmp_path, "--drain-s", "20") as daemon, daemon.client(retries=0) as client:
        seen = []
        with contextlib.suppress(Unavailable):
            for number, verdict in enumerate(client.stream(tasks)):
                seen.append(verdict.outcome)
                if number == 5:
                    daemon.process.terminate()
        assert len(seen) > 5
        assert seen == outcomes[: len(seen)]
        assert daemon.process.wait(60) == 0
        with pytest.raises(Unavailable):
            client.check(sums(1))
    assert "Traceback" not in daemon.log


def test_sigterm_ends_what_is_too_long_as_unavailable(tmp_path):
    with Served(tmp_path, "--drain-s", "0.5") as daemon, grpc.insecure_channel(daemon.target) as channel:
        check = pb.Check(call=pb.CallCheck(call="f(9)", expected="9"))
        request = pb.CheckRequest(tasks=[pb.Task(id="a", program=NAP, checks=[check])])
        stub = rpc.SandboxStub(channel)
        single = stub.Check.future(request)
        stream = stub.CheckStream(iter([request]))
        idle = stub.CheckStream(silent())
        until(lambda: len(daemon.workers()) == 2)
        daemon.process.terminate()
        codes = [call.code() for call in (single, stream, idle)]
        assert codes == [grpc.StatusCode.UNAVAILABLE] * 3
        assert daemon.process.wait(30) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_that_comes_again_and_again_changes_nothing(tmp_path, number):
    """Until the process is gone: one that came as the drain had ended made a failure of it."""
    with Served(tmp_path) as daemon:
        while daemon.process.poll() is None:
            daemon.process.send_signal(number)
            time.sleep(0.005)
        assert daemon.process.returncode == 0
    assert "Traceback" not in daemon.log


def silent() -> Iterator[pb.CheckRequest]:
    """A client that opens a stream and says nothing."""
    threading.Event().wait(60)
    yield pb.CheckRequest()


def test_a_client_disappears(daemon):
    """Its connection is cut without a word: its workers end, and what it had accepted is given back."""
    script = textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(Path(__file__).parents[1])!r})
        from cruxbox import Client
        from support.tasks import spins
        Client({daemon.target!r}).check(spins(200, cpu_ms=50_000))
    """)
    client = subprocess.Popen([sys.executable, "-c", script])
    until(lambda: len(daemon.workers()) >= 2 and daemon.metric("cruxbox_accepted_checks") == 200)
    client.kill()
    client.wait()
    until(lambda: daemon.metric("cruxbox_accepted_checks") == 0 and not daemon.workers())
    assert daemon.metric("cruxbox_queue_depth") == 0
    with daemon.client() as other:
        assert other.check(sums(1))[0].outcome is Outcome.PASSED


def test_a_client_never_reads(daemon):
    """It asks for 2 GB of output and reads none: it is not read from any more, and memory stays bounded."""

    def requests() -> Iterator[pb.CheckRequest]:
        checks = [pb.Check(id=str(at), call=pb.CallCheck(call=f"f({at})", expected=str(at))) for at in range(10)]
        for number in range(3_000):
            program = f"def f(n):\n    print('x' * 60000)\n    return n\n# {number}"
            yield pb.CheckRequest(tasks=[pb.Task(id=str(number), program=program, checks=checks)])

    before = daemon.memory_bytes()
    with grpc.insecure_channel(daemon.target) as channel:
        stream = rpc.SandboxStub(channel).CheckStream(requests())
        last = [-1.0]

        def stalled() -> bool:
            seen, last[0] = last[0], daemon.metric("cruxbox_verdicts_total", outcome="PASSED")
            threading.Event().wait(1.0)
            return seen == last[0] > 0

        until(stalled, 60)
        assert last[0] < 10_000
        assert daemon.memory_bytes() - before < 400 << 20
        with daemon.client() as other:
            assert other.check(sums(1))[0].outcome is Outcome.PASSED
        stream.cancel()
        until(lambda: daemon.metric("cruxbox_accepted_checks") == 0)


def test_the_disk_is_full(tmp_path):
    """Nothing is written once the daemon serves: zygotes that run go on, and those that are killed are replaced."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,nr_inodes=16", "none", str(disk)], check=False)
    if mounted.returncode != 0:
        pytest.skip("may not mount a small file system here")
    try:
        environment = {**os.environ, "TMPDIR": str(disk)}
        with Served(tmp_path / "daemon", environment=environment) as daemon:
            fill(disk)
            with daemon.client(retries=2) as client:
                assert {verdict.outcome for verdict in client.check(sums(3))} == {Outcome.PASSED}
                before = {zygote.pid for zygote in daemon.zygotes()}
                kill(daemon.zygotes())
                assert {verdict.outcome for verdict in client.check(sums(3, salt=9))} == {Outcome.PASSED}
                until(lambda: before.isdisjoint(zygote.pid for zygote in daemon.zygotes()))
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk: Path) -> None:
    """Use up every inode."""
    with contextlib.suppress(OSError):
        for number in range(1000):
            (disk / f"fill{number}").touch()


def test_descriptors_run_out(daemon):
    """No new connection and no new zygote; output that cannot be received is never an empty output."""
    hello = [Task(f"print('hello')# {number}", [StdioCheck("", "hello")]) for number in range(40)]
    with daemon.client(retries=2) as client:
        assert {verdict.outcome for verdict in client.check(hello)} == {Outcome.PASSED}
        try:
            before = resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE)
            resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, (1, before[1]))
        except PermissionError:
            pytest.skip("may not change the limits of an undumpable process here")
        outcomes = [verdict.outcome for verdict in client.check(hello, deadline=60)]  # the connection is there already
        assert len(outcomes) == len(hello)
        assert set(outcomes) <= {Outcome.SANDBOX_ERROR, Outcome.PASSED}
        kill(daemon.zygotes())
        resource.prlimit(daemon.process.pid, resource.RLIMIT_NOFILE, before)
        until(lambda: passes(daemon))
    assert daemon.process.poll() is None


def passes(daemon: Served) -> bool:
    with contextlib.suppress(CruxboxError), daemon.client(retries=0) as client:
        return client.check([Task(HARMLESS, [CallCheck("f(1)", "2")])], deadline=10)[0].outcome is Outcome.PASSED
    return False
