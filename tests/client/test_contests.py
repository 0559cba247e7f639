"""Problems of contests, in the files of APPS, CodeContests and LiveCodeBench: read, and judged by `cruxbox stdio`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cruxbox.cli import main
from cruxbox.model import ScriptCheck, StdioCheck
from cruxbox.problems.contests import Comparison, problem_of
from cruxbox.problems.heads import Head
from cruxbox.problems.records import BadRow
from problems_by_hand import packed

SUM_TESTS = [{"input": f"{n}\n{n + 1}\n", "output": f"{2 * n + 1}\n", "testtype": "stdin"} for n in range(14)]
TWO_SUM = [
    {"input": "[2, 7, 11, 15]\n9", "output": "[0, 1]", "testtype": "functional"},
    {"input": "[3, 3]\n6", "output": "[0, 1]", "testtype": "functional"},
]
STARTER = "class Solution:\n    def twoSum(self, nums: List[int], target: int) -> List[int]:\n        "
PROBLEMS = {
    "apps program": {
        "problem_id": 7,
        "question": "Double it.",
        "input_output": json.dumps({"inputs": ["2\n", ["3", ""]], "outputs": ["4.0\n", "6\n"]}),
    },
    "apps function": {
        "problem_id": 8,
        "input_output": json.dumps({"fn_name": "pairs", "inputs": [[[1, 2]], [[]]], "outputs": [[[[1, 2]]], [[]]]}),
    },
    "apps keys": {
        "problem_id": 9,
        "input_output": json.dumps({"fn_name": "f", "inputs": [[{"1": 2}]], "outputs": [[{"1": 4}, {"-3": 1}]]}),
    },
    "apps name": {
        "problem_id": 11,
        "input_output": json.dumps({"fn_name": "gcd", "inputs": [[4, 6]], "outputs": [2]}),
    },
    "apps digits": {
        "problem_id": 12,
        "input_output": f'{{"fn_name": "nines", "inputs": [[4000]], "outputs": [{"9" * 4000}]}}',
    },
    "apps lines of JSON": {
        "problem_id": 13,
        "input_output": {
            "fn_name": "pair",
            "inputs": ["[1, 2]\n3", '[]\n"a"'],
            "outputs": ["[[1, 2], 3]", '[[], "a"]'],
        },
    },
    "code contests": {
        "name": "1_A. Sum",
        "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
        "private_tests": {"input": [], "output": []},
        "generated_tests": [{"input": "5 6\n", "output": "11\n"}],
    },
    "live program": {
        "question_id": "abc_a",
        "public_test_cases": json.dumps(SUM_TESTS[:1]),
        "private_test_cases": packed(json.dumps(SUM_TESTS[1:])),
        "metadata": "{}",
        "starter_code": "",
    },
    "live function": {
        "question_id": "3001",
        "public_test_cases": json.dumps(TWO_SUM[:1]),
        "private_test_cases": packed(json.dumps(TWO_SUM[1:])),
        "metadata": json.dumps({"func_name": "twoSum"}),
        "starter_code": STARTER,
    },
}
ADD = "print(int(input()) + int(input()))"
SOLVE = """
class Solution:
    def twoSum(self, nums: List[int], target: int) -> List[int]:
        seen = {}
        for at, n in enumerate(nums):
            if target - n in seen:
                return (seen[target - n], at)
            seen[n] = at
"""
# What LiveCodeBench has in front of functions: modules by their names, and room for recursion.
DEEP = """
class Solution:
    def twoSum(self, nums, target):
        def depth(n):
            return n and 1 + depth(n - 1)
        known = deepcopy(json.loads(json.dumps(nums))) and mean(nums) and depth(5000) and datetime.datetime.now()
        return [0, bisect.bisect_left(range(9), 1)] if known else []
"""
DEEP_PROGRAM = """from __future__ import annotations
def depth(n):
    return n and 1 + depth(n - 1)
