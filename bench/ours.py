"""Our own ways to judge checks: through gRPC, and the engine alone; isolated, and grouped as AUTO does it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from cruxbox import Client
from cruxbox.model import CallCheck, Isolation, Limits, Task, Verdict

from bench.daemon import Daemon
from bench.methods import CORES, Method, Result, answer_of
from bench.workload import Work

ISOLATED_CHECKS = 4000
GROUPED_CHECKS = 40_000
# Ten samples of a model at T = 0.2 are about three different texts (Code Llama 7B on CRUXEval-I: 3.2).
DISTINCT_GENERATIONS = 3


def task_of(work: Work, isolation: Isolation, limits: Limits = Limits()) -> Task:  # noqa: B008 (frozen)
    """The cruxbox task of a generated work."""
    checks = [CallCheck(call=probe.call, expected=probe.expected) for probe in work.probes]
    return Task(program=work.program, checks=checks, id=work.id, isolation=isolation, limits=limits)


def tasks_of(works: Iterable[Work], isolation: Isolation, limits: Limits = Limits()) -> Iterator[Task]:  # noqa: B008
    """The cruxbox tasks of generated works, lazily."""
    return (task_of(work, isolation, limits) for work in works)


def timed(client: Client, tasks: Sequence[Task]) -> tuple[float, list[Verdict]]:
    """Seconds that `client` takes for `tasks`, and the verdicts."""
    started = time.perf_counter()
    verdicts = client.check(tasks)
    return time.perf_counter() - started, verdicts


def measured(client: Client, server: Daemon, tasks: Sequence[Task]) -> tuple[Result, list[Verdict]]:
    """What `tasks` cost, in time and in CPU of this process and all of the daemon's, and their verdicts."""
    before = {"client": time.process_time(), **server.cpu()}
    seconds, verdicts = timed(client, tasks)
    after = {"client": time.process_time(), **server.cpu()}
    parts = {name: after[name] - before[name] for name in after}
    return Result(seconds, sum(parts.values()), tuple(verdict.passed for verdict in verdicts), parts), verdicts


def grpc_methods(client: Client, server: Daemon) -> list[Method]:
    """Ours through gRPC, with `client` in this process and the daemon in another."""

    def runner(isolation: Isolation) -> Callable[[Sequence[Work]], Result]:
        def run(works: Sequence[Work]) -> Result:
            return measured(client, server, list(tasks_of(works, isolation)))[0]

        return run

    isolated, grouped = runner(Isolation.PROCESS), runner(Isolation.AUTO)
    return [
        Method("grpc_isolated", "cruxbox, gRPC, a worker for each check", ISOLATED_CHECKS, isolated),
        Method("grpc_grouped", "cruxbox, gRPC, grouped by ten", GROUPED_CHECKS, grouped),
        Method(
            "grpc_generations",
            f"cruxbox, gRPC, ten generations, {DISTINCT_GENERATIONS} distinct",
            GROUPED_CHECKS,
            grouped,
            distinct=DISTINCT_GENERATIONS,
        ),
    ]


def engine_methods() -> list[Method]:
    """Ours without gRPC: the daemon's engine driven directly, in a process of its own (`bench.engine`)."""

    def runner(isolation: Isolation) -> Callable[[Sequence[Work]], Result]:
        def run(works: Sequence[Work]) -> Result:
            flat = [(work.program, [(probe.call, probe.expected) for probe in work.probes]) for work in works]
            message = {"works": flat, "cores": CORES, "isolation": isolation.value}
            return answer_of([sys.executable, "-m", "bench.engine"], message)

        return run

    isolated, grouped = runner(Isolation.PROCESS), runner(Isolation.AUTO)
    return [
        Method("engine_isolated", "cruxbox, engine alone, a worker for each check", ISOLATED_CHECKS, isolated),
        Method("engine_grouped", "cruxbox, engine alone, grouped by ten", GROUPED_CHECKS, grouped),
    ]
