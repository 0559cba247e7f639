"""How objects, classes and exceptions cross between the halves of a separated script, and what no sender may say."""

from __future__ import annotations

import asyncio
import collections
import enum
import gc
import http
import inspect
import math
import re
import signal
import statistics
import struct
import subprocess
import types
from collections.abc import Iterator
from typing import Any

import pytest
from cruxcell.jobs.separated.crossing import numbered, objects
from cruxcell.jobs.separated.crossing.exceptions import ANSWERED
from cruxcell.jobs.separated.crossing.objects import Objects
from cruxcell.jobs.separated.proxies import facts, remote, runs
from cruxcell.jobs.separated.proxies.doubts import Doubts
from cruxcell.values import reader, writer
from cruxcell.values.canonical import TooLarge
from cruxcell.values.containers import Containers, Garbled
from cruxcell.values.reader import Reader
from cruxcell.values.writer import Writer

own_dict: Any = vars(type)["__dict__"].__get__  # of a proxy's class: `vars` asks the other half


class End:
    """One half; in the place of its connection, as far as making proxies needs one."""

    def __init__(self, is_test: bool) -> None:
        self.is_test = is_test
        self.objects, self.containers = Objects(is_test), Containers(0 if is_test else 1)
        self.doubts = Doubts()
        self.has_cancelled, self.named = False, frozenset[str]()
        self.asked: list[tuple[Any, ...]] = []

    def ask(self, *question: object) -> object:
        self.asked.append(question)
        return 8

    def means_a_class(self, _cls: object) -> bool:
        return False

    def alone_since(self, time: int) -> int:
        return time

    def call(self, target: object, arguments: object, keywords: object) -> object:
        return self.ask("call", target, arguments, keywords)

    def sends(self, value: object) -> bytes:
        runs.connection[:] = [self]
        written = Writer(self.containers, self.objects)
        written.value(value, 0)
        self.containers.settle()
        return written.bytes(1 << 20)

    def reads(self, data: bytes) -> Any:
        runs.connection[:] = [self]
        reader = Reader(data, self.containers, self.objects)
        value = reader.checked(reader.value, 1)
        reader.end()
        self.containers.settle()
        return value


@pytest.fixture
def test() -> Iterator[End]:
    before = list(runs.connection)
    yield End(True)
    runs.connection[:] = before


@pytest.fixture
def candidate() -> End:
    return End(False)


def u32(*numbers: int) -> bytes:
    return struct.pack(f"<{len(numbers)}I", *numbers)


def text(data: str) -> bytes:
    return b"s" + u32(len(data)) + data.encode()


def small(number: int) -> bytes:
    return b"j" + struct.pack("<i", number)


def shared(name: str, module: str = "builtins") -> bytes:
    return b"G" + text(module) + text(name)


def described(
    number: int, *bases: bytes, name: str = "A", offers: str = "", overrides: str = "", stands: str = "",
    count: bytes = b"",
) -> bytes:  # fmt: skip
    head = b"K" + u32(number) + text(name) + (count or small(len(bases)))
    return head + b"".join(bases) + text(offers) + text(overrides) + text(stands)


def nested_bases(depth: int) -> bytes:
    """A class that is derived from one that is derived from one, each described where it is first named."""
    found = shared("ValueError")
    for number in range(depth):
        found = described(1 + number, found)
    return found


def error(cls: bytes, number: int = 0, *, args: bytes = b"", made_of: bytes = b"N", cause: bytes = b"N",
          context: bytes = b"N", said: str = "", count: bytes = b"") -> bytes:  # fmt: skip
    count = count or small(1 if args else 0)
    return b"X" + u32(number) + cls + text(said) + count + args + made_of + b"N" + cause + context


# ---- how it is written -----------------------------------------------------------------------------------------------


class Plain:
    pass


class Numbers(list):  # type: ignore[type-arg]
    def append(self, value: object) -> None:
        list.append(self, value)


class More(Numbers):
    pass


