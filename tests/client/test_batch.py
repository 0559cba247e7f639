"""Batching without a server: every position gets exactly one verdict, the right one, whatever is lost on the way."""

from __future__ import annotations

import random
import re

import pytest
from cruxbox import AsyncClient, Client
from cruxbox.batch import Batch, Sizes
from cruxbox.errors import InvalidRequest, ServerError
from cruxbox.model import Assurance, CallCheck, EvaluateCheck, Limits, Outcome, ScriptCheck, StdioCheck, Task, Tolerance
from cruxbox_proto.v1 import sandbox_pb2 as pb
from hypothesis import given
from hypothesis import strategies as st


def fingerprint(program: str, steps: int, check: pb.Check) -> str:
    """What a server could say that depends on all that a verdict depends on."""
    return f"{program}/{steps}/{check.WhichOneof('kind')}/{getattr(check, check.WhichOneof('kind'))}"


def told(task: Task, check) -> str:
    """The same, from the caller's side."""
    batch = Batch()
    batch.add(Task(task.program, [check], limits=task.limits))
    request = batch.request(0, 1).tasks[0]
    return fingerprint(request.program, request.options.limits.steps, request.checks[0])


def answer(request: pb.CheckRequest) -> list[pb.Verdict]:
    return [
        pb.Verdict(
            task_id=task.id,
            check_id=check.id,
            outcome=pb.OUTCOME_EVALUATED if check.WhichOneof("kind") == "evaluate" else pb.OUTCOME_PASSED,
            value=fingerprint(task.program, task.options.limits.steps, check),
            attempts=1,
        )
        for task in request.tasks
        for check in task.checks
    ]


texts = st.sampled_from(["", "a", "b", "é", "f(1)"])
checks = st.one_of(
    st.builds(CallCheck, texts, texts, texts, texts),
    st.builds(StdioCheck, texts, texts, texts),
    st.builds(ScriptCheck, texts, texts, texts),
    st.builds(EvaluateCheck, texts, st.booleans(), texts),
)
tasks = st.lists(
    st.builds(
        Task,
        texts,
        st.lists(checks, min_size=1, max_size=5),
        texts,
        limits=st.sampled_from([Limits(), Limits(steps=7)]),
    ),
    max_size=12,
)


@given(tasks, st.integers(0, 2**32), st.booleans(), st.integers(1, 4))
def test_every_position_gets_its_own_verdict(tasks, seed, remember, size):
    """Requests of any size, answers in any order, streams that break, faults of the sandbox, answers given twice."""
    rand = random.Random(seed)
    batch = Batch(Sizes(checks=size, bytes=400), remember=remember, sandbox_retries=10**6)
    waiting, on_the_way, got = list(tasks), [], {}
    while waiting or batch.unanswered:
        choice = rand.random()
        if waiting and choice < 0.3:
            batch.add(waiting.pop(0))
        elif choice < 0.6:
            stream = rand.randrange(2)
            request = batch.request(stream, rand.randint(1, 5))
            if request is not None:
                assert sum(len(task.checks) for task in request.tasks) <= size
                on_the_way += [(stream, verdict) for verdict in answer(request)]
        elif choice < 0.65:
            stream = rand.randrange(2)
            batch.requeue(stream)
            on_the_way = [item for item in on_the_way if item[0] != stream]
        elif choice < 0.7:
            batch.warm()
        elif on_the_way:
            _, verdict = on_the_way.pop(rand.randrange(len(on_the_way)))
            if rand.random() < 0.1:
                verdict.outcome, verdict.value = pb.OUTCOME_SANDBOX_ERROR, ""
            batch.accept(pb.CheckResponse(verdicts=[verdict, verdict]))
        for position, verdict in batch.answers():
            assert position not in got
            got[position] = verdict
    for position, verdict in batch.answers():
        got[position] = verdict
    asked = [(task, check) for task in tasks for check in task.checks]
    assert sorted(got) == list(range(len(asked)))
    for position, (task, check) in enumerate(asked):
        verdict = got[position]
        assert (verdict.task_id, verdict.check_id) == (task.id, check.id)
        assert verdict.outcome is (Outcome.EVALUATED if isinstance(check, EvaluateCheck) else Outcome.PASSED)
        assert verdict.value == told(task, check)
    assert batch.open_positions == batch.flying == batch.waiting == 0
    if not remember:
        assert batch.open_bytes == 0


