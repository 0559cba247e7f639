"""Scratch folders: what programs do with them, what they cannot do with them, and that nothing is left of them."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import pyseccomp
import pytest
from behaviours import runtimes
from cruxbox import Assurance, CallCheck, Client, Outcome, RunCheck, ScriptCheck, StdioCheck, Task
from scratch_folders import LIMITS, MIB, has_scratch, run

__all__ = ["has_scratch"]  # a fixture that every test here uses

pytestmark = pytest.mark.kernel

SIZE = 32 * MIB  # of a folder, by default


ORDINARY = """
import glob, os, pathlib, shutil, sqlite3, sys, tempfile, zipfile
here = os.getcwd()
assert os.listdir(here) == [], os.listdir(here)
assert os.environ['HOME'] == os.environ['TMPDIR'] == tempfile.gettempdir() == here == os.path.expanduser('~')
with open('a.txt', 'w') as file:
    file.write('hello')
with open('a.txt', 'a+') as file:
    file.write(' world')
    file.seek(0)
    assert file.read() == 'hello world'
os.makedirs('d/e/f')
shutil.copy2('a.txt', 'd/e/b.txt')
shutil.copytree('d', 'copy')
os.rename('d/e/b.txt', 'c.txt')
os.replace('c.txt', 'd/c.txt')
os.symlink('a.txt', 'link')
assert pathlib.Path('link').resolve().name == 'a.txt' and os.readlink('link') == 'a.txt'
assert sorted(glob.glob('**/*.txt', recursive=True)) == ['a.txt', 'copy/e/b.txt', 'd/c.txt']
os.chmod('a.txt', 0o400)
os.utime('a.txt', (1, 2))
os.truncate('d/c.txt', 2)
about = os.stat('a.txt')
assert (about.st_mode & 0o777, about.st_mtime, about.st_size) == (0o400, 2, 11)
assert os.path.getsize('d/c.txt') == 2 and os.access('a.txt', os.R_OK) and not os.path.exists('/etc/passwd')
shutil.rmtree('d')
with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile() as named, tempfile.TemporaryFile() as other:
    for file in (named, other):
        file.write(b'x' * 100_000)
        file.flush()
        os.fsync(file.fileno())
    with zipfile.ZipFile(folder + '/z.zip', 'w') as archive:
        archive.write(named.name, 'n')
    assert zipfile.ZipFile(folder + '/z.zip').read('n') == b'x' * 100_000
assert not os.path.exists(folder)
os.chdir('copy')
print(os.path.relpath(here), sys.version_info[0])
"""


@pytest.mark.parametrize("runtime", runtimes())
def test_what_programs_do_with_files(native: Client, runtime: str):
    verdict = run(native, ORDINARY, runtime=runtime)
    assert (verdict.exit_code, verdict.stdout) == (0, ".. 3\n"), verdict


def test_every_kind_of_check_may_write(native: Client):
    program = "def f(n):\n    with open('x', 'w') as file: file.write('y' * n)\n    return len(open('x').read())\n"
    script = "import tempfile\nwith tempfile.TemporaryFile() as file:\n    file.write(b'1')\nassert candidate(3) == 3"
    suite = "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        open('t', 'w').close(); f(4)\n"
    checks = [
        CallCheck("f(4)", "4", id="call"),
        ScriptCheck(script, "f", id="script"),
        ScriptCheck(suite, framework="unittest", id="suite"),
    ]
    verdicts = native.check([Task(program, checks), Task(program + "print(f(2))", [StdioCheck("", "2")])])
    assert [verdict.outcome for verdict in verdicts] == [Outcome.PASSED] * 4, verdicts
    assert all(verdict.assurance is Assurance.SEPARATED for verdict in verdicts)


def test_threads_write_too(native: Client):
    program = """
    import tempfile, threading
    def work(n):
        with open('t%d' % n, 'w') as file: file.write('x' * n)
    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    print(sum(len(open('t%d' % n).read()) for n in range(8)))
    """
    assert run(native, program).stdout == "28\n"


# ---- its bounds ----------------------------------------------------------------------------------------------------

FULL = """
import os
try:
    with open('big', 'wb') as file:
        for _ in range(10_000):
            file.write(bytes(1 << 20))
except OSError as error:
    print(error.errno, os.path.getsize('big') >> 20)
