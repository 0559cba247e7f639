"""Checks that run a script beside a program: in two processes, or in one where somebody asks for it."""

from __future__ import annotations

import secrets

from cruxcell.protocol import messages
from cruxcell.protocol.payloads import COUNT_EVENTS, SCRIPT_FLAGS

from cruxboxd.judging import outcomes
from cruxboxd.judging.charging import one_answer, read_single
from cruxboxd.judging.jobs import encoded, job_for
from cruxboxd.judging.outcomes import Assurance, Finding, Outcome, invalid
from cruxboxd.judging.tasks import ScriptAsk, StepCount, TaskAsk
from cruxboxd.scheduling.scheduler import MAX_ATTEMPTS, Pool
from cruxboxd.zygotes.jobs import Result
from cruxboxd.zygotes.report import ENDS, TEST_ENDS


async def run_script(pool: Pool, task: TaskAsk, ask: ScriptAsk, hash_seed: str) -> Finding:
    """The script: in two processes, unless somebody asks for one."""
    counts_events = task.step_count is StepCount.EVENTS
    if task.require is Assurance.SEPARATED and counts_events:
        return invalid("trace events are counted over program and script, so it can only be checked IN_PROCESS")
    if counts_events or task.require is Assurance.IN_PROCESS:
        return (await _run_together(pool, task, ask, hash_seed)).but(assurance=Assurance.IN_PROCESS)
    return await _run_separated(pool, task, ask, hash_seed)


async def _run_together(pool: Pool, task: TaskAsk, ask: ScriptAsk, hash_seed: str) -> Finding:
    """Script and program in one namespace."""
    events = task.step_count is StepCount.EVENTS
    fields = [
        SCRIPT_FLAGS.pack(COUNT_EVENTS if events else 0),
        encoded(task.program),
        encoded(ask.script),
        ask.entry_point.encode(),
        token := secrets.token_bytes(16),
    ]
    result = await pool.run(job_for(pool, task, messages.JOB_SCRIPT, fields, hash_seed))
    return _of_script(read_single(result, one_answer(task.limits, ENDS, token=token, runs_noted=events), task.limits))


async def _run_separated(pool: Pool, task: TaskAsk, ask: ScriptAsk, hash_seed: str) -> Finding:
    """The candidate serves, the test calls."""
    for _ in range(MAX_ATTEMPTS):
        job = job_for(
            pool,
            task,
            messages.JOB_SERVE,
            [encoded(task.program)],
            hash_seed,
            [encoded(task.program), encoded(ask.script)],
        )
        job.flags = messages.PAIR
        job.partner = job_for(pool, task, messages.JOB_TEST, [encoded(ask.script), ask.entry_point.encode()], hash_seed)
        job.partner.is_partner = True
        finding = _of_pair(*await pool.run_pair(job), task)
        if finding.outcome is not Outcome.SANDBOX_ERROR:
            break
    return finding.but(assurance=Assurance.SEPARATED)


def _of_pair(candidate: Result, test: Result, task: TaskAsk) -> Finding:
    """The test's word counts, unless the candidate ended first: then the kernel's word on the candidate does."""
    served_by = one_answer(task.limits, ENDS)
    served = read_single(candidate, served_by, task.limits)
    if served.outcome is Outcome.INVALID or candidate.error or candidate.over_cap:
        return served
    if candidate.facts.killed not in (messages.NOT_KILLED, messages.KILLED_PARTNER):
        return served
    if test.facts.killed == messages.KILLED_PARTNER:
        return _gone(served, candidate, "the candidate ended before its test")
    asked = one_answer(task.limits, TEST_ENDS)
    finding, kind = read_single(test, asked, task.limits), test.read(asked).last_kind
    if kind in _TEST_LEAVES and test.facts.is_clean:
        if kind == messages.CANDIDATE_GONE:
            return _gone(served, candidate, finding.detail)
        return served.but(outcome=finding.outcome, detail=finding.detail)
    finding = _of_script(finding)
    if _ran_out(finding) and any(answer.is_out_of_memory for answer in candidate.read(served_by).answers):
        finding = finding.but(outcome=Outcome.MEMORY_LIMIT, detail="out of memory")
    return finding.but(
        steps=served.steps,
        cpu_ns=served.cpu_ns,
        peak_bytes=max(candidate.facts.peak_bytes, test.facts.peak_bytes),
        stdout=served.stdout or finding.stdout,
        stderr=served.stderr or finding.stderr,
    )


def _ran_out(finding: Finding) -> bool:
    """Did the script end with an error of the candidate's memory (or of the test's)?"""
    raised = finding.exception[0] if finding.exception is not None else ""
    return finding.outcome is Outcome.RAISED and raised.endswith("MemoryError")


def _gone(served: Finding, candidate: Result, text: str) -> Finding:
    """The candidate left its test alone: how it ended by itself, if that says more."""
    is_known = candidate.facts.killed == messages.NOT_KILLED and served.outcome is not None
    return served if is_known else Finding(Outcome.CRASHED, text)


# How a test ends that neither came to its end nor raised.
_TEST_LEAVES = TEST_ENDS - ENDS


def _of_script(finding: Finding) -> Finding:
    """A script that came to its end has PASSED; an assertion of it that failed is FAILED."""
    if finding.outcome is None and finding.detail == outcomes.ENDED:
        return finding.but(outcome=Outcome.PASSED, detail="")
    if finding.outcome is Outcome.RAISED and finding.exception is not None and finding.exception[0] == "AssertionError":
        return finding.but(outcome=Outcome.FAILED, detail="an assertion of the script does not hold")
    return finding
