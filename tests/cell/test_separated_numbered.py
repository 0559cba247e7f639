"""The objects that one half numbers for the other, and the proxies that it holds for those of the other."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

import pytest
from cruxcell.jobs.separated.crossing import numbered
from cruxcell.jobs.separated.crossing.numbered import Held, Shown
from cruxcell.values.canonical import TooLarge
from cruxcell.values.containers import Garbled
from other_half import Other, other_half  # noqa: F401 - a fixture


def value_of(other: Other) -> Any:
    cls = other.cls(list)
    return cls.__new__(cls)


def test_values_with_a_class_are_among_what_is_held_where_they_are_asked_for(other: Other):
    held, thing, value = Held(), other.thing(), value_of(other)
    held.take(1, thing, True)
    held.take(2, value, False)
    assert [each is thing for each in held.present()] == [True]
    assert [each is other for each, other in zip(held.present(True), (thing, value))] == [True, True]
    assert (held.find(1) is thing, held.find(2) is value, held.find(3)) == (True, True, None)


def test_an_object_that_nobody_refers_to_is_told_of_once_and_may_come_again(other: Other):
    held = Held()
    thing = held.take(1, other.thing(), True)
    del thing
    assert (held.present(), held.find(1), list(held.dead)) == ([], None, [1])
    again = held.take(1, other.thing(), True)
    assert (held.find(1) is again, held.dead) == (True, {})


def test_garbage_that_is_collected_while_somebody_looks_is_no_harm(other: Other):
    held, threshold = Held(), gc.get_threshold()
    gc.disable()
    try:
        for number in range(1000):
            cycle: list[Any] = [held.take(number, other.thing(), True)]
            cycle.append(cycle)
        gc.set_threshold(gc.get_count()[0] + 300)  # in the midst
        gc.enable()
        assert len(held.present(but={1})) <= 1000
    finally:
        gc.set_threshold(*threshold)
        gc.enable()


def test_a_value_with_a_class_is_kept_whatever_refers_to_it(other: Other):
    held = Held()
    held.take(2, value_of(other), False)
    assert (held.sweep(), len(held.present(True)), held.dead) == ([], 1, {})


def test_an_error_that_only_the_table_refers_to_goes_and_is_told_of_once():
    held, kept = Held(), ValueError("kept")
    held.take(1, kept, True)
    held.take(2, KeyError("gone"), True)
    assert (len(held.present(True)), held.present()) == (2, [])
    assert [str(each) for each in held.sweep()] == ["'gone'"]
    assert (held.find(1) is kept, held.find(2), list(held.dead), held.sweep()) == (True, None, [2], [])
    held.take(2, KeyError("again"), True)
    assert (held.dead, str(held.find(2))) == ({}, "'again'")


def test_a_pointer_of_the_script_s_is_not_shown(other: Other):
    pointer = ctypes.pointer(ctypes.c_int(1))
    assert Shown(False).show(pointer) == 1  # of the candidate's, the script has an object without an address
    with pytest.raises(TypeError, match="LP_c_int"):
        Shown(True).show(pointer)
    assert other.asked == []


def test_a_method_is_known_whenever_it_is_taken_and_a_class_by_what_was_told():
    one, two, shown = [1], [2], Shown(False)
    assert [shown.show(each) for each in (one.append, one.append, one.pop, two.append)] == [1, 2, 3, 4]  # of C: anew
    first, second = Shown(True), Shown(True)
    assert [shown.show(each) for each in (first.show, first.show, first.known, second.show)] == [5, 5, 6, 7]
    assert shown.of_other_classes() == ()
    shown.kinds = {5: type(first.show), 6: int}
    assert shown.of_other_classes() == (first.known,)
    shown.release([6])
    assert shown.kinds == {5: type(first.show)}


def test_who_is_left_out_and_who_died_are_not_present(other: Other):
    held, things = Held(), [other.thing(), other.thing()]
    for number, thing in enumerate(things):
        held.take(number, thing, True)
    assert [each is things[1] for each in held.present(but={0})] == [True]
    held._died(0)  # another object has its number by now
    held._died(5)
    assert (list(held.numbers()), held.dead) == ([0, 1], {})
    held._living[1] = lambda: None  # it is dead, and nobody has been told yet
    assert [each is things[0] for each in held.present()] == [True]


def test_how_much_is_shown_and_held_is_bounded(other: Other, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(numbered, "MAX_OBJECTS", 2)
    held, shown, things = Held(), Shown(True), [other.thing(), value_of(other), other.thing()]
    for number, thing in enumerate(things[:2]):
        held.take(number, thing, True)
    with pytest.raises(Garbled):
        held.take(2, things[2], True)
    objects = [object() for _ in range(3)]
    assert [shown.show(each) for each in (*objects[:2], objects[0])] == [1, 2, 1]
    with pytest.raises(TooLarge):
        shown.show(objects[2])
    assert (shown.release([1, 9]), objects[0] in shown) == ([objects[0], None], False)
    assert (shown.show(objects[2]), shown.known(objects[1]), shown.known(objects[0])) == (3, 2, None)
