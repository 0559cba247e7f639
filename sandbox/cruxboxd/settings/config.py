"""The daemon's configuration: its settings, their defaults, and what they must be. `cli_options` reads them.

An invalid value is refused at start-up with one sentence that names it (ConfigError).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields, replace

from cruxcell.protocol.messages import VALUE_BYTES

from cruxboxd.settings.host import memory_limit_bytes, usable_cpus

MIB = 1 << 20


class ConfigError(Exception):
    """A setting that cannot be; the message is one sentence for people."""


class UnreadableFile(ConfigError):
    """A file of the settings that could not be read now; at another time it may be, as it is."""


@dataclass(frozen=True)
class Limits:
    """What one check may use. Times in ms, sizes in bytes, steps in bytecode instructions."""

    cpu_ms: int
    wall_ms: int
    memory_bytes: int
    steps: int
    output_bytes: int


DEFAULT_LIMITS = Limits(cpu_ms=3_000, wall_ms=10_000, memory_bytes=512 * MIB, steps=100_000_000, output_bytes=MIB)
MAXIMUM_LIMITS = Limits(
    cpu_ms=60_000, wall_ms=300_000, memory_bytes=4_096 * MIB, steps=1_000_000_000_000, output_bytes=16 * MIB
)
MINIMUM_LIMITS = Limits(cpu_ms=10, wall_ms=20, memory_bytes=16 * MIB, steps=1, output_bytes=64)

LARGEST_SCRATCH = 65_536 * MIB
LARGEST_HASH_SEED = 2**32 - 2  # the interpreter's largest is one more

UNITS = {"cpu_ms": "ms", "wall_ms": "ms", "memory_bytes": "bytes", "steps": "steps", "output_bytes": "bytes"}


# Bytes that a worker which answers several checks may report more than one that answers the longest of them.
_MORE_REPORTED = 32 * MIB


def most_reported(output_bytes: int, checks: int = 1) -> int:
    """Bytes of report that the daemon reads from a worker before it kills it: enough for any one check, and for what
    others are likely to say. What goes over it with others in front of it runs again, alone."""
    a_check = 4 * max(output_bytes, VALUE_BYTES) + (1 << 16)
    return (1 << 18) + a_check + min((checks - 1) * a_check, _MORE_REPORTED)


class LimitError(ValueError):
    """A request asks for a limit above the server's maximum; one sentence."""


def resolve_limits(asked: dict[str, int], default: Limits, maximum: Limits) -> Limits:
    """The limits of a check: `asked` values over `default`, 0 meaning the default. Raises LimitError, never clamps.

    A request that raises the CPU limit but says nothing of wall time gets the default's proportion of wall time.
    """
    chosen: dict[str, int] = {}
    for name, unit in UNITS.items():
        value = asked.get(name, 0)
        if value == 0:
            value = getattr(default, name)
            if name == "wall_ms" and asked.get("cpu_ms"):
                value = min(max(value, 3 * asked["cpu_ms"] + 1_000), maximum.wall_ms)
        low, high = getattr(MINIMUM_LIMITS, name), getattr(maximum, name)
        if not low <= value <= high:
            raise LimitError(f"limits.{name} is {value}; allowed are 0 (the default) and {low} to {high} {unit}")
        chosen[name] = value
    return Limits(**chosen)


@dataclass(frozen=True)
class RuntimeSpec:
    """A runtime: a name that checks use, and the interpreter behind it."""

    name: str
    path: str


@dataclass(frozen=True)
class PreloadSpec:
    """Modules that zygotes of a runtime import before they serve, where a program names them."""

    runtime: str
    modules: tuple[str, ...]


