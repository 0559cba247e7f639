"""Suites that end in the midst of a test, and suites that say anything in the place of a text."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from textwrap import indent

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
    def __sub__(self, other):
        return self.value - other
    def __enter__(self):
        return self
    def __exit__(self, *raised):
        return False
def text():
    return "__import__('os')"
def each(function):
    return function()
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
# What has the program know the answer.
REFUSED = [("assert Money(7) - 7 == 0", "FAILED", "__sub__")]
# What nobody has asked: the test has caught it, goes on with the program, or may not be all that it ends.
CAUGHT = [
    """
try:
    is_less = Money(1) < 2
except BaseException:
    pass
""",
    """
import contextlib
with contextlib.suppress(BaseException):
    is_less = Money(1) < 2
""",
    """
try:
    is_less = Money(1) < 2
finally:
    Money(1)
""",
    """
for _ in range(2):
    try:
        is_less = Money(1) < 2
    except BaseException:
        pass
""",
    """
with Money(1) as money:
    assert money < 2
""",
    """
import threading
thread = threading.Thread(target=lambda: Money(1).__lt__(2))
thread.start()
thread.join()
""",
    "each(lambda: Money(1) < 2)",
    "each(lambda: eval(text()))",
    """
try:
    eval(text())
except BaseException:
    pass
""",
    """
import threading
thread = threading.Thread(target=lambda: eval(text()))
thread.start()
thread.join()
""",
    """
import unittest
class Inner(unittest.TestCase):
    def runTest(self):
        self.assertTrue(Money(1) < 2)
Inner().run()
""",
]
# What ends one test alone.
DECLINED = [
    """
class Other:
    pass
class Derived(Money, Other):
    pass
""",
    "assert Money(1) < 2",
    "assert sorted([2, Money(3)]) == []",
    """
try:
    assert Money(1) < 2
except AssertionError:
    raise
except Exception:
    pass
""",
    """
import pytest
with pytest.raises(Exception):
    assert Money(1) < 2
""",
    """
try:
    assert Money(1) < 2
finally:
    kind = 3
""",
]


@pytest.fixture(scope="module", name="with_pytest")
def server_of_this_python() -> Iterator[Client]:
    arguments = [f"--runtime=default={sys.executable}", "--own-packages", "--canary-s=0"]
    with Client(workers=1, server_args=arguments) as client:
        yield client


def ask(client: Client, script: str, framework: str = "") -> Verdict:
    (verdict,) = client.check([Task(PROGRAM, [ScriptCheck(script, framework=framework)])])
    return verdict


def suites(native: Client, with_pytest: Client, statement: str) -> Iterator[tuple[Client, str, str, tuple[str, ...]]]:
    """(server, script, framework, names) of the same tests."""
    in_a_method = CASES.format(statement=indent(statement, " " * 8).lstrip())
    in_a_function = FUNCTIONS.format(statement=indent(statement, " " * 4).lstrip())
    methods = ("T.test_a", "T.test_b", "T.test_c", "T.test_d")
    if "pytest" not in statement:
        yield native, in_a_method, "unittest", methods
        yield native, in_a_method + "unittest.main()\n", "", methods
    yield with_pytest, in_a_method, "pytest", tuple([name.replace(".", "::") for name in methods])
    yield with_pytest, in_a_function, "pytest", ("test_a", "test_b", "test_c[1]", "test_d")


@pytest.mark.parametrize(
    ("statement", "outcome", "why"),
    [*REFUSED, *[(each, *(("INVALID", "eval") if "eval" in each else ("FAILED", "__lt__"))) for each in CAUGHT]],
)
def test_what_came_of_each_test_before_the_end(
    native: Client, with_pytest: Client, statement: str, outcome: str, why: str
):
    for client, script, framework, names in suites(native, with_pytest, statement):
        verdict = ask(client, script, framework)
        assert verdict.outcome.name == outcome
        assert tuple([test.name for test in verdict.tests]) == names[:3]
        assert [test.outcome for test in verdict.tests] == [Ended.PASSED, Ended.FAILED, Ended.ERROR]
        assert why in verdict.detail
        assert verdict.tests[2].message == verdict.detail


@pytest.mark.parametrize("statement", DECLINED)
def test_what_nobody_was_asked_ends_a_test_alone(native: Client, with_pytest: Client, statement: str):
    for client, script, framework, names in suites(native, with_pytest, statement):
        verdict = ask(client, script, framework)
        assert verdict.outcome is Outcome.FAILED
        assert tuple([test.name for test in verdict.tests]) == names
        assert [test.outcome for test in verdict.tests] == [Ended.PASSED, Ended.FAILED, Ended.ERROR, Ended.PASSED]
        assert verdict.tests[2].message == (DERIVED if "Derived" in statement else SAID)
        assert verdict.detail == f"2 of 4 tests did not pass, the first is {names[1]}"


def test_a_text_of_the_program_s_ends_a_test_alone_and_no_program_passes(native: Client, with_pytest: Client):
    for statement in "eval(text())", "import pickle\npickle.loads(b'cos\\nsystem\\n' + text().encode())":
        for client, script, framework, names in suites(native, with_pytest, statement):
            verdict = ask(client, script, framework)
            assert verdict.outcome is Outcome.INVALID
            assert tuple([test.name for test in verdict.tests]) == names
            assert [test.outcome for test in verdict.tests] == [Ended.PASSED, Ended.FAILED, Ended.ERROR, Ended.PASSED]
            assert verdict.tests[2].message == verdict.detail
            assert "by eval, exec, pickle" in verdict.detail


SAID = "__lt__ of a Money is for the candidate to say; compare what its methods or attributes give"
DERIVED = (
    "class Derived derives from a class of the program and from one that the program does not have: require IN_PROCESS"
)
# Where a test that ends by an error is well, or is told in parts.
EXPECTING = """
import unittest
class T(unittest.TestCase):
    {of_class}
    @unittest.expectedFailure
    def test_a(self):
        self.assertTrue(Money(1) < 2)
    def test_b(self):
        for _ in range(2):
            with self.subTest():
                self.assertTrue(Money(1) < 2)
        self.assertEqual(Money(1).value, 1)
    def test_c(self):
        self.assertEqual(Money(1).value, 1)
