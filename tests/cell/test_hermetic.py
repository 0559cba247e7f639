"""Which programs may share a worker: only those that can leave nothing behind, on every interpreter there is."""

from __future__ import annotations

import bisect
import itertools
import json
import math
import opcode
import os
import string
import sys
from pathlib import Path
from types import CodeType, SimpleNamespace

import pytest
from cruxcell.analysis import annotations as known_annotations
from cruxcell.analysis import hermetic as hermetic_rule
from cruxcell.analysis import operations
from cruxcell.analysis.hermetic import bound_names, is_hermetic, may_share, names_bound_for
from cruxcell.analysis.operations import OPERATIONS
from cruxcell.analysis.syntax import tree_of
from interpreters import Twin, pairs

LOADED = bisect, itertools, math, string  # as a zygote has loaded them beforehand: only then may they be imported
known_annotations.make_beforehand()

HERMETIC = {
    "arithmetic": "def f(x): return x + 1",
    "global": "n = 0\ndef f(x):\n global n\n n += x\n return n",
    "default": "def f(x, seen=[]):\n seen.append(x)\n return seen",
    "closure": "def f(x):\n def g():\n  nonlocal x\n  x += 1\n  return x\n return g()",
    "generator": "def g(n):\n while n:\n  yield n\n  n -= 1\ndef f(x): return sum(g(x)) + sum(i for i in range(x))",
    "exceptions": "def f(x):\n try:\n  return 1 / x\n except TypeError as e:\n  return str(e)\n finally:\n  x = 0",
    "format": "def f(x): return '{:>{}}'.format(x, 9) + f'{x!r:^9}' + '%s' % x + '{a:.2f}'.format(a=1)",
    "the builtin format": "def f(x): return format(x, '5')",
    "format beside a generator": "g = (y for y in [])\ndef f(x): return '{0!r} {1}'.format(g, x)",
    "format_map": "def f(x): return '{a}'.format_map({'a': x})",
    "format of one of two texts": "def f(x): return ('{}' if x else '{0}').format(f)",
    "format of one of many texts": "def f(x): return ['{}', ('{0:{1}}', '')[x]][len(x)].format(f, x)",
    "format of a variable whose name says more": "count = '{count}'\ncount.format(count=[].count('count'))",
    "format of a global variable": "def f(x):\n global t\n t = u = '{}'\n x[0] = '{}'\n return t.format(x)",
    "format of variables": "u = '{}'\ndef f(x):\n t = '{0}{1}'\n if x: t = '{}'\n return t.format(x) + u.format(t)",
    "comprehensions": "def f(x): return {a: [b for b in range(a)] for a in range(x)}, {c for c in 'abc'}",
    "pure modules": "import math\nfrom string import digits as d\ndef f(x):\n import bisect, itertools as i\n"
    " return math.pi, d, bisect.bisect, i.chain",
    "the word import": "def f(x): return 'import os'",
    "hash": "def f(x): return hash(x)",
    "a global underscore": "_ = 1\ndef f(x): return _ + x",
    "annotations": "from typing import List, Tuple, Any\ndef g(): pass\n"
    "def f(x: List[List[int]], *a: Any, k: Tuple[int, str]=()) -> List[float]: return x",
    "annotations beside imports and local names": "import math\nfrom typing import List\nfrom string import digits\n"
    "def f(x: List[int], str=digits):\n int = str\n import bisect\n from math import pi\n return int",
    "own exception": "def f(x):\n raise ValueError(x)",
    "a class that is compared": "def f(x):\n if type(x) == list and type(x[0]) in (int, str) or str is not type(x):\n"
    "  return type(x) != type(type(x) == int) is bool",
    "a variable named type": "def f(type): return type",
}  # fmt: skip
NOT_HERMETIC = {
    "import": "import os\ndef f(x): return x",
    "an import among many names": "".join(f"n{i} = {i}\n" for i in range(300)) + "import os",
    "a pure module, then another": "import math\ndef f(x):\n import sys\n return x",
    "a part of a module": "import os.path\ndef f(x): return x",
    "all of a module": "from math import *\ndef f(x): return pi",
    "a module that is changed": "import math\nmath.pi = 3\ndef f(x): return x",
    "a module that loses something": "import math\ndel math.pi\ndef f(x): return x",
    "typing as a module": "import typing\ndef f(x: typing.List): return x",
    "typing under another name": "from typing import List as L\ndef f(x: L[int]): return x",
    "other names of typing": "from typing import Literal\ndef f(x: Literal[1]): return x",
    "all of typing": "from typing import *\ndef f(x: List[int]): return x",
    "typing in a function": "def f(x):\n from typing import List\n return x",
    "typing in a nested function": "from typing import List\ndef f(x):\n def g(y: List[int]): pass\n return x",
    "typing outside of annotations": "from typing import List\nL = List[int]\ndef f(x: L): return x",
    "typing called": "from typing import List\ndef f(x: List[int]): return List",
    "an annotation not made beforehand": "from typing import List\ndef f(x: List[List[List[int]]]): return x",
    "an annotation with a value": "from typing import List\ndef f(x: List[f]): return x",
    "an annotation with a text": "from typing import List\ndef f(x: List['f']): return x",
    "an annotation with a call": "from typing import List\ndef f(x: List[g()]): return x",
    "an annotation with its own int": "from typing import List\nint = lambda: 0\ndef f(x: List[int]): return x",
    "an annotation with its own Any": "from typing import Any, List\ndef Any(): pass\n"
    "def f(x: List[Any]): return x",
    "an annotation with a module for str": "from typing import List\nimport math as str\ndef f(x: List[str]): return x",
    "an annotation with a module for Any": "from typing import Dict\nimport math as Any\n"
    "def f(x: Dict[str, Any]): return x",
    "an annotation with its own List": "from typing import List\ndef List(): pass\ndef f(x: List[int]): return x",
    "an annotation in an attribute": "from typing import List\ndef f(x: List.real[int]): return x",
    "a default of typing": "from typing import List\ndef f(x=List[int]): return x",
    "a decorator of typing": "from typing import Any\n@Any\ndef f(x): return x",
    "a module's module": "import string\ndef f(x): return string._re",
    "from a module, its module": "from string import _re as r\ndef f(x): return r",
    "a reader of attributes": "import string\ndef f(x): return string.Formatter().get_field('0.real', [x], {})",
    "imported, a reader of attributes": "from string import Formatter as F\ndef f(x): return F()",
    "import in a function": "def f(x):\n from sys import path\n return path",
    "__import__": "def f(x): return __import__('os')",
    "class": "class A: pass\ndef f(x): return A()",
    "dunder attribute": "def f(x): return x.__class__",
    "dunder local": "def f(x):\n __x = 1\n return __x",
    "getattr": "def f(x): return getattr(x, 'real')",
    "type": "def f(x): return type(x)",
    "type beside a comparison": "def f(x): return type(x) == (t := type(x))",
    "type in an argument of a comparison": "def f(x): return [type(x)] == x",
    "type of a type that is called": "def f(x): return type(x)('C') == x",
    "type of three": "def f(x): return type('C', (), {}) == x",
    "type of stars": "def f(x): return type(*x) == x",
    "type with a metaclass's argument": "def f(x): return type(x, **x) == x",
    "type as a value": "def f(x): return [type, type(x) == int]",
    "type as a value beside a comparison": "def f(x): return [type, len(x) == 1]",
    "type that is less": "def f(x): return type(x) < x",
    "its own type": "def type(x): return x\ndef f(x): return type(x) == int",
    "type of an item": "def f(x): return type(x)[0] == int",
    "eval": "def f(x): return eval('x')",
    "an alias": "e = exec\ndef f(x): return x",
    "globals": "def f(x): return globals()",
    "open": "def f(x): return open(x)",
    "input": "def f(x): return input()",
    "id": "def f(x): return id(x)",
    "own attribute": "def f(x):\n f.calls = x\n return f.calls",
    "an error that shows memory": "def f(x): return str(UnicodeDecodeError('x', b'', -9, -8, ''))",
    "an error that is told to show memory": "def f(x):\n try:\n  x.decode()\n except ValueError as e:\n"
    "  e.start = -9\n  return str(e)",
    "memory that is left": "def f(x):\n try:\n  return bytes(x)\n except MemoryError:\n  return 0",
    "an import without a name": "def f(x):\n return x\n from . import y",
    "frame of a generator": "def f(x): return (y for y in x).gi_frame",
    "traceback": "def f(x):\n try:\n  1/0\n except Exception as e:\n  return e.with_traceback(None).tb_frame",
    "a generator that cleans up": "def g():\n try:\n  yield\n finally:\n  print(1)\ndef f(x): return next(g())",
    "a generator that catches": "def g():\n try:\n  yield\n except BaseException:\n  print(1)\ndef f(x): return g()",
    "a generator in a context": "def f(x):\n def g():\n  with x:\n   yield\n return g()",
    "a coroutine that cleans up": "async def g():\n try:\n  await h\n finally:\n  print(1)\ndef f(x): return g()",
    "a frame by way of a format string": "def f(x): return '{0.gi_frame}'.format(y for y in x)",
    "a traceback by way of a format string": "def f(x):\n try:\n  1/0\n except Exception as e:\n  return x.format(e)",
    "format of a text that is computed": "def f(x): return ('{0' + '.real}').format(x)",
    "format of a text or another": "def f(x): return ('{}' if x else x).format(f)",
    "format of another or a text": "def f(x): return (x if x else '{}').format(f)",
    "format of one of two texts that reaches for something": "def f(x): return ('{}' if x else '{0.real}').format(f)",
    "format of an item that is no constant": "def f(x): return ['{}', x][1].format(f)",
    "format of an item that reaches for something": "def f(x): return ('{}', '{0.real}')[1].format(f)",
    "format of an item of stars": "def f(x): return [*x][0].format(f)",
    "format of an item of a dict": "def f(x): return {1: '{0.real}'}[1].format(f)",
    "format of what a function gives": "def g(): return '{0.real}'\ndef f(x): return g().format(x)",
    "format of a parameter": "def f(x): return x.format(f)",
    "format of a variable that reaches for something": "def f(x):\n t = '{0.real}'\n return t.format(x)",
    "format of a variable that is also computed": "def f(x):\n t = '{}'\n t = x\n return t.format(x)",
    "format of a variable that grows": "def f(x):\n t = '{0'\n t += '.real}'\n return t.format(x)",
    "format of a variable in a loop": "t = '{}'\nfor t in ['{0.real}']: t.format(1)",
    "format of a variable that is a pair": "t, u = '{}', '{0.real}'\nu.format(1)",
    "format of a variable that is assigned twice at once": "t = u = '{0.real}'\nu.format(1)",
    "format of a variable that is imported": "t = '{}'\nimport math as t\nt.format(1)",
    "format of a variable that is an error": "t = '{}'\ntry:\n 1/0\nexcept ValueError as t:\n t.format(1)",
    "format of a variable that is a function": "t = '{}'\ndef t(): pass\nt.format(1)",
    "format of a variable that is a parameter": "t = '{}'\ndef f(t): return t.format(1)",
    "format of a variable that is a lambda's": "t = '{}'\ndef f(x): return (lambda t: t.format(1))(x)",
    "format of a variable that is a generator's": "t = '{}'\ndef f(x): return [t.format(1) for t in x]",
    "format of a variable of a name of stars": "t = '{}'\ndef f(*t): return t.format(1)",
    "format of a variable that an expression binds": "t = '{}'\ndef f(x): return (t := x).format(1), t.format(1)",
    "format of a type under a variable's name": "def g():\n str = '{}'\ndef f(x): return str.format('{0.real}', x)",
    "format of no format": "def f(x): return '{'.format(x)",
    "format that goes wrong when it has reached for something": "def f(x): return '{0.real} }'.format(x)",
    "format_map of an attribute": "def f(x): return '{a.real}'.format_map({'a': x})",
    "format_map of an item": "def f(x): return '{a[0]}'.format_map({'a': x})",
    "format_map of a parameter": "def f(x): return x.format_map({'a': x})",
    "format of another type's method": "def f(x): return str.format('{0.real}', x)",
    "format of a number": "def f(x): return (1).format(x)",
    "format of an item": "def f(x): return '{0[0]}'.format(x)",
    "format of an attribute in a width": "def f(x): return '{:{0.real}}'.format(x)",
    "an attribute for inner use": "def f(x): return x._parts",
    "a coroutine": "async def g(): pass\ndef f(x): return g()",
    "an asynchronous generator": "async def g():\n yield 1\ndef f(x): return g()",
    "format_map beside a generator": "g = (y for y in [])\ndef f(x): return x.format_map({'g': g})",
}  # fmt: skip


