"""Canonical bytes: no class says what it equals, and nothing is deeper or larger than the budget."""

from __future__ import annotations

import fractions
import sys
from collections import Counter, OrderedDict, defaultdict
from decimal import Decimal
from fractions import Fraction
from types import ModuleType, SimpleNamespace

import pytest
from canonical_by_hand import BUDGET, canon
from cruxcell.values import canonical
from cruxcell.values.canonical import NotPlain, TooLarge


class Plane(complex):
    @property
    def real(self):
        return 5.0


class Octets(bytearray):
    def __bytes__(self):
        return b"evil"

    def __len__(self):
        return 4


class Text(bytes):
    def __bytes__(self):
        return b"evil"

    def __buffer__(self, flags):
        return memoryview(b"evil")


class Hidden(dict):
    """A dict that hides its items behind methods of its own."""


for name in ("__iter__", "__len__", "__getitem__", "keys", "values", "items"):
    setattr(Hidden, name, lambda *_: pytest.fail("it was asked"))


@pytest.mark.parametrize(
    ("value", "plain"),
    [(Plane(1, 2), 1 + 2j), (Octets(b"good"), b"good"), (Text(b"good"), b"good"), (Hidden({1: 2}), {1: 2})],
)
def test_no_method_of_a_subclass_says_what_its_value_is(value, plain):
    assert canon(value) == canon(plain)


def test_no_member_is_asked_for_its_hash_again():
    class Once:
        asked = 0

        def __hash__(self):
            type(self).asked += 1
            return 0

    class Few(set):
        pass

    class Pairs(dict):
        pass

    for value in (Few([Once()]), Pairs({Once(): 1})):
        Once.asked = 0
        with pytest.raises(NotPlain):
            canonical.canon(value, BUDGET)
        assert Once.asked == 0


def test_a_dict_that_equals_its_like_in_another_way_is_noted():
    beside = [OrderedDict(a=1), Fraction(1, 2)]
    for value in (OrderedDict([(1, 2), (3, 4)]), [{0: OrderedDict({1: 2})}], {1: Counter("ab")}.items(), beside):
        run = canonical.Canon(BUDGET)
        run.bytes(value)
        assert run.has_likes
    for value in ({1: 2, 3: 4}, defaultdict(int, {1: 2}), ["ab"]):
        run = canonical.Canon(BUDGET)
        run.bytes(value)
        assert not run.has_likes


def test_what_counts_beside_its_like():
    first, second = OrderedDict([("a", 1), ("b", 2)]), OrderedDict([("b", 2), ("a", 1)])
    assert canonical.relation(first, BUDGET) == (canon({"a": 1, "b": 2}), b"o0,1:")
    assert canonical.relation([{}, second], BUDGET) == (canon([{}, {"a": 1, "b": 2}]), b";o1,0:")
    # In the order in which they are written, whatever order they are in.
    for value in ({2: {}, 1: second}, {1: second, 2: {}}, {2: {}, 1: second}.items()):
        assert canonical.relation(value, BUDGET)[1].endswith(b"o1,0:;")
    # What is 0 in another dict counts.
    zero = canon("a").hex().encode()
    assert canonical.relation(OrderedDict(x={"a": 0}), BUDGET) == (canon({"x": {}}), b"o0:;:" + zero)


