"""Suites of doctest and of pytest: what their own rules say of a test holds here, too."""

from __future__ import annotations

import sys

import pytest
from asked_suites import BOTH_WAYS, RIGHT, WRONG, ask
from cruxbox import Assurance, Client, Outcome
from cruxbox import TestOutcome as Ended

pytestmark = pytest.mark.kernel


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
    point = "class P:\n    def __init__(self, x): pass\n    def __eq__(self, other):\n        return True\n"
    compared = ask(with_pytest, point, "def test_same():\n    assert P(1) == P(1)\n", "pytest")
    assert compared.outcome is Outcome.FAILED
    assert compared.detail.endswith("two processes: compare their attributes")  # there is no other way for pytest
    theirs = "def test_zero(n):\n    return add(n, 0) == n\n"  # of the program, no test
    assert ask(with_pytest, RIGHT + theirs, PYTEST + "test_zero(1)\n", "pytest").outcome is Outcome.PASSED


@pytest.mark.parametrize("base", ["Base = Exception", "Base = dict", "from enum import Enum as Base"])
def test_pytest_collects_none_of_the_classes_base(with_pytest: Client, base: str):
    script = "class TestMore(Base):\n    def test(self):\n        assert add(1, 2) == 3\ndef test(): pass\n"
    verdict = ask(with_pytest, f"{WRONG}{base}\n", script, "pytest")
    assert (verdict.outcome, verdict.tests[-1].name) == (Outcome.FAILED, "TestMore"), verdict
    in_object = ask(with_pytest, f"{RIGHT}Base = object\n", script, "pytest")
    assert in_object.outcome is Outcome.PASSED, in_object


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
