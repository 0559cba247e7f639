"""Programs and suites of each framework, with what becomes of their tests."""

from __future__ import annotations

from typing import Any

ADD = "def add(a, b):\n    return a + b\n"
LESS = "def add(a, b):\n    return a - b\n"
KEY = "def add(a, b):\n    raise KeyboardInterrupt\n"
RAISES_OWN = "class Own(Exception):\n    pass\ndef add(a, b):\n    raise Own('no')\n"
RAISES = "def add(a, b):\n    raise ValueError('no')\n"


def case(body: str, more: str = "") -> str:
    """A script with a test case T of one method, and what follows it."""
    return f"import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        {body}\n{more}"


SUM = "self.assertEqual(add(1, 1), 2)"
CALLS, LATER = "def add(a):\n    a()\n", "def later():\n    raise unittest.SkipTest('later')\n"
NOT_OWN = ["e", "T.test", "the program raised SkipTest"]
ENDS = (
    "import functools, unittest\nE = unittest.case._ShouldStop\nclass S(unittest.SkipTest): pass\n"
    "@unittest.skip('no')\ndef skipped(): pass\n@functools.lru_cache(None)\ndef stop(error):\n    raise error\n"
    "def add(a, b):\n    if not a:\n        return 0\n    %s\n"
)
BIND = "import unittest, sys\n%s\n" + LESS
PASSES, NO_SUM = ["p", "T.test", ""], [["f", "T.test", "0 != 2"]]
RUNNER = "unittest.TextTestRunner(stream=open('/dev/null', 'w')).run(unittest.defaultTestLoader.%s(%s))\n"
OWN = RUNNER % ("loadTestsFromTestCase", "T")
SET_UP = "    @classmethod\n    def setUpClass(cls):\n        1 / 0\n"
BAD_SET_UP = ["e", "setUpClass (__main__.T)"]
INNER = "import unittest\nclass I(unittest.TestCase):\n    def test(self):\n        self.fail()\nI = [I]\n"
SUB = "    def test(self):\n        for n in (1, 2):\n            with self.subTest(n=n):\n                %s\n"
SUBS = "import unittest\nclass T(unittest.TestCase):\n" + SUB

