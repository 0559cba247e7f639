"""What the tests of scratch folders share: they need a host that has them, and run one program at a time."""

from __future__ import annotations

import textwrap

import pytest
from cruxbox import Client, Limits, RunCheck, Task, Verdict

MIB = 1 << 20
LIMITS = Limits(cpu_ms=20_000, wall_ms=60_000)


@pytest.fixture(autouse=True, scope="module")
def has_scratch(native: Client) -> None:
    layers = {layer.name: layer for layer in native.info().layers}
    if not layers["scratch"].active:
        pytest.skip(f"no scratch folder here: {layers['scratch'].detail}")


def run(client: Client, program: str, check: RunCheck | None = None, **more: object) -> Verdict:
    (verdict,) = client.check([Task(textwrap.dedent(program), [check or RunCheck()], limits=LIMITS, **more)])  # type: ignore[arg-type]
    return verdict
