"""Figures and logs: all documented, labels bounded, nothing of a candidate in them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from cruxbox import CallCheck, Outcome, Task
from cruxboxd.judging.outcomes import CheckResult
from cruxboxd.judging.outcomes import Outcome as Ended
from cruxboxd.judging.tasks import StepCount
from cruxboxd.judging.tasks import Task as TaskAsk
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.telemetry.metrics import Metrics, violated
from support.daemons import Served
from support.tasks import sums

PAGE = Path(__file__).resolve().parents[2] / "docs" / "operations.md"


def task(tenant: str) -> TaskAsk:
    return TaskAsk("t", "", [], DEFAULT_LIMITS, "python", False, None, 1, StepCount.INSTRUCTIONS, tenant=tenant)


def values(metrics: Metrics, name: str) -> dict[tuple[str, ...], float]:
    found = {}
    for family in metrics.registry.collect():
        for sample in family.samples:
            if sample.name == name:
                found[tuple(sample.labels.values())] = sample.value
    return found


def test_any_number_of_tenants_is_a_bounded_number_of_labels():
    metrics = Metrics()
    for number in range(1_000):
        metrics.verdict(task(f"tenant-{number}"), CheckResult(Ended.PASSED))
        metrics.refused(f"tenant-{number}", "quota")
    counted = values(metrics, "cruxbox_verdicts_total")
    assert len(counted) == 201
    assert sum(counted.values()) == 1_000
    assert counted["PASSED", "other", "python"] == 800


@pytest.mark.parametrize(
    ("judged", "label"),
    [
        (CheckResult(Ended.VIOLATION, "a forbidden system call: ptrace", syscall="ptrace"), "ptrace"),
        (CheckResult(Ended.VIOLATION, syscall="io_uring_setup"), "io_uring_setup"),
        (CheckResult(Ended.VIOLATION, syscall="number 9999"), "unknown"),
        (CheckResult(Ended.VIOLATION, "a forbidden system call"), "unknown"),
        (CheckResult(Ended.VIOLATION, "its report is garbled: ptrace", forged=True), "report"),
    ],
)
def test_violations_are_counted_by_system_call(judged, label):
    metrics = Metrics()
    metrics.verdict(task("a"), judged)
    assert violated(judged) == label
    assert values(metrics, "cruxbox_violations_total")[(label,)] == 1


def test_every_figure_stands_in_the_manual(tmp_path):
    with Served(tmp_path) as daemon, daemon.client() as client:
        client.check(sums(3))
        shown = {name for name in _names(daemon) if not name.endswith("_created")}
    written = set(re.findall(r"`(cruxbox_\w+)", PAGE.read_text()))
    assert {re.sub(r"_(bucket|sum|count)$", "", name) for name in shown} == written


def _names(daemon: Served) -> set[str]:
    import urllib.request

    with urllib.request.urlopen(f"http://127.0.0.1:{daemon.metrics_port}/metrics", timeout=10) as answer:
        return set(re.findall(r"^# TYPE (cruxbox_\w+)", answer.read().decode(), re.M))


def test_verdicts_are_counted_and_candidates_are_not_logged(tmp_path):
    secret = "xyzzy_candidate_text"
    programs = {
        f"def f(x):\n    return '{secret}'": Outcome.FAILED,
        f"def f(x):\n    raise ValueError('{secret}')": Outcome.RAISED,
        f"def f(x):\n    print('{secret}'); import os; os._exit(3)": Outcome.CRASHED,
        f"{secret} = (": Outcome.INVALID,
    }
    with Served(tmp_path, "--log-level", "debug") as daemon, daemon.client() as client:
        tasks = [Task(program, [CallCheck("f(1)", f"'{secret}2'")]) for program in programs]
        assert [verdict.outcome for verdict in client.check(tasks)] == list(programs.values())
        for outcome in programs.values():
            assert daemon.metric("cruxbox_verdicts_total", outcome=outcome.name, tenant="default") == 1
        assert daemon.metric("cruxbox_cpu_seconds_total", tenant="default") > 0
        assert daemon.metric("cruxbox_workers") == 2
        assert daemon.stop() == 0
        log = daemon.log
    lines = [json.loads(line) for line in log.splitlines()]
    assert secret not in log
    ended = [line for line in lines if line["message"] == "call ended"]
    assert [(line["code"], line["checks"], line["tenant"]) for line in ended] == [("OK", 4, "default")]
    assert re.fullmatch("[0-9a-f]{16}", ended[0]["request_id"])
