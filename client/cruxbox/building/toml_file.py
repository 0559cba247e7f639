"""Reading a TOML file: the standard library does it from Python 3.11 on, tomli before."""

from __future__ import annotations

import importlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from cruxbox.errors import DataError
from cruxbox.reading import read_text


def file_of(name: str | None) -> Path | None:
    """The TOML file that is named, where a name may also be that of something built in."""
    return Path(name) if name and name.endswith(".toml") else None


def read_toml(path: Path) -> dict[str, Any]:
    """The table a TOML file holds. DataError, in one sentence, if it cannot be read or is none."""
    values: dict[str, Any]
    try:
        values = _reader(path).loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: is not TOML: {error}") from None
    return values


def _reader(path: Path) -> Any:
    for module in ("tomllib", "tomli"):
        with suppress(ImportError):
            return importlib.import_module(module)
    raise DataError(f"{path}: reading TOML on this Python needs tomli: pip install tomli")
