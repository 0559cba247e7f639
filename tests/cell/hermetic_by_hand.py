"""What the hermetic rule says of a program."""

from __future__ import annotations

import bisect
import itertools
import math
import string

from cruxcell.analysis import annotations as known_annotations
from cruxcell.analysis.hermetic import is_hermetic

LOADED = bisect, itertools, math, string  # as a zygote has loaded them beforehand: only then may they be imported
known_annotations.make_beforehand()

HERMETIC = {
    "arithmetic": "def f(x): return x + 1",
    "global": "n = 0\ndef f(x):\n global n\n n += x\n return n",
    "default": "def f(x, seen=[]):\n seen.append(x)\n return seen",
    "closure": "def f(x):\n def g():\n  nonlocal x\n  x += 1\n  return x\n return g()",
    "generator": "def g(n):\n while n:\n  yield n\n  n -= 1\ndef f(x): return sum(g(x)) + sum(i for i in range(x))",
    "exceptions": "def f(x):\n try:\n  return 1 / x\n except TypeError as e:\n  return str(e)\n finally:\n  x = 0",
    "format": "def f(x): return '{:>{}}'.format(x, 9) + f'{x!r:^9}' + '%s' % x + '{a:.2f}'.format(a=1)",
    "the builtin format": "def f(x): return format(x, '5')",
    "format beside a generator": "g = (y for y in [])\ndef f(x): return '{0!r} {1}'.format(g, x)",
    "format_map": "def f(x): return '{a}'.format_map({'a': x})",
    "format of one of two texts": "def f(x): return ('{}' if x else '{0}').format(f)",
    "format of one of many texts": "def f(x): return ['{}', ('{0:{1}}', '')[x]][len(x)].format(f, x)",
    "format of a variable whose name says more": "count = '{count}'\ncount.format(count=[].count('count'))",
    "format of a global variable": "def f(x):\n global t\n t = u = '{}'\n x[0] = '{}'\n return t.format(x)",
    "format of variables": "u = '{}'\ndef f(x):\n t = '{0}{1}'\n if x: t = '{}'\n return t.format(x) + u.format(t)",
    "comprehensions": "def f(x): return {a: [b for b in range(a)] for a in range(x)}, {c for c in 'abc'}",
    "pure modules": "import math\nfrom string import digits as d\ndef f(x):\n import bisect, itertools as i\n"
    " return math.pi, d, bisect.bisect, i.chain",
    "the word import": "def f(x): return 'import os'",
    "hash": "def f(x): return hash(x)",
    "a global underscore": "_ = 1\ndef f(x): return _ + x",
    "annotations": "from typing import List, Tuple, Any\ndef g(): pass\n"
    "def f(x: List[List[int]], *a: Any, k: Tuple[int, str]=()) -> List[float]: return x",
    "annotations beside imports and local names": "import math\nfrom typing import List\nfrom string import digits\n"
    "def f(x: List[int], str=digits):\n int = str\n import bisect\n from math import pi\n return int",
    "own exception": "def f(x):\n raise ValueError(x)",
    "a class that is compared": "def f(x):\n if type(x) == list and type(x[0]) in (int, str) or str is not type(x):\n"
    "  return type(x) != type(type(x) == int) is bool",
    "a variable named type": "def f(type): return type",
}  # fmt: skip
NOT_HERMETIC = {
    "import": "import os\ndef f(x): return x",
    "an import among many names": "".join(f"n{i} = {i}\n" for i in range(300)) + "import os",
    "a pure module, then another": "import math\ndef f(x):\n import sys\n return x",
    "a part of a module": "import os.path\ndef f(x): return x",
    "all of a module": "from math import *\ndef f(x): return pi",
    "a module that is changed": "import math\nmath.pi = 3\ndef f(x): return x",
    "a module that loses something": "import math\ndel math.pi\ndef f(x): return x",
    "typing as a module": "import typing\ndef f(x: typing.List): return x",
    "typing under another name": "from typing import List as L\ndef f(x: L[int]): return x",
    "other names of typing": "from typing import Literal\ndef f(x: Literal[1]): return x",
    "all of typing": "from typing import *\ndef f(x: List[int]): return x",
    "typing in a function": "def f(x):\n from typing import List\n return x",
    "typing in a nested function": "from typing import List\ndef f(x):\n def g(y: List[int]): pass\n return x",
    "typing outside of annotations": "from typing import List\nL = List[int]\ndef f(x: L): return x",
    "typing called": "from typing import List\ndef f(x: List[int]): return List",
    "an annotation not made beforehand": "from typing import List\ndef f(x: List[List[List[int]]]): return x",
    "an annotation with a value": "from typing import List\ndef f(x: List[f]): return x",
    "an annotation with a text": "from typing import List\ndef f(x: List['f']): return x",
    "an annotation with a call": "from typing import List\ndef f(x: List[g()]): return x",
    "an annotation with its own int": "from typing import List\nint = lambda: 0\ndef f(x: List[int]): return x",
    "an annotation with its own Any": "from typing import Any, List\ndef Any(): pass\n"
    "def f(x: List[Any]): return x",
    "an annotation with a module for str": "from typing import List\nimport math as str\ndef f(x: List[str]): return x",
    "an annotation with a module for Any": "from typing import Dict\nimport math as Any\n"
    "def f(x: Dict[str, Any]): return x",
    "an annotation with its own List": "from typing import List\ndef List(): pass\ndef f(x: List[int]): return x",
    "an annotation in an attribute": "from typing import List\ndef f(x: List.real[int]): return x",
    "a default of typing": "from typing import List\ndef f(x=List[int]): return x",
    "a decorator of typing": "from typing import Any\n@Any\ndef f(x): return x",
    "a module's module": "import string\ndef f(x): return string._re",
    "from a module, its module": "from string import _re as r\ndef f(x): return r",
    "a reader of attributes": "import string\ndef f(x): return string.Formatter().get_field('0.real', [x], {})",
    "imported, a reader of attributes": "from string import Formatter as F\ndef f(x): return F()",
    "import in a function": "def f(x):\n from sys import path\n return path",
    "__import__": "def f(x): return __import__('os')",
    "class": "class A: pass\ndef f(x): return A()",
    "dunder attribute": "def f(x): return x.__class__",
    "dunder local": "def f(x):\n __x = 1\n return __x",
    "getattr": "def f(x): return getattr(x, 'real')",
    "type": "def f(x): return type(x)",
    "type beside a comparison": "def f(x): return type(x) == (t := type(x))",
    "type in an argument of a comparison": "def f(x): return [type(x)] == x",
    "type of a type that is called": "def f(x): return type(x)('C') == x",
    "type of three": "def f(x): return type('C', (), {}) == x",
    "type of stars": "def f(x): return type(*x) == x",
    "type with a metaclass's argument": "def f(x): return type(x, **x) == x",
    "type as a value": "def f(x): return [type, type(x) == int]",
    "type as a value beside a comparison": "def f(x): return [type, len(x) == 1]",
    "type that is less": "def f(x): return type(x) < x",
    "its own type": "def type(x): return x\ndef f(x): return type(x) == int",
    "type of an item": "def f(x): return type(x)[0] == int",
    "eval": "def f(x): return eval('x')",
    "an alias": "e = exec\ndef f(x): return x",
    "globals": "def f(x): return globals()",
    "open": "def f(x): return open(x)",
    "input": "def f(x): return input()",
    "id": "def f(x): return id(x)",
    "own attribute": "def f(x):\n f.calls = x\n return f.calls",
    "an error that shows memory": "def f(x): return str(UnicodeDecodeError('x', b'', -9, -8, ''))",
    "an error that is told to show memory": "def f(x):\n try:\n  x.decode()\n except ValueError as e:\n"
    "  e.start = -9\n  return str(e)",
    "memory that is left": "def f(x):\n try:\n  return bytes(x)\n except MemoryError:\n  return 0",
    "an import without a name": "def f(x):\n return x\n from . import y",
    "frame of a generator": "def f(x): return (y for y in x).gi_frame",
    "traceback": "def f(x):\n try:\n  1/0\n except Exception as e:\n  return e.with_traceback(None).tb_frame",
    "a generator that cleans up": "def g():\n try:\n  yield\n finally:\n  print(1)\ndef f(x): return next(g())",
    "a generator that catches": "def g():\n try:\n  yield\n except BaseException:\n  print(1)\ndef f(x): return g()",
    "a generator in a context": "def f(x):\n def g():\n  with x:\n   yield\n return g()",
    "a coroutine that cleans up": "async def g():\n try:\n  await h\n finally:\n  print(1)\ndef f(x): return g()",
    "a frame by way of a format string": "def f(x): return '{0.gi_frame}'.format(y for y in x)",
    "a traceback by way of a format string": "def f(x):\n try:\n  1/0\n except Exception as e:\n  return x.format(e)",
    "format of a text that is computed": "def f(x): return ('{0' + '.real}').format(x)",
    "format of a text or another": "def f(x): return ('{}' if x else x).format(f)",
    "format of another or a text": "def f(x): return (x if x else '{}').format(f)",
    "format of one of two texts that reaches for something": "def f(x): return ('{}' if x else '{0.real}').format(f)",
    "format of an item that is no constant": "def f(x): return ['{}', x][1].format(f)",
    "format of an item that reaches for something": "def f(x): return ('{}', '{0.real}')[1].format(f)",
    "format of an item of stars": "def f(x): return [*x][0].format(f)",
    "format of an item of a dict": "def f(x): return {1: '{0.real}'}[1].format(f)",
    "format of what a function gives": "def g(): return '{0.real}'\ndef f(x): return g().format(x)",
    "format of a parameter": "def f(x): return x.format(f)",
    "format of a variable that reaches for something": "def f(x):\n t = '{0.real}'\n return t.format(x)",
    "format of a variable that is also computed": "def f(x):\n t = '{}'\n t = x\n return t.format(x)",
    "format of a variable that grows": "def f(x):\n t = '{0'\n t += '.real}'\n return t.format(x)",
    "format of a variable in a loop": "t = '{}'\nfor t in ['{0.real}']: t.format(1)",
    "format of a variable that is a pair": "t, u = '{}', '{0.real}'\nu.format(1)",
    "format of a variable that is assigned twice at once": "t = u = '{0.real}'\nu.format(1)",
    "format of a variable that is imported": "t = '{}'\nimport math as t\nt.format(1)",
    "format of a variable that is an error": "t = '{}'\ntry:\n 1/0\nexcept ValueError as t:\n t.format(1)",
    "format of a variable that is a function": "t = '{}'\ndef t(): pass\nt.format(1)",
    "format of a variable that is a parameter": "t = '{}'\ndef f(t): return t.format(1)",
    "format of a variable that is a lambda's": "t = '{}'\ndef f(x): return (lambda t: t.format(1))(x)",
    "format of a variable that is a generator's": "t = '{}'\ndef f(x): return [t.format(1) for t in x]",
    "format of a variable of a name of stars": "t = '{}'\ndef f(*t): return t.format(1)",
    "format of a variable that an expression binds": "t = '{}'\ndef f(x): return (t := x).format(1), t.format(1)",
    "format of a type under a variable's name": "def g():\n str = '{}'\ndef f(x): return str.format('{0.real}', x)",
    "format of no format": "def f(x): return '{'.format(x)",
    "format that goes wrong when it has reached for something": "def f(x): return '{0.real} }'.format(x)",
    "format_map of an attribute": "def f(x): return '{a.real}'.format_map({'a': x})",
    "format_map of an item": "def f(x): return '{a[0]}'.format_map({'a': x})",
    "format_map of a parameter": "def f(x): return x.format_map({'a': x})",
    "format of another type's method": "def f(x): return str.format('{0.real}', x)",
    "format of a number": "def f(x): return (1).format(x)",
    "format of an item": "def f(x): return '{0[0]}'.format(x)",
    "format of an attribute in a width": "def f(x): return '{:{0.real}}'.format(x)",
    "an attribute for inner use": "def f(x): return x._parts",
    "a coroutine": "async def g(): pass\ndef f(x): return g()",
    "an asynchronous generator": "async def g():\n yield 1\ndef f(x): return g()",
    "format_map beside a generator": "g = (y for y in [])\ndef f(x): return x.format_map({'g': g})",
}  # fmt: skip


def hermetic(source: str) -> bool:
    return is_hermetic(source, compile(source, "<program>", "exec", dont_inherit=True))


CALLS = [
    ("f(1, 'a', b'', 2.5, -1j, None, ..., k=[(1, 2), {3: {4}}])", True),
    ("f(*[1, 2], **{'a': 3})", True),
    ("sorted([2, 1])", True),
    ("g(1)", False),  # nobody's
    ("exec('1')", False),
    ("eval('1')", False),
    ("f(g)", False),
    ("f(len)", False),
    ("f.real(1)", False),
    ("f(lambda: 1)", False),
    ("f([x for x in (1,)])", False),
    ("f((lambda x: lambda: x)(1))", False),
    ("(f := 1)", False),
]
