"""Who may leave how much work: the rules of admission alone, and how a refusal travels."""

from __future__ import annotations

import asyncio
import contextlib

import grpc
import pytest
from cruxbox.retry import parse_retry_info
from cruxboxd.settings.config import MIB, Config
from cruxboxd.tenancy.admission import RPCS, RPCS_A_TENANT, Admission
from cruxboxd.tenancy.refusal import Refused, full, retry_info, rich_status
from cruxboxd.tenancy.tenants import Tenant
from google.protobuf import any_pb2, descriptor_pb2, descriptor_pool, duration_pb2, message_factory


def admission(shared: bool = True, cpu_wait_s: float = 0.0) -> Admission:
    return Admission(
        Config(workers=1, queue_checks=100, queue_bytes=1000), shared, lambda: 1.0, lambda name: cpu_wait_s
    )


async def test_one_tenant_leaves_room_for_others():
    rules = admission()
    a, b = Tenant("a"), Tenant("b")
    first = rules.take(a, 50, 10)
    with pytest.raises(Refused) as caught:
        rules.take(a, 1, 1)
    assert (caught.value.code, caught.value.retry_s) == (grpc.StatusCode.RESOURCE_EXHAUSTED, 1.0)
    assert (rules.refused(), rules.refused()) == ({"a"}, set())
    rules.take(b, 25, 10)
    first.give_back(49)
    rules.take(a, 30, 10)
    first.close()
    first.close()
    assert rules.checks == 55


async def test_alone_a_tenant_may_fill_it_and_everything_is_given_back():
    rules = admission(shared=False)
    tickets = [rules.take(Tenant(""), 10, 100) for _ in range(10)]
    with pytest.raises(Refused):
        rules.take(Tenant(""), 1, 0)
    for ticket in tickets:
        ticket.give_back(10)
    assert rules.checks == 0
    rules.take(Tenant(""), 100, 1000)


@pytest.mark.parametrize(
    ("tenant", "checks", "size", "cpu_wait_s", "reason"),
    [
        (Tenant("a"), 101, 1, 0, "too_large"),
        (Tenant("a"), 1, 1001, 0, "too_large"),
        (Tenant("a", queued_checks=5), 6, 1, 0, "too_large"),
        (Tenant("a", cpu_seconds_per_minute=1), 1, 1, 9, "cpu"),
    ],
)
async def test_refusals_say_why(tenant, checks, size, cpu_wait_s, reason):
    rules = admission(cpu_wait_s=cpu_wait_s)
    with pytest.raises(Refused) as caught:
        rules.take(tenant, checks, size)
    assert caught.value.reason == reason
    assert rules.refused() == set(), "it is not for want of room"


async def test_a_stream_waits_while_its_tenant_has_no_cpu_time(monkeypatch: pytest.MonkeyPatch):
    """It has work that waits for CPU time, too; what it sends meanwhile costs the daemon nothing."""
    wait_s = [1.0]
    gate = Admission(Config(workers=1), True, lambda: 1.0, lambda _name: wait_s[0])
    monkeypatch.setattr(gate, "_overspent", lambda _tenant: full("cpu", "used up", 0.01) if wait_s[0] else None)
    waiting = asyncio.ensure_future(gate.take_when_possible(Tenant("a"), 1, 1, lambda: True))
    await asyncio.sleep(0.1)
    assert not waiting.done()
    wait_s[0] = 0.0
    (await asyncio.wait_for(waiting, 5)).close()
    wait_s[0] = 1.0
    with pytest.raises(Refused, match="used up"):
        await gate.take_when_possible(Tenant("a"), 1, 1, lambda: False)


async def test_a_stream_waits_while_it_has_work_and_is_refused_when_it_has_none():
    rules, tenant = admission(), Tenant("a", queued_checks=10)
    ticket = rules.take(tenant, 10, 1)
    waiting = asyncio.create_task(rules.take_when_possible(tenant, 5, 1, lambda: True))
    await asyncio.sleep(0)
    assert not waiting.done()
    ticket.give_back(10)
    (await asyncio.wait_for(waiting, 5)).close()
    rules.take(tenant, 10, 1)
    with pytest.raises(Refused, match="quota is 10"):
        await rules.take_when_possible(tenant, 5, 1, lambda: False)


@pytest.mark.parametrize(("checks", "size"), [(100, 1), (1, 1000)])
async def test_what_fills_all_the_room_that_there_is_waits_no_longer(checks: int, size: int):
    rules, tenant = admission(shared=False), Tenant("")
    ticket = rules.take(tenant, 1, 1)
    waiting = asyncio.create_task(rules.take_when_possible(tenant, checks, size, lambda: True))
    await asyncio.sleep(0)
    ticket.give_back(1)
    (await asyncio.wait_for(waiting, 5)).close()


