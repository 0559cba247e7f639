"""Scripts of rows (`cruxcell.analysis.rows`), judged by what the program's calls gave.

One worker makes the calls (`by_calls`), and another, which has not met the program, runs the script on what they gave.
So a script of many calls costs no message for each of them. What it came to is remembered for a while: on the same
values it comes to the same, whatever program they are of.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from cruxcell.protocol import frames, messages, payloads

from cruxboxd.judging.asserted import MOST_KNOWN, MOST_KNOWN_BYTES, Rows
from cruxboxd.judging.by_calls import CallsJudge
from cruxboxd.judging.charging import one_answer, read_single
from cruxboxd.judging.jobs import job_for
from cruxboxd.judging.outcomes import CheckResult, Outcome
from cruxboxd.judging.scripts import of_script
from cruxboxd.judging.series import error_of, parts_of
from cruxboxd.judging.tasks import encoded
from cruxboxd.zygotes.report import ENDS

# A character takes up to four bytes, and what holds them about a thousand.
_MOST_CHARACTERS = MOST_KNOWN_BYTES // MOST_KNOWN // 8


@dataclass(frozen=True)
class _Came:
    """What the program's calls gave: the steps up to each, the values, and the error that the last one raised."""

    steps: list[int]
    values: bytes
    error: tuple[str, str] | None


@dataclass(frozen=True)
class _Replayed:
    """What the script came to, and how many calls it has made by then."""

    judged: CheckResult
    made: int

    @property
    def is_small(self) -> bool:
        name, message, _ = self.judged.exception or ("", "", 0)
        return len(name) + len(message) + len(self.judged.detail) + self.judged.size <= _MOST_CHARACTERS


class RowsJudge(CallsJudge[Rows]):
    """Every call gave a value of builtin types, or all up to one that raised a common error."""

    async def settled(self, base: CheckResult, told: bytes, script: Rows) -> CheckResult | None:
        came = _came(told, script)
        if came is None:
            return None
        key = hashlib.sha256(came.values).digest(), self._task.limits
        seen = script.known.get(key)
        if seen is None:
            seen = await self._replay(came, script)
            if seen is None:
                return None
            if seen.is_small:
                script.known[key] = seen
                if len(script.known) > MOST_KNOWN:
                    del script.known[next(iter(script.known))]
        return _judged(base, came, seen, script)

    async def _replay(self, came: _Came, script: Rows) -> _Replayed | None:
        """The script's word on these values; None where it does not come to its end, or to an exception."""
        task, text = self._task, encoded(self._check.script)
        names = {script.name, script.entry_point(self._check.entry_point)}
        fields = [text, self._code, frames.pack([name.encode() for name in names]), came.values]
        job = job_for(self._scheduler, task, messages.JOB_REPLAY, fields, self._hash_seed, [task.program, text])
        job.follows = True
        result = await self._scheduler.run(job)
        asked = one_answer(task.limits, ENDS)
        judged = of_script(read_single(result, asked, task.limits))
        if judged.outcome not in _ENDS:  # nor is that of a worker which failed or ended badly (`charging`)
            return None
        return _Replayed(judged, result.read(asked).answers[-1].steps)


_ENDS = (Outcome.PASSED, Outcome.FAILED, Outcome.RAISED)


def _came(told: bytes, script: Rows) -> _Came | None:
    """What the program's worker told; None where that is not what all calls gave, or all to the first that raised."""
    try:
        parts = parts_of(told, len(script.lines))
        values, error = [form for _, _, form in parts], None
        if parts and parts[-1][0] == payloads.CAME_ERROR:
            error = error_of(values.pop())
        elif len(parts) != len(script.lines):
            return None
        return _Came([steps for _, steps, _ in parts], frames.pack(values), error)
    except ValueError:  # a FrameError is one
        return None


def _judged(base: CheckResult, came: _Came, seen: _Replayed, script: Rows) -> CheckResult | None:
    """The program's result. What it printed counts only if the script made all calls that its worker made."""
    judged, made = seen.judged, seen.made
    base = base.but(
        stdout=base.stdout or judged.stdout,
        stderr=base.stderr or judged.stderr,
        peak_bytes=max(base.peak_bytes, judged.peak_bytes),
    )
    if judged.outcome is Outcome.PASSED:
        if came.error is None:
            return base.but(outcome=Outcome.PASSED) if made == len(script.lines) else None
        if made != len(came.steps) or not script.lines[made - 1]:
            return None
        judged = judged.but(outcome=Outcome.RAISED, exception=(*came.error, script.lines[made - 1]))
    elif not 0 < made <= len(came.steps) or (made < len(came.steps) and (base.stdout or base.stderr)):
        return None
    steps = min(came.steps[made - 1], base.steps)
    return base.but(steps=steps, outcome=judged.outcome, detail=judged.detail, exception=judged.exception)
