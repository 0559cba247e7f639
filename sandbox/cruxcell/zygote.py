"""The zygote: a warm interpreter that forks a worker for each job, times it, reaps it.

Theory of operation. The zygote is single-threaded and handles one order at a time; orders that arrive meanwhile wait
in a list. No byte of a task enters its memory: the payload waits in a pipe that only the worker reads, reports go into
a pipe that only the daemon reads. What the zygote sees of a worker is a progress pipe with one dot for each check done,
and facts of the kernel: exit status, CPU clock, resource usage.

Watching has two phases. Most workers end within FAST_MS; until then the zygote sleeps on the hang-up of the progress
pipe alone, so that dots do not wake it. After that it tells the daemon (SLOW: start draining the report pipe, give
the CPU slot to others), lowers the worker's priority, and wakes for each dot to start the clocks of the next check.
A single-threaded worker cannot use CPU time faster than wall time passes, so sleeping for the rest of the CPU budget
and looking again is exact.
"""

import _socket
import os
import select
import signal
import time

from cruxcell import messages, worker
from cruxcell.confine import confine_worker

FAST_MS = 4
_MS, _S = 1_000_000, 1_000_000_000
_NICE_OF_SLOW_WORKERS = 10
_EXIT_GRACE_S = 0.05

# Where the zygote keeps its own file descriptors, out of the way of a worker's.
CONTROL, FIRST_LANE = 10, 11  # lane n: payload at FIRST_LANE + 2n, report at FIRST_LANE + 2n + 1
KEPT = (CONTROL, FIRST_LANE, FIRST_LANE + 1, FIRST_LANE + 2, FIRST_LANE + 3)


