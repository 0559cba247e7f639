"""Checks that run a whole program: stdio, and scripts that cannot be taken apart."""

from __future__ import annotations

from dataclasses import replace

from cruxcell import messages, programs

from cruxboxd import verdict
from cruxboxd.asks import ScriptAsk, StdioAsk, StepCount, TaskAsk
from cruxboxd.calling import read_single
from cruxboxd.jobs import Job, Result, ZygoteKey
from cruxboxd.pool import Pool
from cruxboxd.verdict import Assurance, Finding, Outcome, invalid


async def run_stdio(pool: Pool, task: TaskAsk, ask: StdioAsk, hash_seed: str) -> Finding:
    """The program with `stdin`; what it printed is read from memory files after its death and compared here."""
    fields = [task.program.encode("utf-8", "surrogatepass"), ask.stdin.encode("utf-8", "surrogatepass")]
    job = _job(task, messages.JOB_STDIO, fields, hash_seed)
    job.flags = messages.STDIO
    result = await pool.run(job)
    finding = replace(_of_stdio(result, task), assurance=Assurance.SEPARATED)
    limit = task.limits.output_bytes
    out, err = (stream[:limit] for stream in result.streams)
    finding = replace(
        finding, stdout=verdict.text(out), stderr=verdict.text(err), output_cut=len(result.streams[0]) > limit
    )
    if finding.outcome is not None:
        return finding
    same = verdict.same_output(out, ask.expected_stdout.encode("utf-8", "surrogatepass"))
    return replace(
        finding, outcome=Outcome.PASSED if same else Outcome.FAILED, detail="" if same else "the output differs"
    )


def _of_stdio(result: Result, task: TaskAsk) -> Finding:
    """The finding, with outcome None if the program came to its end: also by os._exit(0), as its output is judged."""
    if any(len(stream) >= task.limits.output_bytes for stream in result.streams):
        return Finding(Outcome.OUTPUT_LIMIT, "printed more than its output limit", steps=0)
    finding = read_single(result, task)
    silent = finding.outcome is Outcome.CRASHED and result.facts.is_clean
    return replace(finding, outcome=None, detail="") if silent else finding


async def run_script(pool: Pool, task: TaskAsk, ask: ScriptAsk, hash_seed: str) -> Finding:
    """The script, in the candidate's own process."""
    if task.require is not None and task.require is not Assurance.IN_PROCESS:
        return invalid("the script is not one assertion about a call, so it can only be checked IN_PROCESS")
    events = task.step_count is StepCount.EVENTS
    fields = [
        programs.FLAGS.pack(programs.COUNT_EVENTS if events else 0),
        task.program.encode("utf-8", "surrogatepass"),
        ask.script.encode("utf-8", "surrogatepass"),
        ask.entry_point.encode(),
    ]
    result = await pool.run(_job(task, messages.JOB_SCRIPT, fields, hash_seed))
    finding = read_single(result, task)
    outcome = Outcome.PASSED if finding.outcome is None and finding.detail == "ended" else finding.outcome
    if outcome is None:
        outcome = Outcome.VIOLATION
    detail = "" if outcome is Outcome.PASSED else finding.detail
    return replace(finding, outcome=outcome, detail=detail, assurance=Assurance.IN_PROCESS)


def _job(task: TaskAsk, kind: bytes, fields: list[bytes], hash_seed: str) -> Job:
    return Job(
        key=ZygoteKey(task.runtime, any(b"import" in field for field in fields), hash_seed),
        kind=kind,
        fields=fields,
        limits=task.limits,
        tenant=task.tenant,
        interactive=task.interactive,
    )
