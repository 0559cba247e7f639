"""The pickled strings of LiveCodeBench's hidden tests, which are read and never unpickled."""

from __future__ import annotations

import base64
import pickle

import pytest
from cruxbox.problems.packed import pickled_string, unpacked
from cruxbox.problems.records import BadRow
from problems_by_hand import packed


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("text", ["", "[]", "é" * 300, "x" * 100_000])
def test_a_pickled_string_is_read_without_unpickling(protocol, text):
    assert unpacked(packed(text, protocol)) == text


class Runs:
    def __reduce__(self):
        return exec, ("raise SystemExit('it ran')",)


@pytest.mark.parametrize("value", [b"bytes", ["a"], len, Runs(), None, ("a", "b"), 3])
def test_any_other_pickle_is_refused(value):
    for protocol in range(6):
        with pytest.raises(BadRow):
            unpacked(packed(value, protocol))


@pytest.mark.parametrize("field", ["", "!", "AAAA", base64.b64encode(b"junk").decode(), packed("x")[:-8]])
def test_what_is_not_packed_is_refused(field):
    with pytest.raises(BadRow):
        unpacked(field)


def test_every_cut_of_a_pickled_string_is_refused():
    whole = pickle.dumps("some text", 4)
    for end in range(len(whole)):
        with pytest.raises((BadRow, IndexError, UnicodeDecodeError)):
            pickled_string(whole[:end])
