"""Messages between daemon, zygote and worker: constants and structs, no behaviour.

Control (daemon <-> zygote, one datagram each): fixed structs that hold numbers only, so that no byte of a task ever
enters the zygote's memory. Payload (daemon -> worker): one frame a job. Report (worker -> daemon): a stream of frames.
"""

import struct

# ---- daemon <-> template: one datagram each ---------------------------------------------------------------------

# Each datagram to a template but the first, its setup, carries the descriptors of a zygote: control, then payload and
# report of each lane; its byte says whether the zygote's workers have scratch folders. The template says READY once,
# and answers in their order, or with FAILED_TO_START and why.
PLAIN, WITH_SCRATCH = b".", b"s"
FORKED = 8
ANSWER = struct.Struct("<Bii")  # FORKED, the zygote's process number, 0; FORKED, 0, an error number; or READY, 0, 0

# ---- control: orders to the zygote ------------------------------------------------------------------------------

# The first datagram says that the daemon knows the zygote's process number: until then it waits.
# A PING is answered with a PONG as soon as orders are looked at. FIGURES answers ASK_FIGURES and carries two open
# files of /proc about the worker: schedstat and stat, in this order; none where the daemon cannot have them.
RUN, CANCEL, PING, FIGURES = 1, 2, 3, 4

# op, lane, flags, seq, cpu ns a check, wall ns a check, memory bytes, file bytes, CPU seconds in all (backstop), and
# for a pair its seat: the place of its CPU among those that the daemon may use
ORDER = struct.Struct("<BBHIQQQQIH")

# Flags of a RUN order.
COMPUTE_PROFILE = 1  # the job only reads constants: not even opening files is allowed
STDIO = 2  # standard input, output and error come with the order as descriptors
MODEST = 8  # others have work here: once it is slow, the worker leaves some CPUs to them
READ_BACK = 16  # the scratch folder is handed to the daemon when the worker has ended
SHARED_PROFILE = 32  # only hermetic programs run here, one after the other: see the filter's column `shared`
BEHIND = 64  # the worker gives up by how much its zygote's priority is above that of all (ZYGOTE_AHEAD)
PAIR = 4  # two workers joined by a socket: the candidate on lane 0 and the test on lane 1

# ---- control: events from the zygote ----------------------------------------------------------------------------

# ASK_FIGURES carries a pidfd of a worker that has used up half of its wall time; DONE the scratch folder, if it was
# asked for.
READY, SLOW, DONE, FAILED_TO_START, FORK_FAILED, PONG, ASK_FIGURES = 1, 2, 3, 4, 5, 6, 7

# op, lane, killed, 0, seq, wait status, cpu ns, wall ns, peak memory bytes
EVENT = struct.Struct("<BBBBIiQQQ")

# Why the zygote killed a worker. NOT_KILLED also where it came to its own end before the signal reached it.
NOT_KILLED, KILLED_CPU, KILLED_WALL, KILLED_CANCEL = 0, 1, 2, 3
KILLED_SILENT = 4  # it closed its progress pipe and lived on
KILLED_STARVED = 5  # it waited for a CPU for most of several times its wall limit, or was stopped from outside
KILLED_UNSURE = 6  # out of wall time, but how much of that it waited for a CPU cannot be measured here
KILLED_PARTNER = 7  # the other half of its pair had ended before it

WIDEST = 4  # at so many times its wall limit a worker ends, however long it waited for a CPU

ZYGOTE_AHEAD = 5  # in units of nice; as a share of a CPU about three times

SCRATCH_FOLDER = "/cruxbox-scratch/work"  # of a worker that has one: its working folder
# Modules that do nothing with files. A whole program that imports another one has a scratch folder, as a library may
# want one for itself; and a separated script that does sees the program's files, and shows it those that it passes.
FILELESS_MODULES = frozenset(
    [
        "__future__", "abc", "array", "ast", "asyncio", "base64", "bisect", "builtins", "calendar", "cmath",
        "collections", "concurrent", "contextlib", "copy", "copyreg", "csv", "ctypes", "dataclasses", "datetime",
        "decimal", "difflib", "enum", "errno", "fractions", "functools", "gc", "hashlib", "heapq", "hmac", "html",
        "inspect", "io", "itertools", "json", "keyword", "locale", "math", "numbers", "operator", "platform",
        "pprint", "queue", "random", "re", "secrets", "signal", "statistics", "string", "struct", "sys", "textwrap",
        "threading", "time", "timeit", "traceback", "types", "typing", "unicodedata", "unittest", "uuid",
        "warnings", "weakref", "zlib", "zoneinfo", "numpy", "networkx", "sortedcontainers", "sympy",
    ]
)  # fmt: skip

MOST_THREADS = 32  # that a worker may have beside its first, if it may have any

# ---- payload: jobs ----------------------------------------------------------------------------------------------

JOB_READ = b"read"  # constants and scripts to be read: texts
JOB_CALLS = b"calls"  # a program and calls on it
JOB_SERIES = b"series"  # a program and calls of one name that follow each other, as one check
JOB_BUNDLE = b"bundle"  # several of these two, one after the other
JOB_EXPRESSION = b"expression"  # an expression that needs no program -> canonical value
JOB_ARGUMENTS = b"arguments"  # the arguments of a call -> encoded values
JOB_APPLY = b"apply"  # a program, a name and encoded arguments
JOB_CHECKER = b"checker"  # a program and the three texts that its `check` is given
JOB_STDIO = b"stdio"
JOB_STREAMS = b"streams"  # a program and several standard inputs, one after the other
JOB_SCRIPT = b"script"  # a script in the candidate's process
JOB_SERVE = b"serve"  # the candidate's half of a separated script
JOB_TEST = b"test"  # the test's half of a separated script
JOB_REPLAY = b"replay"  # a script of rows, and what its program gave
JOB_SET = b"set"  # any of these behind a setting: arguments, environment variables, files
JOB_PROBE = b"probe"  # preflight: try what is forbidden

