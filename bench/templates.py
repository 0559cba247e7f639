"""The building blocks of generated programs, as tables.

A step reads a variable of one type and leaves one of another; a program is a chain of steps. Placeholders:

=======  ==========================================================
``$v``   the variable the step reads
``$o``   the variable it leaves (the same one when the type is kept)
``$c``   a one-character string literal
``$s``   a short string literal
``$n``   an integer from 0 to 3 (small: CRUXEval's filter refuses arithmetic on larger ones)
``$w``   an integer from 4 to 12 (a width; never an operand)
=======  ==========================================================

All of it is ours, written by hand in the style of CRUXEval, and safe to run in the generator's own process, but for
LOOPS, STALLS and HOGS, which the generator never runs.
"""

from __future__ import annotations

# Types of a value on its way through a program, and the names its variable may have.
NAMES = {
    "str": ("text", "string", "line", "value", "s"),
    "words": ("items", "words", "parts", "names", "lst"),
    "ints": ("nums", "numbers", "array", "values", "seq"),
    "dict": ("data", "table", "dic", "mapping", "d"),
}

# (reads, leaves) -> statements, one step each.
STEPS: dict[tuple[str, str], tuple[str, ...]] = {
    ("str", "str"): (
        "$v = $v.replace($c, $s)",
        "$v = $v.upper()",
        "$v = $v.swapcase()",
        "$v = $v.title()",
        "$v = $v.strip($s)",
        "$v = $v.lstrip($c).lower()",
        "$v = $v[::-1]",
        "$v = $v[$n:]",
        "$v = $v.ljust($w, $c)",
        "$v = $v.zfill($w)",
        "$v = $v.center($w, $c)",
        "$v = $v.translate({ord($c): $s})",
        "$v = $v.partition($c)[2] or $v",
        "$v = $c.join($v.split())",
        "$v = ''.join(ch for ch in $v if ch.isalpha() or ch == $c)",
        "$v = ''.join(ch.upper() if ch in $s else ch for ch in $v)",
        "while $v.endswith($c):\n    $v = $v[:-1]",
        "if $v.startswith($s):\n    $v = $v[$n:]\nelse:\n    $v = $v.lower()",
        "out = ''\nfor ch in $v:\n    if ch in $s:\n        out = ch + out\n    else:\n        out += ch\n$v = out",
        "i = $v.rfind($c)\nif i > $n:\n    $v = $v[:i] + $c",
        "for i, ch in enumerate($s):\n    $v = $v.replace(ch, str(i), $n)",
    ),
    ("str", "words"): (
        "$o = $v.split($c)",
        "$o = list($v)",
        "$o = sorted($v)",
        "$o = [w for w in $v.split() if len(w) > $n]",
        "$o = [ch for ch in $v if ch not in $s]",
        "$o = []\nfor ch in $v:\n    if ch not in $o:\n        $o.append(ch)",
    ),
    ("str", "dict"): (
        "$o = {}\nfor ch in $v:\n    $o[ch] = $o.get(ch, 0) + 1",
        "$o = {ch: i for i, ch in enumerate($v)}",
        "$o = {ch: $v.count(ch) for ch in $v if ch != $c}",
    ),
    ("words", "words"): (
        "$v.reverse()",
        "$v.sort(key=len)",
        "$v = sorted($v, key=lambda w: (len(w), w), reverse=True)",
        "$v.append($s)",
        "$v.insert($n, $s)",
        "$v = [w.upper() for w in $v]",
        "$v = [w for w in $v if $c not in w]",
        "$v = $v[$n:]",
        "if $s in $v:\n    $v.remove($s)",
        "for i, w in enumerate($v):\n    if w.isalpha():\n        $v[i] = w.lower()",
        "while $v and len($v[-1]) <= $n:\n    $v.pop()",
    ),
    ("words", "str"): (
        "$o = $c.join($v)",
        "$o = ''.join(reversed($v))",
        "$o = $s.join(w for w in $v if w)",
    ),
    ("words", "dict"): (
        "$o = {w: len(w) for w in $v}",
        "$o = dict.fromkeys($v, $n)",
        "$o = {}\nfor w in $v:\n    $o.setdefault(w[:1], []).append(w)",
    ),
    ("words", "ints"): (
        "$o = [len(w) for w in $v]",
        "$o = [w.count($c) for w in $v]",
    ),
    ("ints", "ints"): (
        "$v.sort()",
        "$v.sort(reverse=True)",
        "$v.append($n)",
        "$v.insert($n, $w)",
        "$v = $v[::-1]",
        "$v = $v[$n:]",
        "$v = [n for n in $v if n != $n]",
        "$v = [n for n in $v if n % 2 == $n]",
        "$v = [n + 1 if n > $w else n for n in $v]",
        "$v.extend($v[:$n])",
        "for i in range(len($v) - 1):\n    if $v[i] > $v[i + 1]:\n        $v[i], $v[i + 1] = $v[i + 1], $v[i]",
        "while len($v) > $w:\n    $v.pop($n)",
        "if $v:\n    $v.remove(max($v))",
        "out = []\nfor n in $v:\n    if n not in out:\n        out.append(n)\n$v = out",
    ),
    ("ints", "dict"): (
        "$o = {n: $v.count(n) for n in $v}",
        "$o = dict(zip($v, $v[$n:]))",
        "$o = {}\nfor i, n in enumerate($v):\n    $o.setdefault(n, i)",
    ),
    ("ints", "str"): (
        "$o = $c.join(str(n) for n in $v)",
        "$o = ''.join(chr(97 + n % 3) for n in $v)",
    ),
    ("dict", "dict"): (
        "$v = {str(v): k for k, v in $v.items()}",
        "$v.pop($s, None)",
        "$v[$s] = $n",
        "$v.setdefault($c, $n)",
        "$v = {k: v for k, v in $v.items() if v != $n}",
        "for k in list($v):\n    if str(k) < $c:\n        del $v[k]",
        "$v.update({$s: $n, $c: $w})",
        "$v = dict(sorted($v.items(), key=lambda kv: str(kv[0])))",
    ),
    ("dict", "words"): (
        "$o = [str(k) for k in $v]",
        "$o = sorted(str(k) for k in $v)",
        "$o = []\nfor k, v in $v.items():\n    if v == $n:\n        $o.append(str(k))",
    ),
    ("dict", "ints"): ("$o = [v for v in $v.values() if isinstance(v, int)]",),
}

