"""What is wrong with one check, in the words that say so; and that everything up to a bound is right."""

from __future__ import annotations

import math
import tracemalloc
from dataclasses import replace

import pytest
from cruxbox_proto.v1 import sandbox_pb2 as pb
from cruxboxd.judging.comparing import Compare
from cruxboxd.judging.tasks import Around, Folder, Setting, as_text, encoded, kept
from cruxboxd.rpc import checks
from cruxboxd.rpc.checks import KINDS, fault_of_both, fault_of_text, read_setting

FOLDER = Folder(64 * 4096, "")
ROOM = Folder(1 << 30, "")
ANSWER = {"expected_stdout": "1"}


def fault(check: pb.Check, program: str = "x = 1", around: Around = Around(Setting(), FOLDER)) -> str:
    of_program, of_setting = fault_of_text(program, "program"), fault_of_both(around.setting, around.folder)
    around = replace(around, fault_of_program=of_program, fault_of_setting=of_setting)
    return KINDS[check.WhichOneof("kind")](check, around)[1]


def stdio(**fields: object) -> pb.Check:
    return pb.Check(stdio=pb.StdioCheck(**{**ANSWER, **fields}))


def run(**fields: object) -> pb.Check:
    return pb.Check(run=pb.RunCheck(**fields))


@pytest.mark.parametrize("text", ["", "x" * 256, "\ud800" * 256, " " * 257, "\u2003" * 300, "x" * 257, "\ud800" * 257])
def test_a_long_text_is_kept_as_bytes_unless_it_is_blank_and_comes_out_as_it_was(text: str):
    assert type(kept(text)) is (bytes if len(text) > 256 and text.strip() else str)
    assert as_text(kept(text)) == text
    assert encoded(kept(text)) == encoded(text) == text.encode("utf-8", "surrogatepass")


def test_a_check_s_own_arguments_are_instead_of_its_task_s():
    base = Setting(("a",), (("x", "1"), ("y", "2")))
    assert Setting(env=(("y", "3"),)).over(base).whole == Setting(("a",), (("x", "1"), ("y", "3")))
    assert Setting(("b",)).over(base).whole == Setting(("b",), base.env)
    assert Setting().over(base) is base
    assert not Setting(env=(("y", "3"),)).over(base).has_files


BLANK = "stdio.expected_stdout is blank; silence never passes unless allow_empty asks for it"
EXACT = "stdio.compare is EXACT, which does not go with a tolerance"
COMPARES = "stdio.compare is 77; allowed are 0 (UNSPECIFIED), 1 (LINES), 2 (EXACT), 3 (TOKENS), 4 (CASEFOLD)"
CHECKER = "stdio has a checker, which decides by itself: compare and tolerance do not go with it"
NAMES_OF_VARIABLES = "a variable's name is made of letters, digits and _"
NAMES_OF_FILES = "a name is relative, of at most 200 bytes, and has no empty part, '.' or '..'"

STDIO = [
    (stdio(), ""),
    (stdio(expected_stdout=""), BLANK),
    (stdio(expected_stdout=" \n"), BLANK),
    (stdio(expected_stdout="", allow_empty=True), ""),
    (stdio(expected_stdout="", checker="def check(): 1"), ""),
    (stdio(checker="\0"), "stdio.checker holds a NUL character"),
    (stdio(checker=" "), "stdio.checker is empty"),
    (stdio(checker="c", relative_tolerance=1), CHECKER),
    (stdio(checker="c", compare=pb.COMPARE_EXACT), CHECKER),
    (stdio(checker="\0", compare=77), COMPARES),
    (stdio(checker="\0", compare=pb.COMPARE_TOKENS), "stdio.checker holds a NUL character"),
    (stdio(compare=77), COMPARES),
    (stdio(absolute_tolerance=math.inf), "stdio.absolute_tolerance is inf; allowed are 0 and finite numbers above it"),
    (stdio(relative_tolerance=-1), "stdio.relative_tolerance is -1; allowed are 0 and finite numbers above it"),
    (stdio(compare=pb.COMPARE_EXACT), ""),
    (stdio(compare=pb.COMPARE_TOKENS, absolute_tolerance=1), ""),
    (stdio(compare=pb.COMPARE_EXACT, absolute_tolerance=1), EXACT),
    (stdio(arguments=["\0"]), "stdio.arguments hold a NUL character"),
    (stdio(arguments=["\0"], expected_stdout=""), "stdio.arguments hold a NUL character"),
    (stdio(arguments=["\0"], compare=77), "stdio.arguments hold a NUL character"),
    (stdio(files={"a": b"", "a/b": b""}), "files names 'a' and 'a/b'; one cannot be a folder of the other"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "why"), STDIO)
