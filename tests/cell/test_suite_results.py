"""What became of each test of a suite. Every case is a fork of one process that has imported the frameworks."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from cruxcell.jobs.unittest_suite import _letter_of
from interpreters import SANDBOX
from suite_cases import ALL, TABLES

# One line for each case that is read: the results, or what was raised.
RUN = """
import asyncio, json, os, sys, unittest, doctest, pytest
from cruxcell.jobs import pytest_suite, suites
from cruxcell.jobs.audit_guard import Guard

os.devnull = "/nowhere/null"  # a worker cannot open it

def results(framework, program, script):
    suite = suites.open_suite(framework, script)
    code = compile(suite.code, "<check>", "exec")
    guard = None if framework else Guard()
    if guard:
        guard.raise_it()
    suite.is_compiled(code, guard)
    exec(program, suite.namespace)
    suite.begin()
    try:
        if not suite.is_whole:
            exec(code, suite.namespace)
        found = suite.run()
    except suite.skips as error:
        suite.skip(error)
        found = suite.results
    return found and [(letter.decode(), name, text) for letter, name, text in found.all]

told = os.dup(1)
os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
for line in sys.stdin:
    child = os.fork()
    if not child:
        try:
            said = results(*json.loads(line))
        except BaseException as error:
            said = "%s: %s" % (type(error).__name__, error)
        os.write(told, json.dumps(said).encode() + b"\\n")
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        os.write(told, b'"it died"\\n')
"""


@pytest.fixture(scope="module")
def told() -> dict[tuple[str, str], Any]:
    asked = [json.dumps([framework, *TABLES[framework][name][:2]]) for framework, name in ALL]
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\nsys.path.insert(0, {str(SANDBOX)!r})\n{RUN}"],
        input="\n".join(asked), capture_output=True, text=True, timeout=100,
        env={},  # options for the pytest that runs these tests are not for the one within
    )  # fmt: skip
    assert not done.returncode, done.stderr
    return dict(zip(ALL, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize(("framework", "name"), ALL)
def test_what_became_of_each_test(told: dict[tuple[str, str], Any], framework: str, name: str):
    found, expected = told[framework, name], TABLES[framework][name][2]
    if isinstance(found, list):  # what cannot be collected, or has no line, is told at length
        found = [[*each[:2], last_words(each[2], wanted)] for each, wanted in zip(found, [*expected, *found])]
    assert found == expected


def test_of_what_cannot_be_collected_the_end_is_told(told: dict[tuple[str, str], Any]):
    (_, _, text), *_ = told["pytest", "what cannot be collected, at length"]
    assert len(text) == 500


def last_words(text: str, wanted: Any) -> str:
    """`text`, or the part of it that is wanted."""
    part = wanted[2] if isinstance(wanted, list) else ""
    return part if part and part in text else text


@pytest.mark.parametrize(
    ("after", "letter"),
    [
        ((1, 1, 1, 1, 1), b"p"),
        ((2, 1, 1, 1, 1), b"f"),
        ((1, 2, 1, 1, 1), b"e"),
        ((1, 1, 2, 1, 1), b"f"),
        ((1, 1, 1, 2, 1), b"s"),
        ((1, 1, 1, 1, 2), b"s"),
        ((2, 2, 1, 1, 1), b"f"),
        ((0, 1, 1, 1, 1), b"p"),  # an older failure was taken out of the list
        (None, b"e"),
    ],
)
def test_what_became_of_a_test_by_the_tallies_of_its_result(after: tuple[int, ...] | None, letter: bytes):
    assert _letter_of((1, 1, 1, 1, 1), after) == letter
