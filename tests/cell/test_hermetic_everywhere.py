"""The hermetic rule on every interpreter, and the helper's part of it."""

from __future__ import annotations

import json
import opcode
import os
import sys
from pathlib import Path
from types import CodeType, SimpleNamespace

import pytest
from cruxcell.analysis import annotations as known_annotations
from cruxcell.analysis import hermetic as hermetic_rule
from cruxcell.analysis import operations
from cruxcell.analysis.hermetic import NEWEST_TRIED, bound_names, may_share, names_bound_for
from cruxcell.analysis.operations import OPERATIONS
from cruxcell.analysis.syntax import tree_of
from hermetic_by_hand import CALLS, HERMETIC, NOT_HERMETIC, hermetic
from interpreters import Twin, pairs

# Syntax that not every interpreter has.
NEWER = {
    "an attribute in a pattern": "def f(x):\n match x:\n  case int(real=r): return r",
    "a format in a pattern": "def f(x):\n match '{0.real}':\n  case str(format=r): return r(x)",
    "a type parameter": "def f[T](x): return x",
    "a type alias": "type A = int\ndef f(x): return x",
    "type parameters that are stars": "def f[*T, **P](x): return x",
}


def test_calls_are_held_to_harmless_intrinsics(monkeypatch: pytest.MonkeyPatch):
    """No expression has another today: so an operation that every call has stands for one that does harm."""
    call = compile("f(1)", "<call>", "eval", dont_inherit=True)
    monkeypatch.setattr(hermetic_rule, "_INTRINSIC", opcode.opmap["RETURN_VALUE"])
    assert not may_share(call, frozenset("f"))


def test_programs_are_held_to_harmless_intrinsics(monkeypatch: pytest.MonkeyPatch):
    program = "def f(x): return x"
    assert hermetic(program)
    monkeypatch.setattr(hermetic_rule, "_INTRINSIC", opcode.opmap["RETURN_VALUE"])
    assert not hermetic(program)


