"""The kernel's surface, x86_64 numbers. What is refused is refused for every disguise of the same call."""

from __future__ import annotations

import platform

from conformance.case import Case, attempts, call, calls, case, stdio
from conformance.cases.kernel_text import RAW

REFUSED = "PFV"

# No memory of its own can be executable, so the two bytes of `int 0x80` are looked for in the C library and jumped to.
I386_ENTRY = """
import ctypes
NAMES = ('printf qsort strtol getaddrinfo regexec fopen glob wordexp syslog mktime inet_ntop tsearch ftw popen '
         'getpwnam scandir strftime getgrnam fgets execvp').split()
def f():
    libc = ctypes.CDLL('libc.so.6')
    places = sorted(ctypes.cast(getattr(libc, name), ctypes.c_void_p).value for name in NAMES)
    found = ctypes.string_at(places[0], places[-1] - places[0]).find(bytes([0xcd, 0x80]))
    if found < 0:
        return 'held'
    ctypes.CFUNCTYPE(ctypes.c_long)(places[0] + found)()
    return 'held'
"""

# Standard streams are all that a worker may write to and could try to run.
OUTPUT_AS_CODE = """
got = []
for fd in range(3):
    try:
        if fd != 1:
            raw(1, fd, b'\\xc3' * 4096, 4096)
    except OSError:
        pass
    for number in range(2, 8):
        for flags in (1, 2):
            if number & 4:
                try:
                    got.append(raw(9, 0, 4096, number, flags, fd, 0))
                except OSError:
                    pass
    for way in (0, 1, 2):
        try:
            again = os.open('/proc/self/fd/%d' % fd, way)
            got.append(raw(9, 0, 4096, 5, 2, again, 0))
        except OSError:
            pass
    for number, mode in ((91, 0o777), (72, 4), (72, 1033)):
        try:
            raw(number, fd, mode, 0)
        except OSError:
            pass
print('breach' + 'ed' if got else 'held')
"""

# Numbers that would only wait, end the worker as they should, or say nothing about the policy.
SWEEP = """
SKIPPED = {0, 1, 3, 23, 34, 35, 60, 61, 130, 202, 219, 230, 231, 232, 247, 270, 271, 281}
def f(number):
    if number in SKIPPED:
        return 'held'
    try:
        raw(number, -1, 0, 0, 0, 0, 0)
    except OSError as refused:
        return 'held' if refused.errno in REFUSALS.get(number, {refused.errno}) else refused.errno
    return 'held' if number in HARMLESS else 'breach' + 'ed by system call %d' % number
"""

# What may succeed with the sweep's arguments (-1, 0, 0, ...): reads of the worker's own state, no effect outside it.
HARMLESS = sorted(
    {5, 9, 10, 11, 12, 13, 14, 15, 24, 25, 27, 28, 36, 38, 39, 63, 72, 95, 96, 97, 98, 99, 100, 102, 104, 107, 108}
    | {110, 111, 115, 118, 120, 121, 124, 125, 127, 131, 140, 143, 145, 146, 147, 149, 151, 158, 160, 186, 201, 204}
    | {218, 228, 229, 273, 274, 302, 309, 318, 324, 334}
)

DISGUISE = """
import errno
HIGH = 1 << 40
PAIRS = [
    (41, (2, 1, 0)), (56, (0, 0, 0, 0, 0)), (62, (1, 0)), (257, (-100, b'/etc/passwd', 1, 0)), (16, (0, 0x5412, b'x')),
    (157, (4, 1, 0, 0, 0)), (10, (0, 4096, 4)), (9, (0, 4096, 7, 0x22, -1, 0)), (302, (1, 7, 0, 0)), (72, (1, 4, 0)),
]
def said(number, arguments):
    try:
        raw(number, *arguments)
    except OSError as refused:
        return refused.errno
    return 0
def f(n):
    number, arguments = PAIRS[n]
    high = [a | HIGH if isinstance(a, int) and 0 <= a < HIGH else a for a in arguments]
    plain, disguised = said(number, arguments), said(number, high)
    return 'held' if disguised != 0 and plain != 0 else 'breach' + 'ed: %d %d' % (plain, disguised)
"""

