"""Whatever a caller gives under a name: it is taken, or refused with a sentence that names it."""

from __future__ import annotations

import dataclasses
import inspect
import math

import pytest
from cruxbox import (
    AsyncClient,
    CallCheck,
    Client,
    EvaluateCheck,
    InvalidRequest,
    Isolation,
    Limits,
    Outcome,
    RunCheck,
    ScriptCheck,
    StdioCheck,
    Task,
    Tls,
    Tolerance,
)
from cruxbox.arguments import shown
from cruxbox.batch import Batch
from cruxbox.datasets import Checker, Filter
from cruxbox.endpoint import BaseClient
from cruxbox.rewards import Reward


class Nothing:
    """Has no text to be shown by."""

    def __repr__(self):
        raise ValueError("no text")


ODD = [
    None, True, 0, -1, 5, 10**5000, 2.5, math.nan, math.inf, "", "x", "a\0b\n\x1b[31m", "\ud800", b"x", [], ["x"], [1],
    ["\ud800"], (), {}, {"a": "b"}, {"a": b"b"}, {1: 2}, {"\ud800": b""}, {"a": "\ud800"}, set(), object, Nothing(), 1j,
    iter(["x"]), range(3), Limits(), Outcome.PASSED, bytearray(b"x"), CallCheck("1", "1"), Task("", []),
]  # fmt: skip

CHECKS = [
    CallCheck("1", "1"),
    StdioCheck("", "x"),
    RunCheck(),
    ScriptCheck("assert f()", "f"),
    EvaluateCheck("1"),
]


def said_of(ask):
    """The sentence by which what is asked is refused; "" if it is taken."""
    try:
        ask()
        return ""
    except InvalidRequest as refused:
        said = str(refused)
    assert said.isprintable()  # so it is one line
    return said


def add(task):
    """Put a task on its way, up to the bytes that travel."""
    batch = Batch()
    batch.add(task)
    while (request := batch.request(0, 10)) is not None:
        request.SerializeToString()
    return batch


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: type(check).__name__)
def test_a_field_of_a_check_is_taken_or_named(check):
    for field in dataclasses.fields(check):
        said = [said_of(lambda: add(Task("", [dataclasses.replace(check, **{field.name: value})]))) for value in ODD]
        name = f"The task at index 0: {type(check).__name__}.{field.name} must be "
        assert all(sentence.startswith(name) for sentence in said if sentence)
        assert any(said) != (field.name == "id")  # ids do not travel


def test_a_field_of_a_task_is_taken_or_named():
    for field in dataclasses.fields(Task):
        kept = {"program": "x", "checks": [CallCheck("1", "1")]}
        said = [said_of(lambda: add(Task(**{**kept, field.name: value}))) for value in ODD]
        named = [sentence for sentence in said if sentence and field.name != "checks"]
        assert all(sentence.startswith(f"The task at index 0: {field.name} must be ") for sentence in named)
        assert any(said) != (field.name == "id")


@pytest.mark.parametrize("kind", [Limits, Tolerance])
def test_a_number_is_taken_or_named(kind):
    for field in dataclasses.fields(kind):
        for value in ODD:
            given = kind(**{field.name: value})
            if kind is Limits:
                said = said_of(lambda: add(Task("", [CallCheck("1", "1")], limits=given)))
                assert not said or f"limits.{field.name} must be a whole number from 0 to " in said
            else:
                said = said_of(lambda: add(Task("", [StdioCheck("", "1", tolerance=given)])))
                assert not said or "StdioCheck.tolerance must be a number or a Tolerance, not " in said


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_an_argument_of_a_client_is_taken_or_named(kind):
    for name in [*inspect.signature(BaseClient.__init__).parameters][1:]:
        given = {} if name in ("target", "workers", "server_args") else {"target": "127.0.0.1:1"}
        said = [said_of(lambda: kind(**{**given, name: value})) for value in ODD]
        assert all(sentence.startswith(f"{name} must be ") for sentence in said if sentence)
        assert any(said)


@pytest.mark.parametrize("name", ["ca", "cert", "key", "server_name"])
def test_an_argument_of_tls_is_taken_or_named(name):
    said = [said_of(lambda: Tls(**{name: value})) for value in ODD]
    assert all(sentence.startswith(f"Tls: {name} must be ") for sentence in said if sentence)
    assert any(said)


@pytest.mark.parametrize("value", ["5", math.nan, math.inf, True, [1], 10**50])
async def test_a_deadline_of_a_call_is_a_time(value):
    task = Task("", [CallCheck("1", "1")])
    with pytest.raises(InvalidRequest, match="deadline must be a number of seconds, at most 1e9, or None, not "):
        Client("127.0.0.1:1").check([task], deadline=value)
    with pytest.raises(InvalidRequest, match="deadline must be a number of seconds, at most 1e9, or None, not "):
        next(Client("127.0.0.1:1").stream([task], deadline=value))
    async with AsyncClient("127.0.0.1:1") as client:
        with pytest.raises(InvalidRequest, match="deadline must be a number of seconds, at most 1e9, or None, not "):
            await client.check([task], deadline=value)


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [(Checker, "limits", 5), (Checker, "runtime", None), (Filter, "rules", "paper"), (Filter, "keep_refused", "no"),
     (Filter, "runtime", 5), (Checker, "retries", "6"), (Reward, "column", 1), (Reward, "limits", {})],
)  # fmt: skip
def test_an_argument_of_a_class_for_data_sets_is_named(kind, name, value):
    with pytest.raises(InvalidRequest, match=f"^{name} must be "):
        kind("127.0.0.1:1", **{name: value})


def test_a_name_that_is_no_text_harms_no_other_check():
    batch = add(Task("", [RunCheck(read_files=["a\ud800"]), CallCheck("1", "1")]))
    assert [(position, verdict.outcome) for position, verdict in batch.answers()] == [(0, Outcome.INVALID)]
    assert batch.unanswered == 1


def test_what_names_files_is_measured():
    batch = Batch()
    batch.add(Task("", [RunCheck(read_files=["a" * (9 << 20), "b" * (9 << 20)])]))
    ((_, verdict),) = batch.answers()
    assert verdict.outcome is Outcome.SANDBOX_ERROR


def test_what_can_be_read_but_once_is_no_list():
    """It would be empty when the check is sent."""
    with pytest.raises(InvalidRequest, match=r"StdioCheck\.arguments must be a list or tuple of strings, not <list_it"):
        Batch().add(Task("", [StdioCheck("", "1", arguments=iter(["a"]))]))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a\nb", r"'a\nb'"),
        (10**40, "a number of 133 bits"),
        ((10**5000,), "an object of tuple"),
        (Nothing(), "an object of Nothing"),
        ("x" * 100, f"'{'x' * 79}…"),
        (Isolation.AUTO, "<Isolation.AUTO: 'AUTO'>"),
    ],
)
def test_what_is_shown_is_one_short_line(value, text):
    assert shown(value) == text
