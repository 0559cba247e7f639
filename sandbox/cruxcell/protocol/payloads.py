"""Binary layouts of payloads, which the daemon packs for a job and the worker unpacks."""

import struct

# The first fields of every payload: the kind of job, and step limit, output limit.
LIMITS = struct.Struct("<QQ")

# Flags of a JOB_CALLS or JOB_SERIES.
CALLS_FLAGS = struct.Struct("<B")
SHARE = 1  # calls on a hermetic program may be evaluated one after the other in this worker
RUN_EXPRESSIONS = 2  # expressions and calls with expressions for arguments may run here, beside the program
INSPECT = 4  # report what a filter of data sets asks about each check
BUNDLED = 8  # other jobs share this worker: where the program is not hermetic, none of it may run here
TOGETHER = 16  # the calls share this worker even if the program is not hermetic, for better or worse
SERIES = 32  # it is a JOB_SERIES
CHECKER = 64  # the program is a checker, whose call holds what a candidate has printed: no such text runs as code

# Flags of a JOB_SCRIPT.
SCRIPT_FLAGS = struct.Struct("<B")
COUNT_EVENTS = 1  # steps are trace events of program and script, spliced into one module (the paper's numsteps)
LOOK = 2  # nobody has looked yet whether the script can fail at all

# Flags of a JOB_TEST.
TEST_FLAGS = struct.Struct("<B")
UNREAD = 1  # nobody has looked yet whether the script can fail at all
REDEFINED = 2  # the script has the functions and classes that the program has by the names of builtins

# Flags of a JOB_STDIO.
STDIO_FLAGS = struct.Struct("<B")
RUN_ONLY = 1  # end as the interpreter would: its exit code, and a traceback on standard error

# What a text of a JOB_READ is meant to be. LARGE_SCRIPT: one of which no more is asked than its code, see `scripts`.
EXPECTED, SCRIPT, LARGE_SCRIPT = b"e", b"s", b"l"

# A series of calls: how each value is looked at, which says nothing of what is expected; beside what is expected of
# each, the line of its assertion (0 if how it fails is not known beforehand).
AS_IT_IS, TRUTH, SINGLE = b"v", b"t", b"s"  # SINGLE: is it True, False, None?
WHOLE = b"w"  # of a script of rows: as it would cross to another worker
SERIES_LINE = struct.Struct("<I")
# What came of each call: a value, an exception that a program raises by itself, or neither; steps up to then.
SERIES_CAME = struct.Struct("<cQ")
CAME_VALUE, CAME_ERROR = b"v", b"e"

LINE = struct.Struct("<I")  # of a script of rows: the statement's that makes a call, 0 if it stands on several
