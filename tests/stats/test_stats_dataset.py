"""Lengths, steps, methods and difficulty, against the standard library and plain counting."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from cruxbox.building import METHODS, Row, methods_used, read_rows
from cruxbox.building.methods import Methods
from cruxbox.stats import (
    by_method,
    by_quarter,
    describe,
    difficulty_histogram,
    hardest_and_easiest,
    panel_of,
    spread,
    task_difficulty,
)
from stats_models import made_up


def test_the_table_of_methods_is_what_this_python_has():
    for kind in (str, list, dict):
        assert list(METHODS[kind.__name__]) == [name for name in dir(kind) if not name.startswith("_")]
    assert {kind: len(names) for kind, names in METHODS.items()} == {"str": 47, "list": 11, "dict": 11}


def test_methods_used_are_calls_of_names_in_the_table():
    code = "def f(x):\n    y = x.split ( ',' ).pop()\n    y.attribute.foo()\n    join = y.copy\n    return x . upper()"
    assert methods_used(code) == {"split", "pop", "upper"}


def test_spread_against_the_standard_library():
    values = [3, 9, 1, 4, 4, 12, 7, 7, 30]
    found = spread(values)
    quartiles = statistics.quantiles(values, n=4, method="inclusive")
    assert found.bounds == (1, *quartiles, 30)
    low, middle, high = quartiles
    counts = [
        sum(v <= low for v in values),
        sum(low < v <= middle for v in values),
        sum(middle < v <= high for v in values),
        sum(v > high for v in values),
    ]
    assert list(found.quarters) == counts
    assert (found.rows, found.total, found.mean) == (9, 77, pytest.approx(77 / 9))
    assert sum(found.counts) + len(found.beyond) == 9


def test_a_histogram_leaves_out_what_would_flatten_it():
    found = spread([*range(20, 120), 3175])
    assert found.beyond == (3175,)
    assert found.edges[0] == 19.5
    assert found.edges[-1] < 130
    assert sum(found.counts) == 100
    assert spread([5]).counts == (1,)
    assert spread([0, 0]).bounds == (0, 0, 0, 0, 0)


def test_describe_counts_rows_not_calls():
    rows = [Row("x.pop(); x.pop()", steps=4), Row("x.pop()\nx.get(1)"), Row("1\n2\n3", steps=8)]
    found = describe(rows)
    assert found.methods == {"pop": 2, "get": 1}
    assert found.without_method == 1
    assert "split" in found.methods_unused
    assert found.lines.total == 6
    assert found.steps is not None
    assert (found.steps.rows, found.steps.total) == (2, 12)
    assert describe(rows, [None, None, None]).steps is None


def test_difficulty_is_the_mean_over_models_that_know_the_task():
    p = np.array([[0.0, 1.0], [np.nan, 0.5], [np.nan, np.nan], [0.3, 0.3]])
    assert task_difficulty(p)[:2].tolist() == [0.5, 0.5]
    assert math.isnan(task_difficulty(p)[2])
    found = difficulty_histogram(p)
    assert {edge: count for edge, count in zip(found.edges, found.counts) if count} == {0.5: 2, 0.3: 1}


def test_methods_are_ranked_from_five_tasks_on():
    panel = panel_of([made_up("a", 1, tasks=30), made_up("b", 2, tasks=30)])
    rows = {
        id: Row("x.pop()" if at < 5 else "x.get()" if at < 9 else "x.sort(); x.pop()")
        for at, id in enumerate(panel.ids)
    }
    found = {group.name: group for group in by_method(panel.p, panel.ids, rows)}
    assert set(found) == {"pop", "sort"}
    users = [at for at in range(30) if not 5 <= at < 9]
    assert found["pop"].tasks == 26
    assert found["pop"].mean == pytest.approx(panel.p[users].mean())
    assert found["pop"].by_model == pytest.approx(tuple(panel.p[users].mean(axis=0)))
    order = [group.mean for group in by_method(panel.p, panel.ids, rows)]
    assert order == sorted(order)


def test_hardest_and_easiest_do_not_overlap():
    groups = list(range(10))
    assert hardest_and_easiest(groups) == ([0, 1, 2, 3, 4, 5, 6], [9, 8, 7])
    assert hardest_and_easiest(groups, 3) == ([0, 1, 2], [9, 8, 7])
    assert hardest_and_easiest([]) == ([], [])


def test_quarters_follow_the_values():
    p = np.arange(8.0)[:, None] / 8
    groups = by_quarter(p, [10, 20, 30, 40, 50, 60, 70, None])
    assert [group.tasks for group in groups] == [2, 2, 1, 2]
    assert [group.mean for group in groups] == pytest.approx([0.5 / 8, 2.5 / 8, 4 / 8, 5.5 / 8])
    assert groups[0].name == "[10, 25]"
    assert by_quarter(p, [None] * 8) == []


@pytest.mark.data
def test_cruxeval_itself(cruxeval):
    rows, bad = read_rows(cruxeval / "cruxeval.jsonl")
    assert (len(rows), bad) == (800, [])
    found = describe(rows)
    lengths = [len(row.code) for row in rows]
    assert found.chars.bounds == (min(lengths), *statistics.quantiles(lengths, n=4, method="inclusive"), max(lengths))
    assert found.lines.total == sum(row.code.count("\n") + 1 - row.code.endswith("\n") for row in rows)
    # The published length rule: 75 to 300 characters of program and call together.
    assert all(75 <= len(f"{row.code}\nassert f({row.input}) ==") <= 300 for row in rows)
    assert found.methods["join"] == sum(".join(" in row.code for row in rows)
    assert (found.chars_asserted.bounds[0], found.chars_asserted.bounds[-1]) == (75, 300)
    assert (found.lines_asserted.bounds[0], found.lines_asserted.bounds[-1]) == (3, 13)
    # The counts behind the paper's figures 12 to 15: the name after a dot, wherever it stands.
    told = describe(rows, methods=Methods.TEXT).methods
    assert [told[name] for name in ("remove", "get", "isnumeric", "lstrip", "format")] == [33, 13, 11, 5, 10]
    assert [found.methods[name] for name in ("remove", "get", "isnumeric", "format")] == [18, 12, 9, 9]


def test_a_method_is_called_or_only_mentioned():
    code = "def f(a):\n    g = a.strip\n    return a.removeprefix('x').upper()"
    assert methods_used(code) == {"removeprefix", "upper"}
    assert methods_used(code, Methods.TEXT) == {"strip", "remove", "removeprefix", "upper"}
