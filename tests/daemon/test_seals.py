"""Seals between checks that share a worker: what each kind of change breaks, what counts then, and who pays."""

from __future__ import annotations

import asyncio
import itertools
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from behaviours import runtimes, tested_runtimes
from cruxboxd.settings.config import DEFAULT_LIMITS
from cruxboxd.zygotes.jobs import Job
from cruxcell.protocol import frames, messages, payloads, records
from left_behind import NUMBERS_OF_THE_HARNESS, PROGRAMS, SLOTS

sys.path.append(str(Path(__file__).resolve().parents[1] / "cell"))

from interpreters import sharing_interpreters
from sealed_workers import Worker, started

HONEST = [  # two are over the limit on a value
    "sorted('ba')",
    "len([1, 2])",
    "int('x')",
    "sum([0.1] * 3)",
    "repr({1: [2]})",
    "print('x')",
    "list(5)",
    "ascii('x' * (2 << 20))",
    "list(['x' * (1 << 18)] * 9)",
    "len('ab')",
]


# ---- what is seen ------------------------------------------------------------------------------------------------


LEAN = [(python, False) for _, python in sharing_interpreters()]
PRELOADED = [(runtimes()[name], True) for name in tested_runtimes() if (runtimes()[name], False) in LEAN]


@pytest.mark.kernel
@pytest.mark.parametrize(("python", "preloaded"), LEAN + PRELOADED, ids=str)
async def test_each_kind_of_change_breaks_the_seal(python: Path, preloaded: bool):
    async with started(python, preloaded) as worker:
        honest = await worker.run(HONEST)
        assert honest.unsealed == ()
        assert len(frames.split(honest.report)[0]) == 1 + len(HONEST)
        wrong = {}
        for name, leaves in PROGRAMS.items():
            broken = await worker.broken_by(leaves)
            if broken is not None and leaves.kind not in broken:
                wrong[name] = broken
        assert wrong == {}


# By which calls code could reach a descriptor or a signal: where only hermetic programs run, each ends the worker.
REACHES = {
    "os": (
        "dup(1)", "dup2(1, 31)", "dup2(4, 0)", "dup2(0, 0)", "close(0)", "close(3)", "close(7)", "closerange(5, 9)",
        "open('.', 0)", "open('/dev/null', 1)", "open('nothing', 0)", "listdir()", "scandir()",
        "lseek(0, 0, 0)", "read(0, 1)", "pread(0, 1, 0)", "fstat(0)", "ftruncate(0, 0)", "pipe()", "memfd_create('x')",
        "get_inheritable(1)", "set_inheritable(1, True)", "set_blocking(3, False)", "isatty(0)", "getcwd()",
        "chdir('/')", "umask(0)", "fork()", "kill(0, 0)", "abort()", "sendfile(3, 0, 0, 1)",
        "openpty()", "writev(3, [b''])", "fdopen(0)", "fchdir(0)", "access('/', 0)", "sched_getaffinity(0)",
    ),
    "_signal": (
        "signal(14, lambda *a: None)", "signal(24, SIG_IGN)", "pthread_sigmask(0, [10])", "siginterrupt(2, False)",
        "raise_signal(10)", "alarm(1)", "setitimer(0, 60)", "set_wakeup_fd(1)", "sigtimedwait([10], 0)", "sigpending()",
    ),
    "_thread": ("start_new_thread(print, ())",),
    "_socket": ("socket()", "socketpair()", "dup(1)"),
    "mmap": ("mmap(0, 1)",),
    "fcntl": ("fcntl(1, 0, 9)", "fcntl(1, 2, 1)", "ioctl(1, 0x5450)", "flock(0, 2)"),
    "select": ("epoll()", "select([0], [], [], 0)", "poll().poll(0)"),
    "faulthandler": ("register(10, 1)", "enable(1)"),
    "builtins": ("open('nothing')", "open(0)", "__import__('cmd')", "'x'.encode('cp1140')"),
    "_io": ("FileIO(0)", "open_code('/nothing')"),
}  # fmt: skip


@pytest.mark.kernel
@pytest.mark.parametrize("python", [python for _, python in sharing_interpreters()][::5], ids=str)
async def test_where_only_hermetic_programs_run_nothing_reaches_a_descriptor_or_a_signal(python: Path):
    async with started(python, preloaded=True) as worker:
        for module, texts in REACHES.items():
            for text in texts:
                program = f"import {module}\ndef f(x): return eval({text!r}, vars({module}))"
                job = bundle_of(worker, ["def f(x): return x", program, "def f(x): return x"])
                job.flags = messages.SHARED_PROFILE
                worker.zygote.run(job)
                result = await asyncio.wait_for(job.future, 30)
                assert result.unsealed == ("system_call",), (module, text)
                assert [record[0] for record in frames.split(result.report)[0]].count(messages.VALUE) == 1


