"""System calls and confinement, in both twins on every interpreter, against the real kernel."""

from __future__ import annotations

import subprocess
import textwrap
from pathlib import Path

import pytest
from interpreters import SANDBOX, Twin, helper, twins

every_twin = pytest.mark.parametrize("twin", twins(), ids=str)
every_native = pytest.mark.parametrize("twin", [twin for twin in twins() if twin.name == "native"], ids=str)

# What the programs below use: numbers of system calls, a filter that answers one call with EPERM, and packed limits.
TOOLS = """
import errno, json, os, resource, signal, struct
X86 = os.uname().machine == "x86_64"
GETPID, WRITE, GETPPID, PRCTL = (39, 1, 110, 157) if X86 else (172, 64, 173, 167)
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM

def instruction(code, value, yes=0, no=0):
    return struct.pack("<HBBI", code, yes, no, value)

def refusing(number, argument=None):
    '''Refuses this system call, or only with this first argument; allows all others.'''
    asked = [] if argument is None else [instruction(LOAD, 16), instruction(EQUAL, argument, 0, 1)]
    body = asked + [instruction(RETURN, REFUSE)]
    return b"".join([
        instruction(LOAD, 0), instruction(EQUAL, number, 0, len(body)), *body, instruction(RETURN, ALLOW)])

def limits(*rows):
    return b"".join(struct.pack("<IIQQ", *row) for row in rows)

def in_child(function):
    '''What the function returns in a forked process, through JSON; or how that process ended.'''
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            answer = function()
        except OSError as error:
            answer = [errno.errorcode[error.errno], error.strerror]
        os.write(writing, json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        text = pipe.read()
    status = os.waitpid(pid, 0)[1]
    return json.loads(text) if text else {"status": status}
"""


def ask(twin: Twin, program: str) -> object:
    return twin.ask(TOOLS + textwrap.dedent(program))


# ---- fork_beside -----------------------------------------------------------------------------------------------------


@every_twin
def test_a_process_that_is_forked_beside_is_a_child_of_the_parent(twin: Twin):
    """Functions that are registered for a fork are called, threads can be started, and it can fork as well."""
    found = ask(
        twin,
        """
        import threading
        called = []
        os.register_at_fork(before=lambda: called.append("before"), after_in_child=lambda: called.append("child"),
                            after_in_parent=lambda: called.append("parent"))
        first = os.getpid()

        def beside():
            del called[:]
            reading, writing = os.pipe()
            pid = k.fork_beside()
            if pid == 0:
                thread = threading.Thread(target=called.append, args=["thread"])
                thread.start()
                thread.join()
                heard = list(called)
                below = in_child(os.getppid) == os.getpid()
                facts = [os.getppid() == first, heard, below, threading.main_thread().is_alive()]
                os.write(writing, json.dumps(facts).encode())
                os._exit(7)
            os.close(writing)
            with open(reading, "rb") as pipe:
                return [pid, json.loads(pipe.read()), called]

        pid, in_it, in_parent = in_child(beside)
        print(json.dumps([in_it, in_parent, os.WEXITSTATUS(os.waitpid(pid, 0)[1])]))
        """,
    )
    assert found == [[True, ["before", "child", "thread"], True, True], ["before", "parent"], 7]


# ---- syscall ---------------------------------------------------------------------------------------------------------


@every_twin
def test_syscall_passes_numbers_and_buffers(twin: Twin) -> None:
    pid, written, text, filled, zero = ask(  # type: ignore[misc]
        twin,
        """
        reading, writing = os.pipe()
        written = k.syscall(WRITE, writing, b"a\\0b", 3)
        READ, GETCWD = (0, 79) if X86 else (63, 17)
        space = bytearray(8)
        k.syscall(READ, reading, space, len(space))
        os.chdir("/tmp")
        folder = bytearray(64)
        k.syscall(GETCWD, folder, len(folder))
        none = k.syscall(PRCTL, 3, None, None, None, None) # PR_GET_DUMPABLE
        print(json.dumps([
            k.syscall(GETPID) == os.getpid(), written, list(space[:4]), folder.rstrip(b"\\0").decode(), none]))
        """,
    )
    assert (pid, written, text, filled, zero) == (True, 3, [97, 0, 98, 0], "/tmp", 1)


@every_twin
def test_syscall_raises_what_the_kernel_says(twin: Twin) -> None:
    assert ask(
        twin,
        """
        CLOSE = 3 if X86 else 57
        out = []
        for args in ((CLOSE, -1), (CLOSE, 2 ** 64 - 1), (WRITE, 1, None, 1), (9999,)):
            try:
                k.syscall(*args)
            except OSError as error:
                out.append([errno.errorcode[error.errno], error.strerror == os.strerror(error.errno)])
        print(json.dumps(out))
        """,
    ) == [["EBADF", True], ["EBADF", True], ["EFAULT", True], ["ENOSYS", True]]


