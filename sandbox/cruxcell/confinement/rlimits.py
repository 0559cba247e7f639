"""Resource limits: those that are the same for all, set once by the zygote and inherited, and those of a worker, packed
as the records that `helper.enter` sets: '<IIQQ' resource, padding, soft, hard.

Every limit is set soft = hard, so a worker cannot move any. A hard limit can only be lowered: a value above the one
that was inherited becomes the inherited one.
"""

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
    limits = [
        (resource.RLIMIT_AS, address_space_bytes),
        (resource.RLIMIT_CPU, max(1, -(-cpu_ns // 1_000_000_000))),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_NOFILE, messages.MOST_DESCRIPTORS),
        # No threads, or so many and the first; binds for every user but root. Processes are refused by the filter, too.
        (resource.RLIMIT_NPROC, threads + 1 if threads else 0),
    ]
    return b"".join([_record(number, value) for number, value in limits])


def settle():
    # type: () -> None
    """Sets, for the zygote and all its workers, the limits that never differ. Raises OSError."""
    for name in _NONE:
        resource.setrlimit(getattr(resource, name), (0, 0))
    stack = _at_most_inherited(resource.RLIMIT_STACK, STACK_BYTES)
    resource.setrlimit(resource.RLIMIT_STACK, (stack, stack))


def _at_most_inherited(number, value):
    # type: (int, int) -> int
    hard = resource.getrlimit(number)[1]
    return value if hard == resource.RLIM_INFINITY else min(value, hard)


def _record(number, value):
    # type: (int, int) -> bytes
    value = _at_most_inherited(number, value)
    return struct.pack("<IIQQ", number, 0, value, value)
