"""From an order of the daemon to a confined worker: what a zygote forks, and what the child does until its job.

Whatever fails before the fork is an OSError, and then nothing is left of the worker. Behind the fork the child never
comes back: it ends with its job, or says at which step it failed.
"""

import _socket
import os
import time

from cruxcell import worker
from cruxcell.confinement import namespaces, scratch
from cruxcell.confinement.clocks import SIGKILL, step_back
from cruxcell.confinement.confine import confine_worker
from cruxcell.jobs.separated import CHANNEL
from cruxcell.protocol import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable  # noqa: F401 - in type comments

    from cruxcell.jobs.context import JobContext  # noqa: F401 - in type comments
    from cruxcell.native import Helper  # noqa: F401 - in type comments

# Where the zygote keeps its own file descriptors, out of the way of a worker's.
CONTROL, FIRST_LANE = 10, 11  # lane n: payload at FIRST_LANE + 2n, report at FIRST_LANE + 2n + 1
KEPT = (CONTROL, FIRST_LANE, FIRST_LANE + 1, FIRST_LANE + 2, FIRST_LANE + 3)
CANDIDATE_LANE, TEST_LANE = 0, 1  # of a pair
_SAFE = 63  # no descriptor has this number, and every worker closes it
_MOST_LIMITS = 64  # kept at a time


class Order:
    """A RUN order, taken apart, and the descriptors that came with it: standard streams for the worker, or none."""

    __slots__ = ("cpu_ns", "flags", "is_pair", "lane", "rlimits_key", "seat", "seq", "streams", "wall_ns")

    def __init__(self, fields, streams):
        # type: (tuple[int, ...], tuple[int, ...]) -> None
        _, self.lane, self.flags, self.seq, self.cpu_ns, self.wall_ns = fields[:6]
        self.rlimits_key, self.seat, self.streams = fields[6:9], fields[9], streams
        self.is_pair = bool(self.flags & messages.PAIR)


class Child:
    """A worker, as its zygote knows it."""

    __slots__ = ("folder", "killed", "lane", "pid", "progress", "started")

    def __init__(self, pid, lane, progress, started):
        # type: (int, int, int, int) -> None
        self.pid, self.lane, self.progress, self.started = pid, lane, progress, started
        self.folder = -1  # its scratch folder, if that is to be handed to the daemon
        self.killed = messages.NOT_KILLED


