"""The arithmetic between a measurement and the table: rounds, ratios, targets, JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence

import pytest
from rich.console import Console

from bench import report
from bench.figures import TARGETS, Figure, Target, percentile, ratio
from bench.methods import Method, Result, answer_of
from bench.rounds import Series, run
from bench.workload import Work


def test_percentile_is_the_nearest_rank():
    values = [float(value) for value in range(100, 0, -1)]
    assert percentile(values, 0.5) == 51
    assert percentile(values, 0.99) == 100
    assert percentile([7.0], 0.99) == 7


def test_ratio_pairs_the_rounds():
    assert ratio([10, 100, 30], [5, 20, 10]) == 3


def test_target_met():
    assert Target(at_least=0.8).met_by(0.8)
    assert not Target(at_least=0.8).met_by(0.79)
    assert Target(at_most=0).met_by(0)
    assert not Target(at_most=0).met_by(1)
    assert str(Target(at_least=150)) == "≥ 150"
    assert str(Target(at_most=0.5)) == "≤ 0.5"


def _fake(name: str, checks: int, seen: list[tuple[str, str]], missing: str = "") -> Method:
    def judge(works: Sequence[Work]) -> Result:
        seen.append((name, works[0].id))
        return Result(0.5, 0.5, tuple(probe.holds for work in works for probe in work.probes))

    return Method(name, name, checks, judge, missing)


def test_rounds_are_interleaved_and_every_round_has_work_of_its_own():
    seen: list[tuple[str, str]] = []
    methods = [_fake("a", 20, seen), _fake("absent", 20, seen, "not here"), _fake("b", 10, seen)]
    series = run(methods, 3, 1.0, 5, lambda _: None)
    assert seen == [("a", "w0"), ("b", "w0"), ("a", "w2"), ("b", "w2"), ("a", "w4"), ("b", "w4")]
    assert series["a"].rate == 40
    assert series["b"].judged == 30
    assert series["a"].wrong == 0
    assert "absent" not in series


def test_a_wrong_verdict_is_counted():
    def liar(works: Sequence[Work]) -> Result:
        return Result(1.0, 1.0, tuple(not probe.holds for work in works for probe in work.probes))

    series = run([Method("liar", "liar", 10, liar)], 1, 1.0, 5, lambda _: None)
    assert series["liar"].wrong == 10


def test_report_names_targets_and_what_was_missed(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results" / "latest.json")
    key = "latency_unix_p50"
    figures = [
        Figure(key, "one check", 2.5, "ms"),
        Figure("resident", "weight", 4000.0, "MB"),
        Figure("x", "free", 1, ""),
    ]
    one = Series(Method("m", "a method", 10, lambda _: Result(1, 1, ())), [3.0, 1.0, 2.0], [5.0, 5.0, 5.0], 0, 30)
    path = report.write({"m": one}, figures, {"quick": True})
    content = json.loads(path.read_text())
    assert content["methods"]["m"]["rate"] == 2.0
    assert content["figures"][key]["met"] is True
    assert content["figures"]["resident"]["met"] is False
    assert content["figures"]["x"]["target"] is None
    console = Console(file=io.StringIO(), width=200)
    report.print_figures(console, figures)
    report.print_methods(console, {"m": one}, [Method("n", "absent", 1, lambda _: Result(1, 1, ()), "not installed")])
    text = console.file.getvalue()
    assert "MISSED" in text
    assert str(TARGETS[key]) in text
    assert "not run, absent: not installed" in text


def test_a_peer_that_fails_is_named():
    with pytest.raises(RuntimeError, match="no such thing"):
        answer_of(["python3", "-c", "raise SystemExit('no such thing')"], {})
