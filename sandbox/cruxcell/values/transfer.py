"""Plain data from one worker to another, types and aliasing kept: a `Writer` in one confined process, a `Reader` in
the other.

The bytes come from a process that may be hostile, so reading builds nothing but builtin types and value types of the
standard library (and numpy's, where the runtime has it), by hand, bounded in depth, and fails with Garbled on anything
else. The daemon only passes the bytes on.

Every container is written once, with a number; where it occurs again, the number stands for it. `Containers` keeps the
numbers of a whole link, so that what comes back is the very object that was sent. What is not plain data is left
to `objects` (see `cruxcell.jobs.separated`); without it, it is NotPlain.
"""

from cruxcell.values.containers import Containers, Garbled, with_room
from cruxcell.values.reader import Reader
from cruxcell.values.writer import Writer

__all__ = ["Garbled", "decode", "encode"]


def encode(value, budget):
    # type: (object, int) -> bytes
    """`value` as bytes. Raises NotPlain, naming the type, or TooLarge beyond `budget` bytes."""
    writer = Writer(Containers())
    with_room(writer.value, value, 0)
    return writer.bytes(budget)


def decode(data):
    # type: (bytes) -> object
    """The value of `data`. Raises Garbled if it is not exactly one encoded value."""
    reader = Reader(data, Containers(1))
    value = reader.checked(reader.value, 0)
    reader.end()
    return value
