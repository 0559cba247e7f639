"""What a program may do beside computing the right value: a right one is changed to do it.

`NAME` is the function (or class) that is tested, `_own_` the right one.
"""

from __future__ import annotations

# Still right, whatever it does besides.
HONEST = {
    "prints": "print(a, k)\n    r = _own_(*a, **k)\n    print(r)\n    return r",
    "prints errors": "import sys\n    print('AssertionError', file=sys.stderr)\n    return _own_(*a, **k)",
    "warns": "import warnings\n    warnings.warn('old', DeprecationWarning)\n    return _own_(*a, **k)",
    "recursion": "def deep(n):\n        return 0 if not n else deep(n - 1)\n    deep(800)\n    return _own_(*a, **k)",
    "thread": "import threading\n    out = []\n    t = threading.Thread(target=lambda: out.append(_own_(*a, **k)))\n"
    "    t.start()\n    t.join()\n    return out[0] if out else _own_(*a, **k)",
    "exec": "names = {'f': _own_, 'a': a, 'k': k}\n    exec('r = f(*a, **k)', names)\n    return names['r']",
    "file": "import tempfile\n    with tempfile.TemporaryFile() as file:\n        file.write(b'x')\n"
    "    return _own_(*a, **k)",
}
# Something else than the right value, which equals it or does not: Python decides.
OTHERWISE = {
    "a copy": "__import__('copy').deepcopy(r)",
    "another sequence": "tuple(r) if isinstance(r, list) else list(r)",
    "a float": "float(r)",
    "an int": "int(r)",
    "a bool": "bool(r)",
    "truths for numbers": "_each(r, lambda x: bool(x) if x in (0, 1) else x)",
    "numbers for truths": "_each(r, lambda x: int(x) if isinstance(x, bool) else x)",
    "complex numbers": "_each(r, lambda x: complex(x) if isinstance(x, (int, float)) else x)",
    "fractions": "_each(r, lambda x: __import__('fractions').Fraction(x) if isinstance(x, (int, float)) else x)",
    "nearly": "_each(r, lambda x: x + 1e-9 if isinstance(x, float) else x)",
    "not nearly": "_each(r, lambda x: x + 1e-3 if isinstance(x, float) else x)",
    "another zero": "_each(r, lambda x: -0.0 if x == 0 else x)",
    "a NaN": "_each(r, lambda x: float('nan') if isinstance(x, (int, float)) else x)",
    "text": "str(r)",
    "bytes": "r.encode() if isinstance(r, str) else bytes(r)",
    "no value": "None",
    "no value for what is empty": "r or None",
    "a generator": "(x for x in r)",
    "a set": "set(r)",
    "a queue": "__import__('collections').deque(r)",
    "a counter": "__import__('collections').Counter(r)",
    "keys": "dict.fromkeys(r).keys()",
    "another order": "dict(reversed(list(r.items()))) if isinstance(r, dict) else r[::-1]",
    "a class of its own": "type('Mine', (type(r),), {})(r)",
    "an array": "__import__('numpy').array(r)",
    "a number of numpy's": "_each(r, lambda x: __import__('numpy').array([x])[0])",
    "less": "r[:-1]",
    "more": "[*r, None]",
    "the argument": "a[0]",
    "a function": "lambda: r",
    "itself inside": "(lambda x: x.append(x) or x)(list(r))",
}
# Wrong, and Python may be told that it is right: never PASSED.
CLAIMS = {
    "equals all": "_Yes()",
    "a number that equals all": "type('Y', (int,), _yes)(7)",
    "a text that equals all": "type('Y', (str,), _yes)('x')",
    "a list that equals all": "type('Y', (list,), _yes)()",
    "ends": "__import__('os')._exit(0)",
    "exits": "exit(0)",
    "patches": "[setattr(__import__('builtins'), name, lambda *a, **k: 0) for name in ('abs', 'sum', 'round')]",
}
_HELPERS = """
def _each(r, f):
    if isinstance(r, (list, tuple)):
        return type(r)(_each(x, f) for x in r)
    return {k: _each(v, f) for k, v in r.items()} if isinstance(r, dict) else f(r)
_yes = dict.fromkeys(('__eq__', '__lt__', '__gt__', '__le__', '__ge__'), lambda *_: True)
_yes.update(__ne__=lambda *_: False, __hash__=lambda _: 0, __sub__=lambda *_: 0, __rsub__=lambda *_: 0)
_Yes = type('Yes', (), _yes)
"""


def changed(program: str, name: str, body: str) -> str:
    """The program whose function returns what `body` says: a block, or an expression of `r` and `a`."""
    if "return " not in body:
        body = f"r = _own_(*a, **k)\n    return {body}"
    return f"{program}{_HELPERS}_own_ = {name}\ndef {name}(*a, **k):\n    {body}\n"
