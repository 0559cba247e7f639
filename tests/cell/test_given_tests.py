"""Which classes with tests hang on what the program gives, by a script's text."""

from __future__ import annotations

import _ast
import sys

import pytest
from cruxcell.analysis.given_tests import class_names, given_tests
from cruxcell.analysis.syntax import tree_of

TESTS = ":\n    def test(self): pass\n"
CASES = {
    "class T(Base)": ["T"],
    "class T(tools.Base)": ["T"],
    "class T(object)": [],
    "class T": [],
    "import unittest\nclass T(unittest.TestCase)": [],
    "from unittest import *\nclass T(TestCase)": ["T"],  # who runs it knows better
    "from m import Base\nclass T(Base)": ["T"],
    "from m.parts import Base as B\nclass T(B)": ["T"],
    "import m.parts\nclass T(m.parts.Base)": ["T"],
    "import m.parts as p\nclass T(p.Base)": ["T"],
    "import json as j\nclass T(j.Base)": [],
    "from mm import Base\nclass T(Base)": [],
    "from . import Base\nclass T(Base)": [],
    "try:\n    from m import Base\nexcept ImportError:\n    Base = object\nclass T(Base)": ["T"],
    "class T(T)": [],
    # What is made of it, in any number of steps.
    "B = C = Base\nD = C\nclass T(D)": ["T"],
    "B, = [Base]\nclass T(B)": ["T"],
    "B: type = Base\nclass T(B)": ["T"],
    "(B := Base)\nclass T(B)": ["T"],
    "(B := dict)\nclass T(B)": [],
    "for B in Base, :\n    pass\nclass T(B)": ["T"],
    "with Base() as B:\n    pass\nclass T(B)": ["T"],
    "def base():\n    return Base\nclass T(base())": ["T"],
    "B, C = dict, list\nC = Base\nclass T(B)": [],
    "def base():\n    def test(): pass\n    return Base\nclass A(base()): pass\nclass T": [],
    "class Mid(Base): pass\nclass T(Mid)": ["T"],
    "class Mid:\n    x = Base\nclass T(Mid)": [],
    "def base():\n    return dict\nB = base()\nclass T(B)": [],
    # Not by its bases alone.
    "class T(metaclass=Meta)": ["T"],
    "@wrap\nclass T": ["T"],
    "@wrap(1)\nclass T": ["T"],
    "import pytest\n@pytest.mark.parametrize('x', [f(1)])\nclass T": [],
    # What has tests, and where it stands.
    "class M:\n    def test(self): pass\nclass N(M): pass\nclass T(N, Base): pass\nclass O(Base)": ["T", "O"],
    "class A(Base): pass\nclass T": [],
    "class A(Base):\n    testing = 1\nclass T": [],
    "class A(Base):\n    def runTest(self): pass\nclass T": ["A"],
    "class A(Base):\n    def zest(self): pass\n    def run(self): pass\nclass T": [],
    "class A(Base):\n    async def test_it(self): pass\nclass T": ["A"],
    "if f(1):\n    class A(Base):\n        def test_it(self): pass\nclass T": ["A"],
    "class Outer:\n    class A(Base):\n        def test_it(self): pass\nclass T": ["A"],
    "def late():\n    class A(Base):\n        def test_it(self): pass\nclass T": [],
}


@pytest.mark.parametrize("text", CASES)
def test_by_its_text(text: str):
    found = given_tests(tree_of(text + TESTS), frozenset(), "m")
    assert sorted(each.name for each in found) == sorted(CASES[text])


@pytest.mark.parametrize(
    ("base", "given", "found"), [("object", ["object"], 1), ("object", [], 0), ("Base", ["Base"], 1)]
)
def test_what_the_program_gives_anew(base: str, given: list[str], found: int):
    assert len(given_tests(tree_of(f"class T({base})" + TESTS), frozenset(given), "")) == found


def test_without_a_module_nothing_is_imported_from_the_program():
    assert given_tests(tree_of("from . import Base\nclass T(Base)" + TESTS), frozenset(), "") == []


def test_data_is_not_looked_into():
    class Data(_ast.expr):
        _fields = ("elements",)

        @property
        def elements(self) -> None:
            raise AssertionError

    tree = tree_of(
        "x = []\n[]\nclass T(Base):\n    y = []\n    def test(self):\n        z = []\n    for test in []: pass\n"
    )
    made = tree.body[2]
    for node in (tree.body[0], tree.body[1], made.body[0], made.body[1].body[0]):
        node.value = Data()
    made.body[2].iter = Data()
    assert given_tests(tree, frozenset(), "") == [made]


NAMES = {
    "class A: pass\nclass B(A):\n    class C: pass": ["A", "B", "C"],
    "for x in y:\n    class A: pass": ["A"],
    "def f():\n    class A: pass\nz = [x for x in y]\ng = lambda: 1": [],
    "x = 1": [],
}


@pytest.mark.parametrize("text", NAMES)
def test_names_of_classes(text: str):
    assert list(class_names(compile(text, "text", "exec"))) == NAMES[text]


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes have parameters from Python 3.12 on")
def test_names_of_classes_with_parameters():
    code = compile("class A[T](B):\n    class C[U]: pass\ndef f[T]():\n    class D: pass", "text", "exec")
    assert list(class_names(code)) == ["A", "C"]
