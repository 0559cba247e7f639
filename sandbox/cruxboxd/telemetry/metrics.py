"""Prometheus metrics, kept by an observer that the engine knows only as an interface. docs/operations.md lists them."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge

from cruxboxd.judging.outcomes import CheckResult, Outcome
from cruxboxd.judging.tasks import Task
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.seccomp.table import TABLE
from cruxboxd.shared.observer import Observer
from cruxboxd.telemetry.verdict_counts import VerdictCounts

# Each tenant is a label value; certificates could name any number of them.
_MOST_TENANTS = 200
OTHER = "other"
_SYSCALLS = frozenset(row.name for row in TABLE)


class Metrics(Observer):
    """All figures of one daemon, in a registry of its own. Labels are bounded: outcomes, runtimes, so many tenants."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._tenants: set[str] = set()
        self._verdict_counts = VerdictCounts()
        self.registry.register(self._verdict_counts)
        self._restarts = self._counter("cruxbox_zygote_restarts", "Zygotes that ended unasked")
        self._errors = self._counter("cruxbox_sandbox_errors", "Our own failures", ("reason",))
        self._violations = self._counter("cruxbox_violations", "Forbidden system calls, forged reports", ("syscall",))
        self._audits = self._counter("cruxbox_audits", "Checks that shared a worker and ran again alone")
        self._mismatches = self._counter("cruxbox_audit_mismatches", "Audits in which the check came to something else")
        self._seals = self._counter(
            "cruxbox_seal_breaks", "Checks that left something behind in a shared worker", ("what",)
        )
        self._refused = self._counter("cruxbox_refused", "Calls refused", ("tenant", "reason"))
        self._helpers = Gauge(
            "cruxbox_native_helper", "1 if workers use the native helper", ("runtime",), registry=self.registry
        )
        self._canaries = Gauge(
            "cruxbox_canary_ok", "1 if the canary got the right verdict", ("canary",), registry=self.registry
        )

    def helper(self, runtime: str, is_native: bool) -> None:
        self._helpers.labels(runtime).set(is_native)

    def _counter(self, name: str, text: str, labels: tuple[str, ...] = ()) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def watch(self, scheduler: Scheduler, workers: int) -> None:
        """Register gauges that read the scheduler when scraped."""
        self._gauge("cruxbox_busy_workers", "Workers that run now", lambda: scheduler.busy)
        self._gauge("cruxbox_workers", "CPU slots", lambda: workers)
        self._gauge("cruxbox_queue_depth", "Checks that wait", lambda: scheduler.depth)
        self._gauge(
            "cruxbox_stalled_seconds", "How long work has waited that nothing holds back", lambda: scheduler.stalled_s
        )
        self._gauge(
            "cruxbox_queue_age_seconds", "How long the oldest of them has waited", lambda: scheduler.queue_age_s
        )

    def watch_accepted(self, accepted: Callable[[], float]) -> None:
        self._gauge("cruxbox_accepted_checks", "Checks accepted that have no verdict yet", accepted)

    def _gauge(self, name: str, text: str, read: Callable[[], float]) -> None:
        Gauge(name, text, registry=self.registry).set_function(lambda: _steady(read))

    # ---- what is told ------------------------------------------------------------------------------------------

    def verdict(self, task: Task, judged: CheckResult) -> None:
        outcome = judged.outcome or Outcome.SANDBOX_ERROR
        self._verdict_counts.add(outcome.name, self._tenant(task.tenant), task.runtime, judged)
        if outcome is Outcome.VIOLATION:
            self._violations.labels(violated(judged)).inc()
        elif outcome is Outcome.SANDBOX_ERROR:
            self._errors.labels("verdict").inc()

    def refused(self, tenant: str, reason: str) -> None:
        self._refused.labels(self._tenant(tenant), reason).inc()

    def canary(self, name: str, is_right: bool) -> None:
        self._canaries.labels(name).set(is_right)

    def audited(self) -> None:
        self._audits.inc()

    def audit_mismatch(self) -> None:
        self._mismatches.inc()

    def seal_broken(self, what: tuple[str, ...]) -> None:
        for name in what:
            self._seals.labels(name).inc()

    def zygote_ended(self) -> None:
        self._restarts.inc()

    def sandbox_error(self, reason: str) -> None:
        self._errors.labels(reason).inc()

    def _tenant(self, name: str) -> str:
        if name not in self._tenants:
            if len(self._tenants) >= _MOST_TENANTS:
                return OTHER
            self._tenants.add(name)
        return name


def _steady(read: Callable[[], float]) -> float:
    """A figure of the engine read from the exporter's thread: again, if the engine was just changing it."""
    for _ in range(5):
        try:
            return read()
        except (RuntimeError, StopIteration, KeyError):
            continue
    return float("nan")


def violated(judged: CheckResult) -> str:
    """The system call that a violation was; "report" where it was a forged report, else "unknown"."""
    if judged.forged:
        return "report"
    return judged.syscall if judged.syscall in _SYSCALLS else "unknown"
