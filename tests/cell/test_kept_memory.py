"""Memory of small objects that is free again: kept for the next ones, up to a bound, and no more."""

from __future__ import annotations

import pytest
from interpreters import Twin, twins

# MiB of address space beyond the beginning: with 48 MiB of small objects, without them, and with as many again.
GROWS = """
import json, os
def size():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE") >> 20
def texts():
    return ["%0460d" % number for number in range(100_000)]
texts()  # what is kept of the interpreter's own
k.keep_arenas(int(sys.argv[1]) << 20)
before, found = size(), []
for _ in range(2):
    held = texts()
    found.append(size() - before)
    del held
    found.append(size() - before)
print(json.dumps(found))
"""


@pytest.mark.parametrize("twin", twins(), ids=str)
def test_memory_is_kept_up_to_the_bound_and_used_again(twin: Twin):
    for bound in (0, 16):
        first, freed, again, freed_again = twin.ask(GROWS, str(bound))
        kept = bound if twin.name == "native" else 0
        assert 45 <= first <= 60
        assert max(first, again) - min(first, again) <= 2
        assert kept - 2 <= freed <= kept + 4
        assert kept - 2 <= freed_again <= kept + 4


@pytest.mark.parametrize("twin", twins(), ids=str)
def test_no_more_than_64_mebibytes_are_kept(twin: Twin):
    bigger = GROWS.replace("100_000", "250_000")
    _, freed, _, _ = twin.ask(bigger, str(4096))
    assert freed <= 68