@every_twin
def test_syscall_refuses_other_types(twin: Twin) -> None:
    assert (
        ask(
            twin,
            """
        out = []
        for args in ((), ("39",), (GETPID, 1.5), (GETPID, "text"), (GETPID, 1, 2, 3, 4, 5, 6, 7)):
            try:
                k.syscall(*args)
            except TypeError as error:
                out.append(True)
        print(json.dumps(out))
        """,
        )
        == [True] * 5
    )


# ---- enter -----------------------------------------------------------------------------------------------------------


@every_twin
@pytest.mark.kernel
def test_enter_does_all_of_it(twin: Twin) -> None:
    facts = ask(
        twin,
        """
        parent = os.getpid()
        def confined():
            signal_number = bytearray(4)
            k.enter(limits((resource.RLIMIT_CORE, 0, 0, 0), (resource.RLIMIT_NOFILE, 0, 30, 31)),
                    refusing(GETPPID), parent)
            k.syscall(PRCTL, 2, signal_number, 0, 0, 0)
            try:
                k.syscall(GETPPID)
                refused = "not refused"
            except OSError as error:
                refused = errno.errorcode[error.errno]
            return {
                "refused": refused,
                "pdeathsig": signal_number[0],
                "dumpable": k.syscall(PRCTL, 3, 0, 0, 0, 0),
                "no_new_privs": k.syscall(PRCTL, 39, 0, 0, 0, 0),
                "seccomp": k.syscall(PRCTL, 21, 0, 0, 0, 0),
                "core": resource.getrlimit(resource.RLIMIT_CORE),
                "nofile": resource.getrlimit(resource.RLIMIT_NOFILE),
            }
        print(json.dumps(in_child(confined)))
        """,
    )
    assert facts == {
        "refused": "EPERM",
        "pdeathsig": 9,
        "dumpable": 0,
        "no_new_privs": 1,
        "seccomp": 2,
        "core": [0, 0],
        "nofile": [30, 31],
    }


# Each step that fails: how, and what is said.
FAILURES = {
    "another parent": ("k.enter(b'', refusing(GETPPID), 1 << 22)", ["ESRCH", "pdeathsig"]),
    "soft above hard": ("k.enter(limits((4, 0, 0, 0), (7, 0, 9, 3)), refusing(GETPPID), 0)", ["EINVAL", "setrlimit:7"]),
    "no such limit": ("k.enter(limits((99, 0, 0, 0)), refusing(GETPPID), 0)", ["EINVAL", "setrlimit:99"]),
    "pdeathsig refused": ("(k.enter(b'', refusing(PRCTL, 1), 0), k.enter(b'', OK, 0))", ["EPERM", "pdeathsig"]),
    "no_new_privs refused": ("(k.enter(b'', refusing(PRCTL, 38), 0), k.enter(b'', OK, 0))", ["EPERM", "no_new_privs"]),
    "dumpable refused": ("(k.enter(b'', refusing(PRCTL, 4), 0), k.enter(b'', OK, 0))", ["EPERM", "dumpable"]),
    "not a filter": ("k.enter(b'', b'\\xff' * 8, 0)", ["EINVAL", "seccomp"]),
    "a filter without an end": ("k.enter(b'', instruction(LOAD, 0), 0)", ["EINVAL", "seccomp"]),
}


@every_twin
@pytest.mark.kernel
@pytest.mark.parametrize("name", FAILURES)
def test_enter_names_the_step_that_failed(twin: Twin, name: str) -> None:
    call, said = FAILURES[name]
    assert ask(twin, f"OK = refusing(GETPPID)\nprint(json.dumps(in_child(lambda: {call})))") == said


@every_twin
@pytest.mark.kernel
def test_enter_refuses_what_cannot_be_meant(twin: Twin) -> None:
    """Above all an empty filter, which would leave the worker unfiltered; and nothing has happened by then."""
    assert ask(
        twin,
        """
        out = []
        before = k.syscall(PRCTL, 39, 0, 0, 0, 0)  # no_new_privs, which an ordinary user's run may have from outside
        ok = refusing(GETPPID)
        for rlimits, bpf in ((b"", b""), (b"", ok[:-1]), (b"", ok * 2000), (b"x", ok)):
            try:
                k.enter(rlimits, bpf, 0)
            except ValueError as error:
                out.append(str(error))
        out.append(k.syscall(PRCTL, 39, 0, 0, 0, 0) - before)
        print(json.dumps(out))
        """,
    ) == [
        "bpf has 0 bytes, not 1 to 4096 instructions of 8 bytes",
        "bpf has 31 bytes, not 1 to 4096 instructions of 8 bytes",
        "bpf has 64000 bytes, not 1 to 4096 instructions of 8 bytes",
        "rlimits has 1 bytes, not a whole number of 24-byte records",
        0,
    ]


