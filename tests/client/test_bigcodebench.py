"""Samples of BigCodeBench, whose tests are suites, and what a resumed run believes of its journal."""

from __future__ import annotations

import os

import pytest
from cruxbox.cli import main
from cruxbox.journal import Seal
from cruxbox.problems.bigcodebench import problem_of
from cruxbox.problems.records import BadRow
from samples_by_hand import DOUBLE, run, write

# ---- BigCodeBench ----------------------------------------------------------------

SUITE = {
    "task_id": "BigCodeBench/900",
    "complete_prompt": "import statistics\n\ndef task_func(xs):\n    '''The mean.'''\n",
    "instruct_prompt": "Write the mean.",
    "code_prompt": "import statistics\n\ndef task_func(xs):\n",
    "canonical_solution": "    return statistics.mean(xs)\n",
    "entry_point": "task_func",
    "libs": "['statistics']",
    "test": "import unittest\nimport statistics\n\nclass TestCases(unittest.TestCase):\n"
    "    def test_two(self):\n        self.assertEqual(task_func([1, 3]), 2)\n"
    "    def test_nothing(self):\n        with self.assertRaises(statistics.StatisticsError):\n"
    "            task_func([])\n",
}  # fmt: skip
PATCHED = {
    **SUITE,
    "test": "import unittest\nfrom unittest.mock import patch\n\nclass TestCases(unittest.TestCase):\n"
    "    @patch('statistics.mean')\n    def test_patched(self, mean):\n        mean.return_value = 5\n"
    "        self.assertEqual(task_func([1]), 5)\n",
}  # fmt: skip
HEARD = {
    **SUITE,
    "code_prompt": "import warnings\n\ndef task_func(xs):\n",
    "complete_prompt": "import warnings\n\ndef task_func(xs):\n    '''The mean, with a warning.'''\n",
    "canonical_solution": "    warnings.warn('old')\n    return xs[0]\n",
    "test": "import unittest\nfrom unittest.mock import patch\n\nclass TestCases(unittest.TestCase):\n"
    "    def test_warned(self):\n        with self.assertWarns(UserWarning):\n            task_func([1])\n",
}  # fmt: skip


@pytest.mark.kernel
def test_bigcodebench_runs_suites(server, tmp_path, capsys):
    whole = "def task_func(xs):\n    return numbers and statistics.mean(xs)\n"
    heads = {part: SUITE[part].replace("import ", "import numbers, ") for part in ("complete_prompt", "code_prompt")}
    suite = {**SUITE, **heads}
    samples = [
        {"task_id": "BigCodeBench/900", "solution": whole},  # without an import that the test has not, either
        {"task_id": "BigCodeBench/900", "completion": SUITE["canonical_solution"]},
        {"task_id": "BigCodeBench/900", "solution": "def task_func(xs):\n    return sum(xs) / (len(xs) or 1)\n"},
        {"task_id": "BigCodeBench/900", "solution": "import sys\nsys.exit(0)"},
        {"task_id": "BigCodeBench/900", "solution": ""},
    ]
    _, lines = run(tmp_path, capsys, suite, samples, "--server", server, command="bigcodebench")
    assert [line["passed"] for line in lines] == [True, True, False, False, False]
    assert (lines[0]["tests"], lines[0]["assurance"]) == (2, "SEPARATED")
    assert "test_nothing" in lines[2]["failed"]
    _, lines = run(tmp_path, capsys, suite, samples, "--no-calibrated", "--server", server, command="bigcodebench")
    assert [line["passed"] for line in lines] == [False, True, False, False, False]


@pytest.mark.kernel
@pytest.mark.parametrize("words", [[], ["--in-process"]])
def test_suites_that_patch_libraries_run_apart(server, tmp_path, capsys, words):
    samples = [{"task_id": "BigCodeBench/900", "completion": SUITE["canonical_solution"]}]
    _, [line] = run(tmp_path, capsys, PATCHED, samples, "--server", server, *words, command="bigcodebench")
    assert (line["passed"], line["assurance"]) == (True, "SEPARATED")


@pytest.mark.kernel
def test_suites_that_listen_to_the_program_run_apart(server, tmp_path, capsys):
    samples = [{"task_id": "BigCodeBench/900", "completion": HEARD["canonical_solution"]}]
    for words in [], ["--in-process"]:
        summary, [line] = run(tmp_path, capsys, HEARD, samples, "--server", server, *words, command="bigcodebench")
        assert (line["passed"], line["assurance"], summary["in_process_passes"]) == (True, "SEPARATED", 0)


@pytest.mark.kernel
def test_a_suite_that_its_own_solution_fails_apart_says_nothing_apart(server, tmp_path, capsys):
    problem = {
        **SUITE,
        "code_prompt": "import random\n\ndef task_func(xs):\n",
        "complete_prompt": "import random\n\ndef task_func(xs):\n    'One.'\n",
        "canonical_solution": "    return random.choice(xs)\n",
        "test": "import random\nimport unittest\n\nclass TestCases(unittest.TestCase):\n    def test_seeded(self):\n"
        "        random.seed(5)\n        wanted = [random.choice(range(9 ** 9)) for _ in 'ab']\n"
        "        random.seed(5)\n"
        "        self.assertEqual([task_func(range(9 ** 9)), random.choice(range(9 ** 9))], wanted)\n",
    }
    bodies = ["    return random.choice(xs)\n", "    return xs[0]\n", "    return (\n"]
    samples = [{"task_id": "BigCodeBench/900", "completion": body} for body in bodies]
    summary, lines = run(tmp_path, capsys, problem, samples, "--server", server, command="bigcodebench")
    assert [line["passed"] for line in lines] == [None, None, False]
    assert summary["masked"] == 2
    words = "--server", server, "--in-process"
    summary, lines = run(tmp_path, capsys, problem, samples, *words, command="bigcodebench")
    assert [line["passed"] for line in lines] == [True, False, False]
    assert [line["assurance"] for line in lines[:2]] == ["IN_PROCESS", "IN_PROCESS"]
    assert summary["in_process_passes"] == 1
    hopeless = {**problem, "canonical_solution": "    return xs[1]\n"}
    _, lines = run(tmp_path, capsys, hopeless, samples[1:], *words, command="bigcodebench")
    assert [line["passed"] for line in lines] == [None, False]


