"""Separated scripts through the whole service: what crosses, what stays, what a candidate cannot do."""

from __future__ import annotations

import os
import re
from dataclasses import replace

import pytest
from behaviours import tested_runtimes
from cruxbox import Assurance, CallCheck, Client, Limits, Outcome, ScriptCheck, StepCount, Task
from separated_cases import CASES

pytestmark = pytest.mark.kernel

every_runtime = pytest.mark.parametrize("runtime", tested_runtimes())


# At the end of a script: what only asserts what calls give would be judged by its calls (`test_series.py`).
LAST = "\nlast = len('')"


ONE_THREAD = "import threading\ndef f():\n    threading.Thread(target=print).start()\n    return 1"


ONE_FOLDER = "import tempfile\ndef f():\n    return len([tempfile.mkdtemp()])\n"


# What works with files: by the names of what writes, links, opens or counts them.
FILES = r"tempfile|disk_usage|\.db\b|open\(|Path\(|os\.\w*(?:dir|link|name)\w*\("


def possible(client: Client) -> dict[str, tuple[str, str, str, str]]:
    """All cases but those that need what the host refuses, as to users without user namespaces: threads, files."""
    probes = {"thread|concurrent": (ONE_THREAD, "f()"), FILES: (ONE_FOLDER, "f()")}
    passed = [
        client.check([Task(program, [CallCheck(call, "1")])])[0].outcome is Outcome.PASSED
        for program, call in probes.values()
    ]
    refused = "|".join([words for words, has_passed in zip(probes, passed) if not has_passed])
    return {name: case for name, case in CASES.items() if not (refused and re.search(refused, str(case)))}


def wrong(client: Client, runtime: str, last: str = LAST, more: str = "", turn: int = -1) -> list[str]:
    """The cases whose verdict is another than it should be. `more`: at the end of each program. `turn`: of three ways
    each case takes one beside the usual one; `make test-interpreters` takes all."""
    cases = possible(client)
    if turn >= 0 and os.environ.get("CRUXBOX_INTERPRETERS") != "all":
        cases = {name: case for at, (name, case) in enumerate(cases.items()) if at % 3 == turn}
    tasks = [
        Task(program + more, [ScriptCheck(script + last, entry)], runtime=runtime, id=name)
        for name, (program, script, entry, _) in cases.items()
    ]
    found = []
    for verdict, (name, case) in zip(client.check(tasks), cases.items()):
        if verdict.outcome.name != case[3] or verdict.assurance is not Assurance.SEPARATED:
            found.append(f"{name}: {verdict.outcome.name} {verdict.assurance} {verdict.detail} {verdict.exception}")
    return found


@every_runtime
def test_every_case(native: Client, runtime: str):
    assert wrong(native, runtime) == []


def test_every_case_as_it_stands(native: Client):
    assert wrong(native, "default", "", turn=0) == []


def test_every_case_where_threads_may_ask(native: Client):
    assert wrong(native, "default", more="\nimport threading\n", turn=1) == []


def test_every_case_with_the_pure_twin(pure: Client):
    assert wrong(pure, "default", turn=2) == []


ASKS_FOR_ONE = {"require_assurance": Assurance.IN_PROCESS}


@pytest.mark.parametrize("options", [ASKS_FOR_ONE, {"step_count": StepCount.EVENTS}], ids=["required", "events"])
def test_one_process_is_for_those_who_ask(native: Client, options: dict):
    script = ScriptCheck("x = Maker().make(1)\nassert x == 1", "Maker().make")
    program = "class Maker:\n    def make(self, x):\n        return x"
    asked, not_asked = native.check([Task(program, [script], **options), Task(program, [script])])
    if "require_assurance" in options:
        assert asked.outcome is Outcome.PASSED
    assert asked.assurance is Assurance.IN_PROCESS
    assert (not_asked.outcome, not_asked.assurance) == (Outcome.PASSED, Assurance.SEPARATED)


def test_what_counts_events_cannot_be_separated(native: Client):
    task = Task("def f(x): return x", [ScriptCheck("y = f(1)\nassert y", "f")], step_count=StepCount.EVENTS)
    (verdict,) = native.check([replace(task, require_assurance=Assurance.SEPARATED)])
    assert verdict.outcome is Outcome.INVALID
    assert "IN_PROCESS" in verdict.detail


def test_a_script_that_hands_over_too_much_is_itself_to_blame(native: Client):
    scripts = ["f(b'x' * (17 << 20))\nassert f(1) == 1", "f(1)\nf(b'x' * (17 << 20))\nassert f(1) == 1"]
    tasks = [Task("def f(x): return x", [ScriptCheck(script, "f")]) for script in scripts]
    first, later = native.check(tasks)
    assert first.outcome is Outcome.INVALID
    assert later.outcome is Outcome.FAILED
    assert "may cross" in first.detail


@pytest.mark.parametrize("entry", ["f.", "f(", "f(1)", "f()g", ".f", "f..g", "()", "f().__class__()x", "a b", "f)("])
def test_entry_points_are_names_attributes_and_empty_calls(native: Client, entry: str):
    (verdict,) = native.check([Task("def f(x): return x", [ScriptCheck("assert f(1) == 1", entry)])])
    assert verdict.outcome is Outcome.INVALID
    assert "entry_point" in verdict.detail


