"""Which scripts are taken apart into calls, and which have to be run as they stand."""

from __future__ import annotations

from typing import Any

import pytest
from cruxcell.analysis.parsing import parse_text
from cruxcell.analysis.series import split_series
from cruxcell.protocol import frames
from cruxcell.protocol.payloads import AS_IT_IS, SERIES_LINE, SINGLE, TRUTH
from cruxcell.values import transfer

CHECK = "def check(candidate):\n    {}\ncheck(f)\n"
SPLIT = {
    "assert f(1) == 2\nassert f(3) == 4": ("f", 2),
    "assert 2 == f(1)": ("f", 1),
    '"A text."\nassert f(-1, 2 * 3, [1, (2,)], k={"a": {1, None}}) == [2, 1e9, "x" "y"], "why"': ("f", 1),
    "assert f()": ("f", 1),
    "assert f(1) == 2, 'first: ' + str(f(1))\nassert f(2), f'{g[0].a!r}' % 3": ("f", 2),
    "assert f(1) == 2, 'f(-1), f({}): ' + str(f(-1)) + str(f({'a': {1}}))\nassert f(2)": ("f", 2),
    "print\nassert f(1)": ("f", 1),
    CHECK.format("print\n    assert candidate(1)"): ("f", 1),
    "assert not f(1)\nassert f(2) is True\nassert f(3) is None": ("f", 3),
    "DATA = {'a': [1]}\nassert f(1) == 2": ("f", 1),
    CHECK.format("assert candidate(1) == 2"): ("f", 1),
    CHECK.format("'A text.'\n    assert True, 'x'\n    pass\n    assert candidate(1) == 2\n    assert candidate(2)"): (
        "f",
        2,
    ),
    "assert f(1), 5": ("f", 1),
    CHECK.format("assert candidate(1)").replace("check(f)", "'A text.'\ncheck(f)"): ("f", 1),
    "META = {}\n\n\ndef check(g):\n    assert g(1) == 2\n\nLAST = 1\ncheck(f)": ("f", 1),
}
OTHERS = [
    "print", "f\nassert f(1)", "printed\nassert f(1)", "print()\nassert f(1)", "print.x\nassert f(1)",
    "", "assert True", "x = f(1)\nassert f(1) == 2", "assert f(1) == 2\nassert g(1) == 2", "assert f(1) == g(1)",
    "assert f(f(1)) == 2", "assert f(*[1]) == 2", "assert f(**{}) == 2", "assert f(1) == 2 == 2", "assert f(1) != 2",
    "assert f(1) < 2", "assert f(1) in [2]", "assert f(1) is 2", "assert f(1) is not None",
    "assert f(1) == 2, (g := 1)", "assert f(1) == 2, lambda: 1",
    "assert f(1) == 2, -(g := 1)", "assert f(1) == 2, {1: (g := 1)}",
    "assert f(1) == 2, g(a=1, a=2)", "assert f(1) == 2, [x for x in 'a']",
    "assert f(1) == [x for x in 'a']", "assert f(1) == (lambda: 1)",
    "assert f(1).a == 2", "assert f(1)[0] == 2", "assert a.f(1) == 2", "assert (f(1) == 2, 'x')",
    "assert f(1 / 0) == 2", "assert f(1) == 1 / 0", "assert f(1) == 1e999 - 1e999", "assert f(1) == len('a')",
    "assert f(a=1, a=2) == 3", "assert sorted([1]) == [1]", "assert __name__(1) == 2", "assert F(1) == 2",
    "assert False\nassert f(1)", "assert 0\nassert f(1)", "for x in [1]:\n    assert f(1)", "import math\nassert f(1)",
    "from math import *\nassert f(1)", "f = 1\nassert f(1) == 2", "assert f(1) == 2; f = 1", "del f\nassert f(1)",
    "assert f(1) == 2\nf(2)", "assert await_(1) == f(1)", "assert f(1) == {[]}",
    "assert f({[]: 1}) == 1", "A.b = 1\nassert f(1)", "A = B = f\nassert f(1)", "A += 1\nassert f(1)",
    "def check(candidate):\n    assert candidate(1) == 2\n",
    "def check(candidate):\n    assert candidate(1) == 2\ncheck(1)", "def check(c):\n    assert c(1)\ng(f)",
    "def check(candidate):\n    assert candidate(1)\ncheck(f)\ncheck(g)",
    "def check(candidate):\n    assert candidate(1)\ncheck(check)", "def check(c, d):\n    assert c(1)\ncheck(f)",
    "def check(c=1):\n    assert c(1)\ncheck(f)", "def check(*c):\n    assert c(1)\ncheck(f)",
    "def check(c, /):\n    assert c(1)\ncheck(f)", "def check(*, c):\n    assert c(1)\ncheck(c=f)",
    "def check(c: int):\n    assert c(1)\ncheck(f)", "def check(c) -> int:\n    assert c(1)\ncheck(f)",
    "@g\ndef check(c):\n    assert c(1)\ncheck(f)", "async def check(c):\n    assert c(1)\ncheck(f)",
    "def check(c):\n    assert c(1)\n    return 5\ncheck(f)", "def check(c):\n    return 5\n    assert c(1)\ncheck(f)",
    "def check(c):\n    assert c(1), (yield)\ncheck(f)",
    "def check(c):\n    yield 5\n    assert c(1)\ncheck(f)", "def check(c):\n    x = 5\n    assert c(1)\ncheck(f)",
    "def check(c):\n    global f\n    assert c(1)\ncheck(f)", "def check(c):\n    assert f(1)\ncheck(f)",
    "def check(c):\n    if c(1): assert c(1)\ncheck(f)", "def check(c):\n    assert c(1)\ncheck(f).x",
    "def check(c):\n    assert c(1)\ncheck(f, f)", "def check(c):\n    assert c(1)\ncheck()",
    "def check(c):\n    assert c(1)\nassert f(1)\ncheck(f)",
    "def check(c):\n    assert c(1)\ncheck(f)\nassert f(1)",
    "def check(c):\n    assert c(1)\ndef check(c):\n    pass\ncheck(f)",
    "def check(c):\n    raise 5\n    assert c(1)\ncheck(f)", "def check(c):\n    del c\n    assert c(1)\ncheck(f)",
    "def CHECK(c):\n    assert c(1)\nCHECK = 1\nCHECK(f)", "def check(c):\n    assert c(1)\nF = 1\ncheck(F)",
    "assert f((lambda: 1)()) == 1", "assert f(1) == {**{}, 'a': g}", "assert (f := 1)(1) == 2", "assert f(x := 1) == 2",
    "class check:\n    pass\nassert f(1)", "try:\n    assert f(1)\nfinally:\n    pass", "with f(1):\n    assert f(1)",
    "@g\ndef a(c):\n    pass\ndef check(c):\n    assert c(1)\ncheck(f)",
    "assert f(1) == 3\ndef check(c):\n    assert c(1)\ncheck(f)", "assert __file__(1) == 2", "assert -f(1)",
    "def check(c):\n    assert c(1)\ncheck(f, k=1)", "def check(c):\n    assert c(1)\na.check(f)", "assert f(1) is x",
    "\n".join(["assert f(1) == 1"] * 201),
    "assert f('" + "x" * (600 << 10) + "') == '" + "x" * (600 << 10) + "'",
    "assert f('" + "x" * (1 << 20) + "') == 1",
]  # fmt: skip