"""
EXPECTED = """
import pytest
@pytest.mark.xfail
def test_a():
    assert Money(1) < 2
@pytest.fixture{scope}
def money():
    {first}
    return Money(1)
def test_b(money):
    assert money.value == 1
def test_c(money):
    assert money.value == 1
"""


ASKED_FOR = """
import pytest
@pytest.fixture{scope}
def kept():
    assert Money(1) < 2
@pytest.fixture
def money():
    return Money(1)
def test_a(request):
    assert request.getfixturevalue("money").value == 1
def test_b(request):
    request.getfixturevalue("kept")
def test_c(request):
    with pytest.raises(AssertionError):
        request.getfixturevalue("kept")
"""


def test_what_is_declined_is_no_failure_that_is_expected(native: Client, with_pytest: Client):
    verdict = ask(native, EXPECTING.format(of_class="pass"), "unittest")
    assert [test.outcome for test in verdict.tests] == [Ended.ERROR, Ended.ERROR, Ended.ERROR, Ended.PASSED]
    assert {test.message for test in verdict.tests} == {SAID, ""}
    verdict = ask(with_pytest, EXPECTED.format(scope="", first="pass"), "pytest")
    assert [test.outcome for test in verdict.tests] == [Ended.ERROR, Ended.PASSED, Ended.PASSED]
    assert verdict.tests[0].message == SAID


def test_what_would_end_more_than_a_test_ends_the_suite(native: Client, with_pytest: Client):
    for scope in "", "(scope='module')":
        verdict = ask(with_pytest, EXPECTED.format(scope=scope, first="assert Money(1) < 2"), "pytest")
        assert (verdict.outcome, verdict.detail) == (Outcome.FAILED, SAID)
        assert [test.outcome for test in verdict.tests] == [Ended.ERROR, Ended.ERROR]
        verdict = ask(with_pytest, ASKED_FOR.format(scope=scope), "pytest")
        assert (verdict.outcome, verdict.detail) == (Outcome.FAILED, SAID)
        assert [test.outcome for test in verdict.tests] == [Ended.PASSED, Ended.ERROR]
    set_up = "setUpClass = classmethod(lambda cls: Money(1) < 2)"
    verdict = ask(native, EXPECTING.format(of_class=set_up), "unittest")
    assert (verdict.outcome, verdict.detail, verdict.tests) == (Outcome.FAILED, SAID, ())


EQUAL_TO_ALL = """
class Money:
    def __init__(self, value):
        self.value = value
    def __eq__(self, other):
        return True
"""
DIFFERENT = """
import unittest
class T(unittest.TestCase):
    def test_a(self):
        self.assertNotEqual(Money(1), "text")
    def test_b(self):
        self.assertNotEqual(Money(1), Money(2))
    def test_c(self):
        self.assertEqual(Money(1).value, {value})
    def test_d(self):
        self.assertNotEqual(Money(1).value, 2)
    @unittest.expectedFailure
    def test_e(self):
        self.assertNotEqual(Money(1), 2)
        self.fail()
"""


@pytest.mark.parametrize("value", [1, 2])
def test_a_test_that_took_for_different_what_is_equal_has_not_passed(native: Client, with_pytest: Client, value: int):
    for client, framework in (native, "unittest"), (with_pytest, "pytest"):
        check = ScriptCheck(DIFFERENT.format(value=value), framework=framework)
        (verdict,) = client.check([Task(EQUAL_TO_ALL, [check])])
        assert verdict.outcome is Outcome.FAILED
        of_value = Ended.PASSED if value == 1 else Ended.FAILED
        expected = [Ended.ERROR, Ended.ERROR, of_value, Ended.PASSED, Ended.SKIPPED]
        assert [test.outcome for test in verdict.tests] == expected
        assert ["for different" in test.message for test in verdict.tests] == [True, True, False, False, False]
        assert ("for different" in verdict.detail) is (value == 1)


def test_nor_has_one_whose_program_can_no_longer_be_asked(native: Client):
    script = DIFFERENT.format(value=1).replace("self.fail()", "eval(Money('__import__').value + '(1)')")
    (verdict,) = native.check([Task(EQUAL_TO_ALL, [ScriptCheck(script, framework="unittest")])])
    expected = [Ended.ERROR, Ended.ERROR, Ended.PASSED, Ended.PASSED, Ended.ERROR]
    assert (verdict.outcome, [test.outcome for test in verdict.tests]) == (Outcome.INVALID, expected)


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
