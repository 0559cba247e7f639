"""Suites: a result for each test, passed only if one ran and all passed; what nobody runs is never a pass."""

from __future__ import annotations

import sys

import pytest
from cruxbox import Assurance, Client, Outcome, ScriptCheck, Task
from cruxbox import TestOutcome as Ended

pytestmark = pytest.mark.kernel

RIGHT = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return a - b\n"
CASES = """
import unittest

class TestAdd(unittest.TestCase):
    def setUp(self):
        self.one = 1

    def test_zero(self):
        self.assertEqual(add(0, 0), 0)

    def test_more(self):
        for number in (1, 2):
            with self.subTest(number=number):
                self.assertEqual(add(self.one, number), 1 + number)

    @unittest.skip("later")
    def test_later(self):
        self.fail()

    def test_error(self):
        with self.assertRaises(TypeError):
            add(1, "a")
"""
BOTH_WAYS = pytest.mark.parametrize("require", [None, Assurance.IN_PROCESS], ids=["separated", "in process"])


def ask(client: Client, program: str, script: str, framework: str = "unittest", entry: str = "", **options: object):
    (verdict,) = client.check([Task(program, [ScriptCheck(script, entry, framework=framework)], **options)])
    return verdict


@BOTH_WAYS
def test_each_test_has_a_result(native: Client, require: Assurance | None):
    verdict = ask(native, RIGHT, CASES, require_assurance=require)
    assert verdict.outcome is Outcome.PASSED, verdict
    assert verdict.assurance is (require or Assurance.SEPARATED)
    assert {test.name: test.outcome for test in verdict.tests} == {
        "TestAdd.test_error": Ended.PASSED,
        "TestAdd.test_later": Ended.SKIPPED,
        "TestAdd.test_more": Ended.PASSED,
        "TestAdd.test_zero": Ended.PASSED,
    }


@BOTH_WAYS
def test_a_wrong_program_fails(native: Client, require: Assurance | None):
    verdict = ask(native, WRONG, CASES, require_assurance=require)
    assert verdict.outcome is Outcome.FAILED
    assert "2 of 5 tests did not pass, the first is TestAdd.test_more" in verdict.detail
    failed = [test for test in verdict.tests if test.outcome is Ended.FAILED]
    assert failed[0].message == "0 != 2"


@BOTH_WAYS
def test_a_wrong_program_fails_under_a_runner_of_the_script(native: Client, require: Assurance | None):
    script = CASES + "\nr = unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(TestAdd))\n"
    for end in ("", "assert r.wasSuccessful()\n"):
        verdict = ask(native, WRONG, script + end, require_assurance=require)
        assert verdict.outcome is Outcome.FAILED, verdict


ASYNC = (
    "import unittest\nclass T(unittest.IsolatedAsyncioTestCase):\n    async def test(self):\n"
    "        self.assertEqual(add(1, 1), 2)\n"
)


@BOTH_WAYS
def test_cases_with_a_loop_of_their_own(native: Client, require: Assurance | None):
    assert ask(native, RIGHT, ASYNC, require_assurance=require).outcome is Outcome.PASSED
    assert ask(native, WRONG, ASYNC, require_assurance=require).outcome is Outcome.FAILED


LEAVES = [
    "import sys\nassert add(1, 1) == 2\nsys.exit(0)  # well",
    "def end():\n    raise SystemExit\nassert add(1, 1) == 2\nend()",
]
RUNS = (
    CASES
    + "\nimport sys\nr = unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(TestAdd))\n"
)
TELLS = [
    RUNS + "sys.exit(not r.wasSuccessful())",
    RUNS + "if __name__ == '__main__':\n    raise SystemExit(0 if r.wasSuccessful() else 1)",
    CASES + "\nimport sys\nsys.exit(not unittest.main(exit=False).result.wasSuccessful())",
]


@BOTH_WAYS
def test_a_script_may_leave_with_what_came_of_its_tests(native: Client, require: Assurance | None):
    for script in TELLS:
        assert ask(native, RIGHT, script, "", require_assurance=require).outcome is Outcome.PASSED
        assert ask(native, WRONG, script, "", require_assurance=require).outcome in (Outcome.RAISED, Outcome.FAILED)
    assert ask(native, WRONG, RUNS + "sys.exit(0)", "", require_assurance=require).outcome is Outcome.FAILED