# Syntax that not every interpreter has.
NEWER = {
    "an attribute in a pattern": "def f(x):\n match x:\n  case int(real=r): return r",
    "a format in a pattern": "def f(x):\n match '{0.real}':\n  case str(format=r): return r(x)",
    "a type parameter": "def f[T](x): return x",
    "a type alias": "type A = int\ndef f(x): return x",
    "type parameters that are stars": "def f[*T, **P](x): return x",
}


def hermetic(source: str) -> bool:
    return is_hermetic(source, compile(source, "<program>", "exec", dont_inherit=True))


@pytest.mark.parametrize("name", HERMETIC)
def test_these_may_share(name):
    assert hermetic(HERMETIC[name])


@pytest.mark.parametrize("name", NOT_HERMETIC)
def test_these_may_not(name):
    assert not hermetic(NOT_HERMETIC[name])


def test_the_names_that_a_program_binds():
    source = "import math as m\nx = 1\ndef f():\n global y\n y = a = 2\nfor z in ():\n pass"
    found = bound_names(source, compile(source, "<program>", "exec", dont_inherit=True))
    assert found == {"m", "x", "f", "y", "z"}


def test_of_what_may_be_named_nothing_private_and_no_other_builtin_is_harmless_anywhere():
    allowed = hermetic_rule.Allowed(frozenset(["len", "__x"]), frozenset(["upper", "_y", "exec"]), {})
    assert allowed.anywhere == {"len", "upper"}


