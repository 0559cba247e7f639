"""Reading a frame in both twins: what frames.py packs, and whatever else may stand in a pipe."""

from __future__ import annotations

import pytest
from interpreters import Twin, twins

every_twin = pytest.mark.parametrize("twin", twins(), ids=str)

# Seeded: frames with random fields, then the same cut short, lengthened or with one byte changed.
READ = """
import json, os, random
from cruxcell.protocol import frames
source = random.Random(3)

def read(data, limit, reader):
    '''(the fields or how it failed, what is left in the pipe)'''
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    try:
        answer = reader(reading, limit)
    except ValueError as error:
        answer = str(error)
    left = os.read(reading, 1 << 16)
    os.close(reading)
    return answer, left

def spoilt(data):
    place = source.randrange(len(data))
    changed = data[:place] + bytes([source.choice([0, 1, 4, 255])]) + data[place + 1:]
    return [data, data + b"more", data[:place], changed, data + data]

wrong, kinds = 0, set()
for _ in range(400):
    sizes = [source.choice([0, 1, 5, 300]) for _ in range(source.randrange(6))]
    fields = [bytes(source.randrange(256) for _ in range(size)) for size in sizes]
    for data in spoilt(frames.frame(fields)):
        expected = read(data, 1_200, frames.read_frame)
        wrong += read(data, 1_200, k.read_frame) != expected
        kinds.add(expected[0].split(" ")[-1] if type(expected[0]) is str else "read")
print(json.dumps([wrong, sorted(kind for kind in kinds if not kind.isdigit())]))
"""


@every_twin
def test_a_frame_is_read_as_its_definition_reads_it(twin: Twin) -> None:
    assert twin.ask(READ) == [0, ["frame", "off", "read"]]


@every_twin
def test_what_the_kernel_says_is_raised(twin: Twin) -> None:
    program = (
        "import json\ntry:\n    k.read_frame(-1, 10)\nexcept OSError as error:\n    print(json.dumps(error.errno))"
    )
    assert twin.ask(program) == 9
