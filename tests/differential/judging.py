"""The three ways of judging a case, and what may differ between them."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from cruxbox import Check, Client, EvaluateCheck, Isolation, Limits, Outcome, ScriptCheck, StdioCheck, Task, Verdict

from differential.corpus import Case

PLAIN = Path(__file__).parent / "plain.py"
LIMITS = Limits(cpu_ms=10_000, wall_ms=60_000, memory_bytes=512 << 20, output_bytes=1 << 20)
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_SLOW = re.compile(r"Executing <.* took [0-9.]+ seconds\n")  # by asyncio, of a host that is busy

# What is known to differ, and why: (beginning of the case's name, reason). Anything else is a fault. SECURITY.md tells
# what a script finds otherwise than in one process; the names with a slash at their end are scripts made of a call.
_OWN = "a script compares, orders and hashes the program's objects by identity"
_NAMES = "a script has names and builtins of its own"
KNOWN: tuple[tuple[str, str], ...] = (
    ("mbpp+/126", "an entry point with a builtin's name is taken for the builtin"),
    ("honest/operators of own classes/2/", _OWN),
    ("honest/operators of own classes/3/", _OWN),
    ("honest/dataclasses in every way/4/", _OWN),
    *((f"honest/introspection/{number}/", _NAMES) for number in (1, 2, 3)),
    *((f"honest/names that shadow builtins/{number}/", _NAMES) for number in (0, 1, 3)),
    ("honest/empty program/5/", _NAMES),
    ("honest/exec and eval by an honest program/7/", _NAMES),
)
# Their tests draw random numbers, so their steps differ from run to run; all else is compared.
DRAWING = tuple(f"{name}/HumanEval/{number}" for name in ("humaneval", "humaneval+") for number in (32, 38, 39, 50, 53))
# Steps are counted in the first thread, which waits for others as long as they happen to take.
_THREADS = re.compile(r"\b(?:threading|concurrent|to_thread|run_in_executor)\b")

# What a script sees of a candidate's StopIteration, StopAsyncIteration or GeneratorExit where it took no next item.
_AN_END = ("the candidate raised Stop", "the candidate raised GeneratorExit")

NOT_COMPARED = "not compared"


@dataclass(frozen=True)
class Difference:
    """A case that does not come to the same; or, `between` being NOT_COMPARED, that plain CPython did not finish within
    this harness's own time."""

    case: Case
    between: str
    one: str
    other: str

    def __str__(self) -> str:
        return f"{self.case.name} ({self.case.call[:60]}) {self.between}:\n    {self.one[:300]}\n    {self.other[:300]}"


def by_plain_python(
    cases: Sequence[Case], python: Path, hash_seed: int = 0, cpu_seconds: float = 60
) -> list[dict[str, object]]:
    """What plain CPython says of each case, within so much CPU time each: far more than an honest one takes, and not of
    the wall's, so that a busy machine does not decide what a case comes to."""
    with tempfile.TemporaryDirectory() as folder:  # what the programs write is not left here
        cases_file = Path(folder) / "cases.jsonl"
        cases_file.write_text("".join(case.line() + "\n" for case in cases))
        done = subprocess.run(
            [str(python), "-X", "utf8", str(PLAIN), str(cases_file), str(cpu_seconds)],
            env={"PYTHONHASHSEED": str(hash_seed), "TZ": "UTC", "LC_ALL": "C.UTF-8"},
            cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=True,
        )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


def by_cruxbox(client: Client, cases: Iterable[Case], runtime: str, isolation: Isolation) -> list[Verdict]:
    """What cruxbox says: each program with the checks of its neighbours in the list, so that they may share workers.
    The inputs of one program that stand beside each other are one task, as only those of one task share a worker."""
    tasks = []
    for _, group in groupby(cases, key=lambda case: (case.program, case.name if case.kind != "stdio" else "")):
        part = list(group)
        checks = [_check(case) for case in part]
        tasks.append(Task(part[0].program, checks, limits=LIMITS, runtime=runtime, isolation=isolation))
    return client.check(tasks)


def _check(case: Case) -> Check:
    if case.kind == "call":
        return EvaluateCheck(case.call)
    if case.kind == "script":
        return ScriptCheck(case.script, case.entry_point)
    return StdioCheck(case.stdin, "\0")  # nothing prints that: what was printed is compared here


def differences(
    cases: Sequence[Case], plain: Sequence[dict[str, object]], isolated: Sequence[Verdict], shared: Sequence[Verdict]
) -> list[Difference]:
    """All that differ and are not KNOWN."""
    found = []
    for case, said, alone, company in zip(cases, plain, isolated, shared):
        ends = case.kind == "script" and alone.exception and alone.exception.message.startswith(_AN_END)
        if ends or any(case.name.startswith(name) for name, _ in KNOWN):
            continue
        if seen(alone, case) != seen(company, case):
            found.append(Difference(case, "isolated, shared", str(seen(alone, case)), str(seen(company, case))))
        one, other = _of_plain(case, said), _of_verdict(case, alone)
        if said["outcome"] == "OUT_OF_TIME":
            found.append(Difference(case, NOT_COMPARED, "plain CPython ran out of this harness's time", str(other)))
        elif one != other:
            found.append(Difference(case, "plain, isolated", str(one), str(other)))
    return found


def seen(verdict: Verdict, case: Case) -> tuple[object, ...]:
    """All that a verdict says of its check, but for times and memory."""
    steps = 0 if case.name in DRAWING or _THREADS.search(case.program) else verdict.steps
    value, exception = _ADDRESS.sub("0x", verdict.value), verdict.exception
    told = (exception.type, _ADDRESS.sub("0x", exception.message), exception.line) if exception else None
    printed = [_SLOW.sub("", _ADDRESS.sub("0x", text)) for text in (verdict.stdout, verdict.stderr)]
    return verdict.outcome.name, verdict.assurance, value, steps, told, *printed


def _of_plain(case: Case, said: dict[str, object]) -> tuple[object, ...]:
    exception = said.get("exception")
    told = tuple(_ADDRESS.sub("0x", text) for text in exception) if isinstance(exception, list) else None
    if case.kind == "script":
        return (said["outcome"], told[0] if told and said["outcome"] == "RAISED" else None)
    stdout = _ADDRESS.sub("0x", str(said.get("stdout")))
    outcome = said["outcome"] if case.kind != "stdio" or said["outcome"] != "EXECUTED" else "FAILED"
    if outcome == "FAILED":
        return (outcome, None, "", stdout)
    return (outcome, told, _ADDRESS.sub("0x", str(said.get("value", ""))), stdout)


def _of_verdict(case: Case, verdict: Verdict) -> tuple[object, ...]:
    exception = verdict.exception
    if case.kind == "script":
        return (verdict.outcome.name, exception.type if exception and verdict.outcome is Outcome.RAISED else None)
    told = (exception.type, _ADDRESS.sub("0x", exception.message)) if exception else None
    value = "" if case.kind == "stdio" else _ADDRESS.sub("0x", verdict.value)
    return (verdict.outcome.name, told, value, _ADDRESS.sub("0x", verdict.stdout))