# Where a worker has its pipes: report, and progress, on which it tells the zygote that a check is done.
REPORT_DESCRIPTOR, PROGRESS_DESCRIPTOR = 3, 4
CHANNEL_DESCRIPTOR = 5  # between the halves of a separated script
MOST_DESCRIPTORS = 32  # it may have open: standard streams, these pipes, and some to spare for reading files

# ---- report: records --------------------------------------------------------------------------------------------

SECTION = b"B"  # of a JOB_BUNDLE: the records of one of its jobs begin; holds its place
PLAN = b"P"  # what parsing found; always the first record, written before any code of the task runs
VALUE = b"V"
RAISED = b"E"
STEP_LIMIT = b"S"
OUTPUT_LIMIT = b"O"
MEMORY_LIMIT = b"M"
LIMITS = frozenset([STEP_LIMIT, OUTPUT_LIMIT, MEMORY_LIMIT])  # records of few bytes: which check it was, and no times
ENDED = b"D"  # the script or program came to its end
CANDIDATE_GONE = b"G"  # the test's half: the other half died; its own end says how
CANNOT_CROSS = b"X"  # the test's half: the script itself hands over more than may cross at once
NOT_PLAIN = b"F"  # the test's half: what the candidate returned is more than may cross at once
VIOLATED = b"Y"  # written by the native helper's signal handler: the number of a forbidden system call
FINDINGS = b"I"  # what a filter asked about checks from one on, as places in FINDING_NAMES; before their own records
TESTS = b"T"  # of a suite: the tests it ran, before its ENDED
SEAL = b"K"  # between checks that share a worker: what was said up to here counts; a token, and how many bytes that is
UNSEALED = b"U"  # the worker's state differs, so it ends: a bit for each of SEAL_NAMES
HARNESS_ERROR = b"H"  # our own code failed: a SANDBOX_ERROR, whatever else was said

# What a filter may find (FINDINGS): in the texts, in the value, in the operands, in the events of a whole script.
IMPORT_NAME, UNUSED_ARGUMENT, CALL_SHAPE = "IMPORT_NAME", "UNUSED_ARGUMENT", "CALL_SHAPE"
OUTPUT_SHAPE, UNINSPECTED = "OUTPUT_SHAPE", "UNINSPECTED"
OPS_BIG, POWER_BIG, TRUE_DIVIDE = "OPS_BIG", "POWER_BIG", "TRUE_DIVIDE"
FLOAT_OPS, OPS_LONG = "FLOAT_OPS", "OPS_LONG"
EXCEPTION_EVENT, LIBRARY_CODE = "EXCEPTION_EVENT", "LIBRARY_CODE"
SEEDLESS = "SEEDLESS"  # for the daemon: another hash seed changes nothing
FINDING_NAMES = (
    IMPORT_NAME, UNUSED_ARGUMENT, CALL_SHAPE, OUTPUT_SHAPE, OPS_BIG, POWER_BIG, TRUE_DIVIDE, FLOAT_OPS, OPS_LONG,
    UNINSPECTED, EXCEPTION_EVENT, LIBRARY_CODE, SEEDLESS,
)  # fmt: skip

# What a seal compares, by the names that the daemon has for it.
SEAL_NAMES = (
    "report", "builtins", "harness", "module_table", "module", "sys", "type", "codecs", "limits", "hooks", "gc",
    "warnings", "signals", "locale", "context", "random", "environment", "descriptors", "threads", "frames", "audit",
)  # fmt: skip
TOKEN_BYTES = 8  # of a seal; each is used once
SEAL_TAIL = struct.Struct("<Q")  # behind the token

# What became of a test (TESTS), and how many a suite may have.
TEST_PASSED, TEST_FAILED, TEST_ERROR, TEST_SKIPPED = b"p", b"f", b"e", b"s"
MAX_TESTS = 1000
MAX_TESTS_BYTES = 1 << 18  # of the record

# How a VALUE was encoded. HAS_LIKES: canonical, and packed with it what counts beside its like (`canonical.relation`).
PLAIN, HOLDS_NAN, OPAQUE, HAS_LIKES = b"p", b"n", b"o", b"l"

# What a call is (PLAN, one letter a check). ALONE: one that must not follow or precede others in a worker.
CONSTANT, DIRECT, ARGUED, EXPRESSION, INVALID, ALONE = "c", "d", "a", "x", "i", "u"

# What a text is (JOB_READ).
READ_CONSTANT, READ_EXPRESSION, READ_INVALID, READ_ASSERTION, READ_SERIES = b"c", b"e", b"i", b"r", b"s"

# Exit codes of a worker that ended itself after its last record.
EXIT_DONE, EXIT_STEPS, EXIT_OUTPUT, EXIT_HARNESS, EXIT_VIOLATION, EXIT_UNSEALED = 0, 61, 62, 63, 64, 65

MAX_PAYLOAD = 64 << 20
VALUE_BYTES = 1 << 16  # of a value that may always be reported; more if the output limit is larger
MAX_ARGUMENTS = 8 << 20  # bytes of a call's arguments that are computed in a worker of their own
MAX_TEXT = 4000  # characters of a repr or exception message that travel
