"""What image_test.py builds and runs containers with: podman, buildah, runc and debootstrap as plain commands."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

DEPLOY = Path(__file__).resolve().parent
ROOT = DEPLOY.parent
OUT = ROOT / "build" / "image-test"
SECCOMP = DEPLOY / "image" / "seccomp.json"

LOCAL_BASE = "localhost/cruxbox-base:bookworm"
BASE = os.environ.get("BASE") or LOCAL_BASE
IMAGE = os.environ.get("IMAGE") or "localhost/cruxbox:image-test"
OVERLAY = f"{IMAGE}-sci"
MIRROR = [os.environ["DEBOOTSTRAP_MIRROR"]] if os.environ.get("DEBOOTSTRAP_MIRROR") else []
CA_BUNDLE = Path("/etc/ssl/certs/ca-certificates.crt")
SETTINGS = f"--volume={DEPLOY}/kustomize/base:/etc/cruxbox:ro"
START_S = 60.0
STOP_S = 60.0
# Pure Python, so that the host's copy runs on the image's interpreter.
TEST_PACKAGES = ("pytest>=8", "pytest-asyncio>=0.23", "pytest-timeout>=2.3", "hypothesis>=6.100", "pyyaml>=6")


PIP = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")


class Failed(Exception):
    """The image does not do what it promises; the message says what was seen."""


class Skipped(Exception):
    """This cannot be tried here; the message says why."""


def call(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command with our containers.conf; never raises for its exit code."""
    environment = {**os.environ, "CONTAINERS_CONF": str(_containers_conf()), "KUBECONFIG": os.devnull}
    words = [str(word) for word in command]
    return subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)


def run(*command: str | Path) -> str:
    """Standard output of a command. Raises Failed, with the end of what it said, when it does not exit with 0."""
    done = call(*command)
    if done.returncode:
        said = (done.stdout + done.stderr)[-4000:]
        raise Failed(f"`{' '.join(str(word) for word in command[:4])} ...` exited with {done.returncode}:\n{said}")
    return done.stdout


def _containers_conf() -> Path:
    """runc, and resource limits that may also be lowered: `kube play` has no flags for either."""
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / "containers.conf"
    path.write_text(
        '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n[engine]\nruntime = "runc"\n'
    )
    return path


def need_tools() -> None:
    """Raises Skipped with what is missing."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise Skipped("it needs root on Linux, to build without a daemon")
    wanted = ["podman", "buildah", "runc"] + (["debootstrap"] if BASE == LOCAL_BASE else [])
    missing = [name for name in wanted if not shutil.which(name)]
    if missing:
        raise Skipped(f"{', '.join(missing)} not installed (apt-get install {' '.join(wanted)})")


def ensure_base() -> str:
    """The base: named by BASE, or made by debootstrap once."""
    if BASE != LOCAL_BASE:
        return f"base {BASE}, as asked for"
    if call("podman", "image", "exists", BASE).returncode == 0:
        return f"base {BASE} is there already"
    include = "--include=python3,python3-venv,ca-certificates"
    with tempfile.TemporaryDirectory(prefix="cruxbox-base-") as folder:
        root = Path(folder) / "root"
        run("debootstrap", "--variant=minbase", include, "bookworm", root, *MIRROR)
        for junk in ("var/cache/apt/archives", "var/lib/apt/lists"):
            shutil.rmtree(root / junk)
            (root / junk / "partial").mkdir(parents=True)
        archive = Path(folder) / "root.tar"
        run("tar", "-C", root, "-cf", archive, ".")
        run("podman", "import", archive, BASE)
    return f"base {BASE} made by debootstrap"


def build() -> str:
    """The Dockerfile, by buildah."""
    return _build(ROOT / "Dockerfile", IMAGE)


def build_overlay() -> str:
    """Dockerfile.packages upon the image that `build` made."""
    return _build(DEPLOY / "image" / "Dockerfile.packages", OVERLAY, "--build-arg", f"IMAGE={IMAGE}")


def _build(file: Path, tag: str, *more: str) -> str:
    """A Dockerfile; the host's CA bundle is lent to the build, for builds behind a proxy that re-signs."""
    pip_conf = OUT / "pip.conf"
    _containers_conf()
    pip_conf.write_text(f"[global]\ncert = {CA_BUNDLE}\n")
    lent = ("--volume", f"{CA_BUNDLE}:{CA_BUNDLE}:ro", "--volume", f"{pip_conf}:/etc/pip.conf:ro")
    options = ("--isolation", "chroot", "--format", "docker", "--build-arg", f"BASE={BASE}")
    run("buildah", "bud", *options, *more, *(lent if CA_BUNDLE.exists() else ()), "-f", file, "-t", tag, ROOT)
    return f"{tag} built"


