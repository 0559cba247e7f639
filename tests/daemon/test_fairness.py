"""Whose job is next, with a real daemon: tenants, quotas, priorities, cancellation."""

from __future__ import annotations

import contextlib
import threading

import grpc
import pytest
from cruxbox import CallCheck, Limits, Outcome, Priority, Task
from cruxbox.errors import CruxboxError
from cruxbox.retry import RETRY_INFO_KEY, parse_retry_info
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxbox_proto.v1 import sandbox_pb2_grpc as rpc
from cruxboxd.tenancy.identity import make_token
from support.daemons import Served
from support.tasks import HARMLESS, NAP, spins, sums
from support.waiting import until


class Lab:
    """A daemon with three tenants; `terms` are lines of the tokens file."""

    def __init__(self, folder, *arguments: str, **terms: str) -> None:
        self.tokens = {}
        lines = []
        for name in ("hog", "guest", "third"):
            self.tokens[name], line = make_token()
            lines += [f"[tenants.{name}]", f'tokens = ["{line}"]', terms.get(name, "")]
        path = folder / "tokens"
        path.write_text("\n".join(lines))
        self.daemon = Served(folder, "--tokens", str(path), *arguments)

    def client(self, name: str, **options):
        return self.daemon.client(token=self.tokens[name], **options)

    def metadata(self, name: str) -> list[tuple[str, str]]:
        return [("authorization", f"Bearer {self.tokens[name]}")]


@pytest.fixture
def lab(tmp_path):
    made = []

    def make(*arguments: str, **terms: str) -> Lab:
        made.append(Lab(tmp_path, *arguments, **terms))
        return made[-1]

    yield make
    for each in made:
        each.daemon.kill()


class Hog:
    """A tenant that sends checks that hang, for ever, until it is stopped."""

    def __init__(self, lab: Lab, name: str = "hog") -> None:
        self.verdicts = []
        self._client = lab.client(name, window=512)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        until(lambda: lab.daemon.metric("cruxbox_queue_depth") > 100)

    def _run(self) -> None:
        with contextlib.suppress(CruxboxError):  # the connection is closed under it in the end
            for verdict in self._client.stream(spins(100_000, cpu_ms=2_000), ordered=False):
                self.verdicts.append(verdict)

    def stop(self) -> None:
        self._client.close()
        self._thread.join(60)
        assert not self._thread.is_alive()


def test_hanging_checks_of_one_tenant_do_not_hold_up_another(lab):
    """The guest's work is done while the hog has not got a fraction of its own through."""
    place = lab()
    hog = Hog(place)
    try:
        with place.client("guest") as guest:
            before = len(hog.verdicts)
            outcomes = [guest.check(sums(1, salt=1000 * turn))[0].outcome for turn in range(100)]
            outcomes += [verdict.outcome for verdict in guest.check(sums(300, salt=7))]
        assert set(outcomes) == {Outcome.PASSED}
        assert len(hog.verdicts) - before < 100
        assert place.daemon.metric("cruxbox_queue_depth") > 100
        until(lambda: bool(hog.verdicts), 90)
    finally:
        hog.stop()
    assert {verdict.outcome for verdict in hog.verdicts} == {Outcome.TIMED_OUT}


def test_a_quota_of_concurrent_checks_is_kept(lab):
    place = lab("--default-wall-ms", "8000", hog="concurrent_checks = 1")
    naps = [Task(NAP + f"# {number}", [CallCheck("f(0.2)", "0.2")]) for number in range(6)]
    seen = []
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            seen.append(len(place.daemon.workers()))

    with place.client("hog") as client:
        client.check(naps[:1])
        watcher = threading.Thread(target=watch)
        watcher.start()
        verdicts = client.check(naps[1:])
        while not any(seen):  # a busy host looks seldom
            verdicts += client.check(naps[1:])
        done.set()
        watcher.join()
    assert {verdict.outcome for verdict in verdicts} == {Outcome.PASSED}
    assert max(seen) == 1


def test_too_much_is_refused_at_once_with_a_wait(lab):
    place = lab("--default-wall-ms", "8000", hog="queued_checks = 3")
    with grpc.insecure_channel(place.daemon.target) as channel:
        stub, metadata = rpc.SandboxStub(channel), place.metadata("hog")
        first = stub.Check.future(naps_request(3), metadata=metadata)
        until(lambda: place.daemon.metric("cruxbox_accepted_checks") == 3)
        with pytest.raises(grpc.RpcError) as caught:
            stub.Check(naps_request(1), metadata=[*metadata, ("x-request-id", "mine-1")])
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "quota is 3" in caught.value.details()
        trailing = dict(caught.value.trailing_metadata())
        assert parse_retry_info(trailing[RETRY_INFO_KEY]) > 0
        assert trailing["x-request-id"] == "mine-1"
        assert not first.done()
        assert stub.Check(naps_request(1, seconds=0), metadata=place.metadata("guest")).verdicts[0].outcome == 1
        assert [verdict.outcome for verdict in first.result().verdicts] == [pb.OUTCOME_PASSED] * 3
    assert place.daemon.metric("cruxbox_refused_total", tenant="hog", reason="quota") == 1
    until(lambda: '"request_id": "mine-1"' in place.daemon.log)
    assert place.daemon.metric("cruxbox_accepted_checks") == 0


def naps_request(count: int, seconds: float = 1.0) -> pb.CheckRequest:
    checks = [
        pb.Check(id=str(number), call=pb.CallCheck(call=f"f({seconds})", expected=str(seconds)))
        for number in range(count)
    ]
    return pb.CheckRequest(tasks=[pb.Task(id="n", program=NAP, checks=checks)])


def test_a_client_within_its_quota_finishes_however_small_it_is(lab):
    place = lab(guest="queued_checks = 10")
    with place.client("guest", retries=20) as client:
        assert {verdict.outcome for verdict in client.check(sums(60))} == {Outcome.PASSED}


def test_interactive_work_goes_before_bulk_work_of_the_same_tenant(lab):
    place = lab()
    bulk = Hog(place, "guest")
    try:
        with place.client("guest") as client:
            tasks = [
                Task(HARMLESS + f"#{n}", [CallCheck("f(1)", "2")], priority=Priority.INTERACTIVE) for n in range(20)
            ]
            before = len(bulk.verdicts)
            assert {verdict.outcome for verdict in client.check(tasks)} == {Outcome.PASSED}
            assert len(bulk.verdicts) - before < 60
    finally:
        bulk.stop()


def test_deadlines_and_cancellation_reach_the_worker(lab):
    place = lab("--maximum-cpu-ms", "60000")
    limits = Limits(cpu_ms=50_000, steps=10**12)
    request = naps_request(1)
    request.tasks[0].program = "def f(x):\n    while True:\n        pass\n"
    request.tasks[0].options.limits.cpu_ms, request.tasks[0].options.limits.steps = limits.cpu_ms, limits.steps
    with grpc.insecure_channel(place.daemon.target) as channel:
        stub, metadata = rpc.SandboxStub(channel), place.metadata("hog")
        with pytest.raises(grpc.RpcError) as caught:
            stub.Check(request, metadata=metadata, timeout=1.5)
        assert caught.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
        until(lambda: not place.daemon.workers(), 10)
        future = stub.Check.future(request, metadata=metadata)
        until(lambda: place.daemon.workers() != [])
        future.cancel()
        until(lambda: not place.daemon.workers(), 10)
    until(lambda: place.daemon.metric("cruxbox_accepted_checks") == 0)
