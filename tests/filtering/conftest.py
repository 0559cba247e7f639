"""A daemon of our own with two interpreters, for the tests of filtering."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from cruxbox import Client
from cruxbox.embedded import EmbeddedServer
from filter_interpreters import python39


@pytest.fixture(scope="session")
def server():
    """The target of a daemon that all tests share."""
    runtimes = ["--runtime", f"default={sys.executable}"]
    if python39():
        runtimes += ["--runtime", f"py39={python39()}"]
    embedded = EmbeddedServer(workers=2, arguments=runtimes)
    target, _ = embedded.ensure()
    yield target
    embedded.stop()


@pytest.fixture(scope="session")
def client(server):
    with Client(server) as client:
        yield client


@pytest.fixture(scope="session")
def rows():
    """The 800 rows of CRUXEval."""
    folder = os.environ.get("CRUXBOX_DATA")
    if not folder:
        pytest.skip("CRUXBOX_DATA does not name the folder with the public data")
    path = Path(folder) / "cruxeval" / "cruxeval.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]
