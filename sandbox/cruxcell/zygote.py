"""The zygote: a warm interpreter that forks a worker for each job, times it, reaps it.

Theory of operation. The zygote is single-threaded and handles one order at a time; orders that arrive meanwhile wait
in a list. No byte of a task enters its memory: the payload waits in a pipe that only the worker reads, reports go into
a pipe that only the daemon reads. What the zygote sees of a worker is a progress pipe with one dot for each check done,
and facts of the kernel: exit status, CPU clock, resource usage. How it watches is in `watch`.
"""

import _socket
import os
import time

from cruxcell import worker
from cruxcell.clocks import Clock, Clocks, hangs_up
from cruxcell.confinement.confine import confine_worker
from cruxcell.jobs.context import Workbench
from cruxcell.jobs.separated import CHANNEL
from cruxcell.protocol import messages

_NICE_OF_SLOW_WORKERS = 10
_EXIT_CPU_NS = 500_000_000
_PARTNER_GRACE_MS = 2_000
_S = 1_000_000_000
_SIGKILL = 9  # the module `signal` would bring `enum` with it

# Where the zygote keeps its own file descriptors, out of the way of a worker's.
CONTROL, FIRST_LANE = 10, 11  # lane n: payload at FIRST_LANE + 2n, report at FIRST_LANE + 2n + 1
KEPT = (CONTROL, FIRST_LANE, FIRST_LANE + 1, FIRST_LANE + 2, FIRST_LANE + 3)
CANDIDATE_LANE, TEST_LANE = 0, 1  # of a pair


class _Order:
    """A RUN order, taken apart."""

    __slots__ = ("cpu_ns", "flags", "lane", "rlimits_key", "seq", "wall_ns")

    def __init__(self, fields):
        # type: (tuple[int, ...]) -> None
        _, self.lane, self.flags, self.seq, self.cpu_ns, self.wall_ns = fields[:6]
        self.rlimits_key = fields[6:]


class _Child:
    """A worker from the zygote's side."""

    __slots__ = ("killed", "lane", "pid", "progress", "started", "streams")

    def __init__(self, pid, lane, progress, started, streams):
        # type: (int, int, int, int, list[int]) -> None
        self.pid, self.lane, self.progress, self.started, self.streams = pid, lane, progress, started, streams
        self.killed = messages.NOT_KILLED


