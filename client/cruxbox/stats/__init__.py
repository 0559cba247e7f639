"""Statistics of scored generations and of data sets; needs the extra `stats` (numpy, scipy; matplotlib for reports).

from cruxbox.stats import compare, read_all, to_json
comparison = compare(read_all(["small.json", "large.json"]))
print(to_json(comparison)["models"][0]["pass_at"])

    scored                 reads and validates scored files
    panel                  the models of a comparison as arrays
    bootstrap, noise       variation of a score over other tasks; the two kinds of noise in a pass@1
    paired, correlation    differences and correlations between models
    difficulty, behaviour  of tasks; kinds of failures
    compare                a comparison: every statistic, computed once
    across, external       the same models on two tasks; scores of other benchmarks
    study                  several tasks in one report
    dataset                statistics of a data set
    leaderboard            a table out of files named as CRUXEval names them
    sheets, sheets_across  tables as plain text cells, for terminal and page
    tables, html           the terminal; the HTML page
    plots, plots_across    figures; `lines` keeps them readable, `slim` makes them small
    reading, wording       how to read a section; numbers and sentences
    jsonable               results as JSON
"""

try:
    import numpy as _numpy  # noqa: F401
    import scipy as _scipy  # noqa: F401
except ImportError as error:  # pragma: no cover - depends on what is installed
    sentence = "cruxbox.stats needs numpy and scipy: pip install 'cruxbox[stats]'"
    raise ModuleNotFoundError(sentence, name=error.name) from error  # the command line reads the name

from cruxbox.stats.across import Across, BothTasks, Unsolved, across
from cruxbox.stats.behaviour import Confusion, Shares, conditional_failure, cot_confusion, diversity, shares
from cruxbox.stats.bootstrap import interval, resample_means
from cruxbox.stats.compare import Comparison, Estimate, ModelSummary, Settings, compare
from cruxbox.stats.correlation import correlations
from cruxbox.stats.dataset import DatasetStats, Spread, describe, spread
from cruxbox.stats.difficulty import (
    Group,
    Histogram,
    by_method,
    by_quarter,
    difficulty_histogram,
    hardest_and_easiest,
    task_difficulty,
)
from cruxbox.stats.external import AgainstExternal, ExternalScores, Relation, read_external
from cruxbox.stats.jsonable import to_json
from cruxbox.stats.noise import AtSize, noise_by_size, type1, type1_closed, type2
from cruxbox.stats.paired import Difference, differences, holm, reversal, two_sided
from cruxbox.stats.panel import Panel, panel_of, pass_at_k
from cruxbox.stats.scored import Scored, read_all, read_scored, read_tasks
from cruxbox.stats.study import Study, study

__all__ = [
    "Across",
    "AgainstExternal",
    "AtSize",
    "BothTasks",
    "Comparison",
    "Confusion",
    "DatasetStats",
    "Difference",
    "Estimate",
    "ExternalScores",
    "Group",
    "Histogram",
    "ModelSummary",
    "Panel",
    "Relation",
    "Scored",
    "Settings",
    "Shares",
    "Spread",
    "Study",
    "Unsolved",
    "across",
    "by_method",
    "by_quarter",
    "compare",
    "conditional_failure",
    "correlations",
    "cot_confusion",
    "describe",
    "differences",
    "difficulty_histogram",
    "diversity",
    "hardest_and_easiest",
    "holm",
    "interval",
    "noise_by_size",
    "panel_of",
    "pass_at_k",
    "read_all",
    "read_external",
    "read_scored",
    "read_tasks",
    "resample_means",
    "reversal",
    "shares",
    "spread",
    "study",
    "task_difficulty",
    "to_json",
    "two_sided",
    "type1",
    "type1_closed",
    "type2",
]
