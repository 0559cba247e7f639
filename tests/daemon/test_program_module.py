"""Scripts that import the program by a name, as a module of its own (`ScriptCheck.module`)."""

from __future__ import annotations

import sys

import pytest
from cruxbox import Assurance, Client, Outcome, ScriptCheck, Task, Verdict

pytestmark = pytest.mark.kernel

PROGRAM = '''\
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

RUNS = 0

def count():
    """
    >>> twice(1)
    2
    """
    global RUNS
    RUNS += 1
    return RUNS

def extra():
    return EXTRA

def _hidden():
    pass

if __name__ == "__main__":
    raise SystemExit("not here")
'''
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
    "a name of its own that the program has": "from prices import twice\ndef scaled(x): return 1\n"
    "assert twice(4) == 8 and scaled(4) == 1\n",
    "a builtin that the script has": "from prices import read\ndef open(path): return 1\n"
    "try: read()\nexcept OSError: pass\nelse: assert False\n",
    "no name that it does not import": "from prices import *\nassert twice(4) == 8\nimport prices\n"
    "assert 'scaled' in dir(prices)\ndef test():\n    try: _hidden\n    except NameError: return True\nassert test()\n",
    "a name that it reads and lacks": "import prices\nprices.EXTRA = 3\nassert prices.extra() == 3\n",
    "its source": "import inspect, prices\nassert inspect.getsource(prices).startswith('RATE = 2')\n",
    "a number that the program counts": "import prices\nassert prices.count() == 1 and prices.RUNS == 1\n"
    "prices.RUNS = 0\nassert prices.count() == 1 and prices.count() == 2 == prices.RUNS\n"
    "from unittest.mock import patch\nwith patch('prices.RUNS', 7):\n    assert prices.count() == 8\n"
    "assert prices.count() == 3\n",
    "its doctests": "import doctest, prices\nassert doctest.testmod(prices) == (0, 1)\n",
}
# A program that passes none of these in files of their own: (program, script).
WRONG = {
    "an import of the script's": ("def root(x): return math.sqrt(x)", "import math\nfrom prices import root\n"
                                  "assert root(4) == math.sqrt(4)\n"),
    "an import of all names": ("def root(x): return sqrt(x)", "from math import *\nfrom prices import root\n"
                               "assert root(4) == sqrt(4)\n"),
    "a function of the script's": ("def f(): return int(input())", "from prices import f\n"
                                   "def input(): return '5'\nassert f() == 5\n"),
    "a mock of the script's": ("def f(): return g()\ndef g(): return 1", "from unittest.mock import Mock\n"
                               "from prices import f\ng = Mock(return_value=5)\nassert f() == 5\n"),
    "a builtin": ("def abs(x): return 0\ndef f(x): return 5", "import prices\nassert abs(prices.f(1) - 2) < 1e-6\n"),
    "a builtin, of all names": ("def abs(x): return 0\ndef f(x): return 5", "from prices import *\n"
                                "assert abs(f(1) - 2) < 1e-6\n"),
    "a failing doctest": ('def f():\n    """\n    >>> f()\n    1\n    """', HOLD["its doctests"]),
}  # fmt: skip
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


@pytest.mark.parametrize("name", WRONG)
def test_neither_has_names_of_the_other_s_by_itself(client: Client, name: str):
    program, script = WRONG[name]
    for require in (None, Assurance.IN_PROCESS) if "builtin" not in name else (None,):
        assert ask(client, script, program, require).outcome in (Outcome.FAILED, Outcome.RAISED)


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


HALTS = """\
class Halt(StopIteration): pass
class Closed(GeneratorExit): pass
def step(): raise Halt(1)
def close(): raise Closed
"""
EXPECTS = {
    "pytest": "import pytest, prices\ndef test():\n    with pytest.raises(prices.Halt):\n        prices.step()\n",
    "": "import prices as p\nfrom unittest import TestCase\nTestCase().assertRaises(p.Closed, p.close)\n"
    "try:\n    p.step()\n    assert False\nexcept p.Halt as error:\n    assert error.value == 1\n",
    "unittest": "import unittest\nclass T(unittest.TestCase):\n    def test(self):\n        import prices\n"
    "        with self.assertRaises(prices.Halt):\n            prices.step()\n",
}


@pytest.mark.parametrize("framework", EXPECTS)
def test_what_ends_an_iteration_is_expected_as_the_module_has_it(client: Client, framework: str):
    assert ask(client, EXPECTS[framework], HALTS, framework=framework).outcome is Outcome.PASSED
    assert ask(client, EXPECTS[framework], HALTS.replace("raise Halt(1)", "pass"), framework=framework).passed is False
    another = EXPECTS[framework].replace(".Halt", ".Others")
    program = f"{HALTS}class Others(StopIteration): pass\n"
    assert ask(client, another, program, framework=framework).passed is False


