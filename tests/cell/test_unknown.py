"""Attributes that nothing has: known is all that anything has, in every interpreter."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator

import pytest
from cruxcell.analysis import hermetic, unknown
from interpreters import Twin, pairs

MADE_UP = "def f(x):\n return x.no_such(1)"


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unknown, "_known", b"")
    kinds = list(object.__subclasses__())
    unknown.learn([object, *kinds, *(one for one in gc.get_objects() if type(one) is dict)])


def may_share(source: str) -> bool:
    """`no_such` stands for a name that nothing has, and that has no hash's place in common with another."""
    free = [name for name in (f"no_such_{at}" for at in range(99)) if unknown.is_unknown(name, ())]
    source = source.replace("no_such", free[0] if free else "no_such")
    return hermetic.is_hermetic(source, compile(source, "<program>", "exec", dont_inherit=True))


@pytest.mark.usefixtures("learned")
@pytest.mark.parametrize(
    ("source", "shares"),
    [
        (MADE_UP, True),
        ("def f(x): return [y.no_such for y in x]", True),
        ("import math\ndef f(x): return math.no_such(x)", True),
        ("def f(x): return x.no_such.gi_frame", False),
        ("def f(x): return x.__no_such__()", False),
        ("def f(x): return x._no_such()", False),
        ("def f(x): x.no_such = 1", False),
        ("import math\ndef f(x): return math.no_such(x) + x.sqrt(1)", True),  # which math has
        ("import itertools, string\ndef f(x): return string.capwords(x)", False),
        ("from math import no_such", False),  # whose text names a file
        ("def f(x): return x.gi_no_such", False),
        ("def f(x): return x.tb_frame", False),
    ],
)
def test_a_made_up_attribute_is_an_error_and_may_share(source: str, shares: bool):
    assert may_share(source) is shares


def test_where_nothing_was_noted_down_no_name_is_unknown(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(unknown, "_known", b"")
    assert not any(unknown.is_unknown(name, ()) for name in ("append", "no_such"))
    assert not may_share(MADE_UP)


@pytest.mark.usefixtures("learned")
def test_parts_of_a_run_are_known_and_modules_need_not_be_loaded():
    assert not any(unknown.is_unknown(f"gi_{at}", ()) for at in range(99))
    assert any(unknown.is_unknown(f"x_{at}", ["no_such_module"]) for at in range(99))


@pytest.mark.usefixtures("learned")
def test_two_names_in_one_place_are_both_known():
    place = hash("append") % unknown._PLACES
    other = next(name for name in (f"x{at}" for at in range(1 << 24)) if hash(name) % unknown._PLACES == place)
    assert not unknown.is_unknown(other, ())


class Placed(str):
    """A name whose hash says which place it has."""

    __slots__ = ()

    def __hash__(self) -> int:
        return int(self[1:])


def test_each_place_is_a_bit_of_its_own(monkeypatch: pytest.MonkeyPatch):
    """Of eight names in one byte, each is known by itself."""
    for known in range(8):
        monkeypatch.setattr(unknown, "_known", bytes([1 << known]))
        assert [place for place in range(8) if not unknown.is_unknown(Placed(f"x{place}"), ())] == [known]


class Own:
    own_attribute = 1


class OfNoHashNow:
    """A key whose hash can be asked for only while something lasts, as that of an object of another process."""

    lasts = True

    def __hash__(self) -> int:
        assert self.lasts
        return 1


OF_NO_HASH_NOW = {OfNoHashNow(): 1, "own_attribute": 2}
OfNoHashNow.lasts = False


@pytest.mark.parametrize(
    ("thing", "known"),
    [
        (Own, {"own_attribute"}),
        (OF_NO_HASH_NOW, {"own_attribute"}),
        ({"own_attribute": 1, 5: 2}, {"own_attribute"}),
        (5, set()),
        (vars(re), set()),
        ({"__name__": "re", "compile": 1}, {"__name__", "compile"}),  # no module, whatever it says
        ({"__name__": []}, {"__name__"}),
    ],
)
def test_what_is_learned(thing: object, known: set[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(unknown, "_known", b"")
    unknown.learn([thing])
    assert {name for name in ("own_attribute", "__name__", "compile") if not unknown.is_unknown(name, ())} == known
    assert sum(bin(byte).count("1") for byte in unknown._known) == len(known) or thing is Own


ASK = """
import collections, decimal, functools, gc, itertools, json, math, operator, re, string, sys, types, typing
from cruxcell.analysis import unknown
kinds, waiting = {object}, [object]
while waiting:
    for kind in type.__subclasses__(waiting.pop()):
        if kind not in kinds:
            kinds.add(kind)
            waiting.append(kind)
unknown.learn(list(kinds) + [one for one in gc.get_objects() if type(one) is dict] + [vars(sys)])
def g():
    try:
        yield 1
    except Exception as error:
        yield error
async def c(): pass
errors = []
for text in ("1/0", "{}[1]", "[].x", "x", "int('x')", "b'\\xff'.decode()", "iter([]).__next__()", "open('/x')", "1 +"):
    try:
        exec(text)
    except BaseException as error:
        errors += [error, error.__traceback__, error.__traceback__.tb_frame]
things = [
    1, 1.5, 1j, "", b"", bytearray(), (), [], {}, set(), frozenset(), None, ..., NotImplemented, True, range(3),
    slice(1), memoryview(b""), object(), type, int, len, "".join, str.join, dict.fromkeys, g, g(), g.__code__, c,
    int.real, iter([]), iter(()), iter({}), iter({}.keys()), iter({}.items()), iter(set()), iter(""), iter(b""),
    iter(range(3)), iter(int, 1), reversed([]), reversed({}), enumerate([]), zip(), map(len, []), filter(len, []),
    {}.keys(), {}.values(), {}.items(), property(), classmethod(len), staticmethod(len), super, itertools.count(),
    itertools.chain(),
    itertools.groupby([]), itertools.product(), functools.partial(len), functools.lru_cache(None)(len), lambda: 1,
    collections.deque(), collections.Counter(), collections.OrderedDict(), collections.defaultdict(), int.__add__,
    operator.itemgetter(1), decimal.Decimal(1), re.compile("x"), re.match("", ""), types.SimpleNamespace(), (1).__add__,
    types.ModuleType("m"), (lambda: g).__closure__, type.__dict__, types.MappingProxyType({}), *errors,
]
public = {name for thing in things for name in dir(thing) if name[0] != "_"}
made_up = ["no_such_%d" % at for at in range(99)]
print(json.dumps([sorted(name for name in public if unknown.is_unknown(name, ())),
                  any(unknown.is_unknown(name, ()) for name in made_up)]))
"""


@pytest.mark.parametrize("python", [pure for _, pure in pairs()], ids=str)
def test_what_anything_has_is_known(python: Twin):
    assert python.ask(ASK) == [[], True]


def test_the_parts_of_frames_and_code_are_known_by_their_names():
    def generator() -> Iterator[int]:
        yield 1

    parts = [name for thing in (generator(), generator.__code__) for name in dir(thing) if re.match("[a-z]+_", name)]
    assert all(name.startswith(unknown._PREFIXES) or name == "replace" for name in parts)
