"""Filtering candidates for a data set: run every function on every input, apply the rules, say why not.

>>> from cruxbox import Client
>>> from cruxbox.filtering import PAPER, Candidate, candidate, filter_candidates
>>> rows = [{"code": "def f(s):\\n    return s.strip('x').title() + s[:1]", "inputs": ["'xya bx'", "''"]}]
>>> with Client() as client:
...     for judged in filter_candidates(map(candidate, rows), client, PAPER):
...         print(judged.output, judged.steps, judged.reasons)

`filter_file` does the same from file to file, and goes on where it was killed.

    candidates      rows with functions and inputs
    rules, reasons  what is refused; every reason, with a sentence
    judging         whether a pair is kept
    pipeline        candidates to judged pairs, in order
    seen            which pairs came before, in flat memory
    files, outputs  from file to file; files of a run that may be killed
    summary         what was done, in numbers
"""

from cruxbox.filtering.candidates import BadRow, Candidate, candidate, read_candidates
from cruxbox.filtering.files import Plan, filter_file
from cruxbox.filtering.judging import Judged, Pair, judge, kept_row, rejected_row, text_reasons
from cruxbox.filtering.pipeline import Checker, filter_candidates
from cruxbox.filtering.reasons import SENTENCES
from cruxbox.filtering.rules import PAPER, RELEASED, Rules, load_rules
from cruxbox.filtering.seen import Seen
from cruxbox.filtering.summary import Summary

__all__ = [
    "PAPER",
    "RELEASED",
    "SENTENCES",
    "BadRow",
    "Candidate",
    "Checker",
    "Judged",
    "Pair",
    "Plan",
    "Rules",
    "Seen",
    "Summary",
    "candidate",
    "filter_candidates",
    "filter_file",
    "judge",
    "kept_row",
    "load_rules",
    "read_candidates",
    "rejected_row",
    "text_reasons",
]
