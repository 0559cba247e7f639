"""What the test's half makes of an answer, and for how long what was answered holds."""

from __future__ import annotations

from threading import get_ident
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.separated import script_link
from cruxcell.jobs.separated.exchange import steady
from cruxcell.jobs.separated.exchange.link import TOO_LARGE, VALUE
from cruxcell.jobs.separated.proxies import facts
from cruxcell.jobs.separated.proxies.notes import Notes
from cruxcell.jobs.separated.proxies.proxy_classes import make_class
from script_half import RAISED, Half, Left, answer, connected_half, thing  # noqa: F401 - a fixture among them


def test_objects_that_hold_more_than_may_cross_are_equal_to_none(half: Half):
    half.answers["states"] = TOO_LARGE, "the value"
    assert half.ask("states", None, thing()) == "the value"


def test_what_was_noted_holds_until_the_candidate_goes_on(half: Half):
    class_of_program = make_class("P", 1, (), ["__eq__"], [], None)
    half.namespace["P"], half._names._of_classes = class_of_program, ("P",)
    result = object.__new__(class_of_program)
    facts.give_number(result, 7)
    half.objects.held.present = lambda with_values=False, but=(): [result] * (7 not in but)  # type: ignore[method-assign]
    half.answers["states"] = [[{"x": each}] for each in range(4)]

    def held() -> object:
        class_of_program(1)
        return half.notes.held(half, result)[0]

    assert [held(), held()] == [{"x": 0}, {"x": 0}]
    half.ask("get", result, "x")
    assert held() == {"x": 1}
    half.threads._open = 1  # in a function that the candidate calls, whose notes end with it
    half.ask("get", result, "x")
    assert held() == {"x": 1}
    half.notes.forget_from(0)
    assert held() == {"x": 2}
    assert half.before_answer is not None
    half.before_answer()
    half.threads._open = 0
    assert held() == {"x": 3}


def test_a_number_is_asked_for_once_in_a_row(half: Half):
    one = thing()
    half.answers["special"] = [7, (RAISED, TypeError()), 8, 9]
    assert [half.ask("special", one, "__index__") for _ in range(3)] == [7, 7, 7]
    half.ask("call", None)
    assert not any(half._steady._told.values()), "nothing that was returned is kept"
    with pytest.raises(TypeError):
        half.ask("special", one, "__index__")
    assert [half.ask("special", one, "__index__"), half.ask("special", one, "__index__")] == [8, 8]
    assert half.ask("special", one, "__float__") == 9


def test_whose_hash_was_asked_for_last_is_known_until_it_is_asked_for_more(half: Half):
    one = thing()
    asked = [
        ("special", [one, "__hash__"], 1), ("states", [None, one], 1), ("special", [one, "__eq__", 2], 1),
        ("special", [one, "__len__"], 0), ("special", [one, "__hash__"], 1), ("get", [one, "__hash__"], 0),
    ]  # fmt: skip
    half.answers["special"] = 5
    for operation, fields, known in asked:
        half._note_hashed(operation, fields)
        assert half.hashed == known


def test_length_and_truth_are_said_once_for_a_while(half: Half, monkeypatch: pytest.MonkeyPatch):
    one, now, listens, changed = thing(), [10.0], [False], list[int]()
    monkeypatch.setattr(steady, "_monotonic", lambda: now[0])
    monkeypatch.setattr(half.alongside, "listens", lambda: listens[0])
    monkeypatch.setattr(half.alongside, "exchange", lambda *asked: answer(half, *asked))
    monkeypatch.setattr(half.containers, "changed", lambda: changed)
    half.answers["special"] = list(range(20))
    assert [half.ask("special", one, "__len__") for _ in range(3)] == [0, 0, 0]
    now[0] += 0.04
    assert half.ask("special", one, "__len__") == 0
    now[0] += 0.02
    assert half.ask("special", one, "__len__") == 1
    changed.append(1)  # which the object may look at
    assert half.ask("special", one, "__len__") == 2
    changed.clear()
    assert half.ask("special", one, "__len__") == 2
    half.ask("get", one, "x")
    assert half.ask("special", one, "__len__") == 3
    half.objects.held.dead[7] = None  # which the object may have known
    assert half.ask("special", one, "__len__") == 4
    assert half.ask("special", one, "__float__") == half.ask("special", one, "__float__") == 5
    half.objects.held.dead.clear()
    within: list[int] = []

    def calls(*asked: Any) -> tuple[bytes, Any]:  # the candidate calls a function of the script, which asks
        monkeypatch.setattr(half.alongside, "exchange", lambda *asked: answer(half, *asked))
        within.append(half.ask("special", one, "__len__"))
        return answer(half, *asked)

    monkeypatch.setattr(half.alongside, "exchange", calls)
    half.ask("call", None)
    assert within == [6]
    listens[0] = True
    assert [half.ask("special", one, "__len__") for _ in range(2)] == [7, 8]


def test_what_value_it_is_an_object_says_once_in_a_row(half: Half):
    one, other = thing(), thing()
    facts.give_number(other, 2)
    half.answers["get"] = [1, 2, 3, 4, 5, 6, 7]

    def value_of(each: Any) -> Any:
        return half.value_of(each, lambda value: half.ask("get", value, "year"))

    assert [value_of(each) for each in (one, one, other, one)] == [1, 1, 2, 3]
    shared: list[int] = []
    half.containers.add(shared)
    half.containers.settle()
    shared.append(1)
    assert value_of(one) == 4
    half.containers.settle()
    shared.clear()
    half.containers.forget(list(half.containers.entries))
    assert value_of(one) == 4

    def served(value: Any) -> Any:
        half.objects.shown.show(value)
        assert half._may("special", value, ["__len__"])
        return half.ask("get", value, "year")

    half.ask("call", None)
    assert [half.value_of(one, served) for _ in range(2)] == [5, 6]
    assert [facts.fixed_value(one, served) for _ in range(2)] == [7, 7]


