"""The daemon understands what the manifests tell it, and fits into the pod they give it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cruxboxd.server.command import _parser
from cruxboxd.settings import config as daemon_config
from cruxboxd.settings.cli_options import config_from
from cruxboxd.settings.config import MIB, Config, check_config
from rendering import KUSTOMIZE, RENDERED, arguments, container, one

every_overlay = pytest.mark.parametrize("name", RENDERED)
SETTINGS = KUSTOMIZE / "base" / "cruxboxd.toml"


def memory_bytes(text: str) -> int:
    """A Kubernetes quantity in Mi or Gi."""
    number, unit = re.fullmatch(r"(\d+)(Mi|Gi)", text).groups()
    return int(number) * {"Mi": 1, "Gi": 1024}[unit] * MIB


def told(name: str, monkeypatch: pytest.MonkeyPatch) -> Config:
    """The Config that the daemon makes of an overlay's arguments in a pod of that size."""
    limit = memory_bytes(container(name)["resources"]["limits"]["memory"])
    monkeypatch.setattr(daemon_config, "memory_limit_bytes", lambda: limit)
    words = [word.replace("/etc/cruxbox/cruxboxd.toml", str(SETTINGS)) for word in container(name)["args"]]
    return check_config(config_from(_parser().parse_args(words)))


@every_overlay
def test_arguments_and_settings_are_the_daemons(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = told(name, monkeypatch)
    assert config.workers == int(container(name)["resources"]["limits"]["cpu"])
    assert "0.0.0.0:50051" in config.listen
    assert config.metrics_listen == "0.0.0.0:9464"


@every_overlay
def test_the_drain_outlasts_the_longest_check(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = told(name, monkeypatch)
    assert config.drain_s >= config.maximum_limits.wall_ms / 1000 + 10


@every_overlay
def test_workers_and_queue_fit_the_pod(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    config = told(name, monkeypatch)
    limit = memory_bytes(container(name)["resources"]["limits"]["memory"])
    assert config.maximum_limits.memory_bytes >= config.default_limits.memory_bytes
    assert config.workers * config.default_limits.memory_bytes + config.queue_bytes + 256 * MIB <= limit


@every_overlay
def test_only_gvisor_may_lack_a_layer(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert told(name, monkeypatch).allow_degraded == ({"landlock"} if name == "overlays/gvisor" else frozenset())


def test_the_settings_are_mounted_where_the_flag_says() -> None:
    (path,) = arguments("base")["--config"]
    assert Path(path).name in one_config()["data"]
    assert Path(path).parent.as_posix() in [mount["mountPath"] for mount in container("base")["volumeMounts"]]


def one_config() -> dict[str, dict[str, str]]:
    """The generated ConfigMap of the base, by the name that the pod mounts."""
    (volume,) = [
        item for item in one("base", "Deployment")["spec"]["template"]["spec"]["volumes"] if "configMap" in item
    ]
    return one("base", "ConfigMap", volume["configMap"]["name"])
