"""What a confined worker tries: each function does one forbidden (or, at the end, one ordinary) thing.

`facts` holds what the test prepared: canary (a readable file outside), folder (a writable folder outside), tcp, udp
(ports of sentinels), socket_path, abstract (unix sentinels), victim (a process number of the same user outside).
"""

import ctypes
import os
import socket
import sys
import threading
import time

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long

_NUMBERS = {
    "x86_64": {"bpf": 321, "keyctl": 250, "userfaultfd": 323, "perf_event_open": 298, "seccomp": 317, "statx": 332},
    "aarch64": {"bpf": 280, "keyctl": 219, "userfaultfd": 282, "perf_event_open": 241, "seccomp": 277, "statx": 291},
}[os.uname().machine]
_NUMBERS.update(io_uring_setup=425, pidfd_open=434, clone3=435, pidfd_getfd=438, openat2=437)


def outcome(name, facts):
    """Runs an attempt and says what it came to: "done" or its result, or the error's type and number."""
    try:
        return str(globals()[name](facts) or "done")
    except OSError as error:
        return f"OSError {error.errno}"
    except BaseException as error:
        return f"{type(error).__name__} {error}"


def _raw(name, *args):
    words = [ctypes.c_long(arg) if isinstance(arg, int) else arg for arg in args]
    return _checked(_libc.syscall(_NUMBERS[name], *words))


def _checked(result):
    if result == -1:
        raise OSError(ctypes.get_errno(), "refused")
    return result


# ---- files -----------------------------------------------------------------


def read_canary(facts):
    with open(facts["canary"]) as file:
        return file.read()


def write_canary(facts):
    with open(facts["canary"], "w") as file:
        file.write("spoilt")


def append_canary(facts):
    os.close(os.open(facts["canary"], os.O_RDONLY | os.O_APPEND))


def truncate_canary(facts):
    os.truncate(facts["canary"], 0)


def unlink_canary(facts):
    os.unlink(facts["canary"])


def rename_canary(facts):
    os.rename(facts["canary"], facts["canary"] + ".moved")


def chmod_canary(facts):
    os.chmod(facts["canary"], 0o777)


def utime_canary(facts):
    os.utime(facts["canary"], (1, 1))


def setxattr_canary(facts):
    os.setxattr(facts["canary"], "user.x", b"1")


def stat_canary(facts):
    return os.stat(facts["canary"]).st_size


def stat_nothing(facts):
    return os.stat(facts["canary"] + ".not-there").st_size


def lstat_canary(facts):
    return os.lstat(facts["canary"]).st_size


def access_canary(facts):
    return "readable" if os.access(facts["canary"], os.R_OK) else "not readable"


def readlink_root(facts):
    return os.readlink("/proc/self/exe")


def statx_canary(facts):
    return _raw("statx", -100, facts["canary"].encode(), 0, 0xFFF, ctypes.create_string_buffer(256))


def create_file(facts):
    os.close(os.open(os.path.join(facts["folder"], "planted"), os.O_CREAT | os.O_WRONLY))


def create_in_cwd(facts):
    os.close(os.open("planted", os.O_CREAT | os.O_WRONLY))


def create_in_shm(facts):
    os.close(os.open("/dev/shm/planted", os.O_CREAT | os.O_WRONLY))


def make_folder(facts):
    os.mkdir(os.path.join(facts["folder"], "planted"))


def make_link(facts):
    os.symlink("/", os.path.join(facts["folder"], "planted"))


def make_hard_link(facts):
    os.link(facts["canary"], os.path.join(facts["folder"], "planted"))


def make_fifo(facts):
    os.mkfifo(os.path.join(facts["folder"], "planted"))


def unnamed_file(facts):
    os.close(os.open(facts["folder"], os.O_TMPFILE | os.O_RDWR))


def memory_file(facts):
    name = ctypes.create_string_buffer(b"x")
    return _checked(_libc.memfd_create(name, 0))


def list_root(facts):
    return ",".join(os.listdir("/"))


def read_own_environ(facts):
    with open("/proc/self/environ", "rb") as file:
        return file.read()


def read_victim_environ(facts):
    with open("/proc/{victim}/environ".format(**facts), "rb") as file:
        return file.read()


def own_memory(facts):
    os.close(os.open("/proc/self/mem", os.O_RDONLY))


def reopen_stdout(facts):
    os.close(os.open("/proc/self/fd/1", os.O_RDONLY))


def reopen_report(facts):
    os.close(os.open("/proc/self/fd/4", os.O_RDONLY))


def path_handle(facts):
    os.close(os.open(facts["canary"], os.O_PATH))


def dots(facts):
    os.close(os.open(os.path.dirname(os.__file__) + "/../../../../../../../.." + facts["canary"], os.O_RDONLY))


def device(facts):
    os.close(os.open("/dev/zero", os.O_RDONLY))


def change_folder(facts):
    os.chdir("/")


# ---- network ---------------------------------------------------------------


def tcp(facts):
    socket.create_connection(("127.0.0.1", facts["tcp"]), 1).close()


def udp(facts):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"hello", ("127.0.0.1", facts["udp"]))


def unix_path(facts):
    socket.socket(socket.AF_UNIX).connect(facts["socket_path"])


