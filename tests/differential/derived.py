"""Cases made of what plain CPython said of others: a call as a script that asserts its value, right and wrong, and as a
program that prints it. So each idiom goes every way that a check can go."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from differential.corpus import Case

_MOST = 2_000
_ROWS = """def same(out, exp, i):
    assert out == exp and type(out) == type(exp), f"{{i}}: {{out}}"
inputs = [{row}, {row}]
results = {results}
for i, (inp, exp) in enumerate(zip(inputs, results)):
    same({name}(*inp), exp, i)
"""
_CALLEE = re.compile(r"([A-Za-z_]\w*)\(")


def derived(cases: Sequence[Case], plain: Sequence[dict[str, object]]) -> Iterator[Case]:
    """Further cases of the calls among `cases`; `plain` is what plain CPython said of each."""
    for case, said in zip(cases, plain):
        if case.kind != "call" or "\n" in case.call or "#" in case.call:
            continue
        for name, script in _scripts(case, said):
            yield replace(
                case, name=f"{case.name}/{name}", kind="script", script=script, entry_point=_entry_point(case)
            )
        if "__name__" not in case.program + case.call:
            program = f"{case.program}\nprint(repr({case.call.strip()}))\n"
            yield replace(case, name=f"{case.name}/printed", kind="stdio", program=program)


def _scripts(case: Case, said: dict[str, object]) -> Iterator[tuple[str, str]]:
    call, value, exception = case.call.strip(), str(said.get("value", "<")), said.get("exception")
    if said["outcome"] == "EVALUATED" and not value.startswith("<") and len(value) < _MOST:
        yield "right", f"assert {call} == {value}\n"
        yield "wrong", f"assert {call} == [{value}]\n"
        yield "right, twice", f"assert {call} == {value}\nassert {call} == {value}, 'again'\n"
        yield "wrong, twice", f"assert {call} == {value}\nassert {call} != {value}, 'again'\n"
        yield (
            "right, kept",
            f"kept = {call}\nif kept != {value}: raise AssertionError(repr(kept))\nassert [kept] == [{value}]\n",
        )
        yield "wrong, kept", f"kept = ({call},)\nassert len(kept) == 1\nassert kept == [{value}], str(kept)\n"
        yield "right, shown", f"kept = {call}\nassert repr(kept) == {value!r} and str([kept]) == {f'[{value}]'!r}\n"
        yield from _by_rows(call, value)
        yield "typed", f"kept = {call}\nassert isinstance(kept, type({value})) and type(kept) is type({value})\n"
    elif said["outcome"] == "RAISED" and isinstance(exception, list) and len(str(exception)) < _MOST:
        kind, message = exception
        if isinstance(getattr(builtins, str(kind), None), type) or f"class {kind}(" in case.program:
            told = f"try:\n    {call}\nexcept {kind} as error:\n    assert str(error) == "
            yield "right error", f"{told}{message!r}\nelse:\n    assert False, 'no error'\n"
            yield "wrong error", f"{told}{message + '.'!r}\nelse:\n    assert False, 'no error'\n"
        yield "error", f"kept = {call}\nassert kept\n"
        yield from _by_rows(call, "None")


def _by_rows(call: str, value: str) -> Iterator[tuple[str, str]]:
    """The call twice, as those of a table."""
    try:
        node = ast.parse(call, mode="eval").body
    except SyntaxError:
        return
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.keywords:
        return
    row = f"[{', '.join(ast.unparse(each) for each in node.args)}]"
    for name, results in (("right", f"[{value}, {value}]"), ("wrong", f"[{value}, [{value}]]")):
        yield f"{name}, by rows", _ROWS.format(row=row, results=results, name=node.func.id)


def _entry_point(case: Case) -> str:
    """The function of the program that the call begins with; "" if it is none."""
    found = _CALLEE.match(case.call.strip())
    name = found[1] if found else ""
    return name if re.search(rf"^(?:async )?def {name}\(", case.program, re.MULTILINE) and name else ""
