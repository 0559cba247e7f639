"""The command line, the environment and the configuration file, made into a Config.

A flag beats its environment variable (CRUXBOXD_ and the flag's name), which beats the file, which beats the default.
"""

from __future__ import annotations

import argparse
import difflib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cruxboxd.settings.config import MIB, Config, ConfigError, PreloadSpec, RuntimeSpec
from cruxboxd.settings.tomlfile import read_toml


@dataclass(frozen=True)
class Option:
    """One setting: its flag, the Config field it sets, how its text is read, and what it means.

    `help` may hold {default}, the default in the flag's unit.
    """

    flag: str
    field: str
    read: Callable[[str], Any]
    help: str
    metavar: str = ""
    repeats: bool = False
    preflight: bool = False

    def explained(self, config: Config) -> str:
        """The help text, with the default that `config` has."""
        field, _, name = self.field.partition(".")
        value = getattr(config, f"{field}_limits" if name else field)
        value = getattr(value, name) if name else value
        if self.read is _mebibytes:
            value //= MIB
        return self.help.replace("{default}", f"{value:g}" if isinstance(value, float) else str(value))


def _integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("a whole number") from None


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError("a number of seconds") from None


def _share(text: str) -> float:
    """A number, or a fraction like 1/512."""
    above, sign, below = text.partition("/")
    try:
        return float(above) / float(below) if sign else float(above)
    except (ValueError, ZeroDivisionError):
        raise ValueError("a share from 0 to 1, such as 0.002 or 1/512") from None


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(",") if name.strip())


def _runtime(text: str) -> RuntimeSpec:
    name, sign, path = text.partition("=")
    if not sign or not name or not path:
        raise ValueError("NAME=/path/to/python")
    return RuntimeSpec(name, str(Path(path).expanduser().absolute()))


def _preload(text: str) -> PreloadSpec:
    name, _, modules = text.partition("=")
    names = tuple(word.strip() for word in modules.split(",") if word.strip())
    if not name or not names or not all(part.isidentifier() for word in names for part in word.split(".")):
        raise ValueError("RUNTIME=module,module,...")
    return PreloadSpec(name, names)


def _mebibytes(text: str) -> int:
    return _integer(text) * MIB


def _switch(text: str) -> bool:
    if text.lower() not in ("1", "0", "true", "false", "yes", "no"):
        raise ValueError("true or false")
    return text.lower() in ("1", "true", "yes")


OPTIONS = (
    Option("listen", "listen", str, "address to serve on; repeatable", "HOST:PORT|unix:PATH", repeats=True),
    Option("workers", "workers", _integer, "workers at the same time (default: usable CPUs, here {default})", "N",
           preflight=True),
    Option("metrics-port", "metrics_port", _integer, "serve Prometheus metrics on this port of loopback", "P"),
    Option("metrics-listen", "metrics_listen", str, "serve Prometheus metrics on this address", "HOST:PORT"),
    Option("runtime", "runtimes", _runtime, "a runtime that checks may name; the first is the default; repeatable",
           "NAME=PYTHON", repeats=True, preflight=True),
    Option("preload", "preloads", _preload, "modules that zygotes of a runtime import before they serve",
           "RUNTIME=MODULE,...", repeats=True, preflight=True),
    Option("own-packages", "own_packages", _switch, "let a runtime that is the daemon's own Python have its packages",
           preflight=True),
    Option("require", "require", _names, "layers that must hold although they are optional", "LAYER,...",
           preflight=True),
    Option("allow-degraded", "allow_degraded", _names, "layers that may be missing; verdicts then say so", "LAYER,...",
           preflight=True),
    Option("pure", "pure", _switch, "use the pure-Python twin of the native helper", preflight=True),
    Option("namespaces", "namespaces", _switch, "use namespaces where the host allows (default: true)", "BOOL",
           preflight=True),
    Option("scratch-mib", "scratch_bytes", _mebibytes, "size of a worker's scratch folder (default: {default}; "
           "0: none)", "MIB", preflight=True),
    Option("max-message-mib", "max_message_bytes", _mebibytes, "largest request (default: {default})", "MIB"),
    Option("queue-checks", "queue_checks", _integer, "checks that may wait (default: {default})", "N"),
    Option("queue-mib", "queue_bytes", _mebibytes, "bytes of checks that may wait (default: {default})", "MIB"),
    Option("drain-s", "drain_s", _seconds, "seconds to finish accepted checks after SIGTERM (default: {default})",
           "S"),
    Option("tls-cert", "tls_cert", str, "serve TLS on TCP with this certificate chain (PEM; reloaded when it changes)",
           "FILE"),
    Option("tls-key", "tls_key", str, "the key of --tls-cert", "FILE"),
    Option("tls-client-ca", "tls_client_ca", str, "accept only callers with a certificate signed by one of these; "
           "it names the tenant", "FILE"),
    Option("connection-age-s", "connection_age_s", _seconds, "seconds after which a connection made with a client "
           "certificate must be made anew (default: {default})", "S"),
    Option("unread-s", "unread_s", _seconds, "seconds without a message taken after which a stream may be ended that "
           "holds up other work of its tenant (default: {default})", "S"),
    Option("tokens", "tokens", str, "tenants, their quotas and hashes of their bearer tokens (TOML; read anew when it "
           "changes)", "FILE"),
    Option("insecure-listen", "insecure_listen", _switch, "allow plain text on addresses other hosts can reach"),
    Option("canary-s", "canary_s", _seconds, "seconds between canaries: checks with a known outcome "
           "(default: {default}; 0: none)", "S"),
    Option("exit-with-parent", "exit_with_parent", _switch, "end when the process that started this one ends"),
    Option("parent-pid", "parent_pid", _integer, "the process that --exit-with-parent means; without it, whoever is "
           "the parent when this one first looks", "PID"),
    Option("audit-share", "audit_share", _share, "of the checks that shared a worker, the part that runs again alone "
           "and is compared (default: 1/512; 0: none)", "SHARE"),
    Option("hash-seed", "hash_seed", str, "PYTHONHASHSEED of the candidates (default: {default})", "N"),
)  # fmt: skip
_LIMITS = tuple(
    Option(f"{kind}-{flag}", f"{kind}.{name}", read, says.format(what=what) + " (default: {default})", unit)
    for kind, says in (
        ("default", "{what} of a check that names none"),
        ("maximum", "largest {what} that a check may name"),
    )
    for flag, name, read, what, unit in (
        ("cpu-ms", "cpu_ms", _integer, "CPU time", "MS"),
        ("wall-ms", "wall_ms", _integer, "wall time", "MS"),
        ("memory-mib", "memory_bytes", _mebibytes, "memory", "MIB"),
        ("steps", "steps", _integer, "steps", "N"),
        ("output-bytes", "output_bytes", _integer, "output", "BYTES"),
    )
)


