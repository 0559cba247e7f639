"""A keeper owns one zygote: starts it, hands it jobs, takes reports and exit facts, kills and forgets it.

A zygote has two lanes, each a payload pipe and a report pipe, so that the next job waits ready in the second while the
first runs. A lane is free again when its DONE has come and its report pipe has been drained: everything in the pipe by
then was written by that job's worker, because the next worker on the lane is not yet ordered.
"""

from __future__ import annotations

import array
import asyncio
import logging
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cruxcell.protocol import frames, messages

from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.lane import Lane
from cruxboxd.zygotes.setup import ZygoteKey

log = logging.getLogger(__name__)

START_TIMEOUT_S = 30.0
_HANG_GRACE_S = 10.0
_STUCK_S = 0.05
_CHUNK = 1 << 16
_BOOT = (
    "import sys; sys.path[:] = [p for p in sys.path if p] + [sys.argv.pop(1)]; from cruxcell.boot import main; main()"
)


class StartError(Exception):
    """The zygote did not start; the message names the step that failed."""


@dataclass(frozen=True)
class Started:
    """What a zygote said when it was ready."""

    python_version: str
    twin: str
    layers: tuple[tuple[str, bool, str], ...]


class Keeper:
    """One zygote and the jobs it has. `on_change` is called whenever a lane or the CPU slot becomes free.

    `slow` is true while the worker in front has outlived the fast phase: it then no longer counts for a CPU slot.
    """

    def __init__(self, key: ZygoteKey, on_change: Callable[[Keeper], None], requeue: Callable[[Job], None]) -> None:
        self.key = key
        self.slow = False
        self.alive = False
        self.started: Started | None = None
        self._on_change, self._requeue = on_change, requeue
        self._lanes: list[Lane] = []
        self._line: list[Lane] = []  # lanes with a job, in the order of the zygote
        self._seq = 0
        self._heard_ns = 0  # when the zygote last said something
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._loop = asyncio.get_running_loop()
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    # ---- starting and ending -----------------------------------------------------------------------------------

    async def start(self, python: str, environment: dict[str, str], setup: list[bytes]) -> Started:
        """Execute the zygote and wait until it is confined. Raises StartError with the step that failed."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        self._control = ours
        self._lanes = [Lane(), Lane()]
        numbers = [theirs.fileno()]
        for lane in self._lanes:
            numbers += [lane.payload_theirs, lane.report_theirs]
        self._folder = tempfile.TemporaryDirectory(prefix="cruxbox-")
        Path(self._folder.name).chmod(0o755)
        root = str(Path(__file__).resolve().parents[2])
        try:
            self._process = subprocess.Popen(
                [python, "-S", "-s", "-c", _BOOT, root, *map(str, numbers)],
                env=environment,
                cwd=self._folder.name,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=numbers,
            )
        except OSError as error:
            raise StartError(f"cannot execute {python}: {error.strerror}") from None
        finally:
            theirs.close()
            for lane in self._lanes:
                os.close(lane.report_theirs)
        try:
            ours.send(frames.pack([*setup, os.fsencode(self._folder.name)]))
            answer = await asyncio.wait_for(self._loop.sock_recv(ours, 1 << 16), START_TIMEOUT_S)
        except asyncio.TimeoutError:
            raise StartError(f"{python}: the zygote was not ready within {START_TIMEOUT_S:.0f} s") from None
        except ConnectionError:  # it ended
            answer = b""
        self.started = _read_ready(answer, python)
        self.alive = True
        self._loop.add_reader(ours.fileno(), self._on_control)
        return self.started

    def kill(self, reason: str) -> None:
        """End the zygote and with it its workers. Jobs it had go back to the queue, as our failure."""
        jobs = [lane.job for lane in self._line if lane.job]
        was_alive, self.alive = self.alive, False
        if was_alive and reason:
            log.warning("zygote ended", extra={"reason": reason, "pid": self.pid})
        self._release()
        for job in jobs:
            if job.is_cancelled or job.is_partner:
                job.finish(Result(error="cancelled", attempts=job.attempts))
            else:
                self._requeue(job)
        self._on_change(self)

    def _release(self) -> None:
        if self._control is not None:
            self._loop.remove_reader(self._control.fileno())
            self._control.close()
            self._control = None
        for lane in self._lanes:
            self._unwatch(lane)
            self._loop.remove_writer(lane.payload)
            lane.close()
        self._lanes, self._line = [], []
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    # ---- jobs --------------------------------------------------------------------------------------------------

    @property
    def load(self) -> int:
        """Jobs on this keeper: 0 idle, 1 running, 2 running and one waiting ready behind it."""
        return len(self._line)

    @property
    def tenant(self) -> str:
        """Whose job runs here; "" if nobody's."""
        job = self._line[0].job if self._line else None
        return job.tenant if job is not None else ""

    def run(self, job: Job) -> None:
        """Hand the zygote a job; there must be a free lane, or both for a pair."""
        lane = next(lane for lane in self._lanes if lane not in self._line)
        self._seq = (self._seq + 1) & 0xFFFFFFFF
        self._load(lane, job)
        if job.partner is not None:
            self._load(self._lanes[1], job.partner)
        self._order(job.order(lane.seq, self._lanes.index(lane)))

    def _load(self, lane: Lane, job: Job) -> None:
        lane.job, lane.seq = job, self._seq
        lane.received, lane.received_bytes, lane.is_over_cap = [], 0, False
        job.attempts += 1
        self._line.append(lane)
        if len(self._line) == 1 or job.is_partner:
            job.started_at = time.monotonic_ns()
        self._send(lane, job.payload())

    def cancel(self, job: Job) -> None:
        """Kill the job's worker, or let it be passed over if it only waits."""
        for lane in self._line:
            if lane.job is job:
                self._cancel_lane(lane)

    def _cancel_lane(self, lane: Lane) -> None:
        self._order(messages.ORDER.pack(messages.CANCEL, 0, 0, lane.seq, 0, 0, 0, 0, 0))

    def give_up_waiting(self) -> None:
        """Call back the job that waits behind a slow one, so that another keeper can have it."""
        for lane in self._line[1:]:
            job = lane.job
            if job is not None and not job.is_cancelled and not job.is_partner:
                lane.job = None  # its worker will only take the payload off the pipe
                job.attempts -= 1
                self._cancel_lane(lane)
                self._requeue(job)

    def ping(self) -> None:
        """Ask for a sign of life, if the zygote has something to do: it answers between two looks at its worker."""
        if self._line:
            self._order(messages.ORDER.pack(messages.PING, 0, 0, 0, 0, 0, 0, 0, 0))

    def is_hung(self, now_ns: int) -> bool:
        """Has the zygote been silent for so long that it cannot be well?"""
        if not self._line or self._line[0].job is None:
            return False
        job = self._line[0].job
        # A worker that cut its line and lives on is waited for, and meanwhile nothing is answered.
        allowed = int(_HANG_GRACE_S * 1e9) + (job.limits.wall_ms * 1_000_000 if self.slow else 0)
        return now_ns - max(job.started_at, self._heard_ns) > allowed

    def _order(self, data: bytes) -> None:
        try:
            assert self._control is not None
            self._control.send(data)
        except OSError as error:
            self._loop.call_soon(self.kill, f"control: {error.strerror}")

    def _send(self, lane: Lane, data: bytes) -> None:
        try:
            sent = os.write(lane.payload, data)
        except BlockingIOError:
            sent = 0
        except OSError as error:
            self._loop.call_soon(self.kill, f"payload: {error.strerror}")
            return
        lane.unsent = data[sent:]
        if lane.unsent:
            self._loop.add_writer(lane.payload, self._send_rest, lane)

    def _send_rest(self, lane: Lane) -> None:
        self._loop.remove_writer(lane.payload)
        self._send(lane, lane.unsent)

    # ---- what the zygote says ----------------------------------------------------------------------------------

    def _on_control(self) -> None:
        assert self._control is not None
        room = socket.CMSG_SPACE(2 * array.array("i").itemsize)
        try:
            data, ancillary, _, _ = self._control.recvmsg(messages.EVENT.size, room)
        except BlockingIOError:
            return
        except OSError:
            data, ancillary = b"", []
        if len(data) != messages.EVENT.size:
            self.kill("it died")
            return
        event = messages.EVENT.unpack(data)
        self._heard_ns = time.monotonic_ns()
        if event[0] == messages.PONG:
            return
        if event[0] == messages.SLOW:
            self._on_slow()
        elif event[0] == messages.DONE:
            self._on_done(event, _descriptors(ancillary))
        else:
            self.kill(f"fork failed: {os.strerror(event[5])}")

    def _on_slow(self) -> None:
        for lane in self._line:
            if lane is self._line[0] or (lane.job is not None and lane.job.is_partner):
                self._watch(lane)
        self.slow = True
        if self._line:
            self._loop.call_later(_STUCK_S, self._on_stuck, self._line[0].seq)
        self.give_up_waiting()
        self._on_change(self)

    def _on_stuck(self, seq: int) -> None:
        """The worker in front is still the one that was slow."""
        lane = self._line[0] if self._line else None
        if lane is not None and lane.seq == seq and lane.job is not None:
            lane.job.stuck(b"".join(lane.received))

    def _on_done(self, event: tuple[int, ...], streams: list[int]) -> None:
        _, number, killed, _, seq, status, cpu_ns, wall_ns, peak_bytes = event
        lane = self._lanes[number]
        if not self._line or self._line[0] is not lane or lane.seq != seq:
            self.kill("it answered out of turn")
            return
        self._drain(lane)
        self._unwatch(lane)
        facts = Exit(status, cpu_ns, wall_ns, peak_bytes, killed)
        job, lane.job = lane.job, None
        report, lane.received = b"".join(lane.received), []
        self._line.pop(0)
        self.slow = False
        if self._line and self._line[0].job is not None:
            self._line[0].job.started_at = time.monotonic_ns()
        if lane.unsent:
            self._loop.remove_writer(lane.payload)
        lane.clear()
        output_limit = job.limits.output_bytes if job is not None else 0
        contents = _take_streams(streams, output_limit)
        if job is not None and job.flags & messages.STDIO and len(streams) != len(contents):
            self._requeue(job)  # no descriptor was free here to receive what it printed: our failure
        elif job is not None:
            self._finish(job, lane, report, facts, contents)
        self._on_change(self)

    def _finish(self, job: Job, lane: Lane, report: bytes, facts: Exit, streams: tuple[bytes, bytes]) -> None:
        result = Result(
            report=report,
            facts=facts,
            error="cancelled" if job.is_cancelled else "",
            queue_ns=job.started_at - job.queued_at,
            attempts=job.attempts,
            streams=streams,
            over_cap=lane.is_over_cap,
        )
        job.finish(result)

    # ---- reports -----------------------------------------------------------------------------------------------

    def _watch(self, lane: Lane) -> None:
        if not lane.is_watched:
            lane.is_watched = True
            self._loop.add_reader(lane.report, self._drain, lane)

    def _unwatch(self, lane: Lane) -> None:
        if lane.is_watched:
            lane.is_watched = False
            self._loop.remove_reader(lane.report)

    def _drain(self, lane: Lane) -> None:
        """Take what is in the report pipe; beyond the cap it is read and dropped, and the worker killed."""
        while True:
            try:
                data = os.read(lane.report, _CHUNK)
            except BlockingIOError:
                return
            if not data:
                return
            lane.received_bytes += len(data)
            if lane.job is not None and lane.received_bytes > lane.job.report_cap:
                if not lane.is_over_cap:
                    lane.is_over_cap = True
                    self._cancel_lane(lane)
            else:
                lane.received.append(data)
            if len(data) < _CHUNK:
                return


def _read_ready(answer: bytes, python: str) -> Started:
    if answer[:1] == bytes([messages.READY]):
        fields = [field.decode("utf-8", "replace") for field in frames.unpack(answer[1:])]
        layers = tuple((fields[at], fields[at + 1] == "1", fields[at + 2]) for at in range(2, len(fields) - 2, 3))
        return Started(fields[0], fields[1], layers)
    if answer[:1] == bytes([messages.FAILED_TO_START]):
        raise StartError(answer[1:].decode("utf-8", "replace"))
    raise StartError(f"{python} ended before it was ready; is it a CPython from 3.8 on?")


def _descriptors(ancillary: list[tuple[int, int, bytes]]) -> list[int]:
    found = array.array("i")
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            found.frombytes(data[: len(data) - len(data) % found.itemsize])
    return list(found)


def _take_streams(descriptors: list[int], limit: int) -> tuple[bytes, bytes]:
    """The contents of the memory files for standard output and error, up to one byte over the limit."""
    contents = [os.pread(fd, limit + 1, 0) for fd in descriptors]
    for fd in descriptors:
        os.close(fd)
    return (contents[0], contents[1]) if len(contents) == 2 else (b"", b"")
