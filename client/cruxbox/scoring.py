"""Scores CRUXEval generations: every distinct check runs once over all files, and each file gets its own result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Optional, Protocol

from cruxbox.accounting import RELEASED, STRICT, Accounting, Difference, Scored, may_splice, released_skips
from cruxbox.cruxeval import Dataset, Generations
from cruxbox.model import Assurance, Limits, Outcome, Task, Verdict
from cruxbox.sentences import too_large

# Task id and generation: what a question is about.
Question = tuple[str, str]
Verdicts = Mapping[str, Sequence[Optional[Verdict]]]

_EXAMPLES = 5


class Streams(Protocol):
    """The part of a Client that scoring needs."""

    def stream(self, tasks: Iterable[Task], *, ordered: bool = ...) -> Iterator[Verdict]:
        """Verdicts of `tasks` as they come."""


@dataclass(frozen=True)
class Job:
    """What is scored and how: `mode` is input or output; `progress(done, all)` is called as verdicts come."""

    dataset: Dataset
    mode: str
    accounting: Accounting
    limits: Limits
    ks: Sequence[int]
    progress: Callable[[int, int], None] = lambda _done, _total: None


@dataclass(frozen=True)
class FileReport:
    """One file: its account, each generation's verdict, and what released accounting would say (strict only)."""

    generations: Generations
    scored: Scored
    verdicts: Verdicts
    difference: Difference | None

    @property
    def checks(self) -> int:
        """Generations in the file."""
        return sum(map(len, self.generations.values()))

    @property
    def outcomes(self) -> Mapping[str, int]:
        """How many generations ended how; SKIPPED ones were not run."""
        each = (verdict for row in self.verdicts.values() for verdict in row)
        return _sorted(Counter("SKIPPED" if verdict is None else verdict.outcome.name for verdict in each))

    @property
    def assurances(self) -> Mapping[str, int]:
        """How many of the verdicts have which assurance."""
        each = (verdict for row in self.verdicts.values() for verdict in row if verdict is not None)
        return _sorted(Counter(verdict.assurance.name for verdict in each if verdict.assurance is not None))


def score(client: Streams, job: Job, files: Sequence[Generations]) -> tuple[list[FileReport], int]:
    """A report for each of `files`, and how many distinct questions were asked for them."""
    asked = _ask(client, job, job.accounting, _questions(files))
    reports = []
    for generations in files:
        verdicts = {name: [asked.get((name, text)) for text in texts] for name, texts in generations.items()}
        reports.append(FileReport(generations, job.accounting.score(generations, verdicts, job.ks), verdicts, None))
    distinct = sum(verdict is not None for verdict in asked.values())
    if job.accounting is STRICT:
        reports = _with_differences(client, job, reports)
    return reports, distinct


def _questions(files: Iterable[Generations]) -> Iterable[Question]:
    """Every distinct question, those on one task together."""
    texts: dict[str, dict[str, None]] = {}
    for generations in files:
        for name, row in generations.items():
            texts.setdefault(name, {}).update(dict.fromkeys(row))
    return [(name, text) for name, row in texts.items() for text in row]


def _ask(
    client: Streams, job: Job, accounting: Accounting, questions: Iterable[Question]
) -> dict[Question, Verdict | None]:
    """The verdict on each question, None where `accounting` skips it."""
    questions = list(questions)
    answers: dict[Question, Verdict | None] = dict.fromkeys(questions)
    tasks: list[Task] = []
    for number, (name, text) in enumerate(questions):
        task = accounting.task(job.dataset[name], text, job.mode, job.limits)
        problem = "" if task is None else _why_no_program(text)
        if problem:
            answers[name, text] = Verdict("", "", Outcome.INVALID, detail=problem)
        elif task is not None:
            tasks.append(replace(task, id=str(number)))
    job.progress(0, len(tasks))
    for done, verdict in enumerate(client.stream(tasks, ordered=False), 1):
        answers[questions[int(verdict.task_id)]] = verdict
        job.progress(done, len(tasks))
    return answers


def _why_no_program(text: str) -> str:
    """Why a server would refuse to be asked about `text`, else "": that generation is wrong, the others are not."""
    if not text.strip():
        return "the generation is empty"
    return "the generation holds a NUL character" if "\0" in text else too_large(text)


# ---- strict against released ----------------------------------------------------


def _with_differences(client: Streams, job: Job, reports: Sequence[FileReport]) -> list[FileReport]:
    """Run again, as the released scorer would, the generations whose mark may differ there."""
    open_questions = {
        (name, text): None
        for report in reports
        for name, texts in report.generations.items()
        for text, verdict in zip(texts, report.verdicts[name])
        if _is_open(job, name, text, verdict)
    }
    quiet = replace(job, progress=lambda _done, _total: None)
    second = _ask(client, quiet, RELEASED, open_questions)
    return [replace(report, difference=_difference(job, report, second)) for report in reports]


def _is_open(job: Job, name: str, text: str, verdict: Verdict | None) -> bool:
    """Whether the released scorer's mark does not follow from the strict verdict."""
    if verdict is None or released_skips(job.dataset[name], text, job.mode):
        return False
    if verdict.outcome is Outcome.INVALID or may_splice(text):
        return True
    if job.mode == "output":
        # Strictly it ran without the program; there it may use it.
        return verdict.assurance is not Assurance.LITERAL
    return verdict.exception is not None and verdict.exception.type == "NameError"


def _difference(job: Job, report: FileReport, second: Mapping[Question, Verdict | None]) -> Difference:
    verdicts: dict[str, list[Verdict | None]] = {}
    reasons: dict[str, str] = {}
    for name, texts in report.generations.items():
        row = verdicts[name] = []
        for number, (text, strict) in enumerate(zip(texts, report.verdicts[name])):
            skipped = released_skips(job.dataset[name], text, job.mode)
            there = None if skipped else second.get((name, text), strict)
            row.append(there)
            reasons[f"{name}[{number}]"] = "skipped" if skipped else _reason(strict, there)
    scored = RELEASED.score(report.generations, verdicts, job.ks)
    examples = [which for which, reason in reasons.items() if reason not in ("", "skipped")]
    return Difference(scored.pass_at_k, _sorted(Counter(filter(None, reasons.values()))), examples[:_EXAMPLES])


def _reason(strict: Verdict | None, there: Verdict | None) -> str:
    here = strict is not None and strict.passed is True
    passes = (here, there is not None and there.passed is True)
    return {(False, True): "spliced", (True, False): "refused"}.get(passes, "")


def _sorted(counts: Counter[str]) -> Mapping[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