async def test_bytes_are_counted_beside_checks():
    """For each tenant and for all, taken and given back alike."""
    rules = admission()
    a, b = Tenant("a"), Tenant("b")
    first = rules.take(a, 1, 400)
    with pytest.raises(Refused) as caught:
        rules.take(a, 1, 201)  # as much as it has itself is kept free
    assert caught.value.reason == "bytes"
    with pytest.raises(Refused):
        rules.take(b, 1, 601)
    second = rules.take(b, 1, 600)
    with pytest.raises(Refused) as caught:
        rules.take(Tenant("c"), 1, 1)
    assert caught.value.reason == "bytes"
    first.give_back(1)
    rules.take(Tenant("c"), 1, 400).close()
    second.close()
    alone = admission(shared=False)
    held = alone.take(Tenant(""), 1, 999)
    with pytest.raises(Refused) as caught:
        alone.take(Tenant(""), 1, 2)
    assert caught.value.reason == "bytes"
    alone.take(Tenant(""), 1, 1)
    held.give_back(1)
    alone.take(Tenant(""), 1, 999)


async def test_bytes_are_given_back_with_the_last_check():
    rules = admission(shared=False)
    ticket = rules.take(Tenant(""), 2, 1000)
    assert not ticket.give_back(1)
    with pytest.raises(Refused):
        rules.take(Tenant(""), 1, 1)
    assert ticket.give_back(1)
    rules.take(Tenant(""), 1, 1000)


@pytest.mark.parametrize(("checks", "size"), [(101, 1), (1, 1001)])
async def test_a_stream_does_not_wait_for_what_never_fits(checks: int, size: int):
    """It has work under way; the room that its end makes would still be too little."""
    rules, tenant = admission(), Tenant("a")
    rules.take(tenant, 1, 1)
    with pytest.raises(Refused) as caught:
        await asyncio.wait_for(rules.take_when_possible(tenant, checks, size, lambda: True), 5)
    assert caught.value.reason == "too_large"


async def test_bytes_without_checks_count_against_work_that_follows():
    """A request of a stream may hold no check: its bytes are the tenant's, and no reason to call it no guest."""
    rules, tenant = admission(), Tenant("a")
    rules.enter(tenant)
    rules.take(tenant, 0, 600)
    rules.leave(tenant)
    rules.take(tenant, 1, 20)
    with pytest.raises(Refused) as caught:
        rules.take(tenant, 1, 1)
    assert caught.value.reason == "bytes"


async def test_checks_count_as_long_as_they_wait_whatever_else_ends():
    rules, tenant = admission(), Tenant("a", queued_checks=5)
    rules.take(tenant, 5, 0)
    rules.take(tenant, 0, 10).close()
    with pytest.raises(Refused, match="5 checks of yours wait"):
        rules.take(tenant, 1, 0)


