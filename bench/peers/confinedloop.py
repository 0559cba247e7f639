"""The fork loop again, with our confinement or without it: what the confinement of a worker costs.

Both variants import the same modules and so fork the same memory. With `confine` in the message each loop first
becomes what a zygote is (`confine_zygote`), and each child does what a worker does (`confine_worker`) before it judges.
Run with `-I -S`; `sandbox` in the message is the folder of cruxcell, `bpf` the compiled filter, `readable` what imports
may read, `empty_dir` where the loops live.
"""

import marshal
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MEMORY_BYTES = 256 << 20


def judge(program: str, call: str, expected: str) -> None:
    """Run one check in this process, the child, and leave with 0 when it holds."""
    code = 1
    try:
        space: dict[str, object] = {"__name__": "candidate"}
        exec(compile(program, "<program>", "exec"), space)
        code = 0 if eval(call, space) == eval(expected, {}) else 1
    finally:
        os._exit(code)


def nothing() -> None:
    """The confinement of an unconfined worker."""


def confinement(message: "dict[str, Any]", answer: int) -> "Callable[[], None]":
    """Confine this process as a zygote; gives the function that confines a child as a worker."""
    from cruxcell import native
    from cruxcell.confinement import confine, rlimits
    from cruxcell.confinement.settings import Settings

    helper = native.load(False)
    limits = rlimits.pack(rlimits.address_space() + MEMORY_BYTES, 0, 10_000_000_000)
    bpf = message["bpf"]
    if not message["confine"]:
        return nothing
    settings = Settings(readable=message["readable"], keep_fds=(0, 1, 2, answer), empty_dir=message["empty_dir"])
    confine.confine_zygote(helper, settings)
    parent = os.getpid()
    return lambda: confine.confine_worker(helper, limits, bpf, parent)


def loop(message: "dict[str, Any]", checks: "list[tuple[str, str, str]]", answer: int) -> None:
    """Judge each check in a child of its own; write one byte for each, then the seconds, to `answer`."""
    confine_child = confinement(message, answer)
    verdicts = bytearray()
    started, cpu_started = time.perf_counter(), sum(os.times()[:4])
    for program, call, expected in checks:
        pid = os.fork()
        if not pid:
            confine_child()
            judge(program, call, expected)
        verdicts.append(48 + (os.waitpid(pid, 0)[1] == 0))
    seconds, cpu = time.perf_counter() - started, sum(os.times()[:4]) - cpu_started
    os.write(answer, b"%r %r " % (seconds, cpu))
    while verdicts:
        del verdicts[: os.write(answer, verdicts)]
    os._exit(0)


def main() -> None:
    message = marshal.load(sys.stdin.buffer)
    sys.path.append(message["sandbox"])
    checks, cores = message["checks"], message["cores"]
    pipes = []
    for core in range(cores):
        read_end, write_end = os.pipe()
        if not os.fork():
            loop(message, checks[core::cores], write_end)
        os.close(write_end)
        pipes.append(os.fdopen(read_end, "rb"))
    answers = [pipe.read().decode().split(" ") for pipe in pipes]
    for _ in pipes:
        os.wait()
    verdicts = ["0"] * len(checks)
    for core, answer in enumerate(answers):
        verdicts[core::cores] = answer[2]
    seconds, cpu = max(float(answer[0]) for answer in answers), sum(float(answer[1]) for answer in answers)
    print('{"seconds": %r, "cpu_seconds": %r, "verdicts": "%s"}' % (seconds, cpu, "".join(verdicts)))  # noqa: UP031 (no json import)


main()
