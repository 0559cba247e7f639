"""What is sent where and when, without a socket or a clock."""

from __future__ import annotations

import pytest
from cruxbox.batch import Sizes
from cruxbox.errors import DeadlineExceeded, InvalidRequest, Overloaded, ServerError, Unavailable
from cruxbox.model import CallCheck, Task
from cruxbox.retry import Backoff, Failure
from cruxbox.session import Policy, Server, Session
from cruxbox_proto.v1 import sandbox_pb2 as pb

GONE = Failure("UNAVAILABLE", "gone")


def make(events=None, *, server=None, ordered=True, **policy) -> Session:
    policy.setdefault("backoff", Backoff(retries=2, base_s=1.0))
    on_event = None if events is None else events.append
    server = server or Server("the server at here:1")
    return Session(server, Policy(**policy), whole=False, ordered=ordered, on_event=on_event)


def fill(session: Session, count: int) -> None:
    for number in range(count):
        session.add(Task("p", [CallCheck(f"f({number})", "1")], id=str(number)))


def fail(session: Session, *moments: float) -> None:
    """Its stream ends at each of these moments, without a verdict."""
    for now in moments:
        list(session.requests(now))
        session.ended(0, GONE, now)


def sizes(sent) -> list[tuple[int, int]]:
    return [(stream, sum(len(task.checks) for task in request.tasks)) for stream, request in sent]


def response(request, *, take: int = 10**9) -> pb.CheckResponse:
    names = [(task.id, check.id) for task in request.tasks for check in task.checks]
    return pb.CheckResponse(verdicts=[pb.Verdict(task_id=t, check_id=c, outcome=1) for t, c in names[:take]])


def test_a_wait_that_nobody_would_ask_for_is_a_broken_server():
    session = make()
    fill(session, 1)
    list(session.requests(0.0))
    with pytest.raises(ServerError, match="is broken: it asks to wait 1e\\+10 s"):
        session.ended(0, Failure("UNAVAILABLE", "busy", 1e10), 0.0)


def test_the_window_bounds_what_is_in_flight_and_answers_open_it():
    session = make(window=10, sizes=Sizes(checks=4))
    fill(session, 20)
    sent = list(session.requests(0.0))
    assert sizes(sent) == [(0, 4), (0, 4), (0, 2)]
    assert list(session.requests(0.0)) == []
    session.response(0, response(sent[0][1]), 0.0)
    assert sizes(session.requests(0.0)) == [(0, 4)]


def test_dribs_of_answers_do_not_make_dribs_of_questions():
    session = make(window=16, sizes=Sizes(checks=8))
    fill(session, 40)
    sent = list(session.requests(0.0))
    session.response(0, response(sent[0][1], take=1), 0.0)
    assert list(session.requests(0.0)) == []
    session.response(0, response(sent[1][1], take=4), 0.0)
    assert sizes(session.requests(0.0)) == [(0, 5)]


def test_work_is_spread_over_streams_by_their_load():
    session = make(window=8, streams=4, sizes=Sizes(checks=2))
    fill(session, 6)
    assert sizes(session.requests(0.0)) == [(0, 2), (1, 2), (2, 2)]


def test_a_full_request_is_sent_at_once_and_the_rest_when_the_source_pauses():
    session = make(sizes=Sizes(checks=4))
    fill(session, 6)
    assert sizes(session.requests(0.0)) == [(0, 4)]
    assert sizes(session.requests(0.0)) == [(0, 2)]


def test_input_is_wanted_only_while_there_is_room():
    session = make(window=4)
    assert session.wants_input
    fill(session, 8)
    assert not session.wants_input


def test_duplicates_are_bounded_too():
    session = make(window=4)
    count = 0
    while session.wants_input:
        session.add(Task("p", [CallCheck("f()", "1")]))
        count += 1
    assert 4 < count <= 1_000
    assert session.answers() == []


def test_large_programs_are_bounded_by_bytes():
    session = make()
    count = 0
    while session.wants_input:
        session.add(Task(f"{count}" + "x" * (1 << 20), [CallCheck("f()", "1")]))
        count += 1
    assert 10 < count <= 70


def test_ordered_answers_wait_for_the_ones_before():
    for ordered, expected in ((True, [[], ["0", "1", "2", "3"]]), (False, [["2", "3"], ["0", "1"]])):
        session = make(ordered=ordered, sizes=Sizes(checks=2))
        fill(session, 4)
        first, second = (request for _, request in session.requests(0.0))
        got = []
        for request in (second, first):
            session.response(0, response(request), 0.0)
            got.append([verdict.task_id for verdict in session.answers()])
        assert got == expected
        assert session.finished


def test_a_broken_stream_rests_and_only_what_has_no_verdict_goes_again():
    events = []
    session = make(events)
    fill(session, 5)
    ((_, request),) = session.requests(0.0)
    session.response(0, response(request, take=2), 0.0)
    session.ended(0, GONE, 10.0)
    (retry,) = [event for event in events if event.kind == "retry"]
    assert (retry.count, retry.detail) == (3, "UNAVAILABLE: gone")
    assert list(session.requests(10.0)) == []
    assert session.wait_s(10.0) == pytest.approx(retry.delay_s)
    assert sizes(session.requests(10.0 + retry.delay_s)) == [(0, 3)]


