"""What a worker leaves when it has ended: what its program printed, and the files that are to be read back.

What is large is read beside the event loop: 32 MiB take longer than a step of the loop may.
"""

from __future__ import annotations

import asyncio
import errno
import os
from dataclasses import replace

from cruxcell.protocol import messages

from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.read_back import NO_FILES, read_files
from cruxboxd.zygotes.streams import Streams

_LARGE = 1 << 20  # bytes


class Outputs:
    """Those of one job. `folder` is the descriptor of its scratch folder, -1 if nothing is read back from it."""

    def __init__(self, job: Job, streams: Streams | None, folder: int) -> None:
        self._job, self._streams, self._folder = job, streams, folder
        if streams is not None:
            streams.end_input()

    @property
    def is_large(self) -> bool:
        """May `add_to` hold up the event loop? A file tells its size only when it has been found."""
        return self._folder >= 0 or (self._streams is not None and self._streams.size > _LARGE)

    def add_to(self, result: Result) -> Result:
        """The result with them; they are gone then. To be called once, in any thread; it always returns."""
        job = self._job
        try:
            if job.flags & messages.READ_BACK and self._folder < 0:
                raise OSError(errno.EMFILE, "its folder was not received")
            limit = job.limits.output_bytes
            files = read_files(self._folder, job.read_files, limit) if self._folder >= 0 else NO_FILES
            printed = self._streams.taken(limit) if self._streams is not None else (b"", b"")
            return replace(result, files=files, streams=printed)
        except Exception as error:  # whatever it is, the job has to end
            return replace(result, error=result.error or f"what it left cannot be read: {error}")
        finally:
            self._close()

    def _close(self) -> None:
        if self._streams is not None:
            self._streams.close()
        if self._folder >= 0:
            os.close(self._folder)
            self._folder = -1


class OutputReader:
    """Finishes jobs with their outputs, at most so many at a time beside the event loop."""

    def __init__(self, most: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._free = most

    def finish(self, job: Job, result: Result, outputs: Outputs) -> None:
        """Finish the job with its outputs, at once or when they have been read."""
        if not self._free or not outputs.is_large:
            job.finish(outputs.add_to(result))
            return

        def finish(read: asyncio.Future[Result]) -> None:
            self._free += 1
            job.finish(read.result())

        self._free -= 1
        self._loop.run_in_executor(None, outputs.add_to, result).add_done_callback(finish)
