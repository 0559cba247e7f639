"""A command that is told to end undoes what it has begun (server, temporary files) on the way out."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Any

_AGAIN_S = 0.1


class Ended(BaseException):
    """Somebody asked this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


@contextlib.contextmanager
def told_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP raise Ended, as Ctrl-C raises KeyboardInterrupt. One that is lost comes again: a signal may
    arrive in a callback of the interpreter's, which no exception gets out of."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _frame: object) -> None:
        raise Ended(number)

    before, hook = {}, sys.unraisablehook

    def lost(found: Any) -> None:
        if isinstance(found.exc_value, (Ended, KeyboardInterrupt)):
            again = found.exc_value.signal if isinstance(found.exc_value, Ended) else signal.SIGINT
            threading.Timer(_AGAIN_S, os.kill, (os.getpid(), again)).start()
        else:
            hook(found)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:  # nohup ignores SIGHUP, and means it
            before[number] = signal.signal(number, end)
    sys.unraisablehook = lost
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number, handler in before.items():
            signal.signal(number, handler)
