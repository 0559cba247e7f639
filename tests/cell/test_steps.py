"""The step counter: exact, the same on every run, the same in both twins; and its limit, which nothing gets past."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from interpreters import Twin, pairs, programs, twins

every_twin = pytest.mark.parametrize("twin", twins(), ids=str)
every_pair = pytest.mark.parametrize(("native", "pure"), pairs(), ids=str)

PROGRAMS = {
    **programs("step_programs.txt"),
    "long jumps": "def f():\n t = 0\n for i in range(5):\n" + "  t += i * 3; t -= 1\n" * 150 + " return t",
    "wide arguments": "def f(): return sum(range(3)) + "
    + " + ".join(f"x{i}" for i in range(300))
    + "".join(f"\nx{i} = {i}" for i in range(300)),
}

# Runs each program of a JSON file twice in fresh namespaces; prints [steps of the program, steps of f(), outcome].
COUNT = """
import gc, json
gc.collect(); gc.disable()
def measure(source):
    try:
        code = compile(source, "program", "exec")
    except SyntaxError:
        return None
    space = {"__name__": "program"}
    k.run(code, space, 0, 1, b"")
    loaded = k.steps()
    try:
        outcome = ascii(k.run(compile("f()", "check", "eval"), space, 0, 1, b""))
    except BaseException as error:
        outcome = type(error).__name__
    return [loaded, k.steps(), outcome]
with open(sys.argv[1]) as file:
    programs = json.load(file)
print(json.dumps([[measure(source), measure(source)] for source in programs]))
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "programs.json"
    path.write_text(json.dumps(list(PROGRAMS.values())))
    return path


# Up to 3.10 a Python trace function keeps what a local variable lets go of alive until its own next call, where
# nothing is counted. So the pure twin does not see the steps of such a finalizer there.
UNSEEN_FINALIZERS = {"finalizers", "weak references", "generator throw and close"}


@every_pair
def test_twins_count_the_same(native: Twin, pure: Twin, corpus: Path) -> None:
    """Two processes of one twin agree from the first run on; the twins agree once modules are imported."""
    first, again, other = (dict(zip(PROGRAMS, twin.ask(COUNT, str(corpus)))) for twin in (native, native, pure))
    assert first == again
    unlike = UNSEEN_FINALIZERS if native.version < (3, 11) else set()
    assert {name for name in PROGRAMS if first[name][1] != other[name][1]} == unlike
    counted = [warm for _, warm in first.values() if warm is not None]
    assert len(counted) >= len(PROGRAMS) - 2  # match and except* are younger than some interpreters
    assert all(loaded > 0 and called > 0 for loaded, called, _ in counted)


@pytest.mark.data
@every_pair
def test_twins_agree_on_published_programs(native: Twin, pure: Twin, tmp_path: Path) -> None:
    if "CRUXBOX_DATA" not in os.environ:
        pytest.skip("CRUXBOX_DATA does not name a folder with the public data sets")
    (lines,) = (Path(os.environ["CRUXBOX_DATA"]) / "cruxeval").rglob("cruxeval.jsonl")
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    path = tmp_path / "programs.json"
    # f() of the corpus is the published call on the published input.
    path.write_text(json.dumps([f"{row['code']}\n__f = f\ndef f(): return __f({row['input']})" for row in rows]))
    assert native.ask(COUNT, str(path)) == pure.ask(COUNT, str(path))


@every_twin
def test_straight_line_code_counts_its_instructions(twin: Twin) -> None:
    """An independent count: what `dis` lists, less RESUME, the moment at which a frame begins to be watched."""
    listed, counted = twin.ask("""
import dis, json
source = "a = 1\\nb = a + 2\\nc = [a, b, 'x']\\nd = c[1] * a\\n"
code = compile(source, "p", "exec")
k.run(code, {}, 0, 1, b"")
print(json.dumps([len([i for i in dis.get_instructions(code) if i.opname != "RESUME"]), k.steps()]))
""")
    assert counted == listed


@every_twin
def test_each_turn_of_a_loop_costs_the_same(twin: Twin) -> None:
    """Specialised and cached instructions count like the ones they stand for."""
    counts = twin.ask("""
import json
def count(n):
    source = "t = 0\\nfor i in range(%d):\\n t += f(i) if i & 1 else o.x\\n" % n
    class O: x = 1
    k.run(compile(source, "p", "exec"), {"f": lambda a: a, "o": O()}, 0, 1, b"")
    return k.steps()
print(json.dumps([count(n) for n in (100, 102, 1000, 1002, 10000)]))
""")
    turn = (counts[1] - counts[0]) / 2
    assert counts[3] - counts[2] == 2 * turn
    assert counts[4] - counts[0] == 9900 * turn


@every_twin
def test_only_frames_of_the_run_count(twin: Twin) -> None:
    """Neither the caller's nor, afterwards, those of anyone; and no tracing is left behind."""
    before, after, traced = twin.ask("""
import json
def caller():
    t = 0
    for i in range(100): t += i
    k.run(compile("f()", "c", "eval"), {"f": lambda: 1}, 0, 1, b"")
    first = k.steps()
    for i in range(100): t += i
    return first, k.steps()
print(json.dumps([*caller(), sys.gettrace() is not None or sys.getprofile() is not None]))
""")
    assert before == after < 20
    assert not traced


