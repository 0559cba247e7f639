"""Samples and problems as data sets store them, and what their tests need."""

from __future__ import annotations

import json
import math
import re

import pytest
from cruxbox import Clock, Limits, Outcome, Verdict
from cruxbox.cli import main
from cruxbox.errors import DataError
from cruxbox.problems.evalplus import scripts_of
from cruxbox.problems.functions import problem_of
from cruxbox.problems.reading import read_problems, read_samples
from cruxbox.problems.records import BadRow
from cruxbox.problems.running import Runner, Way
from cruxbox.problems.shapes import Sample
from problems_by_hand import BODY, NATIVE, WHOLE, judged, write


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


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        *(({"atol": value}, "field 'atol' must be a number from 0 on, not ")
          for value in (math.nan, math.inf, -1, True, "", "0", "1" * 5000, [], {}, [1])),
        *(({"plus_input": value}, "field 'plus_input' must be a list of lists of arguments")
          for value in (0, False, "", {}, "x", [1], {"a": []})),
        ({"base_input": None}, "field 'base_input' must be a list of lists"),
        ({"task_id": "Mbpp/63", "base_input": [[1, 2]]}, "field 'base_input' holds arguments that Mbpp/63 does not"),
        ({"task_id": ""}, "field 'task_id' is empty"),
    ],
)  # fmt: skip
def test_a_native_record_of_another_shape_is_no_problem(change, sentence):
    """A tolerance that is no number would fail right programs; inputs that are none would pass wrong ones."""
    with pytest.raises(BadRow, match=re.escape(sentence)) as refused:
        problem_of({**NATIVE, **change}, "")
    assert len(str(refused.value)) < 200


def test_problems_without_a_name_are_none(tmp_path):
    """A sample of another name would be asked about the names that there are."""
    path = write(tmp_path / "p.jsonl", {**NATIVE, "task_id": ""})
    with pytest.raises(DataError, match=r"p\.jsonl, line 1: field 'task_id' is empty"):
        read_problems(path, problem_of)


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


class Server:
    """Answers each task by a function, and remembers what it was asked."""

    def __init__(self, answer):
        self.answer, self.asked = answer, []

    def stream(self, tasks, *, ordered=True):
        for task in list(tasks):
            self.asked.append(task)
            yield self.answer(task)

    def runs(self):
        """How often it ran another program than the problem's own solution."""
        return sum(1 for task in self.asked if task.program != OWN)


OWN = HEAVY["prompt"] + HEAVY["canonical_solution"]


@pytest.mark.parametrize(("clock", "needed_ms", "runs"), [("CPU", 200, 1), ("CPU", 3_000, 2), ("WALL", 200, 2)])
def test_what_ran_out_of_cpu_time_runs_again_only_with_more_of_it(tmp_path, clock, needed_ms, runs):
    problems = read_problems(write(tmp_path / "p.jsonl", HEAVY), problem_of)

    def answer(task):
        """The problem's own solution passes and any other program runs out."""
        more = {"outcome": Outcome.TIMED_OUT, "clock": Clock[clock]}
        if task.program == OWN:
            more = {"outcome": Outcome.PASSED, "cpu_ns": needed_ms * 1_000_000}
        return Verdict(task.id, task.checks[0].id, **more)

    server = Server(answer)
    way = Way(limits=Limits(cpu_ms=10_000), most=Limits(cpu_ms=60_000, wall_ms=300_000, memory_bytes=4 << 30))
    ((_, fields),) = Runner(server, problems, way).run([(0, Sample("Heavy/0", "while True: pass", {}))])
    assert fields["outcome"] == "TIMED_OUT"
    assert server.runs() == runs


@pytest.mark.parametrize(("room", "passed", "runs"), [(2 << 30, False, 2), (8 << 30, None, 1)])
def test_a_test_that_is_too_large_for_the_usual_limits_runs_again_with_more(tmp_path, room, passed, runs):
    """If the problem's own solution passes it there: what cannot be used at all says nothing, and runs once."""
    problems = read_problems(write(tmp_path / "p.jsonl", HEAVY), problem_of)

    def answer(task):
        """It reads the test with `room` for it, and knows the problem's own solution."""
        outcome = Outcome.PASSED if task.program == OWN else Outcome.FAILED
        if task.limits.memory_bytes < room:
            outcome = Outcome.INVALID
        return Verdict(task.id, task.checks[0].id, outcome, detail="the script: too large, to be parsed")

    server = Server(answer)
    way = Way(limits=Limits(cpu_ms=10_000), most=Limits(cpu_ms=60_000, memory_bytes=4 << 30))
    ((_, fields),) = Runner(server, problems, way).run([(0, Sample("Heavy/0", "def size(n): pass", {}))])
    assert fields["passed"] is passed
    assert server.runs() == runs
