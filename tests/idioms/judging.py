"""The idioms, judged: what plain CPython computes is expected of each; a wrong answer beside it must never pass.

`python -m idioms` (in tests/) writes docs/idioms.md anew; read the difference before committing it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cruxbox import CallCheck, Check, Client, Limits, Outcome, ScriptCheck, StdioCheck, Task, Verdict

TABLE = Path(__file__).resolve().parents[2] / "docs" / "idioms.md"
KINDS = ("call", "script", "stdio")
REFUSED = ", refused"
_ARGUMENT = 4
_LIMITS = Limits(cpu_ms=10_000, wall_ms=60_000)
# The same program with another answer of the same kind of program: whatever it does, it does, and is wrong.
_WRONG = "\n_f_that_is_right = f\ndef f(n): return [_f_that_is_right(n), 'wrong']\n"
_MAIN = "\nif __name__ == '__main__':\n    print(repr(f(int(input()))))\n"
_HEAD = """\
# Idioms

This table shows which idioms of ordinary Python programs run in the sandbox. `python -m idioms` in `tests` writes it.
Each program is checked as a call, as a script and as a program with standard input, once with the right answer and
once with a wrong one. *passes*: the right one is PASSED with assurance SEPARATED, and the wrong one does not pass.
What is compared is plain data; [samples](samples.md#what-needs-one-process) says what a script cannot compare.
*refused*: the sandbox's policy forbids it. The verdict is RAISED with this exception, and its `detail` states the
policy.

| idiom | call | script | stdio |
|---|---|---|---|
"""


@dataclass(frozen=True)
class Idiom:
    """A program that defines `f`, and what `f(4)` is to plain CPython ("" where it is refused here)."""

    name: str
    program: str
    expected: str

    @property
    def is_refused(self) -> bool:
        return self.name.endswith(REFUSED)

    def check(self, kind: str) -> Check:
        expected = self.expected or "None"
        if kind == "call":
            return CallCheck(f"f({_ARGUMENT})", expected)
        if kind == "script":
            return ScriptCheck(f"assert candidate({_ARGUMENT}) == {expected}\n", "f")
        return StdioCheck(f"{_ARGUMENT}\n", expected + "\n")

    def task(self, kind: str, *, wrong: bool) -> Task:
        program = self.program + (_WRONG if wrong else "") + (_MAIN if kind == "stdio" else "")
        return Task(
            program, [self.check(kind)], id=f"{self.name}/{kind}/{'wrong' if wrong else 'right'}", limits=_LIMITS
        )


def idioms() -> list[Idiom]:
    """All of them, in the order of the file, with what plain CPython makes of them."""
    with ThreadPoolExecutor(2) as running:
        return list(running.map(_read, _sections()))


def _sections() -> Iterator[tuple[str, str]]:
    for section in (Path(__file__).parent / "idioms.txt").read_text().split("#### ")[1:]:
        name, program = section.split("\n", 1)
        yield name, program


def _read(section: tuple[str, str]) -> Idiom:
    name, program = section
    if name.endswith(REFUSED):
        return Idiom(name, program, "")
    with tempfile.TemporaryDirectory() as folder:  # some write to where they are
        plain = subprocess.run(
            [sys.executable, "-c", program + _MAIN],
            input=f"{_ARGUMENT}\n",
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
            cwd=folder,
        )
    return Idiom(name, program, plain.stdout.strip())


def judge(client: Client, wanted: list[Idiom]) -> dict[tuple[str, str], tuple[Verdict, Verdict]]:
    """(right, wrong) for each idiom's name and kind of check."""
    asked = [(idiom, kind) for idiom in wanted for kind in KINDS]
    rights = client.check([idiom.task(kind, wrong=False) for idiom, kind in asked])
    wrongs = client.check([idiom.task(kind, wrong=True) for idiom, kind in asked])
    return {(idiom.name, kind): (right, wrong) for (idiom, kind), right, wrong in zip(asked, rights, wrongs)}


def word(right: Verdict, wrong: Verdict) -> str:
    """What the table says of one cell."""
    if wrong.outcome is Outcome.PASSED:
        return "**a wrong one passes**"
    if right.outcome is Outcome.PASSED and right.assurance is not None:
        return "passes" if right.assurance.name != "IN_PROCESS" else "passes IN_PROCESS"
    if right.outcome is Outcome.RAISED and right.exception is not None:
        return f"refused ({right.exception.type})"
    return right.outcome.name


def table(client: Client) -> str:
    """docs/idioms.md."""
    wanted = idioms()
    found = judge(client, wanted)
    rows = [(idiom.name.removesuffix(REFUSED), [word(*found[idiom.name, kind]) for kind in KINDS]) for idiom in wanted]
    return _HEAD + "".join(f"| {name} | {' | '.join(words)} |\n" for name, words in rows)
