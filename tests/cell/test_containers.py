"""What both ends of a connection keep of containers: their numbers, what changed in them, and their content anew."""

from __future__ import annotations

import sys
from array import array
from collections import OrderedDict, UserDict, deque
from typing import Any

import pytest
from containers_by_hand import ROOM, Ends, numpy, u32
from cruxcell.values import containers, dicts, stdlib, transfer
from cruxcell.values.canonical import TooLarge
from cruxcell.values.containers import Containers, Garbled, base_of
from cruxcell.values.dicts import dict_base, dict_tags, pairs_of
from cruxcell.values.reader import Reader
from cruxcell.values.writer import Writer

# ---- changes -------------------------------------------------------------------------


def swapped(value: set[object]) -> None:
    value.discard(1)
    value.add("b")


def equal_key(value: dict[object, object]) -> None:
    value.clear()
    value[True] = "a"


def reshaped(value: Any) -> None:
    value.shape = (3, 2)


CHANGES: dict[str, tuple[Any, Any]] = {
    "a list grows": ([1], lambda value: value.append(2)),
    "an item of a list": ([1, 2], lambda value: value.__setitem__(0, "a")),
    "a dict grows": ({1: 2}, lambda value: value.__setitem__(3, 4)),
    "an item of a dict": ({1: 2}, lambda value: value.__setitem__(1, "b")),
    "a key of a dict": ({1: "a"}, equal_key),
    "a set grows": ({1}, lambda value: value.add("b")),
    "a set shrinks": ({1, "b"}, lambda value: value.discard(1)),
    "an item of a set": ({1, "a"}, swapped),
    "a bytearray": (bytearray(b"ab"), lambda value: value.__setitem__(0, 0)),
    "a deque grows": (deque([1]), lambda value: value.append(2)),
    "an item of a deque": (deque([1, 2]), lambda value: value.__setitem__(0, "a")),
    "a number of numbers alone": (array("d", [1, 2]), lambda value: value.__setitem__(0, 0.5)),
    "numbers alone grow": (array("d", [1, 2]), lambda value: value.append(0.5)),
    "an order": (OrderedDict(a=1, b=2), lambda value: value.move_to_end("a")),
    "a number of an array": (numpy.arange(6).reshape(2, 3), lambda value: value.__setitem__((0, 0), 7)),
    "an object of an array": (numpy.array([1, None], dtype=object), lambda value: value.__setitem__(0, "a")),
    "the shape of an array": (numpy.arange(6).reshape(2, 3), reshaped),
}


def test_dicts_within_dicts_are_counted_one_by_one():
    value: Any = 1
    for at in range(20):  # far from as deep as may be
        value = {at: value}
    assert Ends().send([value]) == [value]


@pytest.mark.parametrize("name", CHANGES)
def test_the_other_end_gets_what_changed_and_nothing_else(name: str):
    value, change = CHANGES[name]
    ends = Ends()
    again = ends.send([value, [0], (0,)])[0]
    assert ends.one.changed() == []
    change(value)
    number = ends.one.numbers[id(value)]
    assert ends.one.changed() == [number]
    ends.refresh()
    assert ends.one.changed() == ends.other.changed() == []
    assert type(again) is type(value)
    assert again == value if type(value) is set else repr(again) == repr(value)


class Rows(list):  # type: ignore[type-arg]
    """What the other half calls a list."""

    def __iter__(self) -> Any:
        raise AssertionError

    def __len__(self) -> int:
        raise AssertionError

    def clear(self) -> None:
        raise AssertionError


class Kept(OrderedDict):  # type: ignore[type-arg]
    def clear(self) -> None:
        raise AssertionError


class Plain(dict):  # type: ignore[type-arg]
    clear = Kept.clear


def test_of_a_subclass_only_the_base_is_asked():
    assert [base_of(kind) for kind in (Rows, Kept, Plain, deque, array, numpy.ndarray)] == [
        list, dict, dict, "deque", "array", "ndarray",
    ]  # fmt: skip
    assert (base_of(tuple), base_of(frozenset), base_of(int)) == (None, None, None)
    assert (dict_base(Kept), dict_base(Plain), dict_base(dict)) == (OrderedDict, dict, dict)
    writer, own = Writer(Containers()), Rows([1, 2])
    writer.sequence(own, 0)
    assert transfer.decode(writer.bytes(ROOM)) == [1, 2]
    reader = Reader(u32(1) + b"N", Containers(1))
    assert list.__getitem__(reader.fill(own, 0), slice(None)) == [None]
    kept = Kept(a=1)
    reader = Reader(u32(1) + b"s" + u32(1) + b"b" + b"N", Containers(1))
    reader.fill(kept, 0)
    assert list(kept.items()) == [("b", None)]


def test_names_alone_make_no_container_of_another_module():
    assert stdlib.base_name(UserDict) == stdlib.base_name(numpy.float64) == ""
    for name in ("deque", "array", "ndarray"):
        assert stdlib.base_name(type(name, (), {"__module__": "elsewhere"})) == ""
        assert base_of(type(name, (list,), {"__module__": "collections"})) is list


