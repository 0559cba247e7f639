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


MODULES = {"shop/__init__.py": b"", "shop/money.py": b"RATE = 3\ndef m(x): return x * RATE\n", "util.py": b"ONE = 1\n"}


@pytest.mark.parametrize(
    "check",
    [
        CallCheck("f(1)", "7"),
        CallCheck("f(x=int('1'))", "7"),
        ScriptCheck("assert f(1) == 7"),
        ScriptCheck("for n in range(3):\n    assert f(n) == 3 * n + 4"),
        ScriptCheck("from solution import f\nassert f(1) == 7 and g() == 3", module="solution"),
        ScriptCheck("import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(g(), 3)"),
        StdioCheck("1", "7"),
        RunCheck("1"),
    ],
    ids=repr,
)
def test_a_program_imports_modules_of_its_files(native: Client, check):
    """As a file that lies beside them, also later on."""
    program = "from shop.money import m\nimport util\ndef f(x): return m(x + util.ONE) + 1\n"
    program += "def g():\n    from shop import money\n    return money.RATE\n"
    if isinstance(check, (StdioCheck, RunCheck)):
        program += "print(f(int(input())))\n"
    if isinstance(check, ScriptCheck) and check.module:
        check = replace(check, script=check.script.replace("import f", "import f, g"))
    verdict = run(native, program, check, files=MODULES)
    assert verdict.stdout == "7\n" if isinstance(check, RunCheck) else verdict.passed, verdict
    assert run(native, program.replace("+ 1\n", "+ 2\n").replace("RATE", "m"), check, files=MODULES).passed is not True


@pytest.mark.parametrize(
    "check",
    [
        ScriptCheck("from shop.money import m\nassert f(1) == m(1)"),
        ScriptCheck("f(1)\nimport util\nassert f(1) == util.ONE"),
        CallCheck("f(1)", "__import__('util').ONE"),
        StdioCheck("1", "1", checker="def check(i, o, e):\n    import util\n    return util.ONE == 1\n"),
        ScriptCheck("import os, sys\nsys.path.insert(0, os.getcwd())\nf(1)\nimport util\nassert f(1) == util.ONE"),
        ScriptCheck("import sys\nsys.path.insert(0, '.')\nf(1)\nimport util\nassert f(1) == util.ONE"),
    ],
    ids=repr,
)
def test_what_judges_a_program_imports_none_of_them(native: Client, check):
    """The program may have written them anew."""
    change = "open('util.py', 'w').write('ONE = 7')\nopen('shop/money.py', 'w').write('def m(x): return 7')\n"
    for program in (change + "def f(x):\n    return 7\n", "def f(x):\n    return 1\n"):
        verdict = run(native, program + "print(1)\n", check, files=MODULES)
        assert verdict.passed is False
    if isinstance(check, ScriptCheck) and "sys" not in check.script:
        assert verdict.detail == "a test imports no module of the task's files, as these are the program's"


EQUAL_TO_ALL = {
    "mine.py": b"class All:\n    def __eq__(self, other): return True\ndef g(x): return All()\n",
    "test_mine.py": b"import unittest\nclass T(unittest.TestCase):\n    def test(self): pass\n",
    "mine.pickle": b"cunittest.mock\nANY\n.",
}
_LOADED = """import importlib.util
spec = importlib.util.spec_from_file_location("mine", "mine.py")
mine = importlib.util.module_from_spec(spec)
spec.loader.exec_module(mine)
assert mine.g(1) == 2
"""


@pytest.mark.parametrize(
    "script",
    [
        _LOADED,
        "import site\nsite.addsitedir('.')\nimport mine\nassert mine.g(1) == 2",
        "import runpy\nassert runpy.run_path('mine.py')['g'](1) == 2",
        "space = {}\nexec(open('mine.py').read(), space)\nassert space['g'](1) == 2",
        "import pickle\nassert pickle.load(open('mine.pickle', 'rb')) == f(1)",
        "import unittest\nclass Mine(unittest.TestCase):\n    def test(self): unittest.defaultTestLoader.discover('.')",
    ],
)
def test_what_judges_a_program_runs_none_of_them_before_the_program_has_answered(native: Client, script: str):
    verdict = run(native, "import mine\ndef f(x):\n    return 3\n", ScriptCheck(script), files=EQUAL_TO_ALL)
    assert verdict.outcome is Outcome.INVALID, verdict
    assert "code that may be the program's" in verdict.detail


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


OWN_FILE = [
    ("import os\nprint(open(__file__).read()[-3:], os.listdir())  # é", {}, "# é ['program.py']"),
    ("import sys\nprint(len(open(sys.argv[0]).readlines()))", {}, "2"),
    ("print(open(__file__).read())", {"program.py": b"7"}, "7"),  # the task's is there in its place
]


@pytest.mark.parametrize(("program", "files", "printed"), OWN_FILE, ids=["__file__", "argv", "the task's"])
def test_a_program_is_in_its_folder(native: Client, program: str, files: dict[str, bytes], printed: str):
    verdict = run(native, program, StdioCheck("", printed), files=files)
    assert verdict.passed, verdict


def test_as_an_attribute_of_a_class_statvfs_is_no_method(native: Client):
    program = "import os\nclass Files: disk = os.statvfs\nprint(Files().disk('.').f_bfree > 0, os.statvfs)"
    verdict = run(native, program, StdioCheck("", "True <built-in function statvfs>"))
    assert verdict.passed, verdict
