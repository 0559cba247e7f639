"""Any bytes: a list of fields or a FrameError, a value or Garbled, a Report and results. Nothing else, ever."""

from __future__ import annotations

import os

from cruxboxd.judging import charging, outcomes
from cruxboxd.judging.comparing import PLAINLY, is_same
from cruxboxd.judging.expected import Kind, Reading, readings
from cruxboxd.judging.outcomes import Assurance, CheckResult, Outcome
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Result
from cruxboxd.zygotes.report import ENDS, TEST_ENDS, VALUES, Asked
from cruxboxd.zygotes.report_parser import read_report, split_sections
from cruxcell.protocol import frames, messages
from cruxcell.protocol.records import NUMBERS, section
from cruxcell.values import transfer
from hypothesis import given
from hypothesis import strategies as st
from plain_data import encodable, lengths

FIELDS = st.lists(st.binary(max_size=20), max_size=5)


@given(st.binary() | st.lists(st.binary(max_size=6) | lengths).map(b"".join))
def test_any_bytes_are_fields_or_a_frame_error(data):
    try:
        fields = frames.unpack(data)
    except frames.FrameError:
        return
    assert frames.pack(fields) == data


@given(st.lists(FIELDS, max_size=4), st.binary(max_size=30))
def test_whole_frames_are_found_whatever_follows(bodies, rest):
    data = b"".join(map(frames.frame, bodies))
    found: list[list[bytes]] = []
    try:
        _, used = frames.split(data + rest, found)
    except frames.FrameError:
        used = len(data)
    assert found[: len(bodies)] == bodies
    assert len(data) <= used <= len(data) + len(rest)


@given(
    st.binary(max_size=60) | st.tuples(FIELDS, st.binary(max_size=5)).map(lambda pair: frames.frame(pair[0]) + pair[1])
)
def test_any_bytes_in_a_pipe_are_a_frame_or_a_frame_error(data):
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    try:
        fields = frames.read_frame(reading, 40)
        assert frames.frame(fields) == data[: len(frames.frame(fields))]
    except frames.FrameError:
        pass
    finally:
        os.close(reading)


_TAGS = st.sampled_from([bytes([letter]) for letter in b"NETFifcsbBrltSZdOCD?"])
_PIECES = st.lists(st.tuples(_TAGS, lengths).map(b"".join) | st.binary(max_size=9), max_size=12).map(b"".join)


@given(st.binary() | _PIECES)
def test_any_bytes_are_a_value_or_garbled(data):
    try:
        value = transfer.decode(data)
    except transfer.Garbled:
        return
    assert repr(transfer.decode(transfer.encode(value, 1 << 20))) == repr(value)


