"""How RPCs end: the status that is sent, and the line in the log."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

import grpc
import grpc.aio

if TYPE_CHECKING:
    Context = grpc.aio.ServicerContext[Any, Any]

log = logging.getLogger(__name__)

_REQUEST_ID_KEY = "x-request-id"
_REQUEST_ID = re.compile(r"[\x21-\x7e]{1,64}")

Metadata = Sequence[tuple[str, Union[str, bytes]]]


def request_id(metadata: Metadata) -> str:
    """The caller's own id for the request if it is decent, else a new one."""
    for key, value in metadata:
        if key == _REQUEST_ID_KEY and isinstance(value, str) and _REQUEST_ID.fullmatch(value):
            return value
    return secrets.token_hex(8)


async def abort(context: Context, code: grpc.StatusCode, sentence: str, request: str, more: Metadata = ()) -> None:
    """End an RPC by a status. Raises what ends its task.

    Args:
        context: the RPC.
        code: its status.
        sentence: what its caller reads.
        request: its id, which travels behind the status.
        more: what else does.
    """
    try:
        await context.abort(code, sentence, ((_REQUEST_ID_KEY, request), *more))
    except grpc.aio.InternalError:  # the client has gone meanwhile; gRPC calls anything else a fault of ours
        raise asyncio.CancelledError from None


def log_end(method: str, request: str, tenant: str, peer: str, code: str, **figures: float) -> None:
    """The line of an RPC that has ended."""
    extra = {"request_id": request, "method": method, "tenant": tenant, "peer": peer, "code": code}
    log.info("call ended", extra={**extra, **figures})
