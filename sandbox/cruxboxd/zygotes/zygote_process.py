"""The handle of one zygote process: has it forked, hands it jobs, takes reports and exit facts, kills and forgets it.

A zygote has two lanes, each a payload pipe and a report pipe, so that the next job waits ready in the second while the
first runs. A lane is free again when its DONE has come and its report pipe has been drained: everything in the pipe by
then was written by that job's worker, because the next worker on the lane is not yet ordered.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack

from cruxcell.protocol import messages

from cruxboxd.shared.waiting import within
from cruxboxd.zygotes import launch
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.figures import figures_of
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.lane import Lane
from cruxboxd.zygotes.launch import Hung, Started, StartError
from cruxboxd.zygotes.outputs import OutputReader, Outputs
from cruxboxd.zygotes.pipe_writer import PipeWriter
from cruxboxd.zygotes.priority import Priority
from cruxboxd.zygotes.retry import RETRY
from cruxboxd.zygotes.setup import ZygoteKey
from cruxboxd.zygotes.streams import Streams
from cruxboxd.zygotes.template import Template

log = logging.getLogger(__name__)

_STUCK_S = 0.05
LANES = 2  # of a zygote: jobs it has at the same time
# What the daemon holds open of a zygote at the most: control, its lanes' pipes, its session's priority, and of a
# program its input, both outputs and its folder; and the channel to a template.
DESCRIPTORS = 1 + 3 * LANES + 1 + 4 + 1
_CHUNK = 1 << 16
_CHUNKS_OF_A_PIPE = (1 << 20) // _CHUNK + 1
Event = tuple[int, ...]  # messages.EVENT


class ZygoteProcess:
    """One zygote and its jobs. `on_change` is called whenever a lane or the CPU slot becomes free.

    `slow` is true while the worker in front has outlived the fast phase: it then no longer counts for a CPU slot.
    """

    def __init__(
        self, key: ZygoteKey, on_change: Callable[[ZygoteProcess], None], requeue: Callable[[Job], None]
    ) -> None:
        self.key = key
        self.slow = False
        self.alive = False
        self.started: Started | None = None
        self._on_change, self._requeue = on_change, requeue
        self._lanes: list[Lane] = []
        self._busy: list[Lane] = []  # lanes with a job, in the order of the zygote
        self._seq = 0
        self._heard_ns = 0  # when the zygote last said something
        self._first_half: tuple[Job, Result] | None = None  # of a pair whose test's end is still to come
        self.pid = 0
        self._priority = Priority()
        self._control: socket.socket | None = None
        self._loop = asyncio.get_running_loop()
        self._outputs = OutputReader(LANES)
        self._on_event = {  # all others are FORK_FAILED, or end the zygote
            messages.SLOW: self._on_slow, messages.DONE: self._on_done, messages.ASK_FIGURES: self._hand_figures,
        }  # fmt: skip

    # ---- starting and ending -----------------------------------------------------------------------------------

    async def start(self, template: Template) -> Started:
        """Have the zygote forked and wait until it is confined. Raises StartError with the step that failed."""
        try:
            with ExitStack() as lent:
                self.pid = await template.fork(self._acquire(lent), scratch=self.key.scratch)
        except OSError as error:
            raise StartError(f"no zygote can be forked: {error.strerror}") from None
        assert self._control is not None
        try:
            self._control.send(b".")  # its number is known
            answer = await within(launch.TIMEOUT_S, self._loop.sock_recv(self._control, 1 << 16))
        except asyncio.TimeoutError:
            raise Hung("the zygote") from None
        except OSError:  # it ended
            answer = b""
        self.started = launch.read_ready(answer, template.python)
        self.alive = True
        self._priority.begin(self.pid)
        self._loop.add_reader(self._control.fileno(), self._on_control)
        return self.started

    def _acquire(self, lent: ExitStack) -> list[int]:
        """Open the control socket and the lanes; the numbers of the zygote's ends, which are closed with `lent`."""
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        lent.enter_context(theirs)
        self._control.setblocking(False)
        numbers = [theirs.fileno()]
        for _ in range(LANES):
            lane = Lane()
            self._lanes.append(lane)
            lent.callback(os.close, lane.report_theirs)
            numbers += [lane.payload_theirs, lane.report_theirs]
        return numbers

    def kill(self, reason: str) -> None:
        """End the zygote and with it its workers. Jobs it had go back to the queue, as our failure."""
        jobs = self.jobs
        partners = [job.partner for job in jobs]  # they come back with their halves
        was_alive, self.alive = self.alive, False
        self._finish_first_half()
        if was_alive and reason:
            log.warning("zygote ended", extra={"reason": reason, "pid": self.pid})
        self._release()
        for job in jobs:
            if job.is_cancelled or (job.is_partner and job not in partners):
                job.finish(Result(error="cancelled", attempts=job.attempts))
            elif not job.is_partner:
                self._requeue(job)
        self._on_change(self)

    def _release(self) -> None:
        if self._control is not None:
            self._loop.remove_reader(self._control.fileno())
            self._control.close()
            self._control = None
        for lane in self._lanes:
            lane.close()
        self._lanes, self._busy = [], []
        if self.pid:
            self._priority.end()
            launch.end(self.pid)
            self.pid = 0

    # ---- jobs --------------------------------------------------------------------------------------------------

    @property
    def load(self) -> int:
        """Jobs it has: 0 idle, 1 running, 2 running and one waiting ready behind it."""
        return len(self._busy)

    @property
    def jobs(self) -> list[Job]:
        """The jobs that are here, the one that runs first."""
        return [lane.job for lane in self._busy if lane.job is not None]

    @property
    def memory_bytes(self) -> int:
        """What its workers may take at once: both of a pair, else the larger of those that follow each other."""
        if not self._busy:  # as most are, and every job that starts asks them all
            return 0
        return max((job.memory_bytes for job in self.jobs if not job.is_partner), default=0)

    @property
    def tenant(self) -> str:
        """Whose job runs here; "" if nobody's."""
        job = self._busy[0].job if self._busy else None
        return job.tenant if job is not None else ""

    def run(self, job: Job) -> None:
        """Hand the zygote a job; there must be a free lane, or both for a pair."""
        lane = next(lane for lane in self._lanes if lane not in self._busy)
        self._seq = (self._seq + 1) & 0xFFFFFFFF
        try:
            lane.streams = Streams(job.stdin) if job.flags & messages.STDIO else None
        except OSError as error:  # no descriptor is free: our failure
            job.attempts += 1
            self._loop.call_later(RETRY.pause_s, self._requeue, job)
            log.error("no standard streams", extra={"reason": str(error)})
            return
        self._load(lane, job)
        if job.partner is not None:
            self._load(self._lanes[1], job.partner)
        flags = self._priority.flags(job.is_ahead)
        self._order(job.order(lane.seq, self._lanes.index(lane), flags), lane.streams.theirs if lane.streams else ())
        if lane.streams is not None:
            lane.streams.handed_over()

    def _load(self, lane: Lane, job: Job) -> None:
        lane.job, lane.seq = job, self._seq
        lane.received, lane.received_bytes, lane.is_over_cap = [], 0, False
        job.attempts += 1
        self._busy.append(lane)
        if len(self._busy) == 1 or job.is_partner:
            job.started_at = time.monotonic_ns()
            if not job.is_partner:
                self._priority.put(job.is_ahead)
        lane.sending = PipeWriter(lane.payload, job.payload(), self._sent)
        lane.sending.write()

    def cancel(self, job: Job) -> None:
        """Kill the job's worker, or let it be passed over if it only waits."""
        for lane in self._busy:
            if lane.job is job:
                self._tell(messages.CANCEL, seq=lane.seq)

    def give_up_waiting(self) -> None:
        """Call back the job that waits behind a slow one, so that another zygote can have it."""
        for lane in self._busy[1:]:
            job = lane.job
            if job is not None and not job.is_partner:
                lane.job = None  # its worker will only take the payload off the pipe
                job.was_called_back = True
                job.attempts -= 1
                self._tell(messages.CANCEL, seq=lane.seq)
                self._requeue(job)

    def ping(self) -> None:
        """Check for a sign of life, if the zygote has something to do: it answers between two looks at its worker."""
        if self._busy:
            self._tell(messages.PING)

    def silence_ns(self, now_ns: int) -> int:
        """For how long the zygote has said nothing though it has something to do."""
        job = self._busy[0].job if self._busy else None  # None, too, if called back: then it was heard when that began
        return now_ns - max(job.started_at if job else 0, self._heard_ns) if self._busy else 0

    def _tell(self, op: int, lane: int = 0, seq: int = 0, descriptors: Sequence[int] = ()) -> None:
        self._order(messages.ORDER.pack(op, lane, 0, seq, 0, 0, 0, 0, 0, 0), descriptors)

    def _order(self, data: bytes, descriptors: Sequence[int]) -> None:
        try:
            assert self._control is not None
            if descriptors:
                socket.send_fds(self._control, [data], list(descriptors))
            else:
                self._control.send(data)
        except OSError as error:
            self._loop.call_soon(self.kill, f"control: {error.strerror}")

    def _sent(self, error: OSError | None) -> None:
        """A payload is on its way, or the pipe fails."""
        if error is not None:
            self._loop.call_soon(self.kill, f"payload: {error.strerror}")

    # ---- what the zygote says ----------------------------------------------------------------------------------

    def _on_control(self) -> None:
        assert self._control is not None
        try:
            data, handles, _, _ = socket.recv_fds(self._control, messages.EVENT.size, 1)
        except BlockingIOError:
            return
        except OSError:
            data, handles = b"", []
        if len(data) != messages.EVENT.size:
            self.kill("it died")
            return
        event = messages.EVENT.unpack(data)
        self._heard_ns = time.monotonic_ns()
        if event[0] != messages.PONG:
            self._on_event.get(event[0], self._on_fork_failed)(event, handles)

    def _on_slow(self, _event: Event, _handles: list[int]) -> None:
        for lane in self._busy:
            if lane is self._busy[0] or (lane.job is not None and lane.job.is_partner):
                lane.watch(self._drain)
        if self._busy:
            self._loop.call_later(_STUCK_S, self._on_stuck, self._busy[0].seq)
        self.give_slot_back()

    def give_slot_back(self) -> None:
        """What runs no longer counts, and nobody waits behind it."""
        self.slow = True
        self._priority.put(is_ahead=False)
        self.give_up_waiting()
        self._on_change(self)

    def _on_stuck(self, seq: int) -> None:
        """The worker in front is still the one that was slow."""
        lane = self._busy[0] if self._busy else None
        if lane is not None and lane.seq == seq and lane.job is not None:
            self._drain(lane)
            lane.job.stuck(b"".join(lane.received))

    def _hand_figures(self, event: Event, handles: list[int]) -> None:
        """A worker has used up half of its wall time: how long did it wait for a CPU?"""
        for handle in handles:
            with figures_of(handle) as files:
                self._tell(messages.FIGURES, event[1], event[4], files)
            os.close(handle)

    def _on_fork_failed(self, event: Event, _handles: list[int]) -> None:
        """The host had no process for the job in front: it is tried again, not at once."""
        lanes = [lane for lane in self._busy if lane.seq == event[4]]
        if not lanes or lanes[0] is not self._busy[0]:
            self.kill("it answered out of turn")
            return
        log.error("fork failed", extra={"reason": os.strerror(event[5])})
        job = lanes[0].job
        for lane in lanes:
            self._busy.remove(lane)
            self._clear(lane)
        self._begin_next()
        if job is not None:
            self._loop.call_later(RETRY.pause_s, self._requeue, job)
        self._on_change(self)

    def _on_done(self, event: Event, folders: list[int]) -> None:
        folder = folders[0] if folders else -1
        if not self._end_job(event, folder) and folder >= 0:
            os.close(folder)

    def _end_job(self, event: Event, folder: int) -> bool:
        """Finish the job in front, and begin the next; whether `folder` is taken."""
        _, number, killed, _, seq, status, cpu_ns, wall_ns, peak_bytes = event
        lane = self._lanes[number]
        if not self._busy or self._busy[0] is not lane or lane.seq != seq:
            self.kill("it answered out of turn")
            return False
        self._drain(lane)
        job, report, is_held_up = lane.job, b"".join(lane.received), lane.is_held_up
        outputs = None
        if job is not None and (lane.streams is not None or job.flags & messages.READ_BACK):
            outputs, lane.streams = Outputs(job, lane.streams, folder), None
        self._busy.pop(0)
        self._clear(lane)
        self._begin_next()
        if job is not None:
            result = Result(
                report=report,
                facts=Exit(status, cpu_ns, wall_ns, peak_bytes, killed),
                error="cancelled" if job.is_cancelled else "",
                queue_ns=job.started_at - job.queued_at,
                attempts=job.attempts,
                over_cap=lane.is_over_cap,
                is_held_up=is_held_up,
            )
            if outputs is None:
                self._finish(job, result)
            else:  # the zygote may have its next job while they are read; none of a pair has any
                self._outputs.finish(job, result, outputs)
        self._on_change(self)
        return outputs is not None

    def _clear(self, lane: Lane) -> None:
        """Nothing of a job stays on its lane."""
        lane.job, lane.received = None, []
        lane.clear()

    def _begin_next(self) -> None:
        self.slow = False
        if self._busy and self._busy[0].job is not None:
            self._busy[0].job.started_at = time.monotonic_ns()
            self._priority.put(self._busy[0].job.is_ahead)

    def _finish(self, job: Job, result: Result) -> None:
        """Of a pair the candidate's end comes first. It is over, and no longer counts, when both workers are gone."""
        if job.partner is not None:
            self._first_half = job, result
            return
        self._finish_first_half()
        job.finish(result)

    def _finish_first_half(self) -> None:
        if self._first_half is not None:
            (job, result), self._first_half = self._first_half, None
            job.finish(result)

    # ---- reports -----------------------------------------------------------------------------------------------

    def _drain(self, lane: Lane) -> None:
        """Take what is in the report pipe, but no more than it holds: a worker may go on writing. Beyond the cap it is
        read and dropped, and the worker killed."""
        for _ in range(_CHUNKS_OF_A_PIPE):
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
                    self._tell(messages.CANCEL, seq=lane.seq)
            else:
                lane.received.append(data)
            if len(data) < _CHUNK:
                return
