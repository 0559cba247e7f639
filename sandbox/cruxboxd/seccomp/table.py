"""The system-call policy as data: one row a call, a column a profile, a reason on every row.

A call that has no row is refused with EPERM. `compute` is for workers that only read constants: nothing can be opened.
`stdlib` is for candidates: files below the readable paths may be opened for reading (Landlock says which), extension
modules may be mapped. `threads` is `stdlib` and threads, for candidates whose texts name them. `scratch` is `stdlib`
and writing, for candidates with a scratch folder: their file tree holds nothing that is not theirs to look at, and
nothing else that can be written. A row that says nothing about one of them answers as in `stdlib`; a worker may be
under both. Another profile is another column.

`shared` is for workers that only ever run hermetic programs, one after the other: what it takes to compute and to
report, and nothing that touches a descriptor or a signal. Whatever else is called ends the worker, also where it has no
row, and the check runs again alone. So no value depends on an answer that it would not get there, and the seal between
checks need not look at what no system call can have changed.

Conditions compare integer arguments after masking them to the bits the kernel looks at, so garbage in the high half of
a register changes no decision. Pointers are never compared: a filter cannot follow them.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, replace
from typing import Union


class Action(enum.Enum):
    """What the kernel answers. All but ALLOW refuse: the call never runs."""

    ALLOW = "allow"
    EPERM = "EPERM"  # the default: a program that merely tries gets an error it can handle
    ENOTSUP = "ENOTSUP"  # what a file system may not have, and callers do without
    ENOSYS = "ENOSYS"  # libraries probe these and have a fallback
    DONE = "done"  # no error, and nothing done
    KILL = "kill"  # no honest program calls these: a trap whose handler names the call and ends the worker


@dataclass(frozen=True)
class Bits:
    """Holds when `argument` masked with `mask` equals `value`. `mask` names a set of flags or is a number."""

    argument: int
    mask: int | str
    value: int


@dataclass(frozen=True)
class Where:
    """ALLOW when all conditions of any one alternative hold, EPERM otherwise. Where those of `done` hold, the answer is
    0, and nothing is done: what was asked for is so already."""

    alternatives: tuple[tuple[Bits, ...], ...]
    done: tuple[Bits, ...] = ()


Decision = Union[Action, Where]


@dataclass(frozen=True)
class Row:
    """One line of the policy."""

    name: str
    compute: Decision
    stdlib: Decision
    reason: str
    threads: Decision | None = None  # None: as stdlib
    scratch: Decision | None = None  # None: as stdlib
    shared: Decision = Action.KILL


INT = 0xFFFFFFFF  # an `int` argument: the kernel ignores the high half of the register

# Open flags differ between architectures; a mask is given by name and resolved when the policy is compiled. It holds
# every bit except O_CLOEXEC, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY and O_LARGEFILE: so no writing, creating,
# truncating, appending, O_PATH or O_TMPFILE.
_HARMLESS_OPEN_FLAGS = {
    "x86_64": 0o2000000 | 0o200000 | 0o400000 | 0o4000 | 0o400 | 0o100000,
    "aarch64": 0o2000000 | 0o40000 | 0o100000 | 0o4000 | 0o400 | 0o400000,
}
# And for a scratch folder: O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_DSYNC and O_SYNC; the same numbers
# on both.
_WRITING_OPEN_FLAGS = 0o3 | 0o100 | 0o200 | 0o1000 | 0o2000 | 0o10000 | 0o4000000
NAMED_MASKS = {
    "not-read-only": {arch: INT & ~flags for arch, flags in _HARMLESS_OPEN_FLAGS.items()},
    "not-plain": {arch: INT & ~(flags | _WRITING_OPEN_FLAGS) for arch, flags in _HARMLESS_OPEN_FLAGS.items()},
}

PROT_WRITE, PROT_EXEC = 2, 4
MAP_ANONYMOUS = 0x20
AT_EMPTY_PATH = 0x1000

A, E, N, K = Action.ALLOW, Action.EPERM, Action.ENOSYS, Action.KILL
U, D = Action.ENOTSUP, Action.DONE


def where(*alternatives: tuple[Bits, ...]) -> Where:
    """ALLOW under any of these conjunctions of conditions."""
    return Where(alternatives)


def one_of(argument: int, *values: int, mask: int = INT) -> Where:
    """ALLOW when the masked argument is one of these values."""
    return Where(tuple((Bits(argument, mask, value),) for value in values))


# Any signal but 31, SIGSYS.
NOT_SIGSYS = where(
    (Bits(0, INT & ~15, 0),),
    (Bits(0, INT & ~7, 16),),
    (Bits(0, INT & ~3, 24),),
    (Bits(0, INT & ~1, 28),),
    (Bits(0, INT, 30),),
    (Bits(0, INT & ~31, 32),),
    (Bits(0, INT, 64),),
)


def not_its_lines(argument: int) -> Where:
    """Any descriptor but 3 and 4, the worker's report and progress pipe: these end with it."""
    small = ((INT & ~1, 0), (INT, 2), (INT, 5), (INT & ~1, 6))
    large = tuple((1 << bit, 1 << bit) for bit in range(3, 10))  # RLIMIT_NOFILE is far below
    return Where(tuple((Bits(argument, mask, value),) for mask, value in small + large))


