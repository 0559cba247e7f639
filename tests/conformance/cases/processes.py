"""Processes. No new program, no new process, no hand on the server, its zygotes or the neighbours."""

from __future__ import annotations

from conformance.case import Case, attempts, call, calls, case
from conformance.cases.kernel_text import RAW
from conformance.effects import no_core_file
from conformance.scenarios import server_killed

REFUSED = "PFV"
OS = "import os, signal, subprocess, resource\n"
SLEEPER = "['/bin/sleep', '30']"

# A thread may be had where a text names threads; nothing else may be had through it.
THREADS = """
import ctypes, os, threading, time
libc = ctypes.CDLL(None, use_errno=True)
def raw(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_ulong(value) for value in arguments])
    if result == 0 and number in (56, 57, 58): os._exit(0)
    if result == -1: raise OSError(ctypes.get_errno(), 'refused')
    return result
THREAD, VFORK, PTRACE, USER, NET, PID, PARENT = 0x3d0f00, 0x4000, 0x2000, 1 << 28, 1 << 30, 1 << 29, 0x8000
def elsewhere(function):
    caught = []
    def run():
        try:
            function()
        except Exception as refused:
            caught.append(refused)
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if caught: raise caught[0]
"""
LEAVES_THREADS = (
    THREADS
    + """
def stay(spin):
    time.sleep(0.1)
    for number in range(3, 64):
        try:
            os.close(number)
        except OSError:
            pass
    while spin: pass
    time.sleep(30)
def f(spin, leave):
    for _ in range(4): threading.Thread(target=stay, args=(spin,)).start()
    if leave: raw(60, 0)
    return 'held'
"""
)
FORGES_LATER = (
    THREADS
    + """
def forge():
    while True:
        for number in range(3, 8):
            try:
                os.write(number, b'\\x0d\\0\\0\\0\\1\\0\\0\\0V\\4\\0\\0\\0held')
            except OSError:
                pass
def f():
    for _ in range(4): threading.Thread(target=forge, daemon=True).start()
    time.sleep(0.05)
    return 'wrong'
"""
)

LIMIT_NAMES = ("CPU", "AS", "NPROC", "NOFILE", "FSIZE", "CORE", "STACK", "DATA", "MEMLOCK")

