"""Several tasks in one report: a comparison of the models on each task, and of the tasks with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cruxbox.building.rows import Row
from cruxbox.errors import DataError
from cruxbox.stats.across import Across, across
from cruxbox.stats.compare import Comparison, Settings, compare
from cruxbox.stats.external import ExternalScores
from cruxbox.stats.scored import Scored

# So many models have their 11 × 11 table shown where none is named; the JSON has them all.
_TABLES = 2


@dataclass(frozen=True)
class Study:
    """The result of `study`.

    Args:
        settings: how it was made.
        tasks: name of a task -> comparison of the models on it.
        across: one result for each pair of tasks.
    """

    settings: Settings
    tasks: Mapping[str, Comparison]
    across: tuple[Across, ...]

    def shown(self, found: Across) -> list[str]:
        """The models whose 11 × 11 table in `found` reports show: those that were named, or the first two."""
        named = [one for group in found.unsolved for one in group.models] + list(self.settings.highlight)
        return named or [one.name for one in found.models[:_TABLES]]


def study(
    tasks: Mapping[str, Sequence[Scored]],
    *,
    baseline: str = "",
    cot: Sequence[tuple[str, str]] = (),
    dataset: Sequence[Row] | None = None,
    external: ExternalScores | None = None,
    unsolved_of: Sequence[str] = (),
    settings: Settings | None = None,
) -> Study:
    """Compare models on several tasks, as `compare` does, and the tasks with each other, as `across` does.

    Args:
        tasks: name of a task -> its scored models; at least two tasks.
        baseline, cot, dataset, external: as in `compare`. A model or pair that a task lacks is left out there.
        unsolved_of: as in `across`.
        settings: None is the default.

    Returns:
        The comparisons.

    Raises:
        DataError: as for `compare` and `across`, or a name occurs in no task.
    """
    settings = settings or Settings()
    pairs = across(tasks, unsolved_of=unsolved_of, settings=settings)
    names = {task: {model.name for model in models} for task, models in tasks.items()}
    for name in (baseline, *settings.highlight, *(one for pair in cot for one in pair)):
        if name and not any(name in known for known in names.values()):
            raise DataError(
                f"no model is called {name!r}; there are: {', '.join(sorted(set().union(*names.values())))}"
            )
    return Study(
        settings,
        {
            task: compare(
                models,
                baseline=baseline if baseline in names[task] else "",
                cot=[pair for pair in cot if names[task].issuperset(pair)],
                dataset=dataset,
                external=external,
                settings=_settings_for(settings, names[task]),
            )
            for task, models in tasks.items()
        },
        tuple(pairs),
    )


def _settings_for(settings: Settings, names: set[str]) -> Settings:
    return replace(settings, highlight=tuple(name for name in settings.highlight if name in names))