NOT_EXECUTABLE = where((Bits(2, PROT_EXEC, 0),))
MAP_LIKE_DLOPEN = where(
    (Bits(2, PROT_EXEC, 0),),
    (Bits(2, PROT_EXEC | PROT_WRITE, PROT_EXEC), Bits(3, MAP_ANONYMOUS, 0)),
)
READ_ONLY_OPENAT = where((Bits(2, "not-read-only", 0),))
READ_ONLY_OPEN = where((Bits(1, "not-read-only", 0),))
PLAIN_OPENAT = where((Bits(2, "not-plain", 0),))
PLAIN_OPEN = where((Bits(1, "not-plain", 0),))
BY_NAME = one_of(0, -100 & INT)  # AT_FDCWD: an open file, such as a standard stream, is not reached
# RENAME_NOREPLACE, RENAME_EXCHANGE; not RENAME_WHITEOUT, which makes a device file.
PLAIN_RENAME = one_of(4, 0, mask=INT & ~3)
# Clock ids below 16 are clocks of the machine or of the caller; a negative id is the CPU clock of any other process.
OWN_CLOCK = one_of(0, 0, mask=INT & ~15)
# FUTEX_WAIT and WAKE, WAIT_BITSET, WAKE_BITSET, each with or without PRIVATE and CLOCK_REALTIME.
PLAIN_FUTEX = where((Bits(1, INT & ~0x181, 0),), (Bits(1, INT & ~0x180, 9),), (Bits(1, INT & ~0x180, 10),))
# MADV_NORMAL..DONTNEED, FREE, HUGEPAGE: hints on the caller's own pages; not MERGEABLE (a side channel) or HWPOISON.
PLAIN_ADVICE = where((Bits(2, INT & ~7, 0),), (Bits(2, INT, 8),), (Bits(2, INT, 14),))
FD_FLAGS_ONLY = where((Bits(1, INT & ~3, 0),), (Bits(1, INT, 1030),))  # F_DUPFD, GETFD, SETFD, GETFL, DUPFD_CLOEXEC
# F_GETLK, F_SETLK and F_SETLKW, which sqlite needs: a process has no conflict with its own locks, and nobody else has
# its files. A real lock on a file of the runtime would be seen by other processes.
FD_FLAGS_AND_LOCKS = Where((*FD_FLAGS_ONLY.alternatives, (Bits(1, INT, 5),)), done=(Bits(1, INT & ~1, 6),))
CLOSE_ON_EXEC_ONLY = one_of(1, 0x5450, mask=INT & ~1)  # FIONCLEX, FIOCLEX
CALLER_ONLY = one_of(0, 0)
# What pthread_create asks for, to the bit: VM, FS, FILES, SIGHAND, THREAD, SYSVSEM, SETTLS, PARENT_SETTID and
# CHILD_CLEARTID; musl adds DETACHED, which does nothing. No process, VFORK, PTRACE, namespace or signal.
THREAD_ONLY = one_of(0, 0x3D0F00, 0x7D0F00)

