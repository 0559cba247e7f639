"""What a program needs to write records of its own."""

from __future__ import annotations

SPEAK = """
import os, struct
def frame(*fields):
    body = b''.join(struct.pack('<I', len(field)) + field for field in fields)
    return struct.pack('<I', len(body)) + body
def numbers(index, flags=0):
    return struct.pack('<IQQQB', index, 1, 1, 1, flags)
def value(index, canonical):
    return frame(b'V', numbers(index), b'p', canonical, b'7', b'', b'')
"""