class Zygote:
    """`filters` maps a profile's flag to its BPF; `pack_limits(memory, file size, cpu seconds)` gives rlimits."""

    def __init__(self, kernel, filters, pack_limits, control):
        # type: (object, dict[int, bytes], object, object) -> None
        self._kernel, self._filters, self._pack_limits = kernel, filters, pack_limits
        self._control = control
        self._pid = os.getpid()
        self._waiting = []  # type: list[tuple[int, ...]]
        self._dropped = set()  # type: set[int]
        self._rlimits = {}  # type: dict[tuple[int, ...], bytes]
        self._hangup = select.poll()
        self._activity = select.poll()
        self._activity.register(CONTROL, select.POLLIN)

    def serve(self, ready):
        # type: (bytes) -> None
        """Say READY, then carry out orders until the daemon says STOP or is gone."""
        self._control.send(bytes([messages.READY]) + ready)
        while True:
            order = self._waiting.pop(0) if self._waiting else self._receive()
            if order[0] == messages.RUN:
                self._run(order)

    def _receive(self):
        # type: () -> tuple[int, ...]
        data = self._control.recv(messages.ORDER.size)
        if len(data) != messages.ORDER.size or data[0] == messages.STOP:
            os._exit(0)
        order = messages.ORDER.unpack(data)
        if order[0] == messages.CANCEL:
            self._dropped.add(order[3])
        return order

    def _run(self, order):
        # type: (tuple[int, ...]) -> None
        _, lane, flags, seq, cpu_ns, wall_ns, memory, file_size, cpu_seconds = order
        streams = [os.memfd_create(name) for name in ("out", "err")] if flags & messages.STDIO else []
        discard = seq in self._dropped
        rlimits = self._rlimits_of(memory, file_size, cpu_seconds)
        progress, progress_end = os.pipe()
        started = time.monotonic_ns()
        try:
            pid = os.fork()
        except OSError as error:
            self._control.send(messages.EVENT.pack(messages.FORK_FAILED, lane, 0, 0, seq, error.errno or 0, 0, 0, 0))
            os._exit(1)
        if pid == 0:
            self._become_worker(lane, flags, progress_end, streams, rlimits, discard)
        os.close(progress_end)
        killed = self._watch(pid, progress, seq, lane, (cpu_ns, wall_ns, started))
        status, usage, killed = _reap(pid, killed)
        os.close(progress)
        self._dropped.discard(seq)
        cpu = int((usage.ru_utime + usage.ru_stime) * _S)
        wall = time.monotonic_ns() - started
        event = messages.EVENT.pack(messages.DONE, lane, killed, 0, seq, status, cpu, wall, usage.ru_maxrss * 1024)
        self._send_done(event, streams)

    def _rlimits_of(self, *key):
        # type: (int) -> bytes
        if key not in self._rlimits:
            if len(self._rlimits) > 64:
                self._rlimits.clear()
            self._rlimits[key] = self._pack_limits(*key)  # type: ignore[operator]
        return self._rlimits[key]

    def _become_worker(self, lane, flags, progress_end, streams, rlimits, discard):
        # type: (int, int, int, list[int], bytes, bool) -> None
        """The child's side of the fork: put the descriptors where a worker has them, and never come back."""
        try:
            bpf = self._filters[flags & messages.COMPUTE_PROFILE]
            kernel, parent = self._kernel, self._pid
            payload = FIRST_LANE + 2 * lane
            for number, stream in enumerate(streams):
                os.dup2(stream, number + 1)
            if progress_end != worker.PROGRESS:
                os.dup2(progress_end, worker.PROGRESS)
            os.dup2(payload + 1, worker.REPORT)
            if discard:
                worker.discard(payload)
            worker.main(kernel, payload, lambda: confine_worker(kernel, rlimits, bpf, parent))
        finally:
            os._exit(messages.EXIT_HARNESS)

    def _watch(self, pid, progress, seq, lane, clocks):
        # type: (int, int, int, int, tuple[int, int, int]) -> int
        """Wait until the worker's progress pipe hangs up, or kill it when a clock runs out; gives the reason killed."""
        self._hangup.register(progress, 0)
        if self._hangup.poll(FAST_MS):
            return messages.NOT_KILLED
        self._control.send(messages.EVENT.pack(messages.SLOW, lane, 0, 0, seq, 0, 0, 0, 0))
        os.setpriority(os.PRIO_PROCESS, pid, _NICE_OF_SLOW_WORKERS)
        self._activity.register(progress, select.POLLIN)
        try:
            return self._watch_slowly(pid, progress, seq, clocks)
        finally:
            self._activity.unregister(progress)

    def _watch_slowly(self, pid, progress, seq, clocks):
        # type: (int, int, int, tuple[int, int, int]) -> int
        cpu_limit, wall_limit, wall_start = clocks
        cpu_start = 0
        clock = (~pid << 3) | 2  # the kernel's number for a process's CPU clock (MAKE_PROCESS_CPUCLOCK)
        while True:
            cpu_left = cpu_start + cpu_limit - time.clock_gettime_ns(clock)
            wall_left = wall_start + wall_limit - time.monotonic_ns()
            if cpu_left <= 0 or wall_left <= 0:
                return messages.KILLED_CPU if cpu_left <= 0 else messages.KILLED_WALL
            for fd, event in self._activity.poll(min(cpu_left, wall_left) // _MS + 1):
                if fd == CONTROL:
                    self._waiting.append(self._receive())
                    if seq in self._dropped:
                        return messages.KILLED_CANCEL
                elif event & select.POLLIN and os.read(progress, 4096):
                    cpu_start, wall_start = time.clock_gettime_ns(clock), time.monotonic_ns()
                else:
                    return messages.NOT_KILLED

    def _send_done(self, event, streams):
        # type: (bytes, list[int]) -> None
        if not streams:
            self._control.send(event)
            return
        descriptors = b"".join([stream.to_bytes(4, "little") for stream in streams])
        self._control.sendmsg([event], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])
        for stream in streams:
            os.close(stream)


def _reap(pid, killed):
    # type: (int, int) -> tuple[int, object, int]
    """(wait status, resource usage, reason killed). A worker that hung up but lives on is killed as SILENT."""
    if killed == messages.NOT_KILLED:
        deadline = time.monotonic() + _EXIT_GRACE_S
        while True:
            done, status, usage = os.wait4(pid, os.WNOHANG)
            if done:
                return status, usage, killed
            if time.monotonic() > deadline:
                break
            os.sched_yield()
        killed = messages.KILLED_SILENT
    os.kill(pid, signal.SIGKILL)
    _, status, usage = os.wait4(pid, 0)
    return status, usage, killed
