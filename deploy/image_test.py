"""`make image-test`: build the image and run it the way a restricted pod would, then ask it for everything it promises.

Needs root, podman, buildah and runc; skips with the reason (exit 0) where they are missing. No registry is used:
without BASE=image@sha256:... in the environment, a base is made by debootstrap and kept for the next time.

The containers get what a pod under the `restricted` standard gets: user 65532, no capability, no new privileges,
read-only root, no network, a memory limit, and a seccomp profile that refuses namespaces (deploy/image/seccomp.json).
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

from image_tools import (
    BASE,
    IMAGE,
    OUT,
    OVERLAY,
    ROOT,
    SETTINGS,
    Container,
    Failed,
    Skipped,
    build,
    build_overlay,
    call,
    ensure_base,
    need_tools,
    overlay_arguments,
    play,
    profile_without_landlock,
    restricted,
    run,
    secrets_of_the_overlay,
    test_packages,
)

# All metrics that dashboards and alerts use; a histogram is named by its count.
METRICS = (
    "cruxbox_queue_seconds_count",
    "cruxbox_run_seconds_count",
    "cruxbox_cpu_seconds_total",
    "cruxbox_busy_workers",
    "cruxbox_workers",
    "cruxbox_queue_depth",
    "cruxbox_queue_age_seconds",
    "cruxbox_canary_ok",
    "cruxbox_verdicts_total",
    "cruxbox_zygote_restarts_total",
)
# Programs that would help an intruder and that the daemon does not need.
UNWANTED = ("gcc", "cc", "g++", "as", "ld", "make", "curl", "wget", "pip", "pip3")
FORBIDDEN = {
    "a user namespace": "unshare -Ur true",
    "writing the root": "touch /x",
    "writing the program": "touch /opt/cruxbox/x",
    "the network": "python -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 2)'",
}
# One call check by bare gRPC; prints the outcome, or the status that refused it.
ONE_CHECK = """
import sys, grpc
from pathlib import Path
from cruxbox_proto.v1 import sandbox_pb2 as pb, sandbox_pb2_grpc as stubs
ca, token = sys.argv[1:]
if ca:
    trusted = grpc.ssl_channel_credentials(Path("/etc/cruxbox-tls/ca.crt").read_bytes())
    channel = grpc.secure_channel("localhost:50051", trusted)
else:
    channel = grpc.insecure_channel("localhost:50051")
check = pb.Check(call=pb.CallCheck(call="f(1)", expected="2"))
task = pb.Task(id="t", program="def f(x): return x + 1", checks=[check])
metadata = [("authorization", f"Bearer {token}")] if token else []
try:
    answer = stubs.SandboxStub(channel).Check(pb.CheckRequest(tasks=[task]), metadata=metadata, timeout=20)
    print(pb.Outcome.Name(answer.verdicts[0].outcome).removeprefix("OUTCOME_"))
except grpc.RpcError as error:
    print(error.code().name)
"""
# One program for each package, on a runtime; prints the packages whose import worked.
IMPORTS = """
import sys, grpc
from cruxbox_proto.v1 import sandbox_pb2 as pb, sandbox_pb2_grpc as stubs
runtime, *names = sys.argv[1:]
tasks = [
    pb.Task(
        id=name, program=f"import {name}\\ndef f(): return {name}.__name__", options=pb.Options(runtime=runtime),
        checks=[pb.Check(call=pb.CallCheck(call="f()", expected=repr(name)))],
    )
    for name in names
]
answer = stubs.SandboxStub(grpc.insecure_channel("localhost:50051")).Check(pb.CheckRequest(tasks=tasks), timeout=120)
print(*[verdict.task_id for verdict in answer.verdicts if verdict.outcome == pb.OUTCOME_PASSED])
"""
SCRAPE = "import urllib.request as u; print(u.urlopen('http://127.0.0.1:9464/metrics', timeout=5).read().decode())"


def image() -> Iterator[str]:
    """Base and image; the Dockerfile as it is, with another BASE."""
    yield ensure_base()
    yield build()


def contents() -> Iterator[str]:
    """No compiler, no installer, no set-id file; the native helper is there."""
    found = run(*restricted("--entrypoint", "sh"), IMAGE, "-c", f"command -v {' '.join(UNWANTED)} || true").split()
    if found:
        raise Failed(f"the final image has {', '.join(found)}")
    set_id = run(*restricted("--entrypoint", "sh"), IMAGE, "-c", "find / -xdev -type f -perm /6000 2>/dev/null || true")
    if set_id.strip():
        raise Failed(f"set-id files: {', '.join(set_id.split())}")
    run(*restricted("--entrypoint", "python"), IMAGE, "-I", "-c", "import cruxcell.native._native, pyseccomp")
    (told,) = json.loads(run("podman", "image", "inspect", IMAGE))
    if told["Config"]["User"] != "65532:65532" or told.get("HealthCheck"):
        raise Failed(f"user is {told['Config']['User']!r}, health check is {told.get('HealthCheck')}")
    yield f"no compiler, installer or set-id file; user {told['Config']['User']}; {told['Size'] >> 20} MiB"


def refused() -> Iterator[str]:
    """The surroundings are as tight as a restricted pod's, or the rest would prove nothing."""
    yield from refuses(lambda script: run(*restricted("--entrypoint", "sh"), IMAGE, "-c", script))


