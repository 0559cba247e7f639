"""The laboratory: a server, a world it must not touch, and the means to ask it things and to see what it did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import grpc
from cruxbox.model import CallCheck, Check, ScriptCheck, Task
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxbox_proto.v1 import sandbox_pb2_grpc as rpc
from support.waiting import comes_true

from conformance.case import LIMITS, Shot
from conformance.daemon import Daemon, Footprint, health_of
from conformance.wire import Reply, in_order, reply_to_error, request
from conformance.world import World

MESSAGE_OPTIONS = [
    ("grpc.enable_retries", 0),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),
]
STILL = 60  # looks in a row that must see the same before a server counts as idle
GRACE_S = 30.0  # what a shot may take beyond its limits, on a machine that is busy with other things
BENIGN = Task("def f(x):\n    return sorted(x)\n", (CallCheck("f([3, 1, 2])", "[1, 2, 3]"),), limits=LIMITS)
SLOW = Task("import time\ndef f():\n    time.sleep(0.1)\n    return 1\n", (CallCheck("f()", "1"),), limits=LIMITS)


class Lab:
    """One server under test.

    Args:
        target: gRPC address of a server that runs already; None starts one here, which allows every effect check.
    """

    def __init__(self, target: str | None = None) -> None:
        self.world = World()
        self.daemon: Daemon | None = None
        if target is None:
            self.daemon = Daemon(self.world.environment)
            target = self.daemon.target
            self.world.names["daemon_pid"] = str(self.daemon.pid)
        self.target = target
        self.world.names["daemon_port"] = target.rpartition(":")[2] if target.rpartition(":")[2].isdigit() else "50051"
        self.channel = self.new_channel()
        self.stub = rpc.SandboxStub(self.channel)
        self.baseline: Footprint | None = None

    @property
    def local(self) -> bool:
        """Did we start the server, so that its process can be watched?"""
        return self.daemon is not None

    def new_channel(self) -> grpc.Channel:
        """A connection of its own."""
        return grpc.insecure_channel(self.target, options=MESSAGE_OPTIONS)

    def fill(self, task: Task) -> Task:
        """The task with the placeholders of the world replaced in all of its text."""
        return replace(task, program=self.world.fill(task.program), checks=tuple(map(self._fill_check, task.checks)))

    def _fill_check(self, check: Check) -> Check:
        if isinstance(check, CallCheck):
            return replace(check, call=self.world.fill(check.call), expected=self.world.fill(check.expected))
        if isinstance(check, ScriptCheck):
            return replace(check, script=self.world.fill(check.script))
        return check

    def start(self, tasks: Sequence[Task]) -> grpc.Future:
        """Send one RPC and do not wait for it."""
        return self.stub.Check.future(request(tasks), timeout=self.deadline(tasks))

    @staticmethod
    def deadline(tasks: Sequence[Task]) -> float:
        """Seconds within which the verdicts of `tasks` must be there: their limits one after the other, and grace."""
        return GRACE_S + sum(2 * (task.limits.wall_ms or 10_000) / 1000 * min(len(task.checks), 20) for task in tasks)

    def ask(self, tasks: Sequence[Task]) -> list[Reply]:
        """One RPC; a reply for each check of each task, in order."""
        return self.answers(tasks, self.start(tasks))

    @staticmethod
    def answers(tasks: Sequence[Task], future: grpc.Future) -> list[Reply]:
        """The replies of an RPC that was started."""
        try:
            return in_order(tasks, future.result().verdicts)
        except grpc.RpcError as error:
            return [reply_to_error(error)] * max(1, sum(len(task.checks) for task in tasks))

    def fire(self, shots: Sequence[Shot]) -> tuple[list[list[Reply]], Reply]:
        """Send shots at once with a benign check beside them: (the replies of each shot, the benign one's)."""
        tasks = [self.fill(shot.task) for shot in shots]
        futures = [self.start([task]) for task in tasks]
        beside = self.start([BENIGN])
        replies = [self.answers([task], future) for task, future in zip(tasks, futures, strict=True)]
        return replies, self.answers([BENIGN], beside)[0]

    def benign(self) -> Reply:
        """A benign check's reply, now."""
        return self.ask([BENIGN])[0]

    def health(self) -> str:
        """What the health service says."""
        return health_of(self.channel)

    def info(self) -> pb.ServerInfo:
        """What the server says of itself."""
        return self.stub.GetServerInfo(pb.GetServerInfoRequest(), timeout=GRACE_S)

    def calm(self, seconds: float = 10.0) -> None:
        """Take the baseline: what the server holds when it has been busy and is idle again."""
        for _ in range(2):
            futures = [self.start([task]) for task in (SLOW, BENIGN) for _ in range(32)]
            for task, future in zip([SLOW] * 32 + [BENIGN] * 32, futures, strict=True):
                self.answers([task], future)
        if self.daemon is not None:
            daemon, seen = self.daemon, [self.daemon.footprint()]

            def settled() -> bool:
                seen.append(daemon.footprint())
                last = {(one.workers, one.zygotes, one.zombies, one.threads) for one in seen[-STILL:]}
                return len(seen) > STILL and len(last) == 1

            comes_true(settled, seconds)
            self.baseline = self.daemon.footprint()

    def close(self) -> None:
        """Stop the server if it is ours, and take the world down."""
        self.channel.close()
        if self.daemon is not None:
            self.daemon.close()
        self.world.close()