def test_a_number_that_an_object_of_the_script_s_says_is_asked_for_again(half: Half, monkeypatch: pytest.MonkeyPatch):
    one = thing()
    half.objects.shown.show(half)

    def meanwhile(*asked: Any) -> tuple[bytes, Any]:
        half._may("get", half, ["number"])
        return answer(half, *asked)

    half.answers["special"] = [1, 2]
    monkeypatch.setattr(half.alongside, "exchange", meanwhile)
    assert [half.ask("special", one, "__len__") for _ in range(2)] == [1, 2]


def test_what_was_asked_before_another_thread_came_back_is_asked_again(half: Half, monkeypatch: pytest.MonkeyPatch):
    """The answer may have been made before what the other thread has asked for was done, and have come after it."""

    def meanwhile(*asked: Any) -> tuple[bytes, Any]:
        half._forget_what_was_steady()
        return answer(half, *asked)

    one = thing()
    half.answers["special"] = [0, 1, 2]
    with monkeypatch.context() as patch:
        patch.setattr(half.alongside, "exchange", meanwhile)
        assert half.ask("special", one, "__int__") == 0
    monkeypatch.setattr(half.alongside, "exchange", lambda *asked: answer(half, *asked))
    assert [half.ask("special", one, "__int__") for _ in range(2)] == [1, 1]


def test_what_is_asked_by_a_function_that_the_candidate_calls_is_of_its_thread(half: Half):
    me = get_ident()
    half._steady._told, half.threads._open = {me: {}, 1: {}}, 1
    half._forget_what_was_steady()
    assert half._steady._told == {1: {}}
    half.threads._open = 0
    half._forget_what_was_steady()
    assert half._steady._told == {}


@pytest.mark.parametrize(
    ("holds", "operation", "is_old"), [(True, "get", False), (True, "call", True), (False, "get", True)]
)
def test_what_other_threads_noted_is_old(
    half: Half, holds: bool, operation: str, is_old: bool, monkeypatch: pytest.MonkeyPatch
):
    own, half._notes[1], half._notes[2] = half.notes, Notes(), Notes()
    half._notes[2].is_old = own.is_old = True
    monkeypatch.setattr(Notes, "outlast", lambda *_: holds)
    assert half._do_notes_hold(operation, []) is holds
    assert (own.is_old, half._notes[1].is_old, half._notes[2].is_old) == (True, is_old, True)
    own.is_old = False
    half._do_notes_hold(operation, [])
    assert not own.is_old


@pytest.mark.parametrize("operation", ["call", "get"])
def test_no_container_becomes_what_was_made_while_notes_hold(
    half: Half, operation: str, monkeypatch: pytest.MonkeyPatch
):
    looked: list[Any] = []

    def hold(_link: object, refilled: list[Any], _named: object, made: object, _began: int, **_: object) -> bool:
        looked.append((refilled, made))
        return 5 in dict(refilled)

    def exchange(_operation: str, fields: list[Any]) -> tuple[bytes, Any]:
        for number in fields:
            half.is_refilled(number)
        return VALUE, 7

    monkeypatch.setattr(script_link, "hold_what_was_made", hold)
    monkeypatch.setattr(half.alongside, "exchange", exchange)
    half.containers.entries.update({3: [[]], 5: [[]]})
    monkeypatch.setattr(half, "_do_notes_hold", lambda *_: True)
    assert half._exchanged(operation, []) == (VALUE, 7)
    assert (looked, half._refills._changes) == ([], [])
    half._refills._asking, half._refills._changes = 1, [(0, 9, [[]])]  # another thread asks, too
    assert half._exchanged(operation, [3]) == (VALUE, 7)
    assert looked == [([(3, [[]])], 7 if operation == "call" else None)]
    assert [each[1] for each in half._refills._changes] == [9, 3]
    half._refills._asking = 0
    with pytest.raises(Left):
        half._exchanged(operation, [5])
    assert half._refills._changes == []


def test_what_is_given_again_has_to_hold_what_it_is_made_of(half: Half, monkeypatch: pytest.MonkeyPatch):
    for is_another in (False, True):
        monkeypatch.setattr(Notes, "is_another", lambda *_, other=is_another: other)
        half.notes.is_complete = True
        if is_another:
            with pytest.raises(Left):
                half.note_again(1, None, 0)
        else:
            half.note_again(1, None, 0)
        assert not half.notes.is_complete


@pytest.mark.parametrize(
    ("may", "begins", "answered"), [(True, True, True), (True, True, 1), (True, False, True), (False, True, True)]
)
def test_several_threads_ask_where_both_halves_can(
    half: Half, may: bool, begins: bool, answered: object, monkeypatch: pytest.MonkeyPatch
):
    before, made = half.threads, SimpleNamespace(begin=lambda: begins)
    monkeypatch.setattr(script_link, "may_begin", lambda: may)
    monkeypatch.setattr(script_link, "Partners", lambda _link: made)
    half.answers["share"] = answered
    half.begin_partners()
    assert half.threads is (made if (may, begins, answered) == (True, True, True) and answered is True else before)
    assert [each[0] for each in half.asked] == (["share"] if may and begins else [])
