"""Objects of the program's that a script has compared with a table of pandas': none is told what is expected."""

from __future__ import annotations

from typing import Any

import pytest
from cruxcell.jobs.separated.exchange.link import VALUE
from cruxcell.jobs.separated.proxies import remote
from cruxcell.jobs.separated.proxies.proxy_classes import make_class
from script_half import Half, Left, callable_thing, connected_half, thing  # noqa: F401 - a fixture


class Table:
    """Of pandas, by its module."""

    __module__ = "pandas.core.frame"


class Derived(Table):
    __module__ = "__main__"


def method(number: int = 2) -> Any:
    found = callable_thing()
    remote.give_number(found, number)
    return found


@pytest.mark.parametrize("name", ["equals", "eq", "compare", "identical"])
@pytest.mark.parametrize("table", [Table(), Derived()])
def test_an_object_is_not_asked_whether_it_equals_a_table(half: Half, name: str, table: object):
    half.answers["get"] = method()
    found = getattr(thing(), name)
    for ask in (lambda: found(table), lambda: found(1, other=table)):
        with pytest.raises(Left, match="F"):
            ask()
    assert [operation for operation, *_ in half.asked] == ["get"]


def test_nor_is_a_value_with_a_class_of_its_own(half: Half):
    value = dict.__new__(make_class("D", 3, (dict,), [], [], None))
    remote.give_number(value, 3)
    half.answers["get"] = method()
    with pytest.raises(Left, match="F"):
        value.equals(Table())


def test_all_else_it_is_asked(half: Half):
    half.answers.update(get=[method(2), method(4)], call=(VALUE, True))
    assert thing().equals(5, [Table()]) is True
    assert thing().merge(Table()) is True


def test_what_a_call_gives_is_no_such_method(half: Half):
    half.answers.update(get=method(), call=[method(4), (VALUE, True)])
    callable_thing()(equals=1)(Table())
    assert [operation for operation, *_ in half.asked] == ["call", "call"]


def test_who_is_given_a_table_by_another_way_than_a_call_keeps_it(half: Half):
    half.answers.update(get=method(), set=(VALUE, None), call=(VALUE, True))
    found = thing().equals
    found.expected = Table()
    assert [operation for operation, *_ in half.asked] == ["get", "set"]


def test_what_the_script_has_made_says_what_it_equals(half: Half):
    made = thing()
    remote.marked(made, remote.MADE, type(made), 0)
    half.answers.update(get=method(), call=(VALUE, True))
    assert made.equals(Table()) is True


def test_a_class_of_the_program_compares_two_tables(half: Half):
    half.answers.update(get=method(), call=(VALUE, True))
    made: Any = make_class("A", 7, (), [], [], None)
    assert made.equals(Table(), Table()) is True


def test_what_is_no_method_is_not_kept(half: Half):
    half.answers.update(get=(VALUE, 5))
    assert thing().equals == 5
