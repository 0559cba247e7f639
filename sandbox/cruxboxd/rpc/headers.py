"""Bounds the headers that the event loop makes objects of.

gRPC refuses an RPC whose headers are over `MOST_HEADER_BYTES`. But a header block that never ends is read on, and when
its connection ends, the RPC is handed over with all of it: the event loop would make an object of each header, before
any interceptor is asked, at 10 to 40 ms for each MiB. A block of 16 KiB may be as long: it names thousands of times, by
its index in HPACK's table, a header of 4 KiB that came once. gRPC has no setting for that. It makes the objects with a
class that this module replaces by a function that counts their bytes, and breaks off what no RPC can have.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from grpc._cython import cygrpc  # type: ignore[attr-defined]

MOST_HEADER_BYTES = 16 << 10
_BYTES_A_HEADER = 32  # that HTTP/2 counts beside its text
_NAME = "_Metadatum"


def size_of(key: str, value: str | bytes) -> int:
    """What a header counts for."""
    return _BYTES_A_HEADER + len(key) + len(value)


def size_of_all(metadata: Iterable[tuple[str, str | bytes]]) -> int:
    """What the headers of an RPC count for."""
    return sum(size_of(key, value) for key, value in metadata)


class Counted:
    """Makes headers, until an RPC has too many.

    Args:
        make: makes one of a key and a value.
        too_many: told when an RPC had too many.
    """

    def __init__(self, make: Callable[[Any, Any], Any], too_many: Callable[[], None]) -> None:
        self.make, self._too_many = make, too_many
        self._bytes = 0

    def __call__(self, key: Any, value: Any) -> Any:
        is_first = not self._bytes
        self._bytes += size_of(key, value)
        if is_first:
            self._end_with_pass()
        if self._bytes > MOST_HEADER_BYTES:
            self.complete()
            self._too_many()
            raise asyncio.CancelledError  # its connection is gone: gRPC ends it without a word
        return self.make(key, value)

    def complete(self) -> None:
        """Those of an RPC are all there: the next are another's."""
        self._bytes = 0

    def _end_with_pass(self) -> None:
        """Those of an RPC are made in one pass of the event loop; a client's count nowhere."""
        try:
            asyncio.get_running_loop().call_soon(self.complete)
        except RuntimeError:
            self._bytes = 0


def bound(too_many: Callable[[], None]) -> Counted:
    """Bound the headers of RPCs in this process; `too_many` is told of each RPC that had more."""
    make: Any = getattr(cygrpc, _NAME, None)
    counted = Counted(make.make if isinstance(make, Counted) else make, too_many)
    if make is not None:
        setattr(cygrpc, _NAME, counted)
    return counted