def add_options(parser: argparse.ArgumentParser, is_serve: bool) -> None:
    """Offer the settings that make sense for `serve`, or for `preflight`."""
    defaults = Config()
    for option in OPTIONS + _LIMITS:
        if not (is_serve or option.preflight):
            continue
        if option.read is _switch and not option.metavar:
            parser.add_argument(f"--{option.flag}", action="store_const", const="true", help=option.explained(defaults))
        else:
            action = "append" if option.repeats else "store"
            parser.add_argument(
                f"--{option.flag}", action=action, metavar=option.metavar, help=option.explained(defaults)
            )
    parser.add_argument("--config", metavar="FILE.toml", help="settings, by the names of these options")
    parser.add_argument(
        "--log-level",
        default="info",
        choices=("debug", "info", "warning", "error"),
        help="the least severe messages that are logged (default: info)",
    )


def config_from(options: argparse.Namespace) -> Config:
    """The Config. Raises ConfigError that names the flag, variable or key and what is allowed."""
    _refuse_unknown_variables()
    file = _read_file(options.config) if options.config else {}
    config = Config()
    changes: dict[str, Any] = {}
    limits: dict[str, dict[str, int]] = {"default": {}, "maximum": {}}
    for option in OPTIONS + _LIMITS:
        found = _find(option, options, file)
        if found is None:
            continue
        kind, _, name = option.field.partition(".")
        if name:
            limits[kind][name] = found
        else:
            changes[option.field] = found
    changes["default_limits"] = replace(config.default_limits, **limits["default"])
    changes["maximum_limits"] = replace(config.maximum_limits, **limits["maximum"])
    return replace(config, **changes)


def _variable(option: Option) -> str:
    return "CRUXBOXD_" + option.flag.upper().replace("-", "_")


def _refuse_unknown_variables() -> None:
    """A variable with a mistake in its name would be a setting that does not hold: CRUXBOXD_TOKEN serves everybody.

    An empty one says nothing, and Kubernetes sets its own for a service of the name `cruxboxd`.
    """
    known = [_variable(option) for option in OPTIONS + _LIMITS]
    for name in sorted(os.environ):
        if not name.startswith("CRUXBOXD_") or name in known or not os.environ[name]:
            continue
        if name.startswith(("CRUXBOXD_PORT", "CRUXBOXD_SERVICE_")):
            continue
        close = difflib.get_close_matches(name, known, 1)
        which = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
        raise ConfigError(f"{name} is not a setting; {which}")


def _find(option: Option, options: argparse.Namespace, file: dict[str, Any]) -> Any:
    """The value of one setting, None if nobody says anything about it."""
    given = getattr(options, option.flag.replace("-", "_"), None)
    variable = _variable(option)
    if given is not None:
        return _read(option, given, f"--{option.flag}")
    if os.environ.get(variable):
        words = os.environ[variable]
        return _read(option, words.split() if option.repeats else words, variable)
    if option.flag in file:
        value = file[option.flag]
        if isinstance(value, list):
            value = [str(item) for item in value] if option.repeats else _in_a_line(value)
        elif isinstance(value, dict) and option.repeats:
            value = [f"{name}={_in_a_line(each)}" for name, each in value.items()]
        return _read(
            option, value if isinstance(value, list) else str(value), f"--config {options.config}: {option.flag}"
        )
    return None


def _in_a_line(value: Any) -> str:
    """A value of the file as it stands in an option: a list with commas."""
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _read(option: Option, value: str | list[str], where: str) -> Any:
    texts = value if isinstance(value, list) else [value]
    if any("\0" in text for text in texts):
        raise ConfigError(f"{where} is {', '.join(texts)!r}; it must not hold a NUL")
    try:
        values = [option.read(text) for text in texts]
    except ValueError as error:
        wanted = option.metavar or "true or false"
        raise ConfigError(f"{where} is {', '.join(texts)!r}; it must be {wanted} ({error})") from None
    return tuple(values) if option.repeats else values[0]


def _read_file(path: str) -> dict[str, Any]:
    settings = read_toml(Path(path), "--config")
    known = {option.flag for option in OPTIONS + _LIMITS}
    for name in settings:
        if name not in known:
            raise ConfigError(f"--config {path}: {name!r} is not a setting; known are {', '.join(sorted(known))}")
    return settings
