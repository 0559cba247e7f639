"""Which libraries that a script names the candidate's half has a part in."""

from __future__ import annotations

import pytest
from cruxcell.jobs.separated import followed


def test_what_a_script_names_is_followed_once_and_nothing_else(monkeypatch: pytest.MonkeyPatch):
    noted: list[tuple[str, object]] = []

    def clocks(link: object) -> None:
        noted.append(("clocks", link))

    def pickles(link: object) -> None:
        noted.append(("pickles", link))

    table = {"process_time": clocks, "thread_time": clocks, "pickle": pickles}
    monkeypatch.setattr(followed, "FOLLOWED", table)
    for source, names in [
        ("assert f(1) == 2", []),
        ("import pickle", ["pickles"]),
        ("time.process_time() - time.thread_time()", ["clocks"]),
        ("import pickle\ntime.thread_time()", ["clocks", "pickles"]),
    ]:
        followed.follow_what_is_named(3, source)
        assert noted == [(name, 3) for name in names]
        noted.clear()
