"""Problem sets in the files of HumanEval, EvalPlus and MBPP; samples as chat models write them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cruxbox.cli import main
from cruxbox.problems.contests import problem_of as contest_of
from cruxbox.problems.evalplus import scripts_of
from cruxbox.problems.functions import problem_of
from cruxbox.problems.reading import read_problems, read_samples
from cruxbox.problems.shapes import NoProblem
from problems_by_hand import BODY, MBPP, NATIVE, judged, write

TUPLES = {
    "task_id": "Mbpp/2",
    "prompt": '"""\nWrite a function to find the shared elements from the given two lists.\n"""\n',
    "entry_point": "similar_elements",
    "canonical_solution": "def similar_elements(a, b):\n  return tuple(set(a) & set(b))\n",
    "base_input": [[[3, 4, 5, 6], [5, 7, 4, 10]]],
    "plus_input": [[[], []], [[1, 2], [2, 1]]],
    "atol": 0,
}
REMOVE = """
def remove(s, c):
    i, j = s.find(c), s.rfind(c)
    return ''.join(x for k, x in enumerate(s) if k not in (i, j))
"""


@pytest.mark.kernel
def test_base_and_plus_are_reported_apart(server, tmp_path, capsys):
    samples = [
        {"task_id": "HumanEval/900", "completion": "    return sum(xs) / len(xs)\n"},
        {"task_id": "HumanEval/900", "completion": "    return round(sum(xs) / len(xs), 1) if len(xs) < 3 else 0\n"},
        {"task_id": "HumanEval/900", "solution": "def mean(xs):\n    return 1.5\n"},
    ]
    summary, lines = judged(tmp_path, capsys, server, "humaneval", [NATIVE], samples)
    assert [(line["base"], line["plus"], line["passed"]) for line in lines] == [
        (True, True, True),
        (True, False, False),
        (False, False, False),
    ]
    assert summary["base"]["1"] == pytest.approx(200 / 3)
    assert summary["plus"] == summary["pass_at_k"] == {"1": pytest.approx(100 / 3)}
    assert {line["assurance"] for line in lines} == {"SEPARATED"}


@pytest.mark.kernel
@pytest.mark.parametrize(
    "solution",
    ["    return sum(xs / len(xs)\n", "    return sum(xs) / 0\n", "    raise NotImplementedError\n"],
    ids=["no Python", "raises for inputs", "unwritten"],
)
def test_nothing_is_known_of_samples_where_the_own_solution_says_nothing(server, tmp_path, capsys, solution):
    broken = {**NATIVE, "task_id": "HumanEval/901", "canonical_solution": solution}
    samples = [{"task_id": task, "completion": BODY} for task in ("HumanEval/900", "HumanEval/901")]
    samples.append({"task_id": "HumanEval/901", "completion": "    return 1.5\n"})
    summary, lines = judged(tmp_path, capsys, server, "humaneval", [NATIVE, broken], samples)
    assert [line["passed"] for line in lines] == [True, None, None]
    assert lines[1]["result"].endswith(
        "line 2: the problem's own solution does not pass its tests here, so nothing is known"
    )
    assert summary["pass_at_k"] == {"1": 100.0}


@pytest.mark.kernel
def test_tuples_come_back_and_sets_are_compared_as_sets(server, tmp_path, capsys):
    good = "def similar_elements(a, b):\n    assert type(a) is tuple\n    return [x for x in b if x in a]\n"
    samples = [{"task_id": "Mbpp/2", "solution": text} for text in (good, "def similar_elements(a, b): return a\n")]
    _, lines = judged(tmp_path, capsys, server, "mbpp", [TUPLES], samples)
    assert [line["passed"] for line in lines] == [True, False]


@pytest.mark.kernel
def test_mbpp_assertions_use_the_program_s_names(server, tmp_path, capsys):
    samples = [{"task_id": "Mbpp/11", "solution": REMOVE}, {"task_id": 11, "completion": "def remove(s, c): return s"}]
    summary, lines = judged(tmp_path, capsys, server, "mbpp", [MBPP], samples)
    assert [(line["passed"], line["outcome"]) for line in lines] == [(True, "PASSED"), (False, "FAILED")]
    assert summary["assurances"] == {"SEPARATED": 2}


@pytest.mark.kernel
def test_what_always_equals_passes_nothing(server, tmp_path, capsys):
    forged = "class E:\n    def __eq__(self, o): return True\n    __hash__ = None\n"
    samples = [
        {"task_id": "11", "solution": forged + "def remove(s, c): return E()\n"},
        {"task_id": "HumanEval/900", "solution": forged + "def mean(xs): return E()\n"},
    ]
    _, lines = judged(tmp_path, capsys, server, "mbpp", [MBPP, NATIVE], samples)
    assert [line["passed"] for line in lines] == [False, False]


def native(number: int, name: str, body: str, *inputs: list, plus: list | None = None) -> dict:
    """A record of MBPP+, as EvalPlus publishes it."""
    solution = f"import re, math\ndef {name}{body}\n"
    record = {"task_id": f"Mbpp/{number}", "prompt": "", "entry_point": name, "canonical_solution": solution}
    return {**record, "base_input": list(inputs), "plus_input": plus or [], "atol": 0}


THIRDS = "(x): return x / 3 if x > 2 else [x, x / 3] if x > 1 else x"
# Records whose answers EvalPlus compares by rules of their own; solutions that are right by these, and wrong ones.
ORACLES = [
    (native(461, "check_str", "(s): return re.search('^[aeiou]', s)", ["annie"], ["dawood"]),
     ["(s): return s[0] in 'aeiou'", "(s): return 'yes' if s[0] in 'aeiou' else None"],
     ["(s): return True", "(s): return None", "(s): return 'yes'"]),
    (native(164, "are_equivalent", "(a, b): return a == b", [36, 57], [2, 2]), ["(a, b): return 1"], ["(a): return 1"]),
    (native(295, "sum_div", "(n): return sum([1, *[i for i in range(2, n) if n % i == 0]])", [8], [1]),
     ["(n): return sum(i for i in range(1, n) if n % i == 0)"], ["(n): return n", "(n): return 1"]),
    (native(581, "surface_Area", "(b, s): return 2 * b * s + b * b", [3, 4], [4, 5]),
     ["(b, h): return round(b * b + 2 * b * math.hypot(b / 2, h))"], ["(b, s): return b * s"]),
    (native(558, "digit_distance_nums", "(a, b): return sum(abs(int(x) - int(y)) for x, y in zip(str(a), str(b)))",
            [23, 56], [1, 123]),
     ["(a, b): return sum(abs(int(x) - int(y)) for x, y in zip(str(a).zfill(3), str(b).zfill(3)))"],
     ["(a, b): return 0"]),
    (native(900, "thirds", THIRDS, [5.0], [2], [0]),
     ["(x): return x * (1 / 3) if x > 2 else [x, x * (1 / 3) + 1e-8] if x > 1 else x"],
     ["(x): return x / 3 if x > 2 else (x, x / 3)", "(x): return x / 3"]),
    (native(901, "turn", "(z): return [z * 1j / 3, 1.5]", [2.0], plus=[[3.0]]),
     ["(z): return [z / 3 * 1j, 1.5]"], ["(z): return [z, 1.5]"]),
    (native(902, "ends", "(x): return [x / 3, x * math.inf]", [2.0]),
     ["(x): return [x * (1 / 3), math.inf]"], ["(x): return [x / 3, 1.0]", "(x): return [x / 3, -math.inf]"]),
    *((native(910 + at, name, "(x): return [x / 3]", [2.0]), ["(x): return [x * (1 / 3)]"], ["(x): return [x]"])
      for at, name in enumerate(["abs", "all", "exec", "float", "isinstance", "len", "list", "type", "zip"])),
]  # fmt: skip


def test_a_native_problem_may_be_about_a_function_called_check():
    record = {"task_id": "Mbpp/56", "entry_point": "check", "prompt": "",
              "canonical_solution": "def check(n): return n", "base_input": [[1]], "plus_input": []}  # fmt: skip
    script = compile(scripts_of(record)["base"], "<script>", "exec")
    exec(script, {"check": lambda n: n})
    with pytest.raises(AssertionError):
        exec(script, {"check": lambda n: n + 1})


@pytest.mark.kernel
def test_answers_are_right_by_evalplus_s_own_rules(server, tmp_path, capsys):
    """Every own solution passes, too: some return what has no value, such as a match of a regular expression."""
    samples, wanted = [], []
    for record, right, wrong in ORACLES:
        bodies = [f"import re, math\ndef {record['entry_point']}{each}\n" for each in [*right, *wrong]]
        solutions = [record["canonical_solution"], *bodies]
        samples += [{"task_id": record["task_id"], "solution": each} for each in solutions]
        wanted += [True] * (1 + len(right)) + [False] * len(wrong)
    _, lines = judged(tmp_path, capsys, server, "mbpp", [record for record, _, _ in ORACLES], samples)
    assert [line["passed"] for line in lines] == wanted


# As EvalPlus's tests of MBPP are published: what a sample has in the place of `zip` would let no test run.
LOOP = "for inp, exp in zip([[10, 15]], [6]):\n    assert {}(*inp) == exp, 'out'\n"
NO_TEST = "def zip(*given): return []\ndef print(*given): raise SystemExit\n"


@pytest.mark.kernel
@pytest.mark.parametrize("name", ["total", "sum"])
def test_a_sample_cannot_redefine_what_python_has_for_mbpp_s_tests(server, tmp_path, capsys, name):
    solution = f"def {name}(a, b):\n    return 6 if a < b else 0\n"
    problem = {
        "task_id": 126,
        "code": f"def helper(): return 0\n{solution}",
        "test_list": [f"assert {name}(10, 15) == 6"],
        "test": LOOP.format(name),
    }
    samples = [NO_TEST, NO_TEST + f"def {name}(a, b): return 0\n", solution]
    samples = [{"task_id": 126, "solution": each} for each in samples]
    _, lines = judged(tmp_path, capsys, server, "mbpp", [problem], samples)
    assert [line["passed"] for line in lines] == [False, False, True]


# As EvalPlus writes tests whose results are no text: the reference with what stands above it. Nobody reads `odd`.
REFERRED = {
    "task_id": 97,
    "code": "def up(s):\n    return s.upper()\ndef odd(s):\n    return s[::2]\n"
    "def low(s):\n    return s.lower()\ndef lows(s):\n    return low(s)\n",
    "test_list": ["assert lows('aB') == 'ab'"],
    "test": "def up(s):\n    return s.upper()\ndef odd(s):\n    return s[::2]\ndef low(s):\n    return s.lower()\n"
    "def ref_func(up, by=lambda low: low):\n    return by(low(up))\n"
    "class Given(str):\n    def up(self):\n        return self\n"
    "for inp in [[Given('aB').up()], ['']]:\n    assert lows(*inp) == ref_func(*inp)\n",
}


@pytest.mark.kernel
def test_a_helper_that_mbpp_s_test_has_for_its_reference_leaves_the_program_s_alone(server, tmp_path, capsys):
    right = [
        "{code}",
        "def low(s, by):\n    return by(s)\ndef lows(s):\n    return low(s, str.lower)\n",
        "def lows(s):\n    return s.lower()\n",
        "def odd(s, by): ...\ndef lows(s):\n    return s.lower()\n",
    ]
    wrong = [
        "{code}def low(s):\n    return s\n",
        "def lows(s):\n    return low(s)\n",
        "{code}def lows(s):\n    return up(s)\n",
    ]
    samples = [{"task_id": 97, "solution": each.format(**REFERRED)} for each in [*right, *wrong]]
    _, lines = judged(tmp_path, capsys, server, "mbpp", [REFERRED], samples)
    assert [line["passed"] for line in lines] == [True] * len(right) + [False] * len(wrong)


ROOT = {
    "task_id": "HumanEval/32",
    "prompt": "import math\ndef poly(xs, x):\n    return sum(c * math.pow(x, i) for i, c in enumerate(xs))\n"
    "def find_zero(xs):\n    'A root.'\n",
    "entry_point": "find_zero",
    "canonical_solution": "    return -xs[0] / xs[1]\n",
}
ASKED_IN_TURN = (
    "    return Root(xs)\nclass Root:\n    asked = -1\n    def __init__(self, xs):\n        self.xs = xs\n"
    "    def __float__(self):\n        self.asked += 1\n"
    "        return -self.xs[0] / self.xs[1] if self.asked == 1 else 0.0\n"
)
REDEFINED = "    return 0\ndef poly(xs, x):\n    return 0\n"
EMPTIED = "    xs.clear()\n    return 0.5\n"


@pytest.mark.kernel
def test_a_root_is_one_by_the_prompt_s_own_polynomial(server, tmp_path, capsys):
    """Neither by one that the sample puts in its place, nor for an object that is another number each time; nor by
    coefficients that it has taken away."""
    native = {**ROOT, "base_input": [[[2.0, 1.0, 0.0]]], "plus_input": [], "atol": 1e-4}
    checks = "def check(candidate):\n    assert abs(poly([2.0, 1.0, 0.0], candidate([2.0, 1.0, 0.0]))) < 1e-4\n"
    completions = [ROOT["canonical_solution"], ASKED_IN_TURN, REDEFINED, EMPTIED]
    samples = [{"task_id": ROOT["task_id"], "completion": each} for each in completions]
    for problem in (native, {**ROOT, "test": checks}):
        _, results = judged(tmp_path, capsys, server, "humaneval", [problem], samples)
        assert [result["passed"] for result in results] == [True, False, False, False]
    whole = {"task_id": ROOT["task_id"], "solution": "def find_zero(xs):\n    return -2.0\n"}
    _, (result,) = judged(tmp_path, capsys, server, "humaneval", [{**ROOT, "test": checks}], [whole])
    assert result["result"].startswith("failed: NameError")  # as in the released harness


def test_only_mbpp_s_numbers_stand_for_mbpp_s_problems(tmp_path):
    """`HumanEval/2` is not MBPP's problem 2, though both files are JSON Lines with such ids."""
    problem = {"task_id": 2, "code": "", "test_list": ["assert add(1, 2) == 3"]}
    samples = [{"task_id": f"{name}2", "solution": "x = 1"} for name in ("", "Mbpp/", "HumanEval/")]
    problems = read_problems(write(tmp_path / "p.jsonl", problem), problem_of)
    found = read_samples(write(tmp_path / "s.jsonl", *samples), problems)
    assert [bool(sample.fault) for sample in found] == [False, False, True]


