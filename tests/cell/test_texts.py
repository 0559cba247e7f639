"""Reading texts: what a call is, what a constant is, what an assertion is made of."""

from __future__ import annotations

import pytest
from cruxcell.analysis import parsing
from cruxcell.analysis.parsing import (
    Invalid,
    classify_call,
    compile_expression,
    is_constant,
    parse_text,
    split_assertion,
)
from cruxcell.analysis.vacuous import refuse_vacuous, surely_tests
from cruxcell.protocol import messages

# text, entry point -> class
CALLS = [
    ("1", "", messages.CONSTANT),
    ("[1, {'a': -2}, (3.5,)]", "", messages.CONSTANT),
    ("2 ** 10 + 3 * 4", "", messages.CONSTANT),
    ("f(1)", "", messages.DIRECT),
    ("f()", "f", messages.DIRECT),
    ("f([1, 2], {'a': None}, b=-1)", "f", messages.DIRECT),
    ("  f(1)\n", "f", messages.DIRECT),
    ("f(\n 1,\n 2,\n)", "f", messages.DIRECT),
    ("f(*[1, 2], **{'a': 3})", "f", messages.DIRECT),
    ("f(1 + 2, 'a' * 3)", "f", messages.DIRECT),
    ("f(int('3'))", "f", messages.ARGUED),
    ("f(x for x in (1, 2))", "f", messages.ARGUED),
    ("f(lambda: 1)", "f", messages.ARGUED),
    ("f(f(1))", "f", messages.ARGUED),
    ("f(g)", "", messages.ARGUED),
    ("f(f)", "", messages.ARGUED),
    ("f((f := 1))", "", messages.ARGUED),
    ("(1 if 1 else 2)(f)", "", messages.EXPRESSION),
    ("f(1)(2)", "", messages.EXPRESSION),
    ("f(1).x", "", messages.EXPRESSION),
    ("f(1) + 1", "", messages.EXPRESSION),
    ("[f(1)]", "", messages.EXPRESSION),
    ("x", "", messages.EXPRESSION),
    ("m.f(1)", "", messages.EXPRESSION),
    ("f(1) if f else f(2)", "", messages.EXPRESSION),
    ("1", "f", messages.INVALID),
    ("g(1)", "f", messages.INVALID),
    ("f(1) + 1", "f", messages.INVALID),
    ("f(1)(2)", "f", messages.INVALID),
    ("m.f(1)", "f", messages.INVALID),
    ("f(1), f(2)", "f", messages.INVALID),
    ("f(1) or True", "f", messages.INVALID),
    ("f(", "", messages.INVALID),
    ("f(1)\nf(2)", "", messages.INVALID),
    ("x = f(1)", "", messages.INVALID),
    ("assert f(1)", "", messages.INVALID),
    ("f(1) # f(", "f", messages.DIRECT),
    ("# f(1)", "f", messages.INVALID),
    ("f(" * 500 + ")" * 500, "f", messages.INVALID),
]


@pytest.mark.parametrize(("text", "entry_point", "kind"), CALLS, ids=lambda part: part[:40])
def test_what_a_call_is(text, entry_point, kind):
    try:
        found, detail, _ = classify_call(text, entry_point)
    except Invalid as error:
        found, detail = messages.INVALID, str(error)
    assert found == kind
    assert bool(detail) == (kind == messages.INVALID)
    assert "\n" not in detail


@pytest.mark.parametrize(
    "text", ["1", "'a' 'b'", "(1, [2, {3: {4}}])", "-1 + 2j", "1 < 2", "[*[1], 2]", "f'{1}'", "..."]
)
def test_constants(text):
    assert is_constant(compile_expression(text))


@pytest.mark.parametrize(
    "text", ["x", "f()", "[].append", "[1 for _ in ()]", "lambda: 1", "(y := 1)", "[].copy()", "f'{x}'", "{**x}"]
)
def test_what_runs_something_is_no_constant(text):
    assert not is_constant(compile_expression(text))


ASSERTIONS = [
    ("assert 3 == f(1)", 3, "f(1)"),
    ("assert f(1) == 3", 3, "f(1)"),
    ("assert 'é' == f('ü', 1)  # why", "é", "f('ü', 1)"),
    ("\nassert [1, (2,)] == f(\n    1,\n    2)\n", [1, (2,)], "(f(\n    1,\n    2))"),
    ("assert (f(1)) == 3", 3, "f(1)"),
    ("assert 1 == 2", 1, "2"),
    ("assert 'ü' 'é' == f('ü')", "üé", "f('ü')"),
    ("assert (y := f(1)) == 2", 2, "(y := f(1))"),
]


@pytest.mark.parametrize(("script", "value", "other"), ASSERTIONS)
def test_an_assertion_is_a_constant_and_an_expression(script, value, other):
    found = split_assertion(script, parse_text(script, "exec"))
    assert found is not None
    assert (eval(found[0]), found[1]) == (value, other)