FOR_THE_SCRIPT = {
    "raised": ("def add(a, b): raise SystemExit(0)", LEAVES[0]),
    "raised on the line": ("import sys\nadd = sys.exit", "import sys\nadd(0); sys.exit(0)"),
    "raised by what says the status": ("import sys\nadd = sys.exit", "import sys\nsys.exit(add(0))"),
    "raised by C": ("import sys\nadd = sys.exit", "assert add(0) == 2"),
    "raised again": (
        "def add(a, b): raise SystemExit",
        "try:\n    assert add(1, 1) == 2\nexcept SystemExit:\n    raise",
    ),
}


@BOTH_WAYS
def test_a_script_may_leave_with_status_0(native: Client, require: Assurance | None):
    for script in LEAVES:
        assert ask(native, RIGHT, script, "", require_assurance=require).outcome is Outcome.PASSED
        assert ask(native, WRONG, script, "", require_assurance=require).outcome is Outcome.FAILED


@BOTH_WAYS
@pytest.mark.parametrize("name", FOR_THE_SCRIPT)
def test_no_program_leaves_for_it(native: Client, name: str, require: Assurance | None):
    verdict = ask(native, *FOR_THE_SCRIPT[name], "", require_assurance=require)
    assert verdict.outcome in (Outcome.RAISED, Outcome.FAILED), verdict


MAIN = CASES + "\nunittest.main(exit=False)\n"
NEVER = {
    "main that does not exit": (WRONG, MAIN, "", "FAILED"),
    "main behind a guard": (WRONG, CASES + "\nif __name__ == '__main__':\n    unittest.main()\n", "", "FAILED"),
    "a class that nobody runs": (WRONG, CASES, "", "FAILED"),
    "a class that nobody runs, named": (WRONG, CASES, "unittest", "FAILED"),
    "a runner whose result nobody looks at": (
        WRONG,
        CASES + "\nload = unittest.defaultTestLoader\n"
        "unittest.TextTestRunner().run(load.loadTestsFromTestCase(TestAdd))\n",
        "",
        "FAILED",
    ),
    "a runner of tests that are skipped or expected to fail": (
        WRONG,
        "import unittest\nclass T(unittest.TestCase):\n    @unittest.expectedFailure\n    def test(self):\n"
        "        self.assertEqual(add(1, 1), 2)\n    @unittest.skip('later')\n    def test_more(self):\n        pass\n"
        "unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(T))\n",
        "",
        "INVALID",
    ),
    "no test": (RIGHT, "x = add(1, 1)", "unittest", "INVALID"),
    "main without a test": (RIGHT, "import unittest\nunittest.main(exit=False)", "", "INVALID"),
    "a class without a test": (RIGHT, "import unittest\nclass T(unittest.TestCase):\n    pass", "", "INVALID"),
    "all skipped": (
        RIGHT,
        "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        self.skipTest('x')",
        "unittest",
        "INVALID",
    ),
    "expected to fail": (
        WRONG,
        "import unittest\nclass T(unittest.TestCase):\n    @unittest.expectedFailure\n"
        "    def test(self):\n        self.assertEqual(add(1, 1), 2)",
        "unittest",
        "INVALID",
    ),
    "a set-up that fails": (
        RIGHT,
        "import unittest\nclass T(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls):\n        1 / 0\n"
        "    def test(self):\n        pass",
        "unittest",
        "FAILED",
    ),
    "tests that the script chooses": (
        WRONG,
        "import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n"
        "    def sums(self): self.assertEqual(add(1, 1), 2)\n"
        "def load_tests(loader, tests, pattern):\n    return unittest.TestSuite([T('sums')])\n",
        "unittest",
        "FAILED",
    ),
    "a script that has itself skipped": (WRONG, "import unittest\nraise unittest.SkipTest\n", "unittest", "INVALID"),
    "a result that nobody looks at": (
        WRONG,
        CASES + "\nunittest.defaultTestLoader.loadTestsFromTestCase(TestAdd).run(unittest.TestResult())\n",
        "",
        "FAILED",
    ),
    "no examples": (RIGHT, "nothing here", "doctest", "INVALID"),
    "an unknown framework": (RIGHT, "x = 1", "nose", "INVALID"),
}


