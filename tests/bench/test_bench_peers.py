"""The other methods judge our generated work right, which is what makes their speed worth comparing."""

from __future__ import annotations

import pytest

from bench.methods import PEER_METHODS, Method
from bench.workload import tasks


@pytest.mark.parametrize("method", PEER_METHODS, ids=lambda method: method.name)
def test_peer_agrees_with_the_generator(method: Method):
    if method.missing:
        pytest.skip(method.missing)
    works = list(tasks(7, 4, 5))
    result = method.run(works)
    assert result.passed == tuple(probe.holds for work in works for probe in work.probes)
    assert result.seconds > 0


def test_the_reference_method_ends_an_endless_loop():
    from bench.methods import peer
    from bench.workload import Kind, Probe, Work

    loop = Work("loop", "def f():\n    while True:\n        pass", (Probe("f()", "1", Kind.LOOPS),))
    assert peer("reference.py", timeout_s=0.2)([loop]).passed == (False,)