class Forks:
    """`filters` maps a profile's flag to its BPF; `pack_limits(memory, file size, cpu seconds)` gives rlimits; a worker
    may start `threads` of them, and has a copy of `context`."""

    def __init__(self, helper, filters, pack_limits, context, threads, scratch_bytes):  # noqa: PLR0917
        # type: (Helper, dict[int, bytes], Callable[..., bytes], JobContext, int, int) -> None
        self._helper, self._filters, self._pack_limits = helper, filters, pack_limits
        self._context, self._threads, self._scratch_bytes = context, threads, scratch_bytes
        self._pid = os.getpid()
        self._rlimits = {}  # type: dict[tuple[int, ...], bytes]

    def of(self, order, is_dropped):
        # type: (Order, bool) -> list[Child]
        """The workers of an order: one, or the candidate and the test of a pair, joined by a socket. Raises OSError.

        Those of an order that is dropped by now discard their payload, and end."""
        if not order.is_pair:
            return [self._one(order, order.lane, -1, is_dropped)]
        of_candidate, of_test = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            candidate = self._one(order, CANDIDATE_LANE, of_candidate.fileno(), is_dropped)
            try:
                return [candidate, self._one(order, TEST_LANE, of_test.fileno(), is_dropped)]
            except OSError:
                _take_back(candidate)
                raise
        finally:
            of_candidate.close()
            of_test.close()

    def _one(self, order, lane, channel, is_dropped):
        # type: (Order, int, int, bool) -> Child
        """A new worker, with a scratch folder where workers have one."""
        if not self._scratch_bytes:
            return self._fork(order, lane, channel, is_dropped)
        folder = scratch.new_folder(self._helper, self._scratch_bytes, scratch.NEW_FOLDERS[lane])
        try:
            child = self._fork(order, lane, channel, is_dropped)
        except OSError:
            os.close(folder)
            raise
        if order.flags & messages.READ_BACK:
            child.folder = folder
        else:
            os.close(folder)
        return child

    def _fork(self, order, lane, channel, is_dropped):
        # type: (Order, int, int, bool) -> Child
        limits = self._rlimits_of(order.rlimits_key)
        progress, progress_end = os.pipe()
        try:
            os.fchmod(progress_end, 0)  # as `steps.forbid_reopening`: else the worker could eat its own dots
            started = time.monotonic_ns()
            pid = os.fork()
        except OSError:
            os.close(progress)
            os.close(progress_end)
            raise
        if pid == 0:
            self._become_worker(order, lane, [*order.streams, progress_end, channel], limits, is_dropped)
        os.close(progress_end)
        return Child(pid, lane, progress, started)

    def _become_worker(self, order, lane, descriptors, limits, is_dropped):
        # type: (Order, int, list[int], bytes, bool) -> None
        """In the child: become the worker of this order, do its job, and never come back."""
        try:
            if order.flags & messages.BEHIND:
                os.nice(messages.ZYGOTE_AHEAD)
            bpf = self._filters[order.flags & (messages.COMPUTE_PROFILE | messages.SHARED_PROFILE)]
            helper, parent = self._helper, self._pid
            payload = FIRST_LANE + 2 * lane
            has_channel = _put_in_place(descriptors, payload + 1)
            self._context.memory_bytes, self._context.scratch_bytes = order.rlimits_key[0], self._scratch_bytes
            if is_dropped:
                worker.discard(payload)
            if self._scratch_bytes:
                scratch.move_in(self._helper, scratch.NEW_FOLDERS[lane])
            if self._threads:
                limits = self._room_for_threads(order, limits)
            worker.main(self._context, payload, has_channel, lambda: confine_worker(helper, limits, bpf, parent))
        except BaseException as error:
            worker.fail("start", error)
        finally:
            os._exit(messages.EXIT_HARNESS)

    def _room_for_threads(self, order, limits):
        # type: (Order, bytes) -> bytes
        """In the child: its limits if it may start threads, or `limits` where this host cannot count them.

        Priority and CPUs belong to a thread and are handed down: it steps back now, later only its first thread would.
        """
        step_back(0, order.flags & messages.MODEST)
        if not namespaces.own_user(self._helper):
            return limits
        return self._pack_limits(*order.rlimits_key, self._threads)

    def _rlimits_of(self, key):
        # type: (tuple[int, ...]) -> bytes
        if key not in self._rlimits:
            if len(self._rlimits) > _MOST_LIMITS:
                self._rlimits.clear()
            self._rlimits[key] = self._pack_limits(*key)
        return self._rlimits[key]


def _put_in_place(descriptors, report):
    # type: (list[int], int) -> bool
    """Give the descriptors (standard streams, progress, channel) the numbers that a worker has them under. Is there a
    channel? It may stand where another belongs, so it goes out of the way before, and to its place at last."""
    *streams, progress, channel = descriptors
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    has_channel = channel >= 0
    if has_channel:
        channel = os.dup2(channel, _SAFE)
    if progress != worker.PROGRESS:
        os.dup2(progress, worker.PROGRESS)
    os.dup2(report, worker.REPORT)
    if has_channel:
        os.dup2(channel, CHANNEL)
    return has_channel


def _take_back(child):
    # type: (Child) -> None
    os.kill(child.pid, SIGKILL)
    os.waitpid(child.pid, 0)
    for descriptor in (child.progress, child.folder):
        if descriptor >= 0:
            os.close(descriptor)
