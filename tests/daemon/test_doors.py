"""What a caller can do to the daemon before, and without, being let in: real daemons, real bytes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from cruxbox import Outcome
from cruxbox_proto.v1 import sandbox_pb2 as pb
from raw_rpcs import CHECK, MIB, STREAM, call, tenants
from support.daemons import Served
from support.tasks import sums
from support.waiting import until

LARGE = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
EMPTY_TASKS = b"\x0a\x00" * (15 * MIB // 2)
EMPTY_CHECKS = b"\x0a\x80\x80\xc0\x07" + b"\x1a\x00" * (15 * MIB // 2)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory) -> Iterator[Served]:
    """A daemon that knows alice and bob, and has judged something."""
    folder = tmp_path_factory.mktemp("doors")
    with Served(folder, "--tokens", tenants(folder, alice="", bob="queued_checks = 1")) as served:
        with served.client(token="alice") as client:
            client.check(sums(20))
        yield served


@pytest.mark.parametrize("method", [CHECK, STREAM])
@pytest.mark.parametrize("body", [EMPTY_TASKS, EMPTY_CHECKS], ids=["tasks", "checks"])
def test_a_caller_without_a_token_costs_nothing(daemon, method, body):
    """It is refused before its request is taken: no byte of it, let alone an object for each two of them."""
    before = daemon.memory_bytes()
    with ThreadPoolExecutor(4) as pool:
        ended = list(pool.map(lambda _: call(daemon, body, method=method)[0], range(8)))
    assert ended == ["UNAUTHENTICATED"] * 8
    assert daemon.memory_bytes() - before < 24 * MIB


@pytest.mark.parametrize(("body", "what"), [(EMPTY_TASKS, "100000 tasks"), (EMPTY_CHECKS, "100000 checks")])
def test_too_many_tasks_are_refused_before_they_are_made(daemon, body, what):
    before = daemon.memory_bytes()
    for _ in range(4):
        code, words = call(daemon, body, "alice")
        assert (code, what in words) == ("INVALID_ARGUMENT", True)
    assert daemon.memory_bytes() - before < 128 * MIB  # 7.5 million objects would be a gigabyte


def test_work_is_refused_before_it_is_parsed(daemon):
    """100,000 tasks with options of their own, from a tenant that may have one check here."""
    task = pb.Task(checks=[pb.Check(call=pb.CallCheck(call="f()", expected="1"))])
    tasks = []
    for number in range(100_000):
        task.id, task.options.limits.steps = str(number), number + 1
        tasks.append(pb.CheckRequest(tasks=[task]).SerializeToString())
    before = daemon.memory_bytes()
    code, words = call(daemon, b"".join(tasks), "bob")
    assert (code, "100000 checks" in words) == ("RESOURCE_EXHAUSTED", True)
    assert call(daemon, b"".join(tasks), "alice") == (
        "INVALID_ARGUMENT", "a request holds tasks with at most 1000 different options",
    )  # fmt: skip
    assert daemon.memory_bytes() - before < 64 * MIB


@pytest.mark.parametrize("token", ["", "alice"])
def test_refused_requests_are_not_kept(daemon, token):
    text = "x" * (3 * MIB)
    task = pb.Task(program=text, checks=[pb.Check(call=pb.CallCheck(call="f()", expected="1"))])
    body = pb.CheckRequest(tasks=[task], options=pb.Options(runtime="none")).SerializeToString()
    call(daemon, body, token)
    before = daemon.memory_bytes()
    for _ in range(60):
        assert call(daemon, body, token)[0] == ("INVALID_ARGUMENT" if token else "UNAUTHENTICATED")
    assert daemon.memory_bytes() - before < 32 * MIB


@pytest.mark.parametrize("method", [CHECK, STREAM])
def test_one_check_that_is_wrong_is_nobody_elses_failure(daemon, method):
    good = pb.Check(id="good", call=pb.CallCheck(call="f(1)", expected="2"))
    wrong = [
        pb.Check(id="blank", stdio=pb.StdioCheck(expected_stdout=" \n")),
        pb.Check(id="nul", call=pb.CallCheck(call="f(\0)", expected="2")),
        pb.Check(id="name", call=pb.CallCheck(call="f(1)", expected="2", entry_point="f(")),
        pb.Check(id="script", script=pb.ScriptCheck()),
    ]
    program = "def f(x):\n    return x + 1\n"
    request = pb.CheckRequest(
        tasks=[
            pb.Task(id="mixed", program=program, checks=[good, *wrong]),
            pb.Task(id="nul", program="\0", checks=[good]),
            pb.Task(id="fine", program=program, checks=[good]),
        ]
    )
    verdicts = []
    with grpc.insecure_channel(daemon.target) as channel:
        metadata = [("authorization", "Bearer alice")]
        body = request.SerializeToString()
        if method == CHECK:
            answers = [channel.unary_unary(method)(body, timeout=60, metadata=metadata)]
        else:
            answers = list(channel.stream_stream(method)(iter([body]), timeout=60, metadata=metadata))
        for answer in answers:
            verdicts += pb.CheckResponse.FromString(answer).verdicts
    seen = {(one.task_id, one.check_id): (pb.Outcome.Name(one.outcome)[8:], one.detail) for one in verdicts}
    assert len(seen) == 7
    assert {key for key, (outcome, _) in seen.items() if outcome == "PASSED"} == {("mixed", "good"), ("fine", "good")}
    for key in seen.keys() - {("mixed", "good"), ("fine", "good")}:
        outcome, detail = seen[key]
        assert outcome == "INVALID"
        assert detail.startswith(f"task {key[0]!r}, check {key[1]!r}: ")


def test_a_long_input_and_a_long_answer_fit_where_the_message_does(daemon):
    text = "0123456789abcde\n" * 300_000  # 4.8 MB
    program = "import sys\nsys.stdout.write(sys.stdin.read())\n"
    check = pb.Check(stdio=pb.StdioCheck(stdin=text, expected_stdout=text))
    request = pb.CheckRequest(tasks=[pb.Task(program=program, checks=[check])])
    request.options.limits.output_bytes = 8 * MIB
    with grpc.insecure_channel(daemon.target, options=LARGE) as channel:
        metadata = [("authorization", "Bearer alice")]
        answer = channel.unary_unary(CHECK)(request.SerializeToString(), timeout=60, metadata=metadata)
    (verdict,) = pb.CheckResponse.FromString(answer).verdicts
    assert pb.Outcome.Name(verdict.outcome) == "OUTCOME_PASSED", verdict.detail


def test_a_stream_nobody_reads_holds_what_is_promised(tmp_path):
    """8 MiB of verdicts, and what runs or waits already; the rest is not begun, and all are judged once it reads."""
    count = 400
    with Served(tmp_path) as daemon, grpc.insecure_channel(daemon.target, options=LARGE) as channel:
        with daemon.client() as client:
            client.check(sums(20))
        check = pb.Check(stdio=pb.StdioCheck(expected_stdout="1"))
        tasks = [pb.Task(id=str(at), program=f"print('x' * 900_000)  # {at}", checks=[check]) for at in range(count)]
        before = daemon.memory_bytes()
        answers = channel.stream_stream(STREAM)(iter([pb.CheckRequest(tasks=tasks).SerializeToString()]), timeout=100)
        until(lambda: daemon.metric("cruxbox_accepted_checks") == count)
        until(lambda: is_still(lambda: daemon.metric("cruxbox_verdicts_total", outcome="FAILED")))
        assert daemon.memory_bytes() - before < 128 * MIB  # of 360 that the verdicts have
        assert daemon.metric("cruxbox_queue_depth") > count / 2
        with daemon.client() as client:
            assert client.check(sums(3, salt=9))[0].outcome is Outcome.PASSED
        found = [one.task_id for answer in answers for one in pb.CheckResponse.FromString(answer).verdicts]
        assert sorted(found, key=int) == [str(at) for at in range(count)]


def is_still(figure: Callable[[], float]) -> bool:
    before = figure()
    time.sleep(0.5)
    return before > 0 and figure() == before


def test_every_method_of_the_contract_is_served(daemon):
    for method in pb.DESCRIPTOR.services_by_name["Sandbox"].methods:
        assert call(daemon, b"", "alice", f"/cruxbox.v1.Sandbox/{method.name}")[0] != "UNIMPLEMENTED"


def test_a_stream_that_waits_for_its_client_holds_nothing_of_what_it_has_judged(daemon):
    stop = threading.Event()
    task = pb.Task(program="#" * (12 * MIB), checks=[pb.Check(evaluate=pb.EvaluateCheck(call="1"))])

    def requests() -> Iterator[bytes]:
        yield pb.CheckRequest(tasks=[task]).SerializeToString()
        stop.wait(60)

    options = [("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(daemon.target, options=options) as channel:
        calls = []
        for number in range(16):
            call = channel.stream_stream(STREAM)(requests(), metadata=[("authorization", "Bearer alice")], timeout=60)
            calls.append(call)
            next(call)
            if number == 3:
                before = daemon.memory_bytes()
        assert daemon.memory_bytes() - before < 72 * MIB  # 12 streams, a request each
        stop.set()
        for call in calls:
            call.cancel()


def test_refused_requests_of_streams_are_not_kept(daemon):
    """Nor in cycles that are too old for a collection to look at them."""
    task = pb.Task(program="#" * (12 * MIB), checks=[pb.Check(evaluate=pb.EvaluateCheck(call="1"))] * 2)
    body = pb.CheckRequest(tasks=[task]).SerializeToString()  # two checks where bob may have one
    assert call(daemon, body, "bob", STREAM)[0] == "RESOURCE_EXHAUSTED"
    before = daemon.memory_bytes()
    with ThreadPoolExecutor(8) as pool:
        ended = list(pool.map(lambda _: call(daemon, body, "bob", STREAM)[0], range(40)))
    assert set(ended) == {"RESOURCE_EXHAUSTED"}
    assert daemon.memory_bytes() - before < 120 * MIB


def test_streams_that_wait_hold_no_more_than_is_promised(tmp_path):
    """Each stream reads a request ahead. All but one or two end here, and the room of the queue is the others'."""
    stop = threading.Event()

    def requests(text: str) -> Iterator[bytes]:
        yield pb.CheckRequest(tasks=[hanging]).SerializeToString()
        large = pb.Task(program=hanging.program + text, checks=[evaluate], options=hanging.options)
        yield pb.CheckRequest(tasks=[large]).SerializeToString()
        stop.wait(150)

    evaluate = pb.Check(evaluate=pb.EvaluateCheck(call="f()"))
    hanging = pb.Task(program="def f():\n    while True: pass", checks=[evaluate])
    # All of it hangs: else what is let in has its verdict, if late, and more is let in.
    limits = hanging.options.limits
    limits.cpu_ms, limits.wall_ms, limits.steps = 60_000, 120_000, 10**12
    options = [("grpc.max_send_message_length", -1)]
    served = Served(tmp_path, "--queue-mib=32", "--tokens", tenants(tmp_path, alice="", bob=""))
    with served, served.client(token="bob") as client, grpc.insecure_channel(served.target, options=options) as channel:
        client.check(sums(20))
        before = served.memory_bytes()
        opened = channel.stream_stream(STREAM)
        calls = [
            opened(requests("#" * (12 * MIB)), metadata=[("authorization", "Bearer alice")], timeout=150)
            for _ in range(40)
        ]
        until(lambda: sum(call.done() for call in calls) >= 36, seconds=140)
        assert {call.code() for call in calls if call.done()} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert served.memory_bytes() - before < 160 * MIB  # 40 times 12 and more
        client.check(sums(20))
        stop.set()
        for call in calls:
            call.cancel()