@pytest.mark.kernel
async def test_elsewhere_the_seal_itself_looks_at_descriptors_and_signals():
    """A bundle whose worker has the wider filter: the seal knows by asking the filter."""
    async with started() as worker:
        for name in ("a descriptor", "another input", "a blocked signal", "a signal handler"):
            leaves = PROGRAMS[name]
            job = bundle_of(worker, [f"def f(x): exec({leaves.program!r})", "def f(x): return x"])
            worker.zygote.run(job)
            assert leaves.kind in (await asyncio.wait_for(job.future, 30)).unsealed, name


# What the kernel keeps for a process and no seal compares: the filter refuses the system calls that change it.
REFUSED = (
    "umask(0)", "chdir('/')", "nice(1)", "setpriority(0, 0, 5)", "sched_setaffinity(0, [0])", "fork()", "setsid()",
    "setgroups([])", "chroot('/')", "setresuid(1, 1, 1)", "dup2(1, 3)", "dup2(1, 4, False)", "close(4)",
)  # fmt: skip
REFUSED_TIMERS = ("setitimer(0, 60)",)


@pytest.mark.kernel
async def test_what_is_not_compared_of_the_process_cannot_be_changed():
    async with started() as worker:
        calls = [f"__import__('os').{text}" for text in REFUSED]
        calls += [f"__import__('_signal').{text}" for text in REFUSED_TIMERS]
        for text in calls:  # each alone: of some of them audit hooks hear
            result = await worker.run([f"eval({text!r})"], False)
            assert [record[0] for record in frames.split(result.report)[0]] == [messages.PLAN, messages.RAISED], text


@pytest.mark.kernel
async def test_code_whose_steps_nobody_counts_is_sealed_too():
    async with started() as worker:
        limits = replace(DEFAULT_LIMITS, steps=0)
        assert (await worker.run(HONEST, limits=limits)).unsealed == ()
        for name in ("a builtin", "the garbage collector's objects", "a second answer"):
            leaves = PROGRAMS[name]
            result = await worker.run(["sorted('ba')", f"exec({leaves.program!r})", "sorted('ba')"], limits=limits)
            assert [record[0] for record in frames.split(result.report)[0]] == [messages.PLAN, messages.VALUE], name
            assert leaves.kind in result.unsealed, name


@pytest.mark.kernel
async def test_what_a_check_put_in_the_place_of_a_number_does_nothing_behind_its_seal():
    async with started() as worker:
        for slot, value in SLOTS.items():
            program = NUMBERS_OF_THE_HARNESS.replace("SLOT", slot).replace("VALUE", value)
            # What is in no circle goes before the harness asks, what is in one only later.
            for text in (program, f"g = {{}}; exec({program!r}, g); d = g.pop('d'); del g"):
                result = await worker.run(["sorted('ba')", f"exec({text!r})", "sorted('ba')"])
                assert b"66" not in result.report, slot
                assert 2 <= len(frames.split(result.report)[0]) <= 3, slot  # its own answer is the last


# Garbage whose finalizer leaves garbage: what it does would come on the time of the next check, between two seals.
GARBAGE_OF_GARBAGE = """
class Wakes:
    def __init__(self, again):
        self.me, self.again = self, again
    def __del__(self):
        if self.again:
            type(self)(self.again - 1)
Wakes(AGAIN)
"""


@pytest.mark.kernel
async def test_nobody_follows_a_check_that_leaves_garbage_again_and_again():
    async with started() as worker:
        for again, answers in ((0, 3), (1, 2), (3, 1)):  # the last leaves a class that the seal sees
            program = GARBAGE_OF_GARBAGE.replace("AGAIN", str(again))
            result = await worker.run(["sorted('ba')", f"exec({program!r}, {{}})", "sorted('ba')"])
            said = [record[0] for record in frames.split(result.report)[0]]
            assert result.facts.is_clean
            assert said == [messages.PLAN] + [messages.VALUE] * answers, again


@pytest.mark.kernel
async def test_honest_jobs_of_a_bundle_break_nothing():
    async with started() as worker:
        jobs = [[payloads.CALLS_FLAGS.pack(payloads.SHARE), f"def f(x): return x + {at}".encode()] for at in range(4)]
        fields = [frames.pack([*job, b"", b"f(1)"]) for job in jobs]
        job = Job(worker.key, messages.JOB_BUNDLE, fields, DEFAULT_LIMITS, checks=4, seals=8)
        worker.zygote.run(job)
        result = await asyncio.wait_for(job.future, 30)
        assert result.unsealed == ()
        assert len(frames.split(result.report)[0]) == 4 * 3


