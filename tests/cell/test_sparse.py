"""How scipy's sparse matrices cross: what comes out is what went in, and no place in them is outside of them."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from containers_by_hand import Ends, numpy
from cruxcell.values import sparse
from cruxcell.values.canonical import NotPlain
from cruxcell.values.containers import Containers, Garbled
from cruxcell.values.reader import Reader
from cruxcell.values.writer import Writer

scipy: Any = pytest.importorskip("scipy.sparse")
DENSE = [[0, 5, 0, 0], [7, 0, 0, 8]]


def matrix(name: str) -> Any:
    return getattr(scipy, name)(numpy.array(DENSE, "f8"))


def is_same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one.dtype == other.dtype and bool((one.toarray() == other.toarray()).all())


@pytest.mark.parametrize("name", sorted(sparse.NAMES))
def test_a_matrix_crosses_and_what_is_done_to_it_is_done_to_it_there(name: str):
    ends, mine = Ends(), matrix(name)
    theirs = ends.send(mine)
    assert is_same(theirs, mine)
    assert ends.turned().send(theirs) is mine
    if mine.format in {"coo", "dia", "bsr"}:
        mine *= 2
    else:
        mine[0, 1] = 9
    ends.refresh()
    assert is_same(theirs, mine)
    if hasattr(theirs, "data") and mine.format != "lil":
        numbers = theirs.data
        theirs.data[...] = 3
        ends.turned().refresh()
        assert (is_same(theirs, mine), theirs.data is numbers) == (True, True)


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (3, 4)])
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dia"])
def test_a_matrix_may_hold_nothing(form: str, shape: tuple[int, int]):
    mine = getattr(scipy, f"{form}_matrix")(shape, dtype="i4")
    assert is_same(Ends().send(mine), mine)


def test_entries_that_stand_twice_and_out_of_order_stay_so():
    mine = scipy.csr_matrix(([1.0, 2.0, 4.0], [2, 0, 2], [0, 3, 3]), shape=(2, 3))
    theirs = Ends().send(mine)
    assert (theirs.indices.tolist(), theirs.data.tolist(), theirs.nnz) == ([2, 0, 2], [1, 2, 4], 3)


def test_other_numbers_in_as_many_places_move_no_place_under_another_matrix():
    ends, mine = Ends(), scipy.csr_matrix(numpy.array([[1, 0, 2]]))
    theirs = ends.send(mine)
    narrow = scipy.csr_matrix((theirs.data[:1], theirs.indices[:1], numpy.array([0, 1])), shape=(1, 1), copy=False)
    mine.indices[0] = 1
    ends.refresh()
    assert (theirs.toarray().tolist(), narrow.indices.tolist()) == ([[0, 1, 2]], [0])


class Own(scipy.csr_matrix):  # type: ignore[misc]
    pass


def changed(**attributes: Any) -> Any:
    made = matrix("csr_matrix")
    vars(made).update(attributes)
    return made


OBJECTS = numpy.array([object()] * 3)


@pytest.mark.parametrize(
    "value",
    [Own(DENSE), changed(note="mine"), changed(data=OBJECTS), scipy.coo_array([1, 2])],
    ids=["a subclass", "an attribute", "objects", "one dimension"],
)
def test_others_are_objects(value: Any):
    with pytest.raises(NotPlain):
        Writer(Containers()).value(value, 0)


@pytest.mark.parametrize("data", [OBJECTS, None])
def test_one_that_holds_what_it_cannot_by_now_does_not_cross_any_more(data: Any):
    ends, mine = Ends(), matrix("csr_matrix")
    ends.send(mine)
    mine.data = data
    assert ends.one.changed()
    with pytest.raises(NotPlain, match="sparse"):
        ends.refresh()


def message(name: str, *parts: Any) -> bytes:
    writer = Writer(Containers(1))
    writer.items(list(parts), 0)
    return b"m" + bytes([len(name)]) + name.encode() + struct.pack("<I", 101) + b"".join(writer.parts)


def arr(values: Any, kind: str = "<i4", shape: tuple[int, ...] | None = None) -> tuple[str, tuple[int, ...], bytes]:
    made = numpy.array(values, kind)
    return made.dtype.str, made.shape if shape is None else shape, made.tobytes()


ROW = arr([1.0, 2.0], "<f8")
BLOCKS = arr([[[1.0, 2.0]]], "<f8")
LINES = arr([[1.0, 2.0]], "<f8")


def test_what_is_written_by_hand_is_read():
    good = [
        message("csr_matrix", (1, 3), ROW, arr([0, 2]), arr([0, 2])),
        message("bsr_matrix", (1, 2), BLOCKS, arr([0]), arr([0, 1])),
        message("coo_matrix", (1, 3), ROW, arr([0, 0]), arr([0, 2])),
        message("dia_matrix", (2, 2), LINES, arr([-2])),
    ]
    for each in good:
        reader = Reader(each, Containers(0))
        assert scipy.issparse(reader.checked(reader.value, 0))
        reader.end()


@pytest.mark.parametrize(
    "data",
    [
        message("csr_matrix", (1, 3), ROW, arr([0, 3]), arr([0, 2])),
        message("csr_matrix", (1, 3), ROW, arr([0, -1]), arr([0, 2])),
        message("csr_matrix", (2, 3), ROW, arr([0, 1]), arr([0, 5, 2])),
        message("csr_matrix", (2, 3), arr([], "<f8"), arr([]), arr([0, 5, 0])),
        message("csr_matrix", (1, 3), ROW, arr([0, 1]), arr([1, 2])),
        message("csr_matrix", (1, 3), ROW, arr([0, 1]), arr([0, 3])),
        message("csr_matrix", (1, 3), ROW, arr([0, 1]), arr([0, 1])),
        message("csr_matrix", (2, 3), ROW, arr([0, 1]), arr([0, 2])),
        message("csr_matrix", (1, 3), ROW, arr([0, 1, 1]), arr([0, 2])),
        message("csr_matrix", (1, 3), ROW, arr([0, 1]), arr([])),
        message("csr_matrix", (1, 3), LINES, arr([0]), arr([0, 1])),
        message("csr_matrix", (1, 3), ROW, arr([0, 1], "<u4"), arr([0, 2])),
        message("csr_matrix", (1, 3), ROW, arr([0, 1], "<f8"), arr([0, 2])),
        message("csr_matrix", (1, 3), ROW, arr([[0, 1]]), arr([0, 2])),
        message("csr_matrix", (1, 3), arr([b"a", b"b"], "S1"), arr([0, 1]), arr([0, 2])),
        message("csr_matrix", (-1, 3), ROW, arr([0, 1]), arr([0, 2])),
        message("csr_matrix", (1, 3, 1), ROW, arr([0, 1]), arr([0, 2])),
        message("csr_matrix", (1, 3.0), ROW, arr([0, 1]), arr([0, 2])),
        message("csr_matrix", [1, 3], ROW, arr([0, 1]), arr([0, 2])),
        message("csr_matrix", (1, 3), ROW, arr([0, 1])[:2], arr([0, 2])),
        message("csr_matrix", (1, 3), ROW, list(arr([0, 1])), arr([0, 2])),
        message("csc_matrix", (1, 3), ROW, arr([0, 1]), arr([0, 1, 2, 2])),
        message("lil_matrix", (1, 3), ROW, arr([0, 3]), arr([0, 2])),
        message("bsr_matrix", (1, 2), BLOCKS, arr([1]), arr([0, 1])),
        message("bsr_matrix", (1, 3), BLOCKS, arr([0]), arr([0, 1])),
        message("bsr_matrix", (1, 2), arr([], "<f8", (0, 0, 2)), arr([]), arr([0, 0])),
        message("bsr_matrix", (1, 2), ROW, arr([0, 0]), arr([0, 2])),
        message("coo_matrix", (1, 3), ROW, arr([0, 1]), arr([0, 2])),
        message("coo_matrix", (1, 3), ROW, arr([0, 0]), arr([0, 3])),
        message("coo_matrix", (1, 3), ROW, arr([0, -1]), arr([0, 2])),
        message("coo_matrix", (1, 3), ROW, arr([0]), arr([0, 2])),
        message("coo_matrix", (1, 3), ROW, arr([0, 0]), arr([0, 2, 1])),
        message("coo_matrix", (1, 3), LINES, arr([0]), arr([0])),
        message("dok_matrix", (1, 3), ROW, arr([0, 0]), arr([0, 2])),
        message("dia_matrix", (2, 2), LINES, arr([3])),
        message("dia_matrix", (2, 2), LINES, arr([-3])),
        message("dia_matrix", (2, 2), LINES, arr([0, 1])),
        message("dia_matrix", (2, 2), arr([[1.0], [2.0]], "<f8"), arr([0, 0])),
        message("dia_matrix", (2, 2), ROW, arr([0, 1])),
        message("spmatrix", (1, 3), ROW, arr([0, 1]), arr([0, 2])),
        message("csr_matrix", (1, 3), ROW, arr([0, 1]), arr([0, 2]))[:-1],
        b"m\x02\xff\xff" + message("csr_matrix")[12:],
    ],
)
def test_a_matrix_with_a_place_that_is_not_in_it_is_none(data: bytes):
    reader = Reader(data, Containers(0))
    with pytest.raises(Garbled):
        reader.checked(reader.value, 0)


def test_a_matrix_is_filled_anew_with_no_place_that_is_not_in_it():
    containers = Containers(0)
    reader = Reader(message("csr_matrix", (1, 3), ROW, arr([0, 2]), arr([0, 2])), containers)
    found = reader.checked(reader.value, 0)
    content = message("csr_matrix", (1, 3), ROW, arr([0, 9]), arr([0, 2]))[len(message("csr_matrix")) :]
    again = Reader(content, containers)
    with pytest.raises(Garbled):
        again.checked(again.fill, found, 0)
    assert found.toarray().tolist() == [[1, 0, 2]]