CASES: list[Case] = [
    case(
        "io-uring",
        "io_uring",
        attempts(REFUSED, RAW, "raw(425, 8, bytes(120))", "raw(426, 0, 1, 0, 0, 0)", "raw(427, 0, 0, 0, 0)"),
    ),
    case(
        "bpf-perf",
        "bpf, perf_event_open",
        attempts(REFUSED, RAW, "raw(321, 0, bytes(128), 128)", "raw(298, bytes(128), 0, -1, -1, 0)"),
    ),
    case(
        "keyctl",
        "keyctl, add_key, request_key",
        attempts(
            REFUSED,
            RAW,
            "raw(250, 0, -3, 1)",
            "raw(248, b'user', b'x', b'y', 1, -3)",
            "raw(249, b'user', b'x', 0, -3)",
        ),
    ),
    case("userfaultfd", "userfaultfd", attempts(REFUSED, RAW, "raw(323, 0)", "raw(323, 1)")),
    case(
        "memfd-execveat",
        "memfd and execveat",
        attempts(
            REFUSED, RAW, "fd = raw(319, b'x', 0)\nraw(322, fd, b'', 0, 0, 0x1000)", "raw(322, 0, b'', 0, 0, 0x1000)"
        ),
    ),
    case(
        "executable-memory",
        "executable memory: mmap, mprotect, pkey_mprotect",
        attempts(
            REFUSED,
            RAW + "import mmap\n",
            "mmap.mmap(-1, 4096, prot=7)",
            "mmap.mmap(-1, 4096, prot=5)",
            "raw(10, raw(9, 0, 4096, 3, 0x22, -1, 0), 4096, 5)",
            "raw(10, raw(9, 0, 4096, 3, 0x22, -1, 0), 4096, 7)",
            "raw(329, raw(9, 0, 4096, 3, 0x22, -1, 0), 4096, 4, -1)",
            "raw(216, 0, 0, 0, 0, 0)",
        ),
        stdio("P", RAW + OUTPUT_AS_CODE, "held", stdin="\xc3" * 5000),
    ),
    # C where the kernel has no such entry, or where what follows the two bytes makes no sense.
    case("int-0x80", "i386 entry by int 0x80", call("VC", I386_ENTRY)),
    case(
        "x32-numbers",
        "x32 numbers",
        attempts(
            REFUSED, RAW, "raw(0x40000000 + 39)", "raw(0x40000000 + 59, 0, 0, 0)", "raw(0x40000000 + 520, 0, 0, 0)"
        ),
    ),
    case(
        "unknown-numbers",
        "system call -1 and unknown numbers",
        attempts(REFUSED, RAW, "raw(-1)", "raw(999)", "raw(511)", "raw(0x7fffffff)", "raw(1 << 20)"),
    ),
    case(
        "clone-newuser",
        "clone(CLONE_NEWUSER); clone3 says ENOSYS",
        attempts(REFUSED, RAW, "raw(56, 0x10000011, 0, 0, 0, 0)", "raw(56, 17, 0, 0, 0, 0)", "raw(57)", "raw(58)"),
        call(
            "P",
            RAW
            + """
def f():
    try:
        raw(435, bytes(88), 88)
    except OSError as refused:
        return refused.errno
""",
            expected="38",
        ),
    ),
    case(
        "tiocsti",
        "ioctl TIOCSTI, TIOCLINUX",
        attempts(
            REFUSED,
            RAW,
            "raw(16, 0, 0x5412, b'x')",
            "raw(16, 0, 0x541c, b'x')",
            "raw(16, 0, 0x540e, 0)",
            "raw(16, 1, 0x5412, b'x')",
        ),
    ),
    case(
        "seccomp-listener",
        "seccomp() listener",
        attempts(REFUSED, RAW, "raw(317, 1, 8, bytes(16))", "raw(317, 0, 0, 0)", "raw(157, 22, 1, 0, 0, 0)"),
    ),
    case(
        "personality",
        "personality, modify_ldt, arch_prctl",
        attempts(
            REFUSED,
            RAW,
            "raw(135, 0x0040000)",
            "raw(154, 1, bytes(16), 16)",
            "raw(158, 0x1002, 0)",
            "raw(158, 0x5001, 1)",
        ),
    ),
    case(
        "sysv-shared-memory",
        "shared memory and queues",
        attempts(
            REFUSED,
            RAW,
            "raw(29, 0, 4096, 0o1600)",
            "raw(68, 0, 0o1600)",
            "raw(64, 0, 1, 0o1600)",
            "raw(240, b'x', 0o102, 0o600, 0)",
            "from multiprocessing import shared_memory\nshared_memory.SharedMemory(create=True, size=10)",
            "import _multiprocessing\n_multiprocessing.SemLock(1, 1, 1, '/cruxbox', False)",
        ),
    ),
    case(
        "vsyscall-page",
        "the vsyscall page",
        call("FVC", "import ctypes\ndef f(): return ctypes.string_at(0xffffffffff600000, 8)"),
        call(
            "FVC",
            "from ctypes import CFUNCTYPE as F, c_long\ndef f(): return F(c_long, c_long)(0xffffffffff600400)(0) and 0",
        ),
    ),
    case(
        "high-half-arguments",
        "garbage in the high half of int arguments",
        calls(RAW + DISGUISE, *[(f"f({n})", "'held'", REFUSED) for n in range(10)], alone=True),
    ),
    case(
        "every-number",
        "every system call number, a fresh worker each",
        calls(
            RAW + f"HARMLESS = {set(HARMLESS)!r}\nREFUSALS = {{}}\n" + SWEEP,
            # C: a call that the policy allows may well end a worker that makes it with nonsense (rt_sigreturn).
            *[(f"f({number})", "'held'", "PVCF") for number in range(480)],
            alone=True,
        ),
    ),
]

if platform.machine() != "x86_64":
    CASES = [case(c.slug, c.title, absent=f"numbers of x86_64; this is {platform.machine()}") for c in CASES]
