"""Runs samples under their problems' tests, a window of them at a time, and says what became of each as soon as it is
known.

In a window the first stage of all samples is run, then the next one of those that passed. Who ran out of time or
memory, or whose test could not be used, is measured against the problem's own solution, where there is one and the
limits are the command's. Who printed too much runs again with all the room that the server allows: what a function
prints is no part of its tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from cruxbox.client import Client
from cruxbox.model import Assurance, Clock, Limits, Outcome, Task, Verdict
from cruxbox.problems.packages import with_packages
from cruxbox.problems.records import BadRow
from cruxbox.problems.results import Fields, fields_of, fields_of_fault, is_of_the_test, may_be_of_the_test
from cruxbox.problems.shapes import NoProblem, Problem, Problems, Sample, Stage

WINDOW = 1024
CPU_LIMIT_S = 10.0  # of a check, where nobody asks for another
_OUT = (Outcome.TIMED_OUT, Outcome.MEMORY_LIMIT)
# What applies to one test: a check with many that exceeds it says nothing of each.
_TOO_MUCH = (*_OUT, Outcome.OUTPUT_LIMIT)
# If the problem's own solution needs this share of a limit, the limit is too tight for other programs.
_TIGHT = 4


class Streams(Protocol):
    """The part of a Client that is needed here."""

    def stream(self, tasks: Iterable[Task], *, ordered: bool = ...) -> Iterator[Verdict]:
        """Verdicts of `tasks` as they come."""


@dataclass(frozen=True)
class Way:
    """How samples are run.

    Args:
        dressed: puts the command's runtime, limits and assurance over a task.
        limits: of a check, those of the command.
        most: the server's largest, for samples of problems whose own solution needs more than usual; None never.
        printed: bytes that a check which printed too much may print in a second run; 0: it has none.
    """

    dressed: Callable[[Task], Task] = lambda task: task
    limits: Limits = field(default_factory=Limits)
    most: Limits | None = None
    printed: int = 0

    @classmethod
    def up_to(cls, most: Limits, limits: Limits, dressed: Callable[[Task], Task] = lambda task: task) -> Way:
        """With more than these limits, up to the server's largest, where they are the usual ones."""
        is_usual = limits.cpu_ms == CPU_LIMIT_S * 1000 and not limits.memory_bytes
        return cls(dressed, limits, most if is_usual else None, 0 if limits.output_bytes else most.output_bytes)


@dataclass
class _Course:
    """A sample on its way through the stages of its problem."""

    at: int
    sample: Sample
    problem: Problem
    program: str
    stages: Sequence[Stage]
    limits: Limits | None = None
    is_apart: bool = False
    together: bool = False
    stage: int = 0
    verdicts: list[Verdict] = field(default_factory=list)
    waiting: dict[str, Verdict] = field(default_factory=dict)

    def task(self, way: Way) -> Task:
        """The stage that comes next."""
        checks = self.stages[self.stage]
        task = Task(self.program, checks, str(self.at), way.limits, self.sample.runtime)
        require = Assurance.IN_PROCESS if self.together else None
        if require is not None:
            task = replace(task, require_assurance=require)
        task = way.dressed(task)
        return task if self.limits is None else replace(task, limits=replace(task.limits, **_set(self.limits)))

    def take(self, verdict: Verdict) -> bool:
        """Is the stage complete with this verdict?"""
        self.waiting[verdict.check_id] = verdict
        checks = self.stages[self.stage]
        if len(self.waiting) < len(checks):
            return False
        self.verdicts += [self.waiting[check.id] for check in checks]
        self.waiting.clear()
        self.stage += 1
        return True

    @property
    def goes_on(self) -> bool:
        return self.stage < len(self.stages) and all(verdict.passed for verdict in self.verdicts)

    def anew(self, stages: Sequence[Stage], limits: Limits | None = None, is_apart: bool = False) -> _Course:
        return _Course(self.at, self.sample, self.problem, self.program, stages, limits, is_apart)

    def with_more(self, limits: Limits) -> _Course:
        """It again, with these limits over those that it has."""
        return self.anew(self.stages, replace(self.limits or Limits(), **_set(limits)), self.is_apart)

    def in_one_process(self) -> _Course:
        return replace(self.anew(self.stages, self.limits), together=True)

    def fields(self) -> Fields:
        return fields_of(self.problem, self.verdicts, sum(map(len, self.stages)))


