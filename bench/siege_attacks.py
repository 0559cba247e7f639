"""What the attackers of the siege send, with a token or without: requests, calls and bytes that hurt."""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable

import grpc
from cruxbox_proto.v1 import sandbox_pb2 as pb

from bench.load import HOSTILE, STALLS

ATTACKERS, STRANGERS = 4, 3
# As often as they stand here.
WAYS = ("send", "send", "leave", "read_nothing", "watch", "watch", "headers", "flood", "pings")
CHECK, STREAM, WATCH = "/cruxbox.v1.Sandbox/Check", "/cruxbox.v1.Sandbox/CheckStream", "/grpc.health.v1.Health/Watch"
NO_METHOD = "/cruxbox.v1.Sandbox/None"
_LARGE = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
_OF_ITS_OWN = ("grpc.use_local_subchannel_pool", 1)

_CALL = pb.Check(call=pb.CallCheck(call="f(1)", expected="1"))
_PAIR = pb.Check(script=pb.ScriptCheck(script="assert candidate(1) == 1", entry_point="f"))
# What a worker can do to the lines that tie it to its zygote and its test. Its progress line and its report cannot be
# closed; that they are tried is part of it.
HANG_UPS = [
    ("os.close(4); time.sleep(60)", _CALL),
    ("os.closerange(0, 3); os.closerange(5, 64); time.sleep(60)", _CALL),
    ("while True: os.write(4, b'.' * 4096)", _CALL),
    ("os._exit(0)", _CALL),
    ("os.close(5); time.sleep(60)", _PAIR),  # the line to its test, which then ends
    ("os.close(5); os._exit(0)", _PAIR),
]


def _request(*tasks: pb.Task) -> bytes:
    return pb.CheckRequest(tasks=tasks).SerializeToString()


def hang_ups(count: int) -> bytes:
    """So many tasks whose workers hang up, or try to."""
    deeds = (HANG_UPS * count)[:count]
    return _request(
        *[
            pb.Task(id=str(n), program=f"import os, time\ndef f(x):\n    {deed}\n# {n}", checks=[check])
            for n, (deed, check) in enumerate(deeds)
        ]
    )  # fmt: skip


def _options(count: int) -> bytes:
    """So many tasks, each with options of its own."""
    task, parts = pb.Task(checks=[_CALL]), []
    for number in range(count):
        task.id, task.options.limits.steps = str(number), number + 1
        parts.append(_request(task))
    return b"".join(parts)


def bodies() -> dict[str, bytes]:
    """Requests that are costly, or wrong, or work that is hostile."""
    hostile = [kind[0] for kind in (HOSTILE + STALLS) * 3]
    return {
        "empty tasks": b"\x0a\x00" * (7 << 20),
        "empty checks": b"\x0a\x80\x80\xc0\x06" + b"\x1a\x00" * (13 << 19),
        "options": _options(50_000),
        "refused": _request(pb.Task(program="x" * (3 << 20), checks=[pb.Check()])),
        "noise": random.Random(1).randbytes(1 << 20),
        "hang up": hang_ups(2 * len(HANG_UPS)),
        "hostile": _request(
            *[pb.Task(id=str(n), program=f"{program}# {n}", checks=[_CALL]) for n, program in enumerate(hostile)]
        ),
    }


def _prints() -> bytes:
    check = pb.Check(stdio=pb.StdioCheck(expected_stdout="1"))
    return _request(
        *[pb.Task(id=str(n), program=f"print('x' * 900_000)  # {n}", checks=[check]) for n in range(200)]
    )  # fmt: skip


