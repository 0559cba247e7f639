"""What the daemon reads by itself is what Python reads; and whatever it does not read is left to a worker."""

from __future__ import annotations

import ast

import pytest
from cruxboxd.judging import literals
from cruxboxd.judging.literals import read_literal
from cruxcell.jobs import expressions
from cruxcell.protocol import messages
from cruxcell.values.canonical import canon
from hypothesis import given
from hypothesis import strategies as st

READ = [
    "0", "-0", "12", "-7", "123456789012345678", "1.5", "-0.0", "0.1", "100.0", "''", '""', "'a b'", '"it\'s"', "True",
    "None", "[]", "[ ]", "[1]", "()", "{}", "[1, 2]", "[1,2,]", "(1,)", "( 1 , 2 )", "{'a': 1, 'b': [1, (2, 3)]}",
    "{1: 2, True: 3, 1.0: 4,}", " 1 ", "{'a': {'b': {}}}", "['[', ',', ':']", "((),)", "{(1, 2): 3}",
]  # fmt: skip
LEFT = [
    "", " ", "0123", "1_000", "1e5", "1.", ".5", "1j", "- 1", "--1",
    "+1", "1 2", "1, 2", "(1)", "(1", "1)", "[1", "[,]",
    "(,)", "[1 2]",
    "{1}", "{1, 2}", "{1: 2, 3}", "{: 1}", "{1:}", "{[]: 1}", "'a' 'b'", "'a''b'", "'\\n'", "'a", "b'a'",
    "f'a'",
    "'é'", "'\t'", "1\n", "\t1", "Truex", "true", "x", "f(1)", "1 + 1", "1 if 1 else 2", "...", "'''a'''", "1#",
    "[*a]",
    "[" * 30 + "]" * 30, "1" * 19, "'" + "a" * 3000 + "'", "{**{}}", "[1:2]", "(1:2)", "{1,: 2}", "[1,,2]", "1;",
]  # fmt: skip


def by_python(text: str) -> bytes:
    return canon(ast.literal_eval(text.strip(" ")), 1 << 20)[0]


@pytest.mark.parametrize("text", READ)
def test_these_are_read_as_python_reads_them(text):
    assert read_literal(text) == by_python(text)
    assert by_worker(text) == [messages.READ_CONSTANT, read_literal(text), b""]


@pytest.mark.parametrize("text", LEFT)
def test_these_are_left_to_a_worker(text):
    assert read_literal(text) is None


DEPTHS = {"lists": ("[", "]"), "tuples": ("(", ",)"), "values of dicts": ("{1:", "}"), "a key": ("(", ",)")}


@pytest.mark.parametrize("name", DEPTHS)
def test_of_twenty_levels_it_reads_all_and_of_more_none(name: str):
    """It calls itself for each level."""
    opening, closing = DEPTHS[name]
    nested = [opening * depth + "1" + closing * depth for depth in (20, 21, 22, 400)]
    if name == "a key":
        nested = ["{" + opening * depth + "1" + closing * depth + ": 1}" for depth in (19, 20, 21, 400)]
    assert [read_literal(text) is not None for text in nested] == [True, False, False, False]


@pytest.mark.parametrize("text", ["1" + " " * 1_900 + "!", "!" + " " * 1_900 + "1", "1" * 1_900])
def test_behind_what_is_no_token_nobody_looks_for_one(monkeypatch: pytest.MonkeyPatch, text: str):
    """A search would try each of the blanks, and run over all that follow it each time."""
    tried: list[int] = []

    class Pattern:
        def match(self, text: str, at: int) -> object:
            tried.append(at)
            return token.match(text, at)

    token = literals._TOKEN
    monkeypatch.setattr(literals, "_TOKEN", Pattern())
    assert read_literal(text) is None
    assert len(tried) <= 1_900 // 18 + 1  # digits of a number


atoms = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.text("ab'\\\"{[(,: ", max_size=6)
)
values = st.recursive(
    atoms,
    lambda inner: (
        st.lists(inner, max_size=4) | st.lists(inner, max_size=3).map(tuple) | st.dictionaries(atoms, inner, max_size=3)
    ),
    max_leaves=8,
)


def agrees(text: str) -> None:
    """Whatever is read is read alike; what Python refuses is not read."""
    read = read_literal(text)
    if read is not None:
        assert read == by_python(text)
        assert [messages.READ_CONSTANT, read, b""] == by_worker(text)


def by_worker(text: str) -> list[bytes]:
    """The record of a worker that reads what is expected."""
    return expressions._read_expected(text, 1 << 20)


@given(st.text("01.-e_'\"[](){},: aTrueNoFls\\\t\n\x00é", max_size=12))
def test_any_text_is_read_as_a_worker_reads_it_or_not_at_all(text):
    agrees(text)


@given(values)
def test_what_python_writes_is_read_as_python_reads_it(value):
    agrees(repr(value))


@given(values, st.integers(0, 60), st.integers(0, 3), st.text("01.-e_'\"[](){},: \\xTN", max_size=3))
def test_what_is_nearly_a_literal_is_read_as_python_reads_it_or_not_at_all(value, at, cut, more):
    text = repr(value)
    agrees(text[:at] + more + text[at + cut :])