@pytest.mark.parametrize("name", NEVER)
def test_never_a_pass(native: Client, name: str):
    program, script, framework, outcome = NEVER[name]
    verdict = ask(native, program, script, framework)
    assert verdict.outcome.name == outcome, verdict


ALWAYS = {
    "main": MAIN,
    "main of its own": CASES + "\nassert unittest.main(exit=False).result.wasSuccessful()\n",
    "a runner of its own": CASES + "\nload = unittest.defaultTestLoader\n"
    "assert unittest.TextTestRunner().run(load.loadTestsFromTestCase(TestAdd)).wasSuccessful()\n",
    "tests that it chooses": "import unittest\nclass T(unittest.TestCase):\n"
    "    def sums(self): self.assertEqual(add(1, 1), 2)\ndef load_tests(loader, tests, pattern):\n"
    "    tests.addTest(T('sums'))\n    return tests\nunittest.main()\n",
    "what is the suite's own": "import unittest\nclass Money:\n    def __init__(self, n): self.n = n\n"
    "    def __add__(self, other): return Money(self.n + other.n)\nclass Late(Exception): pass\n"
    "class Broke:\n    def __add__(self, other): raise Late\nclass T(unittest.TestCase):\n    def test(self):\n"
    "        self.assertEqual(add(Money(1), Money(2)).n, 3)\n        self.assertRaises(Late, add, Broke(), Late)\n"
    "unittest.main()\n",
    "an ordinary script": "import unittest\nassert add(1, 2) == 3",
}


@BOTH_WAYS
@pytest.mark.parametrize("name", ALWAYS)
def test_a_right_program_passes(native: Client, name: str, require: Assurance | None):
    verdict = ask(native, RIGHT, ALWAYS[name], "", require_assurance=require)
    assert verdict.outcome is Outcome.PASSED, verdict


def test_an_event_loop_that_only_unittest_names(native: Client):
    script = (
        "import unittest\nclass T(unittest.IsolatedAsyncioTestCase):\n    async def test(self):\n"
        "        self.assertEqual(add(1, 1), 2)\n"
    )
    assert ask(native, RIGHT, script).outcome is Outcome.PASSED


def test_too_many_tests(native: Client):
    lines = [f"    def test_{number}(self):\n        pass\n" for number in range(1200)]
    verdict = ask(native, RIGHT, "import unittest\nclass T(unittest.TestCase):\n" + "".join(lines))
    assert verdict.outcome is Outcome.FAILED
    assert len(verdict.tests) == 1000
    assert verdict.tests[-1].message == "the suite has more than 999 tests"


def test_long_messages_are_cut(native: Client):
    text = "import unittest\nclass T(unittest.TestCase):\n" + "".join(
        f"    def test_{number}(self):\n        self.fail('é' * 100_000)\n" for number in range(900)
    )
    verdict = ask(native, RIGHT, text)
    assert verdict.outcome is Outcome.FAILED
    assert len(verdict.tests) == 900
    assert sum(len(test.message) for test in verdict.tests) < 1 << 17


EXAMPLES = """
>>> add(1, 2)
3
>>> value = add([1], [2])
>>> value
[1, 2]
>>> add(1, "a")
Traceback (most recent call last):
TypeError: unsupported operand type(s) for +: 'int' and 'str'
>>> print(add(0.1, 0.2))  # doctest: +ELLIPSIS
0.3...
>>> print(add(1, 2), end="")
3
"""


IN_DOCSTRINGS = """\"\"\"Sums.

>>> more(1, 2)
4
>>> n = 5
\"\"\"
def more(a, b):
    \"\"\"
    >>> add(1, 2)
    3
    >>> n
    Traceback (most recent call last):
    NameError: name 'n' is not defined
    \"\"\"
    return add(a, b) + 1
"""


def test_doctest_of_a_script_with_docstrings(native: Client):
    right, wrong = ask(native, RIGHT, IN_DOCSTRINGS, "doctest"), ask(native, WRONG, IN_DOCSTRINGS, "doctest")
    assert (right.outcome, right.assurance) == (Outcome.PASSED, Assurance.SEPARATED), right
    assert [test.name for test in right.tests] == ["line 3", "line 9", "line 11"]
    assert [test.name for test in wrong.tests if test.outcome is not Ended.PASSED] == ["line 3", "line 9"]
    assert (
        ask(native, RIGHT, IN_DOCSTRINGS, "doctest", require_assurance=Assurance.IN_PROCESS).outcome is Outcome.PASSED
    )