# What a last line may be, by the type at the end of the chain.
RETURNS: dict[str, tuple[str, ...]] = {
    "str": ("return $v", "return $v.find($c)", "return len($v), $v", "return $v.isalnum()"),
    "words": ("return $v", "return $v[:$w]", "return tuple($v)", "return len($v)"),
    "ints": ("return $v", "return max($v, default=$n)", "return tuple($v)", "return [$v, len($v)]"),
    "dict": ("return $v", "return list($v.items())", "return sorted(map(str, $v))", "return len($v)"),
}

# Each raises for every input, whatever the type of `$v`.
RAISES = (
    "return list($v)[len($v)]",
    "return {$s: $n}[len($v), $s]",
    "return int(str($v) + $s + 'x')",
    "return str($v).index('\\x00' + $s)",
    "return next(iter([k for k in $v if k is None]))",
    "raise ValueError($s)",
    "return $v.no_such_method($n)",
    "return undefined_name($v)",
    "return len($v) % 0",
    "assert str($v) is None, $s",
)

# For ever, in Python frames, in flat memory: what a step limit ends in milliseconds.
LOOPS = (
    "i = $n\nwhile i >= 0:\n    i = (i + 1) % 3\nreturn $v",
    "while True:\n    $v = $v",
    "i = 0\nwhile i < len($v) + 1:\n    i -= len($v) > $w\nreturn i",
    "i = len($v)\nwhile i != -1:\n    i = i // 2\nreturn $v",
    "while $v is not None:\n    for ch in $s:\n        pass\nreturn ch",
)

# For ever (or for hours) inside one C call, in flat memory: only the CPU clock sees it.
STALLS = (
    "return sum(range(10 ** 13 + len($v)))",
    "return max(range(10 ** 13 + len($v)))",
    "return any(iter(int, 1)), $v",
    "return all(map(str, range(1, 10 ** 13))), $v",
    "return [len($v)] in zip(range(10 ** 13))",
)

# More memory than there is, at once or step by step. Never given to an unconfined method.
HOGS = (
    "return [len($v)] * 10 ** 11",
    "return str($v) + $c * 10 ** 12",
    "$o = [$s]\nfor w in $o:\n    $o.append(w + $s)\nreturn $o",
    "$o = $s\nwhile True:\n    $o = $o + $o",
    "return list(range(10 ** 11 + len($v)))",
    "return bytearray(10 ** 12), $v",
)

# What the CRUXEval filter refuses, by the rule that does it; appended before the last line of a candidate.
REFUSED: dict[str, str] = {
    "IMPORT": "import string",
    "SET": "seen = set(str($v))",
    "EVAL": "x = eval($s)",
    "HASH": "x = hash($s)",
    "OPS_BIG": "x = (len(str($v)) + 1000) * 77",
    "POWER_BIG": "x = (len(str($v)) + 2) ** 5",
    "TRUE_DIVIDE": "x = len(str($v)) / 2",
    "FLOAT_OPS": "x = len(str($v)) - 0.5",
    "OPS_LONG": "x = str($v) * 5 + 'abcd' + str($v)",
    "UNPRINTABLE": "x = '\x7f'",
}

LETTERS = "aabcdeefghiijklmnooprsttuy"
MARKS = " ,.-_!?:/'éß0123"
