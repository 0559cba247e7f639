"""Programs that give a test tables which are not what they seem: none passes, and those that only compute do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from cruxbox import Client, Limits, Outcome, ScriptCheck, Task

pytestmark = [
    pytest.mark.kernel,
    pytest.mark.skipif("CRUXBOX_PACKAGES" not in os.environ, reason="CRUXBOX_PACKAGES is not set"),
]
LIMITS = Limits(cpu_ms=8_000, wall_ms=60_000, memory_bytes=1 << 30)
SCRIPT = """
import pandas as pd
import unittest
class TestCases(unittest.TestCase):
    def setUp(self):
        self.expected = pd.DataFrame({"k": ["a", "b"], "v": [4, 2]})
        self.result = task_func(pd.DataFrame({"k": ["a", "b", "a"], "v": [1, 2, 3]}))
    def test_is(self): self.assertIsInstance(self.result, pd.DataFrame)
    def test_frame(self): pd.testing.assert_frame_equal(self.result, self.expected)
    def test_equals(self): self.assertTrue(self.result.equals(self.expected) and self.expected.equals(self.result))
    def test_lists(self): self.assertEqual(self.result.values.tolist(), [["a", 4], ["b", 2]])
    def test_all(self): self.assertTrue((self.result == self.expected).all().all())
"""
ASKED = """
import pandas as pd
def answer(question, result, expected):
    try: return bool(question(result, expected))
    except Exception: return False
class TestCases(__import__("unittest").TestCase):
    def test_one(self):
        expected = pd.DataFrame({"k": ["a", "b"], "v": [4, 2]})
        result = task_func(pd.DataFrame({"k": ["a", "b", "a"], "v": [1, 2, 3]}))
        found = [at for at, each in enumerate(QUESTIONS) if answer(each, result, expected)]
        self.assertEqual(found, WANTED)
"""
QUESTIONS = [
    "result.equals(expected)",
    "expected.equals(result)",
    "(result == expected).all().all()",
    "(expected == result).all().all()",
    "expected.compare(result).empty",
    "pd.testing.assert_frame_equal(result, expected) is None",
    "pd.testing.assert_frame_equal(result, expected, check_dtype=False) is None",
    "result['v'].tolist() == [4, 2]",
    "expected['v'].isin(result['v']).all()",
    "result['v'].sum() == 6 and len(result) == 2",
    "(result['v'] == expected['v']).all()",
    "expected['v'].equals(result['v'])",
    "result.iloc[0]['v'] == 4",
    "(result['v'] - expected['v']).abs().max() == 0",
    "set(result['v']) == {4, 2}",
]
RIGHT = """
import pandas as pd
def task_func(df):
    return df.groupby("k", as_index=False)["v"].sum()