@pytest.mark.parametrize("guard", ['__name__ == "__main__"', '"__main__" == __name__ and len(sys.argv) != 9'])
def test_pytest_runs_nothing_that_a_script_guards_by_being_the_main_module(client: Client, guard: str):
    script = f"import sys\n{PYTEST}\nif {guard}:\n    sys.exit(int(input('how often? ')))\n"
    assert ask(client, script, framework="pytest").outcome is Outcome.PASSED
    by_main = script.replace("import prices", "import __main__ as prices").replace("from prices import Cart, twice", "")
    verdict = ask(client, by_main.replace('"prices.', '"__main__.'), framework="pytest", module="")
    assert (verdict.outcome, len(verdict.tests)) == (Outcome.PASSED, 3), verdict


NAMED = """\
import logging, pickle, sys

class Cart:
    pass

class Empty(Exception):
    pass

def named():
    return __name__

def pay():
    logging.getLogger(__name__).warning("paid")
    raise Empty("no cart")

def again():
    return sys.modules[__name__].named(), type(pickle.loads(pickle.dumps(Cart()))) is Cart

def itself():
    import prices
    return prices.named()
"""
BY_NAME = {
    "the module's": "import prices\nassert prices.__name__ == prices.named() == prices.itself() == 'prices'\n",
    "a function's": "from prices import named\nassert named.__module__ == 'prices'\n",
    "a class's": "from prices import Cart\nassert Cart.__module__ == 'prices' and 'prices.Cart' in repr(Cart)\n",
    "an object's": "from prices import Cart\nassert repr(Cart()).startswith('<prices.Cart object at 0x')\n",
    "to itself": "from prices import again\nassert again() == ('prices', True)\n",
    "an error's": "import prices, traceback\ntry:\n    prices.pay()\nexcept prices.Empty:\n"
    "    assert traceback.format_exc().endswith('prices.Empty: no cart\\n')\n",
    "a logger's": "import prices, unittest\nclass Pay(unittest.TestCase):\n    def test(self):\n"
    "        with self.assertLogs('prices', 'WARNING') as logs, self.assertRaises(prices.Empty):\n"
    "            prices.pay()\n        self.assertEqual(logs.output, ['WARNING:prices:paid'])\nunittest.main()\n",
}


@pytest.mark.parametrize("name", BY_NAME)
def test_the_program_says_that_it_is_of_that_name(client: Client, name: str):
    verdict = ask(client, BY_NAME[name], NAMED)
    assert (verdict.outcome, verdict.assurance) == (Outcome.PASSED, Assurance.SEPARATED), verdict


@pytest.mark.parametrize("script", ["import prices as p\n", "import prices\np = prices\n"])
@pytest.mark.parametrize("more", ["def __getattr__(name):\n    return 3\n", "__main__ = 3\n"])
def test_what_a_script_imports_is_the_module_whatever_the_program_says_of_it(client: Client, script: str, more: str):
    script += "assert p.f() == 1\n"
    assert ask(client, script, "def f():\n    return 1\n" + more).outcome is Outcome.PASSED
    assert ask(client, script, "def f():\n    return 2\n" + more).outcome is Outcome.FAILED


@pytest.mark.parametrize("script", [HOLD["its names"], HOLD["the module"], UNITTEST])
def test_in_one_process_too(client: Client, script: str):
    assert ask(client, script, PROGRAM, Assurance.IN_PROCESS).outcome is Outcome.PASSED
    assert ask(client, script, PROGRAM.replace("RATE = 2", "RATE = 0"), Assurance.IN_PROCESS).passed is False


OF_BUILTINS = """\
def map(function, items):
    return [function(each) for each in items]

def sum(items):
    return 7 if list(items) else None

def abs(x):
    return 0

def count(items):
    return len(map(str, items))

class TimeoutError(Exception):
    pass

def wait():
    raise TimeoutError("late")
"""
HOLD_OF_BUILTINS = {
    "by another name": "from prices import map as own\nassert own(str, [1]) == ['1'] != map(str, [1])\n",
    "by that name": "from prices import count, map\nassert map(str, [1]) == ['1'] and count([1]) == 1\n",
    "of the module": "import prices\nassert prices.map(str, [1]) == ['1'] and prices.sum([1, 2]) == 7 != sum([1, 2])\n",
    "a class": "import prices\nfrom prices import TimeoutError as Own\ntry: prices.wait()\n"
    "except TimeoutError: assert False\nexcept Own as error: assert error.args == ('late',)\n",
    "a patched one": "import prices\nfrom unittest.mock import patch\nwith patch('prices.map', return_value=[5, 6]):\n"
    "    assert prices.count([1]) == 2\nassert prices.count([1]) == 1 and list(map(str, [1])) == ['1']\n",
    "one set": "import prices\nold = prices.map\nprices.map = lambda *_: []\nassert prices.count([1]) == 0\n"
    "prices.map = old\nassert prices.count([1]) == 1 and old(str, [1]) == ['1'] != map(str, [1])\n",
    "the module, passed": "import prices\nassert prices.map(lambda m: m.count([1]), [prices]) == [1]\n",
}


