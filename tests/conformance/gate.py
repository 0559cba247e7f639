"""Before anything hostile runs: is the server confined at all? A few tame programs that must be refused."""

from __future__ import annotations

from conformance.case import attempts
from conformance.lab import Lab

TAME = attempts(
    "PFV",
    "import os, socket",
    "open('@{secret_file}').read()",
    "open('@{bystander}', 'r+').close()",
    "socket.socket()",
    "if os.fork() == 0: os._exit(0)",
    "os.kill(os.getppid(), 0)",
)


class NotConfined(Exception):
    """The server lets tame forbidden things through; hostile cases would harm this machine."""


def refuse_unless_confined(lab: Lab) -> None:
    """Raise NotConfined unless every tame attempt is refused and an ordinary check passes."""
    reply = lab.benign()
    if reply.letter != "P":
        raise NotConfined(f"an ordinary check does not pass on {lab.target}: {reply.words}")
    for number, reply in enumerate(lab.ask([lab.fill(TAME.task)])):
        if reply.letter not in TAME.allowed[number] or b"breached" in reply.raw:
            raise NotConfined(
                f"attempt {number} was not refused by {lab.target} ({reply.words}); nothing hostile was run"
            )
