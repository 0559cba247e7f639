"""`make siege-in-image`: the siege (bench/siege.py) on two daemons that run from the image, as restricted pods would.

    python deploy/image_siege.py [--minutes 2] [every other option of bench.siege]

Each daemon is process 1 of a container of its own, with a pod's restrictions and memory. Only the network is the
host's, and the daemons listen on its loopback address: who attacks, kills and measures is outside. Skips (exit 0) where
podman, buildah or runc are missing.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time

import psutil
from image_tools import IMAGE, ROOT, START_S, Failed, Skipped, build, call, ensure_base, need_tools, restricted

sys.path.insert(0, str(ROOT))

from bench import siege
from bench.load import Place

MEMORY = "4g"  # a pod's, in deploy/kustomize/base


class Attached(subprocess.Popen[bytes]):
    """`podman run` in the foreground. SIGKILL reaches the container's process 1, and podman ends after it."""

    name = ""

    def kill(self) -> None:
        call("podman", "kill", "--signal=KILL", self.name)


class InContainer(Place):
    """A daemon of the siege, in a container; `watched` is its process 1, seen from outside."""

    _started = 0

    def start(self) -> None:
        """Start a new container; returns when its process is there."""
        InContainer._started += 1
        name = f"cruxbox-siege-{os.getpid()}-{InContainer._started}"
        folder = self.log.parent
        mount = f"--volume={folder}:{folder}:ro"
        settings = restricted("--rm", mount, memory=MEMORY, name=name, network="host")
        settings.remove("--detach")
        words = [word for word in self._command[3:] if word != "--exit-with-parent"]
        with self.log.open("ab") as log:
            self.process = Attached([*settings, IMAGE, *words], stderr=log, stdin=subprocess.DEVNULL)
        self.process.name = name
        self.watched = psutil.Process(_first_process(name, self.process))


def _first_process(name: str, podman: subprocess.Popen[bytes]) -> int:
    """The host's number of the container's process 1."""
    end = time.monotonic() + START_S
    while podman.poll() is None and time.monotonic() < end:
        pid = call("podman", "inspect", "--format", "{{.State.Pid}}", name).stdout.strip()
        if pid.isdigit() and int(pid):
            return int(pid)
        time.sleep(0.1)
    raise Failed(f"the container {name} did not start (podman said {podman.poll()})")


def main() -> None:
    """Build the image, then the siege; its exit code."""
    try:
        need_tools()
    except Skipped as error:
        print(f"siege-in-image skipped: {error}")
        return
    print(f"{ensure_base()}; {build()}", flush=True)
    siege.main(InContainer)


if __name__ == "__main__":
    main()