def profile_without_landlock() -> Path:
    """The seccomp profile, on a kernel that has no Landlock: as gVisor is, or an old node."""
    profile = json.loads(SECCOMP.read_text())
    names = ["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"]
    profile["syscalls"].append({"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS})
    path = OUT / "seccomp-without-landlock.json"
    path.write_text(json.dumps(profile))
    return path


def restricted(
    *options: str, memory: str = "1g", name: str = "", profile: Path = SECCOMP, network: str = "none"
) -> list[str]:
    """`podman run` with what a restricted pod gets. `options` stand before the image."""
    words = ["podman", "--runtime", "runc", "run", f"--network={network}", "--cap-drop=ALL"]
    words += ["--ulimit=nofile=1024:1024", "--ulimit=nproc=4096:4096"]
    words += ["--security-opt=no-new-privileges", f"--security-opt=seccomp={profile}"]
    words += ["--read-only", "--user=65532:65532", f"--memory={memory}"]
    return [*words, *(["--detach", f"--name={name}"] if name else ["--rm"]), *options]


class Container:
    """A container that serves, removed at the end. Without words it is one that somebody else started."""

    def __init__(
        self,
        options: Sequence[str] = (),
        words: Sequence[str] = (),
        name: str = "",
        memory: str = "1g",
        profile: Path = SECCOMP,
        *,
        image: str = IMAGE,
    ) -> None:
        self.name = name or f"cruxbox-image-test-{os.getpid()}"
        self.words = words
        self.options = options
        self.memory, self.profile, self.image = memory, profile, image

    def __enter__(self) -> Container:
        if self.words:
            settings = restricted(*self.options, memory=self.memory, name=self.name, profile=self.profile)
            run(*settings, self.image, *self.words)
        return self

    def __exit__(self, *_: object) -> None:
        call("podman", "rm", "--force", "--time=5", self.name)

    def execute(self, *command: str) -> str:
        """Output of a command inside."""
        return run("podman", "exec", self.name, *command)

    def probe(self, target: str, service: str) -> None:
        """The health probe of the tls overlay; Failed when it does not say SERVING."""
        self.execute("/opt/cruxbox/bin/python", "-I", "/opt/cruxbox/probe.py", target, service)

    def wait_until_serving(self, target: str) -> None:
        """Return once it says SERVING; Failed with its log when it ends or does not come."""
        end = time.monotonic() + START_S
        while True:
            with contextlib.suppress(Failed):
                self.probe(target, "cruxbox.v1.Sandbox")
                return
            state = call("podman", "inspect", "--format", "{{.State.Status}}", self.name).stdout.strip()
            if state != "running" or time.monotonic() > end:
                call("podman", "stop", "--time=1", self.name)  # its log is whole only then
                raise Failed(f"it is {state or 'gone'} and does not serve; it said:\n{self.logs()}")
            time.sleep(0.2)

    def logs(self) -> str:
        """The end of its log."""
        done = call("podman", "logs", "--tail=40", self.name)
        return done.stdout + done.stderr

    def terminate(self) -> int:
        """SIGTERM, SIGKILL if it does not end in STOP_S, and the exit code (137 if so)."""
        run("podman", "stop", f"--time={STOP_S:.0f}", self.name)
        return int(run("podman", "inspect", "--format", "{{.State.ExitCode}}", self.name))


def rendered(name: str) -> list[dict[str, Any]]:
    """The objects of a folder under deploy/kustomize. Raises Skipped without kubectl or PyYAML."""
    if not shutil.which("kubectl"):
        raise Skipped("kubectl is not installed; it renders the manifests")
    try:
        import yaml
    except ImportError:
        raise Skipped("PyYAML is not installed; it reads the manifests") from None
    return list(yaml.safe_load_all(run("kubectl", "kustomize", DEPLOY / "kustomize" / name)))


def overlay_arguments(name: str) -> list[str]:
    """What an overlay's Deployment tells the daemon."""
    (deployment,) = [item for item in rendered(f"overlays/{name}") if item["kind"] == "Deployment"]
    return list(deployment["spec"]["template"]["spec"]["containers"][0]["args"])


@contextlib.contextmanager
def secrets_of_the_overlay() -> Iterator[tuple[list[str], str]]:
    """Mounts as the tls overlay's Secrets and settings would be, and a tenant's token."""
    if not shutil.which("openssl"):
        raise Skipped("openssl is not installed; it makes the certificates")
    with tempfile.TemporaryDirectory(prefix="cruxbox-tls-") as folder:
        root = Path(folder)
        (root / "tls").mkdir()
        (root / "tokens").mkdir()
        _make_certificates(root / "tls")
        token, digest = run(*restricted(), IMAGE, "token").split()
        (root / "tokens" / "tokens").write_text(f'[tenants.lab]\ntokens = ["{digest}"]\n')
        # A Secret's files are root's, group 65532 and mode 0440.
        for path in (root, *root.rglob("*")):
            os.chown(path, 0, 65532)
            path.chmod(0o550 if path.is_dir() else 0o440)
        places = {root / "tls": "/etc/cruxbox-tls", root / "tokens": "/etc/cruxbox-tokens"}
        yield [SETTINGS, *(f"--volume={source}:{target}:ro" for source, target in places.items())], token


def _make_certificates(folder: Path) -> None:
    """An authority and a server's certificate, good for a day."""
    fresh = (
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "1",
    )
    authority = ("-subj", "/CN=image-test authority", "-keyout", folder / "ca.key", "-out", folder / "ca.crt")
    server = ("-subj", "/CN=cruxbox", "-keyout", folder / "tls.key", "-out", folder / "tls.crt")
    names = ("-addext", "subjectAltName=DNS:localhost,DNS:cruxbox.cruxbox.svc")
    run(*fresh, *authority)
    run(*fresh, *server, *names, "-CA", folder / "ca.crt", "-CAkey", folder / "ca.key")
    (folder / "ca.key").unlink()


@contextlib.contextmanager
def play() -> Iterator[Container]:
    """The rendered base, made fit for podman, played; taken down at the end."""
    kept = [item for item in rendered("base") if item["kind"] in {"ConfigMap", "Deployment"}]
    for item in kept:
        if item["kind"] == "Deployment":
            spec = item["spec"]["template"]["spec"]
            spec["containers"][0]["image"] = IMAGE
            del spec["containers"][0]["ports"]  # podman would publish them, and there is no network
            # podman's own default profile allows namespaces; this one refuses them as Kubernetes' does. The annotation
            # is the older spelling of seccompProfile, which is what podman reads.
            note = {"seccomp.security.alpha.kubernetes.io/pod": f"localhost/{SECCOMP.name}"}
            item["spec"]["template"]["metadata"]["annotations"] = note
            spec["securityContext"]["seccompProfile"] = {"type": "Localhost", "localhostProfile": SECCOMP.name}
    path = OUT / "play.yaml"  # JSON is YAML too
    path.write_text("\n---\n".join(json.dumps(item) for item in kept))
    volumes = [item["metadata"]["name"] for item in kept if item["kind"] == "ConfigMap"]
    try:
        run("podman", "kube", "play", "--network=none", "--seccomp-profile-root", SECCOMP.parent, path)
        (found,) = [
            item["Names"][0]
            for item in json.loads(run("podman", "ps", "--all", "--format=json"))
            if "cruxboxd" in item["Names"][0]
        ]
        yield Container(name=found)
    finally:
        call("podman", "kube", "down", path)
        call("podman", "volume", "rm", "--force", *volumes)


def test_packages() -> Path:
    """A folder with pytest and what the conformance suite needs beside the image's own packages."""
    folder = OUT / "site"
    if not folder.exists():
        run(*PIP, "--target", folder, *TEST_PACKAGES)
    return folder
