"""Mistakes on the command line: one sentence on stderr, exit code 2, no traceback, nothing written."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys

import pytest
from cruxbox.cli import COMMANDS, main

ROW = {"code": "def f(x):\n    return x", "input": "1", "output": "1", "id": "sample_0"}
NOBODY = "127.0.0.1:9"  # the discard port: nothing listens there
LONG = "x" * 300  # no file can have such a name; as in a folder that may not be read, even to ask for it is an error


@pytest.fixture
def files(tmp_path, monkeypatch):
    (tmp_path / "data.jsonl").write_text(json.dumps(ROW) + "\n")
    (tmp_path / "nocode.jsonl").write_text(json.dumps({"input": "1", "output": "1"}) + "\n")
    (tmp_path / "good.json").write_text(json.dumps({"sample_0": ["f(1)"]}))
    (tmp_path / "key.json").write_text(json.dumps({"sample_7": ["f(1)"]}))
    (tmp_path / "type.json").write_text(json.dumps({"sample_0": [1]}))
    (tmp_path / "program.py").write_text("def f(x):\n    return x\n")
    (tmp_path / "steps.toml").write_text("max_steps = 99999999999999999999999\n")
    (tmp_path / "set.toml").write_text("mode = 'output'\nquestion = '{code}'\n")
    (tmp_path / "twice.jsonl").write_text((json.dumps(ROW) + "\n") * 2)
    (tmp_path / "key.jsonl").write_text(json.dumps(ROW)[:-1] + ', "output": "2"}\n')
    (tmp_path / "number.json").write_text(json.dumps({"sample_0": ["f(1)", 1]}))
    (tmp_path / "keys.json").write_text('{"sample_0": ["f(1)"], "sample_0": []}')
    (tmp_path / "texts.json").write_text(
        json.dumps({"raw_scored_generations": {"a": [True]}, "raw_generations": {"a": [1]}})
    )
    (tmp_path / "none.jsonl").write_text("")
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "good.json").write_text(json.dumps({"sample_0": ["f(1)"]}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


SCORE = "score good.json --dataset data.jsonl --mode input"
WRITERS = [
    "steps data.jsonl",
    "filter data.jsonl",
    "sample data.jsonl",
    "anonymize data.jsonl",
    "finetune data.jsonl --form output",
    "prompts output data.jsonl",
    "extract output good.json",
    "generate data.jsonl --base-url http://x --model m",
    "humaneval good.json --problems data.jsonl",
    "stdio good.json --problems data.jsonl",
]
MISTAKES = [
    ("score nope.json --dataset data.jsonl --mode input", "nope.json: cannot be read: No such file"),
    ("score good.json --dataset nope.jsonl --mode input", "nope.jsonl: cannot be read: No such file"),
    ("score key.json --dataset data.jsonl --mode input", "key.json, line 1: 'sample_7' is no id"),
    ("score type.json --dataset data.jsonl --mode input", "generation 0 of sample_0 must be a string, not a number"),
    ("score good.json --dataset nocode.jsonl --mode input", "nocode.jsonl, line 1: "),
    ("score good.json --dataset data.jsonl --mode sideways", "'sideways' is not one of 'input', 'output'"),
    ("score good.json --dataset data.jsonl", "--mode"),
    ("score good.json --mode input", "--dataset"),
    ("score --dataset data.jsonl --mode input", "GENERATIONS.json"),
    (f"{SCORE} --k 0", "--k must be at least 1, not 0"),
    (f"{SCORE} --cpu-limit 0", "--cpu-limit must be a number of seconds above 0"),
    (f"{SCORE} --cpu-limit nan", "--cpu-limit must be a number of seconds above 0"),
    (f"{SCORE} --cpu-limit=lots", "must be a number, not 'lots'"),
    (f"{SCORE} --k many", "must be a whole number, not 'many'"),
    (f"{SCORE} --max-steps -1", "--max-steps must be at least 1"),
    (f"{SCORE} --out nope/out.json", "nope/out.json: cannot be written"),
    (f"{SCORE} --out sub", "sub: is a folder"),
    (f"{SCORE} --out {LONG}", f"{LONG}: File name too long"),
    (f"humaneval good.json --problems {LONG}", f"{LONG}: File name too long"),
    (f"stdio {LONG} --problems {LONG}", f"{LONG}: File name too long"),
    (f"compare a={LONG}", "File name too long"),
    (f"sample data.jsonl --out {LONG}", f"{LONG}: File name too long"),
    (f"filter data.jsonl --out {LONG}", "File name too long"),
    (f"{SCORE} --out good.json", "good.json: would overwrite a file it is made from"),
    (f"{SCORE} --out data.jsonl", "data.jsonl: would overwrite a file it is made from"),
    (f"{SCORE} --server {NOBODY} --out out.json", f"Cannot reach the server at {NOBODY}"),
    (f"{SCORE} --accounting creative", "'creative' is not one of"),
    ("score good.json ./good.json --dataset data.jsonl --mode input --out out", "two of the files to score"),
    ("score good.json key.json --dataset data.jsonl --mode input --out data.jsonl", "key.json, line 1"),
    ("score good.json good.json --dataset data.jsonl --mode input --out data.jsonl", "must be a folder"),
    ("check --program nope.py --call f(1) --expected 1", "nope.py: cannot be read"),
    ("check --program program.py --call f(1)", "--expected"),
    ("check --program program.py --call= --expected 1", "--call is empty"),
    ("check --program program.py --call f(1) --expected=", "--expected is empty"),
    (f"check --program program.py --call f(1) --expected 1 --server {NOBODY}", "Cannot reach the server"),
    (f"info --server {NOBODY}", "Cannot reach the server"),
    ("info --server foo", "--server must be host:port"),
    ("info --nonsense", "--nonsense"),
    ("steps nope.jsonl", "nope.jsonl: cannot be read"),
    ("steps nocode.jsonl", "nocode.jsonl, line 1"),
    ("steps data.jsonl --count thoughts", "'thoughts' is not one of"),
    ("nonsense", "nonsense"),
    (
        f"{SCORE} --max-steps {10**30}",
        "--max-steps must be at least 1 and at most 9223372036854775807, not a number of",
    ),
    (f"{SCORE} --wall-limit inf", "--wall-limit must be a number of seconds above 0"),
    (f"{SCORE} --memory-limit lots", "--memory-limit must be a size such as 512M or 2G, not 'lots'"),
    (f"{SCORE} --memory-limit 0", "--memory-limit must be above 0 and below 8388608T, not '0'"),
    (f"{SCORE} --memory-limit -5M", "--memory-limit must be above 0 and below 8388608T, not '-5M'"),
    (f"{SCORE} --memory-limit {'9' * 30}G", "--memory-limit must be above 0 and below"),
    (f"{SCORE} --out=", "--out is empty"),
    (f"{SCORE} --out program.py/", "program.py/: ends in / as a folder does, but is a file"),
    ("sample data.jsonl --out o.jsonl --n 0", "1"),
    ("sample data.jsonl --out o.jsonl --n 100", "data.jsonl: has only 1 different program, and --n is 100"),
    ("filter data.jsonl --out -", "--out must name a file, not -"),
    ("filter data.jsonl --out data.jsonl", "data.jsonl: would overwrite a file it is made from"),
    ("filter data.jsonl --out o.jsonl --rejects o.jsonl", "kept and refused rows are two files"),
    ("filter data.jsonl --out o.jsonl --rules steps.toml", "steps.toml: max_steps must be at most"),
    (
        "stdio good.json --problems data.jsonl --checker program.py",
        "program.py: defines no check",
    ),
    (
        "generate data.jsonl --base-url http://x --model m --out o --key-env NOPE_X",
        "--key-env names 'NOPE_X'",
    ),
    (
        "run data.jsonl --mode input --base-url http://x --model m --out program.py",
        "program.py: is a file",
    ),
    (f"{SCORE} --python nope/python", "--python must be the path of a Python interpreter, not 'nope/python'"),
    (f"{SCORE} --python data.jsonl", "--python must be the path of a Python interpreter"),
    (f"{SCORE} --python /bin/sh --server {NOBODY}", "--python is for a server of its own"),
    (f"{SCORE} --require gold", "'gold' is not"),
    # What only a folder can be called is no file; where a run that is killed goes on with a file, it has to be one.
    *((f"{line} --out a\0b", "a\\x00b: is no name that a file can have") for line in (SCORE, *WRITERS[:7])),
    *((f"{line} --out new/", "new/: ends in / as a folder does, but must be a file") for line in WRITERS),
    ("compare good.json --html new/", "new/: ends in / as a folder does"),
    ("leaderboard good.json --csv new/", "new/: ends in / as a folder does"),
    ("filter data.jsonl --out k --rejects new/", "new/: ends in / as a folder does"),
    ("filter - --out k", "CANDIDATES must name a file, not -"),
    ("filter pipe.jsonl --out k", "pipe.jsonl: is not a regular file, which a resumable run needs"),
    ("filter loop.jsonl --out k", "loop.jsonl: cannot be read"),
    ("filter data.jsonl --out k --resume --restart", "--resume and --restart exclude each other"),
    (
        "filter nocode.jsonl --out k",
        "no usable row; the first problem is: nocode.jsonl, line 1: field 'code' is missing",
    ),
    ("generate data.jsonl --base-url http://x --model m --out -", "--out must name a file, not -"),
    ("humaneval - --problems data.jsonl", "--out is needed where the samples come from standard input"),
    ("humaneval pipe.jsonl --problems data.jsonl", "--out is needed where the samples come from standard input"),
    ("humaneval - --problems - --out o", "standard input (-) can be read but once"),
    ("humaneval good.json --problems data.jsonl --out - --resume", "--resume needs --out FILE"),
    ("humaneval good.json --problems data.jsonl --out - --json", "--out - and --json both write to standard output"),
    ("sample data.jsonl --n 1 --out - --json", "--out - and --json both write to standard output"),
    ("leaderboard good.json --csv - --html -", "--csv - and --html - both write to standard output"),
    ("filter data.jsonl --rules steps.toml --out steps.toml", "steps.toml: would overwrite a file it is made from"),
    (
        "prompts output data.jsonl --template set.toml --out set.toml",
        "set.toml: would overwrite a file it is made from",
    ),
    ("extract output good.json --template set.toml --out set.toml", "set.toml: would overwrite a file it is made from"),
    ("extract output good.json --out o.parquet", "o.parquet: generations are one JSON object"),
    ("extract candidates good.json --out o --cot", "extract candidates takes neither --cot nor"),
    ("extract output good.json --prompts none.jsonl --out o", "none.jsonl: holds no prompts"),
    ("extract output number.json --out o", "completions of 'sample_0' must be a list of strings, item 1 is a number"),
    ("extract output keys.json --out o", "keys.json: the key 'sample_0' is there twice"),
    ("compare texts.json", "generations of task 'a' must be a list of strings, item 0 is a number"),
    ("prompts output data.jsonl --schedule even", "prompts output takes no --schedule"),
    ("score good.json --dataset twice.jsonl --mode input", "line 2: id 'sample_0' is taken by line 1"),
    ("score good.json --dataset key.jsonl --mode input", "key.jsonl, line 1: the key 'output' is there twice"),
    ("sample key.jsonl --n 1 --out o", "key.jsonl, line 1: the key 'output' is there twice"),
    ("finetune key.jsonl --form output --out o", "key.jsonl, line 1: the key 'output' is there twice"),
    ("compare good.json --resamples 0", "must be at least 100, not '0'"),
    (f"sample data.jsonl --out o --n {'9' * 5000}", "is too large a number, not '999"),
    (f"runtimes --server {NOBODY}", "Cannot reach the server"),
]


@pytest.mark.parametrize(("line", "sentence"), MISTAKES)
def test_a_mistake_is_one_sentence(files, capsys, line, sentence):
    before = sorted(files.rglob("*"))
    assert main(line.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert sentence in err
    assert err.startswith("cruxbox: ")
    assert "Value error" not in err
    assert err.count("\n") == 1
    assert sorted(files.rglob("*")) in (before, sorted([*before, files / "out"]))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("name", ["sub/out.json", "program.py"])
@pytest.mark.parametrize("line", [SCORE, *WRITERS])
def test_what_cannot_be_written_is_known_before_anything_runs(files, capsys, line, name):
    """Also where the folder could be written, and the file could be replaced: whoever took the right away meant it."""
    (files / "sub").chmod(0o500)
    (files / "program.py").chmod(0o400)
    assert main(f"{line} --out {name}".split()) == 2
    sentence = capsys.readouterr().err
    assert f"{name}: cannot be written: Permission denied" in sentence or line.startswith(("humaneval", "stdio"))


def test_a_million_bad_rows_are_not_a_million_lines(files, capsys):
    (files / "bad.jsonl").write_text((files / "data.jsonl").read_text() + "{\n" * 1000)
    for line in (
        "sample bad.jsonl --n 1 --out o",
        "finetune bad.jsonl --form input --out o",
        "prompts output bad.jsonl",
    ):
        assert main(line.split()) == 0
        lines = capsys.readouterr().err.splitlines()
        assert (len(lines), lines[-1]) == (21, "cruxbox: 980 more rows cannot be used")


@pytest.mark.parametrize(
    "line", ["sample data.jsonl --n 1", "finetune data.jsonl --form output", "extract output good.json"]
)
def test_standard_output_has_nothing_but_what_was_asked_for(files, capfd, line):
    assert main(f"{line} --out -".split()) == 0
    assert main(f"{line} --out file".split()) == 0
    written = (files / "file").read_text()
    out, err = capfd.readouterr()
    assert out.startswith(written)
    assert out.removeprefix(written).endswith(": file\n")  # of the second run
    assert err.endswith(": -\n")
    assert main(f"{line} --out file.gz".split()) == 0
    assert gzip.decompress((files / "file.gz").read_bytes()).decode() == written


@pytest.mark.parametrize("arguments", [[], ["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_is_help(arguments, capsys):
    assert main(arguments) == 0
    assert "Usage" in capsys.readouterr().out


def test_help_imports_no_command(tmp_path):
    script = (
        "import sys; from cruxbox.cli import COMMANDS, main; main(['--help']); "
        "sys.exit(any(name in sys.modules for name in (*(module for module, _ in COMMANDS.values()), 'grpc', 'numpy')))"
    )
    assert subprocess.run([sys.executable, "-c", script], stdout=subprocess.DEVNULL).returncode == 0


# Ctrl-C while a module is imported, where an exception is lost as in a callback of the import system.
_INTERRUPTED = """
import signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == sys.argv[0]:
            try:
                signal.raise_signal({number})
            except BaseException:
                pass
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # nohup has it ignored
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.argv[:] = sys.argv[1:]
sys.meta_path.insert(0, Finder())
from {package}.__main__ import main
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("package", "line", "number"),
    [
        *(("cruxbox", f"{name} check --help", 2) for name in ("cruxbox.cli", "typer", "cruxbox.cli.check", "grpc")),
        *(("cruxboxd", "cruxboxd.server.command --version", number) for number in (1, 2, 15)),
        ("cruxboxd", "grpc --version", 2),
    ],
)
def test_a_signal_while_modules_are_imported_ends_the_command_without_a_word(package, line, number):
    command = [sys.executable, "-c", _INTERRUPTED.format(package=package, number=number), *line.split()]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    status = 130 if number == signal.SIGINT else -number
    assert (ended.returncode, ended.stdout, ended.stderr) == (status, "", "")


