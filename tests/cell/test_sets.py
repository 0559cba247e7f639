"""Sets that cross are gone through in the order that they had where they were made."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from cruxcell.native import pure
from cruxcell.values import sets, transfer
from cruxcell.values.containers import Garbled
from interpreters import Twin, twins

# Sets of all sizes, made in every way, and what crosses of each: are the items the same objects' equals in that order,
# is each found, and does it grow on?
CROSSES = """
import json, random, sys
from cruxcell.values import sets, transfer
from cruxcell.values.trees import encode_tree
sets.use(k)
rng = random.Random(7)
KINDS = [
    lambda: rng.randint(-300, 300),
    lambda: rng.randint(-10**20, 10**20),
    lambda: "".join(rng.choices("abcdef", k=4)),
    lambda: (rng.randint(0, 20), "x" * rng.randint(0, 3)),
    lambda: rng.random(),
]
def added(items):
    found = set()
    for item in items:
        found.add(item)
    return found
def without(items):
    found = set(items)
    found.difference_update(items[::3])
    return found
def grown(items):
    found = set(items[:len(items) // 2])
    found |= frozenset(items)
    return found
WAYS = {"added": added, "set": set, "merged": lambda items: set(frozenset(items)), "frozenset": frozenset,
        "copied": lambda items: added(items).copy(), "or": lambda items: set(items[::2]) | set(items[1::2]),
        "and": lambda items: set(items) & set(items[::2]), "grown": grown, "without": without,
        "comprehended": lambda items: {item for item in items}}
lost = {}
for way, make in WAYS.items():
    for size in [*range(30), 76, 77, 78, 200, 307, 308, 1000]:
        for kind in KINDS:
            value = make([kind() for _ in range(size)])
            for data in (transfer.encode([value], 1 << 24), encode_tree([value], 1 << 24)):
                (crossed,) = transfer.decode(data)
                assert type(crossed) is type(value) and crossed == value and all(each in crossed for each in value)
                if list(crossed) != list(value):
                    lost[way] = lost.get(way, 0) + 1
                if type(value) is set:
                    crossed.update(range(1000, 1100))
                    assert crossed == value | set(range(1000, 1100))
                    crossed.clear()
                    assert not crossed
print(json.dumps(lost))
"""


@pytest.mark.parametrize("twin", twins(), ids=str)
def test_a_set_keeps_its_order(twin: Twin):
    lost = twin.ask(CROSSES)
    if twin.name == "native":
        assert set(lost) <= {"without"}  # the place of what has been discarded
    else:
        assert lost


# Whatever is asked of the helper, a set stays whole: of no table that does not fit, of a set that its items change.
HOSTILE = """
import json
said = []
def tried(*asked):
    try:
        found = k.fill_set(*asked)
    except Exception as error:
        return type(error).__name__
    return [type(found).__name__, sorted(found), found.__sizeof__() <= 8000]
items = list(range(40))
for bits in (-1, 0, 3, 4, 5, 6, 7, 8, 9, 10, 31, 32, 63, 64, 1 << 20):
    assert tried(set("ab"), items, bits) == ["set", items, True], bits
    assert tried(None, items, bits) == ["frozenset", items, True], bits
said += [tried(set(), [[]], 3), tried([], [], 3), tried(set(), 5, 3), tried(frozenset("a"), [], 3), tried({}, [], 3)]
class Meddles:
    def __init__(self, do):
        self.do = do
    def __hash__(self):
        self.do()
        return 5
mine = set()
items = [Meddles(lambda: mine.update(range(500)))] + list(range(10, 20))
assert k.fill_set(mine, items, 5) is mine and set(range(500)) | {items[0]} == mine
items = list(range(100, 110)) + [Meddles(mine.clear)] + list(range(10, 20))
k.fill_set(mine, items, 6)
assert sorted(each for each in mine if type(each) is int) == list(range(10, 20)) and len(mine) == 11
assert all(each in mine for each in items[11:])
class Ends:
    def __del__(self):
        mine.update(range(30))
mine = {Ends()}
k.fill_set(mine, list(range(100, 120)), 7)
assert mine == set(range(30)) | set(range(100, 120))
for wrong in ([], {}, None, 5):
    try:
        k.set_order(wrong)
    except TypeError:
        said.append("TypeError")
print(json.dumps(said))
"""


@pytest.mark.parametrize("twin", [each for each in twins() if each.name == "native"], ids=str)
def test_a_set_stays_whole_whatever_is_asked(twin: Twin):
    assert twin.ask(HOSTILE) == ["TypeError"] * 9


@pytest.mark.parametrize(
    ("bits", "count", "is_one"),
    [
        (0, 0, True), (0, 1000, True), (3, 0, True), (3, 4, True), (3, 5, False), (4, 5, True), (4, 1, False),
        (4, 2, True), (5, 3, False), (5, 4, True), (5, 18, True), (5, 19, False), (2, 1, False),
        (255, 4, False), (4, 8, True), (4, 9, False),
    ],
)  # fmt: skip
def test_a_set_gets_no_table_that_none_of_its_size_has(bits: int, count: int, is_one: bool):
    items = range(count)
    for put in (lambda: sets.fill(set(), items, bits), lambda: sets.frozen(items, bits)):
        if is_one:
            put()
        else:
            with pytest.raises(Garbled, match="a set that cannot be"):
                put()


def test_the_largest_table_is_one():
    sets._check(31, 1 << 28)
    with pytest.raises(Garbled):
        sets._check(32, 1 << 29)


def test_a_helper_is_asked_for_each_order_that_there_is(monkeypatch: pytest.MonkeyPatch):
    asked: list[object] = []

    class Helper:
        bits = 4

        def set_order(self, _value: object) -> tuple[int, tuple[str, ...]]:
            return self.bits, ("b", "a")

        def fill_set(self, *given: object) -> object:
            asked.append(given)
            return given[0]

    helper, filled = Helper(), set[int]()
    monkeypatch.setattr(sets, "_helper", [helper])
    assert sets.order_of({"a", "b"}) == (4, ("b", "a"))
    helper.bits = 0
    assert sets.order_of({"a"}) == (0, ("a",))
    sets.fill(filled, [5, 6], 3)
    sets.frozen([5, 6], 3)
    assert asked == [(filled, [5, 6], 3), (None, [5, 6], 3)]
    sets.fill(filled, [5], 0)
    assert (filled, sets.frozen([5], 0), sets.frozen([], 3)) == ({5}, frozenset([5]), frozenset())
    assert len(asked) == 2


def test_without_a_helper_a_set_crosses_in_an_order_of_its_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sets, "_helper", [])
    sets.use(pure)
    value = [{94, 83, 67, 3, 59}, frozenset("abcdefgh"), set(), frozenset()]
    assert transfer.decode(transfer.encode(value, 1000)) == value
    assert [sets.order_of(each) for each in value] == [(0, tuple(each)) for each in value]
    given = {1}
    sets.fill(given, [5, 6], 3)
    assert (given, sets.frozen([5, 6], 3)) == ({5, 6}, frozenset([5, 6]))


def test_the_helper_is_the_one_that_was_named_last(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sets, "_helper", [])
    first, last = SimpleNamespace(set_order=None), SimpleNamespace(set_order=None)
    for helper in (first, last, pure):
        sets.use(helper)
    assert sets._helper == [last]