def unix_abstract(facts):
    socket.socket(socket.AF_UNIX).connect("\0" + facts["abstract"])


def listen(facts):
    socket.create_server(("127.0.0.1", 0)).close()


def netlink(facts):
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close()


def alg(facts):
    socket.socket(socket.AF_ALG, socket.SOCK_SEQPACKET).close()


def raw_socket(facts):
    socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close()


def socket_pair(facts):
    socket.socketpair()


# ---- processes -------------------------------------------------------------


def fork(facts):
    if os.fork() == 0:
        os._exit(0)


def thread(facts):
    threading.Thread(target=int).start()


def execute(facts):
    os.execv("/bin/true", ["true"])


def spawn(facts):
    os.posix_spawn("/bin/true", ["true"], {})


def pipe(facts):
    os.pipe()


def signal_victim(facts):
    os.kill(facts["victim"], 9)


def signal_parent(facts):
    os.kill(os.getppid(), 9)


def signal_all(facts):
    os.kill(-1, 0)


def signal_group(facts):
    os.killpg(0, 0)


def stop_itself(facts):
    os.kill(os.getpid(), 19)


def renice_victim(facts):
    os.setpriority(os.PRIO_PROCESS, facts["victim"], 10)


def pin_victim(facts):
    os.sched_setaffinity(facts["victim"], {0})


def limit_victim(facts):
    import resource

    resource.prlimit(facts["victim"], resource.RLIMIT_NOFILE, (3, 3))


def lift_own_limits(facts):
    import resource

    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))


def trace_victim(facts):
    _checked(_libc.ptrace(16, facts["victim"], 0, 0))


def write_victim(facts):
    _checked(_libc.process_vm_writev(facts["victim"], None, 0, None, 0, 0))


def victim_handle(facts):
    _raw("pidfd_open", facts["victim"], 0)


def victim_descriptor(facts):
    _raw("pidfd_getfd", 0, 0, 0)


def become_root(facts):
    os.setuid(0)


def groups(facts):
    os.setgroups([0])


def new_session(facts):
    os.setsid()


def dumpable(facts):
    _checked(_libc.prctl(4, 1, 0, 0, 0))


def no_death_signal(facts):
    _checked(_libc.prctl(1, 0, 0, 0, 0))


def new_namespace(facts):
    _checked(_libc.unshare(0x10000000))


def enter_namespace(facts):
    _checked(_libc.setns(0, 0))


def mount(facts):
    _checked(_libc.mount(b"x", b"/", b"tmpfs", 0, None))


def change_root(facts):
    os.chroot("/")


# ---- the kernel's surface --------------------------------------------------


def io_uring(facts):
    _raw("io_uring_setup", 1, 0)


def bpf(facts):
    _raw("bpf", 0, 0, 0)


def keyring(facts):
    _raw("keyctl", 0, 0, 0)


def userfault(facts):
    _raw("userfaultfd", 0)


def perf(facts):
    _raw("perf_event_open", 0, 0, -1, -1, 0)


def own_filter(facts):
    _raw("seccomp", 1, 0, 0)


def new_clone(facts):
    _raw("clone3", 0, 0)


def new_open(facts):
    _raw("openat2", -100, 0, 0, 0)


def executable_memory(facts):
    import mmap

    mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()


def make_executable(facts):
    page = ctypes.create_string_buffer(8192)
    start = (ctypes.addressof(page) + 4095) & ~4095
    _checked(_libc.mprotect(ctypes.c_void_p(start), 4096, 7))


def persona(facts):
    _checked(_libc.personality(0x0400000))


def shared_memory(facts):
    _checked(_libc.shmget(0, 4096, 0o1600))


def message_queue(facts):
    _checked(_libc.msgget(0, 0o1600))


def terminal_input(facts):
    import fcntl

    fcntl.ioctl(1, 0x5412, b"x")


def timer(facts):
    import signal

    signal.setitimer(signal.ITIMER_REAL, 1000)


def victim_clock(facts):
    return time.clock_gettime((~facts["victim"] << 3) | 2)


# ---- what must work --------------------------------------------------------


def import_python_module(facts):
    import colorsys

    return colorsys.__name__


def import_extension_module(facts):
    sys.modules.pop("_decimal", None)
    import decimal

    return decimal.Decimal(1) + 1


def import_module_that_asks_the_system(facts):
    import uuid

    return uuid.__name__


def read_standard_library(facts):
    with open(os.__file__) as file:
        return bool(file.read())


def list_standard_library(facts):
    return "os.py" in os.listdir(os.path.dirname(os.__file__))


def sleep(facts):
    time.sleep(0.001)


def clocks(facts):
    return all(getattr(time, name)() > 0 for name in ("time", "monotonic", "perf_counter", "process_time"))


def lock(facts):
    return threading.Lock().acquire()


def random_bytes(facts):
    return len(os.urandom(8))


def handler(facts):
    import signal

    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def memory(facts):
    return len(bytearray(32 << 20))


def too_much_memory(facts):
    return len(bytearray(1 << 40))


def identity(facts):
    return f"{os.getuid()} {os.getgid()}"


def descriptors(facts):
    return ",".join(str(number) for number in range(64) if _is_open(number))


def _is_open(number):
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def environment(facts):
    return repr(dict(os.environ))
