"""Which texts are the script's own."""

from __future__ import annotations

import importlib
from typing import Any

import pytest
from cruxcell.jobs.separated.rules.own_code import OwnCode

SCRIPT = compile("CASES = ['1 + 1', 'want', ' x ']\nassert f(CASES)", "<check>", "exec")


class Text(str):
    """Of a class of its own: it says itself what it equals."""


@pytest.mark.parametrize(
    ("text", "is_own"),
    [("1 + 1", True), ("1 + 2", False), ("want", False), (" x ", False), (Text("1 + 1"), False), (None, False),
     (b"1 + 1", False)],
)  # fmt: skip
def test_a_constant_text_of_the_script_is_its_own_unless_it_is_a_mere_name(text: Any, is_own: bool):
    assert OwnCode(SCRIPT).says(text) is is_own


def test_what_cannot_be_read_is_no_code_and_ends_nothing():
    importlib.import_module("doctest")  # which the script has
    script = compile("CASES = ['\\ud800 + 1', '>>>3\\n', '1 + 1']", "<check>", "exec")
    own = OwnCode(script)
    assert [own.has(compile(text, "<check>", "eval", 0, True)) for text in ("1 + 1", "1 + 2")] == [True, False]
