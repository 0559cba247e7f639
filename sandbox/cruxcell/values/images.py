"""Images of PIL's: mode, size, pixels, and what is noted of them.

PIL's compiled code takes no other image for one, so one that stays in another process is good for little. An image of a
file, or with a palette, or with notes that are not plain, stays: what it reads later is not known.
"""

import sys

from cruxcell.values.canonical import NotPlain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any  # noqa: F401 - in type comments

# Whose pixels are the bytes that `tobytes` gives -> bytes of a pixel; 0 for eight pixels in a byte.
_MODES = {
    "1": 0, "L": 1, "LA": 2, "La": 2, "RGB": 3, "RGBA": 4, "RGBa": 4, "RGBX": 4, "CMYK": 4, "YCbCr": 3, "LAB": 3,
    "HSV": 3, "I": 4, "F": 4, "I;16": 2,
}  # fmt: skip
_MOST = 4 << 20  # bytes of pixels; they are compared at each question
_LONGEST = 1 << 16  # pixels of a side, of which there are none if the other side has none
# What an image has by itself, and what saving it leaves behind. One with more is an object, as is one whose class
# somebody made.
_OWN = frozenset(
    [
        "im", "_im", "mode", "_mode", "_size", "palette", "info", "readonly", "_readonly", "_category", "pyaccess",
        "_exif", "encoderinfo", "encoderconfig", "_default_encoderinfo", "_attach_default_encoderinfo",
    ]
)  # fmt: skip
_PLAIN = frozenset([type(None), bool, int, float, str, bytes])


def crosses(value):
    # type: (Any) -> bool
    """Is it an image that is its pixels and plain notes, and no more?"""
    if not is_own(type(value)):
        return False
    own = vars(value)
    if not _OWN.issuperset(own) or own.get("palette") is not None:
        return False
    try:
        return _size_of(value.mode, value.size) <= _MOST and _are_plain(value.info)
    except (KeyError, TypeError, AttributeError):
        return False


def is_own(kind):
    # type: (Any) -> bool
    return kind is getattr(sys.modules.get("PIL.Image"), "Image", None)


def _size_of(mode, size):
    # type: (str, tuple[int, int]) -> int
    width, height = size
    if max(size) > _LONGEST or min(size) < 0:
        raise TypeError("an image of another size")
    return (_MODES[mode] * width or (width + 7) // 8) * height


def _are_plain(info):
    # type: (Any) -> bool
    return type(info) is dict and all(type(key) is str and _is_plain(each) for key, each in info.items())


def _is_plain(value):
    # type: (object) -> bool
    return type(value) in _PLAIN or (type(value) is tuple and all(type(each) in _PLAIN for each in value))


def _is_closed(value):
    # type: (Any) -> bool
    """Up to Pillow 11.0 pixels that are gone raise an error for each of their attributes, later already when read."""
    try:
        return value.im.size is None
    except ValueError:
        return True


def state_of(value):
    # type: (Any) -> tuple[Any, ...]
    """What it holds, to be written and compared; nothing of one that has become another than may cross."""
    if not crosses(value):
        return ()
    is_closed = _is_closed(value)
    data, readonly = (None, False) if is_closed else (value.tobytes(), bool(value.readonly))
    return value.mode, tuple(value.size), data, tuple(value.info.items()), readonly


def write_content(writer, value, depth):
    # type: (Any, Any, int) -> None
    parts = state_of(value)
    if not parts:
        raise NotPlain("image that has been given a palette or other notes")
    writer.items(parts, depth + 1)


# ---- reading ---------------------------------------------------------------------------------------------------------


def empty():
    # type: () -> Any
    """One that gets its content later."""
    __import__("PIL.Image")
    return sys.modules["PIL.Image"].Image()


def refill(reader, value, depth):
    # type: (Any, Any, int) -> Any
    """What an image holds now. Its pixels stay where others (what draws on it) have them, if they have their place.
    Not those of one that is read-only: they may be those of an array or of bytes, and PIL copies them to draw on it."""
    mode, size, data, notes, readonly = [reader.value(depth + 1) for _ in range(5)]
    if type(mode) is not str or type(size) is not tuple or [*map(type, size)] != [int, int]:
        raise ValueError("an image that cannot be")
    is_closed, length = data is None, _size_of(mode, size)
    if not (is_closed or (type(data) is bytes and len(data) == length)) or type(notes) is not tuple:
        raise ValueError("an image that cannot be")
    info = dict(notes)
    if not _are_plain(info) or type(readonly) is not bool:
        raise ValueError("an image with notes that cannot be")
    if (value.mode, value.size) != (mode, size) or _is_closed(value) or value.readonly:
        own, found = vars(value), vars(sys.modules["PIL.Image"].new(mode, size))
        own.clear()
        own.update(found)
    if is_closed:
        value.close()
    else:
        value.frombytes(data)
    value.info = info
    value.readonly = readonly
    return value