def refuses(shell: Callable[[str], str]) -> Iterator[str]:
    """Raises Failed when a container whose `shell` runs a script allows one of FORBIDDEN."""
    for what, command in FORBIDDEN.items():
        if shell(f"({command}) 2>/dev/null && echo worked || echo refused").strip() != "refused":
            raise Failed(f"{what} is not refused in this container")
    yield f"refused: {', '.join(FORBIDDEN)}"


def preflight() -> Iterator[str]:
    """`cruxboxd preflight`: every layer but namespaces, and every forbidden thing tried and refused."""
    yield from run(*restricted(memory="2g"), IMAGE, "preflight").rstrip().splitlines()


def conformance() -> Iterator[str]:
    """The hostile cases, run inside the container by a pytest that is mounted, against daemons they start there."""
    packages = test_packages()
    mounts = ("--volume", f"{ROOT}:/src:ro", "--volume", f"{packages}:/site:ro", "--env", "PYTHONPATH=/site")
    command = ("-m", "pytest", "-p", "no:cacheprovider", "--rootdir", "/src", "/src/tests/conformance")
    done = call(*restricted("--entrypoint", "python", *mounts, memory="2g"), IMAGE, *command)
    log = OUT / "conformance.log"
    log.write_text(done.stdout + done.stderr)
    *_, last = done.stdout.rstrip().splitlines() or ["no output"]
    if done.returncode:
        raise Failed(f"{last} (all of it in {log})")
    yield last


@contextlib.contextmanager
def served() -> Iterator[tuple[Container, str]]:
    """A serving container and the address of its unix socket, which lies in a folder shared with the host."""
    with tempfile.TemporaryDirectory(prefix="cruxbox-image-") as folder:
        os.chown(folder, 65532, 65532)
        words = ["serve", "--listen=unix:/run/cruxbox/s", "--listen=0.0.0.0:50051", "--insecure-listen"]
        words += ["--metrics-listen=0.0.0.0:9464", "--workers=2", "--default-memory-mib=256", "--drain-s=20"]
        with Container(["--volume", f"{folder}:/run/cruxbox"], words) as container:
            container.wait_until_serving("unix:/run/cruxbox/s")
            yield container, f"unix:{folder}/s"


def serving() -> Iterator[str]:
    """Health over both listeners, a scoring job from the host, metrics, and a drain that ends with 0."""
    with served() as (container, target):
        for listener in ("unix:/run/cruxbox/s", "127.0.0.1:50051"):
            for service in ("", "cruxbox.v1.Sandbox"):
                container.probe(listener, service)
        yield "health is SERVING over both listeners (the probes of the tls overlay)"
        yield from score(target)
        metrics = container.execute("python", "-I", "-c", SCRAPE)
        missing = [name for name in METRICS if f"\n{name}" not in metrics]
        if missing:
            raise Failed(f"/metrics does not have {', '.join(missing)}")
        yield f"/metrics has all of {len(METRICS)} names"
        started = time.monotonic()
        code = container.terminate()
        if code != 0:
            raise Failed(f"after SIGTERM the daemon ended with {code}; it said:\n{container.logs()}")
        yield f"SIGTERM: ended with 0 after {time.monotonic() - started:.1f} s"


def score(target: str) -> Iterator[str]:
    """The README's demo against the container; the outcomes are those of a daemon on this host."""
    for mode in ("input", "output"):
        here, there = scored(mode), scored(mode, "--server", target)
        if here != there:
            raise Failed(f"scoring {mode} predictions: the container says {there}, a daemon on the host {here}")
        yield f"scored {mode} predictions: {', '.join(f'{n} {outcome}' for outcome, n in sorted(there.items()))}"


def scored(mode: str, *more: str) -> dict[str, int]:
    """How often each outcome came out of the example generations."""
    examples = ROOT / "examples"
    words = ("score", examples / f"generations_{mode}.json", "--dataset", examples / "tasks.jsonl", "--mode", mode)
    told = json.loads(run(Path(sys.executable).parent / "cruxbox", *words, "--json", *more))
    (report,) = told["files"]
    return dict(report["outcomes"])


