"""The canonical form is equality, and the encoded form is the value."""

from __future__ import annotations

from collections import Counter, OrderedDict

from cruxcell.values import canonical, transfer
from hypothesis import example, given
from hypothesis import strategies as st
from plain_data import encodable, plain_data

ROOM = 1 << 20


def canon(value: object) -> bytes:
    data, has_nan = canonical.canon(value, ROOM)
    assert not has_nan
    return data


@given(plain_data, plain_data)
@example(10**400, float("inf"))
@example(2**63, -(2**63))
@example(["s1:a"], ["a", "s1:a"])
def test_canonical_bytes_are_equal_exactly_when_the_values_are(one, other):
    assert (canon(one) == canon(other)) == (one == other)


def _in_other_words(value: object) -> object:
    """An equal value, built differently: other number types, another order, other containers that are equal."""
    if isinstance(value, (bool, int)) and abs(value) < 2**53:
        return float(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, (list, tuple)):
        return type(value)(map(_in_other_words, value))
    if isinstance(value, (set, frozenset)):
        return frozenset(map(_in_other_words, sorted(value, key=repr, reverse=True)))
    if isinstance(value, dict):
        return OrderedDict((_in_other_words(key), _in_other_words(value[key])) for key in reversed(list(value)))
    if isinstance(value, bytes):
        return bytearray(value) if value else b""
    return value


@given(plain_data.filter(lambda value: not any(mark in repr(value) for mark in ("b'", 'b"'))))
def test_equal_values_in_other_words_have_the_same_bytes(value):
    other = _in_other_words(value)
    assert other == value
    assert canon(other) == canon(value)


@given(plain_data, st.integers(0, 60))
def test_the_budget_is_never_overrun(value, room):
    try:
        data, _ = canonical.canon(value, room)
    except canonical.TooLarge:
        return
    assert len(data) <= room


@given(encodable)
def test_what_is_encoded_is_decoded_with_its_types(value):
    again = transfer.decode(transfer.encode(value, ROOM))
    assert again == value
    assert type(again) is type(value)
    if not isinstance(value, Counter):  # which shows its items by count
        assert _shape(again) == _shape(value)


def _shape(value: object) -> object:
    """The value with every type in it, in order where there is one."""
    if isinstance(value, (list, tuple)):
        return type(value), [_shape(item) for item in value]
    if isinstance(value, dict):
        return type(value), [(_shape(key), _shape(item)) for key, item in value.items()]
    if isinstance(value, (set, frozenset)):
        return type(value), sorted(repr(_shape(item)) for item in value)
    return type(value), repr(value)


@given(encodable)
def test_what_is_encoded_equals_itself_canonically(value):
    try:
        before = canonical.canon(value, ROOM)
    except canonical.NotPlain:
        return
    assert canonical.canon(transfer.decode(transfer.encode(value, ROOM)), ROOM) == before


@given(st.text(st.characters(codec=None)))
def test_any_text_travels(text):
    assert transfer.decode(transfer.encode(text, ROOM)) == text
    assert canon(text) == canon(text[:1] + text[1:])