def test_of_classes_only_plain_types_and_errors_are_harmless():
    known = {"classmethod", "memoryview", "object", "property", "staticmethod", "super", "type"}
    assert known.isdisjoint(hermetic_rule.SAFE_BUILTINS)


def test_no_program_binds_a_name_that_its_module_has():
    allowed = hermetic_rule.Allowed(hermetic_rule.SAFE_BUILTINS, frozenset(), {}, frozenset(["__name__"]))
    for source, bound in (("f = __name__", {"f"}), ("__name__ = 'f'", None)):
        assert bound_names(source, compile(source, "<program>", "exec", dont_inherit=True), allowed) == bound


def test_no_attribute_for_inner_use_is_safe():
    assert not any(name.startswith("_") for name in hermetic_rule.SAFE_ATTRIBUTES)


CALLS = [
    ("f(1, 'a', b'', 2.5, -1j, None, ..., k=[(1, 2), {3: {4}}])", True),
    ("f(*[1, 2], **{'a': 3})", True),
    ("sorted([2, 1])", True),
    ("g(1)", False),  # nobody's
    ("exec('1')", False),
    ("eval('1')", False),
    ("f(g)", False),
    ("f(len)", False),
    ("f.real(1)", False),
    ("f(lambda: 1)", False),
    ("f([x for x in (1,)])", False),
    ("f((lambda x: lambda: x)(1))", False),
    ("(f := 1)", False),
]


@pytest.mark.parametrize(("call", "shares"), CALLS)
def test_calls_of_the_programs_own_names_and_of_pure_builtins_may_share(call: str, shares: bool):
    code = compile(call, "<call>", "eval", dont_inherit=True)
    assert may_share(code, frozenset(["f", "exec"])) is shares


@pytest.mark.parametrize("more", ["co_varnames", "co_cellvars", "co_consts"])
def test_calls_with_code_of_their_own_may_not(more: str):
    plain = compile("f(1)", "<call>", "eval", dont_inherit=True)
    names = ("co_varnames", "co_cellvars", "co_consts", "co_names", "co_code")
    shown = {name: getattr(plain, name) for name in names}
    assert may_share(SimpleNamespace(**shown), frozenset("f"))
    assert not may_share(SimpleNamespace(**{**shown, more: (plain,)}), frozenset("f"))


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
    monkeypatch.setattr(hermetic_rule, "_LOAD_ATTR", 7)
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


@pytest.mark.parametrize("python", [pure for _, pure in pairs()], ids=str)
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
