"""Programs that a suite tests, and the verdict on one."""

from __future__ import annotations

import pytest
from cruxbox import Assurance, Client, ScriptCheck, Task

RIGHT = "def add(a, b):\n    return a + b\n"
WRONG = "def add(a, b):\n    return a - b\n"
BOTH_WAYS = pytest.mark.parametrize("require", [None, Assurance.IN_PROCESS], ids=["separated", "in process"])


def ask(client: Client, program: str, script: str, framework: str = "unittest", entry: str = "", **options: object):
    (verdict,) = client.check([Task(program, [ScriptCheck(script, entry, framework=framework)], **options)])
    return verdict
