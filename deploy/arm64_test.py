"""`make arm64-test`: run cruxbox on an emulated aarch64 machine: preflight, the demo, and the tests of confinement.

Needs root, qemu-system-aarch64, debootstrap and cpio; skips with the reason (exit 0) where one is missing. A Debian for
aarch64 is unpacked, without running its install scripts, and booted from memory with its own kernel; its console is
shown. An emulated CPU is 20 to 50 times as slow, so an example that uses up its memory may be TIMED_OUT there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from cruxboxd.settings.tomlfile import read_toml
from image_tools import MIRROR, PIP, ROOT, TEST_PACKAGES, Failed, Skipped, run

TOOLS = {"qemu-system-aarch64": "qemu-system-arm", "debootstrap": "debootstrap", "cpio": "cpio", "git": "git"}
PACKAGES = "python3,python3-dev,gcc,libc6-dev,libseccomp2,linux-image-arm64,busybox-static,iproute2,procps,util-linux"
PLATFORMS = [f"manylinux_2_{minor}_aarch64" for minor in range(36, 16, -1)] + ["manylinux2014_aarch64"]
MEMORY = "6G"
PATHS = "".join(f"/srv/cruxbox/{name}\n" for name in ("client", "sandbox", "proto"))
ACCOUNTS = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/bin/false\n",
    "etc/group": "root:x:0:\nnogroup:x:65534:\n",
    "etc/hosts": "127.0.0.1 localhost\n",
}
# From the memory that holds the archive into a file system whose root can be changed, as workers do.
FIRST = """#!/bin/busybox sh
/bin/busybox mount -t tmpfs -o size=90% root /root
/bin/busybox tar -xf /root.tar -C /root
/bin/busybox rm /root.tar
exec /bin/busybox switch_root /root /srv/jobs.sh
"""
SCORE = "python3 -m cruxbox score examples/generations_{0}.json --dataset examples/tasks.jsonl --mode {0}"
PYTEST = "python3 -m pytest -o timeout=3000 -o faulthandler_timeout=0"
JOBS = (
    "python3 -m cruxboxd preflight",
    SCORE.format("input"),
    SCORE.format("output"),
    f"{PYTEST} tests/daemon/test_policy.py tests/cell/test_confine.py",
)
RUNS_JOBS = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin HOME=/root LANG=C.UTF-8 TERM=dumb
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir /dev/shm; mount -t tmpfs tmpfs /dev/shm
ln -s /proc/self/fd /dev/fd
ip link set lo up; ldconfig
cd /srv/cruxbox
job() { "$@" && echo "DONE $*" || echo "FAILED $*"; }
{jobs}
busybox poweroff -f
""".replace("{jobs}", "\n".join(f"job {each}" for each in JOBS))


def main() -> int:
    """0 if all jobs succeeded, or nothing could be tried."""
    try:
        need_tools()
        with tempfile.TemporaryDirectory(prefix="cruxbox-arm64-") as folder:
            root = Path(folder) / "root"
            for step in (unpack, furnish, boot):
                step(root)
    except Skipped as error:
        print(f"arm64-test skipped: {error}")
    except Failed as error:
        print(f"FAILED: {error}")
        return 1
    return 0


def need_tools() -> None:
    """Raises Skipped with what is missing."""
    missing = [package for tool, package in TOOLS.items() if not shutil.which(tool)]
    if os.geteuid() != 0 or missing:
        raise Skipped(f"it needs root, and {', '.join(TOOLS.values())} (missing: {', '.join(missing) or 'none'})")


def unpack(root: Path) -> None:
    """The files of Debian's packages for aarch64."""
    print("== a Debian for aarch64", flush=True)
    of = ("--foreign", "--arch=arm64", "--variant=minbase", f"--include={PACKAGES}")
    run("debootstrap", *of, "bookworm", root, *MIRROR)
    into = f"tar -x --keep-directory-symlink -C {root}"  # /bin is one
    for package in sorted((root / "var/cache/apt/archives").glob("*.deb")):
        run("sh", "-c", f"dpkg-deb --fsys-tarfile {package} | {into}")
        package.unlink()


def furnish(root: Path) -> None:
    """What runs there: the committed tree, and the wheels of this platform that it needs."""
    project = read_toml(ROOT / "pyproject.toml", "the project's")["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["server"], *extras["cli"], *TEST_PACKAGES]
    site = root / "usr/lib/python3/dist-packages"
    platforms = [word for platform in PLATFORMS for word in ("--platform", platform)]
    run(*PIP, "--no-compile", "--only-binary=:all:", "--python-version=3.11", *platforms, "--target", site, *wanted)
    (site / "cruxbox.pth").write_text(PATHS)
    (root / "srv/cruxbox").mkdir(parents=True, exist_ok=True)
    run("sh", "-c", f"git archive HEAD | tar -x -C {root}/srv/cruxbox")
    for name, text in ACCOUNTS.items():
        (root / name).write_text(text)
    if (root / "proc").is_symlink():  # to the host's own
        (root / "proc").unlink()
    (root / "proc").mkdir(exist_ok=True)
    (root / "srv/jobs.sh").write_text(RUNS_JOBS)
    (root / "srv/jobs.sh").chmod(0o755)


def boot(root: Path) -> None:
    """Start it from memory and show its console to the end. Raises Failed unless each job says that it is done."""
    print("== booted", flush=True)
    (kernel,) = (root / "boot").glob("vmlinuz-*")
    archive = pack(root)
    machine = ["qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a72", "-smp", "2", "-m", MEMORY, "-nographic"]
    machine += ["-no-reboot", "-nic", "none", "-kernel", str(kernel), "-initrd", str(archive)]
    machine += ["-append", "console=ttyAMA0 quiet panic=-1"]
    done = 0
    nothing, pipe = subprocess.DEVNULL, subprocess.PIPE
    with subprocess.Popen(machine, stdin=nothing, stdout=pipe, text=True, errors="replace") as running:
        assert running.stdout is not None
        for line in running.stdout:
            print("  ", line.rstrip(), flush=True)
            done += line.startswith("DONE ")
    if done != len(JOBS):
        raise Failed(f"{done} of {len(JOBS)} jobs succeeded")


def pack(root: Path) -> Path:
    """An archive that the kernel unpacks and begins with: the tree, and what puts it into place."""
    first = root.parent / "first"
    for name in ("bin", "root"):
        (first / name).mkdir(parents=True)
    shutil.copy(root / "bin/busybox", first / "bin")
    (first / "init").write_text(FIRST)
    (first / "init").chmod(0o755)
    run("tar", "-C", root, "--exclude=./boot", "--exclude=./lib/modules", "-cf", first / "root.tar", ".")
    packed = root.parent / "first.cpio"
    run("sh", "-c", f"cd {first} && find . | cpio --quiet -o -H newc > {packed}")
    return packed


if __name__ == "__main__":
    sys.exit(main())
