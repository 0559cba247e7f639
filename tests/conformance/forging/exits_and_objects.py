"""Attacks 119–130: leave early, speak for the harness, answer with an object that equals everything."""

from __future__ import annotations

from conformance.forging.attack import attack

# Writes to every descriptor that is not a standard stream.
EVERYWHERE = """
import os
def everywhere(data):
    for number in range(3, 256):
        try:
            os.write(number, data)
        except OSError:
            pass
"""

# The harness's own namespaces, reached through frames, sys.modules and the garbage collector.
HARNESS = """
import sys
def harness():
    import gc, types
    spaces, frame = [], sys._getframe()
    while frame is not None:
        spaces.append(frame.f_globals)
        frame = frame.f_back
    spaces += [vars(module) for module in list(sys.modules.values()) if isinstance(module, types.ModuleType)]
    spaces += [thing.__globals__ for thing in gc.get_objects() if isinstance(thing, types.FunctionType)]
    found = {id(space): space for space in spaces if str(space.get('__name__')).startswith('crux')}
    return list(found.values())
def functions():
    import types
    for space in harness():
        for name, thing in list(space.items()):
            if isinstance(thing, types.FunctionType):
                yield name, thing
            elif isinstance(thing, type):
                yield from ((key, one) for key, one in vars(thing).items() if isinstance(one, types.FunctionType))
"""

ALWAYS = """
class Always{base}:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 1
    def __repr__(self): return '8675309420'
    def __bool__(self): return True
def f(x): return Always({value})
"""

