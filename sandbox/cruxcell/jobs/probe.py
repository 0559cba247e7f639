"""Preflight's attempts: a worker, confined like any other, tries what must be refused."""

import os

from cruxcell.jobs.context import JobContext  # noqa: F401 - in type comments
from cruxcell.protocol import messages, records
from cruxcell.protocol.frames import frame

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

    from cruxcell.native import Helper  # noqa: F401 - in type comments


def _open_passwd():
    # type: () -> None
    os.close(os.open("/etc/passwd", os.O_RDONLY))


def _open_root():
    # type: () -> None
    os.close(os.open("/", os.O_RDONLY | os.O_DIRECTORY))


def _write_file():
    # type: () -> None
    os.close(os.open(os.path.dirname(os.__file__) + "/cruxbox-probe", os.O_WRONLY | os.O_CREAT, 0o600))


def _write_root():
    # type: () -> None
    os.mkdir("/cruxbox-probe")


def _change_permissions():
    # type: () -> None
    os.chmod(os.__file__, 0o644)


def _change_times():
    # type: () -> None
    os.utime(os.__file__)


def _hard_link():
    # type: () -> None
    os.link(os.__file__, "link")


def _special_file():
    # type: () -> None
    os.mkfifo("fifo")


def _run_what_it_wrote():
    # type: () -> None
    import mmap

    file = os.open("code", os.O_RDWR | os.O_CREAT, 0o700)
    try:
        os.write(file, bytes(4096))
        mmap.mmap(file, 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()
    finally:
        os.close(file)


def _read_environment():
    # type: () -> None
    os.close(os.open("/proc/self/environ", os.O_RDONLY))


def _socket():
    # type: () -> None
    import _socket

    _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM).close()


def _unix_socket():
    # type: () -> None
    import _socket

    _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM).close()


def _fork():
    # type: () -> None
    if os.fork() == 0:
        os._exit(0)


def _execute():
    # type: () -> None
    os.execv("/bin/true", ["true"])  # noqa: S606 - meant to be refused


def _kill_parent():
    # type: () -> None
    os.kill(os.getppid(), 0)


def _map_executable():
    # type: () -> None
    import mmap

    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC).close()


def _raise_limit():
    # type: () -> None
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))


def _stat():
    # type: () -> None
    os.stat("/")


def _memory_file():
    # type: () -> None
    os.close(os.memfd_create("probe"))


def _many_descriptors():
    # type: () -> None
    kept = []
    try:
        for _ in range(100):
            kept.append(os.dup(0))
    finally:
        for number in kept:
            os.close(number)


def _much_address_space():
    # type: () -> None
    import mmap

    reserve_nothing = 0x4000  # so that only the limit can refuse it, not the kernel's bookkeeping
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | reserve_nothing
    mmap.mmap(-1, 1 << 40, flags=flags, prot=0).close()


def _threads(most):
    # type: (int) -> None
    """More threads at a time than `most`."""
    import _thread

    wait = _thread.allocate_lock()
    wait.acquire()

    def stay():
        # type: () -> None
        wait.acquire()
        wait.release()

    try:
        for _ in range(most + 1):
            _thread.start_new_thread(stay, ())
    except RuntimeError as error:
        raise OSError(11, str(error)) from None
    finally:
        wait.release()


_SIGCHLD, _VM, _VFORK, _THREAD, _NEWUSER, _NEWNET = 17, 0x100, 0x4000, 0x3D0F00, 0x10000000, 0x40000000
_REFUSED_UNSEEN = (1, 38)  # EPERM, ENOSYS: any other errno is the kernel's own word on a call that reached it
_NUMBERS = {
    "x86_64": {"clone": 56, "clone3": 435, "unshare": 272},
    "aarch64": {"clone": 220, "clone3": 435, "unshare": 97},
}
# Raw calls: name -> (call, arguments).
RAW_ATTEMPTS = {
    "clone_a_process": ("clone", (_SIGCHLD, 0, 0, 0, 0)),
    "clone_as_vfork": ("clone", (_SIGCHLD | _VM | _VFORK, 0, 0, 0, 0)),
    "clone_a_thread_with_vfork": ("clone", (_THREAD | _VFORK, 0, 0, 0, 0)),
    "clone_into_a_user_namespace": ("clone", (_THREAD | _NEWUSER, 0, 0, 0, 0)),
    "clone_into_a_network": ("clone", (_THREAD | _NEWNET, 0, 0, 0, 0)),
    "clone3": ("clone3", (None, 0)),
    "unshare_a_user_namespace": ("unshare", (_NEWUSER,)),
}


def _raw(helper, name, arguments):
    # type: (Helper, str, tuple[int | None, ...]) -> None
    try:
        if helper.syscall(_NUMBERS[os.uname().machine][name], *arguments) == 0 and name.startswith("clone"):
            os._exit(0)
    except OSError as error:
        if error.errno in _REFUSED_UNSEEN:
            raise


# What is tried: name -> attempt that must end in OSError.
ATTEMPTS = {
    "open_passwd": _open_passwd,
    "open_root": _open_root,
    "write_file": _write_file,
    "write_root": _write_root,
    "change_permissions": _change_permissions,
    "change_times": _change_times,
    "hard_link": _hard_link,
    "special_file": _special_file,
    "run_what_it_wrote": _run_what_it_wrote,
    "read_environment": _read_environment,
    "tcp_socket": _socket,
    "unix_socket": _unix_socket,
    "fork": _fork,
    "exec": _execute,
    "kill_parent": _kill_parent,
    "map_executable": _map_executable,
    "raise_limit": _raise_limit,
    "stat": _stat,
    "memory_file": _memory_file,
    "many_descriptors": _many_descriptors,
    "much_address_space": _much_address_space,
}


# Where there is a scratch folder, the file tree holds nothing that must not be looked at.
IN_NO_SCRATCH_FOLDER = frozenset(["stat"])


def run_probe(context, fields):
    # type: (JobContext, list[bytes]) -> None
    """fields: how many threads the worker may have beside its first, and whether it has a scratch folder. One record:
    name and b"refused …" or b"ALLOWED" for each attempt."""
    attempts = []  # type: list[tuple[str, Callable[..., object], tuple[Any, ...]]]
    attempts += [(name, attempt, ()) for name, attempt in ATTEMPTS.items()]
    if fields[1] == b"1":
        attempts = [attempt for attempt in attempts if attempt[0] not in IN_NO_SCRATCH_FOLDER]
    attempts.append(("threads", _threads, (int(fields[0]),)))
    attempts += [(name, _raw, (context.helper, *raw)) for name, raw in RAW_ATTEMPTS.items()]
    context.send(records.plan(False, messages.DIRECT, []))
    record = []
    for name, attempt, arguments in attempts:
        try:
            attempt(*arguments)
        except OSError as error:
            result = "refused (errno %s)" % error.errno
        except ImportError as error:
            result = "not tried: %s" % error
        else:
            result = "ALLOWED"
        record += [name.encode(), result.encode()]
    context.send(frame(record))
