"""What a library of the test's does because the candidate says so is no more than the candidate may do itself."""

from __future__ import annotations

import argparse
import builtins
import copy
import dataclasses
import functools
import http.client
import inspect
import io
import logging
import operator
import threading
import time
import types
from typing import Any
from unittest import mock

import pytest
from cruxcell.jobs.separated.crossing.numbered import Shown
from cruxcell.jobs.separated.crossing.objects import Objects
from cruxcell.jobs.separated.proxies import operations, runs
from cruxcell.jobs.separated.rules import by_libraries
from cruxcell.jobs.separated.rules.by_libraries import (
    GivenBack,
    Served,
    Setting,
    comes_along,
    formats_nothing,
    function_of,
    is_plain_there,
    is_to_be_served,
    may_be_set,
    names_a_special,
    reaches,
)
from cruxcell.values import transfer
from cruxcell.values.containers import Containers, Garbled
from cruxcell.values.reader import Reader
from cruxcell.values.writer import Writer


def of_script(name: str, *bases: type, **members: Any) -> Any:
    return type(name, bases, {"__module__": "__main__", **members})


Own = of_script("Own", label="own", method=lambda self: None)
Record = dataclasses.make_dataclass("Record", ["x"])
Record.__module__ = "types"  # as up to 3.11


@pytest.mark.parametrize(
    ("cls", "does"),
    [
        (operator.attrgetter, True), (logging.Formatter, True), (io.FileIO, True), (http.HTTPStatus, True),
        (types.SimpleNamespace, True), (type(mock.MagicMock()), True), (of_script("Mock", mock.Mock), True),
        (Own, False), (of_script("Form", logging.Formatter), False), (Record, False), (KeyError, False),
        (argparse.ArgumentError, False),
    ],
)  # fmt: skip
def test_a_class_that_the_script_has_not_written_comes_with_its_objects(cls: type, does: bool):
    assert comes_along(cls) is does


@pytest.mark.parametrize(
    ("cls", "name", "is_plain"),
    [
        (logging.StreamHandler, "terminator", True), (logging.StreamHandler, "__name__", True),
        (logging.StreamHandler, "__init__", False), (logging.StreamHandler, "setFormatter", False),
        (logging.StreamHandler, "_name", False), (logging.StreamHandler, "none", False),
        (http.client.HTTPConnection, "_http_vsn", False), (logging.StreamHandler, 3, False),
        (threading.Thread, "daemon", False),
    ],
)  # fmt: skip
def test_of_such_a_class_the_candidate_has_data(cls: type, name: Any, is_plain: bool):
    """A property leads to its function, and a function takes any object for its own."""
    assert is_plain_there(cls, name) is is_plain


@pytest.mark.parametrize("named", [time.time, str.upper, getattr, operator.attrgetter, type])
def test_what_the_script_passes_by_its_name_is_that_in_an_answer_alone(named: Any):
    test, candidate = Objects(True), Objects(False)
    assert candidate.by_name.answered(named) is named
    assert received(candidate, sent(test, named)) is named
    with pytest.raises(Garbled):
        received(test, sent(Objects(True), named))
    answer = sent(candidate, candidate.by_name.answered(named))
    found = received(test, answer)
    assert (type(found), found.what) == (GivenBack, named)
    assert not callable(found)
    with pytest.raises(LookupError):
        received(Objects(True), answer)


def received(objects: Objects, data: bytes) -> Any:
    return Reader(data, Containers(0), objects).value(0)


def sent(objects: Objects, value: object) -> bytes:
    written = Writer(Containers(0), objects)
    written.value(value, 0)
    return written.bytes(1 << 20)


def test_a_class_is_one_that_came_along_until_the_script_passes_it():
    test, key = Objects(True), operator.attrgetter("x")
    sent(test, key)
    assert test.shown.has_come_along(operator.attrgetter)
    assert sent(test, operator.attrgetter)[:1] == b"G"  # which is the candidate's own there
    assert test.shown.has_come_along(operator.attrgetter)
    unnamed = types.new_class("Unnamed", (), {}, lambda body: body.update(__module__="argparse"))
    sent(test, unnamed())
    assert test.shown.has_come_along(unnamed)
    assert sent(test, unnamed)[:1] == b"k"
    assert not test.shown.has_come_along(unnamed)
    sent(test, Own())
    assert not test.shown.has_come_along(Own)
    assert not test.shown.has_come_along(key)
    other = Objects(False)
    sent(other, key)
    assert not other.shown.has_come_along(operator.attrgetter)


