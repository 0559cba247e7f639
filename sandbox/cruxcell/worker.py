"""A worker: the zygote forks it, it runs one job and exits.

In order: read the payload (only the framing), close unneeded file descriptors, confine, and only then look at the texts
of the task. A step that fails ends the worker with a HARNESS_ERROR that names the step, before any candidate code runs.
"""

import gc
import os
import sys
import time

from cruxcell.jobs.bundles import run_bundle
from cruxcell.jobs.calls import run_apply, run_calls, run_checker
from cruxcell.jobs.context import JobContext  # noqa: F401 - in type comments
from cruxcell.jobs.expressions import run_arguments, run_expression, run_read
from cruxcell.jobs.probe import run_probe
from cruxcell.jobs.programs import run_script, run_stdio
from cruxcell.jobs.replay import run_replay
from cruxcell.jobs.separated import CHANNEL, run_serve, run_test
from cruxcell.jobs.series import run_series
from cruxcell.jobs.streams import run_streams
from cruxcell.protocol import frames, messages, records
from cruxcell.protocol.payloads import LIMITS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable  # noqa: F401 - in type comments

    from cruxcell.native import Helper  # noqa: F401 - in type comments

_JOBS = {
    messages.JOB_READ: run_read,
    messages.JOB_CALLS: run_calls,
    messages.JOB_SERIES: run_series,
    messages.JOB_BUNDLE: run_bundle,
    messages.JOB_APPLY: run_apply,
    messages.JOB_CHECKER: run_checker,
    messages.JOB_EXPRESSION: run_expression,
    messages.JOB_ARGUMENTS: run_arguments,
    messages.JOB_STDIO: run_stdio,
    messages.JOB_STREAMS: run_streams,
    messages.JOB_SCRIPT: run_script,
    messages.JOB_SERVE: run_serve,
    messages.JOB_TEST: run_test,
    messages.JOB_REPLAY: run_replay,
    messages.JOB_PROBE: run_probe,
}  # type: dict[bytes, Callable[[JobContext, list[bytes]], object]]


# Whose imports look into the working folder, as those of a file that lies there. A test's and a checker's do not, nor
# those of an expected value: what is there may be the program's.
_OF_PROGRAMS = (messages.JOB_CALLS, messages.JOB_APPLY, messages.JOB_STDIO, messages.JOB_STREAMS, messages.JOB_SCRIPT,
                messages.JOB_SERIES, messages.JOB_SERVE)  # fmt: skip


def _run_set(context, fields):
    # type: (JobContext, list[bytes]) -> None
    """fields: setting, kind of job, its fields. What a program finds around it is laid out before it begins."""
    kind = fields[1]
    try:
        _set_up(context, fields[0], kind in _OF_PROGRAMS)
    except MemoryError:
        context.refuse(
            "its files take more memory than its limit leaves: memory_bytes counts them while they are laid out"
        )
        return
    del fields[:2]
    _JOBS[kind](context, fields)


def _set_up(context, setting, is_program):
    # type: (JobContext, bytes, bool) -> None
    arguments, environment, files = [frames.unpack(part) for part in frames.unpack(setting)]
    context.arguments = [each.decode("utf-8", "surrogateescape") for each in arguments]
    for name, value in zip(environment[::2], environment[1::2]):
        os.environb[name] = value
    if b"TZ" in environment[::2]:
        time.tzset()  # as where a process begins with it
    context.has_files = bool(files)
    for name, value in zip(files[::2], files[1::2]):
        _lay_out(name.decode(), value)
    if files and is_program:
        sys.path.insert(0, messages.SCRATCH_FOLDER)


def _lay_out(name, content):
    # type: (str, bytes) -> None
    folder = name.rpartition("/")[0]
    if folder:
        os.makedirs(folder, exist_ok=True)
    file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    frames.write_all(file, content)
    os.close(file)


_JOBS[messages.JOB_SET] = _run_set

# File descriptors of a worker; 0, 1 and 2 are /dev/null, or a pipe and two memory files for a stdio job.
REPORT, PROGRESS = messages.REPORT_DESCRIPTOR, messages.PROGRESS_DESCRIPTOR


def main(context, payload, has_channel, confine):
    # type: (JobContext, int, bool, Callable[[], None]) -> None
    """Do the job whose payload waits in file descriptor `payload`; `confine()` applies rlimits and the filter.

    The caller has put the report pipe at REPORT, the progress pipe at PROGRESS, and for one of a pair the socket to
    the other at CHANNEL. Never returns.
    """
    step = "payload"
    try:
        fields = context.helper.read_payload(payload, messages.MAX_PAYLOAD)
        steps, output = LIMITS.unpack(fields[1])
        step = "descriptors"
        os.closerange(CHANNEL + 1 if has_channel else CHANNEL, 64)
        step = "confine"
        confine()
        step = "job"
        context.set_limits(steps, output)
        job = _JOBS[fields[0]]
        del fields[:2]
        gc.enable()
    except BaseException as error:
        fail(step, error)
    try:
        job(context, fields)
    except MemoryError:
        context.send(records.limit(messages.MEMORY_LIMIT, context.index, 0))
    except BaseException as error:
        fail("job", error)
    os._exit(messages.EXIT_DONE)


def discard(payload):
    # type: (int) -> None
    """Take a payload off the pipe and do nothing with it: its order was called back. Never returns."""
    try:
        frames.read_frame(payload, messages.MAX_PAYLOAD)
        frames.write_all(REPORT, records.plan(False, "", []))
    finally:
        os._exit(messages.EXIT_DONE)


def fail(step, error):
    # type: (str, BaseException) -> None
    try:
        frames.write_all(REPORT, records.harness_error("%s: %s: %s" % (step, type(error).__name__, error)))
    finally:
        os._exit(messages.EXIT_HARNESS)
