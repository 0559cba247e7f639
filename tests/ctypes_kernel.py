"""The kernel interface in a few lines of ctypes, for tests that must not depend on the real one."""

from __future__ import annotations

import ctypes
import os
import resource
import struct

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_NO_NEW_PRIVS = 1, 4, 38
_SECCOMP = {"x86_64": 317, "aarch64": 277}[os.uname().machine]


def syscall(number: int, *args: int | bytes | bytearray | None) -> int:
    """A raw system call; buffers pass their address."""
    result = _libc.syscall(ctypes.c_long(number), *[_word(arg) for arg in args])
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return int(result)


def _word(arg: int | bytes | bytearray | None) -> object:
    if isinstance(arg, int):
        return ctypes.c_long(arg)
    if isinstance(arg, bytearray):
        return (ctypes.c_char * len(arg)).from_buffer(arg)
    return ctypes.c_char_p(arg)


def enter(rlimits: bytes, bpf: bytes, parent: int) -> None:
    """Confines a worker: the filter comes last."""
    _prctl("pdeathsig", _PR_SET_PDEATHSIG, 9)
    if parent and os.getppid() != parent:
        raise OSError(3, "pdeathsig")
    for number, _, soft, hard in struct.iter_unpack("<IIQQ", rlimits):
        resource.setrlimit(number, (soft, hard))
    _prctl("no_new_privs", _PR_SET_NO_NEW_PRIVS, 1)
    _prctl("dumpable", _PR_SET_DUMPABLE, 0)
    load_filter(bpf)


def load_filter(bpf: bytes) -> None:
    """Loads a classic BPF program for this thread; needs no_new_privs."""
    if not bpf:
        raise ValueError("no filter")
    instructions = ctypes.create_string_buffer(bpf, len(bpf))
    program = bytearray(struct.pack("<HxxxxxxQ", len(bpf) // 8, ctypes.addressof(instructions)))
    try:
        syscall(_SECCOMP, 1, 0, program)
    except OSError as error:
        raise OSError(error.errno, "seccomp") from None


def _prctl(step: str, option: int, value: int) -> None:
    if _libc.prctl(option, ctypes.c_ulong(value), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), step)
