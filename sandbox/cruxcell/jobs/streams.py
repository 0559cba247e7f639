"""Jobs that run one program on several standard inputs, one after the other in this worker.

Only a program that can leave nothing behind runs so (`hermetic_streams`), and after each run the native helper
compares the interpreter's state with a snapshot (`seal`). Whatever is not answered here runs alone, as a JOB_STDIO:
this job never has the last word on a limit, a crash or an output that is large.
"""

import _io
import gc
import os
import sys
from sys import getrecursionlimit, setrecursionlimit

from cruxcell.analysis import bytecode
from cruxcell.analysis.compiled import anew
from cruxcell.analysis.hermetic_streams import may_share_worker
from cruxcell.analysis.parsing import PROGRAM, Invalid, compile_text
from cruxcell.jobs.calls import clear, loaded_count, no_seal
from cruxcell.jobs.context import RULE, JobContext  # noqa: F401 - in type comments
from cruxcell.jobs.program_end import ended_by, flush
from cruxcell.jobs.programs import OF_A_SCRIPT
from cruxcell.namespace import fresh_namespace, set_recursion_depth
from cruxcell.protocol import messages, records

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

_MOST_PRINTED = 1 << 18  # bytes, by all checks of a worker: reports stay short


def run_streams(context, fields):
    # type: (JobContext, list[bytes]) -> None
    """fields: program, then the standard input of each check. The plan says whether the checks run here, before any
    code of the program does."""
    helper, report = context.helper, context.report
    inputs = tuple(fields[1:])  # which no check can change
    source = fields[0].decode("utf-8", "surrogatepass")
    loaded = loaded_count()
    try:
        program = compile_text(source, PROGRAM, "exec")
        shares = context.seals and (RULE in context.opened or may_share_worker(source, program))
    except Invalid:
        shares = False  # the check that runs alone says so
    if not shares:
        context.send(records.plan(False, messages.ALONE * len(inputs), []))
        return
    plan = records.plan(True, messages.DIRECT * len(inputs), [])
    bytecode.forget()
    set_recursion_depth(3)
    depth = getrecursionlimit()
    gc.freeze()  # what is ours need not be looked through for what a check left
    context.begin(0)  # what a check finds in place is part of the snapshot
    seal = helper.seal if helper.arm() else no_seal
    seal(report, -1, plan)
    room = _MOST_PRINTED
    for index, data in enumerate(inputs):
        program = anew(program) if index else program  # what one run taught the interpreter is nothing to the next
        room -= _run_one(context, index, program, data, room)
        if room < 0:
            return
        if getrecursionlimit() != depth:
            setrecursionlimit(depth)
        used = clear(context, loaded)
        seal(report, index)
        if used < 0:
            return


def _run_one(context, index, program, data, room):
    # type: (JobContext, int, CodeType, bytes, int) -> int
    """One check, on streams of its own. How many bytes it printed; if that is more than `room`, or as much as its
    limit, or if it closed a stream, it is not reported on."""
    out, err = _Out(), _Err()
    namespace = fresh_namespace("__main__")
    namespace.update(OF_A_SCRIPT, __annotations__={})
    context.begin(index)
    own = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = _reader(data), _writer(out), _writer(err, "backslashreplace", True)
    context.settle()
    raised, status = ended_by(None, context.run, program, namespace)  # as where it is alone: it is as deep in C, too
    steps = context.steps()
    later, its_status = ended_by(None, flush)
    if not status:  # that of an error is never 0
        raised, status = later, its_status
    later = None
    printed = None if out.closed or err.closed else (out.getvalue(), err.getvalue())
    sys.stdin, sys.stdout, sys.stderr = own  # which closes the others, if nobody else holds them
    if printed is None:
        return room + 1
    size = len(printed[0]) + len(printed[1])
    if size > room or max(map(len, printed)) >= context.output_limit:
        return room + 1
    if not status:
        context.send(records.ended(context.numbers(0, steps), *printed))
    else:
        context.send_raised(raised, steps, printed)  # type: ignore[arg-type]  # what has a status was raised
    raised = None  # it holds this frame, and with it all that the check made
    return size


# ---- streams in memory that look like those on descriptors ----------------------------------------------------------


# What is read ahead shows where a program reads both text and bytes: as much as of a pipe.
_PIPE_BLOCK = os.sysconf("SC_PAGESIZE")


class _In(_io.BytesIO):
    name = "<stdin>"

    def seekable(self):
        # type: () -> bool
        return False  # as a pipe: what reads it asks for no place in it, which would be steps


class _Out(_io.BytesIO):
    name = "<stdout>"


class _Err(_io.BytesIO):
    name = "<stderr>"


def _reader(data):
    # type: (bytes) -> Any
    stream = _io.TextIOWrapper(_io.BufferedReader(_In(data), _PIPE_BLOCK), "utf-8", "surrogateescape", "\n")  # type: Any
    stream.mode = "r"
    return stream


def _writer(raw, errors="surrogateescape", by_line=False):
    # type: (_io.BytesIO, str, bool) -> Any
    stream = _io.TextIOWrapper(_io.BufferedWriter(raw), "utf-8", errors, "\n", by_line)  # type: Any
    stream.mode = "w"
    return stream