class Zygote:
    """`filters` maps a profile's flag to its BPF; `pack_limits(memory, file size, cpu seconds)` gives rlimits."""

    def __init__(self, kernel, filters, pack_limits, control, opened=frozenset()):
        # type: (object, dict[int, bytes], object, object, frozenset[str]) -> None
        self._kernel, self._filters, self._pack_limits = kernel, filters, pack_limits
        self._bench = Workbench(
            kernel, worker.REPORT, worker.PROGRESS, opened
        )  # of the workers, each of which has a copy
        self._control = control
        self._pid = os.getpid()
        self._waiting = []  # type: list[tuple[int, ...]]
        self._dropped = set()  # type: set[int]
        self._rlimits = {}  # type: dict[tuple[int, ...], bytes]

    def serve(self, ready):
        # type: (bytes) -> None
        """Say READY, then carry out orders until the daemon says STOP or is gone."""
        self._control.send(bytes([messages.READY]) + ready)  # type: ignore[attr-defined]
        while True:
            fields = self._waiting.pop(0) if self._waiting else self._receive()
            if fields[0] == messages.RUN:
                order = _Order(fields)
                (self._run_pair if order.flags & messages.PAIR else self._run)(order)
                self._dropped.discard(order.seq)

    def _receive(self):
        # type: () -> tuple[int, ...]
        try:
            data = self._control.recv(messages.ORDER.size)  # type: ignore[attr-defined]
        except OSError:
            data = b""
        if len(data) != messages.ORDER.size or data[0] == messages.STOP:
            os._exit(0)
        fields = messages.ORDER.unpack(data)
        if fields[0] == messages.CANCEL:
            self._dropped.add(fields[3])
        elif fields[0] == messages.PING:
            self._control.send(messages.EVENT.pack(messages.PONG, *[0] * 8))  # type: ignore[attr-defined]
        return fields

    # ---- one worker --------------------------------------------------------------------------------------------

    def _run(self, order):
        # type: (_Order) -> None
        child = self._fork(order, order.lane, -1)
        clocks = Clocks(order.wall_ns, child.started, [Clock(child.pid, child.progress, order.cpu_ns)])
        if not clocks.ends_fast():
            self._send(messages.SLOW, child, order.seq)
            _step_back(child.pid, order.flags & messages.MODEST)
            child.killed = self._watch(order, clocks)
        self._finish(order, child)

    def _watch(self, order, clocks):
        # type: (_Order, Clocks) -> int
        """Wait until the worker hangs up or a clock runs out; the reason to kill it, if any."""
        while True:
            reason = clocks.expired()
            if reason:
                return reason
            if clocks.wait(CONTROL):
                self._waiting.append(self._receive())
                if order.seq in self._dropped:
                    return messages.KILLED_CANCEL
            if clocks.hung_up:
                return messages.NOT_KILLED

    # ---- a pair ------------------------------------------------------------------------------------------------

    def _run_pair(self, order):
        # type: (_Order) -> None
        """A candidate and its test, joined by a socket. When one is gone, the other has a moment to notice."""
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        candidate = self._fork(order, CANDIDATE_LANE, ours.fileno())
        test = self._fork(order, TEST_LANE, theirs.fileno())
        ours.close()
        theirs.close()
        pair = [candidate, test]
        self._send(messages.SLOW, candidate, order.seq)
        clocks = Clocks(order.wall_ns, test.started, [Clock(one.pid, one.progress, order.cpu_ns) for one in pair])
        reason = messages.NOT_KILLED
        while not reason and not clocks.hung_up:
            reason = clocks.expired()
            if not reason and clocks.wait(CONTROL):
                self._waiting.append(self._receive())
                reason = messages.KILLED_CANCEL if order.seq in self._dropped else reason
        for child in pair:
            if reason in (messages.KILLED_CPU, messages.KILLED_WALL) and child.pid != clocks.expired_pid:
                child.killed = messages.KILLED_CANCEL
            elif reason:
                child.killed = reason
            elif not hangs_up(child.progress, _PARTNER_GRACE_MS):
                child.killed = messages.KILLED_CANCEL
        for child in pair:
            self._finish(order, child)

    # ---- beginning and end of a worker -------------------------------------------------------------------------

    def _fork(self, order, lane, channel):
        # type: (_Order, int, int) -> _Child
        streams = [os.memfd_create(name) for name in ("out", "err")] if order.flags & messages.STDIO else []
        rlimits = self._rlimits_of(order.rlimits_key)
        progress, progress_end = os.pipe()
        os.fchmod(progress_end, 0)  # as confine.seal: else the worker could open the other end and eat its own dots
        started = time.monotonic_ns()
        try:
            pid = os.fork()
        except OSError as error:
            event = messages.EVENT.pack(messages.FORK_FAILED, lane, 0, 0, order.seq, error.errno or 0, 0, 0, 0)
            self._control.send(event)  # type: ignore[attr-defined]
            os._exit(1)
        if pid == 0:
            self._become_worker(order, lane, [*streams, progress_end, channel], rlimits)
        os.close(progress_end)
        return _Child(pid, lane, progress, started, streams)

    def _become_worker(self, order, lane, descriptors, rlimits):
        # type: (_Order, int, list[int], bytes) -> None
        """The child's side of the fork: put the descriptors where a worker has them, and never come back."""
        try:
            bpf = self._filters[order.flags & messages.COMPUTE_PROFILE]
            kernel, parent = self._kernel, self._pid
            payload = FIRST_LANE + 2 * lane
            *streams, progress_end, channel = descriptors
            for number, stream in enumerate(streams):
                os.dup2(stream, number + 1)
            if channel >= 0:
                channel = os.dup2(channel, FIRST_LANE + 5)
            if progress_end != worker.PROGRESS:
                os.dup2(progress_end, worker.PROGRESS)
            os.dup2(payload + 1, worker.REPORT)
            if channel >= 0:
                os.dup2(channel, CHANNEL)
            if order.seq in self._dropped:
                worker.discard(payload)
            worker.main(self._bench, payload, channel >= 0, lambda: confine_worker(kernel, rlimits, bpf, parent))
        finally:
            os._exit(messages.EXIT_HARNESS)

    def _rlimits_of(self, key):
        # type: (tuple[int, ...]) -> bytes
        if key not in self._rlimits:
            if len(self._rlimits) > 64:
                self._rlimits.clear()
            self._rlimits[key] = self._pack_limits(*key)  # type: ignore[operator]
        return self._rlimits[key]

    def _finish(self, order, child):
        # type: (_Order, _Child) -> None
        """Reap the worker and tell the daemon what the kernel says of it."""
        status, usage = _reap(child, order.wall_ns)
        os.close(child.progress)
        event = messages.EVENT.pack(
            messages.DONE,
            child.lane,
            child.killed,
            0,
            order.seq,
            status,
            int((usage.ru_utime + usage.ru_stime) * _S),  # type: ignore[attr-defined]
            time.monotonic_ns() - child.started,
            usage.ru_maxrss * 1024,  # type: ignore[attr-defined]
        )
        if child.streams:
            descriptors = b"".join([stream.to_bytes(4, "little") for stream in child.streams])
            ancillary = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)]
            self._control.sendmsg([event], ancillary)  # type: ignore[attr-defined]
            for stream in child.streams:
                os.close(stream)
        else:
            self._control.send(event)  # type: ignore[attr-defined]

    def _send(self, kind, child, seq):
        # type: (int, _Child, int) -> None
        self._control.send(messages.EVENT.pack(kind, child.lane, 0, 0, seq, 0, 0, 0, 0))  # type: ignore[attr-defined]


