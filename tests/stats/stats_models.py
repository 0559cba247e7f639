"""Made-up models, and scored files of them."""

from __future__ import annotations

import json
import random
from pathlib import Path

from cruxbox.stats import Scored


def made_up(name: str, seed: int, tasks: int = 60, samples: int = 10, lift: float = 0.0, nulls: float = 0.0) -> Scored:
    """A model whose tasks have a difficulty of their own, shared by all made-up models."""
    shared, own = random.Random(0), random.Random(seed)
    verdicts, generations = {}, {}
    for at in range(tasks):
        p = min(1.0, max(0.0, shared.random() + lift + own.gauss(0, 0.2)))
        row = [own.random() < p for _ in range(samples)]
        verdicts[f"sample_{at}"] = tuple(None if own.random() < nulls else one for one in row)
        generations[f"sample_{at}"] = tuple(str(own.randrange(1 + int(6 * (1 - p)))) for _ in row)
    return Scored(name, verdicts, generations)


def write_scored(path: Path, model: Scored, **more: object) -> Path:
    """The model as a scored file in the reference format."""
    path.write_text(
        json.dumps(
            {
                "raw_generations": {id: list(row) for id, row in model.generations.items()},
                "raw_scored_generations": {id: list(row) for id, row in model.verdicts.items()},
                **more,
            }
        )
    )
    return path
