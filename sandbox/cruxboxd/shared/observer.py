"""The interface through which the parts of the daemon report events; the metrics implement it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # only for annotations: all modules below these report here
    from cruxboxd.judging.outcomes import CheckResult
    from cruxboxd.judging.tasks import Task


class Observer:
    """Receives events. This base class ignores all of them."""

    def verdict(self, task: Task, judged: CheckResult) -> None:
        """A check has its verdict, which is sent next."""

    def refused(self, tenant: str, reason: str) -> None:
        """An RPC was refused; `reason` is one of `refusal`."""

    def zygote_ended(self) -> None:
        """A zygote ended by itself."""

    def sandbox_error(self, reason: str) -> None:
        """The sandbox failed."""

    def seal_broken(self, what: tuple[str, ...]) -> None:
        """A check left changed state for the next one in its worker; `what` are the names of `seals`."""

    def audited(self) -> None:
        """A check that shared a worker ran again alone."""

    def audit_mismatch(self) -> None:
        """A check had another result when it ran again alone."""