def test_stdio(check: pb.Check, why: str):
    assert fault(check) == why
    assert fault(check, " ") == "program is empty"


@pytest.mark.parametrize(
    ("compare", "found"), [(pb.COMPARE_UNSPECIFIED, Compare.LINES), (pb.COMPARE_CASEFOLD, Compare.CASEFOLD)]
)
def test_how_outputs_are_compared(compare: pb.Compare, found: Compare):
    check, _ = KINDS["stdio"](stdio(compare=compare), Around())
    assert check.comparison.how is found


RUN = [
    (run(), ""),
    (run(read_files=["out"] * 2, env={"A": "1"}, files={"a/b/c": b"1"}, arguments=["-v"]), ""),
    (run(read_files=["../x"]), f"run.read_files names '../x'; {NAMES_OF_FILES}"),
    (run(read_files=[f"{n}" for n in range(65)]), "run.read_files names 65 files; at most 64 are allowed"),
    (run(read_files=["../x"], arguments=["\0"]), "run.arguments hold a NUL character"),
    (run(arguments=["x"] * 64), ""),
    (run(arguments=["x"] * 65), "run.arguments are 65; a program has at most 64"),
    (run(arguments=["é" * 32_768]), ""),
    (run(arguments=["é" * 32_768, "x"]), "run.arguments are 65537 bytes; at most 65536 are allowed"),
    (run(env={f"A{n}": "" for n in range(64)}), ""),
    (run(env={f"A{n}": "" for n in range(65)}), "run.env holds 65 variables; at most 64 are allowed"),
    (run(env={"A" * 200: "1"}), ""),
    (run(env={"A" * 201: "1"}), f"run.env names {'A' * 80!r}; {NAMES_OF_VARIABLES}"),
    (run(env={"A=": "1"}), f"run.env names 'A='; {NAMES_OF_VARIABLES}"),
    (run(env={"A\n": "1"}), f"run.env names 'A\\n'; {NAMES_OF_VARIABLES}"),
    (run(env={"A": "\0"}), "run.env['A'] holds a NUL character"),
    (run(env={"A": "é" * 32_767 + "x"}), ""),
    (run(env={"A": "é" * 32_768}), "run.env is 65537 bytes; at most 65536 are allowed"),
    (run(files={str(n): b"" for n in range(65)}), "run.files names 65 files; at most 64 are allowed"),
    (run(files={"é" * 100: b""}), ""),
    (run(files={"é" * 100 + "x": b""}), f"run.files names {'é' * 80!r}; {NAMES_OF_FILES}"),
    *[
        (run(files={name: b""}), f"run.files names {name!r}; {NAMES_OF_FILES}")
        for name in ("", "/a", "a//b", "a/", ".", "a/./b", "a/..", "a\0b")
    ],
    (run(files={"a": b"x" * 4096 * 63, "b": b"x"}), ""),
    (run(files={"a": b"x" * 4096 * 63, "b": b"x" * 4097}),
     "files take 266240 bytes; the scratch folder of this server holds 262144"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "why"), RUN)
def test_run(check: pb.Check, why: str):
    assert fault(check) == why
    assert fault(check, "\0") == "program holds a NUL character"


