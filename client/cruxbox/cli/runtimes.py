"""`cruxbox runtimes`: the interpreters of a server, by the names that `--runtime` takes."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Optional

from rich.table import Table

from cruxbox.cli.connect import AsJson, Server
from cruxbox.cli.running import PYTHON, where
from cruxbox.cli.show import print_json, print_table


def command(server: Server = None, python: Annotated[Optional[str], PYTHON] = None, as_json: AsJson = False) -> None:
    """List the runtimes of a server, by the names that --runtime takes, with their packages."""
    running = where(server, python)
    with running.connect() as client:
        info = client.info()
    if as_json:
        print_json({"runtimes": [dataclasses.asdict(runtime) for runtime in info.runtimes]})
        return
    table = Table("runtime", "Python", "interpreter", "default", "packages (* imported beforehand)")
    for runtime in info.runtimes:
        packages = [f"{name} {version}{'*' * (name.lower() in runtime.preload)}" for name, version in runtime.packages]
        default = "yes" if runtime.is_default else ""
        table.add_row(runtime.name, runtime.version, runtime.path, default, ", ".join(packages) or "none")
    print_table(table)