UNITTEST: dict[str, Any] = {
    # What a program beside its test does to unittest is undone; what it defines is no test.
    "assertEqual anew": (LESS + "import unittest\nunittest.TestCase.assertEqual = print\n", case(SUM), NO_SUM),
    "a call anew": (LESS + "import unittest\nunittest.TestCase.__call__ = print\n", case(SUM), NO_SUM),
    "a class of the program's": (LESS + case("pass").replace("T(", "Mine("), case(SUM), NO_SUM),
    "load_tests of the program's": (
        LESS + "import unittest\ndef load_tests(*asked):\n    return unittest.TestSuite()\n", case(SUM), NO_SUM,
    ),
    "names anew": (BIND % "unittest.case.SkipTest = unittest.case._ShouldStop = Exception", case(SUM), NO_SUM),
    "suites anew": (BIND % "unittest.suite.BaseTestSuite.run = lambda self, result: result", case(SUM), NO_SUM),
    "a name more": (BIND % "unittest.TestCase.__unittest_expecting_failure__ = True", case(SUM), NO_SUM),
    "code anew": (
        BIND % "unittest.TestCase.assertEqual.__code__ = (lambda self, a, b, msg=None: None).__code__",
        case(SUM), NO_SUM,
    ),
    "another unittest": (
        BIND % "sys.modules['unittest'] = type(sys)('u')\nsys.modules['unittest'].TestCase = object", case(SUM), NO_SUM,
    ),
    "tests of the program's, run by it": (
        "import unittest\nclass Mine(unittest.TestCase):\n    def test(self): pass\nunittest.main()\n" + LESS,
        case(SUM), NO_SUM,
    ),
    "what is not of unittest": (
        ADD + "import collections, json\njson.loads, collections.Counter.mine = len, 5\n",
        case("import collections, json; self.assertEqual(json.loads('12345'), collections.Counter.mine)"), [PASSES],
    ),
    "a module of unittest's that the program loads": (
        ADD + "import unittest.mock\n", case("import unittest.mock; unittest.mock.Mock(); " + SUM), [PASSES],
    ),
    # A program does not end a test well by what unittest takes for a signal.
    "skipped by the program": (ENDS % "raise S", case(SUM), [["e", "T.test", "the program raised S"]]),
    "stopped by the program": (ENDS % "stop(E)", case(SUM), [["e", "T.test", "the program raised _ShouldStop"]]),
    "skipped by another case": (
        ENDS % "unittest.TestCase().skipTest('no')", case(SUM), [["e", "T.test", "the program raised SkipTest"]],
    ),
    "the skip of another case": (
        ENDS % "" + "    pass\nadd = unittest.TestCase().skipTest\n", case("add(1)"),
        [["e", "T.test", "the program raised SkipTest"]],
    ),
    "skipped by what the program decorates": (
        ENDS % "" + "    pass\nadd = skipped\n", case("add()"), [["e", "T.test", "the program raised SkipTest"]],
    ),
    "a skip that the library hands on": (
        ENDS % "" + "    pass\nimport concurrent.futures\nq = concurrent.futures.Future()\n"
        "q.set_exception(unittest.SkipTest())\nadd = q.result\n", case("add(1)"),
        [["e", "T.test", "the program raised SkipTest"]],
    ),
    "a skip of code that has the library's name": (
        "import os\nexec(compile('import unittest\\ndef add(a):\\n    raise unittest.SkipTest', os.__file__, 'exec'))",
        case("add(1)"), [["e", "T.test", "the program raised SkipTest"]],
    ),
    "a skip that C hands on": (
        "import asyncio, unittest\nq = asyncio.Future(loop=asyncio.new_event_loop())\n"
        "q.set_exception(unittest.SkipTest())\nadd = q.result\n", case("add()"),
        [["e", "T.test", "the program raised SkipTest"]],
    ),
    "a skip of the script's that comes through the program": (CALLS, case("add(later)", LATER), [NOT_OWN]),
    "the same, in a folder beside the library": (
        "import os\nname = os.path.dirname(os.__file__) + '/site-packages/x.py'\n"
        f"exec(compile({CALLS!r}, name, 'exec'))",
        case("add(later)", LATER), [NOT_OWN],
    ),
    "the same, by a function of unittest's": (
        "import functools, unittest\nadd = functools.partial(unittest.TestCase().assertRaises, ValueError)\n",
        case("add(later)", LATER), [NOT_OWN],
    ),
    "the same, by the library": (
        ADD,
        case("later()", "import contextlib\n@contextlib.contextmanager\ndef one():\n    yield\n@one()\n" + LATER),
        [["s", "T.test", "later"]],
    ),
    "a skip that the program forgets the way of": (
        "import unittest\nerror = unittest.SkipTest()\ndef add(a, b):\n    if a:\n        raise error\n"
        "    error.__traceback__ = None\n",
        case("pass", "    @classmethod\n    def setUpClass(cls):\n        cls.addClassCleanup(add, 0, 0)\n"
                     "        cls.addClassCleanup(add, 1, 1)\n"),
        [PASSES, ["e", "tearDownClass (__main__.T)", ""]],
    ),
    "a skip outside of all tests": (ADD, case("pass", "T('test').skipTest('later')\n"), [["s", "", "later"]]),
    "a set-up that the script skips": (
        ADD, case("pass", SET_UP.replace("1 / 0", "raise unittest.SkipTest('later')")),
        [["s", "setUpClass (__main__.T)", "later"]],
    ),
    "a set-up that the program skips": (
        ENDS % "raise S", case("pass", SET_UP.replace("1 / 0", "add(1, 1)")),
        [["e", "setUpClass (__main__.T)", ""]],
    ),
    "a sub-test that the program stops": (
        ENDS % "raise E", SUBS % SUM, [["e", f"T.test (n={n})", "the program raised _ShouldStop"] for n in (1, 2)],
    ),
    "skipped by the script": (
        ADD, case("from contextlib import ExitStack\n        with ExitStack():\n            later()",
                  "def later(): raise unittest.SkipTest('later')\n"), [["s", "T.test", "later"]],
    ),
    "sub-tests of what is expected to fail": (
        LESS, (SUBS % SUM).replace("    def", "    @unittest.expectedFailure\n    def"),
        [["s", "T.test", "failed, as the suite expects"]],
    ),
    # Which classes there are, each once.
    "what is no case": (ADD, case(SUM, "x = 1\nclass Other:\n    def test(self): pass\n"), [PASSES]),
    "a case of unittest's": (ADD, "from unittest import FunctionTestCase, TestCase\n" + case(SUM), [PASSES]),
    "another module's case": (
        ADD, case(SUM, "T.__module__, T.__qualname__ = 'machines', 'M.T'\n"), [["p", "machines.M.T.test", ""]],
    ),
    "two names": (ADD, case(SUM, "Other = T\n"), [PASSES]),
    "load_tests that is none": (ADD, case(SUM, "load_tests = 5\n"), [PASSES]),
    "load_tests, and main": (
        ADD, case(SUM, "def load_tests(loader, tests, pattern):\n    return tests\nunittest.main()\n"), [PASSES],
    ),
    "what load_tests chooses, once": (
        ADD,
        case(SUM, "def load_tests(loader, tests, pattern):\n    return unittest.TestSuite([T('other')])\n")
        .replace("    def test(self)", "    def other(self): pass\n    def test(self)")
        + "unittest.main()\n",
        [["p", "T.other", ""]],
    ),
    "the same with what it has not run": (
        ADD,
        "import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n    def other(self): pass\n"
        "class More(unittest.TestCase): pass\n"
        "def load_tests(loader, tests, pattern):\n    return unittest.TestSuite([T('other')])\n",
        [["p", "T.other", ""]],
    ),
    # What the script runs by itself is watched; what a test runs, that test looks at.
    "a runner": (ADD, case(SUM, OWN), [PASSES]),
    "a runner, a failure": (LESS, case(SUM, OWN), [["f", "T.test", ""]]),
    "a runner, an error": (RAISES, case(SUM, OWN), [["e", "T.test", ""]]),
    "a runner, a set-up": (ADD, case(SUM, SET_UP + OWN), [[*BAD_SET_UP, ""], [*BAD_SET_UP, "division by zero"]]),
    "a runner that is broken off": (
        KEY, case(SUM, "try:\n    " + OWN + "except KeyboardInterrupt: pass\n"), [["e", "T.test", ""]],
    ),
    "a case within a runner": (ADD, INNER + case("assert I[0]('test').run().failures", OWN), [PASSES]),
    "a case with a result": (LESS, case(SUM, "T('test').run(unittest.TestResult())\n"), [["f", "T.test", ""]]),
    "a case without one": (LESS, case(SUM, "T('test')()\n"), [["f", "T.test", ""]]),
    "a suite with a result": (
        ADD, case(SUM, SET_UP + "unittest.defaultTestLoader.loadTestsFromTestCase(T).run(unittest.TestResult())\n"),
        [[*BAD_SET_UP, ""], [*BAD_SET_UP, "division by zero"]],
    ),
    "suites within suites": (
        ADD,
        case(SUM, SET_UP + "unittest.TestSuite([unittest.defaultTestLoader.loadTestsFromTestCase(T)])"
                           ".run(unittest.TestResult())\n"),
        [[*BAD_SET_UP, ""], [*BAD_SET_UP, "division by zero"]],
    ),
    "a suite within a case": (
        ADD,
        INNER.replace("I = ", SET_UP + "I = ")
        + case("assert unittest.TestSuite([I[0]('test')]).run(unittest.TestResult()).errors", "T('test')()\n"),
        [PASSES],
    ),
    # What became of each.
    "a set-up": (ADD, case(SUM, SET_UP), [[*BAD_SET_UP, "division by zero"]]),
    "an error": (RAISES, case(SUM), [["e", "T.test", "no"]]),
    "broken off": (KEY, case(SUM), "KeyboardInterrupt: "),
    "sub-tests that fail": (LESS, SUBS % SUM, [["f", f"T.test (n={n})", "0 != 2"] for n in (1, 2)]),
    "sub-tests with errors": (
        RAISES, SUBS % SUM + "r = unittest.main().result\nassert len(r.errors) == 2 and not r.failures\n",
        [["e", f"T.test (n={n})", "no"] for n in (1, 2)],
    ),
    "sub-tests and what main gives": (
        LESS, SUBS % SUM + "r = unittest.main().result\nassert len(r.failures) == 2 and not r.errors\n",
        [["f", f"T.test (n={n})", "0 != 2"] for n in (1, 2)],
    ),
    "sub-tests": (ADD, SUBS % SUM, [PASSES]),
    "skipped": (ADD, case("self.skipTest('later')"), [["s", "T.test", "later"]]),
    "too many": (
        ADD,
        SUBS.replace("(1, 2)", "range(1005)") % "self.fail('no')",
        [*[["f", f"T.test (n={n})", "no"] for n in range(999)], ["e", "", "the suite has more than 999 tests"]],
    ),
    # A set is compared by its items, whatever its class says of the difference.
    "no set": (ADD, case("self.assertSetEqual(add(1, 1), {2})"), [
        ["f", "T.test", "first argument does not support set difference: 'int' object has no attribute 'difference'"],
    ]),
    "a set of its own": (
        "class E(set):\n    def difference(self, other):\n        return set()\n"
        "def add(a, b):\n    return E([2, 3])\n",
        case("self.assertSetEqual(add(1, 1), {2})"), [["f", "T.test", "Items in the first set but not the second:\n3"]],
    ),
}  # fmt: skip