def test_mbpp_s_problems_are_found_by_their_numbers_and_names(tmp_path):
    problem = {
        "task_id": "Mbpp/2",
        "entry_point": "f",
        "prompt": "",
        "canonical_solution": "f = 1",
        "base_input": [[1]],
    }
    samples = [{"task_id": name, "solution": "x = 1"} for name in (2, 2.0, "2", "Mbpp/2", "MBPP/2", "Mbpp_2", 2.5, 3)]
    problems = read_problems(write(tmp_path / "p.jsonl", problem), problem_of)
    found = read_samples(write(tmp_path / "s.jsonl", *samples), problems)
    assert [bool(sample.fault) for sample in found] == [False] * 6 + [True] * 2


def test_an_object_of_problems_names_them(tmp_path):
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"11": {name: value for name, value in MBPP.items() if name != "task_id"}}))
    assert [*read_problems(path, problem_of)] == ["11"]


def test_what_a_data_set_has_as_null_is_not_there(tmp_path):
    record = {**MBPP, "test_imports": None, "test_setup_code": None, "challenge_test_list": None}
    [problem] = read_problems(write(tmp_path / "p.jsonl", record), problem_of).values()
    assert problem.tests[""].lstrip().startswith("assert remove")


def test_a_json_array_is_read_as_well_as_lines(tmp_path):
    path = tmp_path / "sanitized-mbpp.json"
    path.write_text(json.dumps([{**MBPP, "test_imports": ["import math"]}], indent=1))
    [problem] = read_problems(path, problem_of).values()
    assert problem.tests[""].startswith("import math\nlimit = 3\nassert remove")