def tls() -> Iterator[str]:
    """The tls overlay's own arguments and probes: a token over TLS counts, no token and plain text do not."""
    with (
        secrets_of_the_overlay() as (mounts, token),
        Container(mounts, overlay_arguments("tls"), memory="4g") as container,
    ):
        container.wait_until_serving("unix:/tmp/health.sock")
        container.probe("unix:/tmp/health.sock", "")
        yield "health is SERVING over the unix socket that the overlay's probes ask"
        for who, words, expected in (
            ("a tenant's token over TLS", ("ca", token), "PASSED"),
            ("a wrong token over TLS", ("ca", "crux_wrong"), "UNAUTHENTICATED"),
            ("no token over TLS", ("ca", ""), "UNAUTHENTICATED"),
            ("plain text", ("", ""), "UNAVAILABLE"),
        ):
            said = container.execute("/opt/cruxbox/bin/python", "-I", "-c", ONE_CHECK, *words).strip()
            if said != expected:
                raise Failed(f"{who}: expected {expected}, got {said}; the daemon said:\n{container.logs()}")
            yield f"{who}: {said}"


def without_landlock() -> Iterator[str]:
    """A node without Landlock: refused, in a sentence, unless the gvisor overlay's arguments allow it."""
    profile = profile_without_landlock()
    done = call(*restricted(memory="2g", profile=profile), IMAGE, "preflight")
    if done.returncode != 1 or "landlock" not in done.stdout + done.stderr:
        raise Failed(f"preflight exits with {done.returncode} where Landlock is missing:\n{done.stdout}{done.stderr}")
    yield "preflight: exits with 1 and names the layer"
    with Container([SETTINGS], overlay_arguments("gvisor"), memory="4g", profile=profile) as container:
        container.wait_until_serving("127.0.0.1:50051")
    yield "the gvisor overlay's arguments: serves"


def kube_play() -> Iterator[str]:
    """The rendered base Deployment and its ConfigMap by `podman kube play`, which knows no probes and no Services."""
    if not shutil.which("catatonit"):
        raise Skipped("catatonit is not installed; a pod's pause process is made of it (apt-get install catatonit)")
    with play() as container:
        container.wait_until_serving("127.0.0.1:50051")
        yield "the rendered Deployment serves"
        yield from refuses(lambda script: container.execute("sh", "-c", script))
        code = container.terminate()
        if code != 0:
            raise Failed(f"after SIGTERM the daemon ended with {code}; it said:\n{container.logs()}")
        yield "and drains"


def packages() -> Iterator[str]:
    """Dockerfile.packages: workers of its runtime `sci` import what it promises, others do not."""
    yield build_overlay()
    lines = (ROOT / "deploy/image/requirements-packages.in").read_text().splitlines()
    names = [line for line in lines if not line.startswith("#")]
    words = ["serve", "--listen=127.0.0.1:50051", "--workers=1"]
    with Container((), words, memory="4g", image=OVERLAY) as container:
        container.wait_until_serving("127.0.0.1:50051")
        for runtime, expected in (("sci", names), ("default", [])):
            said = container.execute("/opt/cruxbox/bin/python", "-I", "-c", IMPORTS, runtime, *names).split()
            if sorted(said) != sorted(expected):
                raise Failed(f"runtime {runtime} imports {said}, expected {expected}; it said:\n{container.logs()}")
            yield f"runtime {runtime} imports {', '.join(said) or 'none of them'}"


STEPS: tuple[tuple[str, Callable[[], Iterator[str]]], ...] = (
    ("image", image),
    ("contents", contents),
    ("refused", refused),
    ("preflight", preflight),
    ("serving", serving),
    ("tls", tls),
    ("without landlock", without_landlock),
    ("kube play", kube_play),
    ("packages", packages),
    ("conformance", conformance),
)


def main() -> int:
    """Run the steps named on the command line, or all; 1 when one failed."""
    try:
        need_tools()
    except Skipped as error:
        print(f"image-test skipped: {error}")
        return 0
    print(f"image {IMAGE} on base {BASE}")
    chosen, failed = sys.argv[1:] or [name for name, _ in STEPS], False
    for name, step in STEPS:
        if name not in chosen:
            continue
        print(f"== {name}", flush=True)
        try:
            for line in step():
                print(f"   {line}", flush=True)
        except Skipped as error:
            print(f"   skipped: {error}")
        except Failed as error:
            print(f"   FAILED: {error}")
            failed = True
            if step is image:
                break
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
