"""Output that a checker judges, and how much of it may be."""

from __future__ import annotations

import pytest
from behaviours import tested_runtimes
from cruxbox import Assurance, Client, Limits, Outcome, RunCheck, StdioCheck, Task

pytestmark = pytest.mark.kernel


# Any two numbers with the sum that was asked for are right.
CHECKER = """
def check(stdin, stdout, expected):
    return sum(map(int, stdout.split())) == int(stdin)
"""


@pytest.mark.parametrize("count", [10, 1 << 20])
def test_a_checker_is_given_texts_whatever_was_printed_and_however_much(native: Client, count: int):
    """What is long crosses as bytes."""
    program = f"import sys, os\nos.write(1, b'\\xff' + '\u00e9'.encode() + sys.stdin.read().encode() + b'o' * {count})"
    checker = (
        "def check(*given):\n    stdin, printed, expected = given\n"
        f"    return (stdin, printed, expected) == ('\u20ac', '\ufffd\u00e9\u20ac' + 'o' * {count}, 'e' * {count})"
    )
    for expected, outcome in [("e" * count, Outcome.PASSED), ("e", Outcome.FAILED)]:
        check = StdioCheck("€", expected, checker=checker)
        (verdict,) = native.check([Task(program, [check], limits=Limits(output_bytes=2 << 20))])
        assert verdict.outcome is outcome, verdict


def test_a_checker_decides(native: Client):
    programs = ["print(3, 4)", "print(7, 0)", "print(1, 1)"]
    verdicts = native.check([Task(program, [StdioCheck("7", checker=CHECKER)]) for program in programs])
    assert [verdict.outcome.name for verdict in verdicts] == ["PASSED", "PASSED", "FAILED"]
    assert {verdict.assurance for verdict in verdicts} == {Assurance.SEPARATED}


@pytest.mark.parametrize(("printed", "outcome"), [("3, 4", "PASSED"), ("3, 5", "FAILED"), ("''", "CRASHED")])
def test_what_was_printed_before_the_end_by_exit_is_judged(native: Client, printed: str, outcome: str):
    """As where output is expected; who printed nothing has left without an answer, whatever a checker says of that."""
    program = f"import os\nprint({printed}, flush=True)\nos._exit(0)"
    (verdict,) = native.check([Task(program, [StdioCheck("0" if outcome == "CRASHED" else "7", checker=CHECKER)])])
    assert verdict.outcome.name == outcome, verdict


BROKEN_CHECKERS = {
    "def check(*texts):\n    raise KeyError(1)": "KeyError",
    "def check(*texts):\n    while True: pass": "out of",
    "def check(*texts):\n    return 'yes'": "True or False",
    "def check(*texts):\n    import os\n    os._exit(0)": "gave no answer",
    "def check(": "gave no answer",
    "x = 1": "NameError",
}


@pytest.mark.parametrize("stdin", ["", "a" * (1 << 13)])
@pytest.mark.parametrize("checker", BROKEN_CHECKERS)
def test_a_broken_checker_is_not_the_candidates_failure(native: Client, checker: str, stdin: str):
    task = Task("print(1)", [StdioCheck(stdin, "1", checker=checker)], limits=Limits(cpu_ms=500))
    (verdict,) = native.check([task])
    assert verdict.outcome is Outcome.INVALID, verdict
    assert BROKEN_CHECKERS[checker] in verdict.detail


@pytest.mark.parametrize("checker", ["def check(", "raise ValueError\ndef check(*texts): return True", "x = 1"])
def test_a_checker_that_cannot_be_loaded_is_invalid_where_no_output_is_known(native: Client, checker: str):
    (verdict,) = native.check([Task("print(1)", [StdioCheck("", checker=checker)])])
    assert verdict.outcome is Outcome.INVALID, verdict


# A checker that is sound -> what a candidate prints to make it raise, hang, return no bool or be given too much.
UPSET_CHECKERS = {
    "def check(stdin, stdout, expected):\n    return int(stdout) == int(expected)": "'x'",
    "def check(stdin, stdout, expected):\n    return stdout.strip() and stdout.split()[0] == '1'": "''",
    "def check(stdin, stdout, expected):\n    n = int(stdout)\n    while n != 1: n += 1\n    return True": "2",
    "def check(stdin, stdout, expected):\n    return len([0] * int(stdout)) == 1": "10**12",
    "def check(stdin, stdout, expected):\n    return stdout.strip() == '1'": "'1' * (4 << 20)",
}


