"""Figures for Prometheus, kept by an observer that the engine knows only as an interface."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, start_http_server

from cruxboxd.asks import TaskAsk
from cruxboxd.pool import Pool, PoolObserver
from cruxboxd.service import Observer
from cruxboxd.verdict import Finding, Outcome

_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)


class Metrics(PoolObserver, Observer):
    """All figures of one daemon, in a registry of its own. Labels are bounded: outcomes, runtimes, tenants known."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("outcome", "tenant", "runtime")
        self._verdicts = Counter("cruxbox_verdicts", "Verdicts given", labels, registry=self.registry)
        self._queue = Histogram(
            "cruxbox_queue_seconds", "Time a check waited for a worker", buckets=_SECONDS, registry=self.registry
        )
        self._run = Histogram("cruxbox_run_seconds", "Wall time of a check", buckets=_SECONDS, registry=self.registry)
        self._cpu = Counter("cruxbox_cpu_seconds", "CPU time of checks", ("tenant",), registry=self.registry)
        self._restarts = Counter("cruxbox_zygote_restarts", "Zygotes that ended unasked", registry=self.registry)
        self._errors = Counter("cruxbox_sandbox_errors", "Our own failures", ("reason",), registry=self.registry)

    def watch(self, pool: Pool, workers: int) -> None:
        """Gauges that are read off the pool whenever somebody asks."""
        gauges = {
            "cruxbox_busy_workers": ("Workers that run now", lambda: pool.busy),
            "cruxbox_workers": ("CPU slots", lambda: workers),
            "cruxbox_queue_depth": ("Checks that wait", lambda: pool.depth),
            "cruxbox_queue_age_seconds": ("How long the oldest of them has waited", lambda: pool.queue_age_s),
        }
        for name, (text, read) in gauges.items():
            Gauge(name, text, registry=self.registry).set_function(read)

    def serve(self, port: int) -> None:
        start_http_server(port, registry=self.registry)

    def verdict(self, task: TaskAsk, finding: Finding) -> None:
        outcome = finding.outcome or Outcome.SANDBOX_ERROR
        self._verdicts.labels(outcome.name, task.tenant, task.runtime).inc()
        self._queue.observe(finding.queue_ns / 1e9)
        self._run.observe(finding.wall_ns / 1e9)
        self._cpu.labels(task.tenant).inc(finding.cpu_ns / 1e9)

    def zygote_ended(self) -> None:
        self._restarts.inc()

    def sandbox_error(self, reason: str) -> None:
        self._errors.labels(reason).inc()
