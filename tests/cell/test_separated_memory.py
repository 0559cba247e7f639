"""What reaches the memory of the test's process does not cross, and a generator reads in its own table."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest
from cruxcell.jobs.separated.crossing.numbered import Shown
from cruxcell.jobs.separated.proxies import runs
from cruxcell.jobs.separated.rules.by_libraries import may_be_set
from cruxcell.jobs.separated.rules.memory import may_be_told, place_within, reaches_memory


class Point(ctypes.Structure):
    _fields_ = [("x", ctypes.c_int)]


@pytest.mark.parametrize(
    ("value", "reaches"),
    [
        (ctypes.c_int(8), True),
        (ctypes.c_int, True),
        (ctypes.c_void_p(8), True),
        (ctypes.CFUNCTYPE(None)(), True),
        (ctypes.pointer(ctypes.c_int(8)), True),
        (Point(1), True),
        (type("CData", (), {"__module__": "_cffi_backend"}), True),
        (len, False),
        (8, False),
        (int, False),
        (object(), False),
    ],
)
def test_pointers_do_not_cross_to_a_candidate(value: Any, reaches: bool, monkeypatch: pytest.MonkeyPatch):
    refused: list[str] = []
    monkeypatch.setattr(runs, "LINK", [type("Link", (), {"refuse": staticmethod(refused.append)})])
    monkeypatch.setattr("cruxcell.jobs.separated.crossing.numbered.LINK", runs.LINK)
    assert reaches_memory(value) is reaches
    Shown(False).show(value)
    assert refused == []
    Shown(True).show(value)
    assert bool(refused) is reaches


class Generator:
    """As one of numpy's."""


Generator.__module__ = "numpy.random._mt19937"


@pytest.mark.parametrize(
    ("state", "may"),
    [
        ({"state": {"key": [1], "pos": 624}}, True),
        ({"state": {"key": [1], "pos": 0}}, True),
        ({"state": {"key": [1], "pos": 625}}, False),
        ({"state": {"key": [1], "pos": -1}}, False),
        ({"state": {"key": [1], "pos": 1.0}}, False),
        ({"state": {"key": [1], "pos": Generator()}}, False),
        ({"buffer": [1], "buffer_pos": 4}, True),
        ({"buffer": [1], "buffer_pos": 5}, False),
        ({"buffer": [1], "buffer_pos": True}, False),
        (("MT19937", [1], 3), False),
        (Generator(), False),
        ({"state": {"state": 1, "inc": 2}}, True),
    ],
)
def test_a_generator_reads_its_numbers_in_its_own_table(state: Any, may: bool):
    assert may_be_told("set", Generator(), ["state", state]) is may
    assert may_be_told("set", object(), ["state", state]) is True
    assert may_be_told("set", Generator(), ["other", state]) is True


def test_no_function_is_given_that_tells_it_a_state():
    assert may_be_told("get", Generator(), ["set_state"]) is False
    assert may_be_told("get", Generator(), ["get_state"]) is True
    assert may_be_told("get", object(), ["set_state"]) is True


@pytest.mark.parametrize(("name", "may"), [("start", False), ("object", False), ("end", True), ("reason", True)])
def test_an_error_shows_the_bytes_that_the_script_has_given_it(name: str, may: bool):
    error = type("Own", (UnicodeDecodeError,), {})("a", b"b", 0, 1, "c")
    assert may_be_told("set", error, [name, -9]) is may
    assert may_be_set(error, name, -9) is may
    assert may_be_told("get", error, [name]) is True


@pytest.mark.parametrize("operation", ["len", "get", "set", "call"])
def test_whatever_else_is_asked_of_an_object_may_be_told(operation: str):
    for target in (Generator(), object()):
        assert may_be_told(operation, target, ["random", 1] if operation in ("get", "set") else [])


def test_an_error_shows_no_byte_before_its_object_and_else_what_it_showed():
    for given, shown in [(-5, 0), (0, 0), (2, 2)]:
        error = UnicodeDecodeError("utf-8", b"abcd", given, 3, "no")
        place_within(error)
        assert vars(UnicodeDecodeError)["start"].__get__(error) == shown
    place_within(ValueError())
