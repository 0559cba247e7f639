"""Whether a script has left by a line of its own, or by what a program beside it did."""

from __future__ import annotations

import functools
import json
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from cruxcell.jobs.suite_base import Results, Suite
from cruxcell.protocol import messages
from interpreters import Twin, pairs

ELSEWHERE = SimpleNamespace(exit=sys.exit)
META = """
class Names(dict):
    def __missing__(self, name): return elsewhere if name == "sys" else globals()[name]
class Meta(type):
    def __prepare__(*_): return Names()
"""
FUNCTION = "import sys\ndef main(%s):\n    %s\nmain(%s)"

# (script, has it run tests?, what the program has bound), and whether it has left well.
LEFT: list[tuple[str, bool, dict[str, Any], bool]] = [
    ("import sys\nsys.exit()", False, {}, True),
    ("import sys\nsys.exit(0)  # well", False, {}, True),
    ("raise SystemExit", False, {}, True),
    (FUNCTION % ("", "sys.exit(None)", ""), False, {}, True),
    ("def main():\n    import sys\n    sys.exit(0)\nmain()", False, {}, True),
    ("def main():\n    import sys\n    def inner():\n        sys.exit(0)\n    inner()\nmain()", False, {}, True),
    ("class Main:\n    import sys\n    sys.exit(0)", False, {}, True),
    ("import sys\nsys.exit(bool(0))", False, {}, False),  # a line that may say anything
    ("import sys\nsys.exit(bool(0))", True, {}, True),  # of tests whose results count anyhow
    ("import sys\nsys.exit(1)", True, {}, False),
    ("import sys\nsys.exit('')", True, {}, False),
    ("raise SystemExit(0) if 0 else type('E', (SystemExit,), {})()", True, {}, False),
    ("leave(0)", True, {"leave": sys.exit}, False),
    ("leave(0)", False, {"leave": sys.exit}, False),
    # What the program raises in a line of its own is not the script's, whatever stands in that line there.
    ("leave()\nraise SystemExit", False, {"leave": "def leave():\n    raise SystemExit"}, False),
    # Nor is what its names stand for.
    ("sys.exit(0)", False, {"sys": ELSEWHERE}, False),
    ("raise SystemExit", False, {"SystemExit": SystemExit}, False),
    (FUNCTION % ("sys", "sys.exit(0)", "elsewhere"), False, {"elsewhere": ELSEWHERE}, False),
    (
        FUNCTION % ("sys", "def inner():\n        sys.exit(0)\n    inner()", "elsewhere"),
        False,
        {"elsewhere": ELSEWHERE},
        False,
    ),
    ("class Main:\n    sys = elsewhere\n    sys.exit(0)", False, {"elsewhere": ELSEWHERE}, False),
    ("[\nsys.exit(0)\nfor sys in [elsewhere]]", False, {"elsewhere": ELSEWHERE}, False),
    (
        "def main():\n    import sys\n    [\n    sys.exit(0)\n    for sys in [elsewhere]]\nmain()",
        False,
        {"elsewhere": ELSEWHERE},
        False,
    ),
    ("def main():\n    import sys\n    [\n    sys.exit(0)\n    for _ in [1]]\nmain()", False, {}, True),
    ("class Main(metaclass=Meta):\n    sys.exit(0)", False, {"elsewhere": ELSEWHERE, "Meta": META}, False),
    ("class Main:\n    SystemExit = SystemExit\n    raise SystemExit(0)", False, {}, False),
    (FUNCTION % ("SystemExit", "raise SystemExit(0)", "SystemExit"), False, {}, False),
    (FUNCTION % ("sys", "(lambda: sys)()\n    sys.exit(0)", "elsewhere"), False, {"elsewhere": ELSEWHERE}, False),
]


def has_left(script: str, *, has_run: bool, bound: dict[str, Any]) -> bool:
    suite = Suite(script)
    suite.has_run = has_run
    code = compile(script, "<check>", "exec")
    suite.is_compiled(code)
    for name, value in bound.items():
        suite.namespace[name] = value
        if isinstance(value, str):
            exec(value, suite.namespace)
    with pytest.raises(SystemExit) as raised:
        exec(code, suite.namespace)
    return suite.has_left(raised.value)


@pytest.fixture(autouse=True)
def main(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.mark.parametrize(("script", "has_run", "bound", "is_well"), LEFT)
def test_a_script_has_left_by_a_line_of_its_own(script, has_run, bound, is_well):
    assert has_left(script, has_run=has_run, bound=bound) is is_well


# From 3.12 on a comprehension is part of the code around it, and its variables are put back before anybody looks.
EVERYWHERE = """
import json, sys
from types import SimpleNamespace
from cruxcell.jobs.suite_base import Suite

def has_left(script):
    suite, code = Suite(script), compile(script, "<check>", "exec")
    suite.is_compiled(code)
    suite.namespace["elsewhere"] = SimpleNamespace(exit=sys.exit)
    try:
        exec(code, suite.namespace)
    except SystemExit as error:
        return suite.has_left(error)

print(json.dumps([has_left(script) for script in json.loads(sys.argv[1])]))
"""


@pytest.mark.parametrize("twin", [native for native, _ in pairs()], ids=str)
def test_the_variable_of_a_comprehension_is_not_the_module(twin: Twin):
    every = {script: is_well for script, has_run, bound, is_well in LEFT if not has_run and set(bound) <= {"elsewhere"}}
    many = "".join(f"    name{number} = {number}\n" for number in range(300))  # its number takes two operations
    every[f"def main():\n{many}    import sys\n    [\n    sys.exit(0)\n    for sys in [elsewhere]]\nmain()"] = False
    assert twin.ask(EVERYWHERE, json.dumps([*every])) == [*every.values()]


def test_whom_the_program_makes_leave_has_not_left(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "exit", functools.partial(sys.exit, 0))
    assert not has_left("import sys\nsys.exit()", has_run=True, bound={})


def test_what_nobody_raised_is_no_end():
    assert not Suite("raise SystemExit").has_left(SystemExit())


def test_beyond_so_many_tests_nothing_more_is_run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(messages, "MAX_TESTS", 4)
    results = Results()
    assert [results.add(messages.TEST_PASSED, "test") for _ in range(6)] == [True] * 3 + [False] * 3
    assert [letter for letter, _, _ in results.all] == [messages.TEST_PASSED] * 3 + [messages.TEST_ERROR]
