"""What is read off a request before it is parsed: it agrees with the parser, whatever the bytes, and stops early."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxboxd.rpc import outline
from cruxboxd.rpc.outline import Malformed, Outline, TooMany, pieces, walk
from cruxboxd.rpc.wire import field
from google.protobuf.message import DecodeError
from hypothesis import example, given
from hypothesis import strategies as st

MOST = 1_000


def outlined(data: bytes, most: int = MOST) -> Outline:
    found = Outline()
    for _ in walk(data, found, most):
        pass
    return found


texts = st.text(max_size=20)
options = st.builds(pb.Options, runtime=texts, repeat=st.integers(0, 2))
checks = st.builds(lambda one, call: pb.Check(id=one, evaluate=pb.EvaluateCheck(call=call)), texts, texts)
tasks = st.builds(pb.Task, id=texts, program=texts, checks=st.lists(checks, max_size=5), options=st.none() | options)
requests = st.builds(pb.CheckRequest, tasks=st.lists(tasks, max_size=5), options=st.none() | options)


@given(requests)
def test_the_outline_is_that_of_the_message(request):
    data = request.SerializeToString()
    found = outlined(data)
    assert [pb.Task.FromString(data[begin:end]) for begin, end, _ in found.tasks] == list(request.tasks)
    assert [count for _, _, count in found.tasks] == [len(task.checks) for task in request.tasks]
    assert pb.Options.FromString(b"".join(data[begin:end] for begin, end in found.options)) == request.options


@given(requests, st.integers(0, 200), st.binary(max_size=12), st.integers(0, 12))
@example(pb.CheckRequest(), 0, b"\x0a\x00" * 6, 0)
@example(pb.CheckRequest(), 0, b"\x8a\x00\x80\x00\x0a\x02\x1a\x00", 0)  # a tag and a length longer than they need be
@example(pb.CheckRequest(), 0, b"\x0b\x0c", 0)  # a group
@example(pb.CheckRequest(), 0, b"\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 0)  # a number of 11 bytes
@example(pb.CheckRequest(), 0, b"\x0a\xff\xff\xff\xff\xff\x01", 0)
@example(pb.CheckRequest(), 0, b"\x0a\xff\xff\xff\x7f", 0)
@example(pb.CheckRequest(), 0, b"\x02\x00", 0)  # field 0
def test_bytes_that_were_disturbed_are_refused_or_counted_as_the_parser_counts(request, at, noise, cut):
    data = request.SerializeToString()
    at = min(at, len(data))
    data = data[:at] + noise + data[at + cut :]
    try:
        found = outlined(data)
    except (Malformed, TooMany):
        return
    try:
        parsed = pb.CheckRequest.FromString(data)
    except DecodeError:
        return
    assert [count for _, _, count in found.tasks] == [len(task.checks) for task in parsed.tasks]
    assert found.checks == sum(len(task.checks) for task in parsed.tasks)


@given(st.binary(max_size=64))
def test_any_bytes_end_in_an_outline_or_a_refusal(data):
    try:
        found = outlined(data)
    except (Malformed, TooMany):
        return
    assert all(0 <= begin <= end <= len(data) for begin, end, _ in found.tasks)


@given(tasks, st.integers(1, 6))
def test_pieces_put_together_are_the_message(task, most):
    data = b"head" + task.SerializeToString()
    whole = pb.Task()
    found = list(pieces(data, 4, len(data), most, len(data)))
    for piece in found:
        whole.MergeFrom(pb.Task.FromString(piece))
    assert whole == task
    fields = bool(task.id) + bool(task.program) + len(task.checks) + task.HasField("options")
    assert len(found) == -(-fields // most)


def test_a_piece_has_no_more_bytes_than_it_may_unless_one_field_has_them():
    fields = [field(3, b"x" * size) for size in (1, 2, 50, 3, 4, 5)]
    data = b"head" + b"".join(fields)
    found = list(pieces(data, 4, len(data), 100, 12))
    assert all(pieces(field(3, b"x" * 50) * 2, 0, 2 * 52, 100, 12))
    assert found == [fields[0] + fields[1], fields[2], fields[3] + fields[4], fields[5]]
    assert list(pieces(data, 4, len(data), 2, 12)) == found


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"\x0a\x00" * 10**6, "at most 1000 tasks"),
        (field(1, b"\x1a\x00" * 10**6), "at most 1000 checks"),
        (field(1, b"\x1a\x00" * 900) + field(1, b"\x1a\x00" * 900), "at most 1000 checks"),
        (field(2, b"\x0a\x00" * 10**6), "^options: 2000000 bytes are more than the 4096 that options may have$"),
        (field(2, b"\x0a\x00" * 1_500) * 2, "^options: 6000 bytes"),
        (b"\x12\x00" * 10**6, "options stand in the request more than 32 times"),
        (field(1, b"") * 2 + field(1, field(4, b"\x0a\x00" * 10**6)), r"^tasks\[2\].options: 2000000 bytes"),
        (field(1, field(4, b"\x0a\x00" * 100) * 21), r"^tasks\[0\].options: 4200 bytes"),
        (field(1, b"\x22\x00" * 10**6), "a task has more than 32 fields beside its checks"),
        (field(1, b"\x12\x00" * 10**6), "a task has more than 32 fields beside its checks"),
        (field(1, b"\x98\x06\x01" * 10**6), "a task has more than 32 fields beside its checks"),
        (field(1, b"\x2a\x00\x32\x00" * 10**6), "a task holds at most 128 files and environment variables"),
        (field(1, field(3, b"\x12\x00" * 10**6)), "a check has more than 32 fields"),
        (field(1, field(3, field(2, b"\x0a\x00" * 10**6))), "a check's kind has more than 288 fields"),
        (field(1, field(3, field(6, b"\x12\x00" * 150) * 2)), "a check's kind has more than 288 fields"),
        (field(1, field(5, b"\x0a\x00" * 10**6)), "a file or variable has more than 4 fields"),
        (field(1, field(6, b"\x12\x00" * 10**6)), "a file or variable has more than 4 fields"),
        (field(1, field(3, field(3, field(8, b"\x0a\x00" * 10**6)))), "a file or variable has more than 4 fields"),
        (field(1, field(3, field(6, field(4, b"\x0a\x00" * 2_000) * 9))), "a file or variable has more than 4 fields"),
    ],
)
def test_what_would_be_costly_to_parse_is_refused_before(data, what):
    """Some thousand fields are looked at, whatever the size of the message."""
    with pytest.raises(TooMany, match=what):
        list(itertools.islice(walk(data, Outline(), MOST), 5))


@pytest.mark.parametrize(
    "data",
    [
        field(1, field(3, field(3, field(9, field(1, b"a")) * 60)) * 1_000),
        field(1, field(3, field(6, b"\x12\x00\x2a\x00" * 60)) * 1_000),
        field(1, field(5, field(1, b"a")) * 60) * 100,
    ],
)
def test_arguments_files_and_variables_are_few_in_all(data: bytes):
    """However many checks and tasks they are spread over: each takes a hundred bytes when it is parsed."""
    with pytest.raises(TooMany, match="at most 1000 arguments, files and variables"):
        list(walk(data, Outline(), MOST))


def test_a_check_may_have_all_that_it_may_have():
    names = [f"{number:02d}" + "x" * 198 for number in range(64)]
    full = {"files": dict.fromkeys(names, b"\x0a\x00" * 4_000), "env": dict.fromkeys(names, "1"), "arguments": names}
    kinds = [
        pb.Check(run=pb.RunCheck(read_files=names, **full)),
        pb.Check(stdio=pb.StdioCheck(checker="x" * 5_000, **full)),
    ]
    kinds.append(
        pb.Check(script=pb.ScriptCheck(script="\n\0" * 5_000, entry_point="\n\0" * 5_000, framework="\n\0" * 5_000))
    )
    data = pb.CheckRequest(tasks=[pb.Task(checks=kinds, files=full["files"], env=full["env"])]).SerializeToString()
    assert outlined(data).checks == len(kinds)


def test_what_stands_in_a_short_check_or_is_none_of_its_parts_is_not_counted():
    short = [pb.Check(run=pb.RunCheck(arguments=["a", "b"]))] * 3
    long = [pb.Check(run=pb.RunCheck(stdin="x" * 200, arguments=["a", "b"]))]
    for checks, parts in ((short, 0), (long, 2)):
        data = pb.CheckRequest(tasks=[pb.Task(checks=checks)]).SerializeToString()
        assert outlined(data, most=3).parts == parts


def test_what_it_does_not_know_is_no_field_of_ours():
    """A later client's fields: of the request, of a task, and of a check that is long enough to be looked into."""
    check = b"\x78\x01" + field(6, b"\x0a\x00" * 200 + field(1, b"x" * 9_000)) + field(7, b"no message" * 100)
    task = field(3, check) + field(9, b"x" * 9_000) + b"\x78\x01" * 28
    found = outlined(field(7, b"\x0a\x00") + field(1, task) + b"\x78\x01")
    assert (found.options, found.checks) == ([], 1)


