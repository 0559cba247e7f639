"""Canonical bytes: equal for equal values, different for different ones, and never by asking the candidate."""

from __future__ import annotations

import enum
import re
import sys
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

import numpy
import pytest
from canonical_by_hand import BUDGET, canon
from cruxcell.values import canonical
from cruxcell.values.canonical import NotPlain

NAN = float("nan")


class Color(enum.IntEnum):
    RED = 1


class Words(str):
    pass


class Numbers(list):
    def __iter__(self):
        raise AssertionError("a method of the candidate was called")

    __len__ = __getitem__ = __repr__ = __reduce__ = __iter__  # type: ignore[assignment]


Point = namedtuple("Point", "x y")

EQUAL = [
    (True, 1),
    (1, 1.0),
    (0, -0.0),
    (False, 0j),
    (2**70, float(2**70)),
    (1.5, 1.5 + 0j),
    (b"a", bytearray(b"a")),
    ({1, 2}, frozenset([2, 1])),
    ({1: 2, "a": 3}, {"a": 3, 1.0: 2.0}),
    ([1, [True, (2,)]], [1.0, [1, (2.0,)]]),
    ({"b": {1}}, OrderedDict(b={1})),
    ({"a": 2}, Counter("aa")),
    ({"a": [1]}, defaultdict(list, a=[1])),
    (Color.RED, 1),
    ("a", Words("a")),
    ((1, 2), Point(1, 2)),
    (["a"], Numbers(["a"])),
    (0.5, Fraction(1, 2)),
    (2, [Fraction(4, 2)][0]),
    (-(2.0**-1000), Fraction(-1, 2**1000)),
    (2, Decimal("2.0")),
    (0.1, Decimal("0.1000000000000000055511151231257827021181583404541015625")),
    (0, Decimal("-0E+999999999")),
    (float("-inf"), Decimal("-Infinity")),
    ([1, {0.5}], [Decimal(1), {Fraction(1, 2)}]),
    ({1, "a"}, {1: 2, "a": 3}.keys()),
    ({1}, OrderedDict({1: 2}).keys()),
    ({(1, 2)}, {1: 2}.items()),
    (set(), {}.keys()),
    (b"ab", memoryview(b"ab")),
    (b"ac", memoryview(b"abc")[::2]),
]
DIFFERENT = [
    (None, 0),
    (0, ""),
    ("", b""),
    ("1", 1),
    ([], ()),
    ([], {}),
    (set(), {}),
    ([1], [[1]]),
    ([1, 2], [2, 1]),
    ([1, 23], [12, 3]),
    (["a", "b"], ["ab", ""]),
    (["a,b"], ["a", "b"]),
    ([[], []], [[[]]]),
    ({1: 2}, {2: 1}),
    ({1, 2}, {1, 2, 3}),
    (0.1 + 0.2, 0.3),
    (2**53, 2**53 + 1),
    (1e308 * 10, 10**400),
    (1j, 1),
    ("é", "e\u0301"),
    ("\ud800", "\\ud800"),
]


@pytest.mark.parametrize(("one", "other"), EQUAL, ids=lambda value: type(value).__name__)
def test_equal_values_are_one(one, other):
    assert one == other
    assert canon(one) == canon(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=ascii)
def test_different_values_are_two(one, other):
    assert one != other
    assert canon(one) != canon(other)


@pytest.mark.parametrize("value", [NAN, [NAN], {1: (NAN,)}, {NAN}, complex(0, NAN)], ids=repr)
def test_nan_is_marked_wherever_it_is(value):
    assert canonical.canon(value, BUDGET)[1]


class EqualsAll:
    def __eq__(self, other):
        return True

    __hash__ = None  # type: ignore[assignment]


class EqualList(list):
    def __eq__(self, other):
        return True

    __hash__ = None


class EqualInt(int):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


class Inherits(EqualList):
    pass


class HashedText(str):
    __slots__ = ()

    def __hash__(self):
        return 1


class HashedPair(tuple):
    __slots__ = ()

    def __hash__(self):
        return 1


class LikeAll(type):
    """The class of classes that say they are equal to any other."""

    def __eq__(cls, other):
        return True

    def __hash__(cls):
        return hash(list)


class LikeList(metaclass=LikeAll):
    def __iter__(self):
        return iter([])

    def __len__(self):
        return 0


def of_no_module() -> object:
    made: object = eval('type("OfNoModule", (tuple,), {"__eq__": lambda self, other: True, "__hash__": None})()', {})
    return made


class OwnZone(tzinfo):
    def utcoffset(self, when):
        raise SystemExit("code of the candidate ran")

    dst = tzname = utcoffset  # type: ignore[assignment]