# What makes a script one that is run without being read before: it is large, and has a loop.
LARGE = "x = [" + "1, " * 2000 + "]\n"
LOOP = "def check(candidate):\n    for i in [1, 2]:\n        assert candidate(i) == i + 1\n"
DIES = "raise ValueError"
UNREAD = {
    "right": ("def f(x):\n    return x + 1", LOOP + "check(f)", Outcome.PASSED, ""),
    "wrong": ("def f(x):\n    return 2", LOOP + "check(f)", Outcome.FAILED, "does not hold"),
    "dies": (DIES, LOOP + "check(f)", Outcome.RAISED, ""),
    "no script": ("def f(x):\n    return 2", LOOP + "check(f", Outcome.INVALID, "the script: "),
    "no script of what dies": (DIES, LOOP + "check(f", Outcome.INVALID, "the script: "),
    "never called": ("def f(x):\n    return 2", LOOP, Outcome.INVALID, "the script: the script tests nothing"),
    "never called of what dies": (DIES, LOOP, Outcome.INVALID, "the script: the script tests nothing"),
    "no call at its end": ("def f(x):\n    return x + 1", LOOP + "if f:\n    check(f)", Outcome.PASSED, ""),
    "a tuple": ("def f(x):\n    return 2", LOOP + "assert (f(1) == 3, 2)\ncheck(f)", Outcome.INVALID, "on a tuple"),
}


OF_ITS_OWN = {
    "a patch": (
        "import time\nfrom unittest.mock import patch\nwith patch('time.time', return_value=1): assert f(1) == 3",
        True,
    ),
    "a seed": ("import random\nrandom.seed(1)\nx = random.random() + f(1)\nassert x == 9", True),
    "an error": ("import os\nos.environ['A'] = 'b'\nf(1).b", True),
    "none": ("import random\nx = random.random() + f(1)\nassert x == 9", False),
}


@pytest.mark.parametrize("name", OF_ITS_OWN)
def test_a_script_that_uses_what_is_its_own_says_so_where_it_fails(native: Client, name: str):
    script, is_told = OF_ITS_OWN[name]
    (verdict,) = native.check([Task("def f(x): return x + 1", [ScriptCheck(script)])])
    assert verdict.passed is False
    assert ("for itself" in verdict.detail and "IN_PROCESS" in verdict.detail) is is_told


@pytest.mark.kernel
def test_a_script_on_which_its_reader_ends_is_looked_at_where_it_runs(native: Client):
    """Its tree takes longer to make than a reader has: that does not let it pass."""
    script = "x = [" + "(1, 'two', 3.5), " * 60_000 + "]\nassert (f(1), 2)\nf(1)"
    limits = Limits(cpu_ms=20_000, wall_ms=60_000)  # on a slow host, the default ones are too short for the tree
    task = Task("def f(x):\n    return x", [ScriptCheck(script, "f")], limits=limits)
    told = native.check([task, replace(task, require_assurance=Assurance.IN_PROCESS)])
    assert [(each.outcome, "on a tuple" in each.detail) for each in told] == [(Outcome.INVALID, True)] * 2


@pytest.mark.parametrize("runtime", tested_runtimes()[:1] + tested_runtimes()[-1:])
def test_a_large_script_with_a_loop_is_judged_as_if_it_had_been_read(native: Client, runtime: str):
    tasks = [
        Task(program, [ScriptCheck(LARGE + script, "f")], id=name, runtime=runtime)
        for name, (program, script, _, _) in UNREAD.items()
    ]
    for verdict, (name, (_, _, outcome, detail)) in zip(native.check(tasks), UNREAD.items()):
        assert (verdict.outcome, detail in verdict.detail) == (outcome, True), f"{name}: {verdict}"


MONEY = """class Money:
    def __init__(self, x): self.x = x
    def __eq__(self, other): return True
    def __hash__(self): return 1
class Plain:
    def __init__(self, x): self.x = x
def f(x): return Money(x)
def g(x): return Plain(x)
"""
SUITE = """import unittest
class T(unittest.TestCase):
    def test_it(self): self.assertEqual(f(1), f(1))
"""


@pytest.mark.parametrize(
    ("script", "framework", "outcome", "is_told"),
    [
        ("assert f(1) == f(1)", "", Outcome.FAILED, True),
        ("assert [f(1)] == [f(1)]", "", Outcome.FAILED, True),
        ("assert 1 in [f(1)]", "", Outcome.FAILED, True),
        ("assert f(1) == 1", "", Outcome.FAILED, True),
        (SUITE, "unittest", Outcome.FAILED, True),
        # It did not happen.
        ("x = f(1)\nassert x == x and x.x == 2", "", Outcome.FAILED, False),
        ("assert g(1) == g(1)", "", Outcome.FAILED, False),
        ("assert f(1).x == 2", "", Outcome.FAILED, False),
        ("assert not f(1)", "", Outcome.FAILED, False),
        ("assert f(1) != f(1)", "", Outcome.FAILED, False),  # and says another reason
        ("assert len({f(1), f(1)}) == 2", "", Outcome.PASSED, False),
        ("f(1) == f(1)\nraise ValueError", "", Outcome.RAISED, False),
    ],
)  # fmt: skip
def test_a_test_that_fails_says_so_where_it_compared_objects(native: Client, script, framework, outcome, is_told):
    (verdict,) = native.check([Task(MONEY, [ScriptCheck(f"{script}\n", framework=framework)])])
    assert verdict.outcome is outcome
    assert ("by identity" in verdict.detail) is is_told
    assert verdict.assurance is Assurance.SEPARATED
