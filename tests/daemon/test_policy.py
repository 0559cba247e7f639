"""The policy: every number against the golden table, the arguments case by case, and the kernel's own answers."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import golden_policy
from bpf import X32_BIT, decide
from cruxboxd.seccomp import compiler, table
from cruxboxd.seccomp.compiler import PolicyError, Profile
from cruxboxd.seccomp.table import TABLE, Action, Row, Where

GARBAGE = 0xDEADBEEF00000000
WHERE = [row.name for row in TABLE if isinstance(row.stdlib, Where) or isinstance(row.compute, Where)]

# What is allowed beside `stdlib` to those that may start threads.
MORE_FOR_THREADS = {"clone", "rseq"}
THREAD = 0x3D0F00

O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND, O_CLOEXEC, O_NONBLOCK = 1, 2, 0o100, 0o1000, 0o2000, 0o2000000, 0o4000
O_PATH, O_TMPFILE_BIT, O_ASYNC, O_DIRECT, O_NOATIME = 0o10000000, 0o20000000, 0o20000, 0o40000, 0o1000000
O_DIRECTORY, O_NOFOLLOW = 0o200000, 0o400000
READ, WRITE, EXEC = 1, 2, 4
SHARED, PRIVATE, ANONYMOUS = 1, 2, 0x20

# (call, arguments, compute, stdlib) on x86_64
ARGUMENTS = [
    *[
        ("rt_sigaction", (number, 0, 0, 8), *(["EPERM", "EPERM"] if number == 31 else ["allow", "allow"]))
        for number in range(1, 65)
    ],
    ("rt_sigaction", ((1 << 32) | 31, 0, 0, 8), "EPERM", "EPERM"),
    *[
        (
            call,
            arguments,
            "EPERM" if call != "close" or number in (3, 4) else "allow",
            "EPERM" if number in (3, 4) else "allow",
        )
        for number in (0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 31, 63)
        for call, arguments in (("close", (number,)), ("dup2", (1, number)), ("dup3", (1, number, 0)))
    ],
    ("close", ((1 << 32) | 4,), "EPERM", "EPERM"),
    ("dup2", (1, (1 << 32) | 4), "EPERM", "EPERM"),
    ("openat", (0, 0, 0), "EPERM", "allow"),
    ("openat", (0, 0, O_CLOEXEC | O_NONBLOCK | O_DIRECTORY), "EPERM", "allow"),
    ("openat", (0, 0, O_CLOEXEC | O_NOFOLLOW), "EPERM", "allow"),
    *[
        ("openat", (0, 0, flags), "EPERM", "EPERM")
        for flags in (O_WRONLY, O_RDWR, 3, O_CREAT, O_TRUNC, O_APPEND, O_PATH, O_TMPFILE_BIT | O_DIRECTORY)
    ],
    *[("openat", (0, 0, flags | O_CLOEXEC), "EPERM", "EPERM") for flags in (O_ASYNC, O_DIRECT, O_NOATIME, 1 << 31)],
    ("open", (0, O_CLOEXEC), "EPERM", "allow"),
    ("open", (0, O_RDWR), "EPERM", "EPERM"),
    ("newfstatat", (3, 0, 0, 0x1000), "EPERM", "allow"),
    ("newfstatat", (3, 0, 0, 0), "EPERM", "EPERM"),
    ("newfstatat", (3, 0, 0, 0x1100), "EPERM", "EPERM"),
    ("mmap", (0, 4096, READ | WRITE, PRIVATE | ANONYMOUS), "allow", "allow"),
    ("mmap", (0, 4096, READ | WRITE | EXEC, PRIVATE | ANONYMOUS), "EPERM", "EPERM"),
    ("mmap", (0, 4096, READ | EXEC, PRIVATE | ANONYMOUS), "EPERM", "EPERM"),
    ("mmap", (0, 4096, READ | EXEC, SHARED | ANONYMOUS), "EPERM", "EPERM"),
    ("mmap", (0, 4096, READ | WRITE | EXEC, PRIVATE), "EPERM", "EPERM"),
    ("mmap", (0, 4096, EXEC, PRIVATE), "EPERM", "allow"),
    ("mmap", (0, 4096, READ | EXEC, PRIVATE), "EPERM", "allow"),
    ("mprotect", (0, 4096, READ | WRITE), "allow", "allow"),
    ("mprotect", (0, 4096, READ | EXEC), "EPERM", "EPERM"),
    ("mprotect", (0, 4096, EXEC), "EPERM", "EPERM"),
    *[("madvise", (0, 4096, advice), "allow", "allow") for advice in (0, 4, 8, 14)],
    *[("madvise", (0, 4096, advice), "EPERM", "EPERM") for advice in (9, 10, 12, 21, 100, 101)],
    *[("futex", (0, op), "allow", "allow") for op in (0, 1, 0x80, 0x81, 0x89, 0x189, 0x8A)],
    *[("futex", (0, op), "EPERM", "EPERM") for op in (2, 3, 4, 5, 6, 0x86, 7, 8, 11, 12, 13, 0x200)],
    *[("clock_gettime", (clock,), "allow", "allow") for clock in (0, 1, 2, 3, 7)],
    ("clock_gettime", ((~1 << 3) | 2,), "EPERM", "EPERM"),
    ("clock_nanosleep", ((~1 << 3) | 2,), "EPERM", "EPERM"),
    ("clock_getres", (1,), "allow", "allow"),
    *[("fcntl", (0, command), "EPERM", "allow") for command in (0, 1, 2, 3, 1030)],
    *[("fcntl", (0, command), "EPERM", "EPERM") for command in (4, 6, 8, 10, 1024, 1026, 1031, 1033)],
    *[("ioctl", (0, command), "EPERM", "allow") for command in (0x5450, 0x5451)],
    *[("ioctl", (0, command), "EPERM", "EPERM") for command in (0x5401, 0x5412, 0x5413, 0x541C, 0x5421, 0x5452)],
    ("sched_getaffinity", (0,), "EPERM", "allow"),
    ("sched_getaffinity", (1,), "EPERM", "EPERM"),
]

# Calls that the sweep cannot make with zero arguments, and why.
NOT_SWEPT = {
    "rt_sigreturn": "returns to a frame that is not there",
    "select": "waits for ever",
    "pselect6": "waits for ever",
    "ppoll": "waits for ever",
    "exit": "ends the process, as it should",
    "exit_group": "ends the process, as it should",
}

# Calls that newer kernels run without asking any filter (kernel/seccomp.c): they serve the kernel's own probes, and
# from anywhere but a probe's trampoline they do nothing.
PASSED_BY_THE_KERNEL = {
    "335": ("EPERM", "signal 4"),  # uretprobe, since 6.14
    "336": ("EPERM", "ENXIO"),  # uprobe, since 6.18
}


def number_of(name: str, arch: str) -> int:
    """The call's number, from the golden table, which names what the policy names."""
    lines = golden_policy.path(arch, Profile.STDLIB).read_text().splitlines()
    return next(int(line.split()[0]) for line in lines if line.split()[1] == name)


