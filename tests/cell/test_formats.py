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


@pytest.mark.parametrize(("call", "are_plain"), [("f('a')", True), ("f('{')", False), ("f('{0.x}')", False)])
def test_what_is_no_format_is_no_plain_text(call: str, are_plain: bool):
    assert formats.gives_plain_texts(compile(call, "<call>", "eval")) is are_plain
