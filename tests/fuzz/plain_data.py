"""Plain data as hypothesis makes it, and how long each property is tried."""

from __future__ import annotations

import struct
from collections import Counter, OrderedDict, defaultdict

from hypothesis import strategies as st

lengths = st.integers(0, 40).map(struct.Struct("<I").pack)

_few = st.integers(-2, 2) | st.sampled_from(
    [True, False, 0.0, -0.0, 1.0, 2.0, 0.5, 1j, 1 + 0j, 2**53, 2.0**53, 10**20, 1e20]
)
_atoms = (
    _few
    | st.none()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text(st.characters(codec=None), max_size=5)
    | st.sampled_from(["a", "b", "1", ""])
    | st.binary(max_size=5)
)
_keys = st.recursive(
    _atoms, lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3), max_leaves=4
)


def _containers(inner):
    return (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(_keys, inner, max_size=4)
        | st.sets(_keys, max_size=4)
        | st.frozensets(_keys, max_size=4)
    )


# Everything the canonical form is for: no NaN, which equals nothing.
plain_data = st.recursive(_atoms, _containers, max_leaves=12)

# Everything that travels from worker to worker.
encodable = st.recursive(
    _atoms
    | st.binary(max_size=4).map(bytearray)
    | st.builds(range, st.integers(-9, 9), st.integers(-9, 9))
    | st.just(...),
    lambda inner: (
        _containers(inner)
        | st.dictionaries(_keys, inner, max_size=3).map(OrderedDict)
        | st.dictionaries(_keys, inner, max_size=3).map(lambda items: defaultdict(list, items))
        | st.lists(_keys, max_size=4).map(Counter)
    ),
    max_leaves=12,
)
