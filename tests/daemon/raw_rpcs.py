"""RPCs by their bytes, of tenants whose token is their name."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path

import grpc
from support.daemons import Served

MIB = 1 << 20
CHECK = "/cruxbox.v1.Sandbox/Check"
STREAM = "/cruxbox.v1.Sandbox/CheckStream"
INFO = "/cruxbox.v1.Sandbox/GetServerInfo"


def tenants(folder: Path, **quotas: str) -> str:
    """A tokens file in which everybody's token is the name."""
    text = "".join(
        f'[tenants.{name}]\ntokens = ["sha256:{hashlib.sha256(name.encode()).hexdigest()}"]\n{quota}\n'
        for name, quota in quotas.items()
    )
    path = folder / "tokens"
    path.write_text(text)
    return str(path)


def call(daemon: Served, body: bytes, token: str = "", method: str = CHECK) -> tuple[str, str]:
    """The status of a call that sends `body`, and its words."""
    options = [("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
    metadata = [("authorization", f"Bearer {token}")] if token else []
    with grpc.insecure_channel(daemon.target, options=options) as channel:
        try:
            if method == CHECK:
                channel.unary_unary(method)(body, timeout=60, metadata=metadata)  # type: ignore[call-arg]
            else:
                list(channel.stream_stream(method)(iter([body]), timeout=60, metadata=metadata))  # type: ignore[call-arg]
        except grpc.RpcError as error:
            return error.code().name, str(error.details())
    return "OK", ""


def never() -> Iterator[bytes]:
    """Requests that do not come."""
    time.sleep(30)
    yield b""
