"""Programs that read several inputs in one worker, and those that try to leave something behind."""

from __future__ import annotations

from dataclasses import replace

from cruxbox import Limits, StdioCheck, Task

LIMITS = Limits(cpu_ms=800, wall_ms=20_000, output_bytes=4000, memory_bytes=128 << 20)


INPUTS = ["3\n1 2 3\n", "1\n7\n", "", "x\n", "2\n5 5", "0\n\n", "é\n1\n", "4\n9 9 9 1\n"]


# What people write, and what is odd about streams. Each reads INPUTS.
PROGRAMS = {
    "lines": "n = int(input())\nprint(sum(map(int, input().split())))\n",
    "all": "import sys\nn, *a = map(int, sys.stdin.read().split())\nprint(n, max(a) - min(a))\n",
    "main": "import sys\ninput = sys.stdin.readline\ndef main():\n    n = int(input())\n    print(n * 2)\n"
    "if __name__ == '__main__':\n    main()\n",
    "bytes": "import sys\ndata = sys.stdin.buffer.read()\nsys.stdout.buffer.write(data[::-1])\nprint(len(data))\n",
    "lines of it": "import sys\nfor i, line in enumerate(sys.stdin):\n    print(i, repr(line), end='|')\n",
    "exits with large numbers": "import sys\nprint(1)\nsys.exit(2**70 if input() == '1' else -(2**63))\n",
    "a prompt": "name = input('who? ')\nprint('hello', name, sep=', ')\n",
    "errors": "import sys\nprint('seen', file=sys.stderr)\nprint(10 // len(input()))\n",
    "an exit": "import sys\nprint('a')\nif not input().isdigit():\n    sys.exit('no number')\nsys.exit(0)\n",
    "quits": "s = input()\nprint(s)\nif s == '1':\n    exit()\nif s == '2':\n    quit(3)\nprint('end')\n",
    "a heap": "import heapq\nfrom collections import Counter, defaultdict, deque\nn = int(input())\n"
    "a = input().split()\nheapq.heapify(a)\nprint(heapq.nlargest(2, a), Counter(a).most_common(1), deque(a, 1))\n"
    "d = defaultdict(list)\nd[n].append(a)\nprint(dict(d))\n",
    "deep": "import sys\nsys.setrecursionlimit(5000)\ndef f(n):\n    return f(n - 1) + 1 if n else 0\n"
    "print(f(int(input()) * 900))\n",
    "as deep as it gets": "def f(n):\n    try:\n        return f(n + 1)\n    except RecursionError:\n        return n\n"
    "print(f(0), input())\n",
    "as deep as it gets by calls that the interpreter gets to know": "def f(n):\n    global d\n    d = n\n"
    "    return sum(f(n + 1) for _ in '1')\ntry:\n    f(0)\nexcept RecursionError:\n    print(d, input())\n",
    "as deep as it gets in C": "def f(n):\n    global d\n    d = n\n    return list(map(f, [n + 1]))\n"
    "try:\n    f(0)\nexcept RecursionError:\n    print(d, input())\n",
    "a cache": "from functools import lru_cache\n@lru_cache(None)\ndef f(n):\n    print('f', n)\n    return n\n"
    "for c in input():\n    f(c)\n",
    "a default that grows": "def f(x, kept=[]):\n    kept.append(x)\n    return kept\nprint(f(input()), f(1))\n",
    "the streams": "import sys\nprint(sys.stdin, sys.stdout, sys.stderr, sys.stdin.buffer, sys.stdout.buffer)\n",
    "what a stream cannot do": "import sys\ntry:\n    sys.stdout.read()\nexcept Exception as e:\n    print(repr(e))\n"
    "try:\n    sys.stdin.write('a')\nexcept Exception as e:\n    print(repr(e))\n"
    "try:\n    sys.stdout.buffer.read()\nexcept Exception as e:\n    print(repr(e))\n",
    "a stream that is closed": "import sys\nprint(input())\nsys.stdout.close()\n",
    "a stream whose buffer another has": "import io, sys\nout = io.TextIOWrapper(sys.stdout.detach(), 'utf-8')\n"
    "sys.stdout = out\nprint(input())\n",
    "an input that is closed": "import sys\nsys.stdin.close()\nprint(input())\n",
    "surrogates": "s = input()\nprint(ascii(s))\nprint(s)\nprint('\\ud800')\n",
    "nothing": "pass\n",
    "no program": "n = int(input()\n",
    # Of these, some inputs go their own way: a limit, a crash, what the rule refuses.
    "too long": "n = int(input())\nwhile n == 3:\n    pass\nprint(n)\n",
    "too much": "n = int(input())\nprint('x' * 1500 * n)\n",
    # Not at the limit itself: the last megabyte may differ between a shared and a separate worker (SECURITY.md).
    "too large": "n = int(input())\na = bytearray(n * 60 << 20)\nprint(len(a))\n",
    "a crash": "n, f = int(input()), ()\nfor _ in range(3 * 10**5 if n == 3 else 1):\n    f = (f,)\n"
    "print(type(hash(f)), n)\n",
    "a module": "import os\nprint(os.getpid() > 0, input())\n",
    "a class": "class A:\n    n = 0\nA.n += 1\nprint(A.n, input())\n",
}


