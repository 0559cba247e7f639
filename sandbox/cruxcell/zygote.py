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

from cruxcell.confinement import linux
from cruxcell.confinement.clocks import FAST_MS, SIGKILL, Clock, Clocks, hangs_up, step_back, was_killed
from cruxcell.forks import CONTROL, Forks, Order
from cruxcell.protocol import messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    import resource  # noqa: F401 - in type comments
    from collections.abc import Callable  # noqa: F401 - in type comments

    from cruxcell.forks import Child  # noqa: F401 - in type comments
    from cruxcell.jobs.context import JobContext  # noqa: F401 - in type comments
    from cruxcell.native import Helper  # noqa: F401 - in type comments

_PAIR_FAST_MS = 3 * FAST_MS  # two workers begin, and talk
_PARTNER_GRACE_NS = 2_000_000_000
_ENDS_NS = 1_000_000_000  # in which what has closed one descriptor, as it ends, has ended, on a crowded host too
_S = 1_000_000_000
_THREADS_END_NS = 5_000_000_000  # in which a process whose files are closed has ended, on a crowded host too

_ROOM = _socket.CMSG_SPACE(3 * 4)  # for the descriptors of one order


class Zygote:
    """`filters`, `pack_limits` and `scratch_bytes` are as in `Forks`; each worker has a copy of `context`."""

    def __init__(self, helper, filters, pack_limits, control, context, threads=False, scratch_bytes=0):  # noqa: PLR0917
        # type: (Helper, dict[int, bytes], Callable[..., bytes], _socket.socket, JobContext, bool, int) -> None
        self._threads = messages.MOST_THREADS if threads else 0
        self._cpus = min(len(os.sched_getaffinity(0)), 1 + self._threads)  # that a worker can use at once
        self._helper, self._control = helper, control
        self._forks = Forks(helper, filters, pack_limits, context, self._threads, scratch_bytes)
        self._waiting = []  # type: list[Order]
        self._dropped = set()  # type: set[int]
        self._watched = {}  # type: dict[tuple[int, int], Clock]

    def serve(self, ready):
        # type: (bytes) -> None
        """Say READY, then carry out orders until the daemon is gone."""
        self._control.send(bytes([messages.READY]) + ready)
        while True:
            while not self._waiting:
                self._hear()
            order = self._waiting.pop(0)
            try:
                children = self._forks.of(order, order.seq in self._dropped)
            except OSError as error:
                children = []
                self._say(messages.FORK_FAILED, order.lane, order.seq, error.errno or 0)
            for stream in order.streams:
                os.close(stream)
            if children:
                (self._run_pair if order.is_pair else self._run)(order, *children)
            self._dropped.discard(order.seq)

    def _hear(self):
        # type: () -> None
        """Take one order from the daemon; what can be done at once is."""
        fields, files = self._receive()
        if fields[0] == messages.RUN:
            self._waiting.append(Order(fields, files))
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
        # type: (Order, Child) -> None
        clocks = Clocks(order.wall_ns, child.started, [Clock(child.pid, child.progress, order.cpu_ns, self._cpus)])
        if not clocks.ends_fast(order.flags & messages.MODEST):
            self._slow_down(order, [child])
            child.killed = self._watch(order, clocks, [child])
        self._finish(order, child)

    def _watch(self, order, clocks, children):
        # type: (Order, Clocks, list[Child]) -> int
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
        # type: (Order, Clock, list[Child]) -> None
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
        # type: (Order, Child, Child) -> None
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
        # type: (Order, list[Child]) -> None
        self._say(messages.SLOW, children[0].lane, order.seq, 0)
        seat = order.seat if order.is_pair else None
        for child in children:
            step_back(child.pid, order.flags & messages.MODEST, seat)

    def _ends_too(self, order, candidate):
        # type: (Order, Child) -> bool
        """Does the candidate hang up within a moment, its test being gone?"""
        if hangs_up(candidate.progress, FAST_MS):
            return True
        self._slow_down(order, [candidate])  # it may have more to say than its pipe holds, which is read of slow ones
        return self._comes(order, candidate.progress, 0, _PARTNER_GRACE_NS)

    def _was_killed(self, order, test):
        # type: (Order, Child) -> bool
        """Was the test killed from outside, although its candidate hung up before it? The socket between them may close
        before the progress pipe does, and the candidate is faster to end then.

        It is not ended to find out, as that is a kill too; where the kernel gives no handle, nobody can tell."""
        return self._ends(order, test.pid, _ENDS_NS, unknown=False) and was_killed(test.pid)

    def _ends(self, order, pid, most_ns, unknown):
        # type: (Order, int, int, bool) -> bool
        """Do all threads of a worker end within the time? `unknown` where the kernel gives no handle on it."""
        try:
            handle = linux.call(self._helper, "pidfd_open", pid, 0)
        except OSError:
            return unknown
        try:
            return self._comes(order, handle, select.POLLIN, most_ns)
        finally:
            os.close(handle)

    def _comes(self, order, descriptor, event, most_ns):
        # type: (Order, int, int, int) -> bool
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

    # ---- the end of a worker -----------------------------------------------------------------------------------

    def _finish(self, order, child):
        # type: (Order, Child) -> None
        """Reap the worker and tell the daemon what the kernel says of it."""
        status, usage = self._reap(order, child)
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

    def _reap(self, order, child):
        # type: (Order, Child) -> tuple[int, resource.struct_rusage]
        """(wait status, resource usage) of a worker that hung up or has to go; nobody is waited for.

        A process that ends hangs up when its exit status stands, and a signal changes that no more. So all are killed:
        whoever was ending ends as it was going to, and whoever had only closed the pipe ends now.
        """
        lives = child.killed != messages.NOT_KILLED or self._lives_on(order, child.pid)
        os.kill(child.pid, SIGKILL)
        _, status, usage = os.wait4(child.pid, 0)
        if status & 0x7F != SIGKILL:
            if child.killed not in (messages.KILLED_CPU, messages.KILLED_CANCEL):
                child.killed = messages.NOT_KILLED  # it came to its end before this process came to look
        elif child.killed == messages.NOT_KILLED and lives:
            child.killed = messages.KILLED_SILENT
        return status, usage

    def _lives_on(self, order, pid):
        # type: (Order, int) -> bool
        if linux.has_memory(self._helper, pid):
            return True
        # The memory is that of the first thread; it may have ended and left others, which hold their own.
        return self._threads > 0 and not self._ends(order, pid, _THREADS_END_NS, unknown=True)

    def _say(self, kind, lane, seq, status):
        # type: (int, int, int, int) -> None
        self._control.send(messages.EVENT.pack(kind, lane, 0, 0, seq, status, 0, 0, 0))
