"""The life of the daemon. Start-up order: runtimes, zygotes, self-test, listeners."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator

from cruxboxd import __version__
from cruxboxd.rpc.listeners import check_addresses, refuse_taken
from cruxboxd.selftest.canary import Canaries
from cruxboxd.server.engine import Engine
from cruxboxd.server.network import Server
from cruxboxd.server.process import (
    fit_surroundings,
    give_memory_back,
    protect_process,
    spare_the_collector,
    step_forward,
)
from cruxboxd.server.signals import Signals
from cruxboxd.settings.config import Config, check_config, metrics_address
from cruxboxd.shared.fair_loop import share_loop
from cruxboxd.telemetry.exporter import Exporter
from cruxboxd.telemetry.logs import written_beside
from cruxboxd.zygotes.commands import Commands

log = logging.getLogger(__name__)

# What the canaries have to end in.
_STOP_S = 1.0


async def serve(config: Config) -> None:
    """Run the daemon until it is told to end. Before it serves, that raises CancelledError; what is wrong raises
    ConfigError or RefusedToServe."""
    protect_process(config.exit_with_parent, config.parent_pid)
    share_loop()
    async with contextlib.AsyncExitStack() as at_end:
        signals = at_end.enter_context(Signals())
        config = _fitted(config)
        at_end.enter_context(written_beside())
        engine = await at_end.enter_async_context(made_engine(config))
        await engine.open()
        signals.is_waited_for()
        at_end.push_async_callback(_end_of, asyncio.create_task(_keep_canaries(engine)))
        exporter = Exporter(engine.metrics.registry)
        at_end.callback(exporter.close)
        server = Server(engine)
        address = metrics_address(config)
        if address is not None:
            await exporter.start(*address)
        await server.start()
        spare_the_collector()
        log.info("serving", extra={"workers": config.workers, "version": __version__})
        await signals.wait()
        await server.drain()


@contextlib.asynccontextmanager
async def made_engine(config: Config) -> AsyncIterator[Engine]:
    """An engine that is to be opened, and is closed at the end. It is made beside the event loop, which hears meanwhile
    that it is told to end: each interpreter is asked what it is, and a helper may have to be built."""
    commands = Commands()
    try:
        engine = await asyncio.to_thread(Engine, config, commands)
    finally:
        commands.end()
    try:
        yield engine
    finally:
        await engine.close()


def _fitted(config: Config) -> Config:
    """The configuration for this host, whose process is set up for it."""
    config = check_config(config)
    check_addresses(config)
    refuse_taken(config)
    config = fit_surroundings(config)
    give_memory_back()
    if not config.parent_pid:  # not embedded
        step_forward()
    return config


async def _end_of(canaries: asyncio.Task[None]) -> None:
    canaries.cancel()
    await asyncio.wait({canaries}, timeout=_STOP_S)


async def _keep_canaries(engine: Engine) -> None:
    if engine.config.canary_s > 0:
        every_s, tell, where = engine.config.canary_s, engine.metrics.canary, engine.scheduler.where
        await Canaries(engine.judge, engine.default_runtime, every_s, tell, where).run()
