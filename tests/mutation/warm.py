"""Runs tests in a copy of the sources. Everything is imported and collected once; each run is a fork.

Started in the copy with what pytest is given. A line on standard input is a request, as JSON:

* `most_s`: the seconds that it may take;
* `module`: the path of a module whose functions take their code from the file, as it is now, before a test runs, and
  `source`, the text that they have been made of;
* `tests`: the node ids to run, in this order, until one fails; null is all of them;
* `trace`: a file that gets a line `test module line` for each line of `modules` that a test runs, in any process.

The answer is a line: {"status": 0 if all passed, -1 if it took too long, -2 if it used too much CPU time, 70 if the
code could not be taken, "seconds": {node id: seconds}, "failed": [node id]}. Without tests the process collects
nothing: each request has `arguments`, and its fork imports the sources as they are then.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import json
import mmap
import os
import resource
import signal
import sys
import time
import types
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import google.protobuf.descriptor
import grpc.aio
import hypothesis
import prometheus_client
import psutil
import pytest
import pytest_asyncio.plugin
import pytest_timeout
from _pytest.runner import runtestprotocol

HERE = Path(__file__).parent  # what is tested from here forks this process: its lines are seen
WARM = (google.protobuf.descriptor, grpc.aio, hypothesis, prometheus_client, psutil, pytest_asyncio, pytest_timeout)


def forked(request: dict[str, Any], run: Callable[[dict[str, Any]], dict[str, Any]]) -> dict[str, Any]:
    """What `run` answers in a fork, -1 if it takes longer than it may."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setpgid(0, 0)
        os.close(reads)
        most_s = max(int(request["most_s"] / 4), 1)  # a change may make a loop endless, and who waits for it be killed
        resource.setrlimit(resource.RLIMIT_CPU, (most_s, most_s + 1))
        atexit._clear()  # what this process leaves behind, it tidies up itself
        try:
            os.write(writes, json.dumps(run(request)).encode())
            atexit._run_exitfuncs()
        finally:
            os._exit(70)
    signal.signal(signal.SIGTERM, partial(end_with, child))
    os.close(writes)
    os.set_blocking(reads, False)
    until, text, has_ended, killed = time.monotonic() + request["most_s"], b"", False, None
    with open(reads, "rb") as answer:
        while not has_ended and time.monotonic() < until:
            time.sleep(0.005)
            ended, status = os.waitpid(child, os.WNOHANG)
            has_ended = ended == child
            killed = os.WTERMSIG(status) if has_ended and os.WIFSIGNALED(status) else None
            text += answer.read() or b""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # its number may be another's by now
    if not has_ended:
        os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return {"status": -1}
    found: dict[str, Any] = json.loads(text) if text else {"status": {None: 70, signal.SIGXCPU: -2}.get(killed, -1)}
    return found


def end_with(child: int, *_: object) -> None:
    """The run is stopped, and so is what it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os._exit(1)


def codes(code: types.CodeType, inside: str = "") -> Iterator[tuple[str, types.CodeType]]:
    """All code of a module, by a name that it keeps when another function changes."""
    yield inside, code
    seen: Counter[str] = Counter()
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            seen[each.co_name] += 1
            yield from codes(each, f"{inside}/{each.co_name}.{seen[each.co_name]}")


def take_code(module: str, before: str) -> None:
    """The functions of a module get the code that its file has now; `before` is the text that they were made of."""
    files = [str(getattr(found, "__file__", "")) for found in list(sys.modules.values())]
    path = next(name for name in files if name.endswith(f"/sandbox/{module}"))
    now = dict(codes(compile(Path(path).read_text(), path, "exec", dont_inherit=True)))
    names = {
        (code.co_name, code.co_firstlineno, code.co_code): name
        for name, code in codes(compile(before, path, "exec", dont_inherit=True))
    }
    for each in gc.get_objects():
        if isinstance(each, types.FunctionType) and each.__code__.co_filename == path:
            code = each.__code__
            each.__code__ = now[names[code.co_name, code.co_firstlineno, code.co_code]]


def caches_of(module: str) -> list[Any]:
    """What the functions of a module remember here (`lru_cache`). Zygotes may be the only ones that import it."""
    found = sys.modules.get(module.removesuffix(".py").replace("/", "."))
    # Asked of the types: some of its objects ask a process that is not there.
    return [each for each in vars(found).values() if hasattr(type(each), "cache_clear")] if found else []


class Loop:
    """Pytest's loop over the tests, which here waits for requests."""

    def __init__(self, requests: Any, answers: Any) -> None:
        self.requests, self.answers = requests, answers
        self.before: dict[str, str] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        starting = {
            name: item.get_closest_marker("processes") is not None and item.path.parent != HERE
            for name, item in self.items.items()
        }
        print(json.dumps({"status": 0, "tests": starting}), file=self.answers, flush=True)
        for line in self.requests:
            request = json.loads(line)
            if "module" in request:
                self.before.setdefault(request["module"], request["source"])
            print(json.dumps(forked(request, self.run)), file=self.answers, flush=True)
        return True

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        traced = request.get("trace")
        if "module" in request:
            take_code(request["module"], self.before[request["module"]])
        current = trace(request["modules"], traced) if traced else None
        tracing = sys.gettrace()
        caches = [each for module in request["modules"] for each in caches_of(module)] if traced else []
        seconds: dict[str, float] = {}
        failed = []
        chosen = [self.items[name] for name in request["tests"] or self.items]
        for at, item in enumerate(chosen):
            if current is not None:
                current[:4] = at.to_bytes(4, "little")
                sys.settrace(tracing)  # a test may have ended it: one that runs out of stack does
                for each in caches:  # or only the first test that asks would run the lines behind them
                    each.cache_clear()
            reports = runtestprotocol(item, nextitem=chosen[at + 1] if at + 1 < len(chosen) else None, log=False)
            seconds[item.nodeid] = sum(report.duration for report in reports if report.when == "call")
            if any(report.failed for report in reports):
                failed.append(item.nodeid)
                if not traced:
                    break
        item.session._setupstate.teardown_exact(None)
        return {"status": 1 if failed else 0, "seconds": seconds, "failed": failed}


def trace(modules: list[str], notes: str) -> mmap.mmap:
    """Note the lines of these modules that run, here and in every interpreter that is started from now on."""
    counter = Path(notes + ".current")
    counter.write_bytes(bytes(mmap.PAGESIZE))
    counter.chmod(0o666)
    os.environ["MUTATION_TRACE"] = json.dumps([modules, notes])
    os.environ["PYTHONPATH"] = f"{Path(__file__).parent / 'tracing'}{os.pathsep}{os.environ['PYTHONPATH']}"
    sys.path.insert(0, str(Path(__file__).parent / "tracing"))
    import sitecustomize_lines as lines

    lines.start(modules, notes)
    with counter.open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)


def fresh(request: dict[str, Any]) -> dict[str, Any]:
    return {"status": int(pytest.main(request["arguments"]))}


def main() -> None:
    requests, answers = os.fdopen(os.dup(0), "r"), os.fdopen(os.dup(1), "w")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    if sys.argv[1:]:
        pytest.main(sys.argv[1:], plugins=[Loop(requests, answers)])
        return
    print(json.dumps({"status": 0}), file=answers, flush=True)
    for line in requests:
        print(json.dumps(forked(json.loads(line), fresh)), file=answers, flush=True)


if __name__ == "__main__":
    main()
