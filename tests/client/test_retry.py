"""Waits and statuses."""

from __future__ import annotations

from types import SimpleNamespace

import grpc
import pytest
from cruxbox import errors
from cruxbox.channel import failure_of
from cruxbox.retry import Backoff, Failure, Tries, parse_retry_info
from hypothesis import given
from hypothesis import strategies as st


@given(st.integers(0, 100), st.floats(0, 1, exclude_max=True))
def test_jitter_is_full_and_capped(attempt, rand):
    delay = Backoff(base_s=0.1, cap_s=5.0).delay_s(attempt, rand=lambda: rand)
    assert delay == pytest.approx(rand * min(5.0, 0.1 * 2.0**attempt))


@given(st.floats(0, 100))
def test_the_servers_wish_is_the_least(wish):
    assert Backoff().delay_s(3, wish, rand=lambda: 0.0) == wish


def test_a_server_that_was_never_there_is_asked_soon_and_for_as_long_as_all_waits_may_take():
    tries, now, waits = Tries(Backoff()), 100.0, []
    while (wait := tries.wait_s(Failure("UNAVAILABLE"), now, was_reached=False)) is not None:
        waits.append(wait)
        now += wait
    assert Backoff().patience_s == pytest.approx(6.3)
    assert 6.3 <= now - 100.0 < 6.6
    assert max(waits) < 0.25
    assert len(waits) < 100  # on average one in an eighth of a second
    assert Tries(Backoff(retries=0)).wait_s(Failure("UNAVAILABLE"), 0.0, was_reached=False) is None


def test_how_often_a_server_was_not_there_yet_does_not_count_once_it_was_reached():
    tries = Tries(Backoff(retries=2))
    assert all(tries.wait_s(Failure("UNAVAILABLE"), 100.0, was_reached=False) is not None for _ in range(50))
    waits = [tries.wait_s(Failure("UNAVAILABLE"), 100.0, was_reached=True) for _ in range(9)]
    assert [wait is None for wait in waits] == [False] * 8 + [True]


def varint(value: int) -> bytes:
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


@given(st.integers(0, 10**9), st.integers(0, 999_999_999))
def test_retry_info_is_read_as_protobuf_writes_it(seconds, nanos):
    duration = (b"\x08" + varint(seconds) if seconds else b"") + (b"\x10" + varint(nanos) if nanos else b"")
    assert parse_retry_info(b"\x0a" + varint(len(duration)) + duration) == pytest.approx(seconds + nanos / 1e9)


@given(st.binary(max_size=40))
def test_any_bytes_give_seconds_or_none(data):
    seconds = parse_retry_info(data)
    assert seconds is None or seconds >= 0


def test_a_servers_words_do_not_steer_a_terminal_and_are_bounded():
    text = str(Failure("INTERNAL", "\x1b]0;owned\x07\u202e" + "x" * 10_000).error("the server"))
    assert text.isprintable()
    assert "\\x1b]0;owned\\x07\\u202e" in text
    assert len(text) < 1200


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("UNAVAILABLE", errors.Unavailable),
        ("RESOURCE_EXHAUSTED", errors.Overloaded),
        ("INVALID_ARGUMENT", errors.InvalidRequest),
        ("UNAUTHENTICATED", errors.Unauthenticated),
        ("PERMISSION_DENIED", errors.Unauthenticated),
        ("DEADLINE_EXCEEDED", errors.DeadlineExceeded),
        ("UNIMPLEMENTED", errors.ServerError),
        ("INTERNAL", errors.ServerError),
    ],
)
def test_each_status_has_its_error_with_target_and_reason(code, kind):
    error = Failure(code, "the reason").error("the server at host:1")
    assert type(error) is kind
    assert "host:1" in str(error)
    assert "the reason" in str(error)


