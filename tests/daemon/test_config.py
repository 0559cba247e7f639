"""What the daemon is told: flag beats variable beats file beats default, and every mistake is one sentence."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cruxboxd.server.command import COMMANDS, _parser
from cruxboxd.settings import config as config_module
from cruxboxd.settings.cli_options import OPTIONS, add_options, config_from
from cruxboxd.settings.config import (
    DEFAULT_LIMITS,
    MAXIMUM_LIMITS,
    MIB,
    Config,
    ConfigError,
    LimitError,
    RuntimeSpec,
    check_config,
    environment_for_zygotes,
    most_reported,
    reserve_of,
    resolve_limits,
)


def read(*arguments: str) -> Config:
    parser = argparse.ArgumentParser()
    add_options(parser, is_serve=True)
    return config_from(parser.parse_args(arguments))


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CRUXBOXD_WORKERS", "CRUXBOXD_LISTEN", "CRUXBOXD_REQUIRE", "CRUXBOXD_PURE"):
        monkeypatch.delenv(name, raising=False)


def test_who_beats_whom(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "cruxboxd.toml"
    file.write_text('workers = 3\nlisten = ["unix:/a", "unix:/b"]\nrequire = ["seccomp", "landlock"]\npure = true\n'
                    'default-cpu-ms = 100\n[runtime]\npy39 = "/usr/bin/python3.9"\n'
                    '[preload]\npy39 = ["json", "csv"]\n')  # fmt: skip
    assert read().workers == Config().workers
    found = read("--config", str(file))
    assert found.workers == 3
    assert found.listen == ("unix:/a", "unix:/b")
    assert found.require == {"seccomp", "landlock"}
    assert found.pure
    assert found.runtimes == (RuntimeSpec("py39", "/usr/bin/python3.9"),)
    assert found.preloads == read("--preload", "py39=json,csv").preloads != ()
    assert found.default_limits == replace(DEFAULT_LIMITS, cpu_ms=100)
    monkeypatch.setenv("CRUXBOXD_WORKERS", "4")
    monkeypatch.setenv("CRUXBOXD_LISTEN", "unix:/c unix:/d")
    found = read("--config", str(file))
    assert (found.workers, found.listen) == (4, ("unix:/c", "unix:/d"))
    found = read("--config", str(file), "--workers", "5", "--listen", "unix:/e")
    assert (found.workers, found.listen) == (5, ("unix:/e",))


def test_a_variable_with_a_mistake_in_its_name_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CRUXBOXD_PORT", "tcp://10.0.0.1:50051")  # of Kubernetes, for a service of that name
    assert read().workers == Config().workers
    monkeypatch.setenv("CRUXBOXD_TOKEN", "secret")
    with pytest.raises(ConfigError, match="CRUXBOXD_TOKEN is not a setting; did you mean CRUXBOXD_TOKENS") as refused:
        read()
    assert "secret" not in str(refused.value)


def test_a_file_that_is_no_text_is_one_sentence(tmp_path: Path):
    (tmp_path / "c.toml").write_bytes(b"workers = 3 # \xff")
    with pytest.raises(ConfigError, match=r"it is not UTF-8 \(byte 14\)"):
        read("--config", str(tmp_path / "c.toml"))


@pytest.mark.parametrize("number", ["9" * 5000, "0x" + "f" * 5000])
def test_a_number_that_cannot_be_shown_is_one_sentence(tmp_path: Path, number: str):
    (tmp_path / "c.toml").write_text(f"workers = {number}\n")
    with pytest.raises(ConfigError, match=r"c\.toml: it holds a number of too many digits$"):
        read("--config", str(tmp_path / "c.toml"))


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.flag)
def test_no_setting_holds_a_nul(tmp_path: Path, option):
    """The kernel takes none for a name, and what is read of it would be another one."""
    (tmp_path / "c.toml").write_text(f'{option.flag} = "a\\u0000b"\n')
    with pytest.raises(ConfigError, match=rf"c\.toml: {option.flag} is 'a\\x00b'; it must not hold a NUL$"):
        read("--config", str(tmp_path / "c.toml"))


def test_units_of_options():
    found = read("--default-memory-mib", "100", "--maximum-cpu-ms", "70000", "--drain-s", "1.5", "--queue-mib", "7")
    assert found.default_limits.memory_bytes == 100 * MIB
    assert found.maximum_limits.cpu_ms == 70_000
    assert (found.drain_s, found.queue_bytes) == (1.5, 7 * MIB)


@pytest.mark.parametrize(("text", "share"), [("1/512", 1 / 512), ("0", 0), ("1", 1), ("0.25", 0.25)])
def test_a_share_is_a_number_or_a_fraction(text: str, share: float):
    assert check_config(read("--audit-share", text)).audit_share == share
    assert Config().audit_share == 1 / 512


def test_no_setting_opens_a_layer():
    assert "opened" not in {option.field for option in OPTIONS}
    assert not Config().opened


# ---- mistakes ---------------------------------------------------------------------

LISTEN = "--listen 127.0.0.1:0"
MISTAKES = [
    ("serve", "--listen is missing"),
    (f"serve {LISTEN} --workers 0", "--workers is 0; it must be at least 1"),
    (f"serve {LISTEN} a\x1b[31mb", r"unrecognized arguments: a\x1b[31mb"),
    (f"serve {LISTEN} --config a\x1b[31mb", r"--config a\x1b[31mb: No such file or directory"),
    (f"serve {LISTEN} --workers many", "--workers is 'many'; it must be N (a whole number)"),
    (f"serve {LISTEN} --workers 100000", "do not fit into"),
    (f"serve {LISTEN} --hash-seed random", "--hash-seed is 'random'; it must be a whole number from 0"),
    (f"serve {LISTEN} --hash-seed=-1", "--hash-seed is '-1'"),
    (f"serve {LISTEN} --hash-seed 4294967295", "--hash-seed is '4294967295'"),
    (f"serve {LISTEN} --default-cpu-ms 0", "the default cpu_ms (0) is below what a worker needs (10)"),
    (f"serve {LISTEN} --default-memory-mib 1", "the default memory_bytes (1048576) is below what a worker needs"),
    (f"serve {LISTEN} --default-cpu-ms 100000", "the default cpu_ms (100000) is above the maximum (60000)"),
    (f"serve {LISTEN} --maximum-steps 5", "the default steps (100000000) is above the maximum (5)"),
    (f"serve {LISTEN} --runtime a", "--runtime is 'a'; it must be NAME=PYTHON"),
    (f"serve {LISTEN} --runtime a=/bin/true", "runtime 'a': /bin/true is not a working Python"),
    (f"serve {LISTEN} --runtime a=/nowhere", "runtime 'a': cannot run /nowhere: No such file or directory"),
    (f"serve {LISTEN} --runtime a=/x --runtime a=/y", "--runtime names 'a' twice"),
    (f"serve {LISTEN} --require magic", "'magic' is not a confinement layer; known are rlimits,"),
    (f"serve {LISTEN} --allow-degraded magic", "'magic' is not a confinement layer"),
    (f"serve {LISTEN} --namespaces maybe", "--namespaces is 'maybe'; it must be BOOL"),
    (f"serve {LISTEN} --drain-s soon", "--drain-s is 'soon'; it must be S (a number of seconds)"),
    (f"serve {LISTEN} --drain-s nan", "drain_s is nan; it must be at least 0"),
    (f"serve {LISTEN} --audit-share 2", "--audit-share is 2.0; it must be from 0 (no audit) to 1 (every check)"),
    (f"serve {LISTEN} --audit-share nan", "--audit-share is nan; it must be from 0"),
    (f"serve {LISTEN} --audit-share 1/0", "--audit-share is '1/0'; it must be SHARE (a share from 0 to 1"),
    (f"serve {LISTEN} --metrics-port 99999", "--metrics-port is 99999; it must be from 1 to 65535"),
    (f"serve {LISTEN} --config /nowhere", "--config /nowhere: No such file or directory"),
    (f"serve {LISTEN} --config unknown.toml", "--config unknown.toml: 'wokers' is not a setting; known are "),
    (f"serve {LISTEN} --config wrong.toml", "--config wrong.toml: "),
    (f"serve {LISTEN} --config value.toml", "--config value.toml: workers is 'x'; it must be N"),
    ("serve --listen nonsense", "--listen nonsense: must be HOST:PORT or unix:PATH"),
    ("serve --listen 0.0.0.0:0", "0.0.0.0:0 can be reached from other hosts"),
    (f"serve {LISTEN} --tls-cert a", "--tls-cert and --tls-key belong together"),
    (f"preflight {LISTEN}", "unrecognized arguments"),
    ("nonsense", "invalid choice"),
]  # fmt: skip


# A fork for each line: an interpreter that imports all that a daemon needs takes half a second of CPU time.
IN_TURN = """
import json, os, sys
from cruxboxd.__main__ import main
import cruxboxd.server.command
for line in json.load(sys.stdin):
    sys.stdout.flush()
    if not os.fork():
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        main(line.split())
    code = os.waitstatus_to_exitcode(os.wait()[1])
    print(json.dumps([code, open("out").read(), open("err").read()]))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str, str]]:
    """Exit code, standard output and standard error of each line."""
    folder = tmp_path_factory.mktemp("mistakes")
    (folder / "unknown.toml").write_text("wokers = 1\n")
    (folder / "wrong.toml").write_text("workers = \n")
    (folder / "value.toml").write_text('workers = "x"\n')
    lines = [line for line, _ in MISTAKES]
    done = run([sys.executable, "-c", IN_TURN], folder, json.dumps(lines))
    return {line: tuple(json.loads(answer)) for line, answer in zip(lines, done.stdout.splitlines(), strict=True)}


