"""Pickles of one half of a separated script that the other half loads."""

from __future__ import annotations

import copy
import copyreg
import gzip
import io
import os
import pickle
import sys
import threading
import types
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from cruxcell.jobs.separated.proxies import runs
from cruxcell.jobs.separated.proxies.proxy_classes import make_class
from cruxcell.jobs.separated.proxies.remote import RemoteType
from cruxcell.jobs.separated.rules import pickles as of_pickles
from cruxcell.jobs.separated.rules.pickles import PickledHere, Pickles, load_own
from cruxcell.jobs.separated.rules.texts import OF_THE_OTHER_HALF
from other_half import connected
from script_half import Refused, RefusingLink

DATA = pickle.dumps(Fraction(1, 2))
PATHS = pickle.dumps(Path("a"))


class Link(RefusingLink):
    """The test's half, whose candidate answers as told; it has made the files of `made`."""

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.named = frozenset[str]()
        self.answers: dict[str, Any] = {"unpickle": (8, len(DATA)), "pickle": b"theirs", "pickled": []}
        self.made: list[str] = []
        self.alongside: Any = types.SimpleNamespace(files=types.SimpleNamespace(is_made_there=self.is_made_there))
        self.objects: Any = types.SimpleNamespace(hear=None)
        self.pickles: Any = None
        self.is_test = True

    def is_made_there(self, path: str) -> bool:
        return path[:1] == "/" and path in self.made

    def ask(self, *asked: Any) -> Any:
        self.asked.append(asked)
        return self.answers[asked[0]]


