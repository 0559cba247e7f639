"""How a zygote learns which half of a pair ended first, and by whom: from the kernel, and deaf to nobody meanwhile."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from cruxcell import native, zygote
from cruxcell.confinement.clocks import was_killed
from cruxcell.forks import CONTROL, Order
from cruxcell.jobs.context import JobContext
from cruxcell.protocol import messages

HELPER = native.load(pure=True)
pytestmark = pytest.mark.kernel
# Of the other half, which lives or has ended: was that from outside?
ENDS = {"killed": True, "ends": False, "lives on": False, "ends by another signal": False}
OURS = 7  # the number of an order


@pytest.mark.parametrize("how", ENDS)
def test_which_half_of_a_pair_was_killed_from_outside(how: str):
    """Where its socket closes first, the other half may hang up before it does."""
    half = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert half.stdin
    if how == "ends":
        half.stdin.close()
    elif how != "lives on":
        os.kill(half.pid, signal.SIGKILL if how == "killed" else signal.SIGTERM)
    if how != "lives on":
        os.waitid(os.P_PID, half.pid, os.WEXITED | os.WNOWAIT)
    assert was_killed(half.pid) is ENDS[how]
    os.kill(half.pid, signal.SIGKILL)
    assert os.waitpid(half.pid, 0)[0] == half.pid  # who reaps it finds it
    half.stdin.close()


@pytest.fixture
def called() -> Iterator[Callable[..., bool]]:
    """Does a zygote find that somebody hangs up, within so many nanoseconds? The order of that number is called off."""

    def comes(called_off: int, hangs_up: bool = False, nanoseconds: int = 60 * 10**9) -> bool:
        ours.send(messages.ORDER.pack(messages.CANCEL, 0, 0, called_off, 0, 0, 0, 0, 0, 0))
        watched, end = os.pipe()
        if hangs_up:
            os.close(end)
        try:
            return waiting._comes(order, watched, 0, nanoseconds)
        finally:
            os.close(watched)
            if not hangs_up:
                os.close(end)

    with contextlib.ExitStack() as undo:
        if os.path.exists(f"/proc/self/fd/{CONTROL}"):  # somebody else's, who gets it back
            kept = os.dup(CONTROL)
            undo.callback(os.close, kept)
            undo.callback(os.dup2, kept, CONTROL)
        else:
            undo.callback(os.close, CONTROL)
        ours, theirs = [undo.enter_context(end) for end in socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)]
        os.dup2(theirs.fileno(), CONTROL)
        waiting = zygote.Zygote(HELPER, {}, bytes, theirs, JobContext(HELPER, -1, -1))
        order = Order([messages.RUN, 0, 0, OURS, 10**9, 10**9, 1 << 28, 0, 1, 0], ())
        yield comes


def test_who_waits_for_a_half_hears_that_its_order_is_called_off(called: Callable[..., bool]):
    assert called(OURS) is False


def test_who_waits_for_a_half_goes_on_where_another_order_is_called_off(called: Callable[..., bool]):
    assert called(OURS + 1, hangs_up=True) is True
    assert called(OURS + 1, nanoseconds=30_000_000) is False