@pytest.mark.parametrize(
    "unknown",
    [
        b"\x78\xff\xff\x01",
        b"\x79" + b"\xff" * 8,
        b"\x7d" + b"\xff" * 4,
        b"\x78" + b"\x80" * 9 + b"\x01",
        b"\xa0\x06\x01" * 2,
        b"\xa2\x06\x01x\xa0\x06\x01" * 2,
    ],
    ids=["varint", "fixed64", "fixed32", "longest", "long tags", "long tags with content"],
)
def test_fields_of_every_type_are_walked_over(unknown: bytes):
    assert outlined(unknown + field(1, unknown + field(3, b"") + unknown) + unknown).checks == 1


@pytest.mark.parametrize(
    "data",
    [
        *[tag + bytes(size) for tag in (b"\x0b", b"\x0c", b"\x0e", b"\x0f") for size in (1, 4, 8)],
        b"\x02\x00", b"\x00\x00", b"\x08" + b"\x80" * 10 + b"\x01", b"\xfa\xff\xff\xff\x7f\x00", b"\x0a",
        b"\x0a\x02x",
    ],
)  # fmt: skip
def test_what_is_no_field_is_refused(data: bytes):
    """Groups, types that do not exist, field 0, numbers that are too long or large, fields that are cut off."""
    with pytest.raises(Malformed):
        outlined(data)


