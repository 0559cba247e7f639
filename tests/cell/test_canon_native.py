"""The canonical encoder in C, as it writes reports, against its definition in Python: byte for byte the same, or left
to the definition."""

from __future__ import annotations

import functools
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from cruxcell import native
from cruxcell.jobs import context
from cruxcell.protocol import messages, records
from cruxcell.values import canonical
from hypothesis import given
from hypothesis import strategies as st
from interpreters import Twin, helper, twins

every_native = pytest.mark.parametrize("twin", [twin for twin in twins() if twin.name == "native"], ids=str)
every_pure = pytest.mark.parametrize("twin", [twin for twin in twins() if twin.name == "pure"], ids=str)

# The definition as `expected(value, budget)`: None where the encoder in C may leave the value to it.
DEFINITION = """
import json, os
from cruxcell.jobs import context as workbench
from cruxcell.protocol import frames, records as reports
from cruxcell.values import canonical as values

file = os.memfd_create("report")

def encoded(value, budget):
    '''(canonical encoding, whether it holds NaN) of a value that is written in C; None for one that is not.'''
    os.ftruncate(file, 0)
    os.lseek(file, 0, 0)
    if not k.report_value(file, 0, 0, 0, 0, value, budget, 10, b"", b""):
        return None
    fields = frames.unpack(os.pread(file, 1 << 24, 0)[4:])
    return fields[3], fields[2] == workbench.messages.HOLDS_NAN

def expected(value, budget):
    try:
        return values.canon(value, budget)
    except (values.NotPlain, values.TooLarge):
        return None
"""

# One of each, and what lies at the edges.
VALUES = """
def nested(depth, make=lambda inner: [inner]):
    value = 0
    for _ in range(depth):
        value = make(value)
    return value

def thinned(size, keep):
    members = set(range(size))
    for member in range(size):
        if member % keep:
            members.discard(member)
    return members

def rearranged():
    pairs = {str(number): number for number in range(50)}
    for number in range(0, 50, 3):
        del pairs[str(number)]
    pairs.update(b=1, a=2)
    return pairs

class Attributes:
    def __init__(self):
        self.first, self.second = 1, [2]

MINE = [
    None, True, False, 0, 1, -1, 9, 10, 2**31, 2**53 + 1, 2**63 - 1, -2**63,
    0.0, -0.0, 1.0, -3.0, 0.5, -0.1, 2.0**53, -2.0**63, 2.0**62, float(2**63 - 1024), 5e-324, 1.7e-308,
    float("inf"), -float("inf"), float("nan"), [float("nan")], {float("nan"): 1},
    "", "a", "\\x00", "\\x7f\\x80", "\\xff", "\\u0100", "\\u07ff\\u0800", "\\uffff\\U00010000", "\\U0010ffff" * 400,
    "\\ud800", "a\\udfff\\xe9", "x" * 5000,
    b"", b"\\x00\\xff", b"y" * 5000,
    [], (), {}, set(), frozenset(), [[]], ((),), [()], [1, [2, (3, [None])]], (1, 1.0, True),
    {1, 2, 3}, {"b", "a", "ab", ""}, frozenset(range(40)), {frozenset({1, 2}), frozenset({2, 1}), (1, 2)},
    thinned(1000, 7), thinned(10, 100), set(range(100)) - set(range(99)),
    {"b": 1, "a": 2}, {1: "x", "1": "y", (1,): "z", None: 0, 1.5: -1, b"1": 2}, {0: {1: {2: {}}}}, rearranged(),
    vars(Attributes()), {str(n): n for n in range(9)}, {str(n): n for n in range(8)}, {n: -n for n in range(500)},
    nested(200), nested(199, lambda inner: {0: (inner,)} if type(inner) is int else [inner]),
]

NOT_MINE = [
    2**63, -2**63 - 1, 10**300, 2.0**63, -2.0**64, 1e300, [1, 2.0**63], {10**30}, 1j, bytearray(b"x"), range(3), len,
    object(), type, Ellipsis, Attributes(), nested(201), nested(5000), {frozenset({1j})}, {"k": [object()]},
]
"""

