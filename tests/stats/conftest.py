"""What the tests of statistics and benchmark building share: the public data, if it is there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from cruxbox.stats import Scored


@pytest.fixture
def cruxeval() -> Path:
    """The folder with CRUXEval's data."""
    root = os.environ.get("CRUXBOX_DATA")
    if not root:
        pytest.skip("CRUXBOX_DATA does not name a folder with the public data")
    folder = Path(root) / "cruxeval"
    if not (folder / "cruxeval.jsonl").exists():
        pytest.skip(f"{folder} holds no cruxeval.jsonl")
    return folder


@pytest.fixture
def code_llama(cruxeval: Path) -> list[Scored]:
    """Code Llama 7B on tasks 0 to 399, T = 0.2, as published: input prediction, then output prediction."""
    models = []
    for mode in ("input", "output"):
        verdicts = json.loads((cruxeval / f"codellama7b_t0.2_{mode}_verdicts.json").read_text())
        generations = json.loads((cruxeval / f"codellama7b_t0.2_{mode}_generations.json").read_text())
        models.append(
            Scored(
                mode,
                {id: tuple(row) for id, row in verdicts.items()},
                {id: tuple(row) for id, row in generations.items()},
            )
        )
    return models
