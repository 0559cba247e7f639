"""The generated work is what it says: repeatable, varied, of the right size, and true."""

from __future__ import annotations

from itertools import islice

import pytest

from bench.workload import HONEST, LONGEST, REAL, SHORTEST, Kind, candidates, tasks

SEED = 20240105


def test_same_seed_same_work_and_any_slice_of_it():
    everything = list(tasks(SEED, 40, 3))
    assert everything == list(tasks(SEED, 40, 3))
    assert everything[25:30] == list(tasks(SEED, 5, 3, start=25))
    assert everything != list(tasks(SEED + 1, 40, 3))


def test_expected_is_what_the_program_gives():
    for work in tasks(SEED, 300, 2):
        for probe in work.probes:
            space: dict[str, object] = {}
            exec(work.program, space)
            try:
                holds = eval(probe.call, space) == eval(probe.expected)
            except Exception:
                assert probe.kind is Kind.RAISES, work.program
            else:
                assert holds is probe.holds, (work.program, probe)


def test_programs_differ_and_have_the_size_of_cruxevals():
    works = list(tasks(SEED, 1000, 1))
    assert len({work.program for work in works}) > 950
    sizes = [len(f"{work.program}\nassert {work.probes[0].call} ==") for work in works]
    assert sum(SHORTEST <= size <= LONGEST for size in sizes) > 990


def test_shares_are_kept():
    kinds = [probe.kind for work in tasks(SEED, 1000, 1, HONEST) for probe in work.probes]
    assert 480 < kinds.count(Kind.GOOD) < 620
    assert 280 < kinds.count(Kind.WRONG) < 420
    assert 60 < kinds.count(Kind.RAISES) < 140
    assert set(kinds) <= set(HONEST)


@pytest.mark.parametrize("kind", [Kind.RAISES, Kind.LOOPS, Kind.STALLS, Kind.HOGS])
def test_a_single_kind_can_be_asked_for_and_its_programs_parse(kind: Kind):
    for work in tasks(SEED, 60, 2, {kind: 1}):
        compile(work.program, "<generated>", "exec")
        assert {probe.kind for probe in work.probes} == {kind}


def test_published_generations_hold_every_kind():
    assert set(REAL) == set(Kind)


def test_generation_is_lazy():
    first = next(tasks(SEED, 10**9, 1))
    assert first == next(tasks(SEED, 1, 1))
    assert next(candidates(SEED, 10**9))["inputs"]


def test_candidates_parse_repeat_and_break_rules():
    some = list(islice(candidates(SEED, 400), 400))
    assert some == list(candidates(SEED, 400))
    codes = [str(one["code"]) for one in some]
    for code in codes:
        compile(code, "<generated>", "exec")
    assert codes[99] == codes[0]
    assert sum("import " in code or "eval(" in code or "hash(" in code or "set(" in code for code in codes) > 20
    assert all(len(one["inputs"]) == 5 for one in some)
