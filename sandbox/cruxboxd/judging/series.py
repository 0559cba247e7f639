"""Scripts that only assert what calls with constants give, judged by their calls.

A worker that runs no program takes the script apart (`cruxcell.analysis.series`), and another makes the calls
(`by_calls`). Here the values are compared, to the first that differs. So such a script costs a part of one worker
instead of two.
"""

from __future__ import annotations

from cruxcell.protocol import frames, messages, payloads

from cruxboxd.judging.asserted import Series
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
        parts = parts_of(told, len(series.asserted))
        for at, (asserted, (kind, steps, data)) in enumerate(zip(series.asserted, parts), 1):
            if kind == payloads.CAME_VALUE and data == asserted.canonical:
                continue
            if not asserted.line or not (at == len(parts) or not (base.stdout or base.stderr)):
                return None  # what calls behind it printed is not this one's
            ended = base.but(steps=min(steps, base.steps))
            if kind == payloads.CAME_VALUE:
                error = "AssertionError", asserted.message, asserted.line
                return ended.but(outcome=Outcome.FAILED, detail=NO_ASSERTION, exception=error)
            return ended.but(outcome=Outcome.RAISED, exception=(*error_of(data), asserted.line))
    except ValueError:  # a FrameError is one
        return None
    return base.but(outcome=Outcome.PASSED) if len(parts) == len(series.asserted) else None


def parts_of(told: bytes, most: int) -> list[tuple[bytes, int, bytes]]:
    """(CAME_VALUE or CAME_ERROR, the steps up to it, its form) of each of at most so many calls. Raises FrameError
    where no worker has written it: what stands there may be a candidate's."""
    fields = frames.unpack(told, 2 * most)
    heads, forms = fields[0::2], fields[1::2]
    if len(heads) != len(forms) or any(len(head) != payloads.SERIES_CAME.size for head in heads):
        raise frames.FrameError("what no call came to")
    parts = [(*payloads.SERIES_CAME.unpack(head), form) for head, form in zip(heads, forms)]
    kinds = [kind for kind, _, _ in parts]
    if kinds[-1:] == [payloads.CAME_ERROR]:
        kinds.pop()
    if set(kinds) - {payloads.CAME_VALUE}:
        raise frames.FrameError("what no call came to, or calls behind one that raised")
    return parts


def error_of(data: bytes) -> tuple[str, str]:
    """(name, text) of an error that a call came to. Raises FrameError where no worker has written it."""
    name, message = frames.unpack(data, 2)
    if len(name) > _MOST_NAME or len(message) > _MOST_TEXT:
        raise frames.FrameError("an error that is too long")
    return text(name), text(message)
