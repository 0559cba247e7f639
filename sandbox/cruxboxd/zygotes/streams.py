"""Standard streams of a program: an input pipe, and two memory files that are read after it has ended.

The worker gets the pipe's reading end, and the files open for writing only. A file that is not open for reading
cannot be mapped, so a program can never execute its output as machine code. Mode 0 prevents reopening the descriptors
through /proc.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from contextlib import ExitStack

from cruxboxd.zygotes.pipe_writer import SET_PIPE_SIZE, PipeWriter

_NOEXEC_SEAL = 0x8  # MFD_NOEXEC_SEAL, from Linux 6.3 on; some hosts allow no other memory files
_PIPE_BYTES = 1 << 20


class Streams:
    """Those of one job; `theirs` are the descriptors for the worker. Raises OSError, and then holds nothing."""

    def __init__(self, stdin: bytes) -> None:
        self.theirs: list[int] = []
        with ExitStack() as undo:
            reading, self._pipe = os.pipe2(os.O_CLOEXEC)
            undo.callback(os.close, self._pipe)
            self._give(reading, undo)
            os.fchmod(reading, 0)
            os.set_blocking(self._pipe, False)
            if len(stdin) > 1 << 16:
                with contextlib.suppress(OSError):  # the user's pipe budget is used up: smaller pipes work
                    fcntl.fcntl(self._pipe, SET_PIPE_SIZE, _PIPE_BYTES)
            self._files = []
            for name in ("stdout", "stderr"):
                file = _memory_file(name)
                self._files.append(file)
                undo.callback(os.close, file)
                self._give(os.open(f"/proc/self/fd/{file}", os.O_WRONLY | os.O_CLOEXEC), undo)
                os.fchmod(file, 0)
            undo.pop_all()
        self._input = PipeWriter(self._pipe, stdin, lambda _error: self.end_input())  # nobody may read it any more
        self._input.write()

    def _give(self, descriptor: int, undo: ExitStack) -> None:
        self.theirs.append(descriptor)
        undo.callback(os.close, descriptor)

    def handed_over(self) -> None:
        """The worker's ends are on their way; ours of them are closed."""
        while self.theirs:
            os.close(self.theirs.pop())

    @property
    def has_waited(self) -> bool:
        """Did the pipe not take all of the input at once?"""
        return self._input.has_waited

    @property
    def size(self) -> int:
        """Bytes of what was printed on both."""
        return sum(os.fstat(file).st_size for file in self._files)

    def taken(self, limit: int) -> tuple[bytes, bytes]:
        """What was printed on standard output and standard error, up to one byte over the limit. The files are gone
        then. To be called when the worker has ended and these are closed but for them, in any thread."""
        try:
            out, err = (os.pread(file, limit + 1, 0) for file in self._files)
        finally:
            self._close_files()
        return out, err

    def close(self) -> None:
        self.end_input()
        self.handed_over()
        self._close_files()

    def _close_files(self) -> None:
        while self._files:
            os.close(self._files.pop())

    def end_input(self) -> None:
        """The end of the program's input: all of it is written, or nobody reads it any more."""
        if self._pipe >= 0:
            self._input.stop()
            os.close(self._pipe)
            self._pipe = -1


def _memory_file(name: str) -> int:
    try:
        return os.memfd_create(name, os.MFD_CLOEXEC | _NOEXEC_SEAL)
    except OSError:
        return os.memfd_create(name, os.MFD_CLOEXEC)
