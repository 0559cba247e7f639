"""Objects of the program's that are compared with a table, an expression or an image: none is told what is expected,
neither by the script nor by the library."""

from __future__ import annotations

from typing import Any

import pytest
from cruxcell.jobs.separated.exchange.link import VALUE
from cruxcell.jobs.separated.proxies import facts
from cruxcell.jobs.separated.proxies.proxy_classes import make_class
from script_half import Half, Left, callable_thing, connected_half, thing  # noqa: F401 - a fixture

sympy: Any = pytest.importorskip("sympy")


class Table:
    """Of pandas, by its module."""

    __module__ = "pandas.core.frame"


class Derived(Table):
    __module__ = "__main__"


def method(number: int = 2) -> Any:
    found = callable_thing()
    facts.give_number(found, number)
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
    facts.give_number(value, 3)
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
    facts.marked(made, facts.MADE, type(made), 0)
    half.answers.update(get=method(), call=(VALUE, True))
    assert made.equals(Table()) is True


def test_a_class_of_the_program_compares_two_tables(half: Half):
    half.answers.update(get=method(), call=(VALUE, True))
    made: Any = make_class("A", 7, (), [], [], None)
    assert made.equals(Table(), Table()) is True


def test_what_is_no_method_is_not_kept(half: Half):
    half.answers.update(get=(VALUE, 5))
    assert thing().equals == 5


@pytest.mark.parametrize("name", ["equals", "dummy_eq", "compare"])
def test_an_object_is_not_asked_whether_it_equals_an_expression(half: Half, name: str):
    half.answers["get"] = method()
    with pytest.raises(Left, match="F"):
        getattr(thing(), name)(sympy.Symbol("x") + 1)


def test_it_is_asked_of_what_would_be_no_value_in_the_test(half: Half):
    half.answers.update(get=[method(2), method(4)], call=(VALUE, True))
    assert thing().equals(sympy.Matrix([[1]])) is True
    assert thing().subs(sympy.Symbol("x")) is True


def by(library: str, call: str) -> Any:
    """A function of a library's."""
    return eval(f"lambda it, value: it.{call}", {"__name__": library})


class Formatter:
    __module__ = "pandas.plotting._matplotlib.converter"


class Pixels:
    __module__, __qualname__ = "builtins", "ImagingCore"


Pixels.__name__ = "ImagingCore"
EXPRESSION = sympy.Symbol("x")
TOLD = [("sympy.core.relational", "_eval_Eq(value)", EXPRESSION), ("sympy.sets.sets", "contains(value)", EXPRESSION)]
TOLD += [("pandas.core.reshape", "_from([(value, 1)])", Table()), ("pandas", "_from(a={'b': value})", Derived())]
TOLD += [("PIL.ImageChops", "chop_difference(value)", Pixels())]


@pytest.mark.parametrize(("library", "call", "value"), TOLD)
def test_a_library_tells_no_object_what_it_looks_for(half: Half, library: str, call: str, value: object):
    half.answers["get"] = method()
    with pytest.raises(Left, match="F"):
        by(library, call)(thing(), value)


@pytest.mark.parametrize(("library", "value"), [("pandas.core", 5), ("pandas.core", Formatter()), ("numpy", Table())])
def test_a_library_tells_what_is_of_no_table(half: Half, library: str, value: object):
    half.answers.update(get=method(), call=(VALUE, 5))
    assert by(library, "plot(value)")(thing(), value) == 5


def test_a_library_calls_what_the_script_has_looked_for(half: Half):
    half.answers.update(get=method(), call=(VALUE, 5))
    found = thing().apply
    assert eval("lambda value: call(value)", {"__name__": "pandas.core", "call": found})(Table()) == 5
