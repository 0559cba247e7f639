"""How images of PIL's cross: what comes out is what went in, and what is done to one is done to the other."""

from __future__ import annotations

from typing import Any

import pytest
from containers_by_hand import Ends
from cruxcell.values import images
from cruxcell.values.canonical import NotPlain
from cruxcell.values.containers import Containers, Garbled
from cruxcell.values.reader import Reader
from cruxcell.values.writer import Writer

Image: Any = pytest.importorskip("PIL.Image")
Draw: Any = pytest.importorskip("PIL.ImageDraw")
NOTES = {"dpi": (72, 72.5), "comment": b"c", "title": "t", "loop": 0, "none": None, "flag": True}


def image(mode: str = "RGB", size: tuple[int, int] = (9, 3), **notes: object) -> Any:
    made = Image.new(mode, size)
    if 0 not in size:
        made.putpixel((1, 0), made.getpixel((0, 0)) if mode == "F" else (7,) * len(made.getbands()))
    made.info.update(notes)
    return made


def is_same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and one == other and one.info == other.info and one.readonly == other.readonly


@pytest.mark.parametrize("size", [(9, 3), (0, 3), (3, 0), (0, 0)])
@pytest.mark.parametrize("mode", sorted(images._MODES))
def test_an_image_crosses_whatever_its_mode(mode: str, size: tuple[int, int]):
    ends, mine = Ends(), image(mode, size, **NOTES)
    theirs = ends.send(mine)
    assert is_same(theirs, mine)
    assert ends.turned().send(theirs) is mine
    assert ends.one.changed() == ends.other.changed() == []


def test_what_is_drawn_on_one_end_is_there_on_the_other_and_what_draws_goes_on():
    ends, mine = Ends(), image()
    theirs = ends.send(mine)
    pen = Draw.Draw(theirs)
    mine.putpixel((2, 2), (1, 2, 3))
    ends.refresh()
    assert (is_same(theirs, mine), theirs.getpixel((2, 2))) == (True, (1, 2, 3))
    pen.point((0, 0), (4, 5, 6))
    ends.turned().refresh()
    assert (is_same(theirs, mine), mine.getpixel((0, 0))) == (True, (4, 5, 6))


def test_what_is_drawn_on_an_image_that_shows_other_memory_is_not_drawn_there():
    pixels = bytes(12)
    ends, mine = Ends(), Image.frombuffer("L", (4, 3), pixels, "raw", "L", 0, 1)
    theirs = ends.send(mine)
    theirs.putpixel((0, 0), 255)
    ends.turned().refresh()
    assert (is_same(theirs, mine), mine.getpixel((0, 0)), pixels) == (True, 255, bytes(12))


@pytest.mark.parametrize(
    "change",
    [
        lambda value: value.thumbnail((2, 2)),
        lambda value: value.putalpha(9),
        lambda value: value.info.update(dpi=(1, 1)),
        lambda value: value.info.update(scale=0.5),
        lambda value: setattr(value, "readonly", 1),
    ],
    ids=["another size", "another mode", "a note", "a number", "not to be written to"],
)
def test_what_else_changes_is_told(change: Any):
    ends, mine = Ends(), image()
    theirs = ends.send(mine)
    change(mine)
    assert ends.one.changed()
    ends.refresh()
    assert is_same(theirs, mine)


def test_what_saving_and_reading_notes_leaves_behind_is_nothing_of_it(tmp_path: Any):
    ends, mine = Ends(), image()
    mine.save(tmp_path / "a.png")
    mine.getexif()
    theirs = ends.send(mine)
    theirs.save(tmp_path / "b.png")
    assert (is_same(theirs, mine), ends.other.changed()) == (True, [])


class Own(Image.Image):  # type: ignore[misc]
    pass


def changed(**attributes: Any) -> Any:
    made = image()
    vars(made).update(attributes)
    return made


OTHERS = {
    "a subclass": Own(),
    "an attribute": changed(note="mine"),
    "a palette": image("L").convert("P"),
    "a palette of its own": changed(palette=object()),
    "a size that cannot be": changed(_size=(-1, 1)),
    "an object in a note": image(note=object()),
    "a list in a note": image(note=[1]),
    "a tuple of lists in a note": image(note=([1],)),
    "a note with no name": changed(info={1: 2}),
    "notes of another class": changed(info=type("D", (dict,), {})()),
    "nothing yet": Image.Image(),
    "large": Image.new("L", (images._MOST + 1, 1)),
    "long": Image.new("L", (images._LONGEST + 1, 1)),
}


@pytest.mark.parametrize("value", OTHERS.values(), ids=OTHERS)
def test_others_are_objects(value: Any):
    with pytest.raises(NotPlain):
        Writer(Containers()).value(value, 0)


def test_a_class_of_the_same_name_is_another():
    forged = type("Image", (), {"__module__": "PIL.Image", "mode": "L", "size": (1, 1), "info": {}})
    assert not images.is_own(forged)
    with pytest.raises(NotPlain):
        Writer(Containers()).value(forged(), 0)


def test_one_that_is_what_it_cannot_by_now_does_not_cross_any_more():
    ends, mine = Ends(), image("L")
    ends.send(mine)
    mine.putpalette([0, 1, 2])
    assert ends.one.changed()
    with pytest.raises(NotPlain, match="image"):
        ends.refresh()


def message(*parts: Any) -> bytes:
    writer = Writer(Containers(1))
    writer.items(list(parts), 0)
    return b"Vi" + (101).to_bytes(4, "little") + b"N" + b"".join(writer.parts)


GOOD = ("L", (2, 1), b"ab", (("dpi", 1),), False)


def test_what_is_written_by_hand_is_read():
    reader = Reader(message(*GOOD), Containers(0))
    found = reader.checked(reader.value, 0)
    assert (found.mode, found.size, found.tobytes(), found.info) == ("L", (2, 1), b"ab", {"dpi": 1})


WRONG: dict[int, list[Any]] = {
    0: ["P", "", 3, "XYZ", ["L"]],
    1: [(2, 2), (-2, -1), (2,), [2, 1], (2.0, 1), (True, 2), (0, 1 << 40)],
    2: [b"abc", b"", "ab", bytearray(b"ab")],
    3: [(("dpi", [1]),), ((1, 1),), (("dpi",),), {"dpi": 1}, 7],
    4: [0, None],
}


@pytest.mark.parametrize(("at", "part"), [(at, part) for at, parts in WRONG.items() for part in parts])
def test_what_no_image_is_made_of_is_refused(at: int, part: Any):
    parts = [part if at == place else good for place, good in enumerate(GOOD)]
    reader = Reader(message(*parts), Containers(0))
    with pytest.raises(Garbled):
        reader.checked(reader.value, 0)
