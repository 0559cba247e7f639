"""Preflight: which layers this host gives, and whether what must be refused is refused. Shown on demand, and run by
the daemon before it serves; it does not serve when a required layer does not hold."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from cruxcell.protocol import frames, messages

from cruxboxd.judging.tasks import Folder
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.settings.config import LAYERS, MIB, OPTIONAL_LAYERS, Config
from cruxboxd.zygotes.jobs import Job
from cruxboxd.zygotes.launch import StartError
from cruxboxd.zygotes.report import ONE_VALUE
from cruxboxd.zygotes.report_parser import read_report
from cruxboxd.zygotes.setup import ZygoteKey
from cruxboxd.zygotes.zygote_process import ZygoteProcess

ALLOWED = "ALLOWED"
_SLOW = b"__import__('time').sleep(0.05)"
# What only one layer refuses: where that layer may be missing and is, the attempt may succeed.
_REFUSED_BY = {"open_passwd": "landlock", "open_root": "landlock", "read_environment": "landlock"}

_WITH_THREADS, _WITH_SCRATCH = "_beside_threads", "_in_a_scratch_folder"

# Names that do not read as what a worker did.
_SAID = {
    "tcp_socket": "make a TCP socket",
    "unix_socket": "make a unix socket",
    "memory_file": "make a file in memory",
    "write_root": "make a folder beside its own",
    "change_permissions": "change permissions of the runtime",
    "change_times": "change times of files of the runtime",
    "hard_link": "give a file of the runtime a second name",
    "special_file": "make a special file",
    "run_what_it_wrote": "run code that it has written to a file",
    "many_descriptors": "open more files than its limit",
    "threads": "start more threads than it may",
    "much_address_space": "map more memory than its limit",
}


def _said(name: str) -> str:
    plain = _plain(name)
    return _SAID.get(plain, plain.replace("_", " ")) + name[len(plain) :].replace("_", " ")


def _plain(name: str) -> str:
    """The attempt, whatever the kind of filter was."""
    return name.replace(_WITH_THREADS, "").replace(_WITH_SCRATCH, "")


@dataclass(frozen=True)
class LayerState:
    """One layer of the confinement on this host."""

    name: str
    active: bool
    required: bool
    detail: str


@dataclass(frozen=True)
class Preflight:
    """What was found: layers, and what became of each forbidden attempt."""

    layers: tuple[LayerState, ...]
    attempts: tuple[tuple[str, str], ...]
    error: str = ""
    scratch_bytes: int = 0

    @property
    def problems(self) -> list[str]:
        """Sentences that say why this host must not serve; empty when it may."""
        found = [self.error] if self.error else []
        found += [
            f"layer {layer.name} does not hold ({layer.detail})"
            for layer in self.layers
            if layer.required and not layer.active
        ]
        found += [
            f"a worker was able to {_said(name)}"
            for name, result in self.attempts
            if result == ALLOWED and _REFUSED_BY.get(_plain(name)) not in self.degraded
        ]
        return found

    @property
    def folder(self) -> Folder:
        """The scratch folder that workers have."""
        for layer in self.layers:
            if layer.name == "scratch" and not layer.active:
                return Folder(0, f"the workers of this server have none: {layer.detail}")
        return Folder(self.scratch_bytes)

    @property
    def degraded(self) -> tuple[str, ...]:
        """Layers that were allowed to be missing and are."""
        return tuple(layer.name for layer in self.layers if not layer.active and layer.name not in OPTIONAL_LAYERS)


async def run_preflight(scheduler: Scheduler, zygote: ZygoteProcess, key: ZygoteKey, config: Config) -> Preflight:
    """Check the zygote what holds, and have a worker try what is forbidden."""
    assert zygote.started is not None
    said = {name: (active, detail) for name, active, detail in zygote.started.layers}
    said.setdefault("rlimits", (True, "address space, CPU time, processes, files, stack"))
    said.setdefault("seccomp", (True, "an allow-list of system calls, loaded last"))
    # The kinds of filter: those that let threads pass, and writing, too.
    said["scratch"], plain, with_threads = await asyncio.gather(
        _open_scratch(scheduler, key, config),
        _try_forbidden(scheduler, key, config),
        _try_forbidden(scheduler, replace(key, preloaded=True, threads=True), config, _WITH_THREADS),
    )
    layers = tuple(_layer(name, said.get(name, (False, "not reported")), config) for name in LAYERS)
    tried = [plain, with_threads]
    if said["scratch"][0]:
        tried.append(await _try_forbidden(scheduler, _scratch_key(key), config, _WITH_SCRATCH))
    attempts = tuple(attempt for some, _ in tried for attempt in some)
    error = next((error for _, error in tried if error), "") or await _try_slowly(scheduler, key, config)
    return Preflight(layers, attempts, error, config.scratch_bytes)


def _scratch_key(key: ZygoteKey) -> ZygoteKey:
    """With threads as well: that filter lets through what each of the two does."""
    return replace(key, preloaded=True, threads=True, scratch=True)


async def _open_scratch(scheduler: Scheduler, key: ZygoteKey, config: Config) -> tuple[bool, str]:
    """Can workers of this host have a scratch folder? And of what size, or why not."""
    if not config.scratch_bytes:
        return False, "not wanted (--scratch-mib 0)"
    try:
        await scheduler.start(_scratch_key(key))
    except (StartError, OSError) as error:
        return False, str(error).replace("confinement step scratch failed: ", "")
    return True, f"{config.scratch_bytes // MIB} MiB in memory for each worker that works with files"


def _layer(name: str, said: tuple[bool, str], config: Config) -> LayerState:
    return LayerState(name, said[0], _is_required(name, config), said[1])


def _is_required(name: str, config: Config) -> bool:
    return name in config.require or (name not in OPTIONAL_LAYERS and name not in config.allow_degraded)


async def _try_forbidden(
    scheduler: Scheduler, key: ZygoteKey, config: Config, kind: str = ""
) -> tuple[tuple[tuple[str, str], ...], str]:
    """(what became of each attempt, "") or ((), why nothing was tried)."""
    fields = [b"%d" % (messages.MOST_THREADS if key.threads else 0), b"%d" % key.scratch]
    result = await scheduler.run(Job(key=key, kind=messages.JOB_PROBE, fields=fields, limits=config.default_limits))
    if result.error:
        return (), f"the probe worker did not run: {result.error}"
    report = read_report(result.report, ONE_VALUE)
    if report.harness_error:
        return (), f"the probe worker could not be confined: {report.harness_error}"
    try:
        said = [item.decode("utf-8", "replace") for item in frames.split(result.report)[0][1]]
    except (IndexError, frames.FrameError):
        return (), f"the probe worker ended without an answer (wait status {result.facts.status})"
    return tuple((name + kind, result) for name, result in zip(said[0::2], said[1::2])), ""


async def _try_slowly(scheduler: Scheduler, key: ZygoteKey, config: Config) -> str:
    """Check a worker that outlives the fast phase, which is watched in another way and at a lower priority."""
    job = Job(key=key, kind=messages.JOB_EXPRESSION, fields=[_SLOW], limits=config.default_limits)
    result = await scheduler.run(job)
    if result.error or not result.facts.is_clean:
        return f"a slow worker did not come back: {result.error or f'wait status {result.facts.status}'}"
    return ""
