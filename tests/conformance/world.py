"""What a hostile program could hit: bystander files, secret canaries, listening sentinels.

Programs name these things by placeholders (``@{secret_file}``), which `fill` replaces just before sending. A canary is
a random string that no program is given: to see it anywhere is a leak.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import tempfile
from pathlib import Path

BYSTANDER_TEXT = "nobody touches this\n"
OWNED_BY_WORKERS = 65534  # root's workers run under this uid: files that only permission bits would protect


class Files:
    """A folder whose files everybody may read and write as far as permission bits go."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="cruxbox-conformance-"))
        self.canary = "canary-" + secrets.token_hex(12)
        self.home = self.root / "home"
        self._write("secret.txt", self.canary)
        self._write("bystander.txt", BYSTANDER_TEXT)
        self._write("tree/deep/leaf.txt", BYSTANDER_TEXT)
        self._write("home/.ssh/id_rsa", self.canary)
        self._write("serviceaccount/token", self.canary)
        self._write("pythonpath/sitecustomize.py", "import sys; sys.cruxbox_planted = True\n")
        os.mkfifo(self.root / "fifo")
        for path in (self.root, *self.root.rglob("*")):
            if os.geteuid() == 0:
                os.chown(path, OWNED_BY_WORKERS, OWNED_BY_WORKERS)
            path.chmod(0o777 if path.is_dir() else 0o666)
        self._before = self._state()

    def _write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def _state(self) -> dict[str, tuple[int, int, int, int, bytes]]:
        state = {}
        for path in sorted(self.root.rglob("*")):
            info = path.lstat()
            attributes = repr(sorted(os.listxattr(path, follow_symlinks=False))).encode()
            content = path.read_bytes() if path.is_file() else b""
            times = 0 if path.is_dir() else info.st_mtime_ns
            state[str(path)] = (info.st_mode, info.st_uid, info.st_size, times, attributes + content)
        return state

    def changed(self) -> list[str]:
        """Names of files that are not as they were: new, gone, or different in content, mode, owner, time, xattrs."""
        now = self._state()
        return sorted(name for name in {*now, *self._before} if now.get(name) != self._before.get(name))

    def remove(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self.root, ignore_errors=True)


class Sentinels:
    """Sockets that must stay silent: TCP, UDP, a unix path and an abstract name."""

    def __init__(self, folder: Path) -> None:
        self.tcp = self._open(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
        self.udp = self._open(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0))
        self.unix_path = str(folder / "sentinel.sock")
        self.unix = self._open(socket.AF_UNIX, socket.SOCK_STREAM, self.unix_path)
        os.chmod(self.unix_path, 0o777)
        self.abstract_name = "cruxbox-sentinel-" + secrets.token_hex(6)
        self.abstract = self._open(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + self.abstract_name)

    @staticmethod
    def _open(family: int, kind: int, address: object) -> socket.socket:
        opened = socket.socket(family, kind)
        opened.bind(address)  # type: ignore[arg-type]
        if kind == socket.SOCK_STREAM:
            opened.listen(16)
        opened.setblocking(False)
        return opened

    def heard(self) -> list[str]:
        """Names of the sentinels that received something."""
        named = {"tcp": self.tcp, "udp": self.udp, "unix": self.unix, "abstract": self.abstract}
        return [name for name, sentinel in named.items() if self._received(sentinel)]

    @staticmethod
    def _received(sentinel: socket.socket) -> bool:
        try:
            if sentinel.type == socket.SOCK_STREAM:
                sentinel.accept()[0].close()
            else:
                sentinel.recv(4096)
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Close all of them."""
        for sentinel in (self.tcp, self.udp, self.unix, self.abstract):
            sentinel.close()


class World:
    """Files, sentinels and canaries together, and the placeholders that name them."""

    def __init__(self) -> None:
        self.files = Files()
        self.sentinels = Sentinels(Path(tempfile.mkdtemp(prefix="sentinel-", dir=tempfile.gettempdir())))
        self.environment_canary = "canary-" + secrets.token_hex(12)
        self.names: dict[str, str] = {
            "world": str(self.files.root),
            "secret_file": str(self.files.root / "secret.txt"),
            "bystander": str(self.files.root / "bystander.txt"),
            "leaf": str(self.files.root / "tree" / "deep" / "leaf.txt"),
            "tree": str(self.files.root / "tree"),
            "home": str(self.files.home),
            "token": str(self.files.root / "serviceaccount" / "token"),
            "fifo": str(self.files.root / "fifo"),
            "tests": str(Path(__file__).resolve().parent),
            "tcp_port": str(self.sentinels.tcp.getsockname()[1]),
            "udp_port": str(self.sentinels.udp.getsockname()[1]),
            "unix_path": self.sentinels.unix_path,
            "abstract": self.sentinels.abstract_name,
            "daemon_pid": "1",
            "daemon_port": "1",
        }

    @property
    def environment(self) -> dict[str, str]:
        """What the daemon is started with: a secret in its environment, a home and a PYTHONPATH with things planted."""
        return {
            "CRUXBOX_CONFORMANCE_SECRET": self.environment_canary,
            "HOME": str(self.files.home),
        }

    def canaries(self) -> list[bytes]:
        """Strings that must never be seen in a reply or a log line."""
        return [self.files.canary.encode(), self.environment_canary.encode()]

    def fill(self, text: str) -> str:
        """Replace every placeholder ``@{name}`` of `text`."""
        if "@{" in text:
            for name, value in self.names.items():
                text = text.replace("@{" + name + "}", value)
        return text

    def close(self) -> None:
        """Take everything down."""
        self.sentinels.close()
        shutil.rmtree(Path(self.sentinels.unix_path).parent, ignore_errors=True)
        self.files.remove()
