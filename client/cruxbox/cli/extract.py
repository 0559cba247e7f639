"""`cruxbox extract`: raw completions into what is scored, or into candidates for the filter."""

import enum
import json
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from cruxbox.building.completions import read_completions, read_prompts
from cruxbox.building.extraction import Rules, extract_candidate
from cruxbox.building.prompt_set import PromptSet
from cruxbox.building.prompts import Style
from cruxbox.building.rows import check_records, write_records
from cruxbox.building.toml_file import file_of
from cruxbox.cli.connect import AsJson
from cruxbox.cli.outputs import file_path, goes_to_stdout, sum_up
from cruxbox.cli.prompts import Template, choose_set
from cruxbox.errors import DataError
from cruxbox.files import write_text
from cruxbox.printable import counted

RulesOption = Annotated[
    Rules,
    typer.Option(
        "--rules",
        help="How a chain of thought without [ANSWER] is read: as the release's openai or hf code, or lenient.",
    ),
]


class Kind(str, enum.Enum):
    """What the completions answer."""

    INPUT = "input"
    OUTPUT = "output"
    CANDIDATES = "candidates"


def command(
    kind: Annotated[Kind, typer.Argument(help="What the prompts asked for.")],
    completions: Annotated[
        Path,
        typer.Argument(help="Completions: {id: [text, ...]}, or JSON Lines {id, completion} or {id, completions}."),
    ],
    *,
    out: Annotated[
        Path,
        typer.Option(
            parser=file_path,
            help="File for the generations {id: [text, ...]}; for candidates, JSON Lines rows.",
            metavar="FILE",
        ),
    ],
    cot: Annotated[
        bool, typer.Option("--cot", help="The completions have a chain of thought before the answer.")
    ] = False,
    rules: RulesOption = Rules.LENIENT,
    style: Annotated[Style, typer.Option(help="Style of the prompts, which gives the stop words.")] = Style.TAGGED,
    template: Template = None,
    prompts: Annotated[
        Optional[Path], typer.Option(help="Prompts to remove from the start of the completions.", metavar="FILE")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Extract the text to score from completions, as the post-processing of the CRUXEval paper does."""
    if kind is Kind.CANDIDATES and (cot or template or style is not Style.TAGGED):
        raise DataError("extract candidates takes neither --cot nor --style nor --template")
    goes_to_stdout(as_json, out=out)
    check_records(out, completions, prompts, file_of(template))
    if kind is not Kind.CANDIDATES and out.suffix == ".parquet":
        raise DataError(f"{out}: generations are one JSON object, which is no Parquet file")
    texts = read_completions(completions, numbered=kind is Kind.CANDIDATES)
    before, functions = read_prompts(prompts) if prompts is not None else ({}, {})
    texts = {id: [one.removeprefix(before.get(id, "")) for one in many] for id, many in texts.items()}
    total = sum(map(len, texts.values()))
    if kind is Kind.CANDIDATES:
        rows = _candidates(texts)
        written, empty = write_records(out, rows), total - len(rows)
    else:
        found = _generations(texts, choose_set(kind.value, template, cot, style), rules, functions)
        written, empty = total, sum(not one for many in found.values() for one in many)
        write_text(out, json.dumps(found, indent=0) + "\n")
    summary = {"completions": total, "written": written, "empty": empty, "out": str(out)}
    sentence = f"{counted(total, 'completion')}, {written} written, {empty} without an answer: {out}"
    sum_up(sentence, summary, as_json=as_json, out=out)


def _generations(
    texts: dict[str, list[str]], prompts: PromptSet, rules: Rules, functions: dict[str, str]
) -> dict[str, list[str]]:
    return {
        id: [prompts.generation(one, rules=rules, function=functions.get(id, "f")) for one in many]
        for id, many in texts.items()
    }


def _candidates(texts: dict[str, list[str]]) -> list[dict[str, Any]]:
    rows = []
    for id, many in texts.items():
        for at, one in enumerate(many):
            found = extract_candidate(one)
            if found is not None:
                rows.append({"code": found[0], "inputs": found[1], "id": f"{id}/{at}" if len(many) > 1 else id})
    return rows
