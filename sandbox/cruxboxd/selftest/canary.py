"""Canaries: checks with a known outcome that run periodically in the ordinary workers.

If `pass` does not pass or `fail` passes, verdicts are wrong or missing. If `forgery` passes, a candidate can make a
wrong answer pass; it fails for no other reason, such as a late answer. `scheduling` runs no check: it fails while
work waits that nothing holds back, which none of the daemon's own checks would notice. A failed canary logs how long
it waited for a worker, and the state of the scheduler. One that is late logs that while it waits.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from cruxboxd.judging.judge import Judge
from cruxboxd.judging.outcomes import CheckResult, Outcome
from cruxboxd.judging.tasks import CallCheck, Check, StepCount, Task, encoded
from cruxboxd.settings.config import Limits
from cruxboxd.shared.waiting import within
from cruxboxd.tenancy.tenants import HOUSE

log = logging.getLogger(__name__)

_ANSWER_WITHIN_S = 30.0
_LATE_S = 5.0
_STALLED_S = 5.0  # seconds for which work may wait although nothing holds it back
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

Where = Callable[[], dict[str, object]]  # what there is to do in the scheduler, and who is at it


class Canaries:
    """Sends the canaries every `every_s` seconds and tells `tell(name, is_right)`.

    They count in no tenant's quota and in no metric but their own.
    """

    def __init__(
        self, judge: Judge, runtime: str, every_s: float, tell: Callable[[str, bool], None], where: Where = dict
    ) -> None:
        self._judge, self._every_s, self._tell, self._where = judge, every_s, tell, where
        self._tasks = {name: _task(name, *canary[:3], runtime) for name, canary in _CANARIES.items()}

    async def run(self) -> None:
        """For ever; cancel it to end it."""
        while True:
            await self.send()
            await asyncio.sleep(self._every_s)

    async def send(self) -> dict[str, Outcome | None]:
        """All canaries once; their outcomes, None where none came in time."""
        found: dict[str, CheckResult | None] = dict.fromkeys(self._tasks)

        async def emit(task: Task, _ask: Check, judged: CheckResult, _second: CheckResult | None) -> None:
            found[task.id] = judged

        late = asyncio.get_running_loop().call_later(_LATE_S, self._say_late, found)
        try:
            await within(_ANSWER_WITHIN_S, self._judge.judge(list(self._tasks.values()), emit))
        except asyncio.TimeoutError:
            log.warning("a canary was not answered in time", extra={"seconds": _ANSWER_WITHIN_S})
        except Exception:
            log.exception("a canary could not be judged")
        finally:
            late.cancel()
        where = self._where()
        for name, judged in found.items():
            self._judge_canary(name, judged, where)
        stalled_s = where.get("stalled_s", 0.0)
        self._tell("scheduling", not (isinstance(stalled_s, float) and stalled_s > _STALLED_S))
        if isinstance(stalled_s, float) and stalled_s > _STALLED_S:
            log.error("canary is red", extra={"canary": "scheduling", **where})
        return {name: judged.outcome if judged else None for name, judged in found.items()}

    def _say_late(self, found: dict[str, CheckResult | None]) -> None:
        names = [name for name, judged in found.items() if judged is None]
        log.warning("a canary is late", extra={"late": names, "seconds": _LATE_S, **self._where()})

    def _judge_canary(self, name: str, judged: CheckResult | None, where: dict[str, object]) -> None:
        outcome = judged.outcome if judged else None
        is_right = outcome in _CANARIES[name][3] or (name == "forgery" and outcome is None)
        self._tell(name, is_right)
        if not is_right:
            log.error("canary is red", extra={"canary": name, **_how_far(judged), **where})


def _how_far(judged: CheckResult | None) -> dict[str, object]:
    """What is known of a canary that is red."""
    if judged is None:
        return {"outcome": "none"}
    return {
        "outcome": judged.outcome.name if judged.outcome else "none",
        "detail": judged.detail,
        "attempts": judged.attempts,
        "waited_ms": judged.queue_ns // 1_000_000,
        "wall_ms": judged.wall_ns // 1_000_000,
        "cpu_ms": judged.cpu_ns // 1_000_000,
    }


def _task(name: str, program: str, call: str, expected: str, runtime: str) -> Task:
    return Task(
        id=name,
        program=encoded(program),
        checks=[CallCheck("", call, expected)],
        limits=_LIMITS,
        runtime=runtime,
        share=False,
        require=None,
        repeat=1,
        step_count=StepCount.INSTRUCTIONS,
        tenant=HOUSE,
        interactive=True,
    )
