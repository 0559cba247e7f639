"""The golden table: what each profile answers to every system-call number, written down and committed.

`python tests/daemon/golden_policy.py` writes tests/daemon/golden/*.txt anew; read the difference before committing it.
A call whose arguments matter is written as "where": its cases are in test_policy.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cruxboxd.seccomp.table import TABLE

sys.path.insert(0, str(Path(__file__).parent))

from bpf import X32_BIT, decide
from cruxboxd.seccomp import compiler

HIGHEST = 470
GOLDEN = Path(__file__).parent / "golden"
ARCHES = ("x86_64", "aarch64")

# Argument vectors that tell a call decided by its number alone from one whose arguments matter.
_PROBES = (
    (0, 0, 0, 0, 0, 0),
    (0xFFFFFFFFFFFFFFFF,) * 6,
    (0x1000,) * 6,
    (0x5450,) * 6,
    (1,) * 6,
    (4,) * 6,
    (0x3D0F00,) * 6,
)


def render(arch: str, profile: compiler.Profile) -> str:
    """The golden table of one profile on one architecture, as text."""
    bpf = compiler.compile(profile, arch).bpf
    names = _names(arch)
    lines = [f"# {arch}, profile {profile.value}: number, name, decision"]
    lines += [f"{number} {names.get(number, '-')} {_decision(bpf, arch, number)}" for number in range(HIGHEST + 1)]
    lines += [f"-1 - {_decision(bpf, arch, -1)}"]
    foreign = {"x86_64": ("i386", 0), "aarch64": ("arm", 0)}[arch]
    lines += [f"{foreign[0]}-entry - {_decision(bpf, foreign[0], foreign[1])}"]
    if arch == "x86_64":
        lines += [f"x32-entry - {_decision(bpf, arch, X32_BIT)}"]
    return "\n".join(lines) + "\n"


def path(arch: str, profile: compiler.Profile) -> Path:
    """Where the table is kept."""
    return GOLDEN / f"{arch}-{profile.value}.txt"


def _decision(bpf: bytes, arch: str, number: int) -> str:
    answers = {decide(bpf, arch, number, probe) for probe in _PROBES}
    return answers.pop() if len(answers) == 1 else "where"


def _names(arch: str) -> dict[int, str]:
    """Names of the calls that the policy's table has a row for."""
    binding = compiler._binding()
    target = compiler._architecture(binding, arch)
    return {binding.resolve_syscall(target, row.name): row.name for row in TABLE}


def main() -> None:
    """Writes all tables."""
    GOLDEN.mkdir(exist_ok=True)
    for arch in ARCHES:
        for profile in compiler.Profile:
            path(arch, profile).write_text(render(arch, profile))


if __name__ == "__main__":
    main()
