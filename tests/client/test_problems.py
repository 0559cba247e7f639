"""Problem sets in the files of HumanEval, EvalPlus and MBPP; samples as chat models write them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cruxbox import Clock, Limits, Outcome, Verdict
from cruxbox.cli import main
from cruxbox.errors import DataError
from cruxbox.problems.contests import problem_of as contest_of
from cruxbox.problems.evalplus import scripts_of
from cruxbox.problems.functions import problem_of
from cruxbox.problems.reading import read_problems, read_samples
from cruxbox.problems.records import BadRow
from cruxbox.problems.running import Runner, Way
from cruxbox.problems.sanitizing import sanitized
from cruxbox.problems.shapes import NoProblem, Sample

NATIVE = {
    "task_id": "HumanEval/900",
    "prompt": "def mean(xs):\n    '''The mean.'''\n",
    "entry_point": "mean",
    "canonical_solution": "    return sum(xs) / len(xs)\n",
    "base_input": [[[1.0, 2.0]], [[4.0]]],
    "plus_input": [[[0.1, 0.2, 0.3]], [[float("inf"), 1.0]]],
    "atol": 0,
}
TUPLES = {
    "task_id": "Mbpp/2",
    "prompt": '"""\nWrite a function to find the shared elements from the given two lists.\n"""\n',
    "entry_point": "similar_elements",
    "canonical_solution": "def similar_elements(a, b):\n  return tuple(set(a) & set(b))\n",
    "base_input": [[[3, 4, 5, 6], [5, 7, 4, 10]]],
    "plus_input": [[[], []], [[1, 2], [2, 1]]],
    "atol": 0,
}
MBPP = {
    "task_id": 11,
    "text": "Remove the first and last occurrence.",
    "code": "",
    "test_setup_code": "limit = 3",
    "test_list": ["assert remove('hello','l') == 'heo'", "assert remove('abcda', 'a')[:limit] == 'bcd'"],
}
REMOVE = """
def remove(s, c):
    i, j = s.find(c), s.rfind(c)
    return ''.join(x for k, x in enumerate(s) if k not in (i, j))
