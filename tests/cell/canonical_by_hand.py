"""The canonical form of a value, within a budget for tests."""

from __future__ import annotations

from cruxcell.values import canonical

BUDGET = 1 << 20


def canon(value: object) -> bytes:
    data, has_nan = canonical.canon(value, BUDGET)
    assert not has_nan
    return data