@dataclass(frozen=True)
class Config:
    """All settings of the daemon. `cruxboxd serve --help` explains each."""

    listen: tuple[str, ...] = ()
    workers: int = field(default_factory=usable_cpus)
    zygotes: int = 0  # at the most, slow workers' included; from what fits into memory and has descriptors
    worker_memory_bytes: int = 0  # of all workers together; set by check_config
    metrics_port: int | None = None
    metrics_listen: str = ""
    default_limits: Limits = DEFAULT_LIMITS
    maximum_limits: Limits = MAXIMUM_LIMITS
    runtimes: tuple[RuntimeSpec, ...] = ()
    preloads: tuple[PreloadSpec, ...] = ()
    own_packages: bool = False  # may a runtime that is the daemon's own Python have its site-packages?
    require: frozenset[str] = frozenset()
    allow_degraded: frozenset[str] = frozenset()
    pure: bool = False
    namespaces: bool = True
    uid: int = 65534
    gid: int = 65534
    max_message_bytes: int = 16 * MIB
    queue_checks: int = 200_000
    queue_bytes: int = 512 * MIB
    drain_s: float = 30.0
    tls_cert: str = ""
    tls_key: str = ""
    tls_client_ca: str = ""
    tokens: str = ""
    insecure_listen: bool = False
    connection_age_s: float = 900.0
    unread_s: float = 60.0
    canary_s: float = 30.0
    exit_with_parent: bool = False
    parent_pid: int = 0  # 0: whoever had started this process when it first looked
    hash_seed: str = "0"
    scratch_bytes: int = 32 * MIB  # of a worker's scratch folder; 0 for none
    audit_share: float = 1 / 512
    # Protections between the checks of one worker that a test has switched off. No flag, variable or file sets this.
    opened: frozenset[str] = frozenset()


LAYERS = (
    "rlimits",
    "no_new_privs",
    "seccomp",
    "landlock",
    "namespaces",
    "uid_drop",
    "capabilities",
    "undumpable",
    "pdeathsig",
    "scratch",
)
# Layers that a restricted pod cannot give and cruxbox does without.
OPTIONAL_LAYERS = frozenset({"namespaces", "scratch"})


def check_config(config: Config) -> Config:
    """Refuse what cannot work, with one sentence; return the config."""
    if config.workers < 1:
        raise ConfigError(f"--workers is {config.workers}; it must be at least 1")
    for name in sorted(config.require | config.allow_degraded):
        if name not in LAYERS:
            raise ConfigError(f"{name!r} is not a confinement layer; known are {', '.join(LAYERS)}")
    _check_runtimes(config)
    _check_service(config)
    _check_limits(config)
    if config.scratch_bytes and not MIB <= config.scratch_bytes <= LARGEST_SCRATCH:
        raise ConfigError(
            f"--scratch-mib is {config.scratch_bytes // MIB}; it must be 0 (no scratch folder) or 1 to "
            f"{LARGEST_SCRATCH // MIB}"
        )
    return fit_memory(config)


def _check_runtimes(config: Config) -> None:
    """Names that are each given once, and a hash seed that has a successor: the one of a second run."""
    names = [spec.name for spec in config.runtimes]
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"--runtime names {name!r} twice; names are unique")
    preloads = [item.runtime for item in config.preloads]
    for name in preloads:
        if preloads.count(name) > 1:
            raise ConfigError(f"--preload names the runtime {name!r} twice; give all its modules at once")
    seed = config.hash_seed
    if not (seed.isascii() and seed.isdigit() and int(seed) <= LARGEST_HASH_SEED):
        raise ConfigError(f"--hash-seed is {seed!r}; it must be a whole number from 0 to {LARGEST_HASH_SEED}")


def _check_limits(config: Config) -> None:
    """Defaults that a request which asks for nothing can be given."""
    for item in fields(Limits):
        default, high = getattr(config.default_limits, item.name), getattr(config.maximum_limits, item.name)
        low = getattr(MINIMUM_LIMITS, item.name)
        if default < low:
            raise ConfigError(f"the default {item.name} ({default}) is below what a worker needs ({low})")
        if default > high:
            raise ConfigError(f"the default {item.name} ({default}) is above the maximum ({high})")


def _check_service(config: Config) -> None:
    """What the network was told: numbers in range, and TLS that is whole."""
    least = {"queue_checks": 1, "queue_bytes": MIB, "max_message_bytes": MIB, "drain_s": 0, "canary_s": 0}
    least["connection_age_s"] = least["unread_s"] = 1
    for name, low in least.items():
        value = getattr(config, name)
        if not low <= value <= 1e12:
            raise ConfigError(f"{name} is {value}; it must be at least {low}")
    if not 0 <= config.audit_share <= 1:
        raise ConfigError(f"--audit-share is {config.audit_share}; it must be from 0 (no audit) to 1 (every check)")
    if config.metrics_port is not None and not 1 <= config.metrics_port <= 65535:
        raise ConfigError(f"--metrics-port is {config.metrics_port}; it must be from 1 to 65535")
    if config.metrics_port is not None and config.metrics_listen:
        raise ConfigError("--metrics-port and --metrics-listen say the same twice; give one of them")
    metrics_address(config)
    if bool(config.tls_cert) != bool(config.tls_key):
        raise ConfigError("--tls-cert and --tls-key belong together; one of them is missing")
    if config.tls_client_ca and not config.tls_cert:
        raise ConfigError("--tls-client-ca needs --tls-cert and --tls-key: certificates are shown over TLS only")


