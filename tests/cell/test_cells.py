"""Which tables of pandas' a candidate's half writes as tables, by what they hold."""

from __future__ import annotations

from collections import deque
from decimal import Decimal
from typing import Any

import pytest
from cruxcell.values import cells
from cruxcell.values.containers import Containers
from cruxcell.values.writer import Writer

pandas: Any = pytest.importorskip("pandas")
HOME, OWN = object(), object()


class AtHome(Writer):
    """To which one object is the other half's."""

    def is_home(self, value: Any) -> bool:
        return value is HOME


def circle(value: object) -> list[Any]:
    found = [value]
    found.append(found)
    return found


CROSS: dict[str, tuple[Any, bool]] = {
    "data": (pandas.Series([Decimal(1), "a", None]), True),
    "no objects": (pandas.array([1], dtype="Int64"), True),
    "an object of the other half's": (pandas.Series([HOME, 1]), True),
    "one in a list": (pandas.Series([[HOME, 1], None]), True),
    "one in a list that holds itself": (pandas.Series([circle(HOME), None]), True),
    "one in a queue": (pandas.Series([deque([HOME, 1]), None]), True),
    "one of its own in a queue": (pandas.Series([deque([HOME, OWN]), None]), False),
    "one of its own": (pandas.Series([HOME, OWN]), False),
    "one of its own in a list": (pandas.Series([[HOME, OWN], None]), False),
    "one of its own in a list that holds itself": (pandas.Series([circle(OWN), None]), False),
    "types": (pandas.DataFrame({"a": [1], "b": pandas.Categorical(["x"])}).dtypes, True),
    "a type with an object of its own": (pandas.Series([pandas.CategoricalDtype([OWN])]), False),
}


@pytest.mark.parametrize("name", CROSS)
def test_a_table_crosses_if_all_that_it_holds_does(name: str):
    table, does = CROSS[name]
    assert cells.all_cross(AtHome(Containers()), table) is does


class Proxies(type):
    """Of the classes of what stands for an object of the other half."""


class Theirs(metaclass=Proxies):
    _remote_class = None


class OfATest:
    is_test, class_of_proxies = True, Proxies


def test_a_test_reads_no_type_with_an_object_of_the_program():
    for categories in ([1, 2], [Theirs()]):
        dtype = pandas.CategoricalDtype(categories)
        if categories == [1, 2]:
            assert cells.refuse_theirs(OfATest(), dtype) is dtype
        else:
            with pytest.raises(ValueError, match="objects of the program"):
                cells.refuse_theirs(OfATest(), dtype)
