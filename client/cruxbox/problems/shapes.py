"""What every benchmark of programs with tests comes to: problems, samples, and what is to be run on a program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cruxbox.model import Check

# Checks that are run together; what stands behind them is run only where all of them have passed.
Stage = Sequence[Check]


@dataclass(frozen=True, eq=False)
class Problem(ABC):
    """One problem.

    Args:
        task_id: what samples call it.
        where: file and line.
        record: as it stood there.
        prompt: the head of a program, which a completion goes on behind.
        entry_point: what is tested, for the cleaning of chat; "" if that is not known.
        canonical: a whole program that solves it, where the file has one.
    """

    task_id: str
    where: str = ""
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)
    prompt: str = ""
    entry_point: str = ""
    canonical: str = ""

    @abstractmethod
    def stages(self, program: str, /) -> Sequence[Stage]:
        """What is run on `program`, ids and all. BadRow if the problem turns out not to be one."""

    def stages_apart(self, _program: str, /) -> Sequence[Stage]:
        """The same with a check for each test, for programs that ran out of time on several together; or nothing."""
        return ()

    def completed(self, completion: str) -> str:
        """The program that goes on behind the prompt."""
        return self.prompt + completion

    def whole(self, program: str) -> str:
        """What is run: the program and what the benchmark puts in front of it."""
        return program

    @property
    def names(self) -> Sequence[str]:
        """What the checks of the only stage are called in result lines; nothing where they have no names."""
        return ()

    @property
    def needs(self) -> frozenset[str]:
        """Modules that have to be there, or every program fails."""
        return frozenset()

    @property
    def imports(self) -> frozenset[str]:
        """Modules beside those that its own tests do not run without: where one is missing, nothing is known of its
        samples."""
        return frozenset()

    @property
    def preloads(self) -> frozenset[str]:
        """Modules that are worth importing once, and not by every worker, where the server is the command's own."""
        return self.needs

    @property
    def needs_proof(self) -> bool:
        """May its tests need the program in their own process, so that what fails apart proves nothing until the
        problem's own solution passes apart?"""
        return False

    @property
    def trusts_solution(self) -> bool:
        """Is its own solution one? Else, where that passes neither apart from its tests nor together with them, it
        proves nothing, and what fails has failed."""
        return False

    @property
    def may_share(self) -> bool:
        """May the tests of such a problem run in the program's process?"""
        return False

    @property
    def way_out(self) -> str:
        """What may be done where its own solution, which is one, does not pass; "" for nothing."""
        return ""


@dataclass(frozen=True, eq=False)
class NoProblem(Problem):
    """A row that is none: its samples are INVALID and leave n, for nothing is known of them."""

    fault: str = ""

    def stages(self, _program: str, /) -> Sequence[Stage]:
        return ()


@dataclass(frozen=True)
class Sample:
    """One generation: `program` is whole.

    Args:
        task_id: of its problem.
        program: what is run.
        record: the row as it stood there.
        where: file and line.
        fault: why it cannot be run, "" if it can; then it is INVALID.
        counts: is that the generation's own fault, which counts as wrong? Else the sample leaves n.
        runtime: the interpreter it asks for; "" for the command's.
    """

    task_id: str
    program: str
    record: Mapping[str, Any] = field(repr=False)
    where: str = ""
    fault: str = ""
    counts: bool = True
    runtime: str = ""


Problems = Mapping[str, Problem]