def test_doctest(native: Client):
    right, wrong = ask(native, RIGHT, EXAMPLES, "doctest"), ask(native, WRONG, EXAMPLES, "doctest")
    assert right.outcome is Outcome.PASSED, right
    assert [test.name for test in right.tests] == ["line 2", "line 5", "line 7", "line 10", "line 12"]
    assert wrong.outcome is Outcome.FAILED
    assert wrong.tests[0].message == "got -1\n"
    own = "class Own(Exception):\n    pass\ndef add(a, b):\n    raise Own(a)\n"
    told = ask(native, own, ">>> add(1, 2)\nTraceback (most recent call last):\nOwn: 1\n", "doctest")
    assert (told.outcome, told.assurance) == (Outcome.PASSED, Assurance.SEPARATED), told


RAISING = """
def parse(text): compile(text, "x", "exec")
def note():
    error = ValueError("x")
    error.__notes__ = ["noted", "twice"]  # as add_note from Python 3.11 on
    raise error
"""
# An example -> whether doctest itself takes it (3.13).
TOLD = {
    ">>> parse('1 +')\nTraceback (most recent call last):\n  ...\nSyntaxError: invalid syntax\n": True,
    ">>> parse('1 +')\nTraceback (most recent call last):\n  ...\nSyntaxError: invalid syntax (x, line 1)\n": False,
    ">>> raise SyntaxError\nTraceback (most recent call last):\n  ...\nSyntaxError: <no detail available>\n": True,
    ">>> note()\nTraceback (most recent call last):\n  ...\nValueError: x\nnoted\ntwice\n": True,
    ">>> note()\nTraceback (most recent call last):\n  ...\nValueError: x\n": False,
    ">>> note() # doctest: +IGNORE_EXCEPTION_DETAIL\nTraceback (most recent call last):\n  ...\nValueError\n": True,
    ">>> note() # doctest: +ELLIPSIS, +IGNORE_EXCEPTION_DETAIL\nTraceback (most recent call last):\nV...: x...\n": True,
    ">>> note() # doctest: +ELLIPSIS, +IGNORE_EXCEPTION_DETAIL\nTraceback (most recent call last):\nT...: x..\n": False,
}


@BOTH_WAYS
def test_doctest_compares_what_was_raised_as_doctest_does(native: Client, require: Assurance | None):
    for shown, passes in TOLD.items():
        verdict = ask(native, RAISING, shown, "doctest", require_assurance=require)
        assert verdict.outcome is (Outcome.PASSED if passes else Outcome.FAILED), (shown, verdict)


@BOTH_WAYS
def test_doctest_of_what_exits(native: Client, require: Assurance | None):
    """As a command's `main` does; doctest takes it for any exception."""
    shown = ">>> add(1, 2)\nTraceback (most recent call last):\n    ...\nSystemExit: 3\n"
    for program, outcome in (("def add(a, b): raise SystemExit(a + b)", "PASSED"), (RIGHT, "FAILED")):
        verdict = ask(native, program, shown, "doctest", require_assurance=require)
        assert (verdict.outcome.name, len(verdict.tests)) == (outcome, 1), verdict
    left = ask(native, "def add(a, b): raise SystemExit", EXAMPLES, "doctest", require_assurance=require)
    assert (left.outcome, left.tests[0].outcome) == (Outcome.FAILED, Ended.ERROR), left


PYTEST = """
import pytest

@pytest.fixture
def one():
    return 1

@pytest.mark.parametrize("other", [1, 2])
def test_add(one, other):
    assert add(one, other) == one + other

class TestMore:
    def test_raises(self):
        with pytest.raises(TypeError):
            add(1, "a")
"""


@pytest.fixture(scope="module")
def with_pytest():
    with Client(workers=2, server_args=[f"--runtime=default={sys.executable}", "--own-packages"]) as client:
        yield client