def test_only_two_statuses_are_tried_again():
    retryable = [code for code in ("UNAVAILABLE", "RESOURCE_EXHAUSTED", "INTERNAL", "UNKNOWN", "DEADLINE_EXCEEDED",
                                   "ABORTED", "CANCELLED", "INVALID_ARGUMENT") if Failure(code).retryable]  # fmt: skip
    assert retryable == ["UNAVAILABLE", "RESOURCE_EXHAUSTED"]


def ended(code: str, details: str) -> Failure:
    """What the client makes of a call that ended so."""
    call = SimpleNamespace(code=lambda: grpc.StatusCode[code], details=lambda: details, trailing_metadata=lambda: None)
    return failure_of(call)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("code", "details", "is_lost"),
    [
        ("INTERNAL", "Internal error from Core", True),
        ("INTERNAL", "an internal error of the server", False),
        ("CANCELLED", "CANCELLED", True),
        ("CANCELLED", "Locally cancelled by application!", False),
    ],
)
def test_a_call_whose_status_is_lost_is_sent_again(code, details, is_lost):
    """gRPC makes one up where a server dies as a request is written to it, or shuts down before it takes it over."""
    assert ended(code, details).retryable is is_lost


@pytest.mark.parametrize(
    ("code", "details", "has_arrived"),
    [
        ("UNAVAILABLE", "Stream removed (Socket closed)", True),
        ("UNAVAILABLE", "Socket closed", True),
        ("UNAVAILABLE", "the server is shutting down; another one will serve you", True),
        ("RESOURCE_EXHAUSTED", "the queue is full", True),
        ("DEADLINE_EXCEEDED", "Deadline Exceeded", False),
        ("UNAVAILABLE", "failed to connect to all addresses; last error: UNKNOWN: ipv4:1.2.3.4:5: refused", False),
        ("UNAVAILABLE", "connections to all backends failing; last error: UNAVAILABLE: Socket closed", False),
        ("UNAVAILABLE", "errors resolving nosuch.invalid:1: Domain name not found", False),
        ("UNAVAILABLE", "DNS resolution failed for nosuch.invalid:1", False),
    ],
)
def test_a_call_that_was_broken_off_or_refused_has_reached_a_server(code, details, has_arrived):
    assert ended(code, details).has_arrived is has_arrived


@pytest.mark.parametrize(
    ("code", "details", "sentence"),
    [
        ("INVALID_ARGUMENT", "tasks[31].options.runtime is 'x'", "S refused the request: runtime is 'x'"),
        ("UNAVAILABLE", "ipv4:1.2.3.4:5: Socket closed", "it closed the connection. Does it expect TLS? "),
        (
            "UNAVAILABLE",
            "SSL_ERROR_SSL: OPENSSL_internal:WRONG_VERSION_NUMBER: OK",
            ": it does not speak TLS; ",
        ),
        ("UNAVAILABLE", "ipv4:1.2.3.4:5: Socket closed", "Then pass tls=Tls(cert=FILE, key=FILE)"),
        ("UNAVAILABLE", "CERTIFICATE_VERIFY_FAILED: certificate has expired", ", has expired by the clock here ("),
        (
            "UNAVAILABLE",
            "CERTIFICATE_VERIFY_FAILED: certificate is not yet valid",
            ", is not yet valid by the clock here (",
        ),
        (
            "UNAVAILABLE",
            "SSL_ERROR_SSL: CERTIFICATE_VERIFY_FAILED: OK",
            ": its certificate is not of an authority known",
        ),
        (
            "UNAVAILABLE",
            "Custom verification check failed with error: UNAUTHENTICATED: Hostname Verification Check failed",
            ": its certificate is of another name: name that by tls=Tls(server_name=NAME) or CRUXBOX_TLS_SERVER_NAME",
        ),
        ("UNAVAILABLE", "Failed to create security handshaker", "CRUXBOX_TLS_CA, _CERT and _KEY, hold no"),
    ],
)
def test_a_servers_words_are_put_in_the_callers(code, details, sentence):
    assert sentence in str(Failure(code, details).error("s"))
