"""Every idiom is right where it is right and never passes where it is wrong; the table in docs says what holds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from cruxbox import Assurance, Client, Outcome, Verdict

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from idioms.judging import KINDS, REFUSED, TABLE, Idiom, idioms, judge, word

pytestmark = pytest.mark.kernel
Found = dict[tuple[str, str], tuple[Verdict, Verdict]]


@pytest.fixture(scope="module")
def wanted() -> list[Idiom]:
    return idioms()


@pytest.fixture(scope="module")
def found(wanted: list[Idiom]) -> Found:
    with Client() as client:
        return judge(client, wanted)


def test_there_are_sixty_that_work(wanted: list[Idiom]):
    assert len({idiom.name for idiom in wanted}) == len(wanted)
    assert sum(not idiom.is_refused for idiom in wanted) >= 60


def test_what_is_right_passes_separated_and_what_is_wrong_never_does(wanted: list[Idiom], found: Found):
    for idiom in wanted:
        for kind in KINDS:
            right, wrong = found[idiom.name, kind]
            assert wrong.outcome is not Outcome.PASSED, (idiom.name, kind)
            if idiom.is_refused:
                assert right.outcome is Outcome.RAISED, (idiom.name, kind, right)
                assert "policy" in right.detail, (idiom.name, kind, right)
            else:
                assert right.outcome is Outcome.PASSED, (idiom.name, kind, right)
                assert right.assurance is not Assurance.IN_PROCESS, (idiom.name, kind)
                assert wrong.outcome is Outcome.FAILED, (idiom.name, kind, wrong)


def test_the_table_in_docs_is_what_was_found(wanted: list[Idiom], found: Found):
    written = TABLE.read_text()
    for idiom in wanted:
        words = [word(*found[idiom.name, kind]) for kind in KINDS]
        assert f"| {idiom.name.removesuffix(REFUSED)} | {' | '.join(words)} |\n" in written
