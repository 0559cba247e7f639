"""Several jobs of hermetic programs, one after the other in one worker."""

from sys import getrecursionlimit, setrecursionlimit

from cruxcell.jobs.calls import SPENT_NS, run_calls
from cruxcell.jobs.context import JobContext  # noqa: F401 - in type comments
from cruxcell.jobs.series import run_series
from cruxcell.protocol import frames, records
from cruxcell.protocol.payloads import BUNDLED, CALLS_FLAGS, SERIES


def run_bundle(context, fields):
    # type: (JobContext, list[bytes]) -> None
    """fields: the packed fields of a JOB_CALLS or JOB_SERIES each, of which every one is done as if it were alone here.

    Only hermetic programs run. When one may have left more than the garbage collector takes away (candidates took long,
    or something was imported for one), the rest is left to another worker.
    """
    spent = 0
    depth = getrecursionlimit() + 1  # as deep as the compiler may go in a worker without this frame
    for place, packed in enumerate(tuple(fields)):  # a tuple, which no check can change
        context.send(records.section(place))
        setrecursionlimit(depth)
        context.next_check()  # the time that others' texts took is not this job's
        texts = frames.unpack(packed)
        run = run_series if CALLS_FLAGS.unpack(texts[0])[0] & SERIES else run_calls
        used = run(context, texts, BUNDLED)
        spent += used
        if used < 0 or spent > SPENT_NS:
            return