# What every worker needs. `shared` answers as `compute`.
NEEDED = (
    Row("write", A, A, "open descriptors only: the report's pipe and the captured output"),
    Row("mmap", NOT_EXECUTABLE, MAP_LIKE_DLOPEN, "memory; code only from a file that cannot be written"),
    Row("mprotect", NOT_EXECUTABLE, NOT_EXECUTABLE, "malloc arenas, RELRO; never makes code of data"),
    Row("munmap", A, A, "memory"),
    Row("mremap", A, A, "realloc of large blocks; keeps the protection it had"),
    Row("brk", A, A, "malloc"),
    Row("madvise", PLAIN_ADVICE, PLAIN_ADVICE, "free gives pages back; numpy asks for huge pages"),
    Row("futex", PLAIN_FUTEX, PLAIN_FUTEX, "locks; no priority inheritance, where the kernel's futex bugs were"),
    Row("clock_gettime", OWN_CLOCK, OWN_CLOCK, "time, should the vDSO fall back; not another process's CPU clock"),
    Row("gettimeofday", A, A, "time, should the vDSO fall back"),
    Row("time", A, A, "time, should the vDSO fall back"),
    Row("restart_syscall", A, A, "the kernel resumes an interrupted sleep with it"),
    Row("sched_yield", D, D, "who gave its CPU away again and again would wait for one, and that is the host's doing"),
    Row("exit", A, A, "ends the worker"),
    Row("exit_group", A, A, "ends the worker"),
)

COMPUTING = (
    Row("read", A, A, "open descriptors only: the job's pipe, stdin, and what openat gave"),
    Row(
        "close", not_its_lines(0), not_its_lines(0), "gives up what the worker has, but not what ties it to the sandbox"
    ),
    Row("lseek", A, A, "position of an own descriptor; every buffered open asks for it"),
    Row("fstat", A, A, "facts of an open descriptor"),
    Row("clock_getres", OWN_CLOCK, OWN_CLOCK, "time.get_clock_info"),
    Row("clock_nanosleep", OWN_CLOCK, OWN_CLOCK, "sleep; the wall clock ends it"),
    Row("nanosleep", A, A, "sleep"),
    Row("select", A, A, "time.sleep before Python 3.11"),
    Row("pselect6", A, A, "time.sleep before Python 3.11, newer glibc and aarch64"),
    Row("getrandom", A, A, "hash seeds and random"),
    Row("rt_sigaction", NOT_SIGSYS, NOT_SIGSYS, "signal handlers of the worker itself, but not the one that traps"),
    Row("rt_sigprocmask", A, A, "blocking signals stops nothing of ours"),
    Row("rt_sigreturn", A, A, "every handler ends with it"),
    Row("rt_sigtimedwait", A, A, "waiting for a signal is waiting; the wall clock ends it"),
    Row("sigaltstack", A, A, "faulthandler"),
    Row("getpid", A, A, "own number; seeds and names use it"),
    Row("gettid", A, A, "own number; abort and threading use it"),
)

