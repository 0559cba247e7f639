"""The one parser of reports: what an honest worker could have said in its turns, and nothing else is believed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cruxboxd.zygotes.report import ENDS, TEST_ENDS, Asked, Plan
from cruxboxd.zygotes.report_parser import NOT_HELD
from cruxcell.protocol import messages, records
from cruxcell.protocol.frames import frame
from reports_by_hand import SUITE, TWO, indexes, numbers, plan, read, value, violated

# ---- turns -----------------------------------------------------------------------

# plan's classes, is it hermetic -> the turns of its worker
TURNS = {
    ("dd", True): [0, 1],
    ("dd", False): [0],
    ("dcd", True): [1, 0, 2],
    ("dcd", False): [1, 0],
    ("aixc", True): [3],
    ("ad", False): [1],
    ("ii", True): [],
}


@pytest.mark.parametrize("key", TURNS)
def test_the_plan_says_whose_turn_it_is(key: tuple[str, bool]):
    classes, hermetic = key
    assert read(plan(classes, hermetic), asked=replace(TWO, count=len(classes))).turns == TURNS[key]


def test_what_a_worker_may_run_besides():
    asked = Asked(count=4, runs="dax")
    assert read(plan("xadi", False), asked=asked).turns == [0]
    assert read(plan("xadi", False), asked=replace(asked, takes_turns=True)).turns == [0, 1, 2]


@pytest.mark.parametrize("hermetic", [True, False])
def test_answers_count_in_turn(hermetic: bool):
    report = read(plan("cd", hermetic), value(0), value(1))
    assert (indexes(report), report.forged, report.unanswered) == ([0, 1], "", [])


# said after the plan `dcd` (turns: 1, 0, 2) -> the answers that count
OUT_OF_TURN = {
    "another's": ([value(0)], []),
    "another's, after one's own": ([value(1), value(2)], [1]),
    "twice": ([value(1), value(1)], [1]),
    "once too many": ([value(1), value(0), value(2), value(2)], [1, 0, 2]),
    "one there is not": ([value(1), value(7)], [1]),
    "the right one, after a wrong one": ([value(2), value(1)], []),
    "after the end": ([records.limit(messages.STEP_LIMIT, 1, 5), value(0)], [1]),
    "after memory ran out": ([records.limit(messages.MEMORY_LIMIT, 1, 5), value(0)], [1]),
    "after a violation": ([value(1), violated(), value(0)], [1]),
}


@pytest.mark.parametrize("name", OUT_OF_TURN)
def test_an_answer_out_of_turn_is_forged(name: str):
    said, counted = OUT_OF_TURN[name]
    report = read(plan("dcd"), *said, asked=replace(TWO, count=3))
    assert (indexes(report), bool(report.forged)) == (counted, True)


def test_a_worker_answers_nothing_that_runs_elsewhere():
    """A program that is not hermetic has one turn: the others' checks are not its to answer."""
    report = read(plan("dd", False), value(1))
    assert (report.answers, report.turns, bool(report.forged)) == ([], [0], True)
    report = read(plan("dx"), value(0), value(1))
    assert (indexes(report), bool(report.forged)) == ([0], True)


def test_memory_that_runs_out_between_two_checks_is_nobodys_answer():
    """The harness names the check it was last at; before any it names the first place."""
    report = read(plan("dd"), value(0), records.limit(messages.MEMORY_LIMIT, 0, 0))
    assert (indexes(report), report.forged, report.is_over, report.ran_out_of_memory) == ([0], "", True, True)
    for at in (0, 1):
        said = (plan("ddd"), value(0), value(1), records.limit(messages.MEMORY_LIMIT, at, 0))
        report = read(*said, asked=replace(TWO, count=3))
        assert (indexes(report), bool(report.forged), report.is_over) == ([0, 1], at == 0, at == 1)
    for at in (1, 2, 3):
        said = (plan("dddd"), *map(value, range(3)), records.limit(messages.MEMORY_LIMIT, at, 0))
        report = read(*said, asked=replace(TWO, count=4))
        assert (len(report.answers), bool(report.forged), report.is_over) == (4 if at == 3 else 3, at == 1, at != 1)
    report = read(plan("id"), records.limit(messages.MEMORY_LIMIT, 0, 0))
    assert (indexes(report), report.forged, report.is_over) == ([1], "", True)
    report = read(plan("idd"), records.limit(messages.MEMORY_LIMIT, 0, 0), asked=replace(TWO, count=3))
    assert (indexes(report), report.forged, report.is_over) == ([1], "", True)
    report = read(plan("ii"), records.limit(messages.MEMORY_LIMIT, 0, 0))
    assert (indexes(report), report.forged, report.is_over, report.ran_out_of_memory) == ([], "", True, True)
    assert read(plan("dd"), value(0), records.limit(messages.MEMORY_LIMIT, 1, 0)).ran_out_of_memory
    flagged = frame([messages.RAISED, numbers(flags=records.OUT_OF_MEMORY), b"E", b"", b"\0" * 4, b"", b""])
    assert read(plan("dd"), flagged, value(1)).ran_out_of_memory
    assert read(plan("dd"), flagged).ran_out_of_memory
    assert not read(plan("dd"), value(0), value(1)).ran_out_of_memory
    assert not read(plan("dd"), records.limit(messages.STEP_LIMIT, 0, 0)).ran_out_of_memory


