"""`cruxbox compare`: models against each other, with what is known and what is noise."""

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from cruxbox.building.methods import Methods
from cruxbox.cli.connect import AsJson
from cruxbox.cli.outputs import file_path, goes_to_stdout
from cruxbox.cli.show import note, print_json, say_bad
from cruxbox.errors import DataError
from cruxbox.files import check_output, write_text

Task = Annotated[
    Optional[list[str]],
    typer.Option(
        "--task",
        help="Instead of SCORED: files of several tasks, such as input='scored/*_input.json'. Two files are "
        "of one model if their names without _TASK at the end are equal.",
        metavar="TASK=FILES",
    ),
]
Unsolved = Annotated[
    Optional[list[str]],
    typer.Option(
        "--unsolved", help="With --task: list the samples of which this model solves none; repeatable.", metavar="NAME"
    ),
]
External = Annotated[
    Optional[Path],
    typer.Option(
        "--external", help="Scores of other benchmarks, with the header model,HumanEval@1.", metavar="FILE.csv"
    ),
]
Highlight = Annotated[
    Optional[list[str]],
    typer.Option("--highlight", help="Model to draw in colour if there are many; repeatable.", metavar="NAME"),
]
DataSet = Annotated[
    Optional[Path], typer.Option("--dataset", help="The data set, for methods, lengths and steps.", metavar="DATA")
]
Cot = Annotated[
    Optional[list[str]],
    typer.Option("--cot", help="A model without and with chain of thought; repeatable.", metavar="DIRECT=COT"),
]
MethodsOption = Annotated[
    Methods,
    typer.Option(
        "--methods", help="call: tasks that call a method. text: tasks whose text contains .name, as in the paper."
    ),
]
ScoredFiles = Annotated[
    Optional[list[str]],
    typer.Argument(help="Scored files, as FILE or NAME=FILE.", metavar="SCORED...", show_default=False),
]
Baseline = Annotated[
    str, typer.Option("--baseline", help="Model to compare the others with. Default: the first one.", metavar="NAME")
]
Confidence = Annotated[
    float, typer.Option("--confidence", help="Confidence level of intervals and verdicts.", min=0.5, max=0.9999)
]
FailedBelow = Annotated[
    float,
    typer.Option(
        "--failed-below", help="A model fails a task if its p is below this; 0 means p = 0.", min=0.0, max=1.0
    ),
]
Html = Annotated[
    Optional[Path],
    typer.Option("--html", parser=file_path, help="Write a page that needs no other file.", metavar="REPORT.html"),
]


def command(
    scored: ScoredFiles = None,
    *,
    task: Task = None,
    unsolved: Unsolved = None,
    external: External = None,
    highlight: Highlight = None,
    dataset: DataSet = None,
    baseline: Baseline = "",
    cot: Cot = None,
    resamples: Annotated[int, typer.Option(help="Bootstrap resamples.", min=100, max=1_000_000)] = 10_000,
    seed: Annotated[int, typer.Option(help="Seed of the bootstrap.", min=0)] = 0,
    confidence: Confidence = 0.95,
    failed_below: FailedBelow = 0.0,
    methods: MethodsOption = Methods.CALL,
    html: Html = None,
    title: Annotated[str, typer.Option(help="Title of the page.")] = "Comparison of models",
    as_json: AsJson = False,
) -> None:
    """Compare scored models: pass@k with intervals, differences and their significance, agreement, difficulty.

    With --task, the tasks are compared too.
    """
    from cruxbox.building.rows import read_rows
    from cruxbox.stats import Settings, compare, read_all, read_external, read_tasks, study
    from cruxbox.stats.scored import files_of_tasks

    if bool(scored) == bool(task):
        raise DataError("scored files are needed, either as SCORED... or by --task TASK=FILES, and not both")
    if unsolved and not task:
        raise DataError("--unsolved needs --task; without it the page and the JSON give the share of such tasks")
    named = itertools.chain(scored or [], *files_of_tasks(task or []).values())
    files = [Path(text) for words in named for text in (words, words.partition("=")[2]) if text]
    taken = goes_to_stdout(as_json, html=html)
    check_output(html, dataset, external, *files)
    tasks = read_tasks(task or [])
    models = read_all(scored or [])
    rows, bad = read_rows(dataset, needs=("code", "id"), unique=True) if dataset else (None, [])
    say_bad(bad)
    names = dict.fromkeys(model.name for group in (models, *tasks.values()) for model in group)
    more: dict[str, Any] = {
        "baseline": baseline,
        "cot": _pairs(cot or [], list(names)),
        "dataset": rows,
        "external": read_external(external) if external else None,
        "settings": Settings(
            resamples=resamples,
            seed=seed,
            confidence=confidence,
            methods=methods,
            failed_below=failed_below,
            highlight=tuple(highlight or ()),
        ),
    }
    comparison = study(tasks, unsolved_of=unsolved or [], **more) if task else compare(models, **more)
    _show(comparison, html, title, as_json, taken)


def _show(comparison: Any, html: Optional[Path], title: str, as_json: bool, taken: bool) -> None:
    from cruxbox.stats import to_json

    if html:
        from cruxbox.stats.html import render

        write_text(html, render(comparison, title))
    if as_json:
        print_json(to_json(comparison))
    elif not taken:
        from cruxbox.stats import Study
        from cruxbox.stats.tables import print_comparison, print_study, terminal

        if isinstance(comparison, Study):
            print_study(comparison, terminal())
        else:
            print_comparison(comparison, terminal())
    if html and not taken:
        note(f"the report is in {html}")


def _pairs(texts: Sequence[str], names: Sequence[str]) -> list[tuple[str, str]]:
    """DIRECT=COT as names of models; names may hold `=` themselves."""
    pairs = []
    for text in texts:
        splits = [(text[:at], text[at + 1 :]) for at, letter in enumerate(text) if letter == "="]
        known = [pair for pair in splits if pair[0] in names and pair[1] in names]
        if not known:
            raise DataError(f"--cot {text!r} must be DIRECT=COT, two of: {', '.join(names)}")
        pairs.append(known[0])
    return pairs
