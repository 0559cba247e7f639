"""What a program gets in place of what the host refuses: devices, a larger stack, how full the disk is, a pool's pipe.

Only where its text names such a thing: all others have the library's own functions.
"""

from cruxcell.jobs import devices, disk_figures, stack_limit, thread_pools


def install_for(source, scratch_bytes, memory_bytes):
    # type: (str, int, int) -> None
    """`scratch_bytes`: size of the worker's scratch folder; with 0 `os.statvfs` stays refused. `memory_bytes`: what the
    worker may have."""
    devices.install_for(source)
    stack_limit.install_for(source, memory_bytes)
    disk_figures.install_for(source, scratch_bytes)
    thread_pools.install_for(source)
