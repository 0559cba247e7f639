"""What a zygote does before it serves leaves nothing behind but what the interpreter has noted down."""

from __future__ import annotations

import pytest
from interpreters import Twin, twins

# Prints what differs after the rehearsal: modules, streams, arguments, descriptors, children, threads, the connection.
_REHEARSE = """
import json, os
import cruxcell.boot as boot
from cruxcell import rehearsal
from cruxcell.jobs.separated.proxies.remote import LINK
import atexit, threading
main = sys.modules["__main__"]
def facts():
    streams = [getattr(sys, name) for name in ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")]
    return {
        "modules": sorted(sys.modules), "argv": list(sys.argv), "depth": sys.getrecursionlimit(),
        "streams": list(map(id, streams)), "closed": [stream.closed for stream in streams],
        "open": sorted(os.listdir("/proc/self/fd")), "link": list(LINK),
        "threads": threading.active_count(), "main": sys.modules["__main__"] is main,
        "lives": threading.main_thread().is_alive(), "hooks": atexit._ncallbacks(), "environ": dict(os.environ),
    }
atexit.register(print)
boot._warm_up(k)
before = {**facts(), "main": True}
before["modules"] = [name for name in before["modules"] if name != "__candidate__"]  # no text's own
rehearsal.rehearse(k)
after = facts()
try:
    os.waitpid(-1, os.WNOHANG)
    after["children"] = "left"
except ChildProcessError:
    pass
atexit.unregister(print)
print(json.dumps([name for name in after if after[name] != before.get(name)]))
"""


@pytest.mark.parametrize("twin", [twin for twin in twins() if twin.version[1] in (8, 11, 13)], ids=str)
def test_a_rehearsal_leaves_nothing_behind(twin: Twin) -> None:
    assert twin.ask(_REHEARSE) == []
