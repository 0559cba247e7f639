"""The check for a CRUXEval generation, and how verdicts are counted: strict, or as either released scorer does.

*Strict*: a generation is one expression. In input mode it calls `f`, and its arguments call nothing of the program; in
output mode it uses no name of the program, since a prediction that runs `f` predicts nothing. Where the row's output
itself uses names that the program imports (`Counter({'a': 1})`), both know these imports. Whatever is not
that, or raises, or runs out of something, has not passed and stays in n. A fault of the sandbox is masked: it leaves n.

The release has two scorers. Both splice text (`assert <output> == <generation>` after the program), do not run a
generation by looking for a piece of text in it, and count pass@k with `reference_pass_at_k`. *Published* is the first
one: what it does not run is wrong and stays in n. *Released* is the later one: what it does not run leaves n, unless
nothing of the task is right; then all of it is there, and all of it is wrong.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Optional

from cruxbox.building.rows import Row
from cruxbox.cruxeval import Generations
from cruxbox.model import Assurance, CallCheck, Limits, ScriptCheck, Task, Verdict
from cruxbox.passk import mean_percent, pass_at_k, reference_pass_at_k

# True, False, or None where the sandbox failed and nothing is known.
Mark = Optional[bool]


@dataclass(frozen=True)
class Scored:
    """One file's account: a mark for each generation that counts, and pass@k in percent (None where k > n)."""

    marks: Mapping[str, list[Mark]]
    pass_at_k: Mapping[int, float | None]
    masked: int


@dataclass(frozen=True)
class Accounting:
    """One way of asking and counting.

    `task` makes the question for one generation, or None where it is skipped; `marks` makes a task's list of marks from
    its generations' verdicts (None for a skipped one); `pass_at_k` is the estimator.
    """

    name: str
    task: Callable[[Row, str, str, Limits], Task | None]
    marks: Callable[[Sequence[Verdict | None]], list[Mark]]
    pass_at_k: Callable[[Sequence[Mark], int], float | None]

    def score(
        self, generations: Generations, verdicts: Mapping[str, Sequence[Verdict | None]], ks: Sequence[int]
    ) -> Scored:
        """The account of one file.

        Args:
            generations: what was asked.
            verdicts: for each task one verdict a generation, None where it was skipped.
            ks: the k of pass@k.
        """
        marks = {name: self.marks(verdicts[name]) for name in generations}
        masked = sum(mark is None for row in marks.values() for mark in row)
        return Scored(marks, {k: self._mean(marks, k) for k in ks}, masked)

    def _mean(self, marks: Mapping[str, list[Mark]], k: int) -> float | None:
        """Mean pass@k over tasks; None when a task has fewer than k generations to begin with."""
        values = []
        for row in marks.values():
            value = self.pass_at_k(row, k)
            if value is not None:
                values.append(value)
            elif len(row) < k:
                return None
        return mean_percent(values) if values else None


# ---- strict ---------------------------------------------------------------------


def _strict_task(row: Row, generation: str, mode: str, limits: Limits) -> Task:
    imports = _imports_for(row.output, row.code)
    expected = _with_imports(imports, row.output)
    if mode == "input":
        check = CallCheck(call=generation, expected=expected, entry_point=row.function)
        return Task(row.code, [check], limits=limits, require_assurance=Assurance.SEPARATED)
    # No program: a prediction may use none of its names, but for those that the row's own output needs.
    check = CallCheck(_with_imports(imports, generation), expected)
    return Task("", [check], limits=limits, require_assurance=Assurance.SEPARATED)