"""


# What a pattern may run over again from each of its characters; in this length that takes minutes.
ENDLESS = [
    *[" " * 300_000 + "x", "\n" * 300_000 + "x", "</s>" * 75_000 + "x", "<|a|> " * 50_000 + "x"],
    *["```" + part * 300_000 for part in ("`", " ", "a", "~")],
    "from __future__ import (\n" * 12_000,
    "    x\n" * 20_000 + "".join(f"def a{at}(): pass\n" for at in range(10_000)),
]


def write(path: Path, *records: dict) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def judged(tmp_path: Path, capsys, server: str, command: str, problems: list[dict], samples: list[dict]):
    """(summary, result lines) of a command."""
    problem_file, sample_file = write(tmp_path / "p.jsonl", *problems), write(tmp_path / "s.jsonl", *samples)
    out = tmp_path / "r.jsonl"
    words = [command, str(sample_file), "--problems", str(problem_file), "--server", server, "--out", str(out)]
    assert main([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out), [json.loads(line) for line in out.read_text().splitlines()]


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
        ({**NATIVE, "base_input": 3}, "inputs must be a list of lists"),
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


# ---- chat ------------------------------------------------------------------------

PROMPT = "from typing import List\n\ndef mean(xs: List[float]) -> float:\n    '''The mean.'''\n"
BODY = "    return sum(xs) / len(xs)\n"
WHOLE = "def mean(xs):\n    return sum(xs) / len(xs)\n"


@pytest.mark.parametrize(
    "text",
    [
        f"```python\n{WHOLE}```",
        f"Sure! Here is the function:\n\n```python\n{WHOLE}```\n\nIt adds and divides.",
        f"```\nprint(1)\n```\nand\n~~~py\n{WHOLE}~~~",
        f"```python\n{WHOLE}",
        f"Here you are.\n\n{WHOLE}\nThis works because it is a mean.",
        BODY,
        BODY + "\ndef other():\n    return 1\n",
        BODY + "\nprint(mean([1]))\n",
        BODY + "\nThis is the mean.\nIt's right.\n",
        BODY + "\nmean.__doc__ = 'x'\nimport math\n\nIt isn't wrong: it adds\n    and divides.\n",
        f"```python\n{WHOLE.rstrip()}```\nIt's the mean.\n```python\nmean([1])```",
        f"```python\n{BODY.rstrip()}```",
        f"{BODY.rstrip()}```\n\nIt's the mean.\n",
        f"```bash\npip install x\n```\n```python\n{WHOLE}```",
        WHOLE.replace("\n", "\r\n"),
        f"```python\nfrom __future__ import annotations\n{WHOLE}```",
        f"'Means.'\nfrom __future__ import (\n    annotations,\n)\n{WHOLE}",
        "1. So:\n   ```python\n" + "".join(f"   {line}\n" for line in WHOLE.splitlines()) + "   ```\n",
        "```python\ndef mean(xs):\n    '''Means.\n    ```\n    mean([1])\n    ```\n    '''\n" + BODY + "```\n",
        f"<think>\n```python\ndef mean(xs): return 0\n```\n</think>\n```python\n{WHOLE}```",
        "\ufeff" + WHOLE,
        WHOLE.rstrip() + "<|im_end|>\n",
        'def mean(xs):\n    """Means.\n\n    ```\n    mean([1])\n    ```\n    """\n' + BODY,
        '    """\n    ```python\n    mean([1])\n    ```\n    """\n' + BODY,
        f"{BODY}```\n\nIt adds and divides:\n\n```python\nmean([1, 2])\n```\n",
        f"{WHOLE}```\nIt adds and divides.",
        f"   Sure:\n```\n{WHOLE}```",
        f"[BEGIN]\n{WHOLE}\n[DONE]\n",  # MBPP's paper
        f"{WHOLE}[DONE]\n\nYou are an expert Python programmer.\n[BEGIN]\ndef mean(xs): return 0\n[DONE]",
        f"First add.\n[PYTHON]\r\n{WHOLE}\n[/PYTHON]\n[TESTS]\nassert mean([1]) == 2\n[/TESTS]",
        "    return added(xs) / len(xs)\n\ndef added(xs):\n    return sum(xs)\n\nprint(mean([]))\n",
    ],
)
def test_code_comes_out_of_chat(text):
    namespace: dict = {}
    exec(sanitized(text, "mean", PROMPT), namespace)
    assert namespace["mean"]([1, 2]) == 1.5


@pytest.mark.parametrize("between", ["Or rather, with an answer for no numbers:\n", "```\n[1, 2]\n```\nBetter:\n"])
@pytest.mark.parametrize("behind", ["", "It reads:\n```\n3\n```\n", "```bash\npython mean.py\n```\n"])
def test_the_last_answer_is_the_answer(between, behind):
    """As LiveCodeBench has it: a model corrects itself downwards."""
    text = f"```python\ndef mean(xs): return 0\n```\n{between}```python\n{WHOLE}```\n{behind}"
    assert sanitized(text, "mean") == sanitized(text, "") == WHOLE


@pytest.mark.parametrize("shown", ["5", "YES", "[1, 2]", "5\n1 2 3", ""])
def test_an_input_shown_behind_a_program_is_not_the_answer(shown):
    """Also where no fence names a language and the input is Python."""
    assert sanitized(f"```\nprint(input())\n```\nInput:\n```\n{shown}\n```\n", "") == "print(input())\n"


@pytest.mark.parametrize("text", ["", "no code at all", "(" * 10_000, "-" * 10_000 + "1", "x = [" * 500, "```", "\x00"])
def test_chat_without_code_is_only_a_program_that_does_not_run(text):
    assert isinstance(sanitized(text, "mean"), str)
    assert isinstance(sanitized(text, "mean", PROMPT), str)


@pytest.mark.parametrize("text", ENDLESS, ids=[text[:9] for text in ENDLESS])
def test_no_text_is_run_over_again_from_each_of_its_characters(text):
    assert isinstance(sanitized(text, "mean", PROMPT), str)
    record = {**MBPP, "test_list": [text]}
    assert problem_of(record, "here").needs == frozenset()


@pytest.mark.parametrize("end", ["</s>", "<|im_end|>", " </s>\n<|a|> \n", "</s></s>\u3000"])
def test_what_ends_a_models_text_is_not_its_answer(end):
    assert sanitized(WHOLE + end, "mean").rstrip() == WHOLE.rstrip()
    assert sanitized(f"x = {end.strip()!r}\n" + WHOLE, "mean") == f"x = {end.strip()!r}\n" + WHOLE


def test_sanitize_is_asked_for(tmp_path):
    problems = read_problems(write(tmp_path / "p.jsonl", NATIVE), problem_of)
    path = write(tmp_path / "s.jsonl", {"task_id": "HumanEval/900", "completion": f"Sure!\n```python\n{WHOLE}```"})
    assert read_samples(path, problems)[0].program.startswith(NATIVE["prompt"])
    assert read_samples(path, problems, clean=True)[0].program.strip() == WHOLE.strip()


def test_what_is_no_program_is_one_sample_of_its_list(tmp_path):
    problems = read_problems(write(tmp_path / "p.jsonl", NATIVE), problem_of)
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"HumanEval/900": [WHOLE, 5, None]}))
    samples = read_samples(path, problems)
    assert [(each.program, each.fault, each.counts) for each in samples] == [
        (WHOLE, "", True),
        ("", "item 1 of field 'code_list' must be a string, is a number", True),
        ("", "item 2 of field 'code_list' must be a string, is null", True),
    ]
    path.write_text(json.dumps({"HumanEval/900": WHOLE}))
    assert [each.program for each in read_samples(path, problems)] == [WHOLE]
    path.write_text('{"HumanEval/900": ["pass"], "HumanEval/900": ["1"]}')
    with pytest.raises(DataError, match="the key 'HumanEval/900' is there twice"):
        read_samples(path, problems)


HEAD = str(NATIVE["prompt"])


@pytest.mark.parametrize(
    ("row", "programs"),
    [
        ({"completion": None, "solution": WHOLE}, [WHOLE]),  # as EvalPlus's harness reads them
        ({"completion": BODY, "solution": WHOLE}, [WHOLE]),
        ({"completion": BODY, "solution": None}, [HEAD + BODY]),
        ({"completion": BODY, "code": WHOLE}, [HEAD + BODY]),  # a row of MBPP's with its own solution
        ({"completions": [BODY, ""]}, [HEAD + BODY, HEAD]),
        ({"solution": [WHOLE, BODY]}, [WHOLE, BODY]),
    ],
)
def test_where_a_row_has_its_programs(tmp_path, row, programs):
    problems = read_problems(write(tmp_path / "p.jsonl", NATIVE), problem_of)
    samples = read_samples(write(tmp_path / "s.jsonl", {"task_id": "HumanEval/900", **row}), problems)
    assert [sample.program for sample in samples] == programs
    assert len({json.dumps(dict(sample.record)) for sample in samples}) == len(programs)


def test_a_row_without_a_program_names_the_fields_it_has(tmp_path):
    problems = read_problems(write(tmp_path / "p.jsonl", NATIVE), problem_of)
    path = write(tmp_path / "s.jsonl", {"task_id": "HumanEval/900", "messages": [{"role": "user", "content": "?"}]})
    with pytest.raises(DataError, match=r"line 1: has none of the fields 'code_list'.*; it has 'task_id', 'messages'"):
        read_samples(path, problems)


def test_what_is_too_large_to_be_run_is_the_generation_s_own_fault(tmp_path):
    problems = read_problems(write(tmp_path / "p.jsonl", NATIVE), problem_of)
    rows = [
        {"task_id": "HumanEval/900", "solution": text} for text in (WHOLE, "#" * (15 << 20), "#" * (15 << 20) + "é")
    ]
    samples = read_samples(write(tmp_path / "s.jsonl", *rows), problems)
    assert [(sample.fault, sample.counts) for sample in samples] == [
        ("", True),
        ("", True),
        ("the generation is 15,728,642 bytes, at most 15,728,640 are run", True),
    ]


@pytest.mark.kernel
def test_a_folder_of_samples_is_read_as_evalplus_writes_it(server, tmp_path, capsys):
    folder = tmp_path / "model_temp_0.8"
    for number, text in {2: "def mean(xs): return 1.5\n", 10: WHOLE, 0: WHOLE}.items():
        (folder / "HumanEval_900").mkdir(parents=True, exist_ok=True)
        (folder / "HumanEval_900" / f"{number}.py").write_text(text)
    (folder / "HumanEval_900" / "11.py").write_bytes(b"# \xe9\n")
    words = ["humaneval", str(folder), "--problems", str(write(tmp_path / "p.jsonl", NATIVE)), "--server", server]
    assert main(words) == 0
    lines = [json.loads(line) for line in (tmp_path / "model_temp_0.8_results.jsonl").read_text().splitlines()]
    assert [(line.get("file"), line["passed"]) for line in lines] == [
        ("0.py", True),
        ("2.py", False),
        ("10.py", True),
        ("11.py", False),
    ]


@pytest.mark.parametrize(
    ("number", "inputs", "restored"),
    [
        (2, ["ab", [1, 2]], [("a", "b"), (1, 2)]),
        (63, [["ab", [1]], []], [[("a", "b"), (1,)], []]),
        (401, [[[1], "ab"], [{"a": 1}]], [((1,), ("a", "b")), (("a",),)]),
        (278, [[[1], "ab"]], [((1,), "ab")]),
        (753, [["ab", [1]], 2], [[("a", "b"), (1,)], 2]),
        (580, [["ab", [1, [2]]]], [("ab", (1, (2,)))]),
    ],
)
def test_what_json_made_of_tuples_is_put_back_as_evalplus_does(number, inputs, restored):
    """Of texts it makes tuples of letters in the same places: its changes of inputs put texts there."""
    task = {"task_id": f"Mbpp/{number}", "entry_point": "f", "canonical_solution": "", "base_input": [inputs]}
    assert f" in enumerate({[restored]!r}):" in scripts_of(task)["base"]


@pytest.mark.parametrize("test", ["", "def chek(candidate): pass", "assert candidate(1)"])
def test_a_test_of_humaneval_defines_check(test: str):
    record = {"task_id": "x", "prompt": "", "entry_point": "f", "test": test}
    with pytest.raises(BadRow, match="defines no check"):
        problem_of(record, "")
    for defines in ("def check(f): pass", "from x import *", "check = print", "globals()['check'] = print", "def ("):
        assert problem_of({**record, "test": defines}, "").entry_point == "f"


def test_a_native_record_needs_its_fields():
    with pytest.raises(KeyError):
        scripts_of({"task_id": "HumanEval/1", "entry_point": "f", "canonical_solution": ""})


@pytest.mark.parametrize("change", [{"atol": 10**350}, {"task_id": "Mbpp/124", "base_input": [[10**350, 1]]}])
def test_a_number_that_is_no_float_is_one_row_s_fault(change):
    with pytest.raises(BadRow, match="too large to convert to float"):
        problem_of({**NATIVE, **change}, "")


LARGE = "    data = bytearray(700 << 20)\n"
HEAVY = {
    "task_id": "Heavy/0",
    "prompt": "def size(n):\n",
    "entry_point": "size",
    "canonical_solution": LARGE + "    return len(data) + n\n",
    "test": "def check(candidate):\n    assert candidate(1) == (700 << 20) + 1\n",
}


@pytest.mark.kernel
def test_what_a_problem_needs_is_measured_by_its_own_solution(server, tmp_path, capsys):
    """A sample that runs out of memory is tried again with as much as the problem's own solution was given."""
    samples = [
        {"task_id": "Heavy/0", "completion": HEAVY["canonical_solution"]},
        {"task_id": "Heavy/0", "completion": LARGE + "    return 3\n"},
    ]
    _, lines = judged(tmp_path, capsys, server, "humaneval", [HEAVY], samples)
    assert [line["outcome"] for line in lines] == ["PASSED", "FAILED"]
    _, lines = judged(tmp_path, capsys, server, "humaneval", [{**HEAVY, "canonical_solution": ""}], samples[:1])
    assert lines[0]["outcome"] in ("MEMORY_LIMIT", "RAISED")


