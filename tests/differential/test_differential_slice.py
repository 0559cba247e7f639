"""A quick slice of `make differential`: the honest idioms and some of each set, on the default interpreter."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from cruxbox import Client, Isolation

from differential.corpus import SETS, Case
from differential.derived import derived
from differential.judging import KNOWN, NOT_COMPARED, by_cruxbox, by_plain_python, differences

pytestmark = pytest.mark.kernel

VERSION = sys.version_info[:2]


@pytest.fixture(scope="module")
def client():
    with Client(server_args=["--canary-s=0"]) as client:
        yield client


@pytest.mark.parametrize("name", [name for name in SETS if name != "evalplus"])
def test_three_ways_of_judging_agree(client: Client, name: str):
    cases = [case for case in SETS[name](120, 7) if case.since <= VERSION][:240]
    if not cases:
        pytest.skip("CRUXBOX_DATA does not name the data")
    said = by_plain_python(cases, Path(sys.executable))
    assert not_alike(client, cases, said) == []
    if name == "honest":
        more = list(derived(cases[:16], said))
        assert not_alike(client, more, by_plain_python(more, Path(sys.executable))) == []


def not_alike(client: Client, cases: list[Case], said: list[dict[str, object]]) -> list[str]:
    ways = [by_cruxbox(client, cases, "", isolation) for isolation in (Isolation.PROCESS, Isolation.AUTO)]
    return [str(found) for found in differences(cases, said, *ways)]


def test_every_known_difference_has_a_reason():
    assert all(name and reason for name, reason in KNOWN)


def test_what_a_script_sees_of_a_stop_iteration_is_known(client: Client):
    program = "def f(): raise StopIteration\ndef g(): raise RuntimeError\n"
    cases = [Case(name, "script", program, script=f"kept = {name}()\nassert kept", entry_point=name) for name in "fg"]
    said: list[dict[str, object]] = [{"outcome": "PASSED"}] * 2
    alone = by_cruxbox(client, cases, "", Isolation.PROCESS)
    assert [found.case.name for found in differences(cases, said, alone, alone)] == ["g"]


def test_a_case_that_runs_out_of_the_harness_own_time_is_told_apart(client: Client):
    case = Case("slow", "call", "def f():\n    return sum(range(3 * 10**7))", "f()")
    said = by_plain_python([case], Path(sys.executable), cpu_seconds=0.05)
    alone = by_cruxbox(client, [case], "", Isolation.PROCESS)
    assert [found.between for found in differences([case], said, alone, alone)] == [NOT_COMPARED]
