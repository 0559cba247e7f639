"""Reads tables of objects that say when anything but their hash is asked for."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sandbox"))
import numpy
import pandas
from cruxcell.values import tables, transfer  # noqa: F401 - what is read by is loaded before
from cruxcell.values.containers import Containers
from cruxcell.values.reader import Reader
from cruxcell.values.writer import Writer


class Asked:
    asked: list = []

    def __hash__(self):
        return 1


def _says(name):
    def method(self, *_arguments):
        Asked.asked.append(name)
        raise TypeError(name)

    return method


for _name in (
    "__getattr__", "__eq__", "__len__", "__iter__", "__getitem__", "__index__", "__int__", "__float__", "__bool__",
    "__array__", "__lt__", "__repr__", "__str__", "__contains__",
):  # fmt: skip
    setattr(Asked, _name, _says(_name))


class Objects:
    """Writes each as itself: both ends are here."""

    class_of_proxies, is_test, hear = None, True, None

    def __init__(self):
        self.kept = []

    def write(self, writer, value, depth):
        self.kept.append(value)
        writer.parts.append(b"o")

    def read(self, reader, tag, depth):
        return self.kept.pop(0)

    def filled(self, value):
        pass


def crossed(value):
    objects, one = Objects(), Containers(0)
    writer = Writer(one, objects)
    writer.value(value, 0)
    reader = Reader(writer.bytes(1 << 20), Containers(1), objects)
    return reader.checked(reader.value, 0)


def main():
    first, second = Asked(), Asked()
    items = numpy.empty(2, dtype=object)
    items[0], items[1] = first, second
    values = [
        pandas.DataFrame({"a": pandas.Series(items, dtype=object)}),
        pandas.Series(items, dtype=object),
        pandas.Series([1, 2], index=pandas.Index(items, dtype=object)),
        pandas.Index(items, dtype=object, name=first),
        pandas.Series([1, 2], name=first),
    ]
    del Asked.asked[:]
    for value in values:
        crossed(value)
        assert Asked.asked == [], (type(value).__name__, Asked.asked)


main()