@pytest.mark.parametrize(
    "script",
    [
        "assert f(1)",
        "assert f(1) == g(1)",
        "assert 1 == f(1) == 1",
        "assert 1 != f(1)",
        "assert 1 == f(1), 'message'",
        "assert 1 == f(1) or True",
        "assert 1 == f(1); pass",
        "x = 1\nassert x == 1",
        "pass",
        "",
    ],
)
def test_any_other_script_runs_as_it_stands(script):
    assert split_assertion(script, parse_text(script, "exec")) is None


@pytest.mark.parametrize(
    ("script", "sentence"),
    [
        ("", "tests nothing"),
        ("x = [1, 2]\nif x:\n    x == 3", "tests nothing"),
        ("assert True\nassert 1, 'f(1)'", "tests nothing"),
        ("def check(f):\n    assert f(1) == 2\nasync def g():\n    check(f)\nh = lambda: check(f)", "tests nothing"),
        ("def run(g):\n    return g\n@run\ndef _():\n    assert f(1) == 2", "tests nothing"),
        ("def run(g):\n    return lambda: g()\n@run\ndef _():\n    assert f(1) == 2", "tests nothing"),
        ("def run(g):\n    g()\n@run\nasync def _():\n    assert f(1) == 2", "tests nothing"),
        ("import pytest\n@pytest.mark.parametrize('x', [1])\ndef test(x):\n    assert f(x) == 2", "tests nothing"),
        ("def run(g):\n    print(1)\n@run\ndef _():\n    assert f(1) == 2", "tests nothing"),
        ("def run(g):\n    g.x()\n@run\ndef _():\n    assert f(1) == 2", "tests nothing"),
        ("@run\ndef _():\n    assert f(1) == 2", "tests nothing"),
        ("class run:\n    def other(self, g):\n        g()\n@run\ndef _():\n    assert f(1) == 2", "tests nothing"),
        ("def check(f):\n\n    assert (f(1) == 2, 'no')\ncheck(f)", "line 3 is on a tuple"),
        ("try:\n    f(1)\nfinally:\n    assert (f(1), 2)", "line 4 is on a tuple"),
    ],
)
def test_a_script_that_cannot_fail_is_refused(script, sentence):
    with pytest.raises(Invalid, match=sentence):
        refuse_vacuous(parse_text(script, "exec"))


@pytest.mark.parametrize(
    "script",
    [
        "assert f(1)",
        "if f:\n    raise KeyError",
        "[[{1: f(1)}]]",
        "class A:\n    x = f(1)",
        "assert f(1) == (1, 2), (3, 4)",
        "assert ()",
        "assert False",
        "class A(unittest.TestCase):\n    pass",
        "class A(TestCase):\n    pass",
        "class A(object, MyTestCase):\n    pass",
        "def check():\n    pass\ncheck()",
        "global x, y\nassert f(1)",
        "def run(g):\n    g()\n@run\ndef _():\n    assert f(1) == 2",
        "class run:\n    x = 1\n    def __init__(self, g):\n        g()\n@run\ndef _():\n    assert f(1) == 2",
        "def run(g):\n    g()\n@run\nclass _:\n    def __init__(self):\n        assert f(1) == 2",
    ],
)
def test_a_script_that_can_fail_is_not(script):
    refuse_vacuous(parse_text(script, "exec"))


@pytest.mark.parametrize(
    ("script", "surely"),
    [
        ("def check(f):\n    assert f(1)\n\ncheck(f)\n\n", True),
        ("class A:\n    pass\ncheck(f, 1)", True),
        ("assert f(1)\nassert (f(1), 2)\ncheck(f)", False),
        ("assert f(1)\nassert\\\n  (f(1), 2)\ncheck(f)", False),
        ("class A:\n    pass\nx = '''\ncheck(f)'''", False),
        ("class A:\n    pass\nx = '''\ncheck(f)\n'''", False),
        ("class A:\n    pass\nx = ('''\ncheck(f)''')", False),
        ("class A:\n    pass\nx = ('''\nA(1)''')", False),
        ("class A:\n    pass\n#check(f)", False),
        ("class A:\n    pass\nassert(A)", False),
        ("class A:\n    pass\n# (f)", False),
        ("def check(f): \\\ncheck(f)", False),
        ("class A:\n    pass\ncheck(f) or 1", False),
        ("class A:\n    pass", False),
        ("f()\nif f:\n    f()", False),
        ("", False),
    ],
)
def test_whether_a_script_surely_tests_is_seen_by_its_last_line(script: str, surely: bool):
    assert surely_tests(script, compile(script, "<check>", "exec")) is surely


@pytest.mark.parametrize("text", ["(", "1 +", "\0", "if", "'a", "f(" * 5000, "-" * 100_000 + "1", "\ud800", "é = "])
def test_what_does_not_parse_is_said_in_one_sentence(text):
    with pytest.raises(Invalid) as caught:
        parsing.compile_text(text, parsing.CHECK, "eval")
    assert str(caught.value)
    assert "\n" not in str(caught.value)