def test_bytes_and_folders_of_files():
    most = 16 << 20
    assert fault(run(files={"a": bytes(most)}), around=Around(Setting(), ROOM)) == ""
    many = fault(run(files={"a": bytes(most), "b": b"1"}), around=Around(Setting(), ROOM))
    assert many == f"run.files are {most + 1} bytes; at most {most} are allowed"
    assert "names '..'" in fault(run(files={"..": bytes(most + 1)}), around=Around(Setting(), ROOM))
    deep = {f"{n}/a/b/c/d": b"" for n in range(64)}
    assert fault(run(files=deep)) == ""
    two = {f"{n}/a/b/c/d": b"" for n in range(62)} | {f"a/1/2/3/4/5/6/7/{name}": b"" for name in "xy"}
    assert fault(run(files=two)) == ""  # both in the last folder of as many as may be
    wide = {f"{n}/a/b/c/d": b"" for n in range(63)} | {"63/a/b/c/d/e": b""}
    assert fault(run(files=wide)) == "files are in more than 256 folders"


def test_files_need_a_folder():
    none = Around(Setting(), Folder(0, "it has none"))
    assert fault(run(files={"a": b"", "b": b""}), around=none) == (
        "run.files names 'a'; files need a scratch folder, and it has none"
    )
    assert fault(run(), around=none) == ""
    assert f"names {'a' * 80!r};" in fault(run(files={"a" * 81: b""}), around=none)


OTHERS = [
    pb.Check(call=pb.CallCheck(call="f(1)", expected="1")),
    pb.Check(evaluate=pb.EvaluateCheck(call="f(1)")),
    pb.Check(script=pb.ScriptCheck(script="assert f(1)", framework="pytest")),
    stdio(files={"b": b""}),
    run(files={"b": b""}),
]


@pytest.mark.parametrize("check", OTHERS, ids=lambda check: check.WhichOneof("kind"))
def test_files_of_the_task_and_of_the_check_together(check: pb.Check):
    setting = Setting((), (), (("a", b""), ("a/b", b"")))
    assert fault(check, around=Around(setting, FOLDER)).startswith("files names 'a' and 'a/b'")
    assert fault(check, around=Around(Setting((), (), (("a", b""),)), FOLDER)) == ""


NAME = "'f()', which is not a Python name"
PATH = "'f(1)', which is not a Python name with attributes and empty calls, like 'A().solve'"
AT_MOST = "at most 500 are allowed"
TEXTS = [
    ({"call": {"call": "", "expected": "1"}}, "call.call is empty"),
    ({"call": {"call": " ", "expected": "1"}}, "call.call is empty"),
    ({"call": {"call": "f(1)", "expected": "\0"}}, "call.expected holds a NUL character"),
    ({"call": {"call": "1", "expected": "1", "entry_point": "f"}}, ""),
    ({"call": {"call": "1", "expected": "1", "entry_point": "f()"}}, f"call.entry_point is {NAME}"),
    ({"evaluate": {"call": "\t"}}, "evaluate.call is empty"),
    ({"script": {"script": "\0"}}, "script.script holds a NUL character"),
    ({"script": {"script": "s", "entry_point": "A().b()().c"}}, ""),
    ({"script": {"script": "s", "entry_point": "f(1)"}}, f"script.entry_point is {PATH}"),
    *[
        ({"script": {"script": "s", "entry_point": path}}, f"script.entry_point is {path!r}, {PATH.partition(', ')[2]}")
        for path in ("f(", "f)", "f)(", "f(()", "f(())", "()", "f()x", "A()..b", ".f", "f.")
    ],
    ({"script": {"script": "s", "entry_point": "f" + "()" * 249}}, ""),
    *[
        ({kind: {**texts, "entry_point": "()" * 250 + "x"}}, f"{kind}.entry_point has 501 characters; {AT_MOST}")
        for kind, texts in (("script", {"script": "s"}), ("call", {"call": "1", "expected": "1"}))
    ],
]


@pytest.mark.parametrize(("fields", "why"), TEXTS)
def test_a_text_is_there_and_a_name_is_one(fields: dict[str, object], why: str):
    assert fault(pb.Check(**fields)) == why


def test_a_name_is_looked_at_once_however_many_calls_are_behind_it(monkeypatch: pytest.MonkeyPatch):
    """No pattern is: one that may stop at each of the calls looks at all that follow, each time."""
    monkeypatch.setattr(checks, "_LONGEST_PATH", 10**7)
    assert "is not a Python name" in fault(
        pb.Check(script=pb.ScriptCheck(script="s", entry_point="()" * 500_000 + "x"))
    )


