"""The signals that tell a daemon to end. None of their handlers raises.

An exception of a handler begins wherever the process happens to be. In a callback of the interpreter's it is lost, and
the daemon serves on; in the insides of the event loop it takes away what somebody waits for, and the daemon hangs.
"""

from __future__ import annotations

import asyncio
import signal
from contextvars import Context
from types import TracebackType

_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Signals:
    """As a context: what is heard cancels the task that entered it, once, until the task says that it will wait.

    The loop's own way (`add_signal_handler`) ends with the loop. A second signal, as a drain comes to its end, would
    then end the process as a failure, with its folder left. So at the end of the context signals are ignored.
    """

    def __enter__(self) -> Signals:
        self._heard = asyncio.Event()
        self._loop, self._task = asyncio.get_running_loop(), asyncio.current_task()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # whatever the process has inherited
        for number in _SIGNALS:
            signal.signal(number, self._on_signal)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (*_SIGNALS, signal.SIGCHLD))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)

    def is_waited_for(self) -> None:
        """From now on nothing is cancelled: the task calls `wait`."""
        self._task = None

    async def wait(self) -> None:
        """Until a signal is heard, or was before."""
        await self._heard.wait()

    def _on_signal(self, *_: object) -> None:
        """As work of nobody: in the context of whose step it interrupts it would wait behind all that one has ready."""
        self._loop.call_soon_threadsafe(self._hear, context=Context())

    def _hear(self) -> None:
        self._heard.set()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
