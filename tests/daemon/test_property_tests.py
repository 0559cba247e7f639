"""Suites of hypothesis: it makes the functions that it calls while a test runs, by code of its own."""

from __future__ import annotations

import sys

import pytest
from cruxbox import Client, Limits, Outcome, ScriptCheck, Task

RIGHT = """
def runs(text):
    found = []
    for each in text:
        if found and found[-1][0] == each:
            found[-1][1] += 1
        else:
            found.append([each, 1])
    return found
def whole(found):
    return "".join(each * count for each, count in found)
class Stack:
    def __init__(self): self.items = []
    def push(self, value): self.items.append(value)
    def pop(self): return self.items.pop()
"""
WRONG = RIGHT.replace("found[-1][1] += 1", "found[-1][1] = 2").replace("items.pop()", "items.pop(0)")
HEAD = """
import unittest, pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
settings.register_profile("few", max_examples=30, derandomize=True, database=None, deadline=None,
                          suppress_health_check=list(HealthCheck))
settings.load_profile("few")
"""
# How far an example is made smaller takes a second of a fast host.
LIMITS = Limits(cpu_ms=30_000, wall_ms=60_000)
FUNCTION = """
@given(st.text(alphabet="ab", min_size=1), st.integers(0, 3))
def test_back(text, more):
    text += text[-1] * more
    assert whole(runs(text)) == text
"""
CASE = """
class Back(unittest.TestCase):
    @given(text=st.lists(st.sampled_from("ab"), max_size=9).map("".join))
    def test_back(self, text):
        self.assertEqual(whole(runs(text)), text)
"""
MACHINE = """
class Machine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.stack, self.model = Stack(), []
    @rule(value=st.integers())
    def push(self, value):
        self.stack.push(value)
        self.model.append(value)
    @precondition(lambda self: self.model)
    @rule()
    def pop(self):
        assert self.stack.pop() == self.model.pop()
TestMachine = Machine.TestCase
TestMachine.settings = settings(stateful_step_count=8)
"""
SUITES = {
    "functions of pytest": (FUNCTION, "pytest"),
    "a case of unittest": (CASE, "unittest"),
    "a case for pytest": (CASE, "pytest"),
    "a machine, for pytest": (MACHINE, "pytest"),
    "a machine, for unittest": (MACHINE, "unittest"),
    "a function that the script calls": (FUNCTION + "test_back()\n", ""),
}


@pytest.fixture(scope="module")
def client():
    with Client(workers=2, server_args=[f"--runtime=default={sys.executable}", "--own-packages"]) as connected:
        yield connected


@pytest.mark.parametrize("name", SUITES)
def test_a_suite_of_properties(client: Client, name: str):
    script, framework = SUITES[name]
    check = ScriptCheck(HEAD + script, framework=framework)
    tasks = [Task(program, [check], limits=LIMITS) for program in (RIGHT, WRONG)]
    right, wrong = client.check(tasks)
    assert right.outcome is Outcome.PASSED, right
    assert wrong.outcome is Outcome.FAILED, wrong