class Exits:
    def __eq__(self, other):
        raise SystemExit("code of the candidate ran")

    __lt__ = __eq__
    __hash__ = None  # type: ignore[assignment]


class BorrowedZone(tzinfo, list):  # type: ignore[misc, type-arg]
    __slots__ = ()
    utcoffset = dst = tzname = list.count  # type: ignore[assignment]


class OwnDate(date):
    pass


def released() -> memoryview:
    view = memoryview(b"ab")
    view.release()
    return view


def fraction_of(numerator: object, denominator: object) -> Fraction:
    """As a program may leave it."""
    made = Fraction(1, 2)
    made._numerator, made._denominator = numerator, denominator  # type: ignore[attr-defined]
    return made


def other_fraction() -> object:
    """Of a class that has all of a Fraction but its place in the library."""
    made = type("Fraction", (), {"__slots__": ("_numerator", "_denominator"), "__module__": "fractions"})()
    made._numerator, made._denominator = 1, 2
    return made


def lying_fraction() -> object:
    made = type("Fraction", (), {"__slots__": ("_numerator",), "__module__": "fractions", "_denominator": 2})()
    made._numerator = 1
    return made


@pytest.mark.parametrize(
    "value",
    [
        *(
            EqualsAll(),
            EqualList(),
            EqualInt(3),
            Inherits(),
            [EqualInt(3)],
            {EqualInt(3): 1},
            {HashedText("a"): 1},
            {HashedPair((1, 2))},
            LikeList(),
            of_no_module(),
            object(),
            len,
            int,
        ),
        *(
            Decimal("1E+999999999"),
            Decimal("1E-999999999"),
            {1: 2}.values(),
            deque([EqualInt(3)]),
            slice(EqualsAll()),
            time(1, tzinfo=OwnZone()),
            datetime(2020, 1, 1, tzinfo=OwnZone()),
            datetime(2020, 1, 1, tzinfo=BorrowedZone([Exits()])),
            OwnDate(2020, 1, 1),
        ),
        *(memoryview(b"abcd").cast("H"), memoryview(b"abcd").cast("B", (2, 2)), released(), lying_fraction()),
        *(other_fraction(), fraction_of(EqualInt(1), 2), fraction_of(1, EqualInt(2)), fraction_of(1, 0)),
        type("Fraction", (), {"__module__": EqualsAll()})(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_says_itself_what_it_equals_is_not_plain(value):
    with pytest.raises(NotPlain):
        canonical.canon(value, BUDGET)


@pytest.mark.parametrize("kind", [tuple, list])
def test_where_a_container_ends_is_told(kind: type):
    """Or what stands in one could be what stands beside it."""
    empty, one = kind(), kind([1])
    forms = [kind([empty, 1]), kind([one]), kind([kind([empty, 1])]), kind([empty, one]), kind([kind([one])])]
    assert len({canonical.canon(each, BUDGET)[0] for each in forms}) == len(forms)


def test_a_decimal_is_a_number_up_to_a_bound_of_its_digits():
    """Its zeros count: a number of a million digits would be computed for ten characters."""
    assert canon(Decimal("12E4998")) == canon(12 * 10**4998)
    for more in ("12E4999", "1E5000", "12E-4999"):
        with pytest.raises(NotPlain):
            canonical.canon(Decimal(more), BUDGET)


NOON = datetime(2020, 1, 1, 12)
# What equals only its like, the same in another form, and what might be taken for it.
LIKES = [
    *(range(0), range(5, 5), range(1), range(0, 1, 9), range(3), range(0, 3, 1), range(0, 6, 2), range(0, 5, 2)),
    *(range(10**40), range(0, 10**40, 3), range(0, 10**40 + 1, 3), range(0, 10**40 + 2, 3)),
    *(range(9, 0, -3), range(9, 1, -3), range(9, -1, -3)),
    *(range(-(2**70), 2**70, 2**69), (0, 3), [0, 1, 2], slice(3), slice(None, 3, None), slice(1, 3), ("slice", 1, 3)),
    *(deque([1, 2]), deque([1, 2], 2), deque([1.0, True + 1]), deque([2, 1]), deque([deque([1])]), deque()),
    *(date(2020, 1, 1), datetime(2020, 1, 1), NOON, NOON.replace(fold=1), NOON.replace(microsecond=1), "2020-01-01"),
    *(NOON.replace(tzinfo=timezone.utc), NOON.replace(hour=14, tzinfo=timezone(timedelta(hours=2), "own"))),
    *(NOON.replace(tzinfo=timezone(timedelta(hours=2))), NOON.replace(fold=1, tzinfo=timezone.utc)),
    *(datetime(2020, 1, 2, tzinfo=timezone.utc), datetime(2020, 1, 1, 23, 59, 59, tzinfo=timezone.utc)),
    datetime(2020, 1, 1, 23, 59, 59, 999_999, timezone.utc),  # one microsecond before the first of these
    *(NOON.replace(tzinfo=timezone.utc, second=2**at) for at in range(6)),
    *(time(1, 2), time(1, 2, fold=1), time(1, 2, 3), timedelta(1), timedelta(hours=24), timedelta(0), timedelta(0, 1)),
    *(
        datetime.min.replace(tzinfo=timezone(timedelta(1) / 2)),
        datetime.max.replace(tzinfo=timezone(-timedelta(1) / 2)),
    ),
    *(datetime(1, 1, 1, 1, tzinfo=timezone(timedelta(hours=2))), time(1, tzinfo=timezone.utc), time(1)),
    *(time(3, tzinfo=timezone(timedelta(hours=2))), time(3, tzinfo=timezone.utc), time(1, fold=1, tzinfo=timezone.utc)),
    *(time(23, tzinfo=timezone(timedelta(hours=-2))), time(1, 0, 0, 5, tzinfo=timezone.utc)),
    # A day and so many seconds, and so many without the bits that a day's have.
    *(time(18, 13, 16, tzinfo=timezone(timedelta(hours=-23, minutes=-59))), time(5, 47, 44, tzinfo=timezone.utc)),
    *(time(1, 0, 0, 999_999, timezone.utc), time(1, 0, 1, tzinfo=timezone.utc)),
    *(time(1, tzinfo=timezone(timedelta(microseconds=1))), NOON.replace(tzinfo=timezone(timedelta(microseconds=1)))),
    NOON.replace(microsecond=1, tzinfo=timezone(timedelta(microseconds=1))),  # as in UTC without
    *(timezone.utc, timezone(timedelta(0), "own"), timezone(timedelta(hours=1)), timedelta(hours=1)),
    *(Fraction(1, 3), Fraction(2, 6), Fraction(1, 10), Decimal("0.1"), Decimal("0.10"), 0.1, Fraction(10**400, 3)),
    *(UUID(int=1), UUID("00000000-0000-0000-0000-000000000001"), UUID(int=2), 1, 3, 1 / 3, ("ratio", 1, 3)),
    *(re.compile("a"), re.compile("a", re.UNICODE), re.compile("a", re.DOTALL), re.compile(b"a"), re.compile("b"), "a"),
    *(NotImplemented, [NotImplemented], "NotImplemented"),
    *(..., None, "Ellipsis", [...], [range(3)], [range(0, 3, 1)], {"a": deque([range(3)])}, {"a": deque([range(3)])}),
]


@pytest.mark.parametrize("one", LIKES, ids=repr)
def test_what_equals_only_its_like_is_equal_to_nothing_else(one):
    assert [canon(one) == canon(other) for other in LIKES] == [one == other for other in LIKES]


@pytest.mark.parametrize("loaded", [None, "no module"])
def test_what_says_it_is_of_a_module_that_is_not_there_equals_nothing(monkeypatch: pytest.MonkeyPatch, loaded: object):
    kind = type("Fraction", (), {"__module__": "fractions"})
    monkeypatch.setitem(sys.modules, "fractions", loaded)
    with pytest.raises(NotPlain):
        canon(kind())


WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize(("kind", "plain"), [
    *((name, 100) for name in WHOLE), ("float64", 1.5), ("complex128", 1.5 + 2j), ("bool_", True), ("str_", "a"),
    ("bytes_", b"a"), ("float32", None), ("longdouble", None), ("datetime64", None),
])  # fmt: skip
def test_a_scalar_of_numpy_is_the_plain_value_that_it_equals_if_there_is_one(kind: str, plain: object):
    made = getattr(numpy, kind)
    if plain is None:
        with pytest.raises(NotPlain):
            canon(made(1, *["s"] * (kind == "datetime64")))
    else:
        assert canon(made(plain)) == canon(plain)


def test_a_class_in_place_of_a_librarys_has_no_code_of_another(monkeypatch):
    own = type("date", (list,), {"__module__": "datetime", "__eq__": object.__eq__, "__hash__": object.__hash__})
    own.toordinal = list.sort
    monkeypatch.setattr("datetime.date", own)
    with pytest.raises(NotPlain):
        canonical.canon(own([Exits(), Exits()]), BUDGET)


def test_a_class_cannot_lie_about_its_type():
    class Liar:
        __class__ = list

        def __len__(self):
            return 0

    with pytest.raises(NotPlain, match="Liar"):
        canonical.canon(Liar(), BUDGET)