def tasks(programs: dict[str, str], inputs: list[str] = INPUTS, **changes: object) -> list[Task]:
    checks = [StdioCheck(each, "6\n", id=str(at)) for at, each in enumerate(inputs)]
    return [Task(source, checks, id=name, limits=replace(LIMITS, **changes)) for name, source in programs.items()]


_B = "import sys\nb = sys.modules['builtins'].__dict__\ns = sys.__dict__\nm = sys.modules\n"


_SAY = "\nprint(len(input()), 'end')\n"


_FORGED = (
    "n = m['struct'].pack\nr = lambda *p: n('<II', sum(map(len, p)) + 4 * len(p) + 4, len(p)) + "
    "b''.join(n('<I', len(x)) + x for x in p)\n"
)


POISON = {
    "a builtin": _B + "b['len'] = lambda x: 66" + _SAY,
    "print": _B + "p = print\nb['print'] = lambda *a: p(6)" + _SAY,
    "input": _B + "b['input'] = lambda *a: 'abcdef'" + _SAY,
    "a stream that is kept": _B + "if 'old' in s:\n s['old'].write('6')\ns['old'] = sys.stdout" + _SAY,
    "another stream": _B + "print(type(sys.stdin).__name__)\nsys.stdin = sys.__stdin__\nprint(6)",
    "a setting": _B + "print(sys.getswitchinterval())\nsys.setswitchinterval(1)" + _SAY,
    "a module": _B + "m['math'].pi += 1\nprint(m['math'].pi)",
    "a class": _B + "import collections\nC = collections.Counter\nC.n = C.__dict__.get('n', 0) + 1\nprint(C.n)",
    "a hook": _B + "sys.setprofile(lambda *a: None)" + _SAY,
    "a tracer": _B + "print(sys.gettrace() is None)\nsys.settrace(lambda *a: None)" + _SAY,
    "a variable of the harness": _B + "f = sys._getframe()\nwhile f:\n if 'inputs' in f.f_locals:\n"
    "  f.f_locals['inputs'] = ('6',) * 9\n f = f.f_back" + _SAY,
    "the harness's tools": _B + "f = sys._getframe()\nwhile f:\n if 'context' in f.f_locals:\n"
    "  k = f.f_locals['context'].__class__\n"
    "  k.send = lambda self, r, o=k.send: o(self, r.replace(b'end', b'6\\n\\n'))\n f = f.f_back" + _SAY,
    "a forged end": _B + _FORGED + "x = n('<IQQQB', 0, 0, 0, 0, 0)\nif input() == '3':\n"
    " m['posix'].write(3, r(b'D', x, b'6\\n', b'', b''))\nprint(6 if 'posix' in m else 5)",
    "an exit": _B + "m['posix']._exit(61) if input() == '1' else print(5)",
    "what comes at an end": _B + "class A:\n def __del__(self, s=s):\n  s['maxsize'] = 6\na = [A()]\na.append(a)\n"
    "print(sys.maxsize)",
}  # fmt: skip


def poisoned() -> list[Task]:
    """Such programs and honest ones: nobody is the better or the worse for company."""
    return tasks({**POISON, "honest": PROGRAMS["lines"], "counting": PROGRAMS["a heap"]}, INPUTS[:4])
