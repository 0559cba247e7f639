"""What a generation is asked and what verdicts add up to, without a server."""

from __future__ import annotations

from dataclasses import replace

import pytest
from cruxbox.accounting import ACCOUNTINGS, PUBLISHED, RELEASED, STRICT, released_skips
from cruxbox.building.rows import Row
from cruxbox.model import Assurance, CallCheck, Limits, Outcome, ScriptCheck, Verdict

ROW = Row(code="def f(x):\n    return x + 1", input="2", output="3", id="sample_0")
LIMITS = Limits(cpu_ms=1)


def verdict(letter: str):
    outcome = {"P": Outcome.PASSED, "F": Outcome.FAILED, "X": Outcome.SANDBOX_ERROR, "R": Outcome.RAISED}.get(letter)
    return None if outcome is None else Verdict("", "", outcome)


def marks(accounting, letters: str):
    return accounting.marks([verdict(letter) for letter in letters])


def test_strict_input_mode_is_a_call_of_f_on_the_program():
    task = STRICT.task(ROW, "f(2)", "input", LIMITS)
    assert task.program == ROW.code
    assert task.checks == [CallCheck("f(2)", "3", entry_point="f")]
    assert task.require_assurance is Assurance.SEPARATED
    assert task.limits == LIMITS


def test_strict_output_mode_knows_no_name_of_the_program():
    task = STRICT.task(ROW, "1 + 2", "output", LIMITS)
    assert task.program == ""
    assert task.checks == [CallCheck("1 + 2", "3")]
    assert task.require_assurance is Assurance.SEPARATED


IMPORTED = {
    "Counter({'a': 1})": "from collections import Counter",
    "[c.Counter()]": "import collections as c",
    "os.sep": "import os.path",
    "D()": "from collections import *",
    "Counter": "",
    "len('a')": "",
    "f(2)": "",
    "1 +": "",
}


@pytest.mark.parametrize("output", IMPORTED)
def test_strictly_what_the_output_is_written_with_is_known_to_both_sides(output):
    used = IMPORTED[output]
    row = replace(ROW, code=f"import re, math\n{used}\n{ROW.code}", output=output)
    checks = [
        STRICT.task(row, "f(2)", "input", LIMITS).checks[0],
        STRICT.task(row, " 'a' ", "output", LIMITS).checks[0],
    ]
    known = {text for text in (checks[0].expected, checks[1].expected, checks[1].call) if repr(used) in text}
    assert len(known) == (2 if used else 0)
    assert checks[0].call == "f(2)"
    if not used:
        assert [check.expected for check in checks] == [output] * 2


@pytest.mark.parametrize("mode", ["input", "output"])
def test_released_splices_text(mode):
    generation = {"input": "f(2), 'why'", "output": "3, 'why'"}[mode]
    task = RELEASED.task(ROW, generation, mode, LIMITS)
    assert task.program == ROW.code
    assert task.checks == [ScriptCheck(f"assert 3 == {generation}")]
    assert task.require_assurance is None


def test_released_guards_look_for_text():
    assert released_skips(ROW, "3", "input")
    assert not released_skips(ROW, "3  # f(", "input")
    assert released_skips(ROW, "3 if f(2) else 3", "output")
    assert not released_skips(ROW, "f( 2)", "output")
    assert RELEASED.task(ROW, "f(2)", "output", LIMITS) is None


def test_strict_keeps_everything_but_faults_of_the_sandbox():
    assert marks(STRICT, "PFRX") == [True, False, False, None]


def test_released_drops_what_it_skips_unless_nothing_is_right():
    assert marks(RELEASED, "PF-R") == [True, False, False]
    assert marks(RELEASED, "FF-R") == [False] * 4
    assert marks(RELEASED, "---") == [False] * 3
    assert marks(RELEASED, "FX-") == [False, None, False]


def scored(accounting, rows: dict[str, str], ks=(1, 2)):
    generations = {name: ["?"] * len(letters) for name, letters in rows.items()}
    return accounting.score(generations, {n: [verdict(x) for x in letters] for n, letters in rows.items()}, ks)


def test_strict_pass_at_k():
    got = scored(STRICT, {"a": "PF", "b": "FF"})
    assert got.pass_at_k == {1: 25.0, 2: 50.0}
    assert got.masked == 0


def test_strict_gives_no_figure_for_more_than_there_is():
    assert scored(STRICT, {"a": "PF", "b": "F"}).pass_at_k == {1: 25.0, 2: None}


def test_a_masked_generation_leaves_n_and_never_counts_as_wrong():
    got = scored(STRICT, {"a": "PX", "b": "FF", "c": "XX"})
    assert got.pass_at_k[1] == 50.0
    assert got.pass_at_k[2] == 0.0
    assert got.masked == 3


def test_everything_masked_is_no_figure():
    assert scored(STRICT, {"a": "XX"}).pass_at_k == {1: None, 2: None}


def test_released_pass_at_k_with_its_quirks():
    assert scored(RELEASED, {"a": "F"}, ks=(1, 5)).pass_at_k == {1: 0.0, 5: 100.0}
    assert scored(RELEASED, {"a": ""}, ks=(1,)).pass_at_k == {1: 100.0}


def test_published_keeps_what_it_skips_as_wrong():
    assert marks(PUBLISHED, "PF-R") == [True, False, False, False]
    assert marks(PUBLISHED, "---") == [False] * 3
    assert marks(PUBLISHED, "PX-") == [True, None, False]
    assert PUBLISHED.task(ROW, "f(2)", "output", LIMITS) is None


def test_published_pass_at_k_counts_as_the_released_one_does():
    assert scored(PUBLISHED, {"a": "P-"}, ks=(1, 5)).pass_at_k == {1: 50.0, 5: 100.0}
    assert scored(RELEASED, {"a": "P-"}, ks=(1, 5)).pass_at_k == {1: 100.0, 5: 100.0}


def test_an_empty_generation_is_wrong_and_leaves_n_only_where_skipping_does():
    empty_input, empty_output = (RELEASED.task(ROW, "", mode, LIMITS) for mode in ("input", "output"))
    assert empty_input is None
    assert empty_output.checks == [ScriptCheck("assert 3 == ")]


def test_reference_is_the_released_scorer():
    assert ACCOUNTINGS["reference"] is RELEASED
    assert list(ACCOUNTINGS) == ["strict", "published", "released", "reference"]


@pytest.mark.parametrize("text", ["class Counter(dict): pass", "def Counter(x): pass", "if 1:\n    Counter = dict"])
def test_what_a_program_defines_anew_is_no_import_of_its_output(text):
    imported = "from collections import Counter"
    for mode in ("input", "output"):
        row = Row(code=f"{imported}\n{text}\ndef f(x): return 1", input="1", output="Counter(a=1)")
        (check,) = STRICT.task(row, "f(1)", mode, LIMITS).checks
        assert check.expected == row.output
        (check,) = STRICT.task(replace(row, code=imported), "f(1)", mode, LIMITS).checks
        assert imported in check.expected
