"""The engine: scheduler, judge and runtimes, without the network."""

from __future__ import annotations

import logging
import secrets

from cruxbox_proto.v1 import sandbox_pb2 as pb

from cruxboxd import __version__
from cruxboxd.judging.audit import Audit
from cruxboxd.judging.judge import Judge
from cruxboxd.rpc.codec import Offer, Stamp
from cruxboxd.scheduling.scheduler import Scheduler
from cruxboxd.seccomp.compiler import PolicyError
from cruxboxd.selftest.preflight import Preflight, run_preflight
from cruxboxd.server.process import RefusedToServe
from cruxboxd.settings.config import UNITS, Config, Limits, check_config, fit_memory
from cruxboxd.shared.turns import Turns
from cruxboxd.telemetry.metrics import Metrics
from cruxboxd.tenancy.identity import Identity
from cruxboxd.zygotes.commands import Commands
from cruxboxd.zygotes.launch import StartError
from cruxboxd.zygotes.runtimes import Runtime, ZygoteSetups, find_runtimes
from cruxboxd.zygotes.setup import ZygoteKey, ZygoteKinds

log = logging.getLogger(__name__)


class Engine:
    """Scheduler, judge and what is known about this host; everything but the network."""

    def __init__(self, config: Config, commands: Commands) -> None:
        self.config = check_config(config)
        self.runtimes = find_runtimes(self.config, commands)
        self.config = fit_memory(self.config, sum(runtime.preload_bytes for runtime in self.runtimes.values()))
        try:
            self.setups = ZygoteSetups(self.config, self.runtimes)
        except PolicyError as error:
            raise RefusedToServe(str(error)) from None
        except OSError as error:
            raise RefusedToServe(f"the filter of system calls cannot be built: {error.strerror}") from None
        self.metrics = Metrics()
        for name, helper in self.helpers().items():
            self.metrics.helper(name, helper == "native")
        for name in sorted(self.unsealed()):
            log.warning(
                "no native helper: the pure twin serves, slower; every check has a worker of its own",
                extra={"runtime": name},
            )
        self.identity = Identity(self.config)
        self.default_runtime = next(runtime.name for runtime in self.runtimes.values() if runtime.is_default)
        self.preflight = Preflight((), ())
        kinds = ZygoteKinds({runtime.name: runtime.preload for runtime in self.runtimes.values()}, self.unsealed())
        audit = Audit(self.config.audit_share, self.metrics)
        self.scheduler = Scheduler(
            self.config, self.setups, self.metrics, self.identity.tenant_named, kinds, draw=audit.draw
        )
        self.turns = Turns(self.scheduler.charge)
        self.judge = Judge(self.scheduler, self.config.hash_seed, audit, self.turns)

    async def open(self) -> None:
        """Start zygotes and probe them; raises RefusedToServe when a required layer does not hold."""
        key = ZygoteKey(self.default_runtime, False, self.config.hash_seed)
        try:
            zygote = await self.scheduler.open(key)
        except StartError as error:
            raise RefusedToServe(str(error)) from None
        self.preflight = await run_preflight(self.scheduler, zygote, key, self.config)
        if self.preflight.problems:
            raise RefusedToServe("\n".join(self.preflight.problems))
        self.scheduler.kinds.has_scratch = bool(self.preflight.folder.size_bytes)
        self.metrics.watch(self.scheduler, self.config.workers)

    async def close(self) -> None:
        await self.scheduler.close()

    def helpers(self) -> dict[str, str]:
        """ "native" or "pure" for each runtime."""
        return {name: "pure" if self.config.pure else runtime.helper for name, runtime in self.runtimes.items()}

    def unsealed(self) -> frozenset[str]:
        """Runtimes whose checks share no worker, because no seal would notice what a check leaves behind."""
        return frozenset(name for name, helper in self.helpers().items() if helper != "native")

    def offer(self) -> Offer:
        return Offer(
            frozenset(self.runtimes), self.default_runtime, self.config.default_limits, self.config.maximum_limits,
            self.preflight.folder,
        )  # fmt: skip

    def stamp(self) -> Stamp:
        versions = {runtime.name: runtime.version for runtime in self.runtimes.values()}
        return Stamp(versions, self.setups.profile_digest, self.preflight.degraded)

    def info(self) -> pb.ServerInfo:
        """What GetServerInfo answers."""
        return pb.ServerInfo(
            version=__version__,
            runtimes=[_runtime_info(runtime, self.helpers()[runtime.name]) for runtime in self.runtimes.values()],
            default_limits=_limits_info(self.config.default_limits),
            maximum_limits=_limits_info(self.config.maximum_limits),
            layers=[
                pb.Layer(name=layer.name, active=layer.active, required=layer.required, detail=layer.detail)
                for layer in self.preflight.layers
            ],
            workers=self.config.workers,
            profile_digest=self.setups.profile_digest,
            max_message_bytes=self.config.max_message_bytes,
            instance_id=secrets.token_hex(8),
            hash_seed=self.config.hash_seed,
        )


def _runtime_info(runtime: Runtime, helper: str) -> pb.Runtime:
    return pb.Runtime(
        name=runtime.name, version=runtime.version, path=runtime.path, is_default=runtime.is_default, helper=helper,
        packages=[pb.Package(name=name, version=version) for name, version in runtime.packages],
        preload=runtime.preload,
    )  # fmt: skip


def _limits_info(limits: Limits) -> pb.Limits:
    return pb.Limits(**{name: getattr(limits, name) for name in UNITS})
