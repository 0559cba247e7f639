"""Alerts, dashboard and adapter speak of metrics that the daemon has, and of a runbook that is written."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

from cruxboxd.telemetry.metrics import Metrics
from rendering import DEPLOY, MONITORING, alert_rules, yaml

# The daemon's metrics and their labels (`le` and what a scrape adds apart).
METRICS = {
    "cruxbox_verdicts_total": {"outcome", "tenant", "runtime"},
    "cruxbox_queue_seconds_bucket": set(),
    "cruxbox_run_seconds_bucket": set(),
    "cruxbox_cpu_seconds_total": {"tenant"},
    "cruxbox_busy_workers": set(),
    "cruxbox_workers": set(),
    "cruxbox_queue_depth": set(),
    "cruxbox_queue_age_seconds": set(),
    "cruxbox_stalled_seconds": set(),
    "cruxbox_zygote_restarts_total": set(),
    "cruxbox_sandbox_errors_total": {"reason"},
    "cruxbox_violations_total": {"syscall"},
    "cruxbox_canary_ok": {"canary"},
    "cruxbox_refused_total": {"tenant", "reason"},
    "cruxbox_accepted_checks": set(),
    "cruxbox_audits_total": set(),
    "cruxbox_audit_mismatches_total": set(),
    "cruxbox_native_helper": {"runtime"},
    "cruxbox_seal_breaks_total": {"what"},
}
SCRAPED = {"namespace", "pod", "le"}
NAME = re.compile(r"\bcruxbox_[a-z_]+")
SELECTOR = re.compile(r"(cruxbox_[a-z_]+)\{([^}]*)\}")
MATCHED_LABEL = re.compile(r"(\w+)\s*[!=]=?~?\s*\"")
GROUPED = re.compile(r"by \(([^)]*)\)")


def dashboard() -> dict[str, object]:
    return json.loads((MONITORING / "cruxbox.json").read_text())


def expressions() -> list[str]:
    """Every PromQL expression of the alerts and the dashboard."""
    panels = dashboard()["panels"]
    return [rule["expr"] for rule in alert_rules()] + [
        target["expr"]
        for panel in panels  # type: ignore[attr-defined]
        for target in panel.get("targets", ())  # type: ignore[attr-defined]
    ]


def test_expressions_name_known_metrics_and_labels() -> None:
    every_label = SCRAPED.union(*METRICS.values())
    for expression in expressions():
        names = set(NAME.findall(expression))
        assert names, expression
        assert names <= set(METRICS), expression
        for metric, selector in SELECTOR.findall(expression):
            assert set(MATCHED_LABEL.findall(selector)) <= SCRAPED | METRICS[metric], expression
        for grouped in GROUPED.findall(expression):
            assert {label.strip() for label in grouped.split(",")} <= every_label, expression


def test_the_daemon_has_these_metrics_and_no_others() -> None:
    engine = SimpleNamespace(busy=0, depth=0, queue_age_s=0.0, stalled_s=0.0)
    metrics = Metrics()
    metrics.watch(engine, 1)
    metrics.watch_accepted(lambda: 0.0)
    families = {family.name for family in metrics.registry.collect()}
    named = {re.sub(r"_(total|bucket)$", "", name) for name in METRICS}
    assert families == named, "put it on the dashboard and in the table above"


def test_every_metric_is_on_the_dashboard() -> None:
    shown = {
        name
        for panel in dashboard()["panels"]  # type: ignore[attr-defined]
        for t in panel.get("targets", ())
        for name in NAME.findall(t["expr"])  # type: ignore[attr-defined]
    }
    assert shown == set(METRICS)


def test_panels_do_not_overlap_and_are_numbered_once() -> None:
    panels = dashboard()["panels"]
    cells = [
        (x, y)
        for panel in panels  # type: ignore[attr-defined]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) == 23
    assert len({panel["id"] for panel in panels}) == len(panels)  # type: ignore[attr-defined]


def test_every_alert_is_replayed_and_has_a_runbook() -> None:
    tests = yaml.safe_load((MONITORING / "alerts_test.yaml").read_text())["tests"]
    fired = {item["alertname"] for test in tests for item in test["alert_rule_test"] if item.get("exp_alerts")}
    assert fired == {rule["alert"] for rule in alert_rules()}
    headings = re.findall(r"^#+ (.+)$", (DEPLOY / "README.md").read_text(), re.M)
    anchors = {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
    for rule in alert_rules():
        page, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert page == "deploy/README.md"
        assert anchor in anchors, rule["alert"]
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
