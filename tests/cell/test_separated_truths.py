"""Whether pandas' own arrays are true, in the test's process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated.rules.truths import follow_truths

pandas = pytest.importorskip("pandas", reason="pandas is part of the dev extra")
BASE = "pandas.core.arrays.base"


@pytest.fixture(autouse=True, name="texts")
def followed() -> Iterator[Any]:
    texts = SimpleNamespace(before_import={})
    follow_truths(texts)
    yield texts
    del sys.modules[BASE].ExtensionArray.__bool__


@pytest.mark.parametrize(
    ("array", "is_true"),
    [
        (pandas.array(["a"]) == 25, False),
        (pandas.array([25], dtype="Int64") == 25, True),
        (pandas.array([25, 25], dtype="Int64") != 25, False),
        (pandas.array([1, 2], dtype="Int64") != 25, True),
        (pandas.array([1, 2], dtype="Int64"), True),
        (pandas.array([], dtype="Int64"), False),
        (pandas.Index([1, 2], dtype="Int64") == 25, False),
        (pandas.arrays.SparseArray([0, 1]) == 25, False),
        (pandas.Categorical(["a"]), True),
    ],
    ids=map(str, range(9)),
)
def test_one_that_says_the_same_of_all_its_items_is_that(array: Any, is_true: bool):
    assert bool(array) is is_true
    assert [pandas.array(["a"])] != [25]  # as where it is an item


@pytest.mark.parametrize(
    ("items", "other"),
    [([1, 25], 25), ([25, None], 25), ([None], 25), ([], 25), ([1, 2], [1, 3])],
    ids=map(str, range(5)),
)
def test_any_other_is_neither_true_nor_false(items: list[Any], other: object):
    array = pandas.array(items, dtype="Int64")
    for answer in (array == other, array != other):
        with pytest.raises(ValueError, match="neither true nor false"):
            bool(answer)


def test_where_pandas_comes_later_it_is_so_from_then_on(texts: Any, monkeypatch: pytest.MonkeyPatch):
    assert texts.before_import == {}
    monkeypatch.setitem(sys.modules, BASE, None)
    follow_truths(SimpleNamespace(before_import={}))  # there is none
    monkeypatch.delitem(sys.modules, BASE)
    later = SimpleNamespace(before_import={})
    follow_truths(later)
    (begin,) = later.before_import.values()
    kind: Any = type("ExtensionArray", (), {})
    monkeypatch.setitem(sys.modules, BASE, SimpleNamespace(ExtensionArray=kind))
    begin()
    begin()
    assert "__bool__" in vars(kind)
