"""Makes every system call once, each in a fresh process under the filter, and prints what the kernel did.

`python sweep_syscalls.py FILTER_FILE NUMBER...` prints one line a number: the number, and "killed", "signal N",
"exit N", an errno's name, or "ok". All arguments are zero.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import ctypes_kernel as kernel

_RAN = 200  # exit code of a child whose call returned; other codes are the errno

# mov eax, 20 (getpid of i386); int 0x80; ret
_I386_GETPID = bytes.fromhex("b814000000cd80c3")


def attempt(bpf: bytes, make_call: object) -> str:
    """What becomes of a child that makes one call under the filter."""
    child = os.fork()
    if child == 0:
        os.dup2(os.open("/dev/null", os.O_RDWR), 0)
        kernel.enter(b"", bpf, 0)
        try:
            make_call()  # type: ignore[operator]
        except OSError as error:
            os._exit(error.errno or 0)
        os._exit(_RAN)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        name = os.WTERMSIG(status)
        return "killed" if name == signal.SIGSYS else f"signal {name}"
    code = os.WEXITSTATUS(status)
    return "ok" if code == _RAN else errno.errorcode.get(code, f"exit {code}")


def i386_entry() -> object:
    """A function that calls the kernel through the 32-bit entry; made before the filter forbids such memory."""
    import mmap

    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(_I386_GETPID)
    function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    function.page = page  # type: ignore[attr-defined]  # kept as long as the function
    return function


def main() -> None:
    """Prints a line for each number; "i386" is the 32-bit entry."""
    bpf = Path(sys.argv[1]).read_bytes()
    for word in sys.argv[2:]:
        if word == "i386":
            call = i386_entry()
        else:

            def call(number: int = int(word)) -> None:
                kernel.syscall(number, 0, 0, 0, 0, 0, 0)

        print(word, attempt(bpf, call), flush=True)


if __name__ == "__main__":
    main()
