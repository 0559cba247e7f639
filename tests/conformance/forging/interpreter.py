"""Attacks 131–140: change the interpreter under the harness, walk its frames, hunt for the answer in its memory."""

from __future__ import annotations

from conformance.forging.attack import attack
from conformance.forging.exits_and_objects import EVERYWHERE, HARNESS

# Any integer that could be the answer, wherever it hides: in containers, in code constants, in text.
HUNT = """
import gc, re, sys
OWN = set()
def candidates(thing, depth=0):
    if isinstance(thing, int) and 10**9 < thing < 10**10:
        yield thing
    elif isinstance(thing, (str, bytes, bytearray)):
        text = thing if isinstance(thing, str) else bytes(thing).decode('latin-1')
        yield from (int(found) for found in re.findall(r'(?<!\\d)\\d{10}(?!\\d)', text[:100000]))
    elif depth < 3 and isinstance(thing, (list, tuple, set, frozenset)):
        for one in list(thing)[:2000]:
            yield from candidates(one, depth + 1)
    elif depth < 3 and isinstance(thing, dict):
        for one in list(thing.items())[:2000]:
            yield from candidates(one, depth + 1)
    elif depth < 3 and hasattr(thing, 'co_consts'):
        yield from candidates(thing.co_consts, depth + 1)
"""

ATTACKS = (
    attack(
        "assertionerror-rebound",
        "AssertionError rebound",
        """
        import builtins
        class Nothing(BaseException):
            def __new__(cls, *arguments): return SystemExit(0)
        builtins.AssertionError = Nothing
        def f(x): return -1
        """,
    ),
    attack(
        "excepthooks",
        "excepthook and unraisablehook exit with 0",
        """
        import os, sys, threading
        sys.excepthook = sys.unraisablehook = threading.excepthook = lambda *a: os._exit(0)
        def f(x): raise ValueError
        """,
    ),
    attack(
        "patched-builtins",
        "patched builtins",
        """
        import builtins
        yes = lambda *a, **k: True
        for name in 'len all any isinstance repr sorted hash bool abs str issubclass type'.split():
            setattr(builtins, name, yes)
        def f(x): return -1
        """,
    ),
    attack(
        "patched-builtins",
        "patched compile, exec, eval, __import__",
        """
        import builtins
        real = builtins.compile
        builtins.compile = lambda *a, **k: real('None', 'x', 'exec')
        builtins.exec = builtins.eval = lambda *a, **k: True
        builtins.__import__ = lambda name, *a, **k: __import__('sys')
        def f(x): return -1
        """,
    ),
    attack(
        "patched-unittest",
        "patched unittest, math, operator",
        """
        import math, operator, unittest
        yes = lambda *a, **k: True
        math.isclose = operator.eq = operator.__eq__ = yes
        for name in dir(unittest.TestCase):
            if name.startswith('assert'):
                setattr(unittest.TestCase, name, yes)
        def f(x): return -1
        """,
    ),
    attack(
        "harness-code-swapped",
        "harness functions with other code",
        HARNESS
        + """
import sys
def agree(*arguments, **named): return True
for name, function in functions():
    try:
        function.__code__ = agree.__code__
        function.__defaults__ = function.__kwdefaults__ = None
    except BaseException:
        pass
def f(x): return -1
""",
    ),
    attack(
        "harness-code-swapped",
        "harness modules swapped for yes-men",
        HARNESS
        + """
class Yes(type(sys)):
    def __getattr__(self, name): return lambda *a, **k: True
for space in harness():
    sys.modules[space['__name__']] = Yes(space['__name__'])
    for key, thing in list(space.items()):
        if callable(thing):
            space[key] = lambda *a, **k: True
def f(x): return -1
""",
    ),
    attack(
        "frame-walk",
        "frame walk that writes the harness's locals",
        """
        import sys
        def f(x):
            frame = sys._getframe(1)
            while frame is not None:
                for scope in (frame.f_locals, frame.f_globals):
                    for name, value in list(scope.items()):
                        if hasattr(value, 'append'):
                            try: value.append('passed')
                            except Exception: pass
                        if isinstance(value, dict) and value is not scope: value['passed'] = True
                        if name in ('result', 'passed', 'outcome', 'ok', 'status'): scope[name] = 'passed'
                frame = frame.f_back
            raise SystemExit(0)
        """,
    ),
    attack(
        "frame-walk",
        "frame walk that reports in the harness's name",
        """
        import os, sys
        def f(x):
            frame = sys._getframe(1)
            while frame is not None:
                bench = frame.f_locals.get('bench')
                reports = frame.f_globals.get('reports')
                if bench is not None and reports is not None:
                    bench.send(reports.ended(bench.numbers(0, 0), *bench.output()))
                    bench.send_raised = bench.send_value = lambda *a: None
                    bench.finish()
                frame = frame.f_back
            return -1
        """,
    ),
    attack(
        "frame-walk",
        "frame walk that reads the answer",
        HUNT
        + """
def f(x):
    frame, found = sys._getframe(1), []
    while frame is not None:
        for scope in (frame.f_locals, frame.f_globals):
            for value in list(scope.values()):
                found.extend(candidates(value))
        found.extend(candidates(frame.f_code))
        frame = frame.f_back
    return found[0] if found else -1
""",
    ),
    attack(
        "gc-objects",
        "every object searched for the answer",
        HUNT
        + """
def f(x):
    for thing in gc.get_objects():
        for found in candidates(thing):
            return found
    return -1
""",
    ),
    attack(
        "gc-objects",
        "every list gets a 'passed'",
        """
        import gc
        def f(x):
            for a in gc.get_objects():
                if type(a) is list and not a: a.append('passed')
            raise SystemExit
        """,
    ),
    attack(
        "small-int-flip",
        "small integer changed in place",
        """
        import ctypes, sys
        def f(x):
            ctypes.c_uint32.from_address(id(6) + object.__basicsize__ + 8).value = 5
            return 5
        """,
        answer="6",
    ),
    attack(
        "tracing-off",
        "tracing switched off, then an endless loop",
        """
        import sys, threading
        sys.settrace(None)
        sys.setprofile(None)
        if hasattr(sys, 'monitoring'):
            for tool in range(6):
                try:
                    sys.monitoring.set_events(tool, 0)
                    sys.monitoring.free_tool_id(tool)
                except ValueError:
                    pass
        def f(x):
            sys.settrace(None)
            while True: pass
        """,
        allowed="TI",
    ),
    attack(
        "thread-after-verdict",
        "a thread that writes after the verdict",
        EVERYWHERE
        + """
import threading, time
def late():
    for _ in range(50):
        everywhere(b'PASSED' + bytes(64))
        time.sleep(0.001)
try:
    threading.Thread(target=late).start()
except RuntimeError:
    pass
def f(x): return -1
""",
    ),
)
