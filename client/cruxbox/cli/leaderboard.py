"""`cruxbox leaderboard`: scored files, named by model and temperature, as one table."""

import csv
import io
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

from cruxbox.cli.connect import AsJson
from cruxbox.cli.outputs import file_path, goes_to_stdout
from cruxbox.cli.show import note, print_json, print_table
from cruxbox.files import check_output, write_text


def command(
    scored: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILES...", help="Scored files, MODEL[+cot]_temp{T}_{input|output}.json.", show_default=False
        ),
    ],
    *,
    csv_file: Annotated[
        Optional[Path],
        typer.Option(
            "--csv", parser=file_path, help="Write a CSV file Model,i@1,i@5,o@1,o@5; - is stdout.", metavar="FILE.csv"
        ),
    ] = None,
    html: Annotated[
        Optional[Path],
        typer.Option(parser=file_path, help="Write a page that needs no other file.", metavar="FILE.html"),
    ] = None,
    title: Annotated[str, typer.Option(help="Title of the page.")] = "CRUXEval leaderboard",
    digits: Annotated[int, typer.Option(help="Decimal places.", min=0, max=15)] = 1,
    as_json: AsJson = False,
) -> None:
    """Make a row for each model: pass@1 of its files at T = 0.2 and pass@5 of its files at T = 0.8, in percent.

    Models are sorted by the mean of their pass@1. If a file has fewer than five generations a task, pass@5 is `-`.
    """
    from cruxbox.stats.leaderboard import leaderboard

    taken = goes_to_stdout(as_json, csv=csv_file, html=html)
    check_output(csv_file, html, *scored)
    check_output(html, *scored)
    board = leaderboard(scored)
    for sentence in board.notes:
        note(sentence)
    if csv_file is not None:
        write_text(csv_file, _csv(board, digits))
    if html is not None:
        from cruxbox.stats.leaderboard import render_leaderboard

        write_text(html, render_leaderboard(board, title, digits))
    if as_json:
        print_json({"models": [entry.as_dict() for entry in board.entries], "notes": list(board.notes)})
    elif not taken:
        _show(board, digits)


def _csv(board: Any, digits: int) -> str:
    from cruxbox.stats.leaderboard import csv_lines

    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(csv_lines(board, digits))
    return out.getvalue()


def _show(board: Any, digits: int) -> None:
    from rich.table import Table
    from rich.text import Text

    from cruxbox.stats.leaderboard import COLUMNS, cell

    table = Table("Model", *COLUMNS, "n")
    for column in table.columns[1:]:
        column.justify = "right"
    for entry in board.entries:
        cells = [cell(entry.figures.get(column), digits) for column in COLUMNS]
        table.add_row(Text(entry.model), *cells, entry.n)
    print_table(table)
