"""Entry point of `cruxboxd`: reports missing dependencies in one sentence, otherwise runs the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

try:
    import signal  # with ten modules of its own
except KeyboardInterrupt:
    sys.exit(130)

_ROOM = 64 << 20  # in addresses: what the modules take, and half as much again
_NOT_MAPPED = "failed to map segment"  # glibc's words


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; see `cruxboxd.server.command`."""
    _quit_by_signals()
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its lines are not JSON, and what they say is said here
    try:
        _find_room()
        from cruxboxd.server import command
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] in ("cruxboxd", "cruxcell"):
            raise
        sentence = f"{error.name} is not installed; a server needs more than a client: pip install 'cruxbox[server]'"
        print(f"cruxboxd: {sentence}", file=sys.stderr)
        sys.exit(2)
    except (MemoryError, ImportError) as error:
        if not _lacks_memory(error):
            raise
        _refuse_for_memory()
    command.main(arguments)


def _find_room() -> None:
    """Raises MemoryError where the modules have no room: what an import meets in the middle of that is any error."""
    import mmap

    try:
        mmap.mmap(-1, _ROOM, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError:
        raise MemoryError from None


def _lacks_memory(error: BaseException) -> bool:
    """Is it for want of memory that a module was not imported? The loader of C modules says so in words alone."""
    return isinstance(error, MemoryError) or _NOT_MAPPED in str(error)


def _refuse_for_memory() -> None:
    """Exit code 1, as for whatever a daemon does not serve for."""
    sentence = "refuses to serve: there is not enough memory to start; raise the limit on it (ulimit -v, ulimit -d)"
    os.write(2, f"cruxboxd: {sentence}\n".encode())
    os._exit(1)  # what is left to be done at the end may need memory, too


def _quit(number: int, _frame: object) -> None:
    if number != signal.SIGINT:  # that has an exit code of its own
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(128 + number)  # process 1 gets here


def _quit_by_signals() -> None:
    """Until the daemon has handlers of its own, a signal ends the process without a word. The exception of Ctrl-C would
    be lost where it meets a callback of the import system, and the daemon would serve on; process 1 would not hear of
    SIGTERM."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A shell has a command in the background ignore Ctrl-C.
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _quit)


if __name__ == "__main__":
    main()
