"""Where a call is evaluated: in a worker that is shared, alone, in two workers, beside its program; and how often."""

from __future__ import annotations

import pytest
from cruxboxd.judging import calls
from cruxboxd.judging.audit import Audit
from cruxboxd.judging.outcomes import Outcome
from cruxboxd.judging.tasks import Setting
from cruxboxd.zygotes.exit import Exit
from cruxboxd.zygotes.jobs import Job, Result
from cruxboxd.zygotes.report import Plan
from cruxboxd.zygotes.setup import ZygoteKinds
from cruxcell.protocol import messages, payloads, records
from told_calls import IN_PROCESS, LITERAL, NO_WORD, ONE, SEPARATED, call, caller, evaluated, texts
from told_workers import CLEAN, S, Said, Told

# ---- which share a worker ------------------------------------------------------------


async def test_calls_share_a_worker_where_they_may():
    told = Told({"f(1)": ONE, "f(2)": Said("d", 2), "3": Said("c", 3)})
    found = await evaluated(told, "f(1)", "f(2)", "3")
    assert [(one.canonical, one.assurance, one.shared) for one in found] == [
        (b"i1;", SEPARATED, True), (b"i2;", SEPARATED, True), (b"i3;", LITERAL, True),
    ]  # fmt: skip
    assert [texts(job) for job in told.jobs] == [["f(1)", "f(2)", "3"]]
    assert (told.jobs[0].seals, told.jobs[0].may_share, told.jobs[0].asked.takes_turns) == (4, True, False)


@pytest.mark.parametrize(
    ("changes", "kinds"),
    [
        ({"share": False}, ZygoteKinds()),
        ({}, ZygoteKinds(unsealed=["default"])),
        ({"program": b"import threading\ndef f(x): ..."}, ZygoteKinds()),
    ],
)
async def test_calls_do_not_share_where_they_may_not(changes: dict, kinds: ZygoteKinds):
    told = Told({"f(1)": ONE, "f(2)": ONE}, kinds)
    found = await evaluated(told, "f(1)", "f(2)", **changes)
    assert [texts(job) for job in told.jobs] == [["f(1)"], ["f(2)"]]
    assert [(job.seals, job.may_share) for job in told.jobs] == [(0, False)] * 2
    assert not any(one.shared for one in found)


async def test_who_asks_for_it_shares_a_worker_that_nobody_seals():
    told = Told({"f(1)": ONE, "f(2)": ONE}, ZygoteKinds(unsealed=["default"]))
    assert len(await evaluated(told, "f(1)", "f(2)", together=True)) == 2
    assert len(told.jobs) == 1


async def test_a_call_that_is_suspected_shares_no_worker():
    audit = Audit(0)
    audit._suspects.add(7)
    told = Told({"f(1)": ONE, "f(2)": ONE})
    await evaluated(told, "f(1)", "f(2)", audit=audit)
    assert [texts(job) for job in told.jobs] == [["f(1)"], ["f(2)"]]


async def test_the_calls_after_one_that_stalls_are_taken_over_once():
    told = Told({f"f({at})": ONE for at in range(3)})

    def stalls(job: Job) -> Result | None:
        if len(texts(job)) == 3:
            begun = records.plan(True, "ddd", []) + ONE.record(0)
            for _ in range(2):
                job.on_stuck(begun)  # type: ignore[misc]
        return None

    told.before = stalls
    found = await evaluated(told, "f(0)", "f(1)", "f(2)")
    assert [one.canonical for one in found] == [b"i1;"] * 3
    assert [texts(job) for job in told.jobs] == [["f(0)", "f(1)", "f(2)"], ["f(2)"]]


async def test_what_was_taken_over_does_not_run_again_elsewhere():
    told = Told({f"f({at})": ONE for at in range(3)})

    def dies(job: Job) -> Result | None:
        if len(texts(job)) < 3:
            return None
        begun = records.plan(True, "ddd", []) + ONE.record(0)
        job.on_stuck(begun)  # type: ignore[misc]
        return Result(report=begun, facts=CLEAN)

    told.before = dies
    found = await evaluated(told, "f(0)", "f(1)", "f(2)")
    assert [one.canonical for one in found] == [b"i1;"] * 3
    assert sorted(texts(job) for job in told.jobs) == [["f(0)", "f(1)", "f(2)"], ["f(1)"], ["f(2)"]]


