"""After which code of a task the seal compares: after all but displays of constants, which can leave nothing."""

from __future__ import annotations

import json

import pytest
from cruxcell.analysis.hermetic import NEWEST_TRIED
from interpreters import Twin, twins

# What changes a list that is watched is the harness here. Does the seal behind each text notice?
PROGRAM = """
import json, os, sys
from cruxcell.protocol import frames

kept = [1]
k.watch([(1, kept)])

def is_compared(*texts):
    child = os.fork()
    if child == 0:
        reading, writing = os.pipe()
        os.write(writing, frames.frame([b"", b"", bytes(8 * (1 + len(texts)))]))
        k.read_payload(reading, 1000)
        k.arm()
        k.seal(writing, -1)
        for index, text in enumerate(texts):
            k.evaluate(compile(text, "<check>", "eval"), {"x": [1]})
            k.report_value(writing, index, 0, 0, 0, 1, 1000, 100, b"", b"")
            if index == len(texts) - 1:
                kept.append(2)
            k.seal(writing, index)
        os._exit(0)
    return {0: False, 65: True}[os.WEXITSTATUS(os.waitpid(child, 0)[1])]

print(json.dumps([text for text in json.loads(sys.argv[1]) if is_compared(*text)]))
"""
DISPLAYS = [
    "1", "'a'", "None", "()", "[]", "[1, 2, 3, 4]", "[[1], [2, []]]", "{}", "{1: 2}", "{'a': [1], 'b': {2}}",
    "{1, 2, 3}", "({},)", "(1, [2])", "-1", "1 + 2", str(list(range(300))), str([[number] for number in range(40)]),
    str({number: [number] for number in range(40)}), str({number: number for number in range(300)}),
    str({(number,) for number in range(40)}),
]  # fmt: skip
OTHERS = [
    "x", "x.copy", "abs(1)", "[x]", "[1][0]", "[] + []", "-[1][0]", "not []", "[] == []", "[] or {}", "'%s' % [1]",
    "f'{[1]}'", "lambda: 1", "[1 for _ in [2]]", "[*[1], *x]", "1 in [[]]",
]  # fmt: skip


SHARING = [twin for twin in twins() if twin.name == "native" and twin.version <= NEWEST_TRIED]
NATIVE = pytest.mark.parametrize("twin", SHARING, ids=str)


def compared(twin: Twin, *checks: list[str]) -> list[list[str]]:
    """Those of these rows of checks behind the last of which the seal compares."""
    found: list[list[str]] = twin.ask(PROGRAM, json.dumps(checks))
    return found


@NATIVE
def test_the_seal_compares_after_all_that_is_more_than_a_display_of_constants(twin: Twin) -> None:
    assert compared(twin, *[[text] for text in DISPLAYS + OTHERS]) == [[text] for text in OTHERS]


@NATIVE
def test_the_seal_compares_after_a_display_where_other_code_has_run(twin: Twin) -> None:
    """What that has left may run when it is thrown away, at any time."""
    assert compared(twin, ["x", "[1]"], ["[1]", "x", "[1]", "2"], ["[1]", "2"]) == [
        ["x", "[1]"],
        ["[1]", "x", "[1]", "2"],
    ]
