"""Time zones and distances of pytz and dateutil are in the other half what they were; nothing else is taken for one."""

from __future__ import annotations

import datetime
import sys
import zoneinfo
from fractions import Fraction
from glob import glob
from pathlib import Path
from typing import Any

import pytest
from containers_by_hand import ROOM, plain, u32
from cruxcell.values import calendars, transfer
from cruxcell.values.canonical import NotPlain
from cruxcell.values.containers import Garbled

pytz: Any = pytest.importorskip("pytz")
tz: Any = pytest.importorskip("dateutil.tz")
distances: Any = pytest.importorskip("dateutil.relativedelta")
BERLIN = pytz.timezone("Europe/Berlin")
SUMMER, LONG_AGO = datetime.datetime(2020, 7, 1), datetime.datetime(1880, 1, 1)
VALUES = [
    BERLIN, BERLIN.localize(SUMMER), BERLIN.localize(SUMMER).tzinfo, BERLIN.localize(LONG_AGO), pytz.utc,
    pytz.FixedOffset(90), pytz.FixedOffset(0), pytz.timezone("Etc/GMT+5"), pytz.timezone("US/Eastern"),
    tz.tzutc(), tz.tzlocal(), tz.tzoffset("here", 3600), tz.tzoffset(None, -5400.5), tz.gettz("Europe/Berlin"),
    tz.gettz("America/Argentina/Buenos_Aires"), *map(tz.tzfile, glob("/usr/share/zoneinfo/Asia/Tokyo")),
    datetime.datetime(2020, 7, 1, tzinfo=tz.gettz("Asia/Tokyo")), datetime.time(1, 2, tzinfo=tz.tzutc(), fold=1),
    distances.MO, distances.SU(-2), distances.relativedelta(), distances.relativedelta(months=1, leapdays=1),
    distances.relativedelta(days=1.5, weekday=distances.FR(+1), year=2020, hour=3, microseconds=-4),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_what_crosses_is_the_same(value: Any):
    again: Any = transfer.decode(transfer.encode([value, {"a": value}], ROOM))
    assert type(again[0]) is type(value)
    assert again == [value, {"a": value}]
    assert repr(again[0]) == repr(value)
    zone = getattr(value, "tzinfo", value)
    if "pytz" in type(zone).__module__:
        assert getattr(again[0], "tzinfo", again[0]) is zone, "pytz compares its zones by identity"


class Own(tz.tzoffset):  # type: ignore[misc]
    def utcoffset(self, _when: object) -> datetime.timedelta:
        return datetime.timedelta(0)


class OfPytz(pytz.tzinfo.DstTzInfo):  # type: ignore[misc]
    zone, __module__ = "Europe/Berlin", "pytz.tzfile"


class Named:
    zone, __module__ = "Europe/Berlin", "pytz.tzfile"


def moved(zone: Any) -> Any:
    """A zone of pytz' at a time that it never had."""
    made = datetime.tzinfo.__new__(type(zone))
    made.__dict__.update(_tzinfos={}, _utcoffset=datetime.timedelta(hours=7), _dst=datetime.timedelta(0), _tzname="X")
    return made


def renamed(zone: Any, name: str) -> Any:
    made = datetime.tzinfo.__new__(type(zone))
    made.__dict__.update(zone.__dict__, _key=name, _filename=name)
    return made


UNSENT = {
    "a subclass": Own("x", 60),
    "a zone of its own": datetime.tzinfo.__new__(OfPytz),
    "a name and a module": Named(),
    "a time it never had": moved(BERLIN),
    "a file that was renamed": renamed(tz.gettz("Europe/Berlin"), "Asia/Tokyo"),
    "a file elsewhere": renamed(tz.gettz("Europe/Berlin"), "/usr/share/zoneinfo/../zoneinfo/Europe/Berlin"),
    "a rule": tz.tzrange("A", 3600),
    "fields of other types": distances.relativedelta(days=Fraction(1, 2)),
    "a time in one": datetime.datetime(2020, 1, 1, tzinfo=Own("x", 60)),
}


@pytest.mark.parametrize("name", UNSENT)
def test_what_would_not_be_the_same_does_not_cross(name: str):
    with pytest.raises(NotPlain):
        transfer.encode(UNSENT[name], ROOM)
    assert not calendars.may_be_zone(UNSENT[name])


def test_a_zone_is_one_that_has_an_offset_or_a_name():
    assert [calendars.may_be_zone(each) for each in VALUES] == [isinstance(each, datetime.tzinfo) for each in VALUES]


def test_the_zones_of_the_library_are_of_a_fixed_offset_or_have_a_name():
    path = zoneinfo.TZPATH[0] if zoneinfo.TZPATH else ""
    assert all(
        map(calendars.may_be_zone, (None, datetime.timezone.utc, datetime.timezone(datetime.timedelta(hours=1))))
    )
    named, file = zoneinfo.ZoneInfo("Europe/Berlin"), Path(path, "Europe/Berlin")
    assert calendars.may_be_zone(named)
    if file.exists():
        with file.open("rb") as data:
            assert not calendars.may_be_zone(zoneinfo.ZoneInfo.from_file(data))


def test_a_zone_of_which_an_equal_one_of_another_class_would_be_made_does_not_cross(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(calendars._MAKE, "dateutil.utc", ("dateutil.tz", lambda module: module.tzoffset("UTC", 0)))
    assert tz.tzoffset("UTC", 0) == tz.tzutc()
    assert calendars.parts_of(tz.tzutc()) is None


HOSTILE: dict[str, tuple[Any, ...]] = {
    "no word": (),
    "a word that is no text": (1,),
    "a word that is a list": ([],),
    "a word that there is not": ("dateutil", "UTC"),
    "a module": ("os", "getcwd"),
    "a path": ("dateutil.file", "/usr/share/zoneinfo/UTC"),
    "a path upwards": ("dateutil.file", "../zoneinfo/UTC"),
    "a path upwards of pytz'": ("pytz", "../zoneinfo/UTC"),
    "an empty name": ("dateutil.file", ""),
    "a name that is a number": ("pytz", 1),
    "a zone that there is not": ("pytz", "Europe/Nowhere"),
    "a time it never had": ("pytz", "Europe/Berlin", 60, 0, "X"),
    "half a time": ("pytz", "Europe/Berlin", 3600),
    "an offset of days": ("pytz.offset", 10**6),
    "an offset that is a text": ("dateutil.offset", "x", "y"),
    "more than a zone": ("dateutil.utc", 1),
    "a list": ("dateutil.offset", [], 1),
    "half a distance": ("dateutil.distance", 1),
    "years that are texts": ("dateutil.distance", *["1"] * 15, None, None),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_honest_end_writes_is_not_read(name: str):
    parts = HOSTILE[name]
    with pytest.raises(Garbled):
        transfer.decode(b"VL" + u32(len(parts)) + plain(list(parts))[9:])
    with pytest.raises(ValueError):
        calendars.made(parts)


@pytest.mark.parametrize("name", [1, "", "/usr/share/zoneinfo/UTC", "../zoneinfo/UTC", "Europe/Berlin\n"])
def test_a_name_of_a_zone_leads_to_no_other_file(name: object):
    """Whether or not the host has that file."""
    with pytest.raises(ValueError, match="a name that no time zone has"):
        calendars._named(name)


def test_a_file_that_some_versions_know_by_its_path_only():
    zone = renamed(tz.gettz("Europe/Berlin"), "/usr/share/zoneinfo/Europe/Berlin")
    zone.__dict__.pop("_key")
    assert calendars.parts_of(zone) == (b"L", ("dateutil.file", "Europe/Berlin"))


def test_nothing_is_of_a_library_that_is_not_loaded(monkeypatch: pytest.MonkeyPatch):
    for name in ("pytz", "pytz.tzinfo", "dateutil.tz"):
        monkeypatch.delitem(sys.modules, name)
    assert calendars.parts_of(BERLIN) is calendars.parts_of(tz.tzutc()) is None


def test_a_library_that_is_not_there(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pytz", None)
    with pytest.raises(ValueError, match="pytz"):
        calendars.made(("pytz", "UTC"))
