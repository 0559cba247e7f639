"""Reaching for other processes, and for the kernel's surface."""

import ctypes
import os
import threading
import time

from attempts_calls import checked, libc, raw

# ---- processes ---


def fork(facts):
    if os.fork() == 0:
        os._exit(0)


def thread(facts):
    threading.Thread(target=int).start()


def execute(facts):
    os.execv("/bin/true", ["true"])


def spawn(facts):
    os.posix_spawn("/bin/true", ["true"], {})


def pipe(facts):
    os.pipe()


def signal_victim(facts):
    os.kill(facts["victim"], 9)


def signal_parent(facts):
    os.kill(os.getppid(), 9)


def signal_all(facts):
    os.kill(-1, 0)


def signal_group(facts):
    os.killpg(0, 0)


def stop_itself(facts):
    os.kill(os.getpid(), 19)


def renice_victim(facts):
    os.setpriority(os.PRIO_PROCESS, facts["victim"], 10)


def pin_victim(facts):
    os.sched_setaffinity(facts["victim"], {0})


def limit_victim(facts):
    import resource

    resource.prlimit(facts["victim"], resource.RLIMIT_NOFILE, (3, 3))


def lift_own_limits(facts):
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))


def trace_victim(facts):
    checked(libc.ptrace(16, facts["victim"], 0, 0))


def write_victim(facts):
    checked(libc.process_vm_writev(facts["victim"], None, 0, None, 0, 0))


def victim_handle(facts):
    raw("pidfd_open", facts["victim"], 0)


def victim_descriptor(facts):
    raw("pidfd_getfd", 0, 0, 0)


def become_root(facts):
    os.setuid(0)


def groups(facts):
    os.setgroups([0])


def new_session(facts):
    os.setsid()


def dumpable(facts):
    checked(libc.prctl(4, 1, 0, 0, 0))


def no_death_signal(facts):
    checked(libc.prctl(1, 0, 0, 0, 0))


def new_namespace(facts):
    checked(libc.unshare(0x10000000))


def enter_namespace(facts):
    checked(libc.setns(0, 0))


def mount(facts):
    checked(libc.mount(b"x", b"/", b"tmpfs", 0, None))


def change_root(facts):
    os.chroot("/")


# ---- the kernel's surface ---


def io_uring(facts):
    raw("io_uring_setup", 1, 0)


def bpf(facts):
    raw("bpf", 0, 0, 0)


def keyring(facts):
    raw("keyctl", 0, 0, 0)


def userfault(facts):
    raw("userfaultfd", 0)


def perf(facts):
    raw("perf_event_open", 0, 0, -1, -1, 0)


def own_filter(facts):
    raw("seccomp", 1, 0, 0)


def new_clone(facts):
    raw("clone3", 0, 0)


def new_open(facts):
    raw("openat2", -100, 0, 0, 0)


def executable_memory(facts):
    import mmap

    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()


def make_executable(facts):
    page = ctypes.create_string_buffer(8192)
    start = (ctypes.addressof(page) + 4095) & ~4095
    checked(libc.mprotect(ctypes.c_void_p(start), 4096, 7))


def persona(facts):
    checked(libc.personality(0x0400000))


def shared_memory(facts):
    checked(libc.shmget(0, 4096, 0o1600))


def message_queue(facts):
    checked(libc.msgget(0, 0o1600))


def terminal_input(facts):
    import fcntl

    fcntl.ioctl(1, 0x5412, b"x")


def timer(facts):
    import signal

    signal.setitimer(signal.ITIMER_REAL, 1000)


def victim_clock(facts):
    return time.clock_gettime((~facts["victim"] << 3) | 2)
