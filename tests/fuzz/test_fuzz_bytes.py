"""Any bytes: a list of fields or a FrameError, a value or Garbled, a Report and findings. Nothing else, ever."""

from __future__ import annotations

import os

from cruxboxd.judging import outcomes
from cruxboxd.judging.outcomes import Finding, Outcome
from cruxboxd.zygotes.exit import Exit
from cruxcell.protocol import frames, messages
from cruxcell.protocol.records import NUMBERS
from cruxcell.values import transfer
from hypothesis import given
from hypothesis import strategies as st
from plain_data import budget, encodable, lengths

FIELDS = st.lists(st.binary(max_size=20), max_size=5)


@budget
@given(st.binary() | st.lists(st.binary(max_size=6) | lengths).map(b"".join))
def test_any_bytes_are_fields_or_a_frame_error(data):
    try:
        fields = frames.unpack(data)
    except frames.FrameError:
        return
    assert frames.pack(fields) == data


@budget
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


@budget
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


@budget
@given(st.binary() | _PIECES)
def test_any_bytes_are_a_value_or_garbled(data):
    try:
        value = transfer.decode(data)
    except transfer.Garbled:
        return
    assert repr(transfer.decode(transfer.encode(value, 1 << 20))) == repr(value)


@budget
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
          messages.MEMORY_LIMIT, messages.HARNESS_ERROR, messages.CANDIDATE_GONE]  # fmt: skip
_NUMBERS = st.builds(
    NUMBERS.pack, st.integers(0, 3), st.integers(0, 2**64 - 1), st.integers(0, 2**64 - 1), st.integers(0, 9),
    st.integers(0, 255),
)  # fmt: skip
_PLAN = st.tuples(st.just(messages.PLAN), st.sampled_from([b"0", b"1"]), st.text("cdaxi", max_size=4).map(str.encode))
_RECORD = st.tuples(
    st.sampled_from(_KINDS) | st.binary(max_size=1), _NUMBERS | st.binary(max_size=3), st.binary(max_size=4)
).flatmap(lambda head: FIELDS.map(lambda rest: [*head, *rest]))
_REPORT = st.builds(
    lambda plan, records, tail: b"".join(map(frames.frame, [list(plan), *records])) + tail,
    _PLAN, st.lists(_RECORD, max_size=4), st.just(b"") | st.binary(max_size=9),
)  # fmt: skip
_EXITS = st.builds(
    Exit, st.integers(0, 0xFFFF).filter(lambda status: status & 0x7F != 0x7F), st.integers(0, 10**12),
    st.integers(0, 10**12), st.integers(0, 2**40), st.integers(0, 4),
)  # fmt: skip


@budget
@given(st.binary() | _REPORT, _EXITS)
def test_any_bytes_are_a_report_and_findings(data, facts):
    report = outcomes.parse_report(data)
    findings, forged = outcomes.of_records(report, 3, facts, 1 << 20)
    assert set(findings) <= {0, 1, 2}
    assert isinstance(forged, str)
    for finding in findings.values():
        assert finding.outcome not in (Outcome.PASSED, Outcome.SANDBOX_ERROR, Outcome.EVALUATED)
        for text in (finding.detail, finding.shown, finding.stdout, finding.stderr, *(finding.exception or ())[:2]):
            text.encode()  # whatever the worker wrote can be sent on
        assert 0 <= finding.cpu_ns <= max(facts.cpu_ns, 2**64)


@budget
@given(_EXITS, st.integers(1, 10**11), st.integers(1, 2**40))
def test_any_end_without_an_answer_has_an_outcome_that_is_not_a_pass(facts, cpu_limit_ns, memory_bytes):
    finding = outcomes.of_exit(facts, cpu_limit_ns, memory_bytes)
    assert finding.outcome not in (None, Outcome.PASSED, Outcome.FAILED, Outcome.EVALUATED)
    assert finding.detail


@budget
@given(st.binary(max_size=30), st.binary(max_size=30) | st.none(), st.sampled_from([None, *Outcome]))
def test_only_equal_bytes_pass(canonical, expected, outcome):
    settled = outcomes.compare(Finding(outcome, canonical=canonical), expected)
    if outcome is None:
        assert (settled.outcome is Outcome.PASSED) == (canonical == expected)
    else:
        assert settled.outcome is outcome


@budget
@given(st.lists(st.text("ab \t", max_size=5), max_size=5), st.text(" \t\n", max_size=4))
def test_white_space_at_the_end_of_lines_does_not_count(lines, end):
    text = "\n".join(lines)
    assert outcomes.same_output("\n".join(line + " " for line in lines).encode() + end.encode(), text.encode())
    assert not outcomes.same_output(f"x{text}".encode(), text.encode())
