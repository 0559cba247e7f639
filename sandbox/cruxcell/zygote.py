"""The zygote: a preloaded interpreter that forks a worker for each job, enforces its limits and reaps it.

Theory of operation. The zygote is single-threaded and handles one order at a time; orders that arrive meanwhile wait
in a list. No byte of a task enters its memory: the payload waits in a pipe that only the worker reads, reports go into
a pipe that only the daemon reads. What the zygote sees of a worker is a progress pipe with one dot for each check done,
and facts of the kernel: exit status, CPU clock, resource usage. How it watches is in `clocks`.

Only a step of the confinement may end the zygote. Whatever else fails (a fork, a priority) fails for that order, or
is done without.
"""

import _socket
import os
import select
import time

from cruxcell import worker
from cruxcell.confinement import linux, namespaces, scratch
from cruxcell.confinement.clocks import FAST_MS, SIGKILL, Clock, Clocks, hangs_up, step_back, was_killed
from cruxcell.confinement.confine import confine_worker
from cruxcell.jobs.separated import CHANNEL
from cruxcell.protocol import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    import resource  # noqa: F401 - in type comments
    from collections.abc import Callable  # noqa: F401 - in type comments

    from cruxcell.jobs.context import JobContext  # noqa: F401 - in type comments
    from cruxcell.native import Helper  # noqa: F401 - in type comments

_PAIR_FAST_MS = 3 * FAST_MS  # two workers begin, and talk
_PARTNER_GRACE_NS = 2_000_000_000
_ENDS_NS = 1_000_000_000  # in which what has closed one descriptor, as it ends, has ended, on a crowded host too
_S = 1_000_000_000
_THREADS_END_MS = 5_000  # in which a process whose files are closed has ended, on a crowded host too

# Where the zygote keeps its own file descriptors, out of the way of a worker's.
CONTROL, FIRST_LANE = 10, 11  # lane n: payload at FIRST_LANE + 2n, report at FIRST_LANE + 2n + 1
KEPT = (CONTROL, FIRST_LANE, FIRST_LANE + 1, FIRST_LANE + 2, FIRST_LANE + 3)
CANDIDATE_LANE, TEST_LANE = 0, 1  # of a pair
_SAFE = 63  # no descriptor has this number, and every worker closes it
_ROOM = _socket.CMSG_SPACE(3 * 4)  # for the descriptors of one order


class _Order:
    """A RUN order, taken apart, and the descriptors that came with it: standard streams for the worker, or none."""

    __slots__ = ("cpu_ns", "flags", "lane", "rlimits_key", "seat", "seq", "streams", "wall_ns")

    def __init__(self, fields, streams):
        # type: (tuple[int, ...], tuple[int, ...]) -> None
        _, self.lane, self.flags, self.seq, self.cpu_ns, self.wall_ns = fields[:6]
        self.rlimits_key, self.seat, self.streams = fields[6:9], fields[9], streams


class _Child:
    """A worker from the zygote's side."""

    __slots__ = ("folder", "killed", "lane", "pid", "progress", "started")

    def __init__(self, pid, lane, progress, started):
        # type: (int, int, int, int) -> None
        self.pid, self.lane, self.progress, self.started = pid, lane, progress, started
        self.folder = -1  # its scratch folder, if that is to be handed to the daemon
        self.killed = messages.NOT_KILLED


