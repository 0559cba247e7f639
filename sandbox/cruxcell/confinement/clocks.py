"""CPU and wall limits of workers. The zygote enforces them, so a candidate cannot reach them.

Watching has two phases. Most workers end within FAST_MS of CPU time, or get a check done in it; meanwhile the zygote
sleeps on the hang-up of the progress pipe alone, so that dots do not wake it. After that it tells the daemon (SLOW:
drain the report pipe, give the CPU slot to others), lowers the worker's priority, and wakes for each dot to start the
clocks of the next check, until `LAST_CHECK`.

A worker with one thread cannot use CPU time faster than wall time passes, so sleeping for the rest of the CPU budget
and looking again is exact. One that may start threads can use it faster by the number of CPUs it may run on: it is
looked at after that part of the rest.

Time for which a worker was ready to run and had no CPU is not its own. The kernel counts it (`/proc/PID/schedstat`),
but a confined zygote sees no /proc: when half of the wall time is gone it asks the daemon for the open files. They are
read when the wall time is over; what the worker waited is added to its time, but for what its other threads ran: they
may have kept it from its CPU. Nor is it the worker's doing if it is stopped then (SIGSTOP, a debugger): no system call
that would stop it is allowed. Nor if all of this container or host stood still: this process looks on every quarter of
a second, and time in which it could not is nobody's.
"""

import os
import select
import time

from cruxcell.protocol import messages

FAST_MS = 4
# Where CPUs are few, a worker that has got nothing done may have had no CPU: it is slow only when it has used FAST_MS
# of CPU time. But it may be asleep, which looks the same from here: so after so many looks it is slow in any case.
SLOW_LOOKS = 5
# Where others may wait for a CPU slot, a worker that gets one check after the other done keeps it for so much CPU time.
FAST_IN_ALL_MS = 40
LAST_CHECK = b"!"
_CLD_KILLED = 2  # `os` has no name for it on 3.8
SIGKILL = 9  # the module `signal` would bring `enum` with it
_NICE_OF_SLOW_WORKERS = 10
_MS = 1_000_000
# How long the daemon may take to hand over the figures once the wall time is over.
_FIGURES_NS = 2_000 * _MS
# A clock is looked at so often. If a look comes later than that by so much, this process could not run, whose priority
# is high.
_LOOK_NS, _LATE_NS = 250 * _MS, 100 * _MS
# How long a worker that stands in the queue for a CPU may stand there before it is looked at again.
_QUEUE_NS = 50 * _MS


class Clock:
    """One worker's CPU clock. `LAST_CHECK` on its progress pipe ends the giving of new time: what a worker says
    before it runs code that is not hermetic counts, what may come from that code does not."""

    __slots__ = (
        "_clock", "_files", "_last", "_limit", "_may_restart", "_others_before", "_started", "_waited_before",
        "cpus", "has_figures", "is_asked", "pid", "progress",
    )  # fmt: skip

    def __init__(self, pid, progress, limit_ns, cpus=1):
        # type: (int, int, int, int) -> None
        self.pid, self.progress, self.cpus = pid, progress, cpus
        self._limit, self._started, self._may_restart = limit_ns, 0, True
        self._clock = (~pid << 3) | 2  # the kernel's number for a process's CPU clock (MAKE_PROCESS_CPUCLOCK)
        self._files = ()  # type: tuple[int, ...]
        self._waited_before = self._others_before = 0
        self._last = None  # type: object
        self.has_figures = self.is_asked = False

    def left(self):
        # type: () -> int
        return self._started + self._limit - time.clock_gettime_ns(self._clock)

    def used(self):
        # type: () -> int
        """CPU time since its check began."""
        return self._limit - self.left()

    def used_in_all(self):
        # type: () -> int
        """CPU time since the worker was forked."""
        return time.clock_gettime_ns(self._clock)

    @property
    def events(self):
        # type: () -> int
        """What to be woken for by its progress pipe, beside its hang-up. Dots that may be a candidate's own are left in
        the pipe: each would cost this process more CPU time, at a higher priority, than it costs who wrote it."""
        return select.POLLIN if self._may_restart else 0

    def take(self, dots):
        # type: (bytes) -> bool
        """Read progress; True if a new check began, whose time begins now."""
        before, last, _ = dots.partition(LAST_CHECK)
        restarts = self._may_restart and bool(before)
        if restarts:
            self._started = time.clock_gettime_ns(self._clock)
            self._waited_before += max(self.waited(), 0)
            self._others_before += self.ran_of_others()
        if last:
            self._may_restart = False
        return restarts

    def equip(self, files):
        # type: (tuple[int, ...]) -> None
        """Give it the open files schedstat and stat, or none where they cannot be had."""
        self.close()
        self.has_figures, self._files = True, files

    def close(self):
        # type: () -> None
        for file in self._files:
            os.close(file)
        self._files = ()

    def waited(self):
        # type: () -> int
        """ns for which the worker was ready and had no CPU, since its check began; -1 if that is not known."""
        ran, waited = self._figures_of_first_thread()
        return waited - self._waited_before if ran else -1

    def ran_of_others(self):
        # type: () -> int
        """ns of CPU time of its threads but the first, since its check began; 0 if that is not known."""
        ran, _ = self._figures_of_first_thread()
        return max(self.used_in_all() - ran - self._others_before, 0) if ran else 0

    def _figures_of_first_thread(self):
        # type: () -> tuple[int, int]
        """(ns for which it ran, ns for which it waited for a CPU); it ran for none where that is not known."""
        if len(self._files) != 2:
            return 0, 0
        try:
            ran, waited = os.pread(self._files[0], 64, 0).split()[:2]
            return int(ran), int(waited)
        except (OSError, ValueError):
            return 0, 0

    def stands_in_queue(self):
        # type: () -> bool
        """Is it ready to run, or waiting for a page, and has got nowhere since the last look? What it waits now is
        counted only when it gets a CPU."""
        now = time.clock_gettime_ns(self._clock), self.waited()
        first, self._last = self._last in (None, now), now
        return first and self._state() in (b"R", b"D")

    def is_stopped(self):
        # type: () -> bool
        """Has somebody outside stopped it, or does a debugger hold it? The filter lets no worker signal itself."""
        return self._state() in (b"T", b"t")

    def _state(self):
        # type: () -> bytes
        """As /proc/PID/stat has it; b"" if that is not known."""
        if len(self._files) != 2:
            return b""
        try:
            return os.pread(self._files[1], 512, 0).rpartition(b")")[2][1:2]
        except OSError:
            return b""