@pytest.mark.kernel
def test_what_a_function_prints_is_no_part_of_its_tests(server, tmp_path, capsys):
    """More than the usual limit, but no more than the server's."""
    loud = {**HEAVY, "canonical_solution": "", "test": "def check(candidate):\n    assert candidate(1) == 2\n"}
    bodies = [f"    print('x' * ({mib} << 20))\n    return n + {more}\n" for mib, more in [(2, 1), (2, 2), (20, 1)]]
    samples = [{"task_id": "Heavy/0", "completion": body} for body in bodies]
    _, lines = judged(tmp_path, capsys, server, "humaneval", [loud], samples)
    assert [line["outcome"] for line in lines] == ["PASSED", "FAILED", "OUTPUT_LIMIT"]


POINT = "from dataclasses import dataclass\n\n@dataclass\nclass Point:\n    x: int\n\ndef size(n):\n"


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("body", "wanted"),
    [("    return Point(n)\n", [None, None, True]), ("    pass\n", [False, False, True]), ("", [False, False, True])],
)
def test_a_test_that_needs_one_process_says_nothing_of_who_fails_it(server, tmp_path, capsys, body, wanted):
    """An object of the program equals only itself, as the test must not ask it. A placeholder passes in no process: it
    proves nothing."""
    test = "def check(candidate):\n    assert candidate(1) == candidate(1)\n"
    problem = {**HEAVY, "prompt": POINT, "canonical_solution": body, "test": test}
    bodies = ["    return Point(n)\n", "    return object()\n", "    return n\n"]
    samples = [{"task_id": "Heavy/0", "completion": each} for each in bodies]
    summary, lines = judged(tmp_path, capsys, server, "humaneval", [problem], samples)
    assert [line["passed"] for line in lines] == wanted
    assert summary["masked"] == wanted.count(None)