def test_pytest(with_pytest: Client):
    right, wrong = ask(with_pytest, RIGHT, PYTEST, "pytest"), ask(with_pytest, WRONG, PYTEST, "pytest")
    assert right.outcome is Outcome.PASSED, right
    assert [test.name for test in right.tests] == ["test_add[1]", "test_add[2]", "TestMore::test_raises"]
    assert (wrong.outcome, wrong.tests[0].outcome) == (Outcome.FAILED, Ended.FAILED), wrong
    for script in ("x = 1", "import pytest\npytest.importorskip('no_such_module')\n" + PYTEST):
        assert ask(with_pytest, RIGHT, script, "pytest").outcome is Outcome.INVALID
    point = "class P:\n    def __eq__(self, other):\n        return True\n"
    compared = ask(with_pytest, point, "def test_same():\n    assert P() == P()\n", "pytest")
    assert compared.outcome is Outcome.FAILED
    assert compared.detail.endswith("two processes: compare their attributes")  # there is no other way for pytest
    theirs = "def test_zero(n):\n    return add(n, 0) == n\n"  # of the program, no test
    assert ask(with_pytest, RIGHT + theirs, PYTEST + "test_zero(1)\n", "pytest").outcome is Outcome.PASSED


FOR_PYTEST = {
    "a guard that runs it": "import pytest\ndef test(): assert add(1, 2) == 3\n"
    "if __name__ == '__main__':\n    pytest.main([__file__, '-v'])\n",
    "a guard that leaves with it": "import pytest, sys\ndef test(): assert add(1, 2) == 3\n"
    "if __name__ == '__main__':\n    sys.exit(pytest.main())\n",
    "a guard for unittest": "import sys, unittest\ndef test(): assert add(1, 2) == 3\n"
    "if __name__ == '__main__':\n    sys.exit(not unittest.main(exit=False).result.wasSuccessful())\n",
    "a guard that unittest leaves by": "from unittest import main\ncount = []\n"
    "def test():\n    count.append(add(1, 2))\n    assert count == [3]\nif __name__ == '__main__':\n    main()\n",
    # Which pytest warns of, and asks where it is.
    "a class that is no test": "from dataclasses import dataclass\n@dataclass\nclass TestData:\n    a: int\n"
    "    b: int\ndef test(): assert add(*vars(TestData(1, 2)).values()) == 3\n",
}


@pytest.mark.parametrize("name", FOR_PYTEST)
def test_a_script_for_pytest(with_pytest: Client, name: str):
    right, wrong = [ask(with_pytest, program, FOR_PYTEST[name], "pytest") for program in (RIGHT, WRONG)]
    assert (right.outcome, [test.name for test in right.tests]) == (Outcome.PASSED, ["test"]), right
    assert (wrong.outcome, wrong.tests[0].outcome) == (Outcome.FAILED, Ended.FAILED), wrong


def test_pytest_without_scratch_folders():
    """It goes back to where it began, which a worker without such a folder may not."""
    arguments = [f"--runtime=default={sys.executable}", "--own-packages", "--scratch-mib=0"]
    with Client(workers=1, server_args=arguments) as client:
        assert ask(client, RIGHT, PYTEST, "pytest").outcome is Outcome.PASSED


BROKEN_OFF = {
    "as by a key": "    raise KeyboardInterrupt",
    "as by a key, while it is reported": "    return Key()",
    "by what pytest cannot report": "    raise Bad",
}
IN_A_HELPER = """
def test_one():
    assert add(0, 0) == 0
def helper(one, other):
    assert one == other
def test_two():
    helper(add(1, 2), 3)
"""


@pytest.mark.parametrize("name", BROKEN_OFF)
def test_pytest_that_is_broken_off(with_pytest: Client, name: str):
    program = (
        "import sys, types\nBad = type('FixtureLookupError', (LookupError,), {'__module__': '_pytest.fixtures'})\n"
        "sys.modules['_pytest.fixtures'] = types.SimpleNamespace(FixtureLookupError=Bad)\n"
        "class Key:\n    def __repr__(self):\n        raise KeyboardInterrupt\n"
        "def add(a, b):\n    if not a:\n        return 0\n"
    )
    verdict = ask(with_pytest, program + BROKEN_OFF[name], IN_A_HELPER, "pytest")
    assert verdict.outcome is Outcome.FAILED, verdict
    assert verdict.tests[0].outcome is Ended.PASSED


def test_pytest_where_there_is_none(native: Client):
    verdict = ask(native, RIGHT, PYTEST, "pytest")
    assert verdict.outcome is Outcome.INVALID
    assert "which this runtime does not have" in verdict.detail


