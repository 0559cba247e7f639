"""Every hostile case against a real server: outcome as allowed, and everything that must still hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance import cases
from conformance.__main__ import UnknownCase, chosen
from conformance.case import Case
from conformance.cases import ALL, SECTIONS
from conformance.lab import Lab
from conformance.runner import run_case

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(600)]


def test_every_case_has_a_name_of_its_own() -> None:
    """The name chooses the case, so it stands once and has no blanks."""
    assert len({case.name for case in ALL}) == len(ALL)
    assert all(re.fullmatch(r"[a-z_]+/[a-z0-9-]+", case.name) for case in ALL)


def test_every_section_is_listed() -> None:
    """A module of cases that nobody lists would never run."""
    modules = {path.stem for path in Path(cases.__file__).parent.glob("*.py") if "\nCASES" in path.read_text()}
    assert modules == set(SECTIONS)


def test_cases_are_chosen_by_section_and_by_name() -> None:
    """A name that chooses nothing is a mistake, not an empty run that passes."""
    assert chosen([]) == list(ALL)
    assert [case.name for case in chosen(["network/bind-listen", "files/read-passwd"])] == [
        "files/read-passwd",
        "network/bind-listen",
    ]
    assert {case.section for case in chosen(["network"])} == {"network"}
    with pytest.raises(UnknownCase, match="files/read-passwd"):
        chosen(["files/read-paswd"])


@pytest.mark.parametrize("case", ALL, ids=lambda case: case.name)
def test_case(lab: Lab, case: Case) -> None:
    """As expected, or listed with its reason."""
    result = run_case(lab, case)
    if result.skipped:
        pytest.skip(result.skipped)
    assert not result.problems, f"{case.name} {case.title}: " + "\n".join(result.problems)
