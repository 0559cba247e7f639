"""Ends streams, and answers to `Check`, that nobody reads where they stand in the way of others.

What is ready for a client and what waits behind it takes places and memory of its tenant, who has a bounded amount of
both. A stream that nobody reads harms nobody while the tenant has more. Where other work of the tenant waits, one such
stream is ended after the other, the largest first: what it holds is dropped, and its client hears why once it reads
again. A client that reads slowly is none of these: it takes a message now and then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence

from cruxboxd.rpc.response_stream import BYTES_A_TENANT, Answers, Outgoing
from cruxboxd.tenancy.refusal import full

log = logging.getLogger(__name__)

_LOOK_S = 1.0
_COME_BACK_S = 1.0


class Unread:
    """Looks for them.

    Args:
        answers: what is ready and has not left.
        is_held_up: whether other work of a tenant waits for verdicts to leave; told whether its streams are full.
        refused: the tenants whose work has found no room since that was last asked.
    """

    def __init__(
        self, answers: Answers, is_held_up: Callable[[str, bool], bool], refused: Callable[[], Collection[str]]
    ) -> None:
        self._answers, self._is_held_up, self._refused = answers, is_held_up, refused

    async def watch(self) -> None:
        """Look every second, until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_S)
            self.look()

    def look(self) -> None:
        """Of each tenant end one, if it has any and they harm others."""
        refused, answers = self._refused(), self._answers
        too_many, answers.refused = answers.refused, set()
        for tenant, streams in list(self._answers.open.items()):
            unread = [stream for stream in streams if stream.is_unread]
            are_full = answers.held(tenant) >= BYTES_A_TENANT
            if unread and (tenant in too_many or self._is_held_up(tenant, are_full)):
                self._end_one(tenant, sorted(_going(unread) or _much(unread), key=lambda stream: -stream.holds))
            elif unread and tenant in refused:
                holding_places = [stream for stream in _going(unread) if stream.to_come]
                self._end_one(tenant, sorted(holding_places, key=lambda stream: -stream.to_come))

    def _end_one(self, tenant: str, streams: Sequence[Outgoing]) -> None:
        sentence = f"nobody has read from this call for {self._answers.unread_s:g} s, and others wait for that"
        for stream in streams:
            if stream.end(full("unread", sentence, _COME_BACK_S)):
                log.warning("a call that nobody reads is ended", extra={"tenant": tenant, "bytes": stream.holds})
                break


def _going(streams: Sequence[Outgoing]) -> list[Outgoing]:
    return [stream for stream in streams if not stream.is_ended]


def _much(streams: Sequence[Outgoing]) -> list[Outgoing]:
    """Those that were ended, if that is not enough: gRPC keeps the last message of each until its client takes it."""
    ended = [stream for stream in streams if stream.is_ended]
    return ended if sum(stream.holds for stream in ended) > BYTES_A_TENANT / 2 else []
