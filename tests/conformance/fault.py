"""Start a command on a machine with a fault: ``python fault.py NAME -- CMD ARGS...``.

The fault is a seccomp filter of ours that the command and everything below it inherit: system calls then fail as they
would on a kernel without the feature, or, worse, claim success and do nothing.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

# Filter constants (linux/seccomp.h, linux/bpf_common.h, linux/audit.h).
ALLOW, ERRNO, KILL = 0x7FFF0000, 0x00050000, 0x80000000
LOAD, EQUAL, GREATER_EQUAL, RETURN = 0x20, 0x15, 0x35, 0x06
PR_SET_NO_NEW_PRIVS, SECCOMP_SET_MODE_FILTER = 38, 1
ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
NUMBERS = {
    "x86_64": {"seccomp": 317, "prctl": 157, "prlimit64": 302, "setrlimit": 160, "landlock_create_ruleset": 444,
               "landlock_restrict_self": 446, "capset": 126, "setresuid": 117, "close_range": 436},
    "aarch64": {"seccomp": 277, "prctl": 167, "prlimit64": 261, "setrlimit": 164, "landlock_create_ruleset": 444,
                "landlock_restrict_self": 446, "capset": 91, "setresuid": 147, "close_range": 436},
}  # fmt: skip
PRETEND = 0  # "success", and nothing was done

# A rule: system call, the arguments it must have for the fault to show (index, value), errno given. The value "set"
# means: the argument (a pointer) is not null. Loading a filter is told from asking what the kernel could load.
Rule = tuple[str, tuple[tuple[int, "int | str"], ...], int]
LOADS_FILTER = ((0, 1), (1, 0))
FAULTS: dict[str, tuple[Rule, ...]] = {
    "none": (),
    "landlock-missing": (("landlock_create_ruleset", (), errno.ENOSYS),),
    "landlock-disabled": (("landlock_create_ruleset", (), errno.EOPNOTSUPP),),
    "landlock-pretends": (("landlock_restrict_self", (), PRETEND),),
    "seccomp-missing": (("seccomp", (), errno.EINVAL), ("prctl", ((0, 22),), errno.EINVAL)),
    "seccomp-fails": (("seccomp", LOADS_FILTER, errno.EINVAL), ("prctl", ((0, 22),), errno.EINVAL)),
    "seccomp-pretends": (("seccomp", LOADS_FILTER, PRETEND), ("prctl", ((0, 22),), PRETEND)),
    "setrlimit-fails": (("prlimit64", ((2, "set"),), errno.EPERM), ("setrlimit", (), errno.EPERM)),
    "setrlimit-pretends": (("prlimit64", ((2, "set"),), PRETEND), ("setrlimit", (), PRETEND)),
    "no-new-privs-fails": (("prctl", ((0, 38),), errno.EINVAL),),
    "undumpable-fails": (("prctl", ((0, 4),), errno.EPERM),),
    "undumpable-pretends": (("prctl", ((0, 4),), PRETEND),),
    "pdeathsig-fails": (("prctl", ((0, 1),), errno.EPERM),),
    "setresuid-pretends": (("setresuid", (), PRETEND),),
}


def program(rules: tuple[Rule, ...]) -> bytes:
    """The classic BPF of some rules; what none names is allowed."""
    numbers, wanted = NUMBERS[platform.machine()], ARCHITECTURE[platform.machine()]
    code = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, wanted), (RETURN, 0, 0, ALLOW)]
    for name, conditions, error in rules:
        # Each condition is two steps; a jump over the rest of the rule leads to the next one.
        left = 2 * len(conditions) + 1
        code += [(LOAD, 0, 0, 0), (EQUAL, 0, left, numbers[name])]
        for index, value in conditions:
            left -= 2
            code.append((LOAD, 0, 0, 16 + 8 * index))
            code.append((EQUAL, left, 0, 0) if value == "set" else (EQUAL, 0, left, int(value)))
        code.append((RETURN, 0, 0, ERRNO | error))
    code.append((RETURN, 0, 0, ALLOW))
    return b"".join(struct.pack("<HBBI", *step) for step in code)


def install(bpf: bytes) -> None:
    """Put the filter on this process for good."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_NO_NEW_PRIVS)")
    buffer = ctypes.create_string_buffer(bpf)
    header = struct.pack("<HxxxxxxQ", len(bpf) // 8, ctypes.addressof(buffer))
    number = NUMBERS[platform.machine()]["seccomp"]
    if libc.syscall(ctypes.c_long(number), ctypes.c_long(SECCOMP_SET_MODE_FILTER), ctypes.c_long(0), header) != 0:
        raise OSError(ctypes.get_errno(), "seccomp(SECCOMP_SET_MODE_FILTER)")


def main(arguments: list[str]) -> None:
    """NAME -- CMD ARGS..."""
    name, command = arguments[0], arguments[2:]
    if FAULTS[name]:
        install(program(FAULTS[name]))
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
