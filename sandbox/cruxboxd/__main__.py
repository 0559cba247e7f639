"""Entry point of `cruxboxd`: reports missing dependencies in one sentence, otherwise runs the command line."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence

try:
    import signal  # with ten modules of its own
except KeyboardInterrupt:
    sys.exit(130)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; see `cruxboxd.server.command`."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its lines are not JSON, and what they say is said here
    try:
        with _quitting():
            from cruxboxd.server import command
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] in ("cruxboxd", "cruxcell"):
            raise
        sentence = f"{error.name} is not installed; a server needs more than a client: pip install 'cruxbox[server]'"
        print(f"cruxboxd: {sentence}", file=sys.stderr)
        sys.exit(2)
    try:
        command.main(arguments)
    except KeyboardInterrupt:  # before the command has its own handler
        sys.exit(130)


@contextlib.contextmanager
def _quitting() -> Iterator[None]:
    """Ctrl-C ends the process without a word. An exception would be lost where it meets a callback of the import
    system, and the daemon would serve on."""
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # a shell has a command in the background ignore it
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


if __name__ == "__main__":
    main()