async def test_many_calls_are_cut_into_parts():
    names = [f"f({at})" for at in range(calls.SHARED_CHECKS + 1)]
    told = Told({name: Said("d", at) for at, name in enumerate(names)})
    found = await evaluated(told, *names)
    assert [one.canonical for one in found] == [b"i%d;" % at for at in range(len(names))]
    assert [len(texts(job)) for job in told.jobs] == [calls.SHARED_CHECKS, 1]
    assert [job.seals for job in told.jobs] == [calls.SHARED_CHECKS + 1, 0]
    assert [job.may_share for job in told.jobs] == [True, True]
    told.jobs.clear()
    await evaluated(told, *names[:-1])
    assert len(told.jobs) == 1


async def test_a_program_with_a_setting_shares_a_worker_with_no_other():
    told = Told({"f(1)": ONE})
    await evaluated(told, "f(1)", setting=Setting(arguments=("x",)))
    assert [job.may_share for job in told.jobs] == [False]


# ---- together, for better or worse -----------------------------------------------------


def ends_after_one(told: Told):
    """Every worker ends after the first answer, as one that was out of steps."""

    def answer(job: Job) -> Result:
        count = len(texts(job))
        report = records.plan(told.is_hermetic, "d" * count, []) + records.limit(messages.STEP_LIMIT, 0, 9)
        return Result(report=report, facts=Exit(messages.EXIT_STEPS << 8, S))

    return answer


async def test_together_each_is_charged_with_its_own_end_and_after_two_turns_alone():
    names = [f"f({at})" for at in range(5)]
    told = Told(dict.fromkeys(names, ONE), is_hermetic=False)
    told.before = ends_after_one(told)
    found = await evaluated(told, *names, together=True)
    assert [one.outcome for one in found] == [Outcome.STEP_LIMIT] * 5
    assert [len(texts(job)) for job in told.jobs] == [5, 4, 1, 1, 1]
    told = Told(dict.fromkeys(names, ONE))
    told.before = ends_after_one(told)
    await evaluated(told, *names)
    assert [len(texts(job)) for job in told.jobs] == [5, 4, 3, 2, 1]


async def test_together_only_what_is_hermetic_is_separated():
    for is_hermetic, assurance in ((True, SEPARATED), (False, IN_PROCESS)):
        told = Told({"f(1)": ONE, "f(2)": ONE}, is_hermetic=is_hermetic)
        found = await evaluated(told, "f(1)", "f(2)", together=True)
        assert [one.assurance for one in found] == [assurance] * 2
        assert told.jobs[0].asked.takes_turns
    assert calls._BESIDE_PROGRAM.assurance_of(Plan(True, "x", ())) is IN_PROCESS


# ---- what cannot share goes its own way ------------------------------------------------


async def test_what_cannot_share_goes_its_own_way():
    told = Told({"f(1)": ONE, "f(g(1))": Said("a"), "arguments of f(g(1))": ("f", b"args"), "f applied to args": ONE,
                 "f(2)": Said("u"), "f(3)[0]": Said("x"), "f": Said("i")})  # fmt: skip
    found = await evaluated(told, "f(1)", "f(g(1))", "f(3)[0]", "f")
    assert [(one.outcome, one.assurance) for one in found] == [
        (None, SEPARATED), (None, SEPARATED), (None, IN_PROCESS), (Outcome.INVALID, None),
    ]  # fmt: skip
    kinds = [job.kind for job in told.jobs]
    assert sorted(kinds) == sorted([messages.JOB_CALLS, messages.JOB_ARGUMENTS, messages.JOB_APPLY, messages.JOB_CALLS])
    beside = told.of(messages.JOB_CALLS)[-1]
    assert (texts(beside), beside.asked.runs, beside.seals) == (["f(3)[0]"], "dax", 0)


async def test_without_a_program_an_expression_runs_by_itself():
    told = Told({"len([1])[0]": Said("x"), "f(1)": ONE})
    found = await evaluated(told, "len([1])[0]", "f(1)", program=b"", require=SEPARATED)
    assert [(one.outcome, one.assurance) for one in found] == [(None, SEPARATED)] * 2


