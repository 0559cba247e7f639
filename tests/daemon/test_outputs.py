"""What a worker left is read once, much of it beside the event loop, and nothing stays open."""

from __future__ import annotations

import asyncio
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.zygotes import outputs
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.outputs import OutputReader, Outputs
from cruxboxd.zygotes.read_back import FilesRead, read_files
from cruxboxd.zygotes.setup import ZygoteKey
from cruxboxd.zygotes.streams import Streams
from cruxcell.protocol import messages

MOST = 4 << 20


def job(*files: str) -> Job:
    key, limits = ZygoteKey("default", True, "0"), replace(DEFAULT_LIMITS, output_bytes=MOST)
    return Job(key=key, kind=messages.JOB_STDIO, fields=[], limits=limits, read_files=files)


def printed(size: int) -> Streams:
    streams = Streams(b"")
    os.write(streams.theirs[1], b"x" * size)
    streams.handed_over()
    return streams


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


async def test_the_input_ends_before_another_thread_reads_the_outputs():
    streams = Streams(b"x" * (1 << 20))  # more than the pipe takes: the loop waits to write the rest
    streams.handed_over()
    before = descriptors()
    left = Outputs(job(), streams, -1)
    assert descriptors() == before - 1
    assert left.add_to(Result()).streams == (b"", b"")
    assert descriptors() == before - 3


async def test_much_output_is_read_beside_the_loop(monkeypatch: pytest.MonkeyPatch):
    taken, may_go_on = Streams.taken, threading.Event()

    def slowly(streams: Streams, limit: int) -> tuple[bytes, bytes]:
        assert threading.current_thread() is threading.main_thread() or may_go_on.wait(10)
        return taken(streams, limit)

    monkeypatch.setattr(Streams, "taken", slowly)
    reader, before = OutputReader(2), descriptors()
    jobs, sizes = [job() for _ in range(4)], [1 << 20, 2 << 20, 2 << 20, 2 << 20]
    for one, size in zip(jobs, sizes):
        reader.finish(one, Result(), Outputs(one, printed(size), -1))
    assert [one.future.done() for one in jobs] == [True, False, False, True]  # no more than two at a time
    may_go_on.set()
    for one, size in zip(jobs, sizes):
        assert (await asyncio.wait_for(one.future, 10)).streams == (b"x" * size, b"")
    assert descriptors() == before
    again = job()
    reader.finish(again, Result(), Outputs(again, printed(2 << 20), -1))
    assert not again.future.done(), "a place is free again"
    await again.future


async def test_files_are_read_beside_the_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A file without contents may be as large as is allowed."""
    readers: list[threading.Thread] = []

    def read(*given: object) -> FilesRead:
        readers.append(threading.current_thread())
        return read_files(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(outputs, "read_files", read)
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(MOST)
    one, before = job("sparse"), descriptors()
    one.flags |= messages.READ_BACK
    OutputReader(1).finish(one, Result(), Outputs(one, None, os.open(tmp_path, os.O_RDONLY)))
    result = await asyncio.wait_for(one.future, 10)
    assert result.files.files == (("sparse", bytes(MOST)),)
    assert result.streams == (b"", b"")
    assert len(readers) == 1
    assert threading.main_thread() not in readers
    assert descriptors() == before


async def test_what_has_been_read_is_closed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder, closed, close = os.open(tmp_path, os.O_RDONLY), list[int](), os.close
    left = Outputs(job(), None, folder)

    def closes(each: int) -> None:
        closed.append(each)
        close(each)

    monkeypatch.setattr(os, "close", closes)
    for _ in range(2):
        left.add_to(Result())
    assert closed == [folder]


@pytest.mark.parametrize("error", [MemoryError("no room"), ValueError("a mistake of ours")])
@pytest.mark.parametrize("size", [1, 2 << 20])
async def test_what_cannot_be_read_is_our_failure(
    size: int, error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def fails(_file: int, _size: int, _place: int) -> bytes:
        raise error

    one, before = job(), descriptors()
    left = Outputs(one, printed(size), os.open(tmp_path, os.O_RDONLY) if size == 1 else -1)
    monkeypatch.setattr(os, "pread", fails)
    OutputReader(1).finish(one, Result(), left)
    result = await asyncio.wait_for(one.future, 10)
    assert result.error == f"what it left cannot be read: {error}"
    assert descriptors() == before


async def test_a_folder_that_did_not_come_is_our_failure():
    """Where the daemon has no descriptor left, the kernel drops the zygote's."""
    one, before = job("a"), descriptors()
    one.flags |= messages.READ_BACK
    OutputReader(1).finish(one, Result(), Outputs(one, printed(1), -1))
    assert (await one.future).error == "what it left cannot be read: [Errno 24] its folder was not received"
    assert descriptors() == before
    stopped = job("a")
    stopped.flags |= messages.READ_BACK
    OutputReader(1).finish(stopped, Result(error="cancelled"), Outputs(stopped, None, -1))
    assert (await stopped.future).error == "cancelled"
