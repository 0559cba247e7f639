"""Scratch folders: filled in every way, left in every state, and every way out of them that we know of.

Where the host gives none, the attempts are refused one step earlier; what is allowed is the same.
"""

from __future__ import annotations

from conformance.case import Case, attempts, call, calls, case, stdio

REFUSED = "PFV"
PATIENT = {"cpu_ms": 5_000, "wall_ms": 20_000}
SETUP = """
import ctypes, mmap, os, tempfile
libc = ctypes.CDLL(None, use_errno=True)
def raw(number, *arguments):
    if libc.syscall(number, *arguments) < 0: raise OSError(ctypes.get_errno(), 'refused')
def own(name='x', content=b'x' * 4096, mode='wb'):
    with open(name, mode) as file: file.write(content)
    return name
RUNTIME = os.__file__
"""
FULL = """
import os
def f(how):
    try:
        {how}
    except OSError as error:
        return 'held' if error.errno in (1, 13, 24, 27, 28, 30) else 'errno %d' % error.errno
    return 'breach' + 'ed'
"""
WAYS_TO_FILL = (
    "[open('f%d' % n, 'wb').write(bytes(1 << 20)) for n in range(10_000)]",
    "open('big', 'wb').truncate(10 << 30)",
    "file = open('big', 'wb'); [file.write(bytes(1 << 20)) for _ in range(10_000)]",
    "file = open('big', 'wb'); file.seek(10 << 30); file.write(b'x'); file.flush()",
    "[open('f%d' % n, 'w').close() for n in range(10**5)]",
    "[(os.mkdir('d'), os.chdir('d')) for _ in range(10**5)]",
    "[os.symlink('x' * 4000, 'l%d' % n) for n in range(10**5)]",
    "kept = []\n        for n in range(10**5):\n            open('f', 'wb').write(bytes(1 << 20))\n"
    "            kept.append(open('f', 'rb')); os.unlink('f')",
)
LEAVES = """
import os
def f(leave):
    if leave:
        try:
            os.makedirs('d/e/f')
            open('d/e/f/left', 'w').write('left')
            os.symlink('d', 'l')
            for name in ('d/e', 'd', '.'): os.chmod(name, 0)
        except OSError:
            pass
        return 'held'
    try:
        found = os.listdir('.')
    except OSError:
        found = []
    return 'breach' + 'ed %s' % found if found else 'held'
"""
LEAVES_THREADS = """
import os, threading, time
def stay(n):
    try:
        file = open('thread%d' % n, 'wb')
        while True: file.write(bytes(4096)); file.seek(0); time.sleep(0)
    except OSError:
        time.sleep(30)
def f():
    for n in range(4): threading.Thread(target=stay, args=(n,), daemon=True).start()
    time.sleep(0.05)
    return 'held'
"""

