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
def raises(*_):
    raise RuntimeError("nothing of a class's own is asked")
OWN = dict.fromkeys(["__iter__", "__len__", "__eq__", "__getitem__", "keys", "values", "items"], raises)
Items, Fields, Group = [type(base.__name__, (base,), OWN) for base in (list, dict, set)]
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
def filled(cls, items):
    made = cls.__new__(cls)
    cls.__base__.__init__(made, items)
    return made
MAKERS = [
    some, lambda: filled(Items, some()), lambda: filled(Fields, keyed(dict)), lambda: filled(Group, hashed()),
    lambda: deque(some()), hashed, lambda: frozenset("ab"), lambda: (*some(),), lambda: keyed(dict),
    lambda: keyed(OrderedDict), lambda: keyed(lambda: defaultdict(list)), lambda: Counter("abca"),
    lambda: bytearray(b"abc"),
]
BASES = OrderedDict, dict, list, set, deque, bytearray, tuple, frozenset
def base_of(value):
    return next(base for base in BASES if issubclass(type(value), base))
def items(value):
    base = base_of(value)
    if issubclass(base, dict):
        return [*map(id, base.keys(value)), *map(id, base.values(value))]
    found = [*base.__iter__(value)]
    return found if base is bytearray else sorted(map(id, found)) if base is set else [*map(id, found)]
def change(value):
    kind, base = rng.randrange(5), base_of(value)
    size = base.__len__(value)
    if base is set:
        set.symmetric_difference_update(value, {rng.choice("0123xyz"), rng.choice("0123xyz")})
    elif base is bytearray:
        value += b"x" * rng.randrange(2)
    elif base in (tuple, frozenset):
        return
    elif kind == 0 and issubclass(base, dict):
        base.__setitem__(value, "new", 1 << 71)
    elif kind == 0 or not size:
        base.update(value, new=1) if issubclass(base, dict) else base.append(value, rng.choice(THINGS))
    elif kind == 1:
        base.clear(value)
    elif issubclass(base, dict):
        key = [*base.keys(value)][rng.randrange(size)]
        if kind == 2:
            base.__setitem__(value, key, base.__getitem__(value, key))
        elif kind == 3 and base is OrderedDict:
            value.move_to_end(key)
        elif kind == 3:
            base.__setitem__(value, key, base.pop(value, key))
        else:
            base.__setitem__(value, key, 1 << 72)
    elif kind == 2:
        base.pop(value)
    elif kind == 3:
        base.__setitem__(value, rng.randrange(size), rng.choice(THINGS))
    else:
        base.reverse(value)
wrong, found = 0, 0
for turn in range(200):
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
print(json.dumps([wrong, found > 300, said]))
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