class Frozen(frozenset):  # type: ignore[type-arg]
    pass


class Pair(tuple):  # type: ignore[type-arg]
    __slots__ = ()


class Kind(enum.IntEnum):
    ONE = 1


class Mishap(ValueError):
    pass


for each in (Plain, Numbers, More, Frozen, Pair, Kind, Mishap):
    each.__module__ = "__main__"  # of the program, not of what was imported


@pytest.mark.parametrize(
    ("value", "of_test", "of_candidate"),
    [
        (len, b"G", b"G"),
        (eval, b"G", b"o"),
        (str.upper, b"G", b"o"),
        ([].append, b"o", b"o"),
        (statistics.mean, b"o", b"o"),
        (math, b"M", b"o"),
        (dict, b"G", b"G"),
        (classmethod, b"G", b"K"),
        (Plain, b"K", b"K"),
        (Plain(), b"o", b"o"),
        (Numbers(), b"h", b"h"),
        (Kind.ONE, b"h", b"h"),
        (KeyError("a"), b"X", b"X"),
    ],
)
def test_how_a_thing_is_written(test: End, candidate: End, value: object, of_test: bytes, of_candidate: bytes):
    assert (test.sends(value)[:1], candidate.sends(value)[:1]) == (of_test, of_candidate)


def test_values_with_a_class_of_their_own_are_that_value(test: End, candidate: End):
    for value in (Numbers([1, 2]), More([1]), Frozen([1, 2]), Pair((1, 2)), Kind.ONE):
        found = test.reads(candidate.sends(value))
        assert (found, type(found).__name__) == (value, type(value).__name__)
    first, other = test.reads(candidate.sends([Numbers([1]), More([2])]))
    assert isinstance(other, type(first))
    assert not isinstance(first, type(other))


def test_an_object_is_one_proxy_as_long_as_there_is_one(test: End, candidate: End):
    thing = Plain()
    first = test.reads(candidate.sends(thing))
    assert test.reads(candidate.sends([thing, thing])) == [first, first]
    assert candidate.reads(test.sends(first)) is thing
    assert candidate.reads(test.sends(type(first))) is Plain


def test_what_is_let_go_of_is_told_once(test: End, candidate: End):
    things = [Plain() for _ in range(3)]
    found = test.reads(candidate.sends(things))
    numbers = [facts.number_of(each) for each in found]
    del found
    test.containers.sweep()
    test.containers.gone.clear()
    gc.collect()
    assert sorted(test.objects.held.dead) == numbers
    again = test.reads(candidate.sends(things[1]))
    assert sorted(test.objects.held.dead) == [numbers[0], numbers[2]]
    test.objects.held._died(numbers[1])
    test.objects.held._died(10_000)
    assert sorted(test.objects.held.dead) == [numbers[0], numbers[2]]
    candidate.objects.shown.release([numbers[0], numbers[2], 10_000])
    shows = [each in candidate.objects.shown for each in things]
    assert (shows, facts.number_of(again)) == ([False, True, False], numbers[1])


def test_a_value_that_was_shown_is_the_same_again(test: End, candidate: End):
    kept = [Pair((1, 2)), Kind.ONE, Mishap("a")]
    first = [test.reads(candidate.sends(each)) for each in kept]
    assert all(test.reads(candidate.sends(each)) is before for each, before in zip(kept, first))


def test_a_program_s_own_error_of_a_builtin_s_name_is_one_object(test: End, candidate: End):
    mine = type("ValueError", (ValueError,), {"__module__": "__main__"})("a")
    assert test.reads(candidate.sends(mine)) is test.reads(candidate.sends(mine))
    plain = ValueError("a")
    assert test.reads(candidate.sends(plain)) is not test.reads(candidate.sends(plain))


def test_an_error_of_the_test_comes_back_and_tells_no_cause(test: End, candidate: End):
    raised = ValueError("a")
    raised.__cause__ = raised.__context__ = KeyError(7)
    found = candidate.reads(test.sends(raised))
    assert (type(found), found.args, found.__cause__, found.__context__) == (ValueError, ("a",), None, None)
    assert test.reads(candidate.sends([found])) == [raised]


