"""Which whole programs may run on several inputs in one worker: those that can leave nothing behind, everywhere."""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import itertools
import json
import math
import operator
import string
import sys
import typing
from pathlib import Path

import pytest
from cruxcell.analysis import hermetic_streams
from cruxcell.analysis.hermetic import NEWEST_TRIED, is_hermetic
from cruxcell.analysis.hermetic_streams import FOR_STREAMS, may_share_worker
from interpreters import Twin, pairs

# As a zygote has loaded them beforehand.
LOADED = {
    "bisect": bisect, "collections": collections, "functools": functools, "heapq": heapq, "itertools": itertools,
    "math": math, "operator": operator, "string": string, "sys": sys, "typing": typing,
}  # fmt: skip

SHARING = {
    "input": "n = int(input())\nprint(sum(map(int, input().split())))",
    "main": "def main():\n print(input())\nif __name__ == '__main__':\n main()",
    "an alias": "import sys\ninput = sys.stdin.readline\nprint(input())",
    "all of the input": "import sys\na, *b = map(int, sys.stdin.read().split())\nsys.stdout.write(str(a))",
    "bytes": "import sys\nfor line in sys.stdin.buffer:\n sys.stdout.buffer.write(line)\nsys.stdout.flush()",
    "names of sys": "from sys import stdin, stdout as out\nout.write(stdin.readline())",
    "exit": "import sys\nif not input():\n sys.exit(1)\nexit()",
    "deep": "import sys\nsys.setrecursionlimit(10**6)\ndef f(n):\n return f(n - 1) if n else 0\nprint(f(int(input())))",
    "collections": "from collections import Counter, defaultdict, deque\nd = defaultdict(list)\nq = deque([1])\n"
    "q.appendleft(2)\nq.popleft()\nprint(Counter(input()).most_common(1), d[1])",
    "a heap": "import heapq\nh = [3, 1]\nheapq.heapify(h)\nprint(heapq.heappop(h))",
    "a cache": "from functools import lru_cache\n@lru_cache()\ndef f(n):\n return n\nprint(f(1))\nf.cache_clear()",
    "a comparison": "from functools import cmp_to_key\nprint(sorted([2, 1], key=cmp_to_key(lambda a, b: a - b)))",
    "errors": "import sys\ntry:\n print(1 / int(input()))\nexcept ZeroDivisionError as e:\n print(e, file=sys.stderr)",
    "what ends an input": "while True:\n try:\n  print(int(input()))\n except (EOFError, ValueError):\n  break",
}  # fmt: skip
# A MemoryError may be lost in company, and must end the run.
CATCHING = {
    "anything": "try:\n print(1)\nexcept:\n pass",
    "an Exception": "try:\n print(1)\nexcept Exception:\n pass",
    "a BaseException": "try:\n print(1)\nexcept (ValueError, BaseException):\n pass",
    "by another name": "E = Exception\ntry:\n print(1)\nexcept E:\n pass",
    "by a name of its own": "ValueError = Exception\ntry:\n print(1)\nexcept ValueError:\n pass",
    "by a name of a function": "def f(ValueError):\n try:\n  print(1)\n except ValueError:\n  pass\nf(Exception)",
    "by what is no class": "try:\n print(1)\nexcept len:\n pass",
    "by what is no error": "try:\n print(1)\nexcept int:\n pass",
    "by an expression": "try:\n print(1)\nexcept [Exception][0]:\n pass",
    "by a return": "def f():\n try:\n  print(1)\n finally:\n  return\nf()",
    "by another error": "try:\n print(1)\nfinally:\n exit()",
}  # fmt: skip
ALONE = {
    "modules": "import sys\nprint(sys.modules)",
    "frames": "import sys\nsys._getframe(1)",
    "hooks": "import sys\nsys.settrace(None)",
    "another excepthook": "import sys\nsys.excepthook = print",
    "another stream": "import sys\nsys.stdout = sys.stderr",
    "a stream of the interpreter": "import sys\nsys.__stdout__.write('a')",
    "its descriptor": "import sys\nprint(sys.stdin.fileno())",
    "an exception's traceback": "import sys\nprint(sys.exc_info())",
    "the arguments": "import sys\nprint(sys.argv)",
    "memory": "import sys\nprint(sys.getrefcount(1))",
    "all of sys": "from sys import *",
    "os": "import os\nos.write(1, b'a')",
    "a part of collections": "import collections.abc",
    "a maker of classes": "from collections import namedtuple\nA = namedtuple('A', 'x')",
    "a reader of attributes": "from operator import attrgetter\nattrgetter('__class__')(1)",
    "a caller of methods": "import operator\noperator.methodcaller('f')(1)",
    "a changer of functions": "import functools\nfunctools.update_wrapper(print, input)",
    "a dispatcher": "from functools import singledispatch",
    "a module that is changed": "import heapq\nheapq.heappop = None",
    "a class that is changed": "from collections import Counter\nCounter.x = 1",
    "a class": "class A:\n pass",
    "a file": "print(open(0).read())",
    "its own name": "__name__ = 'a'",
    "the name of a function": "def f():\n pass\nprint(f.__name__)",
    "another name with underscores": "print(__builtins__)",
    "a name of its module": "print(__loader__)",
    "code": "exec(input())",
    "a generator that cleans up": "def g():\n try:\n  yield 1\n finally:\n  print(1)\nprint(next(g()))",
    "an import by a name": "__import__('os')",
    "threads": "import threading",
    "typing's of what collections offer": "from collections import Counter\ndef f():\n from typing import Counter\nf()",
}  # fmt: skip


