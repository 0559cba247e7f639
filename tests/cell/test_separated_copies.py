"""Copies that one half of a separated script makes of its objects for the other."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from cruxcell.jobs.separated.proxies import copies
from cruxcell.jobs.separated.proxies.copies import copied
from other_half import Other, other_half  # noqa: F401 - fixtures among them


def test_a_copy_is_as_deep_as_was_asked_for():
    inner = [1]
    assert copied([inner], False, None, None)[0] is inner
    (made,), _ = copied([inner], True, None, 1)
    assert made == inner
    assert made is not inner


def test_what_is_copied_at_once_refers_to_each_other():
    inner = [1]
    (first,), kept = copied([inner], True, None, 1)
    assert copied(inner, True, kept, 2) == (first, kept)
    assert copied([inner], True, kept, 2)[0][0] is first
    for ours in (None, 0, 5, True, [1], "a"):
        assert copied(inner, True, ours, 3)[0] is not first
    assert not hasattr(kept, "__dict__"), "which the candidate would read"


def test_a_memo_says_who_has_asked_only_while_the_copy_is_made():
    seen: list[Any] = []

    class Own:
        def __deepcopy__(self, memo: dict[Any, Any]) -> str:
            seen.append(memo.get(copies._KEY))
            return "copy"

    for theirs in (7, [8], True):
        _, kept = copied(Own(), True, None, theirs)
        assert kept._memo[copies._KEY] is None, "or both halves kept each other"
    assert seen == [7, None, None]


def test_the_other_half_asks_back_with_the_memo_that_waits(other: Other):
    value, inner, back = other.thing(), [1], []
    made = other.thing()

    def answer() -> Any:
        number = other.asked[-1][-1]
        back.append(copied(inner, True, number, 1))
        return made, "memo"

    other.answers["copy"] = answer
    found = copy.deepcopy([inner, value, value])
    assert back == [(found[0], None)]
    assert back[0][0] is found[0]
    assert found[1] is found[2] is made
    assert len(other.asked) == 1
    assert copies._waiting == {}


def test_one_memo_of_the_other_half_s_for_each_of_this(other: Other):
    one, two = other.thing(), other.thing()
    other.answers["copy"] = [(other.thing(), "first"), (other.thing(), "second"), (other.thing(), "third")]
    memo: dict[Any, Any] = {}
    copy.deepcopy(one, memo)
    copy.deepcopy(two, memo)
    copy.deepcopy(one)
    assert [asked[3] for asked in other.asked] == [None, "first", None]
    assert [type(asked[4]) for asked in other.asked] == [int] * 3
    assert len({asked[4] for asked in other.asked}) == 3


def test_an_asked_half_keeps_the_number_of_who_asks(other: Other):
    one, two = other.thing(), other.thing()
    other.answers["copy"] = [(other.thing(), None), (other.thing(), None)]
    _, kept = copied([one, two], True, None, 4)
    assert [asked[:4] for asked in other.asked] == [("copy", one, True, 4), ("copy", two, True, 4)]
    assert kept._memo[copies._KEY] is None


def test_a_shallow_copy_has_no_memo(other: Other):
    value, made = other.thing(), other.thing()
    other.answers["copy"] = made
    assert copy.copy(value) is made
    assert other.asked == [("copy", value, False, None, None)]


def test_a_memo_that_is_none_is_a_new_one(other: Other):
    value, made = other.thing(), other.thing()
    other.answers["copy"] = lambda: (made, None)
    assert copies.copied_there(value, True) is copies.copied_there(value, True, [1]) is made


@pytest.mark.parametrize("answer", [8, (8,), [8, None], (8, None, None)])
def test_what_is_no_answer_ends_the_script(other: Other, answer: object):
    other.answers["copy"] = answer if isinstance(answer, (int, tuple)) else [answer]
    with pytest.raises(TypeError, match="what it has copied"):
        copy.deepcopy(other.thing())
    assert copies._waiting == {}


def test_there_may_be_many_copies(other: Other):
    value = other.thing()
    other.answers["copy"] = lambda: (value, "memo")
    for _ in range(100):
        assert copy.deepcopy(value) is value
    assert len({each[-1] for each in other.asked}) == 100
