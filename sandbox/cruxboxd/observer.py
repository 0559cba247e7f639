"""The interface through which the parts of the daemon report events; the metrics implement it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # below everything that tells
    from cruxboxd.judging.outcomes import CheckResult
    from cruxboxd.judging.tasks import Task


class Observer:
    """This one listens to nothing."""

    def verdict(self, task: Task, judged: CheckResult) -> None:
        """A check has its verdict, which is about to leave."""

    def refused(self, tenant: str, reason: str) -> None:
        """A call was not let in; `reason` is one of `refusal`."""

    def zygote_ended(self) -> None:
        """A zygote ended unasked."""

    def sandbox_error(self, reason: str) -> None:
        """Something of ours failed."""

    def seal_broken(self, what: tuple[str, ...]) -> None:
        """A check left behind what the next one in its worker would have found; `what` are the names of `seals`."""

    def audited(self) -> None:
        """A check that shared a worker ran again alone."""

    def audit_mismatch(self) -> None:
        """It came to something else."""
