"""The half of the script, which lends."""

from __future__ import annotations

from typing import Any

from cruxcell.jobs.separated.rules.script import constant_texts
from cruxcell.jobs.separated.state.lending import Lender


def lender(source: str, **namespace: Any) -> Lender:
    script = compile(source, "check", "exec")
    made = Lender(script, constant_texts(script), namespace)
    made.begin()
    return made