def test_the_package_is_the_command(tmp_path):
    command = [sys.executable, "-m", "cruxbox"]
    said = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60, check=True).stdout
    assert said.startswith("cruxbox ")
    ended = subprocess.run([*command, "chekc"], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (2, "cruxbox: No such command 'chekc'. Did you mean 'check'?\n")


def test_the_package_imports_what_is_named():
    script = "import cruxbox, sys; assert not {'cruxbox.model', 'grpc'} & {*sys.modules}; "
    script += "assert cruxbox.model.Task is cruxbox.Task; assert not hasattr(cruxbox, 'nothing'); "
    script += "print([getattr(cruxbox, name) for name in cruxbox.__all__])"
    subprocess.run([sys.executable, "-c", script], stdout=subprocess.DEVNULL, timeout=60, check=True)


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("cruxbox ")


# module that is missing -> the command that needs it, and the extra that has it
MISSING = [
    ("typer", "info", "cli"),
    ("numpy", "stats data.jsonl", "stats"),
    ("scipy", "compare a=good.json", "stats"),
    ("numpy", "leaderboard good.json", "stats"),
    ("pyarrow", "filter data.jsonl --out o.parquet", "parquet"),
    ("pyarrow", "steps data.jsonl --out o.parquet", "parquet"),
    ("pyarrow", "extract candidates good.json --out o.parquet", "parquet"),
    ("openai", "run data.jsonl --mode input --base-url http://127.0.0.1:9/v1 --model m --out runs", "generate"),
]


@pytest.mark.parametrize(("module", "line", "extra"), MISSING)
def test_a_missing_extra_is_one_sentence_before_anything_runs(files, module, line, extra):
    before = sorted(files.rglob("*"))
    script = (
        f"import sys; sys.modules[{module!r}] = None; from cruxbox.cli import main\n"
        f"sys.exit(main({line.split() + ['--server', NOBODY] * (module == 'pyarrow' and 'candidates' not in line)}))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert f"pip install 'cruxbox[{extra}]'" in ran.stderr
    assert sorted(files.rglob("*")) == before


def test_no_daemon_installed_is_one_sentence():
    script = (
        "import importlib.util, sys; find = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == 'cruxboxd' else find(name, *a)\n"
        "from cruxbox.cli import main; sys.exit(main(['info']))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "pip install 'cruxbox[server]'" in ran.stderr


def test_an_interpreter_beside_a_server_of_the_environment_is_refused_by_its_name(files, capsys, monkeypatch):
    monkeypatch.setenv("CRUXBOX_SERVER", NOBODY)
    assert main(["runtimes", "--python", sys.executable]) == 2
    assert "one that is named by CRUXBOX_SERVER has its own runtimes" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"CRUXBOX_SERVER": "\udcff"}, "CRUXBOX_SERVER must be host:port"),
        ({"CRUXBOX_SERVER": "dns:///"}, "CRUXBOX_SERVER must be host:port"),
        ({"CRUXBOX_SERVER": "https://host:50051"}, "(without % ? # ,) or xds:///name, not 'https://host:50051'"),
        ({"CRUXBOX_TLS_CERT": "data.jsonl"}, "CRUXBOX_TLS_CERT and CRUXBOX_TLS_KEY"),
        ({"CRUXBOX_SERVER": "x" * 5000}, "CRUXBOX_SERVER must be host:port"),
        ({"CRUXBOX_TOKEN": "secret\nword"}, "CRUXBOX_TOKEN must be visible ASCII"),
        ({"CRUXBOX_TOKEN": "é"}, "CRUXBOX_TOKEN must be visible ASCII"),
        ({"CRUXBOX_TLS_CA": "data.jsonl"}, "data.jsonl: is not a PEM file"),
        ({"CRUXBOX_TLS_CA": "nope.pem"}, "nope.pem: cannot be read"),
        ({"CRUXBOX_TLS_CERT": "data.jsonl"}, "both `cert` and `key`"),
        ({"CRUXBOX_SERVER": "127.0.0.1:99999"}, "CRUXBOX_SERVER names the port 99999"),
        ({"CRUXBOX_TLS": "yes"}, "CRUXBOX_TLS must be 1 or 0, not 'yes'."),
        ({"CRUXBOX_PLAINTEXT_TOKEN": "maybe"}, "CRUXBOX_PLAINTEXT_TOKEN must be 1 or 0, not 'maybe'."),
        ({"CRUXBOX_TLS_SERVER_NAME": "host"}, "CRUXBOX_TLS_SERVER_NAME is for TLS: set CRUXBOX_TLS=1"),
        ({"CRUXBOX_SERVER": "", "CRUXBOX_TLS": "yes"}, "CRUXBOX_TLS must be 1 or 0, not 'yes'."),
        (
            {"CRUXBOX_TLS": "1", "CRUXBOX_TLS_SERVER_NAME": "\udcff"},
            "CRUXBOX_TLS_SERVER_NAME must be the name of a host",
        ),
    ],
)
def test_a_mistake_in_the_environment_is_one_sentence(files, environment, sentence):
    """In a process of its own: gRPC must say nothing beside it."""
    script = "import sys; from cruxbox.cli import main; sys.exit(main(['info']))"
    merged = {**os.environ, "CRUXBOX_SERVER": NOBODY, **environment}
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=merged)
    assert ran.returncode == 2
    assert sentence in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert "secret" not in ran.stderr
