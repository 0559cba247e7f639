"""Pickles of one half of a separated script that the other half loads."""

from __future__ import annotations

import gzip
import io
import pickle
import sys
import types
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from cruxcell.jobs.separated.pickles import PickledHere, Pickles

DATA = pickle.dumps(Fraction(1, 2))


class Refused(Exception):
    """The script is ended."""


class Link:
    """The test's end, whose candidate unpickles and pickles as told; it has made the files of `made`."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.answer: Any = (8, len(DATA))
        self.made: list[str] = []
        self.alongside: Any = types.SimpleNamespace(files=types.SimpleNamespace(is_made_there=self.made.__contains__))

    def ask(self, *asked: Any) -> Any:
        self.asked.append(asked)
        return self.answer

    def refuse(self, why: str) -> None:
        raise Refused(why)


class Proxy:
    """An object of the other half's."""

    meets: Any = None

    def __reduce_ex__(self, _protocol: object) -> Any:
        self.meets()
        raise Refused("cannot be pickled")


@pytest.fixture
def pickles(monkeypatch: pytest.MonkeyPatch) -> Pickles:
    for name in ("dump", "dumps", "load", "loads"):
        monkeypatch.setattr(pickle, name, getattr(pickle, name))
    made = Pickles(Link())
    made.follow()
    monkeypatch.setattr(Proxy, "meets", staticmethod(made.meets_another))
    return made


def test_what_the_candidate_gave_itself_it_loads(pickles: Pickles):
    for given in (DATA, [DATA], (1, DATA), {"a": DATA}):
        pickles.note(given)
        assert pickle.loads(DATA) == 8
        pickles.note([bytes(256)] * 256)
        assert pickle.loads(DATA) == Fraction(1, 2), "so many are known"
    assert pickles._link.asked == [("unpickle", None, DATA, {}, "pickle")] * 4
    pickles.note(DATA)
    assert pickle.loads(DATA, encoding="bytes") == 8
    assert pickles._link.asked[-1][3] == {"encoding": "bytes"}
    assert pickle.loads(bytes(bytearray(DATA))) == Fraction(1, 2), "other bytes may be the script's"
    pickles.note([[DATA]])
    pickles.note(8)


def test_data_is_loaded_here(pickles: Pickles):
    data = pickle.dumps([1, {"a": range(3)}])
    pickles.note(data)
    assert pickle.loads(data) == [1, {"a": range(3)}]
    pickles.note(data[:12])
    with pytest.raises(pickle.UnpicklingError):
        pickle.loads(pickles._given[-1])
    assert pickles._link.asked == []


@pytest.mark.parametrize("answer", [8, (8,), (8, "1"), (8, -1), (8, 1 << 62), [8, 1]])
def test_what_is_no_answer_ends_the_script(pickles: Pickles, answer: object):
    pickles.note(DATA)
    pickles._link.answer = answer
    with pytest.raises(Refused, match="what the pickle holds"):
        pickle.loads(DATA)


@pytest.mark.parametrize("opened", [open, gzip.open])
def test_a_file_that_the_candidate_has_made_it_loads(pickles: Pickles, tmp_path: Path, opened: Any):
    path = str(tmp_path / "a")
    with opened(path, "wb") as file:
        file.write(DATA + pickle.dumps(5) + DATA)
    with opened(path, "rb") as file:
        assert pickle.load(file) == Fraction(1, 2)
    assert pickles._link.asked == []
    pickles._link.made.append(path)
    with opened(path, "rb") as file:
        assert [pickle.load(file), pickle.load(file), pickle.load(file)] == [8, 5, 8]
    assert [len(asked[2]) for asked in pickles._link.asked] == [2 * len(DATA) + len(pickle.dumps(5)), len(DATA)]
    with open(path, "rb") as file:
        pickles._link.alongside.files = None
        if opened is open:
            assert pickle.load(file) == Fraction(1, 2)
    named = io.BytesIO(DATA)
    named.name = path  # type: ignore[attr-defined]
    assert pickle.load(named) == Fraction(1, 2)


