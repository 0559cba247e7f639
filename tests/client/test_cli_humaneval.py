"""`cruxbox humaneval`: its files, its mistakes, and the published problems under true and forged completions."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from cruxbox import Client, Limits, Outcome
from cruxbox.cli import main, samples
from cruxbox.model import Task
from cruxbox.problems.functions import problem_of
from cruxbox.problems.reading import read_problems

PROBLEM = {
    "task_id": "Mine/0",
    "prompt": "def double(x):\n",
    "entry_point": "double",
    "test": "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate('a') == 'aa'\n",
}
OTHER = {**PROBLEM, "task_id": "Mine/1", "prompt": "def half(x):\n", "entry_point": "half"}
# Completion or solution -> (result, outcome).
ANSWERS = {
    "    return x + x\n": ("passed", "PASSED"),
    "    return 4\n": ("failed: an assertion of the script does not hold (line 3 of the test)", "FAILED"),
    "    return x / 0\n": ("failed: ZeroDivisionError: division by zero", "RAISED"),
    "    return (\n": ("failed: the program: '(' was never closed (line 2)", "INVALID"),
    "    return sum(range(10**15))\n": ("timed out", "TIMED_OUT"),
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("problems.jsonl", [PROBLEM, OTHER])
    with gzip.open("problems.jsonl.gz", "wt") as out:
        out.write(Path("problems.jsonl").read_text())
    write("samples.jsonl", [{"task_id": "Mine/0", "completion": text, "mark": 7} for text in ANSWERS])
    return tmp_path


def write(name: str, records: list) -> None:
    Path(name).write_text("".join(json.dumps(record) + "\n" for record in records))


def lines_of(name: str) -> list[dict]:
    return [json.loads(line) for line in Path(name).read_text().splitlines()]


def test_one_task_has_no_interval():
    assert samples._interval([1.0]) is None
    assert samples._interval([1.0, 0.0]) is not None


def test_intervals_that_are_not_there_lack_numpy_only_where_it_is_missing(monkeypatch, capsys):
    none = dict.fromkeys(("in_process_passes", "resumed", "elapsed_s", "masked"), 0)
    summary = {**none, **{key: {} for key in ("intervals", "outcomes", "assurances")}}
    summary.update({"pass_at_k": {"1": 100.0}, "tasks": 2, "problems": 2, "samples": 2, "out": "x"})
    for spec, is_said in ((None, True), (object(), False)):
        monkeypatch.setattr(samples, "find_spec", lambda _name, spec=spec: spec)
        samples._show(summary)
        assert ("intervals need numpy" in capsys.readouterr().err) is is_said


def test_results_stand_in_the_released_harness_format(server, folder, capsys):
    arguments = [
        "samples.jsonl",
        "--problems",
        "problems.jsonl.gz",
        "--server",
        server,
        "--k",
        "1",
        "--k",
        "2",
        "--k",
        "50",
    ]
    assert main(["humaneval", *arguments, "--cpu-limit", "0.5", "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == "cruxbox: pass@50: not every task has so many samples that count.\n"
    summary = json.loads(out)
    assert summary["out"] == "samples.jsonl_results.jsonl"
    lines = lines_of(summary["out"])
    assert [line["completion"] for line in lines] == list(ANSWERS)
    assert [(line["result"], line["outcome"]) for line in lines] == list(ANSWERS.values())
    assert [line["passed"] for line in lines] == [True] + [False] * 4
    assert all(line["task_id"] == "Mine/0" and line["mark"] == 7 for line in lines)
    assert {line["assurance"] for line in lines} == {"SEPARATED"}
    assert summary["pass_at_k"] == {"1": pytest.approx(100 / 5), "2": pytest.approx(40)}
    assert (summary["samples"], summary["tasks"], summary["problems"], summary["masked"]) == (5, 1, 2, 0)


def test_fences_that_nobody_asked_to_take_off_are_noted(server, folder, capsys):
    text = "Here you are:\n```python\ndef double(x):\n    return x + x\n```\n"
    write("fenced.jsonl", [{"task_id": "Mine/0", "completion": text}, {"task_id": "Mine/0", "completion": "    +"}])
    arguments = ["fenced.jsonl", "--problems", "problems.jsonl", "--server", server, "--json"]
    assert main(["humaneval", *arguments]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["outcomes"] == {"INVALID": 2}
    assert err == "cruxbox: Markdown fences in 1 INVALID sample; --sanitize takes the code out of them.\n"
    assert main(["humaneval", *arguments, "--sanitize", "--restart"]) == 0
    out, err = capsys.readouterr()
    assert (json.loads(out)["outcomes"]["PASSED"], err) == (1, "")


@pytest.mark.parametrize(("more", "said"), [(0, None), (1, "1 more fault of rows"), (2, "2 more faults of rows")])
def test_of_many_faults_the_first_are_noted_and_the_others_counted(server, folder, capsys, more, said):
    bad = [{"task_id": f"Other/{at}", "completion": "x"} for at in range(samples._NOTES + more)]
    write("samples.jsonl", [{"task_id": "Mine/0", "completion": "    return x + x\n"}, *bad])
    assert main(["humaneval", "samples.jsonl", "--problems", "problems.jsonl", "--server", server]) == 0
    notes = [each for each in capsys.readouterr().err.splitlines() if "Other/" in each or "fault" in each]
    assert len(notes) == samples._NOTES + bool(more)
    assert said is None or notes[-1] == f"cruxbox: and {said}: see the results."


def test_solutions_are_whole_programs(server, folder, capsys):
    write("whole.jsonl", [{"task_id": "Mine/0", "solution": "def double(y):\n    return 2 * y"}])
    assert main(["humaneval", "whole.jsonl", "--problems", "problems.jsonl", "--server", server, "--out", "r"]) == 0
    out, err = capsys.readouterr()
    assert "100.00" in out
    assert "1 of the 2 problems" in err
    assert lines_of("r")[0]["passed"] is True


MISTAKES = [
    ("nope.jsonl", "nope.jsonl: cannot be read: No such file"),
    ("samples.jsonl --problems nope.jsonl", "nope.jsonl: cannot be read"),
    (
        "samples.jsonl --problems samples.jsonl",
        "samples.jsonl, line 1: has neither 'test' nor 'test_list' nor 'base_input'",
    ),
    ("unknown.jsonl", "unknown.jsonl, line 1: 'Mine/7' is no task_id of the problems"),
    ("long.jsonl", "long.jsonl, line 1: 'Mine/777777"),
    ("type.jsonl", "type.jsonl, line 1: field 'completion' must be a string, is a number"),
    ("text.jsonl", "text.jsonl, line 1: is not JSON"),
    ("list.jsonl", "list.jsonl, line 1: must be an object, is a list"),
    ("empty.jsonl", "empty.jsonl: holds no samples"),
    ("samples.jsonl --problems twice.jsonl", "twice.jsonl, line 2: task_id 'Mine/0' is there twice"),
    ("samples.jsonl --problems text.jsonl.gz", "text.jsonl.gz: is not a gzip file"),
    (
        "samples.jsonl --problems name.jsonl",
        "name.jsonl, line 1: entry_point is 'a b', which is no name such as 'f'",
    ),
    ("samples.jsonl --k 0", "--k must be at least 1, not 0"),
    ("samples.jsonl --cpu-limit 0", "--cpu-limit must be a number of seconds above 0"),
    ("samples.jsonl --out samples.jsonl", "samples.jsonl: would overwrite a file it is made from"),
    ("samples.jsonl --out nowhere/out.jsonl", "nowhere/out.jsonl: cannot be written"),
    ("samples.jsonl --server 127.0.0.1:9", "Cannot reach the server at 127.0.0.1:9"),
]


@pytest.mark.parametrize(("line", "sentence"), MISTAKES)
def test_a_mistake_is_one_sentence(folder, capsys, line, sentence):
    write("unknown.jsonl", [{"task_id": "Mine/7", "completion": ""}])
    write("long.jsonl", [{"task_id": "Mine/" + "7" * 100_000, "completion": ""}])
    write("type.jsonl", [{"task_id": "Mine/0", "completion": 1}])
    write("list.jsonl", [[]])
    write("twice.jsonl", [PROBLEM, PROBLEM])
    write("name.jsonl", [{**PROBLEM, "entry_point": "a b"}])
    for name in ("text.jsonl", "text.jsonl.gz"):
        Path(name).write_text("words\n")
    Path("empty.jsonl").write_text("\n")
    before = sorted(folder.iterdir())
    words = line.split()
    assert main(["humaneval", *words, *([] if "--problems" in words else ["--problems", "problems.jsonl"])]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err
    assert err.count("\n") == 1
    assert len(err) < 500
    assert sorted(folder.iterdir()) == before


# ---- the published problems -----------------------------------------------------

# The record of a script that came to its end, as a worker would write it: for whoever thinks that is all it takes.
ENDED = "import struct\n    record = b'\\x01\\0\\0\\0D' + struct.pack('<I', 29) + bytes(29) + bytes(8)\n"
# Bodies that compute nothing and try to pass all the same.
ATTACKS = {
    "equal to everything": "    class E:\n        def __eq__(self, other): return True\n"
    "        def __ne__(self, other): return False\n        __hash__ = None\n    return E()\n",
    "equal list": "    class L(list):\n        def __eq__(self, other): return True\n    return L()\n",
    "sys.exit": "    import sys\n    sys.exit(0)\n",
    "os._exit": "    import os\n    os._exit(0)\n",
    "SystemExit": "    raise SystemExit\n",
    "exit while loading": "    pass\n\nimport os\nos._exit(0)\n",
    "printing": "    print('passed')\n    print('OK', flush=True)\n",
    "patched builtins": "    import builtins\n    builtins.AssertionError = builtins.Exception = ()\n"
    "    builtins.abs = builtins.len = builtins.all = lambda *a: True\n",
    "another check": "    pass\n\ndef check(candidate):\n    pass\nimport builtins\nbuiltins.check = check\n",
    "frame walking": "    import sys\n    frame = sys._getframe()\n    while frame:\n"
    "        for space in (frame.f_locals, frame.f_globals):\n"
    "            for name in list(space):\n                if name in ('check', 'candidate', 'script', 'line'):\n"
    "                    space[name] = lambda *a, **k: None\n        frame = frame.f_back\n",
    "records on every descriptor": "    import os\n    " + ENDED + "    for fd in range(3, 20):\n        try:\n"
    "            os.write(fd, struct.pack('<I', len(record)) + record)\n        except OSError:\n            pass\n"
    "    os._exit(0)\n",
}


@pytest.fixture(scope="module")
def published() -> list[dict]:
    path = Path(os.environ.get("CRUXBOX_DATA", "/nowhere")) / "humaneval" / "HumanEval.jsonl.gz"
    if not path.is_file():
        pytest.skip("CRUXBOX_DATA does not lead to humaneval/HumanEval.jsonl.gz")
    with gzip.open(path, "rt") as lines:
        return [{**json.loads(line), "path": path} for line in lines]


@pytest.mark.data
def test_every_canonical_solution_passes_apart_from_its_test(server, published, tmp_path, capsys):
    samples = tmp_path / "canonical.jsonl"
    lines = [{"task_id": each["task_id"], "completion": each["canonical_solution"]} for each in published]
    samples.write_text("".join(json.dumps(line) + "\n" for line in lines))
    problems = str(published[0]["path"])
    assert main(["humaneval", str(samples), "--problems", problems, "--server", server, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["outcomes"] == {"PASSED": 164}
    assert summary["assurances"] == {"SEPARATED": 164}
    assert summary["pass_at_k"] == {"1": 100.0}


@pytest.mark.data
@pytest.mark.kernel
@pytest.mark.parametrize("attack", ATTACKS)
def test_no_forged_body_passes_any_problem(server, published, attack):
    problems = read_problems(published[0]["path"], problem_of)
    limits = Limits(cpu_ms=1000, steps=100_000)
    programs = {name: each.prompt + ATTACKS[attack] for name, each in problems.items()}
    tasks = [Task(programs[name], each.stages("")[0], limits=limits) for name, each in problems.items()]
    with Client(server) as client:
        verdicts = client.check(tasks)
    assert len(verdicts) == 164
    assert not [verdict for verdict in verdicts if verdict.passed is not False]
    assert Outcome.SANDBOX_ERROR not in {verdict.outcome for verdict in verdicts}


TURNED = {
    "task_id": "Mine/2",
    "prompt": "from functools import reduce\nfrom typing import List\n"
    "def step(s: List[str]) -> List[str]:\n    return reduce(lambda had, each: had + each, s[1:] + s[:1])\n"
    "def turn(s):\n    return step(s)\ndef back(s):\n",
    "entry_point": "back",
    "test": "def check(candidate):\n    for s in ('abc', 'xyz'):\n        assert candidate(turn(s)) == s\n",
}


@pytest.mark.parametrize("told", ["", "    'The text before its turn.'\n"])
@pytest.mark.parametrize(
    ("solution", "result"),
    [
        ("{prompt}    return turn(turn(s))\n", "passed"),
        ("{prompt}    return turn(turn(s))\ndef turn(s):\n    return None\n", "failed: an assertion of"),
        ("{prompt}    return s\ndef turn(s):\n    return s\n", "failed: an assertion of"),
        ("{prompt}    return s\ndef step(s):\n    return s\n", "failed: an assertion of"),
        ("def back(s):\n    return s[2:] + s[:2]\n", "failed: NameError: name 'turn' is not defined"),
        ("def turn(s): ...\ndef back(s):\n    return s[2:] + s[:2]\n", "passed"),
        ("def turn(s): ...\ndef back(s):\n    return reduce(max, s)\n", "failed: NameError: name 'reduce' is not"),
    ],
)
def test_a_helper_of_the_prompt_is_the_test_s_own_and_stays_the_program_s(server, folder, solution, result, told):
    """The test takes the prompt's, and gives it to no sample that has a wrong one."""
    problem = {**TURNED, "prompt": TURNED["prompt"] + told}
    write("problems.jsonl", [problem])
    write("samples.jsonl", [{"task_id": "Mine/2", "solution": solution.format(**problem)}])
    assert main(["humaneval", "samples.jsonl", "--problems", "problems.jsonl", "--server", server, "--restart"]) == 0
    (line,) = lines_of("samples.jsonl_results.jsonl")
    assert line["result"].startswith(result)
    assert line["passed"] is (result == "passed")


