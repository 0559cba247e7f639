"""The life of the daemon. Start-up order: zygotes, self-test, listeners."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal

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
from cruxboxd.settings.config import Config, check_config, metrics_address
from cruxboxd.telemetry.exporter import Exporter

log = logging.getLogger(__name__)

TOLD = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)  # what a daemon is told to end by
# What the canaries have to end in.
_STOP_S = 1.0


async def serve(config: Config) -> None:
    """Run the daemon until SIGTERM, SIGINT or SIGHUP. Raises ConfigError or RefusedToServe before it serves."""
    protect_process(config.exit_with_parent, config.parent_pid)
    config = check_config(config)
    check_addresses(config)
    refuse_taken(config)
    config = fit_surroundings(config)
    give_memory_back()
    if not config.parent_pid:  # not embedded
        step_forward()
    engine = Engine(config)
    await engine.open()
    async with contextlib.AsyncExitStack() as at_end:
        at_end.callback(_hear_no_more)
        at_end.push_async_callback(engine.close)
        at_end.push_async_callback(_end_of, asyncio.create_task(_keep_canaries(engine)))
        exporter = Exporter(engine.metrics.registry)
        at_end.callback(exporter.close)
        server = Server(engine)
        stop = asyncio.Event()
        _stop_by_signals(stop)
        address = metrics_address(config)
        if address is not None:
            await exporter.start(*address)
        await server.start()
        spare_the_collector()
        log.info("serving", extra={"workers": config.workers, "version": __version__})
        await stop.wait()
        await server.drain()


def _stop_by_signals(stop: asyncio.Event) -> None:
    """The loop's own way (`add_signal_handler`) ends with the loop: a second signal, as a drain comes to its end, would
    then end the process as a failure, with its folder left."""
    loop = asyncio.get_running_loop()
    for number in TOLD:
        signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))


def _hear_no_more() -> None:
    for number in TOLD:
        signal.signal(number, signal.SIG_IGN)


async def _end_of(canaries: asyncio.Task[None]) -> None:
    canaries.cancel()
    await asyncio.wait({canaries}, timeout=_STOP_S)


async def _keep_canaries(engine: Engine) -> None:
    if engine.config.canary_s > 0:
        every_s, tell, where = engine.config.canary_s, engine.metrics.canary, engine.scheduler.where
        await Canaries(engine.judge, engine.default_runtime, every_s, tell, where).run()
