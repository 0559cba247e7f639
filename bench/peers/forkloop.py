"""The floor: fork, exec and waitpid in a bare interpreter, one loop a core, no confinement and no limits.

Run with `-I -S`, so that the interpreter that forks is as small as CPython gets. A verdict is the child's exit code,
which any candidate can forge: this says what a check must cost, not how to do one. It speaks the protocol of
`bench.peers` without importing it, because every import would make each fork dearer. (gc.freeze() makes no difference
to it.) With "warm" in the message the parent compiles something before it forks, which most fork loops do not do; with
"imports" it imports these modules. A check without a call holds when its program ends without an exception.
"""

import marshal
import os
import sys
import time


def judge(program: str, call: str, expected: str) -> None:
    """Run one check in this process, the child, and leave with 0 when it holds."""
    code = 1
    try:
        space: dict[str, object] = {"__name__": "candidate"}
        exec(compile(program, "<program>", "exec"), space)
        code = 0 if not call or eval(call, space) == eval(expected, {}) else 1
    finally:
        os._exit(code)


def loop(checks: "list[tuple[str, str, str]]", answer: int) -> None:
    """Judge each check in a child of its own and write one byte for each to `answer`."""
    verdicts = bytearray()
    for program, call, expected in checks:
        pid = os.fork()
        if not pid:
            judge(program, call, expected)
        verdicts.append(48 + (os.waitpid(pid, 0)[1] == 0))
    while verdicts:
        del verdicts[: os.write(answer, verdicts)]
    os._exit(0)


def main() -> None:
    message = marshal.load(sys.stdin.buffer)
    if message.get("warm"):  # the first compilation in a process sets up the compiler's types, a millisecond's work
        exec(compile("def f(x):\n    return [x]\nf(1)", "<warm>", "exec"), {})
    for name in message.get("imports", ()):
        __import__(name)
    checks, cores = message["checks"], message["cores"]
    started, cpu_started = time.perf_counter(), sum(os.times()[:4])
    pipes = []
    for core in range(cores):
        read_end, write_end = os.pipe()
        if not os.fork():
            loop(checks[core::cores], write_end)
        os.close(write_end)
        pipes.append(os.fdopen(read_end, "rb"))
    answers = [pipe.read().decode() for pipe in pipes]
    seconds = time.perf_counter() - started
    for _ in pipes:
        os.wait()
    cpu = sum(os.times()[:4]) - cpu_started
    verdicts = ["0"] * len(checks)
    for core, answer in enumerate(answers):
        verdicts[core::cores] = answer
    print('{"seconds": %r, "cpu_seconds": %r, "verdicts": "%s"}' % (seconds, cpu, "".join(verdicts)))  # noqa: UP031 (no json import)


main()
