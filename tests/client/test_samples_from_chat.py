"""Samples as chat models write them, and problems as data sets store them."""

from __future__ import annotations

import ast
import json
import math

import pytest
from cruxbox import Clock, Limits, Outcome, Verdict
from cruxbox.cli import main
from cruxbox.errors import DataError
from cruxbox.problems.evalplus import scripts_of
from cruxbox.problems.functions import problem_of
from cruxbox.problems.reading import read_problems, read_samples
from cruxbox.problems.records import BadRow
from cruxbox.problems.running import Runner, Way
from cruxbox.problems.sanitizing import sanitized
from cruxbox.problems.shapes import Sample
from problems_by_hand import MBPP, NATIVE, judged, write

# What a pattern may run over again from each of its characters; in this length that takes minutes.
ENDLESS = [
    *[" " * 300_000 + "x", "\n" * 300_000 + "x", "</s>" * 75_000 + "x", "<|a|> " * 50_000 + "x"],
    *["```" + part * 300_000 for part in ("`", " ", "a", "~")],
    "from __future__ import (\n" * 12_000,
    "    x\n" * 20_000 + "".join(f"def a{at}(): pass\n" for at in range(10_000)),
]


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
        f"````markdown\n# Mean\n```python\n{WHOLE}```\n````\n",
        f"```Markdown\n```python\n{WHOLE}```\n```\n",
        f"{WHOLE}\nExplanation\n\nThe function adds.\n",
        f"{BODY}\nExplanation\n\nThe function adds.\n",
        f"python\n{WHOLE}",
        f"python\r# \x0c\u2028\r\n{WHOLE}Done\n",
        f"Answer: see\n\n@staticmethod\n{WHOLE}\nComplexity: O(n)\nDone\n",
        f"from typing import Callable\ndef _mean(xs):\n{BODY}\nmean: Callable = _mean\n",
        "10. ```python\n" + "".join(f"    {line}\n" for line in WHOLE.splitlines()) + "    ```\n",
        "-\t```python\n" + "".join(f"\t{line}\n" for line in WHOLE.splitlines()) + "\t```\nIt adds.\n",
        "    return added(xs) / len(xs)\n\ndef added(xs):\n    return sum(xs)\n\nprint(mean([]))\n",
    ],
)
def test_code_comes_out_of_chat(text):
    namespace: dict = {}
    exec(sanitized(text, "mean", PROMPT), namespace)
    assert namespace["mean"]([1, 2]) == 1.5


HELPERS = """import math
from typing import List

class Node:
    x = 1

@staticmethod
def helper(x): return x * LIMIT
LIMIT = (
    2 * Node.x
)
"""


@pytest.mark.parametrize("end", ["def mean(xs):\n    '''The mean.'''\n", "def mean(xs):\n", "'The mean of xs.'\n", ""])
@pytest.mark.parametrize("text", ["{}", "Sure:\n```python\nfrom __future__ import annotations\n{}```"])
def test_what_a_prompt_has_beside_the_entry_point_is_there(text, end):
    """As where the sample goes on behind it. The sample's own counts."""
    program = sanitized(text.format("def mean(xs):\n    return helper(sum(xs)) + math.pi\n"), "mean", HELPERS + end)
    namespace: dict = {}
    exec(program, namespace)
    assert namespace["mean"]([1]) == 2 + math.pi
    assert program.count("mean") == 1
    exec(sanitized("def helper(x): return 7\ndef mean(xs): return helper(1)", "mean", HELPERS + end), namespace)
    assert namespace["mean"]([1]) == 7


@pytest.mark.parametrize("quotes", ['"""', "'''"])
def test_a_fence_in_a_text_of_a_program_is_none(quotes):
    text = f"{quotes}Reads:\n```\nx\n```\n{quotes}\nprint(input())\n"
    assert sanitized(text, "") == text


@pytest.mark.parametrize("entry_point", ["Solution().mean", "Solution.mean"])
@pytest.mark.parametrize(
    "text", ["{}", "import math\n{}", "Sure:\n```python\n{}```\n```python\nSolution().mean([1])\n```\n"]
)
def test_a_method_is_of_its_class(text, entry_point):
    method = "class Solution:\n    def mean(self, xs):\n        return sum(xs) / len(xs)\n"
    assert method in sanitized(text.format(method), entry_point, "from typing import *\n")
    assert sanitized("```python\n" + method + "```\n```python\nprint(1)\n```", entry_point) == method


@pytest.mark.parametrize("text", ["x\n", "x; y = 1\n", "y = 1; x\n", "a: int\nb: str", f"y = 1\nx\n{WHOLE}"])
def test_a_word_stays_where_it_is_not_beside_the_code(text):
    assert sanitized(text, "") == text


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


@pytest.mark.parametrize("prompt", ["", "def mean(xs):\n"])
def test_what_stumbles_on_each_of_its_last_lines_is_not_parsed_for_ever(monkeypatch, prompt):
    lines = "x = [1, 2, 3]\n" * 1_900 + "".join(f"{' ' * at}if x:\n" for at in range(60))
    parsed, parse = list[int](), ast.parse
    monkeypatch.setattr(ast, "parse", lambda text, *more: parsed.append(len(text)) or parse(text, *more))
    assert sanitized(lines, "mean", prompt).endswith(lines.lstrip())
    assert sum(parsed) < 4_000_000, sum(parsed)


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