CASES: list[Case] = [
    *[
        case(
            f"fill-{number}",
            f"fills its folder: {how.splitlines()[0][:60]}",
            call("P", FULL.replace("{how}", how), "f(0)", **PATIENT),
        )
        for number, how in enumerate(WAYS_TO_FILL, 1)
    ],
    case(
        "sparse-mapping",
        "maps a hole of its folder's size and fills it",
        stdio(
            "FC",
            """
            import mmap
            for n in range(2):
                file = open('s%d' % n, 'w+b'); file.truncate(30 << 20)
                memory = mmap.mmap(file.fileno(), 0)
                for at in range(0, 30 << 20, 4096): memory[at] = 1
            """,
            "x",
            **PATIENT,
        ),
    ),
    case(
        "leaves-everything",
        "files, links and permissions that the next must not find",
        calls(LEAVES, *[("f(1)", "'held'", "P"), ("f(0)", "'held'", "P")] * 4, alone=True),
    ),
    case("leaves-threads", "threads that write on", call("PF", LEAVES_THREADS, **PATIENT)),
    case(
        "other-files",
        "the runtime's files, the root, what is above",
        attempts(
            REFUSED,
            SETUP,
            "open(RUNTIME, 'a')",
            "os.open(RUNTIME, os.O_RDONLY | os.O_TRUNC)",
            "os.open(RUNTIME, os.O_RDWR)",
            "os.chmod(RUNTIME, 0o777)",
            "os.chmod(os.path.dirname(RUNTIME), 0o777)",
            "os.utime(RUNTIME)",
            "os.truncate(RUNTIME, 0)",
            "os.unlink(RUNTIME)",
            "os.mkdir(os.path.dirname(RUNTIME) + '/new')",
            "os.rename(RUNTIME, 'os.py')",
            "os.rename(own(), os.path.dirname(RUNTIME) + '/x.py')",
            "os.rename(os.getcwd(), '/elsewhere')",
            "own('/new')",
            "own('../new')",
            "os.rmdir(os.getcwd())",
            "os.listdir('/')",
            "os.chmod('/', 0o777)",
            "open('@{bystander}', 'a').write('x')",
            "os.chmod('@{bystander}', 0o600)",
            "os.utime('@{bystander}')",
            "os.chdir('@{world}')",
        ),
    ),
    case(
        "links-outwards",
        "symbolic and hard links, and names upwards",
        attempts(
            REFUSED,
            SETUP,
            "os.symlink('@{secret_file}', 'l'); open('l').read()",
            "os.symlink('/etc', 'l'); os.listdir('l')",
            "os.symlink(RUNTIME, 'l'); open('l', 'a')",
            "os.symlink('../' * 9, 'l'); open('l/etc/passwd').read()",
            "os.symlink('/proc/self/fd/1', 'l'); open('l', 'w')",
            "os.link(RUNTIME, 'h')",
            "os.link('@{secret_file}', 'h')",
            "os.link(own(), 'h')",
            "raw(265, -100, b'x', -100, b'h', 0x400)",
            "raw(316, -100, own().encode(), -100, b'y', 4)",
        ),
    ),
    case(
        "special-files",
        "devices, pipes, sockets, attributes, locks, watches",
        attempts(
            REFUSED,
            SETUP,
            "os.mkfifo('f')",
            "os.mknod('d', 0o20666, os.makedev(1, 5))",
            "os.mknod('d', 0o60666, os.makedev(8, 0))",
            "os.mknod('s', 0o140666)",
            "import socket; socket.socket(socket.AF_UNIX).bind('s')",
            "os.setxattr(own(), 'user.x', b'y')",
            "os.setxattr(own(), 'security.capability', b'y' * 20)",
            "os.chown(own(), 0, 0)",
            "os.memfd_create('m')",
            "os.open('.', os.O_TMPFILE | os.O_RDWR)",
            "os.open('.', os.O_PATH)",
            "import fcntl; fcntl.flock(os.open(RUNTIME, 0), fcntl.LOCK_EX)",
            "import fcntl; fcntl.fcntl(os.open(RUNTIME, 0), 37, bytes(32))",
            "import fcntl; fcntl.fcntl(os.open(own(), 0), fcntl.F_SETLEASE, fcntl.F_RDLCK)",
            "import fcntl; fcntl.ioctl(os.open(own(), 0), 0x40086602, bytes(8))",
            "raw(294, 0)",
            "raw(303, -100, own().encode(), bytes(200), bytes(8), 0)",
            "raw(285, os.open(own(), 1), 0, 0, 1 << 40)",
            "raw(326, os.open(RUNTIME, 0), None, os.open(own(), 1), None, 100, 0)",
            "os.fchmod(1, 0o777)",
            "os.utime(1)",
        ),
    ),
    case(
        "run-what-it-wrote",
        "machine code, libraries, programs and set-uid files of its own",
        attempts(
            REFUSED,
            SETUP,
            "os.chmod(own(content=b'#!/bin/sh'), 0o777); os.execv('./x', ['x'])",
            "os.chmod(own(), 0o6777); os.execv('./x', ['x'])",
            "mmap.mmap(os.open(own(), 2), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)",
            "mmap.mmap(os.open(own(), 2), 4096, mmap.MAP_SHARED, mmap.PROT_WRITE | mmap.PROT_EXEC)",
            "mmap.mmap(os.open(own(), 0), 4096, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_EXEC)",
            """
            memory = mmap.mmap(os.open(own(), 2), 4096)
            raw(10, ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory))), 4096, 5)
            """,
            "import _ctypes, shutil; shutil.copy(_ctypes.__file__, 'own.so'); ctypes.CDLL('./own.so')",
        ),
    ),
    case(
        "mounts",
        "mounts, namespaces and roots from inside",
        attempts(
            REFUSED,
            SETUP,
            "os.chroot('.')",
            "raw(272, 0x20000)",
            "raw(272, 0x10000000)",
            "raw(165, b't', b'.', b'tmpfs', 0, 0)",
            "raw(166, b'.', 2)",
            "raw(430, b'tmpfs', 0)",
            "raw(429, 0, b'', -100, b'.', 4)",
            "raw(442, -100, b'.', 0, bytes(32), 32)",
            "os.statvfs('.')",
        ),
    ),
]
