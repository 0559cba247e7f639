"""Canaries: checks whose outcome is known, judged all the time in the ordinary workers.

A pass that does not pass, or a fail that passes, says that verdicts are wrong or do not come. A forgery that passes
says that a candidate can make a wrong answer pass: `forgery` is red for that alone, never for an answer that is late.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from cruxboxd.judging.judge import Judge
from cruxboxd.judging.outcomes import Finding, Outcome
from cruxboxd.judging.tasks import Ask, CallAsk, StepCount, TaskAsk
from cruxboxd.settings.config import Limits
from cruxboxd.tenancy.tenants import HOUSE

log = logging.getLogger(__name__)

_ANSWER_WITHIN_S = 30.0
_LIMITS = Limits(cpu_ms=2_000, wall_ms=10_000, memory_bytes=256 << 20, steps=1_000_000, output_bytes=1 << 16)
_FORGER = """\
class AlwaysEqual(str):
    def __eq__(self, other):
        return True
    def __ne__(self, other):
        return False
    __hash__ = str.__hash__
def f(x):
    return AlwaysEqual(x)
"""
_HONEST = "def f(x):\n    return x[::-1]\n"

# Name -> (program, call, expected, the outcomes that are right).
_CANARIES = {
    "pass": (_HONEST, "f('crux')", "'xurc'", {Outcome.PASSED}),
    "fail": (_HONEST, "f('crux')", "'crux'", {Outcome.FAILED}),
    "forgery": (_FORGER, "f('crux')", "'xurc'", set(Outcome) - {Outcome.PASSED}),
}


class Canaries:
    """Sends the canaries every `every_s` seconds and tells `tell(name, is_right)`.

    They count in no tenant's quota and in no figure but their own.
    """

    def __init__(self, judge: Judge, runtime: str, every_s: float, tell: Callable[[str, bool], None]) -> None:
        self._judge, self._every_s, self._tell = judge, every_s, tell
        self._tasks = {name: _task(name, *canary[:3], runtime) for name, canary in _CANARIES.items()}

    async def run(self) -> None:
        """For ever; cancel it to end it."""
        while True:
            await self.send()
            await asyncio.sleep(self._every_s)

    async def send(self) -> dict[str, Outcome | None]:
        """All canaries once; their outcomes, None where none came in time."""
        found: dict[str, Outcome | None] = dict.fromkeys(self._tasks)

        async def emit(task: TaskAsk, ask: Ask, finding: Finding, second: Finding | None) -> None:
            found[task.id] = finding.outcome

        try:
            await asyncio.wait_for(self._judge.judge(list(self._tasks.values()), emit), _ANSWER_WITHIN_S)
        except asyncio.TimeoutError:
            log.warning("a canary was not answered in time", extra={"seconds": _ANSWER_WITHIN_S})
        except Exception:
            log.exception("a canary could not be judged")
        for name, outcome in found.items():
            self._judge_canary(name, outcome)
        return found

    def _judge_canary(self, name: str, outcome: Outcome | None) -> None:
        is_right = outcome in _CANARIES[name][3] or (name == "forgery" and outcome is None)
        self._tell(name, is_right)
        if not is_right:
            log.error("canary is red", extra={"canary": name, "outcome": outcome.name if outcome else "none"})


def _task(name: str, program: str, call: str, expected: str, runtime: str) -> TaskAsk:
    return TaskAsk(
        id=name,
        program=program,
        asks=[CallAsk("", call, expected)],
        limits=_LIMITS,
        runtime=runtime,
        share=False,
        require=None,
        repeat=1,
        step_count=StepCount.INSTRUCTIONS,
        tenant=HOUSE,
        interactive=True,
    )
