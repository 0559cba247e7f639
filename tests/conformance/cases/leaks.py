"""Leaks between checks. What one check leaves behind, the next must not see: it passes as if it were alone."""

from __future__ import annotations

from conformance.case import Case, call, calls, case
from conformance.scenarios import earlier_request_absent, secrets_absent

PATCHED = """
import builtins, math
def f(spoil):
    if spoil:
        builtins.len = math.sqrt = sorted.__self__.sum = lambda *a: 99
        math.pi = 3
        return 'spoilt'
    return len([1, 2, 3]), math.sqrt(4), sum([1, 1]), math.pi > 3
"""
MODULES = """
import sys
def f(spoil):
    if spoil:
        sys.modules['json'] = sys.modules['random'] = sys
        sys.path.insert(0, '/nowhere')
        sys.meta_path.clear()
        return 'spoilt'
    import json
    return json.dumps([1])
"""
STATE = """
import decimal, gc, locale, os, sys, time
def f(spoil):
    if spoil:
        os.environ['SPOILT'] = '1'
        decimal.getcontext().prec = 2
        sys.setrecursionlimit(77)
        sys.setswitchinterval(9)
        for attempt in (lambda: os.chdir('/'), lambda: os.umask(0), lambda: locale.setlocale(locale.LC_ALL, 'C')):
            try:
                attempt()
            except Exception:
                pass
        return 'spoilt'
    return 'SPOILT' in os.environ, decimal.getcontext().prec, sys.getrecursionlimit() > 500, sys.getswitchinterval() < 1
"""
SHARED = """
import os
PATHS = '/tmp/cruxbox-leak', 'cruxbox-leak', '/dev/shm/cruxbox-leak'
def f(spoil):
    found = []
    for path in PATHS:
        try:
            if spoil:
                open(path, 'w').write('x')
            else:
                found.append(open(path).read())
        except OSError:
            pass
    return 'spoilt' if spoil else found
"""
HOOKS = """
import gc, sys, threading
def f(spoil):
    if spoil:
        sys.settrace(lambda *a: None)
        sys.setprofile(lambda *a: None)
        threading.settrace(lambda *a: None)
        sys.addaudithook(lambda event, arguments: 1 / 0 if event == 'sys._getframe' else None)
        sys.excepthook = None
        gc.disable()
        gc.freeze()
        sys.setprofile(None)
        sys.settrace(None)
        return 'spoilt'
    return sys._getframe() is not None, sys.excepthook is not None, sys.getprofile()
"""
THREAD = """
import threading, time
def late():
    time.sleep(1)  # longer than its own check takes on a crowded host, which this would be part of
    while True: print('late')
def f(spoil):
    if spoil:
        try:
            threading.Thread(target=late, daemon=True).start()
        except RuntimeError:
            pass
        return 'spoilt'
    return threading.active_count()
"""
RANDOM = """
import random
def f(spoil):
    if spoil:
        random.seed(1)
        return 'spoilt'
    return random.getstate() == (random.seed(1), random.getstate())[1]
"""
DESCRIPTORS = """
import os
def f(spoil):
    moved = []
    for number in range(3, 256):
        try:
            if spoil:
                os.lseek(number, 7, 0)
            elif os.lseek(number, 0, 1) == 7:
                moved.append(number)
        except OSError:
            pass
    return 'spoilt' if spoil else moved
"""


def spoil_then(program: str, honest: str) -> tuple[object, ...]:
    """Spoil, then ask: in one task that may share a worker, in one whose checks are alone, and in a task of its own."""
    spoil = ("f(True)", "'spoilt'", "P")
    ask = ("f(False)", honest, "P")
    return (
        calls(program, spoil, ask, spoil, ask),
        calls(program, spoil, ask, alone=True),
        call("P", program, "f(False)", honest),
    )


CASES: list[Case] = [
    case("patched-builtins", "patched builtins and math", *spoil_then(PATCHED, "(3, 2.0, 2, True)")),
    case("poisoned-modules", "poisoned sys.modules", *spoil_then(MODULES, "'[1]'")),
    case(
        "process-state",
        "environment, folder, umask, locale, decimal, recursion limit",
        *spoil_then(STATE, "(False, 28, True, True)"),
    ),
    case("files-and-shared-memory", "files and shared memory", *spoil_then(SHARED, "[]")),
    case("hooks", "trace, profile and audit hooks, gc.freeze", *spoil_then(HOOKS, "(True, True, None)")),
    case("surviving-thread", "a thread that would survive", *spoil_then(THREAD, "1")),
    case("earlier-request", "bytes of an earlier request in memory", scenario=earlier_request_absent),
    case("secrets-in-memory", "expected values, tokens, keys in memory or environment", scenario=secrets_absent),
    case("inherited-offsets", "file offset or lock on an inherited descriptor", *spoil_then(DESCRIPTORS, "[]")),
    case("random-state", "random state", *spoil_then(RANDOM, "False")),
]
