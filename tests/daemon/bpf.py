"""An interpreter of classic BPF, as seccomp runs it, to ask a filter about calls that nobody makes.

Source: Documentation/networking/filter.rst and kernel/seccomp.c. Only what libseccomp emits is here; anything else is
an error.
"""

from __future__ import annotations

import struct

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7, "i386": 0x40000003, "arm": 0x40000028}
X32_BIT = 0x40000000

_LOAD, _RETURN, _AND = 0x20, 0x06, 0x54
_JUMP, _EQUAL, _GREATER, _AT_LEAST, _ANY_BIT = 0x05, 0x15, 0x25, 0x35, 0x45

_NAMES = {0x7FFF0000: "allow", 0x80000000: "kill", 0x00030000: "trap", 0x00050001: "EPERM", 0x00050026: "ENOSYS"}
_NAMES[0x0005005F], _NAMES[0x00050000] = "ENOTSUP", "done"


def decide(bpf: bytes, arch: str, number: int, args: tuple[int, ...] = ()) -> str:
    """What the filter answers to a call: "allow", "EPERM", "ENOSYS", "trap" (named, then death) or "kill".

    Args:
        arch: whose system-call entry is used, a key of AUDIT.
        number: the call; -1 is as the kernel sees it, 0xFFFFFFFF.
        args: up to six 64-bit arguments, the rest are zero.
    """
    words = [value & 0xFFFFFFFFFFFFFFFF for value in (*args, *(0,) * (6 - len(args)))]
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, AUDIT[arch], 0x7F0000000000, *words)
    return _NAMES[_run(list(struct.iter_unpack("<HBBI", bpf)), data)]


def _run(program: list[tuple[int, int, int, int]], data: bytes) -> int:
    at = accumulator = 0
    while True:
        code, if_true, if_false, k = program[at]
        at += 1
        if code == _RETURN:
            return k
        if code == _LOAD:
            accumulator = int.from_bytes(data[k : k + 4], "little")
        elif code == _AND:
            accumulator &= k
        elif code == _JUMP:
            at += k
        elif code in _TESTS:
            at += if_true if _TESTS[code](accumulator, k) else if_false
        else:
            raise ValueError(f"instruction {at - 1}: code {code:#x} is not one that libseccomp emits")


_TESTS = {
    _EQUAL: lambda a, k: a == k,
    _GREATER: lambda a, k: a > k,
    _AT_LEAST: lambda a, k: a >= k,
    _ANY_BIT: lambda a, k: bool(a & k),
}
