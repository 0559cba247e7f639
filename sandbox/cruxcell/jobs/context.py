"""The context of a job: everything that it needs to run code of a task and to report the result."""

import builtins
import os
import sys
import time
from gc import collect
from sys import getprofile, gettrace, setprofile, settrace

from cruxcell.jobs.capture import Capture, ErrorCapture
from cruxcell.namespace import set_recursion_depth
from cruxcell.protocol import frames, messages, records
from cruxcell.values.canonical import Canon, NotPlain, TooLarge, relation, short_repr, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence  # noqa: F401 - in type comments
    from types import CodeType  # noqa: F401 - in type comments

    from cruxcell.native import Helper  # noqa: F401 - in type comments

# A worker has one thread. The clock of the process would do, too, but with a limit on CPU time (RLIMIT_CPU) the kernel
# counts that clock by timer ticks, and most checks take less than one.
_cpu_ns, _wall_ns = time.thread_time_ns, time.perf_counter_ns

_NEVER = (0, 0)  # when no check has begun that is not reported on

# Of its memory limit, that a worker may keep for small objects while it uses none: other objects cannot have it.
_KEPT_SHARE = 16

_TEXT = compile("str(error)", "<text>", "eval")

# Layers that only tests can open, to show that the others hold without them. No configuration of a daemon names them.
RULE = "rule"  # what may share a worker: the rule over texts