print(depth(5000) - 5000 + sum(map(int, chain([input()], [input()]))))
"""
FORGED = "class E:\n    def __eq__(self, other): return True\nclass Solution:\n    def twoSum(self, a, b): return E()\n"
# problem -> [(program, is it right, field of the result line -> what it holds)]
SAMPLES = {
    "apps keys": [
        ("def f(d): return [{k: v * 2 for k, v in d.items()}, {-3: 1}]", True, {}),
        ("def f(d): return [{'1': 4}, {'-3': 1}]", False, {}),
    ],
    "apps program": [
        ("print(2 * int(input()))", True, {"tests": 2}),
        ("print(2.000001 * int(input()))", True, {}),
        ("print(4)", False, {"failed": "test 2", "outcome": "FAILED"}),
        ("print(reduce(mul, [2, int(input())], math.gcd(2, 3)))", True, {}),
    ],
    "apps function": [
        ("def pairs(xs):\n    return [tuple(xs)] if xs else []", True, {"outcome": "PASSED"}),
        ("from __future__ import annotations\ndef pairs(xs: Nope): return [xs] if xs else xs", True, {}),
        ("def pairs(xs):\n    return [xs, xs]", False, {"outcome": "FAILED"}),
    ],
    "apps name": [
        ("def gcd(a, b): return math.gcd(a, b) if time and fractions else 0", True, {}),
        ("class Solution:\n    def gcd(self, a, b): return gcd(a, b)", True, {}),
        ("if True:\n    class Solution:\n        def gcd(self, a, b): return gcd(a, b)", True, {}),
        ("x = 1", False, {"result": "failed: NameError: name 'candidate' is not defined"}),
    ],
    "apps digits": [
        ("def nines(n): return 10**n - 1", True, {}),
        ("def nines(n): return 10**n - 2", False, {"outcome": "FAILED"}),
    ],
    "apps lines of JSON": [
        ("def pair(xs, x): return [xs, x]", True, {}),
        ("def pair(xs, x): return [xs, 3]", False, {"outcome": "FAILED"}),
        ("def pair(xs): return [xs, 3]", False, {"outcome": "RAISED"}),
    ],
    "code contests": [
        ("print(sum(map(int, input().split())))", True, {"tests": 2}),
        ("print(3)", False, {"failed": "test 2"}),
        (
            "print(reduce(add, map(int, input().split())))",
            False,
            {"failed": "test 1", "outcome": "RAISED"},
        ),
    ],
    "live program": [
        (ADD, True, {"tests": 14}),
        ("print('\\n', 1.0 * int(input()) + int(input()))", True, {"tests": 14}),
        ("n = int(input()); print(2 * n + (n < 13))", False, {"failed": "test 14"}),
        ("import sys\nsys.exit(0)", False, {"failed": "test 1"}),
        (DEEP_PROGRAM, True, {}),
        ("raise KeyError(4)", False, {"result": "failed: KeyError: 4"}),
    ],
    "live function": [
        (SOLVE, True, {"outcome": "PASSED"}),
        (SOLVE.replace("seen[n] = at", "seen[n] = 1"), False, {"outcome": "FAILED"}),
        (FORGED, False, {"outcome": "FAILED"}),
        (DEEP, True, {}),
        ("def twoSum(a, b): return [0, 1]", True, {}),
    ],
}


def name_of(record: dict) -> object:
    return next(record[name] for name in ("problem_id", "question_id", "name") if name in record)


def run(tmp_path: Path, capsys, server: str, samples: list[dict], *options: str) -> tuple[dict, list[dict], str]:
    """(summary, result lines, stderr) of the command."""
    problems, asked, out = (tmp_path / name for name in ("p.jsonl", "s.jsonl", "r.jsonl"))
    problems.write_text("".join(json.dumps(each) + "\n" for each in PROBLEMS.values()))
    asked.write_text("".join(json.dumps(each) + "\n" for each in samples))
    words = ["stdio", str(asked), "--problems", str(problems), "--server", server, "--out", str(out), "--json"]
    assert main([*words, *options]) == 0
    said = capsys.readouterr()
    return json.loads(said.out), [json.loads(line) for line in out.read_text().splitlines()], said.err


@pytest.mark.kernel
def test_samples_pass_where_all_tests_do(server, tmp_path, capsys):
    cases = [(PROBLEMS[name], *case) for name, cases in SAMPLES.items() for case in cases]
    samples = [{"task_id": name_of(problem), "solution": program} for problem, program, _, _ in cases]
    summary, lines, _ = run(tmp_path, capsys, server, samples)
    for (_, program, is_right, fields), line in zip(cases, lines):
        assert line["passed"] is is_right, (program, line)
        assert {name: line.get(name) for name in fields} == fields, program
    assert {line["assurance"] for line in lines} == {"SEPARATED"}
    low, high = summary["intervals"]["1"]
    assert low < summary["pass_at_k"]["1"] < high


DEEPER = "import sys; sys.setrecursionlimit(9)"
HEAD = Head(("math", "heapq", "collections"), ("sys", "time"), depth=9)
LACKING = {
    "d = deque()\nheappush(h, math.pi)": "from collections import deque; from heapq import heappush; import math",
    "print(x.gcd, time.time(), pow(2, 3))": "import time",
    "print(gcd == 3, pi <= 4, f(e, key=1))": "from math import e; from math import gcd; from math import pi",
    "for a, (b, c) in zip(deque(x), heapify(y)): a(inf)": (
        "from collections import deque; from heapq import heapify; from math import inf"
    ),
    "def f(a: Dict[int, deque], *b: Counter, e=inf) -> nan: return e + a": (
        "from collections import Counter; from collections import deque; from math import inf; from math import nan"
    ),
    "class A(Counter): pass\nx: deque = []\ny[pi] = lambda e, tau=[1]: gcd(e, tau)\nif pi: inf = 1": (
        "from collections import Counter; from collections import deque; from math import gcd; from math import pi"
    ),
    "a = inf = f(x=1)\nb(pi=2)\nelse: tau = [comb for comb in x[y]]\nglobal log, nan; with o as dist: log(nan, dist)": (
        "from math import pi"
    ),
    "# for gcd in comb(x): as pi\nfrom math import (\n    pi as p,\n    e,\n)\nprint(gcd, e, math.tau)": (
        "from math import comb; from math import gcd; import math; from math import pi"
    ),
    "import math, sys as time\nfrom collections import deque\nprint(math.pi, time, deque)": "",
    "def e(x, pi): return pi\nclass tau: pass\nfor inf in []: pass\na, gcd = 1, 2\nlog: int = 3\nprint(sys := 3)": "",
    "def f(n):\n    if n:\n\n        return f(n - 1)": DEEPER,
    "class A:\n    def f(self, n):\n        return self.f(n - 1)": DEEPER,
    "def f(n): return f(n - 1)": DEEPER,
    "import sys\nsys.setrecursionlimit(5)\ndef f(n): return f(n - 1)": "",
    "def f(n):\n    return n\n\nf(1)\nif 1:\n    f(2)": "",
}


@pytest.mark.parametrize("program", LACKING)
def test_a_program_gets_what_it_lacks_of_the_head(program):
    assert HEAD.lacking(program) == (LACKING[program] and LACKING[program] + "\n")
    plain = replace(HEAD, depth=0)
    assert plain.lacking(program) == ("" if LACKING[program] == DEEPER else HEAD.lacking(program))


@pytest.mark.kernel
def test_ways_to_compare_are_the_commands(server, tmp_path, capsys):
    sample = [{"problem_id": 7, "code": "print(2 * int(input()))"}]
    assert run(tmp_path, capsys, server, sample)[1][0]["passed"] is True
    assert run(tmp_path, capsys, server, sample, "--compare", "lines")[1][0]["passed"] is False
    loose = [{"problem_id": 7, "code": "print(2.1 * int(input()))"}]
    assert run(tmp_path, capsys, server, loose, "--tolerance", "0.2")[1][0]["passed"] is True
    checker = tmp_path / "checker.py"
    checker.write_text("def check(stdin, stdout, expected):\n    return float(stdout) >= float(expected)\n")
    assert run(tmp_path, capsys, server, loose, "--checker", str(checker))[1][0]["passed"] is True
    checker.write_text("def check(stdin, stdout, expected):\n    return 1 / 0\n")
    summary, lines, said = run(tmp_path, capsys, server, loose, "--checker", str(checker))
    assert (lines[0]["passed"], lines[0]["outcome"], summary["masked"]) == (None, "INVALID", 1)
    assert "p.jsonl, line 1: the checker gave no answer" in said, said
    checker.write_text("\n")
    assert main(["stdio", "s", "--problems", "p", "--checker", str(checker)]) == 2
    assert "is empty; a checker must define check(stdin, stdout, expected)" in capsys.readouterr().err


@pytest.mark.kernel
def test_a_limit_is_each_tests(server, tmp_path, capsys):
    """Both tests together take longer than one may; a loop without end is still one."""
    spins = "import time\nuntil = time.process_time() + 0.4\nwhile time.process_time() < until: pass\n"
    slow = SOLVE.replace("        seen = {}", "        " + spins.replace("\n", "\n        ") + "seen = {}")
    samples = [{"question_id": "3001", "code_list": [slow, SOLVE.replace("seen = {}", "while True: pass")]}]
    _, lines, _ = run(tmp_path, capsys, server, samples, "--cpu-limit", "0.7")
    assert [(line["sample"], line["outcome"]) for line in lines] == [(0, "PASSED"), (1, "TIMED_OUT")]
    assert lines[0]["code"] == slow
    assert "code_list" not in lines[0]


@pytest.mark.kernel
def test_what_a_test_expects_can_be_printed(server, tmp_path, capsys, monkeypatch):
    """More than the server's default of 1 MiB; what prints without end still exceeds a limit."""
    wanted = "\n".join(map(str, range(200_000)))
    large = {"problem_id": 10, "input_output": json.dumps({"inputs": ["200000"], "outputs": [wanted]})}
    monkeypatch.setitem(PROBLEMS, "large", large)
    right = "for i in range(int(input())): print(i)"
    programs = [right, right + "\nprint(1)", "while True: print('x' * 1000)"]
    _, lines, _ = run(tmp_path, capsys, server, [{"problem_id": 10, "code": each} for each in programs])
    assert [line["outcome"] for line in lines] == ["PASSED", "FAILED", "OUTPUT_LIMIT"]