MAYBE: dict[str, Any] = {
    "a plain script": (ADD, "assert add(1, 1) == 2", None),
    "a plain script that imports unittest": (ADD, "import unittest", None),
    "a class that nobody runs": (LESS, case(SUM), NO_SUM),
    "a script that is skipped": (ADD, case(SUM, LATER + "later()\n"), [["s", "", "later"]]),
    "a test that is skipped": (ADD, case("later()", LATER), [["s", "T.test", "later"]]),
    "main": (LESS, case(SUM, "unittest.main()\n"), NO_SUM),
    "assertEqual anew": (LESS + "import unittest\nunittest.TestCase.assertEqual = print\n", case(SUM), NO_SUM),
}

TRACE = "Traceback (most recent call last):\n    ...\n"
DOCTEST: dict[str, Any] = {
    "values": (ADD, ">>> add(1, 1)\n2\n>>> x = 1\n>>> add(1, 1)\n3\n", [
        ["p", "line 1", ""], ["f", "line 4", "got 2\n"],
    ]),
    "what prints where nothing should": (ADD, ">>> print(1)\n>>> x = 1\n", [["f", "line 1", "got 1\n"]]),
    "an error": (RAISES, ">>> add(1, 1)\n2\n", [["e", "line 1", "no"]]),
    "an error that is expected": (RAISES, f">>> add(1, 1)\n{TRACE}ValueError: no\n", [["p", "line 1", ""]]),
    "another error": (RAISES, f">>> add(1, 1)\n{TRACE}ValueError: yes\n", [
        ["f", "line 1", "got ValueError: no\n"],
    ]),
    "an error without a text": (ADD, f">>> raise ValueError\n{TRACE}ValueError\n", [["p", "line 1", ""]]),
    "an error of a module": (
        ADD, f">>> import json\n>>> json.loads('')\n{TRACE}json.decoder.JSONDecodeError: Expecting value: "
        "line 1 column 1 (char 0)\n", [["p", "line 2", ""]],
    ),
    "an error of the program's own": (RAISES_OWN, f">>> add(1, 1)\n{TRACE}Own: no\n", [["p", "line 1", ""]]),
    "an error that is only printed": (ADD, f">>> print('ValueError: no')\n{TRACE}ValueError: no\n", [
        ["f", "line 1", "got ValueError: no\n"],
    ]),
    "no details": (RAISES, f">>> add(1, 1)  # doctest: +IGNORE_EXCEPTION_DETAIL\n{TRACE}a.ValueError: yes\n", [
        ["p", "line 1", ""],
    ]),
    "no details, no text": (RAISES, f">>> add(1, 1)  # doctest: +IGNORE_EXCEPTION_DETAIL\n{TRACE}ValueError\n", [
        ["p", "line 1", ""],
    ]),
    "no details, another error": (RAISES, f">>> add(1, 1)  # doctest: +IGNORE_EXCEPTION_DETAIL\n{TRACE}KeyError\n", [
        ["f", "line 1", "got ValueError: no\n"],
    ]),
    "no details of a value": (ADD, ">>> add(0.5, 1)  # doctest: +IGNORE_EXCEPTION_DETAIL\n0.5\n", [
        ["f", "line 1", "got 1.5\n"],
    ]),
    "an option, another text of an error": (
        RAISES, f">>> add(1, 1)  # doctest: +ELLIPSIS\n{TRACE}ValueError: yes\n",
        [["f", "line 1", "got ValueError: no\n"]],
    ),
    "an option": (ADD, ">>> 'abc'  # doctest: +ELLIPSIS\n'a...'\n>>> 'abc'  # doctest: -ELLIPSIS\n'a...'\n", [
        ["p", "line 1", ""], ["f", "line 3", "got 'abc'\n"],
    ]),
    "what is skipped is not run": (ADD, ">>> x = 1\n>>> x = 2  # doctest: +SKIP\n>>> x\n1\n", [
        ["s", "line 2", ""], ["p", "line 3", ""],
    ]),
    "the checker anew": (
        "import doctest\ndoctest.OutputChecker.check_output = lambda *asked: True\n" + LESS, ">>> add(1, 1)\n2\n",
        [["f", "line 1", "got 0\n"]],
    ),
    "two statements in an example": (
        ADD, ">>> x = 1\n... y = 2\n",
        "Invalid: multiple statements found while compiling a single statement (<check>, line 1)",
    ),
    "an end within an example": (
        "def add(a, b):\n    raise SystemExit(0)", ">>> add(1, 1)\n2\n", [["e", "line 1", "0"]],
    ),
}  # fmt: skip