def test_a_message_that_names_such_a_class_is_known_for_that():
    test = Objects(True)
    sent(test, operator.attrgetter("x"))
    Reader(b"." + (2).to_bytes(4, "little"), Containers(0), test).value(0)
    assert test.named == [operator.attrgetter]
    test.shown.release([2])
    assert not test.shown.has_come_along(operator.attrgetter)


@pytest.mark.parametrize(
    ("text", "does"),
    [
        ("{x.__globals__}", True), ("{.__class__}", True), ("{0.a.b._c!r:>3}", True), ("{a[b].__dict__[c]}", True),
        ("{a[}].__dict__}", True), ("{a[{].x.__dict__}", True), ("{:{x.__dict__}}", True), ("{a b.gi_frame}", True),
        ("{x.format}._", True), ("{} {x.a} {{y.__class__", True),
        ("{x.real} ._", False), ("{x} and y.__class__", False), ('{"a": b.__class__}', False), ("x.__class__", False),
        ("{a[__b__]}._", False), ("{a[0]", False), ("{a[._", False), ("", False),
        ("._b {0[x", False), ("{x:.__class__}", False),
    ],
)  # fmt: skip
def test_a_format_that_reaches_what_is_not_public_is_told(text: str, does: bool):
    for value in (text, text.encode(), [1, {"a": (text,)}], text + "-" * (1 << 17)):
        assert reaches(b"c" + transfer.encode(value, 1 << 20)) is does


def test_a_field_without_its_end_hides_no_other_that_reaches():
    assert reaches(transfer.encode(["[{a[._", "{x._y}"], 1 << 20))


def test_numbers_in_a_message_are_no_format():
    for data in (
        b"{\0\0\0l\0\0\0\0._\0\0\0", b"s{\0\0\0.__class__", b"{0.__class__}", b"s\xc8\0\0\0{0.__class__}"
    ):  # fmt: skip
        assert not reaches(data)


@pytest.mark.parametrize(
    ("target", "does"),
    [
        (len, True), (str.upper, True), (io.StringIO().write, True), (Own, True), (Own(), True),
        (logging.getLogger("a").info, False), (logging.Formatter, False), (of_script("Form", logging.Formatter), False),
        (functools.partial(len), False), (lambda: None, False),
    ],
)  # fmt: skip
def test_what_is_of_a_library_may_format_what_it_is_given(target: Any, does: bool):
    assert formats_nothing(target) is does


def of_the_script(_self: object, *_given: object) -> None: ...


of_the_script.__module__ = "__main__"
HOLDS_ITSELF: list[Any] = ["a"]
HOLDS_ITSELF.append(HOLDS_ITSELF)


@pytest.mark.parametrize(
    ("given", "does"),
    [
        (["__setattr__", "x", 1], True), ([{"a": ["__class__"]}], True), ([{"__dict__": 1}], True),
        ([("__init__",)], True),
        (["__main__"], False), (["info"], False), (["_log"], False), ([HOLDS_ITSELF], False), ([8, None], False),
        ([{"a": "__init__"}], True),
    ],
)  # fmt: skip
def test_no_method_of_a_library_is_told_a_special_name(given: list[Any], does: bool):
    log = logging.getLogger("a")
    assert names_a_special([log.info], given) is does
    for target in (len, [].append, lambda: None, log, of_the_script.__get__(1)):
        assert not names_a_special([target], given)
    assert not names_a_special([], given)


def test_a_function_of_the_script_s_formats_by_the_script_s_word():
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec("def f(): pass\nclass C:\n    def m(self): pass\nm = C().m", scope)
    assert formats_nothing(scope["f"])
    assert formats_nothing(scope["m"])


def noted(calls: list[Any], call: Any) -> int:
    calls.append(call)
    return 8


