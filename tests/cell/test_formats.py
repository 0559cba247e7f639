"""Which programs format nothing but plain texts."""

from __future__ import annotations

import pytest
from cruxcell.analysis import formats


@pytest.mark.parametrize("error", [MemoryError, RecursionError, ValueError])
def test_a_program_that_cannot_be_looked_through_is_not_plain(
    error: type[BaseException], monkeypatch: pytest.MonkeyPatch
):
    def fails(_source: str) -> None:
        raise error

    monkeypatch.setattr(formats, "tree_of", fails)
    assert formats.are_plain("'{}'.format(1)", False) is False


@pytest.mark.parametrize(
    ("program", "are_plain"),
    [
        ("def f(s):\n    return s.format(1)", (False, True)),
        ("x = 1\n\ndef f(s):\n    return s.format(1)", (False, True)),
        ("def f(s):\n    return s.format(1)\n\nf('{0.x}')", (False, False)),
        ("def g():\n    def f(s):\n        return s.format(1)\n    return list(locals().values())", (False, False)),
    ],
)
def test_what_a_call_gives_is_a_parameter_of_a_function_that_only_it_reaches(
    program: str, are_plain: tuple[bool, bool]
):
    assert (formats.are_plain(program, False), formats.are_plain(program, True)) == are_plain


@pytest.mark.parametrize(("call", "are_plain"), [("f('a')", True), ("f('{')", False), ("f('{0.x}')", False)])
def test_what_is_no_format_is_no_plain_text(call: str, are_plain: bool):
    assert formats.gives_plain_texts(compile(call, "<call>", "eval")) is are_plain


@pytest.mark.parametrize(("last", "are_plain"), [("'c{}'", True), ("[b'', s][0]", False), ("str(s)", False)])
def test_a_name_that_is_assigned_several_texts_has_no_other_value(last: str, are_plain: bool):
    program = f"def f():\n    s = 'a{{}}'\n    s = 'b{{}}'\n    s = {last}\n    return s.format(1)"
    assert formats.are_plain(program, False) is are_plain