@pytest.mark.parametrize(("bytecode", "harmless"), [(b"\x07\x03\x08\x01", True), (b"\x08\x03\x07\x01", False)])
def test_of_intrinsics_alone_the_number_says_what_they_do(
    bytecode: bytes, harmless: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(hermetic_rule, "_INTRINSIC", 7)
    assert hermetic_rule._intrinsics_are_harmless(frozenset(bytecode[::2]), [bytecode]) is harmless


def test_a_bit_that_is_none_of_a_name_s_number_is_left_out(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(hermetic_rule.NO_PART, 7, 1)
    code = SimpleNamespace(co_names=("a", "b", "c", "d"))
    assert list(hermetic_rule._named(code, b"\x07\x03\x08\x03", frozenset([7, 8]))) == ["b", "d"]


def test_an_operation_that_an_interpreter_lacks_is_on_no_list():
    assert operations.numbers("LOAD_CONST NO_SUCH") == {opcode.opmap["LOAD_CONST"]}


def test_what_is_not_loaded_is_not_imported(monkeypatch: pytest.MonkeyPatch):
    assert hermetic("import bisect")
    monkeypatch.delitem(sys.modules, "bisect")
    assert not hermetic("import bisect")


FORMATS = "def f(t, m, *, k): return t.format(*m), t.format_map(m), [k.format(x) for x in m]"
GIVEN = [  # a program that formats what it is given, and calls on it
    (FORMATS, ["f('{} {a:{b}}', {'a': [1, (2, '{!r}')]}, k='{0:>5}')"], True),
    (FORMATS, ["f('{}', [], k='')", "f(b'{0.real}', -1, k=None)"], True),
    (FORMATS, ["f('{}', [" + "1, " * 40 + "], k={" + "".join(f"{at}: {{'{at}'}}, " for at in range(40)) + "})"], True),
    ("def f(t, /): return t.format(1)", ["f('{}')"], True),
    ("def f(t):\n def g(): return t.format(1)\n return g()", ["f('{}')"], True),
    ("def g(x): return x\ndef f(t): return g(t.format(1))", ["f('{}')", "g('{}')"], True),
    (FORMATS, ["f('{}', [], k='')", "f('{0.real}', [], k='')"], False),
    (FORMATS, ["f('{0[0]}', [], k='')"], False),
    (FORMATS, ["f('{:{0.real}}', [], k='')"], False),
    (FORMATS, ["f('', [], k='{0.real}')"], False),
    (FORMATS, ["f('{', [], k='')"], False),
    (FORMATS, ["f('', ['{0.real}'], k='')"], False),  # an item is no parameter, but nobody looks so close
    (FORMATS, ["f('', {('{0.real}', 1)}, k='')"], False),
    (FORMATS, ["f('', 'a' in {'{0.real}'}, k='')"], False),
    (FORMATS, ["f('{0' + '.real}', [], k='')"], False),
    (FORMATS, ["f('{0' * 9000 + '.real}', [], k='')"], False),
    (FORMATS, ["f('{0.%s}' % 'real', [], k='')"], False),
    (FORMATS, ["f(f'{{0.{1}}}', [], k='')"], False),
    (FORMATS, ["f(*['{}', []], k='')"], False),
    (FORMATS, ["f('{}', [], **{'k': ''})"], False),
    (FORMATS, ["f(f, [], k='')"], False),
    ("def f(t): return t.upper()", ["f('a')"], False),  # nothing to ask
    ("def f(t='{0.real}'): return t.format(1)", ["f()"], False),
    ("def f(*, t='{0.real}'): return t.format(1)", ["f()"], False),
    ("def f(*t): return t.format(1)", ["f('{}')"], False),
    ("def f(**t): return t.format(1)", ["f()"], False),
    ("def f(t): return f('{0.real}') if t else t.format(1)", ["f('{}')"], False),
    ("def f(t): return t.format(1)\ng = f", ["g('{}')"], False),
    ("def f(t): return t.format(1)\ndel f", ["f('{}')"], False),
    ("def f(t): return t.format(1)\ndef f(u): return u", ["f('{}')"], False),
    ("def f(t): return t.format(1)\nf = 1", ["f('{}')"], False),
    ("def g(h): return h\n@g\ndef f(t): return t.format(1)", ["f('{}')"], False),
    ("def f(t):\n t += x\n return t.format(1)", ["f('{}')"], False),
    ("def f(t, x):\n for t in x: t.format(1)", ["f('{}', [1])"], False),
    ("def f(t, x):\n t = x[0]\n return t.format(1)", ["f('{}', [1])"], False),
    ("def f(t):\n def g(t): return t.format(1)\n return g(t + 'x')", ["f('{}')"], False),
    ("def f(t):\n def g():\n  nonlocal t\n  t += ''\n g()\n return t.format(1)", ["f('{}')"], False),
    ("def f(t): return lambda t: t.format(1)", ["f('{}')"], False),
    ("def f(t):\n del t\n return t.format(1)", ["f('{}')"], False),
    ("def f(t):\n def g(u): return u.format(1)\n return g(t)", ["f('{}')"], False),
    ("if 1:\n def f(t): return t.format(1)", ["f('{}')"], False),
    ("def f(str, x): return x\ndef g(x): return str.format('{0.real}', x)", ["f('', 1)"], False),
    ("def f(str, x: str.format('{0.real}', 1)): return x", ["f('', 1)"], False),
    ("def f(t): return (t + '').format(1)", ["f('{}')"], False),
    ("import os\ndef f(t): return t.format(1)", ["f('{}')"], False),
]


@pytest.mark.parametrize(("program", "calls", "shares"), GIVEN)
def test_what_is_formatted_may_be_what_the_calls_give(program: str, calls: list[str], shares: bool):
    codes = [compile(call, "<call>", "eval", dont_inherit=True) for call in calls]
    assert bound_names(program, _program(program)) is None or "format" not in program
    found = names_bound_for(program, _program(program), codes)
    assert (found is not None) is shares


class Sees:
    """A helper that has an answer of its own."""

    def __init__(self, found: frozenset[str] | None) -> None:
        self.found = found

    def plain_names(self, *_program: object) -> frozenset[str] | None:
        return self.found

    def plain_call(self, *_call: object) -> bool:
        return self.found is not None


def _program(source: str) -> CodeType:
    return compile(source, "<program>", "exec", dont_inherit=True)


def test_what_the_helper_sees_to_be_harmless_nobody_else_is_asked_about():
    harmless, open_file = "x = 1", "open('f')"
    found = [
        hermetic_rule.names_bound_by(Sees(seen), source, _program(source))  # type: ignore[arg-type]
        for source in (harmless, open_file)
        for seen in (frozenset("y"), None)
    ]
    assert found == [frozenset("y"), frozenset("x"), frozenset("y"), None]


def test_of_calls_nobody_is_asked_about_what_the_helper_sees_to_be_harmless():
    codes = [compile(call, "<call>", "eval", dont_inherit=True) for call in ("len([])", "exec('')")]
    shares = [
        hermetic_rule.may_share_by(Sees(seen), code, frozenset())  # type: ignore[arg-type]
        for code in codes
        for seen in (frozenset("y"), None)
    ]
    assert shares == [True, True, True, False]


def test_the_helper_knows_no_operation_that_the_rule_does_not(monkeypatch: pytest.MonkeyPatch):
    other = next(number for number in range(256) if number not in OPERATIONS)
    monkeypatch.setattr(hermetic_rule, "_STORING", hermetic_rule._STORING | {other, -1, 300})
    monkeypatch.setattr(hermetic_rule, "OPERATIONS", OPERATIONS | {-1, 300})  # which no bytecode has
    kinds = hermetic_rule._kinds()
    assert [number for number in range(256) if kinds[number] and number not in OPERATIONS] == []
    assert 2 in kinds
    assert {number for number in range(256) if hermetic_rule._PLAIN_CALLS[number]} == {
        number for number in operations.CALL_OPERATIONS if number != hermetic_rule._INTRINSIC
    }


@pytest.mark.parametrize("named", ["append", "gi_frame"])
def test_beyond_256_names_a_name_is_still_its_own(named: str):
    """Its place is 256 behind that of `append`."""
    names = [f"a{at}" for at in range(255)]
    assert hermetic("x = []; x.append; " + "; ".join(f"{name} = 1" for name in names) + f"; x.{named}") is (
        named == "append"
    )


def test_an_interpreter_that_nobody_looked_at_shares_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(hermetic_rule, "_TRIED", False)
    assert not hermetic("x = 1")
    program = _program("x = 1")
    assert hermetic_rule.names_bound_by(Sees(frozenset()), "x = 1", program) is None  # type: ignore[arg-type]
    call = compile("len('')", "<call>", "eval")
    assert not may_share(call, frozenset())
    assert not hermetic_rule.may_share_by(Sees(frozenset()), call, frozenset())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "source",
    [
        "from .typing import List", "from typing import Literal", "from typing import List as L",
        "from typing import List\ndef f(x: List[int,]): pass",
    ],
)  # fmt: skip
def test_of_typing_only_a_short_list_is_known(source: str):
    """Whatever else the rule says of such an import."""
    assert not known_annotations.are_known(tree_of(source), frozenset())


def test_what_is_made_beforehand_is_less_than_typing_keeps(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(known_annotations, "_made", set())
    known_annotations.make_beforehand()
    assert {
        "Any",
        "List[int]",
        "Dict[str,Any]",
        "List[Tuple[int,int]]",
        "Optional[Tuple[int,int]]",
    } < known_annotations._made
    assert len(known_annotations._made) < 128


def test_without_typing_no_annotations_are_made(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(known_annotations, "_made", set())
    monkeypatch.delitem(sys.modules, "typing")
    known_annotations.make_beforehand()
    assert not known_annotations._made


ASK = """
import bisect, itertools, json, math, string, typing
from cruxcell.analysis.annotations import make_beforehand
from cruxcell.analysis.hermetic import is_hermetic
make_beforehand()
def ask(source):
    try:
        return is_hermetic(source, compile(source, "<program>", "exec"))
    except SyntaxError:
        return False
with open(sys.argv[1]) as file:
    programs = json.load(file)
print(json.dumps([ask(source) for source in programs]))
"""


@pytest.mark.parametrize("python", [pure for _, pure in pairs() if pure.version <= NEWEST_TRIED], ids=str)
def test_every_interpreter_says_the_same(python: Twin, tmp_path: Path):
    path = tmp_path / "programs.json"
    asked = [*HERMETIC.values(), *NOT_HERMETIC.values(), *NEWER.values()]
    path.write_text(json.dumps(asked))
    assert python.ask(ASK, str(path)) == [True] * len(HERMETIC) + [False] * (len(asked) - len(HERMETIC))


# Programs with one thing changed: a name, a variable, an operation. None of them runs.
CHANGE = """
import random
from cruxcell.analysis import hermetic
Code, chance = type(compile("", "", "exec")), random.Random(0)

def within(code):
    yield code, lambda changed: changed
    for at, const in enumerate(code.co_consts):
        if type(const) is Code:
            for inner, put in within(const):
                def put_there(changed, at=at, put=put):
                    consts = list(code.co_consts)
                    consts[at] = put(changed)
                    return code.replace(co_consts=tuple(consts))
                yield inner, put_there

def changed(code):
    yield code
    for inner, put in within(code):
        for field, others in ("co_names", NAMES), ("co_varnames", ["__x", "_"]), ("co_cellvars", ["__x"]):
            for at in range(len(getattr(inner, field))):
                for other in others:
                    names = list(getattr(inner, field))
                    names[at] = other
                    try:
                        yield put(inner.replace(**{field: tuple(names)}))
                    except ValueError:  # no such code can be
                        pass
        yield put(inner.replace(co_flags=inner.co_flags | 0x200))
        for _ in range(12 if sys.version_info < (3, 11) else 0):  # later ones write into code as they make it
            bytecode = bytearray(inner.co_code)
            bytecode[chance.randrange(len(bytecode))] = chance.choice([*hermetic.OPERATIONS, *range(256)]) % 256
            yield put(inner.replace(co_code=bytes(bytecode)))

NAMES = ["__class__", "_", "", "open", "type", "format", "format_map", "no_such_name", "append", "sort"]

def ask(source):
    try:
        program = compile(source, "<program>", "exec")
    except (SyntaxError, RecursionError):
        return [0, 0, 0]
    asked = passed = wrong = 0
    is_plain = k.plain_names(program, *hermetic._PLAINLY) is not None
    for code in changed(program) if is_plain else [program]:
        plain = k.plain_names(code, *hermetic._PLAINLY)
        try:
            found = hermetic.bound_names(source, code)
        except IndexError:  # a name that the code does not have
            found = None
        asked, passed, wrong = asked + 1, passed + (plain is not None), wrong + (plain is not None and plain != found)
    return [asked, passed, wrong]
"""


@pytest.mark.parametrize("python", [one for one, _ in pairs() if one.version in ((3, 8), (3, 11), (3, 13))], ids=str)
def test_what_the_helper_lets_pass_the_rule_lets_pass(python: Twin, tmp_path: Path):
    path = tmp_path / "programs.json"
    deep = ["def f(x): return " + "lambda: " * depth + "x.append(1)" for depth in (10, 70)]
    path.write_text(json.dumps([*HERMETIC.values(), *NOT_HERMETIC.values(), *NEWER.values(), *deep]))
    asked = ASK.partition("def ask(")[0] + CHANGE + ASK[ASK.index("with open(") :]
    counts = python.ask(asked, str(path))
    assert sum(wrong for _, _, wrong in counts) == 0
    assert sum(passed for _, passed, _ in counts) > 100 < sum(asked - passed for asked, passed, _ in counts)


ASK_ABOUT_CALLS = """
NAMES = ["f", "exec", "open", "type", "len", "_", "__x", "g"]

def ask(call):
    try:
        plain = compile(call, "<call>", "eval")
    except SyntaxError:
        return [0, 0, 0]
    passed = []
    for code in changed(plain):
        for bound in frozenset(["f", "exec"]), frozenset():
            found = k.plain_call(code, hermetic._PLAIN_CALLS, hermetic.SAFE_BUILTINS, hermetic._BUILTINS, bound)
            passed.append((found, hermetic.may_share(code, bound)))
    return [len(passed), sum(found for found, _ in passed), sum(found and not shares for found, shares in passed)]
"""


@pytest.mark.parametrize("python", [one for one, _ in pairs() if one.version in ((3, 8), (3, 11), (3, 13))], ids=str)
def test_what_calls_the_helper_lets_pass_the_rule_lets_pass(python: Twin, tmp_path: Path):
    path = tmp_path / "calls.json"
    more = ["f()", "f", "f.x", "f(x)", "f(x for x in ())", "f(f'{1}')", "+f(1)", "len(f(1))", "f(1, *{2: (3,)}, k={4})"]
    path.write_text(json.dumps([*[call for call, _ in CALLS], *more]))
    asked = ASK.partition("def ask(")[0] + CHANGE.partition("NAMES =")[0] + ASK_ABOUT_CALLS
    counts = python.ask(asked + ASK[ASK.index("with open(") :], str(path))
    assert sum(wrong for _, _, wrong in counts) == 0
    assert sum(passed for _, passed, _ in counts) > 20 < sum(asked - passed for asked, passed, _ in counts)


@pytest.mark.data
def test_almost_all_published_programs_may_share():
    if "CRUXBOX_DATA" not in os.environ:
        pytest.skip("CRUXBOX_DATA does not name a folder with the public data sets")
    lines = (Path(os.environ["CRUXBOX_DATA"]) / "cruxeval" / "cruxeval.jsonl").read_text().splitlines()
    assert sum(hermetic(json.loads(line)["code"]) for line in lines) == 796
