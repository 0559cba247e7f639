"""Runtimes with packages: what is installed, what is imported beforehand, what is said when something is missing."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cruxbox import CallCheck, Client, EvaluateCheck, Limits, Outcome, RunCheck, ScriptCheck, StdioCheck, Task
from cruxbox.errors import EmbeddedServerError
from cruxboxd.zygotes.setup import ZygoteKinds
from support.environments import environment

# A package of our own stands for numpy: it notes the process that imported it, and is slow to import.
SLOW = """
import os
imported_by = os.getpid()
total = sum(range(200_000))
def here():
    return os.getpid() != imported_by
"""


THREADPOOLCTL = """
import ctypes
class ThreadpoolController:
    def __init__(self):
        self.found = []
        self._load_libraries()
    def _load_libraries(self):
        self.found.append(ctypes.CFUNCTYPE(None)(print))
"""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("environments")
    sci = environment(folder / "sci", slowpack="import os\n" + SLOW, other="value = 3\n", threadpoolctl=THREADPOOLCTL)
    arguments = ["--runtime", f"default={sys.executable}", "--runtime", f"sci={sci}", "--preload", "sci=slowpack,other"]
    with Client(workers=2, server_args=[*arguments, "--canary-s=0"]) as client:
        yield client


def test_libraries_with_threads_are_not_looked_for(client: Client):
    """They are found by what workers have not: /proc, or a callback from C, which is machine code made at run time."""
    program = "import threadpoolctl\nprint(threadpoolctl.ThreadpoolController().found)"
    [verdict] = client.check([Task(program, [RunCheck()], runtime="sci")])
    assert verdict.stdout == "[]\n", verdict


def test_a_runtime_lists_its_packages_and_what_is_preloaded(client: Client):
    [default, sci] = client.info().runtimes
    assert sci.packages == (("other", "1.5"), ("slowpack", "1.5"), ("threadpoolctl", "1.5"))
    assert sci.preload == ("slowpack", "other")
    assert default.packages == ()  # the daemon's own are nobody's business


RUDE = """
import os, signal
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})
signal.setitimer(signal.ITIMER_REAL, 0.1)
os.umask(0o777)
os.chdir("/")
"""


@pytest.mark.kernel
def test_what_a_preloaded_module_does_to_its_process_is_put_back(tmp_path: Path):
    """Zygotes wait for workers: where SIGCHLD was ignored, every check of their kind was a SANDBOX_ERROR."""
    python = environment(tmp_path / "rude", rude=RUDE)
    says = "import os, signal, rude\nprint(signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL, os.umask(0o77) == 0o777)"
    script = "import rude, time\ntime.sleep(0.2)\nassert candidate(1) == 2"
    tasks = [
        Task("import rude\ndef f(x): return x + 1", [CallCheck("f(1)", "2"), ScriptCheck(script, "f")], runtime="rude"),
        Task(says, [StdioCheck("", "True False\n")], runtime="rude"),
        Task("import rude\nwhile True: pass", [StdioCheck("", "1")], runtime="rude", limits=Limits(cpu_ms=300)),
    ]
    with Client(workers=1, server_args=["--runtime", f"rude={python}", "--preload", "rude=rude"]) as client:
        outcomes = [verdict.outcome.name for verdict in client.check(tasks)]
    assert outcomes == ["PASSED", "PASSED", "PASSED", "TIMED_OUT"]


IMPORTS = "import slowpack\ndef f():\n    return slowpack.here()\n"


@pytest.mark.kernel
def test_what_a_program_names_is_imported_before_its_worker_is_forked(client: Client):
    checks = [CallCheck("f()", "True"), EvaluateCheck("f()")]
    verdicts = client.check([Task(IMPORTS, checks, runtime="sci")])
    assert [verdict.outcome for verdict in verdicts] == [Outcome.PASSED, Outcome.EVALUATED]


@pytest.mark.kernel
def test_a_script_that_names_it_finds_it_imported_too(client: Client):
    script = "import slowpack\nassert slowpack.here() and candidate(1) == 2"
    task = Task("def g(x):\n    return x + 1\n", [ScriptCheck(script, "g")], runtime="sci")
    assert client.check([task])[0].outcome is Outcome.PASSED


@pytest.mark.kernel
def test_a_stdio_program_finds_it_imported_too(client: Client):
    task = Task("import slowpack\nprint(slowpack.here())\n", [StdioCheck("", "True")], runtime="sci")
    assert client.check([task])[0].outcome is Outcome.PASSED


@pytest.mark.kernel
@pytest.mark.parametrize("runtime", ["", "sci"])
def test_a_missing_module_names_the_way_out(client: Client, runtime: str):
    [verdict] = client.check(
        [Task("import numpy_is_not_here\ndef f(): return 1\n", [EvaluateCheck("f()")], runtime=runtime)]
    )
    assert verdict.outcome is Outcome.RAISED
    assert verdict.exception is not None
    assert verdict.exception.type == "ModuleNotFoundError"
    assert f"runtime {runtime or 'default'!r}" in verdict.detail
    assert "cruxbox runtimes" in verdict.detail


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--preload", "default=no_such_module_here"], "cannot import no_such_module_here (ModuleNotFoundError"),
        (["--preload", "nobody=math"], "names the runtime 'nobody'; this server has default"),
        (["--preload", "default=1+1"], "it must be RUNTIME=MODULE"),
        (["--preload", "default=math", "--preload", "default=json"], "twice"),
    ],
)
def test_a_preload_that_cannot_be_is_one_sentence(arguments: list[str], sentence: str):
    with Client(server_args=arguments) as client, pytest.raises(EmbeddedServerError) as caught:
        client.info()
    assert sentence in str(caught.value)
    assert "Traceback" not in str(caught.value)


def test_own_packages_are_shown_where_that_is_said():
    with Client(server_args=["--runtime", f"default={sys.executable}", "--own-packages"]) as client:
        names = {name for name, _ in client.info().runtimes[0].packages}
    assert "grpcio" in names


@pytest.mark.kernel
def test_more_runtimes_than_zygotes_are_all_served(tmp_path: Path):
    """Idle zygotes of one runtime make room for another's."""
    pythons = {f"r{number}": environment(tmp_path / str(number), only=f"n = {number}") for number in range(7)}
    arguments = [word for name, path in pythons.items() for word in ("--runtime", f"{name}={path}")]
    tasks = [
        Task("import only", [CallCheck("only.n", str(number))], runtime=name) for number, name in enumerate(pythons)
    ]
    with Client(workers=1, server_args=[*arguments, "--canary-s=0"]) as client:
        for _ in range(2):
            assert [verdict.outcome for verdict in client.check(tasks)] == [Outcome.PASSED] * len(tasks)


