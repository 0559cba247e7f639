"""The benchmark against a real daemon, in small: every section gives its figures, and every verdict is the true one."""

from __future__ import annotations

import os
from collections.abc import Iterator

import psutil
import pytest
from cruxbox import Client, Isolation, Limits
from cruxcell import native

from bench import busy, confinement, daemon, latency, memory, ours, stepcount
from bench.rounds import run
from bench.workload import HONEST, Kind, tasks

_ALL_KINDS = {**HONEST, Kind.LOOPS: 5, Kind.STALLS: 0.5, Kind.HOGS: 2}  # shares

# The names of the outcomes each kind may end in.
_OUTCOMES = {
    Kind.GOOD: {"PASSED"},
    Kind.WRONG: {"FAILED"},
    Kind.RAISES: {"RAISED"},
    Kind.LOOPS: {"STEP_LIMIT", "TIMED_OUT"},
    Kind.STALLS: {"TIMED_OUT"},
    Kind.HOGS: {"MEMORY_LIMIT", "RAISED", "STEP_LIMIT", "TIMED_OUT", "OUTPUT_LIMIT"},
}


@pytest.fixture(scope="module")
def server() -> Iterator[daemon.Daemon]:
    with daemon.running("", "--workers", "2") as running:
        yield running


@pytest.fixture(scope="module")
def client(server: daemon.Daemon) -> Iterator[Client]:
    with Client(server.target) as connected:
        yield connected


def _keys(figures) -> set[str]:
    return {figure.key for figure in figures}


def test_every_way_of_ours_gives_the_true_verdicts(client, server):
    methods = [*ours.engine_methods(), *ours.grpc_methods(client, server)]
    series = run(methods, 1, 0.01, 11, lambda _: None)
    assert len(series) == 5
    for one in series.values():
        assert (one.wrong, one.failed) == (0, 0), one.examples
        assert one.cpu_micros[0] > 0


@pytest.mark.parametrize("isolation", [Isolation.AUTO, Isolation.PROCESS])
def test_every_kind_of_generated_work_ends_as_it_should(client, isolation):
    limits = Limits(cpu_ms=300, steps=500_000, memory_bytes=128 << 20)
    works = [work for kind in Kind for work in tasks(17, 8, 2, {kind: 1})] + list(tasks(18, 20, 5, _ALL_KINDS))
    verdicts = iter(client.check(ours.tasks_of(works, isolation, limits)))
    for work in works:
        for probe in work.probes:
            verdict = next(verdicts)
            assert verdict.outcome.name in _OUTCOMES[probe.kind], (verdict, probe, work.program)


def test_latency_and_stalls(client):
    figures = [*latency.single_check(client, "unix", 10, 1), *latency.stalls(client, 2, 1)]
    assert _keys(figures) == {"latency_unix_p50", "latency_unix_p99", "python_loop", "c_stall_excess"}


def test_scale_and_footprint(client, server):
    assert _keys(latency.scale(client, [100, 200], 1, lambda _: None)) == {"rate_100", "rate_200", "scale_flat"}
    weights = {figure.key: figure.value for figure in memory.footprint(server)}
    assert weights["resident_rss"] > 10
    if os.geteuid() == 0:  # the pages of an undumpable zygote are root's to see
        assert 10 < weights["resident"] <= weights["resident_rss"]
    else:
        assert "resident" not in weights


def test_stream_memory_is_sampled(client, server):
    figures = {figure.key: figure for figure in memory.million(client, server, 1000, 1, lambda _: None)}
    assert figures["million_errors"].value == 0
    assert set(figures) == {"million_client_growth", "million_daemon_growth", "million_errors"}


def test_busy_loops_start_and_leave_nothing_behind(client):
    own = psutil.Process()
    before = {child.pid for child in own.children()}
    with busy.busy_loops(2):
        assert len({child.pid for child in own.children()} - before) == 2
    assert {child.pid for child in own.children()} - before == set()


def test_verdicts_beside_busy_loops(client):
    work = list(ours.tasks_of(tasks(5, 10, 5), Isolation.AUTO))
    (figure,) = busy.compare(client, work)
    assert figure.value == 0, figure.detail


def test_step_counter_is_measured():
    if native.load(pure=False).NAME == "pure":
        with pytest.raises(RuntimeError, match="no native helper"):
            list(stepcount.figures(1))
    else:
        assert _keys(stepcount.figures(1)) == {"step_counter", "step_counter_pure"}


@pytest.mark.kernel
def test_confinement_is_measured():
    (figure,) = confinement.figures(1, 0.02, 1, lambda _: None)
    assert figure.key == "confinement_adds"
    assert "CPU time" in figure.detail


def test_a_daemon_that_does_not_start_is_explained():
    with pytest.raises(RuntimeError, match="does not serve on"), daemon.running("", "--workers", "0"):
        pass
