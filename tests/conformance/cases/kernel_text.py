"""Setup texts shared by the cases that speak to the kernel without Python's wrappers."""

from __future__ import annotations

# `raw(number, ...)` makes a system call and raises OSError when the kernel refuses it.
RAW = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def raw(number, *arguments):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[
        ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
    if result == -1:
        raise OSError(ctypes.get_errno(), 'refused')
    return result
"""
