"""Programs that leave something behind in their worker: what of it the seal names, and the program.

Each runs as `exec(...)` in a worker that goes on with other checks. Written for every interpreter: what one does not
have is in `needs`, an expression that is true where it has.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Leaves:
    """`kind` names what the seal says of `program`."""

    kind: str
    program: str
    needs: str = "True"


PROGRAMS = {
    "a builtin": Leaves("builtins", "import builtins; builtins.sorted = lambda x: [66]"),
    "a new builtin": Leaves("builtins", "import builtins; builtins.fresh = 1"),
    "no builtin": Leaves("builtins", "import builtins; del builtins.abs"),
    "the order of builtins": Leaves(
        "builtins", "import builtins; x = builtins.len; del builtins.len; builtins.len = x"
    ),
    "a function of a module": Leaves("module", "import unicodedata; unicodedata.name = abs"),
    "the class of a module": Leaves("module", "import unicodedata as u\nclass M(type(u)): pass\nu.__class__ = M"),
    "a module": Leaves("module_table", "import sys; sys.modules['fresh'] = sys"),
    "another module": Leaves("module_table", "import sys; sys.modules['math'] = sys"),
    "another table of modules": Leaves("sys", "import sys; sys.modules = dict(sys.modules)"),
    "an import": Leaves("module_table", "import this"),
    "the path": Leaves("sys", "import sys; sys.path.append('/')"),
    "a finder": Leaves("sys", "import sys; sys.meta_path.insert(0, object())"),
    "a path hook": Leaves("sys", "import sys; sys.path_hooks.clear()"),
    "the cache of importers": Leaves("sys", "import sys; sys.path_importer_cache['x'] = None"),
    "a display hook": Leaves("sys", "import sys; sys.displayhook = print"),
    "an exception hook": Leaves("sys", "import sys; sys.excepthook = print"),
    "an unraisable hook": Leaves("sys", "import sys; sys.unraisablehook = print"),
    "a breakpoint hook": Leaves("sys", "import sys; sys.breakpointhook = print"),
    "standard input": Leaves("sys", "import sys; sys.stdin = None"),
    "flags": Leaves("sys", "import sys; sys.flags = None"),
    "bytecode": Leaves("sys", "import sys; sys.dont_write_bytecode = not sys.dont_write_bytecode"),
    "the switch interval": Leaves("sys", "import sys; sys.setswitchinterval(1.0)"),
    "coroutine origins": Leaves("hooks", "import sys; sys.set_coroutine_origin_tracking_depth(3)"),
    "the recursion limit": Leaves("limits", "import sys; sys.setrecursionlimit(5000)"),
    "the digits of a number": Leaves(
        "limits", "import sys; sys.set_int_max_str_digits(0)", "hasattr(sys, 'set_int_max_str_digits')"
    ),
    "a trace function": Leaves("audit", "import sys; sys.settrace(lambda *a: None)"),
    "a profile function": Leaves("audit", "import sys; sys.setprofile(lambda *a: None)"),
    "an audit hook": Leaves("audit", "import sys; sys.addaudithook(lambda *a: None)"),
    "a hook on asynchronous generators": Leaves("hooks", "import sys; sys.set_asyncgen_hooks(print)"),
    "a monitoring tool": Leaves(
        "hooks", "import sys; sys.monitoring.use_tool_id(1, 'x')", "hasattr(sys, 'monitoring')"
    ),
    "a monitoring callback": Leaves(
        "audit",
        "import sys; m = sys.monitoring; m.use_tool_id(1, 'x'); m.register_callback(1, m.events.LINE, print)\n"
        "m.set_events(1, m.events.LINE); m.free_tool_id(1)",
        "hasattr(sys, 'monitoring')",
    ),
    "an exit handler": Leaves("hooks", "import atexit; atexit.register(print)", "'atexit' in sys.modules"),
    "a collector that is off": Leaves("gc", "import gc; gc.disable()"),
    "the collector's thresholds": Leaves("gc", "import gc; gc.set_threshold(7)"),
    "the collector's flags": Leaves("gc", "import gc; gc.set_debug(gc.DEBUG_UNCOLLECTABLE)"),
    "a callback of the collector": Leaves("gc", "import gc; gc.callbacks.append(lambda *a: None)"),
    "a warning filter": Leaves(
        "warnings", "import _warnings; _warnings.filters.insert(0, ('error', None, Warning, None, 0))"
    ),
    "no warning filters": Leaves("warnings", "import _warnings; _warnings.filters.clear()"),
    "a codec": Leaves("codecs", "import codecs; codecs.register(lambda name: None)"),
    "a codec that was looked up": Leaves("codecs", "import encodings\nencodings._cache['x'] = None"),
    "an error handler": Leaves("codecs", "import codecs; codecs.register_error('fresh', lambda e: ('', e.end))"),
    "a known error handler": Leaves("codecs", "import codecs; codecs.register_error('strict', lambda e: ('', e.end))"),
    "a method of a type": Leaves(
        "type",
        "class E:\n    def __eq__(self, other): other['upper'] = str.lower; return True\nstr.__dict__ == E()\n"
        "assert 'a'.upper is not None",
        "(3, 9) <= sys.version_info < (3, 13)",
    ),
    "a method that was changed back": Leaves(
        "type",
        "class E:\n    def __eq__(self, other):\n        x = other['swapcase']; other['swapcase'] = str.lower\n"
        "        'aB'.swapcase(); other['swapcase'] = x; return True\nstr.__dict__ == E()",
        "sys.version_info < (3, 13)",
    ),
    "an attribute of a class": Leaves("type", "import os; os._Environ.get = None"),
    "the bases of a class": Leaves(
        "type", "import codecs\nclass B(codecs.Codec): pass\ncodecs.StreamWriter.__bases__ = (B,)"
    ),
    "a signal handler": Leaves("signals", "import _signal; _signal.signal(14, lambda *a: None)"),
    "an ignored signal": Leaves("signals", "import _signal; _signal.signal(24, _signal.SIG_IGN)"),
    "a locale": Leaves("locale", "import _locale; _locale.setlocale(_locale.LC_ALL, 'C')"),
    "a context variable": Leaves("context", "import _contextvars; _contextvars.ContextVar('x').set(1)"),
    "the environment": Leaves("environment", "import os; os.environ._data[b'X'] = b'y'"),
    "the process's environment": Leaves("audit", "import os; os.putenv('X', 'y')"),
    "a descriptor": Leaves("descriptors", "import os; os.dup(1)"),
    "a high descriptor": Leaves("descriptors", "import os; os.dup2(1, 31)"),
    "a flag of a descriptor": Leaves("descriptors", "import os; os.set_inheritable(1, not os.get_inheritable(1))"),
    "no input": Leaves("descriptors", "import os; os.close(0)"),
    "another input": Leaves("descriptors", "import os; os.dup2(4, 0)"),
    "a frame": Leaves("audit", "import sys; sys._getframe()"),
    "the frame of an error": Leaves("audit", "try: 1/0\nexcept Exception as e: e.__traceback__.tb_frame"),
    "the garbage collector's objects": Leaves("audit", "import gc; gc.get_objects()"),
    "what refers to it": Leaves("audit", "import gc; gc.get_referrers(print)"),
    "what it refers to": Leaves("audit", "import gc; gc.get_referents(str.__dict__)"),
    "the code of a function": Leaves("audit", "import os\ndef f(*a): pass\nos.fspath\nos.getenv.__code__ = f.__code__"),
    "the defaults of a function": Leaves("audit", "import os; os.getenv.__defaults__ = (1,)"),
    "a finalizer that looks around": Leaves(
        "audit", "class C:\n    def __del__(self): import gc; gc.get_objects()\nc = C(); c.c = c"
    ),
    "a method of the harness": Leaves(
        "harness", "import sys; b = sys.stdout._overflow.__self__; type(b).begin = lambda *a: None"
    ),
    "a stream of the harness": Leaves("harness", "import sys; sys.stdout.write = lambda text: 0"),
    "the class of a stream": Leaves("harness", "import sys\nclass C(type(sys.stdout)): pass\nsys.stdout.__class__ = C"),
    "a text that acts when its stream lets it go": Leaves(
        "builtins",
        "import sys, builtins\nkept = builtins.sorted\ndef back(x):\n    builtins.sorted = kept\n    return [66]\n"
        "class S(str):\n    def __del__(self): builtins.sorted = back\nsys.stdout.write(S('x'))",
    ),
    "what stands for what was printed": Leaves(
        "builtins",
        "import sys, builtins\nkept = builtins.sorted\ndef back(x):\n    builtins.sorted = kept\n    return [66]\n"
        "class L(list):\n    def __len__(self): return 0\n    def __del__(self): builtins.sorted = back\n"
        "sys.stdout._parts = L()",
    ),
    "a limit of the harness": Leaves("harness", "import sys; b = sys.stdout._overflow.__self__; b.step_limit = 0"),
    "a bound of a stream": Leaves("harness", "import sys; sys.stdout._limit = 10 ** 9"),
    "the helper": Leaves("harness", "import sys; b = sys.stdout._overflow.__self__; b.helper.run = eval"),
    "a foreign record": Leaves("unfinished", "import os; os.write(3, b'\\0\\0\\0\\0')"),
    "a second answer": Leaves(
        "report",
        "import sys\nb = sys.stdout._overflow.__self__\nclass C:\n    def __del__(self): b.send_value(7, 0)\n"
        "c = C(); c.c = c",
    ),
    "an answer for another": Leaves(
        "report",
        "import sys\nb = sys.stdout._overflow.__self__\nb.index\nclass C:\n    def __del__(self):\n"
        "        b.index = 1; b.send_value(7, 0)\nc = C(); c.c = c",
    ),
    "the state of random numbers": Leaves("random", "import random; random.seed(1)", "'random' in sys.modules"),
    "the decimal context": Leaves(
        "context", "import decimal; decimal.getcontext().prec = 3", "'decimal' in sys.modules"
    ),
    "a method of a library": Leaves(
        "type", "import collections; collections.Counter.most_common = None", "'collections' in sys.modules"
    ),
    "a table in a table": Leaves("module", "import json; json.decoder.BACKSLASH['n'] = 'x'", "'json' in sys.modules"),
    "what an object keeps": Leaves("module", "import random; random._inst.gauss_next = 1.0", "'random' in sys.modules"),
    "a template of the decimal context": Leaves(
        "context", "import decimal; decimal.DefaultContext.prec = 3", "'_decimal' in sys.modules"
    ),
    "the name of a class": Leaves("type", "import os; os._Environ.__name__ = 'E'"),
    "the long name of a class": Leaves("type", "import os; os._Environ.__qualname__ = 'E'"),
    "a class that stays": Leaves("module", "import os\nclass C: pass\nos.environ.__dict__.setdefault('kept', C)"),
    "a registered class": Leaves(
        "module", "import collections.abc as c\nc.Sequence.register(type(c))", "'collections.abc' in sys.modules"
    ),
    "a blocked signal": Leaves("signals", "import _signal; _signal.pthread_sigmask(0, [10])"),
    "a table of a library": Leaves("module", "import copy; copy._deepcopy_dispatch.clear()", "'copy' in sys.modules"),
    "a class registered where none was": Leaves("module", "import os; os._Environ.register(dict)"),
    "the flags of a class that is registered": Leaves(
        "module", "import os, _collections_abc as c; c.Sequence.register(os._Environ)"
    ),
    "the flags of a class by its own mark, and all else back": Leaves(
        "type",
        "import os, _abc; C = os._Environ; x = C._abc_impl; C.__abc_tpflags__ = 1 << 5; _abc._abc_init(C)\n"
        "C._abc_impl = x",
    ),
    "what a class without registrations answers": Leaves(
        "module",
        "import os\nclass M(type(os.PathLike)):\n    def __subclasscheck__(self, other): return True\n"
        "M('E', (os.PathLike,), {})\nassert isinstance(1j, os.PathLike)",
    ),
    "an attribute of an object": Leaves("module", "import os; os.environ.decodekey = str"),
    "the namespace of an object": Leaves(
        "module", "import os; e = os.environ; e.__dict__ = dict(e.__dict__, decodekey=str)"
    ),
    "the namespace of a stream": Leaves(
        "harness", "import sys; e = sys.stdout; e.__dict__ = dict(e.__dict__, write=len)"
    ),
    "the variable of a closure": Leaves(
        "module", "import os; os.environ.encodekey.__closure__[0].cell_contents = 5", "sys.version_info >= (3, 9)"
    ),
    "what a static method calls": Leaves(
        "type", "staticmethod.__init__(str.__dict__['maketrans'], lambda *a: {97: 'b'})"
    ),
    "what a class method calls": Leaves(
        "type", "import os, abc; classmethod.__init__(os.PathLike.__dict__['__subclasshook__'], lambda *a: True)"
    ),
    "what a property calls": Leaves(
        "type", "import _frozen_importlib as f; f.ModuleSpec.parent.__init__(lambda self: 'other')"
    ),
    # Of these the audit hook alone hears where they are changed back.
    "the name of a class, and back": Leaves(
        "audit", "import os; C = os._Environ; C.__name__ = 'E'; C.__name__ = '_Environ'"
    ),
    "the long name of a class, and back": Leaves(
        "audit", "import os; C = os._Environ; x = C.__qualname__; C.__qualname__ = 'E'; C.__qualname__ = x"
    ),
    "the bases of a class, and back": Leaves(
        "audit",
        "import codecs\nclass B(codecs.Codec): pass\nC = codecs.StreamWriter; x = C.__bases__; C.__bases__ = (B,)\n"
        "C.__bases__ = x",
    ),
    "the bases of a class by the descriptor, and back": Leaves(
        "audit",
        "import codecs\nclass B(codecs.Codec): pass\nC = codecs.StreamWriter; x = C.__bases__\n"
        "s = type.__dict__['__bases__'].__set__; s(C, (B,)); s(C, x)",
    ),
    "the name of a class by the descriptor, and back": Leaves(
        "audit", "import os; s = type.__dict__['__name__'].__set__; s(os._Environ, 'E'); s(os._Environ, '_Environ')"
    ),
    "the class of a class, and back": Leaves(
        "audit",
        "import os\nC = os._Environ; x = type(C)\nclass M(x): pass\nC.__class__ = M; C.__class__ = x",
    ),
    "the class of a module, and back": Leaves(
        "audit", "import unicodedata as u\nx = type(u)\nclass M(x): pass\nu.__class__ = M; u.__class__ = x"
    ),
    "the class of a stream, and back": Leaves(
        "audit",
        "import sys\nx = type(sys.stdout)\nclass C(x): pass\nsys.stdout.__class__ = C\nsys.stdout.__class__ = x",
    ),
    "the class of a stream by the descriptor, and back": Leaves(
        "audit",
        "import sys\nx = type(sys.stdout)\nclass C(x): pass\ns = object.__dict__['__class__'].__set__\n"
        "s(sys.stdout, C); s(sys.stdout, x)",
    ),
    "the abstract methods of a class, and back": Leaves(
        "type",
        "import os; C = os._Environ; x = C.__abstractmethods__; C.__abstractmethods__ = {'get'}\n"
        "C.__abstractmethods__ = x",
    ),
    "an attribute of a class, and back": Leaves(
        "type", "import os; C = os._Environ; x = C.get; C.get = None; del C.get"
    ),
}

# What it puts in the place of the harness's numbers is asked for, or let go, between this check and the next; and
# nothing else is changed until then.
NUMBERS_OF_THE_HARNESS = """
import sys, builtins
b = sys.stdout._overflow.__self__
kept = builtins.sorted
def back(x):
    builtins.sorted = kept
    return [66]
def wake(self, *other):
    builtins.sorted = back
    return False
Number = type('Number', (int,), {'__lt__': wake, '__del__': wake})
Pair = type('Pair', (tuple,), {'__del__': wake})
class D:
    def __del__(self): b.SLOT = VALUE
d = D()
"""
SLOTS = {"used_cpu_ns": "Number(0)", "index": "Number(1)", "_started": "Pair((0, 0))", "_ended": "Pair((0, 0))"}
