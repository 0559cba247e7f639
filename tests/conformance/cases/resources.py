"""Resources. A candidate takes all it can get; its own verdict says which limit ended it, nobody else notices."""

from __future__ import annotations

from cruxbox.model import CallCheck

from conformance.case import Case, call, calls, case, shot

BIG = 64 << 20
PATIENT = {"cpu_ms": 4_000, "wall_ms": 8_000}  # for growth that takes more than half a second to reach the limit

FLOOD = "import sys\ndef f():\n    while True:\n        sys.{0}.write('x' * 4096)"

CASES: list[Case] = [
    case("loop-at-import", "endless loop at import", call("T", "while True: pass\ndef f(): return 'held'")),
    case(
        "loop-in-function",
        "endless loop in the function; earlier and later results survive",
        calls(
            "def f(n):\n    while n: pass\n    return n",
            ("f(0)", "0", "P"),
            ("f(1)", "1", "T"),
            ("f(0)", "0", "P"),
        ),
    ),
    case(
        "loop-bare-except",
        "loop under a bare except",
        call("T", "def f():\n    while True:\n        try:\n            while True: pass\n        except: pass"),
    ),
    case("power-of-powers", "one C call: 10**10**8", call("TM", "def f(n=8): return 10**10**n")),
    case(
        "evil-regex",
        "regular expression (a+)+$",
        call("T", "import re\ndef f(): return re.match('(a+)+$', 'a' * 40 + 'b')"),
    ),
    case("sum-of-range", "sum(range(10**12))", call("T", "def f(): return sum(range(10**12))")),
    case(
        "endless-list",
        "list(iter(int, 1))",
        call("M", "def f(): return list(iter(int, 1))", memory_bytes=BIG, **PATIENT),
    ),
    case("huge-string", "'a' * 10**11", call("M", "def f(n=11): return len('a' * 10**n)")),
    case(
        "slow-growth",
        "slow growth by 1 MB",
        call("M", "def f():\n    kept = []\n    while True: kept.append(bytearray(1 << 20))", **PATIENT),
    ),
    case(
        "memoryerror-retried",
        "MemoryError caught and retried for ever",
        call(
            "TM",
            """
            def f():
                kept = []
                while True:
                    try:
                        kept.append(bytearray(1 << 22))
                    except MemoryError:
                        pass
            """,
        ),
    ),
    case(
        "workers-near-limit",
        "many workers, each just under its limit",
        *[
            shot(
                "def f(n): return len(bytearray(110 << 20)) + n",
                [CallCheck(f"f({n})", str((110 << 20) + n), id=str(n)) for n in range(6)],
                ["P"] * 6,
                **PATIENT,
            )
        ],
    ),
    case("mmap-1-tib", "mmap of 1 TiB", call("MFV", "import mmap\ndef f(): return len(mmap.mmap(-1, 1 << 40))")),
    case(
        "tuple-chain",
        "chain of tuples",
        call(
            "MC",
            "b = None\nwhile True: b = (b, None)\ndef f(): return 'held'",
            memory_bytes=BIG,
            steps=10**9,
            **PATIENT,
        ),
    ),
    case(
        "resurrecting-cycles",
        "cycles whose __del__ resurrects them",
        call(
            "TM",
            """
            kept = []
            class A:
                def __del__(self): kept.append(self)
            def f():
                while True:
                    a = A()
                    a.me = a
            """,
        ),
    ),
    case(
        "huge-int-parse",
        "int('9' * 10**7) without the digit limit",
        call("T", "import sys\nsys.set_int_max_str_digits(0)\ndef f(): return int('9' * 10**7) % 7"),
    ),
    case(
        "colliding-keys",
        "dict keys that collide",
        call("T", "def f(m=2**61 - 1): return len({m * n: 0 for n in range(10**5)})"),
    ),
    case(
        "no-recursion-limit",
        "no recursion limit, then recurse",
        # Python frames use no C stack since 3.11, so there the step or memory limit may come first.
        call("CFTM", "import sys\nsys.setrecursionlimit(10**9)\ndef f(): return f()"),
        call(
            "CFTM",
            """
            import sys
            sys.setrecursionlimit(10**9)
            class A:
                def __lt__(self, other): return sorted([A(), A()])
            def f(): return sorted([A(), A()])
            """,
        ),
    ),
    case(
        "recursion-in-c",
        "recursion in C: nested repr, nested json",
        call("FC", "def f():\n    a = []\n    for _ in range(10**5): a = [a]\n    return len(repr(a))"),
        call(
            "FC",
            "import json\ndef f():\n    a = []\n    for _ in range(10**5): a = [a]\n    return len(json.dumps(a))",
        ),
    ),
    case(
        "thread-bomb",
        "thread bomb",
        call(
            "F",
            """
            import threading, time
            def f():
                for _ in range(10**4):
                    threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
                return 'held'
            """,
        ),
    ),
    case(
        "fork-bomb",
        "fork bomb",
        call(
            "FV",
            """
            import os, time
            def f():
                for _ in range(64):
                    if os.fork() == 0:
                        time.sleep(30)
                        os._exit(0)
                return 'breach' + 'ed'
            """,
        ),
    ),
    case(
        "all-descriptors",
        "all file descriptors",
        call("FV", "import os\ndef f():\n    while True: os.dup(1)"),
        call("FV", "import os\ndef f():\n    while True: os.pipe()"),
    ),
    case("flood-stdout", "flood on stdout", call("OT", FLOOD.format("stdout"), **PATIENT)),
    case("flood-stderr", "flood on stderr without a newline", call("OT", FLOOD.format("stderr"), **PATIENT)),
    case(
        "one-huge-write",
        "one write of 100 MB",
        # P where the descriptor is a sink: a write that nobody waits for is no deadlock.
        call("OTFP", "import os\ndef f():\n    os.write(1, bytes(10**8))\n    return 'held'"),
        call("OTF", "import sys\ndef f():\n    sys.stdout.write('x' * (90 << 20))\n    return 'held'"),
    ),
    case(
        "unprintable-output",
        "invalid UTF-8, NUL and ANSI output",
        call(
            "P",
            r"""
            import sys
            def f():
                print('\x1b[31mred\x00\x9b1m')
                sys.stdout.flush()
                try:
                    sys.stdout.buffer.write(b'\xff\xfe\x00\x1b[2J')
                except AttributeError:
                    pass
                return 'held'
            """,
        ),
    ),
    case("sleep", "sleep(1e9)", call("T", "import time\ndef f(): time.sleep(1e9)", wall_ms=500)),
    case(
        "deadlock",
        "deadlock on its own lock",
        call(
            "T", "import threading\ndef f():\n    a = threading.Lock()\n    a.acquire()\n    a.acquire()", wall_ms=500
        ),
    ),
    case("input-without-input", "input() without input", call("F", "def f(): return input()")),
    case(
        "ignores-signals",
        "ignores every signal it can, and loops",
        call(
            "T",
            """
            import signal
            for number in range(1, 65):
                try:
                    signal.signal(number, signal.SIG_IGN)
                except (OSError, ValueError):
                    pass
            def f():
                return sum(range(10**12))
            """,
        ),
    ),
    case(
        "blocks-signals",
        "blocks all signals and waits",
        call(
            "TV",
            """
            import signal
            def f():
                signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
                while True:
                    try:
                        signal.sigwait({signal.SIGUSR1})
                    except OSError:
                        pass
            """,
            wall_ms=500,
        ),
    ),
    case(
        "stops-itself",
        "SIGSTOP itself",
        call("TFV", "import os, signal\ndef f(): os.kill(os.getpid(), signal.SIGSTOP)", wall_ms=500),
    ),
    case(
        "timer-storm",
        "storm of interval timers",
        call(
            "TFV",
            """
            import signal
            def f():
                signal.signal(signal.SIGALRM, lambda *_: None)
                signal.setitimer(signal.ITIMER_REAL, 1e-5, 1e-5)
                while True: pass
            """,
            wall_ms=500,
        ),
    ),
    case(
        "sleep-at-timeout",
        "sleep at the timeout, a little less and a little more",
        call("PT", "import time\ndef f():\n    time.sleep(0.295)\n    return 'held'", wall_ms=300),
        call("PT", "import time\ndef f():\n    time.sleep(0.305)\n    return 'held'", wall_ms=300),
    ),
    case(
        "loops-after-result",
        "loops after its result: atexit and __del__",
        call("PT", "import atexit\ndef f():\n    atexit.register(lambda: sum(range(10**12)))\n    return 'held'"),
        call(
            "PT",
            """
            class A:
                def __del__(self):
                    while True: pass
            kept = A()
            def f(): return 'held'
            """,
        ),
    ),
    case(
        "pbkdf2",
        "10**9 rounds of pbkdf2, outside the interpreter lock",
        call("T", "import hashlib\ndef f(): return hashlib.pbkdf2_hmac('sha256', b'a', b'b', 10**9)"),
    ),
    case(
        "zlib-bomb",
        "10 GB zlib bomb",
        call(
            "M",
            """
            import zlib
            def f():
                squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
                block = squeeze.compress(bytes(1 << 20)) + squeeze.flush(zlib.Z_FULL_FLUSH)
                return len(zlib.decompress(block * 10**4, -15))
            """,
            **PATIENT,
        ),
    ),
    case("wide-format", "format(1, '>9999999999')", call("MF", "def f(): return len(format(1, '>9999999999'))")),
    case(
        "huge-decimal",
        "huge Decimal exponent",
        call("TM", "from decimal import Decimal\ndef f(): return int(Decimal('1e1000000000')) % 7"),
    ),
    case(
        "zip-of-generators",
        "zip of 10**6 generators",
        call("TM", "def f(): return list(zip(*((i for i in range(9)) for _ in range(10**6))))"),
    ),
]
