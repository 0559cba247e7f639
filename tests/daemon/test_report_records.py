"""Records of reports: what no worker writes, notes, the tests of a suite, sections."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from cruxboxd.zygotes.report import ENDS, TEST_ENDS, Asked, text, utf8
from cruxboxd.zygotes.report_parser import split_sections
from cruxcell.protocol import frames, messages, records
from cruxcell.protocol.frames import frame
from reports_by_hand import SUITE, TWO, indexes, numbers, plan, read, value, violated

SEEDLESS_AT, NAME_AT = (bytes([messages.FINDING_NAMES.index(name)]) for name in ("SEEDLESS", "IMPORT_NAME"))


def notes(index: int, *places: bytes) -> bytes:
    return frame([messages.FINDINGS, struct.pack("<I", index), *places])


# ---- records ---------------------------------------------------------------------

RAISED = frame([messages.RAISED, numbers(), b"KeyError", b"'x'", struct.pack("<i", 3), b"out", b"err"])
# What no honest worker writes as the answer to check 0, or instead of it.
FORGED = {
    "a kind there is not": frame([b"?", numbers()]),
    "another kind there is not": frame([b"~", bytes(4)]),
    "a plan again": plan(),
    "too few fields": frame([messages.VALUE, numbers()]),
    "too many fields": frame([messages.STEP_LIMIT, numbers(), b""]),
    "numbers cut off": frame([messages.STEP_LIMIT, numbers()[:-1]]),
    "no fields": frame([]),
    "only a kind": frame([messages.STEP_LIMIT]),
    "garbage": b"\1\0\0\0\0",
    "an encoding there is not": value(0, kind=b"q"),
    "a flag on a value": value(0, flags=records.OUT_OF_MEMORY),
    "a flag on a limit": frame([messages.STEP_LIMIT, numbers(flags=4)]),
    "a flag there is not": frame([messages.RAISED, numbers(flags=8), b"E", b"", b"\0" * 4, b"", b""]),
    "a flag of a test's half": frame([messages.RAISED, numbers(flags=16), b"E", b"", b"\0" * 4, b"", b""]),
    "half a line number": frame([messages.RAISED, numbers(), b"E", b"", b"\0" * 3, b"", b""]),
    "an end of a script": records.ended(numbers()),
    "an end of a test": frame([messages.CANNOT_CROSS, numbers(), b"x", b""]),
    "a failure of ours": records.harness_error("x"),
    "a violation without a number": frame([messages.VIOLATED]),
    "a violation with half a number": frame([messages.VIOLATED, b"\0\0"]),
    "a violation with more than a number": frame([messages.VIOLATED, bytes(5)]),
    "a violation with another field": frame([messages.VIOLATED, bytes(4), b""]),
    "notes nobody asked for": notes(0, NAME_AT),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGED)
def test_what_no_worker_writes(name: str):
    report = read(plan(), FORGED[name])
    assert (report.answers, bool(report.forged)) == ([], True)
    report = read(plan("dcd"), value(1), FORGED[name], value(0), asked=replace(TWO, count=3))
    assert (indexes(report), bool(report.forged)) == ([1], True)


# Records with a field that no worker makes so large, for an output limit of 1,000 characters.
LARGE = {
    "canonical": records.value(numbers(), messages.PLAIN, b"z" * 65_537, b"1"),
    "shown": records.value(numbers(), messages.PLAIN, b"i1;", b"z" * (6 * messages.MAX_TEXT + 2)),
    "stdout": records.value(numbers(), messages.PLAIN, b"i1;", b"1", b"z" * 6_001),
    "stderr": records.value(numbers(), messages.PLAIN, b"i1;", b"1", b"", b"z" * 6_001),
    "name": frame([messages.RAISED, numbers(), b"E" * 1_201, b"", b"\0" * 4, b"", b""]),
    "message": frame([messages.RAISED, numbers(), b"E", b"z" * (6 * messages.MAX_TEXT + 1), b"\0" * 4, b"", b""]),
    "token": frame([messages.ENDED, numbers(), b"", b"", b"z" * 257]),
    "printed": frame([messages.ENDED, numbers(), b"z" * 6_001, b"", b""]),
    "sentence": frame([messages.NOT_PLAIN, numbers(), b"z" * (6 * messages.MAX_TEXT + 1), b""]),
    "token of who leaves": frame([messages.NOT_PLAIN, numbers(), b"", b"z" * 257]),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_record_larger_than_any_worker_writes(name: str):
    kinds = TEST_ENDS | {messages.VALUE}
    report = read(plan(), LARGE[name], asked=replace(TWO, kinds=kinds))
    assert (report.answers, "larger" in report.forged) == ([], True)


@pytest.mark.parametrize("name", ["shown", "name", "message", "sentence", "token", "token of who leaves", "printed"])
def test_a_record_one_byte_smaller_may_be_an_honest_worker_s(name: str):
    fields = frames.unpack(LARGE[name][4:])
    longest = max(range(len(fields)), key=lambda at: len(fields[at]))
    fields[longest] = fields[longest][:-1]
    report = read(plan(), frame(fields), asked=replace(TWO, kinds=TEST_ENDS | {messages.VALUE}))
    assert "larger" not in report.forged


def test_a_value_may_be_as_large_as_the_output_or_as_asked():
    large = records.value(numbers(), messages.PLAIN, b"z" * 65_536, b"1")
    assert read(plan(), large).forged == ""
    larger = records.value(numbers(), messages.PLAIN, b"z" * 65_537, b"1")
    assert read(plan(), larger, asked=replace(TWO, output=65_537)).forged == ""
    assert read(plan(), larger, asked=replace(TWO, value_bytes=65_537)).forged == ""


def test_what_is_printed_is_counted_in_bytes():
    """The worker counts characters."""
    for stdout, stderr, kind in (
        (500, 500, messages.VALUE),
        (501, 0, messages.OUTPUT_LIMIT),
        (0, 501, messages.OUTPUT_LIMIT),
    ):
        printed = ["\xe9".encode() * each for each in (stdout, stderr)]
        report = read(plan(), frame([messages.VALUE, numbers(), messages.PLAIN, b"i1;", b"1", *printed]))
        assert (report.forged, report.answers[0].kind, report.answers[0].steps) == ("", kind, 10)
        assert not report.answers[0].is_out_of_memory
        assert len(report.answers[0].fields) == (5 if kind == messages.VALUE else 0)


@pytest.mark.parametrize("data", [b"\xff", b"\xffa", b"\xe9", b"a\xed\xa0\x80", b"\xf0\x9f\x98"])
def test_a_long_text_does_not_grow(data: bytes):
    much = data * (1 << 16)
    assert len(text(much).encode()) <= len(much)
    assert text(data) == data.decode("utf-8", "replace")
    assert utf8(much) == text(much).encode()


def test_what_is_text_is_told_as_it_is():
    assert text(b"a" * 60_000 + b"\xff")[-2:] == "a\ufffd", "in a text that is not long"
    much = "a\xe9\ufffd\U0001f600" * (1 << 14)
    assert (text(much.encode()), utf8(much.encode())) == (much, much.encode())


def test_only_the_sandbox_knows_the_token():
    asked = Asked(kinds=ENDS, runs="x", token=b"secret")
    honest = read(plan("x", False), records.ended(numbers(), token=b"secret"), asked=asked)
    assert (honest.last_kind, honest.forged) == (messages.ENDED, "")
    for token in (b"", b"Secret", b"secret\0"):
        forged = read(plan("x", False), records.ended(numbers(), token=token), asked=asked)
        assert (forged.answers, bool(forged.forged)) == ([], True)


def test_what_a_record_says_is_told():
    report = read(plan(), RAISED, value(1, b"i2;"))
    first, second = report.answers
    assert (first.kind, first.fields) == (messages.RAISED, (b"KeyError", b"'x'", struct.pack("<i", 3), b"out", b"err"))
    assert (first.steps, first.cpu_ns, first.wall_ns, first.is_out_of_memory) == (10, 1, 2, False)
    assert second.fields[:2] == (messages.PLAIN, b"i2;")


def test_what_is_claimed_is_cut_to_what_can_be():
    answer = read(plan(), value(steps=2**64 - 1, cpu_ns=2**64 - 1, wall_ns=2**64 - 1)).answers[0]
    assert (answer.steps, answer.cpu_ns, answer.wall_ns) == (500, 2**63 - 1, 2**63 - 1)


@pytest.mark.parametrize("cut", [1, 5, 20])
def test_a_report_that_is_cut_off_is_read_up_to_there(cut: int):
    report = read(plan(), value(0), value(1)[:-cut])
    assert (indexes(report), report.is_cut, report.forged) == ([0], True, "")


def test_more_than_any_worker_writes_is_not_read(monkeypatch: pytest.MonkeyPatch):
    """Nor taken apart: the smallest records there are would cost the daemon far more time than bytes."""
    found: list[list[bytes]] = []

    def split(data: bytes, into: list[list[bytes]], *bounds: int) -> object:
        found.clear()
        try:
            return frames_split(data, into, *bounds)
        finally:
            found.extend(into)

    frames_split = frames.split
    monkeypatch.setattr(frames, "split", split)
    assert read(plan(), *[frame([])] * 10_000).forged
    assert len(found) == 9
    assert read(plan("ddd"), *[frame([])] * 10_000, asked=replace(TWO, count=3)).forged
    assert len(found) == 11
    assert "too many" in read(plan(), frame([b""] * 19)).forged
    assert "too many" not in read(plan(), frame([b""] * 18)).forged


def test_a_violation_is_the_last_word():
    report = read(plan(), value(0), violated(59))
    assert (indexes(report), report.syscall, report.forged) == ([0], 59, "")


# ---- notes -----------------------------------------------------------------------

NOTED = replace(TWO, texts_noted=True, runs_noted=True)


def test_notes_on_the_texts_come_before_anything_ran():
    report = read(plan(), notes(0, SEEDLESS_AT, NAME_AT), value(0), value(1), asked=NOTED)
    assert (report.notes, report.forged) == ({0: ("SEEDLESS",), 1: ("IMPORT_NAME",)}, "")
    report = read(plan("ddd"), notes(0, NAME_AT, b"", NAME_AT), asked=replace(NOTED, count=3))
    assert (report.notes, report.forged) == ({0: ("IMPORT_NAME",), 2: ("IMPORT_NAME",)}, "")
    report = read(plan("d" * 17), notes(0, *[NAME_AT] * 17), asked=replace(NOTED, count=17))
    assert (len(report.notes), report.forged, report.is_cut) == (17, "", False)
    report = read(plan("dd", False), notes(0, SEEDLESS_AT, NAME_AT), asked=NOTED)
    assert report.notes == {0: (), 1: ("IMPORT_NAME",)}  # not known of a program that is not hermetic


@pytest.mark.parametrize("noted", [2, 4])
def test_notes_on_other_texts_are_forged(noted: int):
    report = read(plan("ddd"), notes(0, *[NAME_AT] * noted), value(0), asked=replace(NOTED, count=3))
    assert (report.notes, report.answers, bool(report.forged)) == ({}, [], True)


@pytest.mark.parametrize(
    "record",
    [
        *[frame([kind, bytes(4), NAME_AT, NAME_AT]) for kind in (b"?", b"Z", b"")],
        frame([messages.FINDINGS, bytes(3), NAME_AT, NAME_AT]),
        notes(1, NAME_AT, NAME_AT),
        notes(0, b"\xff", NAME_AT),
    ],
)
def test_notes_on_the_texts_have_one_form(record: bytes):
    report = read(plan(), record, value(0), asked=NOTED)
    assert (report.notes, report.answers, bool(report.forged)) == ({}, [], True)


def test_notes_on_a_run_come_in_its_turn():
    report = read(plan(), notes(0, b"", NAME_AT), value(0), notes(1, NAME_AT), value(1), asked=NOTED)
    assert (report.notes, report.forged) == ({1: ("IMPORT_NAME",)}, "")
    report = read(plan(), notes(0, b"\1"), value(0), asked=replace(NOTED, texts_noted=False))
    assert report.notes == {0: (messages.FINDING_NAMES[1],)}
    assert read(plan(), notes(0, b""), value(0), asked=NOTED).forged == ""
    assert read(plan(), asked=NOTED).forged == ""  # cut short before any notes


def test_a_run_may_have_every_note_but_one():
    every = bytes(range(len(messages.FINDING_NAMES)))
    report = read(plan("dd", False), notes(0, every, every[:-1]), asked=NOTED)
    assert report.notes == dict.fromkeys((0, 1), tuple(name for name in messages.FINDING_NAMES if name != "SEEDLESS"))


FORGED_NOTES = {
    "of another check": notes(1, NAME_AT),
    "of several": notes(0, NAME_AT, NAME_AT, NAME_AT),
    "of all texts": notes(0, NAME_AT, NAME_AT),
    "that say what is known before": notes(0, SEEDLESS_AT),
    "of a name there is not": notes(0, b"\xff"),
    "of the first name there is not": notes(0, bytes([len(messages.FINDING_NAMES)])),
    "of too many": notes(0, NAME_AT * 99),
    "without a check": frame([messages.FINDINGS]),
    "with half a check": frame([messages.FINDINGS, b"\0", NAME_AT]),
    "twice": notes(0, NAME_AT) * 2,
}


@pytest.mark.parametrize("name", FORGED_NOTES)
def test_notes_no_worker_writes(name: str):
    asked = replace(NOTED, texts_noted=False)
    report = read(plan(), FORGED_NOTES[name], value(0), asked=asked)
    assert (report.answers, bool(report.forged)) == ([], True)
    assert 1 not in report.notes


def test_nobody_is_noted_after_the_last_turn():
    report = read(plan("d"), value(0), notes(0, NAME_AT), asked=replace(NOTED, count=1, texts_noted=False))
    assert (report.notes, bool(report.forged)) == ({}, True)


ONE_TEST = [messages.TEST_FAILED, b"T.test", b"0 != 1"]


def told(*tests: list[bytes]) -> bytes:
    return frame([messages.TESTS, b"".join(map(frame, tests))])


def test_the_tests_of_a_suite_are_told_before_its_end():
    report = read(plan("x"), told(ONE_TEST), records.ended(numbers()), asked=SUITE)
    assert (report.tests, report.forged) == (((messages.TEST_FAILED, "T.test", "0 != 1"),), "")
    assert read(plan("x"), told(), asked=SUITE).tests == ()
    assert read(plan("x"), records.ended(numbers()), asked=SUITE).tests is None


FORGED_TESTS = {
    "twice": told(ONE_TEST) + told([messages.TEST_PASSED, b"T.test", b""]),
    "after its end": records.ended(numbers()) + told(ONE_TEST),
    "without a list": frame([messages.TESTS]),
    "with two lists": frame([messages.TESTS, frame(ONE_TEST), b""]),
    "garbled": frame([messages.TESTS, b"\1\0\0\0\0"]),
    "cut off": frame([messages.TESTS, frame(ONE_TEST)[:-1]]),
    "with a letter there is not": told([b"?", b"T.test", b""]),
    "without a message": told([messages.TEST_PASSED, b"T.test"]),
    "with a field too many": told([*ONE_TEST, b""]),
    "too many": told(*[[messages.TEST_PASSED, b"", b""]] * (messages.MAX_TESTS + 1)),
    "too large": told([messages.TEST_FAILED, b"", b"z" * messages.MAX_TESTS_BYTES]),
}


@pytest.mark.parametrize("name", FORGED_TESTS)
def test_tests_no_worker_tells_of(name: str):
    report = read(plan("x"), FORGED_TESTS[name], asked=SUITE)
    assert bool(report.forged)
    assert report.tests == (((messages.TEST_FAILED, "T.test", "0 != 1"),) if name == "twice" else None)


def test_only_a_suite_tells_of_tests():
    report = read(plan("x"), told(ONE_TEST), records.ended(numbers()), asked=replace(SUITE, is_suite=False))
    assert (report.tests, report.answers, bool(report.forged)) == (None, [], True)


# ---- sections --------------------------------------------------------------------


def test_sections_in_their_order():
    parts = [plan() + value(0), b"", plan()[:-1]]
    said = b"".join(records.section(at) + part for at, part in enumerate(parts))
    assert split_sections(said, 3) == parts
    assert split_sections(said, 2) == []
    cut = records.section(1)[:-1]
    assert split_sections(records.section(0) + parts[0] + cut, 3) == [parts[0] + cut]
    assert split_sections(b"x" + said, 3) == []
    assert split_sections(plan() + said, 4) == []
    for places in ([1], [0, 2], [0, 0], [1, 0]):
        assert split_sections(b"".join(map(records.section, places)), 3) == []
    assert split_sections(b"", 3) == []


@pytest.mark.parametrize(("missing", "is_heard"), [(0, True), (1, False)])
def test_tests_may_take_so_many_bytes(missing: int, is_heard: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(messages, "MAX_TESTS_BYTES", len(frame(ONE_TEST)) - missing)
    assert (read(plan("x"), told(ONE_TEST), asked=SUITE).forged == "") is is_heard


@pytest.mark.parametrize("size", range(8))
def test_sections_end_where_the_next_one_begins(size: int):
    bodies = [frame([bytes(size)]), frame([b""]), frame([bytes(2 * size)])]
    report = b"".join(records.section(at) + body for at, body in enumerate(bodies))
    assert split_sections(report, 3) == bodies
