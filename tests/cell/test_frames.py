"""Frames: what is cut where, and what is refused."""

from __future__ import annotations

import os
import struct
import threading
import types

import pytest
from cruxcell.protocol import frames
from cruxcell.protocol.frames import FrameError


def u32(number: int) -> bytes:
    return struct.pack("<I", number)


@pytest.mark.parametrize("fields", [[], [b""], [b"a"], [b"a", b"", b"bc" * 1000]])
def test_what_is_packed_is_unpacked(fields):
    assert frames.unpack(frames.pack(fields)) == fields
    assert frames.split(frames.frame(fields), None, 2) == ([fields], len(frames.frame(fields)))


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"\1", "cut off"),
        (u32(0) + b"\0\0\0", "cut off"),
        (u32(2) + b"a", "longer than its frame"),
        (u32(0xFFFFFFFF), "longer than its frame"),
    ],
)
def test_lengths_that_do_not_add_up(body, sentence):
    with pytest.raises(FrameError, match=sentence):
        frames.unpack(body)


def test_fields_are_bounded_in_number():
    frames.unpack(u32(0) * frames.MAX_FIELDS)
    with pytest.raises(FrameError, match="too many"):
        frames.unpack(u32(0) * (frames.MAX_FIELDS + 1))


def test_frames_are_bounded_in_number():
    three = frames.frame([b"a"]) * 3
    assert frames.split(three, None, 3)[0] == [[b"a"]] * 3
    with pytest.raises(FrameError, match="too many"):
        frames.split(three, None, 2)


def test_what_is_not_whole_yet_is_left():
    whole = frames.frame([b"one"]) + frames.frame([b"two", b"3"])
    for at in range(len(whole)):
        found, used = frames.split(whole[:at], None, 2)
        assert whole[:used] == b"".join(map(frames.frame, found))
        assert len(found) == (0 if at < 11 else 1)


def test_frames_before_a_bad_one_are_kept():
    found: list[list[bytes]] = []
    with pytest.raises(FrameError):
        frames.split(frames.frame([b"good"]) + u32(1) + b"\0" + frames.frame([b"unread"]), found, 3)
    assert found == [[b"good"]]


def test_a_pipe_is_read_to_the_end_of_the_frame_and_no_further():
    reading, writing = os.pipe()
    large = [b"x" * 300_000, b"y"]  # more than a pipe holds: written and read in pieces
    writer = threading.Thread(target=frames.write_all, args=(writing, frames.frame(large) + frames.frame([b"next"])))
    writer.start()
    assert frames.read_frame(reading, 1 << 20) == large
    writer.join()
    assert frames.read_frame(reading, 10) == [b"next"]
    os.close(writing)
    with pytest.raises(FrameError, match="closed"):
        frames.read_frame(reading, 10)
    os.close(reading)


def test_frames_that_nobody_else_reads_are_taken_at_once(monkeypatch):
    reading, writing = os.pipe()
    large = [b"x" * 300_000, b"y"]
    sent = b"".join(map(frames.frame, [[b"one"], [], large, [b"last"]]))
    writer = threading.Thread(target=frames.write_all, args=(writing, sent))
    writer.start()
    incoming = frames.Incoming(reading, 1 << 20)
    assert [frames.unpack(incoming.frame()[4:]) for _ in range(4)] == [[b"one"], [], large, [b"last"]]
    writer.join()
    monkeypatch.setattr(frames, "_AT_ONCE", 1)  # a frame may come in parts, also of its length
    os.write(writing, frames.frame([b"z"]))
    assert incoming.frame() == frames.frame([b"z"])
    os.close(writing)
    with pytest.raises(FrameError, match="closed"):
        incoming.frame()
    os.close(reading)


@pytest.mark.parametrize("read", [frames.read_frame, lambda fd, limit: frames.Incoming(fd, limit).frame()])
@pytest.mark.parametrize(
    ("data", "sentence"), [(u32(11), "over the limit of 10"), (u32(3) + b"ab", "closed"), (b"\0\0", "closed")]
)
def test_a_frame_that_does_not_come(read, data, sentence):
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    with pytest.raises(FrameError, match=sentence):
        read(reading, 10)
    os.close(reading)


def test_what_is_written_in_parts_is_written_whole(monkeypatch):
    written = []
    write = types.SimpleNamespace(write=lambda _fd, data: written.append(bytes(data[:2])) or 2)
    monkeypatch.setattr(frames, "os", write)
    frames.write_all(1, b"abcdef")
    assert written == [b"ab", b"cd", b"ef"]


def wait(incoming: frames.Incoming) -> None:
    came, coming = incoming.coming()
    came.extend(coming)


def test_frames_that_come_in_pieces_are_whole_when_their_last_byte_is_there():
    reading, writing = os.pipe()
    try:
        incoming = frames.Incoming(reading, 1 << 20)
        sent = [frames.frame([b"a"]), frames.frame([b"b" * 5000, b"c"]), frames.frame([])]
        data, found = b"".join(sent), []
        for at in range(0, len(data), 7):
            os.write(writing, data[at : at + 7])
            wait(incoming)
            while (one := incoming.whole()) is not None:
                found.append(one)
        assert found == sent
        os.write(writing, sent[0] + sent[1][:-1])
        os.close(writing)
        writing = -1
        wait(incoming)
        assert (incoming.whole(), incoming.whole()) == (sent[0], None)
        wait(incoming)
        with pytest.raises(frames.FrameError):
            incoming.whole()
    finally:
        os.close(reading)
        if writing >= 0:
            os.close(writing)


@pytest.mark.parametrize(
    ("missing", "asked"), [(1, 1 << 14), (1 << 15, (1 << 15) + 8), ((1 << 20) - 8, 1 << 20), (1 << 20, 1 << 20)]
)
def test_what_is_missing_is_asked_for_within_bounds(missing: int, asked: int, monkeypatch: pytest.MonkeyPatch):
    frame, sizes = frames.frame([bytes(missing)]), list[int]()

    def read(_fd: int, size: int) -> bytes:
        sizes.append(size)
        return frame[:8]

    monkeypatch.setattr(os, "read", read)
    incoming = frames.Incoming(-1, 2 << 20)
    wait(incoming)
    assert incoming.whole() is None
    wait(incoming)
    assert sizes == [1 << 14, asked]


def test_a_large_frame_is_put_together_once(monkeypatch: pytest.MonkeyPatch):
    pieces = [frames.frame([bytes(1 << 20)])[at : at + 4096] for at in range(0, (1 << 20) + 8, 4096)]
    coming = iter(pieces)
    sizes: list[int] = []

    def read(_fd: int, size: int) -> bytes:
        sizes.append(size)
        return next(coming)

    monkeypatch.setattr(os, "read", read)
    incoming = frames.Incoming(-1, 2 << 20)
    seen = set()
    for _ in pieces:
        assert incoming.whole() is None
        wait(incoming)
        seen.add(id(incoming._ahead))
    assert len(incoming.whole() or b"") == (1 << 20) + 8
    assert len(seen) <= 2
    assert min(sizes) >= 4096
