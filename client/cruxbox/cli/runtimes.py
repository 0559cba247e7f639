"""`cruxbox runtimes`: the interpreters of a server, by the names that `--runtime` takes."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Optional

from rich.table import Table

from cruxbox.cli.connect import AsJson, Server
from cruxbox.cli.running import PYTHON, where
from cruxbox.cli.show import print_json, print_table


def command(server: Server = None, python: Annotated[Optional[str], PYTHON] = None, as_json: AsJson = False) -> None:
    """List the interpreters that programs can run on, by the names that --runtime takes."""
    running = where(server, python)
    with running.connect() as client:
        info = client.info()
    if as_json:
        print_json({"runtimes": [dataclasses.asdict(runtime) for runtime in info.runtimes]})
        return
    table = Table("runtime", "Python", "interpreter", "default")
    for runtime in info.runtimes:
        table.add_row(runtime.name, runtime.version, runtime.path, "yes" if runtime.is_default else "")
    print_table(table)