@pytest.mark.parametrize(("answered", "alone"), [(1, [["f(1)"]]), (0, [["1"], ["f(1)"]])])
async def test_a_constant_that_was_not_reached_runs_alone(answered: int, alone: list[list[str]]):
    """A worker that is alone may not be asked to evaluate it elsewhere: there is no other way for a constant."""
    told = Told({"1": Said("c"), "f(1)": ONE})
    report = records.plan(True, "cd", []) + ONE.record(0) * answered
    broken = [Result(report=report, facts=CLEAN, unsealed=("sys",))]

    def answer(job: Job) -> Result | None:
        return broken.pop() if broken else None

    told.before = answer
    found = await evaluated(told, "1", "f(1)", require=SEPARATED)
    assert [(one.outcome, one.assurance) for one in found] == [(None, LITERAL), (None, SEPARATED)]
    assert [texts(job) for job in told.jobs] == [["1", "f(1)"], *alone]


@pytest.mark.parametrize(
    ("require", "outcome", "assurance"),
    [(None, None, IN_PROCESS), (IN_PROCESS, None, IN_PROCESS), (SEPARATED, Outcome.INVALID, None)],
)
async def test_beside_its_program_a_call_runs_unless_better_is_required(require, outcome, assurance):
    told = Told({"f(1)[0]": Said("x")})
    (found,) = await evaluated(told, "f(1)[0]", require=require)
    assert (found.outcome, found.assurance) == (outcome, assurance)
    assert found.detail.endswith(calls.ONLY_BESIDE if outcome else "")


async def test_alone_a_call_is_not_evaluated_beside_its_program_either():
    """What is evaluated there, the program may have made: that is said of it."""
    (found,) = await evaluated(Told({"f(1)[0]": Said("x")}), "f(1)[0]", share=False)
    assert (found.outcome, found.assurance) == (None, IN_PROCESS)


async def test_what_runs_the_program_has_its_setting_and_its_folder_and_so_has_what_is_expected():
    setting = Setting(arguments=("x",))
    for program, size in ((b"open('x')", 5), (b"def f(x): ...", 0)):
        told = Told({"f(g(1))": Said("a"), "arguments of f(g(1))": ("f", b"args"), "f applied to args": ONE, "y": ONE},
                    ZygoteKinds(has_scratch=True), scratch_bytes=5)  # fmt: skip
        asking = caller(told, program=program, setting=setting)
        await asking.evaluate([call("f(g(1))")])
        await asking.evaluate_expected("y")
        assert [(job.setting, job.scratch_bytes) for job in told.of(messages.JOB_APPLY)] == [(setting, size)]
        for kind in (messages.JOB_ARGUMENTS, messages.JOB_EXPRESSION):
            assert [job.setting for job in told.of(kind)] == [setting]


async def test_beside_its_program_no_entry_point_is_named():
    told = Told({"f(1)[0]": Said("x")})
    await caller(told).evaluate([call("f(1)[0]", entry_point="f")])
    assert [job.fields[2] for job in told.jobs] == [b"f", b""]


async def test_for_a_filter_arguments_are_computed_beside_the_program():
    told = Told({"f(g(1))": Said("a"), "arguments of f(g(1))": ("f", b"args"), "f applied to args": ONE})
    asking = caller(told)
    (found,) = await asking.evaluate([call("f(g(1))", inspect=True)])
    assert (found.outcome, found.assurance) == (None, IN_PROCESS)
    (found,) = await asking.evaluate([call("f(g(1))")])
    assert (found.outcome, found.assurance) == (None, SEPARATED)


# ---- arguments that are computed first -------------------------------------------------

# what the worker says of the arguments -> outcome, assurance, how the detail begins; the same with an entry point
ARGUMENTS = {
    "a callee": (("f", b"args"), (None, SEPARATED), (None, SEPARATED)),
    "no callee": (("", b"args"), (None, SEPARATED), (None, SEPARATED)),
    "no call": ("it is no call", (None, IN_PROCESS), (Outcome.INVALID, None)),
    "an error": (Said("d", "KeyError"), (Outcome.RAISED, SEPARATED), (Outcome.RAISED, SEPARATED)),
    "not plain": (Said("d", None), (None, IN_PROCESS), (Outcome.INVALID, None)),
}


