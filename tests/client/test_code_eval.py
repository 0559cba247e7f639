"""The metric `code_eval`, as its users call it: what it takes and returns is that of Hugging Face's `evaluate`."""

from __future__ import annotations

import pytest
from cruxbox.code_eval import CodeEval
from cruxbox.errors import DataError, InvalidRequest

ADD = "assert add(2, 3) == 5"
RIGHT, WRONG = "def add(a, b):\n    return a + b", "def add(a, b):\n    return a * b"
LIAR = "class Any:\n    def __eq__(self, _):\n        return True\ndef add(a, b):\n    return Any()"
EXIT = "import sys\nsys.exit(0)"


def test_the_example_of_its_documentation(server):
    scores, results = CodeEval(server).compute(references=[ADD], predictions=[[WRONG, RIGHT]], k=[1, 2])
    assert scores == {"pass@1": 0.5, "pass@2": 1.0}
    wrong, right = results[0]
    assert right == (1, {"task_id": 0, "passed": True, "result": "passed", "completion_id": 1})
    assert (wrong[0], wrong[1]["passed"]) == (0, False)
    assert wrong[1]["result"].startswith("failed: ")


def test_tests_of_humaneval_and_of_mbpp_and_programs_that_pass_in_one_process(server):
    check = "def check(candidate):\n    assert candidate(1, 1) == 2\n\ncheck(add)"
    cases = [[RIGHT, LIAR], [RIGHT, EXIT], [WRONG, "def add(a, b):\n    while True: pass"]]
    scores, results = CodeEval(server).compute(
        references=[check, f"{ADD}\nassert add(0, 0) == 0", ADD],
        predictions=cases,
        k=[1, 2, 10],
        num_workers=8,
        timeout=1,
    )
    assert [[each["passed"] for _, each in results[at]] for at in range(3)] == [
        [True, False],
        [True, False],
        [False] * 2,
    ]
    assert results[2][1][1]["result"] == "timed out"
    assert scores == pytest.approx({"pass@1": 1 / 3, "pass@2": 2 / 3})  # none has ten candidates


def test_what_no_candidate_has_a_part_in_leaves_n(server):
    scores, results = CodeEval(server).compute(
        references=["assert add(1, 2", ADD], predictions=[[RIGHT], [RIGHT]], k=[1]
    )
    assert scores == {"pass@1": 1.0}
    assert results[0][0][1]["passed"] is None
    assert results[0][0][1]["result"].startswith("invalid: reference 0: ")


def test_nothing_is_known_where_the_runtime_lacks_a_package(server):
    scores, results = CodeEval(server).compute(references=[f"import numpy\n{ADD}"], predictions=[[RIGHT]], k=[1])
    assert (scores, results[0][0][1]["passed"]) == ({}, None)


@pytest.mark.parametrize(
    ("arguments", "error", "sentence"),
    [
        ({"references": [ADD, ADD]}, DataError, "the numbers of problems differ: 1 lists of predictions, 2 references"),
        ({"references": ADD}, InvalidRequest, "references must be a list or tuple of strings, not "),
        ({"predictions": [RIGHT]}, InvalidRequest, r"predictions\[0\] must be a list or tuple of strings, not "),
        ({"k": [0]}, InvalidRequest, r"k must be a list of whole numbers of at least 1, not \[0\]"),
        ({"timeout": 0}, InvalidRequest, "timeout must be a number of seconds above 0, at most 1e9, not 0"),
    ],
)
def test_one_sentence_for_what_is_no_batch(server, arguments, error, sentence):
    with pytest.raises(error, match=f"^{sentence}"):
        CodeEval(server).compute(**{"predictions": [[RIGHT]], "references": [ADD], **arguments})


def test_nothing_is_no_batch_and_no_error(server):
    assert CodeEval(server).compute(predictions=[], references=[]) == ({}, {})
    assert CodeEval(server).compute(predictions=[[]], references=[ADD]) == ({}, {0: []})