COMPARE = """
wrong = []
for place, value in enumerate(MINE):
    for budget in (1 << 20, 6000, 30, 3, 1, 0, -1):
        if encoded(value, budget) != expected(value, budget):
            wrong.append([place, budget])
for place, value in enumerate(NOT_MINE):
    if encoded(value, 1 << 20) is not None:
        wrong.append([place, "not mine"])
print(json.dumps(wrong))
"""

# Seeded and the same on every interpreter: nested values of all types, and the least budget of each.
RANDOM = """
import random, struct
source = random.Random(20)

def leaf(roll=source.randrange, pick=source.choice):
    return pick([
        lambda: None, lambda: roll(2) == 1, lambda: roll(300) - 150, lambda: roll(1 << 66) - (1 << 65),
        lambda: float(roll(20)) / pick([1, 2, 4]), lambda: struct.unpack("<d", struct.pack("<Q", roll(1 << 64)))[0],
        lambda: "".join(chr(roll(pick([128, 300, 0x3000, 0x110000]))) for _ in range(roll(9))),
        lambda: bytes(roll(256) for _ in range(roll(9))),
    ])()

def hashable(depth):
    kind = source.randrange(8) if depth else 9
    if kind > 1:
        return leaf()
    return (tuple if kind else frozenset)([hashable(depth - 1) for _ in range(source.randrange(4))])

def grow(depth):
    kind = source.randrange(8) if depth else 9
    count = source.randrange(12)
    if kind == 0:
        return [grow(depth - 1) for _ in range(count)]
    if kind == 1:
        return tuple([grow(depth - 1) for _ in range(count)])
    if kind == 2:
        return {hashable(depth - 1): grow(depth - 1) for _ in range(count)}
    if kind == 3:
        return set([hashable(depth - 1) for _ in range(count)])
    return hashable(depth)

def least_budget(value):
    run = values.Canon(1 << 40)
    run.bytes(value)
    return (1 << 40) - run.budget

def is_left(value):
    '''Does it hold a number of more than 64 bits, which C leaves alone?'''
    if type(value) in (int, float):
        return b"I" in values.canon(value, 1 << 20)[0][:1]
    if type(value) is dict:
        return any(is_left(key) or is_left(item) for key, item in value.items())
    return type(value) in (list, tuple, set, frozenset) and any(is_left(item) for item in value)

wrong, mine = 0, 0
for _ in range(1000):
    value = [grow(4)]
    least = least_budget(value)
    if is_left(value):
        wrong += encoded(value, least) is not None
        continue
    mine += 1
    wrong += encoded(value, least) != values.canon(value, least)
    wrong += encoded(value, least - 1) is not None
print(json.dumps([wrong, mine > 250]))
"""

# Objects that would tell if any of their methods were called, on their own and inside of plain ones.
WATCHED = """
called = []

def watching(base):
    def watch(name):
        def method(self, *args):
            called.append(name)
            return getattr(base, name)(self, *args)
        return method
    names = [name for name in dir(base) if callable(getattr(base, name))]
    skip = ("__new__", "__init__", "__class__", "__getattribute__", "__init_subclass__", "__subclasshook__", "__hash__")
    return type("W", (base,), {name: watch(name) for name in names if name not in skip})

answers = []
for base in (int, float, str, bytes, list, tuple, dict, set, frozenset, object):
    watched = watching(base)()
    for value in (watched, [watched], (watched,), {1: watched}):
        answers.append(encoded(value, 1000))
print(json.dumps([called, answers == [None] * len(answers)]))
"""

CYCLES = """
me = []
me.append(me)
pair = {}
pair[1] = [pair]
wide = [0]
for _ in range(100):
    wide = [wide, wide]  # 2**100 members, should anybody count
print(json.dumps([encoded(value, 1 << 20) for value in (me, pair, ([me],), wide, [me, me] * 1000)]))
"""

