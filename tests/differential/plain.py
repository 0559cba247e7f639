"""Plain CPython: each case in a fork of its own, with nothing of cruxbox near it. Runs on Python 3.8 and later.

Reads one JSON case a line from the file named by argv[1]; prints one JSON answer a line, in the same order.
"""

import builtins
import collections
import io
import json
import os
import signal
import sys
import types

MOST_CHARACTERS = 4000
SECONDS = 900  # for what sleeps
ATOMS = (type(None), bool, int, float, complex, str, bytes, bytearray)
CONTAINERS = (list, tuple, set, frozenset, dict)
# Values of the library and of the language, of which the repr says all as well; a deque is one by its items.
VALUES = {
    "builtins": {"range", "slice", "ellipsis", "NotImplementedType", "memoryview", "dict_keys", "dict_items"},
    "collections": {"deque"},
    "datetime": {"date", "datetime", "time", "timedelta", "timezone"},
    "decimal": {"Decimal"},
    "fractions": {"Fraction"},
    "re": {"Pattern"},
    "uuid": {"UUID"},
}
DICT_LIKE = (collections.OrderedDict, collections.Counter, collections.defaultdict)


def is_plain(value, depth=0):
    """Is the value made of types whose repr says all, so that both sides show it alike? So are classes derived from
    these that keep their equality."""
    kind = type(value)
    if kind.__name__ in VALUES.get(kind.__module__, ()):
        return kind is not collections.deque or all(is_plain(item, depth + 1) for item in value)
    base = base_of(kind)
    if depth > 90 or base is None:
        return False
    if base is dict:
        return all(is_plain(key, depth + 1) and is_plain(item, depth + 1) for key, item in dict.items(value))
    return base in ATOMS or all(is_plain(item, depth + 1) for item in base.__iter__(value))


def base_of(kind):
    for cls in kind.__mro__:
        if cls in ATOMS or cls in CONTAINERS:
            return cls
        if "__eq__" in vars(cls) and cls not in DICT_LIKE:
            return None
    return None


def shown(value):
    if not is_plain(value):
        return f"<{type(value).__name__} object>"
    try:
        return repr(value)[:MOST_CHARACTERS]
    except ValueError:
        return f"<int of {value.bit_length()} bits>" if type(value) is int else "<a value with very long ints>"


class NotCompiled(Exception):
    """The text of the program, the call or the script is not Python's: nothing of it runs."""


def compiled(text, name, mode):
    try:
        return compile(text, name, mode, 0, True)
    except SyntaxError as error:
        raise NotCompiled from error


def run(case):
    program = compiled(case["program"], "<program>", "exec")
    is_call = case["kind"] == "call"
    asked = (
        compiled(case["call"].strip(), "<check>", "eval") if is_call else compiled(case["script"], "<check>", "exec")
    )
    module = types.ModuleType("__main__" if case["kind"] == "stdio" else "__candidate__")
    sys.modules[module.__name__], sys.argv = module, [""]
    namespace = vars(module)
    namespace["__builtins__"] = builtins
    if case["kind"] == "stdio":
        sys.stdin = io.TextIOWrapper(io.BytesIO(case["stdin"].encode()), encoding="utf-8", newline="\n")
        exec(program, namespace)
        return {"outcome": "EXECUTED"}
    exec(program, namespace)
    if is_call:
        return {"outcome": "EVALUATED", "value": shown(eval(asked, namespace))}
    if case["entry_point"]:
        if case["entry_point"] not in namespace:
            raise NameError(f"name {case['entry_point']!r} is not defined")
        namespace["candidate"] = namespace[case["entry_point"]]
    exec(asked, namespace)
    return {"outcome": "PASSED"}


def judge(case):
    sys.stdout, sys.stderr = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in "12"]
    out = sys.stdout
    try:
        answer = run(case)
    except NotCompiled:
        answer = {"outcome": "INVALID"}
    except BaseException as error:
        outcome = "FAILED" if case["kind"] == "script" and type(error) is AssertionError else "RAISED"
        if case["kind"] == "stdio" and isinstance(error, SystemExit) and error.code in (None, 0):
            outcome = "EXECUTED"
        answer = {"outcome": outcome, "exception": [type(error).__name__, str(error)[:MOST_CHARACTERS]]}
    answer["stdout"] = out.buffer.getvalue().decode()
    return answer


def in_a_fork(case, cpu_seconds):
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            for number in (signal.SIGALRM, signal.SIGPROF):
                signal.signal(number, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_PROF, cpu_seconds)
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
            print(json.dumps(in_a_fork(json.loads(line), float(sys.argv[2]))), flush=True)