class Clocks:
    """The clocks of one order: a CPU clock for each worker, one wall clock for all. Times in ns."""

    def __init__(self, wall_ns, started_ns, clocks):
        # type: (int, int, list[Clock]) -> None
        self._wall_ns, self._started, self._seen = wall_ns, started_ns, started_ns
        self._granted = self._missed = 0  # of the time that has passed: what was not the workers' own, and nobody's
        self._awaits_figures = False
        self._clocks = {clock.progress: clock for clock in clocks}
        self.hung_up = set()  # type: set[int]
        self.expired_pid = 0

    def expired(self):
        # type: () -> int
        """Why it has to end (`expired_pid` says whose clock has run out), or NOT_KILLED."""
        self._look()
        for clock in self._clocks.values():
            if clock.left() <= 0:
                self.expired_pid = clock.pid
                return messages.KILLED_CPU
        if self._awaits_figures and all(clock.has_figures for clock in self._clocks.values()):
            self._awaits_figures, self._granted = False, 0
        if self._wall_left() > 0:
            return messages.NOT_KILLED
        self.expired_pid = next(iter(self._clocks.values())).pid
        return self._out_of_wall_time()

    def _out_of_wall_time(self):
        # type: () -> int
        """Wall time is over: was it the workers' own? What they waited for a CPU is granted."""
        passed = time.monotonic_ns() - self._started - self._missed
        waited = [clock.waited() for clock in self._clocks.values()]
        if min(waited) < 0:
            is_answered = all(clock.has_figures for clock in self._clocks.values())
            if is_answered or passed >= self._wall_ns + _FIGURES_NS:
                return messages.KILLED_UNSURE
            self._awaits_figures, self._granted = True, _FIGURES_NS
            return messages.NOT_KILLED
        # Of a pair only one runs at a time, as a rule: what both waited is added up.
        own = sum([clock.ran_of_others() for clock in self._clocks.values()])
        self._granted = max(sum(waited) - own, 0)
        if passed >= self._wall_ns + self._granted:
            looks = [clock.stands_in_queue() for clock in self._clocks.values()]  # at each of them
            if not any(looks):
                is_stopped = any(clock.is_stopped() for clock in self._clocks.values())
                return messages.KILLED_STARVED if is_stopped else messages.KILLED_WALL
            self._granted = passed - self._wall_ns + _QUEUE_NS
        return messages.KILLED_STARVED if passed >= messages.WIDEST * self._wall_ns else messages.NOT_KILLED

    def ends_fast(self, modest=0):
        # type: (int) -> bool
        """Sleep until the one worker hangs up, or gets nothing done with FAST_MS of CPU time, or within SLOW_LOOKS:
        then it is slow, and False. If it has to be `modest`, it also is after FAST_IN_ALL_MS."""
        [(progress, clock)] = self._clocks.items()
        looks = 0
        while not hangs_up(progress, FAST_MS):
            looks += 1
            if modest and clock.used_in_all() >= FAST_IN_ALL_MS * _MS:
                return False
            if _has_dots(progress) and self._take(clock):
                looks = 0
            elif looks >= SLOW_LOOKS or clock.used() >= FAST_MS * _MS:
                return False
        return True

    def wait(self, control):
        # type: (int) -> bool
        """Sleep until something happens or a clock may have run out; True if the daemon has something to say."""
        poll = select.poll()
        poll.register(control, select.POLLIN)
        for progress, clock in self._clocks.items():
            poll.register(progress, clock.events)
        left = min([clock.left() // clock.cpus for clock in self._clocks.values()] + [self._wall_left(), _LOOK_NS])
        half = self._wall_left() - self._wall_ns // 2
        if half > 0 and self.unasked(False):
            left = min(left, half)
        is_ordered = False
        for fd, event in poll.poll(max(left, 0) // _MS + 1):
            if fd == control:
                is_ordered = True
            elif event & select.POLLIN:
                self._take(self._clocks[fd])
            else:
                self.hung_up.add(fd)
        return is_ordered

    def unasked(self, is_due=True):
        # type: (bool) -> list[Clock]
        """The clocks whose figures have not been asked for; with `is_due`, only once half of the wall time is gone."""
        if is_due and self._wall_left() > self._wall_ns // 2:
            return []
        return [clock for clock in self._clocks.values() if not clock.is_asked]

    def clock(self, progress):
        # type: (int) -> Clock
        return self._clocks[progress]

    def close(self):
        # type: () -> None
        for clock in self._clocks.values():
            clock.close()

    def _take(self, clock):
        # type: (Clock) -> bool
        """Read progress; True if a new check began. Dots that may be a candidate's own begin none."""
        begins = clock.take(os.read(clock.progress, 4096))
        if begins:
            self._started = self._seen = time.monotonic_ns()
            self._granted = self._missed = 0
        return begins

    def _look(self):
        # type: () -> None
        """Note for how long nobody has looked, if that is too long."""
        now = time.monotonic_ns()
        if now - self._seen > _LOOK_NS + _LATE_NS:
            self._missed += now - self._seen
        self._seen = now

    def _wall_left(self):
        # type: () -> int
        return self._started + self._wall_ns + self._granted + self._missed - time.monotonic_ns()


def hangs_up(progress, timeout_ms):
    # type: (int, int) -> bool
    """Does the other end of the progress pipe close within the time? Dots alone do not wake this process."""
    poll = select.poll()
    poll.register(progress, 0)
    return bool(poll.poll(timeout_ms))


def was_killed(pid):
    # type: (int) -> bool
    """Did SIGKILL end this child? It is left to be reaped; False if it lives."""
    ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
    return ended is not None and (ended.si_code, ended.si_status) == (_CLD_KILLED, SIGKILL)


def step_back(pid, modest, seat=None):
    # type: (int, int, int | None) -> None
    """Give a slow worker a lower priority and, if others have work, keep it off some CPUs; one of a pair gets one CPU.

    Without the second, another check has to wait for the end of the worker's time slice. On a kernel without preemption
    that is up to a tick, whatever the priorities. Of a pair only one half works at a time: on a CPU of its own each
    would wake the other from its sleep, which takes longer than most calls do. A host that refuses any of this does
    without. The priority is lower than that of any fast worker, of those too that are `BEHIND`.
    """
    try:
        ours, own = [os.getpriority(os.PRIO_PROCESS, each) for each in (0, pid)]
        lowest = max(_NICE_OF_SLOW_WORKERS, ours + messages.ZYGOTE_AHEAD + 1, own)
        os.setpriority(os.PRIO_PROCESS, pid, min(lowest, 19))
        cpus = sorted(os.sched_getaffinity(0))
        left = cpus[(len(cpus) + 3) // 4 :] if modest and len(cpus) > 1 else cpus
        if seat is not None:
            left = [left[seat % len(left)]]
        if left != cpus:
            os.sched_setaffinity(pid, left)
    except OSError:
        pass


def _has_dots(progress):
    # type: (int) -> bool
    poll = select.poll()
    poll.register(progress, select.POLLIN)
    return any(event & select.POLLIN for _, event in poll.poll(0))