def test_up_to_python_3_9_two_counters_are_equal_as_dicts_are(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(canonical, "sys", SimpleNamespace(modules=sys.modules, version_info=(3, 9)))
    run = canonical.Canon(BUDGET)
    run.bytes([Counter("a"), OrderedDict()])
    assert (run.like_of(Counter), run.like_of(OrderedDict)) == (b"", b"o")


class LikeOrdered(type):
    """The class of classes that say they are OrderedDict."""

    def __eq__(cls, other):
        raise SystemExit("code of the candidate ran")

    def __hash__(cls):
        return hash(OrderedDict)


def test_no_class_of_its_own_kind_says_which_dict_it_is_like():
    says_so = {"__module__": "collections"}
    run = canonical.Canon(BUDGET)
    assert run.bytes(LikeOrdered("OrderedDict", (dict,), says_so)(a=1)) == canon({"a": 1})
    assert not run.has_likes
    with pytest.raises(NotPlain):
        canon(LikeOrdered("OrderedDict", (dict,), {**says_so, "__eq__": dict.__eq__, "__hash__": None})(a=1))


def test_a_class_that_is_given_an_equality_later_is_not_plain():
    kind = type("Number", (int,), {})
    assert canon(kind(1)) == canon(1)
    kind.__eq__ = lambda self, other: True  # type: ignore[assignment,method-assign]
    with pytest.raises(NotPlain):
        canon(kind(1))


@pytest.mark.skipif(sys.version_info < (3, 10), reason="there two Counters are equal as dicts are")
def test_zeros_of_a_counter_count_for_nothing_beside_another():
    assert canonical.relation(Counter(a=1, b=0), BUDGET) == (canon({"a": 1}), b"c:" + canon("b").hex().encode())
    assert canonical.relation(Counter(a=1), BUDGET) == (canon({"a": 1}), b"c:")


def test_the_budget_holds():
    for value in ("x" * 100, [1] * 100, 1 << 1000, {n: n for n in range(50)}, [[[["x" * 30]]]]):
        size = len(canon(value))
        with pytest.raises(TooLarge):
            canonical.canon(value, size // 2)


def test_depth_is_bounded():
    deep: list = []
    for _ in range(canonical.MAX_DEPTH - 1):
        deep = [deep]
    canon(deep)
    with pytest.raises(NotPlain, match="nested"):
        canon([[deep]])
    loop: list = []
    loop.append(loop)
    with pytest.raises(NotPlain, match="nested"):
        canon(loop)


@pytest.mark.parametrize("around", [list, tuple, frozenset, lambda items: dict.fromkeys("a", *items)])
def test_each_kind_of_container_is_one_deeper(around):
    deep = 1
    for _ in range(canonical.MAX_DEPTH):
        deep = around([deep])
    canon(deep)
    with pytest.raises(NotPlain, match="nested more than"):
        canon(around([deep]))


def test_repr_is_for_people():
    assert canonical.short_repr([1, "a"], 100) == ("[1, 'a']", False)
    assert canonical.short_repr("a" * 100, 10) == ("'" + "a" * 9, True)
    assert "int of 40001 bits" in canonical.short_repr(1 << 40_000, 100)[0]
    assert canonical.short_repr([1 << 40_000], 100)[0].startswith("<a value with very long ints")


class EqualsEverything(type):
    def __eq__(cls, other: object) -> bool:
        return True

    __hash__ = type.__hash__


def test_nobody_passes_for_a_dict_of_the_library():
    """By the name of the module, nor by a metaclass that says yes; nor where `collections` is not loaded."""
    says_so = {"__module__": "collections", "__eq__": lambda self, other: True, "__hash__": None}
    for made in (type("OrderedDict", (dict,), says_so), EqualsEverything("OrderedDict", (dict,), says_so)):
        with pytest.raises(NotPlain):
            canon(made())


def test_no_code_of_python_says_which_number_a_value_equals(monkeypatch: pytest.MonkeyPatch):
    """Whatever a program puts in the place of a library's module, type or attributes."""

    def fails(*_: object):
        raise SystemExit("code of the candidate ran")

    module = ModuleType("decimal")
    module.__getattr__ = fails  # type: ignore[method-assign]
    says_so = dict.fromkeys(["as_tuple", "as_integer_ratio", "__float__", "__eq__"], fails)
    monkeypatch.setitem(sys.modules, "decimal", module)
    lying = type("Decimal", (), {"__module__": "decimal", "__hash__": None, **says_so})
    for _ in range(2):
        with pytest.raises(NotPlain):
            canon(lying())
        module.Decimal = lying  # type: ignore[attr-defined]
    monkeypatch.setattr(Fraction, "numerator", property(fails))
    assert canon(Fraction(1, 2)) == canon(0.5)


def test_what_only_looks_native_says_nothing(monkeypatch: pytest.MonkeyPatch):
    class Looks:
        def __get__(self, *_: object) -> int:
            raise SystemExit("code of the candidate ran")

    looks = Looks()
    lying = type("Fraction", (), {"__module__": "fractions", "_numerator": looks})
    looks.__objclass__ = lying  # type: ignore[attr-defined]
    value, fraction = lying(), Fraction(1, 2)
    monkeypatch.setattr(fractions, "Fraction", lying)
    with pytest.raises(NotPlain):
        canon(value)
    monkeypatch.setitem(sys.modules, "fractions", "no module")  # type: ignore[arg-type]
    with pytest.raises(NotPlain):
        canon(fraction)


def test_a_number_that_no_float_is_equals_what_it_is():
    assert canon(Fraction(10**400)) == canon(10**400)
    assert canon(Decimal("inf")) == canon(float("inf"))
    assert canonical.canon(Decimal("snan"), BUDGET) == canonical.canon(float("nan"), BUDGET)


def test_a_dict_of_the_library_is_one_only_where_it_is_loaded(monkeypatch: pytest.MonkeyPatch):
    assert canon(OrderedDict(a=1)) == canon({"a": 1})
    monkeypatch.delitem(sys.modules, "collections")
    with pytest.raises(NotPlain):
        canon(type("Own", (dict,), {"__module__": "collections", "__eq__": lambda self, other: True})())


def test_large_numbers_have_a_form_of_their_own():
    small = [canon(value)[:1] for value in (0, (1 << 63) - 1, -(1 << 63))]
    assert small == [b"i"] * 3
    assert [canon(value)[:1] for value in (1 << 63, -(1 << 63) - 1, 10**5_000)] == [b"I"] * 3


def test_the_name_of_a_type_is_a_text_of_its_own():
    name = type("Name", (str,), {})("A")
    assert [canonical.type_name(type(each, (), {})()) for each in ("A" * 201, name)] == ["A" * 200, "?"]