@pytest.mark.parametrize("ends", ["\n", "", "\n\n"])
def test_a_file_called_json_may_hold_lines(tmp_path, ends):
    """As pandas and datasets write it. One row is a row, and no object of rows by their names."""
    for count in (1, 2):
        path = tmp_path / f"{count}.json"
        path.write_text("\n".join(json.dumps({**MBPP, "task_id": at}) for at in range(count)) + ends)
        assert [*read_problems(path, problem_of)] == ["0", "1"][:count]
    path.write_text(f"{json.dumps(MBPP)}\n{json.dumps(MBPP)[:-9]}")
    right, wrong = read_problems(path, problem_of).values()
    assert (right.task_id, wrong.where) == ("11", f"{path}, line 2")


def test_data_sets_are_read_as_they_are_stored(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def stored(name: str, rows: list[dict]) -> Path:
        parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / name)
        return tmp_path / name

    contests = {"name": "1_A", "public_tests": {"input": ["1\n"], "output": ["2\n"]}, "seconds": timedelta(seconds=2)}
    [contest] = read_problems(stored("c.parquet", [contests]), contest_of).values()
    assert contest.stages("")[0][0].stdin == "1\n"
    problems = read_problems(stored("p.parquet", [MBPP, {**MBPP, "task_id": 12, "test_list": None}]), problem_of)
    assert [type(each) is NoProblem for each in problems.values()] == [False, True]
    rows = [{"task_id": 11, "code": REMOVE, "at": datetime(2026, 1, 2)}, {"task_id": 7, "code": None, "at": None}]
    right, wrong = read_samples(stored("s.parquet", rows), problems)
    assert (right.program, right.fault, right.record["at"]) == (REMOVE, "", "2026-01-02 00:00:00")
    assert wrong.where == f"{tmp_path}/s.parquet, row 2"