READING = (
    Row("openat", E, READ_ONLY_OPENAT, "imports and data files; Landlock says which", scratch=PLAIN_OPENAT),
    Row("open", E, READ_ONLY_OPEN, "as openat, for a C library that still uses it", scratch=PLAIN_OPEN),
    Row(
        "newfstatat",
        E,
        one_of(3, AT_EMPTY_PATH),
        "how glibc 2.33 to 2.38 does fstat; any other flags would tell which paths exist",
        scratch=A,
    ),
    Row("pread64", E, A, "reading an own descriptor; dlopen"),
    Row("readv", E, A, "reading an own descriptor"),
    Row("writev", E, A, "writing an own descriptor"),
    Row("getdents64", E, A, "listing a directory that openat gave; imports"),
    Row("getcwd", E, A, "names the empty directory the worker lives in; imports"),
    Row(
        "fcntl",
        E,
        FD_FLAGS_ONLY,
        "descriptor flags and duplicates; no owner, signal, lease, lock or O_ASYNC",
        scratch=FD_FLAGS_AND_LOCKS,
    ),
    Row("ioctl", E, CLOSE_ON_EXEC_ONLY, "os.set_inheritable; isatty is answered by the refusal: no"),
    Row("dup", E, A, "redirecting output; RLIMIT_NOFILE bounds it"),
    Row("dup2", E, not_its_lines(1), "redirecting output; not over what ties it to the sandbox"),
    Row("dup3", E, not_its_lines(1), "as dup2"),
    Row("poll", E, A, "waits on own descriptors"),
    Row("ppoll", E, A, "waits on own descriptors"),
    Row("getppid", E, A, "a number that cannot be used for anything"),
    Row("getuid", E, A, "own identity, an ordinary user's"),
    Row("geteuid", E, A, "own identity"),
    Row("getgid", E, A, "own identity"),
    Row("getegid", E, A, "own identity"),
    Row("uname", E, A, "importing uuid and platform; the host name is replaced where namespaces hold"),
    Row("getrusage", E, A, "own resource use; programs time themselves"),
    Row("times", E, A, "own CPU time"),
    Row("sched_getaffinity", E, CALLER_ONLY, "own CPU count; numpy asks when imported; of the caller only"),
)

PROBED = (
    Row("clone3", N, N, "flags hide behind a pointer; libc falls back to clone, which is refused"),
    Row("openat2", N, N, "flags hide behind a pointer; callers fall back to openat"),
    Row("statx", N, N, "would tell which paths exist; callers fall back to stat, which is refused"),
    Row("faccessat2", N, N, "would tell which paths exist; libc falls back to faccessat, which is refused"),
    Row("close_range", N, N, "callers fall back to close; by this answer the seal knows `shared`", shared=U),
    Row("rseq", N, N, "registered before the filter, but for threads: glibc ends the process if theirs cannot be", A),
    Row("set_robust_list", N, N, "registered before the filter"),
    Row("membarrier", N, N, "runtimes probe it; it interrupts every CPU"),
)

# For workers with a scratch folder. Landlock and read-only mounts say where; the folder's mount has no devices, no
# set-uid bits and runs nothing; its size bounds bytes and files.
WRITING = (
    Row("mkdir", E, E, "folders", scratch=A),
    Row("mkdirat", E, E, "folders", scratch=A),
    Row("rmdir", E, E, "folders", scratch=A),
    Row("unlink", E, E, "removing files", scratch=A),
    Row("unlinkat", E, E, "removing files and folders", scratch=A),
    Row("rename", E, E, "moving files; out of the folder is another file system", scratch=A),
    Row("renameat", E, E, "as rename", scratch=A),
    Row("renameat2", E, E, "as rename", scratch=PLAIN_RENAME),
    Row("symlink", E, E, "a link leads nowhere that its name would not", scratch=A),
    Row("symlinkat", E, E, "as symlink", scratch=A),
    Row("truncate", E, E, "sizes of files; RLIMIT_FSIZE bounds them", scratch=A),
    Row("ftruncate", E, E, "as truncate", scratch=A),
    Row("pwrite64", E, E, "writing an own descriptor", scratch=A),
    Row("pwritev", E, E, "writing an own descriptor", scratch=A),
    Row("preadv", E, E, "reading an own descriptor", scratch=A),
    Row("fsync", E, E, "nothing to do for a file in memory", scratch=A),
    Row("fdatasync", E, E, "nothing to do for a file in memory", scratch=A),
    Row("chmod", E, E, "permissions of its own files, by name: elsewhere all is read-only", scratch=A),
    Row("fchmodat", E, E, "as chmod; not fchmod, which reaches the standard streams", scratch=A),
    Row("utimensat", E, E, "times of its own files, by name: elsewhere all is read-only", scratch=BY_NAME),
    Row("umask", E, E, "of its own new files", scratch=A),
    Row("fchdir", E, E, "a folder it has open", scratch=A),
    Row("listxattr", E, E, "shutil.copy2 asks, and does without", scratch=U),
    Row("llistxattr", E, E, "as listxattr", scratch=U),
    Row("flistxattr", E, E, "as listxattr", scratch=U),
)