EMPTY = "import unittest\n\nclass TestCases(unittest.TestCase):\n    def check(self):\n        task_func([])\n"
SKIPPED = SUITE["test"].replace("    def", "    @unittest.skipIf(task_func([1]) == 1, 'no')\n    def")


@pytest.mark.kernel
@pytest.mark.parametrize("test", [EMPTY, SKIPPED])
def test_a_suite_that_tests_nothing_says_nothing_of_a_sample(server, tmp_path, capsys, test: str):
    bodies = [str(SUITE["canonical_solution"]), "    return xs[0] * 2\n", "    return (\n"]
    samples = [{"task_id": "BigCodeBench/900", "completion": body} for body in bodies]
    problem = {**SUITE, "test": test}
    _, lines = run(tmp_path, capsys, problem, samples, "--server", server, command="bigcodebench")
    assert [line["passed"] for line in lines] == [None, None, False]


@pytest.mark.kernel
def test_a_suite_that_a_sample_has_skipped_is_failed_by_that(server, tmp_path, capsys):
    skips = SKIPPED.replace("== 1", "== 2")
    samples = [{"task_id": "BigCodeBench/900", "completion": "    return 2\n"}]
    _, [line] = run(tmp_path, capsys, {**SUITE, "test": skips}, samples, "--server", server, command="bigcodebench")
    assert (line["passed"], line["result"]) == (False, "failed: every test of the suite was skipped")


def test_a_library_that_is_not_there_is_said_before_anything_runs(server, tmp_path, capsys):
    problem = {**SUITE, "libs": ["statistics", "no_such_library"]}
    sample = {"task_id": "BigCodeBench/900", "solution": "x"}
    files = [write(tmp_path / "s.jsonl", sample), "--problems", write(tmp_path / "p.jsonl", problem)]
    assert main(["bigcodebench", *files, "--server", server]) == 2
    assert "no_such_library" in capsys.readouterr().err
    assert sorted(os.listdir(tmp_path)) == ["p.jsonl", "s.jsonl"]


@pytest.mark.parametrize("libs", ["[1", "['a b']", 3, "__import__('os')", ["os", 1]])
def test_libs_are_a_list_of_names(libs):
    with pytest.raises(BadRow, match="libs"):
        problem_of({**SUITE, "libs": libs}, "")


WHOLE_VERDICT = {
    "outcome": "RAISED",
    "assurance": None,
    "clock": None,
    "detail": "",
    "steps": 1,
    "cpu_ns": 1,
    "value": "",
}
ERROR = ["ValueError", "", 1]


def sealed(at, fields):
    """A line of a journal, as if it had been written so."""
    return {"at": at, "fields": fields, "seal": Seal({}).of(at, fields)}


@pytest.mark.parametrize(
    "wrong",
    [
        {"outcome": "SPLENDID"}, {"outcome": []}, {"assurance": "X"}, {"clock": 1}, {"detail": None}, {"steps": "1"},
        {"cpu_ns": None}, {"value": 7}, {"exception": ERROR[:2]}, {"exception": 7}, {"exception": ["ValueError", 1, 1]},
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_verdict_is_refused_before_it_is_used(tmp_path, capsys, wrong):
    row = {"code": "def f(x): return x", "input": "1", "output": "1", "id": "a"}
    (tmp_path / "g.json").write_text('{"a": ["f(1)"]}')
    words = ["score", str(tmp_path / "g.json"), "--dataset", write(tmp_path / "d.jsonl", row), "--mode", "input"]
    words += ["--out", str(tmp_path / "r.json"), "--resume"]
    right = {**WHOLE_VERDICT, "exception": ERROR}
    for fields, sentence in (
        (right, "differs in generations"),
        ({**right, **wrong}, "line 2: is no line of the journal"),
    ):
        write(tmp_path / "r.json.partial", {"identity": {}}, sealed("x", fields))
        assert main(words) == 2
        assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong", [{"result": 7}, {"passed": "yes"}, {"outcome": []}, {"assurance": 1}, {"base": "x"}], ids=str
)
def test_what_is_no_result_is_refused_before_it_is_used(tmp_path, capsys, wrong):
    files = [write(tmp_path / "s.jsonl", {"task_id": "Mine/0", "completion": ""})]
    files += ["--problems", write(tmp_path / "p.jsonl", DOUBLE), "--out", str(tmp_path / "r.jsonl"), "--resume"]
    fields = {"result": "passed", "passed": True, "outcome": "PASSED", "assurance": None, **wrong}
    write(tmp_path / "r.jsonl.partial", {"identity": {}}, sealed(0, fields))
    assert main(["humaneval", *files]) == 2
    assert "r.jsonl.partial, line 2: is no line of the journal of a run" in capsys.readouterr().err
