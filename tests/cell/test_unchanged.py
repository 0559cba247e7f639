"""Before each message the native helper looks through the containers that both halves have; without it Python does."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from cruxcell.native import pure
from cruxcell.values import containers
from cruxcell.values.containers import Containers
from interpreters import Twin, twins

# Containers of all kinds, changed at random: what is found with this twin, and what by comparing copies.
CHANGES = """
import json, random, sys
from collections import Counter, OrderedDict, defaultdict, deque
from cruxcell.values import containers
containers.use(k)
rng = random.Random(5)
class Same:
    def __eq__(self, other):
        raise RuntimeError("nothing is compared")
    def __hash__(self):
        return 1
class Items(list):
    pass
THINGS = [Same(), Same(), [], (), "a", 1 << 70, 1.5, None, object(), float("nan")]
def some():
    return [rng.choice(THINGS) for _ in range(rng.choice([0, 1, 2, 5, 40]))]
def keyed(kind):
    made = kind()
    for item in some():
        made[rng.choice("abcdefgh")] = item
    return made
def hashed():
    made = set(map(str, range(rng.choice([0, 1, 4, 5, 30]))))
    made.discard("3")
    return made
MAKERS = [
    some, lambda: Items(some()), lambda: deque(some()), hashed, lambda: frozenset("ab"), lambda: (*some(),),
    lambda: keyed(dict), lambda: keyed(OrderedDict), lambda: keyed(lambda: defaultdict(list)), lambda: Counter("abca"),
    lambda: bytearray(b"abc"),
]
def items(value):
    if isinstance(value, dict):
        return [*map(id, value), *map(id, value.values())]
    if isinstance(value, bytearray):
        return bytes(value)
    return sorted(map(id, value)) if isinstance(value, set) else [*map(id, value)]
def change(value):
    kind = rng.randrange(5)
    if isinstance(value, dict):
        if kind == 0 or not value:
            value["new"] = 1 << 71
        elif kind == 1:
            value.pop(next(iter(value)))
        elif kind == 2:
            value[next(iter(value))] = 1 << 72
        elif kind == 3:
            value[next(iter(value))] = value[next(iter(value))]
        else:
            value.clear()
    elif isinstance(value, set):
        value.symmetric_difference_update({rng.choice("0123xyz"), rng.choice("0123xyz")})
    elif isinstance(value, bytearray):
        value += b"x" * rng.randrange(2)
    elif isinstance(value, (list, deque)):
        if kind == 0 or not value:
            value.append(rng.choice(THINGS))
        elif kind == 1:
            value.pop()
        elif kind == 2:
            value[rng.randrange(len(value))] = rng.choice(THINGS)
        elif kind == 3:
            value.reverse()
        else:
            value.clear()
wrong, found = 0, 0
for turn in range(60):
    table = containers.Containers()
    kept = [rng.choice(MAKERS)() for _ in range(rng.randrange(12))]
    numbers = [table.add(value) for value in kept]
    table.settle()
    before = [items(value) for value in kept]
    for value in rng.sample(kept, rng.randrange(len(kept) + 1)):
        change(value)
    expected = [number for number, value, was in zip(numbers, kept, before) if items(value) != was]
    wrong += table.changed() != expected
    found += len(expected)
    table.forget(numbers[:2])
    wrong += table.changed() != [number for number in expected if number not in numbers[:2]]
value = None
# Whom nobody refers to: neither by a name nor by a container that is remembered.
table = containers.Containers()
inner, outer, tuples = [1], [[2], 3], tuple([4])
outer.append(inner)
numbers = [table.add(each) for each in (inner, outer, outer[0], tuples)]
table.settle()
def swept():
    found = table.sweep()
    table.gone.clear()
    return found
said = [swept()]
del inner, tuples
said.append(swept())
del outer
said += [swept(), swept(), swept(), len(table.entries), len(table.numbers), table.changed()]
print(json.dumps([wrong, found > 50, said]))
"""
# What never is an entry breaks nothing.
WRONG = """
import json
looked = k.not_as_before({1: None, 2: [], 3: [[]], 4: [[], None], 5: [[], ()], 6: [{}, ()], 7: [{}, (1, 2)],
    8: [{1: 2}, ([1], [])], 9: [set(), ({}, 3)], 10: [set([1]), (frozenset(), (2,))], 11: [[1], [1]],
    12: [{}, ([], [])]})
alone = k.alone({1: None, 2: [], 3: [[]]})
raised = 0
for call in (k.not_as_before, k.alone):
    try:
        call([])
    except TypeError:
        raised += 1
print(json.dumps([looked, alone, raised]))
"""


@pytest.mark.parametrize("twin", twins(), ids=str)
def test_what_was_changed_is_found_by_the_identity_of_items(twin: Twin):
    wrong, has_found_some, swept = twin.ask(CHANGES)
    assert (wrong, has_found_some) == (0, True)
    assert swept == [[], [6], [2], [0, 4], [], 0, 0, []]


@pytest.mark.parametrize("twin", [twin for twin in twins() if twin.name == "native"], ids=str)
def test_what_is_no_entry_is_looked_at_in_python(twin: Twin):
    assert twin.ask(WRONG) == [[1, 2, 3, 6, 7, 8, 9, 10, 11], [3], 2]


def test_a_helper_that_cannot_is_not_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(containers, "_helper", [])
    containers.use(pure)
    assert containers._helper == []
    helper = SimpleNamespace(not_as_before=lambda _: [], alone=lambda entries: list(entries))
    containers.use(helper)
    table, value = Containers(), [1]
    number = table.add(value)
    table.settle()
    value.append(2)
    assert table.changed() == []
    assert table.sweep() == [number]
    assert table.entries == {}