@pytest.mark.parametrize("arch", golden_policy.ARCHES)
@pytest.mark.parametrize("profile", Profile)
def test_every_number_answers_as_the_golden_table_says(profile: Profile, arch: str) -> None:
    assert golden_policy.render(arch, profile) == golden_policy.path(arch, profile).read_text()


# What workers of hermetic programs call. Nothing of it reaches a descriptor that is not open, or a signal.
SHARED_CALLS = {
    "write", "mmap", "mprotect", "munmap", "mremap", "brk", "madvise", "futex", "clock_gettime", "gettimeofday", "time",
    "restart_syscall", "sched_yield", "exit", "exit_group", "close_range",
}  # fmt: skip


def test_what_shared_workers_may_call_is_a_short_list() -> None:
    answered = {row.name for row in TABLE if row.shared is not Action.KILL}
    assert answered == SHARED_CALLS
    rows = [row for row in TABLE if row.name in SHARED_CALLS]
    assert [row.name for row in rows if row.shared not in (row.compute, Action.ENOTSUP)] == []


@pytest.mark.parametrize("profile", Profile)
@pytest.mark.parametrize("arch", golden_policy.ARCHES)
def test_no_worker_gives_its_cpu_away_and_waits_for_one_that_it_need_not_wait_for(profile: Profile, arch: str) -> None:
    bpf = compiler.compile(profile, arch).bpf
    assert decide(bpf, arch, number_of("sched_yield", arch)) == "done"


@pytest.mark.parametrize(("call", "args", "compute", "stdlib"), ARGUMENTS)
def test_in_shared_workers_a_call_is_answered_as_elsewhere_or_ends_them(
    call: str, args: tuple[int, ...], compute: str, stdlib: str
) -> None:
    answer = decide(compiler.compile(Profile.SHARED, "x86_64").bpf, "x86_64", number_of(call, "x86_64"), args)
    assert answer == "trap" or (call in SHARED_CALLS and answer == compute)


