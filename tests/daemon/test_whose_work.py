"""Work belongs to the request that asked for it, not to one that happened to start the zygote it runs on."""

from __future__ import annotations

from contextvars import Context
from pathlib import Path

from cruxbox import CallCheck, EvaluateCheck, Limits, Outcome, Task
from cruxboxd.shared.waiting import on_its_own
from cruxboxd.zygotes.jobs import Job, Outlet, current_outlet
from cruxcell.protocol import records
from support.daemons import Served
from told_calls import ONE, evaluated, texts
from told_workers import Told

# A second run has hashes of its own, and so a zygote, which the first to ask for one starts.
STALLS_AGAIN = "def f(n):\n    while n == 1 and hash('a') != {}:\n        pass\n    return n\n"


def test_who_started_a_zygote_and_left_holds_nobody_up(tmp_path: Path):
    """The calls behind one that stalls go elsewhere, and their verdicts leave."""
    with Served(tmp_path) as daemon:
        with daemon.client() as client:
            seen = client.check([Task("def f(): return hash('a')", [EvaluateCheck("f()")], repeat=2)])[0]
            assert seen.nondeterministic
        with daemon.client() as client:
            checks = [CallCheck(f"f({n})", str(n)) for n in range(6)]
            found = client.check([Task(STALLS_AGAIN.format(seen.value), checks, limits=Limits(cpu_ms=400), repeat=2)])
    assert [(one.outcome, one.nondeterministic) for one in found] == [(Outcome.PASSED, at == 1) for at in range(6)]


async def test_what_is_taken_over_has_the_outlet_of_its_request():
    outlets: list[Outlet | None] = []
    told, mine = Told({f"f({at})": ONE for at in range(3)}), Outlet()

    def stalls(job: Job) -> None:
        outlets.append(current_outlet.get())
        if len(texts(job)) == 3:
            begun = records.plan(True, "ddd", []) + ONE.record(0)
            Context().run(job.on_stuck, begun)  # type: ignore[arg-type]

    told.before = stalls
    current_outlet.set(mine)
    await evaluated(told, "f(0)", "f(1)", "f(2)")
    assert outlets == [mine, mine]


async def test_work_of_its_own_has_no_outlet():
    current_outlet.set(Outlet())

    async def outlet() -> Outlet | None:
        return current_outlet.get()

    assert await on_its_own(outlet()) is None