def _step_back(pid, modest):
    # type: (int, int) -> None
    """A slow worker has a lower priority; and where others have work, some CPUs are not for it at all.

    Without the second, each hand-over of somebody else's check waits until the worker's turn is played to its end,
    which on a kernel without preemption is up to a tick, whatever the priorities.
    """
    os.setpriority(os.PRIO_PROCESS, pid, _NICE_OF_SLOW_WORKERS)
    cpus = sorted(os.sched_getaffinity(0))
    if modest and len(cpus) > 1:
        os.sched_setaffinity(pid, cpus[(len(cpus) + 3) // 4 :])


def _reap(child, patience_ns):
    # type: (_Child, int) -> tuple[int, object]
    """(wait status, resource usage). A worker that hung up but lives on is killed as SILENT.

    Hanging up is the beginning of an honest worker's end, and on a busy host the rest may take its time. So patience
    is measured on its CPU clock: giving back its memory costs milliseconds; what runs for longer is not ending.
    """
    if child.killed == messages.NOT_KILLED:
        clock = Clock(child.pid, -1, _EXIT_CPU_NS + time.clock_gettime_ns((~child.pid << 3) | 2))
        deadline, pause = time.monotonic_ns() + patience_ns, 0.0
        while clock.left() > 0 and time.monotonic_ns() < deadline:
            done, status, usage = os.wait4(child.pid, os.WNOHANG)
            if done:
                return status, usage
            time.sleep(pause)
            pause = min(pause + 0.0001, 0.005)
        child.killed = messages.KILLED_SILENT
    os.kill(child.pid, _SIGKILL)
    _, status, usage = os.wait4(child.pid, 0)
    return status, usage
