"""The comparison of printed texts in steps, beside the same said of the whole texts at once."""

from __future__ import annotations

import tracemalloc
from decimal import Decimal
from itertools import product

import pytest
from cruxboxd.judging import comparing
from cruxboxd.judging.comparing import Compare, Comparison, is_same, parts_of_text
from hypothesis import example, given
from hypothesis import strategies as st

_BITS = [
    b" ",
    b"\n",
    b"\n\n",
    b"\t",
    b"\r\n",
    b"\x0b",
    b"\x1c",
    b"1",
    b"1.0",
    b"2e3",
    b"2000",
    b"a",
    b"A",
    b"SS",
    b"\xff",
    b"\x80",
]
_TEXTS = st.lists(
    st.sampled_from([*_BITS, *(each.encode() for each in "\xdf\xe9\xc9\x85\U0001f600")]), max_size=12
).map(b"".join)


def lines_of(data: bytes) -> list[bytes]:
    return [line.rstrip() for line in data.rstrip().split(b"\n")]


def is_same_at_once(printed: bytes, expected: bytes, how: Compare) -> bool:
    if how is Compare.CASEFOLD:
        printed, expected = (
            each.decode("utf-8", "surrogateescape").casefold().encode("utf-8", "surrogateescape")
            for each in (printed, expected)
        )
    if how is Compare.EXACT:
        return printed == expected
    return printed.split() == expected.split() if how is Compare.TOKENS else lines_of(printed) == lines_of(expected)


def is_close_at_once(printed: bytes, expected: bytes) -> bool:
    """As LiveCodeBench compares: lines without white space around them, as text, or as nothing but numbers."""
    one, other = ([line.strip() for line in each.strip().split(b"\n")] for each in (printed, expected))
    return len(one) == len(other) and all(
        got == wanted or (numbers_of(got) is not None and numbers_of(got) == numbers_of(wanted))
        for got, wanted in zip(one, other)
    )


def numbers_of(line: bytes) -> list[Decimal] | None:
    try:
        return [Decimal(word.decode()) for word in line.split()]
    except (ArithmeticError, UnicodeDecodeError):
        return None


_LINES = st.lists(st.sampled_from([b" ", b" ", b"\n", b"1", b"1.0", b"1e0", b"2", b"20", b"a"]), max_size=9).map(
    b"".join
)


@pytest.mark.parametrize("size", [1, 2, 7, 1 << 16])
@given(printed=_LINES, other=_LINES, change=st.integers(0, 4))
def test_lines_of_numbers_in_steps_of_any_size_as_at_once(size: int, printed: bytes, other: bytes, change: int):
    changed = [other, printed.replace(b"1", b"1.0"), printed.replace(b" ", b"  "), b"\n" + printed, printed + b" \n"]
    expected = changed[change]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparing, "_BYTES_A_STEP", size)
        found = list(is_same(printed, expected, Comparison(absolute=1e-300)))
    assert all(found[:-1])
    assert found[-1] is is_close_at_once(printed, expected)


@pytest.mark.parametrize("size", [1, 2, 7, 1 << 16])
@given(printed=_TEXTS, other=_TEXTS, how=st.sampled_from(Compare), change=st.integers(0, 4))
def test_in_steps_of_any_size_as_at_once(size: int, printed: bytes, other: bytes, how: Compare, change: int):
    changed = [other, printed.replace(b" ", b"\t"), printed.swapcase() + b"\n", printed + other]
    expected = [*changed, printed.replace(b"\n", b" \n")][change]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparing, "_BYTES_A_STEP", size)
        found = list(is_same(printed, expected, Comparison(how)))
        if how is not Compare.EXACT:  # numbers may differ, and nothing else: no wider than a tolerance of nothing
            close = all(is_same(printed, expected, Comparison(how, absolute=1e-300)))
            assert close or not found[-1]
    assert all(found[:-1])
    assert found[-1] is is_same_at_once(printed, expected, how)


def test_a_part_of_nothing_but_white_space_is_not_the_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(comparing, "_BYTES_A_STEP", 2)
    for how in (Compare.LINES, Compare.TOKENS, Compare.CASEFOLD):
        assert not all(is_same(b"\n\n\n\n\n\n1", b"\n\n\n\n\n\n2", Comparison(how)))


@pytest.mark.parametrize(
    ("printed", "expected", "same"),
    [
        (b"a\nbcd", b"a \nbcd", True),
        (b"abc\nde", b"abc\nd  e", False),
        (b"abc\nd  e", b"abc\nd  e ", True),
        (b"a\nb   c", b"a \nb   c", True),
    ],
)
def test_spaces_at_the_end_of_a_part_belong_to_its_last_line(
    printed: bytes, expected: bytes, same: bool, monkeypatch: pytest.MonkeyPatch
):
    for size in range(3, 8):
        monkeypatch.setattr(comparing, "_BYTES_A_STEP", size)
        assert all(is_same(printed, expected, Comparison(Compare.LINES))) is same


