"""Generators, awaitables and context managers of the other half's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from cruxcell.jobs.separated.proxies import runs
from other_half import Other, either_half, other_half  # noqa: F401 - fixtures among them


def test_a_step_of_a_generator_is_a_call_and_one_of_an_awaitable_is_driven(either: Other):
    either.answers["get"] = either.cls()
    generator = either.thing("__iter__ __next__ send throw close")
    generator.send(1)
    assert [(each[0], each[2]) for each in either.asked] == [("get", "send"), ("call", (1,))]
    assert either.ended == [StopIteration]
    del either.asked[:]
    awaitable = either.thing("__await__ send")
    awaitable.send(1)
    assert [each[0] for each in either.asked] == (["drive"] if either.is_test else ["get", "call"])
    del either.asked[:]
    either.thing("send").send(1)
    assert ([each[0] for each in either.asked], len(either.ended)) == (["get", "call"], 2)


FAILED, MISSING = AssertionError("7 is expected"), KeyError("a")


def blamed(error: BaseException) -> BaseException:
    """That error as one that was raised here."""
    try:
        raise error
    except BaseException as raised:
        return raised


@pytest.mark.parametrize(
    ("is_own", "error", "says", "is_dealt_with"),
    [
        (True, MISSING, True, True),
        (True, MISSING, False, False),
        (False, MISSING, True, False),
        (False, FAILED, True, False),
        (True, None, True, False),
    ],
)
def test_a_context_manager_deals_with_what_the_script_raised_by_itself(
    either: Other, is_own: bool, error: BaseException | None, says: bool, is_dealt_with: bool
):
    manager = either.thing("__enter__ __exit__ __aexit__")
    either.is_own, either.answers["special"] = is_own, says
    assert manager.__exit__(type(error), error, None) is (is_dealt_with if either.is_test else says)
    told = either.asked[0][4]
    assert told is error if error is not FAILED or not either.is_test else told.args == ()

    async def waits() -> bool:
        return says

    if either.is_test:
        either.answers["special"] = waits()
        with pytest.raises(StopIteration) as info:
            manager.__aexit__(type(error), error, None).send(None)
        assert info.value.value is is_dealt_with
    heard: list[Any] = []

    def ask(*told: object) -> object:
        heard.extend(told)
        return says

    assert runs.exited(ask, type(error), error, None) is (is_dealt_with if either.is_test else says)
    assert heard[0] is type(error)
    assert heard[1] is error if error is not FAILED or not either.is_test else heard[1].args == ()


@pytest.mark.parametrize(
    ("is_own", "error", "goes_on"),
    [
        (True, blamed(KeyError("a")), False),
        (False, blamed(KeyError("a")), True),
        (False, KeyError("a"), False),
        (True, AssertionError("7 is expected"), True),
        (True, KeyError, False),
    ],
)
@pytest.mark.parametrize("ends", [False, True])
def test_what_is_thrown_into_a_generator_goes_on_unless_it_is_the_script_s(
    either: Other, is_own: bool, error: Any, goes_on: bool, ends: bool
):
    generator = either.thing("__next__ throw")
    either.is_own = is_own
    either.answers["call"] = StopIteration() if ends else 5
    expected: Any = type(error) if goes_on and either.is_test and not isinstance(error, type) else StopIteration
    if expected is not StopIteration or ends:
        with pytest.raises(expected) as info:
            generator.throw(error)
        assert expected is StopIteration or info.value is error
    else:
        assert generator.throw(error) == 5
    assert either.ended == [StopIteration]
    (told,) = either.asked[-1][2]
    assert told is error if type(error) is not AssertionError or not either.is_test else told.args == ()


def test_of_a_class_and_an_error_the_error_is_thrown(either: Other):
    generator, error = either.thing("__next__ throw"), KeyError("a")
    either.answers["call"] = 5
    assert generator.throw(KeyError, error) == 5
    assert either.asked[-1][2] == (error,)


@pytest.mark.parametrize("thrown", [GeneratorExit, GeneratorExit()])
def test_a_generator_that_is_closed_may_say_that_it_is(either: Other, thrown: Any):
    either.thing("__next__ throw").throw(thrown)
    assert either.ended == [(StopIteration, GeneratorExit)]


@pytest.mark.parametrize("thrown", [asyncio.CancelledError(), KeyError()])
def test_what_is_cancelled_may_say_that_it_was(either: Other, thrown: BaseException):
    either.thing("__next__ throw").throw(thrown)
    assert either.has_cancelled is isinstance(thrown, asyncio.CancelledError)
    either.thing("__next__ throw").throw(KeyError())
    assert either.has_cancelled is isinstance(thrown, asyncio.CancelledError)


def test_what_is_awaited_is_stepped_until_its_end(other: Other):
    awaited = other.thing("__await__")
    other.answers["drive"] = [None, None, StopIteration(7)]

    async def waits() -> object:
        return await awaited

    assert asyncio.run(waits()) == 7
    assert [each[2:] for each in other.asked] == [("send", None)] * 3


def test_what_is_thrown_into_an_await_is_thrown_there(other: Other):
    run = runs.await_(other.thing("__await__"))
    other.answers["drive"] = [None, StopIteration(7)]
    run.send(None)
    with pytest.raises(StopIteration) as info:
        run.throw(KeyError("a"))
    assert (info.value.value, other.asked[-1][2]) == (7, "throw")
    run = runs.await_(other.thing("__await__"))
    other.answers["drive"] = [None]
    run.send(None)
    asked = len(other.asked)
    run.close()
    assert len(other.asked) == asked


def test_the_next_item_may_be_none(other: Other):
    step = other.thing("__anext__").__anext__().__await__()
    other.answers.update(special=other.thing("__await__"), drive=StopIteration(7))
    with pytest.raises(StopIteration):
        step.send(None)
    assert other.ended == [StopAsyncIteration, (StopIteration, StopAsyncIteration)]
