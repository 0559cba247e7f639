"""What a worker is asked, and its report as plain values: the plan, and the answers in their order.

`report_parser` makes them of the worker's bytes. They are hostile even then: an answer is what the worker claims.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from cruxcell.protocol import messages

MOST_COUNT = (1 << 63) - 1  # whatever is counted fits into a signed number wherever it is sent
# How a job answers: with a value, by coming to its end, or as the test's half of a separated script.
VALUES = messages.LIMITS | {messages.VALUE, messages.RAISED}
ENDS = messages.LIMITS | {messages.ENDED, messages.RAISED}
TEST_ENDS = ENDS | {messages.CANDIDATE_GONE, messages.NOT_PLAIN, messages.CANNOT_CROSS}


@dataclass(frozen=True)
class Asked:
    """The parts of a job that determine what an honest report looks like.

    `count` is the number of checks, `runs` the classes of calls that run there beside constants, `takes_turns` whether
    such calls follow each other in a program that is not hermetic. `texts_noted` and `runs_noted` say whether it was
    asked for notes on the texts and on each run. `token` ends what only the harness may say. `is_suite` says if it may
    tell of tests.
    """

    count: int = 1
    kinds: frozenset[bytes] = VALUES
    runs: str = messages.DIRECT
    takes_turns: bool = False
    texts_noted: bool = False
    runs_noted: bool = False
    steps: int = MOST_COUNT
    output: int = 0
    value_bytes: int = messages.VALUE_BYTES
    token: bytes = b""
    is_suite: bool = False


ONE_VALUE = Asked()


@dataclass(frozen=True)
class Plan:
    """What a worker wrote before any code of the task ran; it can be trusted."""

    hermetic: bool
    classes: str
    details: tuple[str, ...]

    def detail_of(self, index: int) -> str:
        """The sentence that belongs to check `index`; sentences stand in the order of the checks that have one."""
        position = sum(kind == messages.INVALID for kind in self.classes[:index])
        return self.details[position] if position < len(self.details) else ""

    def turns(self, asked: Asked) -> list[int]:
        """The checks the worker is to answer, in its order: constants, then calls; one call if it cannot be shared."""
        constants = [at for at, kind in enumerate(self.classes) if kind == messages.CONSTANT]
        calls = [at for at, kind in enumerate(self.classes) if kind in asked.runs]
        return constants + (calls if self.hermetic or asked.takes_turns else calls[:1])


@dataclass(frozen=True)
class Answer:
    """One check's answer: `fields` are those of the record behind its numbers, none larger than any worker writes."""

    kind: bytes
    index: int
    steps: int
    cpu_ns: int
    wall_ns: int
    is_out_of_memory: bool
    fields: tuple[bytes, ...]
    by_identity: bool = False
    of_its_own: bool = False
    pythons_own: bool = False


@dataclass
class Report:
    """What a worker said. `answers` are those to the first of its `turns`, each once and in that order.

    `forged` says what no honest worker would have said next, or is "". `is_over` is true once the last answer also
    ended the worker, `is_cut` if the report ends in the middle of a record. `notes` are what filters ask about each
    check, `noted_runs` the checks whose run was noted on; `syscall` is the forbidden system call that ended the worker,
    as its signal handler wrote it.
    """

    plan: Plan | None = None
    turns: list[int] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    notes: dict[int, tuple[str, ...]] = field(default_factory=dict)
    forged: str = ""
    harness_error: str = ""
    syscall: int | None = None
    is_over: bool = False
    is_cut: bool = False
    noted_runs: set[int] = field(default_factory=set)
    tests: tuple[tuple[bytes, str, str], ...] | None = None  # letter, name, message

    @property
    def unanswered(self) -> list[int]:
        """The turns the worker has not answered, in its order."""
        return self.turns[len(self.answers) :]

    @property
    def ran_out_of_memory(self) -> bool:
        """Did any of it run out of memory, its harness included?"""
        is_over_memory = self.is_over and self.last_kind != messages.STEP_LIMIT  # it was the harness that ran out
        return is_over_memory or any(answer.is_out_of_memory for answer in self.answers)

    @property
    def last_kind(self) -> bytes:
        """The kind of the last answer, b"" if there is none."""
        return self.answers[-1].kind if self.answers else b""


def text(data: bytes) -> str:
    """Bytes of a worker as text for people: always valid, always encodable, and in UTF-8 hardly longer than `data`.

    What is no UTF-8 becomes U+FFFD, which is three bytes; in a long text a question mark, so that 16 MiB that a program
    may print are no 48 MiB of a message.
    """
    if len(data) < _LONG_TEXT:
        return data.decode("utf-8", "replace")
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").replace("\ufffd", "?")


def utf8(data: bytes) -> bytes:
    """The same in UTF-8: mostly `data` itself."""
    return data if data.isascii() else text(data).encode()


_LONG_TEXT = 1 << 16
