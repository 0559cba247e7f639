"""When two objects are equal to a test that hold arrays, tables or sparse matrices."""

from __future__ import annotations

from typing import Any

import numpy
import pandas
import pytest
import scipy.sparse
from cruxcell.jobs.separated.proxies import facts
from equal_objects import Candidate, connected, of_a_class  # noqa: F401 - a fixture among them

SOME = object()


def array(*items: object, **how: Any) -> Any:
    return numpy.array([*items], **how)


SPARSE = scipy.sparse.csr_matrix([[0, 1], [2, 0]])
SUMS = scipy.sparse.csr_matrix(([25, -25], [0, 0], [0, 2, 2]), (2, 2))


@pytest.mark.parametrize(
    ("one", "another", "given", "are_equal"),
    [
        (array(1, 2), array(1, 2), ([1, 2],), True),
        (array(1, 2), array(1.0, 2.0), (array(2, 1),), True),
        (array(1, 2), array(1, 3), ([1, 2],), False),
        (array(1, 2), array(1, 2), ([1, 3],), False),
        (array([1, 2], [3, 4]), array([1, 2], [3, 4]), (1, 2, 3, 4), True),
        (array([1, 2]), array(1, 2), (1, 2), False),
        (array(1, 2), array("1", "2"), ([1, 2],), False),
        (array(1, 2), [1, 2], ([1, 2],), False),
        (numpy.float64(2), numpy.float64(2), (2,), True),
        (numpy.float64(2), 2, (numpy.int64(2),), True),
        (numpy.float64(2), numpy.float64(2), (3,), False),
        (array(), array(), (), True),
        (array(1.0, float("nan")), array(1.0, float("nan")), (1,), False),
        ([array(1, 2)], [array(1, 2)], (1, 2), True),
        ({"b": (array(1, 2), 3)}, {"b": (array(1, 2), 3)}, (1, 2, 3), True),
        ({"b": (array(1, 2), 3)}, {"b": (array(1, 2), 4)}, (1, 2), False),
        (array(SOME, 2, dtype=object), array(SOME, 2, dtype=object), (2,), True),
        (array(SOME, 2, dtype=object), array(SOME, 3, dtype=object), (), False),
        (array([SOME, 2], dtype=object), array(SOME, 2, dtype=object), (), False),
        (numpy.zeros(1 << 16), numpy.zeros(1 << 16), (0,), True),
        (numpy.zeros(1 + (1 << 16)), numpy.zeros(1 + (1 << 16)), (0,), False),  # which none looks through
        (pandas.Series([1, 2]), pandas.Series([1, 2]), ([1, 2],), True),
        (pandas.Series([1, 2]), pandas.Series([1, 3]), ([1],), False),
        (pandas.DataFrame({"b": [1, 2]}), pandas.DataFrame({"b": [1, 2]}), ({"b": [1, 2]},), True),
        (pandas.DataFrame({"b": [1, 2]}), pandas.DataFrame({"c": [1, 2]}), ([1, 2],), False),
        (pandas.Series([1, 2]), array(1, 2), ([1, 2],), False),
        (pandas.NA, 1, (), False),
        (pandas.NA, pandas.NA, (), True),
        ([pandas.NA, array(1, 2)], [1, array(1, 2)], (), False),
        (SPARSE, SPARSE.copy(), (2, 1), True),
        (SPARSE, SPARSE.T, (2, 1), False),
        (SPARSE, scipy.sparse.csr_matrix([[0, 1, 2]]), (2, 1), False),
        (scipy.sparse.csr_matrix((2, 2)), SUMS, (25,), False),  # what it holds twice is nothing
        (scipy.sparse.coo_matrix((2, 2)), SUMS.tocoo(), (25,), False),
        (
            scipy.sparse.csr_matrix(([25], ([0], [1])), (2, 2)),
            scipy.sparse.csr_matrix(([24, 1], ([0, 0], [1, 1])), (2, 2)),
            (25,),
            True,
        ),
        (pandas.array([1, 2]), array([1, 2]), (1, 2), False),
        (array(1, 2, dtype="M8[as]"), array(1, 2, dtype="M8[Y]"), (1, 2), False),
    ],
)
def test_what_two_objects_hold_may_be_arrays_and_tables(
    other: Candidate, one: object, another: object, given: tuple[object, ...], are_equal: bool
):
    """Their `==` is neither true nor false: no script hears of that, as of an error that it may expect."""
    cls = of_a_class(other)
    first, second = other.thing(cls, 5, {"a": one, "n": 1}), cls(*given)
    other.states[facts.number_of(second)] = {"a": another, "n": 1}
    other.notes.outlast(other, "get", [None, "x"], 0)
    assert ((first == second), (second == first), other.compared_by_identity) == (are_equal, are_equal, not are_equal)


def test_an_object_with_an_array_that_a_class_gives_again_is_not_another(other: Candidate):
    cls = of_a_class(other)
    result = other.thing(cls, 5, {"x": array(1, 2)})
    other.gives = result
    for kept, is_another in ((array(1, 2), False), (array(1, 3), True)):
        other.becomes = {5: {"x": kept}}
        assert cls(1) is result
        assert other.changed.pop() is is_another
