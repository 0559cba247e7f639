"""What code is the script's own: its functions, and what its constant texts are as code."""

import sys

from cruxcell.analysis.bytecode import all_codes
from cruxcell.analysis.parsing import CHECK
from cruxcell.jobs.separated.rules.script import constant_texts, texts_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType  # noqa: F401 - in type comments
    from typing import Any  # noqa: F401 - in type comments

_FLAGS = 0x1FF0000  # of a code: which `from __future__ import` were in force


class OwnCode:
    """The script's functions, and what its constant texts are as code."""

    def __init__(self, script):
        # type: (CodeType) -> None
        self._script = script
        self._codes = None  # type: set[CodeType] | None

    def has(self, code):
        # type: (CodeType | None) -> bool
        if self._codes is None:
            self._codes = _codes_of(self._script)
        return code in self._codes

    def says(self, text):
        # type: (object) -> bool
        return type(text) is str and not text.strip().isidentifier() and text in constant_texts(self._script)


def _codes_of(script):
    # type: (CodeType) -> set[CodeType]
    codes = all_codes(script)
    found, of_script = set(codes), script.co_flags & _FLAGS
    for text in texts_in([const for each in codes for const in each.co_consts]):
        for source, mode in _sources(text):
            for flags in {of_script, 0}:  # as the script would compile it, and as a library would
                try:
                    found.add(compile(source, CHECK, mode, flags, True))
                except (SyntaxError, ValueError, MemoryError, RecursionError):
                    pass
    return found


def _sources(text):
    # type: (str) -> list[tuple[str, str]]
    """A text as `eval` and `exec` read it, and the examples of a docstring. Not a mere name, which is a key more often
    than a text to run: `eval(candidate(case["input"])) == expected`, where a case has a key "expected"."""
    found = [] if text.strip().isidentifier() else [(text.lstrip(" \t"), "eval"), (text, "exec")]
    textwrap = sys.modules.get("textwrap")  # type: Any
    if found and textwrap is not None:
        found.append((textwrap.dedent(text), "exec"))
    doctest = sys.modules.get("doctest")  # type: Any
    if doctest is not None:
        try:
            found += [(each.source, "single") for each in doctest.DocTestParser().get_examples(text)]
        except ValueError:
            pass
    return found