@pytest.mark.parametrize("name", ["__cause__", "__context__"])
def test_an_error_of_the_candidate_tells_why(test: End, candidate: End, name: str):
    raised = ValueError("a")
    setattr(raised, name, KeyError(7))
    found = test.reads(candidate.sends(raised))
    assert (type(found.__context__), found.__context__.args) == (KeyError, (7,))
    assert (found.__cause__ is None) == (name == "__context__")


def test_an_error_from_none_tells_its_context_and_one_with_a_cause_nothing_else(test: End, candidate: End):
    raised = ValueError("a")
    assert test.reads(candidate.sends(raised)).__suppress_context__ is False
    raised.__context__ = KeyError(7)
    assert test.reads(candidate.sends(raised)).__suppress_context__ is False
    raised.__suppress_context__ = True
    found = test.reads(candidate.sends(raised))
    assert (found.__suppress_context__, vars(found), test.objects.held._kept) == (True, {}, {})
    assert (type(found.__context__), found.__context__.args, found.__cause__) == (KeyError, (7,), None)
    raised.__cause__ = KeyError(8)
    told = candidate.sends(raised)
    raised.__context__ = None
    assert candidate.sends(raised) == told


def test_only_a_value_of_the_test_names_any_class_of_the_library(test: End, candidate: End):
    """Of a candidate's the test believes no such name."""
    value = re.I | re.M
    assert b"\0\0\0re:RegexFlag" in test.sends(value)  # a text by itself
    assert test.reads(candidate.sends(value)).__class__ is not re.RegexFlag


def test_a_member_of_an_enum_of_the_library_is_found_by_its_name(test: End, candidate: End):
    class Own(enum.Enum):
        A = 1

    for value in (http.HTTPStatus.OK, signal.Signals.SIGINT, inspect.Parameter.KEYWORD_ONLY, re.I):
        assert test.reads(candidate.sends(value)) is value
        assert candidate.reads(test.sends(value)) is value
    assert test.reads(candidate.sends(Own.A)) is not Own.A
    for path in (
        "HTTPStatus.mro",
        "HTTPStatus.OK.phrase",
        "HTTPStatus",
        "HTTPStatus.",
        "HTTPStatus._member_map_",
        "x.y",
    ):
        with pytest.raises(Garbled):
            test.reads(shared(path, "http"))


def test_a_candidate_names_no_error_that_shows_memory_but_where_it_raises_it(test: End, candidate: End):
    assert test.reads(candidate.sends(UnicodeDecodeError)) is not UnicodeDecodeError
    with pytest.raises(Garbled):
        test.reads(shared("UnicodeDecodeError"))
    assert type(test.reads(candidate.sends(UnicodeDecodeError("a", b"b", 0, 1, "c")))) is UnicodeDecodeError


ENDING = (SystemExit, StopIteration, StopAsyncIteration, GeneratorExit)


@pytest.mark.parametrize("kind", ENDING)
def test_what_ends_a_script_or_iteration_is_nothing_that_a_candidate_gives(test: End, candidate: End, kind: type):
    """What it raises is an error; the class alone is the candidate's, and what derives from it is that."""
    assert test.reads(candidate.sends(kind)) is not kind
    with pytest.raises(Garbled):
        test.reads(shared(kind.__name__))
    own = type("Own", (kind,), {"__module__": "__main__"})
    derived = test.reads(candidate.sends(own))
    assert issubclass(derived, kind)
    raised = test.reads(error(shared(kind.__name__), 71))
    assert type(raised) is kind
    assert (ANSWERED in vars(raised)) is (kind is SystemExit)
    test.objects.is_given = True
    for test.objects.is_question in (False, True):
        for number in (0, 71, 72):  # one that it has raised before has its number
            given = test.reads(error(shared(kind.__name__), number))
            ends = not test.objects.is_question and kind is SystemExit
            assert issubclass(type(given), ENDING) is ends
            assert isinstance(given, kind)
            assert issubclass(type(given), Exception) is issubclass(kind, Exception)
        made = own(8)
        found = test.reads(candidate.sends(made))
        assert isinstance(found, derived)
        assert test.reads(candidate.sends(made)) is found
        assert found.args == (8,)
        assert issubclass(type(found), ENDING) is ends
    assert type(test.reads(error(shared("KeyError")))) is KeyError
    candidate.objects.is_question = candidate.objects.is_given = True
    assert type(candidate.reads(test.sends(kind()))) is kind


