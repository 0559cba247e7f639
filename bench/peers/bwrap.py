"""bubblewrap around a cold `python -I -S` for each check, a thread a core. A verdict is an exit code."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import wire

WALLS = ("--ro-bind", "/", "/", "--dev", "/dev", "--unshare-all", "--die-with-parent", "--new-session")


def judge(command: list[str], timeout_s: float, check: tuple[str, str, str]) -> bool:
    program, call, expected = check
    text = f"{program}\nassert {expected} == {call}"
    try:
        done = subprocess.run(
            command, input=text.encode(), timeout=timeout_s, check=False, capture_output=True, close_fds=True
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def main() -> None:
    job = wire.read()
    bwrap = shutil.which("bwrap")
    assert bwrap is not None, "bubblewrap is not installed"
    command = [bwrap, *WALLS, os.path.realpath(sys.executable), "-I", "-S", "-"]
    watch = wire.Stopwatch()
    with ThreadPoolExecutor(job.cores) as pool:
        passed = list(pool.map(partial(judge, command, job.timeout_s), job.checks))
    wire.write(*watch.read(), passed)


if __name__ == "__main__":
    main()
