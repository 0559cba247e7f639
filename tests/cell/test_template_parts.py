"""What a template and the zygotes it forks do before they serve, each part by itself."""

from __future__ import annotations

import _socket
import os
import types
from typing import Any

import pytest
from cruxcell import template
from cruxcell.confinement import linux, rlimits
from cruxcell.protocol import messages


class Left(BaseException):
    """In place of the end of this process."""


@pytest.fixture(autouse=True)
def _nothing_ends_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(status: int) -> None:
        raise Left(status)

    monkeypatch.setattr(os, "_exit", leave)


def channel(data: bytes | None, *descriptors: int) -> Any:
    def receive(_size: int, _room: int) -> tuple[bytes, list[tuple[int, int, bytes]], int, None]:
        if data is None:
            raise OSError
        return data, [(1, 1, bytes(4 * len(descriptors)))] if descriptors else [], 0, None

    return types.SimpleNamespace(recvmsg=receive)


def test_an_order_brings_a_way_and_descriptors_and_none_means_that_the_daemon_is_gone():
    assert template._next_order(channel(b"z", 5, 6)) == (b"z", [0, 0])
    assert template._next_order(channel(b"z")) == (b"z", [])
    for gone in (b"", None):
        with pytest.raises(Left, match="0"):
            template._next_order(channel(gone))


def test_a_fork_gives_a_number_or_an_error():
    assert template._fork(types.SimpleNamespace(fork_beside=lambda: 7)) == (7, 0)  # type: ignore[arg-type]

    def fails() -> int:
        raise BlockingIOError(11, "no room")

    assert template._fork(types.SimpleNamespace(fork_beside=fails)) == (-1, 11)  # type: ignore[arg-type]


def test_every_zygote_that_has_ended_is_reaped(monkeypatch: pytest.MonkeyPatch):
    ended = [(0, 0), (8, 0), (7, 0)]

    def waitpid(of: int, options: int) -> tuple[int, int]:
        assert (of, options) == (-1, os.WNOHANG)
        return ended.pop()

    monkeypatch.setattr(os, "waitpid", waitpid)
    template._reap()
    assert ended == []


class Control:
    def __init__(self, first: bytes) -> None:
        self.first = first
        self.sent: list[bytes] = []

    def recv(self, _size: int) -> bytes:
        return self.first

    def send(self, data: bytes) -> None:
        self.sent.append(data)


@pytest.mark.parametrize(
    ("first", "confined", "done", "status"),
    [
        (b"", "serves", [], 0),  # the daemon has not taken it
        (b"x", "serves", [b"ready"], 1),
        (b"x", "fails", [bytes([messages.FAILED_TO_START]) + b"ValueError: no"], 1),
    ],
)
@pytest.mark.parametrize("is_child", [False, True])
def test_a_zygote_waits_for_the_daemon(
    first: bytes, confined: str, done: list[bytes], status: int, is_child: bool, monkeypatch: pytest.MonkeyPatch
):
    control = Control(first)

    def confine(*_: object) -> tuple[Any, bytes]:
        if confined == "fails":
            raise ValueError("no")
        return types.SimpleNamespace(serve=control.send), b"ready"

    monkeypatch.setattr(template, "place_descriptors", lambda _numbers: None)
    monkeypatch.setattr(template, "_rename", lambda *_: None)
    monkeypatch.setattr(template, "_confined", confine)
    monkeypatch.setattr(_socket, "socket", lambda **_: control)
    monkeypatch.setattr(os, "getppid", lambda: 50 if is_child else 1)
    kind: Any = types.SimpleNamespace(helper=None)
    way: Any = types.SimpleNamespace(settings=types.SimpleNamespace(parent=1))
    with pytest.raises(Left) as left:
        template._become_zygote(kind, way, [], 50)
    assert (control.sent, left.value.args) == (done, (status,))
    assert way.settings.parent == (50 if is_child else 1)


@pytest.mark.parametrize("order", [messages.PLAIN, messages.WITH_SCRATCH])
def test_a_zygote_is_confined_the_way_that_its_order_names(order: bytes, monkeypatch: pytest.MonkeyPatch):
    became: list[object] = []

    def become(_kind: object, way: object, *_: object) -> None:
        became.append(way)
        raise Left

    monkeypatch.setattr(template, "_rename", lambda *_: None)
    monkeypatch.setattr(linux, "prctl", lambda *_: None)
    monkeypatch.setattr(template, "_next_order", lambda _channel: (order, []))
    monkeypatch.setattr(template, "_reap", lambda: None)
    monkeypatch.setattr(template, "_become_zygote", become)
    ways = {messages.PLAIN: messages.PLAIN, messages.WITH_SCRATCH: messages.WITH_SCRATCH}
    kind: Any = types.SimpleNamespace(helper=types.SimpleNamespace(fork_beside=lambda: 0), ways=ways)
    said: list[bytes] = []
    closing: Any = types.SimpleNamespace(close=lambda: None, send=said.append)
    with pytest.raises(Left):
        template.serve(kind, closing)
    assert (became, said) == ([order], [messages.ANSWER.pack(messages.READY, 0, 0)])


def test_what_is_said_of_a_layer_and_of_a_failure():
    assert template._said("filter", True, "a") == (b"filter", b"1", b"a")
    assert template._said("filter", False, "a")[1] == b"0"
    error: Any = OSError("the step 'user'")
    assert template.what_failed(error)[1:] == b"OSError: the step 'user'"
    error.step = "user"
    assert template.what_failed(error)[1:] == b"the step 'user'"


def test_limits_are_those_of_the_worker_beside_what_its_zygote_has():
    packed = template._packing(1 << 30, 5000)
    assert packed(7, 4000, 3, 2) == rlimits.pack((1 << 30) + 7, 5000, 3 * 10**9, 2)
    assert packed(7, 6000, 2) == rlimits.pack((1 << 30) + 7, 6000, 2 * 10**9)
