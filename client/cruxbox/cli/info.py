"""`cruxbox info`: what a server says about itself."""

from __future__ import annotations

import dataclasses

from rich.table import Table

from cruxbox.cli.connect import AsJson, Server, connect
from cruxbox.cli.show import print_json, print_table
from cruxbox.info import ServerInfo


def command(server: Server = None, as_json: AsJson = False) -> None:
    """Show the version, runtimes, limits and layers of confinement of a server."""
    with connect(server) as client:
        info = client.info()
    if as_json:
        print_json(dataclasses.asdict(info))
        return
    for table in (_facts(info), _limits(info), _layers(info)):
        print_table(table)


def _facts(info: ServerInfo) -> Table:
    table = Table("server", "", title_justify="left")
    table.add_row("version", info.version)
    table.add_row("workers", str(info.workers))
    for runtime in info.runtimes:
        alone = "; no native helper: slower, every check has a worker of its own" * (runtime.helper == "pure")
        table.add_row("runtime", f"{runtime.name}: Python {runtime.version}{' (default)' * runtime.is_default}{alone}")
    table.add_row("hash seed", info.hash_seed)
    table.add_row("profile", info.profile_digest)
    return table


def _limits(info: ServerInfo) -> Table:
    table = Table("limit", "default", "maximum")
    for name, default in dataclasses.asdict(info.default_limits).items():
        table.add_row(name, f"{default:,}", f"{getattr(info.maximum_limits, name):,}")
    return table


def _layers(info: ServerInfo) -> Table:
    table = Table("layer", "holds", "required", "")
    for layer in info.layers:
        table.add_row(layer.name, "yes" if layer.active else "no", "yes" if layer.required else "no", layer.detail)
    return table