IS_TWO = "def test():\n    assert add(1, 1) == 2\n"
FIXTURE = "import pytest\n@pytest.fixture\ndef one():\n    %s\ndef test(one):\n    add(1, 1)\n"
BROKEN_OFF = ["e", "", "the run of the suite was broken off (pytest's exit code 2)"]
BEGUN = ["e", "test", "was begun, or was to be, and has no result"]
PYTEST: dict[str, Any] = {
    "passed": (ADD, IS_TWO + "class Test:\n    def test(self): pass\n", [["p", "test", ""], ["p", "Test::test", ""]]),
    "failed": (LESS, IS_TWO, [["f", "test", "AssertionError"]]),
    "an error": (RAISES, IS_TWO, [["e", "test", "ValueError: no"]]),
    "none": (ADD, "x = 1", []),
    "tests of the program's": (IS_TWO + ADD, "assert add(1, 1) == 2\nclass Test:\n    test = staticmethod(test)\n", [
        ["p", "Test::test", ""],
    ]),
    "a function of the program's in a class": (
        IS_TWO.replace("()", "(self)", 1) + ADD, "class Test:\n    test = test\n", [["p", "Test::test", ""]],
    ),
    "cases of unittest's": (ADD, case(SUM + "; self.assertRaises(TypeError, add, 1, '')"), [["p", "T::test", ""]]),
    "logs": (ADD, "import logging\ndef test(caplog):\n    logging.error('no')\n    assert 'no' in caplog.text\n", [
        ["p", "test", ""],
    ]),
    "skipped": (ADD, "import pytest\n@pytest.mark.skip\ndef test(): pass\n", [["s", "test", ""]]),
    "skipped within": (ADD, "import pytest\ndef test():\n    pytest.skip()\n", [["s", "test", ""]]),
    "an assertion of a fixture": (ADD, FIXTURE % "assert add(1, 1) == 3", [["e", "test", "AssertionError"]]),
    "no such fixture": (ADD, "def test(other): pass\n", [["e", "test", "fixture 'other' not found"]]),
    "what ends badly": (ADD, FIXTURE % "yield; 1 / 0", [
        ["p", "test", ""], ["e", "test", "ZeroDivisionError: division by zero"],
    ]),
    "what cannot be collected": (
        ADD, "import pytest\n@pytest.mark.parametrize('one', [1])\ndef test(): pass\n",
        [["e", "collecting", "function uses no argument 'one'"], BROKEN_OFF],
    ),
    "what cannot be collected, at length": (
        ADD, f"import pytest\n@pytest.mark.parametrize('{'o' * 600}', [1])\ndef test(): pass\n",
        [["e", "collecting", "o" * 499 + "'"], BROKEN_OFF],
    ),
    "broken off": (KEY, IS_TWO, [BEGUN, BROKEN_OFF]),
    "broken off after the last test": (
        ADD, FIXTURE % "yield; raise KeyboardInterrupt", [["p", "test", ""], BROKEN_OFF],
    ),
    "broken off before the first": (
        ADD, FIXTURE % "raise KeyboardInterrupt", [BEGUN, BROKEN_OFF],
    ),
}  # fmt: skip

TABLES = {"unittest": UNITTEST, "": MAYBE, "doctest": DOCTEST, "pytest": PYTEST}
ALL = [(framework, name) for framework, table in TABLES.items() for name in table]
