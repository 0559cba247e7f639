"""Suites that end in the midst of a test, and suites that say anything in the place of a text."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from cruxbox import Client, Outcome, ScriptCheck, Task, Verdict
from cruxbox import TestOutcome as Ended

pytestmark = pytest.mark.kernel

PROGRAM = """
class Money:
    def __init__(self, value):
        self.value = value
    def __lt__(self, other):
        return True
def text():
    return "__import__('os')"
"""
CASES = """
import unittest
class T(unittest.TestCase):
    def test_a(self):
        self.assertEqual(Money(1).value, 1)
    def test_b(self):
        self.assertEqual(Money(1).value, 2)
    def test_c(self):
        {statement}
    def test_d(self):
        self.assertEqual(Money(1).value, 1)
"""
FUNCTIONS = """
import pytest
def test_a():
    assert Money(1).value == 1
def test_b():
    assert Money(1).value == 2
@pytest.mark.parametrize("kind", [1])
def test_c(kind):
    {statement}
def test_d():
    assert Money(1).value == 1
"""
REFUSED = [("assert Money(1) < 2", "FAILED", "__lt__"), ("eval(text())", "INVALID", "eval")]


@pytest.fixture(scope="module", name="with_pytest")
def server_of_this_python() -> Iterator[Client]:
    arguments = [f"--runtime=default={sys.executable}", "--own-packages", "--canary-s=0"]
    with Client(workers=1, server_args=arguments) as client:
        yield client


def ask(client: Client, script: str, framework: str = "") -> Verdict:
    (verdict,) = client.check([Task(PROGRAM, [ScriptCheck(script, framework=framework)])])
    return verdict


@pytest.mark.parametrize(("statement", "outcome", "why"), REFUSED)
def test_what_came_of_each_test_before_the_end(
    native: Client, with_pytest: Client, statement: str, outcome: str, why: str
):
    for client, script, framework, names in [
        (native, CASES, "unittest", ("T.test_a", "T.test_b", "T.test_c")),
        (native, CASES + "unittest.main()\n", "", ("T.test_a", "T.test_b", "T.test_c")),
        (with_pytest, FUNCTIONS, "pytest", ("test_a", "test_b", "test_c[1]")),
    ]:
        verdict = ask(client, script.format(statement=statement), framework)
        assert verdict.outcome.name == outcome
        assert tuple([test.name for test in verdict.tests]) == names
        assert [test.outcome for test in verdict.tests] == [Ended.PASSED, Ended.FAILED, Ended.ERROR]
        assert why in verdict.detail
        assert verdict.tests[2].message == verdict.detail


def test_nothing_is_told_of_a_script_that_is_no_suite(native: Client):
    verdict = ask(native, "import unittest\nassert Money(1) < 2")
    assert (verdict.outcome, verdict.tests) == (Outcome.FAILED, ())


WORDS = """
import unittest
class T(unittest.TestCase):
    @unittest.skip({reason})
    def test_a(self):
        self.fail()
    def test_b(self):
        self.assertEqual(Money(1).value, {value})
"""
NAMED = """
import unittest
class T(unittest.TestCase):
    def id(self):
        return {reason}
    def test_b(self):
        self.assertEqual(Money(1).value, {value})
"""
# Classes whose objects answer themselves for what is told of a test.
ANSWERS = """
class Word(str):
    def __getitem__(self, place):
        return None
    def startswith(self, word):
        return True
    def encode(self, *how):
        return 5
class Thing:
    def __str__(self):
        raise SystemExit(0)
"""


@pytest.mark.parametrize("reason", ["404", "None", "('no', 2)", "Money", "Word('later')", "Thing()"])
@pytest.mark.parametrize("script", [WORDS, NAMED])
def test_what_is_no_plain_text_is_told_as_one(native: Client, script: str, reason: str):
    for value, outcome, last in (1, Outcome.PASSED, Ended.PASSED), (2, Outcome.FAILED, Ended.FAILED):
        check = ScriptCheck(script.format(reason=reason, value=value), framework="unittest")
        (verdict,) = native.check([Task(PROGRAM + ANSWERS, [check])])
        assert verdict.outcome is outcome, verdict
        assert [test.outcome for test in verdict.tests] == [Ended.SKIPPED, last][script is NAMED :]
