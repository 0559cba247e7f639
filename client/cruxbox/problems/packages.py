"""Packages that tests import and a runtime does not have: every sample would fail for what is no fault of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from cruxbox.client import Client
from cruxbox.model import CallCheck, Task
from cruxbox.problems.shapes import NoProblem, Problem, Problems, Sample

Lacking = Mapping[str, Sequence[str]]
_HAS = "import importlib.util\n\n\ndef has(name):\n    return importlib.util.find_spec(name) is not None\n"
_SHOWN = 200  # characters of the name of a runtime, which may be a path
_NONE = NoProblem("")


def with_packages(client: Client, problems: Problems, samples: Sequence[Sample]) -> list[Sample]:
    """The samples. One whose runtime lacks what its tests import has a fault: nothing is known of it."""
    found = lacking(client, problems, samples)
    return [refused(each, missing_of(each, problems, found), each.runtime) for each in samples]


def lacking(client: Client, problems: Problems, samples: Iterable[Sample], runtime: str = "") -> Lacking:
    """By runtime, the packages that it does not have and tests import; `runtime` is that of samples that name none."""
    wanted: dict[str, set[str]] = {}
    for sample in samples:
        wanted.setdefault(sample.runtime or runtime, set()).update(_needs(sample, problems))
    asked = [(runtime, sorted(names)) for runtime, names in wanted.items() if names]
    tasks = [Task(_HAS, [CallCheck(f"has({name!r})", "True") for name in names], runtime=r) for r, names in asked]
    verdicts = iter(client.check(tasks) if tasks else [])
    found = {runtime: [name for name in names if next(verdicts).passed is False] for runtime, names in asked}
    return {runtime: names for runtime, names in found.items() if names}


def missing_of(sample: Sample, problems: Problems, found: Lacking, runtime: str = "") -> Sequence[str]:
    """The packages that this sample's tests import, of those that its runtime lacks."""
    return sorted(_needs(sample, problems).intersection(found.get(sample.runtime or runtime, ())))


def refused(sample: Sample, missing: Sequence[str], runtime: str) -> Sample:
    """The sample with a fault, if something is missing."""
    return replace(sample, fault=not_there(missing, runtime), counts=False) if missing else sample


def not_there(missing: Sequence[str], runtime: str) -> str:
    """What is missing, and on which runtime."""
    which = f"the runtime {runtime[:_SHOWN]!r}" if runtime else "the default runtime"
    return f"the tests import {', '.join(missing[:10])}, which {which} does not have"


def problem_of(sample: Sample, problems: Problems) -> Problem:
    """What a sample is for; a NoProblem if it cannot be run."""
    return problems.get(sample.task_id, _NONE) if not sample.fault else _NONE


def _needs(sample: Sample, problems: Problems) -> frozenset[str]:
    problem = problem_of(sample, problems)
    return problem.needs | problem.imports
