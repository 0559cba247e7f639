"""Who holds the line of a connection, and when garbage is collected meanwhile."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from cruxcell.jobs.separated.exchange.line import Line


@pytest.fixture(autouse=True)
def _garbage_is_collected_afterwards() -> Iterator[None]:
    yield
    gc.enable()


def test_where_one_thread_asks_garbage_is_collected_as_ever():
    line = Line()
    with line:
        assert gc.isenabled()
        line.share()
        with line:
            assert not gc.isenabled()
        assert gc.isenabled()


def test_outside_the_line_garbage_is_collected_as_the_script_has_it():
    line = Line()
    line.share()
    gc.disable()
    with line:
        assert not line.outside(gc.isenabled)
        line.outside(gc.enable)
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_is_collected_again_meanwhile_is_so_until_nobody_has_the_line():
    line = Line()
    line.share()
    with line:
        gc.enable()
        with line:
            assert gc.isenabled()
        assert gc.isenabled()