class JobContext:
    """One worker's tools. `report` and `progress` are file descriptors, `seals` says whether anything notices what a
    check leaves to the next, `opened` are the layers a test has opened.

    Made before the fork, so that the worker only has to write down its limits.
    """

    # There is no other attribute, so a candidate cannot shadow a method.
    __slots__ = (
        "_ended", "_started", "arguments", "budget", "has_files", "helper", "index", "memory_bytes", "opened",
        "output_limit", "progress", "report", "scratch_bytes", "seals", "stderr", "stdout", "step_limit", "used_cpu_ns",
    )  # fmt: skip

    def __init__(self, helper, report, progress, seals=False, opened=frozenset()):
        # type: (Helper, int, int, bool, frozenset[str]) -> None
        self.helper, self.seals = helper, seals
        self.opened = opened
        self.report, self.progress = report, progress
        self.step_limit = self.output_limit = self.budget = self.memory_bytes = self.scratch_bytes = 0
        self.index = 0
        self.stdout = Capture(self._overflow)
        self.stderr = ErrorCapture(self._overflow)
        self.arguments = []  # type: list[str]
        self.has_files = False  # of the task, in its folder
        self._started = _NEVER
        self._ended = None  # type: tuple[int, int] | None
        self.used_cpu_ns = 0  # by the last check that was reported on

    def set_limits(self, steps, output):
        # type: (int, int) -> None
        """The limits of one check: steps, and characters of output."""
        self.step_limit, self.output_limit = steps, output
        self.budget = max(output, messages.VALUE_BYTES)  # bytes of a value
        self.stdout.set_limit(output)
        self.stderr.set_limit(output)

    def send(self, record):
        # type: (bytes) -> None
        self.helper.say(self.report, record)

    def next_check(self):
        # type: () -> None
        """Tell the zygote that one check is done, so that its clocks start anew for the next."""
        os.write(self.progress, b".")

    def last_check(self):
        # type: () -> None
        """Tell the zygote that what runs now gets no more time by saying so: it could write dots by itself. As nothing
        runs here behind it, it need not give back at once what memory it has freed."""
        os.write(self.progress, b"!")
        self.helper.keep_arenas(self.memory_bytes // _KEPT_SHARE)

    def refuse(self, sentence):
        # type: (str) -> None
        """A text of a job with one check is not what was asked: the plan says so, and the job is over."""
        self.send(records.plan(False, messages.INVALID, [sentence]))

    def start(self, kind, between, details=()):
        # type: (str, int, Sequence[str]) -> None
        """The one check of a job starts: its texts are read, its plan is told, and from now on code of the task runs.

        `between` is the number of the harness's frames between the caller's and the code's.
        """
        self.send(records.plan(False, kind, list(details)))
        self.last_check()
        set_recursion_depth(between - 1)  # this frame is gone by then
        self.begin(0)

    def begin(self, index):
        # type: (int) -> None
        """A check begins: streams are empty, clocks at zero, and the candidate has a script's recursion depth."""
        self.forget()
        self.index = index
        if sys.stdout is not self.stdout or sys.stderr is not self.stderr:
            sys.stdout, sys.stderr = self.stdout, self.stderr
        self._ended = None
        self._started = (_cpu_ns(), _wall_ns())

    @staticmethod
    def settle():
        # type: () -> None
        """Nothing of ours is between the collector and a check: when it runs, and of which steps of finalizers, depends
        on the check's code alone, not on what the worker did before."""
        collect()

    def forget(self):
        # type: () -> None
        """What a check printed, and what it may have put here, goes before its seal: letting go of it may run its code,
        so no later check's time is the time for that."""
        self.stdout.reset()
        self.stderr.reset()
        self.index, self._started, self._ended, self.used_cpu_ns = 0, _NEVER, None, 0

    def is_clear(self):
        # type: () -> bool
        """Is all as `forget` left it? What was thrown away since may have put something else here."""
        if self._started is not _NEVER or self._ended is not None or self.stdout.is_used() or self.stderr.is_used():
            return False
        return type(self.index) is int and type(self.used_cpu_ns) is int

    def end(self):
        # type: () -> None
        """The check is over; what is done before it is reported on is not its own time."""
        self._ended = self._used()

    def run(self, code, namespace):
        # type: (CodeType, dict[str, object]) -> object
        """Evaluate `code` under the step limit, which ends the worker with a report and cannot be caught.

        A limit of 0 steps counts none: counting costs a tight loop three times its time.
        """
        try:
            if not self.step_limit:
                return self.helper.evaluate(code, namespace)
            report = records.limit(messages.STEP_LIMIT, self.index, self.step_limit)
            return self.helper.run(code, namespace, self.step_limit, self.report, report)
        finally:  # what follows is the harness's own, and no program traces it
            if getprofile() is not None:
                setprofile(None)
            if gettrace() is not None:
                settrace(None)

    def steps(self):
        # type: () -> int
        """Steps of the last `run`; 0 where none are counted."""
        return self.helper.steps() if self.step_limit else 0

    def numbers(self, flags=0, steps=None):
        # type: (int, int | None) -> bytes
        count = self.steps() if steps is None else steps
        return records.NUMBERS.pack(self.index, count, *self._used(), flags)

    def _used(self):
        # type: () -> tuple[int, int]
        """CPU and wall time since the check began, until now or its end, in ns."""
        if self._ended is not None:
            return self._ended
        cpu, wall = self._started
        cpu, wall = _cpu_ns() - cpu, _wall_ns() - wall
        self.used_cpu_ns = cpu if cpu > 0 else 0
        return self.used_cpu_ns, wall if wall > 0 else 0

    def output(self):
        # type: () -> tuple[bytes, bytes]
        out, err = self.stdout.take(), self.stderr.take()
        limit = self.output_limit
        return (records.text_bytes(out, limit) if out else b""), (records.text_bytes(err, limit) if err else b"")

    def send_value(self, value, steps=None):
        # type: (object, int | None) -> None
        """Report a value: canonically if it is plain data, by the name of its type if not."""
        helper = self.helper
        steps = self.steps() if steps is None else steps
        cpu, wall = self._used()
        stdout, stderr = self.output()
        if not helper.report_value(
            self.report, self.index, steps, cpu, wall, value, self.budget, messages.MAX_TEXT, stdout, stderr
        ):
            numbers = records.NUMBERS.pack(self.index, steps, cpu, wall, 0)
            self.send(value_record(numbers, value, self.budget, stdout, stderr) or self._output_limit())
        self._started = _NEVER

    def send_raised(self, error, steps=None, printed=None, flags=0):
        # type: (BaseException, int | None, tuple[bytes, bytes] | None, int) -> None
        """Report an exception; `printed` is on its streams, where these are not the context's."""
        flags |= records.OUT_OF_MEMORY if records.is_out_of_memory(error) else 0
        numbers = self.numbers(flags, steps)
        stdout, stderr = self.output() if printed is None else printed
        self.send(records.raised(numbers, error, stdout, stderr, self.text_of))
        self._started = _NEVER

    def send_body(self, body, steps):
        # type: (bytes, int) -> None
        """Report what a job made of its check, in the form that its kind has."""
        if len(body) > self.budget:
            self.send(self._output_limit())
        else:
            numbers = records.NUMBERS.pack(self.index, steps, *self._used(), 0)
            self.send(records.value(numbers, messages.PLAIN, body, b"", *self.output()))
        self._started = _NEVER

    def text_of(self, error):
        # type: (BaseException) -> object
        """str(error) as code of the task: what it reaches for is not taken for the harness's own doing."""
        return self.helper.evaluate(_TEXT, {"__builtins__": builtins, "error": error})

    def finish(self, status=messages.EXIT_DONE):
        # type: (int) -> None
        """End the process. No atexit handler, destructor or buffered stream of the candidate runs any more."""
        os._exit(status)

    def _output_limit(self):
        # type: () -> bytes
        return records.limit(messages.OUTPUT_LIMIT, self.index, 0)

    def _overflow(self):
        # type: () -> None
        """What is printed when the check has been reported on, as a worker lets go of its objects, nobody reads."""
        if self._started is _NEVER:
            return
        self.send(self._output_limit())
        self.finish(messages.EXIT_OUTPUT)


def value_record(numbers, value, budget, stdout, stderr):
    # type: (bytes, object, int, bytes, bytes) -> bytes
    """The record of any value: the definition of what `report_value` of the helper writes. b"" if it is too large."""
    try:
        kind, data = _encoded(value, budget)
    except NotPlain as error:
        shown = "<%s object>" % type_name(value)
        return records.value(numbers, messages.OPAQUE, str(error).encode(), shown.encode(), stdout, stderr)
    except TooLarge:
        return b""
    text, cut = short_repr(value, messages.MAX_TEXT)
    shown_bytes = records.text_bytes(text) + (b"\0" if cut else b"")
    return records.value(numbers, kind, data, shown_bytes, stdout, stderr)


def _encoded(value, budget):
    # type: (object, int) -> tuple[bytes, bytes]
    """(how it is encoded, the canonical form and what belongs to it)."""
    run = Canon(budget)
    try:
        canonical = run.bytes(value)
        if run.has_nan:
            return messages.HOLDS_NAN, canonical
        if not run.has_likes:
            return messages.PLAIN, canonical
        counted, marks = relation(value, budget)
    except RecursionError:
        raise NotPlain("a value nested too deep") from None
    packed = frames.pack([canonical, counted, marks])
    if len(packed) > budget:
        raise TooLarge("the value")
    return messages.HAS_LIKES, packed