def test_what_an_error_holds_is_given_and_not_raised(test: End):
    within = b"X" + u32(0) + shared("ValueError") + text("") + small(1) + error(shared("StopIteration"))
    raised = test.reads(within + b"NN" + error(shared("StopIteration")) + b"N")
    for inner in (raised.args[0], raised.__cause__):
        assert isinstance(inner, StopIteration)
        assert not issubclass(type(inner), StopIteration)
    assert type(test.reads(error(shared("StopIteration")))) is StopIteration


@pytest.mark.parametrize(
    ("kind", "held"), [(StopIteration, "value"), (StopAsyncIteration, "args"), (SystemExit, "code")]
)
def test_what_ends_an_iteration_holds_what_it_was_made_of(test: End, candidate: End, kind: Any, held: str):
    test.objects.is_given = test.objects.is_question = True
    for made in (kind(), kind(8), kind([1, 2])):
        assert getattr(test.reads(candidate.sends(made)), held) == getattr(made, held)


@pytest.mark.parametrize("is_meant", [False, True])
def test_what_cancels_is_given_where_the_script_means_it(test: End, candidate: End, is_meant: bool):
    test.objects.is_given, test.has_cancelled = True, is_meant
    given = test.reads(candidate.sends(asyncio.CancelledError()))
    assert isinstance(given, asyncio.CancelledError)
    assert issubclass(type(given), asyncio.CancelledError) is is_meant


def test_an_exit_of_the_script_s_that_comes_back_is_none_of_its_own(test: End, candidate: End):
    own = SystemExit(0)
    test.reads(candidate.sends(candidate.reads(test.sends(own))))
    assert ANSWERED in vars(own)


def test_a_program_s_error_is_asked_for_its_attributes(test: End, candidate: End):
    """Neither a library's own `__init__` sets them here, nor are those believed that come with it."""
    cls = type("Own", (subprocess.CalledProcessError,), {"__module__": "__main__"})
    found = test.reads(candidate.sends(cls(1, "a")))
    assert (found.args, {"returncode", "cmd"}.intersection(vars(found))) == ((1, "a"), set())
    own = described(70, shared("ValueError")) + text("") + small(0) + b"N" + b"t" + u32(3) + b"N" + b"l" + u32(901, 0)
    more = b"t" + u32(1) + b"t" + u32(2) + text("code") + small(7) + u32(903, 905, 907)
    assert "code" not in vars(test.reads(b"X" + u32(90) + own + more + b"NN"))