@pytest.mark.parametrize("expected", ["1", ""])
@pytest.mark.parametrize("checker", UPSET_CHECKERS)
def test_what_a_candidate_prints_never_makes_its_check_invalid(native: Client, checker: str, expected: str):
    limits = Limits(cpu_ms=500, output_bytes=8 << 20)
    programs = [f"print({UPSET_CHECKERS[checker]})", "print(1)"]
    check = StdioCheck("", expected or "1", checker=checker)
    if not expected:  # no output is known on which the checker could be tried
        check = StdioCheck("", checker=checker.replace("int(expected)", "1"))
    upset, right = native.check([Task(program, [check], limits=limits) for program in programs])
    assert right.outcome is Outcome.PASSED, right
    assert upset.outcome in (Outcome.FAILED, Outcome.OUTPUT_LIMIT), upset


@pytest.mark.parametrize("imports", ["import sqlite3\nconnect = sqlite3.connect", "from sqlite3 import connect"])
def test_sql_that_a_candidate_prints_calls_no_code_of_the_checker_s_process(native: Client, imports: str):
    checker = f"""{imports}
base = connect(":memory:")
base.create_function("twice", 1, lambda x: 2 * x)
def check(given, printed, expected):
    return [base.execute(printed).fetchall(), connect(":memory:").execute("select 7").fetchall()][0] == [(6,)]
"""
    texts = ("select max(1, twice(3))", "select 6 union select fts3_tokenizer('simple') limit 1", "select 5")
    tasks = [Task(f"print({text!r})", [StdioCheck("", "select 6", checker=checker)]) for text in texts]
    assert [verdict.outcome for verdict in native.check(tasks)] == [Outcome.PASSED, Outcome.FAILED, Outcome.FAILED]


def test_a_checker_meets_no_code_of_the_candidate(native: Client):
    program = "import builtins\nbuiltins.sum = lambda x: 7\nprint(\"1, 1', '', '') or True or ('\\n1\")"
    (verdict,) = native.check([Task(program, [StdioCheck("7", checker=CHECKER)])])
    assert verdict.outcome is Outcome.FAILED, verdict  # int() of what was printed raises in the checker
    assert "ValueError" in verdict.detail


_EQUALS_ALL = 'type("A", (), {"__eq__": lambda *_: True})()'
# What a checker does with what was printed -> what is printed to decide by itself.
RUNS_WHAT_IS_PRINTED = {
    "eval(stdout) == eval(expected)": _EQUALS_ALL,
    "eval(stdout, {}) == 1": '[f.f_globals for f in []] or __import__("os")._exit(0)',
    "exec(f'x = {stdout}', d := {}) or d['x'] == int(expected)": f"0; x = {_EQUALS_ALL}",
    "eval(compile(stdout.strip(), '', 'eval')) == 1": _EQUALS_ALL,
    "__import__('pickle').loads(bytes.fromhex(stdout)) == 1":  # eval(...)
        b"cbuiltins\neval\n(V(lambda: type('A', (), {'__eq__': lambda *_: True})())()\ntR.".hex(),
    "(lambda f: f(stdout) == 1)(eval)": "(lambda: 1)()",
}  # fmt: skip


@pytest.mark.parametrize("which", ["native", "pure"])
def test_a_checker_runs_nothing_that_was_printed(request: pytest.FixtureRequest, which: str):
    client: Client = request.getfixturevalue(which)
    tasks = []
    for expression, printed in RUNS_WHAT_IS_PRINTED.items():
        checker = f"def check(stdin, stdout, expected):\n    return {expression}"
        for stdin in ("", "a" * (1 << 13)):
            tasks.append(Task(f"print({printed!r})", [StdioCheck(stdin, "1", checker=checker)]))
            swallows = (
                f"def check(stdin, stdout, expected):\n    try: return {expression}\n    except Exception: return False"
            )
            tasks.append(Task(f"print({printed!r})", [StdioCheck(stdin, "1", checker=swallows)]))
    verdicts = client.check(tasks)
    found = {task.program: verdict.detail for task, verdict in zip(tasks, verdicts) if verdict.passed is not False}
    assert found == {}
    assert "may be what was printed" in verdicts[0].detail


