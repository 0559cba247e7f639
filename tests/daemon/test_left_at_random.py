"""Callers of three tenants who leave at any moment, read nothing or stall: whoever stays is answered, and nothing is
left of the others."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import random
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from cruxbox_proto.v1 import sandbox_pb2 as pb
from support.daemons import Served
from support.waiting import until

TENANTS = ("alice", "bob", "carol")
SERVICE = f"/{pb.DESCRIPTOR.services_by_name['Sandbox'].full_name}"
CODEC = pb.CheckRequest.SerializeToString, pb.CheckResponse.FromString
IN_TIME_S = 60
STALLS = "def f(n):\n    while n == 1:\n        pass\n    return n\n# {}"
PRINTS = "import os\ndef f(n):\n    print('x' * 500_000)\n    return n\n# {}"
READS = "n = int(input())\nwhile n == 1:\n    pass\nprint(n)\n# {}"
DOUBLES = "def f(n):\n    return 2 * n\n# {}"
SCRIPT = "def check(candidate):\n    for n in range(3):\n        assert candidate(n) == 2 * n\ncheck(f)\n"


def calls(expected: str) -> list[pb.Check]:
    return [pb.Check(id=str(n), call=pb.CallCheck(call=f"f({n})", expected=expected.format(n))) for n in range(5)]


def inputs() -> list[pb.Check]:
    return [pb.Check(id=str(n), stdio=pb.StdioCheck(stdin=f"{n}", expected_stdout=f"{n}")) for n in range(5)]


# Program, its checks, and those of them that do not end.
KINDS: list[tuple[str, Callable[[], list[pb.Check]], set[str]]] = [
    (STALLS, lambda: calls("{}"), {"1"}),
    (STALLS, lambda: calls("sum([{}])"), {"1"}),
    (PRINTS, lambda: calls("sum([{}])"), set()),
    (READS, inputs, {"1"}),
    (DOUBLES, lambda: [pb.Check(id="0", script=pb.ScriptCheck(script=SCRIPT, entry_point="f"))], set()),
]


class Caller:
    """One caller of a tenant; what it asks and when it leaves is drawn from `rng`."""

    def __init__(self, channel: grpc.aio.Channel, token: str, rng: random.Random) -> None:
        self._rng = rng
        metadata = (("authorization", f"Bearer {token}"),)
        self._check = lambda asked: channel.unary_unary(f"{SERVICE}/Check", *CODEC)(asked, metadata=metadata)
        opened: Any = channel.stream_stream(f"{SERVICE}/CheckStream", *CODEC)  # what is sent is written later
        self._stream = lambda: opened(metadata=metadata)

    def request(self, tasks: int) -> tuple[pb.CheckRequest, dict[tuple[str, str], bool]]:
        """A request, and for each of its checks whether it ends."""
        asked, ends = pb.CheckRequest(), {}
        asked.options.limits.cpu_ms, asked.options.repeat = 300, self._rng.choice([1, 1, 2])
        for number in range(tasks):
            program, checks, endless = self._rng.choice(KINDS)
            task = asked.tasks.add(id=str(number), program=program.format(self._rng.getrandbits(32)), checks=checks())
            ends.update({(task.id, check.id): check.id not in endless for check in task.checks})
        return asked, ends

    async def stay(self) -> None:
        """Ask, and have every verdict."""
        asked, ends = self.request(2)
        verdicts: list[pb.Verdict] = []
        if self._rng.random() < 0.5:
            verdicts += (await self._check(asked)).verdicts
        else:
            stream = self._stream()
            await stream.write(asked)
            await stream.done_writing()
            async for response in stream:
                verdicts += response.verdicts
        assert sorted((one.task_id, one.check_id) for one in verdicts) == sorted(ends)
        for one in verdicts:
            allowed = pb.OUTCOME_PASSED if ends[one.task_id, one.check_id] else pb.OUTCOME_TIMED_OUT
            assert one.outcome in (allowed, pb.OUTCOME_TIMED_OUT, pb.OUTCOME_SANDBOX_ERROR), one

    async def leave(self) -> None:
        """Ask, and leave at some moment; read a little, or nothing."""
        wait_s = self._rng.choice([0, 0.05, 0.06, 0.1, 0.3, 1]) * self._rng.random() * 2
        call: Any
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.CancelledError, asyncio.InvalidStateError):
            if self._rng.random() < 0.3:
                call = self._check(self.request(6)[0])
            else:
                call = self._stream()
                await call.write(self.request(12)[0])
                if self._rng.random() < 0.5:
                    await asyncio.wait({asyncio.ensure_future(call.read())}, timeout=wait_s)
            await asyncio.sleep(wait_s)
            call.cancel()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Served]:
    lines = [f'[tenants.{name}]\ntokens = ["sha256:{hashlib.sha256(name.encode()).hexdigest()}"]' for name in TENANTS]
    (tmp_path / "tokens").write_text("\n".join(lines))
    with Served(tmp_path, "--tokens", str(tmp_path / "tokens"), "--audit-share", "0.05") as served:
        yield served


def is_none(daemon: Served, figure: str) -> bool:
    return daemon.metric(figure) == 0


def test_whoever_stays_is_answered_and_nothing_is_left_of_who_leaves(daemon: Served):
    rng = random.Random(23)

    async def one_round() -> None:
        async with grpc.aio.insecure_channel(daemon.target) as channel:
            callers = [Caller(channel, rng.choice(TENANTS), rng) for _ in range(15)]
            staying = [asyncio.ensure_future(one.stay()) for one in callers[:3]]
            leaving = [asyncio.ensure_future(one.leave()) for one in callers[3:]]
            await asyncio.wait_for(asyncio.gather(*staying, *leaving), IN_TIME_S)

    for _ in range(3):
        asyncio.run(one_round())
        for figure in ("accepted_checks", "queue_depth", "busy_workers"):
            until(partial(is_none, daemon, f"cruxbox_{figure}"), 30)
    assert "Traceback" not in daemon.log