@pytest.mark.parametrize("name", ARGUMENTS)
async def test_arguments_are_computed_first_and_then_applied(name: str):
    said, *expected = ARGUMENTS[name]
    told = Told({"f(g(1))": Said("a"), "arguments of f(g(1))": said, "f applied to args": ONE, " applied to args": ONE})
    for entry_point, wanted in zip(("", "f"), expected):
        (found,) = await caller(told).evaluate([call("f(g(1))", entry_point=entry_point)])
        assert (found.outcome, found.assurance) == wanted
    if isinstance(said, str):
        assert found.detail == said
    if name == "not plain":
        assert found.detail.startswith("an argument is not plain data")


async def test_arguments_whose_worker_says_nothing_are_our_failure():
    told = Told({"f(g(1))": Said("a")})
    told.before = lambda job: NO_WORD if job.kind == messages.JOB_ARGUMENTS else None
    (found,) = await evaluated(told, "f(g(1))")
    assert (found.outcome, found.assurance) == (Outcome.SANDBOX_ERROR, SEPARATED)


async def test_only_a_missing_name_makes_an_expected_value_run_beside_the_program():
    for error, program, assurance in (
        ("NameError", b"x", IN_PROCESS), ("KeyError", b"x", SEPARATED), ("NameError", b"", SEPARATED)
    ):  # fmt: skip
        told = Told({"y": Said("x", error)})
        found = await caller(told, program=program).evaluate_expected("y")
        assert (found.outcome, found.assurance) == (Outcome.RAISED, assurance)
    assert (await caller(Told({"y": ONE})).evaluate_expected("y")).assurance is SEPARATED


# ---- our failures ----------------------------------------------------------------------


async def test_our_failure_in_a_shared_worker_is_tried_again_alone():
    told = Told({"f(1)": ONE})
    first = [NO_WORD]
    told.before = lambda _job: first.pop() if first else None
    (found,) = await evaluated(told, "f(1)")
    assert (found.outcome, found.attempts, [job.may_share for job in told.jobs]) == (None, 1, [True, False])


async def test_alone_our_failure_is_tried_three_times():
    told = Told({}, before=lambda _job: NO_WORD)
    (found,) = await evaluated(told, "f(1)", share=False)
    assert (found.outcome, found.attempts, len(told.jobs)) == (Outcome.SANDBOX_ERROR, 3, 3)
    told = Told({"f(1)": ONE})
    assert (await evaluated(told, "f(1)", share=False))[0].attempts == 1
    assert len(told.jobs) == 1


@pytest.mark.parametrize("share", [True, False])
async def test_what_the_scheduler_gave_up_is_not_tried_again(share: bool):
    told = Told({}, before=lambda _job: Result(error="no zygote", attempts=3))
    (found,) = await evaluated(told, "f(1)", share=share)
    assert (found.outcome, found.detail, len(told.jobs)) == (Outcome.SANDBOX_ERROR, "no zygote", 1)


async def test_only_our_failures_are_tried_again_alone():
    told = Told({"f(1)": Said("d", "KeyError"), "f(2)": ONE})
    await evaluated(told, "f(1)", "f(2)")
    assert len(told.jobs) == 1


async def test_beside_the_program_a_call_that_is_not_evaluated_is_our_failure():
    told = Told({"f(1)[0]": Said("x")})
    other = Told({"f(1)[0]": Said("u")})._honest
    told.before = lambda job: other(job) if job.fields[0][0] & payloads.RUN_EXPRESSIONS else None
    (found,) = await evaluated(told, "f(1)[0]")
    assert (found.outcome, found.detail) == (Outcome.SANDBOX_ERROR, "the call was not evaluated")


# ---- what is noted, for filters --------------------------------------------------------


@pytest.mark.parametrize(
    ("inspect", "inspects", "program", "flag", "noted"),
    [(True, True, b"x", True, True), (True, False, b"x", False, False), (False, True, b"x", False, False),
     (True, True, b"", True, False)],
)  # fmt: skip
async def test_notes_are_asked_for_of_a_program(inspect: bool, inspects: bool, program: bytes, flag: bool, noted: bool):
    told = Told({"f(1)": ONE})
    asking = caller(told, inspects=inspects, program=program)
    job = asking._calls_job([call("f(1)", inspect=inspect)], calls._SHARED)
    assert bool(job.fields[0][0] & payloads.INSPECT) is flag
    assert (job.asked.texts_noted, job.asked.runs_noted) == (noted, noted)