FORGERIES = {
    "SkipTest": "import unittest\ndef add(a, b):\n    raise unittest.SkipTest('no')",
    "exit": "import os\ndef add(a, b):\n    os._exit(0)",
    "SystemExit": "def add(a, b):\n    raise SystemExit(0)",
    "KeyboardInterrupt": "def add(a, b):\n    raise KeyboardInterrupt",
    "unittest replaced": "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n"
    "unittest.TestCase.run = lambda *a: None\ndef add(a, b):\n    return 7",
    "results written": "import os, struct\none = struct.pack('<IIcII', 13, 1, b'p', 0, 0)\n"
    "os.write(3, struct.pack('<IIcI', 9 + len(one), 1, b'T', len(one)) + one)\ndef add(a, b):\n    return 7",
    "equal to all": "class E:\n    __eq__ = lambda *a: True\n    __hash__ = None\ndef add(a, b):\n    return E()",
    "a class of its own": "import unittest\nclass TestAdd(unittest.TestCase):\n    def test(self): pass\n"
    "def add(a, b):\n    return 7",
}


@pytest.mark.parametrize("name", FORGERIES)
@pytest.mark.parametrize("framework", ["unittest", ""])
def test_forged_suites(native: Client, name: str, framework: str):
    assert ask(native, FORGERIES[name], CASES, framework).outcome is not Outcome.PASSED


# The script's own exceptions, its main guard and its expectations are nothing that a program can name, undo or be told.
LOOKED_FOR = {
    "an exception of the script's": (
        "import sys\nX = type('Done', (ValueError,), {'__module__': '__main__'})\nsys.modules['__main__'].Done = X\n"
        "def add(a, b):\n    raise X",
        "import unittest\nclass Done(ValueError): pass\nclass T(unittest.TestCase):\n    def test(self):\n"
        "        try:\n            self.assertEqual(add(1, 2), 3)\n            raise Done\n        except Done:\n"
        "            pass\n",
    ),
    "the guard of the script": (
        "import gc\nfor each in gc.get_objects():\n    if type(each).__name__ == '_Server':\n"
        "        each._given.clear()\n"
        "__name__ = 'no'\ndef add(a, b):\n    return 7\n",
        "def test():\n    assert add(1, 2) == 3\nif __name__ == '__main__':\n    test()\n",
    ),
    "its own SkipTest": (
        "def add(case, b):\n    case.skipTest('no')\n",
        "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n"
        "        self.assertEqual(add(self, 2), 3)\n    def test_more(self): pass\n",
    ),
    "a SkipTest that the program has caught": (
        "def add(call, b):\n    try:\n        call()\n    except Exception as error:\n        raise error\n",
        "import unittest\ndef skip(): raise unittest.SkipTest\nclass T(unittest.TestCase):\n    def test(self):\n"
        "        self.assertEqual(add(skip, 2), 3)\n    def test_more(self): pass\n",
    ),
    "the set that is expected": (
        "class E:\n    def difference(self, other):\n        E.told = other\n        return set()\n"
        "    def __iter__(self):\n        return iter(getattr(E, 'told', ()))\ndef add(a, b):\n    return E()\n",
        "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n"
        "        self.assertSetEqual(add(1, 2), {3})\n",
    ),
}


@pytest.mark.parametrize("name", LOOKED_FOR)
def test_what_the_script_keeps_to_itself(native: Client, name: str):
    program, script = LOOKED_FOR[name]
    framework = "unittest" if "unittest" in script else ""
    assert ask(native, program, script, framework).outcome in (Outcome.FAILED, Outcome.RAISED)


def test_what_unittest_tells_of_a_failure_begins_with_the_test(native: Client):
    """As without cruxbox: no frame of the harness stands before it."""
    script = (
        "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.assertEqual(add(1, 1), 2)\n"
        "told = unittest.TestResult()\nunittest.defaultTestLoader.loadTestsFromTestCase(T).run(told)\n"
        "assert told.wasSuccessful(), told.failures[0][1]\n"
    )
    told = ask(native, WRONG, script, "").exception.message.splitlines()
    assert told[:2] == ["Traceback (most recent call last):", '  File "<check>", line 3, in test_a'], told
