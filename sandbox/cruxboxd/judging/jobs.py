"""Jobs that run a whole program of a task, and what the jobs of a task have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from cruxcell.protocol import messages

from cruxboxd.judging.tasks import CallCheck, Check, Kept, ScriptCheck, Setting, Task, encoded
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.zygotes.jobs import Job
from cruxboxd.zygotes.looks import SHORT
from cruxboxd.zygotes.setup import ZygoteKey


def job_for(  # noqa: PLR0917 - a job's parts
    scheduler: Scheduler,
    task: Task,
    kind: bytes,
    fields: list[bytes],
    hash_seed: str,
    texts: list[bytes] | None = None,
    setting: Setting | None = None,
    read_files: tuple[str, ...] = (),
    counts_events: bool = False,
    key: ZygoteKey | None = None,
) -> Job:
    """A job of `task`.

    Args:
        texts: those that choose the zygote, where they are not the fields.
        setting: what its program finds around it, where that is not the task's.
        read_files: names of files that are read back from its scratch folder.
        counts_events: the events of modules count, too, and a scratch folder changes those.
        key: the zygote, where it is chosen already: both halves of a pair run on one.
    """
    around = task.setting if setting is None else setting
    needs_folder = bool(around.has_files or read_files)
    if key is None:
        key = scheduler.kinds.key(task.runtime, hash_seed, texts or fields, needs_folder, not counts_events)
    if counts_events and not needs_folder:
        key = replace(key, scratch=False)
    return Job(
        key=key,
        kind=kind,
        fields=fields,
        limits=task.limits_of_scripts,
        tenant=task.tenant,
        interactive=task.interactive,
        setting=around or None,
        flags=messages.READ_BACK if read_files and key.scratch else 0,
        read_files=read_files,
        scratch_bytes=scheduler.scratch_bytes if key.scratch else 0,
    )


def look_at_texts(scheduler: Scheduler, task: Task) -> Iterator[None]:
    """Look through the long texts of a task, in steps: the zygotes of its jobs are chosen by them, and find what was
    seen."""
    kinds = scheduler.kinds
    texts: Iterator[Kept] = chain([task.program], map(_source_of, task.checks))
    for at, text in enumerate(texts):
        if len(text) >= SHORT:
            kinds.look(task.runtime, encoded(text))
            yield
        elif at % _CHECKS_A_STEP == 0:
            yield


_CHECKS_A_STEP = 1_000


def _source_of(check: Check) -> Kept:
    """What of a check is run."""
    if isinstance(check, CallCheck):
        return check.call
    return check.script if isinstance(check, ScriptCheck) else ""
