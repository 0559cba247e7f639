"""Classes that a script derives from classes of the program: what is the script's own in them, and who is asked."""

from __future__ import annotations

import functools
import string
import sys
import types
from typing import Any
from unittest.mock import Mock

import pytest
from cruxcell.jobs.separated.proxies import deriving, facts, placing, remote
from cruxcell.jobs.separated.proxies.deriving import super_
from other_half import Other, connected, either_half, other_half, own_dict  # noqa: F401 - fixtures among them


def derived(link: Other, members: dict[str, Any], *bases: Any) -> Any:
    """The class that a class statement of the script makes, which the candidate makes of the first base."""
    bases = bases or (link.cls(),)
    link.answers["derive"] = link.cls(bases[0])
    made = type("Mine", bases, members)
    del link.asked[:]
    return made


def thing_of(cls: Any, number: int = 9) -> Any:
    made = object.__new__(cls)
    facts.give_number(made, number)
    return made


def test_only_a_new_class_of_all_the_bases_gets_what_the_script_defines(other: Other):
    base, second = other.cls(), other.cls()
    made, both = other.cls(base), other.cls(base, second)
    for found, bases, is_one in [
        (made, (base,), True), (made, (base, string.Formatter), True), (both, (base, second), True),
        (made, (base, second), False), (base, (second,), False), (8, (base,), False), (object(), (base,), False),
    ]:  # fmt: skip
        for there in [{}, {own_dict(made)["_remote_class"]: 1}]:  # what was there is the program's, and stays that
            other.answers["derive"], other.objects.classes = found, there
            if is_one and not (there and found is made):
                assert type("Mine", bases, {}) is found
            else:
                with pytest.raises(TypeError, match=r"makes no class .* \(class Mine\)"):
                    type("Mine", bases, {"f": lambda _self: 5})
                assert "f" not in own_dict(made)


def test_what_the_script_has_made_of_one_stands_before_the_others(other: Other, monkeypatch: pytest.MonkeyPatch):
    base = other.cls()
    mine, second = derived(other, {}, base), derived(other, {}, base)
    for bases, stands in [((mine,), True), ((mine, base), True), ((second, mine), True), ((other.cls(), mine), False)]:
        other.answers["derive"] = other.cls(*bases)
        if stands:
            assert type("More", bases, {}) is other.answers["derive"]
        else:
            with pytest.raises(TypeError, match="behind it"):
                type("More", bases, {})
    monkeypatch.delitem(sys.modules, "_pytest")
    assert derived(other, {}, base)
    other.answers["derive"] = other.cls(base)
    assert type("TestMore", (base,), {}), "no test where there is no pytest"
    assert [deriving.is_derived(each) for each in (mine, base, 5, int)] == [True, False, False, False]


def test_what_a_class_statement_of_the_script_tells(other: Other):
    cell, others, base = types.CellType(), types.CellType(), other.cls()

    def make(*_asked: object) -> int:
        return 1

    members = {
        "__new__": make, "__init_subclass__": make, "__class_getitem__": make, "f": make, "__classcell__": cell,
        "__classdictcell__": others,
        "c": functools.cached_property(make), "__module__": "__main__",
    }  # fmt: skip
    other.answers["derive"] = other.cls(base)
    made: Any = type("Mine", (base,), members)
    told = [(name, type(value)) for name, value in other.asked[0][4]]
    assert told == [
        ("__new__", staticmethod), ("__init_subclass__", classmethod), ("__class_getitem__", classmethod),
        ("f", types.FunctionType), ("c", functools.cached_property), ("__module__", str),
    ]  # fmt: skip
    assert other.asked[0][4][-1] != ("__module__", "__main__")
    assert (cell.cell_contents, own_dict(made)["c"].attrname, others.cell_contents["f"]) == (made, "c", make)
    other.answers["derive"] = other.cls(base)
    type("Mine", (base,), {"__new__": 5, "__class_getitem__": None})
    assert dict(other.asked[1][4])["__new__"] == 5


def test_which_members_are_the_script_s_own(other: Other):
    members = {
        "f": len, "p": property(len), "g": lambda _self: 1, "s": staticmethod(len), "m": Mock(), "n": 1, "l": [1],
        "o": other.thing("__get__"), "__len__": lambda _self: 2, "__own": lambda _self: 3, "__new__": lambda _cls: 4,
    }  # fmt: skip
    assert own_dict(derived(other, members))[deriving._OWN] == {"g", "p", "s", "m", "__len__"}


