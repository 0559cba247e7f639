"""What a program has of its own where a script sets places of it, and gives them back, several times."""

from __future__ import annotations

import pathlib
import sys
from typing import Any

from cruxcell.jobs.separated.state.borrowing import Borrower


def test_what_the_program_has_when_the_script_sets_it_anew_is_what_it_gets_back():
    namespace: dict[str, Any] = {"count": 0}
    one, owner = Borrower(namespace, 0), pathlib.Path
    for own in (0, 3):
        namespace["count"] = own
        one.take("name", "count", "", False, 7)
        one.take("name", "count", "", True, None)
        assert namespace == {"count": own}
    before = vars(owner)["unlink"]
    try:
        for its in (before, len):
            owner.unlink = its  # type: ignore[method-assign, assignment]
            one.take("member", "pathlib.Path", "unlink", False, abs)
            one.take("member", "pathlib.Path", "unlink", True, None)
            assert vars(owner)["unlink"] is its
    finally:
        owner.unlink = before  # type: ignore[method-assign]


def test_a_program_may_go_as_deep_as_the_script_says_beside_what_is_on_the_stack():
    before = sys.getrecursionlimit()
    try:
        Borrower({}, 7).take("depth", "", "", False, before)
        assert sys.getrecursionlimit() == before + 7
    finally:
        sys.setrecursionlimit(before)