@pytest.mark.kernel
def test_a_limit_of_output_is_each_tests(server, tmp_path, capsys):
    """Both tests together print more than one may."""
    loud = SOLVE.replace("        seen = {}", "        print('x' * 700_000)\n        seen = {}")
    _, lines, _ = run(tmp_path, capsys, server, [{"question_id": "3001", "code": loud}])
    assert lines[0]["outcome"] == "PASSED"


@pytest.mark.kernel
def test_what_is_wrong_with_one_row_is_that_rows(server, tmp_path, capsys):
    tests = json.dumps([{"input": "", "output": "1", "testtype": "stdin"}])
    bad = {"question_id": "packed", "public_test_cases": tests, "private_test_cases": packed(len)}
    PROBLEMS["bad"] = bad
    PROBLEMS["unreadable"] = {"question_id": "unreadable", "input_output": "{"}
    PROBLEMS["no text"] = {
        "question_id": "no text",
        "input_output": json.dumps({"inputs": ["\ud800"], "outputs": ["1"]}),
    }
    samples = [
        {"question_id": "abc_a", "code": ADD},
        {"question_id": "abc_a", "code": 3},
        {"question_id": "packed", "code": "print(1)"},
        {"question_id": "unreadable", "code": "print(1)"},
        {"question_id": "no text", "code": "print(1)"},
        {"question_id": "nobody", "code": "print(1)"},
        {"code": "print(1)"},
    ]
    try:
        summary, lines, said = run(tmp_path, capsys, server, samples)
    finally:
        del PROBLEMS["bad"], PROBLEMS["unreadable"], PROBLEMS["no text"]
    assert [line["passed"] for line in lines] == [True, False, None, None, None, None, None]
    assert [line["outcome"] for line in lines] == ["PASSED"] + ["INVALID"] * 6
    said_of = [
        "s.jsonl, line 2: field 'code' must",
        "p.jsonl, line 10: field 'private_test_cases'",
        "p.jsonl, line 11: field 'input_output'",
        "p.jsonl, line 12: the check holds a lone surrogate",
        "line 6: 'nobody'",
        "line 7: field",
    ]
    assert [words for words, line in zip(said_of, lines[1:]) if words in line["result"]] == said_of
    assert summary["pass_at_k"] == {"1": 50.0}
    assert summary["masked"] == 5
    assert "p.jsonl, line 11" in said


