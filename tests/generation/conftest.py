"""A scripted endpoint for each test that asks for one."""

from __future__ import annotations

import pytest
from cruxbox.embedded import EmbeddedServer
from scripted_endpoint import ScriptedEndpoint


@pytest.fixture
def endpoint(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    server = ScriptedEndpoint()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def server():
    """The target of a daemon that tests share."""
    embedded = EmbeddedServer(workers=2)
    target, _ = embedded.ensure()
    yield target
    embedded.stop()