# Beside what is its own: texts, modules, what modules make of names.
RUNS_ITS_OWN = """
import collections, dataclasses, enum
exec("def own(x): return x + 1")
@dataclasses.dataclass
class A:
    x: int
def check(stdin, stdout, expected):
    import fractions, json
    Pair = collections.namedtuple("Pair", "a b")
    exec("y = 1", names := {})
    E = enum.Enum("E", "a b")
    own_ones = [names["y"], A(own(0)).x, Pair(1, 2).a, eval("E.a.value")]
    return own_ones == [1] * 4 and eval(stdout) == [1, {"a": 2.5}]
"""


@pytest.mark.parametrize("runtime", tested_runtimes())
def test_a_checker_runs_its_own_code_and_reads_data(native: Client, runtime: str):
    checks = [StdioCheck(stdin, "[1]", checker=RUNS_ITS_OWN) for stdin in ("", "a" * (1 << 13))]
    right, wrong = [Task(f"print([1, {{'a': {x}}}])", checks, runtime=runtime) for x in (2.5, 3)]
    assert [verdict.outcome.name for verdict in native.check([right, wrong])] == ["PASSED"] * 2 + ["FAILED"] * 2


def test_steps_of_a_checker_are_not_counted(native: Client):
    """Counting takes a loop several times its time, and no limit on steps is the checker's."""
    checker = (
        "def check(stdin, stdout, expected):\n    total = 0\n    for i in range(3000000): total += i & 3\n"
        "    return int(stdout) == 7 and total > 0"
    )
    limits = Limits(cpu_ms=2_000, steps=10_000)
    for stdin in ("", "a" * (1 << 13)):  # a short one is asked by a call
        (verdict,) = native.check([Task("print(7)", [StdioCheck(stdin, "7", checker=checker)], limits=limits)])
        assert verdict.outcome is Outcome.PASSED, verdict


# ---- how much may be printed -----------------------------------------------------------------------------------------

LONG = "x" * (3 << 19)  # 1.5 MiB: more than the default


def test_what_is_expected_may_be_printed(native: Client):
    prints = f"print('x' * {len(LONG)})"
    tasks = [
        Task(prints, [StdioCheck("", LONG), StdioCheck("", "no")]),
        Task(prints, [StdioCheck("", LONG)], limits=Limits(output_bytes=1 << 20)),
        Task("print('a')", [StdioCheck("", "a" + "\n" * 2000)], limits=Limits(output_bytes=1000)),
    ]
    verdicts = native.check(tasks)
    assert [each.outcome.name for each in verdicts] == ["PASSED", "OUTPUT_LIMIT", "INVALID", "PASSED"]
    assert f"is {3 << 19} bytes, which no program may print: limits.output_bytes is {1 << 20}" in verdicts[2].detail


def test_the_limit_does_not_tell_how_long_the_expected_output_is(native: Client):
    """Where it is raised for the check. A program that is never told what to print finds out how much it may."""
    program = "import sys\nlimit = sys.stderr.buffer.raw.write(b'x' * (1 << 23))\nprint(limit)"
    expected = ["x" * length for length in (600_123, 777_777, 1_000_000, 1_500_000)]
    verdicts = native.check([Task(program, [StdioCheck("", each) for each in expected])])
    assert [int(each.stdout) for each in verdicts] == [1 << 21, 1 << 21, 1 << 21, 1 << 22]


FLOOD = "import sys\nfor _ in range(30):\n    sys.stderr.write('e' * 50)\n{}print(1)\n"


@pytest.mark.parametrize(
    ("behind", "outcome"),
    [
        ("", Outcome.PASSED),
        ("sys.stderr.buffer.write(b'e' * 5000)\n", Outcome.PASSED),
        ("sys.stdout.write('o' * 2000)\n", Outcome.OUTPUT_LIMIT),
        ("1 / 0\n", Outcome.OUTPUT_LIMIT),
        ("while True: sys.stderr.write('e' * 50)\n", Outcome.TIMED_OUT),
    ],
)
@pytest.mark.parametrize("kind", [lambda: StdioCheck("", "1"), RunCheck])
def test_standard_error_is_cut(native: Client, behind: str, outcome: Outcome, kind):
    limits = Limits(output_bytes=1000, cpu_ms=500)
    (verdict,) = native.check([Task(FLOOD.format(behind), [kind()], limits=limits)])
    assert verdict.outcome is (Outcome.EXECUTED if outcome is Outcome.PASSED and kind is RunCheck else outcome)
    assert len(verdict.stderr) <= 1000
    if outcome is Outcome.PASSED:
        assert (verdict.output_truncated, verdict.stdout, verdict.stderr) == (True, "1\n", "e" * 1000)