def judged(
    client: Client,
    problems: Problems,
    samples: Sequence[Sample],
    limits: Limits,
    dressed: Callable[[Task], Task] = lambda task: task,
) -> list[Fields]:
    """What became of each of these samples, in order; one whose runtime lacks what its tests import is not run.

    Args:
        client: judges them.
        problems: what they are for.
        samples: with the runtimes that they run on.
        limits: of a check.
        dressed: puts the caller's own over a task.
    """
    samples = with_packages(client, problems, samples)
    way = Way.up_to(client.info().maximum_limits, limits, dressed)
    fields = dict(Runner(client, problems, way).run(list(enumerate(samples))))
    return [fields[at] for at in range(len(samples))]


class Runner:
    """Runs samples of `problems` by `client`; what it measures of the problems' own solutions it remembers."""

    def __init__(self, client: Streams, problems: Problems, way: Way) -> None:
        self._client, self._problems, self._way = client, problems, way
        # By task id and runtime: the limits that its own solution calls for; None where the usual ones will do.
        self._enough: dict[tuple[str, str], Limits | None] = {}
        # By the same: does its own solution pass apart from its tests (True), only together with them (False), or not?
        self._proven: dict[tuple[str, str], bool | None] = {}

    def run(self, samples: Sequence[tuple[int, Sample]]) -> Iterator[tuple[int, Fields]]:
        """(number, what became of it) of each sample, in the order in which that is known."""
        for start in range(0, len(samples), WINDOW):
            yield from self._window(samples[start : start + WINDOW])

    def _window(self, samples: Sequence[tuple[int, Sample]]) -> Iterator[tuple[int, Fields]]:
        courses = []
        for at, sample in samples:
            problem = self._problems.get(sample.task_id, _NONE)
            if sample.fault:
                yield at, fields_of_fault(sample, sample.fault, sample.counts)
                continue
            try:
                program = problem.whole(sample.program)
                courses.append(_Course(at, sample, problem, program, problem.stages(program)))
            except BadRow as error:
                yield at, fields_of_fault(sample, f"{problem.where}: {error}", False)
        doubtful = []
        for course in self._within_limits(courses):
            if _is_doubtful(course) and not self._proven.get(_key(course)):
                doubtful.append(course)
            else:
                yield course.at, course.fields()
        yield from self._cleared(doubtful)

    def _within_limits(self, courses: Sequence[_Course]) -> Iterator[_Course]:
        """The courses as they end; those that exceeded a limit after a second run with enough, if there is more."""
        heavy = []
        for course in self._heard_out(courses):
            if self._is_out(course):
                heavy.append(course)
            else:
                yield course
        yield from self._with_enough(heavy)

    def _heard_out(self, courses: Sequence[_Course]) -> Iterator[_Course]:
        """The courses as they end; those that printed too much after a second run with more room."""
        loud = []
        for course in self._passed_through(courses):
            if self._way.printed and any(one.outcome is Outcome.OUTPUT_LIMIT for one in course.verdicts):
                loud.append(course.with_more(Limits(output_bytes=self._way.printed)))
            else:
                yield course
        yield from self._passed_through(loud)

    def _passed_through(self, courses: Sequence[_Course]) -> Iterator[_Course]:
        """The courses as they end."""
        while courses:
            under_way = {str(course.at): course for course in courses}
            courses = []
            tasks = (course.task(self._way) for course in under_way.values())
            for verdict in self._client.stream(tasks, ordered=False):
                course = under_way[verdict.task_id]
                if not course.take(verdict):
                    continue
                if course.goes_on:
                    courses.append(course)
                elif verdict.outcome in _TOO_MUCH and not course.is_apart and (apart := self._apart(course)):
                    courses.append(course.anew(apart, course.limits, True))
                else:
                    yield course

    @staticmethod
    def _apart(course: _Course) -> Sequence[Stage]:
        """A limit applies to one test: if a check with many tests exceeds it, each test runs by itself."""
        return course.problem.stages_apart(course.program)

    # ---- who ran out ------------------------------------------------------------------------------------------------

    def _is_out(self, course: _Course) -> bool:
        had_more = course.limits is not None and course.limits.cpu_ms > 0
        may_have_more = self._way.most is not None and not had_more and course.problem.canonical
        return bool(may_have_more) and any(map(_has_too_little, course.verdicts))

    def _with_enough(self, courses: Sequence[_Course]) -> Iterator[_Course]:
        """Courses that exceeded a limit, run again with what the problem's own solution needs; or unchanged."""
        self._measure(courses)
        again = []
        for course in courses:
            enough = self._enough[_key(course)]
            if enough is None or not self._has_more(course, enough):
                yield course
            else:
                again.append(course.with_more(enough))
        yield from self._heard_out(again)

    def _has_more(self, course: _Course, enough: Limits) -> bool:
        """Is there more of what the course ran out of? CPU time is bounded by the problem's own solution, not by the
        server alone."""
        out = [verdict for verdict in course.verdicts if _has_too_little(verdict)]
        return enough.cpu_ms > self._way.limits.cpu_ms or any(verdict.clock is not Clock.CPU for verdict in out)

    def _measure(self, courses: Sequence[_Course]) -> None:
        """Run the own solutions of these problems with all that the server allows."""
        unknown = {_key(course): course for course in courses if _key(course) not in self._enough}
        self._enough.update(dict.fromkeys(unknown))
        most = self._way.most or Limits()
        for course in self._passed_through(self._own_solutions(list(unknown.values()))):
            if all(verdict.passed for verdict in course.verdicts):
                needed_ms = max(verdict.cpu_ns for verdict in course.verdicts) // 1_000_000
                cpu_ms = min(most.cpu_ms, max(self._way.limits.cpu_ms, _TIGHT * needed_ms))
                self._enough[_key(course)] = replace(_all_but_steps(most), cpu_ms=cpu_ms)

    def _own_solutions(self, courses: Sequence[_Course]) -> list[_Course]:
        """The problems' own solutions, with all that the server allows where the limits are the command's."""
        most = self._way.most
        limits = most and _all_but_steps(most)
        solutions = []
        for at, course in enumerate(courses):
            program = course.problem.whole(course.problem.canonical)
            sample = replace(course.sample, program=program)
            stages = course.problem.stages(program)
            solutions.append(_Course(at, sample, course.problem, program, stages, limits))
        return solutions

    # ---- whose tests may need one process ----------------------------------------------------------------------------

    def _cleared(self, courses: Sequence[_Course]) -> Iterator[tuple[int, Fields]]:
        """What courses that failed come to: that, if the problem's own solution passes the same way, or is none; what
        they come to in one process, if that is allowed and it passes there; else nothing is known."""
        self._prove(courses)
        again = []
        for course in courses:
            proven, problem = self._proven[_key(course)], course.problem
            if proven or (proven is None and not problem.trusts_solution):
                yield course.at, course.fields()
            elif proven is False and problem.may_share:
                again.append(course.in_one_process())
            else:
                yield course.at, fields_of_fault(course.sample, _unproven(problem), False)
        for course in self._passed_through(again):
            yield course.at, course.fields()

    def _prove(self, courses: Sequence[_Course]) -> None:
        unknown = {_key(course): course for course in courses if _key(course) not in self._proven}
        self._proven.update(dict.fromkeys(unknown))
        failed = []
        for course in self._passed_through(self._own_solutions(list(unknown.values()))):
            if all(verdict.passed for verdict in course.verdicts):
                self._proven[_key(course)] = True
            elif course.problem.may_share or not course.problem.trusts_solution:
                failed.append(course.in_one_process())
        for course in self._passed_through(failed):
            if all(verdict.passed for verdict in course.verdicts):
                self._proven[_key(course)] = False


def _has_too_little(verdict: Verdict) -> bool:
    """Did it exceed a limit, or may it be for one that the test could not be used? Large tests take memory to read."""
    return verdict.outcome in _OUT or is_of_the_test(verdict)


def _is_doubtful(course: _Course) -> bool:
    """Did it run and fail where that may be for the tests' being elsewhere?"""
    if not course.problem.needs_proof or not course.problem.canonical:
        return False
    return any(map(may_be_of_the_test, course.verdicts))


def _unproven(problem: Problem) -> str:
    if not problem.trusts_solution:
        where = "passes its tests in one process with them only"
        return f"{problem.where}: the problem's own solution {where}, so nothing is known"
    unknown = "the problem's own solution does not pass its tests here, so nothing is known"
    return "; ".join(filter(None, [f"{problem.where}: {unknown}", problem.way_out]))


_NONE = NoProblem("")


def _key(course: _Course) -> tuple[str, str]:
    return course.problem.task_id, course.sample.runtime


def _all_but_steps(limits: Limits) -> Limits:
    """A limit on steps has them counted, which is slow."""
    return replace(limits, steps=0)


def _set(limits: Limits) -> dict[str, int]:
    return {name: value for name, value in vars(limits).items() if value}