@lru_cache(maxsize=64)
def _imports_for(output: str, code: str) -> str:
    """The program's own imports of the names that `output` uses, as in `Counter({'a': 1})`; "" if it uses none, or the
    program defines them anew."""
    try:
        names = {node.id for node in ast.walk(ast.parse(output.strip(), mode="eval")) if isinstance(node, ast.Name)}
        names.difference_update(dir(builtins))
        program = ast.parse(code).body if names else []
        names.difference_update(*map(_defined, program))
        lines = [node for node in program if names and _binds(node, names)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""  # which the server will say
    return "\n".join(map(ast.unparse, lines))


def _defined(node: ast.stmt) -> set[str]:
    """The names that a statement of a program defines, other than by an import."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _binds(node: ast.stmt, names: set[str]) -> bool:
    """Is it an import that binds one of the names, or may?"""
    aliases = node.names if isinstance(node, (ast.Import, ast.ImportFrom)) else []
    bound = {alias.asname or alias.name.partition(".")[0] for alias in aliases}
    return bool(bound & (names | {"*"}))


def _with_imports(imports: str, text: str) -> str:
    """An expression of the value of `text`, one expression, where these imports are all that it knows."""
    if not imports:
        return text
    return f"(lambda names: exec({imports!r}, names) or eval({text.strip()!r}, names))({{}})"


def _all_marks(verdicts: Sequence[Verdict | None]) -> list[Mark]:
    """One for each generation: what was not run is wrong, and what the sandbox could not decide is not known."""
    return [False if verdict is None else verdict.passed for verdict in verdicts]


def _strict_pass_at_k(marks: Sequence[Mark], k: int) -> float | None:
    """None when fewer than k generations are known: then there is no estimate."""
    known = [mark for mark in marks if mark is not None]
    return pass_at_k(len(known), sum(known), k) if len(known) >= k else None


STRICT = Accounting("strict", _strict_task, _all_marks, _strict_pass_at_k)


# ---- as the release does it -------------------------------------------------------


def released_skips(row: Row, generation: str, mode: str) -> bool:
    """Whether the released scorers do not even run this generation."""
    return f"{row.function}(" not in generation if mode == "input" else row.call in generation


def _spliced_task(row: Row, generation: str, mode: str, limits: Limits) -> Task | None:
    if released_skips(row, generation, mode):
        return None
    return Task(row.code, [ScriptCheck(f"assert {row.output} == {generation}")], limits=limits)


def _released_marks(verdicts: Sequence[Verdict | None]) -> list[Mark]:
    """Skipped ones are dropped, unless nothing is right: then all are there, and all are wrong."""
    marks = [verdict.passed for verdict in verdicts if verdict is not None]
    return marks if True in marks else _all_marks(verdicts)


def _released_pass_at_k(marks: Sequence[Mark], k: int) -> float:
    known = [mark for mark in marks if mark is not None]
    return reference_pass_at_k(len(known), sum(known), k)


PUBLISHED = Accounting("published", _spliced_task, _all_marks, _released_pass_at_k)
RELEASED = Accounting("released", _spliced_task, _released_marks, _released_pass_at_k)

ACCOUNTINGS: Mapping[str, Accounting] = {
    **{accounting.name: accounting for accounting in (STRICT, PUBLISHED, RELEASED)},
    "reference": RELEASED,  # its name before there were two
}


def without_input_text(accounting: Accounting) -> Accounting:
    """`accounting` with LiveCodeBench's rule for output mode: a generation that contains the text of the input is not
    run and leaves n; where nothing is left, all of the task's generations are wrong."""

    def task(row: Row, generation: str, mode: str, limits: Limits) -> Task | None:
        left_out = mode == "output" and (row.input.strip() or row.call) in generation
        return None if left_out else accounting.task(row, generation, mode, limits)

    def marks(verdicts: Sequence[Verdict | None]) -> list[Mark]:
        kept = [verdict for verdict in verdicts if verdict is not None]
        return accounting.marks(kept) if kept else [False] * len(verdicts)

    return replace(accounting, task=task, marks=marks)


# ---- where the two differ -------------------------------------------------------

# A string, to where its line ends if it has no end: else one would be looked for from each quote in it.
_STRING = re.compile(r"""[rRbBuU]{0,2}(?:\"(?:[^"\\\n]|\\.)*("?)|'(?:[^'\\\n]|\\.)*('?))""")
_BRACKETED = re.compile(r"[(\[{][^()\[\]{}]*[)\]}]")
# What remains of text that is one operand, or several bound tighter than `==`.
_TIGHT = re.compile(r"[\w.\s+*/%&|^~@-]*")
_LONG, _DEEP = 10_000, 20
_LOOSE_WORDS = re.compile(r"\b(?:or|and|not|if|else|lambda|in|is|await|yield)\b")


def may_splice(text: str) -> bool:
    """Whether `text` after `assert x == ` may mean something else than a comparison with the value of `text`.

    Nothing is parsed: strings and brackets are taken out of the text and what remains is looked at. In doubt, yes.
    """
    if len(text) > _LONG:
        return True
    rest = _STRING.sub(lambda found: "0" if found[1] or found[2] else found[0], text.strip())
    for _ in range(_DEEP):
        rest = _BRACKETED.sub(" ", rest)
    return "\n" in rest or _TIGHT.fullmatch(rest) is None or _LOOSE_WORDS.search(rest) is not None


@dataclass(frozen=True)
class Difference:
    """What released accounting would have said of the same generations, and why it is not the same.

    `reasons` counts generations: "skipped" ones it drops, "spliced" ones that pass only as spliced text, "refused" ones
    that pass strictly and not there.
    """

    pass_at_k: Mapping[int, float | None]
    reasons: Mapping[str, int] = field(default_factory=dict)
    examples: Sequence[str] = ()
