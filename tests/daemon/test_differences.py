"""Which checks an audit draws, and what is a difference between two runs of a check."""

from __future__ import annotations

import pytest
from cruxboxd.judging.audit import Audit, Audited, difference
from cruxboxd.judging.outcomes import Assurance, CheckResult, Clock, Outcome
from cruxboxd.shared.observer import Observer


def test_each_check_is_drawn_with_the_share_that_was_asked():
    audit = Audit(1 / 16)
    drawn = [len(audit.draw(10)) for _ in range(20_000)]
    assert 11_500 < sum(drawn) < 13_500
    assert 9_500 < len(Audit(1 / 2).draw(20_000)) < 10_500
    assert all(0 <= place < 10 for _ in range(1000) for place in audit.draw(10))
    assert Audit(0).draw(1000) == ()
    assert Audit(1).draw(3) == (0, 1, 2)


VALUE = CheckResult(None, canonical=b"i1;", shown="1", steps=9)
RAISED = CheckResult(Outcome.RAISED, exception=("KeyError", "<f at 0x7f00aa55>", 3), steps=9)
SLOW = CheckResult(Outcome.TIMED_OUT, clock=Clock.CPU)
SAME = [
    (VALUE, VALUE),
    (VALUE, VALUE.but(cpu_ns=5, attempts=2, findings=("SEEDLESS",))),
    (VALUE.but(shown="{None, <f at 0x7f00aa55>}"), VALUE.but(shown="{<f at 0x7f99887766>, None}")),  # another order
    (VALUE.but(shown="{1, 2,", shown_cut=True), VALUE.but(shown="{3, 1,", shown_cut=True)),  # where it was cut
    (RAISED, RAISED.but(exception=("KeyError", "<f at 0x7f99887766>", 3))),
    (RAISED, RAISED.but(detail="a hint")),
    (VALUE, CheckResult(Outcome.SANDBOX_ERROR)),
    (VALUE, CheckResult(Outcome.MEMORY_LIMIT)),
    (VALUE, CheckResult(Outcome.TIMED_OUT, clock=Clock.WALL, cpu_ns=100)),
    (VALUE.but(cpu_ns=50), CheckResult(Outcome.TIMED_OUT, clock=Clock.CPU, cpu_ns=100)),
    (VALUE.but(cpu_ns=60), CheckResult(Outcome.TIMED_OUT, clock=Clock.CPU, cpu_ns=100)),
    (SLOW.but(steps=5), SLOW.but(steps=6)),
    (SLOW.but(stdout=b"a"), SLOW.but(stdout=b"ab")),
    (VALUE.but(stdout=b"<f at 0x7f00aa55>"), VALUE.but(stdout=b"<f at 0x7f99887766>")),
]
OTHER = [
    (VALUE, VALUE.but(canonical=b"i2;"), "value"),
    (VALUE, VALUE.but(canonical=None, shown="<f object>"), "value"),
    (VALUE, VALUE.but(shown="one"), "value"),
    (VALUE, VALUE.but(shown_cut=True), "value"),
    (VALUE, VALUE.but(relation=(b"a", b"c:2:")), "value"),
    (VALUE.but(canonical=None, detail="NaN"), VALUE.but(canonical=None), "value"),
    (VALUE, VALUE.but(findings=("CALL_SHAPE",)), "notes"),
    (VALUE, VALUE.but(findings=("SEEDLESS", "TRUE_DIVIDE")), "notes"),
    (VALUE, VALUE.but(assurance=Assurance.LITERAL), "notes"),
    (VALUE, VALUE.but(steps=10), "steps"),
    (VALUE, RAISED, "outcome"),
    (RAISED, RAISED.but(exception=("KeyError", "x", 3)), "exception"),
    (VALUE.but(stdout=b"a"), VALUE.but(stdout=b"b"), "output"),
    (VALUE.but(stderr=b"a"), VALUE, "output"),
    (VALUE.but(cpu_ns=49), CheckResult(Outcome.TIMED_OUT, clock=Clock.CPU, cpu_ns=100), "outcome"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_is_no_difference(one: CheckResult, other: CheckResult):
    assert difference(one, other) == difference(other, one) == ""


@pytest.mark.parametrize(("one", "other", "what"), OTHER)
def test_what_is_a_difference(one: CheckResult, other: CheckResult, what: str):
    assert difference(one, other) == difference(other, one) == what


def test_only_the_call_that_differed_is_suspected():
    class Counts(Observer):
        audits = mismatches = 0

        def audited(self) -> None:
            self.audits += 1

        def audit_mismatch(self) -> None:
            self.mismatches += 1

    counts = Counts()
    audit = Audit(1, counts)
    audit.compare(Audited(1, "t", "c"), VALUE, VALUE)
    audit.compare(Audited(2, "t", "c"), VALUE, VALUE.but(steps=8))
    assert [audit.is_suspect(call) for call in (1, 2, 3)] == [False, True, False]
    assert (counts.audits, counts.mismatches) == (2, 1)
    for call in range(10, 10_000):
        audit.compare(Audited(call, "t", "c"), VALUE, RAISED)
        audit.forget(call)
    assert [audit.is_suspect(call) for call in (2, 9_999)] == [True, False]  # as long as it is open, and no longer


@pytest.mark.parametrize(
    ("alone", "runs", "is_suspect"),
    [
        ([VALUE], 1, False),
        ([RAISED, RAISED, RAISED], 3, True),
        ([RAISED, RAISED, VALUE], 3, False),
        ([RAISED, VALUE, RAISED], 3, False),
    ],
)
async def test_only_what_is_the_same_alone_each_time_makes_a_call_suspect(alone: list, runs: int, is_suspect: bool):
    audit, ran = Audit(1), iter(alone)

    async def run_alone() -> CheckResult:
        return next(ran)

    assert await audit.run_again(Audited(7, "t", "c"), VALUE, run_alone) is alone[0]
    assert (len(alone) - len(list(ran)), audit.is_suspect(7)) == (runs, is_suspect)