def test_a_class_statement_by_a_metaclass_of_the_program_s(either: Other):
    meta = either.cls()
    namespace = {"__module__": "m", "__qualname__": "Mine"}
    either.answers["derive"] = either.cls(either.cls())
    statement = ("Mine", (), namespace)
    others = [("Mine", (), {}), ("Mine", (), {"__module__": "m"}), ("Mine", (), {"__qualname__": "m"}), ("Mine", ()),
              ("Mine", [], namespace), (1, (), namespace)]  # fmt: skip
    for arguments in others:
        assert meta(*arguments) == 8
    assert [each[0] for each in either.asked] == ["call"] * len(others)
    del either.asked[:]
    meta(*statement)
    assert [each[0] for each in either.asked] == (["derive"] if either.is_test else ["call"])
    if either.is_test:
        assert either.asked[0][-1] == {"metaclass": meta}


def test_an_object_among_the_bases_says_which_classes_are_meant(other: Other):
    stand_in, cls = other.thing(), other.cls()
    for gives, is_refused in [((cls,), False), ((int, cls), False), ((int,), True), ((), True), ([cls], True),
                              (8, True), (AttributeError(), True)]:  # fmt: skip
        other.answers["call"] = gives
        if is_refused:
            with pytest.raises(TypeError, match="no class stands among the bases"):
                stand_in.__mro_entries__((stand_in,))
        else:
            assert stand_in.__mro_entries__((stand_in,)) == gives
    candidate = connected(Other(False))
    assert not hasattr(candidate.thing(), "__mro_entries__")


def test_a_method_of_a_base_is_that_of_the_base(other: Other):
    base = other.cls(offers="__len__ __next__ __bool__ __eq__")
    own = {"__len__": lambda _self: 7, "__next__": lambda _self: 6, "__eq__": lambda _self, _other: True}
    mine = derived(other, own, base)
    below = derived(other, {"__len__": lambda _self: 5}, mine)
    thing = thing_of(below)
    assert (len(thing), next(thing), mine.__len__(thing), below.__len__(thing), other.asked) == (5, 6, 7, 5, [])
    other.answers["get"] = lambda self: ("theirs", self)
    answer = other.answers["get"]
    other.answers["get"] = lambda: answer
    assert base.__len__(thing) == base.__next__(thing) == ("theirs", thing)
    assert (other.asked, other.ended) == ([("get", base, "__len__"), ("get", base, "__next__")], [StopIteration])
    del other.asked[:]
    assert callable(base.__eq__), "what is equal, the candidate does not say"
    assert (callable(base.__bool__), hasattr(remote.RemoteObject, "__next__"), other.asked) == (True, False, [])


def test_what_the_script_defines_stands_ahead_only_where_something_else_would(other: Other):
    mine = derived(other, {"__len__": lambda _self: 7})
    below, beside = other.cls(mine, offers="__bool__"), other.cls(other.cls(offers="__len__"), mine)
    assert ("__len__" in own_dict(below), "__len__" in own_dict(beside)) == (False, True)
    assert (len(thing_of(below)), len(thing_of(beside)), other.asked) == (7, 7, [])


def test_what_is_set_on_a_class_is_set_over_there_and_the_script_s_functions_here(other: Other):
    base = other.cls(offers="__len__")
    mine = derived(other, {"f": lambda _self: 1, "g": lambda _self: 2}, base)
    thing = thing_of(mine)
    base.h = mine.new = lambda _self: 3
    mine.f, mine.n = 5, 6
    assert "n" not in own_dict(mine)
    del mine.g, mine.n, base.__len__
    told = [each[0] for each in other.asked]
    assert (told, "h" in own_dict(base), own_dict(mine)[deriving._OWN]) == (["set"] * 4 + ["del"] * 3, False, {"new"})
    del other.asked[:]
    assert (thing.new(), thing.f, mine.f, thing.g, thing.n) == (3, 8, 8, 8, 8)
    thing.f = 7
    assert other.asked == [
        ("get", thing, "f"), ("get", mine, "f"), ("get", thing, "g"), ("get", thing, "n"), ("set", thing, "f", 7),
    ]  # fmt: skip


