"""Fine-tuning data out of filtered rows, without what a benchmark asks (the paper's appendix C.7).

A program is compared as its syntax tree with its variables renamed, an input as that of its call, so that names, layout
and comments hide nothing. Weak decontamination drops a row whose program and input are in the benchmark, strong one
whose program is.
"""

from __future__ import annotations

import ast
import enum
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cruxbox.building.anonymize import AnonymizeError, anonymize
from cruxbox.building.rows import Row


class Form(str, enum.Enum):
    """What a text ends in: `assert f(input) == output`, or `assert output == f(input)`."""

    OUTPUT = "output"
    INPUT = "input"


class Decontaminate(str, enum.Enum):
    """What of the benchmark is dropped: the same program with the same input, or the same program."""

    WEAK = "weak"
    STRONG = "strong"


@dataclass
class Selection:
    """Rows by the program and the pair they are; counts what was dropped and why."""

    decontaminate: Decontaminate
    cheating: bool = False
    counts: Counter[str] = field(default_factory=Counter)
    programs: set[str] = field(default_factory=set)
    pairs: set[tuple[str, str]] = field(default_factory=set)

    def keep_out(self, benchmark: Iterable[Row]) -> None:
        """Remember what the benchmark asks."""
        for row in benchmark:
            program, input = normal_form(row)
            self.programs.add(program)
            self.pairs.add((program, input))

    def select(self, rows: Iterable[Row]) -> Iterator[Row]:
        """The rows to train on, each once: clean ones, or (`cheating`) the benchmark's programs with other inputs."""
        seen = set()
        for row in rows:
            self.counts["rows"] += 1
            pair = normal_form(row)
            program = pair[0]
            if pair in self.pairs:
                self.counts["same_pair"] += 1
            elif self.cheating and program not in self.programs:
                self.counts["other_program"] += 1
            elif not self.cheating and self.decontaminate is Decontaminate.STRONG and program in self.programs:
                self.counts["same_program"] += 1
            elif pair in seen:
                self.counts["duplicate"] += 1
            else:
                seen.add(pair)
                self.counts["kept"] += 1
                yield row


def training_text(row: Row, form: Form) -> str:
    """The program and one assertion."""
    sides = (row.call, row.output) if form is Form.OUTPUT else (row.output, row.call)
    return f"{row.code}\nassert {sides[0]} == {sides[1]}"


def normal_form(row: Row) -> tuple[str, str]:
    """(program, call) without names of variables, layout and comments; as text where they cannot be parsed."""
    code, call = row.code, row.call
    if row.function == "f":
        try:
            renamed = anonymize(row.code, row.input)
            code, call = renamed.code, f"f({renamed.input}\n)"
        except AnonymizeError:
            pass
    return _tree(code), _tree(call)


def _tree(text: str) -> str:
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return " ".join(text.split())