def test_an_object_of_the_candidate_s_is_pickled_there(pickles: Pickles, tmp_path: Path):
    value = [Proxy(), 1]
    pickles._link.answer = 3, DATA
    data, other = pickle.dumps(value, 2), pickle.dumps(value, 2)
    assert data != other
    assert [data[:-16], len(data)] == [DATA, len(DATA) + 16], "the script finds in it what is there"
    assert pickles._link.asked == [("pickle", None, value, 2)] * 2
    pickles._link.answer = ("loaded", 4)
    assert pickle.loads(data) == pickle.loads(data + b"more") == "loaded"
    assert pickles._link.asked[-1] == ("unpickle", None, 3, {}, "pickle")
    for another in (bytearray(data), DATA, data[:-1], b"a" + data[1:-16] + other[-15:]):
        try:
            found = pickle.loads(another)
        except pickle.UnpicklingError:
            found = None
        assert found in (Fraction(1, 2), None)


def test_objects_of_the_candidate_s_are_pickled_to_a_file(pickles: Pickles, tmp_path: Path):
    with open(tmp_path / "a", "wb") as file:
        for number, data in ((4, DATA), (5, DATA), (6, DATA + b"longer")):
            pickles._link.answer = number, data
            pickle.dump(Proxy(), file)
            pickle.dump(number, file)
    pickles._link.answer = ("again", 4)
    with open(tmp_path / "a", "rb") as file:
        assert [pickle.load(file) for _ in range(6)] == ["again", 4, "again", 5, "again", 6]
    assert [asked[2] for asked in pickles._link.asked[-3:]] == [4, 5, 6]


@pytest.mark.parametrize(
    ("answer", "why"),
    [(None, "of the program and of the script"), *[(each, "does not say") for each in ("8", 8, (8, "1"), (8, b"", 1))]],
)
def test_what_holds_objects_of_both_is_not_pickled(pickles: Pickles, answer: object, why: str):
    pickles._link.answer = answer
    with pytest.raises(Refused, match=why):
        pickle.dumps(Proxy())


def test_what_else_pickles_cannot(pickles: Pickles):
    with pytest.raises(Refused, match="cannot be pickled"):
        pickle.Pickler(io.BytesIO()).dump(Proxy())
    assert pickle.loads(pickle.dumps((1, "a"))) == (1, "a")
    assert pickles._link.asked == []


def test_an_object_of_the_script_s_whose_pickle_holds_another_is_of_both(pickles: Pickles):
    class Outer:
        def __reduce__(self) -> Any:
            return bytes, (pickle.dumps(Proxy()),)

    value, pickles._link.answer = Outer(), (1, b"")
    pickle.dumps(value)
    assert pickles._link.asked == [("pickle", None, value, None)]


def test_files_of_joblib(pickles: Pickles, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setitem(sys.modules, "joblib", None)
    pickles.follow_joblib()
    library: Any = types.ModuleType("joblib")
    library.load = lambda *given, **how: (given, how)
    monkeypatch.setitem(sys.modules, "joblib", library)
    pickles.follow_joblib()
    path = tmp_path / "a"
    path.write_bytes(DATA)
    assert library.load(str(path), None, mmap_mode=None) == ((str(path), None), {"mmap_mode": None})
    pickles._link.made.append(str(path))
    assert library.load(path) == library.load(str(path)) == 8
    assert pickles._link.asked == [("unpickle", None, DATA, {}, "joblib")] * 2
    assert library.load(8) == ((8,), {})
    pickles._link.alongside.files = None
    assert library.load(path) == ((path,), {})


def test_what_the_candidate_pickles_for_the_script():
    here = PickledHere()
    first, second = [Fraction(1, 2)], [8]
    found = [here.pickle(None, first, None), here.pickle(None, second, 0)]
    assert found == [(0, pickle.dumps(first)), (1, pickle.dumps(second, 0))]
    first.append(Fraction(1))
    assert here.unpickle(None, 0, {}, "pickle")[0] == [Fraction(1, 2)]
    assert here.unpickle(None, 1, {"encoding": "ASCII"}, "pickle") == ([8], len(pickle.dumps(second, 0)))
    assert here.unpickle(None, DATA + b"more", {}, "pickle") == (Fraction(1, 2), len(DATA))


def test_the_candidate_pickles_nothing_of_the_script_s(monkeypatch: pytest.MonkeyPatch):
    here = PickledHere()
    monkeypatch.setattr(Proxy, "meets", staticmethod(here.meets_another))
    assert here.pickle(None, [Proxy()], None) is None
    assert here.pickle(None, 5, None) == (1, pickle.dumps(5))
    with pytest.raises(Refused):
        pickle.dumps(Proxy())
