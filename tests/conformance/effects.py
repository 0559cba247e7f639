"""Effects that belong to one case only. Each gives a problem in words, or None."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.lab import Lab


def no_core_file(lab: Lab, replies: Sequence[object]) -> str | None:
    """No core dump was written where the server or its workers live."""
    if lab.daemon is None:
        return None
    found = [str(path) for path in lab.daemon.folder.rglob("*core*") if path.is_file()]
    return f"core files: {found}" if found else None
