"""`cruxbox run`: a model on a benchmark, from prompts to scores, in one command."""

import json
import time
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from cruxbox.accounting import ACCOUNTINGS
from cruxbox.building.extraction import Rules
from cruxbox.building.prompt_set import PromptSet
from cruxbox.building.prompts import Style
from cruxbox.building.rows import Row, write_records
from cruxbox.cli import extract as extracting
from cruxbox.cli import generate as generating
from cruxbox.cli import prompts as prompting
from cruxbox.cli.connect import AsJson
from cruxbox.cli.running import Running, runs_programs
from cruxbox.cli.score import AccountingName, Mode, scored_file, summary_of
from cruxbox.cli.score_table import show
from cruxbox.cli.show import note, print_json, progress_bar
from cruxbox.cruxeval import Dataset, read_dataset
from cruxbox.errors import DataError
from cruxbox.files import output_file, write_text
from cruxbox.generation import Parameters
from cruxbox.generation.endpoint import KEY_VARIABLE
from cruxbox.generation.runner import BACKOFF
from cruxbox.model import EvaluateCheck, Task
from cruxbox.printable import counted
from cruxbox.scoring import Job, score

_MAX_STEPS = 1_000_000
_CPU_LIMIT_S = 3.0


@runs_programs(cpu_limit_s=_CPU_LIMIT_S, max_steps=_MAX_STEPS)
def command(
    data: Annotated[Path, typer.Argument(metavar="DATA.jsonl", help="Rows {code, input, output, id}.")],
    mode: Annotated[Mode, typer.Option(help="What the model predicts.")],
    base_url: generating.BaseUrl,
    model: generating.Model,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for prompts, completions and scores.")] = Path(
        "runs"
    ),
    cot: prompting.Cot = False,
    style: prompting.StyleOption = Style.TAGGED,
    template: prompting.Template = None,
    rules: extracting.RulesOption = Rules.LENIENT,
    accounting: Annotated[AccountingName, typer.Option(help="As in cruxbox score.")] = AccountingName.strict,
    n: generating.Samples = 10,
    temperature: generating.Temperature = 0.2,
    top_p: generating.TopP = 0.95,
    max_tokens: generating.MaxTokens = None,
    stop: generating.Stop = None,
    seed: generating.Seed = None,
    system: generating.System = "",
    chat: generating.Chat = False,
    concurrency: generating.Concurrency = 16,
    resume: generating.Resume = False,
    restart: generating.Restart = False,
    timeout: generating.Timeout = 600.0,
    retries: generating.Retries = BACKOFF.retries,
    key_env: generating.KeyVariable = KEY_VARIABLE,
    as_json: AsJson = False,
    *,
    running: Running,
) -> None:
    """Write prompts, generate completions, extract and score them, for one model on a benchmark.

    FOLDER gets MODEL_temp{T}_{mode}.prompts.jsonl, .raw.jsonl, .generations.json and, in `scored`, what cruxbox
    leaderboard and compare read. After a kill, --resume requests only the missing completions.
    """
    chosen = prompting.choose_set(mode.value, template, cot, style)
    parameters = Parameters(model, temperature, top_p, max_tokens, tuple(stop) if stop else None, seed, system, chat)
    rows = read_dataset(data)
    name = f"{_safe(model)}{_way(template, cot, style)}_temp{temperature:g}_{mode.value}"
    endpoints = generating.Endpoints(base_url, key_env, timeout, concurrency, retries)
    _try_out(running, endpoints)
    _make(out / "scored")
    prompts, raw = out / f"{name}.prompts.jsonl", out / f"{name}.raw.jsonl"
    write_records(prompts, (chosen.record(row) for row in rows.values()))
    result = generating.complete(prompts, raw, parameters, n, resume, restart, endpoints)
    if result.progress.failed:
        raise typer.Exit(1)
    generations = {id: _generations(chosen, rows[id], texts, rules) for id, texts in result.completions.items()}
    write_text(out / f"{name}.generations.json", json.dumps(generations, indent=0) + "\n")
    summary = _scored(out / "scored" / f"{name}.json", rows, generations, mode, accounting, running)
    progress = result.progress
    summary["generation"] = {"completions": progress.done, "cached": progress.cached, "requests": progress.requests}
    if as_json:
        print_json(summary)
    else:
        show(summary, ACCOUNTINGS[accounting.value].name)
        total = counted(progress.done, "completion")
        note(f"{total}, {progress.cached:,} of them from an earlier run; all files are in {out}")


def _try_out(running: Running, endpoints: generating.Endpoints) -> None:
    """Completions take hours, or cost money: first, is there all that asks for them, and a server that takes these
    options?"""
    endpoints.open()
    with running.connect() as client:
        client.check([Task("", [EvaluateCheck("None")])])


def _generations(chosen: PromptSet, row: Row, texts: list[str], rules: Rules) -> list[str]:
    return [chosen.generation(text, rules=rules, function=row.function) for text in texts]


def _scored(
    path: Path, rows: Dataset, generations: dict[str, list[str]], mode: Mode, way: AccountingName, running: Running
) -> dict[str, Any]:
    """The summary of the scores, which are in the file `path`."""
    started = time.monotonic()
    with running.connect() as client, progress_bar("checks") as progress:
        job = Job(rows, mode.value, ACCOUNTINGS[way.value], running.limits, [1, 5], progress)
        reports, distinct = score(client, job, [generations])
    with output_file(path) as file:
        file.write_json(scored_file(reports[0]))
    return summary_of([path], reports, distinct, time.monotonic() - started)


def _safe(model: str) -> str:
    """The model's name as part of a file's name."""
    return "".join(letter if letter.isalnum() or letter in "-._+" else "_" for letter in model).strip(".") or "model"


def _way(template: Optional[str], cot: bool, style: Style) -> str:
    if template is not None:
        stem = Path(template).stem
        return "+" + _safe(stem.removesuffix("-input").removesuffix("-output"))
    if cot:
        return "+cot"
    return "+assert" if style is Style.ASSERT else ""


def _make(folder: Path) -> None:
    if folder.parent.exists() and not folder.parent.is_dir():
        raise DataError(f"{folder.parent}: is a file; --out names the folder of a run")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder}: cannot be made: {error.strerror or error}") from None