def test_samples_that_no_columns_can_hold_are_told_before_they_run(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    problems = write(tmp_path / "p.jsonl", MBPP)
    for field in ({"seed": [1, "a"]}, {"code": "x = '\ud800'"}):
        samples = write(tmp_path / "s.jsonl", {"task_id": 11, "code": "x", **field}, {"task_id": 11, "code": "y"})
        words = ["mbpp", str(samples), "--problems", str(problems), "--server", "127.0.0.1:9"]
        assert main([*words, "--out", str(tmp_path / "r.parquet")]) == 2
        said = capsys.readouterr().err
        assert f"{tmp_path}/r.parquet: these rows do not fit into columns: " in said
        assert said.count("\n") == 1
        assert sorted(each.name for each in tmp_path.iterdir()) == ["p.jsonl", "s.jsonl"]


@pytest.mark.parametrize(
    ("record", "sentence"),
    [
        ({**NATIVE, "base_input": 3}, "must be a list of lists of arguments"),
        ({**NATIVE, "entry_point": "a.b("}, "is no name such as 'f'"),
        ({**MBPP, "test_list": "assert 1"}, "must be a list of strings"),
        ({**MBPP, "task_id": None}, "'task_id' must be a string"),
        ({"task_id": "x", "prompt": ""}, "has neither 'test' nor 'test_list' nor 'base_input'"),
    ],
)
def test_a_mistake_names_file_and_line(tmp_path, capsys, record, sentence):
    path = write(tmp_path / "p.jsonl", record)
    write(tmp_path / "s.jsonl", {"task_id": "x", "completion": ""})
    assert main(["mbpp", str(tmp_path / "s.jsonl"), "--problems", str(path)]) == 2
    said = capsys.readouterr().err
    assert f"{path}, line 1" in said.replace("\n", " ")
    assert sentence in said.replace("\n", " ")


def test_tests_that_need_a_package_say_so_before_they_run(tmp_path, capsys):
    problem = {"task_id": "1", "code": "", "test": "import numpy as np\nassert np.all(f(1))\n"}
    paths = [write(tmp_path / "s.jsonl", {"task_id": "1", "solution": "def f(x): return x"}), "--problems"]
    assert main(["mbpp", *map(str, paths), str(write(tmp_path / "p.jsonl", problem))]) == 2
    said = capsys.readouterr().err.replace("\n", " ")
    assert "numpy" in said
    assert "--python PATH" in said
