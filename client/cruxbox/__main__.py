"""Entry point of `cruxbox` and of `python -m cruxbox`: Ctrl-C ends it without a word, also while it is imported."""

from __future__ import annotations

import os
import sys

try:
    import signal  # with ten modules of its own
except KeyboardInterrupt:
    sys.exit(130)


def main() -> int:
    """Run the command line; see `cruxbox.cli`."""
    # An exception would be lost where it meets a callback of the import system, and the command would go on.
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:  # a shell has a command in the background ignore it
        signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from cruxbox import cli

    return cli.main(begin=lambda: signal.signal(signal.SIGINT, before))


if __name__ == "__main__":
    sys.exit(main())