@pytest.mark.parametrize("entry", ["", "count"])
@pytest.mark.parametrize("name", HOLD_OF_BUILTINS)
def test_what_a_program_has_by_the_name_of_a_builtin_the_script_takes_from_the_module(
    client: Client, name: str, entry: str
):
    verdict = ask(client, HOLD_OF_BUILTINS[name], OF_BUILTINS, entry_point=entry)
    assert (verdict.outcome, verdict.assurance) == (Outcome.PASSED, Assurance.SEPARATED), verdict
    assert ask(client, HOLD_OF_BUILTINS[name], "def count(items): return 1", entry_point=entry).passed is False


@pytest.mark.parametrize(
    "script",
    [
        "import prices\nassert abs(prices.count([1]) - 5) < 1e-9\n",
        "import prices as p\nx = p.count([1])\nassert abs(x - 5) < 1e-9 and p.abs(1) == 0\n",
        "import importlib\nassert abs(importlib.import_module('prices').count([1]) - 5) < 1e-9\n",
        "from prices import abs as own, count\nassert abs(count([1]) - 5) < 1e-9\n",
        "from prices import *\nassert abs(count([1]) - 5) < 1e-9\n",
        "import prices\nold = prices.abs\nprices.abs = len\nprices.abs = old\n"
        "assert abs(prices.count([1]) - 5) < 1e-9\n",
    ],
)
def test_a_builtin_is_python_s_own_where_the_script_takes_the_program_for_a_module(client: Client, script: str):
    verdict = ask(client, script, OF_BUILTINS)
    assert verdict.outcome is Outcome.FAILED, verdict
    assert ask(client, script, OF_BUILTINS.replace("len(map(str, items))", "5")).outcome is Outcome.PASSED


def test_a_name_that_the_program_lacks_is_its_failure(client: Client):
    verdict = ask(client, "from prices import thrice\nassert thrice(1) == 3\n")
    assert verdict.exception is not None
    assert (verdict.outcome, verdict.exception.type) == (Outcome.RAISED, "ImportError")


AGAIN = {
    "reloaded": "import importlib, prices\nwith pytest.raises(Exception):\n    importlib.reload(prices)\n",
    "imported again": "import prices, sys\ndel sys.modules['prices']\n"
    "with pytest.raises(Exception):\n    import prices\n",
    "run by its name": "import prices, runpy\nwith pytest.raises(Exception):\n    runpy.run_module('prices')\n",
    "made from its spec": "import importlib.util, prices\nspec = importlib.util.find_spec('prices')\n"
    "assert spec is prices.__spec__ and spec.name == 'prices'\n"
    "assert repr(prices) == \"<module 'prices' from 'prices.py'>\"\n"
    "with pytest.raises(Exception):\n    importlib.util.module_from_spec(spec)\n",
    "executed by its loader": "import prices\nwith pytest.raises(Exception):\n"
    "    prices.__spec__.loader.exec_module(prices)\n",
    "by its text": "import importlib, prices, sys\ndel sys.modules['prices']\n"
    "with pytest.raises(ImportError):\n    importlib.import_module('prices')\n",
}


@pytest.mark.parametrize("name", AGAIN)
def test_a_script_that_loads_the_program_again_hears_no_error_that_it_may_expect(client: Client, name: str):
    verdict = ask(client, "import pytest\n" + AGAIN[name] + "assert prices.twice(4) == 8\n")
    assert verdict.outcome is Outcome.FAILED, verdict
    assert "loads the module prices a second time" in verdict.detail


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
        ("_os", "module is '_os', which this runtime has as a module of its own"),
        ("pytest", "module is 'pytest', which this runtime has as a module of its own"),
    ],
)
def test_a_name_that_cannot_be_the_program_s_is_invalid(client: Client, module: str, why: str):
    for require in (None, Assurance.IN_PROCESS):
        verdict = ask(client, HOLD["its names"], require=require, module=module)
        assert verdict.outcome is Outcome.INVALID
        assert why in verdict.detail