@pytest.mark.parametrize(("line", "sentence"), MISTAKES)
def test_a_mistake_is_one_sentence(answers: dict[str, tuple[int, str, str]], line: str, sentence: str):
    refused_by_one_sentence(*answers[line], sentence)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_what_a_command_does(name: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        _parser().parse_args([name, "--help"])
    assert COMMANDS[name] in " ".join(capsys.readouterr().out.split())


def test_an_address_is_refused_before_anything_is_done(tmp_path: Path):
    left = tmp_path / "cruxboxd-dead"
    left.mkdir()
    (left / "lock").touch()
    done = run([sys.executable, "-m", "cruxboxd", "serve", "--listen", "nonsense"], tmp_path)
    refused_by_one_sentence(
        done.returncode, done.stdout, done.stderr, "--listen nonsense: must be HOST:PORT or unix:PATH"
    )
    assert left.exists()


def run(command: list[str], folder: Path, told: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TMPDIR": str(folder)}
    return subprocess.run(command, cwd=folder, env=environment, input=told, capture_output=True, text=True, timeout=300)


def refused_by_one_sentence(code: int, out: str, err: str, sentence: str) -> None:
    assert code == 2, err
    assert out == ""
    assert err.startswith("cruxboxd: ")
    assert err.count("\n") == 1
    assert sentence in err


# ---- limits -----------------------------------------------------------------------


def resolve(**asked: int) -> config_module.Limits:
    return resolve_limits(asked, DEFAULT_LIMITS, MAXIMUM_LIMITS)


def test_zero_is_the_default_and_too_much_is_refused():
    assert resolve() == DEFAULT_LIMITS
    assert resolve(cpu_ms=0, steps=7) == replace(DEFAULT_LIMITS, steps=7)
    for name in ("cpu_ms", "wall_ms", "memory_bytes", "steps", "output_bytes"):
        assert getattr(resolve(**{name: getattr(MAXIMUM_LIMITS, name)}), name) == getattr(MAXIMUM_LIMITS, name)
        for value in (getattr(MAXIMUM_LIMITS, name) + 1, -1):
            with pytest.raises(
                LimitError, match=rf"limits.{name} is {value}; allowed are 0 \(the default\) and \d+ to"
            ):
                resolve(**{name: value})


def test_more_cpu_time_brings_wall_time_with_it():
    assert resolve(cpu_ms=20_000).wall_ms == 61_000
    assert resolve(cpu_ms=100).wall_ms == DEFAULT_LIMITS.wall_ms
    assert resolve(cpu_ms=20_000, wall_ms=500).wall_ms == 500
    assert resolve(cpu_ms=MAXIMUM_LIMITS.cpu_ms).wall_ms <= MAXIMUM_LIMITS.wall_ms


def test_workers_fit_into_memory(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(config_module, "memory_limit_bytes", lambda: 2048 * MIB)
    fitting = check_config(Config(workers=3))
    assert fitting.default_limits == DEFAULT_LIMITS
    scratch = fitting.scratch_bytes
    assert 2 * (fitting.maximum_limits.memory_bytes + scratch) <= fitting.worker_memory_bytes <= 2048 * MIB
    assert fitting.zygotes * fitting.default_limits.memory_bytes <= fitting.worker_memory_bytes
    with pytest.raises(ConfigError, match="with a scratch folder of 1100 MiB does not fit into 2048 MiB"):
        check_config(Config(workers=1, scratch_bytes=1100 * MIB))
    with pytest.raises(ConfigError, match="4 workers of 512 MiB each do not fit into 2048 MiB"):
        check_config(Config(workers=4))


def test_what_workers_report_fits_into_memory_too(monkeypatch: pytest.MonkeyPatch):
    """The daemon holds it until they end."""
    monkeypatch.setattr(config_module, "memory_limit_bytes", lambda: 8192 * MIB)
    roomy = check_config(Config(workers=3))
    scratch = roomy.scratch_bytes
    largest, default = roomy.maximum_limits, roomy.default_limits
    reported = most_reported(largest.output_bytes), most_reported(default.output_bytes)
    pair, reserve = 2 * (largest.memory_bytes + scratch + reported[0]), reserve_of(roomy)
    assert roomy.worker_memory_bytes - 2 <= pair + reserve <= roomy.worker_memory_bytes
    a_worker = default.memory_bytes + reported[1]
    assert reserve == min(roomy.worker_memory_bytes // 4, 2 * (a_worker + scratch))
    monkeypatch.setattr(config_module, "memory_limit_bytes", lambda: int((3 * a_worker + 256 * MIB) / 0.9) + 2)
    assert check_config(Config(workers=3, scratch_bytes=0)).zygotes == 3
    monkeypatch.setattr(config_module, "memory_limit_bytes", lambda: int((3 * a_worker + 256 * MIB) / 0.9) - 2)
    with pytest.raises(ConfigError, match="3 workers of 512 MiB each do not fit"):
        check_config(Config(workers=3, scratch_bytes=0))


def test_a_zygote_inherits_nothing(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CRUXBOX_SECRET", "secret")
    environment = environment_for_zygotes("7")
    assert environment["PYTHONHASHSEED"] == "7"
    assert "secret" not in str(environment)
    assert "HOME" not in environment


def test_no_library_starts_threads_as_it_is_imported():
    """Or none of them could be preloaded."""
    environment = environment_for_zygotes("7")
    assert {environment[f"{each}_NUM_THREADS"] for each in ("OPENBLAS", "OMP", "MKL")} == {"1"}
    assert environment["JE_ARROW_MALLOC_CONF"] == "background_thread:false"
