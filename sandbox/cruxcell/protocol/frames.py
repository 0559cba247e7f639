"""Frames: the encoding of fields and frames on every pipe between daemon, zygote and worker.

A body is a run of fields, each a little-endian u32 length and that many bytes. A frame is a body behind a u32 length.
Invariant, and the fuzz tests' first line: any bytes give a list of fields or a FrameError, nothing else.
"""

import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence  # noqa: F401 - in type comments

_U32 = struct.Struct("<I")
_pack_length = _U32.pack
_unpack_length = _U32.unpack_from

MAX_FIELDS = 1 << 20
_AT_ONCE, _MOST_AT_ONCE = 1 << 14, 1 << 20


class FrameError(ValueError):
    """The bytes are not a frame. Said of what the other process sent, never of our own mistake."""


def pack(fields):
    # type: (list[bytes]) -> bytes
    """The body that holds `fields`."""
    return b"".join(parts(fields))


def parts(fields):
    # type: (list[bytes]) -> list[bytes]
    """`fields` as parts of a body."""
    found = []
    for field in fields:
        found.append(_pack_length(len(field)))
        found.append(field)
    return found


def field(content):
    # type: (Sequence[bytes]) -> list[bytes]
    """One field, whose content is in parts, as parts of a body."""
    return [_pack_length(_length(content)), *content]


def unpack(body, most=MAX_FIELDS):
    # type: (bytes, int) -> list[bytes]
    """The fields of `body`. Raises FrameError if the lengths do not add up or there are more than `most`."""
    return _fields(body, 0, len(body), most)


def _fields(data, at, end, most):
    # type: (bytes, int, int, int) -> list[bytes]
    """The fields of the body that stands in `data` from `at` to `end`."""
    fields = []
    while at < end:
        if end - at < 4:
            raise FrameError("a field's length is cut off")
        stop = at + 4 + _unpack_length(data, at)[0]
        if stop > end:
            raise FrameError("a field is longer than its frame")
        fields.append(data[at + 4 : stop])
        at = stop
        if len(fields) > most:
            raise FrameError("too many fields")
    return fields


def frame(fields):
    # type: (list[bytes]) -> bytes
    """`fields` as one frame, ready to be written."""
    return joined(parts(fields))


def joined(body):
    # type: (list[bytes]) -> bytes
    """The frame of a body in parts, each of which is copied once: they may be megabytes."""
    return b"".join([_pack_length(_length(body)), *body])


def _length(content):
    # type: (Sequence[bytes]) -> int
    """Not by `sum`: a program may have bound it anew."""
    size = 0
    for part in content:
        size += len(part)
    return size


def bodies(data):
    # type: (bytes) -> Iterator[tuple[int, int]]
    """Where the body of each whole frame at the start of `data` begins and ends."""
    begin = 4
    end = len(data)
    while begin <= end:
        stop = begin + _unpack_length(data, begin - 4)[0]
        if stop > end:
            return
        yield begin, stop
        begin = stop + 4


def split(data, found=None, most_frames=MAX_FIELDS, most_fields=MAX_FIELDS):
    # type: (bytes, list[list[bytes]] | None, int, int) -> tuple[list[list[bytes]], int]
    """All whole frames at the start of `data`, unpacked, and the number of bytes they took.

    They are appended to `found`, if given: after a FrameError it holds those in front of the one that was wrong. More
    frames or fields than may be are a FrameError, so that the time this takes is bounded by more than the bytes.
    """
    found = [] if found is None else found
    stop = 0
    for begin, stop in bodies(data):
        if len(found) >= most_frames:
            raise FrameError("too many frames")
        found.append(_fields(data, begin, stop, most_fields))
    return found, stop


def write_all(fd, data):
    # type: (int, bytes) -> None
    """Write all of `data` to `fd`, however short the single writes are."""
    written = os.write(fd, data)
    while written < len(data):
        data = data[written:]
        written = os.write(fd, data)


def read_frame(fd, limit):
    # type: (int, int) -> list[bytes]
    """Read exactly one frame of at most `limit` bytes from `fd`, and not a byte more."""
    return unpack(_read_exactly(fd, _size_of(_read_exactly(fd, 4), limit)))


def _size_of(data, limit):
    # type: (bytes, int) -> int
    """The size that a frame begins with, which is at most `limit`."""
    size = _unpack_length(data, 0)[0]  # type: int
    if size > limit:
        raise FrameError("a frame of %d bytes is over the limit of %d" % (size, limit))
    return size


class Incoming:
    """Frames of at most `limit` bytes from a descriptor that nobody else reads. What has come is taken at once, also of
    the next frame: a small one costs one read."""

    def __init__(self, fd, limit):
        # type: (int, int) -> None
        self._fd, self._limit = fd, limit
        self._ahead = b""
        self._came = []  # type: list[bytes]
        self._needs = 4  # bytes, for the next step

    def frame(self):
        # type: () -> bytes
        """The next one whole, its size in front. What it holds may be megabytes, and is not copied."""
        data = self._ahead
        while len(data) < 4:
            more = os.read(self._fd, _AT_ONCE)
            if not more:
                raise FrameError("the other side closed in the middle of a frame")
            data += more
        end = 4 + _size_of(data, self._limit)
        if len(data) < end:
            data = _read_exactly(self._fd, end, [data])
        self._ahead = data[end:]
        return data[:end]

    def coming(self):
        # type: () -> tuple[list[bytes], Iterator[bytes]]
        """Two, of which the first extended by the second waits for more bytes, for `whole`: one step, in which no
        finalizer runs, which would read on."""
        size = _AT_ONCE if self._needs < _AT_ONCE else self._needs if self._needs < _MOST_AT_ONCE else _MOST_AT_ONCE
        return self._came, map(os.read, (self._fd,), (size,))

    def whole(self):
        # type: () -> bytes | None
        """The next frame, its size in front, if it has come whole. Not to be called while it runs."""
        came = self._came
        if len(self._ahead) + _length(came) < self._needs:
            if came and not came[-1]:
                raise FrameError("the other side closed in the middle of a frame")
            return None
        data = self._ahead = b"".join([self._ahead, *came])  # one alone is not copied
        del came[:]
        end = 4 + _size_of(data, self._limit)
        if len(data) < end:  # nothing is put together again before all of it has come
            self._needs = end
            return None
        self._ahead, self._needs = data[end:], 4
        return data[:end]


def _read_exactly(fd, size, parts=()):
    # type: (int, int, Sequence[bytes]) -> bytes
    """`size` bytes, of which `parts` have been read already."""
    found = list(parts)
    missing = size - sum([len(part) for part in found])
    while missing:
        data = os.read(fd, missing)
        if not data:
            raise FrameError("the other side closed in the middle of a frame")
        found.append(data)
        missing -= len(data)
    return found[0] if len(found) == 1 else b"".join(found)
