"""Every hostile case against a real server: outcome as allowed, and everything that must still hold."""

from __future__ import annotations

import pytest

from conformance.case import Case
from conformance.cases import ALL
from conformance.lab import Lab
from conformance.runner import run_case

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(600)]


def test_every_number_has_a_case() -> None:
    """195 numbers, each once, none dropped."""
    assert [case.number for case in ALL] == list(range(1, 196))


@pytest.mark.parametrize("case", ALL, ids=lambda case: f"{case.section}{case.number}")
def test_case(lab: Lab, case: Case) -> None:
    """As expected, or listed with its reason."""
    result = run_case(lab, case)
    if result.skipped:
        pytest.skip(result.skipped)
    assert not result.problems, f"{case.number} {case.title}: " + "\n".join(result.problems)
