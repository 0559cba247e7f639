"""The cases of separated scripts as unit tests: two forks of this process speak to each other, without a daemon.

`daemon/test_separated.py` and `test_separated_raw.py` ask the same of the whole service. Here a case takes 20 ms, so
that every change of `jobs/separated` can be tried. Pytest collects this file only where it is named.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import socket
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import pytest
from cruxcell.jobs.context import JobContext
from cruxcell.jobs.separated import run_serve, run_test
from cruxcell.jobs.separated.exchange import link
from cruxcell.native import pure
from cruxcell.protocol import frames, messages

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "daemon"))

from separated_cases import CASES
from test_separated_raw import HEAD, RAW, SCRIPT

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
}
ENDS = {
    messages.ENDED: "PASSED",
    messages.CANDIDATE_GONE: "CRASHED",
    messages.NOT_PLAIN: "FAILED",
    messages.CANNOT_CROSS: "INVALID",
}
CHANNEL = 60  # 5 may be open for something else here
LONG_S = 3


def half(job: Any, fields: list[bytes], line: socket.socket, others: list[int], folder: str) -> tuple[int, int]:
    """(process, where its report can be read). `folder` is where it works."""
    reads, writes = os.pipe()
    child = os.fork()
    if child:
        os.close(writes)
        return child, reads
    try:
        gc.disable()  # what it would touch would have to be copied
        os.mkdir(folder)
        os.chdir(folder)
        signal.alarm(LONG_S)
        for each in [reads, *others]:
            os.close(each)
        os.dup2(line.fileno(), CHANNEL)
        line.close()
        link.CHANNEL = CHANNEL
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        sys.stdin = os.fdopen(0, closefd=False)
        context = JobContext(pure, writes, nothing)  # type: ignore[arg-type]  # as where there is no native helper
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
    text = [each.encode("utf-8", "surrogatepass") for each in (program, script, entry, framework)]
    with tempfile.TemporaryDirectory() as folder:
        candidate, serves = half(run_serve, text[:1], theirs, [ours.fileno()], f"{folder}/candidate")
        theirs.close()
        test, says = half(run_test, [*text[1:], b"", b"\0", b"", b""], ours, [serves], f"{folder}/test")
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


@pytest.mark.parametrize("name", CASES)
def test_a_case_is_judged_as_it_should_be(name: str):
    program, script, entry, expected = CASES[name]
    assert outcome(program, script, entry) == expected


@pytest.mark.parametrize("name", [each for each in RAW if each != "questions without end"])  # a limit's to end
def test_a_frame_ends_the_conversation_or_is_a_wrong_answer(name: str):
    body = textwrap.indent(RAW[name], "    ")
    program = re.sub(r"os\.(\w+)\(5\b", rf"os.\1({CHANNEL}", f"{HEAD}def f(x):\n{body}\n    return 8\n")
    assert outcome(program, SCRIPT, "f") == ("FAILED" if name in VALUES else "CRASHED")
