"""Reads TOML files; errors are one sentence."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from cruxboxd.settings.config import ConfigError, UnreadableFile
from cruxboxd.settings.files import read_file

if sys.version_info >= (3, 11):
    import tomllib
else:  # pragma: no cover - the same library under its older name
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]


def read_toml(path: Path, flag: str) -> dict[str, Any]:
    """The tables of a file that `flag` named. Raises ConfigError."""
    try:
        content: dict[str, Any] = tomllib.loads(read_file(path).decode("utf-8"))
        repr(content)  # so that a sentence can show whatever is wrong
    except OSError as error:
        raise UnreadableFile(f"{flag} {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{flag} {path}: it is not UTF-8 (byte {error.start})") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{flag} {path}: {error}") from None
    except ValueError:
        raise ConfigError(f"{flag} {path}: it holds a number of too many digits") from None
    except RecursionError:
        raise ConfigError(f"{flag} {path}: it is nested too deep") from None
    return content
