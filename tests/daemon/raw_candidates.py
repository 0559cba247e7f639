"""Candidates that speak the protocol of their pair themselves."""

from __future__ import annotations

HEAD = """
import os, struct
def u32(*numbers): return struct.pack("<%dI" % len(numbers), *numbers)
def frame(*fields):
    body = b"".join(u32(len(field)) + field for field in fields)
    return u32(len(body)) + body
def send(data):
    while data: data = data[os.write(5, data):]
def message(kind, number, body, *gone): send(frame(kind, u32(number, 0, *gone), body))
def value(body, number=3): message(b"v", number, u32(0, 1) + body)
def text(data): return b"s" + u32(len(data)) + data
def small(number): return b"j" + struct.pack("<i", number)
def cls(number, name=b"A", bases=(), offers=b"", overrides=b"", stands=b""):
    head = b"K" + u32(number) + text(name) + small(len(bases))
    return head + b"".join(bases) + text(offers) + text(overrides) + text(stands)
"""


# What `f(1)` does before it returns. The answer to it is number 3, after the names and what they stand for.
RAW = {
    "nothing, and hangs up": "os.close(5)",
    "nothing, and lives on": "os.close(5); import time; time.sleep(60)",
    "garbage": "send(b'\\xff' * 99)",
    "the beginning of a frame": "send(u32(99) + b'abc'); os._exit(0)",
    "a frame without fields": "send(u32(0))",
    "a frame of another shape": "send(frame(b'v', b''))",
    "a frame as long as there is": "send(u32(2**31) + bytes(1 << 20))",
    "an answer to another question": "value(small(8), number=4)",
    "an answer to the question before": "value(small(8), number=2)",
    "two answers": "value(small(8)); value(small(8))",
    "an answer with two values": "message(b'v', 3, u32(0, 2) + small(8) + small(8))",
    "an answer without a value": "message(b'v', 3, u32(0, 0))",
    "an answer of no kind": "message(b'?', 3, u32(0, 1) + small(8))",
    "an exception that is a number": "message(b'e', 3, u32(0, 1) + small(8))",
    "bytes behind the value": "value(small(8) + b'N')",
    "101 levels": "value(b''.join(b'l' + u32(2 * n + 1, 1) for n in range(50, 151)) + b'N')",
    "5000 levels": "value(b''.join(b'l' + u32(2 * n + 1, 1) for n in range(50, 5050)) + b'N')",
    "more items than bytes": "value(b'l' + u32(101, 2**31))",
    "much text that is not there": "value(b's' + u32(1 << 15) + b'x' * (1 << 14))",
    "much text that is none": "value(b's' + u32(1 << 15) + bytes([255]) * (1 << 15))",
    "a container of the test's": "value(b'l' + u32(100, 0))",
    "a container twice": "value(b'l' + u32(101, 1) + b'l' + u32(101, 0))",
    "a container nobody knows": "value(b'@' + u32(100))",
    "a change of what nobody knows": "message(b'v', 3, u32(1, 100, 0, 1) + small(8))",
    "an object of the test's that it never showed": "value(b'.' + u32(1))",
    "a class nobody knows": "value(b'k' + u32(1))",
    "an object of a class that is none": "value(b'o' + u32(1) + small(8))",
    "an object of a plain class": "value(b'o' + u32(1) + b'G' + text(b'builtins') + text(b'int'))",
    "a function that is not shared": "value(b'G' + text(b'builtins') + text(b'eval'))",
    "a function of another module": "value(b'G' + text(b'os') + text(b'system'))",
    "a class that reaches attributes by their names": "value(b'G' + text(b'_operator') + text(b'attrgetter'))",
    "what makes classes": "value(b'G' + text(b'builtins') + text(b'type'))",
    "what makes classes of a dict": "value(b'G' + text(b'enum') + text(b'Enum'))",
    "what ends a script": "value(b'G' + text(b'builtins') + text(b'SystemExit'))",
    "a module in a module": "value(b'G' + text(b'fractions') + text(b'math'))",
    "an exception of the test's own harness": "message(b'e', 3, u32(0, 1) + b'X' + u32(1) + cls(9, stands="
        "b'cruxcell.jobs.separated.exchange.link:Unsent') + text(b'') + small(0) + b'NN')",
    "a name that holds more than may cross": "value(text(b'x' * (17 << 20)))",
    "a path through a module": "value(b'G' + text(b'math') + text(b'__loader__.load_module'))",
    "a module": "value(b'M' + text(b'os'))",
    "a class whose bases are numbers": "value(cls(9, bases=[small(1)]))",
    "a class of classes that do not go together":
        "value(cls(9, bases=[cls(10), b'G' + text(b'builtins') + text(b'int')]))",
    "a class with a name that is none": "value(cls(9, name=bytes([0])))",
    "a class that stands for a number": "value(b'o' + u32(1) + cls(9, stands=b'int'))",
    "a class that stands for an exception": "value(b'o' + u32(1) + cls(9, stands=b'builtins:ValueError'))",
    "an object that is equal": "value(b'o' + u32(1) + cls(9, offers=b'__eq__' + bytes(1) + b'__hash__'))",
    "a number whose methods are its own":
        "value(b'h' + u32(1) + cls(9, bases=[b'G' + text(b'builtins') + text(b'int')], offers=b'__eq__', "
        "overrides=b'__eq__' + bytes(1) + b'bit_length') + small(8))",
    "a number that is a text":
        "value(b'h' + u32(1) + cls(9, bases=[b'G' + text(b'builtins') + text(b'int')]) + text(b'8'))",
    "more classes than may be": "value(b'l' + u32(101, 5000) + b''.join(cls(n) for n in range(50, 5050)))",
    "a question about the script": "message(b'q', 1, u32(0, 3) + text(b'get') + b'G' + text(b'builtins') + text(b'len')"
        " + text(b'__self__'))",
    "a question to a function it was not shown": "message(b'q', 1, u32(0, 4) + text(b'call') + b'G' + text(b'builtins')"
        " + text(b'print') + text(b'') + small(1))",
    "a question that is none": "message(b'q', 1, u32(0, 1) + text(b'names'))",
    "a question out of turn": "message(b'q', 7, u32(0, 2) + text(b'names') + b'N')",
    "questions without end": "\nfor n in range(1, 10**9): message(b'q', n, u32(0, 2) + text(b'names') + b'N')",
    "what the test has forgotten": "message(b'v', 3, u32(0, 1) + small(8), *range(1000))",
    "a value of the library made wrongly": "value(b'Vd' + u32(1) + text(b'8' * 10 + b'x'))",
    "a set with a table that none has": "value(b'S' + u32(101, 2) + bytes([40]) + b'NT')",
    "a set with more items than places":
        "value(b'S' + u32(101, 6) + bytes([3]) + b'NTF' + b''.join(map(small, range(7, 10))))",
    "a set of lists": "value(b'S' + u32(101, 1) + bytes([3]) + b'l' + u32(103, 0))",
    "a frozenset of lists": "value(b'Z' + u32(1) + bytes([3]) + b'l' + u32(103, 0) + u32(101))",
    "a set that holds itself": "value(b'S' + u32(101, 1) + bytes([3]) + b'@' + u32(101))",
    "one thing as often as a large table has room": "value(b'S' + u32(101, 1 << 17) + bytes([20]) + b'N' * (1 << 17))",
    "a hundred of such sets":
        "value(b'l' + u32(101, 100) + b''.join(b'S' + u32(103 + 2 * n, 1 << 17) + bytes([20]) + b'N' * (1 << 17) "
        "for n in range(100)))",
    "an array that is too small":
        "value(b'A' + u32(101) + text(b'<i8') + b't' + u32(1) + small(9) + u32(103) + b'b' + u32(0))",
}  # fmt: skip


SCRIPT = """
import numbers
try:
    answer = f(1)
except Exception:
    answer = None
assert answer == 7
"""