@pytest.mark.parametrize(("clock", "needed_ms", "runs"), [("CPU", 200, 1), ("CPU", 3_000, 2), ("WALL", 200, 2)])
def test_what_ran_out_of_cpu_time_runs_again_only_with_more_of_it(tmp_path, clock, needed_ms, runs):
    problems = read_problems(write(tmp_path / "p.jsonl", HEAVY), problem_of)
    own = HEAVY["prompt"] + HEAVY["canonical_solution"]
    asked = []

    class Server:
        """Answers that the problem's own solution passes and any other program runs out."""

        def stream(self, tasks, *, ordered=True):
            for task in list(tasks):
                asked.append(task)
                more = {"outcome": Outcome.TIMED_OUT, "clock": Clock[clock]}
                if task.program == own:
                    more = {"outcome": Outcome.PASSED, "cpu_ns": needed_ms * 1_000_000}
                yield Verdict(task.id, task.checks[0].id, **more)

    way = Way(limits=Limits(cpu_ms=10_000), most=Limits(cpu_ms=60_000, wall_ms=300_000, memory_bytes=4 << 30))
    ((_, fields),) = Runner(Server(), problems, way).run([(0, Sample("Heavy/0", "while True: pass", {}))])
    assert fields["outcome"] == "TIMED_OUT"
    assert sum(1 for task in asked if task.program != own) == runs


