"""What stands in the place of a builtin function is like one."""

from __future__ import annotations

import copy
import os
import pickle
from typing import Any

import pytest
from cruxcell.builtin_like import builtin_like


def test_nobody_says_anything_to_others_by_it(monkeypatch: pytest.MonkeyPatch):
    made: Any = builtin_like(lambda path: path + "!", os.statvfs, "os")
    monkeypatch.setattr(os, "statvfs", made)
    for name in ("__name__", "__wrapped__", "mark"):
        with pytest.raises(AttributeError, match="not writable"):
            setattr(made, name, 1)
        with pytest.raises(AttributeError, match="not writable"):
            delattr(made, name)
    assert (made("a"), made.__name__, repr(made)) == ("a!", "statvfs", "<built-in function statvfs>")
    assert copy.deepcopy(made) is pickle.loads(pickle.dumps(made)) is type("Files", (), {"call": made})().call is made
