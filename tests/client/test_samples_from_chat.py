"""Samples as chat models write them."""

from __future__ import annotations

import ast
import math

import pytest
from cruxbox.problems.functions import problem_of
from cruxbox.problems.reading import read_problems, read_samples
from cruxbox.problems.sanitizing import sanitized
from problems_by_hand import BODY, MBPP, NATIVE, WHOLE, write

# What a pattern may run over again from each of its characters; in this length that takes minutes.
ENDLESS = [
    *[" " * 300_000 + "x", "\n" * 300_000 + "x", "</s>" * 75_000 + "x", "<|a|> " * 50_000 + "x"],
    *["```" + part * 300_000 for part in ("`", " ", "a", "~")],
    "from __future__ import (\n" * 12_000,
    "    x\n" * 20_000 + "".join(f"def a{at}(): pass\n" for at in range(10_000)),
]


PROMPT = "from typing import List\n\ndef mean(xs: List[float]) -> float:\n    '''The mean.'''\n"


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
