"""What is known of scripts before any candidate is met: what each one is, and the code of those that must be run.

Many samples are judged by the same script. So a script is read once for each tenant and runtime, by a worker that runs
no program, and what it said is kept within bounds. Requests that ask for the same script at the same time wait for the
same worker. No tenant is told what another one's script was read as, or sooner because another one has sent it.

The code is opaque here. Only a test's worker loads it, of the interpreter that made it.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from cruxcell.protocol.payloads import LARGE_SCRIPT

from cruxboxd.judging.expected import Kind, Reader, Reading
from cruxboxd.judging.tasks import Kept, encoded
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.settings.config import MIB
from cruxboxd.shared.waiting import on_its_own, together
from cruxboxd.zygotes.setup import ZygoteKey

_MOST, _MOST_A_TENANT = 64 * MIB, 32 * MIB
_A_SCRIPT = 1 << 10  # bytes that one counts for beside its own, as a check does where it is admitted
_AT_ONCE = MIB  # characters, or bytes of a long script, that are hashed before others get a turn on the event loop

Text = tuple[bytes, Kept]  # what it is meant to be, and it


@dataclass(frozen=True)
class _Key:
    """A script as one tenant has sent it, by its digest: the texts themselves may be many megabytes."""

    tenant: str
    runtime: str
    kind: bytes
    digest: bytes


@dataclass(eq=False)
class _Work:
    """Scripts that are being read, how many wait for each, and what was read of them."""

    texts: dict[_Key, Text]
    found: asyncio.Future[dict[_Key, Reading]]
    waiting: Counter[_Key] = field(default_factory=Counter)
    reading: asyncio.Task[dict[_Key, Reading]] | None = None

    def begin(self, reading: asyncio.Task[dict[_Key, Reading]]) -> None:
        self.reading = reading
        reading.add_done_callback(self._take)

    def end(self) -> None:
        """What is under way is not wanted."""
        if self.reading is not None:
            self.reading.cancel()

    def _take(self, reading: asyncio.Task[dict[_Key, Reading]]) -> None:
        if reading is not self.reading:
            return
        if reading.cancelled():
            self.found.cancel()
        elif (error := reading.exception()) is not None:
            self.found.set_exception(error)
        else:
            self.found.set_result(reading.result())

    def wait(self, wanted: Collection[_Key]) -> None:
        """Somebody waits for these of its scripts."""
        self.waiting.update(self.texts.keys() & wanted)

    def leave(self, wanted: Collection[_Key]) -> list[_Key]:
        """Who waited for these waits no more. The scripts that are to go: those that nobody waits for, where they are
        more than the others."""
        self.waiting.subtract(self.waiting.keys() & wanted)
        self.waiting = +self.waiting
        left = [key for key in self.texts if key not in self.waiting]
        total, spare = (sum(_A_SCRIPT + len(self.texts[key][1]) for key in keys) for keys in (self.texts, left))
        return left if 2 * spare > total else []


class KnownScripts:
    """Reads scripts, and remembers what was read.

    Args:
        most: bytes that are kept in all.
        most_a_tenant: bytes that are kept for one tenant.
    """

    def __init__(
        self, scheduler: Scheduler, hash_seed: str, most: int = _MOST, most_a_tenant: int = _MOST_A_TENANT
    ) -> None:
        self._scheduler, self._hash_seed = scheduler, hash_seed
        self._kept = _Kept(most, most_a_tenant)
        # What somebody waits for does not wait for what was asked for in bulk: so by priority, too.
        self._under_way: dict[tuple[_Key, bool], _Work] = {}

    async def read(self, texts: Sequence[Text], runtime: str, tenant: str, interactive: bool) -> list[Reading]:
        """The readings of scripts, in their order."""
        keys = await _keys(texts, runtime, tenant)
        found = {key: reading for key in keys.values() if (reading := self._kept.get(key)) is not None}
        works = {work for key in keys.values() if (work := self._under_way.get((key, interactive))) is not None}
        missing = {key: text for text, key in keys.items() if key not in found}
        for work in works:
            for key in work.texts:
                missing.pop(key, None)
        if missing:
            works.add(self._begin(missing, interactive))
        wanted = frozenset(keys.values())
        for work in works:
            work.wait(wanted)
        try:
            for read in await together(*[asyncio.shield(work.found) for work in works]):
                found.update(read)
        finally:
            for work in works:
                self._leave(work, wanted, interactive)
        return [found[keys[text]] for text in texts]

    def _begin(self, missing: dict[_Key, Text], interactive: bool) -> _Work:
        """Others may come to wait for it: so it neither ends with the RPC it began with, nor waits until verdicts of
        that have left, nor is among what these hold."""
        work = _Work(missing, asyncio.get_running_loop().create_future())
        work.begin(on_its_own(self._read(dict(missing), interactive)))
        self._under_way.update({(key, interactive): work for key in missing})
        return work

    def _leave(self, work: _Work, wanted: Collection[_Key], interactive: bool) -> None:
        """One that waited for it waits no more. What nobody waits for ends: the texts are no longer among what their
        tenant may have here. So where others wait for a small part, that is begun anew."""
        for key in (left := work.leave(wanted)):
            del self._under_way[key, interactive], work.texts[key]
        if left and not work.found.done():
            work.end()
            if work.texts:
                work.begin(on_its_own(self._read(dict(work.texts), interactive)))

    async def _read(self, missing: Mapping[_Key, Text], interactive: bool) -> dict[_Key, Reading]:
        """By workers: large scripts by themselves, which have limits of their own."""
        first = next(iter(missing))
        reader = Reader(self._scheduler, ZygoteKey(first.runtime, False, self._hash_seed), first.tenant, interactive)
        parts = [[key for key in missing if (key.kind == LARGE_SCRIPT) is is_large] for is_large in (False, True)]
        read = await together(*[reader.read([missing[key] for key in part]) for part in parts])
        found = {key: reading for part, readings in zip(parts, read) for key, reading in zip(part, readings)}
        for key, reading in found.items():
            if reading.kind not in (Kind.UNREAD, Kind.INVALID):  # which may be our doing, or for want of memory
                self._kept.put(key, reading)
        return found


async def _keys(texts: Iterable[Text], runtime: str, tenant: str) -> dict[Text, _Key]:
    keys: dict[Text, _Key] = {}
    hashed = 0
    for text in dict.fromkeys(texts):
        kind, script = text
        digest = hashlib.sha256()
        for part in range(0, len(script), _AT_ONCE):
            if hashed >= _AT_ONCE:
                hashed = 0
                await asyncio.sleep(0)
            digest.update(encoded(script[part : part + _AT_ONCE]))
            hashed += min(len(script) - part, _AT_ONCE)
        keys[text] = _Key(tenant, runtime, kind, digest.digest())
    return keys


class _Kept:
    """Readings within bounds. What has not been asked for the longest goes first: the tenant's own where it has more
    than one may have, else that of the tenant who has most."""

    def __init__(self, most: int, most_a_tenant: int) -> None:
        self._most, self._most_a_tenant = most, most_a_tenant
        self._shelves: dict[str, dict[_Key, Reading]] = {}
        self._bytes: dict[str, int] = {}

    def get(self, key: _Key) -> Reading | None:
        shelf = self._shelves.get(key.tenant, {})
        reading = shelf.pop(key, None)
        if reading is not None:
            shelf[key] = reading  # last to go
        return reading

    def put(self, key: _Key, reading: Reading) -> None:
        self._take(key)
        self._shelves.setdefault(key.tenant, {})[key] = reading
        self._bytes[key.tenant] = self._bytes.get(key.tenant, 0) + reading.size
        while self._bytes.get(key.tenant, 0) > self._most_a_tenant:
            self._take(next(iter(self._shelves[key.tenant])))
        while sum(self._bytes.values()) > self._most:
            largest = max(self._bytes, key=self._bytes.__getitem__)
            self._take(next(iter(self._shelves[largest])))

    def _take(self, key: _Key) -> None:
        reading = self._shelves.get(key.tenant, {}).pop(key, None)
        if reading is not None:
            self._bytes[key.tenant] -= reading.size
            if not self._shelves[key.tenant]:
                del self._shelves[key.tenant], self._bytes[key.tenant]