# Each answers with EPERM, as a call without a row does; they are named for the reason.
REFUSED = (
    Row("link", E, E, "a second name for a file is nothing programs need"),
    Row("linkat", E, E, "as link"),
    Row("mknod", E, E, "no special files"),
    Row("mknodat", E, E, "no special files"),
    Row("flock", E, E, "a lock on a file of the runtime reaches other processes"),
    Row("fallocate", E, E, "callers write instead"),
    Row("setxattr", E, E, "kernel memory beside the folder's size"),
    Row("fchmod", E, E, "would let a standard stream be opened anew"),
    Row("chown", E, E, "there is one user"),
    Row("inotify_init1", E, E, "watches files that others use, too"),
    Row("statfs", E, E, "facts of the host"),
    Row("fstatfs", E, E, "facts of the host"),
    Row("copy_file_range", E, E, "callers read and write instead"),
    Row("sendfile", E, E, "callers read and write instead"),
    Row("stat", E, E, "would tell which paths exist", scratch=A),
    Row("lstat", E, E, "would tell which paths exist", scratch=A),
    Row("access", E, E, "would tell which paths exist", scratch=A),
    Row("faccessat", E, E, "would tell which paths exist", scratch=A),
    Row("readlink", E, E, "would tell which paths exist", scratch=A),
    Row("readlinkat", E, E, "would tell which paths exist", scratch=A),
    Row("chdir", E, E, "would tell which paths exist", scratch=A),
    Row("fork", E, E, "one process a worker"),
    Row("vfork", E, E, "one process a worker"),
    Row("clone", E, E, "one thread a worker, or exactly what a thread is; RLIMIT_NPROC bounds them", THREAD_ONLY),
    Row("execve", E, E, "no other program"),
    Row("execveat", E, E, "no other program"),
    Row("kill", E, E, "workers share a user: no signal to the zygote, the daemon or a neighbour"),
    Row("tkill", E, E, "as kill"),
    Row("tgkill", E, E, "as kill; abort then ends the worker with a fault"),
    Row("rt_sigqueueinfo", E, E, "as kill"),
    Row("rt_tgsigqueueinfo", E, E, "as kill"),
    Row("pidfd_send_signal", E, E, "as kill"),
    Row("pidfd_open", E, E, "a handle on a neighbour"),
    Row("prlimit64", E, E, "reaches the limits of any process of the user, the daemon included"),
    Row("setrlimit", E, E, "limits are set once"),
    Row("sched_setaffinity", E, E, "reaches any process of the user"),
    Row("sched_setscheduler", E, E, "reaches any process of the user"),
    Row("setpriority", E, E, "reaches any process of the user"),
    Row("prctl", E, E, "would undo undumpable and pdeathsig"),
    Row("socket", E, E, "no network"),
    Row("socketpair", E, E, "no sockets, so no descriptor passing"),
    Row("pipe", E, E, "nobody to talk to; kernel memory outside the memory limit"),
    Row("pipe2", E, E, "as pipe"),
    Row("memfd_create", E, E, "memory outside the limit, and a file that could be mapped as code"),
    Row("pkey_mprotect", E, E, "never makes code of data"),
    Row("remap_file_pages", E, E, "old and unused"),
    Row("shmget", E, E, "outlives the worker"),
    Row("msgget", E, E, "outlives the worker"),
    Row("semget", E, E, "outlives the worker"),
    Row("mq_open", E, E, "outlives the worker"),
    Row("setitimer", E, E, "the clock is outside; a storm of timers disturbs the neighbours"),
    Row("alarm", E, E, "as setitimer"),
    Row("timer_create", E, E, "as setitimer"),
    Row("unshare", E, E, "no new namespaces"),
    Row("chroot", E, E, "no other root"),
    Row("personality", E, E, "READ_IMPLIES_EXEC and no ASLR"),
    Row("arch_prctl", E, E, "set once by the loader"),
    Row("sysinfo", E, E, "facts of the host; callers take a default"),
    Row("mincore", E, E, "tells which pages others use"),
    Row("ioprio_set", E, E, "reaches any process of the user"),
    Row("landlock_create_ruleset", E, E, "confinement is complete"),
)