class Proxy:
    """An object of the other half's."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        return runs.LINK[0].pickles.reduced(self, protocol)


@pytest.fixture
def pickles(monkeypatch: pytest.MonkeyPatch) -> Pickles:
    for name in ("dump", "dumps", "load", "loads"):
        monkeypatch.setattr(pickle, name, getattr(pickle, name))
    monkeypatch.setitem(copyreg.dispatch_table, RemoteType, None)  # type: ignore[arg-type]
    monkeypatch.setattr(copy, OF_THE_OTHER_HALF[1], None, raising=False)
    link = Link()
    link.pickles = made = Pickles(link)
    connected(link)
    made.follow()
    return made


def held_by(pickles: Pickles, *values: object) -> None:
    """What the candidate gives for the objects of the next pickle."""
    pickles._link.answers["pickled"] = list(values)


def test_what_the_candidate_gave_itself_it_loads(pickles: Pickles):
    assert pickle.loads(DATA) == Fraction(1, 2), "nobody has given it"
    pickles._link.objects.hear(DATA)
    assert pickle.loads(DATA) == 8
    assert pickle.loads(DATA, encoding="bytes") == 8
    assert pickle.loads(bytes(bytearray(DATA))) == Fraction(1, 2), "other bytes may be the script's"
    file = io.BytesIO(DATA)
    assert (pickle.load(file), file.tell()) == (8, len(DATA))
    assert pickle.load(io.BytesIO(bytes(bytearray(DATA)))) == Fraction(1, 2)
    expected = [("unpickle", None, DATA, how, "pickle") for how in ({}, {"encoding": "bytes"}, {})]
    assert pickles._link.asked == expected


def test_so_many_of_them_are_known(pickles: Pickles, monkeypatch: pytest.MonkeyPatch):
    pickles.hear(DATA)
    for _ in range(255):
        pickles.hear(b"ab")
    assert pickle.loads(DATA) == 8
    pickles.hear(b"ab")
    assert pickle.loads(DATA) == Fraction(1, 2)
    monkeypatch.setattr(of_pickles, "_MOST_BYTES", len(DATA) + 9)
    for size, is_known in [(9, True), (1, False)]:
        pickles.hear(DATA) if is_known else None
        pickles.hear(bytes(size))
        assert (pickle.loads(DATA) == 8) is is_known


def test_data_is_loaded_here(pickles: Pickles):
    file = io.BytesIO()
    pickle.Pickler(file).dump([1, {"a": range(3)}])
    data = file.getvalue()
    pickles.hear(data)
    assert pickle.loads(data) == [1, {"a": range(3)}]
    cut = data[:12]
    pickles.hear(cut)
    with pytest.raises(pickle.UnpicklingError):
        pickle.loads(cut)
    assert pickles._link.asked == []


@pytest.mark.parametrize("answer", [8, (8,), (8, "1"), (8, -1), (8, len(DATA) + 1), [8, 1], (8, True)])
def test_what_is_no_answer_ends_the_script(pickles: Pickles, answer: object):
    pickles.hear(DATA)
    pickles._link.answers["unpickle"] = answer
    with pytest.raises(Refused, match="what the pickle holds"):
        pickle.loads(DATA)


@pytest.mark.parametrize("opened", [open, gzip.open])
def test_a_file_that_the_candidate_has_made_it_loads(pickles: Pickles, tmp_path: Path, opened: Any):
    path, five = str(tmp_path / "a"), b"I5\n."
    with opened(path, "wb") as file:
        file.write(DATA + five + DATA)
    with opened(path, "rb") as file:
        assert pickle.load(file) == Fraction(1, 2)
    assert pickles._link.asked == []
    pickles._link.made.append(path)
    with opened(path, "rb") as file:
        assert [pickle.load(file), pickle.load(file), pickle.load(file)] == [8, 5, 8]
    assert [len(asked[2]) for asked in pickles._link.asked] == [2 * len(DATA) + len(five), len(DATA)]
    with open(path, "rb") as file:
        pickles._link.alongside.files = None
        if opened is open:
            assert pickle.load(file) == Fraction(1, 2)


def test_a_file_by_another_s_name_is_none_of_the_candidate_s(pickles: Pickles, tmp_path: Path):
    path = tmp_path / "a"
    pickles._link.made.append(str(path))
    path.write_bytes(DATA)
    named = io.BytesIO(DATA)
    named.name = str(path)  # type: ignore[attr-defined]
    other = types.SimpleNamespace(name=str(path), read=named.read, readline=named.readline)
    unzipped = gzip.GzipFile(str(path), "rb", fileobj=io.BytesIO(gzip.compress(DATA)))
    with open(os.open(path, os.O_RDONLY), "rb") as numbered:
        assert pickle.load(numbered) == Fraction(1, 2)
    with open(path, "rb") as opened:
        path.unlink()
        gone = [pickle.load(named), pickle.load(unzipped), pickle.load(opened)]
        named.seek(0)
        gone.append(pickle.load(other))
        path.write_bytes(PATHS)
        opened.seek(0)
        assert [*gone, pickle.load(opened)] == [Fraction(1, 2)] * 5
    assert pickles._link.asked == []


@pytest.mark.parametrize("opened", [open, gzip.open])
def test_what_was_read_before_the_candidate_made_it_is_the_script_s(pickles: Pickles, tmp_path: Path, opened: Any):
    path = str(tmp_path / "a")
    pickles._link.made.append(path)
    with opened(path, "wb") as file:
        file.write(DATA)
    with opened(path, "rb") as file:
        assert file.read(1)
        file.seek(0)
        with opened(path, "wb") as other:
            other.write(PATHS)
        assert (pickle.load(file), file.tell()) == (Fraction(1, 2), len(DATA))
    assert pickles._link.asked == []


def test_an_object_of_the_candidate_s_is_pickled_there_and_all_else_here(pickles: Pickles):
    first, second = Proxy(), Proxy()
    data = pickle.dumps({"want": 4, "got": [first, second, first]}, 2)
    assert pickles._link.asked == [("pickle", None, 1, 2, first, second)]
    assert pickle.dumps(first, 2) != pickle.dumps(first, 2)
    held_by(pickles, "a", "b")
    for found in (pickle.loads(data), pickle.loads(bytearray(data)), pickle.Unpickler(io.BytesIO(data)).load()):
        assert found == {"want": 4, "got": ["a", "b", "a"]}
    assert pickles._link.asked[3:] == [("pickled", None, 1)] * 3
    assert pickles.kept._rest == {}


def test_a_class_of_the_candidate_s_is_an_object(pickles: Pickles):
    proxy_class = make_class("P", 1, (), [], [], None)
    held_by(pickles, proxy_class)
    found = pickle.loads(pickle.dumps([proxy_class]))
    assert found[0] is proxy_class


def test_each_thread_takes_what_is_kept_for_itself(pickles: Pickles):
    data, found = pickle.dumps([Proxy(), Proxy()]), []
    held_by(pickles, [1], [2])
    assert pickles.kept.take(1, 0) == [1]
    other = threading.Thread(target=lambda: found.append(pickle.loads(data)))
    other.start()
    other.join()
    assert (found, pickles.kept.take(1, 1)) == ([[[1], [2]]], [2])
    assert pickles.kept.take(1, 1) == [2]
    with pytest.raises(KeyError):
        pickles.kept.take(1, 2)
    with pytest.raises(KeyError):
        pickles.kept.take(2, 0)


@pytest.mark.parametrize("answer", [8, (8,), [], [8, 8]])
def test_what_is_not_what_was_pickled_ends_the_script(pickles: Pickles, answer: object):
    data = pickle.dumps(Proxy())
    pickles._link.answers["pickled"] = answer
    with pytest.raises(Refused, match="what the pickle holds"):
        pickle.loads(data)


def test_a_pickler_of_the_script_s_has_each_object_pickled_for_itself(pickles: Pickles):
    file = io.BytesIO()
    pickle.Pickler(file, 3).dump([Proxy(), Proxy()])
    assert [asked[:4] for asked in pickles._link.asked] == [("pickle", None, 1, 3), ("pickle", None, 2, 3)]
    held_by(pickles, 5)
    assert pickle.loads(file.getvalue()) == [5, 5]


@pytest.mark.parametrize(
    ("answer", "why"), [(None, "holds one of the script's"), (8, "does not say"), ("theirs", "does not")]
)
def test_an_object_that_holds_one_of_the_script_s_is_not_pickled(pickles: Pickles, answer: object, why: str):
    pickles._link.answers["pickle"] = answer
    with pytest.raises(Refused, match=why):
        pickle.dumps(Proxy())
    pickles._link.answers["pickle"] = b"theirs"
    assert pickle.dumps(Proxy())


class Outer:
    """Of the script's."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __reduce__(self) -> Any:
        return pickle.loads, (pickle.dumps(self.value),)