def test_the_kind_of_zygote_depends_on_the_texts_alone():
    kinds = ZygoteKinds({"sci": ("numpy", "pandas")})
    assert kinds.key("sci", "0", [b"def f(): pass", b"f()"]) == kinds.key("sci", "0", [b"numpy"])
    assert kinds.key("sci", "0", [b"x", b"import numpy as np"]).packages == ("numpy",)
    assert kinds.key("sci", "0", [b"import numpy, pandas"]).packages == ("numpy", "pandas")
    assert kinds.key("sci", "0", [b"import json"]).packages == ()
    assert kinds.key("default", "0", [b"import numpy"]).packages == ()


ANYTHING = "!!python/name:unittest.mock.ANY ''"
LOADS = """
import yaml
from unittest.mock import Mock
def check(given, printed, expected):
    return yaml.load(printed, Loader=yaml.%s) == {"a": [1, 2]}
"""


def test_a_document_of_yaml_of_the_program_s_is_data(tmp_path: Path):
    yaml = pytest.importorskip("yaml", reason="PyYAML is part of the dev extra")
    python = environment(tmp_path / "documents")
    [packages] = (tmp_path / "documents").glob("lib/python3.*/site-packages")
    shutil.copytree(Path(yaml.__file__).parent, packages / "yaml", ignore=shutil.ignore_patterns("*.so"))
    loaders = ("FullLoader", "Loader", "SafeLoader")
    tasks = []
    for text in (ANYTHING, "{a: [1, 2]}", "{a: [1, 3]}"):
        scripts = [f"{LOADS % each}\nassert check(1, dump(1), 2)" for each in loaders]
        tasks.append(Task(f"def dump(n): return {text!r}", list(map(ScriptCheck, scripts))))
        printed = [StdioCheck("", "1", checker=LOADS % each) for each in loaders]
        tasks.append(Task(f"print({text!r})", printed))
    with Client(workers=2, server_args=[f"--runtime=default={python}", "--preload=default=yaml"]) as client:
        found = [verdict.outcome for verdict in client.check(tasks)]
    invalid, wrong, passed = Outcome.INVALID, Outcome.FAILED, Outcome.PASSED
    assert found == [invalid, invalid, Outcome.RAISED, *[wrong] * 3, *[passed] * 6, *[wrong] * 6]
