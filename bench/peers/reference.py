"""The way of CRUXEval's released scorer: a Manager, a Process and a temporary directory for each check.

One pool process a core walks through the checks. For each it starts a `multiprocessing.Manager`, forks a Process that
executes program and assertion as one text under a SIGALRM, with its output swallowed and the dangerous names of `os`,
`shutil` and `subprocess` put out of reach, and reads the verdict out of the manager's list.
"""

from __future__ import annotations

import contextlib
import faulthandler
import io
import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import wire

REMOVED = {
    "os": "kill system putenv remove removedirs rmdir fchdir setuid fork forkpty killpg rename renames truncate replace"
    " unlink fchmod fchown chmod chown chroot lchown getcwd chdir",
    "shutil": "rmtree move chown",
    "subprocess": "Popen",
}


class TimeoutReached(Exception):
    """The alarm went off."""


def guard() -> None:
    """Take the names away that could do harm by accident. No protection against intent."""
    faulthandler.disable()
    os.environ["OMP_NUM_THREADS"] = "1"
    for module, names in REMOVED.items():
        loaded = __import__(module)
        for name in names.split():
            setattr(loaded, name, None)


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise TimeoutReached

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@contextlib.contextmanager
def swallowed_output() -> Iterator[None]:
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
        stdin, sys.stdin = sys.stdin, io.StringIO()
        try:
            yield
        finally:
            sys.stdin = stdin


@contextlib.contextmanager
def temporary_directory() -> Iterator[None]:
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


def execute(text: str, timeout_s: float, result: Any) -> None:
    """In the child: run `text`, append what became of it to `result`."""
    import shutil

    kept = shutil.rmtree, os.rmdir, os.chdir, os.unlink, os.getcwd
    with temporary_directory():
        guard()
        try:
            with swallowed_output(), alarm(timeout_s):
                exec(text, {})
            result.append("passed")
        except TimeoutReached:
            result.append("timed out")
        except BaseException as error:
            result.append(f"failed: {error}")
        shutil.rmtree, os.rmdir, os.chdir, os.unlink, os.getcwd = kept


def judge(timeout_s: float, check: tuple[str, str, str]) -> bool:
    """One check, spliced as the scorer does it: right or wrong, `call` is text."""
    program, call, expected = check
    return judge_text(f"{program}\nassert {expected} == {call}", timeout_s)


def judge_text(text: str, timeout_s: float) -> bool:
    """Whether `text` ends without exception in a Process of its own."""
    with multiprocessing.Manager() as manager:
        result = manager.list()
        process = multiprocessing.Process(target=execute, args=(text, timeout_s, result))
        process.start()
        process.join(timeout_s + 1)
        if process.is_alive():
            process.kill()
            process.join()
        return list(result) == ["passed"]


def main() -> None:
    job = wire.read()
    watch = wire.Stopwatch()
    with ProcessPoolExecutor(job.cores) as pool:
        passed = list(pool.map(partial(judge, job.timeout_s), job.checks, chunksize=10))
    wire.write(*watch.read(), passed)


if __name__ == "__main__":
    main()