def test_a_pickle_in_a_pickle(pickles: Pickles):
    one, two = Proxy(), Proxy()
    data = pickle.dumps([one, Outer([two, one])])
    assert pickles._link.asked == [("pickle", None, 1, None, one, two, one)]
    held_by(pickles, "a", "b", "c")
    assert pickle.loads(data) == ["a", ["b", "c"]]


@pytest.mark.parametrize("state", ["(Va\nI1\nd", "(N(V__module__\nVa\ndt", "(N(V__class__\ncbuiltins\nrange\ndt"])
def test_nothing_is_set_on_what_stands_for_an_object(pickles: Pickles, state: str):
    pickle.dumps(Proxy())
    module, name = OF_THE_OTHER_HALF
    name = f"c{module}\n{name}\n"
    assert pickle.loads(f"{name}.".encode()) is of_pickles._object
    with pytest.raises((AttributeError, TypeError)):
        pickle.loads(f"{name}{state}b.".encode())


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is loaded as the script's own."""
    loaded: list[Any] = []

    def load(*given: Any, **how: Any) -> Any:
        loaded.append(given[1])
        return load_own(*given, **how)

    monkeypatch.setattr(of_pickles, "load_own", load)
    return loaded


def test_what_the_script_has_pickled_itself_is_its_own(pickles: Pickles, own: list[Any], tmp_path: Path):
    data = pickle.dumps(Fraction(1, 2))
    again = bytes(bytearray(data))
    pickles.hear(again)
    assert pickle.loads(again) == pickle.loads(bytearray(data)) == Fraction(1, 2)
    assert own == [data, data]
    assert pickle.loads(PATHS) == Path("a")
    with open(tmp_path / "a", "wb") as file:
        pickle.dump([Fraction(1)], file)
        file.write(PATHS)
        pickle.dump(Fraction(3), file)
    del own[:]
    pickles._link.made.append(str(tmp_path / "a"))
    pickles._link.answers["unpickle"] = (8, len(PATHS))
    with open(tmp_path / "a", "rb") as file:
        assert [pickle.load(file), pickle.load(file), pickle.load(file)] == [[Fraction(1)], 8, Fraction(3)]
        with pytest.raises(EOFError):
            pickle.load(file)
    assert own == [pickle.dumps([Fraction(1)]), pickle.dumps(Fraction(3))]
    assert len(pickles._link.asked) == 1