@every_twin
@pytest.mark.kernel
def test_a_confined_process_dies_with_its_parent(twin: Twin) -> None:
    """The pipe that only the confined process holds reports its end: reading gives the end of file."""
    done = twin.start(
        TOOLS
        + textwrap.dedent("""
        reading, writing = os.pipe()
        middle = os.fork()
        if middle == 0:
            parent = os.getpid()
            if os.fork() == 0:
                k.enter(b"", refusing(GETPPID), parent)
                os.write(writing, b"confined")
                while True:
                    signal.pause()
            signal.pause()
        os.close(writing)
        assert os.read(reading, 8) == b"confined"
        os.kill(middle, signal.SIGKILL)
        assert os.read(reading, 1) == b""
        print("gone")
        """)
    )
    assert done.stdout == b"gone\n", done.stderr.decode()


# ---- the parent of a zygote ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("twin", [twin for twin in twins() if twin.version[1] in (8, 11, 13)], ids=str)
def test_a_parent_ends_as_its_child_and_holds_no_memory_meanwhile(twin: Twin) -> None:
    """By exit status and by signal, with a handler that would need the interpreter; and without a child at all."""
    *statuses, kib, refused = ask(  # type: ignore[misc]
        twin,
        """
        import time
        ballast = [bytes([number]) * 4000 for number in range(250)] * 2 + [bytearray(b"x" * 30_000_000)]
        for number in (signal.SIGINT, signal.SIGUSR1):
            signal.signal(number, lambda *_: None)

        def parent(end):
            '''A process whose child ends as it is told to once it may; and the end of a pipe that lets it.'''
            reading, writing = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(writing)
                child = os.fork()
                if child == 0:
                    os.read(reading, 1)
                    end()
                k.end_as(child)
            os.close(reading)
            return pid, writing

        def anonymous(pid):
            lines = open("/proc/%d/status" % pid).read().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

        def status(pid, writing):
            os.close(writing)
            return os.waitpid(pid, 0)[1]

        def die():
            if number != signal.SIGKILL:
                signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        pid, writing = parent(lambda: os._exit(7))
        deadline = time.monotonic() + 20
        while k.NAME == "native" and anonymous(pid) > 1024 and time.monotonic() < deadline:
            time.sleep(0.01)
        kib = anonymous(pid)
        statuses = [status(pid, writing)]
        for number in (signal.SIGKILL, signal.SIGINT, signal.SIGUSR1):
            statuses.append(status(*parent(die)))
        pid = os.fork()
        if pid == 0:
            k.end_as(1)
        statuses.append(os.waitpid(pid, 0)[1])
        try:
            k.end_as(0)
            refused = ""
        except ValueError as error:
            refused = str(error)
        print(json.dumps([*statuses, kib, refused]))
        """,
    )
    assert statuses == [7 << 8, 9, 2, 10, 1 << 8]
    assert twin.name == "pure" or kib <= 1024
    assert refused == "0 is not the number of a child"


# ---- load ------------------------------------------------------------------------------------------------------------


@every_native
def test_the_native_helper_imports_next_to_nothing(twin: Twin) -> None:
    """What a zygote imports is what every fork pays for."""
    done = twin.start("print(' '.join(sorted(sys.modules)))")
    names = set(done.stdout.decode().split())
    heavy = {"ctypes", "dataclasses", "enum", "re", "typing", "json", "struct", "importlib", "importlib.machinery"}
    assert not names & heavy
    assert {name for name in names if name.startswith("cruxcell")} == {
        "cruxcell",
        "cruxcell.native",
        "cruxcell.native._native",
    }


@every_native
def test_without_a_helper_the_twin_serves(twin: Twin, tmp_path: Path) -> None:
    """No file, or one that is not a helper: the pure twin, without a word."""
    suffix = helper(twin.python).name[len("_native") :]
    (tmp_path / f"_native{suffix}").write_bytes(b"not a shared object")
    empty = tmp_path / "empty"
    program = f"import sys; sys.path.insert(0, {str(SANDBOX)!r})\nfrom cruxcell import native\n"
    for folder in (tmp_path, empty):
        asked = f"k = native.load(False, {str(folder)!r}); print(k.NAME)"
        done = subprocess.run(
            [str(twin.python), "-I", "-S", "-c", program + asked], capture_output=True, text=True, timeout=60
        )
        assert (done.stdout, done.stderr) == ("pure\n", "")
