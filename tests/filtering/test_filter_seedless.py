"""Programs that are not run under a second hash seed: are they blind to it?"""

from __future__ import annotations

import sys
from pathlib import Path

from cruxbox import EvaluateCheck, Outcome, Task
from cruxcell.analysis.determinism import is_seedless
from cruxcell.analysis.hermetic import is_hermetic

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.workload import candidates


def test_blind_programs_give_the_same_under_two_seeds(client, rows):
    """Found by running all of them, and plainly, so that nothing is left out."""
    programs = [(row["code"], [row["input"]]) for row in rows]
    programs += [(work["code"], work["inputs"][:2]) for work in candidates(7, 400)]
    blind = [(code, inputs) for code, inputs in programs if _is_blind(code)]
    assert len(blind) > 800
    tasks = [Task(code, [EvaluateCheck(f"f({text})") for text in inputs], repeat=2) for code, inputs in blind]
    verdicts = client.check(tasks)
    assert not [verdict.value for verdict in verdicts if verdict.nondeterministic]
    assert sum(verdict.outcome is Outcome.EVALUATED for verdict in verdicts) > 800


def _is_blind(code):
    if "10 **" in code:  # hogs and stalls
        return False
    compiled = compile(code, "<program>", "exec", dont_inherit=True)
    return is_hermetic(code, compiled) and is_seedless(code, compiled)