class Zygote:
    """`filters` maps a profile's flag to its BPF; `pack_limits(memory, file size, cpu seconds)` gives rlimits."""

    def __init__(self, helper, filters, pack_limits, control, context, threads=False, scratch_bytes=0):  # noqa: PLR0917
        # type: (Helper, dict[int, bytes], Callable[..., bytes], _socket.socket, JobContext, bool, int) -> None
        self._scratch_bytes = scratch_bytes
        self._threads = messages.MOST_THREADS if threads else 0
        self._cpus = min(len(os.sched_getaffinity(0)), 1 + self._threads)  # that a worker can use at once
        self._helper, self._filters, self._pack_limits = helper, filters, pack_limits
        self.context = context  # of the workers, each of which has a copy
        self._control = control
        self._pid = os.getpid()
        self._waiting = []  # type: list[_Order]
        self._dropped = set()  # type: set[int]
        self._watched = {}  # type: dict[tuple[int, int], Clock]
        self._rlimits = {}  # type: dict[tuple[int, ...], bytes]

    def serve(self, ready):
        # type: (bytes) -> None
        """Say READY, then carry out orders until the daemon is gone."""
        self._control.send(bytes([messages.READY]) + ready)
        while True:
            while not self._waiting:
                self._hear()
            order = self._waiting.pop(0)
            is_pair = order.flags & messages.PAIR
            try:
                children = self._fork_pair(order) if is_pair else [self._fork(order, order.lane, -1)]
            except OSError as error:
                children = []
                self._say(messages.FORK_FAILED, order.lane, order.seq, error.errno or 0)
            for stream in order.streams:
                os.close(stream)
            if children:
                (self._run_pair if is_pair else self._run)(order, *children)
            self._dropped.discard(order.seq)

    def _hear(self):
        # type: () -> None
        """Take one order from the daemon; what can be done at once is."""
        fields, files = self._receive()
        if fields[0] == messages.RUN:
            self._waiting.append(_Order(fields, files))
            return
        if fields[0] == messages.CANCEL:
            self._dropped.add(fields[3])
        elif fields[0] == messages.PING:
            self._say(messages.PONG, 0, 0, 0)
        elif fields[0] == messages.FIGURES and (fields[3], fields[1]) in self._watched:
            self._watched[fields[3], fields[1]].equip(files)
            return
        for file in files:
            os.close(file)

    def _receive(self):
        # type: () -> tuple[tuple[int, ...], tuple[int, ...]]
        """The fields of an order, and the descriptors that came with it."""
        try:
            data, ancillary, _, _ = self._control.recvmsg(messages.ORDER.size, _ROOM)
        except OSError:
            data, ancillary = b"", []
        if len(data) != messages.ORDER.size:
            os._exit(0)
        files = ()  # type: tuple[int, ...]
        for level, kind, content in ancillary:
            if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
                files += tuple(memoryview(content).cast("i"))
        return messages.ORDER.unpack(data), files

    # ---- one worker --------------------------------------------------------------------------------------------

    def _run(self, order, child):
        # type: (_Order, _Child) -> None
        clocks = Clocks(order.wall_ns, child.started, [Clock(child.pid, child.progress, order.cpu_ns, self._cpus)])
        if not clocks.ends_fast(order.flags & messages.MODEST):
            self._slow_down(order, [child])
            child.killed = self._watch(order, clocks, [child])
        self._finish(order, child)

    def _watch(self, order, clocks, children):
        # type: (_Order, Clocks, list[_Child]) -> int
        """Wait until a worker hangs up or a clock runs out; the reason to kill them, if any."""
        for child in children:
            self._watched[order.seq, child.lane] = clocks.clock(child.progress)
        try:
            while not clocks.hung_up:
                reason = clocks.expired()
                if reason:
                    return reason
                for clock in clocks.unasked():
                    self._ask_figures(order, clock, children)
                if clocks.wait(CONTROL):
                    self._hear()
                    if order.seq in self._dropped:
                        return messages.KILLED_CANCEL
            return messages.NOT_KILLED
        finally:
            self._watched.clear()
            clocks.close()

    def _ask_figures(self, order, clock, children):
        # type: (_Order, Clock, list[_Child]) -> None
        """Hand the daemon a handle on the worker; it answers with the kernel's figures of it."""
        clock.is_asked = True
        [lane] = [child.lane for child in children if child.progress == clock.progress]
        try:
            handle = linux.call(self._helper, "pidfd_open", clock.pid, 0)
        except OSError:
            clock.has_figures = True  # there will be none
            return
        event = messages.EVENT.pack(messages.ASK_FIGURES, lane, 0, 0, order.seq, 0, 0, 0, 0)
        rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, handle.to_bytes(4, "little"))]
        self._control.sendmsg([event], rights)
        os.close(handle)

    # ---- a pair ------------------------------------------------------------------------------------------------

    def _run_pair(self, order, candidate, test):
        # type: (_Order, _Child, _Child) -> None
        """A candidate and its test, joined by a socket. The one whose pipe closes first has ended first. If that is the
        candidate, the test's report does not count. If it is the test, the candidate has a moment to report what it
        used and printed."""
        pair = [candidate, test]
        clocks = Clocks(
            order.wall_ns, test.started, [Clock(one.pid, one.progress, order.cpu_ns, self._cpus) for one in pair]
        )
        if not hangs_up(test.progress, _PAIR_FAST_MS):
            self._slow_down(order, pair)
        reason = self._watch(order, clocks, pair)
        if reason:
            for child in pair:
                is_to_blame = reason != messages.KILLED_CPU or child.pid == clocks.expired_pid
                child.killed = reason if is_to_blame else messages.KILLED_PARTNER
        elif test.progress not in clocks.hung_up and not self._was_killed(order, test):
            test.killed = messages.KILLED_PARTNER
        elif not self._ends_too(order, candidate):
            candidate.killed = messages.KILLED_PARTNER
        for child in pair:
            if child.killed:  # both before either is reaped: the end of one is no event for the other
                os.kill(child.pid, SIGKILL)
        for child in pair:
            self._finish(order, child)

    def _slow_down(self, order, children):
        # type: (_Order, list[_Child]) -> None
        self._say(messages.SLOW, children[0].lane, order.seq, 0)
        seat = order.seat if order.flags & messages.PAIR else None
        for child in children:
            step_back(child.pid, order.flags & messages.MODEST, seat)

    def _fork_pair(self, order):
        # type: (_Order) -> list[_Child]
        ours, theirs = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            candidate = self._fork(order, CANDIDATE_LANE, ours.fileno())
            try:
                return [candidate, self._fork(order, TEST_LANE, theirs.fileno())]
            except OSError:
                self._reap(candidate)
                os.close(candidate.progress)
                raise
        finally:
            ours.close()
            theirs.close()

    def _ends_too(self, order, candidate):
        # type: (_Order, _Child) -> bool
        """Does the candidate hang up within a moment, its test being gone?"""
        if hangs_up(candidate.progress, FAST_MS):
            return True
        self._slow_down(order, [candidate])  # it may have more to say than its pipe holds, which is read of slow ones
        return self._comes(order, candidate.progress, 0, _PARTNER_GRACE_NS)

    def _was_killed(self, order, test):
        # type: (_Order, _Child) -> bool
        """Was the test killed from outside, although its candidate hung up before it? The socket between them may close
        before the progress pipe does, and the candidate is faster to end then.

        It is not ended to find out, as that is a kill too; where the kernel gives no handle, nobody can tell."""
        try:
            handle = linux.call(self._helper, "pidfd_open", test.pid, 0)
        except OSError:
            return False
        try:
            return self._comes(order, handle, select.POLLIN, _ENDS_NS) and was_killed(test.pid)
        finally:
            os.close(handle)

    def _comes(self, order, descriptor, event, most_ns):
        # type: (_Order, int, int, int) -> bool
        """Does the event come within the time? Orders are heard meanwhile; to cancel this one ends the wait."""
        poll = select.poll()
        poll.register(CONTROL, select.POLLIN)
        poll.register(descriptor, event)
        until = time.monotonic_ns() + most_ns
        while order.seq not in self._dropped:
            left = until - time.monotonic_ns()
            ready = [fd for fd, _ in poll.poll(max(left, 0) // 1_000_000)]
            if descriptor in ready:
                return True
            if CONTROL in ready:
                self._hear()
            elif left <= 0:
                break
        return False

    # ---- beginning and end of a worker -------------------------------------------------------------------------

    def _fork(self, order, lane, channel):
        # type: (_Order, int, int) -> _Child
        """A new worker, with a scratch folder if it has one. Raises OSError, and then nothing is left of it."""
        if not self._scratch_bytes:
            return self._fork_worker(order, lane, channel)
        folder = scratch.new_folder(self._helper, self._scratch_bytes, scratch.NEW_FOLDERS[lane])
        try:
            child = self._fork_worker(order, lane, channel)
        except OSError:
            os.close(folder)
            raise
        if order.flags & messages.READ_BACK:
            child.folder = folder
        else:
            os.close(folder)
        return child

    def _fork_worker(self, order, lane, channel):
        # type: (_Order, int, int) -> _Child
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
            self._become_worker(order, lane, [*order.streams, progress_end, channel], limits)
        os.close(progress_end)
        return _Child(pid, lane, progress, started)

    def _become_worker(self, order, lane, descriptors, limits):
        # type: (_Order, int, list[int], bytes) -> None
        """The child's side of the fork: put the descriptors where a worker has them, and never come back."""
        try:
            if order.flags & messages.BEHIND:
                os.nice(messages.ZYGOTE_AHEAD)
            bpf = self._filters[order.flags & (messages.COMPUTE_PROFILE | messages.SHARED_PROFILE)]
            helper, parent = self._helper, self._pid
            payload = FIRST_LANE + 2 * lane
            *streams, progress_end, channel = descriptors
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            if channel >= 0:
                channel = os.dup2(channel, _SAFE)
            if progress_end != worker.PROGRESS:
                os.dup2(progress_end, worker.PROGRESS)
            os.dup2(payload + 1, worker.REPORT)
            if channel >= 0:
                os.dup2(channel, CHANNEL)
            self.context.memory_bytes = order.rlimits_key[0]
            if order.seq in self._dropped:
                worker.discard(payload)
            if self._scratch_bytes:
                scratch.move_in(self._helper, scratch.NEW_FOLDERS[lane])
            if self._threads:
                limits = self._room_for_threads(order, limits)
            worker.main(self.context, payload, channel >= 0, lambda: confine_worker(helper, limits, bpf, parent))
        except BaseException as error:
            worker.fail("start", error)
        finally:
            os._exit(messages.EXIT_HARNESS)

    def _room_for_threads(self, order, limits):
        # type: (_Order, bytes) -> bytes
        """The worker's own side: its limits if it may start threads, or `limits` where this host cannot count them.

        Priority and CPUs belong to a thread and are handed down: it steps back now, later only its first thread would.
        """
        step_back(0, order.flags & messages.MODEST)
        if not namespaces.own_user(self._helper):
            return limits
        return self._pack_limits(*order.rlimits_key, self._threads)

    def _rlimits_of(self, key):
        # type: (tuple[int, ...]) -> bytes
        if key not in self._rlimits:
            if len(self._rlimits) > 64:
                self._rlimits.clear()
            self._rlimits[key] = self._pack_limits(*key)
        return self._rlimits[key]

    def _finish(self, order, child):
        # type: (_Order, _Child) -> None
        """Reap the worker and tell the daemon what the kernel says of it."""
        status, usage = self._reap(child)
        os.close(child.progress)
        event = messages.EVENT.pack(
            messages.DONE,
            child.lane,
            child.killed,
            0,
            order.seq,
            status,
            int((usage.ru_utime + usage.ru_stime) * _S),
            time.monotonic_ns() - child.started,
            usage.ru_maxrss * 1024,
        )
        if child.folder < 0:
            self._control.send(event)
            return
        rights = [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, child.folder.to_bytes(4, "little"))]
        self._control.sendmsg([event], rights)
        os.close(child.folder)

    def _reap(self, child):
        # type: (_Child) -> tuple[int, resource.struct_rusage]
        """(wait status, resource usage) of a worker that hung up or has to go; nobody is waited for.

        A process that ends hangs up when its exit status stands, and a signal changes that no more. So all are killed:
        whoever was ending ends as it was going to, and whoever had only closed the pipe ends now.
        """
        lives = child.killed != messages.NOT_KILLED or self._lives_on(child.pid)
        os.kill(child.pid, SIGKILL)
        _, status, usage = os.wait4(child.pid, 0)
        if status & 0x7F != SIGKILL:
            if child.killed not in (messages.KILLED_CPU, messages.KILLED_CANCEL):
                child.killed = messages.NOT_KILLED  # it came to its end before this process came to look
        elif child.killed == messages.NOT_KILLED and lives:
            child.killed = messages.KILLED_SILENT
        return status, usage

    def _lives_on(self, pid):
        # type: (int) -> bool
        if linux.has_memory(self._helper, pid):
            return True
        # The memory is that of the first thread; it may have ended and left others, which hold their own.
        return self._threads > 0 and not linux.ends_within(self._helper, pid, _THREADS_END_MS)

    def _say(self, kind, lane, seq, status):
        # type: (int, int, int, int) -> None
        self._control.send(messages.EVENT.pack(kind, lane, 0, 0, seq, status, 0, 0, 0))