def test_what_is_the_same_is_sent_once():
    batch = Batch()
    for number in range(10):
        batch.add(Task("p", [CallCheck("f(1)", "2", id=str(number)), CallCheck("f(1)", "2")], id=f"t{number}"))
    request = batch.request(0, 100)
    assert [len(task.checks) for task in request.tasks] == [1]
    batch.accept(pb.CheckResponse(verdicts=answer(request)))
    assert [(position, v.task_id, v.check_id) for position, v in batch.answers()] == [
        (position, f"t{position // 2}", "" if position % 2 else str(position // 2)) for position in range(20)
    ]


def test_other_options_are_another_question():
    batch = Batch()
    batch.add(Task("p", [CallCheck("f(1)", "2")]))
    batch.add(Task("p", [CallCheck("f(1)", "2")], limits=Limits(cpu_ms=5)))
    batch.add(Task("p", [CallCheck("f(1)", "2")], runtime="other"))
    assert batch.distinct == 3


def test_a_request_is_bounded_in_bytes_but_a_single_large_check_goes_alone():
    batch = Batch(Sizes(bytes=1000, message_bytes=10_000))
    batch.add(Task("p", [CallCheck("x" * 400, str(number)) for number in range(4)]))
    batch.add(Task("q" * 5000, [CallCheck("f()", "1")]))
    sizes = []
    while (request := batch.request(0, 100)) is not None:
        sizes.append([len(task.checks) for task in request.tasks])
    assert sizes == [[2], [2], [1]]


@pytest.mark.parametrize(("message_bytes", "sizes"), [(20_000, [64, 16]), (5_500, [15] * 5 + [5])])
def test_a_large_program_goes_as_seldom_as_a_server_takes_it(message_bytes: int, sizes: list[int]):
    batch = Batch(Sizes(checks=64, bytes=1000, message_bytes=message_bytes))
    batch.add(Task("q" * 5000, [CallCheck(f"f({number:09})", "1") for number in range(80)]))
    asked = []
    while (request := batch.request(0, 100)) is not None:
        asked.append(request)
    assert [len(one.tasks[0].checks) for one in asked] == sizes
    assert max(one.ByteSize() for one in asked) <= message_bytes


def test_what_cannot_be_sent_is_invalid_at_once():
    batch = Batch(Sizes(message_bytes=1000))
    batch.add(Task("p", [CallCheck("'\ud800'", "1", id="a"), CallCheck("x" * 2000, "1", id="b")], id="t"))
    batch.add(Task("\udfff", [CallCheck("1", "1")]))
    assert not batch.unanswered
    verdicts = [verdict for _, verdict in sorted(batch.answers(), key=lambda pair: pair[0])]
    assert [verdict.outcome for verdict in verdicts] == [Outcome.INVALID, Outcome.SANDBOX_ERROR, Outcome.INVALID]
    assert [verdict.check_id for verdict in verdicts] == ["a", "b", ""]
    assert verdicts[0].detail.startswith("Task 't', check 'a': the check holds a lone surrogate (U+D800)")
    assert verdicts[1].detail == "Task 't', check 'b': program and check are 2,082 bytes, a request holds at most 1,000"
    assert verdicts[1].passed is None  # a bound of ours is not its fault
    assert "program" in verdicts[2].detail


def test_a_program_that_is_too_large_by_itself_is_at_fault():
    """As the commands have it: a reward that leaves it out would reward it."""
    batch = Batch()
    batch.add(Task("#" * (16 << 20), [ScriptCheck("assert f() == 1", "f"), StdioCheck("1", "1")]))
    batch.add(Task("#", [StdioCheck("1" * (16 << 20), "1")]))
    assert not batch.unanswered
    verdicts = [verdict for _, verdict in sorted(batch.answers(), key=lambda pair: pair[0])]
    assert [verdict.passed for verdict in verdicts] == [False, False, None]
    assert verdicts[0].outcome is Outcome.INVALID
    assert verdicts[0].detail.endswith("the generation is 16,777,216 bytes, at most 15,728,640 are run")


def test_what_a_server_takes_is_sent():
    batch = Batch()
    batch.add(Task("p", [StdioCheck("1" * 4_800_000, "2" * 4_800_000)]))
    assert batch.request(0, 1).tasks[0].checks[0].stdio.stdin == "1" * 4_800_000
    assert not batch.answers()


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        (Task("p", [], id="t"), "Task 't': has no checks"),
        (Task(None, [CallCheck("1", "1")], id="t"), "Task 't': program must be a string, not None"),
        (Task("p", [CallCheck(1, "1")], id="t"), "Task 't': CallCheck.call must be a string, not 1."),
        (Task("p", ["f(1)"], id="t"), "must be one of CallCheck"),
        (Task("p", [CallCheck(b"1", "1")], id="t"), "CallCheck.call must be a string, not b'1'."),
        (Task("p", [CallCheck([], "1")], id="t"), "CallCheck.call must be a string, not []."),
        (Task("p", [CallCheck("1", "1")], id="t", limits=Limits(cpu_ms=-1)), "Task 't': limits.cpu_ms must be a whole"),
        (Task("p", [CallCheck("1", "1")], limits=Limits(steps=2**63)), "limits.steps must be a whole number from 0 to"),
        (Task("p", [CallCheck("1", "1")], limits=Limits(steps=10**5000)), "not a number of 16610 bits"),
        (Task("p", [CallCheck("1", "1")], limits=Limits(cpu_ms=0.5)), "limits.cpu_ms must be a whole number"),
        (Task("p", [CallCheck("1", "1")], limits=None), "limits must be Limits, not None"),
        (Task("p", [CallCheck("1", "1")], limits={"steps": 5}), "limits must be Limits, not {'steps': 5}"),
        (Task("p", [CallCheck("1", "1")], files=None), "files must be a mapping of names to bytes, not None"),
        (Task("p", [CallCheck("1", "1")], env=()), "env must be a mapping of names to str"),
        (Task("p", [CallCheck("1", "1")], repeat=2**40), "repeat must be a whole number from 0 to 2"),
        (Task("p", [CallCheck("1", "1")], runtime=None), "runtime must be the name"),
        (Task("p", [CallCheck("1", "1")], runtime="\udc80"), "runtime must be the name"),
        *[
            (Task("p", [StdioCheck("", "1", tolerance=each)]), "tolerance must be a number or a Tolerance, not")
            for each in ("0.1", [1], Tolerance(absolute="0"), 10**400)
        ],
        (Task("p", [CallCheck("1", "1")], isolation="PROCESS"), "isolation must be one of Isolation.AUTO"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_sentence(task, sentence):
    with pytest.raises(InvalidRequest, match=re.escape(sentence)):
        Batch().add(task)


def test_a_sandbox_error_is_tried_again_then_returned_and_never_false():
    batch = Batch(sandbox_retries=2)
    batch.add(Task("p", [CallCheck("f()", "1")]))
    for tried in range(1, 4):
        (verdict,) = answer(batch.request(0, 10))
        verdict.outcome, verdict.detail = pb.OUTCOME_SANDBOX_ERROR, "no fork"
        batch.accept(pb.CheckResponse(verdicts=[verdict]))
        assert batch.cooling == (1 if tried < 3 else 0)
        batch.warm()
    ((_, verdict),) = batch.answers()
    assert verdict.outcome is Outcome.SANDBOX_ERROR
    assert verdict.passed is None
    assert verdict.attempts == 3


def test_an_outcome_of_the_future_is_no_pass_and_no_fail():
    batch = Batch(sandbox_retries=0)
    batch.add(Task("p", [CallCheck("f()", "1")]))
    (verdict,) = answer(batch.request(0, 10))
    verdict.outcome = 77
    batch.accept(pb.CheckResponse(verdicts=[verdict]))
    ((_, got),) = batch.answers()
    assert got.outcome is Outcome.SANDBOX_ERROR
    assert "77" in got.detail


@pytest.mark.parametrize(
    ("check", "outcome", "assurance", "sentence"),
    [
        (CallCheck("f()", "1"), pb.OUTCOME_EVALUATED, pb.ASSURANCE_SEPARATED, "EVALUATED is no answer to CallCheck"),
        (EvaluateCheck("f()"), pb.OUTCOME_PASSED, pb.ASSURANCE_SEPARATED, "PASSED is no answer to EvaluateCheck"),
        (CallCheck("f()", "1"), pb.OUTCOME_PASSED, pb.ASSURANCE_IN_PROCESS, "passed a check with IN_PROCESS"),
        (CallCheck("f()", "1"), pb.OUTCOME_PASSED, pb.ASSURANCE_UNSPECIFIED, "passed a check with no assurance"),
    ],
)
def test_an_answer_that_cannot_be_one_is_the_servers_fault(check, outcome, assurance, sentence):
    batch = Batch()
    batch.add(Task("p", [check], require_assurance=Assurance.SEPARATED))
    (verdict,) = answer(batch.request(0, 10))
    verdict.outcome, verdict.assurance = outcome, assurance
    with pytest.raises(ServerError, match=sentence):
        batch.accept(pb.CheckResponse(verdicts=[verdict]))


@pytest.mark.parametrize("check_id", ["x", "9", ""])
def test_an_answer_to_no_question_is_the_servers_fault(check_id):
    batch = Batch()
    batch.add(Task("p", [CallCheck("f()", "1")]))
    (verdict,) = answer(batch.request(0, 10))
    verdict.check_id = check_id
    with pytest.raises(ServerError, match="never sent"):
        batch.accept(pb.CheckResponse(verdicts=[verdict]))


def test_a_stream_of_many_tasks_leaves_nothing_behind():
    batch = Batch(remember=False)
    for number in range(1000):
        batch.add(Task(f"p{number}", [CallCheck("f()", "1")]))
        batch.accept(pb.CheckResponse(verdicts=answer(batch.request(0, 10))))
        assert len(batch.answers()) == 1
    assert not batch._groups
    assert not batch._slices
    assert batch.open_bytes == 0


def test_what_is_no_task_is_named_by_its_index():
    batch = Batch()
    batch.add(Task("x = 1", [CallCheck("x", "1")]))
    with pytest.raises(InvalidRequest, match="tasks must be Task objects; the one at index 1 is None"):
        batch.add(None)
    with pytest.raises(InvalidRequest, match="The task at index 2: program must be a string, not 5"):
        batch.add(Task(5, [CallCheck("x", "1")]))
    with pytest.raises(InvalidRequest, match="The task at index 3: checks must be a list or the like, not CallCheck"):
        batch.add(Task("x = 1", CallCheck("x", "1")))


@pytest.mark.parametrize("tasks", [Task("x = 1", [CallCheck("x", "1")]), None, 3], ids=["Task", "None", "int"])
def test_what_is_no_list_of_tasks_is_one_sentence(tasks):
    with pytest.raises(InvalidRequest, match="tasks must be a list or the like of Task objects, not "):
        Client("127.0.0.1:1").check(tasks)


async def test_what_is_no_list_of_tasks_is_one_sentence_in_a_loop():
    async with AsyncClient("127.0.0.1:1") as client:
        with pytest.raises(InvalidRequest, match="tasks must be a list or the like of Task objects, not Task"):
            await client.check(Task("x = 1", [CallCheck("x", "1")]))