class Attacker(threading.Thread):
    """Sends what hurts, again and again, with a token or without."""

    def __init__(
        self, target: str, token: str, seen: Counter[str], sends: dict[str, bytes], ways: list[str], seed: int
    ) -> None:
        super().__init__(daemon=True)
        self._target, self._seen, self._sends, self._rng = target, seen, sends, random.Random(seed)
        self._prints, self._ways = _prints(), ways
        self._metadata = [("authorization", f"Bearer {token}")] if token else []
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.is_set():
            name = self._rng.choice(self._ways)
            way: Callable[[grpc.Channel], str] = getattr(self, f"_{name}")
            # Else it shares one with all attackers who call now, with a token or without, as behind a proxy.
            options = [*_LARGE, _OF_ITS_OWN] if self._rng.random() < 0.5 else _LARGE
            with grpc.insecure_channel(self._target, options=options) as channel:
                try:
                    came = way(channel)
                except grpc.RpcError as error:
                    came = error.code().name
                except OSError as error:
                    came = type(error).__name__
            self._seen[f"{name} {came}"] += 1
            self.done.wait(0.05)

    def _send(self, channel: grpc.Channel) -> str:
        body = self._sends[self._rng.choice(sorted(self._sends))]
        channel.unary_unary(CHECK)(body, timeout=5, metadata=self._metadata)  # type: ignore[call-arg]
        return "OK"

    def _leave(self, channel: grpc.Channel) -> str:
        """Many calls that are cancelled at once."""
        method = channel.unary_unary(CHECK)  # type: ignore[call-arg]
        calls = [method.future(self._sends["hostile"], timeout=5, metadata=self._metadata) for _ in range(20)]
        time.sleep(self._rng.random() / 4)
        return str(Counter(call.cancel() for call in calls)[True] > 0)

    def _read_nothing(self, channel: grpc.Channel) -> str:
        call = channel.stream_stream(STREAM)(iter([self._prints]), timeout=10, metadata=self._metadata)  # type: ignore[call-arg]
        self.done.wait(6)
        return str(call.cancel())

    def _watch(self, channel: grpc.Channel) -> str:
        calls = [channel.unary_stream(WATCH)(b"") for _ in range(100)]  # type: ignore[call-arg]
        self.done.wait(1)
        return str(Counter(call.cancel() for call in calls)[True] > 0)

    def _flood(self, channel: grpc.Channel) -> str:
        """As many calls of `Check`, or of a method that there is not, as there can be in a second."""
        method, ends = channel.unary_unary(self._rng.choice([CHECK, NO_METHOD])), time.monotonic() + 1  # type: ignore[call-arg]
        answered = Counter[str]()
        while time.monotonic() < ends:
            calls = [method.future(b"", timeout=5, metadata=self._metadata) for _ in range(200)]
            answered.update(call.code().name for call in calls)
        return max(answered, key=answered.__getitem__)

    def _pings(self, _: grpc.Channel) -> str:
        """As many pings as may come beside RPCs, and more, of which it takes no answer."""
        with self._connected() as line:
            try:
                for _thousand in range(_PINGS // 1_000):
                    line.sendall(_frame(_PING, 0, bytes(8)) * 1_000)
            except OSError:
                return "closed"
        return "all taken"

    def _connected(self) -> socket.socket:
        """A connection on which HTTP/2 has begun."""
        host, port = self._target.split(":")
        line = socket.create_connection((host, int(port)), timeout=3)
        line.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(_SETTINGS, 0))
        return line

    def _headers(self, _: grpc.Channel) -> str:
        """A header block without end: 32 MB of it, if the server takes that much."""
        with self._connected() as line:
            line.sendall(_frame(_HEADERS, 1, _HEAD))
            more = _frame(_CONTINUATION, 1, _field("abc", "y" * 63) * (_FRAME_BYTES // 69))
            for number in range(2_000):
                try:
                    line.sendall(more)
                except OSError:
                    return f"closed after {1 << (number * len(more)).bit_length() - 20} MiB or less"
        return "all taken"


# Just enough HTTP/2 for that.
_HEADERS, _SETTINGS, _PING, _CONTINUATION = 1, 4, 6, 9
_PINGS = 150_000  # 2.4 MiB
_FRAME_BYTES = 16_384  # the most that a server takes


def _frame(kind: int, stream: int, payload: bytes = b"") -> bytes:
    """One frame without flags: headers do not end in it."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, 0]) + struct.pack(">I", stream) + payload


def _field(name: str, value: str) -> bytes:
    """A header field, literal and not indexed."""
    return b"\x10" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode()


_HEAD = b"".join(
    _field(name, value)
    for name, value in {
        ":method": "POST", ":scheme": "http", ":path": CHECK, ":authority": "localhost",
        "content-type": "application/grpc", "te": "trailers",
    }.items()
)  # fmt: skip


def attack(targets: list[str], token: str, seconds: float, only: str = "") -> tuple[dict[str, dict[str, int]], float]:
    """Attack for some time, in a process of its own: what came of it, by who sent it; and CPU seconds it took here."""
    sends = bodies()
    ways = [way for way in WAYS if way in (only.split(",") if only else WAYS)]
    began = time.process_time()
    seen = {"attacker": Counter[str](), "strangers": Counter[str]()}
    attackers = [
        Attacker(targets[n % len(targets)], token if who == "attacker" else "", seen[who], sends, ways, 100 * count + n)
        for who, count in (("attacker", ATTACKERS), ("strangers", STRANGERS))
        for n in range(count)
    ]
    for attacker in attackers:
        attacker.start()
    time.sleep(seconds)
    for attacker in attackers:
        attacker.done.set()
    spent = time.process_time() - began
    with contextlib.suppress(RuntimeError):  # a thread counts while it is read
        return {who: dict(counts) for who, counts in seen.items()}, spent
    return {}, spent