def shares(source: str) -> bool:
    return may_share_worker(source, compile(source, "<program>", "exec", dont_inherit=True))


@pytest.mark.parametrize("name", SHARING)
def test_these_may_share(name: str):
    assert shares(SHARING[name])


@pytest.mark.parametrize("name", CATCHING)
def test_who_may_catch_a_memory_error_runs_alone(name: str):
    assert not shares(CATCHING[name])


@pytest.mark.parametrize("error", [RecursionError, MemoryError, ValueError])
def test_who_catches_errors_and_cannot_be_read_runs_alone(error: type[Exception], monkeypatch: pytest.MonkeyPatch):
    def fail(_source: str) -> None:
        raise error

    assert shares("try:\n print(1)\nexcept KeyError:\n pass")
    monkeypatch.setattr(hermetic_streams, "tree_of", fail)
    assert not shares("try:\n print(1)\nexcept KeyError:\n pass")


@pytest.mark.parametrize("name", ALONE)
def test_these_may_not(name: str):
    assert not shares(ALONE[name])


def test_calls_get_none_of_it():
    """What a call shares its worker with may be a program of another task."""
    for name in ("input", "main", "bytes", "collections", "a heap", "a cache"):
        source = SHARING[name]
        assert not is_hermetic(source, compile(source, "<program>", "exec", dont_inherit=True)), name


_OFFERED = """
import bisect, collections, functools, heapq, itertools, json, math, operator, string, typing
from cruxcell.analysis.hermetic_streams import FOR_STREAMS
found = []
for name, allowed in FOR_STREAMS.importable.items():
    public = {item for item in dir(sys.modules[name]) if item[0] != "_"}
    found += [(name, item) for item in public & FOR_STREAMS.attributes - (public if allowed is None else allowed)]
print(json.dumps(sorted(found)))
"""
_ASK = """
import bisect, collections, functools, heapq, itertools, json, math, operator, string, typing
from cruxcell.analysis.hermetic_streams import may_share_worker
with open(sys.argv[1]) as file:
    programs = json.load(file)
print(json.dumps([may_share_worker(one, compile(one, "<program>", "exec")) for one in programs]))
"""


@pytest.mark.parametrize("python", [pure for _, pure in pairs() if pure.version <= NEWEST_TRIED], ids=str)
def test_every_interpreter_says_the_same(python: Twin, tmp_path: Path):
    path = tmp_path / "programs.json"
    path.write_text(json.dumps([*SHARING.values(), *ALONE.values(), *CATCHING.values()]))
    assert python.ask(_ASK, str(path)) == [True] * len(SHARING) + [False] * (len(ALONE) + len(CATCHING))
    # An attribute that is allowed on plain data and streams is none of a module that offers it for something else.
    assert python.ask(_OFFERED) == []


def test_what_may_be_imported_is_what_the_zygotes_load():
    assert set(FOR_STREAMS.importable) <= set(LOADED)