@pytest.mark.parametrize(("call", "args", "compute", "stdlib"), ARGUMENTS)
def test_arguments_decide(call: str, args: tuple[int, ...], compute: str, stdlib: str) -> None:
    number = number_of(call, "x86_64")
    assert decide(compiler.compile(Profile.COMPUTE, "x86_64").bpf, "x86_64", number, args) == compute
    assert decide(compiler.compile(Profile.STDLIB, "x86_64").bpf, "x86_64", number, args) == stdlib


@pytest.mark.parametrize(("call", "args"), [case[:2] for case in ARGUMENTS])
@pytest.mark.parametrize("profile", Profile)
def test_the_high_half_of_an_argument_changes_nothing(profile: Profile, call: str, args: tuple[int, ...]) -> None:
    bpf, number = compiler.compile(profile, "x86_64").bpf, number_of(call, "x86_64")
    loud = tuple((value & 0xFFFFFFFF) | GARBAGE for value in args)
    assert decide(bpf, "x86_64", number, loud) == decide(bpf, "x86_64", number, args)


def test_threads_are_allowed_what_stdlib_is_and_threads() -> None:
    assert {row.name for row in TABLE if row.threads is not None} == MORE_FOR_THREADS


@pytest.mark.parametrize("arch", golden_policy.ARCHES)
def test_clone_makes_threads_and_nothing_else(arch: str) -> None:
    bpf, number = compiler.compile(Profile.THREADS, arch).bpf, number_of("clone", arch)
    musl = THREAD | 0x400000
    refused = [
        0,
        17,
        0x100,
        0x4111,
        1 << 32,
        *[THREAD ^ (1 << bit) for bit in range(32) if THREAD ^ (1 << bit) != musl],
    ]
    assert {decide(bpf, arch, number, (flags, *args)) for flags in refused for args in ((), (1, 2, 3, 4))} == {"EPERM"}
    assert {decide(bpf, arch, number, (flags,)) for flags in (THREAD, musl, THREAD | GARBAGE)} == {"allow"}
    for profile in (Profile.COMPUTE, Profile.STDLIB):
        assert decide(compiler.compile(profile, arch).bpf, arch, number, (THREAD,)) == "EPERM"


def test_every_conditional_row_has_argument_cases() -> None:
    assert set(WHERE) == {case[0] for case in ARGUMENTS}


@pytest.mark.parametrize(
    ("flags", "expected"), [(0, "allow"), (0o40000, "allow"), (0o200000, "EPERM"), (1, "EPERM"), (0o10000000, "EPERM")]
)
def test_open_flags_are_those_of_the_architecture(flags: int, expected: str) -> None:
    """O_DIRECTORY is 0o40000 on aarch64, where 0o200000 is O_DIRECT."""
    bpf = compiler.compile(Profile.STDLIB, "aarch64").bpf
    assert decide(bpf, "aarch64", number_of("openat", "aarch64"), (0, 0, flags)) == expected


@pytest.mark.parametrize("profile", [Profile.SCRATCH, Profile.SCRATCH_THREADS])
@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
def test_a_record_lock_of_a_scratch_folder_is_answered_and_not_taken(profile: Profile, arch: str) -> None:
    bpf, number = compiler.compile(profile, arch).bpf, number_of("fcntl", arch)
    answers = {
        command: decide(bpf, arch, number, (3, command)) for command in (*range(16), 36, 37, 38, 1024, 1030, 1033)
    }
    assert [command for command, answer in answers.items() if answer == "done"] == [6, 7]
    assert [command for command, answer in answers.items() if answer == "allow"] == [0, 1, 2, 3, 5, 1030]
    assert decide(bpf, arch, number, (3, GARBAGE | 6)) == "done"


def test_the_other_architecture_is_killed() -> None:
    for arch, other in (("x86_64", "aarch64"), ("aarch64", "x86_64")):
        bpf = compiler.compile(Profile.STDLIB, arch).bpf
        assert {decide(bpf, other, number) for number in range(golden_policy.HIGHEST)} == {"kill"}


def test_x32_numbers_are_killed() -> None:
    bpf = compiler.compile(Profile.STDLIB, "x86_64").bpf
    assert {decide(bpf, "x86_64", X32_BIT | number) for number in range(600)} == {"kill"}


def test_every_row_has_a_reason_and_a_name_of_its_own() -> None:
    names = [row.name for row in TABLE]
    assert len(set(names)) == len(names)
    assert [row.name for row in TABLE if len(row.reason) < 4] == []


