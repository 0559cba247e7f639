"""`cruxboxd` with layers between checks that share a worker opened, which no flag, variable or file can do.

python opened.py rule,seal serve --listen ...
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from cruxboxd import command as daemon
from cruxboxd.settings.config import Config

if __name__ == "__main__":
    layers = frozenset(sys.argv[1].split(","))
    read = daemon.config_from

    def config_from(options: argparse.Namespace) -> Config:
        return replace(read(options), opened=layers)

    daemon.config_from = config_from
    daemon.main(sys.argv[2:])
