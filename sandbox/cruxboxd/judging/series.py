"""Scripts that only assert what calls with constants give, judged by their calls.

A worker that runs no program takes the script apart (`cruxcell.analysis.series`), and another makes the calls
(`by_calls`). Here the values are compared, to the first that differs. So such a script costs a part of one worker
instead of two.
"""

from __future__ import annotations

import struct

from cruxcell.protocol import frames, messages, payloads

from cruxboxd.judging.asserted import MOST_STEPS, Series
from cruxboxd.judging.by_calls import CallsJudge
from cruxboxd.judging.outcomes import CheckResult, Outcome
from cruxboxd.judging.scripts import NO_ASSERTION
from cruxboxd.zygotes.report import text

_MOST_NAME, _MOST_TEXT = 200, 6 * messages.MAX_TEXT  # bytes


class SeriesJudge(CallsJudge[Series]):
    """Every call gave the plain value that is expected, or one gave another, or a common error."""

    async def settled(self, base: CheckResult, told: bytes, script: Series) -> CheckResult | None:
        return _compared(base, told, script)


def _compared(base: CheckResult, told: bytes, series: Series) -> CheckResult | None:
    """The values against what is expected of them, to the first that differs."""
    try:
        fields = frames.unpack(told, 2 * MOST_STEPS)
        for at, (step, head, data) in enumerate(zip(series.steps, fields[0::2], fields[1::2]), 1):
            kind, steps = payloads.SERIES_CAME.unpack(head)
            if kind == payloads.CAME_VALUE and data == step.canonical:
                continue
            is_last = 2 * at == len(fields)
            if not step.line or not (is_last or not (base.stdout or base.stderr)):
                return None  # what calls behind it printed is not this one's
            ended = base.but(steps=min(steps, base.steps))
            if kind == payloads.CAME_VALUE:
                error = "AssertionError", step.message, step.line
                return ended.but(outcome=Outcome.FAILED, detail=NO_ASSERTION, exception=error)
            return ended.but(outcome=Outcome.RAISED, exception=(*error_of(data), step.line))
    except (frames.FrameError, ValueError, struct.error):
        return None
    is_whole = len(fields) == 2 * len(series.steps)
    return base.but(outcome=Outcome.PASSED) if is_whole else None


def error_of(data: bytes) -> tuple[str, str]:
    """(name, text) of an error that a call came to. Raises FrameError where no worker has written it."""
    name, message = frames.unpack(data, 2)
    if len(name) > _MOST_NAME or len(message) > _MOST_TEXT:
        raise frames.FrameError("an error that is too long")
    return text(name), text(message)
