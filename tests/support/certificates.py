"""Certificates for daemons and clients."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


class Authority:
    """A certificate authority for a test, made with the openssl command."""

    def __init__(self, folder: Path, curve: str = "prime256v1") -> None:
        if shutil.which("openssl") is None:
            pytest.skip("the openssl command is not there")
        self.folder = folder
        self._new_key = ("-newkey", "ec", "-pkeyopt", f"ec_paramgen_curve:{curve}", "-nodes")
        folder.mkdir(parents=True, exist_ok=True)
        self.ca = folder / "ca.crt"
        self._openssl(
            "req", "-x509", *self._new_key, "-keyout", "ca.key", "-out", "ca.crt", "-days", "2", "-subj", "/CN=ca",
            "-addext", "keyUsage=critical,keyCertSign",
        )  # fmt: skip

    def issue(self, name: str, alternative: str = "DNS:localhost,IP:127.0.0.1") -> tuple[Path, Path]:
        """(certificate, key) in files called `name`; issued again, they are replaced."""
        self._openssl("req", *self._new_key, "-keyout", f"{name}.key", "-out", "request", "-subj", f"/CN={name}")
        (self.folder / "extensions").write_text(f"subjectAltName={alternative}\nauthorityKeyIdentifier=keyid\n")
        self._openssl(
            "x509", "-req", "-in", "request", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "extensions", "-out", f"{name}.crt",
        )  # fmt: skip
        return self.folder / f"{name}.crt", self.folder / f"{name}.key"

    def _openssl(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self.folder, check=True, capture_output=True)


def serial(port: int) -> str:
    """The fingerprint of the certificate the server shows."""
    shown = subprocess.run(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-alpn", "h2"],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    begin = shown.stdout.find("-----BEGIN")
    return shown.stdout[begin : shown.stdout.find("-----END")]