def bundle_of(worker: Worker, programs: list[str]) -> Job:
    """A job for each program, each with the call f('a')."""
    flags = payloads.CALLS_FLAGS.pack(payloads.SHARE)
    fields = [frames.pack([flags, program.encode(), b"", b"f('a')"]) for program in programs]
    job = Job(worker.key, messages.JOB_BUNDLE, fields, DEFAULT_LIMITS, checks=len(programs))
    job.seals = 2 * len(programs)
    return job


# A generator that nobody holds runs its last lines when the collector finds it, and leaves another to be found. What it
# does the `WHEN`th time happens behind its own check's seal: while the harness reads the next job, or after that.
_OUTLIVES = """
import sys
times = [0]
def outlives(old):
    me = yield
    try:
        yield
    finally:
        times[0] += 1
        if times[0] == WHEN:
            kind = type(sys.stdout._overflow.__self__)
            CHANGES
        other = outlives(me)
        next(other)
        other.send(other)
one = outlives(None)
next(one)
one.send(one)
del one
"""
_FORGED_NS = 123
CHANGED = {
    "what reports values": "kind.send_value = lambda self, value, steps=0, to=kind.send_value: to(self, 'forged')",
    "a clock": f"kind.run.__globals__['_cpu_ns'] = lambda told=[0]: told.append(1) or len(told) * {_FORGED_NS}",
}
# Of which the compiler makes so many objects that the collector runs.
_LARGE = "def f(x): return x\ndef g(): return [" + ", ".join(["lambda: 1"] * 3000) + "]"
BEHIND = {"displays": ["[1]", "[2]"], "calls": ["f(1)", "f(2)"]}


@pytest.mark.kernel
@pytest.mark.parametrize("python", [python for _, python in sharing_interpreters()], ids=lambda path: str(path)[-30:])
async def test_nothing_of_a_check_runs_behind_its_seal(python: Path):
    flags = payloads.CALLS_FLAGS.pack(payloads.SHARE)
    async with started(python) as worker:
        for change, when, behind in itertools.product(CHANGED, range(1, 5), BEHIND):
            text = _OUTLIVES.replace("WHEN", str(when)).replace("CHANGES", CHANGED[change])
            job = bundle_of(worker, [f"def f(x): exec({text!r}, {{}})", "def f(x): return x"])
            calls = [part for call in BEHIND[behind] for part in (b"", call.encode())]
            job.fields[1] = frames.pack([flags, _LARGE.encode(), *calls])
            job.checks = 1 + len(BEHIND[behind])
            job.seals = 2 + job.checks
            worker.zygote.run(job)
            result = await asyncio.wait_for(job.future, 30)
            values = [record for record in frames.split(result.report)[0] if record[0] == messages.VALUE]
            spent = [records.NUMBERS.unpack(record[1])[2] for record in values]
            assert len(values) == (0 if result.unsealed else job.checks), (change, when, behind)
            assert bool(result.unsealed) is (when == 1) or when == 2, (change, when, behind)
            assert not any(b"forged" in record[3] for record in values[1:]), (change, when, behind)
            assert _FORGED_NS not in spent, (change, when, behind)


@pytest.mark.kernel
@pytest.mark.parametrize("python", [python for _, python in sharing_interpreters()][::5], ids=str)
async def test_programs_that_ask_for_what_nothing_has_share_a_worker(python: Path):
    """A method that a model made up is an AttributeError; and of one program that is there again, the code is, too."""
    made_up = "def f(x): return x.contains('a')"
    async with started(python, opened=frozenset()) as worker:
        forgotten = "def f(x): return math.no_such(x)"  # and here nothing has imported it
        programs = [made_up, made_up, "def f(x): return x.gi_frame", made_up, forgotten, "def f(x): return x"]
        job = bundle_of(worker, programs)
        worker.zygote.run(job)
        result = await asyncio.wait_for(job.future, 30)
        said = frames.split(result.report)[0]
        plans = [record[1] for record in said if record[0] == messages.PLAN]
        assert plans == [b"1", b"1", b"0", b"1", b"1", b"1"]
        answers = [record[0] for record in said if record[0] in (messages.RAISED, messages.VALUE)]
        assert answers == [messages.RAISED] * 4 + [messages.VALUE]
        assert result.unsealed == ()


@pytest.mark.kernel
@pytest.mark.parametrize("kind", ["pure", "threads"])
async def test_where_nothing_seals_a_worker_is_left_after_one_check(kind: str):
    """Whatever the daemon asks for, and with the rule open: nobody could vouch for the second. There is no native
    helper, or threads of the first may run on."""
    async with started(pure=kind == "pure", threads=kind == "threads") as worker:
        report = (await worker.run(HONEST)).report
        assert report.startswith(records.plan(False, messages.DIRECT * len(HONEST), []))
        assert [record[0] for record in frames.split(report)[0]] == [messages.PLAN, messages.VALUE]
