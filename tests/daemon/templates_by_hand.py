"""Templates for tests, with a first order each."""

from __future__ import annotations

import os
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack

import psutil
import pytest
import pytest_asyncio
from cruxboxd.zygotes import launch
from cruxboxd.zygotes.template import Template
from zygotes_by_hand import KEY, SETUPS, Kept, job


@pytest_asyncio.fixture(name="template")
async def a_template() -> AsyncIterator[Template]:
    before = children()
    made = Template(SETUPS(KEY))
    yield made
    made.close()
    assert children() <= before  # none of them is left, not even dead


def children() -> set[int]:
    """Of this process, the dead ones, too."""
    return {child.pid for child in psutil.Process().children()}


class Lent:
    """Descriptors as a zygote gets them. Nobody tells it that its number is known."""

    def __init__(self, stack: ExitStack) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stack.enter_context(self.control)
        stack.enter_context(theirs)
        ends = [end for _ in range(2) for end in os.pipe()]
        for end in ends:
            stack.callback(os.close, end)
        self.numbers = [theirs.fileno(), *ends]


def hook(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """Have templates run it before they begin."""
    monkeypatch.setattr(
        launch, "_BOOT", launch._BOOT.replace("from cruxcell.boot", f"exec({text!r}, {{}})\nfrom cruxcell.boot")
    )


async def works(kept: Kept) -> bool:
    return await kept.values(job("", "1 + 1")) == [["2"]]