def test_a_rest_that_ends_between_looking_and_waiting_is_not_slept_over():
    session = make()
    fill(session, 1)
    list(session.requests(0.0))
    session.ended(0, GONE, 10.0)
    assert list(session.requests(10.0)) == []
    assert session.wait_s(1000.0) == 0.0


def test_failures_in_a_row_end_it():
    session = make()
    fill(session, 3)
    fail(session, 100, 200)
    list(session.requests(300))
    with pytest.raises(Unavailable, match="Cannot reach the server at here:1: gone"):
        session.ended(0, GONE, 300)


def test_a_verdict_forgives_failures_and_a_server_that_has_answered_may_be_away_longer():
    session = make()
    fill(session, 3)
    fail(session, 100, 200)
    ((_, request),) = session.requests(300)
    session.response(0, response(request, take=1), 300)
    for now in range(400, 1200, 100):
        session.ended(0, GONE, now)
        list(session.requests(now + 50))
    with pytest.raises(Unavailable, match="Cannot reach the server at here:1: gone"):
        session.ended(0, GONE, 1200)


def test_a_server_that_has_answered_may_be_away_longer_in_the_next_call_too():
    server = Server("the server at here:1")
    session = make(server=server)
    fill(session, 1)
    ((_, request),) = session.requests(0)
    session.response(0, response(request), 0)
    session = make(server=server)
    fill(session, 1)
    fail(session, *range(400, 1200, 100))
    with pytest.raises(Unavailable, match="Cannot reach the server at here:1: gone"):
        session.ended(0, GONE, 1200)


def test_a_full_server_halves_the_window_and_gets_more_patience():
    session = make(window=8)
    fill(session, 8)
    now = 0.0
    seen = []
    for _ in range(8):
        now += 1000
        seen.append(sum(size for _, size in sizes(session.requests(now))))
        session.ended(0, Failure("RESOURCE_EXHAUSTED", "full", retry_after_s=7.0), now)
        assert session.wait_s(now) >= 7.0
    assert seen == [8, 4, 2, 1, 1, 1, 1, 1]
    with pytest.raises(Overloaded, match="no room"):
        session.ended(0, Failure("RESOURCE_EXHAUSTED", "full"), now)


def test_what_will_not_get_better_is_raised_at_once():
    session = make()
    fill(session, 1)
    list(session.requests(0.0))
    with pytest.raises(InvalidRequest, match=r"refused the request: limits\.cpu_ms is 9"):
        session.ended(0, Failure("INVALID_ARGUMENT", "limits.cpu_ms is 9"), 0.0)


def test_a_message_over_the_cap_is_not_mistaken_for_a_full_server():
    session = make()
    fill(session, 1)
    list(session.requests(0.0))
    with pytest.raises(InvalidRequest, match="too large"):
        session.ended(0, Failure("RESOURCE_EXHAUSTED", "Received message larger than max (5 vs. 4)"), 0.0)


def test_a_stream_that_ends_early_is_tried_again_and_an_idle_one_is_just_over():
    events = []
    session = make(events)
    session.ended(0, None, 0.0)
    assert events == []
    fill(session, 2)
    list(session.requests(0.0))
    session.ended(0, None, 0.0)
    assert "2 checks had no verdict" in events[-1].detail


def test_a_sandbox_error_cools_before_it_is_sent_again():
    events = []
    session = make(events)
    fill(session, 1)
    ((_, request),) = session.requests(0.0)
    failed = response(request)
    failed.verdicts[0].outcome = pb.OUTCOME_SANDBOX_ERROR
    session.response(0, failed, 5.0)
    assert list(session.requests(5.0)) == []
    later = 5.0 + session.wait_s(5.0)
    assert sizes(session.requests(later)) == [(0, 1)]
    assert [event.kind for event in events] == ["sent", "resubmitted", "sent"]


def test_a_passed_deadline_says_how_much_is_missing():
    session = make()
    fill(session, 3)
    ((_, request),) = session.requests(0.0)
    session.response(0, response(request, take=1), 0.0)
    with pytest.raises(DeadlineExceeded, match="2 of 3 distinct checks had no verdict from the server at here:1"):
        session.ended(0, Failure("DEADLINE_EXCEEDED", "Deadline Exceeded"), 0.0)


@pytest.mark.parametrize(("whole", "priority"), [(True, pb.PRIORITY_INTERACTIVE), (False, pb.PRIORITY_UNSPECIFIED)])
def test_work_somebody_waits_for_goes_first(whole, priority):
    session = Session(Server("here"), Policy(), whole=whole, ordered=True)
    fill(session, 1)
    ((_, request),) = session.requests(0.0)
    assert request.options.priority == priority
