"""The rendered manifests hold what deploy/README.md promises. Schemas and policy are `make manifests`."""

from __future__ import annotations

import pytest
from rendering import KUSTOMIZE, RENDERED, arguments, container, one, pod, render, yaml

every_overlay = pytest.mark.parametrize("name", RENDERED)
LABELS = {"app.kubernetes.io/name": "cruxbox", "app.kubernetes.io/component": "daemon"}
# What the Pod Security Standard `restricted` asks of a container, and what this project asks on top.
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "privileged": False,
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
    "capabilities": {"drop": ["ALL"]},
}
HOST_NAMESPACES = ("hostNetwork", "hostPID", "hostIPC")


def seconds_to_stop(name: str) -> tuple[float, float]:
    """preStop plus drain, and the grace period, in seconds."""
    pre_stop = container(name)["lifecycle"]["preStop"]["sleep"]["seconds"]
    (drain,) = arguments(name)["--drain-s"]
    return pre_stop + float(drain), pod(name)["terminationGracePeriodSeconds"]


@every_overlay
def test_the_pod_is_restricted(name: str) -> None:
    spec = pod(name)
    assert container(name)["securityContext"] == RESTRICTED
    assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["securityContext"]["runAsUser"] == spec["securityContext"]["runAsGroup"] == 65532
    assert not any(spec.get(word) for word in HOST_NAMESPACES)
    assert "initContainers" not in spec
    labels = one(name, "Namespace")["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


@every_overlay
def test_no_volume_but_settings_secrets_and_an_empty_tmp(name: str) -> None:
    kinds = {key for volume in pod(name)["volumes"] for key in volume if key != "name"}
    assert kinds <= {"configMap", "secret", "emptyDir"}
    mounts = {mount["mountPath"]: mount.get("readOnly", False) for mount in container(name)["volumeMounts"]}
    assert [path for path, read_only in mounts.items() if not read_only] == ["/tmp"]


@every_overlay
def test_no_token_of_the_cluster(name: str) -> None:
    assert pod(name)["automountServiceAccountToken"] is False
    assert one(name, "ServiceAccount")["automountServiceAccountToken"] is False
    assert {item["kind"] for item in render(name)}.isdisjoint({"Role", "RoleBinding", "ClusterRole"})


@every_overlay
def test_no_egress(name: str) -> None:
    policies = [item["spec"] for item in render(name) if item["kind"] == "NetworkPolicy"]
    assert policies
    assert all("Egress" in policy["policyTypes"] and not policy.get("egress") for policy in policies)
    assert {} in [policy["podSelector"] for policy in policies], "nothing else in the namespace may speak either"


@every_overlay
def test_ingress_is_the_two_ports_and_named_namespaces(name: str) -> None:
    rules = one(name, "NetworkPolicy")["spec"]["ingress"]
    assert sorted(port["port"] for rule in rules for port in rule["ports"]) == [9464, 50051]
    assert all(peer["namespaceSelector"]["matchLabels"] for rule in rules for peer in rule["from"])


@every_overlay
def test_everything_that_selects_selects_the_daemon(name: str) -> None:
    deployment = one(name, "Deployment")["spec"]
    assert deployment["selector"]["matchLabels"] == LABELS
    assert deployment["template"]["metadata"]["labels"].items() >= LABELS.items()
    for service in ("cruxbox", "cruxbox-headless"):
        assert one(name, "Service", service)["spec"]["selector"] == LABELS
    assert one(name, "PodDisruptionBudget")["spec"]["selector"]["matchLabels"] == LABELS
    assert one(name, "NetworkPolicy")["spec"]["podSelector"]["matchLabels"] == LABELS
    for spread in pod(name)["topologySpreadConstraints"]:
        assert spread["labelSelector"]["matchLabels"] == LABELS


@every_overlay
def test_the_headless_service_is_headless(name: str) -> None:
    assert one(name, "Service", "cruxbox-headless")["spec"]["clusterIP"] == "None"
    assert one(name, "Service")["spec"]["type"] == "ClusterIP"


@every_overlay
def test_the_grace_period_holds_the_drain(name: str) -> None:
    needed, grace = seconds_to_stop(name)
    assert grace >= needed + 5, "the kubelet would kill the daemon in the middle of its drain"


@every_overlay
def test_one_pod_at_a_time_and_never_fewer(name: str) -> None:
    rolling = one(name, "Deployment")["spec"]["strategy"]["rollingUpdate"]
    assert (rolling["maxSurge"], rolling["maxUnavailable"]) == (1, 0)
    assert one(name, "PodDisruptionBudget")["spec"]["maxUnavailable"] == 1
    assert "replicas" not in one(name, "Deployment")["spec"], "the autoscaler owns the number"
    assert one(name, "HorizontalPodAutoscaler")["spec"]["minReplicas"] >= 2


@every_overlay
def test_requests_are_limits_and_workers_are_cpus(name: str) -> None:
    resources = container(name)["resources"]
    assert resources["requests"] == resources["limits"]
    assert arguments(name)["--workers"] == [resources["limits"]["cpu"]]


@every_overlay
def test_three_probes_ask_for_health(name: str) -> None:
    tls = "--tls-cert" in arguments(name)
    for probe, service in (
        ("startupProbe", "cruxbox.v1.Sandbox"),
        ("readinessProbe", "cruxbox.v1.Sandbox"),
        ("livenessProbe", ""),
    ):
        asked = container(name)[probe]
        if tls:
            assert "grpc" not in asked, "Kubernetes' gRPC probes speak no TLS"
            *_, script, target, name_of_service = asked["exec"]["command"]
            assert script == "/opt/cruxbox/probe.py"
            assert target in arguments(name)["--listen"]
            assert name_of_service == service
        else:
            assert asked["grpc"].get("service", "") == service
            assert asked["grpc"]["port"] == 50051


@every_overlay
def test_plain_text_is_said_aloud_or_not_there(name: str) -> None:
    flags = arguments(name)
    assert ("--insecure-listen" in flags) != ("--tls-cert" in flags)
    assert ("--tokens" in flags) == ("--tls-cert" in flags), "a token is never sent in plain text"


@every_overlay
def test_every_file_a_flag_names_is_mounted(name: str) -> None:
    mounts = [mount["mountPath"] for mount in container(name)["volumeMounts"]]
    for flag, values in arguments(name).items():
        for value in values:
            if value.startswith("/"):
                assert value.rpartition("/")[0] in mounts, f"{flag}={value}"


def test_a_changed_setting_rolls_the_pods() -> None:
    (volume,) = [item for item in pod("base")["volumes"] if item["name"] == "config"]
    (config,) = [item for item in render("base") if item["kind"] == "ConfigMap"]
    assert volume["configMap"]["name"] == config["metadata"]["name"] != "cruxbox-config"


def test_overlays_are_what_they_are_called() -> None:
    assert pod("overlays/gvisor")["runtimeClassName"] == "gvisor"
    assert "runtimeClassName" not in pod("base")
    assert "--tls-client-ca" not in arguments("overlays/tls")
    assert "--tls-client-ca" in arguments("overlays/example")
    assert "@sha256:" in container("overlays/example")["image"]


def test_the_autoscaler_asks_for_what_the_adapter_gives() -> None:
    adapter = yaml.safe_load((KUSTOMIZE / "components/monitoring/prometheus-adapter-values.yaml").read_text())
    given = {rule["name"]["as"] for rule in adapter["rules"]["custom"]}
    metrics = one("base", "HorizontalPodAutoscaler")["spec"]["metrics"]
    assert {item["pods"]["metric"]["name"] for item in metrics if item["type"] == "Pods"} == given
    assert [item["resource"]["name"] for item in metrics if item["type"] == "Resource"] == ["cpu"]
    fallback = one("overlays/example", "HorizontalPodAutoscaler")["spec"]["metrics"]
    assert [item["type"] for item in fallback] == ["Resource"]
