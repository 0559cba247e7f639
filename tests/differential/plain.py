"""Plain CPython: each case in a fork of its own, with nothing of cruxbox near it. Runs on Python 3.8 and later.

Reads one JSON case a line from the file named by argv[1]; prints one JSON answer a line, in the same order.
"""

import io
import json
import os
import signal
import sys

MOST_CHARACTERS = 4000
# Far more than any honest case takes; CPU time, so that a busy machine does not decide what a case comes to.
CPU_SECONDS, SECONDS = 60, 900
PLAIN = (type(None), bool, int, float, complex, str, bytes, bytearray)


def is_plain(value, depth=0):
    """Is the value made of types whose repr says all, so that both sides show it alike?"""
    if depth > 90:
        return False
    kind = type(value)
    if kind in PLAIN:
        return True
    if kind in (list, tuple, set, frozenset):
        return all(is_plain(item, depth + 1) for item in value)
    if kind is dict:
        return all(is_plain(key, depth + 1) and is_plain(item, depth + 1) for key, item in value.items())
    return False


def shown(value):
    if not is_plain(value):
        return f"<{type(value).__name__} object>"
    try:
        return repr(value)[:MOST_CHARACTERS]
    except ValueError:
        return "<a value with very long ints>"


def run(case):
    program = compile(case["program"], "<program>", "exec", 0, True)
    if case["kind"] == "stdio":
        sys.stdin = io.StringIO(case["stdin"])
        exec(program, {"__name__": "__main__", "__builtins__": __builtins__})
        return {"outcome": "EXECUTED"}
    namespace = {"__name__": "__candidate__", "__builtins__": __builtins__}
    exec(program, namespace)
    if case["kind"] == "call":
        value = eval(compile(case["call"].strip(), "<check>", "eval", 0, True), namespace)
        return {"outcome": "EVALUATED", "value": shown(value)}
    namespace["candidate"] = namespace[case["entry_point"]]
    exec(compile(case["script"], "<check>", "exec", 0, True), namespace)
    return {"outcome": "PASSED"}


def judge(case):
    sys.stdout, sys.stderr = out, _ = io.StringIO(), io.StringIO()
    try:
        answer = run(case)
    except SyntaxError:
        answer = {"outcome": "INVALID"}
    except BaseException as error:
        outcome = "FAILED" if case["kind"] == "script" and type(error) is AssertionError else "RAISED"
        if case["kind"] == "stdio" and isinstance(error, SystemExit) and error.code in (None, 0):
            outcome = "EXECUTED"
        answer = {"outcome": outcome, "exception": [type(error).__name__, str(error)[:MOST_CHARACTERS]]}
    answer["stdout"] = out.getvalue()
    return answer


def in_a_fork(case):
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            for number in (signal.SIGALRM, signal.SIGPROF):
                signal.signal(number, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
            signal.alarm(SECONDS)
            data = json.dumps(judge(case)).encode()
            while data:
                data = data[os.write(writing, data) :]
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        data = file.read()
    _, status = os.waitpid(pid, 0)
    if data:
        return json.loads(data)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGALRM, signal.SIGPROF):
        return {"outcome": "OUT_OF_TIME"}  # the clocks above: this says nothing of the case
    return {"outcome": "ENDED", "status": status}


if __name__ == "__main__":
    with open(sys.argv[1]) as file:
        for line in file:
            print(json.dumps(in_a_fork(json.loads(line))), flush=True)
