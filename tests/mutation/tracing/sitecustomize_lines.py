"""Notes the lines of one module that run, with the number of the test during which they did."""

from __future__ import annotations

import _thread
import mmap
import os
import sys
import threading
from types import FrameType
from typing import Any


def start(module: str, notes: str) -> None:
    """From now on; a line `test line` of `notes` is written when a line is first run in a test."""
    output = os.open(notes, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    with open(notes + ".current", "rb") as file:
        current = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    ending = "/sandbox/" + module
    seen: set[tuple[bytes, int]] = set()

    def local(frame: FrameType, event: str, _argument: object) -> Any:
        found = (current[:4], frame.f_lineno)
        if found not in seen:
            seen.add(found)
            os.write(output, f"{int.from_bytes(found[0], 'little')} {frame.f_lineno}\n".encode())
        return local

    def function(frame: FrameType, event: str, argument: object) -> Any:
        return local(frame, event, argument) if frame.f_code.co_filename.endswith(ending) else None

    def start_new_thread(run: Any, *arguments: Any) -> int:
        def traced(*given: Any, **named: Any) -> None:
            sys.settrace(function)
            run(*given, **named)

        return by_itself(traced, *arguments)

    by_itself = _thread.start_new_thread
    for each in list(sys.modules.values()):  # many have it by a name of their own
        for name, value in list(getattr(each, "__dict__", {}).items()):
            if value is by_itself:
                setattr(each, name, start_new_thread)
    threading.settrace(function)
    sys.settrace(function)
