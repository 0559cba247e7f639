"""Which zygotes there are, and how one is started."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ZygoteKey:
    """Which zygote a job needs: a runtime, how much is imported beforehand, and the hash seed."""

    runtime: str
    preloaded: bool
    hash_seed: str


@dataclass(frozen=True)
class ZygoteSetup:
    """How zygotes of one key are started: interpreter, environment, setup datagram."""

    python: str
    environment: dict[str, str]
    fields: list[bytes]
