"""What counting steps costs: a tight loop and a tiny call, with the counter and without, native and pure.

`python -m bench.stepcount ROUNDS` measures in a fresh interpreter and prints JSON; `figures()` runs that.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from statistics import median
from typing import Any

from bench.figures import Figure

ROUNDS = 7
LOOP = "def f(n):\n    i = 0\n    while i < n:\n        i += 1\n    return i\n"
TINY = "def f(a):\n    out = []\n    for x in a:\n        if x > 1:\n            out.append(x)\n    return out\n"


def figures(rounds: int = ROUNDS) -> Iterator[Figure]:
    """The overhead of the step counter, measured in a process of its own."""
    command = [sys.executable, "-m", "bench.stepcount", str(rounds)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the step counter cannot be measured: {done.stderr.strip().rpartition(chr(10))[2]}")
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    for twin, numbers in found.items():
        key = "step_counter" if twin == "native" else "step_counter_pure"
        tiny = f"a call of {numbers['tiny_steps']:.0f} steps takes {numbers['tiny_us']:.1f} µs more"
        detail = f"{numbers['ns_a_step']:.1f} ns a step; {tiny}"
        yield Figure(key, f"step counting on a tight loop, {twin}", numbers["times"], "×", detail)
    if "native" not in found:
        raise RuntimeError("this interpreter has no native helper; only the pure counter was measured")


def _measure(twin: Any, rounds: int) -> dict[str, float]:
    loop, plain_loop, steps = _pair(twin, LOOP, "f(300_000)", 1, rounds)
    tiny, plain_tiny, tiny_steps = _pair(twin, TINY, "f([1, 2, 3])", 200, rounds)
    return {
        "times": loop / plain_loop,
        "ns_a_step": (loop - plain_loop) / steps * 1e9,
        "tiny_us": (tiny - plain_tiny) * 1e6,
        "tiny_steps": tiny_steps,
    }


def _pair(twin: Any, program: str, call: str, repeats: int, rounds: int) -> tuple[float, float, int]:
    """Seconds of one `call` counted and not counted, in interleaved rounds, and its steps."""
    space: dict[str, object] = {}
    exec(compile(program, "<program>", "exec"), space)
    code = compile(call, "<call>", "eval")
    counted, plain = [], []
    for _ in range(rounds):
        counted.append(_seconds(lambda: twin.run(code, space, 0, -1, b""), repeats))
        plain.append(_seconds(lambda: eval(code, space), repeats))
    return median(counted), median(plain), twin.steps()


def _seconds(run: Callable[[], object], repeats: int) -> float:
    started = time.perf_counter()
    for _ in range(repeats):
        run()
    return (time.perf_counter() - started) / repeats


def main() -> None:
    from cruxcell import native

    twins = {"pure": native.load(pure=True)}
    helper = native.load(pure=False)
    if helper is not twins["pure"]:
        twins["native"] = helper
    print(json.dumps({name: _measure(twin, int(sys.argv[1])) for name, twin in twins.items()}))


if __name__ == "__main__":
    main()