# ---- the files -------------------------------------------------------------------


def test_what_is_read():
    def stages(name: str, program: str = "", **asked: object) -> list:
        return [check for stage in problem_of(PROBLEMS[name], "", **asked).stages(program) for check in stage]

    first, second = stages("apps program")
    assert isinstance(first, StdioCheck)
    assert (first.stdin, second.stdin, first.compare) == ("2\n", "3\n", "tokens")
    assert [len(stage) for stage in problem_of(PROBLEMS["live program"], "").stages("")] == [2, 10, 2]
    exact = stages("live program", comparison=Comparison("exact"))[0]
    assert (exact.compare, exact.tolerance) == ("exact", 0.0)
    [script] = stages("live function", SOLVE)
    assert isinstance(script, ScriptCheck)
    assert script.entry_point == "Solution().twoSum"
    assert stages("live function", "def twoSum(): pass")[0].entry_point == "twoSum"
    problem = problem_of(PROBLEMS["live function"], "")
    assert problem.whole("from __future__ import annotations\nx = 1").startswith("from __future__ import annotations\n")
    assert problem_of(PROBLEMS["live program"], "").whole("x = 1") == "x = 1"
    assert problem_of(PROBLEMS["live program"], "", prelude="import re").whole("x = 1") == "import re\nx = 1"


