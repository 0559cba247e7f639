"""Code that is told and loaded is the code that compiling gives, by every interpreter; and other bytes are none."""

from __future__ import annotations

import marshal
import sys
from types import CodeType

import pytest
from cruxcell.analysis import compiled
from cruxcell.analysis.bytecode import LOADS, names_of
from cruxcell.analysis.compiled import loaded, loaded_list, told
from cruxcell.analysis.parsing import CHECK, compile_text
from interpreters import Twin, twins

# All that can be seen of code: its fields, and which constants are one object wherever they stand. What a script may
# tell apart is printed by it, its traceback included.
COMPARED = r'''
import io, json, sys, traceback
from contextlib import redirect_stdout
from cruxcell.analysis.compiled import loaded, told
from cruxcell.analysis.parsing import CHECK, compile_text

def seen(code, known):
    def one(value):
        if isinstance(value, type(code)):
            return seen(value, known)
        is_object = type(value) in (str, bytes, tuple, frozenset, int, float, complex) and value not in ((), "", b"")
        place = known.setdefault(id(value), len(known)) if is_object else None
        inner = [one(each) for each in value] if type(value) is tuple else sorted(map(repr, value)) if (
            type(value) is frozenset) else repr(value)
        return [type(value).__name__, inner, place]
    fields = ("argcount", "posonlyargcount", "kwonlyargcount", "nlocals", "stacksize", "flags", "code", "names",
              "varnames", "filename", "name", "qualname", "firstlineno", "linetable", "lnotab", "exceptiontable",
              "freevars", "cellvars")
    parts = [repr(getattr(code, "co_" + each, None)) for each in fields]
    return [parts, repr(list(getattr(code, "co_lines", list)())), [one(each) for each in code.co_consts]]

def ran(code):
    out, space = io.StringIO(), {"__name__": "__main__"}
    with redirect_stdout(out):
        try:
            exec(code, space)
        except BaseException:
            print(traceback.format_exc().partition("in ran")[2])
    return out.getvalue()

SCRIPTS = ["""
"A docstring."
from __future__ import annotations
import math
BIG, TEXT, FLOATS, MORE = 10**20, "a text with blanks", (1.5, -0.0, 1e400, 2j), (1, "two", b"three", None, ...)
def f(x: no_such_name = 1.0, *a, k=(1, 2), **more) -> "y":
    'of f'
    assert x in {1, 2}, f"{x!r:>5} and {TEXT}"
    return (1.5, -0.0), "a text with blanks", 10**20, "short", lambda: [y for y in (1, 2) if y]
class C:
    \"\"\"Of C.\"\"\"
    z: int = 3
    def g(self):
        return super().__init__, __class__
async def h():
    async for x in y: yield x
a, b = "a text with blanks", (1, "two", b"three", None, ...)
print(a is TEXT, b is MORE, f.__annotations__, f.__doc__, C.__doc__, __doc__, C.__annotations__)
print(f("b")[1] is TEXT, f("a")[2] is BIG, math.copysign(1, f((1, 2))[0][1]), 'short' is f("b")[3], __debug__)
def outer():
    f(
        "neither",
    )
outer()
""", "x = [1, 2, [3, 4.5], 'é', '\\ud800', {1: (2, 3)}, -1, True]\nprint(x)\nraise ValueError(x[2], len('\\ud800'))",
"if 1:\n\n  for i in range(3): print(i, __file__ if i > 1 else '')"]
for script in SCRIPTS:
    code = compile_text(script, CHECK, "exec")
    other = loaded(told(code))
    assert other is not code
    known, known_too = {}, {}
    first, second = seen(code, known), seen(other, known_too)
    assert first == second, (first, second)
    assert ran(code) == ran(other), (ran(code), ran(other))
json.dump(len(SCRIPTS), sys.stdout)
'''


@pytest.mark.parametrize("twin", [twin for twin in twins() if twin.name == "pure"], ids=str)
def test_loaded_code_is_the_code_that_was_compiled(twin: Twin):
    assert twin.ask(COMPARED) == 3


def test_code_that_has_run_is_made_anew_with_all_that_is_in_it():
    code = compile_text("def f():\n    return lambda: 1", CHECK, "exec")
    again = compiled.anew(code)
    for _ in range(2):
        code, again = [next(each for each in one.co_consts if type(each) is CodeType) for one in (code, again)]
        assert again == code
        assert (again is code) is (sys.version_info < (3, 11))


