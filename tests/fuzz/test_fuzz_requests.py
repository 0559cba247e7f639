"""Any protobuf message is tasks or a RequestError of one sentence; any result can be written."""

from __future__ import annotations

import pytest
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxboxd.judging.outcomes import Assurance, CheckResult, Clock, Outcome
from cruxboxd.judging.tasks import Task as TaskAsk
from cruxboxd.rpc.codec import Offer, Origin, RequestError, Stamp, outline_of, read_tasks, write_verdict
from cruxboxd.rpc.outline import Outline
from cruxboxd.settings.config import DEFAULT_LIMITS, MAXIMUM_LIMITS, MINIMUM_LIMITS, UNITS, LimitError, resolve_limits
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

TERMS = Offer(frozenset({"default", "py39"}), "default", DEFAULT_LIMITS, MAXIMUM_LIMITS)
CALLER = Origin("tenant", True, 0)
STAMP = Stamp({"default": "3.11.7", "py39": "3.9.18"}, "digest", ())

_text = st.sampled_from(["", " ", "f", "f(1)", "x = 1", "\0", "a\nb", "é", "f(", "1"]) | st.text(max_size=9)
_word = st.sampled_from(["", "a", "b", "f", "\x7f", "\n"]) | st.text(max_size=4)
_enum = st.sampled_from([0, 0, 0, 1, 2, 3, 77, -1])
_number = st.sampled_from([0, 0, 0, 1, -1, 20, 1000, 10**9, 2**62, -(2**63)])
_limits = st.builds(
    pb.Limits, cpu_ms=_number, wall_ms=_number, memory_bytes=_number, steps=_number, output_bytes=_number
)
_options = st.builds(
    pb.Options, limits=_limits | st.none(), runtime=st.sampled_from(["", "", "py39", "nope"]), isolation=_enum,
    require_assurance=_enum, repeat=st.sampled_from([0, 0, 1, 2, 3, -1]), step_count=_enum, priority=_enum,
)  # fmt: skip
_check = st.one_of(
    st.builds(pb.Check, id=_word, call=st.builds(pb.CallCheck, call=_text, expected=_text, entry_point=_word)),
    st.builds(pb.Check, id=_word, stdio=st.builds(pb.StdioCheck, stdin=_text, expected_stdout=_text)),
    st.builds(pb.Check, id=_word, script=st.builds(pb.ScriptCheck, script=_text, entry_point=_word)),
    st.builds(pb.Check, id=_word, evaluate=st.builds(pb.EvaluateCheck, call=_text, inspect=st.booleans())),
    st.builds(pb.Check, id=_word),
)
_task = st.builds(
    pb.Task, id=_word, program=_text, checks=st.lists(_check, max_size=3), options=_options | st.none()
)  # fmt: skip
_request = st.builds(pb.CheckRequest, tasks=st.lists(_task, max_size=3), options=_options | st.none())


def read_request(data: bytes) -> list[TaskAsk]:
    outline, tasks = Outline(), []
    for _ in outline_of(data, outline):
        pass
    for _ in read_tasks(data, outline, TERMS, CALLER, tasks):
        pass
    assert outline.checks == sum(len(task.checks) for task in tasks)  # type: ignore[misc]
    return tasks


def judge(data: bytes, request: pb.CheckRequest) -> None:
    try:
        tasks = read_request(data)
    except RequestError as error:
        sentence = str(error)
        assert sentence
        assert "\n" not in sentence
        assert len(sentence) < 500
        return
    assert [task.id for task in tasks] == [task.id for task in request.tasks]
    for task, asked in zip(tasks, request.tasks):
        assert [ask.id for ask in task.checks] == [check.id for check in asked.checks]
        assert task.checks
        assert task.runtime in TERMS.runtimes
        assert task.repeat in (1, 2)
        for name in UNITS:
            low, high = getattr(MINIMUM_LIMITS, name), getattr(MAXIMUM_LIMITS, name)
            assert low <= getattr(task.limits, name) <= high


@given(_request)
def test_any_message_is_tasks_or_one_sentence(request):
    judge(request.SerializeToString(), request)


@given(st.binary(max_size=80), _request)
def test_any_bytes_that_are_a_message_are_tasks_or_one_sentence(data, request):
    whole = request.SerializeToString()
    for candidate in (data, whole + data, whole[: len(whole) // 2] + data):
        try:
            parsed = pb.CheckRequest.FromString(candidate)
        except DecodeError:
            with pytest.raises(RequestError):
                read_request(candidate)
            continue
        judge(candidate, parsed)


def test_an_honest_message_is_tasks():
    check = pb.Check(call=pb.CallCheck(call="f(1)", expected="1"))
    (task,) = read_request(pb.CheckRequest(tasks=[pb.Task(program="f = abs", checks=[check])]).SerializeToString())
    assert (task.program, task.tenant, task.interactive, task.share) == (b"f = abs", "tenant", True, True)


@given(st.dictionaries(st.sampled_from(sorted(UNITS)), _number | st.integers(-(2**63), 2**63 - 1)))
def test_limits_are_given_as_asked_or_refused(asked):
    try:
        limits = resolve_limits(asked, DEFAULT_LIMITS, MAXIMUM_LIMITS)
    except LimitError as error:
        sentence = str(error)
        assert any(f"limits.{name} is {value}" in sentence for name, value in asked.items())
        return
    for name, value in asked.items():
        assert value == 0 or getattr(limits, name) == value


_words = st.text(st.characters(codec="utf-8"), max_size=9)
_printed = _words.map(str.encode)
_count = st.integers(0, 2**64 - 1)
_finding = st.builds(
    CheckResult, st.sampled_from([None, *Outcome]), detail=_words, clock=st.sampled_from([None, *Clock]),
    canonical=st.binary(max_size=3), shown=_words, shown_cut=st.booleans(),
    steps=_count, cpu_ns=_count, wall_ns=_count, peak_bytes=_count,
    exception=st.none() | st.tuples(_words, _words, st.integers(-(2**31), 2**31 - 1)),
    stdout=_printed, stderr=_printed, output_cut=st.booleans(), assurance=st.sampled_from([None, *Assurance]),
)  # fmt: skip


@given(_finding, _finding | st.none())
def test_any_finding_can_be_written_and_read(judged, second):
    check = pb.Check(id="c", call=pb.CallCheck(call="f(1)", expected="1"))
    (task,) = read_request(pb.CheckRequest(tasks=[pb.Task(id="t", checks=[check])]).SerializeToString())
    again = pb.Verdict.FromString(b"".join(write_verdict(task, task.checks[0], judged, second, STAMP)))
    assert (again.task_id, again.check_id, again.steps) == ("t", "c", judged.steps)
    assert again.outcome == (judged.outcome or Outcome.SANDBOX_ERROR).value
    assert again.outcome != pb.OUTCOME_UNSPECIFIED


SENTENCES = [
    (pb.CheckRequest(), "tasks is empty"),
    (pb.CheckRequest(tasks=[pb.Task()]), r"tasks\[0\].checks is empty"),
    (pb.CheckRequest(tasks=[pb.Task(checks=[pb.Check()])]), r"tasks\[0\].checks\[0\] has no kind"),
]


@pytest.mark.parametrize(("request_", "sentence"), SENTENCES)
def test_what_is_missing_is_named(request_, sentence):
    with pytest.raises(RequestError, match=sentence):
        read_request(request_.SerializeToString())
