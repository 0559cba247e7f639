"""The server's description of itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cruxbox.model import Limits


@dataclass(frozen=True)
class Runtime:
    """An interpreter of the server.

    Args:
        name: what `Task.runtime` asks for.
        version: its Python version, like "3.11.4".
        path: where it is on the server.
        is_default: whether tasks that name no runtime run on it.
        packages: names and versions of what is installed for it beside the standard library.
        preload: the modules that its zygotes import before they serve, where a program names them.
        helper: "native", or "pure" where there is no native helper for it: that is slower, and checks share no worker.
    """

    name: str
    version: str
    path: str
    is_default: bool
    packages: tuple[tuple[str, str], ...] = ()
    preload: tuple[str, ...] = ()
    helper: str = ""


@dataclass(frozen=True)
class Layer:
    """A layer of confinement.

    Args:
        name: the layer, like "seccomp".
        active: whether it holds on this server.
        required: whether the server refuses to serve without it.
        detail: one sentence: what the layer does here, or why it does not hold.
    """

    name: str
    active: bool
    required: bool
    detail: str


@dataclass(frozen=True)
class ServerInfo:
    """The answer to `Client.info`.

    Args:
        version: the version of the server.
        runtimes: its interpreters.
        default_limits: limits of a task that sets none.
        maximum_limits: the largest limits that a task may set.
        layers: the layers of confinement.
        workers: CPU slots, and so the workers that make progress at a time.
        profile_digest: identifies the confinement profile; each verdict carries it too.
        max_message_bytes: size that one request message may have.
        instance_id: identifies this daemon process; it changes when the daemon restarts.
        hash_seed: PYTHONHASHSEED of the programs.
    """

    version: str
    runtimes: tuple[Runtime, ...]
    default_limits: Limits
    maximum_limits: Limits
    layers: tuple[Layer, ...]
    workers: int
    profile_digest: str
    max_message_bytes: int
    instance_id: str
    hash_seed: str


def decode_info(message: Any) -> ServerInfo:
    """A ServerInfo from its pb.ServerInfo."""
    return ServerInfo(
        version=message.version,
        runtimes=tuple(_runtime(runtime) for runtime in message.runtimes),
        default_limits=_limits(message.default_limits),
        maximum_limits=_limits(message.maximum_limits),
        layers=tuple(Layer(x.name, x.active, x.required, x.detail) for x in message.layers),
        workers=message.workers,
        profile_digest=message.profile_digest,
        max_message_bytes=message.max_message_bytes,
        instance_id=message.instance_id,
        hash_seed=message.hash_seed,
    )


def _runtime(message: Any) -> Runtime:
    packages = tuple((package.name, package.version) for package in message.packages)
    preload = tuple(message.preload)
    return Runtime(
        message.name, message.version, message.path, message.is_default, packages, preload, message.helper
    )  # fmt: skip


def _limits(message: Any) -> Limits:
    return Limits(message.cpu_ms, message.wall_ms, message.memory_bytes, message.steps, message.output_bytes)
