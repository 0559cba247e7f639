"""Scripts that import the program by a name of their own (`ScriptCheck.module`)."""

from __future__ import annotations

import sys

import pytest
from cruxbox import Assurance, Client, Outcome, ScriptCheck, Task, Verdict

pytestmark = pytest.mark.kernel

PROGRAM = """\
RATE = 2

def twice(x):
    return scaled(x)

def scaled(x):
    return x * RATE

def read():
    return open("prices").read()

class Cart:
    def total(self):
        return scaled(10)

if __name__ == "__main__":
    raise SystemExit("not here")
"""
HOLD = {
    "its names": "from prices import twice, Cart\nassert twice(4) == 8 and Cart().total() == 20\n",
    "another name": "from prices import twice as double\nassert double(4) == 8\n",
    "all names": "from prices import *\nassert twice(4) == 8\n",
    "the module": "import prices\nassert prices.twice(4) == 8 and not hasattr(prices, 'thrice')\n",
    "the module by another name": "import prices as p\nassert p.twice(4) == 8 and 'scaled' in dir(p)\n",
    "the module by a text": "import importlib\nassert importlib.import_module('prices').twice(4) == 8\n",
    "within a function": "def test():\n    from prices import twice\n    assert twice(4) == 8\ntest()\n",
    "a patched function": "import prices\nfrom unittest.mock import patch\n"
    "with patch('prices.scaled', return_value=5):\n    assert prices.twice(4) == 5\nassert prices.twice(4) == 8\n",
    "a patched builtin": "from prices import read\nfrom unittest.mock import mock_open, patch\n"
    "with patch('prices.open', mock_open(read_data='1'), create=True):\n    assert read() == '1'\n",
    "a number set": "import prices\nassert prices.RATE == 2\nprices.RATE = 3\nassert prices.twice(4) == 12\n",
    "a function set": "import prices\nprices.scaled = lambda x: -x\nassert prices.Cart().total() == -10\n",
}
PYTEST = """\
import prices
import pytest
from prices import Cart, twice

@pytest.mark.parametrize("x", [1, 2])
def test_twice(x):
    assert twice(x) == 2 * x

def test_total(monkeypatch):
    monkeypatch.setattr("prices.scaled", lambda x: x)
    assert Cart().total() == 10
    monkeypatch.setattr(prices, "scaled", lambda x: x + 1)
    assert Cart().total() == 11
"""
UNITTEST = """\
import unittest
from prices import twice

class TestTwice(unittest.TestCase):
    def test_it(self):
        self.assertEqual(twice(4), 8)

if __name__ == "__main__":
    unittest.main()
"""


@pytest.fixture(scope="module")
def client():
    with Client(workers=2, server_args=[f"--runtime=default={sys.executable}", "--own-packages"]) as client:
        yield client


def ask(client: Client, script: str, program: str = PROGRAM, require: Assurance | None = None, **how: str) -> Verdict:
    check = ScriptCheck(script, **{"module": "prices", **how})  # type: ignore[arg-type]
    [verdict] = client.check([Task(program, [check], require_assurance=require)])
    return verdict


@pytest.mark.parametrize("name", HOLD)
def test_a_script_finds_the_program_under_that_name(client: Client, name: str):
    verdict = ask(client, HOLD[name])
    assert (verdict.outcome, verdict.assurance) == (Outcome.PASSED, Assurance.SEPARATED), verdict
    assert ask(client, HOLD[name], "def thrice(x): ...").passed is False


@pytest.mark.parametrize(
    ("script", "framework", "tests"),
    [
        (PYTEST, "pytest", 3),
        (UNITTEST, "", 1),
        (UNITTEST, "unittest", 1),
        (">>> from prices import twice\n>>> twice(4)\n8\n", "doctest", 1),
    ],
)
def test_suites_do(client: Client, script: str, framework: str, tests: int):
    right = ask(client, script, framework=framework)
    assert (right.outcome, len(right.tests)) == (Outcome.PASSED, tests), right
    assert ask(client, script, PROGRAM.replace("scaled(x)\n", "1\n"), framework=framework).outcome is Outcome.FAILED


@pytest.mark.parametrize("script", [HOLD["its names"], HOLD["the module"], UNITTEST])
def test_in_one_process_too(client: Client, script: str):
    guarded = PROGRAM.partition("if __name__")[0]  # which is the main module there
    assert ask(client, script, guarded, Assurance.IN_PROCESS).outcome is Outcome.PASSED
    assert ask(client, script, guarded.replace("RATE = 2", "RATE = 0"), Assurance.IN_PROCESS).passed is False


def test_a_name_that_the_program_lacks_is_its_failure(client: Client):
    verdict = ask(client, "from prices import thrice\nassert thrice(1) == 3\n")
    assert verdict.exception is not None
    assert (verdict.outcome, verdict.exception.type) == (Outcome.RAISED, "ImportError")


def test_a_script_that_tests_nothing_is_invalid_by_any_name(client: Client):
    verdict = ask(client, "import prices\ndef test():\n    assert prices.twice(4) == 8\n")
    assert verdict.outcome is Outcome.INVALID
    assert "tests nothing" in verdict.detail


@pytest.mark.parametrize(
    ("module", "why"),
    [
        ("prices.core", "script.module is 'prices.core', which is not a Python name"),
        ("json", "module is 'json', which this runtime has as a module of its own"),
        ("colorsys", "module is 'colorsys', which this runtime has as a module of its own"),
        ("__main__", "module is '__main__', which this runtime has as a module of its own"),
        ("pytest", "module is 'pytest', which this runtime has as a module of its own"),
    ],
)
def test_a_name_that_cannot_be_the_program_s_is_invalid(client: Client, module: str, why: str):
    for require in (None, Assurance.IN_PROCESS):
        verdict = ask(client, HOLD["its names"], require=require, module=module)
        assert verdict.outcome is Outcome.INVALID
        assert why in verdict.detail
