"""The audit: a random share of the checks that shared a worker runs again alone, and the results are compared.

It is the last of three layers (docs/design/shared-workers.md). It alone assumes nothing about how one check could
affect another. The result of an audited check is that of its run alone. After one difference, no unreleased result from
a shared worker of that RPC is used.
"""

from __future__ import annotations

import logging
import math
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from cruxcell.protocol.messages import SEEDLESS

from cruxboxd.judging.outcomes import CheckResult, Clock, Outcome
from cruxboxd.shared.observer import Observer

log = logging.getLogger(__name__)

_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_ADDRESS_BYTES = re.compile(rb"0x[0-9a-f]{6,}")


@dataclass(frozen=True)
class Audited:
    """A check under audit, named for the log."""

    rpc_id: int
    task_id: str
    check_id: str


class Audit:
    """Which checks are audited, and which RPCs are suspect. One for a daemon.

    Args:
        share: of the checks that share a worker, the part that runs again alone: 0 (none) to 1 (all).
    """

    def __init__(self, share: float, observer: Observer | None = None) -> None:
        self._share, self._observer = share, observer or Observer()
        self._random = random.SystemRandom()
        self._next = self._gap()
        self._suspects: set[int] = set()

    def _gap(self) -> int:
        """How many checks until the next audit: each is drawn with the same probability, whatever came before."""
        if not 0 < self._share < 1:
            return 0
        return int(math.log(1 - self._random.random()) / math.log1p(-self._share))

    def draw(self, checks: int) -> tuple[int, ...]:
        """The places, of so many checks, of those that are to be audited."""
        if not self._share:
            return ()
        places = []
        while self._next < checks:
            places.append(self._next)
            self._next += 1 + self._gap()
        self._next -= checks
        return tuple(places)

    def is_suspect(self, rpc_id: int) -> bool:
        """Has an audit of this RPC found a difference?"""
        return rpc_id in self._suspects

    def forget(self, rpc_id: int) -> None:
        """The RPC is over. Not before: how many others are suspect meanwhile is for nobody to use."""
        self._suspects.discard(rpc_id)

    async def run_again(
        self, audited: Audited, shared: CheckResult, run_alone: Callable[[], Awaitable[CheckResult]]
    ) -> CheckResult:
        """Run a check that shared a worker again alone, and report a difference. If runs alone differ from each other,
        the difference says nothing.

        Returns:
            What the check came to alone, which is its result. So neighbours have no part in a limit that it met, nor
            in what is not compared.
        """
        alone = await run_alone()
        if difference(shared, alone):
            others = [await run_alone() for _ in range(2)]
            if any(difference(alone, other) for other in others):
                return alone
        self.compare(audited, shared, alone)
        return alone

    def compare(self, audited: Audited, shared: CheckResult, alone: CheckResult) -> None:
        """Count an audit, and suspect the RPC if the check came to something else alone."""
        self._observer.audited()
        differs = difference(shared, alone)
        if not differs:
            return
        self._suspects.add(audited.rpc_id)
        self._observer.audit_mismatch()
        log.error(
            "a check that shared a worker came to something else alone",
            extra={"task": ascii(audited.task_id), "check": ascii(audited.check_id), "differs": differs},
        )


def difference(shared: CheckResult, alone: CheckResult) -> str:
    """What is not the same in two runs of a check: "outcome", "value", "exception", "notes", "output" or "steps"; "" if
    nothing is, or if one of the runs says nothing about the other: it failed through the sandbox, or it exceeded a
    limit of time or memory, which the other run need not exceed."""
    if not (_is_conclusive(shared, alone) and _is_conclusive(alone, shared)):
        return ""
    told = _TOLD if shared.outcome is Outcome.TIMED_OUT is alone.outcome else {**_TOLD, **_TOLD_AT_AN_END}
    return next((name for name, part in told.items() if part(shared) != part(alone)), "")


def _is_conclusive(one: CheckResult, other: CheckResult) -> bool:
    """Does a difference to this run count?"""
    if one.outcome in (Outcome.SANDBOX_ERROR, Outcome.MEMORY_LIMIT):
        return False
    if one.outcome is not Outcome.TIMED_OUT or other.outcome is Outcome.TIMED_OUT:
        return True
    return one.clock is Clock.CPU and 2 * other.cpu_ns < one.cpu_ns


def _value(judged: CheckResult) -> tuple[object, ...]:
    """The value and the text that shows it, without addresses of objects, which are others in another process. So may
    be the order of a set: the canonical value has none, and of a text only the characters are compared."""
    shown = _ADDRESS.sub("0x", judged.shown)
    if judged.canonical is None:
        return None, shown, judged.shown_cut, judged.detail if judged.outcome is None else ""
    told = "" if judged.shown_cut else "".join(sorted(shown))
    return _ADDRESS_BYTES.sub(b"0x", judged.canonical), judged.relation, told, judged.shown_cut


def _exception(judged: CheckResult) -> tuple[str, str, int] | None:
    if judged.exception is None:
        return None
    name, message, line = judged.exception
    return name, _ADDRESS.sub("0x", message), line


def _output(judged: CheckResult) -> tuple[bytes, bytes]:
    return _ADDRESS_BYTES.sub(b"0x", judged.stdout), _ADDRESS_BYTES.sub(b"0x", judged.stderr)


def _notes(judged: CheckResult) -> tuple[object, ...]:
    """Its assurance, and the notes that leave with it: that a hash seed changes nothing, only shared workers say."""
    return judged.assurance, [name for name in judged.findings if name != SEEDLESS]


# What a result says, but for times and memory; all of it leaves in a verdict.
_TOLD: dict[str, Callable[[CheckResult], object]] = {
    "outcome": lambda judged: judged.outcome,
    "value": _value,
    "exception": _exception,
    "notes": _notes,
}
# Not of two runs that time has ended: how far each has come differs.
_TOLD_AT_AN_END: dict[str, Callable[[CheckResult], object]] = {"output": _output, "steps": lambda judged: judged.steps}
