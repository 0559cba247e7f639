"""What shows the memory of another: views of arrays, of dicts, memoryviews. Both ends see the same through each."""

from __future__ import annotations

from typing import Any

import pytest
from containers_by_hand import ROOM, Ends, numpy, plain, u32
from cruxcell.values import transfer, views
from cruxcell.values.containers import Garbled
from cruxcell.values.reader import Reader
from views_by_hand import BASES, RECORDS, VIEWS, Shown, told


def same(one: Any, other: Any) -> bool:
    return bool(one.shape == other.shape and one.dtype == other.dtype and one.tolist() == other.tolist())


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("of", BASES)
@pytest.mark.parametrize("are_both_new", [True, False])
def test_a_view_is_one_of_the_same_memory(name: str, of: str, are_both_new: bool):
    base, ends = BASES[of](), Shown()
    value = VIEWS[name](base)
    if not numpy.shares_memory(value, base):
        return
    if are_both_new:
        again, root = ends.send([value, base])
    else:
        root = ends.send(base)
        again = ends.send(value)
    assert same(again, value)
    assert numpy.shares_memory(again, root)
    assert again.base is root
    assert again.flags.writeable == value.flags.writeable
    root.reshape(-1, order="A")[...] = base.reshape(-1, order="A")[-1]
    ends.turned().refresh()
    assert same(root, base)
    assert same(again, value)
    if again.flags.writeable:
        again[...] = base.copy()[1, 0]
        ends.turned().refresh()
        assert same(root, base)
        assert same(again, value)
    base[...] = base.copy()[0, 0]
    ends.refresh()
    assert same(again, value)
    assert ends.one.changed() == ends.other.changed() == []
    assert ends.send(value) is again


PARTS = {
    "the real part": (numpy.zeros((2, 2), "<c16"), lambda a: a.real),
    "the imaginary part": (numpy.zeros((2, 2), "<c16"), lambda a: a.imag[1]),
    "a field": (numpy.zeros(3, RECORDS), lambda a: a["b"]),
    "bytes": (numpy.arange(3), lambda a: a.view("u1")),
}


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_items_are_views(name: str):
    base, part = PARTS[name]
    ends = Shown()
    root, again = ends.send([base, part(base)])
    again[...] = 7
    ends.turned().refresh()
    assert base.tolist() == root.tolist()
    assert again.tolist() == part(base).tolist()


def test_a_view_that_nothing_else_shows_is_an_array_of_its_own():
    value = numpy.arange(6).reshape(2, 3)
    ends, data = Shown(), plain(value)
    assert data == plain(value.copy())
    again = ends.send(value)
    assert again.base is None
    row = ends.send(value[1])
    assert row.base is again
    row[0] = 9
    ends.turned().refresh()
    assert value.tolist() == [[0, 1, 2], [9, 4, 5]]


def test_of_a_large_array_only_the_view_crosses():
    base = numpy.zeros((1000, 1000))
    ends, column = Shown(), base[:, 1]
    again, tail = ends.send([column, column[990:]])
    assert again.base is None
    assert tail.base is again
    tail[0] = 7
    ends.turned().refresh()
    assert base[990, 1] == column[990] == 7


def test_of_a_test_only_the_view_crosses():
    base = numpy.arange(12).reshape(3, 4).copy()
    ends, given = Ends(), base[:, :3]
    again = ends.send(given)
    assert again.base is None
    back = ends.turned()
    part = back.send(again[1:, ::2])
    assert part.tolist() == [[4, 6], [8, 10]]
    assert part.base is base
    part[0, 0] = 99
    ends.refresh()
    assert again.tolist() == [[0, 1, 2], [99, 5, 6], [8, 9, 10]]
    assert base[1].tolist() == [99, 5, 6, 7]
    flat = back.send(again.reshape(-1))  # in this half no view has these items
    assert flat.tolist() == again.reshape(-1).tolist()
    assert not numpy.shares_memory(flat, base)


def test_what_is_not_of_the_array_is_not_read():
    """What the test has not shown stands between the items of what it has."""
    base = numpy.arange(12).reshape(3, 4).copy()
    ends = Ends()
    ends.send(base[:, :1])
    for place in ((0, (8,)), (8, (8,))):
        data = b"J" + u32(1) + u32(0) + told("<i8", (2,), *place)
        reader = Reader(data, ends.one)
        assert reader.checked(reader.value, 0).tolist() == base[:, 0].tolist()[place[0] // 8 :][:2]
        ends.one.forget([number for number in ends.one.entries if number & 1])
    reader = Reader(b"J" + u32(1) + u32(0) + told("<i8", (4,), 0, (8,)), ends.one)
    with pytest.raises(Garbled):
        reader.checked(reader.value, 0)


@pytest.mark.parametrize("stride", [0, -8])
def test_an_array_that_shows_its_items_twice_or_backwards_has_no_places(stride: int):
    assert views._index(8, numpy.arange(4), (stride,)) == ([0], -1)


def test_what_a_view_is_of_is_remembered_as_long_as_the_view():
    ends = Shown()
    value = numpy.arange(6).reshape(2, 3)
    ends.send(value)
    row = value[1]
    other = ends.send(row)
    number = ends.one.numbers[id(value)]
    del value
    assert number not in ends.one.sweep()
    row[0] = 9
    ends.refresh()
    assert other.tolist() == [9, 4, 5]
    del row
    swept = []
    for _ in range(3):  # a view, then what it is of: between messages what was swept is let go
        swept += ends.one.sweep()
        del ends.one.gone[:]
    assert number in swept


def test_a_view_may_get_another_shape():
    ends, base = Shown(), numpy.arange(6)
    value = base[:4]
    _root, again = ends.send([base, value])
    value.shape = (2, 2)
    ends.refresh()
    assert again.tolist() == [[0, 1], [2, 3]]


def test_a_view_is_where_it_is_in_its_array():
    base = numpy.arange(6)
    assert views.state_of(base[2::2], base) == ((2,), (16,), 16, True)
    _root, again = transfer.decode(transfer.encode([base, base[6:]], ROOM))  # type: ignore[misc]
    assert (again.size, again.base) == (0, None)  # of what shows nothing


def test_a_view_and_its_array_refuse_writers_apart():
    ends, base = Shown(), numpy.arange(6)
    view = base[:2]
    root, again = ends.send([base, view])
    for of_base, of_view in [(False, True), (True, False), (False, False), (True, True)]:
        base.flags.writeable = True
        view.flags.writeable = of_view
        base.flags.writeable = of_base
        ends.refresh()
        assert (root.flags.writeable, again.flags.writeable) == (of_base, of_view)
    base.flags.writeable = False
    assert [each.flags.writeable for each in Shown().send([base, view])] == [False, True]


def test_an_array_that_leads_to_its_view_crosses():
    ends, base = Shown(), numpy.array([None, 1, 2], dtype=object)
    base[0] = inner = [base[1:]]
    again = ends.send([inner, base])
    assert again[1][0] is again[0]
    assert again[0][0].base is again[1]
