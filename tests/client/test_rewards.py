"""Completions of all kinds of problems, rewarded as TRL's trainers ask. `make test-trl` has a trainer."""

from __future__ import annotations

import json
import pickle
import re

import pytest
from cruxbox import Limits
from cruxbox.errors import DataError
from cruxbox.rewards import Reward

HUMANEVAL = {
    "prompt": 'def last(text):\n    """The last letter, upper case."""\n',
    "entry_point": "last",
    "test": "def check(candidate):\n    assert candidate('abc') == 'C'\n    assert candidate('x') == 'X'\n",
}
MBPP = {"task_id": 7, "text": "Double a number.", "test_list": ["assert double(4) == 8", "assert double(0) == 0"]}
APPS = {"input_output": json.dumps({"inputs": ["1 2\n", "3 4\n"], "outputs": ["3\n", "7\n"]})}
LIVE_CODE_BENCH = {
    "starter_code": "class Solution:\n    def total(self, xs: List[int]) -> int:",
    "metadata": json.dumps({"func_name": "total"}),
    "public_test_cases": json.dumps([{"input": "[1, 2]", "output": "3", "testtype": "functional"}]),
}
SUM = "a, b = map(int, input().split())\nprint(a + b)"
TOTAL = "class Solution:\n    def total(self, xs: List[int]) -> int:\n        return sum(xs)"


def chat(code):
    return f"<think>Is it ```python\n1 / 0\n```?</think>Sure! Here it is:\n\n```python\n{code}\n```\nIt works."


def whole(sentence):
    return f"^{re.escape(sentence)}$"


def said(content):
    return [{"role": "assistant", "content": "I think ..."}, {"role": "assistant", "content": content}]


RIGHT_AND_WRONG = [
    (HUMANEVAL, "    return text[-1].upper()", 1.0),
    (HUMANEVAL, "    return text[-1]", 0.0),
    (HUMANEVAL, chat("def last(text):\n    return text[-1:].upper()"), 1.0),
    (
        HUMANEVAL,
        chat("class Any:\n    def __eq__(self, _):\n        return True\ndef last(text):\n    return Any()"),
        0.0,
    ),
    ({name: HUMANEVAL[name] for name in ("test", "entry_point")}, chat("def last(x): return x[-1].upper()"), 1.0),
    (HUMANEVAL, "I cannot do that.", 0.0),
    (HUMANEVAL, "", 0.0),
    (MBPP, said(chat("def double(x):\n    return 2 * x")), 1.0),
    (MBPP, said([{"type": "text", "text": chat("def double(x):\n    return x * x")}]), 0.0),
    (MBPP, said([{"type": "text", "text": "def double(x):\n"}, {"type": "text", "text": "    return x + x"}]), 1.0),
    (MBPP, said(None), 0.0),
    (APPS, chat(SUM), 1.0),
    (APPS, chat(SUM.replace("+", "-")), 0.0),
    (APPS, chat("import sys\nsys.exit(0)"), 0.0),
    (LIVE_CODE_BENCH, chat(TOTAL), 1.0),
    (LIVE_CODE_BENCH, chat(TOTAL.replace("sum", "max")), 0.0),
]


NEEDS = {"entry_point": "f", "test": "import {}\n\ndef check(candidate):\n    assert candidate() == 1\n"}


@pytest.mark.parametrize("package", ["numpy", "nowhere_to_be_found"])
def test_nothing_is_known_where_a_test_needs_a_package_that_the_runtime_lacks(server, package):
    problem = {**NEEDS, "test": NEEDS["test"].format(package)}
    [fields] = Reward(server).judge([chat("def f():\n    return 1")], [problem])
    assert fields["passed"] is None
    assert fields["result"] == f"invalid: the tests import {package}, which the default runtime does not have"


@pytest.mark.parametrize("as_text", [False, True], ids=["objects", "texts"])
def test_completions_of_every_benchmark(server, as_text):
    problems, completions, rewards = zip(*RIGHT_AND_WRONG)
    told = {}
    given = pickle.loads(pickle.dumps(Reward(server)))(
        prompts=["?"] * len(problems),
        completions=list(completions),
        completion_ids=[[1]] * len(problems),
        problem=[json.dumps(each) if as_text else each for each in problems],
        trainer_state=None,
        log_extra=None,
        log_metric=told.__setitem__,
    )
    assert given == list(rewards)
    assert told == {"cruxbox/unknown": 0.0}


def test_nulls_of_a_column_are_no_fields(server):
    """A column of objects has in each row the fields of all rows."""
    none = dict.fromkeys({**HUMANEVAL, **MBPP, **APPS, **LIVE_CODE_BENCH})
    problems, completions, rewards = zip(*RIGHT_AND_WRONG)
    given = Reward(server, column="row")(completions=completions, row=[{**none, **each} for each in problems])
    assert given == list(rewards)


def test_what_is_not_known_has_no_reward(server):
    told = {}
    too_large = {**HUMANEVAL, "test": HUMANEVAL["test"] + "#" * (17 << 20)}
    rows = [HUMANEVAL, "{", {"entry_point": "f"}, [], {**HUMANEVAL, "test": 5}, too_large]
    with pytest.warns(UserWarning, match="its completions have no reward") as warned:
        given = Reward(server)(completions=[RIGHT_AND_WRONG[0][1]] * 6, problem=rows, log_metric=told.__setitem__)
    assert given == [1.0, None, None, None, None, None]
    assert told == {"cruxbox/unknown": 5 / 6}
    assert [str(each.message).partition(";")[0] for each in warned] == [
        "problem 1: is not JSON: Expecting property name enclosed in double quotes (column 2)",
        "problem 2: has neither 'test' nor 'test_list' nor 'base_input': no problem of HumanEval, MBPP or EvalPlus",
        "problem 3: must be an object, is a list",
        "problem 4: field 'test' must be a string, is a number",
    ]


def test_one_sentence_for_a_batch_that_cannot_be_judged(server):
    reward = Reward(server)
    with pytest.raises(DataError, match=whole("the data set has no column 'problem', which holds the problems")):
        reward(completions=["1"], prompts=["?"])
    with pytest.raises(DataError, match=whole("the numbers of items differ: 2 completions, 1 problems")):
        reward(completions=["1", "2"], problem=[MBPP])
    with pytest.raises(DataError, match=whole("completion 1 must be a text, or messages with a content, is 5")):
        reward(completions=["1", 5], problem=[MBPP, MBPP])
    assert reward(completions=[], problem=[]) == []


def test_limits_and_what_became_of_each(server):
    reward = Reward(server, limits=Limits(cpu_ms=200, steps=100_000))
    endless = "def double(x):\n    while True:\n        pass"
    found = reward.judge([endless, "def double(x):\n    return x"], [MBPP, json.dumps(MBPP)])
    assert [(one["passed"], one["outcome"]) for one in found] == [(False, "STEP_LIMIT"), (False, "FAILED")]
    assert found[1]["assurance"] == "SEPARATED"