CASES: list[Case] = [
    case(
        "exec-program",
        "run another program",
        attempts(
            REFUSED,
            OS,
            f"os.execv('/bin/sleep', {SLEEPER})",
            f"os.posix_spawn('/bin/sleep', {SLEEPER}, {{}})",
            "if os.system('sleep 30') != 0: raise OSError",
            "if os.popen('echo x').read() == '': raise OSError",
            f"subprocess.Popen({SLEEPER})",
            "os.fexecve = os.execve(0, ['x'], {})",
            "import multiprocessing\nmultiprocessing.Process(target=print).start()",
        ),
    ),
    case(
        "ptrace-server",
        "trace, write to or take descriptors of the server",
        attempts(
            REFUSED,
            RAW + "buffer = ctypes.create_string_buffer(64)\n",
            "raw(101, 16, @{daemon_pid}, 0, 0)",
            "raw(101, 0, 0, 0, 0)",
            "raw(310, @{daemon_pid}, buffer, 1, buffer, 1, 0)",
            "raw(311, @{daemon_pid}, buffer, 1, buffer, 1, 0)",
            "raw(438, raw(434, @{daemon_pid}, 0), 0, 0)",
            "raw(434, @{daemon_pid}, 0)",
            "raw(101, 16, os.getppid(), 0, 0)",
        ),
    ),
    case(
        "signal-others",
        "signal the parent, everybody, the group",
        attempts(
            REFUSED,
            OS,
            "os.kill(os.getppid(), signal.SIGKILL)",
            "os.kill(@{daemon_pid}, signal.SIGKILL)",
            "os.kill(-1, 0)",  # signal 0 asks the same permission and hurts nobody should it be granted
            "os.killpg(0, 0)",
            "os.kill(1, signal.SIGKILL)",
            "signal.pidfd_send_signal(os.pidfd_open(os.getppid()), signal.SIGKILL)",
            "import _thread\nsignal.pthread_kill(_thread.get_ident(), signal.SIGKILL)",
        ),
    ),
    case(
        "become-other-user",
        "become somebody else",
        attempts(
            REFUSED,
            RAW,
            "os.setuid(0)",
            "os.setgid(0)",
            "os.seteuid(1)",
            "os.setresuid(0, 0, 0)",
            "os.setgroups([0])",
            "raw(126, (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xffffffff] * 6))",
        ),
    ),
    case(
        "double-fork",
        "double fork and setsid: a daemon",
        attempts(
            REFUSED,
            OS + "import time",
            """
            if os.fork() == 0:
                os.setsid()
                if os.fork() == 0: time.sleep(30)
                os._exit(0)
            """,
            "os.forkpty()",
            "os.setsid()",
            "os.setpgid(0, 0)",
        ),
    ),
    case(
        "limits-of-others",
        "limits, priority and affinity of the parent and the server",
        attempts(
            REFUSED,
            OS,
            "resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))",
            "resource.prlimit(@{daemon_pid}, resource.RLIMIT_NOFILE, (3, 3))",
            "os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)",
            "os.setpriority(os.PRIO_PROCESS, @{daemon_pid}, 19)",
            "os.sched_setaffinity(os.getppid(), {0})",
            "os.sched_setaffinity(@{daemon_pid}, {0})",
            "os.sched_setscheduler(os.getppid(), os.SCHED_IDLE, os.sched_param(0))",
        ),
    ),
    case(
        "raise-own-limits",
        "raise its own limits",
        calls(
            """
            import resource
            def f(name):
                kind = getattr(resource, 'RLIMIT_' + name)
                try:
                    resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                except (OSError, ValueError):
                    return 'held'
                return 'breach' + 'ed'
            """,
            *[(f"f('{name}')", "'held'", REFUSED) for name in LIMIT_NAMES],
            alone=True,
        ),
    ),
    case(
        "prctl",
        "prctl: dumpable, death signal, no_new_privs, seccomp",
        attempts(
            REFUSED,
            RAW,
            "raw(157, 4, 1, 0, 0, 0)",
            "raw(157, 1, 0, 0, 0, 0)",
            "raw(157, 22, 0, 0, 0, 0)",
            "raw(157, 36, 1, 0, 0, 0)",
            "raw(157, 0x59616d61, @{daemon_pid}, 0, 0, 0)",
        ),
    ),
    case(
        "namespaces",
        "namespaces, chroot, mount",
        attempts(
            REFUSED,
            RAW,
            "raw(272, 0x10000000)",
            "raw(272, 0x40000000)",
            "raw(308, 0, 0)",
            "os.chroot('/')",
            "raw(165, b'none', b'/', b'tmpfs', 0, 0)",
            "raw(166, b'/', 2)",
            "raw(155, b'/', b'/')",
            "raw(429, 0, 0, 0)",
        ),
    ),
    case(
        "no-core-file",
        "null dereference, abort(): no core file",
        call("CF", "import ctypes\ndef f(): return ctypes.string_at(0)"),
        call("C", "import os\ndef f(): os.abort()"),
        effects=[no_core_file],
    ),
    case(
        "imitated-signals",
        "exit codes that imitate signals",
        # F or C: CRASHED says of itself "or left without an answer". A limit or a violation would be a lie.
        calls(
            "import os\ndef f(n): os._exit(n)",
            *[(f"f({n})", "'held'", "FC") for n in (0, 1, 9, 31, 60, 61, 62, 124, 137, 139, 152, 153, 159, 255)],
            alone=True,
        ),
    ),
    case(
        "server-killed",
        "the server is killed: its workers go with it",
        scenario=server_killed,
        local="kills the server",
    ),
    case(
        "sigsys-itself",
        "SIGSYS to itself, to choose its outcome",
        call("FVC", "import os, signal\ndef f(): os.kill(os.getpid(), signal.SIGSYS)"),
        call("FVC", "import signal\ndef f(): signal.raise_signal(signal.SIGSYS)"),
    ),
    case(
        "by-thread-tricks",
        "fork, exec and namespaces from threads and by the flags of a thread",
        attempts(
            REFUSED,
            THREADS,
            "elsewhere(os.fork)",
            f"elsewhere(lambda: os.execv('/bin/sleep', {SLEEPER}))",
            f"elsewhere(lambda: os.posix_spawn('/bin/sleep', {SLEEPER}, {{}}))",
            "raw(56, 17, 0, 0, 0, 0)",
            "raw(56, 0x4111, 0, 0, 0, 0)",
            "raw(57)",
            "raw(58)",
            "raw(435, 0, 0)",
            "raw(56, THREAD & ~0x10000, 0, 0, 0, 0)",
            *[f"raw(56, THREAD | {flag}, 0, 0, 0, 0)" for flag in ("VFORK", "PTRACE", "USER", "NET", "PID", "PARENT")],
            "elsewhere(lambda: raw(272, USER))",
            "elsewhere(lambda: raw(308, 0, 0))",
            "elsewhere(lambda: raw(126, 0, 0))",
            "elsewhere(lambda: os.setuid(0))",
            "elsewhere(lambda: os.kill(-1, 0))",
            "raw(160, 6, 0)",
            "raw(234, os.getpid(), threading.get_native_id(), 0)",
        ),
    ),
    case(
        "thread-bombs",
        "more threads than its number, also from threads",
        attempts(
            REFUSED,
            THREADS,
            "for _ in range(100): threading.Thread(target=time.sleep, args=(1,), daemon=True).start()",
            """
            failed = []
            def more(depth):
                try:
                    for _ in range(4 * depth): threading.Thread(target=more, args=(depth - 1,), daemon=True).start()
                except RuntimeError as refused:
                    failed.append(refused)
                time.sleep(1)
            more(4)
            if failed: raise RuntimeError
            """,
        ),
    ),
    case(
        "left-threads",
        "threads that run on, without their first, with all descriptors closed",
        calls(LEAVES_THREADS, ("f(True, False)", "'held'", "PCTF"), ("f(False, False)", "'held'", "PCTF"), alone=True),
        calls(LEAVES_THREADS, ("f(True, True)", "'held'", "CTF"), ("f(False, True)", "'held'", "CTF"), alone=True),
        call("FCV", FORGES_LATER),
    ),
]