"""
LIAR, *_PARTS = Path(__file__).with_name("lying_tables.txt").read_text().split("#### ")
LIES = {name: LIAR + program for name, _, program in (part.partition("\n") for part in _PARTS)}
# All questions were answered as WANTED says; what says that it equals a number is FAILED for that alone, in the end.
AS_WANTED = ("PASSED", "FAILED the script took a ")
# What would answer for itself whether it equals a table, and is not asked.
OBJECTS = {"an object", "an object with an array", "a subclass", "a class that says it is another", "an index", "names"}
# Questions whose answer is yes for plain CPython, too: what is missing is neither equal nor unequal; and two numbers
# that are swapped have one sum and one set.
ALSO_SO = {
    "missing of pandas": [2, 3, 10],
    "swapped": [8, 9, 14],
}


def script(wanted: list[int], asked: list[str] = QUESTIONS) -> str:
    questions = "".join(f"    lambda result, expected: {question},\n" for question in asked)
    return f"WANTED = {wanted}\nQUESTIONS = [\n{questions}]\n{ASKED}"


@pytest.fixture(scope="module")
def client():
    arguments = [f"--runtime=sci={os.environ['CRUXBOX_PACKAGES']}", "--preload=sci=pandas", "--canary-s=0"]
    with Client(server_args=arguments) as client:
        yield client


def judged(client: Client, cases: dict[str, tuple[str, str]]) -> dict[str, str]:
    tasks = [
        Task(one, [ScriptCheck(script, "task_func", framework="unittest")], runtime="sci", limits=LIMITS)
        for one, script in cases.values()
    ]
    verdicts = client.check(tasks)
    return {name: f"{each.outcome.name} {each.detail}" for name, each in zip(cases, verdicts)}


def test_a_program_that_computes_the_table_passes(client: Client):
    found = judged(client, {"all": (RIGHT, SCRIPT), "each": (RIGHT, script(list(range(len(QUESTIONS)))))})
    assert {name: text for name, text in found.items() if not text.startswith("PASSED")} == {}


def test_no_question_is_answered_well_by_a_table_that_is_not_what_it_seems(client: Client):
    asked = {name: QUESTIONS[name in OBJECTS :] for name in LIES}
    found = judged(client, {name: (lie, script(ALSO_SO.get(name, []), asked[name])) for name, lie in LIES.items()})
    answered = {name: text for name, text in found.items() if "is for the candidate to say" not in text}
    assert {name: text for name, text in answered.items() if not text.startswith(AS_WANTED)} == {}
    assert set(found) - set(answered) == {"items", "ints of their own", "categories"}


def test_no_object_is_told_which_table_is_expected(client: Client):
    found = judged(client, {name: (LIES[name], script([0])) for name in OBJECTS})
    why = "FAILED equals with a DataFrame is for the candidate to say"
    assert {name: text for name, text in found.items() if not text.startswith(why)} == {}


def test_a_table_without_end_fails(client: Client):
    lie = "import pandas as pd\ndef task_func(df): return pd.DataFrame(index=pd.RangeIndex(10**15))\n"
    [text] = judged(client, {"long": (lie, SCRIPT)}).values()
    assert text.split()[0] in ("FAILED", "TIMED_OUT", "MEMORY_LIMIT"), text


# Arrays whose comparison with anything gives another, and what a script makes of that.
ARRAYS = ["pd.array(['a'])", "pd.array([None], 'Int64')", "pd.array([], 'Int64')", "pd.Index([1, 4], dtype='Int64')"]
ASSERTED = [
    "assert r == 4",
    "assert not r != 4",
    "if r != 4: raise AssertionError",
    "assert [r] == [4]",
    "assert r in (4, 5)",
]


def test_no_array_is_what_any_script_expects(client: Client):
    program, names = (
        "import pandas as pd\ndef task_func():\n    return {}\n",
        [(a, b) for a in ARRAYS for b in ASSERTED],
    )
    tasks = [
        Task(
            program.format(array),
            [ScriptCheck(f"r = task_func()\n{asserted}\n", "task_func")],
            runtime="sci",
            limits=LIMITS,
        )
        for array, asserted in names
    ]
    passed = [name for name, verdict in zip(names, client.check(tasks)) if verdict.outcome is Outcome.PASSED]
    assert passed == []


# Arrays that come to hold what the script makes to compare with.
FILLED = """
import numpy as np
A = np.array([None, None], dtype=object)
class P:
    def __init__(self, v):
        self.v = v
        if v < 3: A[v - 1] = self
    def __eq__(self, other): return self.v == other.v
def task_func(): return A, A[:1], [A], np.array([A, None], dtype=object)
"""
EXPECTED = [
    "(task_func()[0] == np.array([P(1), P(2)], dtype=object)).all()",
    "np.array_equal(task_func()[1], [P(1)])",
    "r[0].tolist() == [P(1), P(2)]",
    "task_func()[2][0][0] == P(1)",
    "r[3][0][0] == P(1)",
]


def test_no_array_becomes_what_the_script_makes(client: Client):
    head = "import numpy as np\nimport unittest\nclass TestCases(unittest.TestCase):\n    def test_one(self):\n"
    lines = "        r = task_func()\n        self.assertTrue("
    found = judged(client, {each: (FILLED, f"{head}{lines}{each})") for each in EXPECTED})
    assert {name: text for name, text in found.items() if not text.startswith("FAILED")} == {}


# Tables that a script passes as objects of its own, and what a program has them evaluate.
PASSED = {
    "named": "frame.attrs['unit'] = 'm'",
    "sparse": "frame = pd.get_dummies(frame, columns=['b'], sparse=True)",
}
EVALUATED = {
    "a variable of the script's": ("@expected", "INVALID"),
    "what leads to it": ("a.__class__.__init__.__globals__", "INVALID"),
    "a number": ("a.max()", "FAILED"),
    "what is right": ("a.max() + 15", "PASSED"),
}
EVALUATES = """
def task_func(frame):
    for level in range(60):
        try: return int(frame.eval({text!r}, level=level))
        except NameError: pass
"""
PASSES = """
import pandas as pd
def check(f):
    frame = pd.DataFrame({{'a': [1, 2], 'b': ['x', 'y']}})
    {line}
    expected = 17
    assert f(frame) == expected
check(task_func)
"""


def test_no_table_of_the_script_s_tells_what_is_expected(client: Client):
    tasks, wanted = [], []
    for line in PASSED.values():
        for text, outcome in EVALUATED.values():
            checks = [ScriptCheck(PASSES.format(line=line), "task_func")]
            tasks.append(Task(EVALUATES.format(text=text), checks, runtime="sci", limits=LIMITS))
            wanted.append(outcome)
    assert [verdict.outcome.name for verdict in client.check(tasks)] == wanted
