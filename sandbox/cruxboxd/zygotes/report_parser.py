"""The only parser of reports. It accepts what an honest worker could have written, in the order it would write it.

A report is hostile. Code of the task runs in the process that writes it, and may write anything at any time. Only the
order of the pipe can be trusted:

    report = harness error | plan [notes on the texts] turn* [VIOLATED]
    turn   = [notes on this check] answer to this check

* The plan is written before any code of the task runs, and says which checks the worker is to answer: its *turns*.
* An answer counts only if it is about the check whose turn it is. A worker therefore cannot answer a check that it does
  not run, or the same check twice.
* Everything before the first record that no honest worker writes there is kept; `forged` describes that record.

This module is pure. It does not know how the worker ended, and does not interpret answers.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from cruxcell.protocol import frames, messages
from cruxcell.protocol.records import BY_IDENTITY, NUMBERS, OF_ITS_OWN, OUT_OF_MEMORY, PYTHONS_OWN

from cruxboxd.zygotes.report import MOST_COUNT, TEST_ENDS, Answer, Asked, Plan, Report, text

_CLASSES = frozenset(
    [messages.CONSTANT, messages.DIRECT, messages.ARGUED, messages.EXPRESSION, messages.INVALID, messages.ALONE],
)
_TEXT_BYTES = 6  # of a character at the most: a surrogate, escaped
_NAME = 200  # characters of an exception's name
# What an honest worker sends at most: a plan, notes on all, notes and an answer for each check, a violation.
_MOST_RECORDS_A_CHECK, _MOST_OTHER_RECORDS, _MOST_FIELDS = 2, 5, 16


def read_report(data: bytes, asked: Asked) -> Report:
    """Any bytes give a Report. What follows the first thing that is wrong is not read.

    A hostile worker may fill its report with the smallest records there are: what no worker of so many checks sends is
    not read either, so that reading takes no longer than the honest would.
    """
    records: list[list[bytes]] = []
    forged, is_cut = "", False
    try:
        most = _MOST_RECORDS_A_CHECK * asked.count + _MOST_OTHER_RECORDS
        is_cut = frames.split(data, records, most, asked.count + _MOST_FIELDS)[1] != len(data)
    except frames.FrameError as error:
        forged = f"its report is garbled: {error}"
    if not records:
        return Report(forged=forged, is_cut=is_cut)
    if records[0][:1] == [messages.HARNESS_ERROR] and len(records[0]) == 2:
        return Report(harness_error=text(records[0][1]) or "the harness failed without a word")
    plan = _READ_NOTHING if _has_read_nothing(records, asked) else _read_plan(records[0], asked.count)
    if plan is None:
        return Report(forged=forged or "its report does not begin with a plan of its checks")
    report = Report(plan, plan.turns(asked), is_cut=is_cut)
    first = 1
    if asked.texts_noted and len(records) > 1 and _take_notes_on_texts(report, records[1], asked.count):
        first = 2
    for record in records[first:]:
        wrong = _take(report, record, asked)
        if wrong:
            report.forged = wrong
            return report
    report.forged = forged
    return report


# Of more than one check it is nobody's: any of their texts may be the large one, and each runs alone.
NOT_HELD = "its texts take more memory to be read than memory_bytes allows"
_READ_NOTHING = Plan(False, messages.INVALID, (NOT_HELD,))


def _has_read_nothing(records: list[list[bytes]], asked: Asked) -> bool:
    """Did the harness run out of memory before it had read the texts? No code of the task has run then."""
    return asked.count == 1 and len(records) == 1 and records[0][:1] == [messages.MEMORY_LIMIT]


def _read_plan(fields: list[bytes], count: int) -> Plan | None:
    if len(fields) < 3 or fields[0] != messages.PLAN or fields[1] not in (b"0", b"1") or len(fields[2]) != count:
        return None
    classes = fields[2].decode("ascii", "replace")
    return Plan(fields[1] == b"1", classes, tuple(map(text, fields[3:]))) if _CLASSES.issuperset(classes) else None


def _take(report: Report, record: list[bytes], asked: Asked) -> str:
    """Add the next record to the report; what is wrong if no honest worker writes it at this place."""
    kind = record[0] if record else b""
    if report.is_over or report.syscall is not None:
        return "its report goes on after its end"
    if kind == messages.VIOLATED:
        return _take_violation(report, record)
    if kind == messages.TESTS:
        return "" if asked.is_suite and _take_tests(report, record) else _NO_RECORD
    if kind == messages.FINDINGS:
        turns = report.unanswered if asked.runs_noted else []
        return "" if turns and _take_notes_on_run(report, record, turns[0]) else _NO_RECORD
    return _wrong_with(record, asked) or _take_answer(report, _answer(record, asked))


def _take_answer(report: Report, answer: Answer) -> str:
    turn = len(report.answers)
    if answer.kind == messages.MEMORY_LIMIT and answer.index == (report.turns[turn - 1] if turn else 0):
        # The harness ran out of memory between two checks, and names the one it was last at: that has its answer.
        report.is_over = True
        if turn == 0 and report.turns:
            report.answers.append(replace(answer, index=report.turns[0]))
        return ""
    if turn == len(report.turns) or answer.index != report.turns[turn]:
        return "its report answers a check twice, out of turn, or one that was not asked"
    report.answers.append(answer)
    report.is_over = answer.kind in (messages.STEP_LIMIT, messages.MEMORY_LIMIT)
    return ""


_NO_RECORD = "its report holds a record no worker writes"


def _take_violation(report: Report, record: list[bytes]) -> str:
    if len(record) != 2 or len(record[1]) != 4:
        return _NO_RECORD
    report.syscall = int.from_bytes(record[1], "little")
    return ""


# ---- the tests of a suite ------------------------------------------------------------------------------------------

_LETTERS = frozenset([messages.TEST_PASSED, messages.TEST_FAILED, messages.TEST_ERROR, messages.TEST_SKIPPED])


def _take_tests(report: Report, record: list[bytes]) -> bool:
    """The tests of a suite, told once and before its end; False if no honest worker writes them so."""
    if report.tests is not None or not report.unanswered or len(record) != 2:
        return False
    found: list[list[bytes]] = []
    try:
        used = frames.split(record[1], found, messages.MAX_TESTS, 3)[1]
    except frames.FrameError:
        return False
    if used != len(record[1]) or used > messages.MAX_TESTS_BYTES:
        return False
    if any(len(one) != 3 or one[0] not in _LETTERS for one in found):
        return False
    report.tests = tuple([(letter, text(name), text(message)) for letter, name, message in found])
    return True


# ---- answers -----------------------------------------------------------------------------------------------------


def _wrong_with(record: list[bytes], asked: Asked) -> str:
    """What is wrong with the form of an answer, "" if nothing is."""
    kind = record[0] if record else b""
    if kind not in asked.kinds:
        return _NO_RECORD
    sizes = _sizes(kind, asked.output, asked.value_bytes)
    if len(record) != len(sizes) or len(record[1]) != NUMBERS.size or not _is_well_formed(kind, record, asked):
        return _NO_RECORD
    if any(map(int.__gt__, map(len, record), sizes)):
        return "its report holds a record larger than any worker writes"
    if kind in _PROVEN and record[-1] != asked.token:
        return "its report says what only the sandbox may say"
    return ""


def _is_well_formed(kind: bytes, record: list[bytes], asked: Asked) -> bool:
    flags = record[1][-1]
    if asked.kinds == TEST_ENDS and kind in (messages.RAISED, messages.ENDED):
        flags &= ~(BY_IDENTITY | OF_ITS_OWN | PYTHONS_OWN)
    if kind == messages.VALUE:
        return not flags and record[2] in _ENCODINGS
    if kind == messages.RAISED:
        return flags in (0, OUT_OF_MEMORY) and len(record[4]) == 4
    # The candidate's half of a pair says that it ran out of memory in between; the test's half says what came of it.
    return flags in (0, OUT_OF_MEMORY) if kind == messages.ENDED else not flags


# What only the harness may say: these end with its token.
_PROVEN = TEST_ENDS - {messages.RAISED} - messages.LIMITS
_TOKEN = 256  # bytes, at most
_ENCODINGS = frozenset([messages.PLAIN, messages.HOLDS_NAN, messages.OPAQUE, messages.HAS_LIKES])


@lru_cache(maxsize=256)
def _sizes(kind: bytes, output_limit: int, value_bytes: int) -> tuple[int, ...]:
    """How large the fields of an answer may be: nothing larger is looked at, copied or passed on."""
    value, sentence, printed = (
        max(output_limit, value_bytes),
        _TEXT_BYTES * messages.MAX_TEXT,
        _TEXT_BYTES * output_limit,
    )
    sizes = {
        messages.VALUE: (1, value, sentence + 1, printed, printed),
        messages.RAISED: (_TEXT_BYTES * _NAME, sentence, 4, printed, printed),
        messages.ENDED: (printed, printed, _TOKEN),
        messages.CANDIDATE_GONE: (sentence, _TOKEN),
        messages.NOT_PLAIN: (sentence, _TOKEN),
        messages.CANNOT_CROSS: (sentence, _TOKEN),
    }
    return (1, NUMBERS.size, *sizes.get(kind, ()))


def _answer(record: list[bytes], asked: Asked) -> Answer:
    """A well-formed answer; what it claims to have used is cut to what can be.

    The worker counts the characters that are printed; here they are bytes, and a message has room for so many.
    """
    index, steps, cpu_ns, wall_ns, flags = NUMBERS.unpack(record[1])
    steps, cpu_ns, wall_ns = min(steps, asked.steps), min(cpu_ns, MOST_COUNT), min(wall_ns, MOST_COUNT)
    if any(len(record[at]) > asked.output for at in _PRINTED.get(record[0], ())):
        return Answer(messages.OUTPUT_LIMIT, index, steps, cpu_ns, wall_ns, False, ())
    is_out_of_memory, *told = [bool(flags & flag) for flag in _FLAGS]
    return Answer(record[0], index, steps, cpu_ns, wall_ns, is_out_of_memory, tuple(record[2:]), *told)


_FLAGS = (OUT_OF_MEMORY, BY_IDENTITY, OF_ITS_OWN, PYTHONS_OWN)
# Where an answer says what was printed.
_PRINTED = {messages.VALUE: (5, 6), messages.RAISED: (5, 6), messages.ENDED: (2, 3)}


# ---- notes, for filters of data sets -----------------------------------------------------------------------------
# They decide nothing: they are the worker's word about its own candidate, in a vocabulary that is fixed.


def _take_notes_on_texts(report: Report, record: list[bytes], count: int) -> bool:
    """Notes on all texts, written before any code of the task runs; False if the record is something else."""
    if len(record) != 2 + count or record[0] != messages.FINDINGS or record[1] != b"\0\0\0\0":
        return False
    every = [_names(places) for places in record[2:]]
    hermetic = report.plan is not None and report.plan.hermetic
    for index, names in enumerate(every):
        if names is None:
            return False
        if names:
            # What a run under another hash seed could change is known of hermetic programs only.
            report.notes[index] = names if hermetic else tuple([name for name in names if name != messages.SEEDLESS])
    return True


def _take_notes_on_run(report: Report, record: list[bytes], at: int) -> bool:
    """Notes on the check whose turn it is, `at`; False if no honest worker writes them there."""
    if len(record) != 3 or record[1] != at.to_bytes(4, "little"):
        return False
    names = _names(record[2])
    if names is None or messages.SEEDLESS in names or at in report.noted_runs:
        return False
    report.noted_runs.add(at)
    known = report.notes.get(at, ())
    report.notes[at] = known + tuple([name for name in names if name not in known])
    return True


@lru_cache(maxsize=256)
def _names(places: bytes) -> tuple[str, ...] | None:
    """The findings at these places in FINDING_NAMES, each once; None if one is not there."""
    most = len(messages.FINDING_NAMES)
    if len(places) > most or max(places, default=0) >= most:
        return None
    return tuple(dict.fromkeys(map(messages.FINDING_NAMES.__getitem__, places)))


# ---- a bundle's report: one of each of its jobs, each behind a mark that holds its place ---------------------------


def _head(kind: bytes) -> bytes:
    """How the body of a record begins."""
    return len(kind).to_bytes(4, "little") + kind


_SECTION = _head(messages.SECTION)


def split_sections(data: bytes, most: int) -> list[bytes]:
    """The report on each job that was begun, in their order; nothing where a worker speaks out of turn."""
    marks = [(start, end) for start, end in frames.bodies(data) if data.startswith(_SECTION, start)]
    honest = [_SECTION + _head(place.to_bytes(4, "little")) for place in range(len(marks))]
    if not marks or marks[0][0] != 4 or len(marks) > most or [data[start:end] for start, end in marks] != honest:
        return []
    begins = [end for _, end in marks]
    ends = [start - 4 for start, _ in marks[1:]] + [len(data)]
    return [data[begin:end] for begin, end in zip(begins, ends)]
