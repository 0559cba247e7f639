"""Tokens, and files of them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


def hashed(token: str) -> str:
    return f"sha256:{hashlib.sha256(token.encode()).hexdigest()}"


def tokens_file(path: Path, **tokens: str) -> Path:
    """A tokens file with one token for each tenant; replaced at once, as Kubernetes does it."""
    text = "".join(f'[tenants.{name}]\ntokens = ["{hashed(token)}"]\n' for name, token in tokens.items())
    new = path.with_suffix(".new")
    new.write_text(text)
    os.replace(new, path)
    return path
