"""Types with arguments cross as what they are made of."""

# ruff: noqa: UP006 - each form as it stands

from __future__ import annotations

import abc
import collections
import sys
import types
import typing
from typing import Any

import pytest
from cruxcell.values import generics

FORMS: list[Any] = [
    list[int], dict[str, list[int]], tuple[int, ...], collections.deque[str], int | None,
    int | str | list[int],
    typing.Any, typing.List, typing.Optional, typing.List[int], typing.Optional[int], typing.Union[int, str, None],
    typing.Callable[[int, str], None], typing.Callable[[], int], typing.Callable[..., Any], typing.Callable,
    typing.Literal["a", 1, None], typing.ClassVar[int], typing.Iterator[typing.Tuple[int, ...]], typing.Tuple[int],
    typing.Dict[str, typing.Optional[typing.Any]],
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_type_with_arguments_crosses(form: Any):
    letter, parts = generics.parts_of(form) or (b"", ())
    again = generics.made(parts)
    assert (letter, again, type(again), repr(again)) == (b"A", form, type(form), repr(form))
    assert getattr(again, "__args__", None) == getattr(form, "__args__", None)


def test_an_argument_may_be_a_class_that_stands_for_the_other_end_s():
    meta = type("M", (type,), {})
    known, unknown = meta("A", (), {"_remote_class": 1}), meta("B", (), {})
    form: Any = typing.Optional[known]
    assert generics.made((generics.parts_of(form) or ())[1]) == form
    assert generics.parts_of(typing.Optional[unknown]) is None
    assert generics.parts_of(list[known]) is not None
    alias = generics.made(("alias", known, int))
    assert (alias.__origin__, alias.__args__) == (known, (int,))
    assert generics.parts_of(alias) == (b"A", ("alias", known, int))
    assert generics.parts_of(types.GenericAlias(unknown, (int,))) is None
    with pytest.raises(ValueError, match="no type is made of"):
        generics.made(("alias", unknown, int))


T: Any = vars(typing)["TypeVar"]("T")


@pytest.mark.parametrize(
    "form",
    [
        typing.Annotated[int, 1], T, typing.NewType("N", int), list.__class_getitem__(T),
        typing.ForwardRef("int"), typing.Literal[1.5], 3, typing, type[int], list[type], typing.Optional[SystemExit],
        collections.abc.Callable[[int], str], typing.Union[tuple(type(f"C{at}", (), {}) for at in range(70))],
    ],
    ids=lambda form: str(form)[:20],
)  # fmt: skip
def test_what_cannot_be_made_again_does_not_cross(form: Any):
    assert generics.parts_of(form) is None


class Equal:
    def __eq__(self, other: object) -> bool:
        pytest.fail("it is asked")

    __hash__ = None  # type: ignore[assignment]


# As a program may call a class of its own.
List: Any = types.new_class("List", (vars(typing)["Generic"][T],))
Args: Any = type("Args", (), {"__module__": "typing", "_name": "List", "__args__": (int,)})
Abstract: Any = abc.ABCMeta("List", (), {"__args__": (int,)})


@pytest.mark.parametrize(
    "argument", [type[int], T, types.SimpleNamespace(_name="List", __args__=(int,)), Args(), Abstract]
)
def test_what_does_not_cross_does_not_within_another(argument: Any):
    assert generics.parts_of(list[argument]) is None


def test_a_part_of_a_type_with_arguments_does_not_cross():
    alias: Any = list[int]
    parts = list(alias) if sys.version_info >= (3, 11) else []
    assert [generics.parts_of(each) for part in parts for each in (part, tuple[part])] == [None] * 2 * len(parts)


def test_what_another_would_be_made_of_does_not_cross(monkeypatch: pytest.MonkeyPatch):
    assert generics.parts_of(List[int]) is None
    form: Any = int | None
    monkeypatch.setitem(generics._MAKE, "union", lambda *_: typing.Optional[int])
    assert typing.Optional[int] == form
    assert generics.parts_of(form) is None


@pytest.mark.parametrize("parts", [(["alias"], list, int), ("typing", Equal()), ("typing", "T")])
def test_what_is_no_word_and_no_name_is_not_looked_at(parts: Any):
    with pytest.raises(ValueError, match=r"not what a type is made of|a type that there is not"):
        generics.made(parts)


@pytest.mark.parametrize(
    "parts",
    [
        ("alias", "list", int), ("alias", type("Meta", (type,), {})("A", (), {}), int), ("alias", list, 1.5),
        ("x", int, int), (["alias"], list, int), ("union", None, int), ("union", None, 1, 2), ("union", None),
        ("typing", "re", int), ("typing", "_GenericAlias"), ("typing", 3), ("typing", "NoSuch"), ("typing", "Any", int),
        ("typing", "List", *[int] * 65), (), ("alias",), ("typing", "NamedTuple", type("Own", (), {})),
        ("alias", type, int), ("alias", list, StopIteration), ("typing", "get_type_hints"), ("typing", "NamedTuple"),
        ("typing", "ForwardRef"), ("typing", "Generic"), ("typing", "NewType"),
    ],
    ids=str,
)  # fmt: skip
def test_what_no_candidate_may_say(parts: Any):
    with pytest.raises((ValueError, TypeError, AttributeError, IndexError)):
        generics.made(parts)


@pytest.mark.parametrize("unpacked", [{}, {"__unpacked__": False}])
def test_up_to_3_10_an_alias_does_not_say_that_it_is_unpacked(unpacked: Any, monkeypatch: pytest.MonkeyPatch):
    alias = type("Alias", (), {"__origin__": list, "__args__": (int,), **unpacked})
    monkeypatch.setattr(generics, "_ALIAS", alias)
    assert generics._apart(alias()) == ("alias", list, int)
