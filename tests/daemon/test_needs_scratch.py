"""Which texts may work with files, and so get a worker with a scratch folder."""

from __future__ import annotations

import pytest
from cruxboxd.zygotes import looks
from cruxboxd.zygotes.setup import ZygoteKinds

PLAIN = [
    ([b"def f(x): return x", b"f(1)"], False),
    ([b"import collections, sys as s\nfrom heapq import heappush\nprint(input())"], True),
    ([b"import numpy as np"], True),
    ([b"text = 'tempfile opened'"], True),
    ([b"import os", b"os.path.join('a')"], False),
    ([b"import math\ng, lob = 1, 2\nmk = dir"], False),  # a word's parts are no word
    ([b"import math\nx = [1]; y = {'import': 2}"], True),
    ([b'"""The number that is the farthest\n    from zero. For example 2.\n    """\nfrom math import ceil'], True),
    ([b"'''\nfrom words\nimport'''\nimport math"], True),
]
WITH_FILES = [
    ([b"def f(): return open('x')"], False),
    ([b"import re\ndef f(): return open('x')"], False),
    ([b"import tempfile"], False),
    ([b"import io\ndef f(): io.FileIO('x', 'w')", b"f()"], False),
    ([b"from pathlib import Path", b"f(1)"], False),
    ([b"import os"], True),
    ([b"import math, matplotlib"], True),
    ([b"x = 1\n  from os import path"], True),
    ([b"from os.path import(\njoin)"], True),
    ([b"from\tos . path\timport join"], True),
    ([b"from os \\\n  import path"], True),
    ([b"from os \\\r\n  import path"], True),
    ([b"from os \\\n  import math"], True),
    ([b"__import__('os')"], True),
    ([b"try: import math\nexcept: pass"], True),
    ([b"x = 1; import math"], True),
    ([b"import importlib"], True),
    ([b"import math\nDATA = [" + b"(1, 'two'), " * 1000 + b"]\nsavefig(DATA)"], False),
]


@pytest.mark.parametrize(("texts", "is_whole"), PLAIN)
def test_what_does_nothing_with_files_does_not_pay(texts: list[bytes], is_whole: bool):
    assert not ZygoteKinds(has_scratch=True).key("r", "0", texts, is_whole=is_whole).scratch


@pytest.mark.parametrize(("texts", "is_whole"), WITH_FILES)
def test_what_may_work_with_files_has_a_folder(texts: list[bytes], is_whole: bool):
    key = ZygoteKinds(has_scratch=True).key("r", "0", texts, is_whole=is_whole)
    assert key.scratch
    assert key.preloaded
    assert not ZygoteKinds().key("r", "0", texts, folder=True, is_whole=is_whole).scratch


@pytest.mark.parametrize("text", [b"import anyio", b"from logging.handlers import QueueListener", b"import asyncio"])
def test_what_starts_threads_or_a_loop_by_a_library_may_have_them(text: bytes):
    assert ZygoteKinds().key("r", "0", [text, b"f(1)"]).threads
    assert not ZygoteKinds().key("r", "0", [text.replace(b"import", b"bring")]).threads  # which imports nothing


def test_no_word_holds_what_is_taken_out_before_words_are_looked_for():
    words = b"".join([*looks._FILE_WORDS, *looks._THREAD_WORDS])
    assert not set(words) & set(looks._BETWEEN_WORDS)


def test_of_a_text_that_is_made_of_imports_no_more_is_looked_at():
    most = b"import math\n" * looks._MOST_IMPORTS
    assert looks.modules_named(most) == {b"math"}
    assert looks.modules_named(most + b"from os import path") == {b"math", b""}
    assert looks.modules_named(b"import " + b"re, " * 500 + b"\nimport os") == {b"re", b"", b"os"}
    assert looks.modules_named(b"import re, " + b"re, " * 500) == {b""}
    line = b"import " + b",".join([b"re"] * 500) + b"\n"
    names = looks.modules_named(line * (looks._MOST_OF_IMPORTS // len(line) + 1) + b"import os")
    assert names == {b"re", b""}


def test_a_long_text_is_looked_through_once(looked_at: list[bytes], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(looks, "_MOST_KEPT", 4)
    kinds = ZygoteKinds({"r": ("numpy",), "s": ("numpy",)}, has_scratch=True)
    one, two, three = (b"import numpy, os  # %d\n" % number * looks.SHORT for number in range(3))
    again = bytes(bytearray(one))
    keys = [kinds.key(runtime, "0", [text, b"f(1)"]) for text in (one, two, one, again) for runtime in "rsx"]
    assert [key.packages for key in keys] == [("numpy",), ("numpy",), ()] * 4
    assert [text for text in looked_at if text != b"f(1)"] == [one, one, two, two]
    for text in (three, one, one[1:], two):
        kinds.key("r", "0", [text])
    assert looked_at[-3:] == [three, one[1:], two]


def test_what_a_text_imports_is_seen_with_the_rest():
    many = b"".join([b"import m%d\n" % number for number in range(40)])
    found = [looks.look_at(text).modules for text in (b"x = 1", b"import re, os.path as p", many)]
    assert found == [frozenset(), {b"re", b"os"}, {b""}]
    assert looks.look_at(b"import re, numpy", ("numpy", "pandas")).packages == ("numpy",)
    assert looks.look_at(b"import re\n" + bytes(looks._MOST_READ)).modules == {b""}
