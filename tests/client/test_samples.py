"""What all commands that run samples have in common: a run that is killed goes on, one bad row is its own; and
`cruxbox bigcodebench`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import ANY

import pytest
from cruxbox.cli import main
from cruxbox.problems.bigcodebench import problem_of
from cruxbox.problems.records import BadRow, entry_point

DOUBLE = {
    "task_id": "Mine/0",
    "prompt": "def double(x):\n",
    "entry_point": "double",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n",
}
CRUXBOX = [sys.executable, "-c", "import sys; from cruxbox.cli import main; sys.exit(main())"]


def write(path: Path, *records: dict) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def lines_of(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def run(tmp_path: Path, capsys, problem: dict, samples: list[dict], *words: str, command: str = "humaneval"):
    """(summary, result lines)."""
    files = write(tmp_path / "s.jsonl", *samples), "--problems", write(tmp_path / "p.jsonl", problem)
    assert main([command, *files, "--out", str(tmp_path / "r.jsonl"), "--json", *words]) == 0, capsys.readouterr().err
    return json.loads(capsys.readouterr().out), lines_of(tmp_path / "r.jsonl")


# ---- entry points ----------------------------------------------------------------


@pytest.mark.kernel
@pytest.mark.parametrize("name", ["Solution().solve", "Solution.solve", "Solution"])
def test_an_entry_point_may_be_a_method_or_a_class(server, tmp_path, capsys, name):
    calls = {
        "Solution().solve": "candidate(2)",
        "Solution.solve": "candidate(None, 2)",
        "Solution": "candidate().solve(2)",
    }
    problem = {
        **DOUBLE,
        "entry_point": name,
        "prompt": "",
        "test": f"def check(candidate):\n    assert {calls[name]} == 4\n",
    }
    programs = [f"class Solution:\n    def solve(self, x):\n        return {answer}\n" for answer in ("2 * x", "3 * x")]
    samples = [{"task_id": "Mine/0", "solution": program} for program in programs]
    _, lines = run(tmp_path, capsys, problem, samples, "--server", server)
    assert [(line["passed"], line["assurance"]) for line in lines] == [(True, "SEPARATED"), (False, "SEPARATED")]


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("test", "why"),
    [
        ("    assert candidate(2 == 4\n", "the script: "),
        ("    assert candidate(2) == 4\0\n", "script.script holds a NUL character"),
    ],
    ids=["no Python", "NUL"],
)
def test_a_test_that_cannot_be_used_is_not_the_sample_s_failure(server, tmp_path, capsys, test, why):
    problem = {**DOUBLE, "test": f"def check(candidate):\n{test}"}
    samples = [{"task_id": "Mine/0", "completion": text} for text in ("    return 2 * x\n", "    return x\0\n")]
    summary, (right, broken) = run(tmp_path, capsys, problem, samples, "--server", server)
    assert (right["passed"], right["outcome"], summary["masked"]) == (None, "INVALID", 1)
    assert right["result"].startswith(f"invalid: {tmp_path}/p.jsonl, line 1: {why}")
    assert (broken["passed"], broken["result"]) == (False, "failed: program holds a NUL character")


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("solution", "passed"),
    [("    return str(x + 1)\n", [True, False, False]), ("    return f'(lambda: {x + 1})()'\n", [True, None, None])],
    ids=["a text that may run", "code"],
)
def test_who_gives_code_to_a_test_that_runs_texts_fails_unless_that_is_right(
    server, tmp_path, capsys, solution: str, passed: list
):
    problem = {
        **DOUBLE,
        "test": "def check(candidate):\n    assert eval(candidate(2)) == 3\n",
        "canonical_solution": solution,
    }
    bodies = ["    return '3'\n", "    return '(lambda: 3)()'\n", "    return '__import__(\"os\").getpid()'\n"]
    samples = [{"task_id": "Mine/0", "completion": body} for body in bodies]
    summary, lines = run(tmp_path, capsys, problem, samples, "--server", server)
    assert [line["passed"] for line in lines] == passed
    assert summary["masked"] == passed.count(None)


@pytest.mark.kernel
def test_a_list_without_a_sample_is_told_and_is_nobody_s_failure(server, tmp_path, capfd):
    files = write(
        tmp_path / "s.jsonl",
        {"task_id": "Mine/0", "completions": []},
        {"task_id": "Mine/1", "completion": "    return 2 * x\n"},
    )
    problems = write(tmp_path / "p.jsonl", DOUBLE, {**DOUBLE, "task_id": "Mine/1"})
    words = ["humaneval", files, "--problems", problems, "--out", "-", "--server", server]
    assert main(words) == 0
    shown = capfd.readouterr()
    none, right = map(json.loads, shown.out.splitlines())
    assert (none["passed"], none["outcome"], right["passed"]) == (None, "INVALID", True)
    assert f"{tmp_path}/s.jsonl, line 1: field 'completions' is an empty list" in shown.err
    assert not list(Path().glob("-*"))


@pytest.mark.parametrize("name", ["", "()", "f(", "f(1)", "a b", "a..b", "().f", "f()g", "f.(x)", "f(()"])
def test_what_is_no_entry_point(name):
    with pytest.raises(BadRow):
        entry_point(name)


def test_many_calls_behind_no_name_are_looked_at_once():
    with pytest.raises(BadRow):
        entry_point("()" * 300_000 + "x")


# ---- killed and gone on with -----------------------------------------------------


def kill_at_work(words: list[str], journal: Path) -> None:
    """Run a command, and kill it when it has done a few parts."""
    process = subprocess.Popen([*CRUXBOX, *words], stdout=subprocess.DEVNULL)
    until = time.monotonic() + 60
    while not (journal.exists() and journal.read_bytes().count(b"\n") > 5) and time.monotonic() < until:
        time.sleep(0.01)
    process.kill()
    assert process.wait() == -signal.SIGKILL


@pytest.mark.kernel
def test_a_killed_run_loses_nothing_and_repeats_nothing(server, tmp_path, capsys):
    """Each sample takes a while, so that the kill is in the midst of them."""
    body = "    import time\n    until = time.process_time() + 0.05\n    while time.process_time() < until: pass\n"
    samples = [{"task_id": "Mine/0", "completion": f"{body}    return {2 + n % 3} * x  # {n}\n"} for n in range(40)]
    files = [write(tmp_path / "s.jsonl", *samples), "--problems", write(tmp_path / "p.jsonl", DOUBLE)]
    words = ["humaneval", *files, "--out", str(tmp_path / "r.jsonl"), "--server", server, "--json"]
    partial = tmp_path / "r.jsonl.partial"
    kill_at_work(words, partial)
    partial.write_bytes(partial.read_bytes() + b'{"at": 39, "fie')  # as if it had been killed in the midst of a line
    before = lines_of_journal(partial)
    assert 5 <= len(before) < 40

    assert main(words) == 2
    assert "--resume continues it" in capsys.readouterr().err
    assert main([*words, "--resume", "--cpu-limit", "3"]) == 2
    assert "differs in limits.cpu_ms: 10000 there, 3000 now; --restart" in capsys.readouterr().err
    assert main([*words, "--resume"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["resumed"] == len(before)
    lines = lines_of(tmp_path / "r.jsonl")
    assert [line["completion"] for line in lines] == [sample["completion"] for sample in samples]
    assert [line["passed"] for line in lines] == [n % 3 == 0 for n in range(40)]
    assert not partial.exists()

    assert main([*words, "--resume"]) == 0  # nothing is left to be done
    assert json.loads(capsys.readouterr().out) == {**summary, "resumed": 40, "elapsed_s": ANY}
    assert lines_of(tmp_path / "r.jsonl") == lines
    assert main([*words, "--resume", "--cpu-limit", "3"]) == 2
    assert "r.jsonl: the finished run differs in limits.cpu_ms: 10000 there" in capsys.readouterr().err
    for name, what in (("s.jsonl", "samples"), ("p.jsonl", "problems")):
        before = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(before + b"\n")
        assert main([*words, "--resume"]) == 2
        assert f"the finished run differs in {what}: other content now; --restart" in capsys.readouterr().err
        (tmp_path / name).write_bytes(before)
    (tmp_path / "r.jsonl").write_text("")  # changed since: everything runs again
    assert main([*words, "--resume"]) == 0
    assert json.loads(capsys.readouterr().out)["resumed"] == 0
    assert sorted(os.listdir(tmp_path)) == ["p.jsonl", "r.jsonl", "r.jsonl.done", "s.jsonl"]


@pytest.mark.kernel
def test_a_killed_scoring_loses_nothing_and_repeats_nothing(server, tmp_path, capsys):
    body = (
        "import time\ndef f(x):\n    until = time.process_time() + 0.05\n    while time.process_time() < until: pass\n"
    )
    data = write(tmp_path / "d.jsonl", {"code": f"{body}    return x % 3\n", "input": "1", "output": "1", "id": "a"})
    (tmp_path / "g.json").write_text(json.dumps({"a": [f"f({n})" for n in range(40)] + ["f(", "f(1) or 1"]}))
    words = ["score", str(tmp_path / "g.json"), "--dataset", data, "--mode", "input", "--server", server, "--json"]
    words += ["--max-steps", "1000000000", "--out", str(tmp_path / "r.json")]
    assert main(words) == 0
    whole, summary = json.loads((tmp_path / "r.json").read_text()), json.loads(capsys.readouterr().out)
    assert sorted(os.listdir(tmp_path)) == ["d.jsonl", "g.json", "r.json"]
    (tmp_path / "r.json").unlink()

    journal = tmp_path / "r.json.partial"
    kill_at_work(words, journal)
    before = journal.read_bytes()
    assert main([*words, "--resume", "--restart"]) == 2
    assert "exclude each other" in capsys.readouterr().err
    assert main([*words, "--resume", "--cpu-limit", "2"]) == 2
    assert "differs in limits.cpu_ms: 3000 there, 2000 now; --restart" in capsys.readouterr().err
    assert main([*words, "--resume"]) == 0
    assert json.loads(capsys.readouterr().out) == {**summary, "elapsed_s": ANY}
    assert without_times(json.loads((tmp_path / "r.json").read_text())) == without_times(whole)
    done = (tmp_path / "r.json.done").read_bytes()
    assert done.startswith(before[: before.rindex(b"\n") + 1])
    asked = [json.loads(line)["at"] for line in done.splitlines()[1:-1]]
    assert len(asked) == len(set(asked))  # nothing was asked twice
    assert not journal.exists()

    before = (tmp_path / "r.json").read_bytes()  # nothing is left to be done, so no server is needed
    assert main([*words, "--resume", "--server", "127.0.0.1:9"]) == 0
    assert (tmp_path / "r.json").read_bytes() == before
    for asked in ("--resume", "--restart"):
        assert main([*words[:6], asked]) == 2
        assert f"{asked} needs --out FILE" in capsys.readouterr().err

    journal.write_bytes(b"".join(done.splitlines(keepends=True)[:3]))
    assert main(words) == 2
    told = "an unfinished run is here; --resume continues it, --restart starts over"
    assert told in capsys.readouterr().err
    assert journal.exists()
    assert main([*words, "--restart"]) == 0
    assert sorted(os.listdir(tmp_path)) == ["d.jsonl", "g.json", "r.json"]


def without_times(scored: dict) -> dict:
    for row in scored["verdicts"].values():
        for verdict in row:
            del verdict["cpu_ms"], verdict["steps"]  # of a wait
    return scored


def lines_of_journal(path: Path) -> list[int]:
    """The numbers of the samples that are done."""
    whole = path.read_text().rpartition("\n")[0]
    return [record["at"] for record in map(json.loads, whole.splitlines()) if "at" in record]


def test_a_journal_of_another_kind_is_refused(tmp_path, capsys):
    sample = {"task_id": "Mine/0", "completion": ""}
    files = [write(tmp_path / "s.jsonl", sample), "--problems", write(tmp_path / "p.jsonl", DOUBLE)]
    write(tmp_path / "r.jsonl.partial", {"identity": {}}, {"at": "x"})
    assert main(["humaneval", *files, "--out", str(tmp_path / "r.jsonl"), "--resume"]) == 2
    assert "r.jsonl.partial, line 2: is no line of the journal of a run" in capsys.readouterr().err


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
        write(tmp_path / "r.json.partial", {"identity": {}}, {"at": "x", "fields": fields})
        assert main(words) == 2
        assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong", [{"result": 7}, {"passed": "yes"}, {"outcome": []}, {"assurance": 1}, {"base": "x"}], ids=str
)
def test_what_is_no_result_is_refused_before_it_is_used(tmp_path, capsys, wrong):
    files = [write(tmp_path / "s.jsonl", {"task_id": "Mine/0", "completion": ""})]
    files += ["--problems", write(tmp_path / "p.jsonl", DOUBLE), "--out", str(tmp_path / "r.jsonl"), "--resume"]
    fields = {"result": "passed", "passed": True, "outcome": "PASSED", "assurance": None, **wrong}
    write(tmp_path / "r.jsonl.partial", {"identity": {}}, {"at": 0, "fields": fields})
    assert main(["humaneval", *files]) == 2
    assert "r.jsonl.partial, line 2: is no line of the journal of a run" in capsys.readouterr().err
