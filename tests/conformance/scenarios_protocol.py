"""Scenarios of section J that speak gRPC: odd messages, odd limits, odd ids, too much of anything."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import grpc
from cruxbox.model import CallCheck, Limits, Task
from cruxbox_proto.v1 import sandbox_pb2 as pb
from support.waiting import comes_true

from conformance.case import LIMITS, Observation
from conformance.daemon import Daemon
from conformance.lab import BENIGN, MESSAGE_OPTIONS, Lab
from conformance.scenarios import fact
from conformance.wire import RPC_LETTER, Reply, reply_of, reply_to_error, request

CHECK = "/cruxbox.v1.Sandbox/Check"
I64_MAX = 2**63 - 1
TRIVIAL = "def f(x): return x\n"


def send(lab: Lab, message: bytes, compression: grpc.Compression | None = None) -> tuple[str, str]:
    """(letters, words) of one Check RPC whose message is these bytes, whatever they are."""
    method = lab.channel.unary_unary(CHECK, request_serializer=bytes, response_deserializer=pb.CheckResponse.FromString)
    try:
        response = method(message, timeout=60, compression=compression)
    except grpc.RpcError as error:
        reply = reply_to_error(error)
        return reply.letter, reply.words
    replies = [reply_of(verdict) for verdict in response.verdicts]
    return "".join(sorted({reply.letter for reply in replies})), replies[0].words if replies else "no verdicts"


def ask_one(lab: Lab, what: str, allowed: str, task: pb.Task) -> Observation:
    """One task as it stands."""
    letter, words = send(lab, pb.CheckRequest(tasks=[task]).SerializeToString())
    return (f"{what}: {words}", allowed, letter)


def a_task(program: str = TRIVIAL, task_id: str = "t", check_ids: tuple[str, ...] = ("c",)) -> pb.Task:
    """A task whose checks pass, to be bent by a scenario."""
    call = pb.CallCheck(call="f(1)", expected="1")
    return pb.Task(id=task_id, program=program, checks=[pb.Check(id=one, call=call) for one in check_ids])


def with_limits(**limits: int) -> pb.Task:
    """A passing task with these limits."""
    task = a_task()
    task.options.limits.CopyFrom(pb.Limits(**limits))
    return task


def message_over_the_cap(lab: Lab) -> list[Observation]:
    """Case protocol/message-over-cap."""
    cap = lab.info().max_message_bytes
    program = "#" * (cap + (1 << 20)) + "\n" + TRIVIAL
    return [fact("the cap is told", cap > 0, cap), ask_one(lab, "over the cap", "R", a_task(program))]


def invalid_utf8(lab: Lab) -> list[Observation]:
    """Case protocol/invalid-utf8: the same field twice, as bytes that are no text and as an encoded surrogate."""
    message = pb.CheckRequest(tasks=[a_task("ZZZ")]).SerializeToString()
    seen = []
    for bad in (b"\xff\xfe\xfd", b"\xed\xa0\x80", b"\xc3\x28\x41"):
        letter, words = send(lab, message.replace(b"ZZZ", bad))
        seen.append((f"{bad!r}: {words}", "I", letter))
    return seen


def nul_or_empty_source(lab: Lab) -> list[Observation]:
    """Case protocol/empty-source.

    An empty program is fine where the check needs none, and a NameError where it does.
    """
    nothing = pb.Task(id="t", program="", checks=[pb.Check(id="c")])
    nothing.checks[0].call.CopyFrom(pb.CallCheck(call="1 + 1", expected="2"))
    empty_call = pb.Task(id="t", program=TRIVIAL, checks=[pb.Check(id="c", call=pb.CallCheck(call="", expected="2"))])
    return [
        ask_one(lab, "NUL", "I", a_task("x = 1\0\n" + TRIVIAL)),
        ask_one(lab, "empty, but called", "FI", a_task("")),
        ask_one(lab, "empty and not needed", "P", nothing),
        ask_one(lab, "empty call", "I", empty_call),
    ]


def time_limits(lab: Lab) -> list[Observation]:
    """Case protocol/time-limits."""
    values = (-1, -I64_MAX, I64_MAX, lab.info().maximum_limits.cpu_ms + 1)
    seen = [ask_one(lab, f"cpu_ms={value}", "I", with_limits(cpu_ms=value)) for value in values]
    values = (-1, I64_MAX, lab.info().maximum_limits.wall_ms + 1)  # type: ignore[assignment]
    return seen + [ask_one(lab, f"wall_ms={value}", "I", with_limits(wall_ms=value)) for value in values]


def memory_limits(lab: Lab) -> list[Observation]:
    """Case protocol/memory-limits."""
    seen = [ask_one(lab, "0 is the default", "P", with_limits(memory_bytes=0))]
    seen += [ask_one(lab, f"memory={value}", "I", with_limits(memory_bytes=value)) for value in (-1, 1, 4096, I64_MAX)]
    seen += [ask_one(lab, f"steps={value}", "I", with_limits(steps=value)) for value in (-1, I64_MAX)]
    return seen + [ask_one(lab, f"output={value}", "I", with_limits(output_bytes=value)) for value in (-1, I64_MAX)]


def a_million_checks(lab: Lab) -> list[Observation]:
    """Case protocol/many-tiny-checks.

    In one message, then fifty thousand streamed with a benign check answered beside them.
    """
    field = pb.Task(checks=[pb.Check(call=pb.CallCheck(call="1", expected="1"))]).SerializeToString()
    body = pb.Task(id="t").SerializeToString() + field * 10**6
    length = bytearray()
    size = len(body)
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    letter, words = send(lab, b"\x0a" + bytes(length) + bytes([size]) + body)
    checks = tuple(CallCheck("f(1)", "1", id=str(n)) for n in range(1000))
    batch = request([Task(TRIVIAL, checks, limits=LIMITS)])

    def batches() -> list[pb.CheckRequest]:
        made = []
        for number in range(50):
            one = pb.CheckRequest()
            one.CopyFrom(batch)
            one.tasks[0].id = f"t{number}"
            made.append(one)
        return made

    stream = lab.stub.CheckStream(iter(batches()), timeout=240)
    beside = lab.benign()
    letters = {}
    for response in stream:
        for verdict in response.verdicts:
            letters[reply_of(verdict).letter] = letters.get(reply_of(verdict).letter, 0) + 1
    return [
        (f"one message: {words}", "IR", letter),
        (f"beside the stream: {beside.words}", "P", beside.letter),
        fact("streamed", letters == {"P": 50_000}, letters),
    ]


def burst(lab: Lab) -> list[Observation]:
    """Case protocol/request-burst.

    Far more than the queue holds, of work that does not end by itself; then all is cancelled.
    """
    endless = "def f(n):\n    while True: pass\n"
    limits = Limits(cpu_ms=20_000, wall_ms=60_000, steps=10**11)
    checks = tuple(CallCheck(f"f({n})", "2", id=str(n)) for n in range(1000))
    message = request([Task(endless, checks, limits=limits)]).SerializeToString()
    with (
        Daemon(options=["--queue-checks", "50000"]) as daemon,
        grpc.insecure_channel(daemon.target, options=MESSAGE_OPTIONS) as channel,
    ):
        before = daemon.footprint().memory_bytes
        method = channel.unary_unary(CHECK, request_serializer=bytes, response_deserializer=pb.CheckResponse.FromString)
        futures = [method.future(message, timeout=120) for _ in range(110)]
        some_refused = comes_true(lambda: any(future.done() for future in futures), 90)
        codes = Counter(RPC_LETTER.get(future.code(), future.code().name) for future in futures if future.done())
        grown = daemon.footprint().memory_bytes - before
        for future in futures:
            future.cancel()
        after = _once_there_is_room(partial(method, request([BENIGN]).SerializeToString(), timeout=60))
    beside = lab.benign()
    return [
        fact("some are refused", some_refused),
        fact("all of these with RESOURCE_EXHAUSTED", set(codes) == {"R"}, dict(codes)),
        fact("memory bounded", grown < 1024 << 20, f"{grown >> 20} MiB"),
        (f"another server beside: {beside.words}", "P", beside.letter),
        (f"the same server after: {after.words}", "P", after.letter),
    ]


def _once_there_is_room(ask: Callable[[], pb.CheckResponse]) -> Reply:
    """What was cancelled leaves the queue a moment later; who asks meanwhile is told to try again, for 10 s at most."""
    until = time.monotonic() + 10
    while True:
        try:
            return reply_of(ask().verdicts[0])
        except grpc.RpcError as error:
            if error.code() is not grpc.StatusCode.RESOURCE_EXHAUSTED or time.monotonic() > until:
                raise
        time.sleep(0.2)


def odd_ids(lab: Lab) -> list[Observation]:
    """Case protocol/odd-ids."""
    twice = pb.CheckRequest(tasks=[a_task(), a_task()]).SerializeToString()
    letter, words = send(lab, twice)
    seen = [(f"two tasks of one id: {words}", "I", letter)]
    seen += [
        ask_one(lab, "two checks of one id", "I", a_task(check_ids=("c", "c"))),
        ask_one(lab, "two checks without id", "I", a_task(check_ids=("", ""))),
        ask_one(lab, "one check without id", "P", a_task(check_ids=("",))),
        ask_one(lab, "1 MB task id", "I", a_task(task_id="x" * (1 << 20))),
        ask_one(lab, "1 MB check id", "I", a_task(check_ids=("x" * (1 << 20),))),
    ]
    for bad in ("a\nb", "a\0b", "\x1b[31m", "\x7f", "a\rb", "\u0085", "\u2028"):
        seen.append(ask_one(lab, f"task id {bad!r}", "I", a_task(task_id=bad)))
        seen.append(ask_one(lab, f"check id {bad!r}", "I", a_task(check_ids=(bad,))))
    return seen


def unknown_enum(lab: Lab) -> list[Observation]:
    """Case protocol/unknown-enum."""
    seen = []
    for field in ("isolation", "require_assurance", "step_count", "priority"):
        task = a_task()
        setattr(task.options, field, 99)
        seen.append(ask_one(lab, f"{field}=99", "I", task))
    without = pb.Task(id="t", program=TRIVIAL, checks=[pb.Check(id="c")])
    unknown_runtime = a_task()
    unknown_runtime.options.runtime = "no-such-runtime"
    repeated = a_task()
    repeated.options.repeat = 99
    return [
        *seen,
        ask_one(lab, "no kind", "I", without),
        ask_one(lab, "unknown runtime", "I", unknown_runtime),
        ask_one(lab, "repeat=99", "I", repeated),
        ask_one(lab, "no checks", "I", a_task(check_ids=())),
    ]


def nested_protobuf(lab: Lab) -> list[Observation]:
    """Case protocol/nested-protobuf: groups nested 10**5 deep, and length-delimited unknown fields."""
    groups = b"\xfb\x07" * 10**5 + b"\xfc\x07" * 10**5
    inner = b""
    for _ in range(2000):
        size = len(inner)
        inner = b"\xfa\x07" + bytes([size & 127 | 128, size >> 7 & 127 | 128, size >> 14]) + inner
    good = pb.CheckRequest(tasks=[a_task()]).SerializeToString()
    seen = [
        ("groups", "I", *send(lab, good + groups)[:1]),
        ("unclosed groups", "I", *send(lab, b"\xfb\x07" * 10**5)[:1]),
    ]
    letter, words = send(lab, good + inner)
    return [*seen, (f"unknown fields: {words}", "IP", letter)]


def gzip_bomb(lab: Lab) -> list[Observation]:
    """Case protocol/gzip-bomb: a small compressed message that would inflate over the cap is refused unread."""
    cap = lab.info().max_message_bytes
    message = pb.CheckRequest(tasks=[a_task("#" * (4 * cap) + "\n")]).SerializeToString()
    letter, words = send(lab, message, grpc.Compression.Gzip)
    return [(words, "N", letter)]


def ids_in_logs(lab: Lab) -> list[Observation]:
    """Case protocol/ids-in-logs: what a caller writes into ids is never a line, a colour or a format of the log."""
    seen = []
    for bad in ("x\nFORGED line", "x\x1b[2J\x1b[31mFORGED", "\r\nFORGED"):
        seen.append(ask_one(lab, f"id {bad!r}", "I", a_task(task_id=bad)))
    for odd in ("%s%s%n%d", "{}{0.__class__}", "${jndi:x}", "é" * 20, "<script>"):
        seen.append(ask_one(lab, f"id {odd!r}", "P", a_task(task_id=odd)))
    log = lab.daemon.log if lab.daemon is not None else b""
    lines = log.decode("utf-8", "replace").splitlines()
    seen.append(fact("no line begins with what an id said", not any(line.startswith("FORGED") for line in lines)))
    seen.append(fact("no escape sequence in the log", b"\x1b" not in log))
    return seen
