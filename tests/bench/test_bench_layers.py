"""The price of the layers between checks: the same work by daemons that differ in their layers, in small."""

from __future__ import annotations

import pytest
from cruxbox.model import CallCheck

from bench import layers
from bench.real import Pair

PAIRS = [[Pair("def f(x): return x + 1", "3", "f(2)"), Pair("def f(x): return x + 1", "3", "f(2)")]]


def test_generations_are_asked_as_score_asks_them():
    given = {work.key: work for work in layers.works(3, 0.02, {"input": PAIRS, "output": PAIRS})}
    assert [len(task.checks) for task in given["layers_grouped"].part(7)] == [10] * 2
    (asked,) = given["layers_input"].tasks
    assert (asked.program, asked.checks) == (PAIRS[0][0].program, [CallCheck("f(2)", "3")])
    assert given["layers_output"].tasks[0].program == ""


@pytest.mark.kernel
def test_each_price_is_a_figure(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(layers, "WAYS", {name: layers.WAYS[name] for name in ("none", "all")})
    (figure,) = layers.figures(1, layers.works(3, 0.01, {})[:1], lambda _: None)
    assert figure.key == "layers_grouped_all"
    assert "µs a check" in figure.detail


def test_no_side_follows_itself_and_each_stands_everywhere():
    sides = ["none", "all", "rule"]
    orders = layers._orders(sides)
    assert len(orders) == layers.BATCHES
    for place in range(3):
        assert sorted(order[place] for order in orders) == sorted(2 * sides)
    run = [side for order in [*orders, orders[0]] for side in order]
    assert not [one for one, following in zip(run, run[1:]) if one == following]
