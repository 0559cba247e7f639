"""`make manifests`: render every overlay, then ask each checker that is here. Exits 1 when one finds something.

Nothing is sent to a cluster and nothing is downloaded. A checker that is missing is named with the reason; so is every
policy check that the manifests or the Dockerfile skip.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import yaml

DEPLOY = Path(__file__).resolve().parent
ROOT = DEPLOY.parent
KUSTOMIZE = DEPLOY / "kustomize"
MONITORING = KUSTOMIZE / "components" / "monitoring"
OUT = ROOT / "build" / "manifests"
TOOLS = Path(sys.executable).parent

RENDERED = ("base", "overlays/gvisor", "overlays/tls", "overlays/example")
# The oldest that has preStop sleep by default, and later ones.
KUBERNETES_VERSIONS = ("1.30", "1.32", "1.34")
# Custom resources: their schemas belong to the Prometheus operator. Their rules are checked by promtool below.
WITHOUT_SCHEMA = ("PodMonitor", "PrometheusRule")


class Failed(Exception):
    """A checker found something; the message is what it said."""


class Missing(Exception):
    """A checker is not here; the message says what to install."""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Standard output of a command. Raises Failed with everything it said when it exits with another code than 0."""
    # Some builds of kubectl ask the current cluster for its version, even to render; here there is none to ask.
    environment = {**os.environ, "LOG_LEVEL": "ERROR", "KUBECONFIG": os.devnull}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Failed(f"{Path(command[0]).name} exited with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def need(name: str, advice: str) -> str:
    """Path of a program. Raises Missing with the advice."""
    found = os.environ.get(name.upper()) or shutil.which(name)
    if not found:
        raise Missing(f"{name} is not installed ({advice})")
    return found


def rendered(name: str) -> Path:
    """Where the rendered manifests of a base or overlay lie."""
    return OUT / f"{name.rpartition('/')[2]}.yaml"


def documents(name: str) -> list[dict[str, Any]]:
    """The rendered objects of a base or overlay."""
    return [item for item in yaml.safe_load_all(rendered(name).read_text()) if item]


def render() -> Iterator[str]:
    """kubectl kustomize, each to a file under build/manifests."""
    kubectl = need("kubectl", "https://kubernetes.io/docs/tasks/tools/")
    OUT.mkdir(parents=True, exist_ok=True)
    for name in RENDERED:
        rendered(name).write_text(run(kubectl, "kustomize", KUSTOMIZE / name))
        yield f"{name}: {len(documents(name))} objects"


def schemas() -> Iterator[str]:
    """Every object against Kubernetes' own schemas, unknown fields refused."""
    for name in RENDERED:
        known = [item for item in documents(name) if item["kind"] not in WITHOUT_SCHEMA]
        left_out = sorted({item["kind"] for item in documents(name)} & set(WITHOUT_SCHEMA))
        path = rendered(name).with_suffix(".core.yaml")
        path.write_text(yaml.safe_dump_all(known))
        for version in KUBERNETES_VERSIONS:
            run(TOOLS / "kubernetes-validate", "--strict", "--quiet", "-k", version, path)
        note = f"; not core Kubernetes, so without a schema here: {', '.join(left_out)}" if left_out else ""
        yield f"{name}: {len(known)} objects fit Kubernetes {', '.join(KUBERNETES_VERSIONS)}{note}"


def policy() -> Iterator[str]:
    """checkov over the rendered manifests and the Dockerfile: no failed check, and a reason for each skipped one."""
    targets = [(rendered(name), "kubernetes") for name in RENDERED] + [(ROOT / "Dockerfile", "dockerfile")]
    for path, framework in targets:
        answer = json.loads(checkov(path, framework))
        results, passed = answer["results"], answer["summary"]["passed"]
        if results["failed_checks"] or answer["summary"]["parsing_errors"]:
            lines = [
                f"{item['check_id']} {item['check_name']}: {item['resource']}" for item in results["failed_checks"]
            ]
            raise Failed("\n".join([f"{path.name}: checkov fails", *lines]))
        yield f"{path.name}: {passed} checks passed, {len(results['skipped_checks'])} skipped"
        for item in results["skipped_checks"]:
            reason = item["check_result"].get("suppress_comment", "").strip()
            if not reason:
                raise Failed(f"{path.name}: {item['check_id']} is skipped without a reason")
            yield f"  {item['check_id']} on {item['resource']}: {reason}"


def checkov(path: Path, framework: str) -> str:
    """checkov's JSON about one file, offline."""
    options = ("--framework", framework, "--output", "json", "--skip-download", "--soft-fail")
    return run(TOOLS / "checkov", "--file", path, *options)


def dockerfile() -> Iterator[str]:
    """hadolint, every rule but those .hadolint.yaml excepts with a reason."""
    run(TOOLS / "hadolint", "--config", ROOT / ".hadolint.yaml", ROOT / "Dockerfile")
    yield "Dockerfile: nothing to say"


def alerts() -> Iterator[str]:
    """promtool: the alerts' expressions, their unit tests, and the dashboard's expressions."""
    promtool = need("promtool", "it comes with Prometheus, or with apt-get install prometheus")
    (rule,) = [item for item in documents("overlays/example") if item["kind"] == "PrometheusRule"]
    (OUT / "rules.yaml").write_text(yaml.safe_dump(rule["spec"]))
    shutil.copy(MONITORING / "alerts_test.yaml", OUT)
    run(promtool, "check", "rules", OUT / "rules.yaml")
    run(promtool, "test", "rules", OUT / "alerts_test.yaml")
    tests = yaml.safe_load((OUT / "alerts_test.yaml").read_text())["tests"]
    yield f"{len(rule['spec']['groups'][0]['rules'])} alerts, {len(tests)} histories replayed"
    expressions = dashboard_expressions()
    group = {"name": "dashboard", "rules": [{"record": f"panel:{i}", "expr": e} for i, e in enumerate(expressions)]}
    (OUT / "dashboard.yaml").write_text(yaml.safe_dump({"groups": [group]}))
    run(promtool, "check", "rules", OUT / "dashboard.yaml")
    yield f"{len(expressions)} dashboard expressions parse"


def dashboard_expressions() -> list[str]:
    """What the Grafana panels ask Prometheus."""
    dashboard = json.loads((MONITORING / "cruxbox.json").read_text())
    return [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]


STEPS: tuple[tuple[str, Callable[[], Iterator[str]]], ...] = (
    ("render", render),
    ("schemas", schemas),
    ("policy", policy),
    ("Dockerfile", dockerfile),
    ("alerts", alerts),
)


def main() -> int:
    """Run every step; 1 when one failed. A missing checker is a skip, except for rendering, which all else needs."""
    failed = False
    for name, step in STEPS:
        print(f"== {name}")
        try:
            for line in step():
                print(f"   {line}")
        except Missing as error:
            print(f"   skipped: {error}")
            if step is render:
                return 1
        except Failed as error:
            print(f"   FAILED: {error}")
            failed = True
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