"""
FULL_OF_SMALL = """
import os
{how}
count = 0
try:
    while True:
        make(count)
        count += 1
except OSError as error:
    print(error.errno, count)
"""
DEEP = """
import os
deep = 0
try:
    while True:
        os.mkdir('d'); os.chdir('d'); deep += 1
except OSError as error:
    os.chmod('.', 0)
    print(error.errno, deep)
"""


def test_ten_gigabytes_end_cleanly(native: Client):
    assert run(native, FULL).stdout.split()[0] in {"27", "28"}
    verdict = run(native, "open('big', 'wb').truncate(10 << 30)")
    assert verdict.exception is not None
    assert "[Errno 27]" in verdict.exception.message
    two = "open('a', 'wb').write(bytes(20 << 20))\nopen('b', 'wb').write(bytes(20 << 20))"
    verdict = run(native, two)
    assert (verdict.outcome, verdict.exit_code) == (Outcome.EXECUTED, 1)
    assert verdict.exception is not None
    assert "[Errno 28]" in verdict.exception.message
    assert "scratch folder is full" in verdict.detail
    stdio = native.check([Task(two, [StdioCheck("", "x")], limits=LIMITS)])[0]
    assert (stdio.outcome, stdio.passed) == (Outcome.RAISED, False)
    assert "scratch folder is full" in stdio.detail


def test_a_hole_that_is_touched_ends_the_candidate(native: Client):
    program = """
    import mmap
    for n in range(2):
        file = open('sparse%d' % n, 'w+b')
        file.truncate(30 << 20)
        memory = mmap.mmap(file.fileno(), 0)
        for at in range(0, 30 << 20, 4096): memory[at] = 1
    """
    verdict = run(native, program)
    assert (verdict.outcome, verdict.detail) == (Outcome.CRASHED, "ended by SIGBUS")


@pytest.mark.parametrize(
    "how",
    [
        "def make(n): open('f%d' % n, 'w').close()",
        "def make(n): os.mkdir('x' * 250 + '%d' % n)",
        "def make(n): os.symlink('x' * 4000, 'l%d' % n)",
    ],
    ids=["files", "folders", "links"],
)
def test_the_number_of_files_is_bounded(native: Client, how: str):
    errno, count = run(native, FULL_OF_SMALL.format(how=how)).stdout.split()
    assert errno == "28"
    assert int(count) <= 4096


def test_deep_folders_are_no_trouble(native: Client):
    errno, deep = run(native, DEEP).stdout.split()
    assert errno == "28"
    assert 1000 < int(deep) <= 4096


# ---- alone in it ---------------------------------------------------------------------------------------------------

LEAVE = "import os\nos.makedirs('d/e'); open('d/e/f', 'w').write('mine'); os.chmod('d', 0); os.chmod('.', 0)\n"
LOOK = "import os\nprint(os.listdir('.'), oct(os.stat('.').st_mode & 0o777))\nopen('again', 'w').close()\n"


def test_nothing_is_left_for_the_next(native: Client):
    for _ in range(3):
        verdicts = native.check([Task(LEAVE, [RunCheck()]), *[Task(LOOK, [RunCheck()], id=str(n)) for n in range(6)]])
        assert verdicts[0].exit_code == 0
        assert {verdict.stdout for verdict in verdicts[1:]} == {"[] 0o700\n"}, verdicts


def test_the_halves_of_a_script_have_folders_of_their_own(native: Client):
    program = "import os\ndef f():\n    open('candidate', 'w').close()\n    return os.listdir('.')"
    script = "import os\nopen('secret', 'w').write('7')\nassert f() == ['candidate']\n"
    script += "assert sorted(os.listdir('.')) == ['candidate', 'secret'], os.listdir('.')"
    verdict = native.check([Task(program, [ScriptCheck(script)])])[0]
    assert verdict.outcome is Outcome.PASSED, verdict


def test_no_mount_is_left(native: Client):
    def namespaces() -> int:
        """Of what this process has started, and of orphans: daemons of tests beside it start zygotes, too."""
        found = set()
        for process in [*psutil.Process().children(recursive=True), *psutil.Process(1).children()]:
            with suppress(OSError):
                found.add(os.readlink(f"/proc/{process.pid}/ns/mnt"))
        return len(found)

    run(native, LEAVE)
    before = namespaces()
    native.check([Task(LEAVE, [RunCheck()], id=str(n)) for n in range(20)])
    assert namespaces() <= before + 2  # zygotes of this kind may have been started meanwhile


# ---- no way out of it ----------------------------------------------------------------------------------------------

# Each must raise OSError (or ValueError); run as the program of a RunCheck.
ESCAPES = {
    "runtime written": "open(os.__file__, 'a')",
    "runtime appended by the kernel's flags": "os.open(os.__file__, os.O_RDONLY | os.O_TRUNC)",
    "runtime's permissions": "os.chmod(os.__file__, 0o777)",
    "runtime's times": "os.utime(os.__file__)",
    "runtime's folder": "os.mkdir(os.path.dirname(os.__file__) + '/new')",
    "runtime removed": "os.unlink(os.__file__)",
    "runtime renamed into": "os.rename(os.__file__, 'os.py')",
    "runtime linked": "os.link(os.__file__, 'os.py')",
    "own file moved out": "open('x', 'w').close(); os.rename('x', os.path.dirname(os.__file__) + '/x.py')",
    "root": "os.mkdir('/new')",
    "root listed": "os.listdir('/')",
    "above the folder": "open('../x', 'w')",
    "folder replaced": "os.rename('../work', '../other')",
    "folder removed": "os.rmdir('../work')",
    "symlink to a secret": "os.symlink('@{secret}', 'l'); open('l').read()",
    "symlink for writing": "os.symlink(os.__file__, 'l'); open('l', 'w')",
    "symlink upwards": "os.symlink('../../../../../..', 'l'); open('l/etc/passwd').read()",
    "hard link": "os.link('/etc/passwd', 'p')",
    "hard link within": "open('x', 'w').close(); os.link('x', 'y')",
    "fifo": "os.mkfifo('f')",
    "device": "os.mknod('d', 0o20666, os.makedev(1, 3))",
    "plain mknod": "os.mknod('n')",
    "unix socket": "import socket; socket.socket(socket.AF_UNIX).bind('s')",
    "xattr": "open('x', 'w').close(); os.setxattr('x', 'user.a', b'b')",
    "memfd": "os.memfd_create('x')",
    "O_TMPFILE": "os.open('.', os.O_TMPFILE | os.O_RDWR)",
    "O_PATH": "os.open('.', os.O_PATH)",
    "flock": "import fcntl; fcntl.flock(os.open(os.__file__, 0), fcntl.LOCK_SH)",
    "lock of an open file": "import fcntl; fcntl.fcntl(os.open('x', 66), 37, bytes(32))",
    "owner of an open file": "import fcntl; fcntl.fcntl(os.open('x', 66), fcntl.F_SETOWN, 1)",
    "fchmod of a standard stream": "os.fchmod(1, 0o777)",
    "times of a standard stream": "os.utime(0)",
    "chroot": "os.chroot('.')",
    "mount": "kernel('mount', b'x', b'.', b'tmpfs', 0, 0)",
    "unshare": "kernel('unshare', 0x10000000)",
    "execution": "open('x', 'w').write('#!/bin/sh'); os.chmod('x', 0o777); os.execv('./x', ['x'])",
    "set-uid": "open('x', 'wb').write(b'x'); os.chmod('x', 0o4777); os.execv('./x', ['x'])",
    "machine code from a file": (
        "import mmap; f = open('x', 'w+b'); f.write(bytes(4096)); f.flush(); "
        "mmap.mmap(f.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)"
    ),
    "machine code by mprotect": (
        "import ctypes, mmap; f = open('x', 'w+b'); f.write(bytes(4096)); f.flush(); m = mmap.mmap(f.fileno(), 4096); "
        "kernel('mprotect', ctypes.addressof(ctypes.c_char.from_buffer(m)), 4096, 5)"
    ),
    "a library of its own": (
        "import _ctypes, shutil; shutil.copy(_ctypes.__file__, 'own.so'); import ctypes; ctypes.CDLL('./own.so')"
    ),
    "reopened descriptors": "open('/proc/self/fd/1', 'w')",
    "inotify": "kernel('inotify_init1', 0)",
    "handle": "kernel('name_to_handle_at', -100, b'.', bytes(200), bytes(8), 0)",
    "statfs of the host": "kernel('statfs', os.__file__.encode(), bytes(200))",
    "rename with whiteout": "open('x', 'w').close(); kernel('renameat2', -100, b'x', -100, b'y', 4)",
    "fallocate": "kernel('fallocate', os.open('x', 66), 0, 0, 1 << 40)",
}


def number_of(call: str) -> int:
    return int(pyseccomp.resolve_syscall(pyseccomp.system_arch(), call))


SETUP = """
import ctypes, os, tempfile
libc = ctypes.CDLL(None, use_errno=True)
def kernel(name, *arguments):
    if libc.syscall(@{numbers}[name], *arguments) < 0:
        raise OSError(ctypes.get_errno(), 'refused')