@pytest.mark.parametrize("shared", [False, True])
def test_calls_are_bounded_for_all_and_where_tenants_share_for_each(shared: bool):
    rules = admission(shared)
    tenants = [Tenant(f"t{at}") for at in range(RPCS // RPCS_A_TENANT)]
    for tenant in tenants if shared else tenants[:1] * len(tenants):
        for _ in range(RPCS_A_TENANT):
            rules.enter(tenant)
        if shared:
            with pytest.raises(Refused, match="1024 calls of yours"):
                rules.enter(tenant)
    with pytest.raises(Refused, match="calls of yours are open"):
        rules.enter(Tenant("another"))
    rules.leave(tenants[0])
    rules.enter(Tenant("another"))


def test_of_a_tenant_that_is_gone_nothing_stays_and_of_others_what_they_have_open():
    rules, tenant = admission(), Tenant("a")
    rules.enter(tenant)
    rules.take(tenant, 1, 1).close()
    assert (rules._of["a"].rpcs, rules.refused()) == (1, set())
    rules.leave(tenant)
    assert rules._of == {}


@pytest.mark.parametrize(("workers", "shared", "places"), [(1, True, 16), (4, True, 16), (9, True, 36), (9, False, 0)])
def test_tenants_that_share_begin_so_many_requests_for_each_worker(workers: int, shared: bool, places: int):
    rules = Admission(Config(workers=workers), shared, lambda: 0.0, lambda _name: 0.0)
    assert rules.starts._most == places


@pytest.mark.parametrize("shared", [True, False])
async def test_who_has_nothing_here_may_have_what_is_left_and_no_more(shared: bool):
    rules = admission(shared)
    rules.take(Tenant("a"), 36, 100)
    for checks, size, reason in ((65, 900, "queue"), (64, 901, "bytes")):
        refused = rules.refusal(Tenant("b"), checks, size)
        assert refused is not None
        assert refused.reason == reason
    assert rules.refusal(Tenant("b"), 64, 900) is None


async def test_what_just_fits_is_let_in():
    rules = admission()
    rules.take(Tenant("a"), 100, 1000).close()
    rules.take(Tenant("a", queued_checks=5), 5, 1).close()
    assert rules.checks == 0


def test_the_wait_travels_as_google_writes_it():
    """Read back with messages built from google.rpc's own field numbers."""
    assert parse_retry_info(retry_info(2.25)) == 2.25
    file = descriptor_pb2.FileDescriptorProto(name="s.proto", package="t", dependency=["google/protobuf/any.proto"])
    message = file.message_type.add(name="Status")
    message.field.add(name="code", number=1, type=5, label=1)
    message.field.add(name="message", number=2, type=9, label=1)
    message.field.add(name="details", number=3, type=11, label=3, type_name=".google.protobuf.Any")
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(any_pb2.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(duration_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    status = message_factory.GetMessageClass(pool.FindMessageTypeByName("t.Status"))()
    status.ParseFromString(rich_status(8, "full " * 100, retry_info(0.5)))
    assert (status.code, status.message) == (8, "full " * 100)
    assert status.details[0].type_url == "type.googleapis.com/google.rpc.RetryInfo"
    assert parse_retry_info(status.details[0].value) == 0.5


@pytest.mark.parametrize("shared", [True, False])
async def test_requests_that_wait_to_be_let_in_are_bounded(shared: bool):
    """Of 8 MiB: a tenant that shares may have as much as it leaves free, and one request always."""
    rules = Admission(Config(workers=1, queue_bytes=16 * MIB), shared, lambda: 0.0, lambda _: 0.0)
    a, b = Tenant("a"), Tenant("b")
    with contextlib.ExitStack() as stack:
        for _ in range(4 if shared else 8):
            stack.enter_context(rules.arrived(a, MIB))
        with pytest.raises(Refused, match="4 MiB" if shared else "8 MiB"), rules.arrived(a, MIB):
            pass
        with rules.arrived(b, 16 * MIB), pytest.raises(Refused), rules.arrived(b, 1):
            pass
    with rules.arrived(a, 3 * MIB):
        with rules.arrived(a, 1):
            pass
        with pytest.raises(Refused, match="3 MiB"), rules.arrived(a, 6 * MIB):
            pass
    with rules.arrived(a, 100 * MIB):
        pass
    assert not rules._arrived


async def test_room_wakes_those_who_may_have_it_and_nobody_else():
    """A thousand streams wait, and a check has its verdict: each looked whether it is in, 34 ms for a check."""
    config, looks = Config(workers=1, queue_checks=4000, queue_bytes=1 << 30), list[int]()
    rules = Admission(config, True, lambda: 1.0, lambda _: 0.0)
    refusal = rules.refusal
    rules.refusal = lambda *work: looks.append(1) or refusal(*work)  # type: ignore[method-assign]
    a, b = Tenant("a", queued_checks=100), Tenant("b")
    full, other = rules.take(a, 100, 100), rules.take(b, 1000, 10)
    waiting = [asyncio.ensure_future(rules.take_when_possible(a, 10, 1, lambda: True)) for _ in range(1000)]
    await asyncio.sleep(0)
    looks.clear()
    other.give_back(1)
    await asyncio.sleep(0)
    assert len(looks) <= 8
    looks.clear()
    full.give_back(25)
    for _ in range(5):
        await asyncio.sleep(0)
    assert [one.done() for one in waiting] == [True] * 2 + [False] * 998
    assert len(looks) < 60
    full.give_back(75)
    for _ in range(20):
        await asyncio.sleep(0)
    assert sum(one.done() for one in waiting) == 10
    for one in waiting:
        one.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert not rules._lines


@pytest.mark.parametrize("before", [90, 60])  # more than there is for anybody, or for one of several tenants
async def test_what_fits_is_let_in_though_what_came_before_does_not(before: int):
    rules, a = admission(), Tenant("a")
    first = rules.take(a, 40, 1)
    waiting = [asyncio.ensure_future(rules.take_when_possible(a, checks, 1, lambda: True)) for checks in (before, 25)]
    await asyncio.sleep(0)
    assert [one.done() for one in waiting] == [False, False]
    first.give_back(10)
    for _ in range(3):
        await asyncio.sleep(0)
    assert [one.done() for one in waiting] == [False, True]
    waiting[0].cancel()


async def test_a_stream_whose_work_ends_while_it_stands_in_line_is_refused():
    rules, a = admission(), Tenant("a", queued_checks=10)
    mine, others = rules.take(a, 1, 1), rules.take(a, 9, 1)
    is_at_work = [True, True]
    waiting = [
        asyncio.ensure_future(rules.take_when_possible(a, 9, 1, lambda at=at: is_at_work[at])) for at in range(2)
    ]
    await asyncio.sleep(0)
    is_at_work[1] = False
    mine.give_back(1)
    for _ in range(3):
        await asyncio.sleep(0)
    assert [one.done() for one in waiting] == [False, True]
    assert isinstance(waiting[1].exception(), Refused)
    others.close()
    await asyncio.wait_for(waiting[0], 5)
