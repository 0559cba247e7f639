"""Constants of the kernel interface that the standard library lacks and confinement needs."""

import errno
import os
import struct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from cruxcell.native import Helper  # noqa: F401 - in type comments

AT_FDCWD = -100
NEWNS = 0x00020000

# Calls that Linux has got since 5.1 have one number on all machines.
_NEWER = {
    "close_range": 436,
    "pidfd_open": 434,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "mount_setattr": 442,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
}
_X86_64 = {
    **_NEWER,
    "prctl": 157,
    "capget": 125,
    "capset": 126,
    "unshare": 272,
    "mount": 165,
    "umount2": 166,
    "pivot_root": 155,
    "sethostname": 170,
    "process_vm_readv": 310,
}
_AARCH64 = {
    **_NEWER,
    "prctl": 167,
    "capget": 90,
    "capset": 91,
    "unshare": 97,
    "mount": 40,
    "umount2": 39,
    "pivot_root": 41,
    "sethostname": 161,
    "process_vm_readv": 270,
}
_MACHINES = {"x86_64": _X86_64, "aarch64": _AARCH64}

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_NAME = 15
PR_CAPBSET_DROP = 24
PR_SET_SECUREBITS = 28
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

CAP_SETPCAP = 8
CAP_SYS_ADMIN = 21

_CAPABILITY_VERSION_3 = 0x20080522


def call(helper, name, *arguments):
    # type: (Helper, str, int | bytes | bytearray | None) -> int
    """Makes the named system call; raises OSError, with ENOSYS on a machine that has no table here."""
    numbers = _MACHINES.get(os.uname().machine)
    if numbers is None:
        raise OSError(38, "no system-call numbers for " + os.uname().machine)
    return helper.syscall(numbers[name], *arguments)


def prctl(helper, option, *arguments):
    # type: (Helper, int, int) -> int
    """prctl with the unused arguments zero, as newer options demand."""
    return call(helper, "prctl", option, *(arguments + (0,) * (4 - len(arguments))))


def die_with(helper, parent):
    # type: (Helper, int) -> None
    """Have this process killed when its parent ends. Raises OSError if the parent, whose number was `parent`, has ended
    before; 0 does not look."""
    prctl(helper, PR_SET_PDEATHSIG, 9)
    if parent and os.getppid() != parent:
        raise OSError(errno.ESRCH, "the parent is gone")


def has_memory(helper, pid):
    # type: (Helper, int) -> bool
    """Does a child of ours still have its memory, so that it can run on? A process that ends gives its memory back
    before its descriptors. True also where that cannot be asked."""
    vector = struct.pack("@PN", 4096, 1)
    try:
        call(helper, "process_vm_readv", pid, vector, 1, vector, 1, 0)
    except OSError as error:
        return error.errno != errno.ESRCH
    return True


def capabilities(helper):
    # type: (Helper) -> tuple[int, ...]
    """The process's (effective, permitted, inheritable) capabilities as bit masks."""
    data = bytearray(24)
    call(helper, "capget", bytearray(struct.pack("<Ii", _CAPABILITY_VERSION_3, 0)), data)
    low, high = struct.unpack("<III", data[:12]), struct.unpack("<III", data[12:])
    return tuple(low[i] | high[i] << 32 for i in range(3))


def drop_capabilities(helper, keep=0):
    # type: (Helper, int) -> None
    """Empties the effective, permitted and inheritable sets; `keep` is a mask of what stays in the first two. Raises
    OSError, also when anything else is left."""
    data = struct.pack("<6I", keep, keep, 0, 0, 0, 0)
    call(helper, "capset", bytearray(struct.pack("<Ii", _CAPABILITY_VERSION_3, 0)), data)
    if capabilities(helper) != (keep, keep, 0):
        raise OSError(errno.EPERM, "capabilities are left")
