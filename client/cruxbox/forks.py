"""A fork while an RPC is under way: the child must leave gRPC alone, and is told so.

gRPC prepares a fork only while no thread is inside its core. With a stream open one nearly always is, and the child
then shares sockets and event queues with its parent: most often it works, now and then it dies of SIGSEGV at its first
RPC (gRPC's doc/fork_support.md promises nothing). So it gets a sentence instead. A fork between RPCs is sound.
"""

from __future__ import annotations

import os
import time

from cruxbox.errors import InvalidRequest

# How long a fork waits for RPCs that are all but over.
_PATIENCE_S = 2.0
_LOOK_EVERY_S = 0.001

_under_way: set[object] = set()
_ending: set[object] = set()
_cut_off: set[int] = set()  # this process, or one it comes from


def begin(rpc: object) -> None:
    """This RPC of the process is under way, until `end`."""
    _under_way.add(rpc)


def ending(rpc: object) -> None:
    """Nobody wants more of this RPC: a fork may wait for its `end`, which comes by itself."""
    _ending.add(rpc)


def end(rpc: object) -> None:
    """This RPC is over, and no thread will ask for more of it."""
    _under_way.discard(rpc)
    _ending.discard(rpc)


def is_cut_off() -> bool:
    """Was this process forked while an RPC of its parent was under way?"""
    return bool(_cut_off)


def check() -> None:
    """Raises InvalidRequest in a process that cannot use gRPC."""
    if _cut_off:
        raise InvalidRequest(
            f"This process ({os.getpid()}) was forked while a client of its parent waited for verdicts, and gRPC cannot"
            " be used in it: fork before, or start processes by 'spawn' or 'forkserver'."
        )


def _wait_for_the_ending() -> None:
    until = time.monotonic() + _PATIENCE_S
    while _ending & _under_way and time.monotonic() < until:
        time.sleep(_LOOK_EVERY_S)


def _look_around() -> None:
    if _under_way:
        _cut_off.add(os.getpid())
        _under_way.clear()


os.register_at_fork(before=_wait_for_the_ending, after_in_child=_look_around)