def test_tests_of_code_contests_may_be_texts():
    tests = {
        "public_tests": {"input": ["1 2\n"], "output": ["3\n"]},
        "generated_tests": [{"input": "5", "output": "5"}],
    }
    asked = [
        problem_of({"name": "x", **{name: how(each) for name, each in tests.items()}}, "").stages("")
        for how in (json.dumps, lambda each: each)
    ]
    assert asked[0] == asked[1]


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ({"id": "x"}, "no problem of APPS, CodeContests or LiveCodeBench"),
        ({"id": "x", "input_output": None}, "field 'input_output' is null"),
        ({"id": "x", "input_output": "[]"}, "'input_output' must be an object, is a list"),
        ({"id": "x", "input_output": {"inputs": ["1"], "outputs": []}}, "two lists of the same length"),
        ({"id": "x", "input_output": {"inputs": [1], "outputs": ["1"]}}, "must be text, is a number"),
        ({"id": "x", "input_output": {"fn_name": "a b", "inputs": [[1]], "outputs": [1]}}, "'a b', which is not"),
        ({"id": "x", "input_output": {"fn_name": "f", "inputs": [1], "outputs": [1]}}, "lists of arguments"),
        ({"id": "x", "input_output": {"fn_name": "f", "inputs": ["1"], "outputs": [1]}}, "or it and the output texts"),
        ({"id": "x", "input_output": {"fn_name": "f", "inputs": ["1 2"], "outputs": ["1"]}}, "field 'input'"),
        ({"name": "x", "public_tests": {"input": [], "output": []}}, "has no tests"),
        ({"question_id": "x", "public_test_cases": "[1]"}, "must be a list of objects"),
        ({"question_id": "x", "public_test_cases": json.dumps(TWO_SUM)}, "functional with a func_name"),
    ],
)  # fmt: skip
def test_a_problem_that_cannot_be_read_says_why(record, sentence):
    with pytest.raises(BadRow) as caught:
        problem_of(record, "").stages("")
    assert sentence in str(caught.value)