def test_the_dicts_of_collections_are_known_before_anything_imports_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "collections")
    assert sorted(kind.__name__ for kind in dict_tags()) == ["Counter", "OrderedDict", "defaultdict"]


class Hashed:
    hash = 1

    def __hash__(self):
        return self.hash


def test_an_ordered_dict_is_read_where_nothing_is_asked_and_in_the_order_of_its_keys(monkeypatch: pytest.MonkeyPatch):
    first, second = Hashed(), Hashed()
    ordered = OrderedDict([(first, 1), (second, 2)])
    ordered.move_to_end(first)
    looks: list[object] = []

    def look(function):
        looks.append(function)
        return function()

    monkeypatch.setattr(dicts, "unasked", [look])
    assert (pairs_of({first: 1}), looks) == ([(first, 1)], [])
    assert (pairs_of(ordered), len(looks)) == ([(second, 2), (first, 1)], 1)
    second.hash = 2  # where it is no longer to be found, the order in which they came is left
    assert pairs_of(ordered) == [(first, 1), (second, 2)]


# ---- numbers -------------------------------------------------------------------------


def test_the_containers_of_a_connection_are_bounded(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(containers, "MAX_CONTAINERS", 2)
    with pytest.raises(TooLarge):
        transfer.encode([[], []], ROOM)
    assert transfer.encode([[]], ROOM)
    table = Containers()
    table.adopt(1, [])
    table.adopt(3, [])
    with pytest.raises(Garbled):
        table.adopt(5, [])


def test_a_number_belongs_to_one_end_and_one_container():
    table = Containers()
    table.adopt(1, [])
    for number in (0, 1, 2):
        with pytest.raises(Garbled):
            table.adopt(number, [])


def test_what_is_forgotten_has_no_number():
    table, kept = Containers(), [[], []]
    for each in kept:
        table.add(each)
    table.forget([0, 8])
    assert (list(table.entries), list(table.numbers)) == ([2], [id(kept[1])])
    table.settle()
    assert table.changed() == []
    table.add([])
    table.undo()
    assert list(table.entries) == [2]


def test_what_is_done_to_a_container_while_it_is_written_is_one_more_change():
    """By another thread, say."""

    class Objects:
        class_of_proxies, is_test = None, True

        def write(self, writer: Writer, _value: object, depth: int) -> None:
            change(each)
            writer.value(None, depth)

    kept: list[tuple[Any, Any]] = [
        ([object()], lambda each: each.append(1)),
        ({1: object()}, lambda each: each.update({len(each) + 1: object()})),
        ({object()}, lambda each: each.add(object())),
        (deque([object()]), lambda each: each.append(1)),
    ]
    for is_known in (False, True):
        table = Containers()
        for each, change in kept:
            writer = Writer(table, Objects())
            if is_known:
                writer.content(table.touch(table.add(each)), 0)
            else:
                writer.value(each, 0)
        table.settle()
        assert table.changed() == [0, 2, 4, 6]
        for number in table.changed():
            table.write(table.touch(number))
        assert table.changed() == []
        table.undo()
        assert table.changed() == [0, 2, 4, 6]


def test_what_changes_while_it_is_looked_at_has_changed(monkeypatch: pytest.MonkeyPatch):
    class Busy(deque):  # type: ignore[type-arg]
        left = 3

        def __iter__(self) -> Any:
            self.left -= 1
            if self.left >= 0:
                raise RuntimeError("deque mutated during iteration")
            return super().__iter__()

    busy = Busy([1])
    assert containers.items_of("deque", busy) == (1,)
    busy.left = 1 << 20
    with pytest.raises(TooLarge):
        containers.items_of("deque", busy)
    table, kept = Containers(), {1}
    table.add(kept)
    table.settle()
    monkeypatch.setattr(containers, "_differs", lambda *_: busy.__iter__())
    assert table.changed() == [0]


def test_a_sweep_forgets_what_nobody_else_has():
    table, kept = Containers(), {1}
    assert table.sweep() == []
    table.add(kept)
    table.add([2])
    table.settle()
    assert table.sweep() == [2]
    assert (list(table.entries), list(table.numbers)) == ([0], [id(kept)])


def test_what_is_held_is_what_more_than_the_table_refers_to():
    table, kept, named = Containers(), [[1]], [2]
    for make in (lambda: kept, lambda: kept[0], lambda: named, lambda: [4], lambda: {"a": named}, lambda: {(5,)}):
        table.add(make())
    table.add([table.entries[6][0], named])
    table.settle()
    every = [0, 2, 4, 6, 8, 10, 12]
    assert table.held(every, []) == [0, 2, 4]
    assert table.held(every, [id(named)]) == [0, 2]  # its name here does not count
    assert table.held([4, 6, 2], []) == [4, 2]
    inner, kept = kept[0], []
    assert table.held(every, []) == [2, 4]
    inner.append(table.entries[12][0])
    assert table.held(every, []) == [2, 4, 6, 12]  # with what they hold