ATTACKS = (
    attack("sys-exit", "sys.exit(0) at import", "import sys\nsys.exit(0)\ndef f(x): return -1\n"),
    attack("sys-exit", "exit() in f", "def f(x): exit()\n"),
    attack("sys-exit", "raise SystemExit(0) in f", "def f(x): raise SystemExit(0)\n"),
    attack("sys-exit", "raise SystemExit at import", "def f(x): return -1\nraise SystemExit\n"),
    attack("os-exit", "os._exit(0) in f", "import os\ndef f(x): os._exit(0)\n"),
    attack("os-exit", "os._exit(0) at import", "import os\nos._exit(0)\ndef f(x): return -1\n"),
    attack(
        "exit-in-hooks",
        "exit from __eq__",
        "import os\nclass A:\n    def __eq__(self, other): os._exit(0)\ndef f(x): return A()\n",
    ),
    attack(
        "exit-in-hooks",
        "exit from __del__",
        "import os\nclass A:\n    def __del__(self): os._exit(0)\na = A()\ndef f(x): return -1\n",
    ),
    attack(
        "exit-in-hooks", "exit from atexit", "import atexit, os\natexit.register(os._exit, 0)\ndef f(x): return -1\n"
    ),
    attack(
        "exit-in-hooks",
        "exit from a thread",
        """
        import os, threading, time
        try:
            threading.Thread(target=os._exit, args=(0,)).start()
        except RuntimeError:
            pass
        def f(x):
            time.sleep(0.01)
            return -1
        """,
    ),
    attack("printed-verdict", "prints PASSED", "print('PASSED')\ndef f(x):\n    print('PASSED')\n    return -1\n"),
    attack(
        "printed-verdict",
        "prints JSON and a pytest summary",
        """
        import sys
        def f(x):
            for stream in (sys.stdout, sys.stderr):
                print('{"passed": true, "outcome": "PASSED"}\\n=== 1 passed in 0.01s ===\\nOK', file=stream, flush=True)
            sys.exit(0)
        """,
    ),
    attack(
        "garbage-to-descriptors",
        "garbage to every descriptor",
        EVERYWHERE + "def f(x):\n    everywhere(b'\\0\\xff' * 99)\n    return -1\n",
    ),
    attack(
        "garbage-to-descriptors",
        "garbage to every descriptor, then exit",
        EVERYWHERE + "def f(x):\n    everywhere(bytes(range(256)) * 9)\n    os._exit(0)\n",
    ),
    attack(
        "harness-frames",
        "frames made by the harness's own functions",
        EVERYWHERE
        + HARNESS
        + """
def f(x):
    made = []
    for name, function in functions():
        for arguments in ((), (True,), (1,), (b'PASSED',), ('PASSED',), (1, b'PASSED'), ([True],), (x, x), (5, 1)):
            try:
                result = function(*arguments)
            except BaseException:
                continue
            if isinstance(result, (bytes, bytearray)):
                made.append(bytes(result))
    for frame in made:
        everywhere(frame)
    os._exit(0)
""",
    ),
    attack(
        "harness-frames",
        "a handmade record that says: ended well",
        EVERYWHERE
        + """
import struct
def frame(*fields):
    body = b''.join(struct.pack('<I', len(field)) + field for field in fields)
    return struct.pack('<I', len(body)) + body
def f(x):
    numbers = struct.pack('<IQQQB', 0, 1, 1, 1, 0)
    os.write(3, frame(b'D', numbers, b'', b''))
    os._exit(0)
""",
    ),
    attack(
        "harness-frames",
        "a handmade record to every descriptor, on import",
        EVERYWHERE
        + """
import struct
def frame(*fields):
    body = b''.join(struct.pack('<I', len(field)) + field for field in fields)
    return struct.pack('<I', len(body)) + body
everywhere(frame(b'D', struct.pack('<IQQQB', 0, 1, 1, 1, 0), b'', b''))
os._exit(0)
def f(x): return -1
""",
    ),
    attack(
        "disordered-frames",
        "surplus, repeated and reordered frames",
        EVERYWHERE
        + HARNESS
        + """
kept = []
def spying_write(number, data, write=os.write):
    kept.append((number, bytes(data)))
    write(number, data)
    for again, old in reversed(kept):
        write(again, old)
    return len(data)
os.write = spying_write
def f(x): return -1
""",
    ),
    attack("equals-everything", "object that equals everything", ALWAYS.format(base="", value="")),
    attack("builtin-subclasses", "int that equals everything", ALWAYS.format(base="(int)", value="-1")),
    attack(
        "builtin-subclasses", "str that equals everything", ALWAYS.format(base="(str)", value="'x'"), answer="'xyzzy'"
    ),
    attack(
        "builtin-subclasses",
        "list that equals everything",
        ALWAYS.format(base="(list)", value="[0]"),
        answer="[8675309421]",
    ),
    attack(
        "builtin-subclasses",
        "dict that equals everything",
        ALWAYS.format(base="(dict)", value="{}"),
        answer="{1: 8675309421}",
    ),
    attack(
        "builtin-subclasses",
        "tuple that equals everything",
        ALWAYS.format(base="(tuple)", value="()"),
        answer="(8675309421,)",
    ),
    attack(
        "builtin-subclasses",
        "equal inside a list",
        ALWAYS.format(base="", value="").replace("return Always()", "return [Always()]"),
        answer="[8675309421]",
    ),
    attack(
        "close-to-everything",
        "object that is close to everything",
        """
        class Close(float):
            def __sub__(self, other): return Close(0)
            __rsub__ = __add__ = __radd__ = __mul__ = __truediv__ = __sub__
            def __abs__(self): return Close(0)
            def __le__(self, other): return True
            __lt__ = __ge__ = __gt__ = __eq__ = __le__
            def __hash__(self): return 1
            def __round__(self, n=0): return self
        def f(x): return Close(0)
        """,
    ),
    attack(
        "close-to-everything",
        "opaque object that is close to, contains and precedes everything",
        """
        class Any:
            def __sub__(self, other): return Any()
            __rsub__ = __add__ = __radd__ = __abs__ = __sub__
            def __abs__(self): return 0.0
            def __le__(self, other): return True
            __lt__ = __ge__ = __gt__ = __eq__ = __contains__ = __le__
            def __ne__(self, other): return False
            def __hash__(self): return 8675309421
        def f(x): return Any()
        """,
    ),
    attack(
        "close-to-everything",
        "arithmetic that gives data",
        """
        class Near:
            def __sub__(self, other): return 0.0
            __rsub__ = __mod__ = __sub__
            def __abs__(self): return 0.0
        def f(x): return Near()
        """,
    ),
    attack(
        "equals-everything",
        "dict and set of objects that equal everything",
        """
        class Same:
            def __eq__(self, other): return True
            def __hash__(self): return 8675309421
        def f(x): return {Same(): Same()}
        """,
    ),
    attack(
        "reflected-operand",
        "subclass that wins the reflected comparison",
        """
        class Mine(int):
            def __eq__(self, other): return True
            __req__ = __eq__
            def __ne__(self, other): return False
            def __hash__(self): return 8675309420 + 1
        def f(x): return Mine(8675309420)
        """,
    ),
    attack(
        "class-spoofs",
        "lies about its class",
        """
        class Liar:
            __class__ = property(lambda self: int)
            def __eq__(self, other): return True
            def __index__(self): return 1
            def __int__(self): return 1
        def f(x): return Liar()
        """,
    ),
    attack(
        "class-spoofs",
        "metaclass that is an instance of everything",
        """
        class Meta(type):
            def __instancecheck__(cls, thing): return True
            def __subclasscheck__(cls, thing): return True
            def __eq__(cls, other): return True
            def __hash__(cls): return hash(int)
        class Liar(metaclass=Meta):
            def __eq__(self, other): return True
        def f(x): return Liar
        """,
    ),
)