@given(encodable)
def test_an_encoded_value_cut_or_changed_is_a_value_or_garbled(value):
    data = transfer.encode(value, 1 << 20)
    for at in range(0, len(data), 1 + len(data) // 20):
        for damaged in (data[:at], data[:at] + bytes([data[at] ^ 0x41]) + data[at + 1 :]):
            try:
                transfer.decode(damaged)
            except transfer.Garbled:
                continue


_KINDS = [messages.PLAN, messages.VALUE, messages.RAISED, messages.STEP_LIMIT, messages.OUTPUT_LIMIT, messages.ENDED,
          messages.MEMORY_LIMIT, messages.HARNESS_ERROR, messages.CANDIDATE_GONE, messages.CANNOT_CROSS,
          messages.NOT_PLAIN, messages.VIOLATED, messages.FINDINGS, messages.SECTION]  # fmt: skip
_NUMBERS = st.builds(
    NUMBERS.pack, st.integers(0, 3), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1),
    st.integers(0, 2**64 - 1), st.sampled_from([0, 0, 0, 4, 8, 255]),
)  # fmt: skip
_PLAN = st.tuples(
    st.just(messages.PLAN), st.sampled_from([b"0", b"1"]), st.text("cdaxi", min_size=3, max_size=3).map(str.encode)
)
_BYTES = st.binary(max_size=4)
# What an honest worker writes in its form, if not in its place; and what is nothing at all.
_VALUE = st.tuples(
    st.just(messages.VALUE), _NUMBERS, st.sampled_from([b"p", b"n", b"o"]), _BYTES, _BYTES, _BYTES, _BYTES
)
_RAISED = st.tuples(
    st.just(messages.RAISED), _NUMBERS, _BYTES, _BYTES, st.binary(min_size=4, max_size=4), _BYTES, _BYTES
)
_TOKEN = st.just(b"token") | _BYTES
_ENDED = st.tuples(st.just(messages.ENDED), _NUMBERS, _BYTES, _BYTES, _TOKEN)
_LIMIT = st.tuples(st.sampled_from([messages.STEP_LIMIT, messages.OUTPUT_LIMIT, messages.MEMORY_LIMIT]), _NUMBERS)
_LEAVES = st.tuples(
    st.sampled_from([messages.CANDIDATE_GONE, messages.CANNOT_CROSS, messages.NOT_PLAIN]), _NUMBERS, _BYTES, _TOKEN
)
_NOTES = st.lists(st.binary(max_size=2), max_size=4).map(lambda rest: (messages.FINDINGS, b"\0\0\0\0", *rest))
_ANY = st.tuples(st.sampled_from(_KINDS) | st.binary(max_size=1), _NUMBERS | st.binary(max_size=4), _BYTES).flatmap(
    lambda head: FIELDS.map(lambda rest: (*head, *rest))
)
_RECORD = _VALUE | _RAISED | _ENDED | _LIMIT | _LEAVES | _NOTES | _ANY
_REPORT = st.builds(
    lambda plan, records, tail: b"".join([frames.frame(list(one)) for one in [plan, *records]]) + tail,
    _PLAN, st.lists(_RECORD, max_size=4), st.just(b"") | st.binary(max_size=9),
)  # fmt: skip
_ASKED = st.builds(
    Asked, st.just(3), st.sampled_from([VALUES, ENDS, TEST_ENDS]), st.sampled_from(["d", "dax"]), st.booleans(),
    st.booleans(), st.booleans(), st.integers(1, 2**40), st.sampled_from([0, 1, 1 << 20]),
    st.sampled_from([0, 1 << 16]),
    st.just(b"token"),
)  # fmt: skip
_EXITS = st.builds(
    Exit, st.integers(0, 0xFFFF).filter(lambda status: status & 0x7F != 0x7F), st.integers(0, 10**12),
    st.integers(0, 10**12), st.integers(0, 2**40), st.integers(0, 4),
)  # fmt: skip


@given(st.binary() | _REPORT, _ASKED)
def test_any_bytes_are_answers_to_the_first_turns(data, asked):
    """Nothing that is not its worker's turn, nothing out of order, nothing twice; and never the token by itself."""
    report = read_report(data, asked)
    assert [answer.index for answer in report.answers] == report.turns[: len(report.answers)]
    assert len(set(report.turns)) == len(report.turns)
    assert report.plan is not None or not (report.turns or report.answers or report.notes)
    if report.plan is not None:
        assert report.turns == report.plan.turns(asked)
        calls = [at for at in report.turns if report.plan.classes[at] != messages.CONSTANT]
        assert report.plan.hermetic or asked.takes_turns or len(calls) <= 1
    for answer in report.answers:
        assert answer.kind in asked.kinds
        assert answer.kind != messages.ENDED or answer.fields[2] == asked.token
        assert answer.steps <= asked.steps
        assert max(answer.cpu_ns, answer.wall_ns) < 2**63


