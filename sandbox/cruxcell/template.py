"""The template of a kind: a process that has loaded and rehearsed all that its zygotes need, and forks them.

A start takes a fifth of a second of CPU time, the fork of a process that has done it a few milliseconds. A template
has no lanes, and no byte of a task enters its memory, nor that of a zygote. It is not confined: each zygote confines
itself. A zygote is a child of the daemon, as the template is: the two live and die apart, and both with the daemon.

A zygote waits for a first datagram of the daemon, which then knows its process number, before it leaves the template's
session. So what the daemon does not know of is in the template's process group, and ends with it.
"""

import _socket
import fcntl
import gc
import os

from cruxcell import forks, zygote
from cruxcell.confinement import confine, linux, rlimits
from cruxcell.protocol import frames, messages

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable  # noqa: F401 - in type comments

    from cruxcell.confinement.settings import Settings  # noqa: F401 - in type comments
    from cruxcell.jobs.context import JobContext  # noqa: F401 - in type comments
    from cruxcell.native import Helper  # noqa: F401 - in type comments

_ROOM = _socket.CMSG_SPACE(len(forks.KEPT) * 4)


class Kind:
    """What all zygotes of a template have in common."""

    def __init__(self, helper, context, threads, ways):
        # type: (Helper, JobContext, bool, dict[bytes, Way]) -> None
        self.helper, self.context, self.threads, self.ways = helper, context, threads, ways


class Way:
    """How those are confined that an order names: with a scratch folder for each worker or without.

    `put_in_place` is called when one is confined.
    """

    def __init__(self, settings, filters, put_in_place, scratch_bytes):
        # type: (Settings, dict[int, bytes], Callable[[], None], int) -> None
        self.settings, self.filters, self.put_in_place = settings, filters, put_in_place
        self.scratch_bytes = scratch_bytes


def serve(kind, channel):
    # type: (Kind, _socket.socket) -> None
    """Fork a zygote for each datagram, until the daemon is gone."""
    _rename(kind.helper, b"zygote-template")
    linux.prctl(kind.helper, linux.PR_SET_DUMPABLE, 0)
    template = os.getpid()
    channel.send(messages.ANSWER.pack(messages.READY, 0, 0))
    while True:
        order, numbers = _next_order(channel)
        _reap()
        pid, error = _fork(kind.helper)
        if pid == 0:
            channel.close()  # at once: while anybody holds it, the daemon does not hear that the template has died
            _become_zygote(kind, kind.ways[order], numbers, template)
        for number in numbers:
            os.close(number)
        channel.send(messages.ANSWER.pack(messages.FORKED, max(pid, 0), error))


def _next_order(channel):
    # type: (_socket.socket) -> tuple[bytes, list[int]]
    """Which way a zygote is confined, and the numbers of the descriptors that it gets."""
    try:
        data, ancillary, _, _ = channel.recvmsg(1, _ROOM)
    except OSError:
        data, ancillary = b"", []
    if not data:
        os._exit(0)
    return data, [number for _, _, content in ancillary for number in memoryview(content).cast("i")]


def _fork(helper):
    # type: (Helper) -> tuple[int, int]
    """The zygote's process number (0 in the zygote) and 0, or -1 and an error number."""
    try:
        return helper.fork_beside(), 0
    except OSError as error:
        return -1, error.errno or 0


def _reap():
    # type: () -> None
    """Take the exit status of each zygote that has ended, where they are this process's own: see `_become_zygote`."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def _become_zygote(kind, way, numbers, template):
    # type: (Kind, Way, list[int], int) -> None
    """Confine this process for good, and serve. Never comes back.

    gVisor takes CLONE_PARENT and ignores it (`Task.Clone`). There a zygote is a child of its template and ends with it,
    and the daemon ends it by hanging up.
    """
    if os.getppid() == template:
        way.settings.parent = template
    place_descriptors(numbers)
    control = _socket.socket(fileno=forks.CONTROL)
    try:
        if not control.recv(1):
            os._exit(0)
        _rename(kind.helper, b"zygote")
        server, ready = _confined(kind, way, control)
    except Exception as error:
        control.send(what_failed(error))
        os._exit(1)
    try:
        server.serve(ready)
    finally:
        os._exit(1)


def _packing(baseline, scratch_bytes):
    # type: (int, int) -> Callable[..., bytes]
    """What packs the limits of a worker, whose zygote has so much address space."""

    def pack(memory, file_size, cpu_seconds, threads=0):
        # type: (int, int, int, int) -> bytes
        return rlimits.pack(baseline + memory, max(file_size, scratch_bytes), cpu_seconds * 1_000_000_000, threads)

    return pack


def _confined(kind, way, control):
    # type: (Kind, Way, _socket.socket) -> tuple[zygote.Zygote, bytes]
    """A zygote that may serve, and what it says to that."""
    linux.prctl(kind.helper, linux.PR_SET_DUMPABLE, 1)  # until its own step: it writes to files of its own in /proc
    baseline = rlimits.address_space()
    layers = confine.confine_zygote(kind.helper, way.settings)
    way.put_in_place()
    pack = _packing(baseline, way.scratch_bytes)
    server = zygote.Zygote(kind.helper, way.filters, pack, control, kind.context, kind.threads, way.scratch_bytes)
    kind.helper.watch([])  # which brings it up to date
    gc.freeze()
    return server, frames.pack([field for layer in layers for field in _said(*layer)])


def _said(layer, active, detail):
    # type: (str, bool, str) -> tuple[bytes, bytes, bytes]
    return layer.encode(), b"1" if active else b"0", detail.encode()


def what_failed(error):
    # type: (Exception) -> bytes
    """The datagram that says so."""
    text = str(error) if hasattr(error, "step") else "%s: %s" % (type(error).__name__, error)
    return bytes([messages.FAILED_TO_START]) + text.encode("utf-8", "backslashreplace")


def place_descriptors(numbers):
    # type: (list[int]) -> None
    """Move control and lanes to the numbers forks.py keeps them at, out of the way of a worker's own."""
    safe = [moved_away(number) for number in numbers]
    for number, place in zip(safe, forks.KEPT):
        os.dup2(number, place, inheritable=False)
    for number in safe:
        os.close(number)


def moved_away(number):
    # type: (int) -> int
    """A duplicate numbered 32 or more."""
    return fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 32)


def _rename(helper, name):
    # type: (Helper, bytes) -> None
    """As the host's tools show this process."""
    linux.call(helper, "prctl", linux.PR_SET_NAME, name + b"\0", 0, 0, 0)
