"""Counters of verdicts: plain numbers for every verdict, converted to metrics when scraped.

A counter of the Prometheus client takes a lock, and a verdict would increment six of them: a sixth of the daemon's time
for a verdict.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from cruxboxd.judging.outcomes import CheckResult

# Upper bounds of buckets, in seconds.
_BOUNDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)


class Times:
    """A histogram of seconds."""

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect_left(_BOUNDS, seconds)] += 1
        self._sum += seconds

    def family(self, name: str, text: str) -> HistogramMetricFamily:
        """As the exporter wants it: buckets that hold what all smaller ones hold."""
        buckets, total = [], 0
        for bound, count in zip([*map(str, _BOUNDS), "+Inf"], list(self._counts)):
            total += count
            buckets.append((bound, float(total)))
        return HistogramMetricFamily(name, text, buckets=buckets, sum_value=self._sum)


class VerdictCounts(Collector):
    """Counts verdicts. Everything but `collect` is called in one thread."""

    def __init__(self) -> None:
        self._verdicts: dict[tuple[str, str, str], int] = {}
        self._cpu_ns: dict[str, int] = {}
        self._queue, self._run = Times(), Times()

    def add(self, outcome: str, tenant: str, runtime: str, judged: CheckResult) -> None:
        key = (outcome, tenant, runtime)
        self._verdicts[key] = self._verdicts.get(key, 0) + 1
        self._cpu_ns[tenant] = self._cpu_ns.get(tenant, 0) + judged.cpu_ns
        self._queue.add(judged.queue_ns / 1e9)
        self._run.add(judged.wall_ns / 1e9)

    def collect(self) -> Iterator[Metric]:
        verdicts = CounterMetricFamily("cruxbox_verdicts", "Verdicts given", labels=("outcome", "tenant", "runtime"))
        for key, count in list(self._verdicts.items()):
            verdicts.add_metric(key, count)
        cpu = CounterMetricFamily("cruxbox_cpu_seconds", "CPU time of checks", labels=("tenant",))
        for tenant, spent in list(self._cpu_ns.items()):
            cpu.add_metric((tenant,), spent / 1e9)
        yield verdicts
        yield cpu
        yield self._queue.family("cruxbox_queue_seconds", "Time a check waited for a worker")
        yield self._run.family("cruxbox_run_seconds", "Wall time of a check")