def test_what_an_object_is_given_hides_what_the_script_defines_from_that_object_alone(other: Other):
    taken: list[object] = []
    mock = Mock()
    members = {"f": lambda _self: 1, "m": mock, "p": property(len, lambda _self, value: taken.append(value))}
    mine = derived(other, members)
    first, second = thing_of(mine, 8), thing_of(mine, 9)
    first.p = 3
    assert (taken, other.asked) == ([3], [])
    first.f = first.m = second.n = 4
    assert (first.f, first.m, second.f(), second.m, mine.m) == (8, 8, 1, mock, mock)
    second.f = 5
    assert (first.f, second.f, deriving.own_members(mine)["f"](0), deriving.own_members(mine)["m"]) == (8, 8, 1, mock)
    del first.f, second.n, first.p
    assert (first.f(), second.f, mine.f(0)) == (1, 8, 1)
    below, of_program = thing_of(other.cls(mine), 10), other.thing("__len__")
    below.f = of_program.__len__ = 4
    assert (below.f, first.f(), callable(own_dict(type(of_program))["__len__"])) == (8, 1, True)


def test_what_the_script_s_hash_and_equality_ask_waits_until_a_message_is_read(other: Other):
    mine = derived(other, {"__hash__": lambda _self: 5, "__eq__": lambda _self, _other: True, "__len__": lambda _: 3})
    thing, end = thing_of(mine), placing.Placing()
    assert (hash(thing), thing == 4) == (5, True)
    assert (end.during(lambda: (hash(thing) == 5, thing == 4, len(thing))), end.waiting) == ((False, False, 3), [thing])
    assert end.during(lambda: (mine.__hash__(thing), mine.__eq__(thing, 4))) == (5, True), "who names it calls it"


def test_what_comes_of_a_class_of_the_script_s_is_one_of_it(other: Other):
    mine = derived(other, {})
    below, base = other.cls(mine), other.cls()
    for cls, value, of in [(mine, thing_of(mine), ""), (mine, thing_of(below), ""), (base, 8, ""), (mine, 8, "call")]:
        if of:
            with pytest.raises(TypeError, match="a call of class A gives a int"):
                deriving.checked(cls, value)
        else:
            assert deriving.checked(cls, value) is value


def test_what_the_script_has_made_is_found_where_the_candidate_says_nothing_of_it(other: Other):
    base = other.cls()
    mine = derived(other, {"f": lambda _self: 1, "g": len}, base)
    told, of_program = other.cls(base), other.cls(base)
    assert deriving.with_own_names(mine, ["a", "f"]) == ["a", "f"]
    assert deriving.with_own_names(mine, ["a"]) == ["a", "f"]
    assert deriving.with_derived(base, [told]) == [told, mine], "of others the candidate says whether they are there"
    assert deriving.with_derived(base, [mine, of_program]) == [mine, of_program]


def test_super_asks_the_candidate_for_what_is_the_program_s(other: Other):
    class Own:
        def f(self) -> int:
            return 3

    class Below(Own):
        def f(self) -> int:
            return 4

    mine = derived(other, {})
    thing = thing_of(mine)
    assert super_(Below, Below()).f() == 3
    found: Any = super_(mine, thing)
    assert other.asked[0][:2] == ("call", super)
    other.answers["get"] = [lambda: 5]
    del other.asked[:]
    assert (found.name, [each[2] for each in other.asked]) == (5, ["name"])

    def bare() -> None:
        super_()

    def of_no_class(_self: object) -> None:
        super_()

    for wrong in (bare, lambda: of_no_class(1)):
        with pytest.raises(RuntimeError, match="no arguments"):
            wrong()
    __class__ = mine

    def method(self: object) -> Any:
        return super_(), __class__, self

    other.answers["get"] = 8
    assert type(method(thing)[0]) is type(found)

    def without() -> Any:
        return super_(), __class__

    with pytest.raises(RuntimeError, match="no arguments"):
        without()


def test_super_of_an_iterator_may_end_and_its_exit_deals_with_the_program_s_errors(other: Other):
    found: Any = super_(derived(other, {}), 1)
    other.answers["get"] = lambda: lambda *_asked: 5
    assert (found.__next__(), other.ended) == (5, [StopIteration])
    assert found.__exit__() in (True, False)
    other.answers["get"] = 6
    assert found.other == 6


def test_the_candidate_makes_the_class_itself():
    made = deriving.made_class("Made", (dict,), (("x", 1), ("f", len)), {})
    assert (made.__name__, made.__bases__, vars(made)["x"], vars(made)["f"]) == ("Made", (dict,), 1, len)
