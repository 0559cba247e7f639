"""What kubectl makes of the kustomize folders, for the tests beside this file."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml", reason="PyYAML reads the manifests; it is part of the dev extra")

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
KUSTOMIZE = DEPLOY / "kustomize"
MONITORING = KUSTOMIZE / "components" / "monitoring"
RENDERED = ("base", "overlays/gvisor", "overlays/tls", "overlays/example")

Object = dict[str, Any]


@functools.cache
def render(name: str) -> tuple[Object, ...]:
    """The objects of a base or overlay; skips where kubectl is missing."""
    if not shutil.which("kubectl"):
        pytest.skip("kubectl is not installed; it renders the manifests")
    # Some builds of kubectl ask the current cluster for its version, even to render; here there is none to ask.
    no_cluster = {**os.environ, "KUBECONFIG": os.devnull}
    command = ["kubectl", "kustomize", str(KUSTOMIZE / name)]
    done = subprocess.run(command, env=no_cluster, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return tuple(item for item in yaml.safe_load_all(done.stdout) if item)


def one(name: str, kind: str, called: str = "cruxbox") -> Object:
    """The one object of that kind and name."""
    (found,) = [item for item in render(name) if item["kind"] == kind and item["metadata"]["name"] == called]
    return found


def pod(name: str) -> Object:
    """The Deployment's pod spec."""
    return one(name, "Deployment")["spec"]["template"]["spec"]


def container(name: str) -> Object:
    """The pod's only container."""
    (only,) = pod(name)["containers"]
    return only


def arguments(name: str) -> dict[str, list[str]]:
    """The daemon's flags by name, without the leading `serve`; a flag without a value has an empty string."""
    flags: dict[str, list[str]] = {}
    command, *rest = container(name)["args"]
    assert command == "serve"
    for word in rest:
        flag, _, value = word.partition("=")
        flags.setdefault(flag, []).append(value)
    return flags


def alert_rules() -> list[Object]:
    """The alerts, as Prometheus reads them."""
    rule = yaml.safe_load((MONITORING / "prometheusrule.yaml").read_text())
    return [item for group in rule["spec"]["groups"] for item in group["rules"]]