def test_a_function_that_is_called_later_is_served_then():
    log, calls = logging.getLogger("a"), []  # type: Any, list[Any]
    info, len_of = log.info, len
    assert [is_to_be_served(each) for each in (info, len_of, log, operator.attrgetter("x"))] == [
        True,
        True,
        False,
        False,
    ]
    assert not is_to_be_served(types.FunctionType(noted.__code__, {"__name__": "__main__"}))
    served = Served(info, lambda *call: noted(calls, call))
    assert served("a", extra=None) == 8
    assert calls == [(info, ("a",), {"extra": None})]
    assert (served == log.info, served == Served(info, None), served == len) == (True, True, False)
    assert (hash(served), repr(served), served.__self__) == (hash(info), repr(info), log)
    assert inspect.ismethod(served)
    assert inspect.signature(served) == inspect.signature(info)
    assert copy.deepcopy([served])[0] is served
    assert function_of(served) is info
    assert function_of(log) is log
    test, other = Objects(True), Objects(True)
    assert sent(test, served) == sent(other, info)
    data = b"." + (1).to_bytes(4, "little")
    assert Reader(data, Containers(0), test).value(0) is info
    test.serve = lambda *call: noted(calls, call)
    read = Reader(data, Containers(0), test).value(0)
    assert (type(read), read()) == (Served, 8)


@pytest.mark.parametrize(
    ("target", "name", "value", "may"),
    [
        (Own, "__eq__", 1, False), (Own, "label", 1, False), (reaches, "__defaults__", 1, False),
        (reaches, "label", 1, False),
        (Own(), "x", 1, True), (Own(), "__class__", 1, False), (Own(), "method", 1, False), (Own(), "_x", 1, False),
        (argparse.Namespace(), "x", 1, True), (argparse.Namespace(), "_unrecognized_args", 1, True),
        (argparse.Namespace(), "__class__", 1, False), (mock.MagicMock(), "__eq__", 1, False),
        (mock.MagicMock(), "x", 1, True), (mock.MagicMock(), "return_value", 1, False),
    ],
)  # fmt: skip
def test_a_library_sets_what_the_candidate_may_set(target: Any, name: str, value: Any, may: bool):
    assert may_be_set(target, name, value) is may


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> Shown:
    """What the candidate has."""
    has = Shown(True)
    link = types.SimpleNamespace(objects=types.SimpleNamespace(shown=has))
    monkeypatch.setattr(runs, "LINK", [link])
    monkeypatch.setattr(by_libraries, "LINK", [link])
    monkeypatch.setattr(by_libraries, "serves_the_candidate", lambda _frame: True)
    return has


def parse(namespace: Any, name: str) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--a", dest=name, action="store_const", const=7)
    parser.parse_args(["--a"], namespace=namespace)


def test_while_the_candidate_is_served_setattr_asks(serving: Shown):
    cls, before = of_script("Other"), setattr
    other, service = cls(), mock.MagicMock()
    number, _ = [serving.show(each) for each in (cls, other)]
    setting = Setting()
    with setting, setting:
        parse(other, "x")
        for target, name in ((cls, "__eq__"), (other, "__class__")):
            with pytest.raises(AttributeError, match=name):
                parse(target, name)
        with pytest.raises(AttributeError):
            builtins.delattr(cls, "x")
        builtins.delattr(other, "x")
        serving.release([number])
        parse(cls, "y")
        serving.show(service), serving.show(type(service))
        assert service[3] is service[4]
        with pytest.raises(AttributeError):
            parse(service, "__eq__")
    assert builtins.setattr is before
    assert (vars(other), cls.y) == ({}, 7)


def test_who_is_served_while_another_is_still_has_its_setattr_ask():
    before, setting = setattr, Setting()
    with setting:
        with setting:
            pass
        assert builtins.setattr is by_libraries._set
    assert builtins.setattr is before


def test_the_script_sets_meanwhile_what_it_likes(serving: Shown, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(by_libraries, "serves_the_candidate", lambda _frame: False)
    cls = of_script("Other")
    serving.show(cls)
    with Setting():
        builtins.setattr(cls, "__eq__", None)
    assert cls.__eq__ is None


def test_a_format_is_looked_at_whatever_the_name_that_is_private():
    """`reaches` looks for some bytes first: of each such name, they have to be among them."""
    assert set(by_libraries._NOT_PUBLIC) == {b"._", *(b"." + each.encode() for each in operations._PARTS_OF_A_RUN)}


def test_what_the_script_puts_in_the_place_of_setattr_stays(monkeypatch: pytest.MonkeyPatch):
    before, own = setattr, lambda *_: None
    with Setting():
        builtins.setattr = own  # type: ignore[assignment]
    found, builtins.setattr = builtins.setattr, before
    assert found is own