def test_compute_allows_nothing_that_stdlib_refuses() -> None:
    refused = (Action.EPERM, Action.ENOSYS, Action.KILL)
    assert [row.name for row in TABLE if row.stdlib in refused and row.compute not in refused] == []


def test_an_unknown_name_that_would_be_allowed_is_an_error_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "TABLE", (Row("frobnicate", Action.ALLOW, Action.ALLOW, "no such call"),))
    compiler.compile.cache_clear()
    with pytest.raises(PolicyError, match="frobnicate"):
        compiler.compile(Profile.COMPUTE)
    compiler.compile.cache_clear()


def test_where_the_default_ends_the_worker_an_unknown_name_with_a_milder_answer_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    row = Row("frobnicate", Action.ENOSYS, Action.ENOSYS, "no such call", shared=Action.ENOTSUP)
    monkeypatch.setattr(compiler, "TABLE", (*table.TABLE, row))
    compiler.compile.cache_clear()
    compiler.compile(Profile.STDLIB)
    with pytest.raises(PolicyError, match="frobnicate"):
        compiler.compile(Profile.SHARED)
    compiler.compile.cache_clear()


def test_an_unknown_name_that_is_refused_anyway_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Row("frobnicate", Action.KILL, Action.KILL, "an older libseccomp does not know it")
    monkeypatch.setattr(compiler, "TABLE", (*table.TABLE, row))
    compiler.compile.cache_clear()
    longer = compiler.compile(Profile.COMPUTE)
    compiler.compile.cache_clear()
    monkeypatch.undo()
    assert longer.bpf == compiler.compile(Profile.COMPUTE).bpf
    assert longer.digest != compiler.compile(Profile.COMPUTE).digest


def test_an_unknown_architecture_is_named() -> None:
    with pytest.raises(PolicyError, match=r"'sparc'.*x86_64, aarch64"):
        compiler.compile(Profile.COMPUTE, "sparc")


def test_the_digest_tells_profiles_apart_and_is_stable() -> None:
    first = {profile: compiler.compile(profile).digest for profile in Profile}
    compiler.compile.cache_clear()
    assert {profile: compiler.compile(profile).digest for profile in Profile} == first
    assert len(set(first.values())) == len(Profile)


@pytest.mark.kernel
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the sweep's expectations are x86_64's")
@pytest.mark.parametrize("profile", Profile)
def test_the_kernel_answers_as_the_golden_table_says(profile: Profile, tmp_path: Path) -> None:
    """Each number in a fresh process; an allowed call must reach the kernel, a refused one must not."""
    expected = _golden(profile)
    asked = [str(number) for number, (name, _) in expected.items() if name not in NOT_SWEPT]
    answers = _sweep(profile, tmp_path, asked)
    assert list(answers) == asked
    wrong = [
        (number, *expected[int(number)], answer)
        for number, answer in answers.items()
        if not _agrees(expected[int(number)][1], answer) and answer not in PASSED_BY_THE_KERNEL.get(number, ())
    ]
    assert wrong == []


@pytest.mark.kernel
@pytest.mark.skipif(platform.machine() != "x86_64", reason="x32 and the 32-bit entry are x86_64's")
@pytest.mark.parametrize("profile", Profile)
def test_the_kernel_kills_other_entries(profile: Profile, tmp_path: Path) -> None:
    assert _sweep(profile, tmp_path, ["i386", str(X32_BIT), str(X32_BIT + 520)]) == {
        "i386": "killed",
        str(X32_BIT): "killed",
        str(X32_BIT + 520): "killed",
    }


def _golden(profile: Profile) -> dict[int, tuple[str, str]]:
    lines = golden_policy.path("x86_64", profile).read_text().splitlines()
    rows = [line.split() for line in lines if line.split()[0].lstrip("-").isdigit()]
    return {int(number): (name, decision) for number, name, decision in rows}


def _sweep(profile: Profile, folder: Path, words: list[str]) -> dict[str, str]:
    filter_file = folder / "filter"
    filter_file.write_bytes(compiler.compile(profile).bpf)
    script = Path(__file__).parent / "sweep_syscalls.py"
    command = [sys.executable, str(script), str(filter_file), *words]
    output = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100).stdout
    return dict(line.split(" ", 1) for line in output.splitlines())


def _agrees(decision: str, answer: str) -> bool:
    if decision == "allow":
        return answer not in ("EPERM", "killed")
    if decision == "where":
        return answer != "killed"
    return answer == {"kill": "killed", "trap": "killed", "done": "ok"}.get(decision, decision)  # a trap kills