# What report_value writes to a file, against the record that the workbench builds. `cut` is in characters.
RECORDS = """
cut = workbench.messages.MAX_TEXT

def written(value, out, err, limit):
    os.ftruncate(file, 0)
    os.lseek(file, 0, 0)
    is_mine = k.report_value(file, 7, 2**40 + 5, 2**33, 3, value, 1 << 20, limit, out, err)
    return os.pread(file, 1 << 22, 0) if is_mine else os.fstat(file).st_size

numbers = reports.NUMBERS.pack(7, 2**40 + 5, 2**33, 3, 0)
wrong = []
for place, value in enumerate(MINE + ["x" * (cut - 2), "x" * (cut - 1), "\\xe9" * cut, "'\\U0001f600" * cut]):
    for out, err in ((b"", b""), (b"said", b""), (b"\\xff" * 3000, b"e\\n")):
        if written(value, out, err, cut) != workbench.value_record(numbers, value, 1 << 20, out, err):
            wrong.append(place)
wrong += [place for place, value in enumerate(NOT_MINE) if written(value, b"", b"", cut) != 0]
try:
    k.report_value(-1, 0, 0, 0, 0, 1, 1000, 10, b"", b"")
except OSError as error:
    print(json.dumps([wrong, os.strerror(error.errno)]))
"""


@every_native
def test_what_is_plain_and_exact_is_the_same(twin: Twin) -> None:
    assert twin.ask(DEFINITION + VALUES + COMPARE) == []


@every_native
def test_random_values_and_their_least_budgets(twin: Twin) -> None:
    assert twin.ask(DEFINITION + RANDOM) == [0, True]


@every_native
def test_no_method_of_a_candidate_is_called(twin: Twin) -> None:
    assert twin.ask(DEFINITION + WATCHED) == [[], True]


@every_native
def test_cycles_and_trees_without_end(twin: Twin) -> None:
    assert twin.ask(DEFINITION + CYCLES) == [None] * 5


@every_native
def test_the_record_is_the_workbench_record(twin: Twin) -> None:
    assert twin.ask(DEFINITION + VALUES + RECORDS) == [[], "Bad file descriptor"]


@every_pure
def test_the_pure_twin_leaves_it_to_the_definition(twin: Twin) -> None:
    assert twin.ask("import json\nprint(json.dumps(k.report_value(-1, 0, 0, 0, 0, 1, 100, 10, b'', b'')))") is False


# ---- this interpreter, any value -------------------------------------------------------------------------------------

leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(blacklist_categories=()))
    | st.binary()
)
hashables = st.recursive(leaves, lambda inner: st.lists(inner).map(tuple) | st.frozensets(inner), max_leaves=6)
plain = st.recursive(
    hashables,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(hashables, inner) | st.sets(hashables),
    max_leaves=20,
)


@functools.cache
def native_helper() -> Any:
    return native.load(False, str(helper(Path(sys.executable)).parent))


def native_record(value: object, budget: int, out: bytes = b"", err: bytes = b"") -> bytes:
    """The record of a value that is written in C; b"" for one that is not."""
    with tempfile.TemporaryFile() as file:
        limit = messages.MAX_TEXT
        native_helper().report_value(file.fileno(), 1, 2, 3, 4, value, budget, limit, out, err)
        return os.pread(file.fileno(), 1 << 22, 0)


def holds_long(encoded: bytes) -> bool:
    """Whether a number of more than 64 bits may be in there (a text with an I in it may look like one)."""
    return b"I" in encoded


@given(plain, st.integers(0, 400), st.binary(), st.binary())
def test_any_plain_value(value: object, budget: int, out: bytes, err: bytes) -> None:
    numbers = records.NUMBERS.pack(1, 2, 3, 4, 0)
    for most in (1 << 20, budget):
        given_ = native_record(value, most, out, err)
        try:
            encoding, _ = canonical.canon(value, most)
        except canonical.TooLarge:
            assert not given_
            continue
        assert given_ == context.value_record(numbers, value, most, out, err) or (not given_ and holds_long(encoding))
