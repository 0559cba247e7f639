"""Suites: a result for each test, passed only if one ran and all passed; what nobody runs is never a pass."""

from __future__ import annotations

import pytest
from asked_suites import BOTH_WAYS, RIGHT, WRONG, ask
from cruxbox import Assurance, Client, Outcome
from cruxbox import TestOutcome as Ended

pytestmark = pytest.mark.kernel

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


@BOTH_WAYS
@pytest.mark.parametrize("program", [RIGHT, WRONG], ids=["right", "wrong"])
def test_a_script_that_has_test_cases_by_the_imports_of_the_program_is_a_suite(
    native: Client, program: str, require: Assurance | None
):
    script = "class T(TestCase):\n    def test(self): self.assertEqual(add(1, 1), 2)\n"
    verdict = ask(native, "from unittest import TestCase\n" + program, script, "", require_assurance=require)
    assert verdict.outcome is (Outcome.PASSED if program is RIGHT else Outcome.FAILED), verdict
    assert len(verdict.tests) == 1


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


@BOTH_WAYS
def test_a_suite_with_much_data(native: Client, require: Assurance | None):
    data = ", ".join([f"({n}, {n + 1})" for n in range(100_000)])
    script = f"import unittest\nDATA = [{data}]\nclass Double(int): pass\nclass T(unittest.TestCase):\n"
    script += (
        "    def test(self):\n        self.assertEqual([add(n, Double(1)) for n, _ in DATA[:9]], list(range(1, 10)))\n"
    )
    verdict = ask(native, RIGHT, script, require_assurance=require)
    assert verdict.outcome is Outcome.PASSED, verdict


FAKE = """import unittest
class Fake(Device):
    def test(self):
        return 2
class T(unittest.TestCase):
    def test_it(self):
        self.assertEqual(add(1, 1), Fake().test())
"""


def test_in_process_a_class_with_a_method_called_test_need_not_be_a_test(native: Client):
    for program in (RIGHT + "class Device: pass\n", RIGHT + "Device = object\n"):
        assert ask(native, program, FAKE, require_assurance=Assurance.IN_PROCESS).outcome is Outcome.PASSED
        assert ask(native, program, FAKE).outcome is Outcome.FAILED


@pytest.mark.parametrize("framework", ["", "unittest"])
@BOTH_WAYS
def test_a_test_case_by_its_text_alone_fails(native: Client, framework: str, require: Assurance | None):
    script = "class T(TestCase):\n    def test(self):\n        self.assertEqual(add(1, 2), 3)\n"
    more = "import unittest\nclass U(unittest.TestCase):\n    def test(self): pass\n"
    for text in (script, script + more):
        verdict = ask(native, WRONG + "TestCase = object\n", text, framework, require_assurance=require)
        assert (verdict.outcome, [one.name for one in verdict.tests][-1:]) == (Outcome.FAILED, ["T"]), verdict
