"""The bounded queue of a stream's unsent verdicts, for a client that reads slowly or not at all."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable

from cruxboxd.settings.config import MIB
from cruxboxd.tenancy.refusal import Refused
from cruxboxd.zygotes.jobs import Outlet

# Verdicts that are ready at the same time travel together, up to so many a message and so many bytes. That a message is
# taken is all that tells a client that reads slowly from one that does not read.
_VERDICTS_A_MESSAGE = 256
_BYTES_A_MESSAGE = MIB // 4
# A message of so many bytes is given twice the time.
_TWICE_AS_LONG = 16 * MIB
_BYTES = 8 * MIB
BYTES_A_TENANT = 64 * MIB
_LINGER_S = 0.002
# A message costs as much as a tenth of a check. While so many checks of the stream are to come, nobody waits for one
# verdict.
_MANY, _LINGER_OF_MANY_S = 128, 0.01
_VERDICTS = 4 * _VERDICTS_A_MESSAGE


class Answers:
    """What is ready and has not left, of all RPCs: bounded for each RPC and for each tenant.

    Args:
        has_room: called when something that was full is not full any more.
        unread_s: for how long nothing of a stream has to be taken for it to count as unread.
    """

    def __init__(self, has_room: Callable[[], None], unread_s: float = 60.0) -> None:
        self._has_room, self.unread_s = has_room, unread_s
        self._held: dict[str, int] = {}
        self.refused: set[str] = set()  # tenants with too many, since `Unread` has looked
        self.open: dict[str, set[Outgoing]] = {}  # those of RPCs that are not over, by tenant

    def held(self, tenant: str) -> int:
        """Bytes of a tenant's verdicts that have not left."""
        return self._held.get(tenant, 0)

    def add(self, tenant: str, size: int, *, was_full: bool = False) -> None:
        """So many bytes more are held, or fewer; `was_full` says whether their RPC was held up by those that left."""
        before = self.held(tenant)
        self._held[tenant] = before + size
        if not self._held[tenant]:
            del self._held[tenant]
        if was_full or before >= BYTES_A_TENANT > before + size:
            self._has_room()


class Outgoing(Outlet):
    """What leaves by one RPC. It counts until `_forget`, as gRPC has a message until its client takes that.

    Args:
        answers: those of all RPCs.
        tenant: whose it is.
        end: ends the RPC, and then its connection; False where that cannot be.
    """

    to_come = 0  # verdicts
    is_ended = False

    def __init__(self, answers: Answers, tenant: str, end: Callable[[Refused], bool] = lambda _why: False) -> None:
        self._answers, self._tenant, self._end = answers, tenant, end
        self._bytes = 0  # of verdicts that have not left
        self._unread_from = math.inf  # when a message that gRPC has counts as unread, unless it is taken before
        answers.open.setdefault(tenant, set()).add(self)

    @property
    def is_unread(self) -> bool:
        return time.monotonic() >= self._unread_from

    @property
    def holds(self) -> int:
        """Bytes that have not left, or wait to be verdicts."""
        return self._bytes + self.held

    def end(self, why: Refused) -> bool:
        """Nobody reads it; False where nothing can be done about that."""
        self.is_ended = True
        return self._end(why)

    def _given(self, size: int) -> None:
        """gRPC has a message of so many bytes."""
        self._unread_from = time.monotonic() + self._answers.unread_s * (1 + size / _TWICE_AS_LONG)

    def _forget(self) -> None:
        of_tenant = self._answers.open.get(self._tenant, set())
        of_tenant.discard(self)
        if not of_tenant:
            self._answers.open.pop(self._tenant, None)


class ResponseStream(Outgoing):
    """A queue of verdicts. While it is full, no job of its stream starts, and `put` blocks, which stops the reading of
    requests. A client that does not read therefore holds a bounded amount of memory.

    A message that gRPC was given has not left: gRPC keeps it until the client has room for it.
    """

    def __init__(self, answers: Answers, tenant: str, end: Callable[[Refused], bool] = lambda _why: False) -> None:
        super().__init__(answers, tenant, end)
        self._verdicts: deque[bytes] = deque()
        self._bytes_leaving = self._count_leaving = 0  # of those, what gRPC has
        self._is_dropped = self._is_closed = False
        self._ready, self._room = asyncio.Event(), asyncio.Event()

    @property
    def is_full(self) -> bool:
        return self._is_dropped or self._is_own_full or self._answers.held(self._tenant) >= BYTES_A_TENANT

    @property
    def _is_own_full(self) -> bool:
        return self._bytes >= _BYTES or self._count >= _VERDICTS

    @property
    def _count(self) -> int:
        """Verdicts that have not left."""
        return len(self._verdicts) + self._count_leaving

    def expect(self, checks: int) -> None:
        """So many more verdicts will come."""
        self.to_come += checks

    async def put(self, verdict: bytes) -> None:
        """Add a verdict, written as a field of CheckResponse."""
        if self._is_dropped:
            return
        self.to_come -= 1
        self._verdicts.append(verdict)
        self._bytes += len(verdict)
        self._answers.add(self._tenant, len(verdict))
        self._ready.set()
        while self._is_own_full and not self._is_dropped:
            self._room.clear()
            await self._room.wait()

    def drop(self) -> None:
        """Nobody will take what gRPC does not have yet, nor what comes."""
        self._is_dropped = True
        self._verdicts.clear()
        left, self._bytes = self._bytes - self._bytes_leaving, self._bytes_leaving
        self._answers.add(self._tenant, -left)
        self._room.set()

    def gone(self) -> None:
        """The RPC is over: gRPC has nothing of it any more."""
        self.drop()
        self._left()
        self._forget()

    def close(self) -> None:
        """Nothing more will come."""
        self._is_closed = True
        self._ready.set()

    async def responses(self) -> AsyncIterator[bytes]:
        """Messages of what is there, until `close`."""
        while True:
            while not self._verdicts:
                if self._is_closed:
                    return
                self._ready.clear()
                await self._ready.wait()
            if len(self._verdicts) < _VERDICTS_A_MESSAGE and not self._is_closed:
                # What becomes ready in a moment travels along.
                await asyncio.sleep(_LINGER_OF_MANY_S if self.to_come >= _MANY else _LINGER_S)
            yield b"".join(self._take())
            self._left()

    def _take(self) -> list[bytes]:
        """As many verdicts as go into one message; at least one."""
        taken: list[bytes] = []
        size = 0
        while self._verdicts and len(taken) < _VERDICTS_A_MESSAGE:
            if taken and size + len(self._verdicts[0]) > _BYTES_A_MESSAGE:
                break
            taken.append(self._verdicts.popleft())
            size += len(taken[-1])
        self._bytes_leaving, self._count_leaving = size, len(taken)
        self._given(size)
        return taken

    def _left(self) -> None:
        """What gRPC was given has left, or nobody will take it."""
        was_full, size = self._is_own_full, self._bytes_leaving
        self._bytes -= size
        self._bytes_leaving = self._count_leaving = 0
        self._unread_from = math.inf
        self._answers.add(self._tenant, -size, was_full=was_full)
        if not self._is_own_full:
            self._room.set()
