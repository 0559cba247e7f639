"""Reaching for what is outside: files and the network."""

import ctypes
import os
import socket

from attempts_calls import checked, libc, raw

# ---- files ---


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
    return raw("statx", -100, facts["canary"].encode(), 0, 0xFFF, ctypes.create_string_buffer(256))


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
    return checked(libc.memfd_create(name, 0))


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


# ---- network ---


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
