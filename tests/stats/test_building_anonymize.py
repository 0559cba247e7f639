"""Renaming: what is renamed, what is not, and that the program still does the same."""

from __future__ import annotations

import ast
import json
import sys

import pytest
from anonymize_cases import CASES
from cruxbox.building import AnonymizeError, anonymize


def run(code: str, input: str) -> str:
    """repr of f(<input>), or the type of what it raised."""
    space: dict[str, object] = {}
    try:
        exec(code, space)
        return repr(eval(f"f({input})", space))
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_renamed_as_expected_and_alike(case):
    code, input, new_code, new_input = case
    renamed = anonymize(code, input)
    assert renamed.code == new_code
    assert renamed.input == new_input
    assert run(renamed.code, renamed.input) == run(code, input)


def test_f_strings_keep_what_they_print():
    code = "def f(name, n):\n    tail = f'{name=} {n!r:>{n}}'\n    return tail + f'{tail}'"
    renamed = anonymize(code, "'a', 4")
    assert run(renamed.code, renamed.input) == run(code, "'a', 4") != "NameError"
    names = {node.id for node in ast.walk(ast.parse(renamed.code)) if isinstance(node, ast.Name)}
    assert names == {"x1", "x2", "x3"}


@pytest.mark.skipif(sys.version_info < (3, 10), reason="match is new in Python 3.10")
def test_match_statements():
    code = (
        "def f(item):\n    match item:\n        case {'k': v, **rest}:\n            return v, rest\n"
        "        case [a, *more] as whole:\n            return a, more, whole\n"
        "        case int(real=r):\n            return r\n"
        "        case other:\n            return other"
    )
    for input in ("{'k': 1, 'z': 2}", "[1, 2, 3]", "7", "None"):
        renamed = anonymize(code, input)
        assert run(renamed.code, renamed.input) == run(code, input)
        assert "rest" not in renamed.code
        assert "whole" not in renamed.code
        assert "real=" in renamed.code


REFUSED = {
    "locals": ("def f(a):\n    return '{a}'.format(**locals())", "1", "uses 'locals'"),
    "eval": ("def f(a):\n    return eval('a')", "1", "uses 'eval'"),
    "code objects": ("def f(a):\n    return f.__code__.co_varnames", "1", "attribute '__code__'"),
    "no program": ("def f(:", "1", "does not parse: .*line 1"),
    "no input": ("def f(a): 1", "1) + (2", "not the arguments of one call"),
    "two statements": ("def f(a): 1", "1); f(2", "not the arguments of one call"),
    "an open input": ("def f(a): 1", "(1", "does not parse"),
    "deep": ("def f(a): return " + "(" * 90_000, "1", "parse"),
    "deep expressions": ("def f(a): return " + "-" * 90_000 + "a", "1", "nested too deeply|parse"),
    "large": ("def f(a): return 1" + " " * 100_000, "1", "100019 characters; 100000 are allowed"),
    "null": ("def f(a): return '\0'", "1", "null"),
    "surrogate": ("def f(a): return '\ud800'", "1", r"the row holds a lone surrogate \(U\+D800\)"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_renamed_safely_is_refused(case):
    code, input, message = case
    with pytest.raises(AnonymizeError, match=message):
        anonymize(code, input)


def test_renaming_twice_changes_nothing_more():
    for code, input, _, _ in CASES.values():
        once = anonymize(code, input)
        twice = anonymize(once.code, once.input)
        assert run(twice.code, twice.input) == run(code, input)


@pytest.mark.data
def test_all_of_cruxeval_behaves_alike(cruxeval):
    """Every program gives its published output under new names, in its own layout."""
    for line in (cruxeval / "cruxeval.jsonl").read_text().splitlines():
        row = json.loads(line)
        renamed = anonymize(row["code"], row["input"])
        assert run(renamed.code, renamed.input) == row["output"], row["id"]
        assert len(renamed.code.splitlines()) == len(row["code"].splitlines())
        before, after = ast.parse(row["code"]), ast.parse(renamed.code)
        assert [type(node) for node in ast.walk(before)] == [type(node) for node in ast.walk(after)]
        assert not set(renamed.names) & {node.id for node in ast.walk(after) if isinstance(node, ast.Name)} - set(
            renamed.names.values()
        ) - set(dir(__builtins__))
