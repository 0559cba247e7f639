"""Admission control: limits on checks, bytes and open RPCs, in total and for each tenant.

A tenant may hold as much of the queue as it leaves free, so there is always room for the next tenant. A refusal is
decided at once, before anything is queued, and names a time to retry.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from cruxboxd.settings.config import MIB, Config
from cruxboxd.shared.waiting import within
from cruxboxd.tenancy.refusal import Refused, full
from cruxboxd.tenancy.starts import LEAST_PLACES, PLACES_A_WORKER, Starts
from cruxboxd.tenancy.tenants import Tenant

RPCS = 4_096
RPCS_A_TENANT = 1_024
_LEAST_WAIT_S, _MOST_WAIT_S = 0.2, 5.0
_MOST_QUOTA_WAIT_S = 60.0
# Of what the queue holds in bytes, requests that have come and are not let in yet may be this part beside it.
_ARRIVED = 0.5
_LOOK_AHEAD = 8  # waiting streams of a tenant, of which the first that fits is let in


@dataclass
class _Held:
    """What one tenant has in the queue: RPCs, checks and bytes."""

    checks: int = 0
    bytes: int = 0
    rpcs: int = 0


@dataclass(eq=False)
class _Waiter:
    """Work of a stream that waits for room."""

    tenant: Tenant
    checks: int
    size: int
    has_work: Callable[[], bool]
    woken: asyncio.Event = field(default_factory=asyncio.Event)


class Ticket:
    """Admitted work. It is released part by part; the holder must close it. `answered` is called when every part of it
    has been judged."""

    def __init__(self, admission: Admission, tenant: str, checks: int, size: int) -> None:
        self._admission, self._tenant = admission, tenant
        self._checks, self._bytes = checks, size
        self.answered: Callable[[], None] = lambda: None

    def give_back(self, checks: int) -> bool:
        """So many checks have their verdicts; True if those were the last."""
        self._checks -= checks
        self._admission.free(self._tenant, checks, 0)
        if self._checks > 0:
            return False
        self.close()
        return True

    def close(self) -> None:
        """Give back what is left, as nobody waits for it any more."""
        self._admission.free(self._tenant, self._checks, self._bytes)
        self._checks = self._bytes = 0


async def _a_while(refused: Refused, woken: asyncio.Event) -> None:
    """Nobody wakes a stream when its tenant has CPU time again."""
    with contextlib.suppress(asyncio.TimeoutError):
        await within(refused.retry_s or _LEAST_WAIT_S, woken.wait())


class Admission:
    """The limits and their current use.

    Args:
        shared: whether several tenants share the server; else whoever calls may fill all of it.
        queue_age_s: how long the oldest waiting check has waited, for a guess when to come back.
        cpu_wait_s: seconds until a tenant has CPU time again, by name.
    """

    def __init__(
        self, config: Config, shared: bool, queue_age_s: Callable[[], float], cpu_wait_s: Callable[[str], float]
    ) -> None:
        self._most = _Held(config.queue_checks, config.queue_bytes, RPCS)
        self._shared, self._message_bytes = shared, config.max_message_bytes
        self._queue_age_s, self._cpu_wait_s = queue_age_s, cpu_wait_s
        self._all = _Held()
        self._of: dict[str, _Held] = {}
        self._arrived: Counter[str] = Counter()  # bytes, by tenant
        self._lines: dict[str, dict[_Waiter, None]] = {}  # of each tenant, in the order in which they came
        self._refused: set[str] = set()
        self.starts = Starts(max(LEAST_PLACES, PLACES_A_WORKER * config.workers) if shared else 0)

    @property
    def checks(self) -> int:
        """Checks that were accepted and have no verdict yet."""
        return self._all.checks

    # ---- RPCs -------------------------------------------------------------------------------------------------

    def enter(self, tenant: Tenant) -> None:
        """Count an RPC in; raises Refused when too many are open."""
        held = self._seen(tenant.name)
        if self._all.rpcs >= self._most.rpcs or (self._shared and held.rpcs >= RPCS_A_TENANT):
            raise full("calls", f"{held.rpcs} calls of yours are open", self._wait_s())
        self._held(tenant.name).rpcs += 1
        self._all.rpcs += 1

    def leave(self, tenant: Tenant) -> None:
        held = self._held(tenant.name)
        held.rpcs -= 1
        self._all.rpcs -= 1
        self._forget(tenant.name, held)

    # ---- work --------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def arrived(self, tenant: Tenant, size: int) -> Iterator[None]:
        """A request of so many bytes is here and waits to be let in. Raises Refused where a tenant has too many: it may
        open a thousand streams, each of which reads a request ahead. One it may always have."""
        name = tenant.name
        own = self._arrived[name]
        spare = _ARRIVED * self._most.bytes - sum(self._arrived.values()) - (own if self._shared else 0)
        if own and size > spare:
            raise full("bytes", f"{own // MIB} MiB of your requests wait to be let in", self._wait_s())
        self._arrived[name] += size
        try:
            yield
        finally:
            self._arrived[name] -= size
            if not self._arrived[name]:
                del self._arrived[name]

    def holds_too_much(self, parts: Mapping[str, int]) -> tuple[str, Refused] | None:
        """A tenant that holds too much, by the bytes of requests that have come in part, and what it hears. As of those
        that have come, each may have one, and of more as much as it leaves free."""
        free = _ARRIVED * self._most.bytes - sum(self._arrived.values()) - sum(parts.values())
        for name, size in parts.items():
            own = size + self._arrived[name] if self._shared else 0
            if size > self._message_bytes and own > free:
                return name, full("bytes", f"{size // MIB} MiB of your requests have come in part", self._wait_s())
        return None

    def ask(self, tenant: Tenant, checks: int, size: int) -> None:
        """Raises Refused if work of this size could not be let in now."""
        refused = self.refusal(tenant, checks, size)
        if refused is not None and refused.reason != "too_large":
            self._refused.add(tenant.name)
        refused = refused or self._overspent(tenant)
        if refused is not None:
            raise refused

    def refused(self) -> set[str]:
        """The tenants for whose work there has been no room since this was last asked."""
        found, self._refused = self._refused, set()
        return found

    def take(self, tenant: Tenant, checks: int, size: int) -> Ticket:
        """Let work in; raises Refused when there is no room."""
        self.ask(tenant, checks, size)
        return self._let_in(tenant, checks, size)

    async def take_when_possible(self, tenant: Tenant, checks: int, size: int, has_work: Callable[[], bool]) -> Ticket:
        """Let work of a stream in, waiting for room, and for CPU time where the tenant's quota is used up, as long as
        the stream `has_work` whose end makes some.

        Not reading on is how a stream is slowed down: it costs the client nothing. A stream that has nothing under
        way is refused at once, as nothing would be lost with it.
        """
        with self._in_line(_Waiter(tenant, checks, size, has_work)) as woken:
            while has_work():
                refused = self.refusal(tenant, checks, size) or self._overspent(tenant)
                if refused is None:
                    return self._let_in(tenant, checks, size)
                if refused.reason == "too_large":
                    raise refused
                woken.clear()
                await (_a_while(refused, woken) if refused.reason == "cpu" else woken.wait())
        return self.take(tenant, checks, size)

    @contextlib.contextmanager
    def _in_line(self, waiter: _Waiter) -> Iterator[asyncio.Event]:
        line = self._lines.setdefault(waiter.tenant.name, {})
        line[waiter] = None
        try:
            yield waiter.woken
        finally:
            del line[waiter]
            if not line:
                del self._lines[waiter.tenant.name]
            self._wake()

    def _wake(self) -> None:
        """Of each tenant, the first that may fit; once it is in, the next. All of them would be a thousand streams for
        each check that has its verdict."""
        for line in self._lines.values():
            for waiter in islice(line, _LOOK_AHEAD):
                if self._may_fit(waiter):
                    waiter.woken.set()
                    break

    def _may_fit(self, waiter: _Waiter) -> bool:
        has_checks = waiter.checks <= self._most.checks - self._all.checks
        has_bytes = waiter.size <= self._most.bytes - self._all.bytes
        return has_checks and has_bytes and self.refusal(waiter.tenant, waiter.checks, waiter.size) is None

    def _let_in(self, tenant: Tenant, checks: int, size: int) -> Ticket:
        for held in (self._all, self._held(tenant.name)):
            held.checks += checks
            held.bytes += size
        return Ticket(self, tenant.name, checks, size)

    def free(self, name: str, checks: int, size: int) -> None:
        """Room becomes free: used by tickets."""
        held = self._held(name)
        for each in (self._all, held):
            each.checks -= checks
            each.bytes -= size
        self._forget(name, held)
        self._wake()
        if size:  # a request has all its verdicts: its stream may have nothing under way, which then is refused
            for waiter in self._lines.get(name, ()):
                if not waiter.has_work():
                    waiter.woken.set()

    def refusal(self, tenant: Tenant, checks: int, size: int) -> Refused | None:
        """Why this work cannot be let in now; None if it can."""
        most, held = self._most_of(tenant), self._seen(tenant.name)
        if checks > most.checks or size > most.bytes:
            sentence = f"{checks} checks in {size} bytes never fit; send at most {most.checks} in {most.bytes} bytes"
            return full("too_large", sentence, self._wait_s())
        if tenant.queued_checks and held.checks + checks > tenant.queued_checks:
            quota = tenant.queued_checks
            return full("quota", f"{held.checks} checks of yours wait, and your quota is {quota}", self._wait_s())
        spare = _Held(self._most.checks - self._all.checks, self._most.bytes - self._all.bytes)
        # Whoever has nothing here may use whatever is left, so that no share can be too small for one request.
        if self._shared and held.checks:
            spare = _Held(spare.checks - held.checks, spare.bytes - held.bytes)
        if checks > spare.checks:
            return full("queue", f"{self._all.checks} checks wait already, {held.checks} of them yours", self._wait_s())
        if size > spare.bytes:
            return full("bytes", f"{self._all.bytes // MIB} MiB of checks wait already", self._wait_s())
        return None

    def _overspent(self, tenant: Tenant) -> Refused | None:
        wait_s = self._cpu_wait_s(tenant.name)
        if not wait_s:
            return None
        sentence = f"your quota of {tenant.cpu_seconds_per_minute:g} CPU seconds a minute is used up"
        return full("cpu", sentence, min(max(wait_s, _LEAST_WAIT_S), _MOST_QUOTA_WAIT_S))

    def _most_of(self, tenant: Tenant) -> _Held:
        checks = min(self._most.checks, tenant.queued_checks or self._most.checks)
        return _Held(checks, self._most.bytes)

    def _wait_s(self) -> float:
        return min(max(self._queue_age_s(), _LEAST_WAIT_S), _MOST_WAIT_S)

    def _seen(self, name: str) -> _Held:
        """What a tenant has here. Who only asks leaves no trace: names may be any that an authority gives."""
        return self._of.get(name) or _Held()

    def _held(self, name: str) -> _Held:
        """The same, to be added to."""
        return self._of.setdefault(name, _Held())

    def _forget(self, name: str, held: _Held) -> None:
        if not (held.checks or held.rpcs or held.bytes):
            self._of.pop(name, None)