@every_twin
def test_value_exception_and_namespace(twin: Twin) -> None:
    assert twin.ask("""
import json
out = []
space = {}
out.append(k.run(compile("[len('abc'), 7]", "c", "eval"), space, 0, 1, b""))
out.append("__builtins__" in space)
out.append(k.run(compile("x = 5", "c", "exec"), space, 0, 1, b""))
out.append(space["x"])
try:
    k.run(compile("1 / 0", "c", "eval"), {}, 0, 1, b"")
except ZeroDivisionError as error:
    out.append([str(error), error.__traceback__.tb_next is not None, k.steps() > 0])
def outer():
    y = 1
    return (lambda: y).__code__
for bad in (outer(), "1 + 1"):
    try:
        k.run(bad, {}, 0, 1, b"")
    except TypeError as error:
        out.append("code" in str(error))
print(json.dumps(out))
""") == [[3, 7], True, None, 5, ["division by zero", True, True], True, True]


@every_twin
def test_a_run_cannot_start_its_count_anew(twin: Twin) -> None:
    assert (
        twin.ask("""
import json
space = {"k": k, "c": compile("1", "inner", "eval")}
try:
    k.run(compile("k.run(c, {}, 0, 1, b'')", "c", "eval"), space, 0, 1, b"")
except RuntimeError as error:
    print(json.dumps(str(error)))
k.run(space["c"], {}, 0, 1, b"")
assert k.steps() > 0
""")
        == "run is already running"
    )


# ---- the limit -------------------------------------------------------------------------------------------------------

LIMITED = """
source, limit = sys.argv[1], int(sys.argv[2])
code = compile(source, "p", "exec")
if limit < 0:
    k.run(code, {"__name__": "p"}, 0, 1, b"")
    print(k.steps())
else:
    k.run(code, {"__name__": "p"}, limit, 1, b"the report")
    import os
    os.write(1, b"the end")
"""

STUBBORN = {
    "loop": "while True: pass",
    "in a function": "def f():\n while True: pass\nf()",
    "bare except": "while True:\n try:\n  while True: pass\n except: pass",
    "finally": "def f():\n try:\n  while True: pass\n finally:\n  while True: pass\nf()",
    "generator": "def g():\n while True: yield 1\nfor x in g(): pass",
    "in C, over Python": "import itertools\nlist(map(lambda x: x, itertools.count()))",
    "finalizer": "class N:\n def __del__(s):\n  while True: pass\nN()",
    "exec": "exec('while True: pass')",
    "exit handlers": "import atexit\natexit.register(lambda: print('late'))\nwhile True: pass",
    "patched os": "import os\nos._exit = os.write = lambda *a: None\nwhile True: pass",
}


@every_twin
@pytest.mark.parametrize("name", STUBBORN)
def test_nothing_runs_past_the_limit(twin: Twin, name: str) -> None:
    done = twin.start(LIMITED, STUBBORN[name], "20000")
    assert (done.returncode, done.stdout) == (61, b"the report"), done.stderr.decode()


@every_twin
def test_the_limit_is_exact(twin: Twin) -> None:
    source = "for i in range(50): str(i)"
    steps = int(twin.start(LIMITED, source, "-1").stdout)
    enough, short = (twin.start(LIMITED, source, str(limit)) for limit in (steps, steps - 1))
    assert (enough.returncode, enough.stdout) == (0, b"the end")
    assert (short.returncode, short.stdout) == (61, b"the report")


@every_twin
def test_a_long_report_arrives_whole(twin: Twin) -> None:
    """Longer than a pipe holds, with a signal handler in the way; and a broken pipe changes nothing."""
    whole = twin.start("""
report = b"0123456789abcdef" * 20000
k.run(compile("while True: pass", "p", "exec"), {}, 100, 1, report)
""")
    assert (whole.returncode, whole.stdout) == (61, b"0123456789abcdef" * 20000)
    broken = twin.start('k.run(compile("while True: pass", "p", "exec"), {}, 100, 77, b"report")')
    assert (broken.returncode, broken.stderr) == (61, b"")


# ---- programs that reach for the counter -----------------------------------------------------------------------------

MEDDLING = programs("meddling_programs.txt")


@every_twin
@pytest.mark.parametrize("name", MEDDLING)
def test_meddling_breaks_nothing(twin: Twin, name: str) -> None:
    """It may stop the counting of its own run. It does not crash, and the run after it counts as if alone."""
    counts = twin.ask(
        """
import json
def count():
    k.run(compile("sum([i for i in range(20)])", "c", "eval"), {}, 0, 1, b"")
    return k.steps()
before = count()
k.run(compile(sys.argv[1], "p", "exec"), {}, 0, 1, b"")
print(json.dumps([before, count()]))
""",
        MEDDLING[name],
    )
    before, after = counts
    # Another tool's events in the same code make the interpreter repeat or leave out one of ours.
    assert after == before or ("monitoring" in name and abs(after - before) <= 1)


@pytest.mark.parametrize("twin", [twin for twin in twins() if twin.name == "native"], ids=str)
def test_no_references_leak(twin: Twin) -> None:
    assert (
        twin.ask("""
import json
good, bad = compile("f(1)", "c", "eval"), compile("1 / 0", "c", "eval")
f, space, report = (lambda a: a), {"__builtins__": __builtins__}, b"report" * 10
space["f"] = f
watched = [good, bad, f, space, report, __builtins__, f.__code__, k]
def turn():
    k.run(good, space, 1000, 1, report)
    for call in (
        (k.run, bad, space, 0, 1, report), (k.run, 1, space, 0, 1, report), (k.run, good, space, 0, 1, 1),
        (k.syscall, 3, -1), (k.syscall, "x"), (k.syscall, 3, f),
        (k.enter, b"", b"", 0), (k.enter, report, report, 0),
    ):
        try:
            call[0](*call[1:])
        except (ZeroDivisionError, TypeError, OSError, ValueError):
            pass
turn()
def counts(): return [sys.getrefcount(thing) for thing in watched]
before = counts()
for _ in range(200): turn()
print(json.dumps([after - first for first, after in zip(before, counts())]))
""")
        == [0] * 8
    )
