"""A program that binds names of Python's anew meets no code of the harness: the verdict is as if it had not."""

from __future__ import annotations

import builtins
import keyword
import sys

import pytest
from cruxbox import CallCheck, Check, Client, Outcome, ScriptCheck, StdioCheck, Task

SCRIPT = """
class Number:
    def plus(self, value):
        return value
for number in 1, 2:
    assert candidate(Number().plus(number)) == number + 1
try:
    candidate("a")
except ERROR:
    pass
assert [candidate(number) for number in (1, 2)] == [2, 3]
"""
CHECKS: dict[str, Check] = {
    "calls": CallCheck("f([1, (2, {3: 4})][0])", "2"),
    "stdio": StdioCheck("", "2\n"),
    "script": ScriptCheck(SCRIPT, entry_point="f"),
}
NAMES = {
    "builtins": [name for name in dir(builtins) if name[0] != "_" and not keyword.iskeyword(name)] + ["__import__"],
    "os": ["write", "read", "_exit", "close", "open", "fsdecode", "kill", "getpid"],
    "posix": ["write", "read", "_exit", "close", "open", "fstat", "kill", "getpid"],
    "sys": [name for name in vars(sys) if callable(getattr(sys, name))],
    "time": ["thread_time_ns", "perf_counter_ns", "time", "sleep", "monotonic"],
    "struct": ["Struct", "pack", "unpack"],
}


@pytest.mark.parametrize("kind", CHECKS)
@pytest.mark.parametrize("module", NAMES)
def test_no_name_that_a_program_binds_anew_is_the_harness_s(native: Client, module: str, kind: str):
    program = "import {0} as module\nERROR = TypeError\nmodule.{1} = None\ndef f(number):\n    return number + 1\n"
    end = "print(f(1))" if kind == "stdio" else ""
    names = [name for name in NAMES[module] if name != "print" or not end]
    verdicts = native.check([Task(program.format(module, name) + end, [CHECKS[kind]]) for name in names])
    assert not [each for each in zip(names, verdicts) if each[1].outcome is not Outcome.PASSED]