@given(st.binary() | _REPORT, _ASKED, _EXITS, st.booleans())
def test_any_bytes_give_results_and_nothing_else(data, asked, facts, over_cap):
    """Every check has a result, runs alone, or goes on in a new worker; no report passes anything by itself."""
    seen = charging.read(
        Result(data, facts, over_cap=over_cap), asked, DEFAULT_LIMITS, lambda plan: Assurance.SEPARATED
    )
    report = read_report(data, asked)
    assert set(seen.results) | set(seen.to_run_alone) <= {0, 1, 2}
    assert not set(seen.results) & set(seen.to_run_alone)
    assert len(set(seen.to_run_alone)) == len(seen.to_run_alone)
    assert seen.results or seen.to_run_alone  # or it would never end
    assert sum(one.cpu_ns for one in seen.results.values() if one.outcome is not Outcome.INVALID) <= facts.cpu_ns
    answered = {answer.index for answer in report.answers}
    for at, judged in seen.results.items():
        assert judged.outcome not in (Outcome.PASSED, Outcome.EVALUATED)
        assert judged.outcome is not None or at in answered
        for text in (judged.detail, judged.shown, *(judged.exception or ())[:2]):
            text.encode()  # whatever the worker wrote can be sent on
        for printed in (judged.stdout, judged.stderr):
            printed.decode()
        assert max(judged.steps, judged.cpu_ns, judged.wall_ns, judged.peak_bytes) < 2**63


@given(st.binary() | _REPORT, _ASKED)
def test_what_is_behind_is_never_what_was_answered_or_is_elsewhere(data, asked):
    """Also of a report that is still being written: any part of it."""
    whole = read_report(data, asked)
    for end in range(0, len(data), 1 + len(data) // 20):
        behind = charging.behind(data[:end], asked)
        assert behind == whole.turns[len(whole.turns) - len(behind) :]


@given(
    st.binary()
    | _REPORT
    | st.lists(st.tuples(st.integers(0, 3), _REPORT), max_size=4).map(
        lambda parts: b"".join(section(place) + part for place, part in parts)
    )
)
def test_any_bytes_are_sections_or_none(data):
    for part in split_sections(data, 3):
        assert part in data


@given(
    st.binary()
    | st.lists(
        st.lists(
            st.sampled_from([b"c", b"e", b"i", b"r", b"z", b""]) | st.binary(max_size=5), min_size=1, max_size=4
        ).map(frames.frame)
    ).map(b"".join)
)
def test_any_bytes_are_readings_or_none(data):
    """A worker that reads what is expected sends one record a text; at the first it cannot have sent it has ended."""
    for reading in readings(data, 3):
        assert isinstance(reading, Reading)
        assert reading.kind is not Kind.UNREAD
        reading.text.encode("utf-8", "surrogatepass")


@given(_EXITS, st.integers(1, 10**11), st.integers(1, 2**40))
def test_any_end_without_an_answer_has_an_outcome_that_is_not_a_pass(facts, cpu_limit_ns, memory_bytes):
    judged = outcomes.of_exit(facts, cpu_limit_ns, memory_bytes)
    assert judged.outcome not in (None, Outcome.PASSED, Outcome.FAILED, Outcome.EVALUATED)
    assert judged.detail


@given(st.binary(max_size=30), st.binary(max_size=30) | st.none(), st.sampled_from([None, *Outcome]))
def test_only_equal_bytes_pass(canonical, expected, outcome):
    settled = outcomes.compare(CheckResult(outcome, canonical=canonical), expected)
    if outcome is None:
        assert (settled.outcome is Outcome.PASSED) == (canonical == expected)
    else:
        assert settled.outcome is outcome


@given(st.lists(st.text("ab \t", max_size=5), max_size=5), st.text(" \t\n", max_size=4))
def test_white_space_at_the_end_of_lines_does_not_count(lines, end):
    text = "\n".join(lines)
    assert all(is_same("\n".join(line + " " for line in lines).encode() + end.encode(), text.encode(), PLAINLY))
    assert not all(is_same(f"x{text}".encode(), text.encode(), PLAINLY))