@pytest.mark.parametrize(
    ("data", "times"),
    [
        (field(1, b"\x1a\x00" * 10) * 10_000, 109),
        (field(1, b"\x1a\x00" * 10_000), 10),
        (field(1, b"") * 10_000, 10),
    ],
    ids=["both", "checks", "tasks"],
)
def test_it_comes_up_for_air(data: bytes, times: int):
    assert len(list(walk(data, Outline(), 10**6))) == times


def test_every_kind_is_looked_into():
    kinds = pb.Check.DESCRIPTOR.oneofs_by_name["kind"].fields
    assert list(outline._ENTRIES) == [kind.number << 3 | 2 for kind in kinds]
    for kind in kinds:
        maps = [one for one in kind.message_type.fields if one.message_type is not None]
        assert outline._ENTRIES[kind.number << 3 | 2] == tuple(one.number << 3 | 2 for one in maps)
        empty = getattr(pb.Check(), kind.name)
        lists = [one for one in kind.message_type.fields if hasattr(getattr(empty, one.name), "append")]
        assert outline._LISTS.get(kind.number << 3 | 2, ()) == tuple(one.number << 3 | 2 for one in lists)


def test_what_a_check_holds_counts_in_a_step(monkeypatch: pytest.MonkeyPatch):
    """However it is nested: kinds, and files of these, of which each alone has few fields."""
    walked: list[int] = []
    of = outline._field

    def one_field(*where: Any) -> tuple[int, int, int]:
        walked.append(1)
        return of(*where)

    monkeypatch.setattr(outline, "_field", one_field)
    files = field(3, field(8, b"\x0a\x00" * 4) * 287)
    data = field(1, (field(3, files) + field(3, field(5, b"\x3a\x00" * 287))) * 100)
    in_a_step = [0]
    for _ in walk(data, Outline(), 100 * MOST):
        in_a_step.append(len(walked))
    in_a_step.append(len(walked))
    assert len(walked) > 170_000
    assert max(later - sooner for sooner, later in zip(in_a_step, in_a_step[1:])) <= 1_000 + 10
