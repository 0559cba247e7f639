"""Files of a check: found in its scratch folder, read back from it, and bounded."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cruxbox import Assurance, CallCheck, Client, Limits, Outcome, RunCheck, ScriptCheck, StdioCheck, Task
from scratch_folders import MIB, has_scratch, run

__all__ = ["has_scratch"]  # a fixture that every test here uses

pytestmark = pytest.mark.kernel


def test_files_are_found_and_read_back(native: Client):
    program = """
    import os
    print(open('in/a.txt').read(), sorted(os.listdir('.')))
    open('out.bin', 'wb').write(bytes(range(256)))
    os.makedirs('d'); open('d/x', 'w').write('1')
    os.symlink('in/a.txt', 'link'); os.symlink('d', 'e')
    os.mkdir('folder')
    os._exit(3)
    """
    names = ["out.bin", "d/x", "link", "e/x", "folder", "none", "in/a.txt"]
    check = RunCheck(files={"in/a.txt": b"check", "b": b""}, read_files=names)
    verdict = run(native, program, check, files={"in/a.txt": b"task", "c": b""})
    assert verdict.stdout == ""  # left without flushing
    assert verdict.exit_code == 3
    assert verdict.files == {"out.bin": bytes(range(256)), "d/x": b"1", "in/a.txt": b"check"}


def test_files_have_the_permissions_that_they_have_on_most_hosts(native: Client):
    program = (
        "import os\nopen('n', 'w').close()\nfor name in ('in', 'in/a', 'n'): print(oct(os.stat(name).st_mode)[-3:])"
    )
    assert run(native, program, StdioCheck("", "755\n644\n644", files={"in/a": b"1"})).passed


@pytest.mark.parametrize("end", ["", "import sys; sys.exit(3)", "1 / 0"])
def test_what_an_open_file_holds_is_written_at_the_end(native: Client, end: str):
    """As the interpreter does: the namespace goes, and with it the file."""
    verdict = run(native, "f = open('a', 'w')\nf.write('x')\n" + end, RunCheck(read_files=["a"]))
    assert verdict.files == {"a": b"x"}


def test_more_than_the_output_limit_is_not_read_back(native: Client):
    program = "open('x', 'wb').truncate(20 << 20)"
    verdict = run(native, program, RunCheck(read_files=["x"]))
    assert (verdict.outcome, verdict.files) == (Outcome.OUTPUT_LIMIT, {})
    assert "files that were asked for" in verdict.detail


def test_files_of_a_task_are_found_by_all_kinds(native: Client):
    program = "def f():\n    return open('data').read()\ndef g(x):\n    return x + f()\n"
    checks = [
        CallCheck("f()", "'7'", id="call"),
        CallCheck("f()", "open('data').read()", id="expected"),
        CallCheck("g(open('data').read())", "'77'", "g", id="argued"),
        ScriptCheck("assert f() == '7' == open('data').read()", id="script"),
        ScriptCheck("assert f() == '7'", "f", id="entry"),
    ]
    tasks = [Task(program, checks, files={"data": b"7"}, env={"A": "1"})]
    tasks.append(Task(program + "print(f())", [StdioCheck("", "7"), StdioCheck("", "8", files={"data": b"8"}, id="8")]))
    tasks[1] = Task(tasks[1].program, [StdioCheck("", "7", id="7"), tasks[1].checks[1]], files={"data": b"7"})
    verdicts = native.check(tasks)
    assert [verdict.outcome for verdict in verdicts] == [Outcome.PASSED] * 7, verdicts
    assert {verdict.assurance for verdict in verdicts} == {Assurance.SEPARATED}, verdicts


def test_as_many_as_are_allowed_have_long_names_too(native: Client):
    names = ["d/" * 64 + f"{number:02d}" + "x" * 70 for number in range(64)]
    check = RunCheck(files=dict.fromkeys(names, b"1"), read_files=names, env={f"A{n}": "1" for n in range(64)})
    assert run(native, "import os", check).files == dict.fromkeys(names, b"1")


WRONG = {
    "files names 'a/../b'": {"a/../b": b""},
    "files names 'a' and 'a/b'": {"a": b"", "a/b": b""},
}


@pytest.mark.parametrize("why", WRONG)
def test_names_that_cannot_be_are_that_tasks_own_fault(native: Client, why: str):
    verdict, other = native.check(
        [Task("x = 1", [RunCheck()], files=WRONG[why]), Task("print(1)", [StdioCheck("", "1")])]
    )
    assert verdict.outcome is Outcome.INVALID
    assert why in verdict.detail
    assert other.passed


@pytest.mark.parametrize("check", [RunCheck(), ScriptCheck("assert f() == 1")], ids=["run", "script"])
def test_files_that_its_memory_does_not_hold_are_the_tasks_own_fault(native: Client, check: RunCheck | ScriptCheck):
    largest = Task("def f(): return 1", [check], files={"a": bytes(15 * MIB)}, limits=Limits(memory_bytes=16 * MIB))
    (verdict,) = native.check([largest])
    assert verdict.outcome is Outcome.INVALID, verdict
    assert "more memory than its limit" in verdict.detail
    (verdict,) = native.check([replace(largest, limits=Limits(memory_bytes=64 * MIB))])
    assert verdict.outcome in {Outcome.EXECUTED, Outcome.PASSED}, verdict


def test_names_to_be_read_back_are_looked_at(native: Client):
    verdict = run(native, "x = 1", RunCheck(read_files=["../../etc/passwd"]))
    assert verdict.outcome is Outcome.INVALID
    assert "run.read_files names '../../etc/passwd'" in verdict.detail