def test_code_may_be_nested_deeper_than_python_may_recur():
    """As compilers from 3.12 on nest it."""
    code = compile_text("innermost", CHECK, "exec")
    for _ in range(3 * sys.getrecursionlimit()):
        code = compile_text("outer", CHECK, "exec").replace(co_consts=(code,))
    assert names_of(code, LOADS) == names_of(compiled.anew(code), LOADS) == {"innermost", "outer"}


def test_what_is_too_much_is_not_told(monkeypatch: pytest.MonkeyPatch):
    code = compile_text("x = 1", CHECK, "exec")
    monkeypatch.setattr(compiled, "MOST", len(told(code)))
    assert loaded(told(code)) == code
    monkeypatch.setattr(compiled, "MOST", compiled.MOST - 1)
    assert told(code) == b""
    monkeypatch.undo()
    deep = code.replace(co_consts=(code,))
    for _ in range(3000):
        deep = code.replace(co_consts=(deep,))
    assert told(deep) == b""


def test_other_bytes_are_no_code():
    data = told(compile_text("x = 1", CHECK, "exec"))
    head = compiled._MADE_BY
    others = [
        b"",
        data[1:],
        b"3.9.1\0" + data[len(head) :],
        b"?" + data[1:],
        head,
        data[:-1],
        head + b"?",
        head + marshal.dumps(1),
    ]
    assert [loaded(each) for each in others] == [None] * len(others)
    assert loaded_list(told([1])) == [1]
    assert [loaded_list(each) for each in (*others, told((1,)), data)] == [None] * (len(others) + 2)


# Sets of all sizes, of which some have another order when they are told.
SETS = r"""
import json
from cruxcell.analysis.compiled import loaded, told
from cruxcell.analysis.parsing import CHECK, compile_text
import random
rng, kept = random.Random(3), 0
for size in range(2, 40):
    items = ["%d" % rng.randint(-99, 99) for _ in range(size)]
    for source in ("print(1 in {%s})", "for x in {%s}: pass", "s = {%s}", "def f(x=(1, 2)):\n  return 'a', x in {%s}"):
        code = compile_text(source % ", ".join(items), CHECK, "exec")
        data = told(code)
        def orders(code):
            return [list(each) for each in code.co_consts if type(each) is frozenset] + [
                one for each in code.co_consts if isinstance(each, type(code)) for one in orders(each)]
        assert not data or orders(loaded(data)) == orders(code)
        kept += bool(data)
print(json.dumps(kept))
"""


@pytest.mark.parametrize("twin", [each for each in twins() if each.name == "pure"], ids=str)
def test_code_is_told_only_with_its_sets_in_their_order(twin: Twin):
    assert 0 < twin.ask(SETS) < 38 * 4


@pytest.mark.parametrize("order", [[0, 8], [8, 0]])
def test_so_are_sets_that_are_in_a_constant(order: list[int]):
    code = compile_text("1", CHECK, "exec").replace(co_consts=((frozenset(order),),))
    data = told(code)
    found = loaded(data)
    assert not data or list(found.co_consts[0][0]) == list(frozenset(order))


# What a text is compiled to is the same whatever else was compiled in the process before: also the order of its sets.
ALIKE = r"""
import json, random
from cruxcell.analysis.operands import rewrite
from cruxcell.analysis.parsing import compile_text, compile_tree, parse_text
rng = random.Random(7)
def sets_in(code):
    found = [list(const) for const in code.co_consts if type(const) is frozenset]
    return found + [each for const in code.co_consts if type(const) is type(code) for each in sets_in(const)]
def both(items):
    text = "def f(x):\n    return [x for y in {%s}] + [x in {%s}]" % (items, items)
    tree = parse_text("[x for x in {%s}]" % items, "eval")
    return [sets_in(code) for code in (rewrite(text, "exec"), compile_tree(tree), compile_text(text, "a", "exec"))]
WAYS = [lambda word: "%r" % word, lambda word: "%r + %r" % (word[:2], word[2:]), lambda word: "(%r,)" % word, len]
every = []
for size in [*range(2, 13)] * 20:
    words = ["".join(rng.choices("abcdefghij", k=rng.choice([1, 4, 7]))) for _ in range(size)]
    every.append((words, ", ".join(str(rng.choice(WAYS)(word)) for word in words)))
before = [both(items) for _, items in every]
known = [compile("x = %r" % (tuple(words),), "b", "exec") for words, _ in every]
print(json.dumps([before == [both(items) for _, items in every], len(before)]))
"""


@pytest.mark.parametrize("twin", [each for each in twins() if each.name == "pure"], ids=str)
def test_texts_that_were_compiled_before_leave_sets_their_order(twin: Twin):
    assert twin.ask(ALIKE) == [True, 220]
