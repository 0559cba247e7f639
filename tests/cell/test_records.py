"""What a worker writes of its own about findings and errors."""

import struct
import types

import pytest
from cruxcell.protocol import frames, messages, records


def caught(source: str, name: str = "<program>") -> BaseException:
    try:
        exec(compile(source, name, "exec"), {})
    except BaseException as error:
        return error
    raise AssertionError("it raised nothing")


def test_a_plan_says_whether_its_checks_share():
    said = [frames.unpack(records.plan(shares, "di", ["no"])[4:]) for shares in (True, False)]
    assert said == [[messages.PLAN, b"1", b"di", b"no"], [messages.PLAN, b"0", b"di", b"no"]]


def test_findings_are_told_as_places_among_their_names():
    names = messages.FINDING_NAMES
    record = records.findings(7, [{names[1], names[0]}, set(), {names[-1]}])
    assert frames.unpack(record[4:])[2:] == [bytes([0, 1]), b"", bytes([len(names) - 1])]


def test_the_line_is_that_of_the_program_or_check():
    assert records.line_of(caught("def f():\n\n  1 / 0\nf()")) == 3
    assert records.line_of(caught("import json\n\njson.loads('x')", "<check>")) == 3
    assert records.line_of(caught("1 / 0", "other")) == 0
    assert records.line_of(ValueError()) == 0
    trace = caught("1 / 0").__traceback__
    assert trace is not None
    assert trace.tb_next is not None
    lineless = types.TracebackType(None, trace.tb_next.tb_frame, 1 << 20, -1)  # behind the end of its code
    assert records.line_of(ValueError().with_traceback(lineless)) in (0, -1)  # -1 up to 3.10


def test_what_was_raised_is_told_as_texts_and_a_line():
    raised = caught("def f():\n\n  1 / 0\nf()")
    fields = frames.unpack(records.raised(b"", raised)[4:])
    assert fields[2:5] == [b"ZeroDivisionError", b"division by zero", b"\3\0\0\0"]
    assert frames.unpack(records.raised(b"", caught("\n" * 999 + "1 / 0"))[4:])[4] == b"\xe8\3\0\0"
    trace = raised.__traceback__
    assert trace is not None
    assert trace.tb_next is not None
    odd = raised.with_traceback(types.TracebackType(None, trace.tb_next.tb_frame, 0, -3))
    own = type("Text", (str,), {"__str__": lambda _self: "another"})("text")
    for text, told in ((8, b"<no message>"), (own, b"text")):
        assert frames.unpack(records.raised(b"", odd, text_of=lambda _, text=text: text)[4:])[3:5] == [told, bytes(4)]


@pytest.mark.parametrize(("line", "told"), [(-1, 0), (0, 0), (1, 1), ((1 << 31) - 1, (1 << 31) - 1), (1 << 31, 0)])
def test_a_line_that_cannot_be_is_none(line: int, told: int, monkeypatch: pytest.MonkeyPatch):
    """Up to 3.10 a trace may say that its line is -1."""
    monkeypatch.setattr(records, "line_of", lambda _error: line)
    assert frames.unpack(records.raised(b"", ValueError())[4:])[4] == struct.pack("<i", told)


def test_out_of_memory_is_what_an_operation_ran_out_of_and_no_raise():
    """Who raised it says the operation that did, at the end of the trace."""
    assert records.is_out_of_memory(caught("def f():\n  return [0] * (1 << 60)\nf()"))
    assert not records.is_out_of_memory(caught("def f():\n  raise MemoryError\nf()"))
    assert not records.is_out_of_memory(caught("1 / 0"))
    assert records.is_out_of_memory(MemoryError())
    raised = caught("raise MemoryError")
    trace = raised.__traceback__
    assert trace is not None
    assert trace.tb_next is not None
    raised.__traceback__ = types.TracebackType(None, trace.tb_next.tb_frame, -1, 1)
    assert records.is_out_of_memory(raised)


def test_a_limit_is_told_with_the_numbers_of_its_check():
    for _ in range(2):
        record = records.limit(b"O", 3, 4)
        assert frames.unpack(record[4:]) == [b"O", records.NUMBERS.pack(3, 4, 0, 0, 0)]


def test_what_became_of_many_tests_is_cut_the_last_ones_most():
    ((_, parts),), _ = frames.split(records.tests([(b"f", "n" * 300, "m" * 600)] * messages.MAX_TESTS))
    told = [(len(name), len(message)) for _, name, message in frames.split(parts)[0]]
    assert (told[0], told[-1], len(told)) == ((200, 500), (0, 0), messages.MAX_TESTS)
    assert messages.MAX_TESTS_BYTES // 2 - 700 < sum(map(sum, told)) <= messages.MAX_TESTS_BYTES // 2 + 200
    assert len(parts) < messages.MAX_TESTS_BYTES