@pytest.mark.parametrize("script", SPLIT)
def test_what_only_asserts_what_calls_give_is_taken_apart(script: str):
    split = split_series(parse_text(script, "exec"))
    assert split is not None
    name, *expected = frames.unpack(split[0])
    calls = frames.unpack(split[1])
    assert (name.decode(), len(expected) / 3, len(calls) - 1) == (SPLIT[script][0], *[SPLIT[script][1]] * 2)


@pytest.mark.parametrize("script", OTHERS, ids=range(len(OTHERS)))
def test_what_has_another_shape_is_not(script: str):
    assert split_series(parse_text(script, "exec")) is None


def test_a_function_with_type_parameters_is_another_shape():
    tree = parse_text(CHECK.format("assert candidate(1)"), "exec")
    assert split_series(tree) is not None
    tree.body[0].type_params = [None]  # only newer interpreters parse such a one
    assert split_series(tree) is None


def test_what_is_told_of_each_call():
    script = "assert f(1, k='b') == [2]\nassert not f(\n    3), 'm\\ud800'\nassert f(4) is False\nassert f(), str(1)"
    split = split_series(parse_text(script, "exec"))
    assert split is not None
    expected, calls = map(frames.unpack, split)
    lines = [SERIES_LINE.pack(line) for line in (1, 2, 4, 0)]
    assert expected == [
        b"f", lines[0], b"", b"[1:i2;", lines[1], b"m\\ud800", b"i0;", lines[2], b"", b"[3:i0;i1;i0;",
        lines[3], b"", b"i1;",
    ]  # fmt: skip
    assert calls[1:] == [AS_IT_IS, TRUTH, SINGLE, TRUTH]
    assert transfer.decode(calls[0]) == [([1], {"k": "b"}), ([3], {}), ([4], {}), ([], {})]


# What a script says on several lines, and whether an error and a failure have the line on which it begins.
BEGUN = [
    ("assert f(1) == [\n    1,\n]", True),
    ("assert f(\n    1,\n    k=[\n2]) == 3, (\n    'a'\n    'b')", True),
    ("assert not f(\n    1)", True),
    ("assert f(\n    1) is None", True),
    ("assert f(-1, (1\n+ 2)) == \\\n    -3", True),
    ("assert [\n    1] == f(1)", False),
    ("assert (\n    f(1) == 3)", False),
    ("assert not (\n    f(1))", False),
]


@pytest.mark.parametrize(("script", "has_line"), BEGUN)
def test_the_line_is_that_of_the_interpreter(script: str, has_line: bool):
    split = split_series(parse_text("\n" + script, "exec"))
    assert split is not None
    assert frames.unpack(split[0])[1] == SERIES_LINE.pack(2 if has_line else 0)
    for function in (lambda *_, **__: "not" in script, lambda *_, **__: 1 / 0):
        with pytest.raises((AssertionError, ZeroDivisionError)) as caught:
            exec("\n" + script, {"f": function})
        lines = {entry.lineno + 1 for entry in caught.traceback if str(entry.path) == "<string>"}
        assert not has_line or lines == {2}


def test_equal_constants_of_several_calls_are_one_object_and_displays_are_not():
    split = split_series(parse_text("assert f((1, 'a'), [2])\nassert f((1, 'a'), [2])", "exec"))
    assert split is not None
    every: Any = transfer.decode(frames.unpack(split[1])[0])
    ((first, items), _), ((second, others), _) = every
    assert first is second
    assert items is not others
