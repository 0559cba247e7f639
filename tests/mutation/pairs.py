"""The cases of separated scripts as unit tests: two forks of this process speak to each other, without a daemon.

`daemon/test_separated.py` and `test_separated_raw.py` ask the same of the whole service. Here a case takes 20 ms, so
that every change of `jobs/separated` can be tried. Pytest collects this file only where it is named.
"""

from __future__ import annotations

import asyncio  # noqa: F401 - this and pools are there before a case runs
import concurrent.futures.thread  # noqa: F401
import fcntl
import gc
import logging
import os
import signal
import socket
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import pytest
from cruxboxd.zygotes.looks import look_at
from cruxcell import boot
from cruxcell.confinement import linux
from cruxcell.jobs.context import JobContext
from cruxcell.jobs.separated import run_serve, run_test
from cruxcell.jobs.separated.state.files import PassedFiles, ProgramFiles
from cruxcell.native import pure
from cruxcell.protocol import frames, messages

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "daemon"))

from raw_candidates import HEAD, RAW, SCRIPT
from separated_cases import CASES

pytestmark = pytest.mark.processes

# What is a value, or a question that is answered with an error; `f` goes on and returns the wrong number.
VALUES = {
    "two answers",
    "101 levels",
    "a class of classes that do not go together",
    "a class with a name that is none",
    "a number whose methods are its own",
    "a question about the script",
    "a question to a function it was not shown",
    "a question that is none",
    "what the test has forgotten",
    "one thing as often as a large table has room",
    "a hundred of such sets",
}
ENDS = {
    messages.ENDED: "PASSED",
    messages.CANDIDATE_GONE: "CRASHED",
    messages.NOT_PLAIN: "FAILED",
    messages.CANNOT_CROSS: "INVALID",
}
LONG_S = 20  # a host may be busy; none waits without a change
REC_PRIVATE = 0x44000  # of mounts
# Nobody counts the threads of root, and another user may not read what is imported. The daemon has a script that passes
# with Python's own builtins run again.
NEED_A_DAEMON = {
    "honest: more threads of the script than there may be, one after the other",
    "a wrong function by the name of a builtin beside a right one",
    "a class by the name of a builtin that does not do what the builtin does",
}
SAFE = 64  # no descriptor of a worker has this number or a higher one
HELPER: Any = pure  # as where there is no native one


def furnish(texts: list[bytes], place: str) -> None:
    """This process as one of the zygote that the daemon chooses by these texts: it may start threads, and `place` is
    its scratch folder, which the other half does not see. It has another folder there where mounts are refused."""
    looks = [look_at(text) for text in texts]
    if any(look.may_thread for look in looks):
        boot._prepare_for_threads()
    try:
        linux.call(HELPER, "unshare", linux.NEWNS)
        linux.call(HELPER, "mount", None, b"/\0", None, REC_PRIVATE, None)
        linux.call(HELPER, "mount", b"none\0", os.fsencode(place) + b"\0", b"tmpfs\0", 0, b"mode=700\0")
        linux.drop_capabilities(HELPER)
    except PermissionError:
        place = tempfile.mkdtemp(dir=place)
    os.chdir(place)
    if any(look.works_with_files(True) for look in looks):
        os.environ.update(HOME=place, TMPDIR=place)
        tempfile.tempdir = None
        PassedFiles.__init__.__defaults__, ProgramFiles.__init__.__defaults__ = ((), place), (place,)


def place_descriptors(report: int, line: int) -> None:
    """Where a worker has them, and no others."""
    safe = [fcntl.fcntl(number, fcntl.F_DUPFD, SAFE) for number in (report, os.open(os.devnull, os.O_RDWR), line)]
    for number, which in ((0, 1), (1, 1), (2, 1), (messages.REPORT_DESCRIPTOR, 0), (messages.PROGRESS_DESCRIPTOR, 1)):
        os.dup2(safe[which], number)
    os.dup2(safe[2], messages.CHANNEL_DESCRIPTOR)
    os.closerange(messages.CHANNEL_DESCRIPTOR + 1, SAFE)
    for number in safe:
        os.close(number)


def half(job: Any, fields: list[bytes], line: socket.socket, texts: list[bytes], place: str) -> tuple[int, int]:
    """(process, where its report can be read)."""
    reads, writes = os.pipe()
    child = os.fork()
    if child:
        os.close(writes)
        return child, reads
    try:
        gc.freeze()  # or all that the collector touches would have to be copied
        signal.alarm(LONG_S)
        place_descriptors(writes, line.fileno())
        furnish(texts, place)
        logging.root.handlers.clear()  # pytest's
        sys.stdin = os.fdopen(0, closefd=False)
        context = JobContext(HELPER, messages.REPORT_DESCRIPTOR, messages.PROGRESS_DESCRIPTOR)
        context.set_limits(0, 1 << 16)
        job(context, fields)
    finally:
        os._exit(0)


def records(reads: int) -> list[list[bytes]]:
    with open(reads, "rb") as report:
        return frames.split(report.read())[0]


def outcome(program: str, script: str, entry: str, framework: str = "") -> str:
    """How the daemon would name what the test's half says."""
    ours, theirs = socket.socketpair()
    with tempfile.TemporaryDirectory() as folder:
        script = script.replace(messages.SCRATCH_FOLDER, folder)
        text = [each.encode("utf-8", "surrogatepass") for each in (program, script, entry, framework)]
        candidate, serves = half(run_serve, [text[0], b""], theirs, text[:2], folder)
        theirs.close()
        test, says = half(run_test, [*text[1:], b"", b"\0", b"", b""], ours, text[:2], folder)
        ours.close()
        said = records(says)
        os.kill(candidate, signal.SIGKILL)
        for child in (candidate, test):
            os.waitpid(child, 0)
    os.close(serves)
    results = [each for record in said if record[0] == messages.TESTS for each in frames.split(record[1])[0]]
    if any(letter in (messages.TEST_FAILED, messages.TEST_ERROR) for letter, _name, _message in results):
        return "FAILED"
    last = said[-1]
    if last[0] == messages.RAISED:
        return "FAILED" if last[2] == b"AssertionError" else "RAISED"
    return ENDS.get(last[0], f"{last}")


@pytest.mark.parametrize("name", [each for each in CASES if each not in NEED_A_DAEMON])
def test_a_case_is_judged_as_it_should_be(name: str):
    program, script, entry, expected = CASES[name]
    assert outcome(program, script, entry) == expected


@pytest.mark.parametrize("name", [each for each in RAW if each != "questions without end"])  # a limit's to end
def test_a_frame_ends_the_conversation_or_is_a_wrong_answer(name: str):
    body = textwrap.indent(RAW[name], "    ")
    assert outcome(f"{HEAD}def f(x):\n{body}\n    return 8\n", SCRIPT, "f") == (
        "FAILED" if name in VALUES else "CRASHED"
    )
