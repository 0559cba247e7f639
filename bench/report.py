"""The tables for people and the JSON for machines."""

from __future__ import annotations

import datetime
import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

import psutil
from rich.console import Console
from rich.table import Table

from bench.figures import TARGETS, Figure
from bench.methods import CORES, Method
from bench.rounds import Series

RESULTS = Path(__file__).parent / "results" / "latest.json"


def print_methods(console: Console, series: Mapping[str, Series], missing: Sequence[Method]) -> None:
    """Checks a second of every method, with the spread over the rounds."""
    table = Table(title=f"Checks a second, {CORES} cores, median of interleaved rounds", title_justify="left")
    for heading in ("method", "checks/s", "slowest … fastest", "CPU µs a check", "rounds × checks", "wrong + failed"):
        table.add_column(heading, justify="left" if heading == "method" else "right")
    for one in series.values():
        rounds = len(one.rates)
        table.add_row(
            one.method.title,
            f"{one.rate:,.0f}",
            f"{min(one.rates):,.0f} … {max(one.rates):,.0f}",
            f"{median(one.cpu_micros):,.0f}",
            f"{rounds} × {one.judged // rounds:,}",
            f"{one.wrong} + {one.failed}",
        )
    console.print(table)
    for one in series.values():
        if one.shares:
            console.print(f"µs of CPU, {one.method.title}: {one.shares}", highlight=False)
    for method in missing:
        console.print(f"not run, {method.title}: {method.missing}", highlight=False)


def print_figures(console: Console, figures: Sequence[Figure]) -> None:
    """Every figure, beside its target where it has one."""
    table = Table(title="Figures and targets", title_justify="left")
    table.add_column("what")
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("target", justify="right", no_wrap=True)
    table.add_column("")
    table.add_column("made of", style="dim")
    for figure in figures:
        target = TARGETS.get(figure.key)
        mark = "" if target is None else "[green]met[/]" if target.met_by(figure.value) else "[red]MISSED[/]"
        table.add_row(figure.title, f"{_number(figure.value)} {figure.unit}", str(target or ""), mark, figure.detail)
    console.print(table)


def write(series: Mapping[str, Series], figures: Sequence[Figure], options: Mapping[str, object]) -> Path:
    """Write everything to bench/results/latest.json and say where that is."""
    content = {
        "when": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "machine": machine(),
        "options": dict(options),
        "methods": {
            name: {
                "title": one.method.title,
                "rate": one.rate,
                "rates": one.rates,
                "cpu_micros": one.cpu_micros,
                "cpu_shares": one.shares,
                "judged": one.judged,
                "wrong": one.wrong,
                "failed": one.failed,
                "examples": one.examples[:5],
            }
            for name, one in series.items()
        },
        "figures": {figure.key: _as_json(figure) for figure in figures},
    }
    RESULTS.parent.mkdir(exist_ok=True)
    fresh = RESULTS.with_suffix(".tmp")
    fresh.write_text(json.dumps(content, indent=1) + "\n")
    fresh.replace(RESULTS)
    return RESULTS


def machine() -> dict[str, object]:
    """What the numbers were measured on."""
    return {
        "cpu": _cpu_model(),
        "cores": CORES,
        "memory_mb": psutil.virtual_memory().total >> 20,
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_at_start": os.getloadavg()[0],
    }


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _as_json(figure: Figure) -> dict[str, object]:
    target = TARGETS.get(figure.key)
    met = None if target is None else target.met_by(figure.value)
    return {
        "title": figure.title,
        "value": figure.value,
        "unit": figure.unit,
        "detail": figure.detail,
        "target": None if target is None else str(target),
        "met": met,
    }


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"
