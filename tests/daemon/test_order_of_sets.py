"""A set that crosses between two workers is gone through as in one process, in whatever kind of check."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from behaviours import tested_runtimes
from cruxbox import Assurance, CallCheck, Client, EvaluateCheck, Isolation, Outcome, ScriptCheck, Task

pytestmark = pytest.mark.kernel

PROCESS = Isolation.PROCESS

PROGRAM = """
def f(s):
    return list(s)
def g(l):
    return set(l)
def h(l):
    return frozenset(l)
"""


def sets() -> list[list[int]]:
    """Of all sizes below 25, with items of which some would stand in the same place."""
    rng = random.Random(11)
    return [[rng.randint(-200, 200) for _ in range(size)] for size in range(2, 25)]


def test_a_call_s_arguments_and_what_a_script_gives_and_gets_keep_their_order(native: Client):
    tasks = []
    for items in sets():
        order, frozen = list(set(items)), list(frozenset(items))
        display = "{" + ", ".join(map(str, items)) + "}"
        displayed = list(eval(display))
        checks = [
            CallCheck(f"f(set({items}))", repr(order)),
            CallCheck(f"f({display})", repr(displayed)),
            ScriptCheck(f"assert list(g({items})) == {order}"),
            ScriptCheck(f"assert list(h({items})) == {frozen}"),
            ScriptCheck(f"s = set({items})\nassert f(s) == {order}"),
            ScriptCheck(f"s = {display}\nassert f(s) == {displayed}"),
            ScriptCheck(f"assert f({display}) == {displayed}"),
            ScriptCheck(f"for x, y in [({display}, {displayed})]:\n    assert f(x) == y"),
            ScriptCheck(f"import random\ns = g({items})\nassert [list(s), f(s)] == [{order}] * 2"),
        ]
        tasks.append(Task(PROGRAM, checks))
    verdicts = native.check(tasks)
    assert {(each.outcome, each.assurance) for each in verdicts} == {(Outcome.PASSED, Assurance.SEPARATED)}


def test_another_order_is_another_list(native: Client):
    """Equal sets of which one has lost an item: a program that gives that one gives another list."""
    program = "def f(x):\n    s = {94, 83, 67, 3, 59, 99}\n    s.discard(99)\n    return s if x else set(s)"
    order = list(eval("{94, 83, 67, 3, 59}"))
    wrong = order[::-1]
    task = Task(program, [ScriptCheck(f"assert list(f(0)) != {wrong}"), ScriptCheck(f"assert list(f(0)) == {wrong}")])
    assert [each.outcome for each in native.check([task])] == [Outcome.PASSED, Outcome.FAILED]


def words(rng: random.Random) -> list[str]:
    return ["".join(rng.choices("abcdefghij", k=7)) for _ in range(rng.choice([4, 6, 9, 12]))]


@pytest.mark.parametrize("runtime", tested_runtimes())
def test_the_texts_of_others_leave_sets_their_order(native: Client, runtime: str):
    """Of other checks in the same worker, which the interpreter has met when it compiles a set of the same texts."""
    rng = random.Random(11)
    every = [words(rng) for _ in range(40)]
    displays = ["{" + ", ".join(map(repr, each)) + "}" for each in every]
    checks = [EvaluateCheck(f"f({each})") for pair in zip(map(tuple, every), displays) for each in pair]
    others = [Task(f"def f(x):\n    return {tuple(each)}", [EvaluateCheck("f(1)")], runtime=runtime) for each in every]
    tasks = [Task(f"def f(x):\n    return [y for y in {each}]", [EvaluateCheck("f(1)")]) for each in displays]
    tasks = [replace(each, runtime=runtime) for each in tasks]
    task = Task(PROGRAM, checks, runtime=runtime)
    alone = [verdict.value for verdict in native.check([replace(each, isolation=PROCESS) for each in [task, *tasks]])]
    together = [verdict.value for verdict in native.check([task, *others, *tasks])]
    assert alone[:80] == together[:80]
    assert alone[80:] == together[120:]
    one_by_one = native.check([each for pair in zip(others, tasks) for each in pair])
    assert alone[80:] == [verdict.value for verdict in one_by_one][1::2]