def metrics_address(config: Config) -> tuple[str, int] | None:
    """(host, port) at which figures are served; None for nowhere. On loopback unless it was told otherwise."""
    if not config.metrics_listen:
        return None if config.metrics_port is None else ("127.0.0.1", config.metrics_port)
    host, sign, port = config.metrics_listen.rpartition(":")
    if not (sign and host and port.isascii() and port.isdigit() and 1 <= int(port) <= 65535):
        raise ConfigError(f"--metrics-listen is {config.metrics_listen!r}; it must be HOST:PORT")
    return host.strip("[]"), int(port)


# Slow workers give up their CPU slot but not their memory; so many zygotes a CPU slot there may be at the most.
_ZYGOTES_A_WORKER = 4


def fit_memory(config: Config, preload_bytes: int = 0) -> Config:
    """All workers at their limit at once must fit into this machine or container: the kernel kills a whole container
    for one worker's excess (cgroup v2, memory.oom.group), and that would be our failure. Every zygote's worker fits at
    the default limit, with what it reports, which is the daemon's memory; who asks for more, or has a scratch folder,
    waits until there is room (the scheduler counts). The largest limit is one that a pair of workers with scratch
    folders can have beside the reserve.

    `preload_bytes` is what preloaded packages take of each zygote's own memory.
    """
    available = memory_limit_bytes()
    room = int(available * 0.9) - 256 * MIB - _ZYGOTES_A_WORKER * config.workers * preload_bytes
    memory = config.default_limits.memory_bytes
    reported = most_reported(config.default_limits.output_bytes)
    if config.workers * (memory + reported) > room:
        raise ConfigError(
            f"{config.workers} workers of {memory // MIB} MiB each do not fit into {available // MIB} MiB of memory; "
            "lower --workers or --default-memory-mib"
        )
    if memory + reported + config.scratch_bytes > room:
        raise ConfigError(
            f"a worker of {memory // MIB} MiB with a scratch folder of {config.scratch_bytes // MIB} MiB does not fit "
            f"into {available // MIB} MiB of memory; lower --scratch-mib or --default-memory-mib"
        )
    fitting = room // (memory + reported)
    zygotes = max(config.workers, min(config.zygotes or _ZYGOTES_A_WORKER * config.workers, fitting))
    fitted = replace(config, zygotes=zygotes, worker_memory_bytes=room)
    beside = config.scratch_bytes + most_reported(config.maximum_limits.output_bytes)
    largest = min(config.maximum_limits.memory_bytes, max((room - reserve_of(fitted)) // 2 - beside, memory))
    return replace(fitted, maximum_limits=replace(config.maximum_limits, memory_bytes=largest))


def reserve_of(config: Config) -> int:
    """Of the memory of all workers, what is kept for a tenant that holds none: a pair at the default limit."""
    default = config.default_limits
    a_worker = default.memory_bytes + most_reported(default.output_bytes) + config.scratch_bytes
    return min(config.worker_memory_bytes // 4, 2 * a_worker)


def environment_for_zygotes(hash_seed: str) -> dict[str, str]:
    """All of a zygote's environment: what makes Python deterministic, and nothing of the daemon's."""
    return {
        "PYTHONHASHSEED": hash_seed,
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PATH": os.defpath,
        # Else a large block that was freed moves these, and what later checks can allocate depends on earlier ones.
        "MALLOC_MMAP_THRESHOLD_": "131072",
        "MALLOC_TRIM_THRESHOLD_": "131072",
        "MALLOC_ARENA_MAX": "1",  # else each thread reserves 64 MiB of the address space that memory is limited by
        "LD_BIND_NOW": "1",  # else every worker looks symbols up by itself, and writes them down on pages of its own
        # One thread a worker: numeric libraries would otherwise start as many as there are CPUs, and are refused.
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "JE_ARROW_MALLOC_CONF": "background_thread:false",  # else pandas, which imports pyarrow, cannot be preloaded
    }
