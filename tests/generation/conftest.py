"""A scripted endpoint for each test that asks for one."""

from __future__ import annotations

import pytest
from scripted_endpoint import ScriptedEndpoint


@pytest.fixture
def endpoint(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    server = ScriptedEndpoint()
    yield server
    server.stop()
