"""Entry point of `cruxboxd`: reports missing dependencies in one sentence, otherwise runs the command line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; see `cruxboxd.server.command`."""
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # its lines are not JSON, and what they say is said here
    try:
        from cruxboxd.server import command
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] in ("cruxboxd", "cruxcell"):
            raise
        sentence = f"{error.name} is not installed; a server needs more than a client: pip install 'cruxbox[server]'"
        print(f"cruxboxd: {sentence}", file=sys.stderr)
        sys.exit(2)
    command.main(arguments)


if __name__ == "__main__":
    main()