# As EvalPlus writes tests whose results are large: the reference with what stands above it.
REFERRED = {
    "task_id": "Mine/4",
    "prompt": "def up(s):\n    return s.upper()\ndef low(s):\n",
    "canonical_solution": "    return s.lower()\n",
    "entry_point": "low",
    "test": "def up(s):\n    return s.upper()\ndef ref_func(s):\n    return s.lower()\ndef check(candidate):\n"
    "    for inp in [['aB'], ['']]:\n        assert candidate(*inp) == ref_func(*inp)\n",
}


@pytest.mark.parametrize(
    ("solution", "result"),
    [
        ("{prompt}    return s.lower()\n", "passed"),
        ("{prompt}    return up(s).lower()\n", "passed"),
        ("def up(s, by):\n    return by(s)\ndef low(s):\n    return up(s, str.lower)\n", "passed"),
        ("def low(s):\n    return s.lower()\n", "passed"),
        ("{prompt}    return up(s)\n", "failed: an assertion of"),
        ("{prompt}    return s.lower() + up(s)[:0]\ndef up(s):\n    return ['x']\n", "failed: TypeError: can only"),
    ],
)
def test_a_helper_that_a_test_has_for_its_reference_leaves_the_program_s_alone(server, folder, solution, result):
    write("problems.jsonl", [REFERRED])
    write("samples.jsonl", [{"task_id": "Mine/4", "solution": solution.format(**REFERRED)}])
    assert main(["humaneval", "samples.jsonl", "--problems", "problems.jsonl", "--server", server, "--restart"]) == 0
    (line,) = lines_of("samples.jsonl_results.jsonl")
    assert line["result"].startswith(result)
    assert line["passed"] is (result == "passed")


def test_evalplus_s_tests_give_a_sample_no_import_that_it_lacks(server, folder):
    """They are made here, and its harness runs the sample by itself."""
    inputs = {"base_input": [[[1, 2]], [[]]], "plus_input": [], "atol": 0}
    problem = {"task_id": "Mine/3", "prompt": "", "entry_point": "low", "canonical_solution": ANY_LOW, **inputs}
    write("problems.jsonl", [problem])
    wrong = ANY_LOW.partition("\n")[2]
    write("samples.jsonl", [{"task_id": "Mine/3", "solution": each} for each in (ANY_LOW, wrong)])
    assert main(["humaneval", "samples.jsonl", "--problems", "problems.jsonl", "--server", server]) == 0
    results = [line["result"] for line in lines_of("samples.jsonl_results.jsonl")]
    assert results == ["passed", "failed: NameError: name 'inf' is not defined"]


ANY_LOW = "from math import inf\ndef low(x):\n    return min(x) if x else inf\n"