@pytest.mark.parametrize("how", Compare)
@pytest.mark.parametrize("change", [0.0, 0.5])
def test_white_space_is_compared_in_a_step_at_least(how: Compare, change: float):
    assert list(is_same(b" \n", b"", Comparison(how, absolute=change)))[-1] is (how is not Compare.EXACT)


@pytest.mark.parametrize("sign", [b"", b"-", b"+"])
def test_a_number_too_long_to_be_measured_is_one_all_the_same(sign: bytes):
    """Its line may differ in others, as numbers do. It is compared as text itself."""
    long = sign + b"1" * 500
    for beside, same in ((b"1.05", True), (b"2", False)):
        assert all(is_same(long + b" 1.0", long + b" " + beside, Comparison(absolute=0.1))) is same
    assert not all(is_same(long + b" 1", long[:-1] + b"2 1", Comparison(absolute=2.0)))


def test_what_is_a_number_is_known_without_a_pattern():
    """One whose parts are too long for the pattern, too."""
    every = [b"".join(word) for size in range(6) for word in product((b"+", b"-", b".", b"e", b"E", b"1"), repeat=size)]
    for word in every:
        for token in (word, word.replace(b"1", b"1" * 500, 1)):
            assert comparing._is_number(token) is (comparing._NUMBER.fullmatch(token) is not None)


@pytest.mark.parametrize("size", range(1, 8))
def test_parts_make_the_same_lines_and_tokens_as_the_whole(size: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(comparing, "_BYTES_A_STEP", size)
    texts = [b"a", b"  a", b"ab", b"a" + b" " * 10 + b"b", b"abcdefghijkl m", b"a \n    \nb  c", b"\t1\n 2"]
    for data in [*texts, b"a" + b" " * 10 + b"\n\n b"]:
        assert list(comparing._tokens(data)) == data.split()
        assert list(comparing._tokens(data + b"  ")) == data.split()
        assert b"".join(comparing._tokens_in_a_line(data)) == b" ".join(data.split())
        assert b"".join(comparing._lines_cut(data)) == b"\n".join(lines_of(data))


@pytest.mark.parametrize("place", [0, 499, 500, 501, 999, 1000, 1200])
def test_no_token_beyond_the_first_step_is_left_out(place: int):
    tokens = [b"1"] * 1201
    expected = b" ".join([*tokens[:place], b"3", *tokens[place + 1 :]])
    steps = list(is_same(b" ".join(tokens), expected, Comparison(Compare.TOKENS, absolute=0.5)))
    assert not steps[-1]
    assert all(steps[:-1])
    assert all(is_same(b" ".join(tokens), expected, Comparison(Compare.TOKENS, absolute=2.0)))


@pytest.mark.parametrize("how", [Compare.LINES, Compare.TOKENS])
@pytest.mark.parametrize("tolerance", [Comparison(absolute=0.1), Comparison(relative=0.1)])
def test_numbers_are_compared_in_many_steps_whatever_the_tolerance(how: Compare, tolerance: Comparison):
    printed, expected = b"1.05\n" * 10_000, b"1\n" * 10_000
    steps = list(is_same(printed, expected, Comparison(how, tolerance.absolute, tolerance.relative)))
    assert all(steps)
    assert 8 < len(steps) < 1_000


def test_of_many_lines_a_part_is_made_at_a_time():
    lines = comparing._lines(b"1\n" * (1 << 20))
    tracemalloc.start()
    try:
        next(lines)
        assert tracemalloc.get_traced_memory()[1] < 1 << 23
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("how", Compare)
def test_much_is_compared_in_many_steps(how: Compare):
    printed, expected = b"1 \n" * (1 << 18), b"1\n" * (1 << 18)
    steps = list(is_same(printed, expected, Comparison(how)))
    assert (len(steps) > 8, steps[-1]) == ((False, False) if how is Compare.EXACT else (True, True))


@pytest.mark.parametrize("size", [1, 3, 5])
@given(data=_TEXTS)
@example(data=b"\x80" * 12 + b"aaa")
def test_parts_of_a_text_are_all_of_it_and_cut_no_character(size: int, data: bytes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparing, "_BYTES_A_STEP", size)
        parts = list(parts_of_text(data))
    assert b"".join(parts) == data
    assert all(size <= len(part) <= size + 4 for part in parts[:-1])
    whole = "".join(part.decode("utf-8", "surrogateescape") for part in parts)
    assert whole == data.decode("utf-8", "surrogateescape")