def test_a_list_that_is_nested_too_deep_is_an_object(test: End, candidate: End, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(writer, "MAX_DEPTH", 5)
    deep: Any = []
    for _ in range(10):
        deep = [deep]
    found = test.reads(candidate.sends(deep))
    while isinstance(found, list):
        (found,) = found
    assert facts.number_of(found)


def test_a_value_of_a_class_is_read_as_deep_as_it_is_written(
    test: End, candidate: End, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(writer, "MAX_DEPTH", 20)
    monkeypatch.setattr(reader, "MAX_DEPTH", 5)  # which reads 20 more
    deep: Any = ()
    cls: Any = type("Own", (tuple,), {"__module__": "__main__"})
    for _ in range(10):
        deep = cls([deep])
    found, depth = test.reads(candidate.sends(deep)), 0
    while found:
        (found,), depth = found, depth + 1
    assert depth == 10


def test_the_name_of_a_class_is_a_text(test: End, candidate: End):
    name = type("Name", (str,), {})("A")
    assert type(test.reads(candidate.sends(type(name, (), {"__module__": "__main__"})()))).__name__ == "?"


def test_errors_that_are_each_other_s_cause_come_to_an_end(test: End, candidate: End):
    first, other = ValueError("a"), KeyError("b")
    first.__cause__, other.__cause__ = other, first
    found, count = test.reads(candidate.sends(first)), 0
    while found is not None:
        found, count = found.__cause__, count + 1
    assert 10 < count < 50


def test_an_error_is_shown_as_its_class_says(test: End, candidate: End):
    shown = type("Shown", (ValueError,), {"__repr__": lambda _self: "<shown>", "__module__": "__main__"})
    assert repr(test.reads(candidate.sends(shown("a")))) == "<shown>"
    assert repr(test.reads(candidate.sends(Mishap("a")))) == "Mishap('a')"
    odd = described(70, shared("ValueError")), text(""), small(0), b"N", b"t" + u32(2) + small(8) + b"N" + u32(901)
    assert repr(test.reads(b"X" + u32(90) + b"".join(odd) + b"NN")) == "A()"


def test_modules_cross_to_the_candidate_alone(test: End, candidate: End):
    data = test.sends(math)
    assert candidate.reads(data) is math
    with pytest.raises(Garbled, match="a module"):
        test.reads(data)


def test_the_numbers_of_objects_and_classes_are_bounded(test: End, candidate: End, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(numbered, "MAX_OBJECTS", 2)
    monkeypatch.setattr(objects, "MAX_CLASSES", 2)
    things = [Plain()]
    candidate.sends(things[0])
    with pytest.raises(TooLarge):
        candidate.sends(Plain())
    assert candidate.sends(things[0])
    test.reads(described(1))
    test.reads(described(2))
    with pytest.raises(Garbled, match="a class that cannot be"):
        test.reads(described(3))
    kept = [test.reads(b"o" + u32(number) + b"k" + u32(1)) for number in (1, 2)]
    with pytest.raises(Garbled, match="more objects"):
        test.reads(b"o" + u32(3) + b"k" + u32(1))
    assert test.reads(b"o" + u32(2) + b"k" + u32(1)) is kept[1]


def test_values_with_a_class_of_their_own_count_beside_objects(test: End, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(numbered, "MAX_OBJECTS", 2)
    kept = [test.reads(b"o" + u32(1) + described(1)), test.reads(b"h" + u32(2) + INT + small(8))]
    with pytest.raises(Garbled, match="more objects"):
        test.reads(b"h" + u32(3) + b"k" + u32(50) + small(9))
    assert kept[1] == 8


# ---- what a candidate may not say ------------------------------------------------------------------------------------

INT = described(50, shared("int"))
LIST = described(51, shared("list"))
ERROR = described(52, shared("ValueError"))
OPAQUE = described(53)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"?", None),
        (shared("math", "fractions"), "a module"),
        (shared("eval"), "a name that may not"),
        (b"k" + u32(9), None),
        (described(1, count=small(-1)), "a class that cannot be"),
        (described(1, *[shared("ValueError")] * 65), "a class that cannot be"),
        (described(1, count=text("a")), None),
        (described(1, small(8)), None),
        (described(1, shared("map")), "a base that cannot be"),
        (described(1, shared("bool")), "a base that cannot be"),
        (described(1, shared("object")), "a base that cannot be"),
        (b"l" + u32(101, 2) + described(1) + described(1), "a class that cannot be"),
        (nested_bases(321), "a depth that cannot be"),
        (b"o" + u32(1) + shared("int"), "a class that cannot be"),
        (b"o" + u32(1) + INT, "a class that cannot be"),
        (b"o" + u32(1) + ERROR, "a class that cannot be"),
        (b"h" + u32(1) + OPAQUE + small(8), "a class that cannot be"),
        (b"h" + u32(1) + shared("OrderedDict", "collections") + b"+" + u32(101, 0), "a class that cannot be"),
        (b"h" + u32(1) + INT + text("a"), "not what its class says"),
        (b"h" + u32(1) + INT + b"T", "not what its class says"),
        (b"h" + u32(1) + LIST + b"-" + u32(101, 0), "a value that cannot be"),
        (b"l" + u32(101, 2) + b"h" + u32(1) + LIST + b"+" + u32(103, 0) + b"h" + u32(1) + b"k" + u32(51) + b"+"
            + u32(105, 0), "a value that cannot be"),
        (b"l" + u32(101, 2) + b"o" + u32(1) + OPAQUE + b"o" + u32(1) + described(54), "of another class"),
        (error(small(8)), None),
        (error(shared("int")), "an exception that cannot be"),
        (error(OPAQUE), "an exception that cannot be"),
        (error(shared("ValueError"), count=small(-1)), "an exception that cannot be"),
        (error(shared("ValueError"), count=small(1 << 17)), "an exception that cannot be"),
        (error(shared("ValueError"), count=text("a")), None),
        (error(shared("OSError"), made_of=small(8)), "an exception that cannot be"),
        (error(shared("OSError"), made_of=b"t" + u32(1) + b"f" + bytes(8) + u32(101)), "an exception that cannot be"),
    ],
)  # fmt: skip
def test_what_no_candidate_may_say(test: End, data: bytes, why: str | None):
    with pytest.raises(Garbled, match=why):
        test.reads(data)


def test_a_value_keeps_its_class_and_changes_with_a_new_one(test: End):
    value = test.reads(b"h" + u32(1) + INT + small(8))
    assert test.reads(b"h" + u32(1) + b"k" + u32(50) + small(9)) is value
    other = test.reads(b"h" + u32(1) + described(60, shared("int")) + small(9))
    assert (other, type(other) is type(value)) == (9, False)


def test_a_class_has_the_methods_that_it_may_have_and_no_others(test: End):
    number = test.reads(b"h" + u32(1) + described(1, shared("int"), offers="__eq__", overrides="__eq__\0__class__")
                        + small(8))  # fmt: skip
    assert (number == 8, number == 9, type(number).__class__, test.asked) == (True, False, remote.RemoteType, [])
    row = test.reads(b"h" + u32(2) + described(2, shared("list"), overrides="append\0__eq__") + b"+" + u32(101, 0))
    assert row == []
    assert (row.append == [], [each[0] for each in test.asked]) == (False, ["get"])
    thing = test.reads(b"o" + u32(3) + described(3, offers="__len__\0send\0__eq__\0__hash__\0__init__\0nonsense"))
    assert sorted(set(own_dict(type(thing))) & {"send", "__len__", "__eq__", "__hash__", "__init__", "nonsense"}) == [
        "__eq__", "__hash__", "__len__",
    ]  # fmt: skip
    assert (thing == 8, hash(thing) == object.__hash__(thing)) == (False, True)
    assert len(test.asked) == 1  # it is the test's own answer


@pytest.mark.parametrize(("offers", "found"), [("__next__\0send", True), ("__await__\0send", True), ("send", False)])
def test_what_no_generator_or_coroutine_has_by_such_a_name_is_asked_for(test: End, offers: str, found: bool):
    thing = test.reads(b"o" + u32(3) + described(3, offers=offers))
    assert ("send" in own_dict(type(thing))) == found


def test_what_a_class_stands_for(test: End):
    assert test.reads(described(1, stands="builtins:KeyError")) is KeyError
    thing = test.reads(b"o" + u32(1) + described(2, stands="map"))
    assert isinstance(thing, map)
    assert type(thing) is not map
    assert not isinstance(test.reads(b"o" + u32(2) + described(3, stands="int")), int)


def test_an_object_that_holds_values_stands_for_no_class(test: End):
    """What is compared with it would take its word for them."""
    said = [test.sends(each) for each in (collections.UserDict(), types.SimpleNamespace())]
    assert [each.endswith(name) for each, name in zip(said, (b"UserDict", b"types:SimpleNamespace"))] == [False, True]


def test_bases_that_do_not_go_together_are_but_the_first(test: End):
    found = test.reads(described(1, described(2, name="B"), shared("int"), name="C" + "x" * 300))
    assert ([each.__name__ for each in type.mro(found)[1:3]], found.__bases__) == (["RemoteBase", "int"], (int,))
    assert (found.__name__[:3], len(found.__name__)) == ("Cxx", 200)
    odd = test.reads(described(3, shared("ValueError"), shared("int")))
    assert (issubclass(odd, ValueError), issubclass(odd, int)) == (True, False)


@pytest.mark.parametrize(
    ("told", "name", "qualified"),
    [("C", "C", "C"), ("C\0A.C", "C", "A.C"), ("C\0A\0.C", "C", "A.C"), ("C\0" + "x" * 500, "C", "x" * 400)],
)
def test_a_class_has_its_qualified_name(test: End, told: str, name: str, qualified: str):
    found = test.reads(described(1, name=told))
    assert (found.__name__, found.__qualname__) == (name, qualified)


def test_an_error_of_a_candidate(test: End):
    found = test.reads(error(ERROR, 1, args=small(7), said="seven", cause=error(shared("KeyError"), args=small(8))))
    assert (isinstance(found, ValueError), found.args, str(found)) == (True, (7,), "seven")
    assert found.__cause__.args == found.__context__.args == (8,)
    assert test.reads(error(b"k" + u32(52), 1, said="other")) is found
    alone = test.reads(error(shared("KeyError"), cause=small(8), context=text("a")))
    assert (alone.__cause__, alone.__context__) == (None, None)
    made = test.reads(error(shared("OSError"), made_of=b"t" + u32(3) + small(2) + text("no") + text("a") + u32(101),
                            said="[Errno 2] no: 'a'"))  # fmt: skip
    assert (made.errno, made.filename) == (2, "a")
    named = test.reads(error(shared("KeyError"), 7))
    assert test.reads(error(shared("KeyError"), 7)) is named


class Says(type):
    """Its classes say that they equal whatever they are compared with, and have no hash."""

    def __eq__(cls, other: object) -> bool:
        raise SystemExit("it was asked")

    __hash__ = None  # type: ignore[assignment]


def of_bases(*bases: type) -> Any:
    return Says("Odd", bases, {"__module__": __name__, "__call__": lambda self: 1})


ODD = of_bases()
ODD_ERROR = of_bases(Exception)


def _in_builtins() -> Any:
    cls = of_bases()
    cls.__module__ = "builtins"
    return cls()


def _in_collections() -> Any:
    cls = of_bases(dict)
    cls.__module__ = "collections"
    return cls({1: 2})


@pytest.mark.parametrize(
    "value",
    [
        ODD, ODD(), [ODD(), ODD()], {1: ODD}, _in_builtins(), _in_collections(), ODD_ERROR("text"), ValueError(ODD()),
        OSError(2, ODD()), collections.defaultdict(ODD, {1: 2}), collections.defaultdict(ODD(), {1: 2}),
        *[of_bases(base)() for base in (int, float, str, bytes, tuple, list, dict, set, frozenset, bytearray)],
        of_bases(collections.Counter)("ab"),
    ],
)  # fmt: skip
def test_no_metaclass_is_asked_what_its_classes_equal(test: End, candidate: End, value: Any):
    found = test.reads(candidate.sends(value))
    back = candidate.reads(test.sends(found))
    assert back is value or (isinstance(value, (ValueError, OSError)) and str(back) == str(value))  # which is made anew
    candidate.sends([value])  # and what has changed of it since
    test.sends([value])