# ---- plans -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"", value(0), frame([b"P"]), b"\0" * 3, frame([]) + plan(), plan("d"), plan("ddd"), plan(""), plan("d?"),
        plan("dD"), frame([b"P", b"2", b"dd"]), frame([b"P", b"", b"dd"]), frame([b"P", b"1", b"\xff\xff"]),
        frame([b"p", b"1", b"dd"]), frame([b"O", b"1", b"dd"]), frame([b"P", b"1"]), frame([b"?", b"x"]),
        frame([messages.HARNESS_ERROR, b"x", b"y"]), frame([messages.HARNESS_ERROR]),
    ],
)  # fmt: skip
def test_without_a_plan_of_its_checks_nothing_is_believed(data: bytes):
    report = read(data, value(0))
    assert (report.plan, report.answers, report.turns, report.notes) == (None, [], [], {})
    assert (report.harness_error, bool(report.forged) or report.is_cut) == ("", True)


def test_texts_that_memory_does_not_hold_are_their_own_fault():
    ended = records.limit(messages.MEMORY_LIMIT, 0, 0)
    one = replace(TWO, count=1)
    assert read(ended, asked=one).plan == Plan(False, messages.INVALID, (NOT_HELD,))
    assert read(ended).plan is None  # of two checks it is nobody's: each runs alone
    assert read(ended, value(0), asked=one).plan is None
    assert [read(frame(other), asked=one).plan for other in ([], [messages.ENDED], [messages.VALUE])] == [None] * 3


def test_what_is_garbled_is_said_before_a_plan_that_is_missing():
    assert "garbled" in read(value(0), b"\1\0\0\0\0").forged
    assert not read(plan(), value(0), b"\1\0\0\0\0").is_cut
    assert "plan" in read(value(0)).forged


def test_a_failure_of_ours_counts_only_before_anything_ran():
    assert read(records.harness_error("confine: x")).harness_error == "confine: x"
    assert read(records.harness_error("")).harness_error
    assert read(records.harness_error("x"), value(0)).harness_error == "x"
    late = read(plan(), records.harness_error("confine: x"))
    assert (late.harness_error, bool(late.forged)) == ("", True)


@pytest.mark.parametrize(
    ("kind", "flags", "is_heard"),
    [
        (messages.ENDED, records.BY_IDENTITY | records.OF_ITS_OWN, True),
        (messages.ENDED, records.OUT_OF_MEMORY, True),
        (messages.RAISED, records.BY_IDENTITY | records.OUT_OF_MEMORY, True),
        (messages.ENDED, records.PYTHONS_OWN, True),
        (messages.ENDED, 64, False),
        (messages.RAISED, 64, False),
        (messages.CANDIDATE_GONE, 0, True),
        (messages.NOT_PLAIN, 0, True),
        (messages.CANNOT_CROSS, 0, True),
        (messages.CANDIDATE_GONE, records.BY_IDENTITY, False),
        (messages.NOT_PLAIN, records.OF_ITS_OWN, False),
        (messages.CANNOT_CROSS, records.OUT_OF_MEMORY, False),
    ],
)
def test_what_a_test_s_half_says_besides_it_says_of_a_script_that_came_to_an_end(
    kind: bytes, flags: int, is_heard: bool
):
    more = {messages.ENDED: [b"", b"", b""], messages.RAISED: [b"E", b"", b"\0" * 4, b"", b""]}.get(kind, [b"why", b""])
    report = read(
        records.plan(False, "x", []), frame([kind, numbers(flags=flags), *more]), asked=Asked(kinds=TEST_ENDS, runs="x")
    )
    assert (len(report.answers) == 1, bool(report.forged)) == (is_heard, not is_heard)


@pytest.mark.parametrize("kind", sorted(TEST_ENDS))
def test_how_a_test_ends_is_believed_with_the_token_of_its_job(kind: bytes):
    more = {messages.ENDED: [b"", b""], messages.RAISED: [b"E", b"", b"\0" * 4, b"", b""]}.get(kind, [b"why"])
    is_bound = kind not in messages.LIMITS | {messages.RAISED}  # the others help no candidate
    asked = Asked(kinds=TEST_ENDS, runs="x", token=b"a token")
    for token, is_right in {b"a token": True, b"": False, b"a toke": False, b"another": False}.items():
        said = frame([kind, numbers(), *more * (kind not in messages.LIMITS), *[token] * is_bound])
        report = read(plan("x"), said, asked=asked)
        is_heard = is_right or not is_bound
        assert (len(report.answers) == 1, bool(report.forged)) == (is_heard, not is_heard)


@pytest.mark.parametrize("flags", range(0, 64, 4))
def test_each_flag_says_one_thing(flags: int):
    (answer,) = read(plan("x"), frame([messages.ENDED, numbers(flags=flags), b"", b"", b""]), asked=SUITE).answers
    heard = answer.is_out_of_memory, answer.by_identity, answer.of_its_own, answer.pythons_own
    asked = records.OUT_OF_MEMORY, records.BY_IDENTITY, records.OF_ITS_OWN, records.PYTHONS_OWN
    assert heard == tuple(bool(flags & flag) for flag in asked)


@pytest.mark.parametrize("flags", [records.BY_IDENTITY, records.OF_ITS_OWN, records.PYTHONS_OWN])
def test_who_is_no_test_has_no_such_flags(flags: int):
    said = frame([messages.ENDED, numbers(flags=flags), b"", b"", b""])
    assert read(plan("x"), said, asked=Asked(kinds=ENDS, runs="x")).forged
    assert not read(plan("x"), said, asked=Asked(kinds=TEST_ENDS, runs="x")).forged


def test_sentences_belong_to_the_invalid_ones():
    said = read(records.plan(False, "dixi", ["first", "second"]), asked=Asked(count=4)).plan
    assert said is not None
    assert [said.detail_of(at) for at in (1, 3)] == ["first", "second"]
    short = read(records.plan(False, "ii", ["only"])).plan
    assert short is not None
    assert short.detail_of(1) == ""
