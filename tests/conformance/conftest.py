"""One laboratory for all of the suite; `--target` or CRUXBOX_TARGET names a server that runs already."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance.gate import refuse_unless_confined
from conformance.lab import Lab


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    """A confined server and its world, or no test at all."""
    made = Lab(os.environ.get("CRUXBOX_TARGET"))
    try:
        refuse_unless_confined(made)
        made.calm()
        yield made
    finally:
        made.close()
