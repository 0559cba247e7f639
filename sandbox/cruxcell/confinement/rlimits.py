"""Resource limits: those that are the same for all, set once by the zygote and inherited, and those of a worker, packed
as the records that `helper.enter` sets: '<IIQQ' resource, padding, soft, hard.

Every limit is set soft = hard, so a worker cannot move any. A hard limit can only be lowered. Where the daemon was
started under one that is lower than a worker's own, a program would fail that runs elsewhere: the limits on memory,
stack and files are set as they are, which the kernel then refuses, and no worker runs under less. Of the others, the
inherited one does no harm: where the one on CPU time is lower than a check's, the daemon does not serve.
"""

import errno
import resource
import struct

from cruxcell.protocol import messages

STACK_BYTES = 8 << 20  # fixed, so that the depth of recursion does not depend on the host
THREAD_STACK_BYTES = 2 << 20  # of a thread that asks for no size; each is charged to the address space
# What neither zygote nor worker needs.
_NONE = (
    "RLIMIT_CORE",  # no core files
    "RLIMIT_MEMLOCK",  # no pinned memory
    "RLIMIT_MSGQUEUE",  # no message queues
    "RLIMIT_SIGPENDING",  # no queued signals, no timers that need one
    "RLIMIT_NICE",  # no better priority
    "RLIMIT_RTPRIO",  # no real-time priority
)


def address_space():
    # type: () -> int
    """Bytes of address space this process has now; read before Landlock hides /proc.

    Returns:
        The size in bytes, to which the caller adds what a worker may use.
    """
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def pack(address_space_bytes, file_bytes, cpu_ns, threads=0):
    # type: (int, int, int, int) -> bytes
    """Packs the limits of one worker.

    Args:
        address_space_bytes: what the zygote has (`address_space`) plus what the worker may add.
        file_bytes: size a file may be written to; 0 means no writing to files at all. Pipes are not files.
        cpu_ns: CPU time of all the worker's checks together, rounded up to a second: a backstop for a worker that the
            zygote has lost sight of. The limit of a single check is the zygote's clock.
        threads: how many the worker may have beside its first. The kernel counts them by user, so more than none is
            for a worker with a user namespace of its own, where they are counted apart.

    Returns:
        Packed records for `helper.enter`.
    """
    exactly = [
        (resource.RLIMIT_AS, address_space_bytes),
        (resource.RLIMIT_DATA, address_space_bytes),  # of which it is a part: only what was inherited could be less
        (resource.RLIMIT_FSIZE, file_bytes),
    ]
    at_most = [
        (resource.RLIMIT_CPU, max(1, -(-cpu_ns // 1_000_000_000))),
        (resource.RLIMIT_NOFILE, messages.MOST_DESCRIPTORS),
        # No threads, or so many and the first; binds for every user but root. Processes are refused by the filter, too.
        (resource.RLIMIT_NPROC, threads + 1 if threads else 0),
    ]
    limits = exactly + [(number, _at_most_inherited(number, value)) for number, value in at_most]
    return b"".join([struct.pack("<IIQQ", number, 0, value, value) for number, value in limits])


def settle():
    # type: () -> None
    """Sets, for the zygote and all its workers, the limits that never differ. Raises OSError."""
    for name in _NONE:
        resource.setrlimit(getattr(resource, name), (0, 0))
    try:
        resource.setrlimit(resource.RLIMIT_STACK, (STACK_BYTES, STACK_BYTES))
    except ValueError:  # as this module says of what the kernel refuses
        raise OSError(errno.EPERM, what_refuses(resource.RLIMIT_STACK)) from None


def what_refuses(number):
    # type: (int) -> str
    """The sentence on a limit that cannot be set."""
    name = next((name for name in dir(resource) if name[:7] == "RLIMIT_" and getattr(resource, name) == number), "it")
    return "the daemon was started under a lower %s" % name


def _at_most_inherited(number, value):
    # type: (int, int) -> int
    hard = resource.getrlimit(number)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
