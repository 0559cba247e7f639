"""A zygote for tests: confines itself, runs attempts in workers, and prints what became of each as JSON.

`python cell_driver.py CONFIG` with a JSON object: settings (of `settings.Settings`), bpf (hex), memory_bytes, attempts
(names from attempts.py), facts (handed to each attempt), native (the folder of the helper; the pure twin without it),
broken ({system call: errno}), hold (one worker and the zygote wait until stdin ends). Runs on each runtime from 3.8 on.
"""

import json
import os
import signal
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "sandbox"), HERE]

import attempts  # noqa: E402
from cruxcell import native  # noqa: E402
from cruxcell.confinement import confine, linux, rlimits  # noqa: E402
from cruxcell.confinement.settings import Settings  # noqa: E402
from cruxcell.confinement.steps import forbid_reopening  # noqa: E402


class BrokenHelper:
    """The helper, with some system calls that fail."""

    def __init__(self, whole, broken):
        machine = linux._MACHINES[os.uname().machine]
        self._whole = whole
        self._broken = {machine[name]: code for name, code in broken.items()}

    def syscall(self, number, *args):
        if number in self._broken:
            raise OSError(self._broken[number], os.strerror(self._broken[number]))
        return self._whole.syscall(number, *args)

    def __getattr__(self, name):
        return getattr(self._whole, name)


_EXIT_VIOLATION = 64


def main():
    config = json.loads(sys.argv[1])
    helper = BrokenHelper(native.load("native" not in config, config.get("native", "")), config.get("broken", {}))
    inherited = rlimits.address_space()
    try:
        layers = confine.confine_zygote(helper, Settings(**config["settings"]))
    except confine.ConfineError as error:
        print(json.dumps({"step": error.step, "errno": error.errno, "text": error.text}))
        return
    import_without_stat()
    packed = rlimits.pack(inherited + config.get("memory_bytes", 256 << 20), config.get("file_bytes", 0), 10**9)
    zygote = os.getpid()  # asked by the worker, it would be whoever the worker is left to when the zygote dies first

    def enter():
        confine.confine_worker(helper, packed, bytes.fromhex(config["bpf"]), zygote)

    results = {name: run(name, enter, config.get("facts", {})) for name in config.get("attempts", ())}
    print(json.dumps({"layers": layers, "results": results}), flush=True)
    if config.get("hold"):
        hold(enter)


def run(name, enter, facts):
    """What an attempt came to: its result as text, "ErrorType errno", or "signal N"."""
    source, sink = os.pipe()
    forbid_reopening(sink)
    child = os.fork()
    if child == 0:
        try:
            enter()
            os.write(sink, attempts.outcome(name, facts).encode())
        except BaseException as error:
            os.write(sink, f"worker failed: {error!r}".encode())
        finally:
            os._exit(0)
    os.close(sink)
    with os.fdopen(source, "rb") as file:
        text = file.read().decode()
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return f"signal {signal.Signals(os.WTERMSIG(status)).name}"
    if os.WEXITSTATUS(status) == _EXIT_VIOLATION:
        return "signal SIGSYS"  # the native helper's handler named the call and ended the worker in its stead
    return text


def hold(enter):
    """Lets a confined worker and the zygote wait until the test closes our stdin or kills something."""
    if os.fork() == 0:
        enter()
        os.read(0, 1)
        os._exit(0)
    os.wait()


def import_without_stat():
    """As the zygote does: the import system opens files where it would ask for their facts by path."""
    import _frozen_importlib_external as external

    def stat_by_opening(path):
        number = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.fstat(number)
        finally:
            os.close(number)

    external._path_stat = stat_by_opening


if __name__ == "__main__":
    main()
