"""A tenant that needs less than its share: single checks at a steady pace, each compared with the truth."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping

from cruxbox import AsyncClient, Outcome
from cruxbox.errors import CruxboxError

from bench.load import LIGHT, Tally, batch

A_SECOND = 20


async def steadily(target: str, token: str, tally: Tally, seconds: float, a_second: int) -> None:
    """So many checks a second for some time, whatever became of the last. The time of each is since it was due."""
    rng = random.Random(1)
    async with AsyncClient(target, token=token, retries=30) as client:
        await client.check(batch(LIGHT, 30, rng)[0])  # the zygotes of its programs start

        async def one(due: float) -> None:
            tasks, [allowed] = batch(LIGHT, 1, rng)
            tally.asked += 1
            try:
                [verdict] = await client.check(tasks)
            except CruxboxError as error:
                tally.errors[type(error).__name__] += 1
                return
            tally.latencies_s.append(time.monotonic() - due)
            tally.answered += 1
            if verdict.outcome is Outcome.SANDBOX_ERROR:
                tally.masked += 1
            elif verdict.outcome not in allowed:
                tally.wrong.append(f"{verdict.outcome.name} {verdict.detail}: {tasks[0].program!r}")

        under_way, began = [], time.monotonic()
        for number in range(int(seconds * a_second)):
            due = began + number / a_second
            await asyncio.sleep(max(0.0, due - time.monotonic()))
            under_way.append(asyncio.create_task(one(due)))
        await asyncio.gather(*under_way)


def light(target: str, tokens: Mapping[str, str], seconds: float, a_second: int = A_SECOND) -> Tally:
    """This tenant for some time, in a process of its own."""
    tally = Tally()
    asyncio.run(steadily(target, tokens[LIGHT], tally, seconds, a_second))
    return tally