FORBIDDEN = (
    Row("ptrace", K, K, "takes over another process"),
    Row("process_vm_readv", K, K, "reads another process's memory"),
    Row("process_vm_writev", K, K, "writes another process's memory"),
    Row("pidfd_getfd", K, K, "takes another process's descriptors"),
    Row("kcmp", K, K, "compares kernel objects of other processes"),
    Row("bpf", K, K, "programs in the kernel"),
    Row("seccomp", K, K, "filters and listeners are ours"),
    Row("perf_event_open", K, K, "watches the machine"),
    Row("userfaultfd", K, K, "stalls the kernel; exploits use it"),
    Row("add_key", K, K, "kernel keyrings"),
    Row("request_key", K, K, "kernel keyrings"),
    Row("keyctl", K, K, "kernel keyrings"),
    Row("io_uring_setup", K, K, "system calls past the filter"),
    Row("io_uring_enter", K, K, "system calls past the filter"),
    Row("io_uring_register", K, K, "system calls past the filter"),
    Row("mount", K, K, "changes the file tree"),
    Row("umount2", K, K, "changes the file tree"),
    Row("pivot_root", K, K, "changes the file tree"),
    Row("move_mount", K, K, "changes the file tree"),
    Row("open_tree", K, K, "changes the file tree"),
    Row("fsopen", K, K, "changes the file tree"),
    Row("fsconfig", K, K, "changes the file tree"),
    Row("fsmount", K, K, "changes the file tree"),
    Row("fspick", K, K, "changes the file tree"),
    Row("mount_setattr", K, K, "changes the file tree"),
    Row("setns", K, K, "enters other namespaces"),
    Row("open_by_handle_at", K, K, "opens files past every path check"),
    Row("fanotify_init", K, K, "watches other processes' files"),
    Row("init_module", K, K, "code in the kernel"),
    Row("finit_module", K, K, "code in the kernel"),
    Row("delete_module", K, K, "code in the kernel"),
    Row("kexec_load", K, K, "another kernel"),
    Row("kexec_file_load", K, K, "another kernel"),
    Row("reboot", K, K, "stops the machine"),
    Row("swapon", K, K, "changes the machine"),
    Row("swapoff", K, K, "changes the machine"),
    Row("acct", K, K, "changes the machine"),
    Row("iopl", K, K, "hardware ports"),
    Row("ioperm", K, K, "hardware ports"),
    Row("modify_ldt", K, K, "segment games; kernel bugs lived there"),
)

TABLE: tuple[Row, ...] = tuple(replace(row, shared=row.compute) for row in NEEDED)
TABLE += COMPUTING + READING + WRITING + PROBED + REFUSED + FORBIDDEN
