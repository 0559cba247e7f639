"""The situation of a restricted pod: an ordinary user, no capabilities, and no namespaces to be had.

`python tests/unprivileged.py CMD ARGS...` runs a command in it; `become()` puts the calling process into it;
`argv(...)` gives the command line for a subprocess. `--keep-namespaces` leaves the ordinary user the namespaces that
many hosts allow. Stands alone: nothing of the project is imported.

What a container runtime's default profile refuses is refused here by a small filter: unshare, setns, and clone with a
namespace flag; clone3, whose flags hide behind a pointer, does not exist.
"""

from __future__ import annotations

import ctypes
import os
import platform
import struct
import sys
import tempfile
from pathlib import Path

NOBODY = 65534
_libc = ctypes.CDLL(None, use_errno=True)

_PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 4, 22, 24, 38
_CLONE_NEWNS = 0x00020000
_NAMESPACE_FLAGS = 0x7E020080
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_EPERM, _ENOSYS = 1, 38

# audit architecture, and numbers of: clone, clone3, unshare, setns
_MACHINES = {"x86_64": (0xC000003E, 56, 435, 272, 308), "aarch64": (0xC00000B7, 220, 435, 97, 268)}


def argv(*command: str) -> list[str]:
    """The command line that runs `command` in this situation."""
    return [sys.executable, str(Path(__file__).resolve()), *command]


def become(*, deny_namespaces: bool = True) -> None:
    """Makes the calling process an ordinary user's without capabilities or namespaces. There is no way back."""
    if os.geteuid() == 0:
        _make_interpreter_reachable()
        folder = Path(tempfile.gettempdir(), f"u{NOBODY}")  # short: it holds unix sockets
        folder.mkdir(mode=0o700, exist_ok=True)
        os.chown(folder, NOBODY, NOBODY)
        os.environ.update(HOME=str(folder), TMPDIR=str(folder), HYPOTHESIS_STORAGE_DIRECTORY=str(folder / "hypothesis"))
        for capability in range(64):
            _libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    _check(_libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    _check(_libc.prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0), "dumpable")  # as after the exec of a container's first process
    if deny_namespaces:
        _deny_namespaces()


def _make_interpreter_reachable() -> None:
    """Where the interpreter lives in a folder that only root may pass (such as /root), stands a passable copy of it.

    Only in a mount namespace of our own: an empty folder in its place, with the interpreter's own part bound into it.
    """
    prefix = Path(sys.base_prefix)
    closed = next((folder for folder in reversed(prefix.parents) if not folder.stat().st_mode & 0o001), None)
    if closed is None:
        return
    _check(_libc.unshare(_CLONE_NEWNS), "unshare")
    _mount(None, "/", None, _MS_REC | _MS_PRIVATE)
    handle = os.open(prefix, os.O_PATH)
    _mount("closed", str(closed), "tmpfs", 0)
    closed.chmod(0o755)
    prefix.mkdir(parents=True)
    _mount(f"/proc/self/fd/{handle}", str(prefix), None, _MS_BIND | _MS_REC)
    os.close(handle)


def _mount(source: str | None, target: str, kind: str | None, flags: int) -> None:
    encoded = [None if text is None else text.encode() for text in (source, target, kind)]
    _check(_libc.mount(*encoded, ctypes.c_ulong(flags), None), f"mount {target}")


def _deny_namespaces() -> None:
    audit, clone, clone3, unshare, setns = _MACHINES[platform.machine()]
    load, same, any_bit, give = 0x20, 0x15, 0x45, 0x06  # ld [k]; jeq; jset; ret
    allow, deny, absent = 0x7FFF0000, 0x00050000 | _EPERM, 0x00050000 | _ENOSYS
    program = [
        (load, 0, 0, 4),  # architecture
        (same, 0, 7, audit),
        (load, 0, 0, 0),  # number
        (same, 6, 0, unshare),
        (same, 5, 0, setns),
        (same, 5, 0, clone3),
        (same, 0, 2, clone),
        (load, 0, 0, 16),  # low half of the first argument
        (any_bit, 1, 0, _NAMESPACE_FLAGS),
        (give, 0, 0, allow),
        (give, 0, 0, deny),
        (give, 0, 0, absent),
    ]
    code = b"".join(struct.pack("<HBBI", *line) for line in program)
    instructions = ctypes.create_string_buffer(code, len(code))
    header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(program), ctypes.addressof(instructions)), 16)
    _check(_libc.prctl(_PR_SET_SECCOMP, 2, header, 0, 0), "seccomp")


def _check(result: int, step: str) -> None:
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{step}: {os.strerror(code)}")


def main() -> None:
    """Runs the command that the arguments name."""
    arguments = sys.argv[1:]
    keep = arguments[:1] == ["--keep-namespaces"]
    command = arguments[1:] if keep else arguments
    if not command:
        print("usage: unprivileged.py [--keep-namespaces] CMD ARGS...", file=sys.stderr)
        raise SystemExit(2)
    become(deny_namespaces=not keep)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main()