def test_scripts():
    script = pb.ScriptCheck(script="s", framework="nose")
    assert fault(pb.Check(script=script)) == (
        "script.framework is 'nose'; it is one of unittest, pytest, doctest, or empty"
    )
    assert fault(pb.Check(script=pb.ScriptCheck(script="s", module="a.b"))) == (
        "script.module is 'a.b', which is not a Python name"
    )
    script.entry_point = "1"
    assert fault(pb.Check(script=script)).startswith("script.entry_point is '1'")
    assert fault(pb.Check(script=pb.ScriptCheck(script="s"))) == ""


TOO_MUCH = "stdio.expected_stdout is 8 bytes, which no program may print: limits.output_bytes is 8"


@pytest.mark.parametrize(
    ("check", "why"),
    [
        (stdio(expected_stdout="12345678"), TOO_MUCH),
        (stdio(expected_stdout="1234567"), ""),
        (stdio(expected_stdout="1 3 5 7 "), ""),  # what is blank need not be printed
        (stdio(expected_stdout="1 3 5 7 ", compare=pb.COMPARE_EXACT), TOO_MUCH),
        (stdio(expected_stdout="12345678", checker="c"), ""),
        (stdio(expected_stdout="12345678", relative_tolerance=1), ""),
        (stdio(expected_stdout="12345678", compare=pb.COMPARE_CASEFOLD), ""),
        (
            stdio(expected_stdout="12345678", absolute_tolerance=-1),
            "stdio.absolute_tolerance is -1; allowed are 0 and finite numbers above it",
        ),
    ],
)
def test_what_no_program_may_print_nobody_expects(check: pb.Check, why: str):
    assert fault(check, around=Around(Setting(), FOLDER, 8)) == why


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({}, Setting()),
        ({"arguments": ["a"]}, Setting(("a",))),
        ({"env": {"B": "2", "A": "1"}}, Setting((), (("A", "1"), ("B", "2")))),
        ({"files": {"a": b"1"}}, Setting((), (), (("a", b"1"),))),
    ],
)
def test_what_a_program_finds_around_it(fields: dict[str, object], found: Setting):
    assert read_setting(pb.RunCheck(**fields), "run.", FOLDER) == (found, "")


LONG = "a/" * 500_000 + "b"


@pytest.mark.parametrize(
    "fields",
    [{"files": {LONG: b""}}, {"env": {LONG: ""}}, {"arguments": ["\0"], "files": {LONG: b""}}, {"arguments": [LONG]}],
    ids=["files", "env", "files behind another fault", "arguments"],
)
def test_of_a_setting_that_is_wrong_nothing_is_kept_or_looked_at_again(fields: dict[str, object]):
    message = pb.RunCheck(**fields)
    tracemalloc.start()
    try:
        found, why = read_setting(message, "run.", FOLDER)
        assert KINDS["run"](pb.Check(run=message), Around(Setting(), FOLDER))[1] == why
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (found, bool(why)) == (Setting(), True)
    assert peak < 5 * len(LONG)


def test_folders_are_counted_no_further_than_they_may_be():
    deep = {f"{n}/" + "a/" * 90 + "b": b"" for n in range(64)}
    assert fault(run(files=deep)) == "files are in more than 256 folders"
    assert fault(run(files={"a/" * 90 + str(n): b"" for n in range(64)})) == ""
    assert fault(run(files={"a/b": b"", "a/b/c/d": b""})).startswith("files names 'a/b' and 'a/b/c/d'")


def test_a_checks_setting_goes_over_its_tasks():
    own, tasks = Setting(("a",), (("A", "1"),)), Setting(("b",), (("A", "2"), ("B", "3")), (("f", b""),))
    assert own.over(tasks).whole == Setting(("a",), (("A", "1"), ("B", "3")), (("f", b""),))
    assert own.over(tasks).parts() == own.over(tasks).whole.parts()
    assert (own.over(tasks).has_files, own.has_files, own.over(tasks).size, tasks.size) == (True, False, 9, 6)
    assert Setting().over(tasks) is tasks
    assert (bool(Setting()), bool(own), bool(Setting(base=tasks))) == (False, True, True)
    assert (Setting().parts(), own.parts() != []) == ([], True)
