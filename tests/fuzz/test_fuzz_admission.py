"""Admission, whatever comes in whatever order: nothing beyond a bound, nothing kept of what is gone or was refused."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field

import grpc
import pytest
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxboxd.judging.tasks import Task
from cruxboxd.rpc.codec import Offer, outline_of, size_of
from cruxboxd.rpc.interceptor import Rpc
from cruxboxd.rpc.outline import Outline
from cruxboxd.rpc.service import SandboxService
from cruxboxd.settings.config import DEFAULT_LIMITS, MAXIMUM_LIMITS, Config
from cruxboxd.shared.turns import Turns
from cruxboxd.tenancy import admission
from cruxboxd.tenancy.admission import Admission, Ticket
from cruxboxd.tenancy.refusal import Refused
from cruxboxd.tenancy.tenants import Tenant
from hypothesis import example, given
from hypothesis import strategies as st

CHECKS, BYTES = 100, 1_000
TENANTS = [Tenant("a"), Tenant("b", queued_checks=30), Tenant("c", cpu_seconds_per_minute=1), Tenant("d", weight=9)]

_who = st.integers(0, len(TENANTS) - 1)
_checks = st.sampled_from([0, 1, 2, 25, 30, 31, 50, 51, 99, 100, 101, 10**6]) | st.integers(0, 60)
_bytes = st.sampled_from([0, 1, 500, 501, 1_000, 1_001, 10**9]) | st.integers(0, 400)
_which = st.integers(0, 7)
_step = st.one_of(
    st.tuples(st.just("take"), _who, _checks, _bytes),
    st.tuples(st.just("stream"), _who, _checks, _bytes),
    st.tuples(st.just("some"), _which, st.integers(1, 40), st.none()),
    st.tuples(st.just("close"), _which, st.none(), st.none()),
    st.tuples(st.just("leave"), _which, st.none(), st.none()),
    st.tuples(st.just("enter"), _who, st.none(), st.none()),
    st.tuples(st.just("exit"), _who, st.none(), st.none()),
    st.tuples(st.just("spend"), st.booleans(), st.none(), st.none()),
)


@dataclass
class House:
    """Admission, and beside it what we know of what was let in."""

    shared: bool
    has_spent: bool = False
    held: list[tuple[Tenant, Ticket, list[int]]] = field(default_factory=list)  # [checks, bytes] that are left
    waiting: list[tuple[Tenant, list[int], asyncio.Task[Ticket]]] = field(default_factory=list)
    rpcs: list[int] = field(default_factory=lambda: [0] * len(TENANTS))

    def __post_init__(self) -> None:
        config = Config(workers=1, queue_checks=CHECKS, queue_bytes=BYTES)
        self.rules = Admission(config, self.shared, lambda: 1.0, self.cpu_wait_s)

    def cpu_wait_s(self, name: str) -> float:
        return 9.0 if self.has_spent and name == "c" else 0.0

    def sums(self, tenant: Tenant | None = None) -> tuple[int, int]:
        left = [left for whose, _, left in self.held if tenant is None or whose == tenant]
        return sum(checks for checks, _ in left), sum(size for _, size in left)

    # ---- steps -------------------------------------------------------------------------------------------------

    async def take(self, who: int, checks: int, size: int) -> None:
        tenant, (all_checks, all_bytes), mine = TENANTS[who], self.sums(), self.sums(TENANTS[who])
        try:
            ticket = self.rules.take(tenant, checks, size)
        except Refused as error:
            refused = error
        else:
            self.held.append((tenant, ticket, [checks, size]))
            return
        is_well_said(refused)
        assert 0.2 <= (refused.retry_s or 0) <= 60
        # Never refused: a guest whose work fits into what is left, within its quota and its CPU time.
        fits = all_checks + checks <= CHECKS and all_bytes + size <= BYTES
        is_guest = mine[0] == 0 and checks <= (tenant.queued_checks or checks)
        assert not (fits and is_guest) or self.cpu_wait_s(tenant.name)

    async def stream(self, who: int, checks: int, size: int) -> None:
        if len(self.waiting) < 4:
            tenant = TENANTS[who]
            asked = self.rules.take_when_possible(tenant, checks, size, lambda: self.sums(tenant)[0] > 0)
            self.waiting.append((tenant, [checks, size], asyncio.ensure_future(asked)))

    async def some(self, which: int, checks: int, __: None) -> None:
        if which < len(self.held):
            ticket, left = self.held[which][1:]
            done = min(checks, left[0])
            left[0] -= done
            assert ticket.give_back(done) is (left[0] == 0)
            if not left[0]:
                del self.held[which]

    async def close(self, which: int, _: None, __: None) -> None:
        if which < len(self.held):
            ticket = self.held.pop(which)[1]
            ticket.close()
            ticket.close()

    async def leave(self, which: int, _: None, __: None) -> None:
        """A stream that waits is cancelled."""
        if which < len(self.waiting):
            self.waiting[which][2].cancel()

    async def enter(self, who: int, _: None, __: None) -> None:
        is_full = sum(self.rpcs) >= admission.RPCS or (self.shared and self.rpcs[who] >= admission.RPCS_A_TENANT)
        if is_full:
            with pytest.raises(Refused, match="calls of yours are open"):
                self.rules.enter(TENANTS[who])
        else:
            self.rules.enter(TENANTS[who])
            self.rpcs[who] += 1

    async def exit(self, who: int, _: None, __: None) -> None:
        if self.rpcs[who]:
            self.rpcs[who] -= 1
            self.rules.leave(TENANTS[who])

    async def spend(self, has_spent: bool, _: None, __: None) -> None:
        self.has_spent = has_spent

    # ---- what holds after each ---------------------------------------------------------------------------------

    async def settle(self) -> None:
        """Streams that were let in hold their work; those that were refused hold nothing."""
        for _ in range(4):
            await asyncio.sleep(0)
        for one in [one for one in self.waiting if one[2].done()]:
            self.waiting.remove(one)
            tenant, work, asked = one
            if not asked.cancelled() and asked.exception() is None:
                self.held.append((tenant, asked.result(), work))
            elif not asked.cancelled():
                assert isinstance(asked.exception(), Refused)

    def holds(self) -> None:
        checks, size = self.sums()
        assert self.rules.checks == checks <= CHECKS
        assert self.rules._all.bytes == size <= BYTES
        assert self.rules._all.rpcs == sum(self.rpcs) <= admission.RPCS
        for who, tenant in enumerate(TENANTS):
            held = self.rules._of.get(tenant.name, admission._Held())
            assert (held.checks, held.bytes, held.rpcs) == (*self.sums(tenant), self.rpcs[who])
            assert held.checks <= (tenant.queued_checks or CHECKS)
            assert held.rpcs <= (admission.RPCS_A_TENANT if self.shared else admission.RPCS)


@given(st.booleans(), st.lists(_step, max_size=40))
@example(True, [("take", 0, 50, 10), ("take", 0, 1, 1), ("take", 1, 25, 10), ("some", 0, 49, None)])
@example(True, [("take", 0, 10, 1), ("stream", 0, 95, 1), ("leave", 0, None, None), ("close", 0, None, None)])
@example(True, [("take", 1, 30, 1), ("stream", 1, 5, 1), ("some", 0, 30, None), ("stream", 1, 31, 1)])
@example(False, [("take", 0, 100, 1_000), ("stream", 2, 1, 1), ("spend", True, None, None), ("close", 0, None, None)])
@example(True, [("enter", 0, None, None)] * 8 + [("take", 3, 0, 0), ("exit", 0, None, None)] * 8)
def test_what_is_held_is_what_was_let_in(shared, steps):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(admission, "RPCS", 6)
        patch.setattr(admission, "RPCS_A_TENANT", 3)
        asyncio.run(live(House(shared), steps))


async def live(house: House, steps: list[tuple[str, int, object, object]]) -> None:
    for name, *arguments in steps:
        await getattr(house, name)(*arguments)
        await house.settle()
        house.holds()
    for _, _, asked in house.waiting:
        asked.cancel()
    await house.settle()
    for _, ticket, _ in house.held:
        ticket.close()
    for who, rpcs in enumerate(house.rpcs):
        for _ in range(rpcs):
            house.rules.leave(TENANTS[who])
    assert (house.rules._all, house.rules._of) == (admission._Held(), {})


def is_well_said(refused: Refused) -> None:
    assert refused.code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED)
    assert 0 < len(refused.sentence) < 500
    assert "\n" not in refused.sentence


# ---- from the bytes of a request to its ticket -------------------------------------------------------------------

_options = st.builds(
    pb.Options, runtime=st.sampled_from(["", "", "default", "nope"]), repeat=st.sampled_from([0, 0, 1, 2, 3]),
    limits=st.none() | st.builds(pb.Limits, steps=st.sampled_from([0, 1, 7, -1, 10**18])),
)  # fmt: skip
_call = st.builds(pb.CallCheck, call=st.just("f()"), expected=st.text(max_size=3))
_check = st.builds(pb.Check, id=st.sampled_from(["", "a", "b"]), call=_call)
_task = st.builds(
    pb.Task, id=st.text(max_size=2), checks=st.lists(_check, max_size=3), options=st.none() | _options
)  # fmt: skip
_request = st.builds(pb.CheckRequest, tasks=st.lists(_task, max_size=4), options=st.none() | _options)


@given(
    _request,
    _who,
    st.booleans(),
    st.integers(0, 99),
    st.binary(max_size=6),
    st.integers(0, 6),
    st.none() | st.integers(0, 3),
)
@example(pb.CheckRequest(), 0, True, 0, b"\x0a\x00" * 3, 0, None)
@example(pb.CheckRequest(tasks=[pb.Task(checks=[pb.Check()] * 40)]), 1, False, 0, b"", 0, None)
@example(pb.CheckRequest(tasks=[pb.Task(checks=[pb.Check()] * 9)] * 8), 0, False, 0, b"", 0, 1)
def test_a_request_that_is_not_taken_holds_nothing(request, who, on_a_stream, at, noise, cut, leaves_after):
    """Disturbed or not, refused before or after it was parsed, or given up on in the middle."""
    data = request.SerializeToString()
    at = min(at, len(data))
    data = data[:at] + noise + data[at + cut :]
    asyncio.run(take(data, TENANTS[who], on_a_stream, leaves_after))


class Idle:
    """A stream that has nothing under way."""

    def has_work(self) -> bool:
        return False


async def take(data: bytes, tenant: Tenant, on_a_stream: bool, leaves_after: int | None) -> None:
    config = Config(workers=1, queue_checks=64, queue_bytes=64 << 10)
    rules, charged = Admission(config, True, lambda: 1.0, lambda _: 0.0), []
    offer = Offer(frozenset({"default"}), "default", DEFAULT_LIMITS, MAXIMUM_LIMITS)
    service = SandboxService(
        judge=None, offer=offer, stamp=None, info=None, identity=None, admission=rules, interceptor=None,
        turns=Turns(lambda name, _: charged.append(name), slice_s=0), answers=None, observer=None,
    )  # fmt: skip
    stream = Idle() if on_a_stream else None

    async def take() -> tuple[list[Task], Ticket]:
        with contextlib.ExitStack() as until_let_in:
            until_let_in.enter_context(rules.arrived(tenant, len(data)))
            return await service._take(data, Rpc("m", "id", None, tenant), until_let_in, stream)

    taking = asyncio.ensure_future(take())
    if leaves_after is not None:
        for _ in range(leaves_after):
            await asyncio.sleep(0)
        taking.cancel()
    try:
        tasks, ticket = await taking
    except Refused as refused:
        is_well_said(refused)
    except asyncio.CancelledError:
        pass
    else:
        parsed = pb.CheckRequest.FromString(data)
        assert [task.id for task in tasks] == [task.id for task in parsed.tasks]
        checks, outline = sum(len(task.checks) for task in tasks), Outline()
        list(outline_of(data, outline))
        assert (rules.checks, rules._all.bytes) == (checks, size_of(data, outline))
        assert rules._all.bytes >= len(data) + 1024 * (checks + len(tasks))
        ticket.close()
    assert (rules._all, rules._of, rules._arrived) == (admission._Held(), {}, {})
    assert set(charged) <= {tenant.name}
