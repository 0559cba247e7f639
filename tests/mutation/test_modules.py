"""What `make mutation` changes is there, and so are the tests it asks."""

from __future__ import annotations

import shlex
import subprocess
import sys
from functools import lru_cache
from types import ModuleType
from typing import Any

import pytest

from mutation import pairs
from mutation.modules import LEFT_OUT, PACKAGES, ROOT, TESTS, harmless
from mutation.warm import caches_of

SANDBOX = ROOT / "sandbox"


def test_every_module_of_the_trusted_packages_is_changed_or_said_why_not():
    there = {
        str(path.relative_to(SANDBOX))
        for package in PACKAGES
        for path in (SANDBOX / package).glob("*.py")
        if path.name != "__init__.py"
    }
    assert len(there) > 50
    assert there - set(TESTS) - set(LEFT_OUT) == set()
    assert [module for module in (*TESTS, *LEFT_OUT) if not (SANDBOX / module).is_file()] == []
    assert set(TESTS) & set(LEFT_OUT) == set()


def test_the_tests_it_asks_are_there():
    files = {shlex.split(test)[0] for tests in TESTS.values() for test in tests}
    assert [name for name in files if not (ROOT / "tests" / name).is_file()] == []
    assert all(TESTS.values())


def test_what_is_asked_of_a_part_of_a_file_has_tests_in_it():
    """Of a file whose part is empty pytest says that it failed, and then none of its module's mutants is asked."""
    parts = sorted({test for tests in TESTS.values() for test in tests if " " in test})
    collect = (
        "import shlex, sys, pytest; "
        "print(*(part for part in sys.argv[1:] "
        "if pytest.main([*shlex.split(part), '--collect-only', '-qq', '-p', 'no:cacheprovider'])))"
    )
    done = subprocess.run([sys.executable, "-c", collect, *parts], cwd=ROOT / "tests", capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == ""


def test_what_is_harmless_is_a_change_of_a_line_that_is_there():
    def stands(known: str) -> bool:
        module, _, change = known.partition(": ")
        lines = (SANDBOX / module).read_text().splitlines() if module in TESTS else []
        return change.partition("  =>  ")[0] in map(str.strip, lines)

    assert [known for known in sorted(harmless()) if not stands(known)] == []


@pytest.mark.processes
@pytest.mark.parametrize("expected", ["PASSED", "FAILED", "INVALID", "RAISED", "CRASHED"])
def test_a_case_of_each_sort_is_judged_without_a_daemon(expected: str):
    """`make mutation` says how many of the others need one. In a process of its own, as there: where gRPC is busy, as a
    client of another test may be in this one, a fork of the process is ended by it (SIGABRT)."""
    program, script, entry = next(case[:3] for case in pairs.CASES.values() if case[3] == expected)
    judge = "import sys; from mutation import pairs; print(pairs.outcome(*sys.argv[1:]))"
    command = [sys.executable, "-c", judge, program, script, entry]
    done = subprocess.run(command, cwd=ROOT / "tests", stdout=subprocess.PIPE, text=True, check=True)
    assert done.stdout.split() == [expected]


def test_what_a_module_remembers_is_found_without_asking_its_objects(monkeypatch: pytest.MonkeyPatch):
    """To ask a class of the candidate's for an attribute is to ask a process."""

    def asks(_cls: type, _name: str) -> None:
        raise LookupError

    module: Any = ModuleType("remembers")
    module.cls = type("Meta", (type,), {"__getattr__": asks})("Remote", (), {})
    module.remembers = lru_cache(len)
    monkeypatch.setitem(sys.modules, "remembers", module)
    assert caches_of("remembers.py") == [module.remembers]