"""
CALLED = re.findall(r"kernel\('(\w+)'", " ".join(ESCAPES.values()))
SETUP = SETUP.replace("@{numbers}", repr({call: number_of(call) for call in CALLED}))


def test_sqlite_has_databases_in_files(native: Client):
    """It locks them; nobody else has them, so there is nothing to be locked."""
    program = """
import fcntl, os, sqlite3
for mode in ("delete", "truncate", "persist", "memory", "wal"):
    one, other = sqlite3.connect(mode), sqlite3.connect(mode)
    one.execute(f"PRAGMA journal_mode={mode}")
    one.execute("CREATE TABLE t(a)")
    with one:
        one.executemany("INSERT INTO t VALUES (?)", [(n,) for n in range(3)])
    assert other.execute("SELECT sum(a) FROM t").fetchone() == (3,)
    print(mode)
    one.close(), other.close()
with open("x", "w") as file:
    fcntl.lockf(file, fcntl.LOCK_EX)
"""
    [verdict] = native.check([Task(program, [RunCheck()], limits=LIMITS)])
    assert verdict.stdout.split() == ["delete", "truncate", "persist", "memory", "wal"], verdict


def test_a_record_lock_is_not_taken(native: Client):
    """Of a file that other processes have, too."""
    program = (
        "import fcntl, os, time\nopen('x', 'w')\nfcntl.lockf(os.open(os.__file__, 0), fcntl.LOCK_SH)\ntime.sleep(0.3)"
    )
    task = Task(program, [RunCheck()], limits=LIMITS)
    with ThreadPoolExecutor() as pool:
        checked, seen = pool.submit(native.check, [task]), set()
        while not checked.done():
            seen.add(f":{os.stat(os.__file__).st_ino} " in Path("/proc/locks").read_text())
    assert (checked.result()[0].exit_code, seen) == (0, {False})


def test_there_is_no_way_out(native: Client, tmp_path: Path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    tmp_path.chmod(0o755)
    tasks = []
    for name, attempt in ESCAPES.items():
        program = f"try:\n    {attempt}\nexcept OSError as error:\n    print('refused', error.errno)\n"
        program += "else:\n    print('out')\n"
        tasks.append(Task(SETUP + program.replace("@{secret}", str(secret)), [RunCheck()], id=name, limits=LIMITS))
    said = {verdict.task_id: verdict for verdict in native.check(tasks)}
    allowed = {name for name, verdict in said.items() if not verdict.stdout.startswith("refused")}
    assert {name for name in allowed if said[name].outcome is not Outcome.VIOLATION} == set(), [
        (name, said[name]) for name in sorted(allowed)
    ]
    assert allowed == {"mount"}  # answered with death


# ---- without one ---------------------------------------------------------------------------------------------------


def test_without_a_folder_files_are_refused_and_programs_run(tmp_path: Path):
    with Client(server_args=["--scratch-mib", "0"]) as client:
        verdicts = client.check(
            [
                Task("x = 1", [RunCheck(files={"a": b""})]),
                Task("import os\nprint(os.path.exists(os.__file__))", [StdioCheck("", "True")]),
                Task("open('x', 'w')", [RunCheck()]),
            ]
        )
    assert verdicts[0].outcome is Outcome.INVALID
    assert "files need a scratch folder" in verdicts[0].detail
    assert "--scratch-mib 0" in verdicts[0].detail
    assert verdicts[1].passed
    assert verdicts[2].exception is not None
    assert verdicts[2].exception.type == "PermissionError"
    assert "policy" in verdicts[2].detail