@pytest.mark.parametrize(("room", "passed", "runs"), [(2 << 30, False, 2), (8 << 30, None, 1)])
def test_a_test_that_is_too_large_for_the_usual_limits_runs_again_with_more(tmp_path, room, passed, runs):
    """If the problem's own solution passes it there: what cannot be used at all says nothing, and runs once."""
    problems = read_problems(write(tmp_path / "p.jsonl", HEAVY), problem_of)
    own = HEAVY["prompt"] + HEAVY["canonical_solution"]
    asked = []

    class Server:
        """Reads the test with `room` for it, and knows the problem's own solution."""

        def stream(self, tasks, *, ordered=True):
            for task in list(tasks):
                asked.append(task)
                outcome = Outcome.PASSED if task.program == own else Outcome.FAILED
                if task.limits.memory_bytes < room:
                    outcome = Outcome.INVALID
                yield Verdict(task.id, task.checks[0].id, outcome, detail="the script: too large, to be parsed")

    way = Way(limits=Limits(cpu_ms=10_000), most=Limits(cpu_ms=60_000, memory_bytes=4 << 30))
    ((_, fields),) = Runner(Server(), problems, way).run([(0, Sample("Heavy/0", "def size(n): pass", {}))])
    assert fields["passed"] is passed
    assert sum(1 for task in asked if task.program != own) == runs
