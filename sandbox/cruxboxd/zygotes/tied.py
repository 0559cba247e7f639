"""Commands that the kernel kills when the daemon ends, however it ends.

The daemon's own interpreter ties itself, and then executes the command: a process that has threads cannot run Python
between fork and exec. So a command is tied before it runs a line, and nobody in the daemon waits for its exec: one on a
file system that has gone may hang for ever. That costs 20 to 50 ms.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence

_PR_SET_PDEATHSIG = 1
_TIED = f"""import ctypes, os, sys
parent, channel, count = map(int, sys.argv[1:4])
given, command = sys.argv[4 : 4 + max(count, 0)], sys.argv[4 + max(count, 0) :]
tied = ctypes.CDLL(None).prctl({_PR_SET_PDEATHSIG}, {signal.SIGKILL:d}, 0, 0, 0) == 0
if tied and os.getppid() == parent:
    try:
        environment = os.environ if count < 0 else dict(item.split("=", 1) for item in given)
        os.execvpe(command[0], command, environment)
    except OSError as error:
        os.write(channel, b"%d" % error.errno)
os._exit(1)"""


def tied(command: Sequence[str], environment: Mapping[str, str] | None, channel: int) -> list[str]:
    """What executes `command` with this environment, or with this process's (None), which may hold secrets: whoever is
    on the host can read what stands on a command line. It ends with the thread that starts it. Where it cannot be
    executed, the descriptor of this number is told why, for `why_not`."""
    given = [] if environment is None else list(map("=".join, environment.items()))
    told = [str(os.getpid()), str(channel), str(-1 if environment is None else len(given)), *given]
    return [sys.executable, "-I", "-S", "-c", _TIED, *told, *command]


def why_not(said: bytes, command: str) -> OSError | None:
    """What was wrong, by what the descriptor was told; nothing if that is something else."""
    number = int(said) if said.isdigit() else 0
    return OSError(number, os.strerror(number), command) if number else None
