"""`cruxboxd` with layers between checks that share a worker opened, which no flag, variable or file can do.

python opened.py rule,seal serve --listen ...
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from cruxboxd.server import command as daemon
from cruxboxd.settings import cli_options
from cruxboxd.settings.config import Config

if __name__ == "__main__":
    layers = frozenset(sys.argv[1].split(","))

    def config_from(options: argparse.Namespace) -> Config:
        return replace(cli_options.config_from(options), opened=layers)

    vars(daemon)["config_from"] = config_from
    daemon.main(sys.argv[2:])
