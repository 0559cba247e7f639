"""System calls that the standard library does not offer, for attempts."""

import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

_NUMBERS = {
    "x86_64": {"bpf": 321, "keyctl": 250, "userfaultfd": 323, "perf_event_open": 298, "seccomp": 317, "statx": 332},
    "aarch64": {"bpf": 280, "keyctl": 219, "userfaultfd": 282, "perf_event_open": 241, "seccomp": 277, "statx": 291},
}[os.uname().machine]
_NUMBERS.update(io_uring_setup=425, pidfd_open=434, clone3=435, pidfd_getfd=438, openat2=437)


def raw(name, *args):
    words = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    return checked(libc.syscall(_NUMBERS[name], *words))


def checked(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "refused")
    return result