def test_so_much_of_it_is_known(pickles: Pickles, own: list[Any], monkeypatch: pytest.MonkeyPatch):
    first = pickle.dumps(-1)
    for number in range(255):
        pickle.dumps(number)
    pickle.loads(first)
    pickle.dumps(255)
    pickle.loads(first)
    assert len(own) == 1
    monkeypatch.setattr(of_pickles, "_MOST_BYTES", 300)
    first = pickle.dumps(bytes(200))
    assert len(pickles._own) < 30
    pickle.dumps(bytes(99))
    pickle.loads(first)
    assert len(own) == 1


def test_what_is_no_file_raises_what_it_raises(pickles: Pickles):
    for attempt in (lambda: pickle.dump(1, "a"), lambda: pickle.load("a"), lambda: pickle.loads("a")):  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            attempt()
    pickle.dumps(1)
    with pytest.raises(TypeError):
        pickle.loads(1 << 60)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        pickle.load("a")  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        pickle.dumps(1, 99)
    assert pickle.loads(pickle.dumps([pickle.loads, pickle.dump])) == [pickle.loads, pickle.dump]
    assert pickles._link.asked == []


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
    with path.open("rb") as file:
        assert library.load(file) == ((file,), {})
    pickles._link.alongside.files = None
    assert library.load(path) == ((path,), {})


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> PickledHere:
    monkeypatch.setattr(copy, OF_THE_OTHER_HALF[1], None, raising=False)
    made, link = PickledHere(), Link()
    link.pickles = made
    connected(link)
    return made


def test_what_the_candidate_pickles_for_the_script(here: PickledHere):
    first = [Fraction(1, 2)]
    assert here.pickle(None, 1, None, first, [first]) == pickle.dumps([first, [first]])
    assert here.pickle(None, 5, 0, [8]) == pickle.dumps([[8]], 0)
    first.append(Fraction(1))
    one, two = here.pickled(None, 1)
    assert one is two[0]
    assert one == [Fraction(1, 2)]
    assert here.pickled(None, 5) == [[8]]
    assert here.unpickle(None, DATA + b"more", {"encoding": "ASCII"}, "pickle") == (Fraction(1, 2), len(DATA))


def test_the_candidate_loads_what_the_script_has_pickled_of_its_objects(here: PickledHere):
    here.pickle(None, 3, None, Fraction(1, 2), "b")
    module, name = OF_THE_OTHER_HALF
    data = f"c{module}\n{name}\n(Vapart\nI3\nI1\ntR.".encode()
    assert pickle.loads(data) == "b"


def test_the_candidate_pickles_nothing_of_the_script_s(here: PickledHere):
    assert here.pickle(None, 1, None, [Proxy()]) is None
    assert here.pickle(None, 1, None, 5) == pickle.dumps([5])
    with pytest.raises(Refused, match="a Proxy lives in the other process"):
        pickle.dumps(Proxy())
