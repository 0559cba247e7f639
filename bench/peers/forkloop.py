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

_TURN = 4  # bytes of a check's number


def judge(program: str, call: str, expected: str) -> None:
    """Run one check in this process, the child, and leave with 0 when it holds."""
    code = 1
    try:
        space: dict[str, object] = {"__name__": "candidate"}
        exec(compile(program, "<program>", "exec"), space)
        code = 0 if not call or eval(call, space) == eval(expected, {}) else 1
    finally:
        os._exit(code)


def loop(checks: "list[tuple[str, str, str]]", turns: int, answer: int) -> None:
    """Judge each check whose number comes next in `turns`, in a child of its own; `answer` gets number and verdict.

    The loops read `turns` at one offset, so none is idle while another has checks left.
    """
    verdicts = bytearray()
    while turn := os.read(turns, _TURN):
        program, call, expected = checks[int.from_bytes(turn, "little")]
        pid = os.fork()
        if not pid:
            judge(program, call, expected)
        verdicts += turn + b"%d" % (os.waitpid(pid, 0)[1] == 0)
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
    turns = os.memfd_create("turns")
    os.pwrite(turns, b"".join(number.to_bytes(_TURN, "little") for number in range(len(checks))), 0)
    started, cpu_started = time.perf_counter(), sum(os.times()[:4])
    pipes = []
    for _ in range(cores):
        read_end, write_end = os.pipe()
        if not os.fork():
            loop(checks, turns, write_end)
        os.close(write_end)
        pipes.append(os.fdopen(read_end, "rb"))
    answers = b"".join([pipe.read() for pipe in pipes])
    seconds = time.perf_counter() - started
    for _ in pipes:
        os.wait()
    cpu = sum(os.times()[:4]) - cpu_started
    verdicts = bytearray(b"0") * len(checks)
    for place in range(0, len(answers), _TURN + 1):
        verdicts[int.from_bytes(answers[place : place + _TURN], "little")] = answers[place + _TURN]
    print('{"seconds": %r, "cpu_seconds": %r, "verdicts": "%s"}' % (seconds, cpu, verdicts.decode()))  # noqa: UP031 (no json import)


main()
