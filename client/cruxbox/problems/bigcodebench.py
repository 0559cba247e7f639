"""Problems of BigCodeBench: a function of libraries, and a suite of unittest's that calls it."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

from cruxbox.model import ScriptCheck
from cruxbox.problems.heads import behind
from cruxbox.problems.records import BadRow, Record, entry_point, identity, optional_text, text
from cruxbox.problems.shapes import Problem, Stage

_NAME = re.compile(r"[A-Za-z_]\w*\Z")


@dataclass(frozen=True, eq=False)
class LibraryTask(Problem):
    """`test` is the suite.

    Args:
        calibrated: put the problem's imports and signature in front of every program, as the benchmark's own scores do:
            chat models leave imports out.
        together: run suites that the problem's own solution fails apart in the program's process.
    """

    test: str = ""
    libs: tuple[str, ...] = ()
    code_prompt: str = ""
    calibrated: bool = True
    together: bool = False

    def stages(self, _program: str, /) -> Sequence[Stage]:
        return [[ScriptCheck(self.test, self.entry_point, id="test", framework="unittest")]]

    def whole(self, program: str) -> str:
        return behind(f"{self.code_prompt}\n    pass\n", program) if self.calibrated else program

    @property
    def needs(self) -> frozenset[str]:
        return frozenset(self.libs)

    @property
    def preloads(self) -> frozenset[str]:
        return frozenset(self.libs) & _WORTH_PRELOADING

    @property
    def needs_proof(self) -> bool:
        return True

    @property
    def trusts_solution(self) -> bool:
        return True

    @property
    def may_share(self) -> bool:
        return self.together

    @property
    def way_out(self) -> str:
        return "" if self.together else "--in-process runs such tests in the program's process"


# Large, common, and known to start no threads when they are imported.
_WORTH_PRELOADING = frozenset(["numpy", "pandas", "scipy", "sympy", "networkx", "matplotlib"])


def problem_of(record: Record, where: str, calibrated: bool = True, together: bool = False) -> Problem:
    """A record of BigCodeBench's files. BadRow if it is none."""
    name = entry_point(text(record, "entry_point"))
    code_prompt, solution = text(record, "code_prompt"), optional_text(record, "canonical_solution")
    return LibraryTask(
        identity(record, "task_id"),
        where,
        record,
        text(record, "complete_prompt"),
        name,
        text(record, "complete_prompt") + solution if solution.strip() else "",
        text(record, "test"),
        _libs(record.get("libs")),
        code_prompt,
        calibrated,
        together,
    )


def _libs(value: object) -> tuple[str, ...]:
    """The names of libraries: a list, or the text of one."""
    if isinstance(value, str):
        try:
            value = ast.literal_eval(value) if value.strip() else []
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            raise BadRow("field 'libs' is not the text of a list") from None
    names = [] if value is None else value
    if not isinstance(names, (list, tuple)) or not all(isinstance(each, str) and _NAME.match(each) for each in names):
        raise BadRow("field 'libs' must be a list of names")
    return tuple(names)
